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


# Other tests open these without fields, wide and on a phone; these and all examples once more: `everything.py`.
ELSEWHERE = {*FIVE, *(doors.place(page) for page in ("explore", "tradeoff", "contextual", "theory"))}


def test_every_address_in_documents_and_every_other_page_opens(visits: Visits) -> None:
    asked, plain = set(doors.of_documents()), {f"/{page.address}" for page in menu.pages()}
    with_fields = {path for path in asked if path not in plain}
    reached = {path.partition("?")[0] for path in with_fields}
    assert {path.partition("?")[0] for path in asked} == plain and len(with_fields) >= 5
    doors.opened(visits, sorted(with_fields | plain - ELSEWHERE - reached), narrow=True)


def test_a_preset_of_each_kind_opens_and_after_a_change_its_link_opens_the_same(visits: Visits) -> None:
    doors.none(doors.trips(visits, doors.some_presets()))
