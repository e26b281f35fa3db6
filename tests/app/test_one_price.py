"""One link states one price: Your numbers, Explore as it is opened from there, Trade-off, and a step of the course."""

from urllib.parse import parse_qsl

import pytest
import screen as on

from bandit_core.experiments import links
from bandit_core.simulation.engine import simulate
from bandit_core.simulation.results import summaries
from bandit_core.spec.number_text import with_error
from ui.learn.course import named
from ui.learn.measured import ratio


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
