"""The options of every command: `command_options.toml` has them."""

import argparse
import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Any, get_args

from bandit_core.export import frames
from bandit_core.policies import load_policy
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import read_shares
from bandit_core.theory.critical_values import Spending
from bandit_core.theory.power import EVERY_TRUST, Goal, Solved

SHARES = ("baseline", "effect", "alpha", "delta", "power", "zone")  # numbers that a percent sign may follow


@dataclass(frozen=True)
class Command:
    """A command: the group that ``--help`` shows it in, what it does, an example, and its options.

    ``numbers`` names the options that are numbers with a default.

    ``spec``: its first word is an experiment. ``out`` says what ``--out`` may be besides a table (nothing here:
    `frames.ENDINGS`), and is None where the command has an ``--out`` of its own, or none.
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


def _several(text: str) -> list[int | float | str]:
    return [notation.read_number(part) for part in text.split(",")]


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


_READERS: dict[str, Any] = {"number": notation.read_number, "numbers": _several, "words": _words}
_CHOICES = {"--solve": get_args(Solved), "--goal": get_args(Goal), "--spending": get_args(Spending)}
_OUT = {"table": (), "pictures": frames.PICTURES, "page": (".html",)}


def _option(said: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """An option of the file, or the name there of one of several commands, as argparse takes it."""
    words = dict(_FILE["options"][said] if isinstance(said, str) else said)
    if number := words.pop("number", None):
        default = words["default"].replace("%", "%%")
        words |= {"name": f"--{number}", "help": f"{words['help']} (default {default})"}
        words["type"] = str if number in SHARES else notation.read_number
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
