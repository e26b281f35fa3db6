"""Trade-off: how much privacy can you afford?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from bandit_core.studies.sweep import distinct_lines
from ui import figures, lab_parts, page_frame, runner, shared, state, tradeoff_view, words
from ui.menu import Page

PAGE = Page(
    title="Over ε",
    icon="balance",
    place=2,
    fields="from to theory goal limit search",
    sidebar="arms budget lines batch delay visits T n seed price hide",
    shows="priced",
)
page_frame.enter()

st.title("Over ε: how much privacy can you afford?")
experiment, epsilons = tradeoff_view.controls(distinct_lines(state.experiment()))
result = runner.sweep_of(experiment, epsilons)
if result is None or any(line is None for point in result.results for line in point.lines):
    result = runner.sweep_preview(experiment, epsilons) or result
if result is None:
    st.info("Nothing computed yet. Press Run, or choose fewer users or trials in the sidebar.")
    page_frame.leave()

swept = result
if swept.experiment != experiment:
    st.info(words.preview(swept, experiment), icon=":material/preview:")
verdict, notes, legend = shared.once(
    "tradeoff-words",
    experiment,
    swept.content,
    lambda: (tradeoff_view.verdict(swept), tradeoff_view.notes(swept), tradeoff_view.legend(swept)),
)
st.markdown(verdict)
make, what = partial(tradeoff_view.chart, swept), partial(tradeoff_view.describe, swept)
chosen = figures.draw(
    "tradeoff-chart", experiment, make, what, swept.content, tall=True, on_select="rerun", selection_mode="points"
)
st.caption(legend)
tradeoff_view.opened_point(swept, chosen)
tradeoff_view.question(experiment)
lab_parts.fold("Maps, numbers and downloads", "tradeoff-more", lambda: tradeoff_view.more(swept, f"{verdict} {notes}"))
lab_parts.fold("How is this computed?", "explanation", lambda: tradeoff_view.explanation(experiment, notes))
