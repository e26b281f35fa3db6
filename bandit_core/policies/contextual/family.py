"""What the contextual policies share: common parameters, refusals, and the call of a rule."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.kernels.contextual import BLOCK, MAX_TRIES
from bandit_core.kernels.play import Late, Rule
from bandit_core.mechanisms.gaussian import smallest_epsilon
from bandit_core.model import Guarantee, KernelCall, Parameters, Policy, Release, RunSetup
from bandit_core.spec import field_types
from bandit_core.spec.contexts import Contexts, Discrete, GaussianContexts, Sphere, Table
from bandit_core.spec.field_types import Number, Positive, Whole
from bandit_core.theory.contextual import contexts_of

UCB_STEP = 25e-9  # seconds of one pull of `ucb`, the unit of step costs

Accounting = Literal["paper", "tight"]
Delta = Annotated[
    field_types.Small,
    Field(gt=0, lt=1, description="Probability with which the promise of epsilon may fail, for each user."),
]
Alpha = Annotated[Number, Field(gt=0, lt=1, description="Failure probability of the regret bound.")]
Refresh = Annotated[
    Number,
    Field(
        ge=0,
        le=1,
        description="The server solves again when the number of users has grown by this share; 0 solves after every "
        "user, as in the paper.",
    ),
]
MULTI: dict[str, Any] = {"structure": "multi"}  # of a parameter's schema: it matters with a parameter for each arm only
WarmUp = Annotated[
    Whole,
    Field(
        ge=1,
        le=10**7,
        description="Rounds in which every arm is played once, at the start (multi structure only).",
        json_schema_extra=MULTI,
    ),
]


def no_arms(arms: Sequence[Any]) -> str | None:
    """An acceptor for policies that need features: they take no plain arms."""
    return "it chooses by the features of users; plain arms have none" if arms else None


def policy(seconds: Callable[[RunSetup, Contexts], float], **fields: Any) -> Policy:
    """An entry for a policy for users with features; by default all users have one budget.

    ``seconds`` is the rough time of one user, beside that of meeting them.
    """

    def step_cost(setup: RunSetup) -> float:
        return (meeting_seconds(setup) + seconds(setup, contexts_of(setup))) / UCB_STEP

    given = {"setting": "contexts", "accepts": no_arms, "late": True, "step_cost": step_cost}
    return Policy(**{**given, **fields})


def linear_only(setup: RunSetup) -> str | None:
    """Words of refusal for least squares behind a link that is not the identity."""
    link = contexts_of(setup).link
    if link == "identity":
        return None
    return f"its least squares need the identity link, not {link}; use ldp-sgd or ldp-gloc"


def one_model(setup: RunSetup) -> str | None:
    """Words of refusal where each arm has a parameter of its own, and what moves would tell the arm."""
    many = contexts_of(setup).models > 1
    return "it sends one message, which must not tell the arm; use the structure single" if many else None


def local_guarantee(setup: RunSetup, delta: float, epsilon: float) -> Guarantee:
    """(epsilon, delta)-local privacy of context, choice and reward of every user; ``epsilon`` is what the run has."""
    kind = f"({epsilon:.4g}, {delta:g})-locally" if delta else f"{epsilon:g}-locally"
    words = f"what a user sends about context, choice and reward is {kind} differentially private"
    if epsilon < setup.fixed_epsilon * (1 - 1e-6):
        words += f": the noise of the paper hides more than the chosen epsilon {setup.fixed_epsilon:g} asks for"
    return Guarantee("local", words, epsilon, delta)


def gaussian_guarantee(setup: RunSetup, sensitivity: float, sd: float) -> Guarantee:
    """What normal noise ``sd`` on a joint release of L2 sensitivity ``sensitivity`` keeps at the policy's delta."""
    delta, chosen = setup.parameters.delta, setup.fixed_epsilon
    kept = smallest_epsilon(sensitivity, sd, delta)
    return local_guarantee(setup, delta, chosen if math.isclose(kept, chosen, rel_tol=1e-9) else kept)


def one_message(
    released: str, *, scale: float, sensitivity: float | None = None, budget: float | None = None, **more: Any
) -> list[Release]:
    """All that is released of a user: once, and by the user, unless ``more`` says otherwise.

    With normal noise, or by the l2-ball mechanism at ``budget``.
    """
    mechanism, norm = ("gaussian", "L2") if budget is None else ("l2-ball", None)
    usual: dict[str, Any] = {"mechanism": mechanism, "norm": norm, "at": "once, by the user", "budget": budget}
    usual |= {"unit": "one user's context, choice and reward", "sensitivity": sensitivity, "scale": scale}
    return [Release(released=released, **{**usual, **more})]


def call(rule: Rule, setup: RunSetup, numbers: NamedTuple) -> KernelCall:
    """The call that plays a rule with these numbers and the users of a line."""
    contexts, feedback = contexts_of(setup), setup.feedback
    arguments = (contexts.kernel_form(), numbers, Late(feedback.batch, feedback.delay))
    kernel = rule.at_once if feedback.immediate else rule.late
    return KernelCall(kernel, arguments, contexts.arms, error=True, rule=rule)


def solutions(horizon: int, refresh: float) -> float:
    """How often the server solves until the horizon, roughly."""
    if refresh * horizon <= 1:
        return float(horizon)
    return min(float(horizon), (1 + np.log(refresh * horizon)) / refresh)


def _pool_seconds(contexts: Contexts) -> float:
    """Rough time of drawing the types of users of a discrete distribution, at the start of a trial.

    With a parameter for each arm a type is drawn until its best arm is ahead by the gap. Predictors of unit vectors are
    nearly normal with variance 1/d, and the distance of the largest two of K is then about exponential.
    """
    distribution = contexts.law
    if not isinstance(distribution, Discrete):
        return 0.0
    if contexts.models == 1:
        return distribution.points * contexts.arms * (60e-9 + 12e-9 * contexts.dimension)
    tries = math.exp(min(50.0, distribution.gap * math.sqrt(2 * contexts.dimension * math.log(contexts.arms))))
    return distribution.points * min(MAX_TRIES, tries) * contexts.arms * (2e-9 + 1e-9 * contexts.dimension)


def meeting_seconds(setup: RunSetup) -> float:
    """Rough time of drawing one user and comparing all arms, with its share of what is drawn before the first one."""
    contexts = contexts_of(setup)
    numbers = contexts.dimension * contexts.arms
    drawn = contexts.dimension * contexts.vectors
    before = _pool_seconds(contexts) / setup.horizon
    each, number = (8e-9, 1e-9) if contexts.models == 1 else (3e-9, 0.5e-9)
    compared = each * contexts.arms + number * numbers
    draw = 2e-9 if isinstance(contexts.law, Sphere | GaussianContexts) else 5e-9
    return before + 60e-9 + draw * drawn + compared


def after_warm_up(setup: RunSetup) -> float:
    """The share of users who come after the warm-up, which there is where each arm has a parameter of its own."""
    contexts = contexts_of(setup)
    if contexts.models == 1:
        return 1.0
    return max(0.0, 1 - contexts.arms * setup.parameters.warm_up / setup.horizon)


def numbers_held(squares: Callable[[Contexts], float]) -> Callable[[RunSetup, int], float]:
    """``held`` of a policy whose square matrices have ``squares(contexts)`` numbers: with them the users and theta."""

    def numbers(setup: RunSetup, rows: int) -> float:
        contexts = contexts_of(setup)
        distribution, size = contexts.law, contexts.vectors * contexts.dimension
        users = 8 * BLOCK + size * (2 + (distribution.points if isinstance(distribution, Discrete) else 0))
        table = len(distribution.rows) * len(distribution.rows[0]) if isinstance(distribution, Table) else 0
        feedback = setup.feedback
        waiting = 0 if feedback.immediate else min(feedback.batch + feedback.delay, setup.horizon)
        users += waiting * (contexts.dimension + 2)
        return users + table + 6 * contexts.models * contexts.dimension + 4 * contexts.arms + squares(contexts)

    return numbers


class WarmUpParameters(Parameters):
    """Parameters that only the multi structure uses."""

    warm_up: WarmUp = 1000
    h: Annotated[Positive | Literal["off"], Field(json_schema_extra=MULTI)] = "off"
    """Arms whose estimate after the warm-up is more than h/2 below the best for this user are not considered (multi
    structure only). off: never, as in the published code."""


def warm_up(setup: RunSetup) -> dict[str, Any]:
    """Users of the round-robin warm-up, and h/2 of the elimination after it: none with one parameter for all arms."""
    contexts, parameters = contexts_of(setup), setup.parameters
    if contexts.models == 1:
        return {"warm_up": 0, "spread": math.inf}
    spread = math.inf if parameters.h == "off" else parameters.h / 2
    return {"warm_up": contexts.arms * parameters.warm_up, "spread": spread}
