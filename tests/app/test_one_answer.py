"""The same question has the same answer on every page: the best methods on Home's arms, and the price of one link."""

from urllib.parse import parse_qsl

import pytest
import screen as on

from bandit_core import Experiment, simulate
from bandit_core.experiments import links, trust_table
from bandit_core.simulation.results import summaries
from bandit_core.spec.number_text import with_error
from ui import gallery, words
from ui.learn.course import named
from ui.learn.measured import ratio


def shown(screen) -> Experiment:
    """What the link of the screen opens."""
    fields = {name: value for name, value in on.address(screen).items() if name != "controls"}
    experiment, problems = links.read(fields)
    assert problems == []
    return experiment


def titles(experiment: Experiment) -> list[str]:
    return [line.entry.title for line in experiment.lines]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_every_page_names_the_same_methods(epsilon: float) -> None:
    methods = trust_table.at(epsilon)
    expected = [method.title for method in methods.values()]
    small = {"preset": trust_table.PRESET, "n": "4"}  # the trials choose nothing here

    helps = " ".join(text.proto.help for text in on.visit("home", eps=f"{epsilon:g}").main.markdown)
    assert gallery.methods(epsilon) in helps and all(words.plain(title) in helps for title in expected)
    assert titles(named("trust").experiment(epsilon)) == expected

    explore = on.visit("explore", **small)
    if epsilon != 1.0:
        on.change(explore, "select_slider", "epsilon", epsilon)
    assert titles(shown(explore)) == expected
    assert words.COULD_TRUST_NOBODY not in on.words(explore)

    trust = on.visit("trust", **small)
    [slider] = [each for each in trust.main.select_slider if each.key.startswith("trust-epsilon")]
    on.put(trust, slider, epsilon)
    assert titles(shown(trust)) == expected
    [none, central, local] = expected
    assert on.unfold(trust, "trust-steps").main.dataframe[0].value["policy"].tolist() == [local, central, none]


def test_your_numbers_finds_the_same_methods_on_the_same_arms() -> None:
    """By its own contest, which is the one that made the table; it says so where others are as good."""
    asked = {"base": "80", "lifts": "-25, -25, -50, -50", "users": "10000", "eps": "1"}
    message = on.words(on.visit("your-numbers", **asked))
    for method in trust_table.at(1.0).values():
        assert f"({words.plain(method.title)}" in message


def test_a_shared_link_shows_the_picture_that_was_shared() -> None:
    explore = on.visit("explore", preset=trust_table.PRESET, n="4", T="10000")
    on.change(explore, "select_slider", "epsilon", 8.0)
    again = on.visit("explore", **on.address(explore))
    assert shown(again) == shown(explore) and on.address(again) == on.address(explore)
    assert on.chart(again).names == on.chart(explore).names
    assert titles(shown(again)) == ["Thompson sampling", "TS-CF", "TS-CF"]
    on.change(again, "select_slider", "epsilon", 1.0)  # and it is followed back
    assert titles(shown(again)) == ["Thompson sampling", "DP-IMED", "TS-CF"]
    # Named methods are played as named, whatever the table says.
    straight = {"preset": trust_table.PRESET, "n": "4", "lines": "thompson,dp-imed(8),ts-cf(8)"}
    assert titles(shown(on.visit("explore", **straight))) == ["Thompson sampling", "DP-IMED", "TS-CF"]


def test_with_other_arms_it_is_an_experiment_of_one_s_own() -> None:
    explore = on.visit("explore", preset=trust_table.PRESET, n="4", T="10000")
    on.change(explore, "text_area", "arms", "0.9, 0.5")
    on.change(explore, "select_slider", "epsilon", 8.0)
    assert titles(shown(explore)) == ["Thompson sampling", "DP-IMED", "TS-CF"]
    # What the table brought stays when the arms change afterwards.
    other = on.visit("explore", preset=trust_table.PRESET, n="4", T="10000")
    on.change(other, "select_slider", "epsilon", 8.0)
    on.change(other, "text_area", "arms", "0.9, 0.5")
    assert titles(shown(other)) == ["Thompson sampling", "TS-CF", "TS-CF"]


def test_a_lesson_of_the_preset_follows_its_slider() -> None:
    lesson = on.visit("explore", preset=trust_table.PRESET, n="4", controls="off")
    [slider] = lesson.main.select_slider
    on.put(lesson, slider, 8.0)
    assert titles(shown(lesson)) == ["Thompson sampling", "TS-CF", "TS-CF"]


@pytest.mark.usefixtures("quick_answers")
def test_every_page_states_the_same_price_of_one_link() -> None:
    first = on.visit("your-numbers", users="400", base="50", lifts="40", eps="1")
    [table] = [each for each in on.tables(on.unfold(first, "own-all-methods")) if "times" in each]
    stated = [each for each in table["times"] if each != "–"]
    [link] = [each.proto.query_string for each in first.get("page_link") if each.proto.label == "Open in Explore"]
    asked = dict(parse_qsl(link))
    experiment, problems = links.read(asked)
    assert problems == [] and len(stated) == 2

    [explore] = on.tables(on.visit("explore", **asked))
    prices = explore["price of privacy"].str.extract(r"([\d.,]+ ± [\d.,]+) ×")[0]
    assert list(prices.dropna()) == stated
    assert not explore["price of privacy"].str.contains("run for comparison, not shown").any()

    tables = on.unfold(on.visit("tradeoff", **asked), "tradeoff-more").main.dataframe
    frames = [each.value for each in tables if "price" in each.value]
    assert frames[0][frames[0]["ε"] == 1]["price"].tolist() == stated

    core = [row for row in summaries(simulate(experiment)) if row.against is not None]
    assert [with_error(row.price, row.price_stderr) for row in core] == stated


def test_the_course_states_the_same_price() -> None:
    price = named("price")
    result = simulate(price.experiment(1.0))
    rows = [row for row in summaries(result) if row.against is not None]
    assert len(rows) == len(price.places)
    for row in rows:
        number = ratio(result, row.line, 0)
        assert (number.value, number.error) == pytest.approx((row.price, row.price_stderr))
