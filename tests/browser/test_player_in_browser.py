"""The picture follows the thumb, and what is said follows where the thumb rests."""

import math
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect
from visitor import PHONE, Visitor

from ui import gallery

Visits = Callable[..., Visitor]
LAST = len(gallery.EPSILONS) - 1


class Player:
    """Start's slider and picture."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.root = visitor, visitor.tab.locator(".player")
        self.slider = visitor.tab.get_by_role("slider", name="Privacy budget")
        self.handle: Locator = self.root.locator(".handle")
        self.handle.wait_for()
        visitor.settle()

    @property
    def height(self) -> float:
        """Where the end of the curve of those who trust no one is, in pixels from the top."""
        return float(self.handle.get_attribute("cy") or 0)

    def at(self, place: float) -> tuple[float, float]:
        """Where the thumb is at a position."""
        box, thumb = self.slider.bounding_box(), 16
        assert box
        return box["x"] + thumb / 2 + (box["width"] - thumb) * place / LAST, box["y"] + box["height"] / 2

    def drag(self, place: float, to: float) -> None:
        """Take the thumb from one position to the other, and hold it."""
        mouse = self.visitor.tab.mouse
        mouse.move(*self.at(place))
        mouse.down()
        mouse.move(*self.at(to), steps=5)


def place_of(epsilon: float) -> int:
    return gallery.EPSILONS.index(epsilon)


def test_curves_move_with_the_thumb_and_number_verdict_and_address_at_its_release(visits: Visits) -> None:
    visitor = visits("/?eps=1")
    player, between = Player(visitor), place_of(0.3) + 0.4
    first, alt = player.height, player.root.get_by_role("img").get_attribute("aria-label")
    player.drag(place_of(1.0), between)
    expect(player.root).to_contain_text("before: ε = 1")
    visitor.tab.wait_for_timeout(200)
    held = player.height
    expect(player.root.locator("output")).to_have_text("ε = 1")
    assert held < first - 20
    verdict = visitor.main().locator("p", has_text="At ε =").first
    expect(verdict).to_contain_text("At ε = 1,")
    assert visitor.address == {}
    visitor.tab.mouse.up()
    visitor.sees("At ε = 0.3,")
    visitor.settle()
    expect(player.root.locator("output")).to_have_text("ε = 0.3")
    expect(player.slider).to_have_attribute(
        "aria-valuetext", f"ε = 0.3. {verdict.inner_text().strip()}".replace("\u00a0", " ")
    )
    assert visitor.address == {"eps": "0.3"} and player.slider.input_value() == str(place_of(0.3))
    assert player.height < held and player.root.get_by_role("img").get_attribute("aria-label") != alt
    rest = player.height
    again = Player(visits("/?eps=0.3"))  # opened afresh
    assert again.height == pytest.approx(rest, abs=0.1) and again.root.get_by_text("before").count() == 0


def test_keys_back_and_the_ring_at_the_curve_s_end_move_it_too(visits: Visits) -> None:
    visitor = visits("/")
    player = Player(visitor)
    player.slider.press("Home")
    visitor.sees("At ε = 0.1,")
    visitor.settle()
    player.slider.press("ArrowRight")
    visitor.sees("At ε = 0.2,")
    visitor.settle()
    visitor.go_back()
    visitor.sees("At ε = 0.1,")
    visitor.settle()
    assert player.slider.input_value() == "0" and player.root.count() == 1
    grid = player.root.locator(".grid").first
    left = str(grid.get_attribute("d")).split()[0]
    player.slider.press("End")
    visitor.sees("At ε = 8,")
    visitor.settle()
    assert str(grid.get_attribute("d")).split()[0] == left  # though its axis has shorter numbers
    box, mouse = player.handle.bounding_box(), visitor.tab.mouse
    assert box
    across, up = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(across, up)
    mouse.down()
    mouse.move(across, up - 60, steps=6)
    mouse.up()
    visitor.settle()
    expect(player.slider).not_to_have_value(str(LAST))
    svg = player.root.locator("svg").bounding_box()
    assert svg
    mouse.move(svg["x"] + svg["width"] / 2, svg["y"] + svg["height"] / 2)
    expect(player.root.locator(".point")).to_contain_text("● trust no one:")
    expect(player.root.locator(".point")).to_contain_text("users so far:")


def test_people_behind_coins_move_with_the_thumb_and_when_asked_to(visits: Visits) -> None:
    visitor = visits("/?eps=1")
    player, people = Player(visitor), visitor.tab.locator(".people i")
    look = "all => all.map(each => each.className).join()"

    def flipped(epsilon: float) -> int:
        return round(50 / (1 + math.exp(epsilon)))

    expect(people).to_have_count(50)
    expect(player.root.locator(".people i.flipped")).to_have_count(flipped(1.0))
    before = people.evaluate_all(look)
    visitor.tab.wait_for_timeout(300)
    assert people.evaluate_all(look) == before  # still, until someone moves it
    player.root.get_by_role("button", name="Toss again").click()
    visitor.tab.wait_for_function("before => [...document.querySelectorAll('*')].flatMap(node => node.shadowRoot ? "
                                  "[...node.shadowRoot.querySelectorAll('.people i')] : []).map(each => "
                                  "each.className).join() !== before", arg=before)  # fmt: skip
    expect(player.root.locator(".people i.flipped")).to_have_count(flipped(1.0))
    player.drag(place_of(1.0), 0)
    expect(player.root.locator(".people i.flipped")).to_have_count(flipped(0.1))
    expect(player.root.locator(".people p")).to_contain_text("26.9%")
    visitor.tab.mouse.up()
    expect(player.root.locator(".people p")).to_contain_text("47.5%")


def test_for_those_who_asked_for_less_motion_only_computed_pictures_stand(visits: Visits) -> None:
    player = Player(visits("/", still=True))
    rest = {player.height}
    for _ in range(2):
        player.slider.press("ArrowLeft")
        rest.add(player.height)
    player.visitor.settle()
    seen, place = set(), place_of(1.0) - 2
    player.drag(place, place)
    for step in range(21):
        player.visitor.tab.mouse.move(*player.at(place + step / 10))
        player.visitor.tab.wait_for_timeout(40)
        seen.add(player.height)
    player.visitor.tab.mouse.up()
    assert seen == rest


def test_it_fits_a_phone_whose_finger_moves_it_and_system_colours_show_it(visits: Visits) -> None:
    visitor = visits("/", **PHONE)
    player = Player(visitor)
    assert visitor.tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert player.slider.bounding_box()["height"] >= 44
    words = player.root.locator(".legend li").all_inner_texts()
    assert words == ["– no privacy", "■ trust a curator", "● trust no one"]
    box, session = player.handle.bounding_box(), visitor.context.new_cdp_session(visitor.tab)
    assert box
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for kind, far in (("touchStart", 0), *(("touchMove", step) for step in range(5, 61, 5)), ("touchEnd", 60)):
        points = [] if kind == "touchEnd" else [{"x": left, "y": top - far}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    visitor.settle()
    assert int(player.slider.input_value()) < place_of(1.0)
    visitor.tab.emulate_media(forced_colors="active")
    look = "node => [getComputedStyle(node).fill, getComputedStyle(node).stroke]"
    system = visitor.tab.evaluate("() => { const made = document.body.appendChild(document.createElement('i'));"
                                  "made.style.color = 'CanvasText'; return getComputedStyle(made).color }")  # fmt: skip
    assert player.root.locator("text").first.evaluate(look)[0] == system
    assert player.handle.evaluate(look)[1] not in ("none", "rgba(0, 0, 0, 0)")
