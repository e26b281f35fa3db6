"""Every door opens: no error, no control out of use, a picture, and a link in the address line that opens the same.

`everything.py` opens all that there are.
"""

from collections.abc import Callable

import doors
import pytest
from visitor import Visitor

from ui import menu

Visits = Callable[..., Visitor]


@pytest.mark.door
def test_the_five_doors_of_the_menu_open(visits: Visits) -> None:
    seen = doors.opened(visits, [doors.place(page) for page in ("", "learn", "teach", "your-numbers", "explore")])
    assert len({each.page["title"] for each in seen}) == 5


def test_every_address_in_documents_every_example_and_every_link_on_those_pages_opens(visits: Visits) -> None:
    """A preset stays in the address until something is changed, so that what it opens is there already."""
    documents = doors.of_documents()
    pages = doors.opened(visits, list(dict.fromkeys(documents + doors.examples())))
    assert {seen.path.partition("?")[0] for seen in pages} == {f"/{page.address}" for page in menu.pages()}
    linked = {link for seen in pages for link in seen.page["links"]} - {seen.path for seen in pages}
    assert len(linked) > 10
    pages += doors.opened(visits, sorted(linked))
    doors.none(doors.reopened(visits, [seen for seen in pages if seen.address != seen.path], pages))


def test_some_lessons_open_alone_in_the_full_window_and_lead_to_their_pages(visits: Visits) -> None:
    lessons = doors.opened(visits, doors.of_lessons()[::5])
    doors.opened(visits, sorted({link for seen in lessons for link in seen.page["links"]}))


def test_controls_of_every_method_and_distribution_are_in_use(visits: Visits) -> None:
    doors.opened(visits, doors.of_methods())


def test_presets_open_on_their_pages_and_after_a_change_their_link_opens_the_same(visits: Visits) -> None:
    doors.none(doors.trips(visits, doors.some_presets()))
