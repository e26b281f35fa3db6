"""Around every policy: people who come again, whom the promise protects as persons.

Of a person who comes m times every answer spends epsilon / m (`bandit_core.model.RunSetup.epsilon`), and m of them
together epsilon: locally by composition (Dwork and Roth 2014, Theorem 3.14; it holds for answers that depend on earlier
ones), elsewhere because a change of m rewards is m changes of one (group privacy, Theorem 2.2). In a release that all m
rewards are in the sensitivity is m times as large, and m releases with one of them each compose: both times the noise
is that of epsilon / m.

With a delta: m local answers that are (epsilon, delta)-private compose to (m epsilon, m delta) (Theorem 3.16 there).
Elsewhere a change of m rewards costs (m epsilon, m e^((m-1) epsilon) delta) (Theorem 2.2, its proof with a delta), and
what is rho-zCDP is m^2 rho-zCDP for m of them (Bun and Steinke 2016, Proposition 1.9). `delta_of_one` is the delta that
one answer keeps, so that together with epsilon / m the person keeps epsilon and delta.

With a delta for the visits (``visits_delta``) each of m local answers may spend more than epsilon / m: the largest
epsilon' of which m compose to (epsilon, delta), which is exact (Kairouz, Oh and Viswanath 2015, Theorem 3.3;
`theory.definitions.tight_part`). Proof that nothing is worse than randomised responses. Two persons differ in the m
rewards behind their answers. Given the answers so far, let P and P' be the distributions of the next one, of a device
that is epsilon'-private. With p = e^epsilon' / (1 + e^epsilon') both Q = (p P - (1 - p) P') / (2 p - 1) and
Q' = (p P' - (1 - p) P) / (2 p - 1) are distributions, as neither P nor P' is more than e^epsilon' times the other, and
P = p Q + (1 - p) Q', P' = (1 - p) Q + p Q'. So the answer can be made of a bit that tells which of the two persons it
is, by randomised response: draw from Q or Q' by the bit. All answers are computed from m such bits, one after the
other, and what is computed from them tells them apart no better than the bits do, whose hockey-stick divergence is the
sum in `tight_delta`. A device may be randomised response itself, so no larger epsilon' keeps the promise for every
policy. Elsewhere this is no rule: m rewards of a person may be in one release, which they move m times as far.

The number of visits is a cap that must be kept: a later visit of the same person may not be used.
"""

import math
from dataclasses import replace

import numpy as np

from bandit_core.model import Guarantee, Policy, Release, RunSetup
from bandit_core.spec.budgets.base import LARGEST
from bandit_core.theory import definitions

SMALLEST_DELTA = 1e-12  # of one answer; below, accounts of policies have too few digits


def why_not_tight(policy: Policy, once: RunSetup) -> str | None:
    """Why the answers of a person are not composed tightly; ``once`` is the setup of a person who comes once."""
    if policy.privacy != "local":
        return "may add up all rewards of a person in one release, where nothing composes"
    if once.epsilon is None or once.epsilon.fixed is None:
        return "has budgets that differ from person to person, and this is done for one epsilon"
    if policy.guarantee(once).delta > 0:
        return "keeps a delta of its own, which is divided over the visits already"
    return None


def part_of_one(epsilon: float, visits: int, delta: float) -> float:
    """What one of a person's local answers may spend of ``epsilon`` at ``delta``, see `why_not_tight`."""
    return epsilon / visits if delta == 0 else min(LARGEST, definitions.tight_part(epsilon, visits, delta))


def delta_of_one(policy: Policy, setup: RunSetup, visits: int) -> float:
    """The delta of one of a person's ``visits``; ``setup`` is that of a person who comes once, with a delta."""
    epsilon, delta = setup.fixed_epsilon, float(setup.parameters.delta)
    return delta / visits * (1.0 if policy.privacy == "local" else math.exp(-(visits - 1) * epsilon / visits))


def _with_delta(one: Guarantee, visits: int) -> Guarantee:
    """What a person keeps of whose ``visits`` each keeps ``one``, without words of its own."""
    assert one.epsilon is not None
    growth = 0.0 if one.model == "local" else (visits - 1) * one.epsilon
    delta = math.exp(min(0.0, math.log(visits * one.delta) + growth))
    rho = None if one.rho is None else visits**2 * one.rho
    return replace(one, epsilon=visits * one.epsilon, delta=delta, rho=rho)


def _composed(part: float, setup: RunSetup, answers: int) -> float:
    """Epsilon of so many local answers that spend ``part`` each; one of them has no more than that."""
    return part if answers == 1 else definitions.tight_epsilon(part, answers, setup.visits_delta)


def for_people(policy: Policy) -> Policy:
    """The policy, whose promise, releases and spending are those of a person with ``setup.visits`` visits."""
    if policy.privacy == "none":
        return policy

    def guarantee(setup: RunSetup) -> Guarantee:
        one = policy.guarantee(setup)
        if setup.visits == 1:
            return one
        person = f"{one.words}; a person may come {setup.visits} times, and is protected as a person"
        if one.epsilon is None:
            words = f"{person} with the whole budget: each answer spends 1 / {setup.visits} of it"
            return Guarantee(one.model, words, None, one.delta)
        if one.delta > 0:
            found = _with_delta(one, setup.visits)
            words = f"{person}: of {setup.visits} × {one.epsilon:.4g} and what δ becomes, {found.budget}"
            return replace(found, words=words)
        if setup.visits_delta > 0:
            found = replace(one, epsilon=_composed(one.epsilon, setup, setup.visits), delta=setup.visits_delta)
            words = f"{person}: {setup.visits} answers of {one.epsilon:.4g} each, tightly composed, keep {found.budget}"
            return replace(found, words=words)
        whole = one.epsilon * setup.visits
        words = f"{person} with ε = {setup.visits} × {one.epsilon:.4g} = {whole:.6g}"
        return Guarantee(one.model, words, whole, one.delta)

    def releases(setup: RunSetup) -> list[Release]:
        if setup.visits == 1:
            return policy.releases(setup)
        at = f"up to {setup.visits} visits of a person, each "
        return [
            replace(each, unit="one person", times=each.times * setup.visits, at=at + each.at)
            for each in policy.releases(setup)
        ]

    def spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
        one, answers = policy.spent(setup, times), np.minimum(np.maximum(times, 1), setup.visits)
        if setup.visits_delta == 0:
            return one * answers
        several = zip(one.tolist(), answers.tolist(), strict=True)
        return np.array([_composed(part, setup, int(count)) for part, count in several])

    return replace(policy, guarantee=guarantee, releases=releases, spending=spending)
