"""The options of every command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bandit_core.export import frames
from bandit_core.policies import load_policy
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue

AUDIT_NUMBERS = {
    "epsilon": ("1", "E", "the claimed epsilon"),
    "samples": ("200000", "N", "samples for each of the two inputs"),
    "seed": ("0", "S", "of the samples"),
    "confidence": ("0.999", "C", "chance that the bound is right"),
}
POWER_NUMBERS = {
    "baseline": ("0.5", "P", "mean of the usual option, such as 0.04 or 4%%"),
    "effect": ("0.1", "D", "smallest difference of means worth finding"),
    "epsilon": ("1", "E", "budget of each user"),
    "alpha": ("0.05", "A", "chance of a false alarm, two-sided"),
    "power": ("0.8", "B", "chance of finding the effect"),
    "options": ("2", "K", "options of the test; more than two are compared with the baseline by Dunnett's test"),
}
STOPPING_NUMBERS = {
    "delta": ("0.05", "D", "chance of a wrong recommendation that is allowed"),
    "epsilon": ("auto", "E", "budget of each user; auto: 1, and 0.001 without means"),
    "trials": ("1000", "N", "independent runs"),
    "seed": ("0", "S", "of the streams"),
    "cap": ("auto", "N", "users after which a run gives up; auto: 1e8, and 1e9 without means"),
    "growth": ("1.02", "G", "factor by which users grow between two decisions; 1 decides for every user"),
}
PRICE_NUMBERS = {
    "weekly": ("5000", "N", "people a week"),
    "weeks": ("10", "W", "for how many weeks"),
    "visits": ("1", "M", "how often a person comes"),
    "batch": ("1", "N", "visits after which a learner learns"),
    "delta": ("0.05", "D", "chance of error"),
    "power": ("0.8", "B", "chance that a planned test finds the difference"),
    "zone": ("0", "PERCENT", "options that are worse than the best by this at most count as equally good in tests"),
    "seed": ("0", "S", "of the streams"),
}
BUDGET_NUMBERS = {
    "epsilon": ("2", "E", "what a person may spend in all, such as in a month"),
    "tests": ("4", "N", "tests that a person is in meanwhile"),
    "visits": ("1", "M", "answers of a person in each test"),
    "delta": ("0", "D", "delta of the whole; above 0, tight composition gives each test more"),
}


GROUPS = {
    "Simulate": ("list", "check", "run", "sweep", "study", "bounds", "thresholds"),
    "Decide": ("price", "power", "decide", "stopping", "budget"),
    "A policy and its privacy": ("check-policy", "benchmark", "releases", "build", "audit"),
    "Share": ("link", "export", "app"),
    "The papers": ("reproduce", "errata"),
    "A server": ("warm",),
}
EXAMPLES = {
    "list": "policies",
    "check": "mine.toml",
    "run": "trust --horizon 2000 --out curves.csv",
    "sweep": "trust --epsilon 0.3,1,3",
    "study": "study.toml --out study.parquet",
    "bounds": "two-treatments",
    "thresholds": "--epsilon 'uniform(0,2)' --eps-min 0.1,0.5,1",
    "price": "--baseline 3.1% --lifts 8,15 --weekly 40000 --weeks 26 --epsilon 1,2",
    "power": "--baseline 4% --lift 10% --epsilon 1",
    "decide": "question.toml --delta 0.05",
    "stopping": "--means 0.05,0.044,0.04 --policy ctb-tt",
    "budget": "--epsilon 2 --tests 4",
    "check-policy": "noisy_greedy.py",
    "benchmark": "--policy noisy_greedy.py",
    "releases": "tossou-2a",
    "build": "trust",
    "audit": "ctb-as-printed --epsilon 0.1",
    "link": "trust --base https://lab.example.org",
    "export": "trust --out lesson.html",
    "app": "--port 8502",
    "reproduce": "ren-1c --trials 10 --out mine",
    "errata": "ren-curator-3",
    "warm": "--jobs 2",
}


def overview(descriptions: Mapping[str, str]) -> str:
    """Every command with its description, group by group, in the order of use."""
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<13} {descriptions[name]}" for name in names)]
    return "\n".join(lines[1:])


def load_files(options: argparse.Namespace) -> list[str]:
    """The names of the policies in the files of ``--policy``, for a command that takes them."""
    files = getattr(options, "policy", None)
    return [name for file in files for name in load_policy(Path(file))] if isinstance(files, list) else []


def _option(name: str, **words: Any) -> tuple[str, dict[str, Any]]:
    return name, words


def _numbers(names: Mapping[str, tuple[str, str, str]]) -> list[tuple[str, dict[str, Any]]]:
    return [
        _option(f"--{name}", default=default, metavar=metavar, help=f"{words} (default {default})")
        for name, (default, metavar, words) in names.items()
    ]


SPEC_HELP = "a preset name, a .json or .toml file, a link of the app, or - for JSON on standard input"
_SPECS = {"metavar": "SPEC", "nargs": "+"}
_JOBS = _option("--jobs", metavar="N", help="workers; never changes a number")
_CHANGES = [
    _option(f"--{name}", metavar="N", help=f"{words}, instead of the spec's")
    for name, words in (("horizon", "pulls per trial"), ("trials", "independent runs"), ("seed", "of the streams"))
]
OPTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {  # of each command, besides SPEC, --policy and --out
    "list": [
        _option("what", choices=("policies", "arms", "epsilons", "presets", "audits")),
        _option("--json", action="store_true", help="a list of objects"),
    ],
    "run": [
        _option("--compare", action="store_true", help="print differences at the horizon: could they be luck?"),
        *_CHANGES,
        _JOBS,
    ],
    "sweep": [
        *_CHANGES,
        _JOBS,
        _option("--epsilon", required=True, metavar="A,B,C", help="budgets of every private line"),
        _option("--vary", metavar="NAME=A,B", help="one more parameter of the private lines to vary"),
    ],
    "export": [
        _option("specs", **_SPECS, help=f"{SPEC_HELP}; several make a course"),
        _option("--out", required=True, metavar="PLACE", help="a file that ends in .html, or a folder"),
        _option("--slider", default="epsilon", metavar="NAME", help="what it moves: epsilon or horizon"),
        _option("--at", metavar="A,B,C", help="positions of the slider, instead of the usual ones"),
        _option("--base", default="", metavar="URL", help="address of the app, for links back to it"),
        *_CHANGES,
        _JOBS,
    ],
    "study": [
        _option("file", metavar="FILE", help="a .toml or .json file: a spec, axes, and what to record"),
        _option("--compare", action="store_true", help="print paired tests of all lines at every point"),
        _option("--along", default="", metavar="AXIS", help="axis of the picture (default: epsilon)"),
        _option("--at", metavar="AXIS=V,...", help="values of the other axes in the picture (default: the last)"),
        _JOBS,
    ],
    "thresholds": [
        _option("--epsilon", required=True, metavar="JSON", help='spread: JSON, or "uniform(0,2)"'),
        _option("--eps-min", required=True, metavar="A,B,C", help="thresholds to evaluate"),
    ],
    "audit": [
        _option("name", metavar="NAME", help="what to audit; `list audits` says what there is"),
        *_numbers(AUDIT_NUMBERS),
    ],
    "power": [
        _option("--lift", metavar="L", help="instead of the effect: a share of the baseline, such as 15%%"),
        *_numbers(POWER_NUMBERS),
    ],
    "price": [
        _option("file", metavar="FILE", nargs="?", help="observations (CSV), instead of a baseline and lifts"),
        _option("--baseline", metavar="P", help="rate of the present option: 0.031 or 3.1%%"),
        _option("--lifts", metavar="A,B", help="percent that each new option adds: 5, a range 8-15, or ?"),
        _option("--first", metavar="NAME", help="option of the file that the others are compared with"),
        _option("--purchase", metavar="M,SD", help="mean and spread of a purchase; the baseline is who buys"),
        _option("--limits", metavar="A,B", help="smallest and largest reward, where there are amounts"),
        _option("--epsilon", default="0.5,1,2,4", metavar="A,B", help="budgets of a person"),
        _option(
            "--out",
            metavar="FILE",
            help=f"write {', '.join(frames.ENDINGS)}, or a page to print (.html), instead of CSV",
        ),
        _JOBS,
        *_numbers(PRICE_NUMBERS),
    ],
    "stopping": [
        _option("--means", metavar="A,B,C", help="chances of the options; without them, instances that mislead"),
        _option("--policy", metavar="A,B", help="policies that stop (default: all), each by every rule it knows"),
        _JOBS,
        *_numbers(STOPPING_NUMBERS),
    ],
    "decide": [
        _option("--rule", default="proved", choices=("proved", "heuristic"), help="threshold (default proved)"),
        _option("--split-visits", action="store_true", help="people who come N times: ε/N for each answer"),
        _option("--trials", metavar="N", help="independent runs, instead of the spec's"),
        _JOBS,
        *_numbers({"delta": STOPPING_NUMBERS["delta"]}),
    ],
    "budget": _numbers(BUDGET_NUMBERS),
    "warm": [_JOBS],
    "reproduce": [
        _option("names", metavar="NAME", nargs="*", help="a figure, or one of its presets (default: all)"),
        _option("--out", metavar="DIR", help="folder of the files, instead of the one that ships"),
        _JOBS,
        _option("--trials", metavar="N", help="at most so many trials of each line; the file says so"),
        _option("--fresh", action="store_true", help="use nothing computed before, for honest times"),
        _option("--table", action="store_true", help="compute nothing: print what the files say (Markdown)"),
        _option("--details", action="store_true", help="with --table: also readings, tests and times"),
        _option("--since", metavar="FILE", help="with --table: only verdicts that differ from that table's"),
    ],
    "benchmark": [
        _option("names", metavar="NAME", nargs="*", help="policies to play anew; without them what ships is read"),
        _option("--play", action="store_true", help="play every policy anew, and read nothing that ships"),
        _JOBS,
        _option("--data", metavar="FILE", help="with --play or policies: write every case's numbers to this CSV file"),
        _option("--table", action="store_true", help="print all scores as a document (Markdown)"),
    ],
    "app": [_option("--port", default="8501", metavar="N", help="where it listens (default 8501)")],
    "check-policy": [
        _option("files", metavar="FILE", nargs="+", help="a Python file that ends in POLICY = Policy(...)")
    ],
    "link": [_option("--base", default="http://localhost:8501", metavar="URL", help="address of the app")],
    "errata": [_option("name", nargs="?", metavar="NAME", help="of one erratum; without it all are checked")],
}


def read(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The plain numbers among the options of a command."""
    return {name: notation.read_number(getattr(options, name)) for name in names}


def share(name: str, text: str) -> int | float:
    """A number, or a percentage such as 4%."""
    number = notation.read_number(text.removesuffix("%"))
    if isinstance(number, str):
        raise InputError([Issue(name, text, "a number, or a percentage such as 4%")])
    return number / 100 if text.endswith("%") else number
