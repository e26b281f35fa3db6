"""Five ways to see and use a page, each over five pages: colours that the system sets, dark, a phone, 200%, keys alone.

What is seen is measured on the screen's own pixels.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator

from PIL import Image
from playwright.sync_api import Locator, expect
from visitor import PHONE, Visitor

from ui import menu, theme

Visits = Callable[..., Visitor]
SMALL = "arms=0.9,0.5&lines=ucb,heldp-ucb-b(2)&T=1000&n=4"
PAGES = (f"explore?{SMALL}", "learn?step=3", "your-numbers", f"theory?{SMALL}", f"tradeoff?{SMALL}")
MOVED = (f"explore?{SMALL}", f"tradeoff?{SMALL}", "trust", "heavy-tails", "contextual")  # a slider on each
PARTS = {  # what shows by its ground or edge where a control is, and what it says
    "track": "[data-testid=stSlider] [role=group]>div>div:first-child",
    "thumb": "[data-testid=stSlider] div:has(>div>input[type=range])",
    "switch": "[data-testid=stCheckbox] label>span+div",
    "progress": "[data-testid=stProgressBarTrack]",
    "number": "[data-testid=stNumberInputContainer]",
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


def looked_at(visitor: Visitor, forced: bool, dark: bool) -> None:
    """Every control is seen in these colours, once they have come."""
    visitor.tab.emulate_media(color_scheme="dark" if dark else "light", forced_colors="active" if forced else "none")
    if not forced:
        expect(visitor.tab.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[dark])
    visitor.settle()
    visitor.tab.wait_for_timeout(400)  # colours come one after the other
    assert list(unseen(visitor, forced)) == [], (visitor.tab.url, forced, dark)


def test_every_control_is_seen_in_light_dark_and_colours_of_the_system(visits: Visits) -> None:
    visitor = visits(f"/{PAGES[0]}")
    for page in PAGES:
        visitor.open(f"/{page}")
        visitor.main().locator("h1").wait_for()
        looked_at(visitor, forced=False, dark=False)
        looked_at(visitor, forced=True, dark=False)
        assert chosen_stands_out(visitor), page
        stated = menu.at(page.partition("?")[0])
        assert marked(visitor) == [stated.section or stated.title]
        looked_at(visitor, forced=True, dark=True)
        looked_at(visitor, forced=False, dark=True)
        visitor.tab.emulate_media(color_scheme="light")


def test_a_finger_meets_every_control_on_a_phone_and_at_200_percent(visits: Visits) -> None:
    phone = visits(f"/{PAGES[0]}", **PHONE)
    for page in PAGES:
        phone.open(f"/{page}")
        phone.main().locator("h1").wait_for()
        for width, height in ((390, 900), (640, 450)):  # the second is half of 1280 x 900
            phone.tab.set_viewport_size({"width": width, "height": height})
            phone.settle()
            assert phone.tab.evaluate(MISSED) == [], (page, width)
            wide, room = phone.main().evaluate("main => [main.scrollWidth, main.clientWidth]")
            assert wide <= room, (page, width)


def test_keys_alone_move_a_slider_on_and_on(visits: Visits) -> None:
    visitor = visits(f"/{MOVED[0]}")
    for page in MOVED:
        visitor.open(f"/{page}")
        slider = visitor.main().get_by_role("slider").first
        slider.focus()
        before = float(slider.get_attribute("value") or "nan")
        for step in (1, 2):
            visitor.tab.keyboard.press("ArrowRight")
            expect(visitor.main().get_by_role("slider").first).to_have_value(f"{before + step:g}")
            visitor.settle()
            expect(visitor.main().get_by_role("slider").first).to_be_focused()


def test_keys_alone_open_the_menu_and_leave_it(visits: Visits) -> None:
    visitor = visits("/errata")
    visitor.settle()
    section = visitor.tab.get_by_role("button", name="Reference")
    expect(section).to_have_attribute("aria-current", "true")
    section.press("Enter")
    expect(visitor.tab.get_by_role("menuitem", name="Errata")).to_have_attribute("aria-current", "page")
    visitor.tab.keyboard.press("Escape")
    expect(visitor.tab.get_by_role("menuitem")).to_have_count(0)
    expect(section).to_be_focused()
