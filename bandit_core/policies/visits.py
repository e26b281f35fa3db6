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

The number of visits is a cap that must be kept: a later visit of the same person may not be used.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bandit_core.model import Guarantee, Policy, Release, RunSetup

SMALLEST_DELTA = 1e-12  # of one answer; below, accounts of policies have too few digits


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
        return policy.spent(setup, times) * np.minimum(np.maximum(times, 1), setup.visits)

    return replace(policy, guarantee=guarantee, releases=releases, spending=spending)
