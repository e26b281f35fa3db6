"""Trust: what does it save to trust a shuffler, a secure sum or a curator?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from bandit_core.studies.trust_steps import by_level
from ui import charts, figures, lab_parts, page_frame, page_links, runner, shared, state, theme, words
from ui.menu import Page
from ui.trust import view

PAGE = Page(
    title="Whom to trust",
    icon="stairs",
    place=2.5,
    sidebar="arms budget lines own T n seed band runs hide",
    shows="trusted",
    epsilon_above=True,
)
page_frame.enter()

st.title("Whom must you trust, and what does it save?")
st.markdown("Noise hides your reward. Who adds it, and who sees the reward without it?")
experiment, dark, direct = state.experiment(), theme.is_dark(), not theme.is_phone()
view.who_sees_what(dark)
view.why(dark)
view.slider(experiment)
result = runner.result_of(experiment, "trust")
if result is None:
    st.info("Nothing computed yet. Press Run, or choose fewer users or trials in the sidebar.")
    page_frame.leave()

played, levels = result, charts.without_bounds(by_level(result))
st.markdown(shared.kept("trust-verdict", played, None, lambda: view.verdict(played)))
picture = shared.picture(
    "trust",
    levels,
    (dark, direct),
    lambda: charts.regret_chart(levels, dark, lab_parts.HEIGHT, direct),
    lambda _: charts.describe(levels),
)
lab_parts.axes()
figures.show(picture, "trust-curves", tall=True)
band = words.band(max(line.count for line in played.lines if line), experiment.view)
st.caption(f"{words.sentence(band)}.")
with st.expander("What each step of trust saves, and what each method guarantees", icon=":material/stairs:"):
    picture = shared.picture(
        "trust-steps",
        played,
        dark,
        lambda: view.bars(played, dark),
        lambda drawn: charts.read_aloud(drawn, "Lost rewards that each step of trust saves"),
    )
    figures.show(picture, "trust-bars")
    st.caption(f"Error bars: 99.7% intervals over pairs of runs. {words.measures(experiment)}")
    rows = shared.table("trust-table", played, None, lambda: view.table(played))
    st.dataframe(rows, hide_index=True, key="trust-table")
    st.page_link(page_links.to("theory"), label="Which guarantee implies which, and why", icon=":material/functions:")
st.page_link(page_links.to("tradeoff"), label="More on Over ε", icon=":material/balance:")
