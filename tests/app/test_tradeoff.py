"""The Trade-off page: curves against epsilon, the inverse question, and what the address keeps."""

import re
from dataclasses import replace

import numpy as np
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments import links
from bandit_core.studies.sweep import Sweep, SweepResult, at_budget, sweep
from bandit_core.studies.tradeoff import traces, who_wins
from ui import tradeoff_view
from ui.tradeoff_view import GRID

SHARED = {"arms": "0.9,0.5", "lines": "ucb,heldp-ucb-b(1),dp-se(1)", "T": "2000", "n": "12"}


def test_the_curves_are_the_core_s_at_every_budget() -> None:
    screen = on.visit("tradeoff", **SHARED)
    chart = on.chart(screen, "tradeoff-chart")
    trace = next(trace for trace in chart.traces if trace.get("name") == "● local method")
    epsilons, regret = on.numbers_in(trace["x"]), chart.y("● local method")
    assert len(epsilons) == 9 and np.all(np.diff(epsilons) > 0)
    experiment = Experiment.model_validate(
        {
            "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}],
            "lines": [{"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}}],
            "horizon": 2000,
            "trials": 12,
        }
    )
    for place in (0, 4, 8):
        line = simulate(at_budget(experiment, float(epsilons[place])), jobs=1).lines[0]
        assert line is not None and regret[place] == pytest.approx(line.mean[-1], rel=1e-6)
    floor = chart.y("– UCB")
    assert np.all(floor == floor[0])
    assert "HeLDP-UCB-B" in trace["hovertemplate"]
    assert on.numbers_in(trace["marker"]["size"]).argmax() == epsilons.tolist().index(1.0)  # that of the sidebar


def test_the_lowest_of_a_level_is_called_the_best_and_a_label_stays() -> None:
    lines = "ucb,heldp-ucb-b(1),heldp-ucb-l(1),dp-se(1)"
    found = on.chart(on.visit("tradeoff", **{**SHARED, "lines": lines, "T": "5000"}), "tradeoff-chart").names
    assert found == ["– UCB", "● best local method: HeLDP-UCB-B", "● HeLDP-UCB-L", "■ central method"]
    swept = Sweep(load_preset("trust").with_changes(horizon=100, trials=2), (0.5, 1.0)).run()
    assert tradeoff_view.names(swept) == {trace.line: trace.label for trace in traces(swept)}


def test_bands_bounds_on_request_and_the_price() -> None:
    screen = on.visit("tradeoff", **SHARED)
    assert not [trace for trace in on.chart(screen, "tradeoff-chart").traces if "meta" in trace]
    on.put(screen, on.own(screen, "toggle", "theory"), True)
    assert on.address(screen)["theory"] == "1"
    chart = on.chart(screen, "tradeoff-chart")
    low, high = chart.band("● local method")
    assert np.all(low <= high)
    assert "no local method can be below" in [trace["name"] for trace in chart.traces if "meta" in trace]
    on.put(screen, next(group for group in screen.button_group if group.label == "Show"), "price")
    price = on.chart(screen, "tradeoff-chart")
    assert "– UCB" not in price.names
    assert price.y("● local method") == pytest.approx(chart.y("● local method") / chart.y("– UCB"), rel=1e-6)


def test_the_range_of_budgets_is_in_the_address() -> None:
    screen = on.visit("tradeoff", **SHARED, **{"from": "0.5", "to": "4"})
    epsilons = on.numbers_in(on.chart(screen, "tradeoff-chart").traces[0]["x"])
    assert 0.4 < epsilons[0] < 0.6 and 3 < epsilons[-1] < 5
    on.put(screen, screen.select_slider(key="tradeoff-range"), (GRID[4], GRID[12]))
    assert (on.address(screen)["from"], on.address(screen)["to"]) == (f"{GRID[4]:g}", f"{GRID[12]:g}")


def test_the_search_answers_side_by_side() -> None:
    screen = on.visit("tradeoff", **SHARED, goal="price", limit="3")
    on.put(screen, screen.toggle(key="goal-search"), True)
    message = on.words(screen)
    assert "● HeLDP\\-UCB\\-B: ε = **" in message and "■ DP\\-SE" in message
    assert "different guarantees" in message
    before = message
    on.run(screen)
    assert on.words(screen) == before  # the same question, the same answer
    assert on.address(screen)["limit"] == "3"


def test_where_all_trust_no_one_no_other_guarantee_is_spoken_of() -> None:
    screen = on.visit("tradeoff", **{**SHARED, "lines": "ucb,heldp-ucb-b(1)"}, limit="3", search="1")
    assert "In brackets" in on.words(screen) and "different guarantees" not in on.words(screen)


def test_a_deadline_asks_for_the_fewest_users_too() -> None:
    screen = on.visit("tradeoff", **SHARED, goal="missed", limit="0.2")
    on.put(screen, screen.toggle(key="goal-search"), True)
    assert "needs at least" in on.words(screen) and " users**" in on.words(screen)


@pytest.mark.parametrize("fields", [{"lines": "ucb"}, {"contexts": "single(2, 3)", "lines": "linucb,ldp-ols(1)"}])
def test_where_there_is_nothing_to_trade_an_example_stands_in(fields: dict[str, str]) -> None:
    screen = on.visit("tradeoff", **{**on.SMALL, **fields})
    assert screen.session_state["lab"]["example-of"] == "priced" and on.chart(screen, "tradeoff-chart").names
    wanted, _ = links.read({**on.SMALL, **fields})
    assert screen.session_state["lab"]["kept"] == wanted


def test_the_budget_of_the_sidebar_is_a_point_of_the_picture() -> None:
    screen = on.visit("tradeoff", **SHARED)
    for epsilon in (0.7, 3.0):
        on.change(screen, "select_slider", "epsilon", epsilon)
        chart = on.chart(screen, "tradeoff-chart")
        swept = next(trace for trace in chart.traces if trace.get("name") == "● local method")
        assert epsilon in on.numbers_in(swept["x"])
        assert [shape["x0"] for shape in chart.layout["shapes"] if shape["line"].get("dash") == "dash"] == [epsilon]


def test_what_a_price_is_relative_to_is_run_for_comparison() -> None:
    def price(lines: str) -> tuple[AppTest, np.ndarray]:
        screen = on.visit("tradeoff", **{**SHARED, "lines": lines, "limit": "20"})
        on.put(screen, on.setting(screen, "button_group", "tradeoff-quantity"), "price")
        return screen, on.chart(screen, "tradeoff-chart").y("● local method")

    alone, lonely = price("heldp-ucb-b(1)")
    both, accompanied = price("thompson,kl-ucb,heldp-ucb-b(1)")
    np.testing.assert_array_equal(lonely, accompanied)
    assert "run for comparison, not shown" in on.words(alone) and "not shown" not in on.words(both)
    assert "– Thompson sampling" not in on.chart(alone, "tradeoff-chart").names
    on.put(alone, alone.toggle(key="goal-search"), True)
    assert "● HeLDP\\-UCB\\-B: ε = **" in on.words(alone)


@pytest.mark.parametrize("field", ["from", "goal"])
def test_fields_that_cannot_be_used_are_told(field: str) -> None:
    screen = on.visit("tradeoff", **SHARED, **{field: "<b>x"})
    assert f"\n- {field}\\: " in on.words(screen)
    assert "<b>x" not in "".join(element.value for element in screen.main.markdown if element.allow_html)
    assert on.chart(screen, "tradeoff-chart").names


def test_an_unfinished_sweep_speaks_and_draws_of_what_is_done_only() -> None:
    experiment = Experiment.model_validate(
        {
            "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.1}],
            "lines": [
                {"policy": "ucb"},
                *({"policy": name, "epsilon": {"kind": "fixed", "value": 1}} for name in ("ts-cf", "heldp-ucb-l")),
            ],
            "horizon": 2000,
            "trials": 6,
        }
    )
    whole = sweep(experiment, (0.5, 1.0, 2.0))
    part = replace(whole, results=(*whole.results[:2], replace(whole.results[2], lines=(None, None, None))))
    assert "shown" in tradeoff_view.verdict(whole) and "so far" not in tradeoff_view.verdict(whole)
    assert "so far" in tradeoff_view.verdict(part)
    alone = sweep(experiment.with_changes(lines=experiment.model_dump()["lines"][:2]), (0.5, 1.0, 2.0))
    first, done, rest = alone.results[0], *(replace(each, lines=(None, None)) for each in alone.results[1:])
    ends = re.findall("ε = ([0-9.]+)", tradeoff_view.verdict(replace(alone, results=(first, done, rest))))
    assert ends == ["0.5."]
    for quantity in ("regret", "price"):
        view = experiment.view.model_copy(update={"quantity": quantity})
        seen = replace(part, experiment=experiment.model_copy(update={"view": view}))
        bands = [trace for trace in tradeoff_view.chart(seen, False).data if trace.line.width == 0]
        assert bands and all(len(trace.x) <= 2 and np.isfinite(trace.y).all() for trace in bands[-2:])


def test_the_map_shows_who_wins_and_names_who_takes_no_part() -> None:
    lines = "ucb,ucb-cf(1),heldp-ucb-l(1),dp-se(1),dp-ucb-int(1)"
    screen = on.visit("tradeoff", **{**SHARED, "lines": lines, "limit": "20"})
    on.unfold(screen, "tradeoff-more", "who-wins")
    chart, (found,) = on.chart(screen, "who-wins-chart"), who_wins(_swept(screen, lines))
    cells = np.array([[first.line for first in row] for row in found.first])
    drawn = np.zeros(cells.shape, int)
    for trace in (trace for trace in chart.traces if trace["type"] == "heatmap"):
        line = {"UCB-CF": 1, "HeLDP-UCB-L": 2}[trace["name"]]
        drawn[np.isfinite(on.numbers_in(trace["z"]).reshape(cells.shape))] = line
    assert (drawn == cells).all() and found.privacy == "local"
    strokes = [trace for trace in chart.traces if trace["type"] == "scatter"]
    assert sum(len(trace["x"]) for trace in strokes) == sum(not first.clear for row in found.first for first in row)
    message = on.words(screen).split("Left out")[1:]
    assert "DP\\-SE" in message[0] and "DP\\-UCB\\-INT" in message[1]


def _swept(screen: AppTest, lines: str) -> SweepResult:
    experiment, _ = links.read({**SHARED, "lines": lines})
    trace = next(trace for trace in on.chart(screen, "tradeoff-chart").traces if "●" in (trace.get("name") or ""))
    return sweep(experiment, [float(each) for each in on.numbers_in(trace["x"])], jobs=1)


def test_labels_are_names_in_the_verdict_whatever_they_say() -> None:
    labels = ("the plain ones", "two curves", "This wins. Always!")
    lines = [{"policy": "ucb", "label": labels[0]}] + [
        {"policy": policy, "label": label, "epsilon": {"kind": "fixed", "value": 1.0}}
        for policy, label in zip(("heldp-ucb-b", "kl-ucb-cf"), labels[1:], strict=True)
    ]
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.4)]
    for trials in (1, 8):
        experiment = Experiment.model_validate({"arms": arms, "lines": lines, "horizon": 500, "trials": trials})
        message = tradeoff_view.verdict(Sweep(experiment, (0.1, 1.0, 10.0)).run()).replace("\\", "")
        unquoted = re.sub("“[^”]*”", "", message)
        assert (trials == 1 or "“" in message) and not any(label in unquoted for label in labels)
        assert ("single run" in message) == (trials == 1)


def test_the_verdict_states_the_price_at_both_ends_and_calls_equal_what_is_not_told_apart() -> None:
    screen = on.visit("tradeoff", **(SHARED | {"lines": "ucb,heldp-ucb-b(1)", "from": "0.1", "to": "10"}))
    message = re.search(r"the regret of \*\*HeLDP.*", on.words(screen), re.IGNORECASE)
    on.unfold(screen, "tradeoff-more")
    [table] = [each.value for each in screen.main.dataframe if "price" in each.value]
    price = {row["ε"]: float(row["price"].split(" ")[0]) for row in table.to_dict("records")}
    assert message is not None and "tied with no privacy at ε = 10" in message[0]
    [stated] = re.findall(r"\*\*([\d.]+) times\*\* the regret without privacy at ε = 0.1", message[0])
    assert float(stated) == pytest.approx(price[0.1], rel=0.051) and price[10.0] == pytest.approx(1, abs=0.2)


def test_budgets_that_follow_each_other_are_told_as_a_span() -> None:
    grid = (0.1, 0.5, 1.0, 5.0, 10.0)
    # private: this is what is tested
    assert tradeoff_view._spans([0.1, 0.5, 5.0], grid) == "ε = 0.1 to 0.5 and 5"
    assert tradeoff_view._spans([0.1, 1.0, 10.0], grid) == "ε = 0.1, 1 and 10"
