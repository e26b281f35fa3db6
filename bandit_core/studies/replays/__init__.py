"""One trial again, pull by pull, in plain Python: what users felt and sent, and what the server believed.

For kernels that are not the loop of a rule, which tells this by itself (`kernels.play`).

A replay is told which arm was pulled and reads the trial's stream in the order of the kernel that pulled it, so it
meets the same rewards and the same noise; there is one class for each kernel, in `REPLAYS`, and one for rules of
batches. Kernels leave out what decides nothing, and four things are completed here, from a generator that no run uses,
each from its exact distribution given all that the run has drawn: the reward behind a random bit (the kernel draws the
bit alone), which users of a batch had the larger reward (the kernel draws their number), the reward of a user who
shares nothing, and draws from a posterior that decided nothing.
Everything that decides is the run's own.
"""

from __future__ import annotations

from typing import Any

from bandit_core.kernels import (
    explore_commit,
    lazy_posterior,
    lazy_updates,
    posterior,
    search,
)
from bandit_core.kernels.batch_rule import BatchRule
from bandit_core.model import KernelCall
from bandit_core.policies import elimination_by_trust, heavy_family
from bandit_core.studies.replays import batches, each_user, growing_batches, searches
from bandit_core.studies.replays.base import Belief, Replay

__all__ = ["REPLAYS", "Belief", "Replay", "replay_of"]

REPLAYS: dict[Any, type[Replay]] = {
    posterior.thompson: each_user.Posterior,
    lazy_updates.by_index: batches.LazyIndex,
    lazy_posterior.thompson: batches.LazyPosterior,
    explore_commit.explore_then_commit: batches.ABTest,
    search.search: searches.Search,
}
OF_BATCHES: dict[Any, type[Replay]] = {
    elimination_by_trust.total: growing_batches.Ladder,
    heavy_family.total: batches.HeavyEpochs,
}  # by how the sum of a batch is drawn


def replay_of(call: KernelCall) -> type[Replay] | None:
    """The class that replays a run of a kernel, if there is one."""
    if isinstance(call.rule, BatchRule):
        return OF_BATCHES.get(call.rule.total, batches.OfRule)
    return REPLAYS.get(call.kernel)
