"""Glossary: every word of the lab in plain words."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import glossary, page_frame
from ui.menu import Page

PAGE = Page(title="Glossary", icon="dictionary", place=12, section="Reference", fields="term")
page_frame.enter()

st.title("Glossary: what do the words mean?")
st.markdown("The terms of the lab in plain words. Search for one, or open the page where it is used.")
glossary.listing(glossary.search())
