"""The qualitative claims of Tao et al. 2022, and what other kappa would do: writes docs/claims-tao-2022.md.

``python -m benchmarks.claims_tao`` runs the settings of the paper's figures (presets tao-*; 90 runs each) and an
experiment on kappa; a few minutes on two cores, nearly all of it DPRUCB, which costs one step per pull. Finished
blocks are kept. ``--trials`` and ``--out`` make a smaller one for a trial.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core import Experiment, simulate
from bandit_core.presets import load_preset
from bandit_core.results import LineResult
from benchmarks.measuring import machine

OUT = Path(__file__).parent.parent / "docs" / "claims-tao-2022.md"
SETTINGS, VS, CENTRAL, LOCAL = (1, 2, 3), (0.5, 0.9), (0.5, 1.0), (5.0, 10.0, 20.0)
CONSTANTS = (1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64)
LONG, SHORT = 10**9, 10**5


@dataclass(frozen=True)
class Outcome:
    """One line at its horizon."""

    mean: float
    error: float
    wrong: float

    def __str__(self) -> str:
        return f"{self.mean:,.0f} ± {self.error:,.0f}"


def outcome(line: LineResult | None) -> Outcome:
    """Mean regret with its standard error, and how often a worse arm was played most."""
    assert line is not None
    return Outcome(float(line.mean[-1]), float(line.stderr[-1]), float(np.mean(line.pulls.argmax(axis=1) != 0)))


def short(value: float) -> str:
    """0.5 as 05, the way presets are named."""
    return f"{value:g}".replace(".", "") if value < 1 else f"{value:g}0"


def played(experiment: Experiment, what: str) -> list[Outcome]:
    """Every line of an experiment (whose first arm is the best)."""
    start = time.perf_counter()
    result = simulate(experiment)
    print(f"{what}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return [outcome(line) for line in result.lines]


def line(policy: str, v: float, epsilon: float | None = None, **params: Any) -> dict[str, Any]:
    """A line of a spec."""
    budget = {} if epsilon is None else {"epsilon": {"kind": "fixed", "value": epsilon}}
    return {"policy": policy, "params": {"v": v, **params}, **budget}


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """A table in Markdown."""
    names = list(head)
    return [
        "| " + " | ".join(names) + " |",
        "|" + "---|" * len(names),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
        "",
    ]


def compared(pairs: list[tuple[str, Outcome, Outcome]]) -> tuple[str, list[str]]:
    """Whether the first of each pair has the larger regret; by how many standard errors where that is not clear."""
    failed, unclear = [], []
    for words, larger, smaller in pairs:
        distance = (larger.mean - smaller.mean) / max(1e-12, float(np.hypot(larger.error, smaller.error)))
        if distance < -2:
            failed.append(f"{words}: {larger} against {smaller}")
        elif distance < 2:
            unclear.append(f"{words}: {larger} against {smaller}")
    verdict = "did NOT hold" if failed else "held where it can be told" if unclear else "held"
    count = f"{len(pairs) - len(failed) - len(unclear)} of {len(pairs)} clearly"
    notes = [f"  - against it: {words}" for words in failed] + [f"  - within two errors: {words}" for words in unclear]
    return f"**{verdict}** ({count})", notes


def kappa_tables(trials: int) -> list[str]:
    """What the constants divided by 4 to 64 do."""
    text = []
    head = ["instance, v", *(f"constants x 1/{1 / c:g}" for c in CONSTANTS)]
    for words, policy, horizon, epsilon, power in (
        ("DPRSE, epsilon = 0.5", "dp-robust-se", 10**7, 0.5, 1.0),
        ("LDPRSE, epsilon = 20", "ldp-robust-se", 10**8, 20.0, 2.0),
        ("DPRUCB, epsilon = 0.5 (kappa is the factor itself)", "dp-robust-ucb", 3 * 10**5, 0.5, 0.0),
        ("Robust-UCB (kappa is the factor itself)", "robust-ucb", 10**5, None, 0.0),
    ):
        rows = []
        for setting in SETTINGS:
            for v in VS:
                kappas = [c ** (power * (1 + v) / v) if power else c for c in CONSTANTS]
                lines = [line(policy, v, epsilon, kappa=kappa) for kappa in kappas]
                base = load_preset(f"tao-s{setting}-v{short(v)}-e05")
                runs = 20 if policy == "dp-robust-ucb" else trials
                experiment = Experiment.model_validate(
                    {**base.spec(), "lines": lines, "horizon": horizon, "trials": runs, "view": {}}
                )
                found = played(experiment, f"kappa, {policy}, S{setting}, v = {v}")
                rows.append([f"S{setting}, {v}", *(f"{o.mean / horizon:.2g} ({o.wrong:.0%})" for o in found)])
        text += [f"### {words}, T = {horizon:.0e}".replace("e+0", "e"), "", *table(head, rows)]
    return text


def report(trials: int) -> str:
    """The whole document."""
    central: dict[tuple[str, int, float, float], Outcome] = {}
    early = []
    for setting in SETTINGS:
        for v in VS:
            for epsilon in CENTRAL:
                experiment = load_preset(f"tao-s{setting}-v{short(v)}-e{short(epsilon)}").with_changes(trials=trials)
                found = played(experiment, f"S{setting}, v = {v}, epsilon = {epsilon}")
                for entry, result in zip(experiment.lines, found, strict=True):
                    central[entry.policy, setting, v, epsilon] = result
                private = [entry for entry in experiment.spec()["lines"] if "epsilon" in entry]
                ucb, se = played(experiment.with_changes(horizon=SHORT, lines=private), "the same, shorter")
                early.append((f"S{setting}, v = {v}, epsilon = {epsilon}", ucb, se))
    local: dict[tuple[float, float], Outcome] = {}
    horizons = {}
    same: dict[tuple[str, float, float], Outcome] = {}
    for v in VS:
        experiment = load_preset(f"tao-s3-local-v{short(v)}").with_changes(trials=trials)
        horizons[v] = experiment.horizon
        for epsilon, result in zip(LOCAL, played(experiment, f"local, v = {v}"), strict=True):
            local[v, epsilon] = result
        lines = [line("ldp-robust-se", v, e) for e in LOCAL] + [line("dp-robust-se", v, e) for e in (*LOCAL, *CENTRAL)]
        whole = Experiment.model_validate({**experiment.spec(), "lines": lines, "horizon": LONG, "view": {}})
        found = played(whole, f"local and central at one horizon, v = {v}")
        for entry, result in zip(whole.lines, found, strict=True):
            assert entry.epsilon is not None and entry.epsilon.fixed is not None
            same[entry.policy, v, entry.epsilon.fixed] = result

    names = {"dp-robust-ucb": "DPRUCB", "dp-robust-se": "DPRSE"}
    below = [
        (f"S{s}, v = {v}, epsilon = {e}", central["dp-robust-ucb", s, v, e], central["dp-robust-se", s, v, e])
        for s in SETTINGS for v in VS for e in CENTRAL
    ]  # fmt: skip
    by_epsilon = {
        p: [(f"{names[p]}, S{s}, v = {v}", central[p, s, v, 0.5], central[p, s, v, 1.0]) for s in SETTINGS for v in VS]
        for p in names
    }
    by_v = {
        p: [
            (f"{names[p]}, S{s}, epsilon = {e}", central[p, s, 0.5, e], central[p, s, 0.9, e])
            for s in SETTINGS for e in CENTRAL
        ]
        for p in names
    }  # fmt: skip
    local_epsilon = [
        (f"LDPRSE, v = {v}, epsilon = {a:g} and {b:g}", local[v, a], local[v, b])
        for v in VS for a, b in pairwise(LOCAL)
    ]  # fmt: skip
    local_epsilon_long = [
        (f"LDPRSE, v = {v}, epsilon = {a:g} and {b:g}", same["ldp-robust-se", v, a], same["ldp-robust-se", v, b])
        for v in VS for a, b in pairwise(LOCAL)
    ]  # fmt: skip
    local_v = [
        (f"LDPRSE, epsilon = {e:g}", same["ldp-robust-se", 0.5, e], same["ldp-robust-se", 0.9, e]) for e in LOCAL
    ]
    worse = [
        (f"v = {v}, local {e:g}, central {f:g}", same["ldp-robust-se", v, e], same["dp-robust-se", v, f])
        for v in VS for e in LOCAL for f in (e, *CENTRAL)
    ]  # fmt: skip
    claims = [
        ("DPRSE's regret is below DPRUCB's in every setting (T = 10^6)", below),
        ("the same at T = 10^5", early),
        ("DPRSE's regret falls as epsilon grows", by_epsilon["dp-robust-se"]),
        ("DPRUCB's regret falls as epsilon grows", by_epsilon["dp-robust-ucb"]),
        ("DPRSE's regret falls as v grows", by_v["dp-robust-se"]),
        ("DPRUCB's regret falls as v grows", by_v["dp-robust-ucb"]),
        ("LDPRSE's regret falls as epsilon grows (T = 10^9 and 10^8)", local_epsilon),
        ("the same at T = 10^9 for both v", local_epsilon_long),
        ("LDPRSE's regret falls as v grows (T = 10^9)", local_v),
        ("local privacy is worse than central privacy (T = 10^9, S3)", worse),
    ]
    verdicts = []
    for words, pairs in claims:
        verdict, notes = compared(pairs)
        verdicts += [f"- {words}: {verdict}.", *notes]
    rows = [
        [f"S{s}", v, e, *(central[p, s, v, e] for p in ("robust-ucb", "dp-robust-ucb", "dp-robust-se"))]
        for s in SETTINGS for v in VS for e in CENTRAL
    ]  # fmt: skip
    local_rows = [[v, f"{horizons[v]:.0e}".replace("e+0", "e"), *(local[v, e] for e in LOCAL)] for v in VS]
    same_rows = [
        [v, e, same["ldp-robust-se", v, e], same["dp-robust-se", v, e], same["dp-robust-se", v, 0.5]]
        for v in VS for e in LOCAL
    ]  # fmt: skip
    text = [
        "# Tao, Wu, Zhao, Wang 2022: what is claimed and what we see",
        "",
        f"Five arms with Pareto rewards of shape 1.05 + v, {trials} runs each, seed 0; regret at the horizon ± one "
        "standard error. The paper states neither its horizons nor its constants; the printed constants make the first "
        "epoch last between 10^5 and 10^15 pulls, so its figures cannot have used them. Here every printed error "
        'constant is divided by 16 (kappa "auto" of the private policies; see below), T = 10^6 for the central '
        "figures, 10^9 (v = 0.5) and 10^8 (v = 0.9) for the local ones. We chose these horizons after looking at "
        "others, as ones where epochs are completed; so the central comparison is repeated at 10^5 and the local one "
        "at 10^9, where not everything holds. A comparison counts as clear beyond two standard errors.",
        "",
        "## In short",
        "",
        *verdicts,
        "",
        "Two things the paper does not say. At T = 10^6 DPRUCB has hardly begun to learn: the noise of a tree with "
        "floor(log2 T) + 1 levels, and the bonus, exceed most gaps for as long as an arm has few hundred thousand "
        "pulls, so that its regret is still a large share of that of playing at random (0.4 T, 0.5 T and 0.3 T on S1, "
        "S2 and S3). And at horizons so short that DPRSE completes no epoch (T = 10^5 at v = 0.5, "
        "epsilon = 0.5), it plays all arms equally often, and DPRUCB does no worse.",
        "",
        "## Figures 1, 3 and 4: a trusted curator, T = 10^6",
        "",
        *table(["instance", "v", "epsilon", "Robust-UCB (no privacy, kappa 1/16)", "DPRUCB", "DPRSE"], rows),
        "## Figure 2: nobody is trusted, S3",
        "",
        *table(["v", "T", *(f"epsilon = {e:g}" for e in LOCAL)], local_rows),
        "## Local against central at one horizon: S3, T = 10^9",
        "",
        *table(["v", "epsilon", "LDPRSE", "DPRSE", "DPRSE at epsilon = 0.5"], same_rows),
        "No theorem covers epsilon above 1 in the local model: the threshold does not reckon with the sampling error, "
        "and on S3, whose second arm is 0.05 worse, the best arm is dropped in some runs.",
        "",
        "## Which kappa",
        "",
        "Entries: regret per pull, and in how many runs a worse arm was played most. Elimination (DPRSE, LDPRSE): the "
        "constants 24 and 12 (28 and 14) are multiplied by c, that is kappa = c^((1+v)/v) centrally and its square "
        "locally. Every halving of c makes epochs 4.3 (v = 0.9) to 8 times (v = 0.5) shorter centrally, and the square "
        "of that locally. Down to c = 1/16 the best arm survives in all or nearly all runs (locally, on S3, in about "
        "nine of ten); from 1/32 on runs are lost for good. Their regret is linear, so that a smaller mean at 1/32, "
        "which there is in several settings, would not last. Hence c = 1/16. Whatever is chosen for DPRUCB, it has not "
        "decided between the arms at this horizon; it gets the same 1/16, so that the comparison with DPRSE is one of "
        "algorithms and not of tuning. Robust-UCB stands 1/16 on these instances, but "
        "with rewards of 0 and 1 (means 0.7, 0.65, 0.5, 0.3, 0.1; v = 0.5; 200 runs of 10^5 pulls) it settles on a "
        "worse arm in 64 % of the runs at 1/16, 24 % at 1/8, 12 % at 1/4 and never at 1: it believes no reward of 1 "
        "before an arm has 2 ln t / u pulls; its default is 1/4.",
        "",
        *kappa_tables(trials),
        f"_{machine()}; `python -m benchmarks.claims_tao`._",
        "",
    ]
    return "\n".join(text)


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=90)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(exist_ok=True)
    arguments.out.write_text(report(arguments.trials), encoding="utf-8")
    print(arguments.out)


if __name__ == "__main__":
    main()
