"""Glossary: every word of the lab in one plain sentence."""

import ui.opening  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import glossary, shell

shell.enter()

st.title("What do the words mean?")
st.markdown("Every term of the lab in one plain sentence, and the page where you see it at work.")
glossary.listing(glossary.search())
