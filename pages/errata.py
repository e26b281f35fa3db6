"""Errata: errors in the papers, and how to check each."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import errata_view, page_frame
from ui.menu import Page

PAGE = Page(title="Errata", icon="spellcheck", place=11, section="Reference", fields="paper erratum")
page_frame.enter()

st.title("Errata: errors in the papers")
st.markdown("What is printed, what it should be, why, and a small check that anyone can run. Open an entry to see it.")
found = errata_view.outcomes()
st.markdown(errata_view.verdict(found))
paper = errata_view.choice()
errata_view.listing(paper, found)
