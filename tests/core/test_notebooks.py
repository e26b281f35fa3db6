"""The notebooks of the site, run cell by cell as a reader would; what they show is what they say.

Their sources are Markdown, so that a change can be read. The site itself is built by Sphinx, which only a checkout with
docs/requirements.txt has; the workflow builds it, and fails for a warning or a page that asks another host.
"""

import contextlib
import io
import re
import runpy
from pathlib import Path
from typing import Any

import bandit_core

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "notebooks"


def played(name: str) -> dict[str, Any]:
    """The names that a notebook has made when its last cell has run, and what it has printed."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert cells and {path.stem for path in FOLDER.glob("*.md")} == {"lecturer", "practitioner", "researcher"}
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for number, cell in enumerate(cells, 1):
            exec(compile(cell, f"{name}, cell {number}", "exec"), names)
    return names | {"printed": out.getvalue()}


def test_the_lecture_shows_that_privacy_costs_more_the_more_of_it_there_is() -> None:
    names = played("lecturer")
    prices = names["prices"]
    assert list(prices.columns) == ["trusting a curator", "trusting no one"]
    assert prices["trusting no one"].is_monotonic_decreasing
    assert (prices["trusting no one"] > prices["trusting a curator"]).tolist() == [True, True, True, True, False]
    assert "controls=off" in names["link"]


def test_the_decision_names_a_method_and_a_budget_for_every_promise() -> None:
    names = played("practitioner")
    lost = names["chosen"]["lost clicks"]
    assert lost["local"] > lost["central"] and lost["local"] > lost["none"]
    smallest = {each.privacy: each.answer.best for each in names["found"]}
    assert 0 < smallest["central"] < smallest["local"]
    released = names["released"]
    assert set(released["guarantee_epsilon"]) == {1.0}


def test_the_paper_measures_bounds_reproduces_and_audits() -> None:
    names = played("researcher")
    experiment = names["experiment"]
    upper = names["beside"].query("side == 'upper'")
    assert set(upper["line"]) == {0, 1, 2} and (upper["measured"] <= upper["value"]).all()
    assert (upper.groupby("line")["value"].min() < experiment.horizon * experiment.largest_gap).all()  # not the cap
    assert names["again"].share < names["shipped"].share == 1
    assert {name: found.verdict for name, found in names["audits"].items()} == {
        "ctb-as-printed": "violates",
        "ctb": "consistent",
    }
    assert names["curator"].confirmed
    assert {each.held for each in names["judged"]} & {"confirmed", "not confirmed"}


def test_the_reference_names_everything_public() -> None:
    text = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: bandit_core\.(\w+)(?:\(.*\))?$", text, re.MULTILINE))
    assert named == set(bandit_core.__all__)


def test_a_page_of_the_site_that_asks_another_host_is_told(tmp_path: Path) -> None:
    """The build itself looks at every page (docs/conf.py)."""
    pages = {
        "own.html": '<link href="_static/a.css"><script src="_static/a.js"></script><a href="https://b.org">b</a>',
        "script.html": '<script async src="https://b.org/a.js"></script>',
        "style.html": '<link rel="stylesheet" href="//b.org/a.css">',
        "own.css": "p { background: url(a.png) }",
        "font.css": "@import url('https://b.org/font.css');",
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = runpy.run_path(str(ROOT / "docs" / "other_hosts.py"))["asking_another_host"](tmp_path)
    assert [path.name for path in found] == ["font.css", "script.html", "style.html"]
    assert "asking_another_host" in (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
