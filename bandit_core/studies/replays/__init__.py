"""One trial again, pull by pull, in plain Python: what users felt and sent, and what the server believed.

A replay is told which arm was pulled and reads the trial's stream in the order of the kernel that pulled it, so it
meets the same rewards and the same noise; there is one class for each kernel, in `REPLAYS`. Kernels leave out what
decides nothing, and four things are completed here, from a generator that no run uses, each from its exact
distribution given all that the run has drawn: the reward behind a random bit (the kernel draws the bit alone), which
users of a batch had the larger reward (the kernel draws their number), the reward of a user who shares nothing, and
draws from a posterior that decided nothing.
Everything that decides is the run's own.
"""

from __future__ import annotations

from typing import Any

from bandit_core.kernels import (
    batched,
    common_counters,
    covered_counters,
    explore_commit,
    gaussian_batches,
    gaussian_posterior,
    heavy,
    index,
    kl,
    ladder,
    lazy_posterior,
    posterior,
    release_schedules,
    search,
    signed_trees,
    trees,
)
from bandit_core.studies.replays import batches, each_user, growing_batches, searches
from bandit_core.studies.replays.base import Belief, Decision, Replay

__all__ = ["REPLAYS", "Belief", "Decision", "Replay"]

REPLAYS: dict[Any, type[Replay]] = {
    index.lockstep: each_user.Index,
    index.tournament: each_user.Index,
    kl.by_index: each_user.KL,
    posterior.thompson: each_user.Posterior,
    gaussian_posterior.thompson: each_user.NormalPosterior,
    trees.own_counters: each_user.OwnCounters,
    common_counters.common_counters: each_user.CommonCounters,
    signed_trees.common_trees: each_user.SignedTrees,
    covered_counters.own_trees: each_user.OwnTrees,
    covered_counters.own_roots: each_user.OwnRoots,
    covered_counters.common_roots: each_user.CommonRoots,
    batched.by_index: batches.Commitment,
    gaussian_batches.by_index: batches.NormalCommitment,
    batched.elimination: batches.Elimination,
    ladder.elimination: growing_batches.Ladder,
    release_schedules.by_index: batches.LazyIndex,
    lazy_posterior.thompson: batches.LazyPosterior,
    explore_commit.explore_then_commit: batches.ABTest,
    search.search: searches.Search,
    heavy.by_index: each_user.Truncated,
    heavy.elimination: batches.HeavyEpochs,
}
