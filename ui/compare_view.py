"""Saved runs beside the picture of Explore: what differs, all curves in one picture, and paired tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.data.spreadsheets import defused_frame
from bandit_core.experiments import links
from bandit_core.simulation.comparisons import LEVEL, Difference
from bandit_core.studies.compared import MAX_RUNS, Compared, Comparison, names_of
from ui import charts, lab_parts, panels, runner, state, theme, uploads

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

THIS = "this picture"
MAX_LETTERS = 40_000
LEGEND_ROW = 20  # pixels; on a phone each curve has a row of its own


def fold(experiment: Experiment) -> None:
    """Links and files, and once there are some, the comparison; made for who opens it."""
    lab_parts.fold("Compare with saved runs", "compare", partial(_panel, experiment))


def _panel(experiment: Experiment) -> None:
    text = st.text_area(
        "Links, one on each line", key="compare-links", max_chars=MAX_LETTERS,
        help="Links of this app: *Copy link* in the sidebar of a picture.",
    )  # fmt: skip
    files = st.file_uploader(
        "Settings files", type=["json", "toml"], accept_multiple_files=True, key="compare-files",
        max_upload_size=uploads.SPEC_MEGABYTES, help="Files that the sidebar saved (JSON or TOML).",
    )  # fmt: skip
    st.caption(f"Up to {MAX_RUNS - 1} links and files, compared with {THIS}. Links are called A, B, ... here.")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not (lines or files):
        uploads.forget("compare-saved")
        return
    names = [THIS, *names_of(["?" for _ in lines] + [Path(file.name).stem[:40] for file in files])]
    try:
        asked = (text, *(file.file_id for file in files))
        saved = uploads.kept("compare-saved", asked, lambda: _read(names[1:], lines, files))
        runs = tuple(map(runner.numbers_of, (experiment, *saved)))
        found = runner.study_of(lambda: Comparison(names, (experiment, *saved)), (tuple(names), runs), "compare")
    except InputError as error:
        uploads.refuse(error)
        return
    if any(line is not None for run in found.results for line in run.lines):
        _drawn(found)


def _read(names: list[str], lines: list[str], files: list[UploadedFile]) -> tuple[Experiment, ...]:
    """The experiment of every link and file.

    Raises
    ------
    InputError
        With every problem, at the name of its run.
    """
    ignored = state.FIELDS | state.PASSED_OVER
    reads: list[Callable[[], Experiment]] = [partial(links.opened, line, ignored) for line in lines]
    reads += [partial(uploads.read_spec, file) for file in files]
    saved, issues = [], []
    for name, read in zip(names, reads, strict=True):
        try:
            saved.append(read())
        except InputError as error:
            issues += [replace(issue, path=f"{name}: {issue.path}") for issue in error.issues]
    if issues:
        raise InputError(issues)
    return tuple(saved)


def _drawn(found: Compared) -> None:
    fields = found.differences
    if fields.empty:
        st.markdown("All runs have the same settings.")
    else:
        rows = fields.map(lambda value: str(value)[:300]).rename_axis("setting").reset_index()
        st.dataframe(defused_frame(rows), hide_index=True, width="stretch", alt="Settings that differ between runs")
    curves = sum(len(run.lines) for run in found.results)
    figure = found.plot(theme.is_dark(), lab_parts.HEIGHT + LEGEND_ROW * curves)
    message = charts.read_aloud(figure, "Regret of all runs")
    st.plotly_chart(figure, config=charts.CONFIG, key="compare-chart", alt=message)
    tests = found.tests
    if tests.empty:
        st.caption(
            "No paired tests: two runs can be paired where arms, users, seed and arrivals are the same, and only "
            "policies and the number of repeated runs differ."
        )
        return
    st.dataframe(defused_frame(_luck(tests)), hide_index=True, width="stretch", alt="Paired tests between runs")
    st.caption(
        "Differences of mean regret at the horizon, over pairs with the same random numbers. Holm's method corrects p "
        f"for {len(tests)} tests. *Could be luck*: corrected p above {LEVEL:g}."
    )


def _luck(tests: pd.DataFrame) -> pd.DataFrame:
    names = ("pairs", "difference", "low", "high", "p_value", "p_corrected")
    return panels.luck_rows(
        (
            f"{row.first_run}: {row.first_label}",
            f"{row.second_run}: {row.second_label}",
            Difference(0, 1, *(getattr(row, name) for name in names)),
        )
        for row in tests.itertuples()
    )
