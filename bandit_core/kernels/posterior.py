"""Thompson sampling with beta posteriors: plain, and behind randomised response (TS-CF).

At every step each arm draws theta ~ Beta(1 + ones, 1 + zeros) and the arm with the largest theta is pulled. A response
is one bit; its chance of being 1 is all that a simulation needs. The bit takes one uniform of the stream's first
generator a step, the posteriors draw from the second one.
"""

from __future__ import annotations

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.labels import arrange, draw_labels
from bandit_core.kernels.streams import beta, next_uniform


@kernel
def thompson(state, chances, gaps, record):
    """Play one trial per row of ``state``, filling the outputs at the checkpoints."""
    checkpoints = record.checkpoints
    arms = chances.shape[0]
    ones = np.empty(arms)
    zeros = np.empty(arms)
    pulled = np.empty(arms)
    order = np.empty(arms, np.int64)
    chances_here = np.empty_like(chances)
    gaps_here = np.empty_like(gaps)
    for trial in range(state.shape[0]):
        draw_labels(state, trial, order)
        arrange(order, chances, chances_here)
        arrange(order, gaps, gaps_here)
        ones[:] = 0.0
        zeros[:] = 0.0
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            while t <= checkpoints[checkpoint]:
                best = -1.0
                choice = 0
                for arm in range(arms):
                    theta = beta(state, trial, 1.0 + ones[arm], 1.0 + zeros[arm])
                    if theta > best:
                        best = theta
                        choice = arm
                if next_uniform(state, trial, 0) < chances_here[choice]:
                    ones[choice] += 1.0
                else:
                    zeros[choice] += 1.0
                t += 1
            for arm in range(arms):
                pulled[arm] = ones[arm] + zeros[arm]
            note(pulled, gaps_here, trial, checkpoint, record.regret, record.best_pulls)
            if passed(record, checkpoint, 1):
                return
        note_pulls(record, trial, order, pulled)
