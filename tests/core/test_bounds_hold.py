"""Mean simulated regret lies under every proved upper bound, at every checkpoint."""

import numpy as np
import pytest

from bandit_core import Experiment, simulate
from bandit_core.theory.curves import line_bounds

FAMILIES = {
    "two Bernoulli arms, wide gap": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.1}],
    "four Bernoulli arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.2, 0.95, 0.5, 0.9)],
    "the best arm never fails": [{"kind": "bernoulli", "mean": 1.0}, {"kind": "bernoulli", "mean": 0.0, "count": 3}],
    "mixed laws": [
        {"kind": "bernoulli", "mean": 0.9},
        {"kind": "beta", "a": 1, "b": 4},
        {"kind": "two-point", "low": 0.1, "high": 0.7, "p_high": 0.5},
        {"kind": "uniform", "low": 0, "high": 1},
    ],
}
LINES = [
    {"policy": "ucb"},
    *(
        {"policy": policy, "epsilon": epsilon, "params": params}
        for policy in ("heldp-ucb-b", "heldp-ucb-l")
        for epsilon, params in (
            ({"kind": "fixed", "value": 1.0}, {}),
            ({"kind": "fixed", "value": 20.0}, {}),
            ({"kind": "fixed", "value": 500.0}, {}),
            ({"kind": "fixed", "value": 20.0}, {"eps_min": 8.0}),
            ({"kind": "discrete", "values": [0, 0.5, 5, 50]}, {}),
            ({"kind": "discrete", "values": [0, 10, 30], "probs": [0.1, 0.2, 0.7]}, {"eps_min": 9.0}),
        )
    ),
]


@pytest.mark.parametrize("arms", FAMILIES.values(), ids=FAMILIES)
def test_mean_regret_is_below_every_proved_upper_bound(arms):
    experiment = Experiment.model_validate({"arms": arms, "lines": LINES, "horizon": 5000, "trials": 20, "seed": 7})
    result = simulate(experiment, jobs=2)
    below_the_cap = 0
    for number, line in enumerate(result.lines):
        assert line.count == 20
        proved = [
            bound
            for bound in line_bounds(experiment, number)
            if (bound.side, bound.status) == ("upper", "proved") and not bound.hidden
        ]
        assert len(proved) >= 2  # the policy's own and the trivial cap
        cap = result.times * experiment.largest_gap
        for bound in proved:
            values = bound.values(result.times, experiment.largest_gap)
            above = result.times[line.mean > values * (1 + 1e-9)]
            assert above.size == 0, f"{experiment.label(number)} exceeds {bound.label} at t = {above}"
            below_the_cap += bool(np.any(values < cap * (1 - 1e-9)))
    assert below_the_cap >= 3  # else only the trivial cap would have been tested
