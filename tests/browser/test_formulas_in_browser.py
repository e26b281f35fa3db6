"""Every formula of pages, policies, mechanisms and errata, set by the KaTeX that comes with the app."""

import ast
import base64
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import streamlit

from bandit_core import Experiment, errata, load_preset
from bandit_core.experiments.catalogue import entries
from bandit_core.mechanisms import registry as mechanisms
from bandit_core.model import PROMISES
from bandit_core.theory import heavy
from bandit_core.theory.best_arm import time_bounds

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ("bandit_core/theory", "bandit_core/policies", "bandit_core/mechanisms", "bandit_core/model")
FIELD = "\0"  # where an f-string takes something in
FILLED = re.compile(r"\$\{?[A-Za-z_]\w*\}?")  # and where a table does
COMMAND = re.compile(r"\\[A-Za-z]{2,}")
BETWEEN_DOLLARS = re.compile(r"(?<![\\$])\$([^$\0\n]+)\$(?!\$)")
COINS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.8}]
MARGIN: Any = {"dimension": 2, "arms": 2, "law": {"kind": "margin", "beta": 1.0}}
EXAMPLES: tuple[Any, ...] = (  # all bounds, and those that a variant or an assumption changes
    {"arms": COINS, "lines": [{"policy": "private-ucb", "params": {"variant": "2015"}, "epsilon": 1.0}]},
    {"contexts": MARGIN, "lines": [{"policy": "linucb"}]},
    {"contexts": {**MARGIN, "structure": "multi"}, "lines": [{"policy": "linucb"}]},
)
# The part of Streamlit that sets formulas. What it refuses, the app shows in red or as source.
KATEX = next((Path(streamlit.__file__).parent / "static" / "static" / "js").glob("katex.*.js"))
SET = """async ([source, formulas]) => {
  const {default: katex} = await import('data:text/javascript;base64,' + source);
  const paper = document.body.appendChild(document.createElement('p'));
  return formulas.flatMap(formula => {
    try { katex.render(formula, paper, {displayMode: true, strict: 'error'}) }
    catch (error) { return [`${formula}: ${error.message}`] }
    return paper.querySelector('.katex-error, [style*=color]:not([style*=gray])') || !paper.innerText ? [formula] : [];
  }); }"""


@cache
def texts(path: Path) -> list[str]:
    """Every text of a file, as the program has it: parts in a row are one, and in tables line breaks are blanks."""
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")]
    if path.suffix == ".toml":
        return [" ".join(text.split()) for text in strings(tomllib.loads(path.read_text(encoding="utf-8")))]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else FIELD for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            found.append(node.value)
    return found


def strings(value: Any) -> Iterator[str]:
    """All texts within a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def files_of(*folders: str) -> list[Path]:
    kinds = (".py", ".toml", ".md")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in kinds]


@cache
def program() -> list[Path]:
    """The files of the app and of the library that hold formulas."""
    files = files_of("bandit_core", "ui", "pages")
    return [path for path in files if COMMAND.search(path.read_text(encoding="utf-8"))]


def latex_calls() -> Iterator[str]:
    """Formulas that stand in a call of `st.latex`."""
    for path in program():
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if path.suffix == ".py" and "st.latex" in source else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "st.latex":
                yield from (each.value for each in node.args if isinstance(each, ast.Constant))


@cache
def formulas() -> set[str]:
    """All that a visitor can be shown, with the numbers of an example where a formula holds some."""
    examples = [Experiment.model_validate(document) for document in EXAMPLES]
    found = {entry.bound.formula for example in examples for entry in entries(example)}
    found |= {rf"\textcolor{{gray}}{{{formula}}}" for formula in found}  # what is superseded
    found |= {formula for one in mechanisms().values() for formula in vars(one.formulas).values()}
    found |= {promise.formula for promise in PROMISES.values()}
    for privacy in ("none", "local", "central"):
        bounds = time_bounds(examples[0].single_arms, 0.1, privacy, None if privacy == "none" else 1.0)
        found |= {bound.formula for bound in bounds}
    table = heavy.table_1(load_preset("tao-s3-local-v05").setups[-1])
    found |= {*table["upper"], *table["lower"], *latex_calls()}
    found |= {formula for path in program() for text in texts(path) for formula in BETWEEN_DOLLARS.findall(text)}
    for erratum in errata():
        found |= set(BETWEEN_DOLLARS.findall(f"{erratum.printed} {erratum.corrected} {erratum.why}"))
    return found - {""}


def test_every_formula_can_be_set(chromium: Any) -> None:
    tab = chromium.new_page()
    found = sorted(formulas())
    assert len(found) > 200
    tab.set_content("<!doctype html><body>")
    refused = tab.evaluate(SET, [base64.b64encode(KATEX.read_bytes()).decode(), found])
    tab.close()
    assert refused == []


def test_no_formula_of_the_source_is_forgotten() -> None:
    known = "\n".join(formulas())
    shown = [(path, FILLED.sub(FIELD, text)) for path in files_of(*SHOWN) for text in texts(path)]
    parts = {part for path, text in shown if COMMAND.search(text) and "$" not in text for part in text.split(FIELD)}
    assert len(parts) > 100
    assert [part for part in sorted(parts) if part not in known] == []
