"""The page Teach: four ways into every lesson, one that fills the window, and sheets and files that need nothing."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

import numpy as np
import pytest
import screen as on

from ui import menu, printing
from ui.learn import course, phone, pictures, printed
from ui.learn.course import LESSONS, STEPS
from ui.learn.measured import Number
from ui.learn.step import Choice
from ui.teach import offline, project, view

EVERY = pytest.mark.parametrize("step", LESSONS, ids=lambda step: step.name)


def projected(step: Any, **address: str) -> Any:
    return on.visit("teach", step=course.address(step), controls="off", **address)


def reveal(screen: Any) -> Any:
    screen.button(key="project-reveal").click()
    return on.run(screen)


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
    light, dark = ((view.PICTURES / f"{step.name}-{ground}.svg").read_text() for ground in ("light", "dark"))
    assert re.search("<(polyline|rect|circle)", light)
    colour = r"#[0-9a-f]{6}|rgba\([\d.,]+\)"
    assert re.sub(colour, "", light) == re.sub(colour, "", dark)


@EVERY
def test_a_projected_lesson_asks_and_then_shows_picture_sentence_and_slider(step: Any) -> None:
    screen = projected(step)
    assert step.title in screen.title[0].value and step.idea in on.words(screen)
    assert len(screen.get("plotly_chart")) == step.tips
    assert not screen.select_slider and not screen.sidebar.children
    if isinstance(step.guess, Choice):
        assert all(label in on.words(screen) for label, _, _ in step.guess.options)
    screen = reveal(screen)
    before = on.words(screen)
    chart = on.chart(screen, "project-chart")
    assert chart.layout["font"]["size"] >= 18 and len(screen.get_by_key("project-chart").proto.alt) > 30
    assert step.so in before and len(screen.select_slider) == 1 + (step.other is not None)
    config = screen.get_by_key("project-chart").proto.config
    assert '"displayModeBar": false' in config
    assert step.title in screen.title[0].value and step.asks() in before
    assert screen.metric[0].value.split()[0].rstrip("%") == str(phone.measured(step.name)).split()[0]
    on.own(screen, "select_slider", f"learn-{step.name}").set_value(step.slider.stops[0])
    on.run(screen)
    moved = on.chart(screen, "project-chart")
    frames = [[(axis, each.layout[axis].get("range")) for axis in ("xaxis", "yaxis")] for each in (chart, moved)]
    if step.name != "choosing":  # its slider is the number of users
        assert frames[0] == frames[1]


def test_the_projector_goes_on_and_back_and_leaves() -> None:
    screen = on.visit("teach")
    screen.button(key=f"open-project-{LESSONS[0].name}").click()
    on.run(screen)
    assert screen.button(key="project-back").disabled
    for step in LESSONS[1:]:
        screen.button(key="project-next").click()
        assert step.title in on.run(screen).title[0].value
        assert on.address(screen) == {"controls": "off", "step": course.address(step)}
    assert screen.button(key="project-next").disabled
    screen.button(key="project-back").click()
    assert LESSONS[-2].title in on.run(screen).title[0].value
    screen.button(key="project-close").click()
    on.run(screen)
    assert "controls" not in on.address(screen) and len(screen.get("image")) == len(LESSONS)


def test_a_step_or_a_position_that_is_none_is_told() -> None:
    assert "step" in on.visit("teach", step="99", controls="off").warning[0].value
    assert "at" in reveal(projected(STEPS[1], at="0.37")).warning[0].value
    for fields in ({"step": "5", "controls": "off"}, {}):
        assert "eps\\: 'zzz'\\: no slider" in on.visit("teach", eps="zzz", **fields).warning[0].value


def test_curves_have_their_names_beside_them_where_there_are_curves_alone() -> None:
    chart = on.chart(reveal(projected(STEPS[3])), "project-chart")
    labels = chart.layout["annotations"]
    assert len(labels) == 2 and chart.layout["showlegend"] is False
    low, high = chart.layout["yaxis"]["range"]
    places = sorted(each["y"] for each in labels)
    assert np.all(np.diff(places) >= project.NEAR * (high - low) * 0.999)
    for label in labels:
        last = np.log10(chart.y(label["text"])[-1])
        assert abs(label["y"] - last) <= project.NEAR * (high - low) * len(labels)


@pytest.mark.parametrize("kind", ["HTML", "Markdown"])
def test_answers_stand_on_the_teachers_sheet_alone(kind: str) -> None:
    students, teacher = (printed.page(LESSONS, who, kind) for who in (False, True))
    parts = [part for step in LESSONS for part in (step, step.second) if part is not None]
    for step in parts:
        exercise, answer = (
            text if kind == "Markdown" else text.replace("&", "&amp;") for text in (step.exercise, step.answer)
        )
        assert exercise in students and exercise in teacher and answer in teacher and answer not in students
        assert step.title in students and step.title in teacher
    for sheet in (students, teacher):
        assert not re.search(r"<script|https?://(?!www\.w3\.org)", sheet)
        assert ("**" in sheet) == (kind == "Markdown")
    assert (teacher.count("<img") == len(parts)) == (kind == "HTML")


def test_all_lessons_are_one_small_file_that_asks_nobody() -> None:
    page = offline.page(LESSONS)
    assert len(page.encode()) <= offline.MAX_BYTES
    assert "<script" not in page and not re.search(r"(src|href)=\"(?!data:|#)", page)
    assert "default-src 'none'" in page
    for step in LESSONS:
        assert f'id="{step.name}"' in page and page.count(f'name="{step.name}"') >= 3


def test_pictures_of_a_file_keep_their_letters() -> None:
    page = offline.page((STEPS[1],))
    drawn = [b64decode(each).decode() for each in re.findall(r'data:image/svg\+xml;base64,([^"]*)', page)]
    assert len(drawn) >= 3
    for picture in drawn:
        scales = [float(each) for found in re.findall(r"scale\(([^)]*)\)", picture) for each in found.split()]
        assert scales and all(scales)


def test_files_draw_skewed_error_bars_as_they_are() -> None:
    numbers = [Number(1.0, 0.1), Number(4.8, 0.5, (4.0, 8.3)), Number(2.0, 0.1)]
    figure = pictures.draw([pictures.dots([1.0, 2.0, 3.0], numbers, "price", "#123456", at=2.0)], {}, {}, False, 320)
    drawn = printing.file_of(figure, "svg", offline.SIZE, "sans serif", 12).decode()
    curve = re.search(r'<path d="M [\d.]+ ([\d.]+) \s*L [\d.]+ ([\d.]+) \s*L [\d.]+ ([\d.]+) \s*" clip-path', drawn)
    bars = re.search(r'id="LineCollection_1">(.*?)</g>', drawn, re.DOTALL)
    assert curve and bars
    scale = np.polyfit([float(each) for each in curve.groups()], [1.0, 4.8, 2.0], 1)
    ends = np.polyval(scale, np.array(re.findall(r"M [\d.]+ ([\d.]+)\s*L [\d.]+ ([\d.]+)", bars[1]), float))
    np.testing.assert_allclose(sorted(ends[1]), [4.0, 8.3], rtol=1e-3)


def test_slides_ask_and_answer_by_turns() -> None:
    lessons = (STEPS[1], STEPS[2])
    page = printed.slides(lessons)
    asked, message = page.split("<section>")[1::2], page.split("<section>")[2::2]
    assert len(asked) == len(message) == len(lessons) and "<script" not in page
    for step, question, answer in zip(lessons, asked, message, strict=True):
        assert step.idea.split("**")[0] in question and step.so not in question
        assert step.so in answer and "<img" in answer


def test_a_lesson_goes_into_a_course_page_by_a_frame() -> None:
    screen = on.visit("teach")
    screen.selectbox(key="embed").set_value(LESSONS[-1])
    on.run(screen)
    [frame] = [each.value for each in screen.code]
    assert f"step={LESSONS[-1].name}&amp;embed=true&amp;controls=off" in frame and frame.startswith("<iframe")
