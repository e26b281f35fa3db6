r"""How many users an A/B test needs: tests of proportions or amounts, with and without privacy, with or without looks.

Options of means p and p + D are to be told apart at level alpha with the given power. Each of n users per option adds

* without privacy the reward itself, of variance p (1 - p) or, where amounts are known, theirs;
* under local privacy one randomised bit, read as g = 1/2 + coth(epsilon/2) (bit - 1/2), which has mean p and variance
  coth(epsilon/2)^2 / 4 - (p - 1/2)^2;
* with a shuffler such a bit, which is uniform with the chance c of `mechanisms.shuffled_bits` only, so that 1 / (1 - c)
  stands in place of coth(epsilon/2);
* with a secure sum the reward, to a sum with the discrete Laplace noise of `mechanisms.modular_sums`;
* with a trusted curator the reward, to a sum that is released once with Laplace(1/epsilon) noise, so that the mean
  has variance p (1 - p) / n + 2 / (epsilon n)^2, for amounts their own in place of p (1 - p). A randomised bit of an
  amount in [0, 1] has the variance above, whatever the amounts are.

With s_0^2, s_1^2 the two variances of one user, r n users of the baseline and v(n) the variance of one noise, the
means differ by D with the standard deviation that the test needs when

    D^2 = theta^2 [ (s_0^2 / r + s_1^2) / n + L v(n) (1 + 1 / r^2) / n^2 ]                                         (*)

for L blocks of users that are released one after the other (L = 1 without looks): each user is in one block, which
spends the whole epsilon. The variances are not pooled; who pools them, or uses arcsine square roots, finds a few
percent more or fewer users where rates are small. The means' distributions are taken as normal, as every textbook
formula does: with noise in sums that is good where sampling outweighs it, that is n well above
4 / (epsilon^2 (s_0^2 + s_1^2)). Where a curator's noise outweighs all else, an alpha of .05 of Dunnett's test is really
.059 for 2 options, and .067, .074, .080, .101 for 3, 4, 5 and 10. theta and the boundaries d are those of
`bandit_core.theory.critical_values`: theta is d + z_power for one difference and one look. A test that names the best
option is planned for the hardest case, in which all others are equally good: ``power`` is at least the chance that the
best beats all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import scipy

from bandit_core.mechanisms.modular_sums import levels
from bandit_core.mechanisms.shuffled_bits import noisy_share
from bandit_core.model import Privacy
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import write_number
from bandit_core.theory.critical_values import Design, Spending, design_of

COLUMNS = (
    "trust", "goal", "epsilon", "effect", "power", "users_per_option", "users", "inflation", "users_mean",
    "users_median",
)  # fmt: skip
MAX_OPTIONS = 10_000
MAX_USERS = 10**15  # per option; more is not told apart
MAX_LOOKS, MAX_OPTIONS_WITH_LOOKS = 100, 100
MAX_SPLIT = 1000.0  # users of the baseline for one of another option, or the reverse
TRUSTS: tuple[Privacy, ...] = ("none", "local", "central")
EVERY_TRUST: tuple[Privacy, ...] = ("none", "local", "shuffle", "distributed", "central")
Goal = Literal["best", "baseline"]
Solved = Literal["effect", "power", "epsilon"]


@dataclass(frozen=True)
class TestSize:
    """Users that a test needs: of an option that is not the baseline, and how many times as many as without privacy.

    ``cases`` are the numbers that 10%, half and 90% of several cases need at most, each by itself (None: there is one
    case). ``split`` is the number of users of the baseline for one of another option. With looks, tests of the planned
    effect end after the shares ``mean`` and ``median`` of all users.
    """

    __test__ = False  # it is no test of pytest's

    privacy: Privacy
    epsilon: float | None
    users_per_option: int
    inflation: float
    cases: tuple[int, ...] | None = None
    split: float = 1.0
    mean: float = 1.0
    median: float = 1.0

    def total(self, options: int) -> int:
        """Users of a test of so many options."""
        return self.users_per_option * (options - 1) + math.ceil(self.users_per_option * self.split)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _not_chances(*pairs: tuple[str, float]) -> list[Issue]:
    """What is wrong with those of these numbers that are no chances between 0 and 1."""
    allowed = f"a number from {write_number(SMALLEST)}, below 1"
    return [Issue(name, each, allowed) for name, each in pairs if not _number(each) or not SMALLEST <= each < 1]


def _variance(mean: Any, reading: float | None) -> Any:
    """Variance of what one user adds to an option's mean: of the reward, or of a bit that is multiplied to be read."""
    return mean * (1 - mean) if reading is None else 0.25 * reading**2 - (mean - 0.5) ** 2


@dataclass(frozen=True)
class TestPlan:
    """How a test decides, and whom its users trust.

    Parameters
    ----------
    alpha, power
        Chance of finding any difference where there is none, and of finding one of the size that is planned for.
    privacy, epsilon, delta
        Who is trusted, the budget of each user (nats; ignored without privacy), and delta (with a shuffler only).
    options
        How many there are, the baseline included.
    goal
        ``baseline``: find one option that beats the baseline (Dunnett); ``best``: name the best one (Hsu). The same for
        two options.
    sides
        2, or 1 where only an option that is better counts. ``best`` of more than two is one-sided by itself.
    split
        Users of the baseline for one of each other option.
    looks, spending
        How often the test looks, and how it spends alpha (see `bandit_core.theory.critical_values`).

    Raises
    ------
    InputError
        With every number that is out of its range.
    """

    __test__ = False

    alpha: float = 0.05
    power: float = 0.8
    privacy: Privacy = "none"
    epsilon: float | None = None
    options: int = 2
    goal: Goal = "baseline"
    sides: int = 2
    split: float = 1.0
    looks: int = 1
    spending: Spending = "obrien-fleming"
    delta: float = 1e-6

    def __post_init__(self) -> None:
        issues = _not_chances(("alpha", self.alpha), ("power", self.power))
        for name, whole, low, high in (
            ("options", True, 2, MAX_OPTIONS),
            ("looks", True, 1, MAX_LOOKS),
            ("sides", True, 1, 2),
            ("split", False, 1 / MAX_SPLIT, MAX_SPLIT),
            ("delta", False, 1e-15, 1e-3),
            *([] if self.privacy == "none" and self.epsilon is None else [("epsilon", False, SMALLEST, LARGEST)]),
        ):
            value = getattr(self, name)
            if not _number(value) or not low <= value <= high or (whole and value != int(value)):
                allowed = f"a {'whole ' * whole}number from {write_number(low)} to {write_number(high)}"
                issues.append(Issue(name, value, allowed))
        words = {"privacy": EVERY_TRUST, "goal": get_args(Goal), "spending": get_args(Spending)}
        wrong = [(name, getattr(self, name)) for name, known in words.items() if getattr(self, name) not in known]
        issues += [Issue(name, word, f"one of {', '.join(words[name])}") for name, word in wrong]
        if not issues and self.power <= self.alpha / self.sides:
            issues.append(Issue("power", self.power, "above alpha / sides, what a test finds by chance"))
        if not issues and self.split != 1 and self.best:
            issues.append(Issue("split", self.split, "1 where the best of several options is to be named"))
        if not issues and self.looks > 1 and self.options > MAX_OPTIONS_WITH_LOOKS:
            issues.append(Issue("options", self.options, f"at most {MAX_OPTIONS_WITH_LOOKS} in a test with looks"))
        raise_any(issues)

    @property
    def best(self) -> bool:
        """Whether the best of more than two options is to be named."""
        return self.goal == "best" and self.options > 2

    @property
    def test(self) -> Design:
        """Boundaries and power by the size of the difference."""
        sides = 1 if self.best else self.sides
        return design_of(self.alpha, self.options, self.best, sides, self.split, self.looks, self.spending)

    def variance(self, users: Any, baseline: Any, effect: Any, amounts: Any = None) -> Any:
        """Variance of the difference of two means: what (*) has in brackets, in squared rewards. Numbers or arrays.

        ``users`` are those of an option that is not the baseline; ``amounts`` as in `sample_size`.
        """
        reading, noise, rounding = self._release(users)
        if amounts is not None and reading is None:
            spread = amounts * (1 + 1 / self.split) / 2 + rounding
        else:
            spread = _variance(baseline, reading) / self.split + _variance(baseline + effect, reading)
        return spread / users + self.looks * noise * (1 + 1 / self.split**2) / users**2

    def _release(self, users: Any) -> tuple[float | None, float, float]:
        """What a bit is multiplied with to be read (None: no bits), v(n), and what rounding adds to both variances.

        v(n) is the variance of the noise on the sum of a block.
        """
        if self.privacy == "none" or self.epsilon is None:
            return None, 0.0, 0.0
        if self.privacy == "local":
            return 1 / math.tanh(self.epsilon / 2), 0.0, 0.0
        if self.privacy == "central":
            return None, 2 / self.epsilon**2, 0.0
        block = max(1, int(users * min(1.0, self.split) / self.looks))
        if self.privacy == "shuffle":
            block = int(1.02 ** int(math.log(block, 1.02)))  # a little too few, so that near numbers share an account
            return 1 / (1 - noisy_share(block, self.epsilon, self.delta)), 0.0, 0.0
        grid = levels(self.epsilon, block)  # rounding to the next level at random varies by 1/4 of its square at most
        return None, 1 / (2 * grid**2 * math.sinh(self.epsilon / grid / 2) ** 2), (1 + 1 / self.split) / (4 * grid**2)

    def chance(self, users: Any, baseline: Any, effect: Any, amounts: Any = None) -> Any:
        """The power with so many users of an option that is not the baseline. Numbers or arrays."""
        return self.test.chance(effect / np.sqrt(self.variance(users, baseline, effect, amounts)))

    def users(self, baseline: Any, effect: Any, amounts: Any = None) -> float:
        """Users of an option that is not the baseline, on average over cases (arrays) or for one; not rounded."""
        return _first(lambda n: float(np.mean(self.chance(n, baseline, effect, amounts))), self.power, MAX_USERS)

    def solve(
        self, which: Solved, users: float, baseline: float, effect: float = SMALLEST, amounts: float | None = None
    ) -> float:
        """What follows from so many users: the smallest effect, the power, or the smallest epsilon; NaN: none does."""
        if which == "power":
            return float(self.chance(users, baseline, effect, amounts))
        if which == "epsilon" and self.privacy == "none":
            return math.nan
        most, least = (1 - baseline, 1e-12) if which == "effect" else (LARGEST, SMALLEST)

        def chance(value: float) -> float:
            plan, gap = (self, value) if which == "effect" else (replace(self, epsilon=value), effect)
            return float(plan.chance(users, baseline, gap, amounts))

        return _first(chance, self.power, most, least) if chance(most) >= self.power else math.nan


def _first(chance: Callable[[float], float], power: float, most: float, least: float = 1.0) -> float:
    """The smallest number from ``least`` to ``most`` with so much power, which grows with it; ``most`` if none has."""
    low, high = math.log(least), math.log(most)
    if chance(most) <= power:
        return most
    if chance(least) >= power:
        return least
    return math.exp(scipy.optimize.brentq(lambda each: chance(math.exp(each)) - power, low, high, xtol=1e-14))


def _plan_for(baselines: Sequence[float], effects: Sequence[float], fields: dict[str, Any]) -> TestPlan:
    """The plan, once it and all cases are in their ranges."""
    issues = _not_chances(*(("baseline", each) for each in baselines), *(("effect", each) for each in effects))
    if not issues:
        pairs = zip(baselines, effects, strict=True)
        issues += [Issue("effect", gap, "baseline + effect at most 1") for low, gap in pairs if low + gap > 1]
    try:
        plan = TestPlan(**fields)
    except InputError as error:
        raise InputError(issues + error.issues) from None
    raise_any(issues)
    return plan


def _whole(users: float) -> int:
    """A number of users per option, rounded up."""
    return MAX_USERS if users >= MAX_USERS else max(1, math.ceil(users * (1 - 1e-11)))


def sample_size(
    baseline: float,
    effect: float,
    alpha: float = 0.05,
    power: float = 0.8,
    privacy: Privacy = "none",
    epsilon: float | None = None,
    options: int = 2,
    amounts: float | None = None,
    **plan: Any,
) -> TestSize:
    """Users per option of a test of ``baseline`` against ``baseline + effect``.

    Parameters
    ----------
    baseline, effect
        The mean of one option, and the smallest difference worth finding; both in [1e-6, 1), their sum at most 1.
    alpha, power, privacy, epsilon, options
        As in `TestPlan`, and so are its other fields, by name.
    amounts
        Sum of the variances of one user's reward with each of both options, where rewards are amounts in [0, 1]; left
        out, they are successes.

    Returns
    -------
    TestSize
        ``users_per_option`` is n of (*) rounded up (at most `MAX_USERS`); ``inflation`` is n over that without
        privacy.

    Raises
    ------
    InputError
        With every number that is out of its range.

    >>> sample_size(0.04, 0.004).users_per_option, sample_size(0.04, 0.004, privacy="local", epsilon=1).users_per_option
    (39473, 942755)
    >>> [sample_size(0.04, 0.004, options=4, goal=goal).users_per_option for goal in ("baseline", "best")]
    [51195, 58162]
    """
    fields = {"alpha": alpha, "power": power, "privacy": privacy, "epsilon": epsilon, "options": options}
    known = None if amounts is None else [amounts]
    return replace(assured_size([baseline], [effect], known, **fields, **plan), cases=None)


def assured_size(
    baselines: Sequence[float], effects: Sequence[float], amounts: Sequence[float] | None = None, **plan: Any
) -> TestSize:
    """Users per option of a test that finds the effect with chance ``power`` on average over several cases.

    That average is the assurance of a test (O'Hagan, Stevens and Campbell 2005, Assurance in clinical trial design).
    ``baselines``, ``effects`` and ``amounts`` (cases,) are as in `sample_size`, for one case so is the answer; ``plan``
    are the fields of `TestPlan`.

    >>> assured_size([0.04], [0.004]).users_per_option, assured_size([0.04, 0.04], [0.003, 0.005]).users_per_option
    (39473, 46802)
    """
    mine = _plan_for(baselines, effects, plan)
    gaps = np.array(effects)
    cases = (np.array(baselines), gaps, None if amounts is None else np.array(amounts))
    users, plain = mine.users(*cases), replace(mine, privacy="none").users(*cases)
    drifts = gaps / np.sqrt(mine.variance(users, *cases))
    order = np.argsort(-drifts)  # the cases from the easiest to the hardest
    ends = [order[max(0, math.ceil(share * len(order)) - 1)] for share in (0.1, 0.5, 0.9)]
    least, middle, most = (_whole(mine.users(*(None if each is None else each[end] for each in cases))) for end in ends)
    budget, parts = None if mine.privacy == "none" else mine.epsilon, mine.test.users(drifts)
    return TestSize(mine.privacy, budget, _whole(users), users / plain, (least, middle, most), mine.split, *parts)


def power_table(  # noqa: PLR0913 - one argument for each thing that is asked
    baseline: float,
    effect: float,
    epsilon: float,
    alpha: float = 0.05,
    power: float = 0.8,
    options: int = 2,
    trusts: Sequence[Privacy] = TRUSTS,
    users: float | None = None,
    solve: Solved = "effect",
    goal: Goal | None = None,
    **plan: Any,
) -> pd.DataFrame:
    """One row per trust and goal, columns `COLUMNS`: what `sample_size` needs, or what so many ``users`` find.

    With ``users``, all options of a test together, their number is given and ``solve`` is searched instead: the
    smallest effect, the power, or the smallest epsilon; NaN where no number is enough. Without ``goal`` there are rows
    for both, unless they are the same test (two options), or shares are unequal.

    Raises
    ------
    InputError
        With every number that is out of its range.
    """
    if users is not None and (not _number(users) or not 2 <= users <= MAX_USERS):
        raise InputError([Issue("users", users, f"a number from 2 to {MAX_USERS:g}, all options together")])
    refuse_if(solve not in get_args(Solved), "solve", solve, f"one of {', '.join(get_args(Solved))}")
    gap = SMALLEST if users is not None and solve == "effect" else effect
    fields = {"alpha": alpha, "power": power, "epsilon": epsilon, "options": options, **plan}
    asked = _plan_for([baseline], [gap], fields | ({"goal": goal} if goal else {}))
    goals: Sequence[Goal] = [goal] if goal else get_args(Goal) if options > 2 and asked.split == 1 else ["baseline"]
    rows = []
    for each, trust in itertools.product(goals, trusts):
        mine, plain = (_plan_for([baseline], [gap], fields | {"goal": each, "privacy": one}) for one in (trust, "none"))
        numbers = {"epsilon": math.nan if trust == "none" else epsilon, "effect": gap, "power": power}
        share = mine.users(baseline, gap) if users is None else users / (options - 1 + mine.split)
        if users is not None and not (trust == "none" and solve == "epsilon"):
            numbers[solve] = mine.solve(solve, share, baseline, gap)
        mine = replace(mine, epsilon=numbers["epsilon"]) if numbers["epsilon"] > 0 else mine
        lead = numbers["effect"] if trust == "none" or numbers["epsilon"] > 0 else math.nan
        noisy, exact = (plan.variance(share, baseline, lead) for plan in (mine, plain))
        parts = (math.nan, math.nan) if math.isnan(lead) else mine.test.users(lead / math.sqrt(noisy))
        size = TestSize(trust, None, _whole(share), noisy / exact, None, mine.split, *parts)
        total = size.total(options) if users is None else users
        row = trust, each, *numbers.values(), size.users_per_option, total, size.inflation
        rows.append((*row, size.mean * total, size.median * total))
    return pd.DataFrame(rows, columns=list(COLUMNS))
