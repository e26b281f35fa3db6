"""What commands share: options (``command_options.toml``), tables they print or write, progress in a terminal."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shlex
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from string import Template
from typing import Any, get_args

from bandit_core.data.spreadsheets import to_csv
from bandit_core.policies import load_policy
from bandit_core.simulation.results import latex, markdown, versions
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue, refuse_if
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import either, p_value, read_shares, typed_numbers
from bandit_core.theory.power import EVERY_TRUST, Goal, Solved, Spending

# ---------------------------------------------------------------------------------------------------------------------
# A table of results on standard output, or as a file: CSV, JSON, Parquet, LaTeX, Markdown; and its picture.


ENDINGS = (".csv", ".json", ".parquet", ".tex", ".md")
PICTURES = (".pdf", ".svg", ".png", ".html")


def check(out: str | None, pictures: Sequence[str] = ()) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Raises
    ------
    InputError
        Where its ending is none of `ENDINGS`, nor of ``pictures``, or its folder takes no file.
    """
    if out is None:
        return
    endings, folder = (*ENDINGS, *pictures), Path(out).parent
    refuse_if(Path(out).suffix.lower() not in endings, "out", out, f"a file that ends in {', '.join(endings)}")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError([Issue("out", out, f"cannot be written: {folder} is no folder that takes files")])


def write(
    frame: pd.DataFrame,
    out: str | None,
    texts: Mapping[str, Callable[[], str]] = {},
    picture: Callable[[str], object] | None = None,
) -> None:
    """Write ``frame`` to the file ``out``, or to standard output; floats with all their digits.

    LaTeX and Markdown show six of them, unless ``texts`` gives a table that is better to read for its ending, and a
    terminal four. ``picture`` writes a file that is one of `PICTURES`. Parquet keeps ``attrs["made"]``: how the numbers
    were made, at least the command and the versions.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
    form = Path(out).suffix.lower() if out is not None else ""
    try:
        if out is None and sys.stdout.isatty():
            print(_readable(frame))
        elif out is None:
            to_csv(frame, sys.stdout)
        elif picture is not None and form in PICTURES:
            picture(out)
        elif form == ".csv":
            to_csv(frame, out)
        elif form == ".parquet":
            frame.attrs.setdefault("made", {"command": shlex.join(sys.argv[1:]), "versions": dict(versions())})
            frame.to_parquet(out, index=False)
        else:
            usual: dict[str, Callable[[pd.DataFrame], str]] = {
                ".json": _rows, ".tex": partial(_table, latex), ".md": partial(_table, markdown),
            }  # fmt: skip
            Path(out).write_text(texts[form]() if form in texts else usual[form](frame), encoding="utf-8")
    except (InputError, BrokenPipeError):
        raise
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())
        raise InputError([Issue("out", out, f"cannot be written: {reason}")]) from None
    if out is not None:
        print(f"written: {out}", file=sys.stderr)


def _readable(frame: pd.DataFrame) -> str:
    """The frame for a terminal."""
    tests = {name: p_value for name in frame.columns if str(name).startswith("p_")}
    return str(frame.to_string(index=False, float_format="{:.4g}".format, formatters=tests, na_rep="–"))


def _rows(frame: pd.DataFrame) -> str:
    """A list of row objects; what is not finite is null, for JSON has no other word for it."""
    rows = [
        {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows) + "\n]\n"


def _table(write_rows: Callable[..., str], frame: pd.DataFrame) -> str:
    """The frame as it is, in the words of ``write_rows``."""
    columns = [str(name) for name in frame.columns]
    digits = [p_value if name.startswith("p_") else "{:.6g}".format for name in columns]
    rows = [
        [write(value) if isinstance(value, float) else str(value) for write, value in zip(digits, row, strict=True)]
        for row in frame.itertuples(index=False, name=None)
    ]
    return write_rows(columns, rows, frame.attrs.get("made"))


# ---------------------------------------------------------------------------------------------------------------------
# The options of every command: `command_options.toml` has them.


SHARES = ("baseline", "effect", "alpha", "delta", "power", "zone")  # numbers that a percent sign may follow


@dataclass(frozen=True)
class Command:
    """A command: the group that ``--help`` shows it in, what it does, an example, and its options.

    ``numbers`` names the options that are numbers with a default.

    ``spec``: its first word is an experiment. ``out`` says what ``--out`` may be besides a table (nothing here:
    `ENDINGS`), and is None where the command has an ``--out`` of its own, or none.
    """

    name: str
    group: str
    words: str
    example: str
    options: tuple[tuple[str, dict[str, Any]], ...] = ()
    numbers: tuple[str, ...] = ()
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


def _number(text: str) -> int | float | str:
    """A number as people type it; the text itself where it is none."""
    found, percent = typed_numbers(text)
    if len(found) > 1:
        raise argparse.ArgumentTypeError(f"{text!r}: {either(found)}")
    return notation.read_number(str(found[0]) if found and not percent else text)


def _several(text: str) -> list[int | float | str]:
    return [notation.read_number(part) for part in text.split(",")]


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


_READERS: dict[str, Any] = {"number": _number, "numbers": _several, "words": _words}
_CHOICES = {"--solve": get_args(Solved), "--goal": get_args(Goal), "--spending": get_args(Spending)}
_OUT = {"table": (), "pictures": PICTURES, "page": (".html",)}


def _option(said: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """An option of the file, or the name there of one of several commands, as argparse takes it."""
    words = dict(_FILE["options"][said] if isinstance(said, str) else said)
    if number := words.pop("number", None):
        default = words["default"].replace("%", "%%")
        words |= {"name": f"--{number}", "help": f"{words['help']} (default {default})"}
        words["type"] = str if number in SHARES else _number
    elif "read" in words:
        words["type"] = _READERS[words.pop("read")]
    if "type" in words:
        words.setdefault("metavar", "N")
    if words["name"] in _CHOICES:
        words["choices"] = _CHOICES[words["name"]]
    return words.pop("name"), words


def _command(options: Sequence[Any] = (), out: str | None = None, **words: Any) -> Command:
    numbers = [_FILE["options"].get(each, {}) if isinstance(each, str) else each for each in options]
    return Command(
        **words,
        options=tuple(map(_option, options)),
        numbers=tuple(each["number"] for each in numbers if "number" in each),
        out=None if out is None else _OUT[out],
    )


SPEC_HELP = "a preset name, a .json or .toml file, a link of the app, or - for JSON on standard input"
_FILE = tomllib.loads(
    Template(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).substitute(
        spec=SPEC_HELP, trusts=", ".join(EVERY_TRUST)
    )
)
COMMANDS = tuple(_command(**each) for each in _FILE["commands"])


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


# ---------------------------------------------------------------------------------------------------------------------
# A run that a person watches in a terminal: how far it is, on standard error, and Ctrl-C.


SILENT = 2.0  # seconds, after which a run says how far it is, however little that is


class Progress:
    """Percent done, on standard error: one line that is rewritten on a terminal, else a line per tenth."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown, self._late = 0, time.monotonic() + SILENT

    def __call__(self, simulation: Any) -> None:
        percent = int(100 * simulation.fraction)
        if percent < self._shown + (1 if self._terminal else 10) and time.monotonic() < self._late:
            return
        self._shown, self._late = percent, float("inf")
        sys.stderr.write(f"\r{percent:>5}%" if self._terminal else f"{percent}%\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._terminal:
            sys.stderr.write("\r      \r")


def finished(simulation: Any, jobs: int | None) -> Any:
    """The result of a run, sweep or study, with progress on standard error.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once the run has stopped.
    """
    progress = Progress()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            simulation.run(jobs)
        except BaseException as error:
            failures.append(error)

    # Compiled code hears no Ctrl-C, so it runs beside the thread that does.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
            progress(simulation)
    except KeyboardInterrupt:
        simulation.stop()
        thread.join()
        progress.end()
        stored = "; finished blocks of trials are kept and will not be computed again" if simulation.kept else ""
        print(f"interrupted{stored}", file=sys.stderr)
        raise
    progress.end()
    for notice in simulation.notices:
        print(notice, file=sys.stderr)
    if failures:
        raise failures[0]
    return simulation.result()
