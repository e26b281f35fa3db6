"""Every file that Explore hands out is saved by a browser, opened, and says what the screen says."""

import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import expect
from visitor import Visitor

from bandit_core import Experiment

Visits = Callable[..., Visitor]
ADDRESS = "/explore?arms=0.9,0.5&lines=thompson,heldp-ucb-b(2,label=%22a+%3Cb%3E+%26+50%25%22)&T=1000&n=4"
LABELS = {"Thompson sampling", "a <b> & 50%"}


def saved(visitor: Visitor, folder: Path) -> dict[str, Path]:
    """What every download button of the page gives, by the button's words."""
    files = {}
    for button in visitor.main().locator("[data-testid=stDownloadButton] button >> visible=true").all():
        with visitor.tab.expect_download() as download:
            button.click()
        name = button.inner_text()
        files[name] = folder / download.value.suggested_filename
        download.value.save_as(files[name])
    return files


def printed_without_menu_and_sidebar(visitor: Visitor) -> None:
    """On paper the page stands alone."""
    visitor.tab.emulate_media(media="print")
    expect(visitor.tab.get_by_test_id("stSidebar")).to_be_hidden()
    expect(visitor.tab.get_by_test_id("stHeader")).to_be_hidden()
    for words in ("What does privacy cost here?", "lost reward so far (regret)", "“a <b> & 50%”"):
        expect(visitor.main().get_by_text(words).first).to_be_visible()
    visitor.tab.emulate_media(media="screen")


def test_every_file_of_explore_and_its_page_on_paper_say_what_the_screen_says(visits: Visits, tmp_path: Path) -> None:
    visitor = visits(ADDRESS)
    visitor.sees("Thompson sampling")
    printed_without_menu_and_sidebar(visitor)
    visitor.main().get_by_role("radio", name="Download").click()
    visitor.main().locator("[data-testid=stDownloadButton]", has_text="Picture (PNG)").wait_for()
    visitor.settle()
    files = saved(visitor, tmp_path)
    means = next(curve for name, curve in visitor.chart().items() if "Thompson" in name)
    read = {
        name: path.read_text(encoding="utf-8") for name, path in files.items() if path.suffix not in (".pdf", ".png")
    }
    data, final = (pd.read_csv(io.StringIO(read[name])) for name in ("Data (CSV)", "Final table (CSV)"))
    assert set(data["label"]) == set(final["label"]) == LABELS
    assert (
        final["regret"].iloc[0]
        == data[data["label"] == "Thompson sampling"]["mean"].iloc[-1]
        == pytest.approx(means[-1])
    )
    spec = Experiment.model_validate(json.loads(read["Settings file (JSON)"]))
    assert Experiment.model_validate(json.loads(read["How it was made"])["spec"]) == spec and spec.horizon == 1000
    assert {spec.label(0), spec.label(1)} == LABELS
    assert "<title>What does privacy cost here?" in read["Picture (HTML)"]
    drawing = read["Picture (SVG)"]
    assert ET.fromstring(drawing).tag.endswith("svg")
    assert "<!-- Thompson sampling -->" in drawing and "&lt;br" not in drawing
    assert files["Picture (PDF)"].read_bytes().startswith(b"%PDF")
    assert len(set(Image.open(files["Picture (PNG)"]).convert("RGB").get_flattened_data())) > 20
    rows = [line for line in read["Final table (LaTeX)"].splitlines() if line.endswith(r"\\")]
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1 and len(rows) == 3
    assert r"a <b> \& 50\%" in rows[2] or r"a \textless{}b\textgreater{} \& 50\%" in rows[2]
    cells = [line for line in read["Final table (Markdown)"].splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in cells}) == 1 and len(cells) == 4
