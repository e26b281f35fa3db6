"""What a visitor takes away says the same as the screen."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest
import screen as on

from bandit_core import Experiment, simulate
from bandit_core.data.spreadsheets import read_csv
from bandit_core.experiments import links
from bandit_core.simulation.summaries import baseline, counterpart
from bandit_core.studies.accounts import releases
from ui import exports

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


def test_explore_offers_every_download() -> None:
    screen = on.visit(**links.write(EXPERIMENT))
    assert screen.session_state["experiment"] == EXPERIMENT
    labels = [button.label for button in screen.main.download_button]
    assert labels == ["What is released (CSV)", "Data (CSV)", "Spec (JSON)", "Picture (HTML)", "How it was made"]


def test_without_privacy_there_is_no_list_of_releases_to_take_away() -> None:
    alone = EXPERIMENT.with_changes(lines=[{"policy": "ucb"}])
    screen = on.visit(**links.write(alone))
    assert screen.session_state["experiment"] == alone
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
        self.files: dict[str, str] = {}

    def download_button(self, label: str, data: object, file_name: str, **_: object) -> None:
        assert callable(data)  # built only when it is asked for
        self.files[file_name] = data()


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    recorder = _Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports.st, "columns", lambda count: [recorder] * count)
        exports.downloads(simulate(EXPERIMENT))
    return recorder.files


def test_file_names_come_from_the_title(files: dict[str, str]) -> None:
    assert {name.rpartition(".")[2] for name in files} == {"csv", "json", "html"}
    assert all(name.startswith("a--b-small--b--one") for name in files)


def test_the_csv_holds_the_curves(files: dict[str, str]) -> None:
    [text] = [content for name, content in files.items() if name.endswith(".csv")]
    read = pd.read_csv(io.StringIO(text))
    pd.testing.assert_frame_equal(read, simulate(EXPERIMENT).curves, check_dtype=False)


def test_a_label_that_a_spreadsheet_would_run_is_text_in_every_table() -> None:
    attack = "=cmd|'/c calc'!A1"
    lines = [{"policy": "ucb", "label": attack}]
    risky = Experiment.model_validate({"arms": EXPERIMENT.spec()["arms"], "lines": lines, "horizon": 100, "trials": 2})
    recorder = _Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports.st, "columns", lambda count: [recorder] * count)
        exports.downloads(simulate(risky))
    [text] = [content for name, content in recorder.files.items() if name.endswith(".csv")]
    assert set(pd.read_csv(io.StringIO(text))["label"]) == {f"'{attack}"}
    assert set(read_csv(io.StringIO(text))["label"]) == {attack}
    frames = on.visit(**links.write(risky)).main.dataframe  # a table on the page can be saved as CSV, too
    shown = [frame.value["label"] for frame in frames if "label" in frame.value]
    assert shown and all(set(labels) == {f"'{attack}"} for labels in shown)


def test_the_spec_opens_the_same_experiment(files: dict[str, str]) -> None:
    spec, metadata = (json.loads(content) for name, content in files.items() if name.endswith(".json"))
    assert Experiment.model_validate(spec) == EXPERIMENT
    assert Experiment.model_validate(metadata["spec"]) == EXPERIMENT
    assert metadata["seed"] == 3
    for price in metadata["prices"]:
        parent = counterpart(EXPERIMENT.lines[price["line"]].entry)
        assert price["against"] == parent.name and price["ratio"] > 0
    assert [price["line"] for price in metadata["prices"]] == [
        number for number in range(len(EXPERIMENT.lines)) if baseline(EXPERIMENT, number) is not None
    ]
    assert metadata["guarantees"][1]["parameters"] == {"eps_min": 1.5}
    assert "discrete(0:0.25, 1.5:0.75)" in metadata["guarantees"][1]["words"]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.outside += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_picture_needs_nothing_else_and_has_every_line(files: dict[str, str]) -> None:
    [text] = [content for name, content in files.items() if name.endswith(".html")]
    page = _Page()
    page.feed(text)
    assert page.scripts >= 2 and page.outside == []
    assert "alert(1)</script>" not in text
    call = text[text.rindex("Plotly.newPlot") :]
    assert "UCB" in call and "half" in call and "Ren" in call  # both curves and the bounds
    assert "small" in call


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
    screen = on.visit(**on.SMALL)
    assert exports.snippet(screen.session_state["experiment"]).strip() in [code.value for code in screen.main.code]
