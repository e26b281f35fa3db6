"""Every preset on every page that takes it, every link, lesson, and control of every page and method, in a browser.

Not part of the suite; `CONTRIBUTING.md` says how to run it. A test for each page and preset, so that pytest's
own options choose some (``-k heavy-tails``) or go on with what has failed (``--last-failed``).
"""

from collections.abc import Callable

import controls
import doors
import pytest
from visitor import Visitor

from bandit_core.experiments.presets import load_preset, preset_names
from ui import menu, page_requirements

Visits = Callable[..., Visitor]
TAKEN = [
    (page.address, name)
    for page in menu.pages()
    if page.sidebar
    for name in preset_names()
    if not page_requirements.KINDS[page.shows].lacks(load_preset(name))
]
PARTS = ["/mechanisms?part=batch", "/mechanisms?part=sums", "/mechanisms?part=guess", "/mechanisms?part=audit"]


def test_every_link_on_pages_of_documents_opens_and_what_stays_in_the_address_opens_the_same(
    visits: Visits,
) -> None:
    """A preset stays in the address until something is changed, so that what it opens is there already."""
    pages = doors.opened(visits, doors.of_documents_and_examples())
    linked = {link for seen in pages for link in seen.page["links"]} - {seen.path for seen in pages}
    assert len(linked) > 10
    pages += doors.opened(visits, sorted(linked))
    doors.none(doors.reopened(visits, [seen for seen in pages if seen.address != seen.path], pages))


@pytest.mark.parametrize(("page", "preset"), TAKEN)
def test_a_preset_opens_and_after_a_change_its_link_opens_the_same(visits: Visits, page: str, preset: str) -> None:
    doors.opened(visits, [doors.place(page, preset=preset)])
    doors.none(doors.trips(visits, [doors.place(page, preset=preset, **doors.SMALL)]))


@pytest.mark.parametrize("path", doors.of_lessons())
def test_a_lesson_opens_alone_and_in_the_full_window_and_leads_to_its_page(visits: Visits, path: str) -> None:
    [seen] = doors.opened(visits, [path])
    doors.opened(visits, sorted(set(seen.page["links"])))


@pytest.mark.parametrize("path", [f"/{page.address}" for page in menu.pages()] + PARTS + doors.of_methods())
def test_every_control_moves_something_and_back(visits: Visits, path: str) -> None:
    doors.none(controls.faults(visits, path, folds=True))
