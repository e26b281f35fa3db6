"""Sentences claim no more than the numbers allow: here the wording itself is what is tested."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandit_core import Experiment, load_preset
from bandit_core.simulation.results import LineResult, Result, summaries
from bandit_core.spec.errors import Issue
from bandit_core.theory import definitions
from ui import budget_panel, gallery, words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.03124, "0.0312"), (9.996, "10"), (99.96, "100"), (999.6, "1,000"), (9876, "9,880"),
        (999_600, "1 million"), (1_234_567, "1.23 million"), (999_900_000, "1 billion"), (-1500, "-1,500"),
        (7.2e13, "72,000 billion"), (math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "–"),
    ],
)  # fmt: skip
def test_numbers_have_sensible_digits(value: float, text: str) -> None:
    assert words.number(value) == text


@given(st.floats(1e-6, 1e14), st.integers(2, 4))
def test_a_written_number_is_the_number(value: float, digits: int) -> None:
    text = words.number(value, digits)
    amount, _, unit = text.partition(" ")
    read = float(amount.replace(",", "")) * {"": 1, "million": 1e6, "billion": 1e9}[unit]
    assert read == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))
    assert len(re.sub(r"e-?\d+|[^\d]", "", text).lstrip("0").rstrip("0")) <= digits


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (9876.5, 123.4, "9,880 ± 120"), (9876.5, 45.0, "9,880 ± 40"), (3.2049, 0.0713, "3.20 ± 0.07"),
        (1.2993, 0.0123, "1.299 ± 0.012"), (5, 0, "5"), (5, math.nan, "5"), (math.nan, 1, "–"),
        (1e6, 1e-12, "1 million"), (0.5, 30, "0 ± 30"),
    ],
)  # fmt: skip
def test_digits_end_where_the_error_begins(value: float, error: float, text: str) -> None:
    assert words.with_error(value, error) == text


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_the_rounded_value_stays_within_its_error(value: float, error: float) -> None:
    text = words.with_error(value, error)
    if " ± " in text:
        scale = 1e6 if text.endswith(" million") else 1.0
        parts = text.removesuffix(" million").strip("()").split(" ± ")
        shown, margin = (scale * float(part.replace(",", "")) for part in parts)
        assert abs(shown - value) <= 0.51 * error
        assert margin == pytest.approx(error, rel=0.2)
    assert len(re.sub(r"\D", "", text.partition(" ")[0])) <= 19


def test_odds_follow_bayes_rule() -> None:
    assert " 73%" in words.odds(1.0)
    assert words.odds(0.0).count(" 50%") == 2
    assert "almost 100%" in words.odds(20.0)
    assert "almost 100%" in words.odds(1e9)
    shown = [float(re.findall(r"[\d.]+%", words.odds(value))[1].rstrip("%")) for value in (0.1, 0.5, 1, 2, 4, 6)]
    assert shown == sorted(shown) and shown[0] > 50


@given(st.text(alphabet="ab<>[]()!*_`~#$:\\&|{}-+.1 ", max_size=30))
def test_plain_text_has_no_markup_left(text: str) -> None:
    written = words.plain(text)
    # private: this is what is tested
    assert re.sub(r"\\([^a-z0-9\s])", r"\1", written).replace(words._JOINER, "") == re.sub(r"\s+", " ", text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[<\[`*_$]", written)


def test_problems_are_listed_up_to_a_limit() -> None:
    message = words.issues([Issue(f"arms[{place}]", "<b>", "no") for place in range(11)], most=8)
    assert len(message.splitlines()) == 9
    assert " 3 " in message.splitlines()[-1] and "<b>" not in message


def result(private: np.ndarray, free: np.ndarray, **changes: object) -> Result:
    """A result whose two lines, "x" and ucb, end at these regrets, one per trial."""
    experiment = Experiment.model_validate(
        {
            "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.1}],
            "lines": [
                {"policy": "ucb", "label": "free"},
                {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 2.0}, "label": "x"},
            ],
            "horizon": 1000,
            "trials": len(free),
            **changes,
        }
    )
    lines = []
    for ends in (free, private):
        regret = np.outer(ends, [0.1, 1.0])
        lines.append(LineResult(np.arange(len(ends)), regret, regret, np.full((len(ends), 2), 500.0)))
    return Result(experiment, np.array([1, 1000]), tuple(lines))


FREE = np.array([100.0, 110.0, 90.0, 105.0, 95.0, 100.0])


def test_the_verdict_gives_ratio_and_rewards() -> None:
    made = result(2.0 * FREE + [9, -9, 9, -9, 9, -9], FREE)
    message = "At ε = 2, **“x”** has about **2 times** the regret of “free”, 100 more lost rewards in 1,000 users."
    assert words.verdict(made) == message


def test_the_verdict_does_not_claim_a_difference_that_is_not_there() -> None:
    message = words.verdict(result(FREE[::-1] + 2, FREE))
    assert "**“x”**" in message and "in 6 trials" in message
    assert "more" not in message and "fewer" not in message


@given(st.integers(2, 40), st.floats(-0.5, 0.5), st.integers(0, 10_000))
def test_the_verdict_follows_the_errors(trials: int, shift: float, seed: int) -> None:
    draws = np.random.default_rng(seed)
    free = 100 + draws.normal(0, 20, trials)
    private = (100 + draws.normal(0, 20, trials)) * (1 + shift)
    made = result(private, free)
    ratio, _ = made.lines[1].ratio(made.lines[0])[:2]
    low, high = made.lines[1].difference(made.lines[0])[2:]
    message = words.verdict(made)
    sure = low > 0 or high < 0
    assert ("more lost" in message) == (sure and ratio > 1)
    assert ("fewer lost" in message) == (sure and ratio < 1)
    assert ("tied" in message) != sure


def test_a_price_surely_below_one_says_how_that_can_be() -> None:
    made = result(0.8 * FREE, FREE)
    message = words.verdict(made)
    [row] = [row for row in summaries(made) if row.line == 1]
    assert "**0.8 times** the regret of “free”" in message and message.endswith(words.below_one(row, made) + ".")
    assert words.below_one(row, made)  # and nothing where it is not sure, or above 1
    for ends in (FREE[::-1] - 2, 1.2 * FREE):
        other = result(ends, FREE)
        assert not any(words.below_one(row, other) for row in summaries(other))
        assert "below 1" not in words.verdict(other)


def test_the_reason_names_who_explores_less_only_where_that_is_so() -> None:
    made = result(0.8 * FREE, FREE, view={"against": "own"})
    for best_pulls, less in ((FREE + 500, True), (FREE, False)):
        mine = replace(made.lines[1], best_pulls=np.outer(best_pulls, [0.1, 1.0]))
        changed = replace(made, lines=(made.lines[0], mine))
        [row] = [row for row in summaries(changed) if row.line == 1]
        assert ("explores less" in words.below_one(row, changed)) == less


def test_a_card_claims_no_price_that_the_errors_do_not_allow() -> None:
    for ends, sure in ((2 * FREE, True), (FREE[::-1] + 2, False)):
        [row] = [row for row in summaries(result(ends, FREE)) if row.line == 1]
        assert ("no clear one" not in words.price(row)) == sure


def test_a_large_ratio_to_next_to_nothing_is_not_called_undecided() -> None:
    free = np.array([0.1, 0.1, 3.0])
    made = result(np.array([2900.0, 3100, 3000]), free)
    ratio, error = made.lines[1].ratio(made.lines[0])[:2]
    assert ratio - 1 < 2 * error  # the ratio itself is all but unknown
    assert "**2,800 times**" in words.verdict(made) and "tied" not in words.verdict(made)


def test_one_run_proves_little() -> None:
    message = words.verdict(result(np.array([300.0]), np.array([100.0])))
    assert "single run" in message and "proves little" in message and "lost rewards" not in message


def test_without_a_baseline_only_the_loss_is_told() -> None:
    lone = result(FREE, FREE)
    experiment = lone.experiment.with_changes(lines=lone.experiment.spec()["lines"][:1])
    message = words.verdict(Result(experiment, lone.times, lone.lines[:1]))
    assert message == "**“free”** loses 100.0 ± 2.9 rewards in 1,000 users."


def test_without_a_price_the_best_and_the_worst_are_told() -> None:
    made = result(2 * FREE, FREE)
    lines = [dict(line, policy="ucb", epsilon=None) for line in made.experiment.spec()["lines"]]
    message = words.verdict(replace(made, experiment=made.experiment.with_changes(lines=lines)))
    assert message == "**“free”** loses 100.0 ± 2.9 rewards in 1,000 users, **“x”** loses 200 ± 6."


def test_a_preview_speaks_of_fewer_users_only_where_there_are_fewer() -> None:
    shown = result(FREE, FREE)
    more = shown.experiment.with_changes(trials=100)
    assert "users" not in words.preview(shown, more) and "of 100 trials" in words.preview(shown, more)
    assert "of 9,000 users" in words.preview(shown, more.with_changes(horizon=9000))


def test_nothing_computed_is_said_so() -> None:
    empty = result(FREE, FREE)
    assert words.verdict(Result(empty.experiment, empty.times, (None, None))) == "Nothing computed yet."


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "under a second"), (12.4, "about 12 s"), (240, "about 4 min"), (7300, "about 2 h"), (4e5, "about 5 days")],
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_arms_in_one_line() -> None:
    def arms(*means: float) -> Experiment:
        return Experiment.model_validate(
            {"arms": [{"kind": "bernoulli", "mean": mean} for mean in means], "lines": [{"policy": "ucb"}]}
        )

    assert words.arms_summary(arms(0.5)) == "1 arm, best 0.5, all equal"
    assert words.arms_summary(arms(0.9, 0.8, 0.1)) == "3 arms, best 0.9, smallest gap 0.1"


def test_what_home_links_to_is_this_lab_s_own() -> None:
    assert words.of_the_link(gallery.home_experiment(1.0)) == ""


def test_what_one_answer_of_a_person_may_spend_is_told_as_arithmetic() -> None:
    experiment = load_preset("people-who-come-back")
    assert not budget_panel.arithmetic(experiment, 0)  # without privacy
    assert all("2 / 5 = **0.4**" in budget_panel.arithmetic(experiment, number) for number in (1, 2))
    assert "10 / 5 = **2**" in budget_panel.arithmetic(experiment, 3)
    assert not budget_panel.arithmetic(experiment.with_changes(visits=1), 2)
    assert "δ′" not in budget_panel.arithmetic(experiment, 3)
    with_delta = Experiment.model_validate(
        {**experiment.spec(), "lines": [{"policy": "adac-ucb", "epsilon": {"kind": "fixed", "value": 2.0}}]}
    )
    message = budget_panel.arithmetic(with_delta, 0)  # 1e-6 / 5 / e^1.6 = 4.04e-8
    assert "2 / 5 = **0.4**" in message and "**4e-08**" in message and "δ = 1e-6" in message
    many = experiment.with_changes(visits=1000)
    assert f"{definitions.tight_part(2.0, 1000, 1e-6):.4g}" in budget_panel.arithmetic(many, 2)


def test_the_line_above_a_page_says_how_people_come_where_that_is_not_the_usual() -> None:
    message = {name: words.summary(load_preset(name)) for name in ("default", "a-daily-batch", "people-who-come-back")}
    assert words.coming(1000, 0, 1) in message["a-daily-batch"]
    assert words.coming(1, 0, 5) in message["people-who-come-back"]
    assert words.coming(1, 0, 1) not in message["default"]
