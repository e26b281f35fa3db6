"""Make ``presets/best-by-trust.csv`` anew: which method Home, Learn and the preset ``trust`` show at each budget.

``python -m benchmarks.best_by_trust`` holds a contest at every position of Home's slider (half a minute, and
compiling). With ``--check`` it then compares the levels of trust on five other sets of arms, with 400 trials on a seed
that chose nothing, and prints every pair in which more trust loses clearly more, or a larger budget by a tenth.
"""

from __future__ import annotations

import argparse

from bandit_core import Experiment, simulate
from bandit_core.experiments.presets import load_preset
from bandit_core.studies import best_by_trust

INSTANCES = ((0.9, 0.8, 0.7), (0.5, 0.4, 0.3, 0.2), (0.1, 0.05, 0.03), (0.6, *[0.5] * 9), (0.95, 0.9, 0.2))
SEED, TRIALS = 4711, 400
CLEARLY = 4.0  # standard errors: 3 for one comparison, more for about 200 of them (Bonferroni at 1 %)
RISE = 0.1  # share by which a curve may rise with epsilon on other arms: DP-IMED's rises by 8 % once, on ten arms


def played(means: tuple[float, ...], epsilon: float, horizon: int, trials: int) -> Experiment:
    """The methods of the table at a budget, on other arms."""
    budget = {"kind": "fixed", "value": epsilon}
    lines = [
        {"policy": policy} | ({} if level == "none" else {"epsilon": budget})
        for level, policy in best_by_trust.at(epsilon).items()
    ]
    arms = [{"kind": "bernoulli", "mean": mean} for mean in means]
    document = {"arms": arms, "lines": lines, "horizon": horizon, "trials": trials, "seed": SEED}
    return Experiment.model_validate(document)


def worse(means: tuple[float, ...], horizon: int, trials: int) -> list[str]:
    """Every pair of levels at one budget, and of neighbouring budgets of one level, in the wrong order beyond luck."""
    found, before = [], None
    for epsilon in best_by_trust.BUDGETS:
        result = simulate(played(means, epsilon, horizon, trials))
        lines = result.lines
        pairs = [(f"ε = {epsilon:g}: {place}", lines[place], lines[place + 1]) for place in range(len(lines) - 1)]
        if before is not None:
            pairs += [(f"up to ε = {epsilon:g}: {place}", lines[place], before[place]) for place in (1, 2)]
        for name, better, other in pairs:
            assert better is not None and other is not None
            behind, error = better.difference_to(other)
            allowed = RISE * other.mean[-1] if name.startswith("up") else 0.0
            if behind > max(CLEARLY * error, allowed):
                found.append(f"{means} {name}: {behind:.3g} ± {error:.2g} more")
        before = lines
    return found


def main() -> None:
    """Write the table; compare on other arms where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the levels on five other sets of arms")
    check = parser.parse_args().check
    best_by_trust.write()
    print(best_by_trust.FILE.read_text(encoding="utf-8"))
    if check:
        horizon = load_preset(best_by_trust.PRESET).horizon
        found = [each for means in INSTANCES for each in worse(means, horizon, TRIALS)]
        print(
            "\n".join(found)
            or f"no level loses clearly more than one of less trust, nor {RISE:.0%} more than at a smaller budget"
        )


if __name__ == "__main__":
    main()
