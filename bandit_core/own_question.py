"""A practitioner's question: typed rates as arms, one experiment over all trust models, and what each model loses."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandit_core.arms import Arm, Bernoulli
from bandit_core.epsilons import Epsilon
from bandit_core.experiment import Experiment
from bandit_core.observations import MOST_OPTIONS
from bandit_core.policies import registry
from bandit_core.policies.base import Policy, Privacy
from bandit_core.problems import InvalidInput, Problem
from bandit_core.results import Result

TRIALS = 100
_USUAL: dict[Privacy, tuple[str, ...]] = {
    "none": ("ucb",),
    "local": ("heldp-ucb-b",),
    "central": ("adap-ucb", "dp-se", "anytime-lazy-ucb"),
}
_WORDS: dict[Privacy, str] = {"none": "no privacy", "local": "nobody is trusted", "central": "a curator is trusted"}


def read_lifts(text: str) -> list[float]:
    """Expected lifts from text: ``5, 10, -3 %``; with semicolons or line breaks between them, commas are decimal.

    Raises
    ------
    InvalidInput
        With every part that is no number.
    """
    parts = re.split(r"[;\n]", text.replace(",", ".")) if re.search(r"[;\n]", text) else text.split(",")
    lifts, problems = [], []
    for place, part in enumerate(filter(None, (part.strip() for part in parts))):
        try:
            lift = float(part.removesuffix("%").replace("−", "-").strip())
        except ValueError:
            lift = math.nan
        if not math.isfinite(lift):
            problems.append(Problem(f"lifts[{place}]", part, "numbers with commas between them, such as 5, 10, -3"))
        lifts.append(lift)
    if not problems and not 1 <= len(lifts) < MOST_OPTIONS:
        problems.append(Problem("lifts", len(lifts), f"between 1 and {MOST_OPTIONS - 1} of them"))
    if problems:
        raise InvalidInput(problems)
    return lifts


def typed_arms(
    baseline: float, lifts: Sequence[float], relative: bool, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Bernoulli, ...]:
    """The baseline and an option per lift, rescaled to [0, 1].

    Of typed options only the mean is known. Between given limits the law that varies most pays the smallest or the
    largest amount, so this is what they are taken for: a safe assumption, as it takes longest to learn.

    Parameters
    ----------
    baseline
        Mean reward of the first option.
    lifts
        What each further option adds: percent of the baseline where ``relative``, else reward units.
    limits
        Smallest and largest reward of one user.

    Raises
    ------
    InvalidInput
        With every option whose mean lies outside the limits.
    """
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput([Problem("limits", [low, high], "the smallest reward must be below the largest one")])
    means = [baseline, *(baseline * (1 + lift / 100) if relative else baseline + lift for lift in lifts)]
    problems = [
        Problem(f"option {number}", f"{mean:.6g}", f"a mean between {low:g} and {high:g}")
        for number, mean in enumerate(means)
        if not low <= mean <= high
    ]
    if problems:
        raise InvalidInput(problems)
    return tuple(Bernoulli(mean=min(1.0, max(0.0, (mean - low) / (high - low)))) for mean in means)


def question(
    arms: Sequence[Arm], horizon: int, epsilon: Epsilon | float, trials: int = TRIALS, seed: int = 0
) -> Experiment:
    """No privacy against every trust model that some policy of the registry serves, on these arms.

    Parameters
    ----------
    arms
        Rewards in [0, 1], options in the order of the question.
    horizon
        Number of users.
    epsilon
        One budget for everybody, or how the budgets are spread (then models that need one budget are left out).

    Raises
    ------
    InvalidInput
        When the horizon is none, or the arms fit no policy.
    """
    from bandit_core.theory.threshold import recommended

    law: dict[str, Any]
    if isinstance(epsilon, int | float):
        law = {"kind": "fixed", "value": float(epsilon)}
    else:
        law = {"kind": epsilon.name, **epsilon.model_dump(mode="json", exclude_defaults=True)}
    spec: dict[str, Any] = {
        "arms": [{"kind": arm.name, **arm.model_dump(mode="json", exclude_defaults=True)} for arm in arms],
        "horizon": horizon,
        "trials": trials,
        "seed": seed,
        "view": {"bounds": False},
    }
    lines = []
    for privacy in ("none", "local", "central"):
        for policy in _candidates(privacy):
            line: dict[str, Any] = {"policy": policy.name, "label": _WORDS[privacy]}
            if policy.epsilon != "none":
                line["epsilon"] = law
            if "eps_min" in policy.parameters.model_fields and not isinstance(epsilon, int | float):
                # Automatic thresholds are remembered by the process; budgets that somebody uploaded must not be.
                line["params"] = {"eps_min": recommended.__wrapped__(epsilon, "v_b")}
            try:
                Experiment.model_validate({**spec, "lines": [line]})
            except InvalidInput as error:
                if privacy == "none":
                    raise error
                continue
            lines.append(line)
            break
    return Experiment.model_validate({**spec, "lines": lines})


def _candidates(privacy: Privacy) -> list[Policy]:
    known = registry()
    usual = [known[name] for name in _USUAL[privacy] if name in known]
    if privacy != "central":
        return usual
    others = [policy for policy in known.values() if policy.privacy == "central" and policy not in usual]
    return [policy for policy in (*usual, *others) if getattr(policy, "setting", "arms") == "arms"]


@dataclass(frozen=True)
class Cost:
    """What one trust model loses over all users, in the unit of the rewards; errors are standard errors.

    ``extra`` is the loss beyond no privacy (over pairs of trials), ``price`` the ratio to it; NaN for no privacy
    itself and where the loss without privacy is 0.
    """

    line: int
    privacy: Privacy
    label: str
    lost: float
    lost_stderr: float
    extra: float
    extra_stderr: float
    price: float
    price_stderr: float
    trials: int

    @property
    def certain(self) -> bool:
        """Whether privacy costs something beyond two standard errors."""
        return self.extra > 2 * self.extra_stderr  # never where the error is unknown


def costs(result: Result, scale: float = 1.0) -> list[Cost]:
    """A `Cost` per finished line of `question`; ``scale`` is what a reward of 1 stands for."""
    base = result.lines[0]
    rows = []
    for number, line in enumerate(result.lines):
        if line is None:
            continue
        chosen = result.experiment.lines[number]
        extra = extra_stderr = price = price_stderr = math.nan
        if number and base is not None:
            _, mine, theirs = np.intersect1d(line.trials, base.trials, return_indices=True)
            differences = scale * (line.regret[mine, -1] - base.regret[theirs, -1])
            if len(differences):
                extra = float(differences.mean())
            if len(differences) > 1:
                extra_stderr = float(differences.std(ddof=1) / math.sqrt(len(differences)))
            price, price_stderr = line.ratio_to(base)
        rows.append(
            Cost(
                line=number,
                privacy=chosen.entry.privacy,
                label=chosen.label or chosen.entry.title,
                lost=scale * float(line.mean[-1]),
                lost_stderr=scale * float(line.stderr[-1]),
                extra=extra,
                extra_stderr=extra_stderr,
                price=price,
                price_stderr=price_stderr,
                trials=line.count,
            )
        )
    return rows
