"""What a visitor takes away says the same as the screen."""

import gzip
import hashlib
import html
import io
import json
import os
import re
import subprocess
import sys
import zlib
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import screen as on
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image
from plotly.offline import get_plotlyjs_version

from bandit_core import Experiment, simulate
from bandit_core.data.spreadsheets import read_csv
from bandit_core.experiments import links
from bandit_core.simulation.results import PRICE_BAND, Result
from bandit_core.spec import own_data
from bandit_core.studies.production import releases
from ui import charts, exports, lab_parts, printing, words

EXPERIMENT = Experiment.model_validate(
    {
        "title": "A <b>small</b> one",
        "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "beta", "a": 2, "b": 3, "count": 2}],
        "lines": [
            {"policy": "ucb"},
            {
                "policy": "heldp-ucb-b",
                "epsilon": {"kind": "discrete", "values": [0.0, 1.5], "probs": [0.25, 0.75]},
                "params": {"eps_min": 1.5},
                "label": 'it\'s "half" </script><script>alert(1)</script>',
            },
        ],
        "horizon": 400,
        "trials": 4,
        "seed": 3,
    }
)


def test_without_privacy_there_is_no_list_of_releases_to_take_away() -> None:
    alone = EXPERIMENT.with_changes(lines=[{"policy": "ucb"}])
    screen = on.look(on.visit(**links.write(alone)), "Budget")
    assert screen.session_state["lab"]["experiment"] == alone
    assert "What is released (CSV)" not in [button.label for button in screen.main.download_button]


def test_the_list_of_releases_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = _Recorder()
    monkeypatch.setattr(exports.st, "download_button", recorder.download_button)
    exports.releases_button(EXPERIMENT)
    assert recorder.files["releases.csv"] == releases(EXPERIMENT).to_csv(index=False)
    found = pd.read_csv(io.StringIO(recorder.files["releases.csv"]))
    assert found["epsilon"].tolist() == [1.5]  # the largest of the users' own


class _Recorder:
    """Stands in for the columns of the page and keeps what each download button would give."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}

    def selectbox(self, _: str, options: list[str], **__: object) -> str:
        return options[0]

    def text_input(self, _: str, value: str, **__: object) -> str:
        return value

    def download_button(self, label: str, data: object, file_name: str, **_: object) -> None:
        assert callable(data)  # built only when it is asked for
        self.files[file_name] = data()


@pytest.fixture(scope="module")
def files() -> dict[str, Any]:
    recorder = _Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports.st, "columns", lambda count: [recorder] * count)
        exports.downloads(simulate(EXPERIMENT))
    return recorder.files


def test_file_names_come_from_the_title(files: dict[str, str]) -> None:
    assert {name.rpartition(".")[2] for name in files} == {"csv", "json", "html", "tex", "md", *printing.KINDS}
    assert all(name.startswith("a--b-small--b--one") for name in files)


def test_a_label_that_a_spreadsheet_would_run_is_text_in_every_table() -> None:
    attack = "=cmd|'/c calc'!A1"
    lines = [{"policy": "ucb", "label": attack}]
    risky = Experiment.model_validate({"arms": EXPERIMENT.spec()["arms"], "lines": lines, "horizon": 100, "trials": 2})
    recorder = _Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports.st, "columns", lambda count: [recorder] * count)
        exports.downloads(simulate(risky))
    texts = [content for name, content in recorder.files.items() if name.endswith(".csv")]
    assert len(texts) == 2
    for text in texts:
        assert set(pd.read_csv(io.StringIO(text))["label"]) == {f"'{attack}"}
        assert set(read_csv(io.StringIO(text))["label"]) == {attack}
    tables = on.look(on.visit(**links.write(risky)), "Table").main.dataframe  # can be saved as CSV, too
    shown = [frame.value["label"] for frame in tables if "label" in frame.value]
    assert shown and all(set(labels) == {f"'{attack}"} for labels in shown)


def test_the_table_of_differences_names_first_who_lost_more() -> None:
    risky = EXPERIMENT.with_changes(lines=[{"policy": "ucb", "label": "=1+1"}, EXPERIMENT.spec()["lines"][1]], trials=8)
    frames = [frame.value for frame in on.look(on.visit(**links.write(risky)), "Table").main.dataframe]
    [shown] = [frame for frame in frames if "verdict" in frame]
    [found] = simulate(risky).comparisons.itertuples()
    assert found.difference < 0 and found.p_corrected <= 0.05
    labels = [risky.label(1), "'=1+1"]
    assert shown[["lost more", "than"]].values.tolist() == [labels]
    [row] = shown.to_dict("records")
    assert float(row["by"].replace(",", "")) == pytest.approx(-found.difference, rel=1e-2)
    low, high = (float(end.replace(",", "")) for end in row["95% interval"].split(" to "))
    assert (low, high) == pytest.approx((-found.high, -found.low), rel=1e-2)


def test_the_spec_opens_the_same_experiment(files: dict[str, str]) -> None:
    spec, metadata = (json.loads(content) for name, content in files.items() if name.endswith(".json"))
    assert Experiment.model_validate(spec) == EXPERIMENT
    assert Experiment.model_validate(metadata["spec"]) == EXPERIMENT
    assert metadata["seed"] == 3
    free = [number for number, line in enumerate(EXPERIMENT.lines) if line.epsilon is None]
    assert {price["against"] for price in metadata["prices"]} == {EXPERIMENT.lines[number].policy for number in free}
    assert [price["line"] for price in metadata["prices"]] == [
        number for number in range(len(EXPERIMENT.lines)) if number not in free
    ]
    assert metadata["guarantees"][1]["parameters"] == {"eps_min": 1.5}
    assert "discrete(0:0.25, 1.5:0.75)" in metadata["guarantees"][1]["words"]


def test_the_bundle_in_the_page_is_that_of_the_installed_plotly() -> None:
    """If this fails after an update of Plotly, ui/assets/README.md says how to renew it."""
    script = gzip.decompress(exports.PLOTLY.read_bytes())
    found = re.search(rb"plotly\.js \(basic - minified\) v(\d+)\.(\d+)", script)
    assert found is not None
    assert [int(part) for part in found.groups()] == [int(part) for part in get_plotlyjs_version().split(".")[:2]]
    message = (exports.PLOTLY.parent / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(script).hexdigest() in message and get_plotlyjs_version() in message


def _svg_size(data: bytes) -> tuple[float, float]:
    """Width and height of an SVG in centimetres."""
    root = ElementTree.fromstring(data)
    width, height = (float(root.attrib[side].removesuffix("pt")) / 72 * 2.54 for side in ("width", "height"))
    return width, height


def _pdf_words(data: bytes) -> bytes:
    """What stands uncompressed in a PDF, and in its packed streams."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL)
    return data + b"".join(zlib.decompress(stream) for stream in streams if stream[:1] == b"x")


def printed(result: Result, kind: str, size: printing.Size, font: str, points: float) -> bytes:
    """The chart for print."""
    return printing.file_of(charts.regret_chart(result, direct_labels=False), kind, size, font, points)


def read(kind: str, data: bytes, drawn: list[str]) -> str:
    """The words of a picture: as its file has them, or of a PNG what was ``drawn`` as pixels."""
    if kind == "svg":  # each word is drawn as shapes, behind a comment with its letters
        return html.unescape("\n".join(re.findall(r"<!-- (.*?) -->", data.decode())))
    if kind == "pdf":
        written = re.findall(rb"\[([^]]*)\]\s*TJ", _pdf_words(data))
        parts = (b"".join(re.findall(rb"\(((?:\\.|[^\\)])*)\)", each)) for each in written)
        return "\n".join(re.sub(rb"\\(.)", rb"\1", part).decode("utf-16-be") for part in parts)
    return "\n".join(drawn)


@pytest.mark.parametrize("kind", list(printing.KINDS))
def test_a_picture_for_print_has_the_words_of_the_screen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that stands in rows on the screen is one in print; what a visitor wrote stays as it was written."""
    drawn: list[str] = []
    draw_text = RendererAgg.draw_text

    def noted(self: RendererAgg, gc: Any, x: float, y: float, s: str, *rest: Any, **more: Any) -> None:
        drawn.append(s)
        draw_text(self, gc, x, y, s, *rest, **more)

    monkeypatch.setattr(RendererAgg, "draw_text", noted)
    label = "a <br> of one's own, and more & more"
    lines = [{"policy": "thompson"}, {"policy": "ucb", "label": label}]
    figure = charts.regret_chart(simulate(EXPERIMENT.with_changes(lines=lines)))
    assert any("<br>" in name for name in on.legend_entries(figure))
    figure.layout.yaxis.title.text = "one<br>two"
    found = read(kind, printing.file_of(figure, kind, printing.SIZES["page of a paper"], "sans serif", 9), drawn)
    assert {"Thompson sampling", label, "one two", "users so far"} <= set(found.split("\n"))


@pytest.mark.parametrize("place", list(printing.SIZES))
def test_pictures_for_print_have_the_size_that_was_asked_for(place: str) -> None:
    size, result = printing.SIZES[place], simulate(EXPERIMENT)
    width, height = _svg_size(printed(result, "svg", size, "serif", 9))
    assert (width, height) == pytest.approx((size.width, size.height), rel=1e-3)
    png = printed(result, "png", size, "serif", 9)
    pixels = [int.from_bytes(png[start : start + 4], "big") / printing.DPI * 2.54 for start in (16, 20)]
    assert pixels == pytest.approx([size.width, size.height], rel=1e-2)
    pdf = printed(result, "pdf", size, "serif", 9)
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", _pdf_words(pdf))
    assert box is not None
    assert [float(side) / 72 * 2.54 for side in box.groups()] == pytest.approx([size.width, size.height], rel=1e-3)


def test_a_pdf_carries_the_chosen_font_and_nothing_changes_between_two_files() -> None:
    size, result = printing.SIZES["column of a paper"], simulate(EXPERIMENT)
    for font, inside in (("serif", b"STIXGeneral"), ("sans serif", b"DejaVuSans")):
        pdf = printed(result, "pdf", size, font, 8)
        assert inside in _pdf_words(pdf) and pdf == printed(result, "pdf", size, font, 8)
    svg = printed(result, "svg", size, "serif", 8)
    assert svg == printed(result, "svg", size, "serif", 8) != printed(result, "svg", size, "serif", 12)


def test_the_printed_picture_has_the_curves_of_the_screen() -> None:
    """Matplotlib's numbers, taken back from the axes, are Plotly's."""
    drawn = EXPERIMENT.with_changes(
        lines=[{"policy": name} for name in ("ucb", "thompson")], view={"x": "log", "y": "log"}
    )
    figure = charts.regret_chart(simulate(drawn), direct_labels=False)
    axes = Figure().add_subplot()
    printing._draw_curves(axes, figure, 0.5)  # private: this is what is tested
    printing._set_axes(axes, figure)
    shown = [trace for trace in figure.data if trace.line.width]
    assert len(axes.lines) == len(shown) > 2
    for trace, line in zip(shown, axes.lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.asarray(trace.y, float))
        np.testing.assert_array_equal(line.get_xdata(), np.asarray(trace.x, float))
        assert line.get_linewidth() == 0.5 * trace.line.width
        assert to_hex(line.get_color()) == trace.line.color
    named = [str(line.get_label()) for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert len(named) == len(on.legend_entries(figure))
    bands = [trace for trace in figure.data if trace.fill == "tonexty"]
    assert len(axes.collections) == len(bands) > 0
    assert axes.get_ylim() == pytest.approx([10**end for end in figure.layout.yaxis.range])
    assert axes.get_xlim() == pytest.approx([10**end for end in figure.layout.xaxis.range])


@pytest.mark.parametrize("kind", list(words.BAND_WORDS))
def test_a_picture_that_leaves_the_page_names_its_band(kind: str) -> None:
    view = {"band": kind, "quantity": "price"}
    result = simulate(EXPERIMENT.with_changes(view=view))
    message = words.sentence(words.band(4, result.experiment.view))
    assert words.BAND_WORDS[kind] in message and PRICE_BAND in message
    assert message in on.legend_entries(exports.for_file(result)())
    assert PRICE_BAND not in words.band(4, EXPERIMENT.view)
    single = simulate(EXPERIMENT.with_changes(trials=1))
    assert len(on.legend_entries(exports.for_file(single)())) == len(on.legend_entries(charts.regret_chart(single)))


def test_every_picture_says_how_it_was_made(files: dict[str, Any]) -> None:
    """Each file alone is enough to compute its numbers again."""
    found = {name.rpartition(".")[2]: content for name, content in files.items()}
    [page] = re.findall(r'"meta":\s*(\{.*)', found["html"])
    message = {"html": json.JSONDecoder().raw_decode(page)[0]}
    tree = ElementTree.fromstring(found["svg"])
    [description] = tree.iter("{http://purl.org/dc/elements/1.1/}description")
    message["svg"] = json.loads(description.text or "")
    with Image.open(io.BytesIO(found["png"])) as image:
        message["png"] = json.loads(image.text["Description"])
    message["pdf"] = json.loads(_pdf_subject(found["pdf"]))
    for each in message.values():
        assert Experiment.model_validate(each["spec"]) == EXPERIMENT
        assert {"seed", "kernels", "versions", "guarantees"} <= set(each)


def test_pictures_of_other_pages_say_how_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """On each page what would be printed carries a spec that is valid, and the version of the lab."""
    drawn: list[Any] = []
    monkeypatch.setattr(lab_parts, "fold_for_print", lambda draw, *_: drawn.append(draw()))
    asked = {"arms": "0.9,0.6", "lines": "ucb,heldp-ucb-b(1)", "T": "300", "n": "3"}
    spread = asked | {"lines": "ucb,heldp-ucb-b(discrete(0,1,2))"}
    for page, fields in (("tradeoff", asked), ("threshold", spread), ("papers", {})):
        drawn.clear()
        on.unfold(on.visit(page, **fields), *(["tradeoff-more"] * (page == "tradeoff")))
        message = json.loads(json.dumps(drawn[-1].layout.meta))
        assert "private-bandit-lab" in message["versions"], page
        experiment = Experiment.model_validate(message["spec"])
        assert page == "papers" or experiment.horizon == 300


def test_a_picture_of_own_data_does_not_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    result, recorder = simulate(EXPERIMENT), _Recorder()
    monkeypatch.setattr(exports.st, "columns", lambda count: [recorder] * count)
    with own_data.held(result):
        drawn = exports.telling(go.Figure, dict)
        exports.downloads(result)
    monkeypatch.undo()
    assert drawn().layout.meta is None  # whose data they are is known by then
    assert exports.for_file(result)().layout.meta is not None
    for name, content in recorder.files.items():
        if not name.endswith("json"):
            text = content if isinstance(content, bytes) else content.encode()
            assert b"eps_min" not in text and b'"kernels"' not in text


def _pdf_subject(pdf: bytes) -> str:
    """The text in parentheses after /Subject, in which backslashes and parentheses are escaped."""
    [text] = re.findall(rb"/Subject \(((?:[^\\()]|\\.)*)\)", pdf, re.DOTALL)
    return re.sub(rb"\\(.)", rb"\1", text).decode()


@pytest.mark.parametrize("label", ["$x^2", "a $b$ c", "--><script>", "日本 €", "x" * 80])
def test_any_label_can_be_printed(label: str) -> None:
    named = EXPERIMENT.with_changes(lines=[{"policy": "ucb", "label": label}])
    for kind in printing.KINDS:
        data = printed(simulate(named), kind, printing.SIZES["column of a paper"], "serif", 8)
        assert len(data) > 5000
        if kind == "svg":
            ElementTree.fromstring(data)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0001, "0.0001"), (1e-7, "0.0000001"), (2000, "2,000"), (5e4, "50k"), (3e6, "3M"), (1e9, "1B")],
)
def test_ticks_in_print_are_written_as_people_do(value: float, text: str) -> None:
    assert printing.tick_words(value) == text


def test_the_snippet_prints_the_numbers_of_the_screen() -> None:
    done = subprocess.run(
        [sys.executable, "-c", exports.snippet(EXPERIMENT)],
        cwd=on.ROOT, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    header, *rows = done.stdout.splitlines()
    assert header.split()[:4] == ["line", "label", "policy", "t"]
    for number, line in enumerate(simulate(EXPERIMENT).lines):
        row = rows[number].split()
        place = row.index(str(EXPERIMENT.horizon))
        assert int(row[0]) == number
        assert float(row[place + 1]) == pytest.approx(line.mean[-1], rel=1e-5)
    assert any("Ren" in row and "upper" in row for row in rows)


def test_the_code_tab_shows_that_snippet() -> None:
    screen = on.look(on.visit(**on.SMALL), "Code")
    assert exports.snippet(screen.session_state["lab"]["experiment"]).strip() in [
        code.value for code in screen.main.code
    ]
