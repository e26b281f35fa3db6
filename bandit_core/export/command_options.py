"""Options of the larger commands."""

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
LIVE_HELP = "also let the reader's browser compute, without a network (needs the packages of the extra live)"
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
DECIDE_NUMBERS = {"delta": STOPPING_NUMBERS["delta"]}
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


GROUPS = {
    "Simulate": ("list", "check", "run", "compare", "sweep", "study", "bounds", "thresholds"),
    "Decide": ("price", "power", "decide", "stopping", "budget", "replay"),
    "A policy and its privacy": ("check-policy", "benchmark", "releases", "build", "audit"),
    "Share": ("link", "export", "site", "app"),
    "The papers": ("reproduce", "errata"),
    "A server": ("warm",),
}
EXAMPLES = {
    "list": "policies",
    "check": "mine.toml",
    "run": "trust --horizon 2000 --out curves.csv",
    "compare": "trust mine.toml --out curves.pdf",
    "sweep": "trust --epsilon 0.3,1,3",
    "study": "study.toml --out study.parquet",
    "bounds": "two-treatments",
    "thresholds": "--epsilon 'uniform(0,2)' --eps-min 0.1,0.5,1",
    "price": "--baseline 3.1% --lifts 8,15 --weekly 40000 --weeks 26 --epsilon 1,2",
    "power": "--baseline 4% --lift 10% --epsilon 1",
    "decide": "question.toml --delta 0.05",
    "stopping": "--means 0.05,0.044,0.04 --policy ctb-tt",
    "budget": "--epsilon 2 --tests 4",
    "replay": "log.csv",
    "check-policy": "noisy_greedy.py",
    "benchmark": "--policy noisy_greedy.py",
    "releases": "tossou-2a",
    "build": "trust",
    "audit": "ctb-as-printed --epsilon 0.1",
    "link": "trust --base https://lab.example.org",
    "export": "trust --out lesson.html",
    "site": "public --base https://lab.example.org",
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


BUDGET_NUMBERS = {
    "epsilon": ("2", "E", "what a person may spend in all, such as in a month"),
    "tests": ("4", "N", "tests that a person is in meanwhile"),
    "visits": ("1", "M", "answers of a person in each test"),
    "delta": ("0", "D", "delta of the whole; above 0, tight composition gives each test more"),
}


def numbers(*parsers: argparse.ArgumentParser) -> None:
    """The plain numbers of ``audit``, ``power``, ``stopping``, ``decide``, ``price`` and ``budget``, in this order."""
    every = (AUDIT_NUMBERS, POWER_NUMBERS, STOPPING_NUMBERS, DECIDE_NUMBERS, PRICE_NUMBERS, BUDGET_NUMBERS)
    for parser, names in zip(parsers, every, strict=True):
        for name, (default, metavar, words) in names.items():
            parser.add_argument(f"--{name}", default=default, metavar=metavar, help=f"{words} (default {default})")


def read(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The plain numbers among the options of a command."""
    return {name: notation.read_number(getattr(options, name)) for name in names}


def sweep(parser: argparse.ArgumentParser) -> None:
    """The options of ``sweep``."""
    parser.add_argument("--epsilon", required=True, metavar="A,B,C", help="budgets of every private line")
    parser.add_argument("--vary", metavar="NAME=A,B", help="one more parameter of the private lines to vary")


def study(parser: argparse.ArgumentParser) -> None:
    """The options of ``study``."""
    parser.add_argument("file", metavar="FILE", help="a .toml or .json file: a spec, axes, and what to record")
    parser.add_argument("--compare", action="store_true", help="print paired tests of all lines at every point")
    parser.add_argument("--along", default="", metavar="AXIS", help="axis of the picture (default: epsilon)")
    parser.add_argument(
        "--at", metavar="AXIS=V,...", help="values of the other axes in the picture (default: the last)"
    )


def thresholds(parser: argparse.ArgumentParser) -> None:
    """The options of ``thresholds``."""
    parser.add_argument("--epsilon", required=True, metavar="JSON", help='spread: JSON, or "uniform(0,2)"')
    parser.add_argument("--eps-min", required=True, metavar="A,B,C", help="thresholds to evaluate")


def stopping(parser: argparse.ArgumentParser) -> None:
    """The options of ``stopping``."""
    parser.add_argument("--means", metavar="A,B,C", help="chances of the options; without them, instances that mislead")
    parser.add_argument(
        "--policy", metavar="A,B", help="policies that stop (default: all), each by every rule it knows"
    )


def site(parser: argparse.ArgumentParser) -> None:
    """The options of ``site``."""
    parser.add_argument("folder", metavar="FOLDER", help="where the files go; it is made")
    parser.add_argument("--base", default="", metavar="URL", help="address of the app, for links into it")
    parser.add_argument("--lessons", metavar="A,B", help="presets that become lessons with a slider")
    parser.add_argument("--jobs", metavar="N", help="worker threads; never changes a number")


def decide(parser: argparse.ArgumentParser) -> None:
    """The options of ``decide``."""
    parser.add_argument("--rule", default="proved", choices=("proved", "heuristic"), help="threshold (default proved)")
    parser.add_argument("--split-visits", action="store_true", help="people who come N times: ε/N for each answer")
    parser.add_argument("--trials", metavar="N", help="independent runs, instead of the spec's")


def price(parser: argparse.ArgumentParser) -> None:
    """Everything but the plain numbers of `PRICE_NUMBERS`."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="observations (CSV), instead of a baseline and lifts")
    parser.add_argument("--baseline", metavar="P", help="rate of the present option: 0.031 or 3.1%%")
    parser.add_argument("--lifts", metavar="A,B", help="percent that each new option adds: 5, a range 8-15, or ?")
    parser.add_argument("--first", metavar="NAME", help="option of the file that the others are compared with")
    parser.add_argument("--purchase", metavar="M,SD", help="mean and spread of a purchase; the baseline is who buys")
    parser.add_argument("--limits", metavar="A,B", help="smallest and largest reward, where there are amounts")
    parser.add_argument("--epsilon", default="0.5,1,2,4", metavar="A,B", help="budgets of a person")
    parser.add_argument(
        "--out", metavar="FILE", help=f"write {', '.join(frames.ENDINGS)}, or a page to print (.html), instead of CSV"
    )


def replay(parser: argparse.ArgumentParser) -> None:
    """The log."""
    parser.add_argument("file", metavar="FILE", help="a log (CSV) with option, reward and propensity")


def compare(parser: argparse.ArgumentParser, spec_help: str) -> None:
    """Those of runs side by side."""
    parser.add_argument("specs", metavar="SPEC", nargs="+", help=spec_help)
    parser.add_argument("--tests", action="store_true", help="print paired tests between lines of different runs")
    parser.add_argument("--jobs", metavar="N", help="worker threads; never changes a number")


def export(parser: argparse.ArgumentParser, spec_help: str) -> None:
    """Those of lessons."""
    parser.add_argument("specs", metavar="SPEC", nargs="+", help=f"{spec_help}; several make a course")
    parser.add_argument("--out", required=True, metavar="PLACE", help="a file that ends in .html, or a folder")
    parser.add_argument("--slider", default="epsilon", metavar="NAME", help="what it moves: epsilon or horizon")
    parser.add_argument("--at", metavar="A,B,C", help="positions of the slider, instead of the usual ones")
    parser.add_argument("--live", action="store_true", help=LIVE_HELP)
    parser.add_argument("--base", default="", metavar="URL", help="address of the app, for links back to it")


def reproduce(parser: argparse.ArgumentParser) -> None:
    """Those of the papers' figures."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="a figure, or one of its presets (default: all)")
    parser.add_argument("--out", metavar="DIR", help="folder of the files, instead of the one that ships")
    parser.add_argument("--jobs", metavar="N", help="worker threads; never changes a number")
    parser.add_argument("--trials", metavar="N", help="at most so many trials of each line; the file says so")
    parser.add_argument("--fresh", action="store_true", help="use nothing computed before, for honest times")
    parser.add_argument("--table", action="store_true", help="compute nothing: print what the files say (Markdown)")
    parser.add_argument("--details", action="store_true", help="with --table: also readings, tests and times")
    parser.add_argument("--since", metavar="FILE", help="with --table: only verdicts that differ from that table's")


def benchmark(parser: argparse.ArgumentParser) -> None:
    """Those of the standing benchmark."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="policies to play anew; without them what ships is read"
    )
    parser.add_argument("--play", action="store_true", help="play every policy anew, and read nothing that ships")
    parser.add_argument("--jobs", metavar="N", help="worker threads; never changes a number")
    parser.add_argument(
        "--data", metavar="FILE", help="with --play or policies: write every case's numbers to this CSV file"
    )
    parser.add_argument("--table", action="store_true", help="print all scores as a document (Markdown)")


def share(name: str, text: str) -> int | float:
    """A number, or a percentage such as 4%."""
    number = notation.read_number(text.removesuffix("%"))
    if isinstance(number, str):
        raise InputError([Issue(name, text, "a number, or a percentage such as 4%")])
    return number / 100 if text.endswith("%") else number
