"""Trust: one budget for all, steps that the run supports, what each party sees, and why a curator adds less noise."""

from dataclasses import replace

import numpy as np
import pytest
import screen as on

from bandit_core import Experiment
from bandit_core.experiments.presets import load_preset
from bandit_core.model import PROMISES
from bandit_core.simulation.engine import simulate
from bandit_core.studies.tradeoff import best_lines, ladder, steps
from ui import diagrams, stylesheet, words
from ui.trust import view

SMALL = {"preset": "trust", **on.SMALL}


def visit(**address: str):
    return on.unfold(on.visit("trust", **address), "trust-steps")


def shown(screen):
    return screen.main.dataframe[0].value


def test_bars_are_the_steps_of_the_ladder_and_the_table_says_what_each_line_keeps() -> None:
    screen = visit(**SMALL)
    experiment = load_preset("trust").with_changes(horizon=int(on.SMALL["T"]), trials=int(on.SMALL["n"]))
    result = simulate(experiment, jobs=1)
    chart = on.chart(screen, "trust-bars")
    assert [float(on.numbers_in(trace["x"])[0]) for trace in chart.traces] == pytest.approx(
        [step.saved.value for step in steps(result)]
    )
    keys = [experiment.lines[line].entry.privacy for line in ladder(experiment)]
    assert keys == ["local", "central", "none"]
    assert [row.split(" ", 1)[1] for row in shown(screen)["guarantee"]] == [PROMISES[key].title for key in keys]
    assert [budget for budget in shown(screen)["budget"] if "ε = 1" in budget] != []
    assert all(PROMISES[key].trusted in shown(screen)["trusted"].tolist() for key in keys)
    pictures = [image.alt for element in screen.get("image") for image in element.proto.imgs]
    lost = view.losses(result)
    assert {key: lost[key] for key in keys} == {
        experiment.lines[line].entry.privacy: result.lines[used].mean[-1] for line, used in best_lines(result).items()
    }
    costs = [f"; loses {words.number(lost[level], 2)}" if level in lost else "" for level in diagrams.LEVELS]
    seen = [f"{diagrams.in_words(level)}{cost}" for level, cost in zip(diagrams.LEVELS, costs, strict=True)]
    assert pictures == [*seen, diagrams.noises_in_words()] and any(costs)


def test_drawings_have_their_room_before_they_come() -> None:
    for name, height in (("who", diagrams.HEIGHT + diagrams.COST), ("why", diagrams.NOISE_HEIGHT)):
        assert f".st-key-trust-{name} [data-testid=stSkeleton]{{height:{height}px}}" in stylesheet.STYLE


def test_a_hundred_noises_are_ten_times_as_large_as_one() -> None:
    true, many, one = diagrams.sums()
    spread = [np.sqrt(np.mean((values - true) ** 2)) for values in (many, one)]
    assert spread == pytest.approx([np.sqrt(2 * diagrams.USERS), np.sqrt(2)], rel=0.25)  # of Laplace noise at ε = 1
    drawn = diagrams.noises(False)
    assert drawn.count("<circle") == 2 * diagrams.TIMES  # every poll is seen
    assert all(values.min() >= 0 and values.max() <= diagrams.USERS for values in (many, one))


def test_the_ladder_has_every_promise_once_and_says_where_a_step_changes_more_than_trust() -> None:
    experiment = load_preset("trust-ladder")
    keys = [experiment.lines[line].entry.privacy for line in ladder(experiment)]
    assert keys == ["local", "shuffle", "distributed", "central", "none"]
    result = simulate(experiment.with_changes(horizon=2000, trials=4), jobs=1)
    table = view.table(result)
    for line, row in zip(ladder(experiment), table.itertuples(), strict=True):
        kept = experiment.lines[line].entry.guarantee(experiment.setups[line])
        assert row.budget == (kept.budget or "–") and ("δ" in row.budget) == (kept.delta > 0)
        assert kept.model == "none" or "ε = 1" in experiment.label(line)
        assert ("δ" in experiment.label(line)) == (kept.delta > 0)
    found, rows = steps(result), view.bars(result, False).layout.yaxis
    assert len(rows.ticktext) == len(found) + 2 and len(set(rows.tickvals)) == len(rows.tickvals)  # two headings
    assert [("δ" in text) for text in rows.ticktext if "→" in text] == [
        PROMISES[experiment.lines[step.weaker].entry.privacy].key == "shuffle" for step in found
    ]
    for step in found:  # what the runs do not tell apart is called so
        assert step.clear or step.same or "too close to call" in view.verdict(result)


def test_an_experiment_without_three_promises_is_kept_and_an_example_shown() -> None:
    screen = visit(arms="0.9,0.5", lines="ucb,dp-se(1)", **on.SMALL)
    assert len(shown(screen)) >= 3
    assert [button for button in screen.sidebar.button if (button.key or "").startswith("keep-example")]


def test_a_hidden_promise_is_no_step_and_one_alone_is_told() -> None:
    result = simulate(load_preset("trust").with_changes(horizon=300, trials=4, view={"hidden": [1]}), jobs=1)
    (step,) = steps(result)
    figure = view.bars(result, False)
    assert len(figure.data) == 1 and figure.data[0].x[0] == step.saved.value
    assert figure.layout.xaxis.range[0] < min(0, step.saved.value) and figure.layout.xaxis.range[1] > max(
        0, step.saved.value
    )
    alone = simulate(load_preset("trust").with_changes(horizon=300, trials=4, view={"hidden": [0, 1]}), jobs=1)
    assert len(view.bars(alone, False).data) == 0 and "two privacy levels" in view.verdict(alone)


def test_levels_that_wait_for_run_are_not_asked_for_again() -> None:
    result = simulate(load_preset("trust").with_changes(horizon=300, trials=4), jobs=1)
    assert view.verdict(replace(result, lines=(result.lines[0], None, None))) == ""


def test_a_bar_leaves_out_0_exactly_where_the_sentence_claims_something() -> None:
    result = simulate(load_preset("trust").with_changes(horizon=2_000, trials=20), jobs=1)
    for step, bar in zip(steps(result), view.bars(result, False).data, strict=True):
        ends = bar.x[0] - bar.error_x.arrayminus[0], bar.x[0] + bar.error_x.array[0]
        assert ends == pytest.approx(step.saved[2:])
        assert step.clear == (ends[0] > 0 or ends[1] < 0)


def test_what_is_not_clear_is_not_claimed() -> None:
    single = simulate(load_preset("trust").with_changes(horizon=200, trials=1), jobs=1)
    assert "**" not in view.verdict(single)
    assert np.isnan(steps(single)[0].saved.stderr) and len(view.bars(single, True).data) == 2


def test_with_features_the_ladder_is_that_of_its_lines_and_each_step_is_drawn_and_told() -> None:
    preset = load_preset("trust-with-features")
    assert {line.entry.guarantee(one).delta for line, one in zip(preset.lines, preset.setups, strict=True)} == {0, 1e-6}
    experiment = preset.with_changes(horizon=600, trials=4)
    keys = [experiment.lines[line].entry.privacy for line in ladder(experiment)]
    assert keys == list(diagrams.WITH_FEATURES)
    result = simulate(experiment, jobs=1)
    assert view.verdict(result).count("1e-6") == 1  # the one δ of all
    for page, fold in (("trust", "trust-steps"), ("contextual", "contextual-steps")):
        screen = on.unfold(on.visit(page, preset="trust-with-features", T="600", n="4"), fold)
        assert view.verdict(result) in on.words(screen)
        found = [float(on.numbers_in(trace["x"])[0]) for trace in on.chart(screen, "trust-bars").traces]
        assert found == pytest.approx([step.saved.value for step in steps(result)])
        assert all("features" in hidden for hidden in shown(screen)["hidden"][:-1])


def test_where_less_trust_loses_less_the_page_says_so() -> None:
    document = load_preset("trust-with-features").spec()
    document["lines"][1]["params"] = {"shift": 100.0, "first": 1500}  # a curator who learns late
    result = simulate(Experiment.model_validate(document).with_changes(horizon=2000, trials=8), jobs=1)
    [step] = [step for step in steps(result) if step.same]
    assert PROMISES["joint"].who in (told := view.verdict(result)) and step.saved.value == 0
    assert result.experiment.lines[step.played[1]].entry.title in told
