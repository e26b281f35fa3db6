"""Files of observations in a browser: five rows, three boxes that are filled, and questions instead of guesses."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, expect
from visitor import Visitor

CORPUS = Path(__file__).parents[1] / "corpus"


def box(visitor: Visitor, label: str) -> Locator:
    """A select box, in the middle of the window: at its edge the list closes as the page scrolls."""
    found = visitor.main().get_by_role("combobox", name=label)
    found.evaluate("box => box.scrollIntoView({block: 'center'})")
    return found


def test_a_wrong_proposal_is_mended_in_its_box_and_a_doubt_is_asked(visits: Callable[..., Visitor]) -> None:
    visitor = visits("/your-numbers?users=400", width=390, dark=True)
    visitor.main().get_by_text("I upload observations").click()
    visitor.main().locator("input[type=file]").first.set_input_files(CORPUS / "app-versions.csv")
    expect(box(visitor, "A row is")).to_be_visible()
    visitor.settle()
    answer = visitor.main().get_by_role("heading", name="1. A planned A/B test")
    agree = visitor.main().get_by_role("button", name="Yes, read it so")
    expect(agree).to_be_visible()
    expect(answer).to_have_count(0)  # nothing is computed in doubt
    expect(visitor.main().get_by_text("option from 'group' (control, treatment), outcome 'converted'")).to_be_visible()
    box(visitor, "Option").click()
    visitor.tab.get_by_role("option", name="version", exact=True).click()
    expect(visitor.main().get_by_text("option from 'version'")).to_be_visible()
    visitor.settle()
    box(visitor, "Option").click()
    visitor.tab.get_by_role("option", name="group", exact=True).click()
    expect(visitor.main().get_by_text("option from 'group'")).to_be_visible()
    visitor.settle()
    agree.click()
    expect(answer).to_be_visible()
    assert visitor.tab.evaluate("document.documentElement.scrollWidth") <= 390
