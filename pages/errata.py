"""Errata: what is printed wrongly in the five papers, and how to see it."""

import streamlit as st

from ui import charts, errata_view, shell, theme

shell.enter()

st.title("What do the papers say that cannot be so?")
st.markdown(
    "Formulas lose exponents on their way into print, and proofs have gaps. Each entry below says what is printed, "
    "what should stand there and why, and comes with a small check that anybody can run."
)
found = errata_view.outcomes()
st.markdown(errata_view.verdict(found))
st.plotly_chart(
    errata_view.chart(found, theme.is_dark()),
    key="errata-chart",
    config=charts.CONFIG,
    alt="For each erratum whose check measures a factor: the printed value divided by what it should be",
)
st.caption("Only errata whose check measures a positive number; the dashed line is where it should be.")

paper = errata_view.choice()
errata_view.listing(paper, found)
