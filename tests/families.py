"""One preset of each family, where those of a family differ in numbers only."""

import re

from bandit_core.experiments.presets import preset_names


def one_of_each_family() -> list[str]:
    """``ren-1a-quick`` for all of Ren's figures, ``tao-s1-v05-e05`` for all of Tao's."""
    return list({re.split(r"-\d|-s\d|-quick", name)[0]: name for name in reversed(preset_names())}.values())
