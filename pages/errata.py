"""Errata: what is printed wrongly in the papers, and how to see it."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import charts, errata_view, figures, page_frame, shared, theme
from ui.menu import Page

PAGE = Page(title="Errata", icon="spellcheck", place=11, section="Reference", fields="paper erratum")
page_frame.enter()

st.title("What is printed wrongly in the papers?")
st.markdown(
    "Formulas lose exponents on their way into print, and proofs have gaps. Each entry below says what is printed, "
    "what should stand there, and why. For each error there is a small check that anybody can run. It asks the same "
    "question of both versions, and either may fail."
)
found = errata_view.outcomes()
st.markdown(errata_view.verdict(found))
dark = theme.is_dark()
picture = shared.figure(
    "errata",
    dark,
    lambda: errata_view.chart(found, dark),
    lambda drawn: charts.read_aloud(drawn, "The printed value divided by what it should be"),
)
figures.show(picture, "errata-chart")
st.caption(
    "Errors whose check compares two positive numbers. At the dashed line what is printed would be what it should be: "
    "some must equal that value, others must stay below or above it."
)

paper = errata_view.choice()
errata_view.listing(paper, found)
