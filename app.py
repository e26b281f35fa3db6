"""Private Bandit Lab: what does privacy cost a learning system? Start with ``streamlit run app.py``.

The file has two readers: the web server, which takes ``app`` from it, and the script of every visitor's page.
"""

from copy import copy
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

# These read the first lines of pages and import none of them.
from ui import menu, page_links, serving, stylesheet

ICON = Path(__file__).resolve().parent / "ui" / "icon.png"  # a file of ours: named icons come from a foreign host

if __name__ != "__main__":
    around = [Middleware(each) for each in (serving.Phones, serving.Limited, stylesheet.Styled)]
    app = st.App(__file__, middleware=around, lifespan=serving.around)
else:
    st.set_page_config(page_icon=str(ICON), layout="wide")
    lesson_mode = st.query_params.get("controls") == "off"
    sections: dict[str, list[st.Page]] = {}
    for each in menu.pages():
        sections.setdefault(each.section, []).append(copy(page_links.to(each.name)))  # which may run is noted in each
    # Before anything heavy: until here the browser shows a menu of raw file names.
    page = st.navigation(sections, position="hidden" if lesson_mode else "top", expanded=True)
    st.set_page_config(page_title=f"{page.title} · Private Bandit Lab")

    new = "lab" not in st.session_state
    if new and menu.at(page.url_path).sidebar and not lesson_mode:
        st.sidebar.empty()  # opens it before there is anything that would be pushed aside
    opening = st.empty()
    if new:
        opening.info("Opening the lab …", icon=":material/hourglass_top:")
    import ui.preload  # noqa: F401 - imports the simulator, which takes a second
    from ui import page_frame

    opening.empty()
    page_frame.open_page(page)
