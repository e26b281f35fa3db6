"""One preset and one policy of each family, where those of a family differ in numbers or in one piece of code only."""

import re

from bandit_core.experiments.presets import preset_names

# Each function that tells a watcher what decided, and each kind of noise, is that of one of these.
POLICIES = (
    "kl-ucb-cf", "heldp-ucb-l", "heldp-ucb-lw", "dp-robust-ucb", "normal-ts-c", "ts-cf", "gaussian-ts", "lazy-dp-ts",
    "dp-ucb", "private-ucb", "dp-ucb-int", "dp-imed", "dp-klucb", "ldp-robust-se", "dist-dp-se", "shuffle-se",
    "explore-then-commit-central",
)  # fmt: skip


def one_of_each_family() -> list[str]:
    """``ren-1a-quick`` for all of Ren's figures, ``tao-s1-v05-e05`` for all of Tao's."""
    return list({re.split(r"-\d|-s\d|-quick", name)[0]: name for name in reversed(preset_names())}.values())
