"""The parts of the page Papers: a figure beside what its paper says, and computed again."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from functools import lru_cache, partial
from typing import Any, Literal, get_args

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core.data.spreadsheets import to_csv
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset
from bandit_core.literature import claims, papers, reproductions
from bandit_core.literature.claims import Held, Verdict
from bandit_core.literature.papers import Figure, Paper
from bandit_core.literature.reproductions import Shipped
from bandit_core.simulation.costs import estimated_seconds, steps
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import Issue
from bandit_core.spec.number_text import percent
from bandit_core.studies import sweep
from ui import charts, figures, lab_parts, page_fields, page_links, runner, state, theme, threshold_view, uploads, words
from ui.page_fields import Field

# ---------------------------------------------------------------------------------------------------------------------
# Computing a paper's figure again, here and with other random numbers, beside the shipped one.


def rerun_panel(name: str) -> None:
    """The command that computes the shipped file, and a run of one's own with another seed."""
    experiment = load_preset(name)
    st.markdown("On a computer with the project installed, this command computes the shipped file again:")
    st.code(f"python -m bandit_core reproduce {name}", language="bash")
    help = "Another seed gives other random numbers. The result should agree within its errors."
    field = Field("seed", "Seed of another run", 0, help, "number", (0, 2**53 - 1))
    seed = page_fields.draw(field, experiment.seed + 1, f"again-seed-{name}")
    time = words.duration(estimated_seconds(experiment))
    label, help = f"Compute here ({words.count(steps(experiment))} pulls, {time})", "Short runs start at once. "
    if not st.toggle(label, key=f"again-{name}", help=f"{help}Longer ones ask first and can be cancelled."):
        return
    result = runner.result_of(
        experiment.with_changes(seed=seed, view={**experiment.view.model_dump(mode="json"), "bounds": False}),
        f"again-{name}",
    )
    shipped = reproductions.load(name)
    if result is None:
        return
    if shipped is not None:
        rows, apart = beside(result, shipped)
        st.markdown(agreement(apart))
        lab_parts.table(words.table(rows), "again")
    drawn = charts.regret_chart(result, theme.is_dark(), 380, direct_labels=not theme.is_phone())
    figures.plot(drawn, "again-figure", alt=charts.describe(result))


def beside(result: Result, shipped: Shipped) -> tuple[pd.DataFrame, list[float]]:
    """Final regret of both runs, a row per line; and the differences in their standard errors, NaN without an error."""
    rows, apart = [], []
    for number, (again, theirs) in enumerate(zip(result.lines, shipped.lines, strict=True)):
        if again is None:
            continue
        (mine, my_error), (other, error) = ((float(each.mean[-1]), float(each.stderr[-1])) for each in (again, theirs))
        both = math.hypot(my_error, error)
        apart.append(abs(mine - other) / both if both > 1e-9 * abs(other) else math.nan)
        rows.append(
            {
                "policy": shipped.experiment.label(number),
                "this run": words.with_error(mine, my_error),
                "shipped": words.with_error(other, error),
                "standard errors apart": "–" if math.isnan(apart[-1]) else f"{apart[-1]:.1f}",
            }
        )
    return pd.DataFrame(rows), apart


def agreement(distances: list[float]) -> str:
    """Whether the two runs agree, in a sentence."""
    apart = [value for value in distances if math.isfinite(value)]
    if not apart:
        return "Neither run has an error to compare with."
    wide = sum(value > 3 for value in apart)
    trust = "They agree." if not wide else f"{wide} of {len(apart)} curves are more than three standard errors apart."
    return f"This run and the shipped one are at most **{max(apart):.1f}** standard errors apart. {trust}"


# ---------------------------------------------------------------------------------------------------------------------
# Papers' parts: which paper and figure, and a figure beside what its paper says.


EVERY = "all"
HELD: tuple[Held, ...] = get_args(Held)
_MARKS: dict[Held, tuple[str, Literal["green", "blue", "red", "orange", "grey"]]] = {
    "confirmed": ("check_circle", "green"),
    "compatible": ("join_inner", "blue"),
    "not confirmed": ("cancel", "red"),
    "inconclusive": ("help", "orange"),
    "not checked": ("remove_circle", "grey"),
}


# ---------------------------------------------------------------------------------------------------------------
# What is looked at


@lru_cache(200)
def _verdicts(name: str, changed: int) -> tuple[Verdict, ...]:
    return tuple(claims.verdicts(papers.figures()[name]))


def verdicts(figure: Figure) -> tuple[Verdict, ...]:
    """The figure's statements with their verdicts; computed anew when a shipped file is put in the place of another."""
    return _verdicts(figure.name, reproductions.FOLDER.stat().st_mtime_ns)


def chip(paper: Paper) -> str:
    """First author and year."""
    return f"{paper.authors.partition(',')[0].split()[-1]} {paper.year}"


def tally() -> tuple[str, str]:
    """How many statements have which verdict, over all papers; printed numbers are counted apart."""
    return claims.tally(each for figure in papers.figures().values() for each in verdicts(figure))


def choose() -> tuple[list[Figure], DeltaGenerator]:
    """The figures of the chosen papers that have a statement with the wanted verdict, and a place to choose one."""
    by_name = {paper.name: paper for paper in papers.papers()}
    asked = state.page_field("figure", "")
    owner = next((paper for paper in by_name.values() if asked in _names(paper)), None)
    first = next(iter(by_name))
    if owner is not None and "paper" not in st.query_params and asked != st.session_state.get("papers-opened"):
        state.keep_page_field("paper", owner.name, first)  # a link that names a figure needs no paper
    st.session_state["papers-opened"] = asked
    chips = {name: chip(paper) for name, paper in by_name.items()} | {EVERY: "All papers"}
    left, middle, right = st.columns([2, 3, 4])
    with left:
        help = "Show the figures of this paper."
        chosen = page_fields.ask(Field("paper", "Paper", first, help, "box", chips, key="papers-paper"))
    offered = {EVERY: "any"} | {str(held): str(held) for held in HELD}
    if owner is not None and chosen not in (EVERY, owner.name):
        state.keep_page_field("figure", "", "")  # another paper was chosen
    with middle:
        label, help = "Show figures with a statement that is", "Other figures are left out."
        wanted = page_fields.ask(Field("held", label, EVERY, help, "box", offered, key="papers-held"))
    figures = [figure for paper in by_name.values() if chosen in (EVERY, paper.name) for figure in paper.figures]
    shown = [each for each in figures if wanted == EVERY or any(verdict.held == wanted for verdict in verdicts(each))]
    if not shown:
        st.info(f"No figure here has a statement that is {wanted}. Choose another verdict, or all papers.")
    return shown, right


def _names(paper: Paper) -> set[str]:
    """Figures of a paper, and presets that are panels of one."""
    return {name for figure in paper.figures for name in (figure.name, *figure.presets)}


def opened(shown: list[Figure], place: DeltaGenerator) -> tuple[Figure, str]:
    """The figure to show and its panel: what the address says, else the first with a number of the paper's."""
    asked = state.page_field("figure", "")
    if asked and asked not in {name for paper in papers.papers() for name in _names(paper)}:
        page_fields.refuse(Issue("figure", asked, "no such figure; choose another"))
    first = next((each for each in shown if any(verdict.reported for verdict in verdicts(each))), shown[0])
    current = next((each for each in shown if asked in (each.name, *each.presets)), first)
    names = {figure.name: figure for figure in shown}
    many = len({papers.paper_of(name).name for name in names}) > 1
    key = f"papers-figure-{current.name}"
    help = "Behind each title: how many of its statements are confirmed, and so on."
    offered = {name: _summary(figure, many) for name, figure in names.items()}
    field = Field("figure", "Figure", "", help, "box", offered)
    page_fields.draw(field, current.name, key, place, on_change=_open, args=(key, first.name))
    return current, asked if asked in current.presets else (current.presets or ("",))[0]


def _summary(figure: Figure, with_paper: bool) -> str:
    """Title of a figure, and how many of its statements have which verdict."""
    counts = Counter(each.held for each in verdicts(figure))
    held = ", ".join(f"{counts[each]} {each}" for each in HELD if counts[each])
    return f"{f'{chip(papers.paper_of(figure.name))} · ' * with_paper}{figure.title} ({held})"


def _open(key: str, first: str = "") -> None:
    """Callback of a control that chooses a figure, or a panel of one: the address follows it, without the first."""
    state.refused_fields().pop("figure", None)
    state.keep_page_field("figure", st.session_state[key], first)


# ---------------------------------------------------------------------------------------------------------------
# One figure


def _without_bounds(shipped: Shipped, panel: str) -> Shipped:
    quiet = load_preset(panel).view.model_copy(update={"bounds": False, "runs": False})
    return dataclasses.replace(shipped, experiment=shipped.experiment.model_copy(update={"view": quiet}))


def _chart(shipped: Shipped, figure: Figure, dark: bool = False, direct: bool = False) -> go.Figure:
    """The figure from shipped numbers of a panel or of a reading of it."""
    if is_fit(figure):
        return threshold_view.fit_chart(sweep.points(shipped), dark)
    return charts.regret_chart(shipped, dark, 400, direct_labels=direct)


def _for_print(shipped: Shipped, figure: Figure, spec: dict[str, Any]) -> go.Figure:
    drawn = _chart(shipped, figure)
    if not is_fit(figure):
        charts.name_band(drawn, shipped)
    drawn.layout.meta = {"spec": spec, "seed": shipped.experiment.seed, **shipped.made}
    return drawn


def _described(shipped: Shipped, figure: Figure) -> str:
    if is_fit(figure):
        return f"Regret against V for {len(sweep.points(shipped))} policies, and a straight line."
    return charts.describe(shipped)


def is_fit(figure: Figure) -> bool:
    """Whether the figure draws regret against V instead of against time."""
    return any(isinstance(claim, papers.Straight) and claim.over == "V" for claim in figure.claims)


@uploads.refused
def shipped_or_told(name: str) -> Shipped | None:
    """The shipped file; what is wrong with it is told."""
    shipped = reproductions.load(name)
    if shipped is None:
        st.info(f"Not computed yet. `python -m bandit_core reproduce {name}` does it.", icon=":material/hourglass:")
    return shipped


def scale_words(shipped: Shipped) -> str:
    """At which scale the figure was played."""
    experiment = shipped.experiment
    trials = min(line.count for line in shipped.lines)
    size = f"{words.count(experiment.horizon)} users, {trials:,} runs"
    if shipped.is_complete:
        return f"full scale: {size}"
    return f"at {trials:,} of {experiment.trials:,} runs: {size}"


def made_words(shipped: Shipped) -> str:
    """When, where, and in how much time the numbers were made."""
    made = shipped.made
    reused = f" ({percent(made['found'])} of the work had been done for other figures)" if made["found"] else ""
    versions = ", ".join(f"{name} {text}" for name, text in made["versions"].items())
    return words.plain(
        f"Computed on {made['date']} in {words.number(made['seconds'])} s, {words.number(made['processor_seconds'])} s "
        f"of processor time{reused}; {made['machine']}, {made['cores']} cores; seed {shipped.experiment.seed}, "
        f"{versions}."
    )


def statements(figure: Figure) -> str:
    """What the figure shows, what the paper says of it, and the verdicts."""
    return "\n\n---\n\n".join([words.plain(figure.shows), *map(_statement, verdicts(figure))])


def _statement(verdict: Verdict) -> str:
    icon, colour = _MARKS[verdict.held]
    reading = " *(our reading)*" if verdict.basis == "reading" else ""
    paper = f"paper **{words.plain(verdict.reported)}** · " if verdict.reported else ""
    measured = words.plain(verdict.measured)
    parts = [
        f":{colour}-badge[:material/{icon}: {verdict.held}] {words.plain(verdict.says)}{reading}",
        f":small[{measured}]" if verdict.held == "not checked" else f"{paper}here **{measured}**",
    ]
    if verdict.explained and verdict.held != "not checked":
        parts.append(f":small[{words.plain(verdict.explained)}]")
    return "\n\n".join(parts)


def tests(figure: Figure) -> None:
    """How the verdicts were reached, folded."""
    found = [verdict for verdict in verdicts(figure) if verdict.detail]
    if found:
        lab_parts.fold("How each was tested", "papers-tests", partial(_tested, found), icon=":material/science:")


def _tested(judged: list[Verdict]) -> None:
    """The test of each statement, what it compared, and the same under other readings of the paper."""
    for verdict in judged:
        st.markdown(f"**{words.plain(verdict.says)}**")
        how = "calculated, nothing is random" if verdict.test is None else verdict.test.words
        parts = [how, *verdict.detail.split("; ")]
        parts += [f"reading: {claims.reading_words(name, other)}" for name, other in verdict.readings]
        st.caption("\n".join(f"- {words.plain(part)}" for part in parts))
    st.caption(words.plain(claims.HOW))


def large(figure: Figure, panel: str) -> None:
    """The chosen figure: picture on the left, statements on the right, what to do with it below."""
    left, right = st.columns([3, 2], gap="large")
    shipped, message = None, []
    with left:
        if len(figure.presets) > 1:
            _panels(figure, panel)
        if not panel:
            st.page_link(page_links.to(figure.page), label="Open Theory", icon=":material/arrow_forward:")
        elif (shipped := shipped_or_told(_reading(panel))) is not None:
            shown, direct = _without_bounds(shipped, panel), not theme.is_phone()
            how = figure.name, panel, shipped.name, reproductions.path_of(shipped.name).stat().st_mtime_ns, direct
            make, alt = partial(_chart, shown, figure, direct=direct), partial(_described, shown, figure)
            figures.draw("paper-figure", how, make, alt, tall=True)
            message = [scale_words(shipped)]
            if not is_fit(figure):
                message.append(words.band(min(line.count for line in shown.lines), shown.experiment.view))
        message = [*(f"{words.sentence(each)}." for each in message), words.plain(figure.caveat)]
        if any(message):
            st.caption(" ".join(filter(None, message)))
    right.markdown(statements(figure))
    paper = papers.paper_of(figure.name)
    where = f"[{words.plain(paper.where)}]({paper.link})" if paper.link else words.plain(paper.where)
    authors = f"{words.plain(paper.authors)} ({paper.year})"
    made = "" if shipped is None else f"\n\n:small[{made_words(shipped)}]"
    st.markdown(f"**{words.plain(paper.title)}** · {authors} · {where}. {words.plain(paper.about)}{made}")
    if shipped is not None:
        actions(shipped)
        lab_parts.fold_for_print(partial(_for_print, shown, figure, shipped.experiment.spec()), shipped.name)
    tests(figure)
    if panel:
        lab_parts.fold("Compute it again", "papers-again", partial(rerun_panel, panel), icon=":material/replay:")


AS_STATED = (
    "The picture shows this reading. The verdicts beside it are those of *as stated*; those of this reading are under "
    "*How each was tested*."
)


def _reading(panel: str) -> str:
    """The file to draw: the panel as it stands, or a reading of the paper's under which it was played as well."""
    offered = {panel: "as stated", **papers.readings_of(panel)}
    if len(offered) == 1:
        return panel
    help = "Where the paper is ambiguous, other ways to read it. The same statements are tested under each."
    chosen = _pills("Reading", offered, panel, f"papers-reading-{panel}", help)
    if chosen != panel:
        st.caption(AS_STATED)
    return chosen


def _panels(figure: Figure, panel: str) -> None:
    """Which panel of a figure with several."""
    titles = {name: load_preset(name).title.partition(": ")[2] for name in figure.presets}
    common = next(iter(titles.values()))
    while not all(title.startswith(common) for title in titles.values()):
        common = common.rpartition(",")[0]
    names = {name: title[len(common) :].lstrip(", ") or title for name, title in titles.items()}
    key = f"papers-panel-{figure.name}-{panel}"
    _pills("Panel", names, panel, key, "One setting of the figure.", on_change=_open, args=(key,))


def _pills(label: str, shown: dict[str, str], now: str, key: str, help: str, **options: Any) -> str:
    """A choice of ``shown`` in a row."""
    return st.pills(
        label, list(shown), default=now, key=key, required=True, format_func=shown.__getitem__, help=help, **options
    )


def actions(shipped: Shipped) -> None:
    """Open, and take away."""
    explore, data, file = st.columns(3)
    experiment, name = papers.played()[shipped.name].experiment, shipped.name
    page = page_links.to("explore" if experiment.contexts is None else "contextual")
    explore.page_link(
        page,
        label=f"Open in {page.title}",
        icon=":material/arrow_forward:",
        query_params=links.write(experiment),
        help=f"The same experiment with all controls; {words.duration(estimated_seconds(experiment))} at full scale.",
    )

    def settings_json() -> str:
        return json.dumps(json.loads(reproductions.path_of(name).read_text(encoding="utf-8")), indent=1)

    message = "Mean, standard error and quantiles of every policy."
    figures.download(data, "Numbers (CSV)", lambda: to_csv(reproductions.curves(shipped)), f"{name}.csv", message)
    message = "Settings, seed, versions, machine, time, curves, and the final regret of every run."
    figures.download(file, "Whole file (JSON)", settings_json, f"{name}.json", message)
