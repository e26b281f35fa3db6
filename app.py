"""Private Bandit Lab: what does privacy cost a learning system? Start with ``streamlit run app.py``."""

from pathlib import Path

import streamlit as st

from ui import menu  # reads the first lines of the pages and imports none of them

ICON = Path(__file__).resolve().parent / "ui" / "icon.png"  # a file of ours: named icons come from a foreign host
st.set_page_config(page_title="Private Bandit Lab", page_icon=str(ICON), layout="wide")
page = st.navigation(  # before anything heavy: until here the browser shows a menu of raw file names
    [
        st.Page(
            each.file,
            title=each.title,
            icon=each.symbol,
            url_path=each.address,
            default=not each.address,
        )
        for each in menu.pages()
    ],
    position="hidden",  # ui/menu_bar.py draws them: Streamlit's own menu hides what does not fit
)

opening = st.empty()
if "experiment" not in st.session_state:
    opening.info("Opening the lab …", icon=":material/hourglass_top:")
import ui.preload  # noqa: E402, F401 - imports the simulator, which takes a second
from ui import page_frame  # noqa: E402

opening.empty()
page_frame.open_page(page)
