"""Robust-UCB: Bubeck, Cesa-Bianchi, Lugosi 2013.

UCB for rewards with very large outliers: rewards that are too large to be believed yet count 0.

    pull each arm once
    for t = K+1, K+2, ...:
        pull the arm a with the largest  S_a / N_a + kappa 4 u^(1/(1+v)) (2 ln t / N_a)^(v/(1+v))
        N_a += 1;  B = (u N_a / (2 ln t))^(1/(1+v))
        if |x| <= B:  S_a += x

Early on little is believed, later more and more.
Deviations from print: the truncation of a reward uses the t of its own pull; the paper truncates all past rewards anew
with the present t, which would need every reward to be stored. kappa below 1 (the default) gives up the proved bound.
"""

from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import heavy_family
from bandit_core.theory import finite_time_bounds, heavy


def _prepare(setup: RunSetup) -> KernelCall:
    p = setup.parameters
    unit = p.u ** (1 / (1 + p.v))
    return heavy_family.prepare_index(
        setup,
        bonus=p.kappa * 4 * unit,
        slope=2.0,
        offset=0.0,
        level=unit,
        shrinks=True,
    )


POLICY = heavy_family.policy(
    lambda setup: [*finite_time_bounds.without_privacy(setup), *heavy.plain_lower_bounds(setup)],
    heavy.robust_ucb,
    name="robust-ucb",
    parameters=heavy_family.IndexParameters,
    prepare=_prepare,
    parent="ucb",
    step_cost=lambda setup: 0.4 + 0.09 * len(setup.arms),
    held=heavy_family.index_held,
)
