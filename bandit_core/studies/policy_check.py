"""Does a policy keep what it says? Its guarantee, account and bounds, the order of the arms, its own functions.

A correct policy does not fail by chance: seeds are fixed, so the same file gets the same answer. Only the checks in
`CHANCE` compare means. Each of them makes at most about twenty comparisons, which fail only beyond `FAR` standard
errors (one in a million, where means are normal), and the order of the arms only where other runs fail it again. The
samples of `bandit_core.auditing.runs` refuse a policy that keeps its guarantee with a chance of one in a million.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar
from unittest import SkipTest

import numpy as np

from bandit_core.auditing.subjects import EPSILONS, audit_policy
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.experiments.experiment import Experiment
from bandit_core.kernels.streams import streams
from bandit_core.model import Block, Policy, RuleError, Signal, run_kernel
from bandit_core.model.kernel_call import NotCompiled
from bandit_core.policies import CLAIMED, load_policy, registry
from bandit_core.spec.errors import InputError
from bandit_core.studies.production import composed

FAR = 5.0  # standard errors
CHANCE = ("order of arms", "bounds", "samples")  # checks that depend on the seed of their runs
OF_PRIVACY, NO_PRIVACY = ("guarantee", "account", "samples"), (None, "It claims no privacy.")
BUDGETS = (0.5, 2.0)
STRICT = 0.05  # epsilon at which bounds are checked, too: there a floor is high
USERS, RUNS = 1000, 40
FEW_USERS, FEW_RUNS = 200, 6  # in plain Python
MEANS = (0.9, 0.8, 0.7, 0.6, 0.5)
_VERDICTS = {True: "holds", False: "does not hold", None: "not checked"}
Found = tuple[bool | None, str]


@dataclass(frozen=True, repr=False)
class Finding:
    """What was found of one property of a policy; ``holds`` is None where there was nothing to check."""

    policy: str
    check: str
    holds: bool | None
    words: str

    def __str__(self) -> str:
        return f"{self.policy}: {self.check}: {_VERDICTS[self.holds]}. {self.words}"

    def __repr__(self) -> str:
        return f"<{self.check}: {_VERDICTS[self.holds]}>"


def _experiment(
    policy: Policy, epsilon: float = BUDGETS[0], means: Iterable[float] = MEANS, params: Any = None, **fields: Any
) -> Any:
    arms = [{"kind": "bernoulli", "mean": mean} for mean in means]
    users = {"law": {"kind": "cube"}, "dimension": 3, "arms": 4}  # drawn one by one, in plain Python, too
    setting = {"arms": arms} if policy.setting == "arms" else {"contexts": users}
    budget = {} if policy.epsilon == "none" else {"epsilon": {"kind": "fixed", "value": epsilon}}
    lines = [{"policy": policy.name, **budget, "params": params or {}}]
    return Experiment.model_validate({**setting, "lines": lines, "horizon": USERS, "trials": RUNS, **fields})


def _block(policy: Policy, experiment: Experiment, seed: int = 0, runs: int = RUNS, first: int = 0) -> Block:
    times = np.unique(np.geomspace(1, experiment.horizon, 20).astype(int))
    return policy.play(experiment.setups[0], streams(seed, first, runs), times, Signal())


def _description(policy: Policy) -> Found:
    names = ("title", "paper", "summary", "guarantee_words", "pseudo_code")
    empty = [name for name in names if not getattr(policy, name).strip()]
    if empty:
        return False, f"Empty: {', '.join(empty)}. Give each a sentence."
    if (policy.privacy == "none") != (policy.epsilon == "none"):
        return False, f"privacy is {policy.privacy!r} and epsilon is {policy.epsilon!r}: both are 'none', or neither."
    fields = policy.parameters.model_fields.items()
    if bare := [name for name, field in fields if field.is_required() or not field.description]:
        return False, f"parameters.{', parameters.'.join(bare)}: give each a default and a description."
    parent = registry().get(policy.parent or "")
    if policy.epsilon != "none" and (parent is None or parent.privacy != "none" or parent.setting != policy.setting):
        return False, f"parent is {policy.parent!r}: name the policy without privacy that remains for a large epsilon."
    return True, "Everything that is shown of it has words, and every parameter a default."


def _guarantee(policy: Policy) -> Found:
    for epsilon in BUDGETS:
        stated = policy.guarantee(_experiment(policy, epsilon).setups[0])
        if stated.model != policy.privacy:
            return False, f"guarantee(setup).model is {stated.model!r}, privacy {policy.privacy!r}: make them equal."
        if stated.epsilon is None or not 0 < stated.epsilon <= epsilon * (1 + 1e-9):
            return False, f"guarantee(setup).epsilon is {stated.epsilon}, the line's {epsilon:g}: state at most that."
    return True, f"It states {stated.budget}, {policy.promise.name}, where a line asks for ε = {epsilon:g}."


def _account(policy: Policy) -> Found:
    for epsilon in BUDGETS:
        setup = _experiment(policy, epsilon).setups[0]
        listed, stated = policy.releases(setup), policy.guarantee(setup)
        if not listed:
            return None, f"releases(setup) is empty: its guarantee is {CLAIMED}. List what leaves users or the curator."
        total = composed(listed, stated.delta)
        if stated.epsilon is not None and total > stated.epsilon * (1 + 1e-9):
            return (
                False,
                f"releases(setup) adds up to ε = {total:.4g}, not {stated.epsilon:.4g}: add noise.",
            )
    return True, f"What it releases adds up to ε = {total:.4g} where it states {stated.budget}."


def _numbers(policy: Policy) -> Found:
    experiment = _experiment(policy)
    block = _block(policy, experiment)
    if not (block.pulls.sum(axis=1) == USERS).all():
        return False, f"block.pulls adds up to {block.pulls.sum(axis=1)[0]:g} in {USERS} users: count each user once."
    short = [_block(policy, _experiment(policy, means=MEANS[:few], horizon=few), 0, 2).pulls.sum() for few in (1, 2)]
    if short != [2, 4]:
        return (
            False,
            f"block.pulls adds up to {short} in two runs of 1 and 2 users (and arms), not to [2, 4].",
        )
    if (falls := np.diff(block.regret, axis=1).min()) < -1e-9:
        return False, f"block.regret falls by {-falls:.3g}: it is the sum of the gaps of the arms that were shown."
    parts = [_block(policy, experiment, 0, 1), _block(policy, experiment, 0, RUNS, 1)]
    if np.concatenate([part.pulls for part in parts]).tobytes() != block.pulls.tobytes():
        first = int(np.flatnonzero((np.concatenate([part.pulls for part in parts]) != block.pulls).any(axis=1))[0])
        return False, f"block.pulls of run {first} depends on earlier runs: keep nothing outside of `start`."
    if len(np.unique(np.hstack([block.regret, block.pulls]), axis=0)) == 1 and policy.epsilon != "none":
        return None, f"{RUNS} runs are all alike here. Is the noise drawn from `stream`?"
    return True, "Users are counted once, regret never falls, and no run depends on another."


def _horizon(policy: Policy) -> Found:
    long, short = (_experiment(policy, horizon=horizon) for horizon in (USERS, USERS // 2))
    if policy.knows_horizon(long.setups[0]):
        return None, "It says that it needs the number of users."
    times = np.array([USERS // 2, USERS])
    plays = ((short, times[:1]), (long, times))
    ends = [policy.play(each.setups[0], streams(0, 0, RUNS), at, Signal()).regret[:, 0] for each, at in plays]
    if differ := int((ends[0] != ends[1]).sum()):
        return False, f"anytime is True, but {differ} of {RUNS} runs change with setup.horizon: say anytime=False."
    return True, "A run for fewer users is the beginning of a longer one, as anytime = True says."


def _order(policy: Policy, seed: int) -> Found:
    if policy.setting == "contexts":
        return None, "Users with features have no fixed order of arms."

    def errors_apart(runs: int, more: int) -> float:
        ends = [
            _block(policy, _experiment(policy, BUDGETS[1], means), 100 * seed + more + place, runs).regret[:, -1]
            for place, means in enumerate((MEANS, MEANS[::-1]))
        ]
        error = np.sqrt(sum(end.var(ddof=1) for end in ends) / runs)
        return float((ends[0].mean() - ends[1].mean()) / error) if error > 0 else 0.0

    apart = errors_apart(200, 10)
    if abs(apart) > 3.0:  # then other runs decide
        apart = errors_apart(800, 20)
    if abs(apart) <= FAR:
        return True, "Regret is the same whether the best arm is listed first or last."
    return (
        False,
        f"Regret differs by {abs(apart):.0f} standard errors with the best arm last: use the arm labels.",
    )


def _bounds(policy: Policy, seed: int) -> Found:
    count = 0
    for epsilon in (BUDGETS[1], STRICT):
        experiment = _experiment(policy, epsilon)
        ends = _block(policy, experiment, 100 * seed, 200).regret[:, -1]
        room = FAR * ends.std(ddof=1) / np.sqrt(len(ends))
        for bound in line_bounds(experiment, 0):
            if bound.not_applicable or bound.form != "bound" or bound.kind != "problem-dependent" or bound.only:
                continue
            value = float(bound.values(np.array([USERS]), experiment.largest_gap)[0])
            low, high = (value, np.inf) if bound.side == "lower" else (-np.inf, value)
            if not low - room <= ends.mean() <= high + room:
                text = f"At ε = {epsilon:g} {bound.name} is {value:.4g} for {USERS} users, the measured regret "
                text += f"{ends.mean():.4g}: correct the bound, or its assumptions (`ruled_out`)"
                return False, text + (", or the noise." if bound.side == "lower" else ".")
            count += 1
    if not count:
        return None, "It states no bound for these arms."
    return True, f"Measured regret agrees with all bounds that apply here: {count}."


def _samples(policy: Policy, seed: int) -> Found:
    seen: dict[str, None] = {}
    for place, result in audit_policy(policy, seed=seed):
        if result.verdict == "violates":
            text = f"It claims ε = {result.epsilon:.4g}, and {place} shows that ε is at least {result.lower_bound:.3g}"
            return False, f"{text}: clip first, then add noise for the largest change, drawn anew for every release."
        seen[place] = None
    if not seen:
        return None, "Nothing that it sends or plays can be sampled here: its privacy is as declared."
    at = " and ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    return True, f"At ε = {at} nothing speaks against it (that proves nothing): {', '.join(seen)}."


def _in_python(function: Any, made: dict[Any, Any]) -> Any:
    """A compiled function, and all compiled functions that it calls, as plain Python."""
    plain = getattr(function, "py_func", function)
    if plain not in made:
        names = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
        parts = plain.__name__, plain.__defaults__, plain.__closure__
        made[plain] = copy = FunctionType(plain.__code__, {**plain.__globals__}, *parts)
        pieces = {name: each for name, each in names.items() if hasattr(each, "py_func")}
        copy.__globals__.update({name: _in_python(each, made) for name, each in pieces.items()})
    return made[plain]


def _plain(policy: Policy) -> Found:
    call = policy.prepare(_experiment(policy, horizon=FEW_USERS).setups[0])
    words, times = streams(0, 0, FEW_RUNS), np.array([FEW_USERS])
    compiled = run_kernel(call, words, times, Signal())
    try:
        with np.errstate(all="ignore"):  # words of random numbers overflow
            plain = run_kernel(replace(call, kernel=_in_python(call.kernel, {})), words, times, Signal())
    except (NotImplementedError, ArithmeticError, ValueError) as error:  # as the logarithm of 0
        return None, f"Plain Python stops where compiled code goes on: {error or type(error).__name__}."
    except Exception as error:
        return False, f"In plain Python it raises {type(error).__name__}: {error}. Compiled code checks no index."
    alike = (plain.pulls == compiled.pulls).all(axis=1)
    if alike.mean() > 0.5:  # rounding may differ in some
        return True, "Its functions choose the same arms in plain Python as compiled."
    return False, f"{(~alike).sum()} of {FEW_RUNS} compiled runs differ from those in plain Python: compare the types."


CHECKS: dict[str, Callable[..., Found]] = {
    "description": _description,
    "guarantee": _guarantee,
    "account": _account,
    "numbers": _numbers,
    "horizon": _horizon,
    "order of arms": _order,
    "bounds": _bounds,
    "samples": _samples,
    "plain Python": _plain,
}


def findings(policy: Policy, checks: Iterable[str] = CHECKS, seed: int = 0) -> Iterator[Finding]:
    """What holds of a policy of the registry, and what not."""
    for check in checks:
        asks = policy.privacy != "none" or check not in OF_PRIVACY
        try:
            outcome = CHECKS[check](policy, *([seed] if check in CHANCE else [])) if asks else NO_PRIVACY
        except NotCompiled as error:  # nor would it be for the other checks
            yield Finding(policy.name, check, False, f"{error.issues[0]}.")
            return
        except RuleError as error:
            outcome = False, f"{error.issues[0]}."
        except InputError as error:
            outcome = None, f"It refuses the experiment of this check: {error.issues[0]}."
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            outcome = (
                False,
                f"{place.name} raises {type(error).__name__}: {error}. See line {place.lineno} of {place.filename}.",
            )
        yield Finding(policy.name, check, *outcome)


def check_policy(path: Path) -> list[Finding]:
    """Load the policies of a Python file (see `load_policy`) and check each; ``str`` of a finding is a sentence.

    Raises
    ------
    InputError
        When the file cannot be loaded, or has no policy.
    """
    return [each for name in load_policy(path) for each in findings(registry()[name])]


class PolicyTests:
    """Tests of one policy for pytest: each check of `check_policy`, and what you expect of its learning.

    Subclass it in a test file of your own, in a class whose name begins with ``Test``, and run pytest. A check that
    finds nothing to check is skipped. A policy that `check_policy` passes also passes here, until you ask for more: the
    fields below that are None ask for nothing.

    Attributes
    ----------
    policy
        Its name.
    file
        The Python file that has it; None where the lab has it.
    params
        Parameters of its line in the runs below; the checks use its defaults.
    users
        Users of each of the 100 runs that measure the following fields: on arms that pay 1 with chances .9, .8, .7, .6
        and .5, or users with features.
    shown
        Every run shows every arm at least so often, at ε = 1.
    found
        In every run at least this share of users, from 0 to 1, gets the arm that always pays, where the other one
        never pays, at ε = 1000.
    ratio
        Least and most mean regret at ε = 1000, in multiples of that of its ``parent``.
    strict
        An ε at which mean regret is larger than at ε = 8, by 5 standard errors.

    Examples
    --------
    >>> class TestNoisyGreedy(PolicyTests):
    ...     policy, file = "noisy-greedy", "noisy_greedy.py"
    ...     ratio = (0.8, 4.0)
    """

    policy: ClassVar[str]
    file: ClassVar[str | Path | None] = None
    params: ClassVar[dict[str, Any]] = {}
    users: ClassVar[int] = 5000
    shown: ClassVar[int | None] = None
    found: ClassVar[float | None] = None
    ratio: ClassVar[tuple[float, float] | None] = None
    strict: ClassVar[float | None] = None

    def _played(self, epsilon: float, means: tuple[float, ...] = MEANS, parent: bool = False) -> Block:
        policy = registry()[self.policy]
        policy, params = (registry()[policy.parent or ""], {}) if parent else (policy, self.params)
        return _block(policy, _experiment(policy, epsilon, means, params, horizon=self.users), runs=100)


def _ratio(tests: PolicyTests, asked: tuple[float, float]) -> tuple[float, float, float]:
    own, parent = (tests._played(1000.0, parent=each).regret[:, -1].mean() for each in (False, True))
    return own / parent, *asked


def _strict(tests: PolicyTests, asked: float) -> tuple[float, float, float]:
    strict, loose = (tests._played(epsilon).regret[:, -1] for epsilon in (asked, 8.0))
    error = np.hypot(strict.std(ddof=1), loose.std(ddof=1)) / np.sqrt(len(strict))
    return strict.mean() - loose.mean(), FAR * error, np.inf


_ASKED: dict[str, Callable[[PolicyTests, Any], tuple[float, float, float]]] = {  # a number, its least, its most
    "shown": lambda it, least: (it._played(1.0).pulls.min(), least, np.inf),
    "found": lambda it, least: (it._played(1000.0, (1.0, 0.0)).best_pulls[:, -1].min() / it.users, least, 1.0),
    "ratio": _ratio,
    "strict": _strict,
}


def _test_of(title: str) -> Callable[[PolicyTests], None]:
    def test(self: PolicyTests) -> None:
        if self.file is not None:
            load_policy(Path(self.file))
        if title in CHECKS:
            [found] = findings(registry()[self.policy], [title])
            holds, words = found.holds, found.words
        elif (asked := getattr(self, title)) is None:
            holds, words = None, f"{title} is None: it asks for nothing."
        else:
            value, least, most = _ASKED[title](self, asked)
            holds, words = bool(least <= value <= most), f"{title} = {asked}, measured {value:.4g}."
        if holds is None:
            raise SkipTest(words)
        assert holds, words

    return test


for _title in (*CHECKS, *_ASKED):
    setattr(PolicyTests, f"test_{_title.replace(' ', '_').lower()}", _test_of(_title))
