"""Papers' parts: which paper and figure, a figure beside what its paper says, and the cards of all figures."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from functools import lru_cache, partial
from typing import Literal, get_args

import plotly.graph_objects as go
import streamlit as st

from bandit_core import paths
from bandit_core.data.spreadsheets import to_csv
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset
from bandit_core.literature import claims, claims_table, papers, reproductions
from bandit_core.literature.claims import Held, Verdict
from bandit_core.literature.papers import Figure, Paper
from bandit_core.literature.reproductions import Shipped
from bandit_core.simulation.costs import estimated_seconds
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.number_text import percent
from bandit_core.studies import threshold_check
from ui import charts, figures, lab_parts, page_fields, page_links, shared, state, theme, threshold_view, words
from ui.papers import rerun

EVERY = "all"
HELD: tuple[Held, ...] = get_args(Held)
_MARKS: dict[Held, tuple[str, Literal["green", "blue", "red", "orange", "grey"]]] = {
    "confirmed": ("check_circle", "green"),
    "compatible": ("join_inner", "blue"),
    "not confirmed": ("cancel", "red"),
    "inconclusive": ("help", "orange"),
    "not checked": ("remove_circle", "grey"),
}
_SHORT = {"confirmed": "✓", "compatible": "≈", "not confirmed": "✗", "inconclusive": "?", "not checked": "–"}


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


def _box(label: str, name: str, default: str, help: str, shown: dict[str, str]) -> str:
    """A choice of ``shown`` that is the address field ``name``; the address wins whenever it says something new."""
    now = st.session_state
    asked = state.page_field(name, default)
    if f"papers-{name}" not in now or asked != now.get(f"papers-{name}-address"):
        now[f"papers-{name}"] = page_fields.choice(name, default, shown)
    chosen: str = st.selectbox(label, list(shown), key=f"papers-{name}", help=help, format_func=shown.__getitem__)
    if chosen != asked and asked in shown:
        state.keep_page_field(name, chosen, default)
    now[f"papers-{name}-address"] = state.page_field(name, default)
    return chosen


def tally() -> str:
    """How many statements have which verdict, over all papers; printed numbers are counted apart."""
    return claims_table.tally(each for figure in papers.figures().values() for each in verdicts(figure))


def choose() -> tuple[list[Paper], str]:
    """The papers to show, and which verdicts to look for (``all`` for any)."""
    known = {paper.name: paper for paper in papers.papers()}
    asked = state.page_field("figure", "")
    owner = next((paper for paper in known.values() if asked in _names(paper)), None)
    first = next(iter(known))
    if owner is not None and "paper" not in st.query_params and asked != st.session_state.get("papers-opened"):
        state.keep_page_field("paper", owner.name, first)  # a link that names a figure needs no paper
    st.session_state["papers-opened"] = asked
    chips = {name: chip(paper) for name, paper in known.items()} | {EVERY: "All papers"}
    left, right = st.columns(2)
    with left:
        chosen = _box("Paper", "paper", first, "Show the figures of this paper.", chips)
    offered = {EVERY: "any"} | {str(held): f"{_SHORT[held]} {held}" for held in HELD}
    if owner is not None and chosen not in (EVERY, owner.name):
        state.keep_page_field("figure", "", "")  # another paper was chosen
    with right:
        wanted = _box("Show figures with a statement that is", "held", EVERY, "Other figures are left out.", offered)
    return (list(known.values()) if chosen == EVERY else [known[chosen]]), wanted


def _names(paper: Paper) -> set[str]:
    """Figures of a paper, and presets that are panels of one."""
    return {name for figure in paper.figures for name in (figure.name, *figure.presets)}


def figures_of(chosen: list[Paper], wanted: str) -> list[Figure]:
    """The figures of these papers that have a statement with the wanted verdict."""
    found = [figure for paper in chosen for figure in paper.figures]
    return [figure for figure in found if wanted == EVERY or any(each.held == wanted for each in verdicts(figure))]


def opened(shown: list[Figure]) -> tuple[Figure, str]:
    """The figure to show large, and its panel: what the address says, else the first with a number of the paper's."""
    asked = state.page_field("figure", "")
    for figure in shown:
        if asked == figure.name or asked in figure.presets:
            return figure, asked if asked in figure.presets else (figure.presets or ("",))[0]
    if asked and asked not in {name for paper in papers.papers() for name in _names(paper)}:
        message = words.issue(Issue("figure", asked, "no such figure; choose a card below"))
        st.warning(f"Part of this link could not be used: {message}", icon=":material/link_off:")
    figure = next((each for each in shown if any(verdict.reported for verdict in verdicts(each))), shown[0])
    return figure, (figure.presets or ("",))[0]


# ---------------------------------------------------------------------------------------------------------------
# One figure


def about(paper: Paper) -> None:
    """Who wrote it, where, and what it is about."""
    where = f"[{words.plain(paper.where)}]({paper.link})" if paper.link else words.plain(paper.where)
    st.markdown(f"**{words.plain(paper.title)}** · {words.plain(paper.authors)} ({paper.year}) · {where}")
    st.caption(words.plain(paper.about))


def _without_bounds(shipped: Shipped, panel: str) -> Shipped:
    quiet = load_preset(panel).view.model_copy(update={"bounds": False, "runs": False})
    return dataclasses.replace(shipped, experiment=shipped.experiment.model_copy(update={"view": quiet}))


def draw(shipped: Shipped, figure: Figure, panel: str, dark: bool, direct: bool) -> go.Figure:
    """The figure from shipped numbers of a panel or of a reading of it."""
    if is_fit(figure):
        return threshold_view.fit_chart(threshold_check.points(shipped), dark)
    return charts.regret_chart(_without_bounds(shipped, panel), dark, 400, direct_labels=direct)


def _for_print(shipped: Shipped, figure: Figure, panel: str) -> go.Figure:
    drawn = draw(shipped, figure, panel, False, False)
    if not is_fit(figure):
        charts.name_band(drawn, _without_bounds(shipped, panel))
    drawn.layout.meta = {"spec": shipped.experiment.spec(), "seed": shipped.experiment.seed, **shipped.made}
    return drawn


def _told(shipped: Shipped, figure: Figure) -> str:
    if is_fit(figure):
        return f"Regret against V for {len(threshold_check.points(shipped))} policies, and a straight line."
    return charts.describe(shipped)


def picture(shipped: Shipped, figure: Figure, panel: str, dark: bool) -> shared.Picture:
    """The figure with its text alternative, drawn once for all visitors."""
    direct = not theme.is_phone()
    changed = reproductions.path_of(shipped.name).stat().st_mtime_ns
    return shared.figure(
        "paper",
        (figure.name, panel, shipped.name, changed, dark, direct),
        lambda: draw(shipped, figure, panel, dark, direct),
        lambda _: _told(shipped, figure),
    )


def is_fit(figure: Figure) -> bool:
    """Whether the figure draws regret against V instead of against time."""
    return any(isinstance(claim, papers.Straight) and claim.over == "V" for claim in figure.claims)


def shipped_or_told(name: str) -> Shipped | None:
    """The shipped file; what is wrong with it is told."""
    try:
        shipped = reproductions.load(name)
    except InputError as error:
        st.error(words.issues(error.issues))
        return None
    if shipped is None:
        st.info(f"Not computed yet. `python -m bandit_core reproduce {name}` does it.", icon=":material/hourglass:")
    return shipped


def scale_words(shipped: Shipped) -> str:
    """At which scale the figure was played."""
    experiment = shipped.experiment
    trials = min(line.count for line in shipped.lines)
    size = f"{words.count(experiment.horizon)} users, {trials} runs"
    if shipped.whole:
        return f"full scale: {size}"
    return f"at {trials} of {experiment.trials} runs: {size}"


def made_words(shipped: Shipped) -> str:
    """When, where, and in how much time the numbers were made."""
    made = shipped.made
    found = f" ({percent(made['found'])} of the work had been done for other figures)" if made["found"] else ""
    versions = ", ".join(f"{name} {text}" for name, text in made["versions"].items())
    return words.plain(
        f"Computed on {made['date']} in {words.number(made['seconds'])} s, {words.number(made['processor_seconds'])} s "
        f"of processor time{found}; {made['machine']}, {made['cores']} cores; seed {shipped.experiment.seed}, "
        f"sampler {made['sampler']}, {versions}."
    )


def badge(held: Held) -> None:
    """A verdict as sign, word and colour."""
    icon, colour = _MARKS[held]
    st.badge(held, icon=f":material/{icon}:", color=colour)


def statements(figure: Figure, wanted: str = EVERY) -> None:
    """What the paper says, and the verdict on it, a block each."""
    found = verdicts(figure)
    for verdict in found:
        with st.container(border=True):
            badge(verdict.held)
            reading = " *(our reading)*" if verdict.basis == "reading" else ""
            st.markdown(f"{words.plain(verdict.says)}{reading}")
            if verdict.held == "not checked":
                st.caption(words.plain(verdict.measured))
                continue
            paper = f"paper **{words.plain(verdict.reported)}** · " if verdict.reported else ""
            st.markdown(f"{paper}here **{words.plain(verdict.measured)}**")
            if verdict.explained:
                st.caption(words.plain(verdict.explained))


def tests(figure: Figure) -> None:
    """How the verdicts were reached, folded."""
    found = [verdict for verdict in verdicts(figure) if verdict.detail]
    if found:
        lab_parts.fold("How each was tested", "papers-tests", partial(_all_tested, found), icon=":material/science:")


def _all_tested(found: list[Verdict]) -> None:
    for verdict in found:
        _tested(verdict)
    st.caption(words.plain(claims.HOW))


def _tested(verdict: Verdict) -> None:
    """The test of one statement, what it compared, and the same under other readings of the paper."""
    st.markdown(f"**{words.plain(verdict.says)}**")
    how = "calculated, nothing is random" if verdict.test is None else verdict.test.words
    parts = [how, *verdict.detail.split("; ")]
    parts += [f"reading: {claims.reading_words(name, other)}" for name, other in verdict.readings]
    st.caption("\n".join(f"- {words.plain(part)}" for part in parts))


def large(figure: Figure, panel: str, dark: bool) -> None:
    """The chosen figure: picture on the left, statements on the right, what to do with it below."""
    st.subheader(words.plain(figure.title))
    st.markdown(words.plain(figure.shows))
    left, right = st.columns([3, 2], gap="large")
    with left:
        if len(figure.presets) > 1:
            panel = _panels(figure, panel)
        if not panel:
            _elsewhere(figure)
        elif (shipped := shipped_or_told(_reading(panel))) is not None:
            st.badge(scale_words(shipped), icon=":material/straighten:", color="blue" if shipped.whole else "orange")
            drawn = picture(shipped, figure, panel, dark)
            figures.show(drawn, "paper-figure")
            if not is_fit(figure):
                band = words.band(min(line.count for line in shipped.lines), load_preset(panel).view)
                st.caption(f"{words.sentence(band)}.")
            if figure.caveat:
                st.caption(words.plain(figure.caveat))
            actions(shipped)
            figures.fold_for_print(partial(_for_print, shipped, figure, panel), shipped.name)
            st.caption(made_words(shipped))
        elif figure.caveat:
            st.caption(words.plain(figure.caveat))
    with right:
        statements(figure)
    tests(figure)
    if panel:
        lab_parts.fold("Compute it again", f"again-fold-{panel}", partial(rerun.panel, panel), icon=":material/replay:")


AS_STATED = (
    "The picture shows this reading. The verdicts beside it are those of *as stated*; those of this reading are under "
    "*How each was tested*."
)


def _reading(panel: str) -> str:
    """The file to draw: the panel as it stands, or a reading of the paper's under which it was played as well."""
    offered = {panel: "as stated", **papers.readings_of(panel)}
    if len(offered) == 1:
        return panel
    chosen: str = st.pills(
        "Reading",
        list(offered),
        default=panel,
        key=f"papers-reading-{panel}",
        required=True,
        format_func=lambda name: offered[name],
        help="Where the paper is ambiguous, other ways to read it. The same statements are tested under each.",
    )
    if chosen != panel:
        st.caption(AS_STATED)
    return chosen


def _panels(figure: Figure, panel: str) -> str:
    """Which panel of a figure with several."""
    names = {name: load_preset(name).title.partition(": ")[2] for name in figure.presets}
    common = next(iter(names.values()))
    for title in names.values():
        while not title.startswith(common):
            common = common.rpartition(",")[0]
    short = {name: title[len(common) :].lstrip(", ") or title for name, title in names.items()}
    chosen: str = st.pills(
        "Panel",
        list(names),
        default=panel,
        key=f"papers-panel-{figure.name}-{panel}",
        required=True,
        format_func=lambda name: short[name],
        help="One setting of the figure.",
    )
    if chosen != panel:
        state.keep_page_field("figure", chosen, "")
        st.rerun()
    return chosen


def _elsewhere(figure: Figure) -> None:
    """A figure that is no simulation leads to the page that shows it."""
    if (paths.ROOT / "pages" / f"{figure.page}.py").exists():
        st.page_link(page_links.to(figure.page), label="Open Theory", icon=":material/arrow_forward:")


def actions(shipped: Shipped) -> None:
    """Open, and take away."""
    explore, data, file = st.columns(3)
    experiment = papers.played()[shipped.name].experiment
    page = page_links.to("explore" if experiment.contexts is None else "contextual")
    explore.page_link(
        page,
        label=f"Open in {page.title}",
        icon=":material/arrow_forward:",
        query_params=links.write(experiment),
        help=f"The same experiment with all controls; {words.duration(estimated_seconds(experiment))} at full scale.",
    )
    data.download_button(
        "Numbers (CSV)",
        data=lambda: to_csv(reproductions.curves(shipped)),
        file_name=f"{shipped.name}.csv",
        mime="text/csv",
        on_click="ignore",
        help="Mean, standard error and quantiles of every policy.",
        width="stretch",
    )
    file.download_button(
        "Whole file (JSON)",
        data=lambda: json.dumps(json.loads(reproductions.path_of(shipped.name).read_text(encoding="utf-8")), indent=1),
        file_name=f"{shipped.name}.json",
        mime="application/json",
        on_click="ignore",
        help="Settings, seed, versions, sampler, machine, time, curves, and the final regret of every run.",
        width="stretch",
    )


# ---------------------------------------------------------------------------------------------------------------
# Cards


@st.cache_data(max_entries=200, show_spinner=False)
def _thumbnail(name: str, dark: bool, changed: float) -> str:
    shipped = reproductions.load(name)
    return charts.sparkline(shipped, dark) if shipped is not None else ""


def cards(shown: list[Figure], current: Figure, dark: bool) -> None:
    """Every figure small: picture, title, verdicts, and a link that opens it large."""
    for start in range(0, len(shown), 4):
        for column, figure in zip(st.columns(4), shown[start : start + 4], strict=False):
            with column.container(border=True, height="stretch"):
                _card(figure, figure is current, dark)


def _card(figure: Figure, current: bool, dark: bool) -> None:
    paper = papers.paper_of(figure.name)
    path = reproductions.path_of(figure.presets[0]) if figure.presets else None
    if path is not None and path.exists():
        small = _thumbnail(figure.presets[0], dark, path.stat().st_mtime)
        st.image(small, width="stretch", alt=f"Regret curves of {figure.title}")
    st.markdown(f"**{words.plain(chip(paper))}** · {words.plain(figure.title)}")
    counts = Counter(each.held for each in verdicts(figure))
    st.caption(" · ".join(f"{_SHORT[held]} {counts[held]} {held}" for held in HELD if counts[held]))
    if current:
        st.caption("shown above")
    else:
        # A link to the page one is on would leave the address as it was.
        st.button(
            "Look closer",
            icon=":material/zoom_in:",
            key=f"closer-{figure.name}",
            on_click=_open,
            args=(figure.name,),
            help="Show this figure large, with the paper's statements.",
        )


def _open(name: str) -> None:
    """Callback of a card: its figure becomes the address's, and the page goes back to its top."""
    st.query_params["figure"] = name
    st.session_state["papers-up"] = name


def back_up() -> None:
    """After a click on a card the large figure is out of sight, above."""
    name = st.session_state.pop("papers-up", None)
    if name is not None:
        up = "document.querySelector('[data-testid=stMain]').scrollTo({top: 0, behavior: 'smooth'})"
        st.html(f"<script>{up} // {name}</script>", unsafe_allow_javascript=True)
