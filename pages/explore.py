"""Explore: the regret of the chosen policies on the chosen arms."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from bandit_core.data.spreadsheets import defused_frame
from bandit_core.experiments import trust_table
from bandit_core.literature import reproductions
from bandit_core.simulation.results import Result
from ui import (
    budget_panel,
    build_view,
    charts,
    decision_times,
    export_panel,
    exports,
    figures,
    gallery,
    lab_parts,
    lesson,
    menu,
    page_fields,
    page_frame,
    page_lock,
    panels,
    policy_controls,
    runner,
    shared,
    state,
    theme,
    watch,
    words,
)
from ui.menu import Page
from ui.page_fields import Field

PAGE = Page(
    title="Explore", icon="show_chart", place=1, sidebar="all", opens="trust", epsilon_above=True, fields="focus again"
)
page_frame.enter()

head, lesson_mode = st.container(key="heading"), state.lesson()
experiment = lesson.slider(menu.named("explore")) if lesson_mode else state.experiment()
_, note = words.heading(experiment)
best = trust_table.position(experiment)  # where it is Start's picture, each level has its best method
lab_parts.heading(head, experiment, lesson_mode)
if not lesson_mode:
    policy_controls.epsilon_above()

hidden = lesson.hides_private_lines("explore")
direct = not (theme.is_phone() or lesson_mode)


def chart(
    result: Result, before: Result | None, frame: tuple[float, float] | None, line: int | None, lit: tuple[str, ...],
    dark: bool,
) -> go.Figure:  # fmt: skip
    """The page's picture of a result; in a lesson with that of the slider's last position, in a frame that stays.

    ``line`` is the one whose bounds are shown, and ``lit`` are further bounds of it.
    """
    if lesson_mode:
        return lesson.chart(result, before, frame, dark)
    if gallery.is_of_start(experiment):
        vertical = gallery.home_range(experiment)
        return charts.regret_chart(result, dark, lab_parts.HEIGHT, direct, vertical, gallery.SINCE)
    return charts.regret_chart(result, dark, lab_parts.HEIGHT, direct, focus=line, asked=lit)


shipped = None if lesson_mode else reproductions.of_experiment(experiment)
again = Field("again", "Run it here", False, "Runs the experiment anew, for tables and downloads.", "switch")
if shipped is not None and not page_fields.value(again):
    line = lab_parts.axes(panels.focus)
    draw = partial(charts.regret_chart, shipped, height=lab_parts.HEIGHT, direct_labels=direct, focus=line)
    about = partial(charts.describe, shipped)
    figures.draw("regret-chart", experiment, draw, about, direct, line, name="shipped", tall=True)
    st.markdown(words.distances(shipped, line))
    st.caption(f"{words.sentence(words.band(experiment.trials, experiment.view))}. This figure ships with the lab.")
    page_fields.ask(again)
    page_frame.leave()
complete = runner.result_of(state.experiment(), with_companions=True)
shown = complete or runner.preview_of(experiment)
if shown is None:
    page_frame.leave()
result = lesson.without_private(shown) if hidden else shown
if shipped is not None:
    page_fields.ask(again)
if complete is None:
    st.info(words.preview(result, experiment), icon=":material/preview:")

drawn = charts.without_bounds(result) if lesson_mode else result
before = gallery.ghosts(drawn, "lesson") if lesson_mode and not hidden else None
vertical = lesson.frame(drawn) if lesson_mode else None
focus = None if lesson_mode else lab_parts.axes(panels.focus)
lit = panels.lit(experiment, focus)
make, name = partial(chart, drawn, before, vertical, focus, lit), "lesson" if lesson_mode else "regret"
how = direct, vertical, before and before.content, focus, lit
figures.draw("regret-chart", drawn, make, partial(charts.describe, drawn), *how, name=name, tall=not lesson_mode)
page_lock.shown()
verdict = "" if hidden else shared.once("verdict", result, None, lambda: words.verdict(result))
distances = shared.once("distances", result, focus, lambda: words.distances(result, focus))
if verdict or distances:
    st.markdown(words.unbroken(f"{verdict} {distances}"))
if lesson_mode:
    message = words.plain(note) or words.sentence(words.band(experiment.trials, experiment.view)) + "."
    st.caption(gallery.methods(best) if best is not None and not note else message)
    lesson.foot(menu.named("explore"), experiment)
if lesson_mode or hidden:
    page_frame.leave()
legend = shared.once("legend", result, None, lambda: words.legend(result))
behind = "" if best is None else gallery.methods(best)  # each label
st.caption(" ".join(filter(None, (legend, words.measures(experiment), behind))))
panels.lines(result, verdict)
decision_times.draw(result.experiment)

# Nothing of these is drawn before someone asks for it: a second chart would delay the one above.
views = ["Pulls per arm", "Watch one run", "Bounds", "Table", "Download", "For builders"]
view = st.segmented_control("More about these runs", views, key="views", help="A second press closes it.")
if view == "Pulls per arm":
    figures.draw("pulls", result, partial(charts.pulls_chart, result), "Pulls per arm")
elif view == "Watch one run":
    st.caption("One run of the method, user by user. It need not be one of the runs in the picture.")
    watch.panel(experiment, "watch")
elif view == "Bounds":
    panels.bounds_table(result, focus)
elif view == "Table":
    rows = shared.table("curves", result, None, lambda: defused_frame(result.curves))
    st.dataframe(rows, hide_index=True, width="stretch", alt="Regret curves as a table")
    panels.comparisons(result)
elif view == "Download":
    exports.downloads(result)
    if complete is not None and complete.complete:
        st.markdown("**Offline lesson**")
        export_panel.draw(experiment, "explore")
elif view == "For builders":
    st.session_state.setdefault("builders", "Budget")
    part = st.segmented_control(
        "For builders", ["Budget", "Build it", "Code"], key="builders",
        help="How the budget is spent, what a system needs for it, and a script for this picture.",
    )  # fmt: skip
    if part == "Budget":
        budget_panel.draw(result)
    elif part == "Build it":
        build_view.draw(experiment, "build")
    elif part == "Code":
        st.caption("Run this where the project is installed; it prints the numbers of this picture.")
        st.code(exports.snippet(experiment), language="python")
lab_parts.fold("How is this computed?", "explanation", lambda: panels.explanation(result))  # 1.5 MB for pseudo-code
