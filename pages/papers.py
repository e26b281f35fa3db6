"""Papers: what the papers' figures say, and what comes out when they are computed again."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import page_frame, theme
from ui.menu import Page
from ui.papers import view

PAGE = Page(title="Papers", icon="menu_book", place=9, section="Reference", fields="paper figure held")
page_frame.enter()

st.title("Can we reproduce the papers' figures?")
st.markdown(
    "A printed curve can mislead: by luck, by a bug, or by an unstated choice. So every figure of the five papers "
    "behind this lab, and some of others, is computed again here.\n\n"
    f"{view.tally()}"
)
chosen, wanted = view.choose()
shown = view.figures_of(chosen, wanted)
if not shown:
    st.info(f"No figure here has a statement that is {wanted}. Choose another verdict, or all papers.")
    page_frame.leave()

current, panel = view.opened(shown)
dark = theme.is_dark()
view.about(view.papers.paper_of(current.name))
view.large(current, panel, dark)
if len(shown) > 1:
    st.subheader("All figures" if len(chosen) > 1 else "All figures of this paper")
    view.cards(shown, current, dark)
view.back_up()
