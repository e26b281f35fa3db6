"""The options of every command."""

import argparse
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from bandit_core.export import frames
from bandit_core.policies import load_policy
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import read_shares
from bandit_core.theory.critical_values import Spending
from bandit_core.theory.power import EVERY_TRUST, Goal, Solved

AUDIT_NUMBERS = {
    "epsilon": ("1", "E", "the claimed epsilon"),
    "samples": ("200000", "N", "samples for each of the two inputs"),
    "seed": ("0", "S", "of the samples"),
    "confidence": ("0.999", "C", "chance that the bound is right"),
}
TEST_NUMBERS = {
    "sides": ("2", "N", "1: only a better option counts"),
    "split": ("1", "R", "users of the baseline for one of each other option, where these are compared with it"),
}
POWER_NUMBERS = {
    "baseline": ("50%%", "P", "mean of the usual option, such as 4%%"),
    "effect": ("10%%", "D", "smallest difference of means worth finding, such as 1%% for 4%% and 5%%"),
    "epsilon": ("1", "E", "budget of each user"),
    "alpha": ("0.05", "A", "chance of a false alarm"),
    "power": ("0.8", "B", "chance of finding the effect"),
    "options": ("2", "K", "options of the test, the baseline included"),
    "looks": ("1", "N", "looks at the data at equal distances, after each of which the test may end"),
    **TEST_NUMBERS,
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
    "zone": ("0", "Z", "options worse than the best by this share of the first at most count as equally good in tests"),
    "looks": ("5", "N", "looks of the test with looks, 2 to 10"),
    **TEST_NUMBERS,
    "seed": ("0", "S", "of the streams"),
}
BUDGET_NUMBERS = {
    "epsilon": ("2", "E", "what a person may spend in all, such as in a month"),
    "tests": ("4", "N", "tests that a person is in meanwhile"),
    "visits": ("1", "M", "answers of a person in each test"),
    "delta": ("0", "D", "delta of the whole; above 0, tight composition gives each test more"),
}
SHARES = ("baseline", "effect", "alpha", "delta", "power", "zone")  # numbers that a percent sign may follow


@dataclass(frozen=True)
class Command:
    """A command: the group that ``--help`` shows it in, what it does, an example, and its options.

    ``spec``: its first word is an experiment. ``out`` says what ``--out`` may be besides a table (nothing here:
    `frames.ENDINGS`), and is None where the command has an ``--out`` of its own, or none.
    """

    name: str
    group: str
    words: str
    example: str
    options: tuple[tuple[str, dict[str, Any]], ...] = ()
    spec: bool = True
    out: tuple[str, ...] | None = None

    @property
    def loads_policies(self) -> bool:
        """Whether it takes files with policies."""
        return self.spec or self.name in ("audit", "export", "study", "benchmark", "list")


def overview() -> str:
    """Every command with what it does, group by group, in the order of use."""
    lines = []
    for group, commands in itertools.groupby(COMMANDS, lambda each: each.group):
        lines += ["", f"{group}:", *(f"  {each.name:<13} {each.words}" for each in commands)]
    return "\n".join(lines[1:])


def load_files(options: argparse.Namespace) -> list[str]:
    """The names of the policies in the files of ``--policy``, for a command that takes them."""
    files = getattr(options, "policy", None)
    return [name for file in files for name in load_policy(Path(file))] if isinstance(files, list) else []


def _several(text: str) -> list[int | float | str]:
    return [notation.read_number(part) for part in text.split(",")]


def _option(name: str, help: str, metavar: str | None = None, **words: Any) -> tuple[str, dict[str, Any]]:
    return name, {**words, "help": help} | ({"metavar": metavar} if metavar else {})


def _number(name: str, help: str, metavar: str = "N", read: Any = notation.read_number, **words: Any) -> Any:
    return _option(f"--{name}", help, metavar, type=read, **words)


def _numbers(rows: Mapping[str, tuple[str, str, str]]) -> list[Any]:
    return [
        _number(
            name, f"{words} (default {default})", metavar, str if name in SHARES else notation.read_number,
            default=default.replace("%%", "%"),
        )
        for name, (default, metavar, words) in rows.items()
    ]  # fmt: skip


def _trust(usual: str) -> Any:
    help = f"of {', '.join(EVERY_TRUST)} (default {usual})"
    return _number("trust", help, "A,B", lambda text: [part.strip() for part in text.split(",")], default=usual)


SPEC_HELP = "a preset name, a .json or .toml file, a link of the app, or - for JSON on standard input"
_JOBS = _number("jobs", "workers; never changes a number")
_CHANGES = (
    _number("horizon", "pulls per trial, instead of the spec's"),
    _number("trials", "independent runs, instead of the spec's"),
    _number("seed", "of the streams, instead of the spec's"),
)
_SIMULATE, _DECIDE, _POLICY = "Simulate", "Decide", "A policy and its privacy"
COMMANDS = (
    Command("list", _SIMULATE, "what there is", "policies", (
        _option("what", "", choices=("policies", "arms", "epsilons", "presets", "audits")),
        _option("--json", "a list of objects", action="store_true"),
    ), spec=False),
    Command("check", _SIMULATE, "print ok, or every error of a spec", "mine.toml"),
    Command("run", _SIMULATE, "simulate, and print the regret curves", "trust --horizon 2000 --out curves.csv", (
        _option("--compare", "print differences at the horizon: could they be luck?", action="store_true"),
        *_CHANGES, _JOBS,
    ), out=frames.PICTURES),
    Command("sweep", _SIMULATE, "simulate at several budgets, and print the regret curves", "trust --epsilon 0.3,1,3", (
        *_CHANGES, _JOBS,
        _number("epsilon", "budgets of every private line", "A,B,C", _several, required=True),
        _option("--vary", "one more parameter of the private lines to vary", "NAME=A,B"),
    ), out=frames.PICTURES),
    Command("study", _SIMULATE, "play every combination of what a file varies", "study.toml --out study.parquet", (
        _option("file", "a .toml or .json file: a spec, axes, and what to record", "FILE"),
        _option("--compare", "print paired tests of all lines at every point", action="store_true"),
        _option("--along", "axis of the picture (default: epsilon)", "AXIS", default=""),
        _option("--at", "values of the other axes in the picture (default: the last)", "AXIS=V,..."),
        _JOBS,
    ), spec=False, out=frames.PICTURES),
    Command("bounds", _SIMULATE, "print the bounds of theory", "two-treatments", out=()),
    Command("thresholds", _SIMULATE, "print V_L, V_B and V_w for several thresholds",
            "--epsilon 'uniform(0,2)' --eps-min 0.1,0.5,1", (
        _option("--epsilon", 'spread: JSON, or "uniform(0,2)"', "JSON", required=True),
        _number("eps-min", "thresholds to evaluate", "A,B,C", _several, required=True),
    ), spec=False, out=()),
    Command("price", _DECIDE, "what privacy costs with your numbers: losses, users and weeks",
            "--baseline 3.1% --lifts 8%,15% --weekly 40000 --weeks 26 --epsilon 1,2", (
        _option("file", "observations (CSV, xlsx), instead of a baseline and lifts", "FILE", nargs="?"),
        _option("--option", "column of the file that says which option each person was given", "NAME"),
        _option("--outcome", "column with what each person brought, or of successes", "NAME"),
        _option("--person", "column that names the person", "NAME"),
        _option("--weight", "column with the number of people of a row", "NAME"),
        _option("--rows", "what a row is: a person, a total, or wide: a column for each option",
                choices=("person", "total", "wide")),
        _option("--answer", "an answer to another question about the file; may be repeated", "KEY=ANSWER",
                action="append"),
        _option("--baseline", "rate of the present option, such as 3.1%%", "P"),
        _option("--lifts", "what each new option adds: 5%%, a range 8-15%%, or ?", "A,B"),
        _option("--first", "option of the file that the others are compared with", "NAME"),
        _number("purchase", "mean and spread of a purchase; the baseline is who buys", "M,SD", _several),
        _number("limits", "smallest and largest reward, where there are amounts", "A,B", _several),
        _option("--epsilon", "budgets of a person", "A,B", default="0.5,1,2,4"),
        _trust("local,central"), _JOBS, *_numbers(PRICE_NUMBERS),
    ), spec=False, out=(".html",)),
    Command("power", _DECIDE, "users that an A/B test needs, with and without privacy",
            "--baseline 4% --lift 10% --epsilon 1", (
        _option("--lift", "instead of the effect: what the new option adds to the baseline, such as 15%%", "L"),
        *_numbers(POWER_NUMBERS),
        _number("users", "users of the whole test: then effect, power or epsilon is searched"),
        _option("--solve", "what follows from --users (default effect)", choices=get_args(Solved), default="effect"),
        _option("--goal", "find the best, or what beats the baseline (default: both)", choices=get_args(Goal)),
        _option("--spending", "boundaries of the looks (default obrien-fleming)", choices=get_args(Spending),
                default="obrien-fleming"),
        _trust("none,local,central"),
    ), spec=False, out=()),
    Command("decide", _DECIDE, "users until each line of a spec has decided which arm is best",
            "question.toml --delta 0.05", (
        _option("--rule", "threshold (default proved)", default="proved", choices=("proved", "heuristic")),
        _option("--split-visits", "people who come N times: ε/N for each answer", action="store_true"),
        _number("trials", "independent runs, instead of the spec's"),
        _JOBS, *_numbers({"delta": STOPPING_NUMBERS["delta"]}),
    ), out=()),
    Command("stopping", _DECIDE, "users until a decision, and how often it is wrong",
            "--means 0.05,0.044,0.04 --policy ctb-tt", (
        _option("--means", "chances of the options; without them, instances that mislead", "A,B,C"),
        _option("--policy", "policies that stop (default: all), each by every rule it knows", "A,B"),
        _JOBS, *_numbers(STOPPING_NUMBERS),
    ), spec=False, out=()),
    Command("budget", _DECIDE, "what a person in several tests may spend in each", "--epsilon 2 --tests 4",
            (*_numbers(BUDGET_NUMBERS),), spec=False, out=()),
    Command("check-policy", _POLICY, "say what holds of the policies in a Python file", "noisy_greedy.py", (
        _option("files", "a Python file that ends in POLICY = Policy(...)", "FILE", nargs="+"),
    ), spec=False),
    Command("benchmark", _POLICY, "scores of the standing benchmark", "--policy noisy_greedy.py", (
        _option("names", "policies to play anew; without them what ships is read", "NAME", nargs="*"),
        _option("--play", "play every policy anew, and read nothing that ships", action="store_true"),
        _JOBS,
        _option("--data", "with --play or policies: write every case's numbers to this CSV file", "FILE"),
        _option("--table", "print all scores as a document (Markdown)", action="store_true"),
    ), spec=False, out=()),
    Command("releases", _POLICY, "print what each private line releases, for an account of your own", "tossou-2a",
            out=()),
    Command("build", _POLICY, "print what each line would take where people use it, with programs that draw its noise",
            "trust"),
    Command("audit", _POLICY, "estimate the epsilon that a mechanism or a run really has",
            "ctb-as-printed --epsilon 0.1", (
        _option("name", "what to audit besides the policies of files; `list audits` says what there is", "NAME",
                nargs="?"), *_numbers(AUDIT_NUMBERS),
    ), spec=False, out=()),
    Command("link", "Share", "print the address that opens this picture", "trust --base https://lab.example.org", (
        _option("--base", "address of the app", "URL", default="http://localhost:8501"),
    )),
    Command("export", "Share", "write lessons: a picture with a slider as one HTML file", "trust --out lesson.html", (
        _option("specs", f"{SPEC_HELP}; several make a course", "SPEC", nargs="+"),
        _option("--out", "a file that ends in .html, or a folder", "PLACE", required=True),
        _option("--slider", "what it moves: epsilon or horizon", "NAME", default="epsilon"),
        _number("at", "positions of the slider, instead of the usual ones", "A,B,C", _several),
        _option("--base", "address of the app, for links back to it", "URL", default=""),
        *_CHANGES, _JOBS,
    ), spec=False),
    Command("app", "Share", "start the app in a browser (settings of its server: STREAMLIT_...)", "--port 8502", (
        _number("port", "where it listens (default 8501)", default=8501),
    ), spec=False),
    Command("reproduce", "The papers", "compute figures of the papers at their own scale",
            "ren-1c --trials 10 --out mine", (
        _option("names", "a figure, or one of its presets (default: all)", "NAME", nargs="*"),
        _option("--out", "folder of the files, instead of the one that ships", "DIR"),
        _JOBS,
        _number("trials", "at most so many trials of each line; the file says so"),
        _option("--fresh", "use nothing computed before, for honest times", action="store_true"),
        _option("--table", "compute nothing: print what the files say (Markdown)", action="store_true"),
        _option("--details", "with --table: also readings, tests and times", action="store_true"),
        _option("--since", "with --table: only verdicts that differ from that table's", "FILE"),
    ), spec=False),
    Command("errata", "The papers", "check the errata of the papers, or one of them", "ren-curator-3", (
        _option("name", "of one erratum; without it all are checked", "NAME", nargs="?"),
    ), spec=False),
    Command("warm", "A server", "compile every kernel, so that the first visitor need not wait", "--jobs 2", (_JOBS,),
            spec=False),
)  # fmt: skip


def read(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Some options of a command, by name."""
    return {name: share(options, name) if name in SHARES else getattr(options, name) for name in names}


def share(options: argparse.Namespace, name: str) -> float:
    """What an option says as a share: 8%, 8 and 0.08 are the same; see `read_shares`."""
    return read_shares(name, getattr(options, name), asks=name not in ("alpha", "delta", "power"))[0]


def as_typed(options: argparse.Namespace, error: InputError) -> InputError:
    """The same problems, with what was typed in place of what became of it."""
    typed = {name: said for name, said in vars(options).items() if isinstance(said, str)}
    issues = []
    for issue in error.issues:
        name = "lift" if issue.path == "effect" and "lift" in typed else issue.path
        issues.append(replace(issue, path=name, value=typed.get(name, issue.value)))
    return InputError(issues)
