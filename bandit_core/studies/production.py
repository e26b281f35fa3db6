"""From a simulated line to what people would use: what a device runs, a server keeps, is public, and is asked.

Nothing here is written for one policy: the sentences follow from the promise of the line, its releases and parameters.
They stand in ``production.toml``.

The noise of one release as a program that runs where people use it: OpenDP draws, with the release's own numbers.

Every program ends with the names ``epsilon`` (what OpenDP says that the release costs, nats; for normal noise at the
line's delta) and ``answer`` (what is sent), and prints both.
"""

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bandit_core.experiments.experiment import Experiment, Line
from bandit_core.mechanisms.base import Mechanism
from bandit_core.mechanisms.gaussian import GaussianNoise
from bandit_core.mechanisms.l2_ball import BallAlong
from bandit_core.mechanisms.randomised_response import RandomisedResponse
from bandit_core.mechanisms.sigmoid import SigmoidFirst
from bandit_core.model import Guarantee, Policy, Release, RunSetup, any_rewards
from bandit_core.spec.found import entries
from bandit_core.spec.notation import write_epsilon, write_value
from bandit_core.spec.number_text import write_number

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
