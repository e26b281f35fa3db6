"""How controls are seen in light, dark and the colours of a system, on the screen's own pixels, and met by a finger."""

import io
from collections import Counter
from collections.abc import Iterator

from PIL import Image
from playwright.sync_api import Locator, expect
from visitor import Visitor

from ui import menu, theme

PARTS = {  # what shows by its ground or edge where a control is, and what it says
    "track": "[data-testid=stSlider] [role=group]>div>div:first-child",
    "thumb": "[data-testid=stSlider] div:has(>div>input[type=range])",
    "switch": "[data-testid=stCheckbox] label>span+div",
    "progress": "[data-testid=stProgressBarTrack]",
    "text": "[data-testid=stTextInputRootElement]",
    "choice": "[data-testid=stSelectbox] [role=group]",
}
GROUNDS = {False: "rgb(255, 255, 255)", True: "rgb(17, 22, 28)"}
# Of every control that is seen: its name, if a finger 24 pixels wide would miss it. A control's label is a part of it;
# the small buttons above a picture are left out, which Plotly and Streamlit draw.
MISSED = """() => [...document.querySelectorAll(
    '[data-testid=stMain] :is(button, input, summary, a[data-testid])')].filter(
    control => !control.closest('.modebar, [data-testid=stElementToolbar]')).filter(
    control => control.checkVisibility({opacityProperty: true, visibilityProperty: true})).filter(control => {
  const whole = control.matches('input') && control.closest('label, [data-rac][style*=absolute]') || control;
  whole.scrollIntoView({block: 'center'});
  const box = whole.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
  return [[-11, 0], [11, 0], [0, -11], [0, 11]].some(
    ([right, down]) => !whole.contains(document.elementFromPoint(x + right, y + down)));
}).map(control => control.ariaLabel || control.innerText)"""


def pixels(part: Locator, x: float, y: float, width: float, height: float) -> list[str]:
    """The colours of a rectangle of the screen, from the middle of that part's left edge."""
    part.scroll_into_view_if_needed()
    box = part.bounding_box()
    assert box is not None
    clip = {"x": box["x"] + x, "y": box["y"] + box["height"] / 2 + y, "width": width, "height": height}
    image = Image.open(io.BytesIO(part.page.screenshot(clip=clip))).convert("RGB")
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in image.get_flattened_data()]


def edge(name: str, part: Locator) -> float:
    """How well a part can be told from what is around it."""
    around, *inside = pixels(part, -3, -0.5, 6, 1) if name != "thumb" else pixels(part, 6, -9, 1, 6)
    return max(theme.contrast(around, colour) for colour in inside)


def ground(part: Locator) -> str:
    """Its most frequent colour."""
    return Counter(pixels(part, 3, -10, 40, 20)).most_common(1)[0][0]


def unseen(visitor: Visitor, forced: bool) -> Iterator[str]:
    """Controls of the page whose edge does not stand out from its ground."""
    for name, selector in PARTS.items():
        if name == "track" and not forced:
            continue  # it is quiet where the thumb has not been: the filled part and the thumb say the value
        for part in visitor.main().locator(f"{selector} >> visible=true").all()[:1]:
            if (found := edge(name, part)) < 3:
                yield f"{name}: {found:.2f}"


def chosen_stands_out(visitor: Visitor) -> bool:
    """The chosen one of several stands on another ground than the others."""
    for group in visitor.main().locator("[data-testid=stButtonGroup]:has([aria-checked=true]) >> visible=true").all():
        yes, no = (group.locator(f"[aria-checked={state}]").first for state in ("true", "false"))
        if theme.contrast(ground(yes), ground(no)) < 3:
            return False
    return True


def marked(visitor: Visitor) -> list[str]:
    """The entries of the menu that are said and shown to hold the page."""
    entries = visitor.tab.get_by_test_id("stHeader").locator("a[aria-current=page], button[aria-current=true]")
    expect(entries.locator("p")).to_have_css("text-decoration-line", "underline")
    return [entry.strip() for entry in entries.locator("p").all_inner_texts()]


def every_control_is_seen(visitor: Visitor, stated: menu.Page) -> None:
    """In light and dark, and in colours that a system sets instead, once they have come."""
    for forced, dark in ((False, False), (True, False), (True, True), (False, True)):
        scheme = "dark" if dark else "light"
        visitor.tab.emulate_media(color_scheme=scheme, forced_colors="active" if forced else "none")
        if not forced:
            expect(visitor.tab.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[dark])
        visitor.settle()
        visitor.tab.wait_for_timeout(400)  # colours come one after the other
        assert list(unseen(visitor, forced)) == [], (forced, dark)
        if forced and not dark:
            assert chosen_stands_out(visitor)
            assert marked(visitor) == [stated.section or stated.title]


def a_finger_meets_every_control(phone: Visitor) -> None:
    """On a phone and at 200%, where a window of 1280 x 900 has half of both."""
    for width, height in ((390, 900), (640, 450)):
        phone.tab.set_viewport_size({"width": width, "height": height})
        phone.settle()
        assert phone.tab.evaluate(MISSED) == [], width
        wide, room = phone.main().evaluate("main => [main.scrollWidth, main.clientWidth]")
        assert wide <= room, width
