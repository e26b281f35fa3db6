"""Computing a paper's figure again, here and with other random numbers, beside the shipped one."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from bandit_core.experiments.presets import load_preset
from bandit_core.literature import reproductions
from bandit_core.literature.reproductions import Shipped
from bandit_core.simulation.costs import estimated_seconds, steps
from bandit_core.simulation.results import Result
from ui import charts, figures, lab_parts, page_fields, runner, theme, words
from ui.page_fields import Field


def panel(name: str) -> None:
    """The command that computes the shipped file, and a run of one's own with another seed."""
    experiment = load_preset(name)
    st.markdown("On a computer with the project installed, this command computes the shipped file again:")
    st.code(f"python -m bandit_core reproduce {name}", language="bash")
    help = "Another seed gives other random numbers. The result should agree within its errors."
    field = Field("seed", "Seed of another run", 0, help, "number", (0, 2**53 - 1))
    seed = page_fields.draw(field, experiment.seed + 1, f"again-seed-{name}")
    time = words.duration(estimated_seconds(experiment))
    label, help = f"Compute here ({words.count(steps(experiment))} pulls, {time})", "Short runs start at once. "
    if not st.toggle(label, key=f"again-{name}", help=f"{help}Longer ones ask first and can be cancelled."):
        return
    result = runner.result_of(
        experiment.with_changes(seed=seed, view={**experiment.view.model_dump(mode="json"), "bounds": False}),
        f"again-{name}",
    )
    shipped = reproductions.load(name)
    if result is None:
        return
    if shipped is not None:
        rows, apart = beside(result, shipped)
        st.markdown(agreement(apart))
        lab_parts.table(words.table(rows), "again")
    drawn = charts.regret_chart(result, theme.is_dark(), 380, direct_labels=not theme.is_phone())
    figures.plot(drawn, "again-figure", alt=charts.describe(result))


def beside(result: Result, shipped: Shipped) -> tuple[pd.DataFrame, list[float]]:
    """Final regret of both runs, a row per line; and the differences in their standard errors, NaN without an error."""
    rows, apart = [], []
    for number, (again, theirs) in enumerate(zip(result.lines, shipped.lines, strict=True)):
        if again is None:
            continue
        (mine, my_error), (other, error) = ((float(each.mean[-1]), float(each.stderr[-1])) for each in (again, theirs))
        both = math.hypot(my_error, error)
        apart.append(abs(mine - other) / both if both > 1e-9 * abs(other) else math.nan)
        rows.append(
            {
                "policy": shipped.experiment.label(number),
                "this run": words.with_error(mine, my_error),
                "shipped": words.with_error(other, error),
                "standard errors apart": "–" if math.isnan(apart[-1]) else f"{apart[-1]:.1f}",
            }
        )
    return pd.DataFrame(rows), apart


def agreement(distances: list[float]) -> str:
    """Whether the two runs agree, in a sentence."""
    apart = [value for value in distances if math.isfinite(value)]
    if not apart:
        return "Neither run has an error to compare with."
    wide = sum(value > 3 for value in apart)
    trust = "They agree." if not wide else f"{wide} of {len(apart)} curves are more than three standard errors apart."
    return f"This run and the shipped one are at most **{max(apart):.1f}** standard errors apart. {trust}"
