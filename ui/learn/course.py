"""The ten steps in their order."""

from __future__ import annotations

from ui.learn import choosing, coin, crowd, learner, price, promise, trust, whom, wild, yours
from ui.learn.step import Step

MINUTES = 15
STEPS: tuple[Step, ...] = tuple(
    module.STEP for module in (choosing, coin, crowd, learner, price, trust, whom, wild, promise, yours)
)
