"""The page Teach: four ways into every lesson, one that fills the window, and sheets and files that need nothing."""

import json
import re
from typing import Any

import numpy as np
import pytest
import screen as on

from bandit_core.spec.number_text import number
from ui import menu, printing, words
from ui.learn import course, phone, pictures, quiz
from ui.learn.course import LESSONS, STEPS, Choice
from ui.learn.measured import Number
from ui.player.slider import SMALL
from ui.teach import view

EVERY = pytest.mark.parametrize("step", LESSONS, ids=lambda step: step.name)


def projected(step: Any, **address: str) -> Any:
    return on.visit("teach", step=course.address(step), controls="off", **address)


def reveal(screen: Any) -> Any:
    return on.press(screen, screen.button(key="project-reveal"))


def test_every_lesson_has_four_ways_and_a_picture() -> None:
    screen = on.visit("teach")
    keys = {each.key for kind in ("button", "download_button") for each in getattr(screen, kind)}
    for step in LESSONS:
        assert {
            f"open-project-{step.name}",
            f"class-open-{step.name}",
            f"sheet-{step.name}",
            f"file-{step.name}",
        } <= keys
    assert {"class-open", "file-course", "sheet-False-HTML", "sheet-True-Markdown"} <= keys
    assert len(screen.get("image")) == len(LESSONS)
    assert re.search("slow network", on.words(screen))
    assert not screen.subheader and not re.search("^###", on.words(screen), re.MULTILINE)  # none below the title alone
    assert [page.name for page in menu.pages()][:4] == ["home", "learn", "teach", "your-numbers"]


@EVERY
def test_a_small_picture_shows_what_the_lesson_draws(step: Any) -> None:
    light, dark = ((SMALL / f"{step.name}-{ground}.svg").read_text() for ground in ("light", "dark"))
    assert re.search("<(polyline|rect|circle)", light)
    colour = r"#[0-9a-f]{6}|rgba\([\d.,]+\)"
    assert re.sub(colour, "", light) == re.sub(colour, "", dark)


@EVERY
def test_a_projected_lesson_asks_and_then_shows_picture_sentence_and_slider(step: Any) -> None:
    screen = projected(step)
    assert step.title in screen.title[0].value and step.idea in on.words(screen)
    assert not screen.get("plotly_chart")
    assert not screen.select_slider and not screen.sidebar.children
    if isinstance(step.guess, Choice):
        assert all(label in on.words(screen) for label, _, _ in step.guess.options)
    screen = reveal(screen)
    [player] = on.players(screen)
    assert player["projected"] and player["size"] >= 18 and all(len(each["alt"]) > 30 for each in player["positions"])
    assert step.title in screen.title[0].value and step.asks() in on.words(screen)
    assert len(screen.select_slider) == (step.other is not None)
    measured = phone.measured(step.name)
    assert screen.metric[0].value.split()[0].rstrip("%") == number(measured.value, 2)
    assert not measured.error or str(measured) in screen.metric[0].label
    frames = [[each[axis]["ends"] for axis in "xy"] for each in player["positions"]]
    if step.name != "choosing":  # its slider is the number of users
        assert all(each == frames[0] for each in frames)


@EVERY
def test_every_form_of_a_lesson_draws_and_says_the_same(step: Any) -> None:
    """Learn, the projector, a class, the offline file and the teacher's sheet: curves, intervals and sentences."""
    alone = on.visit("learn", step=course.address(step))
    [*_, guess] = [each for each in alone.button if (each.key or "").startswith(f"learn-{step.name}-guess")]
    guess.click()
    board = on.visit("teach")
    board.button(key=f"class-open-{step.name}").click()
    for _ in range(2 * (not step.coins)):  # guesses, and the picture
        on.run(board).button(key="project-reveal").click()
    forms = [on.players(on.run(screen)) for screen in (alone, board)] + [on.players(reveal(projected(step)))]
    file = view.page((step,))
    made = re.findall(r'<script type="application/json">(.*?)</script>', file)
    forms.append([json.loads(each)["light"] for each in made][:1])
    shown = [form for form in forms if form]
    assert len(shown) == 4 - bool(step.coins)  # a class that tossed its own coins sees these
    first, *others = [[(each["positions"], each["series"], each["handle"]) for each in form] for form in shown]
    assert all(form == first for form in others)
    at = step.slider.stops.index(step.slider.start)
    said = first[0][0][at]["words"]
    sheet = quiz.page((step,), True, "HTML")
    assert said in sheet
    asked = step.answer_to(phone.measured(step.name))
    assert all(asked in text for text in (on.words(alone), sheet, file))


def test_a_quarter_of_an_hour_is_three_lessons_a_sheet_and_a_plan() -> None:
    screen = on.visit("teach")
    assert {"lecture-sheet", "lecture-plan"} <= {each.key for each in screen.get("download_button")}
    screen.button(key="open-lecture").click()
    for step in course.LECTURE:
        assert step.title in on.run(screen).title[0].value
        assert on.address(screen) == {"controls": "off", "step": course.address(step), "plan": "15"}
        if step is not course.LECTURE[-1]:
            screen.button(key="project-next").click()
    assert screen.button(key="project-next").disabled
    plan, sheet = quiz.plan(), quiz.page(course.LECTURE, False, "HTML")
    assert plan.count("<h2>") == sheet.count("<h2>") - 1 == 3  # one has a second part
    for step in course.LECTURE:
        assert step.answer_to(phone.measured(step.name)) in plan and step.question.split("{")[0] in plan
    single = quiz.page((STEPS[4],), False, "HTML")
    assert f"<h1>{course.title(STEPS[4])}</h1>" in single and "<hr>" in single


def test_a_step_or_a_position_that_is_none_is_told() -> None:
    assert "step" in on.visit("teach", step="99", controls="off").warning[0].value
    assert "at" in reveal(projected(STEPS[1], at="0.37")).warning[0].value
    for fields in ({"step": "5", "controls": "off"}, {}):
        assert "eps\\: 'zzz'\\: no slider" in on.visit("teach", eps="zzz", **fields).warning[0].value


@pytest.mark.parametrize("kind", ["HTML", "Markdown"])
def test_answers_stand_on_the_teachers_sheet_alone(kind: str) -> None:
    students, teacher = (quiz.page(LESSONS, who, kind) for who in (False, True))
    parts = [part for step in LESSONS for part in (step, step.second) if part is not None]
    for step in parts:
        exercise, answer = (
            text if kind == "Markdown" else words.as_html(text) for text in (step.exercise, step.answer)
        )
        assert exercise in students and exercise in teacher and answer in teacher and answer not in students
        assert step.title in students and step.title in teacher
    for sheet in (students, teacher):
        assert not re.search(r"<script|https?://(?!www\.w3\.org)", sheet)
        assert ("**" in sheet) == (kind == "Markdown")
    assert (teacher.count("<img") == len(parts)) == (kind == "HTML")


def test_all_lessons_are_one_small_file_that_asks_nobody() -> None:
    page = view.page(LESSONS)
    assert len(page.encode()) <= view.MAX_BYTES
    assert not re.search(r"(src|href)=\"(?!#)", page) and "default-src 'none'" in page
    assert page.count('class="player"') == len(course.PARTS + course.EXTRAS) == page.count("<noscript>")
    for step in LESSONS:
        assert f'id="{step.name}"' in page


def test_files_draw_skewed_error_bars_as_they_are() -> None:
    numbers = [Number(1.0, 0.1), Number(4.8, 0.5, (4.0, 8.3)), Number(2.0, 0.1)]
    figure = pictures.draw([pictures.dots([1.0, 2.0, 3.0], numbers, "price", "#123456", at=2.0)], {}, {}, False, 320)
    drawn = printing.file_of(figure, "svg", printing.Size(12.0, 8.0, 12), "sans serif", 12).decode()
    curve = re.search(r'<path d="M [\d.]+ ([\d.]+) \s*L [\d.]+ ([\d.]+) \s*L [\d.]+ ([\d.]+) \s*" clip-path', drawn)
    bars = re.search(r'id="LineCollection_1">(.*?)</g>', drawn, re.DOTALL)
    assert curve and bars
    scale = np.polyfit([float(each) for each in curve.groups()], [1.0, 4.8, 2.0], 1)
    ends = np.polyval(scale, np.array(re.findall(r"M [\d.]+ ([\d.]+)\s*L [\d.]+ ([\d.]+)", bars[1]), float))
    np.testing.assert_allclose(sorted(ends[1]), [4.0, 8.3], rtol=1e-3)


def test_slides_ask_and_answer_by_turns() -> None:
    lessons = (STEPS[1], STEPS[2])
    page = quiz.slides(lessons)
    asked, message = page.split("<section>")[1::2], page.split("<section>")[2::2]
    assert len(asked) == len(message) == len(lessons) and "<script" not in page
    for step, question, answer in zip(lessons, asked, message, strict=True):
        assert step.idea.split("**")[0] in question and step.so not in question
        assert step.so in answer and "<img" in answer


def test_a_lesson_goes_into_a_course_page_by_a_frame() -> None:
    screen = on.visit("teach")
    on.put(screen, screen.selectbox(key="embed"), LESSONS[-1])
    [frame] = [each.value for each in screen.code]
    assert f"step={LESSONS[-1].name}&amp;embed=true&amp;controls=off" in frame and frame.startswith("<iframe")
