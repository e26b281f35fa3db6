"""Make ``presets/best-by-trust.csv`` anew: which method Home, Learn and the preset ``trust`` show at each budget.

``python -m benchmarks.best_by_trust`` holds a contest at every usual budget (a minute, and compiling). With ``--check``
it then holds one at every position of Home's slider on five other sets of arms (ten minutes), plays what was chosen
1,000 times on a seed that chose nothing, and prints every pair in which more trust or a larger budget loses clearly
more: no share of the loss is allowed, only the error of the comparison, corrected for the number of comparisons.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from bandit_core import Experiment, Question, best_methods, simulate
from bandit_core.experiments import trust_table
from bandit_core.experiments.presets import load_preset
from bandit_core.experiments.trust_table import LEVELS, Method
from bandit_core.model import Privacy
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import write_number
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.sweep import EPSILONS
from ui.gallery import EPSILONS as BUDGETS

INSTANCES = ((0.9, 0.8, 0.7), (0.5, 0.4, 0.3, 0.2), (0.1, 0.05, 0.03), (0.6, *[0.5] * 9), (0.95, 0.9, 0.2))
SEED, TRIALS = 4711, 1000
CHANCE = 0.01  # of a false alarm in all comparisons on one set of arms together (Bonferroni)
Methods = Mapping[float, Mapping[Privacy, Method]]


def decide(epsilon: float, store: Store | None = None) -> dict[Privacy, Method]:
    """The method of each level that the contest chooses at a budget, anew."""
    preset = load_preset(trust_table.PRESET)
    decision = best_methods(Question(tuple(preset.arms), preset.horizon, epsilon), store=store)
    assert not any(line.params for line in decision.result.experiment.lines)  # the table names policies and budgets
    return {level: decision.chosen(level) for level in LEVELS}


def written(method: Method) -> str:
    """A cell of the table."""
    return method.policy if method.spent is None else f"{method.policy}({write_number(method.spent)})"


def write(store: Store | None = None) -> None:
    """Write the table anew."""
    with trust_table.FILE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["epsilon", *LEVELS])
        for epsilon in EPSILONS:
            chosen = decide(epsilon, store)
            rows.writerow([f"{epsilon:g}", *(written(chosen[level]) for level in LEVELS)])


def chosen(
    means: Sequence[float], horizon: int, budgets: Sequence[float] = BUDGETS, store: Store | None = None
) -> Methods:
    """The method of each level at each budget, by a contest on these arms."""
    arms, found = tuple(Bernoulli(mean=mean) for mean in means), {}
    for epsilon in budgets:
        decision = best_methods(Question(arms, horizon, epsilon), store=store)
        found[epsilon] = {level: decision.chosen(level) for level in LEVELS}
    return found


def played(means: Sequence[float], horizon: int, methods: Methods, trials: int) -> dict[float, tuple[LineResult, ...]]:
    """The lines of `LEVELS` at each budget, on a seed that chose nothing."""
    arms, found = [{"kind": "bernoulli", "mean": mean} for mean in means], {}
    for epsilon, here in methods.items():
        lines = trust_table.lines(epsilon, [None] * len(LEVELS), here)
        document = {"arms": arms, "lines": lines, "horizon": horizon, "trials": trials, "seed": SEED}
        result = simulate(Experiment.model_validate(document))
        found[epsilon] = tuple(line for line in result.lines if line is not None)
    return found


def _pairs(lines: Mapping[float, tuple[LineResult, ...]]) -> Iterator[tuple[str, LineResult, LineResult]]:
    """Every line that must not lose more than another one: more trust at one budget, a larger budget at one level."""
    for epsilon, here in lines.items():
        for (more, one), (less, other) in pairwise(zip(LEVELS, here, strict=True)):
            yield f"at ε = {epsilon:g} {more} loses more than {less}", one, other
    for place, level in enumerate(LEVELS):
        if level != "none":
            for small, large in combinations(lines, 2):
                name = f"{level} loses more at ε = {large:g} than at {small:g}"
                yield name, lines[large][place], lines[small][place]


def worse(means: Sequence[float], horizon: int, methods: Methods, trials: int) -> list[str]:
    """Every pair in the wrong order, beyond the error of the comparison."""
    pairs = list(_pairs(played(means, horizon, methods, trials)))
    found = []
    for name, better, other in pairs:
        low = better.difference(other, 1 - 2 * CHANCE / len(pairs)).low
        if low > 0:
            behind, error, *_ = better.difference(other)
            found.append(f"{means}: {name}: {behind:.3g} ± {error:.2g} of {other.mean[-1]:.3g}")
    return found


def _check() -> None:
    horizon = load_preset(trust_table.PRESET).horizon
    for means in INSTANCES:
        methods = chosen(means, horizon)
        print(means)
        for epsilon, here in methods.items():
            print(f"  {epsilon:g}: {', '.join(here[level].title for level in LEVELS)}")
        found = worse(means, horizon, methods, TRIALS)
        print("\n".join(found) or "  no level loses clearly more than one of less trust, or than at a smaller budget")


def main() -> None:
    """Write the table; compare on other arms where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the levels on five other sets of arms")
    check = parser.parse_args().check
    write()
    print(trust_table.FILE.read_text(encoding="utf-8"))
    if check:
        _check()


if __name__ == "__main__":
    main()
