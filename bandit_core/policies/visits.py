"""Around every policy: people who come again, whom the promise protects as persons.

Of a person who comes m times every answer spends epsilon / m (`bandit_core.model.RunSetup.epsilon`), and m of them
together epsilon: locally by composition (Dwork and Roth 2014, Theorem 3.14; it holds for answers that depend on earlier
ones), elsewhere because a change of m rewards is m changes of one (group privacy, Theorem 2.2). In a release that all m
rewards are in the sensitivity is m times as large, and m releases with one of them each compose: both times the noise
is that of epsilon / m. Nothing here holds with a delta, and promises with one are refused where people come again.

The number of visits is a cap that must be kept: a later visit of the same person may not be used.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bandit_core.model import Guarantee, Policy, Release, RunSetup


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
