"""The Mechanisms page: pictures, address, game and audit."""

import math
import re

import numpy as np
import pytest
import screen as on

from bandit_core import simulate
from bandit_core.auditing.subjects import audit, power, subjects
from bandit_core.mechanisms import CTB, registry
from bandit_core.mechanisms.losses import play_round
from ui import words
from ui.mechanisms import counted

ANSWERS = [name for name, one in registry().items() if one.kind == "answer"]


def test_it_opens_with_two_laws_and_their_log_ratio_under_the_line() -> None:
    screen = on.visit("mechanisms", eps="2")
    first, second = on.chart(screen, "density-ctl"), on.chart(screen, "density-ctb")
    for chart in (first, second):
        assert len(set(chart.names)) == 2
        ratio = chart.y("log ratio A : B")
        assert np.abs(ratio).max() == pytest.approx(2.0, abs=1e-6)
    np.testing.assert_allclose(second.y(second.names[0]), [1 - CTB.mean(0.0, 2.0), CTB.mean(0.0, 2.0)], rtol=1e-6)
    assert f"{math.exp(2):.2g} " in on.words(screen)


@pytest.mark.parametrize("name", ANSWERS)
def test_every_mechanism_is_drawn_and_told(name: str) -> None:
    screen = on.visit("mechanisms", mech=name, **{"with": "none"})
    assert not screen.warning and not screen.error
    assert len(on.chart(screen, f"density-{name}").traces) == 3
    assert not screen.latex
    on.unfold(screen, "mechanisms-facts")
    message = on.words(screen)
    assert registry()[name].guarantee in message and registry()[name].paper in message
    formulas = [element.value for element in screen.latex]
    for formula in vars(registry()[name].formulas).values():
        assert any(formula in shown for shown in formulas)


@pytest.mark.parametrize("name", [name for name, one in registry().items() if one.kind == "batch"])
def test_every_batch_is_drawn_and_told(name: str) -> None:
    screen = on.visit("mechanisms", part="batch", crowd=name, users="16", eps="2", delta="0.01")
    assert not screen.warning and not screen.error
    chart = on.chart(on.unfold(screen, "mechanisms-facts"), f"batch-{name}")
    assert len(chart.traces) == 3
    assert chart.y("the user has 1").sum() == pytest.approx(1, abs=1e-6)
    assert registry()[name].guarantee in on.words(screen)
    if registry()[name].pure:
        assert np.abs(chart.y("log ratio")).max() == pytest.approx(2.0, abs=1e-6)


def test_controls_live_in_the_address() -> None:
    screen = on.visit("mechanisms", mech="gaussian", delta="0.05", eps="0.5", x1="0.25", **{"with": "l2-ball"}, d="5")
    assert screen.select_slider(key="mechanisms-delta").value == 0.05
    assert screen.select_slider(key="mechanisms-d").value == 5
    assert screen.select_slider(key="mechanisms-x1:0:1").value == 0.25
    on.put(screen, screen.select_slider(key="mechanisms-eps"), 3.0)
    assert on.address(screen)["eps"] == "3"
    on.put(screen, screen.select_slider(key="mechanisms-eps"), 1.0)
    assert "eps" not in on.address(screen)  # the default
    assert on.address(screen)["x1"] == "0.25"


def test_bad_fields_of_the_address_are_told_with_what_is_allowed() -> None:
    screen = on.visit("mechanisms", mech="magic", eps="99", x2="left", **{"with": "ctl-s"})
    [warning] = screen.warning
    assert "'magic'" in warning.value and "ctb" in warning.value
    of = {name: line for line in warning.value.splitlines() for name in ("eps", "x2") if name in line}
    assert " 0\\.1 " in of["eps"] and " 8" in of["eps"]
    assert " 0 " in of["x2"] and " 1" in of["x2"]
    assert on.chart(screen, "density-ctl").traces  # defaults stand in
    for fields in ({"part": "dance"}, {"part": "sums", "upto": "7"}, {"part": "sums", "sums": "magic"},
                   {"part": "sums", "at": "0"}, {"part": "guess", "answers": "2.5"},
                   {"part": "guess", "round": "-1"}, {"part": "audit", "subject": "me"},
                   {"part": "audit", "sure": "2"}, {"part": "audit", "run": "yes"}):  # fmt: skip
        screen = on.visit("mechanisms", **fields)
        assert len(screen.warning) == 1, fields
        assert list(fields)[-1] in screen.warning[0].value


def test_the_gaussian_is_told_to_cross_the_line_and_pure_ones_are_not() -> None:
    message = on.words(on.visit("mechanisms", mech="gaussian", **{"with": "none"}))
    assert "δ = 0.00014" in message  # the exact profile at sd = sqrt(2 ln 125)
    assert "δ = " not in on.words(on.visit("mechanisms"))
    screen = on.visit("mechanisms", mech="gaussian", **{"with": "ctl"})
    promise = on.chart(on.unfold(screen, "mechanisms-loss"), "promise")
    assert np.isnan(promise.y("CTL (Laplace): δ that is needed")[-1])  # nothing left beyond epsilon
    normal = promise.y("Gaussian: δ that is needed")
    above = promise.y("Gaussian: chance of a larger loss")
    assert np.all(normal[:80] <= above[:80])
    assert normal[50] <= 0.01  # at epsilon itself


def test_the_average_of_more_users_comes_close() -> None:
    screen = on.unfold(on.visit("mechanisms"), "mechanisms-stream")
    assert "**10**" in on.words(screen)
    on.put(screen, screen.select_slider(key="mechanisms-users"), 10_000)
    message = on.words(screen)
    assert "**10,000**" in message
    averages = [abs(float(a) - float(b)) for a, b in re.findall(r"\*\*(-?[\d.]+) ± .*?one (-?[\d.]*\d)", message)]
    assert len(averages) == 2 and max(averages) < 0.05
    [table] = on.tables(screen)
    assert list(table["user"].astype(int)) == list(range(9_991, 10_001))
    assert set(table["has"]) == set(table.iloc[:, 3]) == {"0", "1"}
    for part in ("batch", "answers"):  # the fold goes with its part of the page, and comes back open
        on.put(screen, screen.button_group(key="mechanisms-part"), part)
    assert "**10,000**" in on.words(screen)


def test_running_sums_at_equal_epsilon() -> None:
    screen = on.visit("mechanisms", part="sums", upto="256", sums="binary,k-ary")
    error = on.chart(screen, "sums-error")
    counters = [one for one in registry().values() if one.kind == "counter"]
    assert len(error.names) == len(counters)
    for message in counters:  # the promise that may fail says so
        assert sum(name.startswith(message.title) and ("δ" in name) != message.pure for name in error.names) == 1
    signed, tree = (
        np.mean([registry()[name].started(1.0, 256).variance(count) for count in range(1, 257)])
        for name in ("k-ary", "binary")
    )
    assert signed < tree
    assert all(f"**{words.number(float(mean))}**" in on.words(screen) for mean in (signed, tree))
    spent = on.chart(screen, "sums-spent")
    for trace in spent.traces:
        assert spent.y(trace["name"]).max() <= 1 + 1e-9
    path = on.chart(screen, "sums-path")
    assert len(path.names) == 3 and path.names[1:] == [registry()[name].title for name in ("binary", "k-ary")]
    law = on.chart(screen, "sums-law")
    assert np.abs(law.y("ln ratio")).max() == pytest.approx(1 / 9, rel=1e-2)  # one node of nine
    screen.select_slider(key="mechanisms-at").set_value(1)
    on.put(screen, screen.selectbox(key="mechanisms-count"), "hybrid")
    half = np.abs(on.chart(screen, "sums-law").y("ln ratio")).max()  # of ε, for blocks
    assert half == pytest.approx(1 / 2, rel=1e-2)
    assert on.address(screen)["count"] == "hybrid"


def test_better_counters_are_compared_with_a_bandit_that_needs_none() -> None:
    screen = on.visit("mechanisms", part="sums", upto="64", eps="2", sums="binary")
    experiment = counted.experiment_at(2.0)
    assert {line.epsilon.fixed for line in experiment.lines if line.epsilon is not None} == {2.0}
    losses = np.array([line.regret[:, -1] for line in simulate(experiment).lines])
    assert all(f"**{words.count(round(mean))}**" in on.words(screen) for mean in losses.mean(axis=1)[1:])
    [bars] = on.chart(screen, "sums-bandits").traces
    hollow = [line for line in experiment.lines if line.params.get("counter") == "square-root"]
    assert len(bars["y"]) == 11 and bars["marker"]["symbol"].count("diamond-open") == len(hollow) == 3
    for first in (1, 4, 7):  # each policy on its paper's counter, on k-ary trees, on square roots; batches need none
        assert losses[10].mean() < losses[first + 2].mean() < losses[first + 1].mean() < losses[first].mean()


def test_what_is_said_of_counters_and_bandits_follows_from_the_runs() -> None:
    noise = np.random.default_rng(0).normal(size=(11, 20))

    def said(batches: float, **means: tuple[float, float, float]) -> tuple[bool, str, str, bool]:
        each = {"dp-ucb": (500, 200, 190), "dp-ucb-bound": (500, 300, 200), "private-ucb": (900, 300, 250), **means}
        message = " ".join(counted.verdict(noise + np.array([100, *sum(each.values(), ()), batches])[:, None]))
        helped, ahead = (re.search(rf"{before} (.*?)\.(?: |$)", message) for before in ("trees help", "Ahead of it:"))
        return "No counter" in message, *(each[1] if each else "" for each in (helped, ahead)), "cannot tell" in message

    every = "DP-UCB, DP-UCB-BOUND, Private-UCB"
    assert said(20) == (True, every, "", False)
    assert said(20, **{"dp-ucb": (200, 200, 190)}) == (True, "DP-UCB-BOUND, Private-UCB", "", False)
    message = " ".join(
        counted.verdict(noise + np.array([100, *(500, 200, 190), *(300, 500, 200), *(900, 300, 250), 20])[:, None])
    )
    assert "help DP-UCB, Private-UCB. They harm DP-UCB-BOUND." in message
    assert said(190) == (False, every, "", True)
    assert said(195) == (False, every, "", False)  # square roots alone are ahead, with their weaker promise
    assert said(250) == (False, every, "DP-UCB on k-ary trees", False)
    assert said(950)[2].count(" on ") == 6


def test_the_game_keeps_its_secret_until_a_guess_and_its_odds_in_the_cone() -> None:
    screen = on.visit("mechanisms", part="guess", mech="ctb", eps="0.5", answers="6", round="4")
    game = play_round(CTB, (0.0, 1.0), 0.5, 6, 4)
    chart = on.chart(screen, "odds")
    np.testing.assert_allclose(chart.y("best guesser's odds"), game.log_odds, atol=1e-6)
    np.testing.assert_allclose(chart.y("no odds beyond ±nε"), 0.5 * np.arange(7))
    assert not screen.success
    on.press(screen, screen.button(key="mechanisms-ask"))
    assert on.address(screen)["answers"] == "7"
    on.press(screen, screen.button(key=f"mechanisms-guess-{'AB'[game.truth]}"))
    assert len(screen.success) == 1
    assert " 1 of 1 " in on.words(screen)
    assert screen.button(key="mechanisms-guess-A").disabled
    on.press(screen, screen.button(key="mechanisms-next"))
    assert on.address(screen)["round"] == "5" and not screen.success
    other = play_round(CTB, (0.0, 1.0), 0.5, 7, 5)
    on.press(screen, screen.button(key=f"mechanisms-guess-{'BA'[other.truth]}"))
    assert not screen.success and " 1 of 2 " in on.words(screen)


def test_the_audit_waits_for_its_button_and_accuses_a_negative_control() -> None:
    screen = on.visit("mechanisms", part="audit", subject="binary-natural-log", samples="40000")
    assert not screen.get("plotly_chart") and not screen.error
    on.press(screen, screen.button(key="mechanisms-run"))
    found = audit("binary-natural-log", 1.0, samples=40_000)
    assert found.verdict == "violates"
    assert len(screen.error) == 1 and f"{found.lower_bound:.3g}" in screen.error[0].value and not screen.success
    assert subjects()["binary-natural-log"].flaw in on.words(screen) and "1.92" in on.words(screen)
    assert on.address(screen)["run"] == "1"  # the link opens with this result
    assert on.chart(screen, "audit-event").traces
    chart = on.chart(screen, "audit-result")
    bound = next(trace for trace in chart.traces if trace["name"] == "lower bound")
    assert bound["x"] == [pytest.approx(found.lower_bound)]


@pytest.mark.parametrize(
    ("subject", "eps"), [("ctb", "1"), ("l2-ball", "0.1"), ("ucb-cf", "2"), ("ctb-as-printed", "1")]
)
def test_sound_claims_pass_and_are_not_called_proved(subject: str, eps: str) -> None:
    screen = on.visit("mechanisms", part="audit", subject=subject, eps=eps, samples="10000", run="1")
    assert not screen.error
    # The wording is what is tested here: that no finding is called a proof.
    message = on.words(on.unfold(screen, "mechanisms-audit-how"))
    assert "no proof" in screen.success[0].value and "never prove" in message
    flaw = subjects()[subject].flaw
    assert (
        bool(flaw) == (subject == "ctb-as-printed") and flaw.split(".")[0] in message
    )  # and where one is, it is named


def test_a_negative_control_opens_where_the_audit_catches_it() -> None:
    broken = [subject for subject in subjects().values() if subject.kind == "negative control"]
    for one in broken:  # by a link that states no budget
        screen = on.visit("mechanisms", part="audit", subject=one.name)
        assert screen.select_slider(key="mechanisms-eps").value == one.opens_at
        assert "eps" not in on.address(screen)
    on.put(screen, screen.selectbox(key="mechanisms-subject"), "ctb")
    on.put(screen, screen.selectbox(key="mechanisms-subject"), "ctb-as-printed")  # and by choosing it
    assert screen.select_slider(key="mechanisms-eps").value == 0.1
    screen.select_slider(key="mechanisms-samples").set_value(10_000)
    on.press(screen, screen.button(key="mechanisms-run"))
    assert screen.error and "Caught: " in on.words(screen) and "practically always" in on.words(screen)
    assert on.address(screen)["subject"] == "ctb-as-printed"
    on.put(screen, screen.segmented_control(key="mechanisms-part"), "answers")
    assert on.address(screen)["eps"] == "0.1"  # where it is not what the page opens with, the link says it


def test_how_often_a_negative_control_is_caught_is_told_with_its_number() -> None:
    fields = {"part": "audit", "subject": "binary-natural-log", "eps": "0.3", "samples": "40000", "run": "1"}
    screen = on.visit("mechanisms", **fields)
    chance = power(audit("binary-natural-log", 0.3, samples=40_000))
    assert 0.01 < chance < 0.999 and f"in {100 * chance:.0f}% of draws" in on.words(screen)


@pytest.mark.parametrize("part", ["answers", "sums", "guess", "audit"])
def test_controls_and_pictures_of_all_parts_have_words_and_one_says_what_is_not_hidden(part: str) -> None:
    screen = on.unfold(on.visit("mechanisms", part=part, run="1", samples="2000"), "mechanisms-public")
    kinds = "button text_input selectbox multiselect select_slider slider toggle button_group"
    controls = [element for kind in kinds.split() for element in getattr(screen, kind)]
    assert len(controls) >= 5
    assert [element.label for element in controls if not element.help.strip()] == []
    message = [chart.proto.alt for chart in screen.get("plotly_chart")]
    assert message and all(len(text) > 30 and any(mark.isdigit() for mark in text) for text in message)
    said = [name for name, sentence in words.PUBLIC.items() if sentence in on.words(screen)]
    assert said == (list(words.PUBLIC) if part == "answers" else [])  # once, and not on every part


def test_what_is_public_is_said_where_it_is_chosen() -> None:
    def helps(screen) -> str:  # type: ignore[no-untyped-def]
        kinds = "selectbox select_slider text_input text_area"
        return "\n".join(element.help for kind in kinds.split() for element in getattr(screen, kind))

    lines = "ucb,heldp-ucb-b(discrete(0,1,2))"
    screen = on.unfold(on.visit("threshold", lines=lines, **on.SMALL), "explanation", "threshold-others")
    said = helps(screen) + helps(on.visit("explore", lines=lines, **on.SMALL))
    assert [name for name in ("budgets", "eps_min", "ranges", "horizon") if words.PUBLIC[name] not in said] == []
    assert words.PUBLIC["budgets"] in on.words(screen) and words.PUBLIC["eps_min"] in on.words(screen)
    shared = on.visit("explore", lines=lines, **on.SMALL)
    eps_min = [box.help for box in shared.text_input if box.label == "eps min"]
    assert eps_min and all(words.PUBLIC["eps_min"] in help for help in eps_min)
    heavy = on.visit("heavy-tails", users="10000")
    assert words.PUBLIC["moments"] in on.setting(heavy, "select_slider", "heavy-v").help
    shared = on.visit("explore", preset="tao-s1-v09-e10", **on.SMALL)
    moment = [box.help for box in shared.text_input if box.label == "u"]
    assert moment and all(words.PUBLIC["moments"] in help for help in moment)
