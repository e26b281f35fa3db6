r"""Elimination in batches that grow by a factor: one argument, and what differs with what the server learns.

Batch b = 1, 2, ... pulls each of the |S| arms that are left l = growth^b times. The server learns a number m_a of each
arm and drops every arm with m_a < max m - 2 r, where r is the radius of the batch. With L(c) = ln(c |S| b^2 / beta):

* the sum itself: r = sqrt(L(4)/(2l)), by Hoeffding's inequality;
* the sum with Laplace(1/epsilon) noise: r = sqrt(L(8)/(2l)) + L(4)/(epsilon l), as in DP-SE;
* bits, truthful with probability 1 - g and else uniform: their mean is 1/2 + (1-g)(mu - 1/2) whatever g is, and they
  are bits, so Hoeffding's inequality bounds rewards, rounding and noise at once: r = sqrt(L(4)/(2l))/(1-g). Local: 1 -
  g = tanh(epsilon/2) in every batch; shuffled: g falls with l;
* sums modulo m (Chowdhury and Zhou 2023): rounding to g levels is unbiased and stays within [0, 1], so Hoeffding's
  inequality holds with it; r = sqrt(L(4)/(2l)) + c sqrt(L(2))/l + d L(2)/l with c = sqrt(2)/epsilon, d = 1/epsilon for
  Polya shares and c = 2/e + sqrt(2)/(s e), d = 1/(s e) for Skellam shares of rate e, as published. Proof of the noise's
  part: discrete Laplace, P(|N| > y) <= 2 e^(-epsilon y/g) at y = g (sqrt(2 L) + L)/epsilon is at most e^-L as soon as
  sqrt(2 L) >= ln 2; Skellam, P(|N| > sqrt(2 V x) + x/3) <= 2 e^-x at x = L + ln 2 <= 2 L is e^-L, and with V = g^2/e^2,
  g >= s e sqrt(l), this is below the published radius.

So a mean leaves its radius with probability at most beta/(2 |S| b^2) (sums, bits, Laplace) or beta/(|S| b^2) (modulo
m), over the whole run at most pi^2/12 beta or pi^2/6 beta. Modulo m there are also sums that the modulus spoils, with
chance beta/2 each at most: as printed, tau does not grow with the number of sums, so K B of them count in B batches.

Unless that happens no best arm is dropped, and an arm with gap > 4 r is dropped at the end of the batch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bandit_core.mechanisms import batch
from bandit_core.model import Bound, Model, RunSetup
from bandit_core.spec.portable_math import log, power
from bandit_core.theory import classic, definitions
from bandit_core.theory.stated import stated

_SURE = math.pi**2 / 12


@dataclass(frozen=True, eq=False)
class Steps:
    """The batches of a run, one entry each.

    ``lengths`` are pulls of each arm, ``radii`` (batches, arms + 1) by the number of arms left, in reward units.
    ``contrast``: how far means of bits follow those of rewards; ``levels`` of rounding; ``spread`` and ``slack`` of the
    noise (Laplace: scale, in rewards; Polya: rate of a level; Skellam: variance, in squared levels). ``failure``:
    chance that any mean of the run leaves its radius, at most.
    """

    lengths: np.ndarray
    radii: np.ndarray
    failure: float
    contrast: np.ndarray
    levels: np.ndarray
    spread: np.ndarray
    slack: np.ndarray


def chance_of_error(setup: RunSetup) -> float:
    """``beta``, with "auto" = 1 / horizon."""
    beta = setup.parameters.beta
    return 1 / setup.horizon if beta == "auto" else float(beta)


def lengths(setup: RunSetup) -> np.ndarray:
    """Pulls of each arm in every batch that may be complete by the horizon; there is always a first one."""
    growth = int(setup.parameters.growth)
    last = max(1, math.floor(math.log(setup.horizon) / math.log(growth) + 1e-9))
    return power(growth, np.arange(1, last + 1))


def _steps(  # noqa: PLR0913 (coefficients of a radius and what the server learns)
    setup: RunSetup,
    sampling: float,
    noise: float = 2.0,
    root: np.ndarray | float = 0.0,
    linear: np.ndarray | float = 0.0,
    contrast: np.ndarray | float = 1.0,
    modulo: bool = False,
    levels: np.ndarray | None = None,
    spread: np.ndarray | None = None,
    slack: np.ndarray | None = None,
) -> Steps:
    """Radii sqrt(L(sampling)/(2l))/contrast + root sqrt(L(noise))/l + linear L(noise)/l."""
    pulls, arms, beta = lengths(setup), len(setup.arms), chance_of_error(setup)
    count, number = np.maximum(np.arange(arms + 1), 1)[None, :], np.arange(1, len(pulls) + 1)[:, None]
    union = log(count * number**2 / beta)
    plain, private = union + math.log(sampling), union + math.log(noise)
    each = np.broadcast_to(np.asarray(contrast, float), pulls.shape).copy()
    radii = np.sqrt(plain / (2 * pulls[:, None])) / each[:, None]
    radii = radii + (root * np.sqrt(private) + linear * private) / pulls[:, None]
    failure = (2 * _SURE + arms * len(pulls) / 2 if modulo else _SURE) * beta
    columns = [np.zeros(len(pulls)) if value is None else value for value in (levels, spread, slack)]
    return Steps(pulls, radii, failure, each, *columns)


def plain(setup: RunSetup) -> Steps:
    """The server learns the sums."""
    return _steps(setup, 4.0)


def laplace(setup: RunSetup) -> Steps:
    """A curator adds Laplace noise to each sum."""
    epsilon = setup.fixed_epsilon
    return _steps(setup, 8.0, 4.0, linear=1 / epsilon, spread=np.full(len(lengths(setup)), 1 / epsilon))


def local(setup: RunSetup) -> Steps:
    """Every user sends one randomised bit."""
    return _steps(setup, 4.0, contrast=math.tanh(setup.fixed_epsilon / 2))


def noisy_shares(setup: RunSetup) -> np.ndarray:
    """Chance of a uniform bit in each batch of `shuffled`."""
    chosen, epsilon = setup.parameters, setup.fixed_epsilon
    return np.array(
        [batch.noisy_share(int(users), epsilon, chosen.delta, chosen.accounting) for users in lengths(setup).tolist()]
    )


def shuffled(setup: RunSetup) -> Steps:
    """The server learns how many bits are 1, of users who randomise just enough for the size of their batch."""
    return _steps(setup, 4.0, contrast=1 - noisy_shares(setup))


def _of(sums: Sequence[batch.ModularSum]) -> tuple[np.ndarray, np.ndarray]:
    """(levels, slacks) of the sums of all batches."""
    return np.array([float(each.levels) for each in sums]), np.array([float(each.slack) for each in sums])


def polya(setup: RunSetup) -> Steps:
    """The server learns a sum modulo m with discrete Laplace noise."""
    epsilon, beta, pulls = setup.fixed_epsilon, chance_of_error(setup), lengths(setup).astype(int).tolist()
    sums = [batch.PolyaSum.of(users, epsilon, beta) for users in pulls]
    levels, slack = _of(sums)
    root, linear, spread = math.sqrt(2) / epsilon, 1 / epsilon, epsilon / levels
    return _steps(setup, 4.0, 2.0, root, linear, modulo=True, levels=levels, spread=spread, slack=slack)


def rate(setup: RunSetup) -> float:
    """e, such that the Skellam noise of a batch has Renyi divergences of about a e^2/2."""
    chosen = setup.parameters
    if chosen.accounting == "paper":
        return setup.fixed_epsilon
    return definitions.skellam_rate(setup.fixed_epsilon, chosen.delta, int(chosen.growth), float(chosen.scale))


def skellam_spent(setup: RunSetup) -> float:
    """Epsilon that the Skellam sums of a run really keep at its delta: that of the smallest batch."""
    chosen, speed = setup.parameters, rate(setup)
    return definitions.skellam_epsilon(speed, batch.levels(speed, int(chosen.growth), chosen.scale), chosen.delta)


def skellam(setup: RunSetup) -> Steps:
    """The server learns a sum modulo m with Skellam noise."""
    speed, scale, beta = rate(setup), setup.parameters.scale, chance_of_error(setup)
    sums = [batch.SkellamSum.of(users, speed, scale, beta) for users in lengths(setup).astype(int).tolist()]
    (levels, slack), spread = _of(sums), np.array([each.variance for each in sums])
    root, linear = 2 / speed + math.sqrt(2) / (scale * speed), 1 / (scale * speed)
    return _steps(setup, 4.0, 2.0, root, linear, modulo=True, levels=levels, spread=spread, slack=slack)


# --- bounds --------------------------------------------------------------------------------------------------------


def pulls_until_dropped(steps: Steps, gap: float) -> float:
    """Most pulls of an arm with this ``gap`` unless a mean leaves its radius; infinite if no batch is long enough."""
    enough = np.flatnonzero(4 * steps.radii[:, -1] < gap)
    return float(steps.lengths[: enough[0] + 1].sum()) if len(enough) else math.inf


def until_dropped(setup: RunSetup, steps: Steps, model: Model) -> Bound:
    """The explicit bound that the module's argument gives."""
    curve = classic.until_dropped(setup, lambda gap: pulls_until_dropped(steps, gap), steps.failure)
    return stated("batches-until-dropped", curve, model=model)


def upper(setup: RunSetup, steps: Callable[[RunSetup], Steps], model: Model, orders: list[Bound]) -> list[Bound]:
    """Explicit bound and published orders, for rewards in [0, 1] (others are refused before)."""
    return [until_dropped(setup, steps(setup), model), *orders]


def orders(setup: RunSetup, key: str, more: float) -> list[Bound]:
    """Published shapes: ``more`` is added to sum of ln T/gap (or sqrt(K t ln t)). Drawn with the factor 1."""
    arms, clock = len(setup.arms), math.log(max(2, setup.horizon))
    curves = {
        "": lambda t: classic.gap_sum(setup, -1) * clock + more + 0 * t,
        "-distribution-free": lambda t: np.sqrt(arms * t * clock) + more,
    }
    return [stated(f"{key}{which}-order", curve) for which, curve in curves.items()]


def shuffled_orders(setup: RunSetup) -> list[Bound]:
    """Tenenbaum, Kaplan, Mansour and Stemmer 2021."""
    private = math.sqrt(math.log(1 / setup.parameters.delta)) / setup.fixed_epsilon
    return orders(setup, "tenenbaum", len(setup.arms) * private * math.log(max(2, setup.horizon)))


def polya_orders(setup: RunSetup) -> list[Bound]:
    """Chowdhury and Zhou 2023, pure."""
    return orders(setup, "polya", len(setup.arms) / setup.fixed_epsilon * math.log(max(2, setup.horizon)))


def skellam_orders(setup: RunSetup) -> list[Bound]:
    """Chowdhury and Zhou 2023, Renyi."""
    speed, clock, scale = rate(setup), math.log(max(2, setup.horizon)), setup.parameters.scale
    return orders(setup, "skellam", len(setup.arms) / speed * (math.sqrt(clock) + clock / scale))
