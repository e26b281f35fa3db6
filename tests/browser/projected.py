"""What the tests of projected lessons ask of the window."""

from playwright.sync_api import expect
from visitor import Visitor

SHARE = 0.55  # of the height of the window, for the picture


def asks(teacher: Visitor) -> None:
    """Wait until the projector asks, and hears keys."""
    expect(teacher.tab.locator(".st-key-project-reveal button").locator("visible=true").last).to_be_visible()
    teacher.tab.wait_for_function("window.labKeys")
    teacher.settle()


def picture_fills_the_window(teacher: Visitor, height: int) -> None:
    picture = teacher.tab.locator(".player svg")
    expect(picture.locator("text").first).to_be_visible()
    teacher.settle()
    for _ in range(40):  # it follows the window a moment later
        box = picture.bounding_box()
        if box and box["height"] >= SHARE * height and box["y"] >= 0 and box["y"] + box["height"] <= height:
            break
        teacher.tab.wait_for_timeout(250)
    else:
        raise AssertionError(box)
    assert teacher.main().locator("h1").bounding_box()["y"] >= 0  # type: ignore[index]
    assert teacher.main().evaluate("main => main.scrollHeight") <= height
    assert (
        not teacher.tab.locator(".modebar, [data-testid=stHeader], [data-testid=stTopNavLink]")
        .locator("visible=true")
        .count()
    )
