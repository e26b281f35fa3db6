"""What the app adds to Streamlit's style, as one text that is in the page from its first byte (ui/first_paint.py).

A style that a run of the page sends comes after the elements that it is for, and moves all of them.
"""

from __future__ import annotations

import re

from ui import templates

EDGE = ("#7d8893", "#7b8793")  # of what is drawn by its edge alone: contrast 3 with both grounds of a theme
INK = ("#46525e", "#b3bdc7")  # of words in a picture, on light and on dark ground
WIDE = 620
NARROW = '.annotation [style*="pointer-events: all"]{display:none}'
BROAD = ".legend2{display:none}"
SIDEBAR = 300  # pixels that Streamlit gives it


def _read(name: str, **names: str) -> str:
    """The file of that name without its comments; ``names`` say what stands for the words in capitals."""
    text = re.sub(r"/\*.*?\*/", "", templates.text(name), flags=re.DOTALL)
    for word, value in names.items():
        text = text.replace(word, value)
    return text


def _both(colours: tuple[str, str]) -> str:
    return f"light-dark({colours[0]},{colours[1]})"


STYLE = _read("app.css", INK=_both(INK), EDGE=_both(EDGE), WIDE=str(WIDE), NARROW=NARROW, BROAD=BROAD)

# Sent by a projected lesson: `html:has(...)` for it made a browser look at all elements of every page, again and again.
PROJECT = f"<style>{_read('project.css')}</style>"

# The room of a sidebar, until it stands there. A style of its own, which goes after the first run of a page
# (ui/theme_watch.py): later a visitor may come to a page without one.
ROOM_FOR_SIDEBAR = f"""
@media (min-width:768px){{[data-testid=stAppViewContainer]>:is(a:first-child+div,div:first-child){{
margin-left:{SIDEBAR}px}}}}
"""
