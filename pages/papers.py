"""Papers: what the papers' figures say, and what comes out when they are computed again."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import page_frame
from ui.menu import Page
from ui.papers import view

PAGE = Page(title="Papers", icon="menu_book", place=9, section="Reference", fields="paper figure held")
page_frame.enter()

st.title("Papers: can we reproduce their figures?")
orders, numbers = view.tally()
st.markdown(orders, help=f"Every figure of five papers, and some of others. {orders} {numbers}")
shown, place = view.choose()
if not shown:
    page_frame.leave()
view.large(*view.opened(shown, place))
