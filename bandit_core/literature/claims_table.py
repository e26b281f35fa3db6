"""The verdicts as Markdown: every statement and its verdict, and on request readings, tests and how files were made."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from bandit_core.literature import papers, reproductions
from bandit_core.literature.claims import HOW, Held, Verdict, reading_words, verdicts

_Judged = list[tuple[str, Verdict]]


def table(names: list[str], folder: Path | None = None, details: bool = False) -> str:
    """The verdict on every statement about the files of these names, and ``details`` of each: Markdown."""
    more = "" if details else " `--details` adds other readings, the tests and how long each file took."
    out = [
        "# Can we reproduce the papers' figures?\n",
        f"Made by `python -m bandit_core reproduce --table`; do not edit by hand.{more}\n",
    ]
    wanted = [
        (paper, figure)
        for paper in papers.papers()
        for figure in paper.figures
        if not figure.presets or set(figure.presets) & set(names)
    ]
    judged = [
        (f"{paper.short}, {figure.title.partition(':')[0]}", verdict)
        for paper, figure in wanted
        for verdict in verdicts(figure, folder)
    ]
    out += [
        f"{' '.join(tally(verdict for _, verdict in judged))} Those with * are our reading of a theorem, the others "
        "are the paper's own.\n",
        f"{HOW}\n",
        "\n".join(["| figure | statement | paper | here | |", "|---|---|---|---|---|", *_rows(judged)]) + "\n",
    ]
    if details:
        tests = [f"| {title} | {each.says} | {each.test.words} |" for title, each in judged if each.test is not None]
        out += [
            "## Other readings\n",
            "\n".join(_explanations(judged)) + "\n",
            "## The tests\n",
            "\n".join(["| figure | statement | test |", "|---|---|---|", *tests]) + "\n",
            "## How long it took\n",
            _costs(names, folder),
        ]
    return "\n".join(out)


def tally(judged: Iterable[Verdict]) -> tuple[str, str]:
    """How many statements on orders and shapes have which verdict; and the same of printed numbers and extremes."""
    verdicts = list(judged)

    def counted(about_a_number: bool, what: str) -> str:
        counts = Counter(each.held for each in verdicts if each.about_a_number == about_a_number)
        counts.pop("not checked", None)
        words = ", ".join(f"{counts[held]} {held}" for held in get_args(Held) if held in counts)
        return f"{sum(counts.values())} {what}: {words or 'none'}."

    missing = sum(each.held == "not checked" for each in verdicts)
    numbers = counted(True, "printed numbers and extremes")
    return counted(False, "statements on orders and shapes"), f"{numbers} {missing} not checked, each with its reason."


def _rows(judged: _Judged) -> list[str]:
    rows = []
    for title, verdict in judged:
        word = f"**{verdict.held}**" if verdict.held == "not confirmed" else verdict.held
        mark = " *" if verdict.basis == "reading" else ""
        rows.append(f"| {title} | {verdict.says}{mark} | {verdict.reported} | {verdict.measured} | {word} |")
    return rows


def _explanations(judged: _Judged) -> list[str]:
    """Every statement that was judged under other readings, with what came out."""
    rows = []
    for title, verdict in judged:
        if not verdict.readings:
            continue
        rows.append(f"- {title}: {verdict.says} **{verdict.held}**. {verdict.explained}".rstrip())
        rows += [f"  - {reading_words(name, other)}" for name, other in verdict.readings]
    return rows


_TITLE, _SAYS, _HELD = 0, 1, 4  # columns of a row of the table


def _read_rows(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and measurement of every statement of a table, by figure and statement."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" |")]
        if len(cells) == _HELD + 1 and cells[_HELD].strip("*") in get_args(Held):
            rows[cells[_TITLE], cells[_SAYS]] = (cells[_HELD].strip("*"), cells[_HELD - 1])
    return rows


def changes(before: str, after: str) -> str:
    """The statements whose verdicts differ between two tables as `table` writes them, as Markdown."""
    old, new = _read_rows(before), _read_rows(after)
    rows = ["| figure | statement | before | now | before, measured | now, measured |", "|---|---|---|---|---|---|"]
    for key in [*new, *(key for key in old if key not in new)]:
        then, now = old.get(key, ("–", "–")), new.get(key, ("–", "–"))
        if then[0] != now[0]:
            rows.append(f"| {key[0]} | {key[1]} | {then[0]} | {now[0]} | {then[1]} | {now[1]} |")
    return "\n".join(rows) + "\n"


def _costs(names: list[str], folder: Path | None) -> str:
    rows = [
        "| file | users | trials | seconds | processor seconds | from the cache | date | machine |",
        "|---|---|---|---|---|---|---|---|",
    ]
    wall = work = reused = 0.0
    for name in names:
        shipped = reproductions.load(name, folder)
        if shipped is None:
            rows.append(f"| {name} | not made yet | | | | | | |")
            continue
        made = shipped.made
        wall, work, reused = wall + made["seconds"], work + made["processor_seconds"], reused + made["found"]
        trials = f"{min(line.count for line in shipped.lines)} of {shipped.experiment.trials}"
        rows.append(
            f"| {name} | {shipped.experiment.horizon:.0e} | {trials} | {made['seconds']:.1f} | "
            f"{made['processor_seconds']:.1f} | {made['found']:.0%} | {made['date']} | "
            f"{made['machine']}, {made['cores']} cores |".replace("e+0", "e")
        )
    total = f"Together {wall / 60:.1f} minutes on the clock, {work / 60:.1f} of processor time. "
    words = (
        "Compiling is not counted. Seconds on the clock include waiting for other programs on the same machine; "
        "processor seconds divided by the number of cores are what an idle machine needs at least."
    )
    if reused:
        words += " Lines that several figures share were computed once: what was found in the cache took no time."
    return "\n".join(rows) + "\n\n" + total + words + "\n"
