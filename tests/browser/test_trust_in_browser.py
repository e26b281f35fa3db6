"""Trust: a hurried reader gets pictures first."""

from __future__ import annotations

from collections.abc import Callable

from visitor import Visitor

Visits = Callable[..., Visitor]


def test_trust_begins_with_six_drawings_on_one_screen(visits: Visits) -> None:
    visitor = visits("/trust", width=1400)
    visitor.element("trust-curves").locator(".main-svg").first.wait_for()
    visitor.settle()
    pictures = [image.bounding_box() for image in visitor.main().locator("img[alt]").all()]
    assert len(pictures) == 6 and all(box["y"] + box["height"] <= 900 for box in pictures)
    slider = visitor.main().get_by_role("slider").first.bounding_box()
    assert slider["y"] > max(box["y"] for box in pictures)
