"""From a simulated line to what people would use: its releases and what they add up to, device, server, noise."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import checked
from bandit_core.experiments.experiment import Experiment, Line
from bandit_core.mechanisms.description import Mechanism
from bandit_core.mechanisms.gaussian import GaussianNoise, smallest_epsilon
from bandit_core.mechanisms.l2_ball import BallAlong
from bandit_core.mechanisms.randomised_response import RandomisedResponse
from bandit_core.mechanisms.sigmoid import SigmoidFirst
from bandit_core.model import Guarantee, Policy, Privacy, Release, RunSetup, any_rewards
from bandit_core.policies import CLAIMED
from bandit_core.policies.visits import part_of_one
from bandit_core.spec.errors import refuse_if
from bandit_core.spec.feedback import MAX_VISITS
from bandit_core.spec.found import entries
from bandit_core.spec.later import pd
from bandit_core.spec.notation import write_epsilon, write_value
from bandit_core.spec.number_text import write_number
from bandit_core.theory import definitions

# ---------------------------------------------------------------------------------------------------------------------
# The releases of every line as data, and what they add up to: an account that anyone can make again.
#
# A person who is in several tests: what each of them may spend of one budget.


COLUMNS = (
    "line", "label", "policy",
    "unit", "released", "mechanism", "norm", "sensitivity", "scale", "epsilon", "times", "at",
    "guarantee_epsilon", "guarantee_delta",
)  # fmt: skip
_ORDERS = definitions.ORDERS[::8]  # fewer, as there may be thousands of rows; no more than one in a thousand is lost


def composed(releases: Iterable[Release], delta: float = 0.0) -> float:
    """Epsilon that one unit loses at most by all ``releases`` together, at ``delta``; infinite where nothing is proved.

    Without delta the sum. With delta the smallest of the sum, of what Renyi divergences give, of tight composition
    where a few pure releases spend the same, and, where all noise is normal, of the exact epsilon of one Gaussian
    release of the joint sensitivity. Releases that have a delta of their own add their epsilons and deltas (basic
    composition), and the others get what is left of delta.

    >>> from bandit_core.model import Release
    >>> laplace = Release(mechanism="laplace", released="", unit="one reward", at="", times=100, norm="L1",
    ...                   sensitivity=1.0, scale=10.0)
    >>> round(composed([laplace]), 3), round(composed([laplace], 1e-6), 3)
    (10.0, 4.775)
    """
    releases = list(releases)
    if failing := [each for each in releases if each.delta > 0]:
        left = delta - sum(each.times * each.delta for each in failing)
        if left < -1e-9 * delta:
            return math.inf
        others = composed([each for each in releases if each.delta == 0], max(0.0, left))
        return others + float(sum(each.times * (each.epsilon or 0.0) for each in failing))
    normal = [each for each in releases if each.mechanism == "gaussian"]
    pure = math.inf if normal else float(sum(each.times * (each.epsilon or 0.0) for each in releases))
    if delta == 0 or not releases:
        return pure
    distance = math.sqrt(sum(each.times * _distance(each) ** 2 for each in normal))
    if len(normal) == len(releases):
        return smallest_epsilon(distance, 1.0, delta)
    divergence = definitions.gaussian_renyi(_ORDERS, distance)
    for each in releases:
        if each.epsilon is not None:
            divergence = divergence + each.times * _renyi(each, each.epsilon)
    return min(pure, float(definitions.renyi_epsilon(divergence, delta, _ORDERS)), _alike(releases, delta))


def _alike(releases: list[Release], delta: float) -> float:
    """By `definitions.tight_epsilon`; infinite where releases are not alike, or too many for its sum."""
    times, parts = sum(each.times for each in releases), {each.epsilon for each in releases}
    part = parts.pop()
    if parts or part is None or times > MAX_VISITS or math.isinf(part):
        return math.inf
    return definitions.tight_epsilon(part, times, delta)


def _distance(release: Release) -> float:
    assert release.sensitivity is not None and release.scale is not None
    return release.sensitivity / release.scale


def _renyi(release: Release, epsilon: float) -> np.ndarray:
    """Of one pure release: its own for Laplace noise, else that of any epsilon-private release."""
    if release.mechanism == "laplace":
        return definitions.laplace_renyi(_ORDERS, epsilon)
    return np.minimum(epsilon, _ORDERS * epsilon**2 / 2)


def releases(experiment: Experiment) -> pd.DataFrame:
    """One row per release (or run of equal ones) of every private line, columns `COLUMNS`; none without privacy.

    A row counts for one unit; ``times`` says how many such releases one unit is in, at most. ``epsilon`` is the pure
    budget of one release (nats), empty for normal noise. ``guarantee_epsilon`` and ``guarantee_delta`` are what the
    line states for all of them; the former is empty where users have budgets of their own. A private line whose policy
    lists no releases has one row that says so.
    """
    rows: list[tuple[object, ...]] = []
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        guarantee = line.entry.guarantee(setup)
        first = (number, experiment.label(number), line.policy)
        listed = [tuple(getattr(each, name) for name in COLUMNS[3:12]) for each in line.entry.releases(setup)]
        if not listed and line.entry.privacy != "none":
            listed = [(None, CLAIMED, *[None] * 7)]
        rows += [(*first, *row, guarantee.epsilon, guarantee.delta) for row in listed]
    return pd.DataFrame(rows, columns=list(COLUMNS))


BUDGET_COLUMNS = ("trust", "test_epsilon", "answer_epsilon")
MAX_TESTS = 1000
MAX_BUDGET = 1000.0
MAX_ANSWERS = 10_000  # of one person in all
MAX_DELTA = 1e-3
LEAST_EPSILON = 0.01


@dataclass(frozen=True)
class Part:
    """What a person may spend in one test, and in one answer (nats). Both are pure: no delta of their own."""

    privacy: Privacy
    test: float
    answer: float


@checked
def parts(
    epsilon: Annotated[float, Field(ge=LEAST_EPSILON, le=MAX_BUDGET)],
    tests: Annotated[int, Field(ge=1, le=MAX_TESTS)],
    visits: Annotated[int, Field(ge=1, le=MAX_VISITS)] = 1,
    delta: Annotated[float, Field(ge=0, le=MAX_DELTA)] = 0.0,
) -> tuple[Part, ...]:
    """The largest equal parts for which all ``tests`` together are proved to be (epsilon, delta)-private for a person.

    A person gives ``visits`` answers in each test. Later tests may depend on what earlier ones found.

    On one's own device each answer is a release. There are tests x visits of them, and tight composition (Kairouz, Oh
    and Viswanath 2015) says what each may spend. A trusted curator releases what a test found, for all answers of a
    person at once, so tight composition is over the tests, and an answer gets 1 / visits of its test: of one test
    nothing better is proved (group privacy).

    >>> parts(2.0, 4)[0]
    Part(privacy='local', test=0.5, answer=0.5)

    Raises
    ------
    InputError
        With every number that is out of its range.
    """
    refuse_if(tests * visits > MAX_ANSWERS, "visits", visits, f"at most {MAX_ANSWERS:,} answers of one person in all")
    answer, test = part_of_one(epsilon, tests * visits, delta), part_of_one(epsilon, tests, delta)
    return Part("local", visits * answer, answer), Part("central", test, test / visits)


def budget(epsilon: float, tests: int, visits: int = 1, delta: float = 0.0) -> pd.DataFrame:
    """`parts` as a table: one row per level of trust, columns `BUDGET_COLUMNS`."""
    divided = parts(epsilon, tests, visits, delta)
    return pd.DataFrame([(part.privacy, part.test, part.answer) for part in divided], columns=list(BUDGET_COLUMNS))


# ---------------------------------------------------------------------------------------------------------------------
# From a simulated line to what people would use: what a device runs, a server keeps, is public, and is asked.
#
# Nothing here is written for one policy: the sentences follow from the promise of the line, its releases and
# parameters. They stand in ``production.toml``.
#
# The noise of one release as a program that runs where people use it: OpenDP draws, with the release's own numbers.
#
# Every program ends with the names ``epsilon`` (what OpenDP says that the release costs, nats; for normal noise at the
# line's delta) and ``answer`` (what is sent), and prints both.


_TEXT: Mapping[str, Any] = entries(__file__)
NOTICE, PUBLIC, BATCHES = _TEXT["notice"], _TEXT["public"], _TEXT["batches"]
LEFT_OUT = {"doubles": PUBLIC["doubles"], **_TEXT["left_out"]}
SEARCH = _TEXT["questions"]["search"]
LIBRARIES = _TEXT["libraries"]
PROGRAMS = {name: text for name, text in _TEXT["programs"].items() if name in LIBRARIES}
SECTIONS = {
    "On the device": "device",
    "On the server": "server",
    "What is public": "public",
    "What is not hidden": "not_hidden",
    "What an auditor would ask": "questions",
    "Who draws the noise": "noise",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one line would take where people use it, in sentences; ``code`` runs, and is empty without privacy."""

    promise: str
    device: str
    server: str
    noise: str
    code: str
    public: tuple[str, ...]
    not_hidden: tuple[str, ...]
    questions: tuple[str, ...]


def plan(experiment: Experiment, line: int) -> Plan:
    """The plan of one line of an experiment."""
    chosen, setup = experiment.lines[line], experiment.setups[line]
    policy, releases = chosen.entry, chosen.entry.releases(setup)
    guarantee = policy.guarantee(setup)
    names = list(dict.fromkeys(each.released for each in releases))
    times = sum(each.times for each in releases)
    numbers = {
        "answer": names[0] if names else "the answer",
        "released": "; ".join(names) or "nothing, as this line lists no release",
        "way": BATCHES.get(policy.privacy),
        "trusted": policy.promise.trusted,
        "exact": _TEXT["server"]["once" if times <= 1 else "often"].format(times=times),
    }
    return Plan(
        promise=guarantee.words,
        device=_said("device", policy).format(**numbers) + (f" {_TEXT['cut']}" if setup.uncut is not None else ""),
        server=_said("server", policy).format(**numbers),
        noise=_noise(setup, releases),
        code=program(releases[0], guarantee.delta) if releases and releases[0].mechanism in PROGRAMS else "",
        public=_public(chosen, setup),
        not_hidden=(_said("arm", policy), *_end(policy), *_again(policy, setup, guarantee)),
        questions=_questions(policy, releases),
    )


def _said(part: str, policy: Policy) -> str:
    """What a part of the text says of lines of this kind."""
    promise = policy.privacy
    kinds = [promise, "batch" if promise in BATCHES else "central" if promise == "joint" else promise]
    named = [f"{kind} with features" for kind in kinds if policy.setting == "contexts"] + kinds
    return next(str(_TEXT[part][kind]) for kind in named if kind in _TEXT[part])


def _end(policy: Policy) -> tuple[str, ...]:
    return (_TEXT["end"]["none" if policy.privacy == "none" else "private"],) if policy.stops else ()


def _again(policy: Policy, setup: RunSetup, guarantee: Guarantee) -> tuple[str, ...]:
    if policy.privacy == "none":
        return ()
    numbers = {
        "visits": setup.visits,
        "unit": "reward" if policy.setting == "arms" else "visit",
        "whose": "m times their own" if guarantee.epsilon is None else f"m times {guarantee.epsilon:g}",
        "delta": ", and δ grows at least as fast" if guarantee.delta else "",
    }
    return (_TEXT["again"]["visits" if setup.visits > 1 else "once"].format(**numbers),)


def _questions(policy: Policy, releases: list[Release]) -> tuple[str, ...]:
    texts = _TEXT["questions"]
    if policy.privacy == "none":
        return tuple(texts["none"])
    asked = []
    if releases:
        numbers = vars(releases[0]) | {"times": sum(each.times for each in releases)}
        limit = "cut" if releases[0].sensitivity is None else "limit"
        asked = [texts[name].format(**numbers) for name in ("releases", limit, "times")]
    asked += [SEARCH] if policy.stops else []
    asked += [texts["library"], texts["numbers"], _said("questions", policy), texts["messages"], texts["measured"]]
    return tuple(asked)


def _noise(setup: RunSetup, releases: list[Release]) -> str:
    if not releases:
        return "This line lists no release, so there is no noise to draw."
    first = releases[0]
    amount = (
        f"a budget of ε = {first.budget:g}" + (f" with δ = {first.delta:g}" if first.delta else "")
        if first.budget is not None
        else f"scale {first.scale:g} on what {first.unit} moves by at most {first.sensitivity:g} ({first.norm})"
    )
    library = LIBRARIES[first.mechanism]
    message = f"{library[0].upper()}{library[1:]}: {amount}."
    if first.times > 1 and first.mechanism in PROGRAMS:
        message += (
            f" That is one release; {first.unit} is in up to {first.times:,} of them, which add up to the promise."
        )
    if setup.epsilon is not None and setup.epsilon.fixed is None:
        message += " That is the largest budget; each user's device draws for its own."
    if len(releases) > 1 and first.mechanism in PROGRAMS:
        message += " The program has the numbers of the first row of the list of releases; the others have their own."
    return message


def _public(line: Line, setup: RunSetup) -> tuple[str, ...]:
    """Every number that the rule is computed with, and why it must not come from the data."""
    policy, named = line.entry, {}
    if setup.epsilon is not None:
        named["epsilon" if setup.visits == 1 else "epsilon of one answer"] = write_epsilon(setup.epsilon)
    if setup.visits > 1:
        named["visits"] = str(setup.visits)
        if setup.visits_delta > 0:
            named["delta of the visits"] = write_number(setup.visits_delta)
    named["arms"] = str(len(setup.arms) or (setup.contexts.arms if setup.contexts else 0))
    if policy.knows_horizon(setup):
        named["horizon"] = f"{setup.horizon:,}"
    named |= {name: write_value(value) for name, value in setup.parameters.model_dump().items() if value is not None}
    numbers = ", ".join(f"{name} = {value}" for name, value in named.items())
    if policy.privacy == "none":
        return (f"Nothing has to be. The numbers of the rule: {numbers}.", *_unknown(line))
    message = [f"The rule itself and its numbers, chosen before anyone looks at a reward: {numbers}."]
    if setup.epsilon is not None and setup.epsilon.fixed is None:
        message += [PUBLIC["budgets"], *([PUBLIC["eps_min"]] if "eps_min" in policy.parameters.model_fields else [])]
    if policy.knows_horizon(setup):
        message.append(PUBLIC["horizon"])
    if policy.setting == "arms" and policy.accepts is not any_rewards:
        message.append(PUBLIC["ranges"])
    if "u" in policy.parameters.model_fields:
        message.append(PUBLIC["moments"])
    return (*message, *_unknown(line))


def _unknown(line: Line) -> tuple[str, ...]:
    taken = "u" in line.entry.parameters.model_fields and line.params.get("u", "auto") == "auto"
    return (_TEXT["unknown"]["u"],) if taken else ()


def build(experiment: Experiment) -> str:
    """What each line would take where people use it, as Markdown with programs that draw its noise; a plan only."""
    parts = [NOTICE]
    for line in range(len(experiment.lines)):
        made = plan(experiment, line)
        parts += [f"# {experiment.label(line)}", f"{made.promise[:1].upper()}{made.promise[1:]}."]
        for title, words in SECTIONS.items():
            found = getattr(made, words)
            parts += [f"## {title}", found if isinstance(found, str) else _listed(found)]
        if made.code:
            parts.append(f"```python\n{made.code}```")
    return "\n\n".join([*parts, "# What the simulation leaves out", _listed(tuple(LEFT_OUT.values()))]) + "\n"


def _listed(sentences: tuple[str, ...]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def truth_of(epsilon: float) -> float:
    """Chance below 1 that randomised response tells the truth: of all doubles about the largest that keeps epsilon.

    >>> round(truth_of(1.0), 6), truth_of(1000.0) < 1
    (0.731059, True)
    """
    truth = min(1 / (1 + math.exp(-epsilon)), 1 - 2**-53)
    while truth > 0.5 and math.log(truth) - math.log1p(-truth) > epsilon:
        truth = math.nextafter(truth, 0.5)
    return truth


def program(release: Release, delta: float = 0.0) -> str:
    """Python that draws the noise of ``release`` once; ``delta`` is that of the line's promise (normal noise only)."""
    truth = None if release.budget is None else truth_of(release.budget)
    numbers = {"sensitivity": release.sensitivity, "scale": release.scale, "delta": delta, "truth": truth}
    comment = "\n".join(f"# {line}" for line in textwrap.wrap(f"Released: {release.released}.", 96))
    start = _TEXT["programs"]["start"].format(imports=_TEXT["imports"].get(release.mechanism, ""))
    return f"{comment}\n{start}{PROGRAMS[release.mechanism].format(**numbers)}{_TEXT['programs']['end']}"


def release_of(mechanism: Mechanism, epsilon: float) -> Release:
    """What one answer of a mechanism is for the account of its user."""
    inner = mechanism.inner if isinstance(mechanism, SigmoidFirst) else mechanism
    answer = Release(
        mechanism="laplace",
        released="the reward" if inner is mechanism else "the sigmoid of the reward",
        unit="one reward",
        at="once, by its user",
        sensitivity=inner.sensitivity,
        scale=inner.sensitivity / epsilon,
    )
    if isinstance(inner, GaussianNoise):
        return replace(answer, mechanism="gaussian", scale=float(inner.sd(epsilon)))
    bits = replace(answer, mechanism="randomised response", sensitivity=None, scale=None, budget=epsilon)
    if isinstance(inner, BallAlong):
        return replace(bits, mechanism="l2-ball", released="a vector of length at most 1")
    return bits if isinstance(inner, RandomisedResponse) else answer
