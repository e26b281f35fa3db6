"""The ten steps in their order, and the second parts that some have."""

from __future__ import annotations

from ui.learn import choosing, coin, crowd, learner, price, promise, trust, whom, wild, yours
from ui.learn.step import Step

MINUTES = 15
STEPS: tuple[Step, ...] = tuple(
    module.STEP for module in (choosing, coin, crowd, learner, price, trust, whom, wild, promise, yours)
)
PARTS: tuple[Step, ...] = tuple(
    part for step in STEPS for part in (step, step.second) if part is not None
)  # as they are printed
