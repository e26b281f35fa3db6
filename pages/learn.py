"""Learn: ten steps, one idea each, from the first choice to an experiment of one's own."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from ui import page_frame
from ui.learn import view
from ui.menu import Page

PAGE = Page(title="Learn", icon="school", place=0.5, section="", fields="step at eps second")
page_frame.enter()

view.draw()
