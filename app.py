"""Private Bandit Lab: what does privacy cost a learning system? Start with ``streamlit run app.py``."""

from pathlib import Path

import streamlit as st

ICON = Path(__file__).resolve().parent / "ui" / "icon.png"  # a file of ours: named icons come from a foreign host
st.set_page_config(page_title="Private Bandit Lab", page_icon=str(ICON), layout="wide")
page = st.navigation(  # before anything heavy: until here the browser shows a menu of raw file names
    [
        st.Page("pages/home.py", title="Home", icon=":material/home:", default=True),
        st.Page("pages/explore.py", title="Explore", icon=":material/show_chart:", url_path="explore"),
        st.Page("pages/tradeoff.py", title="Trade-off", icon=":material/balance:", url_path="tradeoff"),
        st.Page("pages/your-numbers.py", title="Your numbers", icon=":material/calculate:", url_path="your-numbers"),
        st.Page("pages/threshold.py", title="Threshold", icon=":material/filter_alt:", url_path="threshold"),
        st.Page("pages/heavy-tails.py", title="Heavy tails", icon=":material/ssid_chart:", url_path="heavy-tails"),
        st.Page("pages/contextual.py", title="Contextual", icon=":material/groups:", url_path="contextual"),
        st.Page("pages/mechanisms.py", title="Mechanisms", icon=":material/casino:", url_path="mechanisms"),
        st.Page("pages/theory.py", title="Theory", icon=":material/functions:", url_path="theory"),
        st.Page("pages/papers.py", title="Papers", icon=":material/menu_book:", url_path="papers"),
        # In reach from the foot of every page.
        st.Page(
            "pages/errata.py", title="Errata", icon=":material/spellcheck:", url_path="errata", visibility="hidden"
        ),
        st.Page(
            "pages/glossary.py",
            title="Glossary",
            icon=":material/dictionary:",
            url_path="glossary",
            visibility="hidden",
        ),
    ],
    position="hidden" if st.query_params.get("controls") == "off" else "top",  # a lesson is the picture alone
)

opening = st.empty()
if "experiment" not in st.session_state:
    opening.info("Opening the lab …", icon=":material/hourglass_top:")
import ui.preload  # noqa: E402, F401 - imports the simulator, which takes a second
from ui import page_frame  # noqa: E402

opening.empty()
page_frame.open_page(page)
