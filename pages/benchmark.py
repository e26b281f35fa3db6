"""Benchmark: every policy on the same tasks, compared with those that have the same guarantee."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import benchmark_view, page_frame
from ui.menu import Page

PAGE = Page(title="Benchmark", icon="leaderboard", place=10, section="Reference", fields="promise along")
page_frame.enter()

st.title("Benchmark: which method is best at each privacy level?")
st.markdown(benchmark_view.ABOUT)
contest = benchmark_view.choice()
st.markdown(benchmark_view.verdict(contest))
benchmark_view.scored(contest)
benchmark_view.rules()
benchmark_view.own_policy()
