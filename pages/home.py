"""Home: the whole idea in one gesture, and the ways in."""

import ui.opening  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import charts, gallery, runner, shell, theme, words

shell.enter()

st.title("What does privacy cost a learner?")
st.markdown(
    "A website, a clinic or a phone learns from people by trying options and seeing what they like. Privacy hides each "
    "person's answer in noise, so the learner needs more people to find the best option. What is lost on the way is "
    "called **regret**. Move the slider and see the price."
)
epsilon = gallery.home_slider()
experiment = gallery.home_experiment(epsilon)
result = runner.result_of(experiment, "home")
if result is not None:
    st.markdown(words.verdict(result))
    st.plotly_chart(
        charts.regret_chart(result, theme.is_dark(), height=400, direct_labels=not theme.is_phone()),
        config=charts.CONFIG,
        key="home",
        alt=charts.describe(result),
    )
gallery.link_to_explore("Open this picture in Explore", experiment)
gallery.doors()
gallery.cards()
