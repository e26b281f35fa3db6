"""Options of the larger commands."""

from __future__ import annotations

import argparse
from pathlib import Path

from bandit_core.export import frames
from bandit_core.policies import load_policy
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue

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
    parser.add_argument("--purchase", metavar="M,SD", help="mean and spread of a purchase; the baseline is who buys")
    parser.add_argument("--limits", metavar="A,B", help="smallest and largest reward, where there are amounts")
    parser.add_argument("--epsilon", default="0.5,1,2,4", metavar="A,B", help="budgets of a person")
    parser.add_argument(
        "--out", metavar="FILE", help=f"write {', '.join(frames.ENDINGS)}, or a page to print (.html), instead of CSV"
    )


def replay(parser: argparse.ArgumentParser) -> None:
    """The log."""
    parser.add_argument("file", metavar="FILE", help="a log (CSV) with option, reward and propensity")


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
