"""What the centrally private policies share: accepted rewards, the guarantee in words, and common parameters."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from bandit_core.model import Guarantee, Parameters, Release, RunSetup
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.spec.number_text import number
from bandit_core.theory import definitions

Accounting = Literal["paper", "tight"]
IndexReading = Literal["with root", "as printed"]


def also(old: dict[str, str]) -> BeforeValidator:
    """Reads the words of older specs as those that took their place."""

    def read(word: Any) -> Any:
        return old.get(word, word) if isinstance(word, str) else word

    return BeforeValidator(read)


class AccountedParameters(Parameters):
    """For algorithms that spend more than their nominal epsilon when run as printed.

    There is no ``advanced``: a reward enters two releases, and for so few the plain sum of their budgets is smaller.
    Older specs say "as printed" for paper and "calibrated" for tight.
    """

    accounting: Annotated[Accounting, also({"as printed": "paper", "calibrated": "tight"})] = "tight"
    """tight: the noise is set so that the run really has the epsilon you chose. paper: the noise as printed, and the
    guarantee shown is what that run really has."""


class ReadIndexParameters(AccountedParameters):
    """For Tossou and Dimitrakakis' Algorithms 1 and 2, whose printed index lacks the exploration term."""

    index: IndexReading = "with root"
    """with root: mean + sqrt(2 ln t / n) + the margin for noise, as the text says and the proofs need. as printed:
    Algorithm 1 literally, without sqrt(2 ln t / n)."""


# Accepts rewards in [0, 1].
unit_rewards = bounded_rewards("ucb (no privacy) or heldp-ucb-bs (local privacy)", "the curator's noise")


def pure(setup: RunSetup, factor: float = 1.0) -> Guarantee:
    """Central epsilon-DP where the run really spends ``factor`` times the chosen epsilon."""
    epsilon = setup.fixed_epsilon * factor
    words = f"what the curator publishes is {epsilon:g}-differentially private in every single reward"
    if factor > 1:
        words += f": the algorithm as printed spends {factor:g} times the chosen epsilon {setup.fixed_epsilon:g}"
    return Guarantee("central", words, epsilon)


def approximate(setup: RunSetup, epsilon: float, delta: float) -> Guarantee:
    """Central (epsilon, delta)-DP where the run really has ``epsilon``, whatever was chosen."""
    words = (
        f"what the curator publishes is ({number(epsilon)}, {delta:.2g})-differentially private in every single reward"
    )
    if epsilon > setup.fixed_epsilon * (1 + 1e-9):
        words += f": as printed it spends more than the chosen epsilon {setup.fixed_epsilon:g}"
    elif getattr(setup.parameters, "accounting", "tight") == "advanced":
        words += f": advanced composition, which counts more, allows the chosen epsilon {setup.fixed_epsilon:g}"
    return Guarantee("central", words, epsilon, delta)


def concentrated(
    setup: RunSetup, rho: float | None = None, reason: str = "and so", really: float | None = None
) -> Guarantee:
    """Central rho-zCDP that gives (epsilon, delta)-DP, of the line's epsilon and its ``delta``.

    ``rho`` is the largest one from which that follows by `definitions.zcdp_rho`, unless there is a better
    ``reason``; ``really`` is the epsilon that the run has, where it is not the line's.
    """
    epsilon, delta = setup.fixed_epsilon if really is None else really, setup.parameters.delta
    rho = definitions.zcdp_rho(epsilon, delta) if rho is None else rho
    words = (
        f"what the curator publishes is {number(rho)}-zCDP in every single reward, {reason} ({number(epsilon)}, "
        f"{delta:.2g})-differentially private"
    )
    return Guarantee("central", words, epsilon, delta, rho)


def noisy_sums(
    released: str,
    scale: Callable[[Any], float] = lambda setup: 1 / setup.fixed_epsilon,
    at: str = "once, when the batch is full",
    normal: bool = False,
) -> Callable[[Any], list[Release]]:
    """Every reward enters one sum, which is released with Laplace(1/epsilon) noise, or noise of another ``scale``."""
    return lambda setup: [central_release(released, 1.0, scale(setup), at, normal=normal)]


def central_release(
    released: str, sensitivity: float, scale: float, at: str, times: int = 1, normal: bool = False
) -> Release:
    """A number that the curator publishes with Laplace noise, or numbers with ``normal`` noise."""
    return Release(
        mechanism="gaussian" if normal else "laplace", released=released, unit="one reward", at=at, times=times,
        norm="L2" if normal else "L1", sensitivity=sensitivity, scale=scale,
    )  # fmt: skip
