"""Papers: what the papers' figures say, and what comes out when they are played again."""

import ui.opening  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import papers_view, shell, theme

shell.enter()

st.title("Do the papers' pictures come out again?")
st.markdown(
    "Every figure of the five papers this lab is built on, and some of later ones, played again at the paper's own "
    "scale. Beside each picture stands what the paper says of it, in our words, and whether our numbers agree. "
    + papers_view.tally()
)
chosen, wanted = papers_view.choose()
shown = papers_view.figures_of(chosen, wanted)
if not shown:
    st.info(f"No figure here has a statement that is {wanted}. Choose another verdict, or all papers.")
    st.stop()

current, panel = papers_view.opened(shown)
dark = theme.is_dark()
papers_view.about(papers_view.papers.paper_of(current.name))
papers_view.large(current, panel, dark)
if len(shown) > 1:
    st.subheader("All figures" if len(chosen) > 1 else "All figures of this paper")
    papers_view.cards(shown, current, dark)
papers_view.back_up()
