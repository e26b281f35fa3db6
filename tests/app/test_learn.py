"""The course: every step asks, answers in true sentences, and leads to the same experiment elsewhere."""

import itertools
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyphen
import pytest
import screen as on

from bandit_core import Experiment, simulate
from bandit_core.auditing.subjects import subject
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset
from bandit_core.mechanisms.gaussian import smallest_epsilon
from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.simulation.results import Result, interval
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError
from bandit_core.studies.tradeoff import blind_regret
from ui import state, words
from ui.learn import answers as lessons
from ui.learn import classroom, quiz, samples, view
from ui.learn.course import EXTRAS, FOLDER, PARTS, STEPS, Choice, Message, Scale, Step, read
from ui.learn.measured import Number
from ui.player import slider

SEEDS = (1, 2, 3, 4, 5)
STEP = {step.name: step for step in PARTS + EXTRAS}
EVERY = pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
EVERY_PART = pytest.mark.parametrize("step", PARTS + EXTRAS, ids=lambda step: step.name)
HARDEST_GRADE, SHORTEST_SENTENCE = 8.0, 14.0  # a school grade, and words of a sentence on average at most
_store = Store(None, 2**26)


def guess(screen: Any, step: Step) -> Any:
    """Press the last guess, and see the answer."""
    buttons = [each for each in screen.button if (each.key or "").startswith(f"learn-{step.name}-guess")]
    return on.press(screen, buttons[-1])


def move(screen: Any, step: Step, at: float) -> Any:
    """Bring the slider of a lesson to rest there."""
    return on.slide(screen, f"play-{step.name}", step.slider.stops.index(at))


def said(screen: Any, step: Step, at: float) -> str:
    """What stands below the picture at a position."""
    return str(on.players(screen)[-1]["positions"][step.slider.stops.index(at)]["words"])


def answers(player: dict[str, Any]) -> bool:
    """Whether a player shows more than the axes."""
    return any(each["curves"] for each in player["positions"])


def at_step(number: int, **address: str) -> Any:
    return on.visit("learn", step=str(number), **address)


# ---------------------------------------------------------------------------------------------------------------
# The page


@EVERY
def test_a_step_asks_first_and_then_draws_and_tells(step: Step) -> None:
    screen = at_step(STEPS.index(step) + 1)
    assert step.title in screen.title[0].value and step.idea in on.words(screen)
    assert not screen.get("plotly_chart") and not [each for each in screen.select_slider]
    assert [answers(each) or bool(each["series"]) for each in on.players(screen)] == [step.tips]
    screen = guess(screen, step)
    assert not screen.warning and not screen.error
    at = step.slider.start
    [player] = on.players(screen)
    assert player["at"] == step.slider.stops.index(at) and len(player["positions"]) == len(step.slider.stops)
    assert all(len(each["alt"]) > 30 and each["curves"] for each in player["positions"])
    assert said(screen, step, at) == words.as_html(step.says(step.content(at), at))
    assert "Right!" in on.words(screen) or "Not quite." in on.words(screen)
    question = step.question.format(at=step.slider.words(at))
    assert any(words.unbroken(f"{question} Your guess: ") in each.value for each in screen.caption)
    assert any(step.exact in text.value for fold in screen.expander for text in fold.markdown)
    for of_a_teacher in (step.notes, step.answer):
        assert not any(of_a_teacher in text.value for fold in screen.expander for text in fold.markdown)
    assert step.title not in " ".join(button.label for button in screen.button)


@EVERY
def test_the_link_of_a_step_opens_exactly_what_it_shows(step: Step) -> None:
    for at in (step.slider.start, step.slider.stops[-1]):
        screen = at_step(STEPS.index(step) + 1, at=f"{at:g}")
        found = next(link for link in screen.get("page_link") if link.proto.label == step.link_words)
        assert found.proto.page == step.page
        fields = step.fields(at)
        assert found.proto.query_string.replace("+", "%20") and set(fields) <= set(
            re.findall(r"(\w+)=", found.proto.query_string)
        )
        if step.setting:
            experiment, issues = links.read(fields)
            assert not issues and experiment == step.experiment(at)
            assert not words.of_the_link(experiment)  # all its words are the lab's own
    if not step.setting:
        there = on.visit(step.page, **fields)
        assert not there.main.warning  # what cannot be used of a link is told so
        assert {name: text for name, text in on.address(there).items() if name in fields}.items() <= fields.items()


def test_the_second_part_asks_first_and_opens_the_preset_itself() -> None:
    part, number = STEP["own-noise"], STEPS.index(STEP["trust"]) + 1
    start = part.slider.start
    assert links.read(part.fields(start)) == (load_preset("own-noise"), [])
    for at in part.slider.stops:
        again, issues = links.read(part.fields(at))
        assert again == part.experiment(at) and not issues and not words.of_the_link(again)
    screen = at_step(number)
    [fold] = [each for each in screen.expander if part.title in each.label]
    assert part.idea in fold.markdown[0].value
    screen = guess(screen, part)
    assert not screen.warning and sum(map(answers, on.players(screen))) == 1  # the step asks still
    message = part.conclude(part.content(start), start)
    assert words.as_html(message.text) in said(screen, part, start) and message.verdict == "more"
    move(screen, part, 0.3)
    assert on.address(screen) == {"step": str(number), "second": "0.3"}
    screen.button(key="learn-next-above").click()
    assert on.address(on.run(screen)) == {"step": str(number + 1)}


def test_what_the_links_to_mechanisms_open_is_the_same_coin_and_the_same_audit() -> None:
    step = STEP["promise"]
    at = step.slider.stops[-1]
    there = on.visit("mechanisms", **step.fields(at))
    [found] = there.session_state["mechanisms-audits"].values()
    assert found == step.content(at).result and found.epsilon == samples.CLAIM
    there = on.visit("mechanisms", **STEP["coin"].fields(2.0))
    assert on.own(there, "select_slider", "mechanisms-eps").value == 2.0


def test_who_comes_back_in_the_same_visit_goes_on_where_they_were() -> None:
    screen = at_step(5)
    screen = on.go(screen, "learn")
    screen.button(key="learn-go-on").click()
    assert STEPS[4].title in on.run(screen).title[0].value
    assert not [each for each in on.visit("learn").button if each.key == "learn-go-on"]


@pytest.mark.parametrize("step", EXTRAS, ids=lambda step: step.name)
def test_more_screens_follow_the_course_and_have_links_of_their_own(step: Step) -> None:
    screen = on.visit("learn", step="end")
    on.press(screen, screen.button(key=f"learn-extra-{step.name}"))
    assert on.address(screen) == {"step": step.name} and screen.title[0].value == step.title
    screen = guess(screen, step)
    at = step.slider.start
    assert words.as_html(step.conclude(step.content(at), at).text) in said(screen, step, at)
    screen.button(key="learn-back-above").click()
    assert on.address(on.run(screen)) == {"step": "end"}


def test_a_quiz_ends_with_a_code_that_only_its_name_opens() -> None:
    screen = on.visit("learn", step="quiz")
    screen.text_input(key="quiz-name").set_value("Ada  L.")
    for number, question in enumerate(quiz.QUESTIONS, 1):
        assert not re.search(r"`\w\w-\w{4}`", on.words(screen))
        assert "*" not in screen.radio(key=f"quiz-{number}").label  # a screen reader says each
        on.put(screen, screen.radio(key=f"quiz-{number}"), question.right if number > 1 else 2)
    [code] = re.findall(r"`(\w\w-\w{4})`", on.words(screen))
    assert "**4 of 5**" in on.words(screen) and "Question 1 is not right. Look at step 2" in on.words(screen)
    assert on.words(screen).count("is not right") == 1
    assert quiz.answers_in(code, "ada l.") == (2, *(question.right for question in quiz.QUESTIONS[1:]))
    teacher = on.visit("teach")
    teacher.text_input(key="quiz-check-name").set_value("Ada L.")
    on.put(teacher, teacher.text_input(key="quiz-check-code"), code.lower())
    assert "4 of 5" in teacher.success[0].value and "Wrong: 1." in teacher.success[0].value
    on.put(teacher, teacher.text_input(key="quiz-check-name"), "Bob")
    assert not teacher.success and teacher.warning


@pytest.mark.parametrize("text", ["", "AA", "AA-AAAA", "99-9999", "<b>-\u00e4\u00f6", "x" * 100])
def test_what_is_no_code_of_a_quiz_is_none(text: str) -> None:
    assert quiz.answers_in(text, "Ada") is None


def test_every_result_of_a_quiz_comes_back_from_its_code() -> None:
    for answers in itertools.product(range(3), repeat=len(quiz.QUESTIONS)):
        assert quiz.answers_in(quiz.code(answers, "Ada"), "Ada") == answers
    truths = [f"{100 * float(CTB.mean(1.0, epsilon)):.0f}% of the time" for epsilon in (0.1, 1.0, 3.0)]
    assert list(quiz.QUESTIONS[1].options) == truths and quiz.QUESTIONS[1].right == 1


@pytest.mark.parametrize(
    "fields", [{"step": "11"}, {"step": "x"}, {"step": "2", "at": "0.37"}, {"step": "5", "eps": "zzz"}]
)
def test_a_step_or_a_position_that_is_none_is_told(fields: dict[str, str]) -> None:
    screen = on.visit("learn", **fields)
    assert [name for name in fields if name in screen.main.warning[0].value]


def test_guesses_are_kept_for_the_visit_only_and_may_be_made_again() -> None:
    screen = guess(at_step(4), STEPS[3])
    assert STEPS[3].guess.message(2) in screen.caption[1].value or STEPS[3].guess.message(2) in on.words(screen)
    move(screen, STEPS[3], next(stop for stop in STEPS[3].slider.stops if stop != STEPS[3].slider.start))
    assert "at" in on.address(screen)
    on.press(screen, screen.button(key="learn-next-above"))
    assert on.address(screen) == {"step": "5"}
    assert not any(map(answers, on.players(screen)))
    on.press(screen, screen.button(key="learn-back-above"))
    assert any(map(answers, on.players(screen)))  # still there
    assert "guess" not in " ".join(on.address(screen))
    on.press(screen, screen.button(key="learn-again"))
    assert not any(map(answers, on.players(screen)))
    assert not any(map(answers, on.players(at_step(4))))  # another visit


# ---------------------------------------------------------------------------------------------------------------
# Every sentence is true of its numbers, for every seed and every position


def small(experiment: Experiment) -> Result:
    """A short run of it: errors are large, so that every verdict comes up."""
    return simulate(experiment.with_changes(horizon=min(experiment.horizon, 600), trials=6), jobs=1, store=_store)


@cache
def measured(name: str, at: float, seed: int) -> tuple[Any, Message, Number]:
    step = STEP[name]
    found = small(step.experiment(at).with_changes(seed=seed)) if step.setting else step.sample(at, seed)
    return found, step.conclude(found, at), step.measured(found, at)


def ends(result: Result, line: int) -> np.ndarray:
    played = result.lines[line]
    assert played is not None
    return played.regret[:, -1]


def mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def compared(values: np.ndarray) -> str:
    """More, less, or neither, by the interval of the differences over pairs."""
    low, high = interval(values)
    return "more" if low > 0 else "less" if high < 0 else "unclear"


def between(result: Result, one: int, other: int, *names: str) -> dict[str, Any]:
    """What two lines lose and how much more the first does, by their ``names``."""
    mine, theirs, extra = names or ("mine", "theirs", "extra")
    apart = ends(result, one) - ends(result, other)
    size, error = mean(apart)
    losses = {mine: mean(ends(result, one)), theirs: mean(ends(result, other))}
    return {**losses, extra: (abs(size), error), "verdict": compared(apart)}


def of_choosing(result: Result, at: float) -> dict[str, Any]:
    mine, blind = ends(result, 0), blind_regret(result.experiment)
    size, error = mean(blind - mine)
    return {"lost": mean(mine), "blind": (blind, 0), "saved": (abs(size), error), "verdict": compared(blind - mine)}


def of_price(result: Result, at: float) -> dict[str, Any]:
    place = STEP["price"].places.index(at) + 1
    price, twice = ((ends(result, line).mean() / ends(result, 0).mean(), None) for line in (place, place + 1))
    return between(result, place, place + 1, "", "-", "gain") | {"price": price, "twice": twice}


def of_whom(result: Result, at: float) -> dict[str, Any]:
    return between(result, 0, STEP["whom"].places.index(at), "keep", "mine", "saved")


def of_wild(result: Result, at: float) -> dict[str, Any]:
    means = [ends(result, line).mean() for line in range(1, len(result.lines))]
    return between(result, STEP["wild"].places.index(at) + 1, int(np.argmin(means)) + 1, "mine", "least", "extra")


def of_own_noise(result: Result, at: float) -> dict[str, Any]:
    """By the closed form: one pull before the draws, so a reward meets T - 2 draws of variance 1/(n + 1), n >= 1."""
    kept = smallest_epsilon(math.sqrt((result.experiment.horizon - 2) / 2), 1.0, 1e-6)
    return {**between(result, 2, 3), "usual": (float(f"{kept:.3g}"), None)}


RUNS = {
    "choosing": of_choosing,
    "learner": lambda result, at: between(result, 1, 0),
    "price": of_price,
    "trust": lambda result, at: between(result, 2, 1),
    "whom": of_whom,
    "wild": of_wild,
    "own-noise": of_own_noise,
    "yours": lambda result, at: between(result, 1, 0),
    "features": lambda result, at: between(result, 2, 1),
    "tradeoff": lambda result, at: between(result, 1, 0),
}
WORDS = {  # what stands in a sentence of that verdict and in no other
    "choosing": {"more": "** fewer", "less": "** more", "unclear": "cannot tell"},
    "price": {"more": "laughs fewer", "less": "laughs more", "unclear": "cannot tell"},
    "whom": {"more": "** fewer", "less": "** more", "unclear": ""},
    "wild": {"more": "** fewer", "less": "** more", "unclear": ""},
    **{
        name: {"more": "** more", "less": "** fewer", "unclear": "cannot tell"}
        for name in ("learner", "trust", "yours", "own-noise", "features", "tradeoff")
    },
}


@pytest.mark.parametrize("name", RUNS)
def test_a_sentence_about_runs_says_what_was_measured(name: str) -> None:
    step, seen = STEP[name], set()
    for seed in SEEDS:
        for at in step.slider.stops:
            found, message, _ = measured(name, at, seed)
            true = RUNS[name](found, at)
            assert message.verdict == true["verdict"], (seed, at, message.text)
            for key, number in message.numbers.items():
                assert f"{number}" in message.text, (seed, at, key)
                if key in true:
                    value, error = true[key]
                    assert number.value == pytest.approx(value, rel=1e-9, abs=1e-9)
                    assert error is None or number.error == pytest.approx(error, rel=1e-9, abs=1e-9)
            alike = name == "trust" and found.experiment.lines[1].policy == found.experiment.lines[2].policy
            assert ("needs no trust" if alike else WORDS[name][message.verdict]) in message.text
            others = [text for verdict, text in WORDS[name].items() if verdict != message.verdict and text]
            assert not [text for text in others if text in message.text], message.text
            seen.add(message.verdict)
    assert len(seen) >= 2 or name == "choosing"  # else the half of it would not have been tested


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sentences_about_answers_say_what_was_drawn(seed: int) -> None:
    for at in STEP["coin"].slider.stops:
        found, message, right = measured("coin", at, seed)
        assert str(right) in message.text and message.numbers["right"] == right
        allowed = 100 * math.exp(at) / (1 + math.exp(at))
        assert abs(right.value - allowed) < 4.5 * math.sqrt(allowed * (100 - allowed) / samples.PEOPLE)
        limit = found.numbers(at)["limit"]
        assert float(limit) == pytest.approx(allowed, abs=0.051) and f" {limit}% of the time" in message.text
        assert ("more than" in message.text) == (right.value - 50 > 2 * right.error) == (message.verdict == "more")
    exact = (0.25 / math.tanh(1 / 2) ** 2 - (samples.SHARE - 0.5) ** 2) / (samples.SHARE * (1 - samples.SHARE))
    for at in STEP["crowd"].slider.stops:
        _, message, times = measured("crowd", at, seed)
        assert all(str(number) in message.text for number in message.numbers.values())
        assert abs(times.value - exact) < 4.5 * times.error
        for name, variance in (("hidden", exact * 0.24), ("open", 0.24)):
            number = message.numbers[name]
            assert abs(number.value - 100 * math.sqrt(variance / at)) < 4.5 * number.error
        assert message.verdict == ("unclear" if times.value - 1 <= 2 * times.error else "more")
    for at in STEP["noises"].slider.stops:
        _, message, times = measured("noises", at, seed)
        assert abs(times.value - math.sqrt(at)) < 4.5 * times.error  # by the variances 2n/ε² and 2/ε²
        assert abs(message.numbers["one"].value - math.sqrt(2)) < 4.5 * message.numbers["one"].error
        assert ("times" in message.numbers) == (message.verdict == "more") == (times.value - 1 > 2 * times.error)
        assert all(str(number) in message.text for number in message.numbers.values())
    tips = samples.tips(seed)
    assert len(tips) == samples.TIPS and tips[0] == pytest.approx(tips[1:].sum())
    for at in STEP["outlier"].slider.stops:
        found, message, share = measured("outlier", at, seed)
        assert abs(found.noise.value - math.sqrt(2) * at) < 4.5 * found.noise.error
        assert found.cut == pytest.approx(tips[tips > at].sum())
        assert share.value == pytest.approx(found.noise.value / tips.sum())
        assert f"{found.noise}" in message.text and ("nothing" in message.text) == (at >= tips[0])
    real = subject(samples.SUBJECT).real
    assert real is not None
    for at in STEP["promise"].slider.stops:
        found, message, _ = measured("promise", at, seed)
        bound = message.numbers["bound"]
        assert str(bound) in message.text and bound.value == pytest.approx(found.result.lower_bound, rel=0.01)
        assert found.result.lower_bound <= real(samples.CLAIM)
        assert ("it is broken" in message.text) == (found.result.verdict == "violates")


def test_a_second_slider_moves_the_noise_of_both_ways() -> None:
    step = STEP["noises"]
    assert step.other is not None
    screen = guess(on.visit("learn", step=step.name), step)
    [before] = on.players(screen)
    on.put(screen, on.own(screen, "select_slider", f"learn-{step.name}-eps"), 0.1)
    assert on.address(screen) == {"step": step.name, "eps": "0.1"} and words.unbroken("ε = 0.1 ") in said(
        screen, step, 100
    )
    [after] = on.players(screen)
    for curve in (0, 1):  # Laplace noise grows like 1/ε
        rows = [each["series"][each["positions"][0]["curves"][curve]["y"]] for each in (before, after)]
        np.testing.assert_allclose(rows[1], 10 * np.array(rows[0]), rtol=1e-3)
    assert after["positions"][0]["y"]["ends"] == before["positions"][0]["y"]["ends"]
    [link] = [link for link in screen.get("page_link") if link.proto.label == step.link_words]
    assert "eps=0.1" in link.proto.query_string
    for epsilon in step.other.stops:  # nothing leaves the frame
        changed = step.model_copy(update={"epsilon": epsilon})
        figure = changed.draw(changed.content(1000.0), 1000.0, False, 320)
        low, high = figure.layout.yaxis.range
        assert all(low <= np.log10(value) <= high for trace in figure.data for value in trace.y)
    screen.button(key="learn-back-above").click()
    assert on.address(on.run(screen)) == {"step": "end"}


def test_two_coins_are_the_mechanism_of_the_core() -> None:
    heads = (False, True)
    truth = np.mean([not (one and other) for one in heads for other in heads])  # in ui/assets/coins.js, tested there
    assert float(CTB.mean(1.0, classroom.EPSILON)) == pytest.approx(truth) and truth == 0.75
    for at in STEP["toss"].slider.stops:
        found, message, error = measured("toss", at, 1)
        assert abs(error.value - math.sqrt(7500 / at)) < 4.5 * error.error
        assert classroom.error(int(at)) == pytest.approx(math.sqrt(7500 / at))
        last = found.estimates()[-1]
        assert last == pytest.approx(50 + 200 * (np.mean(found.bits) - 0.5)) and found.share.value == last
        assert str(found.share) in message.text
        assert message.verdict == ("more" if last - 50 > 2 * classroom.error(int(at)) else "unclear")
    nobody, everybody = classroom.Bits((0.0,) * 3), classroom.Bits((1.0,) * 3)
    assert (nobody.estimates()[-1], everybody.estimates()[-1]) == pytest.approx((-50, 150))  # without bias, and so said


def test_alone_one_tosses_in_the_browser() -> None:
    screen = on.visit("learn", step="toss")
    [page] = [each.proto.body for each in screen.get("html") if "own-coins" in each.proto.body]
    assert classroom.SCRIPT in page and STEP["toss"].coins in page


@EVERY_PART
def test_the_maths_states_the_runs_that_are_played(step: Step) -> None:
    stated = {int(each.replace(",", "")) for each in re.findall(r"(?<![(\d,])([\d,]+) runs", step.exact)}
    if step.setting:
        assert stated <= {slider.read(step.name)["trials"]}


def test_what_the_maths_says_of_weighed_answers_is_what_these_runs_give() -> None:
    experiment = STEP["whom"].experiment(2.0)
    weighed = experiment.lines[0].model_copy(update={"policy": "heldp-ucb-bw", "params": {}})
    [line] = simulate(experiment.with_lines((weighed,)), store=_store).lines
    best = min((each.final() for each in simulate(experiment, store=_store).lines), key=lambda lost: lost.value)
    said = " ".join(STEP["whom"].exact.split())
    assert f"it loses {line.final().value:.0f} ± {line.final().stderr:.0f}, the best threshold " in said
    assert f"threshold {best.value:.0f} ± {best.stderr:.0f} ({experiment.trials} runs)" in said


@EVERY_PART
def test_a_guess_fits_the_range_that_holds_the_number(step: Step) -> None:
    for seed in SEEDS:
        for at in step.slider.stops:
            _, _, number = measured(step.name, at, seed)
            if isinstance(step.guess, Choice):
                edges = [(low, high) for _, low, high in step.guess.options]
                assert [low for low, _ in edges[1:]] == [high for _, high in edges[:-1]]
                assert (edges[0][0], edges[-1][1]) == (-math.inf, math.inf)
                if math.isfinite(number.value):
                    [place] = [place for place, (low, high) in enumerate(edges) if low <= number.value < high]
                    assert step.guess.fits(place, number)
            else:
                assert step.guess.fits(number.value, number) and not step.guess.fits(number.value + 30, number)


@pytest.mark.parametrize("step", [each for each in PARTS + EXTRAS if each.base is not None], ids=lambda step: step.name)
def test_a_guess_stands_where_the_picture_shows_the_number(step: Step) -> None:
    at = step.slider.start
    document, number = json.loads(lessons.document(step, False)), step.measured(step.content(at), at).value
    place, rows = step.slider.stops.index(at), document["series"]
    for guess in step.guess.values():
        aim = step.aim(guess, at)
        drawn = [
            rows[curve["y"]][rows[curve["x"]].index(aim["x"])]
            for curve in document["positions"][place]["curves"]
            if aim["x"] in rows[curve["x"]]
        ]
        low, high = (
            aim[end] if aim[end] is not None else side for end, side in (("low", -math.inf), ("high", math.inf))
        )
        inside = [low <= (number_drawn or 0.0) <= high for number_drawn in drawn]
        holds = step.guess.ends(guess)[0] <= number < step.guess.ends(guess)[1]
        assert aim["place"] == place and drawn and (any(inside) or not holds)
    base = step.number(step.content(at), step.base, at).value if step.base else 0.0
    shown = base * number if step.unit == "times" else base + number
    assert any(each == pytest.approx(shown, rel=0.02) for each in drawn if each is not None)


def test_a_lesson_of_bounds_names_what_is_proved_and_is_held_at_what_was_played() -> None:
    document = json.loads(lessons.document(STEP["tradeoff"], False))
    curves = {curve["label"]: curve for curve in document["positions"][2]["curves"]}
    assert {"proved: never above", "no local method can be below", "in the long run at least this fast"} < set(curves)
    assert all(each["named"] and each["listed"] for each in curves.values())
    assert curves["● trust no one"]["key"] == document["handle"]


def test_a_guess_far_outside_the_error_that_is_shown_is_not_right() -> None:
    """The 95% interval of a skewed number may reach further than the ± beside it: 2.5 ± 0.2 is not below 1.5."""
    guess, number = Choice((("below 1.5", -math.inf, 1.5), ("above", 1.5, math.inf))), Number(2.5, 0.2, (0.7, 2.9))
    assert [guess.fits(place, number) for place in guess.values()] == [False, True]
    scale = Scale(low=0, high=10, start=5, unit="", near=0.5)
    assert [value for value in scale.values() if scale.fits(value, number)] == [2, 3]


def test_no_guess_is_right_at_every_position() -> None:
    """Else there would be nothing to guess: at the first position some option is wrong."""
    for step in PARTS + EXTRAS:
        number = step.measured(step.content(step.slider.start), step.slider.start)
        if isinstance(step.guess, Choice):
            assert [step.guess.fits(place, number) for place in range(len(step.guess.options))].count(True) < 3, (
                step.name
            )


# ---------------------------------------------------------------------------------------------------------------
# The files of the steps


@EVERY_PART
def test_every_number_that_a_text_names_is_there(step: Step) -> None:
    assert {"more", "less", "unclear"} <= set(step.sentences)
    at = step.slider.stops[0]
    found, _, _ = measured(step.name, at, 1)
    assert all(step.number(found, name, at) is not None for name in step.names)


BROKEN = {  # file, what is written in the place of what, and the beginning of what is said of it
    "yours": ("{mine}", "{my}", "yours: 'my': no such number; allowed: mine, theirs, extra, times"),
    "learner": ("ratio 1 0", "ration 1 0", "learner.numbers.times: 'ration 1 0': one of lost, difference"),
    "price": ("- 1.5 to 3 times\n", "", "price.limits: .*: one between each option and the next"),
    "coin": ("## So", "## Thus", "coin.Thus: .*no such field"),
    "whom": ("unit =", "units =", "whom.units: .*no such field"),
    "trust": ("limits = [", "limits = ", "lesson: 'trust.md': cannot be read: .*at line 2"),
    "wild": ("+++", "---", "lesson: 'wild.md': cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told(name: str, tmp_path: Path) -> None:
    before, after, message = BROKEN[name]
    for path in FOLDER.iterdir():
        text = path.read_text("utf-8")
        assert path.stem != name or before in text
        (tmp_path / path.name).write_text(text.replace(before, after) if path.stem == name else text, "utf-8")
    with pytest.raises(InputError, match=message):
        read(name, tmp_path)


# ---------------------------------------------------------------------------------------------------------------
# Words that can be read


SYLLABLES = pyphen.Pyphen(lang="en_US")


def grade(text: str) -> float:
    """School grade of the Flesch-Kincaid formula (Kincaid et al. 1975); syllables as a typesetter divides words."""
    plain = re.sub(r"\*\*|[“”]", "", text)
    sentences = [each for each in re.split(r"[.:?!](?:\s|$)", plain) if re.search(r"[A-Za-z]", each)]
    found = re.findall(r"[A-Za-z']+|[\d.,]*\d", plain)
    syllables = sum(len(SYLLABLES.positions(word)) + 1 for word in found)
    return 0.39 * len(found) / len(sentences) + 11.8 * syllables / len(found) - 15.59


def test_the_measure_of_readability_tells_easy_from_hard() -> None:
    assert grade("The cat sat on the mat. The dog ran to the cat.") < 2
    hard = "Differential privacy quantifies the indistinguishability of neighbouring databases under perturbation."
    assert grade(hard) > 15


@EVERY_PART
def test_a_step_can_be_read_by_a_fifteen_year_old(step: Step) -> None:
    question = step.question.format(at=step.slider.words(step.slider.start))
    for text in (step.idea, question, step.so, step.exercise, step.answer):
        assert grade(text) <= HARDEST_GRADE, (round(grade(text), 1), text)
    message = f"{step.idea} {question}"
    sentences = re.split(r"(?<=[.?!])\s", message)
    assert len(message.split()) / len(sentences) <= SHORTEST_SENTENCE
    assert not re.search(r"\b(bandit|arm|policy|Bernoulli|stochastic|i\.i\.d)", message)
    assert grade(step.exact) > grade(step.idea)  # the exact statement is a fold away
    assert view.MINUTES / len(STEPS) * 150 > len(
        message.split()
    )  # read and tried in its share of the quarter of an hour


def test_the_back_button_returns_to_the_step_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a guess, which draws a slider that was not there before: no one has moved it."""
    monkeypatch.setattr(state, "SETTLE_SECONDS", 0.0)
    screen = at_step(5)
    screen.button(key="learn-next-above").click()
    screen = guess(on.run(screen), STEPS[5])
    screen.query_params["step"] = "5"
    on.run(screen)
    assert STEPS[4].title in screen.title[0].value
