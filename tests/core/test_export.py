"""Lessons to take along: what stands in the file is what the engine computes at every position."""

import html
import json
import re
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from helpers import refused

from bandit_core import Experiment, InputError, simulate
from bandit_core.__main__ import main
from bandit_core.experiments import links
from bandit_core.export import course
from bandit_core.export import page as lessons
from bandit_core.simulation.results import split, summaries, with_companions
from bandit_core.simulation.sentences import verdict
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import with_error
from bandit_core.studies.sweep import at_budget

NASTY = "it's **half** </script><script>alert(1)</script>"
SPEC = {
    "title": "A <b>small</b> one, at ε = 1",
    "note": "Only true as given.",
    "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.4}],
    "lines": [
        {"policy": "ucb"},
        {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}, "label": NASTY},
        {"policy": "adap-ucb", "epsilon": {"kind": "fixed", "value": 1}},
    ],
    "horizon": 600,
    "trials": 6,
    "seed": 5,
}
BUDGETS = (0.3, 1.0, 4.0)
DAY = date(2026, 1, 2)


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment.model_validate(SPEC)


@pytest.fixture(scope="module")
def lesson(experiment: Experiment) -> tuple[lessons.Positions, Any]:
    positions = lessons.Positions(experiment, "epsilon", BUDGETS)
    return positions, positions.run(1)


def inside(text: str) -> dict[str, Any]:
    """The document of a file, as its script reads it."""
    [found] = re.findall(r'<script type="application/json" id="lesson">(.*?)</script>', text, re.DOTALL)
    return json.loads(found)


def numbers(position: dict[str, Any]) -> list[tuple[str, ...]]:
    """The cells of a position's table, a row for each line, without what a price is relative to."""
    rows = position["table"].partition("<tbody>")[2].split("</tr>")[:-1]
    return [tuple(re.findall(r'<td class="number">([^<]*)', row)) for row in rows]


def alone(experiment: Experiment) -> Any:
    """The result of an experiment that is played by itself, nothing cached."""
    played = with_companions(experiment)
    return split(simulate(played, jobs=1, store=Store(None, 0)), experiment)


def test_every_position_holds_what_the_engine_computes_there(experiment, lesson):
    found = inside(lessons.page(*lesson, day=DAY))
    assert [each["value"] for each in found["positions"]] == list(BUDGETS)
    for position, epsilon in zip(found["positions"], BUDGETS, strict=True):
        result = alone(at_budget(experiment, epsilon))
        rows = summaries(result)
        prices = [with_error(row.price, row.price_stderr) if row.against else "–" for row in rows]
        regrets = [with_error(row.regret, row.stderr) for row in rows]
        assert numbers(position) == list(zip(regrets, prices, strict=True)) and len(set(prices)) > 2
        assert all(
            f"{row.label} has lost {regret}." in position["alt"] for row, regret in zip(rows, regrets, strict=True)
        )
        assert position["sentence"] == lessons.marked_up(verdict(result, lessons.as_html))
        assert found["series"][position["x"]] == result.times.tolist()
        curves = [curve for curve in position["curves"] if "dash" not in curve]
        assert [curve["line"] for curve in curves] == [0, 1, 2]
        for curve, line in zip(curves, result.lines, strict=True):
            np.testing.assert_allclose(found["series"][curve["y"]], line.mean, rtol=6e-4)
            np.testing.assert_allclose(found["series"][curve["low"]], line.quantile(0.05), rtol=6e-4)


def test_the_picture_over_budgets_holds_the_ends_of_the_other(lesson):
    positions, results = lesson
    over = lessons.document(positions, results)["budgets"]
    assert over["series"][over["x"]] == list(BUDGETS)
    for curve in over["curves"]:
        ends = [result.lines[curve["line"]].mean[-1] for result in results]
        np.testing.assert_allclose(over["series"][curve["y"]], ends, rtol=6e-4)
    assert len({curve["line"] for curve in over["curves"]}) == 3


def test_a_line_without_privacy_is_kept_once(lesson):
    found = lessons.document(*lesson)
    places = {
        (curve["line"], curve["y"]) for each in found["positions"] for curve in each["curves"] if "dash" not in curve
    }
    assert sorted(line for line, _ in places) == [0, *[1] * len(BUDGETS), *[2] * len(BUDGETS)]


def test_the_slider_begins_at_the_experiment_as_given(experiment):
    usual = lessons.Positions(experiment)
    assert [each.value for each in usual.positions] == list(lessons.EPSILONS)
    assert usual.positions[usual.start].value == 1
    spread = experiment.with_changes(
        lines=[
            {"policy": "ucb"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "discrete", "values": [0, 2]}},
        ]
    )
    own = lessons.Positions(spread, values=BUDGETS)
    assert [each.value for each in own.positions] == [None, *BUDGETS] and own.start == 0
    assert own.positions[0].experiment == spread


def test_lines_that_differ_in_their_budget_become_one_and_keep_their_colour(experiment):
    lines = [{"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": value}} for value in (1, 4)]
    several = experiment.with_changes(lines=[*lines, {"policy": "ucb"}])
    positions = lessons.Positions(several, values=BUDGETS)
    assert [each.lines for each in positions.positions] == [(0, 1, 2), *[(0, 2)] * len(BUDGETS)]


def test_positions_over_users_are_runs_of_their_own(experiment):
    positions = lessons.Positions(experiment, "horizon")
    assert [each.value for each in positions.positions] == [100, 200, 500, 600] and positions.start == 3
    found = inside(lessons.page(positions, positions.run(1)))
    assert found["budgets"] is None
    for position, horizon in zip(found["positions"], (100, 200, 500, 600), strict=True):
        rows = summaries(alone(experiment.with_changes(horizon=horizon)))
        assert [row[0] for row in numbers(position)] == [with_error(row.regret, row.stderr) for row in rows]
        assert found["series"][position["x"]][-1] == horizon


def test_words_that_are_true_of_one_position_stand_there_only(lesson):
    found = lessons.document(*lesson)
    assert found["title"] == "A <b>small</b> one"
    assert [bool(each["note"]) for each in found["positions"]] == [False, True, False]


def test_a_link_leads_back_to_exactly_this_position(experiment, lesson):
    found = lessons.document(*lesson, base="https://lab.example.org")
    for position, epsilon in zip(found["positions"], BUDGETS, strict=True):
        address, _, query = position["link"].partition("?")
        assert address == "https://lab.example.org/explore"
        opened, problems = links.read(dict(parse_qsl(query, keep_blank_values=True)))
        assert not problems and opened.plays_as(at_budget(experiment, epsilon))
    assert not any(each["link"] for each in lessons.document(*lesson)["positions"])


def test_the_file_says_how_it_was_made(experiment, lesson):
    made = inside(lessons.page(*lesson, day=DAY))["provenance"]
    assert Experiment.model_validate(made["spec"]) == experiment
    assert made["seed"] == 5 and made["date"] == "2026-01-02" and set(made["versions"]) >= {"numpy", "numba", "python"}
    assert made["slider"] == {"kind": "epsilon", "values": list(BUDGETS)} and made["kernels"]


def test_the_file_is_small_asks_nobody_and_shows_foreign_words_as_text(lesson):
    text = lessons.page(*lesson, base="https://lab.example.org", day=DAY)
    assert len(text.encode()) < 200_000 < lessons.MAX_BYTES
    assert text.count("<script") == 2 and "<b>small" not in text and "alert(1)</" not in text
    assert not re.search(r"\b(src|@import|srcset)\s*=|url\((?!#)|fetch\(|XMLHttpRequest|<link", text)
    assert "default-src &#x27;none&#x27;" in html.escape(text) and "unsafe" not in text
    assert "**half**" in html.unescape(re.sub(r"</?strong>", "", inside(text)["positions"][0]["sentence"]))
    assert lessons.page(*lesson, base="https://lab.example.org", day=DAY) == text


def test_what_is_kept_of_a_row_always_holds_its_end():
    for every in (1, 2, 3, 4):
        pool = lessons.Pool(every)
        place = pool(np.arange(10.0))
        assert pool.rows[place][-1] == 9 and len(pool.rows[place]) == -(-10 // every)
        assert pool(np.arange(10.0)) == place
    assert lessons.Pool().exact([0.05, 3]) == 0


def test_what_does_not_fit_is_thinned_and_then_refused(lesson, monkeypatch):
    whole = inside(lessons.page(*lesson))
    size = len(lessons.page(*lesson).encode())
    monkeypatch.setattr("bandit_core.export.page.MAX_BYTES", size - 1)
    thinned = inside(lessons.page(*lesson))
    assert len(thinned["series"][0]) < len(whole["series"][0])
    assert thinned["positions"][1]["table"] == whole["positions"][1]["table"]
    monkeypatch.setattr("bandit_core.export.page.MAX_BYTES", 1000)
    with refused("lesson"):
        lessons.page(*lesson)


def test_an_experiment_without_budgets_has_no_slider_of_budgets(experiment):
    free = experiment.with_changes(lines=[{"policy": "ucb"}])
    with refused("slider"):
        lessons.Positions(free)
    assert lessons.Positions(free, "horizon").positions


def test_the_limits_of_a_server_count_all_positions(experiment, monkeypatch):
    one = experiment.horizon * experiment.trials
    monkeypatch.setenv("LAB_MAX_STEPS", str(one * (3 + 2 + 2)))  # without privacy is played once
    assert lessons.Positions(experiment, values=BUDGETS).steps == one * 7
    monkeypatch.setenv("LAB_MAX_STEPS", str(one * 7 - 1))
    with refused("slider"):
        lessons.Positions(experiment, values=BUDGETS)


def test_a_lesson_that_is_not_finished_is_not_written(experiment):
    positions = lessons.Positions(experiment, values=[0.123], store=Store(None, 0))
    positions.stop()
    with pytest.raises(InputError):
        lessons.page(positions, positions.result())


def brightness(colour: str) -> float:
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize(("ground", "colour"), [(0, "#ffffff"), (1, "#11161c")])
def test_every_line_can_be_read_on_light_and_dark(ground, colour):
    for shades in lessons.SHADES.values():
        for pair in shades:
            bright, faint = sorted((brightness(pair[ground]), brightness(colour)), reverse=True)
            assert (bright + 0.05) / (faint + 0.05) >= 4.5, pair


# The command


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "a first one.json"
    path.write_text(json.dumps(SPEC), encoding="utf-8")
    return path


def test_the_command_writes_the_same_file(spec, lesson, tmp_path, capsys):
    out = tmp_path / "lesson.html"
    assert main(["export", str(spec), "--slider", "epsilon", "--at", "0.3,1,4", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    mine, theirs = inside(lessons.page(*lesson, day=DAY)), inside(out.read_text(encoding="utf-8"))
    mine["provenance"].pop("date"), theirs["provenance"].pop("date")
    assert mine == theirs


def test_several_specs_make_a_course_with_an_index(spec, tmp_path, capsys):
    out = tmp_path / "course" / "2026"
    command = ["export", str(spec), str(spec), "two-treatments", "--horizon", "300", "--trials", "3", "--at", "1,2"]
    assert main([*command, "--out", str(out)]) == 0
    files = ["a-first-one.html", "a-first-one-2.html", "two-treatments.html", "index.html"]
    assert capsys.readouterr().out.split() == [str(out / name) for name in files]
    index = (out / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="([^"]+)"', index) == files[:3]
    around = re.findall(r'href="([\w.-]+)"', (out / files[1]).read_text(encoding="utf-8").partition("<main>")[0])
    assert around == ["index.html", files[0], files[2]]
    assert "://" not in index and "<b>small" not in index


@pytest.mark.parametrize(
    ("specs", "out"),
    [(["default", "default"], "x.html"), (["default"], "no/such/folder/x.html"), (["default"], "taken/below")],
)
def test_a_place_that_cannot_be_written_is_told_before_anything_is_computed(specs, out, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("a file")
    monkeypatch.setattr("bandit_core.simulation.engine.Simulation.run", lambda *_: pytest.fail("it computes"))
    assert main(["export", *specs, "--out", out]) == 2
    assert capsys.readouterr().err.startswith("out: ")


def test_files_get_names_that_any_disk_takes():
    assert course.names(["-", "x/ä b.toml", "index", "ren-1c", "y/ren-1c.json"]) == [
        "lesson",
        "ä-b",
        "index-lesson",
        "ren-1c",
        "ren-1c-2",
    ]
