"""Every door opens: no error, no control out of use, a picture, and a link in the address line that opens the same.

`everything.py` opens all that there are.
"""

from collections.abc import Callable

import doors
import pytest
from visitor import Visitor

from ui import menu

Visits = Callable[..., Visitor]


FIVE = [doors.place(page) for page in ("", "learn", "teach", "your-numbers", "explore")]


@pytest.mark.door
def test_the_five_doors_of_the_menu_open(visits: Visits) -> None:
    seen = doors.opened(visits, FIVE)
    assert len({each.page["title"] for each in seen}) == 5


def test_every_other_page_every_address_in_documents_and_every_example_opens(visits: Visits) -> None:
    asked, plain = doors.of_documents_and_examples(), {f"/{page.address}" for page in menu.pages()}
    assert {path.partition("?")[0] for path in asked} == plain
    assert len(doors.opened(visits, sorted({*asked, *plain} - {*FIVE}), narrow=True)) > 20


def test_some_lessons_open_alone_in_the_full_window_and_lead_to_their_pages(visits: Visits) -> None:
    lessons = doors.opened(visits, doors.of_lessons()[::5])
    doors.opened(visits, sorted({link for seen in lessons for link in seen.page["links"]}))


def test_controls_of_every_method_and_distribution_are_in_use(visits: Visits) -> None:
    doors.opened(visits, doors.of_methods())


def test_presets_open_on_their_pages_and_after_a_change_their_link_opens_the_same(visits: Visits) -> None:
    doors.none(doors.trips(visits, doors.some_presets()))
