"""A link opens the picture that it was copied from; select boxes give back what they were drawn from."""

from collections.abc import Callable

from playwright.sync_api import expect
from visitor import Visitor

from bandit_core.experiments import links

Visits = Callable[..., Visitor]


def opens_what_it_shows(visits: Visits, visitor: Visitor) -> str:
    """The link of the page, opened in a browser that has seen nothing, shows the same numbers and has the same link."""
    link, picture = visitor.copy_link(), visitor.picture()
    other = visits(link)
    assert other.picture() == picture, link
    assert other.copy_link() == link
    other.leave()
    return link


def test_copy_link_pressed_at_once_after_a_change_has_the_new_link(visits: Visits) -> None:
    visitor = visits("/explore?T=400&n=4")
    visitor.chart()
    visitor.settle()
    visitor.tab.get_by_role("textbox", name="Arms").fill("0.9, 0.3")  # is sent when the button takes the focus
    visitor.tab.get_by_role("button", name="Copy link", exact=True).click()
    shown = visitor.tab.get_by_test_id("stPopoverBody").locator("code")
    expect(shown).to_contain_text("arms=0.9,0.3")
    expect(visitor.tab.get_by_test_id("stPopoverBody").get_by_role("status")).to_have_text("Copied:")
    visitor.context.grant_permissions(["clipboard-read"])
    visitor.tab.wait_for_function(
        "async wanted => await navigator.clipboard.readText() === wanted", arg=shown.inner_text()
    )
    visitor.context.clear_permissions()


def test_the_preset_that_is_chosen_is_the_one_that_a_link_and_a_reload_open(visits: Visits) -> None:
    visitor = visits("/explore")
    assert opens_what_it_shows(visits, visitor).endswith("/explore?preset=trust")
    visitor.tab.get_by_role("button", name="Examples").click()
    visitor.tab.get_by_role("textbox", name="Search").fill("what does privacy cost twenty")
    visitor.tab.get_by_role("textbox", name="Search").press("Enter")
    one = visitor.tab.get_by_role("dialog").get_by_role("button", name="Open", exact=True)
    expect(one).to_have_count(1)
    one.click()
    expect(visitor.main().locator("h1")).to_have_text("What does privacy cost?")
    assert opens_what_it_shows(visits, visitor).endswith("/explore?preset=default")
    picture = visitor.picture()
    visitor.tab.reload()
    visitor.settle()
    assert visitor.picture() == picture
    visitor.open_page("Theory")
    visitor.settle()
    visitor.open_page("Explore")
    expect(visitor.main().locator("h1")).to_have_text("What does privacy cost?")  # chosen stays chosen


def test_a_link_with_epsilon_moves_the_budget_and_says_what_it_cannot_use(visits: Visits) -> None:
    visitor = visits("/explore?eps=0.5")
    visitor.sees("At ε = 0.5,")
    assert visitor.address == {"preset": "trust", "eps": "0.5"} and not visitor.alerts()
    visitor.open("/heavy-tails?eps=much&from=2&colour=red")
    [message] = visitor.alerts()
    for words in (
        "eps: 'much': 'much' is not a distribution",
        "from: '2': no field of this page",
        "colour: 'red'",
        "allowed: rewards",
    ):
        assert words in message
    assert visitor.address == {"preset": "wild-rewards"} and not visitor.switched_off()


def test_select_boxes_of_heavy_tails_by_mouse(visits: Visits) -> None:
    visitor = visits("/heavy-tails?users=1e9&trust=local")
    assert not visitor.alerts() and not visitor.switched_off()
    for who, local in (("trust a curator", False), ("trust no one", True)):
        visitor.choose("Trust", who)
        policies = [line.policy for line in links.read(visitor.address)[0].lines]
        assert ("ldp-robust-se" in policies) is local
        assert not visitor.alerts() and not visitor.switched_off()


def test_a_number_in_the_box_of_a_policy_by_mouse_and_back(visits: Visits) -> None:
    lines = "ucb,ldp-robust-se(1)"
    visitor = visits(f"/explore?arms=0.9,0.5&lines={lines}&T=1000&n=2")
    visitor.open_controls()
    visitor.open_fold("LDPRSE")
    for chosen, written in (("2", "ucb,ldp-robust-se(1,shrink=2)"), ("4", lines)):
        visitor.choose("shrink", chosen)
        assert visitor.address["lines"] == written and not visitor.alerts()


def test_an_error_leaves_every_control_alive_and_one_of_the_page_mends_it(visits: Visits) -> None:
    visitor = visits("/heavy-tails?preset=wild-rewards&T=5000")
    visitor.open_controls()
    field = visitor.tab.get_by_role("textbox", name="Arms")
    field.fill("0.9, many")
    field.press("Control+Enter")
    visitor.settle()
    assert len(visitor.alerts()) == 2 and not visitor.switched_off()  # under the field, and on the page
    visitor.press_on_slider("Exponent v", "ArrowRight")
    assert not visitor.alerts() and visitor.address != {"preset": "wild-rewards", "T": "5000"}
    assert field.is_visible()


def test_nothing_moves_under_the_hand_at_the_first_change(visits: Visits) -> None:
    """Title and note go, as they speak of another picture; what the link said wrongly stays."""
    visitor = visits("/explore?preset=trust&unknown=1", width=1280)
    title, places = visitor.main().locator("h1"), [visitor.element(each) for each in ("epsilon", "regret-chart")]
    visitor.chart()
    before = [title.inner_text(), *(place.bounding_box()["y"] for place in places)]
    visitor.press_on_slider("Privacy budget", "ArrowRight")
    after = [title.inner_text(), *(place.bounding_box()["y"] for place in places)]
    assert after[0] != before[0] and after[1:] == before[1:]


def test_a_sweep_is_seen_before_it_is_run(visits: Visits) -> None:
    visitor = visits("/tradeoff?preset=trust")
    visitor.sees("A preview:")
    curves = visitor.chart("tradeoff-chart")
    assert len(curves) == 3 and all(len(curve) == 9 for curve in curves.values())
