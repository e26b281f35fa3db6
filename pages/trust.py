"""Trust: what does it save to trust a shuffler, a secure sum or a curator?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from bandit_core.studies.trust_steps import by_level, sweep_by_level
from ui import charts, page_frame, page_links, runner, shared, state, theme, tradeoff_view, words
from ui.menu import Page
from ui.trust import view

PAGE = Page(
    title="Whom to trust",
    icon="stairs",
    place=2.5,
    sidebar="arms budget lines own T n seed x y band bounds worst shapes runs hide",
    shows="trusted",
)
page_frame.enter()

st.title("Whom must you trust, and what does it save?")
st.markdown(
    "The same ε can hide a reward from the public only, or also from a learner who sees no more than sums or shuffled "
    "answers, or from everybody. Whoever is not trusted gets to see noise; how many rewards each step of trust saves "
    "is measured here."
)
experiment, dark = state.experiment(), theme.is_dark()
view.slider(experiment)
result = runner.result_of(experiment, "trust")
if result is None:
    st.info("Nothing computed yet. Press Run, or choose fewer users or trials in the sidebar.")
    page_frame.leave()

played, levels = result, by_level(result)
st.markdown(shared.kept("trust-verdict", played, None, lambda: view.verdict(played)))
left, right = st.container(key="trust-pictures").columns([3, 2])
with left:
    st.markdown("**Regret as users come**")
    picture = shared.picture(
        "trust", levels, dark, lambda: charts.regret_chart(levels, dark), lambda _: charts.describe(levels)
    )
    st.plotly_chart(picture, key="trust-curves", config=charts.CONFIG, alt=picture.alt)
    st.caption(words.legend(played))
with right:
    st.markdown("**What each step of trust saves**, at the last user")
    picture = shared.picture(
        "trust-steps",
        played,
        dark,
        lambda: view.bars(played, dark),
        lambda drawn: charts.read_aloud(drawn, "Lost rewards that each step of trust saves"),
    )
    st.plotly_chart(picture, key="trust-bars", config=charts.CONFIG, alt=picture.alt)
    st.caption(
        "Of each promise the first line counts, least trust first, or one that keeps at least as much where that "
        "clearly loses less; error bars: 99.7% intervals over pairs of runs. "
        "The same ε of two promises hides a reward from different people. "
        + shared.kept("trust-unlike", played, None, lambda: view.unlike_steps(played))
    )
st.caption(shared.kept("trust-users", played, None, lambda: view.along_users(played)))
st.subheader("At every budget")
swept = runner.sweep_of(view.of_all_budgets(experiment), view.budgets(experiment), "trust-sweep")
if swept is not None:
    whole, many = swept, sweep_by_level(swept)
    told, legend = shared.of_experiment(
        "trust-words",
        experiment,
        many.content,
        lambda: (view.along_budgets(whole), tradeoff_view.legend(many, opens=False)),
    )
    st.markdown(told)
    picture = shared.drawing(
        "trust-budgets",
        experiment,
        (many.content, dark),
        lambda: tradeoff_view.chart(many, dark),
        lambda _: tradeoff_view.describe(many),
    )
    st.plotly_chart(picture, key="trust-budgets", config=charts.CONFIG, alt=picture.alt)
    st.caption(legend)
    st.page_link(page_links.to("tradeoff"), label="More of this on Over ε", icon=":material/balance:")
st.subheader("Who sees what")
view.who_sees_what(experiment, dark)
rows = shared.table("trust-table", played, None, lambda: view.table(played))
st.dataframe(rows, hide_index=True, key="trust-table")
st.page_link(page_links.to("theory"), label="Which promise implies which, and why", icon=":material/functions:")
