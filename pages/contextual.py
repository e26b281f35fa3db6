"""Contextual: learning what suits whom, while features and rewards stay on the phones."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import plotly.graph_objects as go
import streamlit as st

from bandit_core.simulation.results import Result
from ui import charts, exports, figures, page_frame, panels, runner, shared, state, theme, watch, words
from ui.contextual import data, view
from ui.menu import Page

PAGE = Page(
    title="Users with features",
    icon="groups",
    place=6,
    fields="C orders shapes_beta",
    old_fields="eps d K beta upto",
    sidebar="arms budget lines own batch delay visits T n seed x y show price band runs hide",
    shows="features",
    instead="data-source",
)
page_frame.enter()

st.title("Can a learner suit each user and know none of them?")
opening, controls = st.container(key="contextual-opening"), st.container()
opening.markdown(
    "What suits a person depends on the person. With the private policies here, each phone keeps to itself what it "
    "knows about its user, what it chose and how well that went; all that ever leaves it is **one noisy message**."
)
own = data.panel()
if own is None:
    experiment, store, name = state.experiment(), None, "contextual"
    with controls:
        view.controls(experiment)
else:
    experiment, store, name = own.experiment, own.store, data.RUN


def draw_messages() -> None:
    """At the top of the page, but after the picture: on a fresh machine they are compiled first."""
    with opening:
        with st.spinner("Drawing what the phones send. A new machine compiles first: about 10 s.", show_time=True):
            view.messages_panel(experiment)
        watch.fold("Watch the messages arrive", experiment, "contextual-watch")


if own is not None:
    st.subheader(words.plain(experiment.title))
dark, direct = theme.is_dark(), not theme.is_phone()


def chart(result: Result) -> go.Figure:
    """The page's picture of a result."""
    return charts.regret_chart(charts.without_bounds(result), dark, height=420, direct_labels=direct)


result = runner.result_of(experiment, name, store)
if result is None:
    result = runner.preview_of(experiment, store)
    if result is None:
        draw_messages()
        page_frame.leave()
    st.info(words.preview(result, experiment) + view.warm_up_words(result), icon=":material/preview:")

st.subheader("What the server learns nevertheless")
played = result
st.markdown(shared.kept("verdict", played, None, lambda: words.verdict(played)))
picture = shared.picture(
    "contextual",
    played,
    (dark, direct),
    lambda: chart(played),
    lambda _: charts.describe(played),
)
figures.show(picture, "regret-chart")
draw_messages()
st.caption(words.sentence(words.band(max(line.count for line in result.lines if line), experiment.view)) + ".")
figures.fold_for_print(exports.for_file(charts.without_bounds(played)), exports.file_name(experiment))
left, right = st.columns(2)
with left:
    st.markdown("**How far off is the server's estimate of θ?**")
    picture = shared.picture(
        "error",
        played,
        dark,
        lambda: view.error_chart(played, dark),
        lambda drawn: charts.read_aloud(drawn, "Error of the estimate"),
    )
    figures.show(picture, "error")
    st.caption(view.error_words(played))
with right:
    st.markdown("**How many users get what is best for them?**")
    picture = shared.picture(
        "share",
        played,
        dark,
        lambda: view.share_chart(played, dark),
        lambda drawn: charts.read_aloud(drawn, "Best choices"),
    )
    figures.show(picture, "share")
    st.caption("Share among the latest users at each point. Dotted: choosing at random.")
view.regimes_panel(result)
panels.cards(result)
view.explanation()
