"""The whole site, written into a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from bandit_core import simulate
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset
from bandit_core.export import course
from bandit_core.export.positions import Positions
from bandit_core.spec.errors import InputError, Issue
from ui import charts, gallery
from ui.site import benchmark, learn, papers
from ui.site.frame import PLACES, Site, words

LESSONS = ("trust-ladder", "shy-users", "two-treatments")
_ABOUT = {
    "learn/index.html": "Ten short steps: guess first, then look.",
    "lessons/index.html": "One picture each, with a slider that moves it.",
    "papers/index.html": "The figures of the papers, computed again, and whether what they say holds.",
    "benchmark.html": "Every policy on the same tasks.",
}
Run = Callable[[Positions], Any]


def write(out: str, base: str = "", lessons: Sequence[str] = LESSONS, run: Run = Positions.run) -> list[Path] | None:
    """Write the site into the folder ``out``.

    Parameters
    ----------
    out
        The folder; it is made where it is not there.
    base
        Address of an app, for links to what needs one.
    lessons
        Presets that become lessons with a slider.
    run
        Computes the positions of a lesson; None from it means that it was interrupted, and nothing is written.

    Returns
    -------
    list of Path, or None
        The files; None where it was interrupted.

    Raises
    ------
    InputError
        For a preset that is none, or cannot be a lesson, and where a file cannot be written.
    """
    course.check(out, ("", ""))
    site = Site(base.rstrip("/"))
    made = [Positions(load_preset(name)) for name in lessons]
    results = [run(positions) for positions in made]
    if any(found is None for found in results):
        return None
    _start(site)
    _lessons(site, lessons, made, results)
    for part in (learn, papers, benchmark):
        part.write(site)
    return _written(Path(out), site.files)


def _start(site: Site) -> None:
    experiment = gallery.home_experiment(1.0)
    result = simulate(experiment)
    picture = site.picture("start.svg", charts.regret_chart(result, False), charts.describe(result), True)
    links_ = "".join(
        f'<li><a href="{place}">{PLACES[place]}</a><p class="quiet">{message}</p></li>'
        for place, message in _ABOUT.items()
    )
    body = (
        "<p>A website, a clinic or a phone learns from people by trying options. Privacy hides each person's answer in "
        "noise, and the learner pays for it in lost rewards. How much, depends on whom one trusts.</p>"
        f'{picture}<ul class="pages">{links_}</ul>{site.hosted("", {}, "The whole lab, with every control")}'
    )
    site.add("index.html", "The price of privacy", body)


def _lessons(site: Site, names: Sequence[str], made: Sequence[Positions], results: Sequence[Any]) -> None:
    """The lessons with their sliders, and a page that shows each at its start without any script."""
    entries = []
    for place, (name, positions, found) in enumerate(zip(names, made, results, strict=True)):
        lesson = course.lesson(names, place, positions, found, folder=True, base=site.base)
        site.files[f"lessons/{name}.html"] = lesson.text.encode()
        start = found[positions.start]
        figure = charts.regret_chart(start, False)
        picture = site.picture(f"lessons/{name}.svg", figure, charts.describe(start), not place)
        hosted = site.hosted("explore", links.write(positions.experiment), "Open it with all controls")
        entries.append(
            f'<li><h2><a href="{escape(name)}.html">{escape(lesson.title)}</a></h2>{picture}<p>{lesson.sentence}</p>'
            f'<p class="quiet">{words(lesson.note)}</p>{hosted}</li>'
        )
    message = (
        "<p>Each lesson opens with a slider; without JavaScript it is told in words, and this page has its picture.</p>"
    )
    site.add("lessons/index.html", "Lessons", f'{message}<ul class="pages">{"".join(entries)}</ul>')


def _written(folder: Path, files: dict[str, bytes]) -> list[Path]:
    try:
        for place, content in files.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise InputError([Issue("out", str(folder), f"cannot be written: {error.strerror}")]) from None
    return [folder / place for place in files]
