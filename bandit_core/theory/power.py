r"""How many users an A/B test needs: a two-sided test of proportions, with and without privacy.

Options of means p and p + D are to be told apart at level alpha with the given power. Each of n users per option adds

* without privacy the reward itself, of variance p (1 - p) or, where amounts are known, theirs;
* under local privacy one randomised bit, read as g = 1/2 + coth(epsilon/2) (bit - 1/2), which has mean p and variance
  coth(epsilon/2)^2 / 4 - (p - 1/2)^2;
* with a trusted curator the reward, to a sum that is released once with Laplace(1/epsilon) noise, so that the mean
  has variance p (1 - p) / n + 2 / (epsilon n)^2, for amounts their own in place of p (1 - p). A randomised bit of an
  amount in [0, 1] has the variance above, whatever the amounts are.

With s_1^2, s_2^2 the two variances of one user and z the normal quantiles, the means differ by D with the standard
deviation that the test needs when

    (z_{1-alpha/2} + z_power)^2 [ (s_1^2 + s_2^2) / n + 4 / (epsilon n)^2 ] = D^2                                  (*)

(the last term with a curator only). The means' distributions are taken as normal, as every textbook formula does: for a
curator that is good where sampling outweighs the noise, that is n well above 4 / (epsilon^2 (s_1^2 + s_2^2)). Where the
noise outweighs all else, an alpha of .05 is really .059 for 2 options, and .067, .074, .080, .101 for 3, 4, 5 and 10.

With K > 2 options a test compares each of the others with the baseline. Then z_{1-alpha/2} is replaced by the two-sided
critical value d of Dunnett (1955, A multiple comparison procedure for comparing several treatments with a control), so
that any false alarm has chance alpha in all; ``power`` is the chance of finding one given difference. The same value
also decides which option is best: Hsu (1984, Constrained simultaneous confidence intervals for multiple comparisons
with the best) needs no more than its one-sided version. The comparisons share the baseline's mean, so they have
correlation 1/2:

    1 - alpha = E[ (Phi(sqrt(2) d + U) - Phi(-sqrt(2) d + U))^(K - 1) ],   U standard normal.                      (**)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bandit_core.model import Privacy
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.number_text import write_number

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("trust", "users_per_option", "users", "inflation")
MAX_OPTIONS = 10_000
MAX_USERS = 10**15  # per option; more is not told apart
TRUSTS: tuple[Privacy, ...] = ("none", "local", "central")


@dataclass(frozen=True)
class TestSize:
    """Users that a test needs: per option, and how many times as many as without privacy (before rounding).

    ``cases`` are the numbers that 10% and 90% of several cases need at most, each by itself (None: there is one case).
    """

    __test__ = False  # it is no test of pytest's

    privacy: Privacy
    epsilon: float | None
    users_per_option: int
    inflation: float
    effect_seen: float
    cases: tuple[int, int] | None = None

    def total(self, options: int) -> int:
        """Users of a test of so many options."""
        return self.users_per_option * options


def _z(probability: float) -> float:
    from scipy.special import ndtri  # heavy import

    return float(ndtri(probability))


@cache
def critical_value(alpha: float = 0.05, options: int = 2) -> float:
    """Standard errors that a difference from the baseline must exceed: d of (**), and z_{1-alpha/2} for two options.

    >>> round(critical_value(), 3), round(critical_value(options=5), 3)
    (1.96, 2.442)
    """
    from scipy.optimize import brentq  # heavy imports
    from scipy.special import ndtr, ndtri

    if options == 2:
        return float(-ndtri(alpha / 2))
    places = np.linspace(-9.0, 9.0, 4001)
    weights = np.exp(-0.5 * places**2)
    weights /= weights.sum()

    def any_alarm(critical: float) -> float:
        reach = math.sqrt(2) * critical
        outside = np.minimum(ndtr(-reach - places) + ndtr(-reach + places), 1 - 1e-16)
        return float(weights @ -np.expm1((options - 1) * np.log1p(-outside)))

    return float(brentq(lambda critical: any_alarm(critical) - alpha, 1e-9, 30.0, xtol=1e-12))


def variance(mean: Any, privacy: Privacy, epsilon: float | None) -> Any:
    """Variance of what one user adds to an option's mean (or means), in squared reward units; see above."""
    if privacy != "local":
        return mean * (1 - mean)
    assert epsilon is not None
    return 0.25 / math.tanh(epsilon / 2) ** 2 - (mean - 0.5) ** 2


def _checked(numbers: dict[str, float | None], privacy: Privacy) -> None:
    least = write_number(SMALLEST)
    issues = []
    for name, value in numbers.items():
        if name == "epsilon" and privacy == "none" and value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name == "epsilon":
            if not number or not SMALLEST <= value <= LARGEST:  # type: ignore[operator]
                issues.append(Issue(name, value, f"a number from {least} to {write_number(LARGEST)}"))
        elif not number or not SMALLEST <= value < 1:  # type: ignore[operator]
            issues.append(Issue(name, value, f"a number from {least}, below 1"))
    if privacy not in TRUSTS:
        issues.append(Issue("privacy", privacy, f"one of {', '.join(TRUSTS)}"))
    if not issues and numbers["baseline"] + numbers["effect"] > 1:  # type: ignore[operator]
        issues.append(Issue("effect", numbers["effect"], "baseline + effect at most 1"))
    if not issues and numbers["power"] <= numbers["alpha"] / 2:  # type: ignore[operator]
        issues.append(Issue("power", numbers["power"], "above alpha / 2, what a test finds by chance"))
    if issues:
        raise InputError(issues)


def _checked_options(options: int) -> None:
    if isinstance(options, bool) or not isinstance(options, int) or not 2 <= options <= MAX_OPTIONS:
        raise InputError([Issue("options", options, f"a whole number from 2 to {MAX_OPTIONS}")])


def _spread(
    baseline: Any, effect: Any, privacy: Privacy, epsilon: float | None, amounts: Any = None
) -> tuple[Any, float]:
    """What (*) divides by n and by n squared: both variances of one user, and the noise of a curator.

    ``amounts`` is the sum of both variances where rewards are amounts.
    """
    noise = 4 / epsilon**2 if privacy == "central" and epsilon is not None else 0.0
    if amounts is not None and privacy != "local":
        return amounts, noise
    return variance(baseline, privacy, epsilon) + variance(baseline + effect, privacy, epsilon), noise


def _needed(
    baseline: Any, effect: Any, factor: float, privacy: Privacy, epsilon: float | None, amounts: Any = None
) -> Any:
    """The n of (*), not rounded; ``factor`` is the square of the sum of quantiles. Numbers or arrays."""
    spread, noise = _spread(baseline, effect, privacy, epsilon, amounts)
    half = factor * spread / (2 * effect**2)
    return half + np.sqrt(half**2 + factor * noise / effect**2)


def sample_size(
    baseline: float,
    effect: float,
    alpha: float = 0.05,
    power: float = 0.8,
    privacy: Privacy = "none",
    epsilon: float | None = None,
    options: int = 2,
    amounts: float | None = None,
) -> TestSize:
    """Users per option of a two-sided test of ``baseline`` against ``baseline + effect``.

    Parameters
    ----------
    baseline, effect
        The mean of one option, and the smallest difference worth finding; both in [1e-6, 1), their sum at most 1.
    alpha, power
        Chance of finding any difference where there is none, and of finding one of size ``effect``.
    privacy, epsilon
        Who is trusted, and the budget of each user (nats; ignored without privacy).
    options
        How many there are, the baseline included: more than two are compared with it by Dunnett's test.
    amounts
        Sum of the variances of one user's reward with each of both options, where rewards are amounts in [0, 1]; left
        out, they are successes.

    Returns
    -------
    TestSize
        ``users_per_option`` is n of (*) rounded up (at most `MAX_USERS`); ``inflation`` is n over that without
        privacy; ``effect_seen`` is what is left of the effect in what is sent: tanh(epsilon/2) times it for bits.

    Raises
    ------
    InputError
        With every number that is out of its range.

    >>> sample_size(0.04, 0.004).users_per_option, sample_size(0.04, 0.004, privacy="local", epsilon=1).users_per_option
    (39473, 942755)
    """
    numbers = {"baseline": baseline, "effect": effect, "alpha": alpha, "power": power, "epsilon": epsilon}
    _checked(numbers, privacy)
    _checked_options(options)
    factor = (critical_value(alpha, options) + _z(power)) ** 2
    plain, mine = (float(_needed(baseline, effect, factor, each, epsilon, amounts)) for each in ("none", privacy))
    seen = effect * math.tanh(epsilon / 2) if privacy == "local" and epsilon is not None else effect
    budget = None if privacy == "none" else epsilon
    return TestSize(privacy, budget, _whole(mine), mine / plain, seen)


def _whole(users: float) -> int:
    """A number of users per option, rounded up."""
    return MAX_USERS if users >= MAX_USERS else max(1, math.ceil(users * (1 - 1e-12)))


def assured_size(
    baselines: Sequence[float],
    effects: Sequence[float],
    alpha: float = 0.05,
    power: float = 0.8,
    privacy: Privacy = "none",
    epsilon: float | None = None,
    options: int = 2,
    amounts: Sequence[float] | None = None,
) -> TestSize:
    """Users per option of a test that finds the effect with chance ``power`` on average over several cases.

    That average is the assurance of a test (O'Hagan, Stevens and Campbell 2005, Assurance in clinical trial design).
    ``baselines``, ``effects`` and ``amounts`` (cases,) are as in `sample_size`, and so is the rest; for one case so is
    the answer.

    >>> assured_size([0.04], [0.004]).users_per_option, assured_size([0.04, 0.04], [0.003, 0.005]).users_per_option
    (39473, 46802)
    """
    from scipy.optimize import brentq  # heavy imports
    from scipy.special import ndtr

    for each, effect in zip(baselines, effects, strict=True):
        numbers = {"baseline": each, "effect": effect, "alpha": alpha, "power": power, "epsilon": epsilon}
        _checked(numbers, privacy)
    _checked_options(options)
    low, gap, critical = np.array(baselines), np.array(effects), critical_value(alpha, options)
    both = None if amounts is None else np.array(amounts)

    def needed(trust: Privacy) -> float:
        spread, noise = _spread(low, gap, trust, epsilon, both)

        def beyond(log_users: float) -> float:
            users = math.exp(log_users)
            return float(ndtr(gap / np.sqrt(spread / users + noise / users**2) - critical).mean()) - power

        most = math.log(MAX_USERS)
        if beyond(most) <= 0:
            return MAX_USERS
        return 1.0 if beyond(0.0) >= 0 else math.exp(brentq(beyond, 0.0, most, xtol=1e-13))

    plain, mine = (needed(each) for each in ("none", privacy))
    single = _needed(low, gap, (critical + _z(power)) ** 2, privacy, epsilon, both)
    ends = np.quantile(single, [0.1, 0.9], method="inverted_cdf").tolist()
    seen = math.tanh(epsilon / 2) if privacy == "local" and epsilon is not None else 1.0
    budget = None if privacy == "none" else epsilon
    cases = (_whole(ends[0]), _whole(ends[1]))
    return TestSize(privacy, budget, _whole(mine * (1 - 1e-11)), mine / plain, seen * float(gap.mean()), cases)


def sample_sizes(
    baseline: float, effect: float, epsilon: float, alpha: float = 0.05, power: float = 0.8, options: int = 2
) -> tuple[TestSize, ...]:
    """The same for no privacy, local and central privacy at ``epsilon``, in this order."""
    return tuple(sample_size(baseline, effect, alpha, power, privacy, epsilon, options) for privacy in TRUSTS)


def power_table(
    baseline: float, effect: float, epsilon: float, alpha: float = 0.05, power: float = 0.8, options: int = 2
) -> pd.DataFrame:
    """One row per trust, columns `COLUMNS`: the users that `sample_size` needs, and those of all ``options`` together.

    Raises
    ------
    InputError
        With every number that is out of its range.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            (size.privacy, size.users_per_option, size.total(options), size.inflation)
            for size in sample_sizes(baseline, effect, epsilon, alpha, power, options)
        ],
        columns=list(COLUMNS),
    )


def smallest_effect(
    users_per_option: float,
    baseline: float,
    alpha: float = 0.05,
    power: float = 0.8,
    privacy: Privacy = "none",
    epsilon: float | None = None,
    options: int = 2,
    amounts: float | None = None,
) -> float:
    """The smallest difference above ``baseline`` that a test of so many users finds: (*) solved for D.

    Both variances are quadratic in the mean, so (*) is a quadratic equation; ``amounts`` as in `sample_size`. NaN where
    the test finds nothing.

    >>> round(smallest_effect(39_473, 0.04), 6)
    0.004
    """
    _checked({"baseline": baseline, "effect": SMALLEST, "alpha": alpha, "power": power, "epsilon": epsilon}, privacy)
    _checked_options(options)
    factor = (critical_value(alpha, options) + _z(power)) ** 2
    share, lean = factor / users_per_option, 1 - 2 * baseline
    spread, noise = _spread(baseline, 0.0, privacy, epsilon, amounts)
    still = share * spread + share * noise / users_per_option
    if amounts is not None and privacy != "local":
        effect = math.sqrt(still)
    else:
        root = math.sqrt((share * lean) ** 2 + 4 * (1 + share) * still)
        effect = (share * lean + root) / (2 * (1 + share))
    return effect if effect <= 1 - baseline else math.nan
