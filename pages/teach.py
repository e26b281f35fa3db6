"""Teach: project a lesson, let a class guess, print exercises, take a lesson along."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from ui import page_frame
from ui.menu import Page
from ui.teach import view

PAGE = Page(title="Teach", icon="co_present", place=0.6, section="", fields="step at eps class key plan")
page_frame.enter()

view.draw()
