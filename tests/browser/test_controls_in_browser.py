"""Each control that stands on a page as it opens changes the page or its address, and moved back brings both back.

Those of other pages, in folds, and of every method are moved by `everything.py`.
"""

from collections.abc import Callable

import controls
import doors
import pytest
from visitor import Visitor

from ui import menu, page_requirements

Visits = Callable[..., Visitor]


@pytest.mark.parametrize("page", ["home", "learn", "teach", "explore", "mechanisms"])
def test_every_control_moves_something_and_back(visits: Visits, page: str) -> None:
    stated = menu.named(page)
    fields = {"preset": page_requirements.KINDS[stated.shows].example, **doors.SMALL} if stated.sidebar else {}
    doors.none(controls.faults(visits, doors.place(stated.address, **fields)))
