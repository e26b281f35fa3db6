"""Numbers as people type them: a browser's own field for numbers drops a comma before the app sees it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect
from visitor import Visitor


def typed(visitor: Visitor, label: str, text: str) -> None:
    """Type into a field, key by key, and press Enter."""
    field = visitor.main().get_by_label(label, exact=True)
    field.focus()
    visitor.tab.keyboard.press("ControlOrMeta+A")
    visitor.tab.keyboard.type(text)
    visitor.tab.keyboard.press("Enter")


@pytest.mark.parametrize("options", [{"width": 1280}, {"width": 390, "dark": True}])
def test_a_decimal_comma_is_read_and_two_readings_are_asked(visits: Callable[..., Visitor], options: dict) -> None:
    visitor = visits("/your-numbers?users=400", **options)
    typed(visitor, "Baseline rate, %", "3,1")
    expect(visitor.main().get_by_text("baseline 3.1%")).to_be_visible()
    typed(visitor, "Users", "50.000")
    alert = visitor.main().get_by_role("alert").filter(has_text="may be")
    expect(alert).to_contain_text("Users: '50.000': may be 50 or 50,000")
    expect(visitor.main().get_by_label("Users", exact=True)).to_have_value("50.000")  # nothing is lost
    typed(visitor, "Users", "50,000")
    expect(alert).to_have_count(0)
    typed(visitor, "Expected lifts, one per new option", "8,5")
    expect(visitor.main().get_by_text("8.5 or 8, 5")).to_be_visible()
    typed(visitor, "Expected lifts, one per new option", "8, 5")
    expect(visitor.main().get_by_text("option 1 3.35%, option 2 3.26%")).to_be_visible()
    expect(visitor.tab).to_have_url(re.compile(re.escape("base=3.1&lifts=8%2C+5")))
