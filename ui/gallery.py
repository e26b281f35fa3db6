"""Home's parts: the one slider, the four doors, the preset cards."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, simulate
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset, presets
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import InputError
from bandit_core.studies import best_by_trust
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, lesson, page_fields, page_links, theme, words

OPENING = "first-look"
EPSILONS = best_by_trust.BUDGETS
LESSONS = "Lessons"
ARROW = ":material/arrow_forward:"


def home_slider(told: bool = True) -> float:
    """Home's one control, ``told`` in odds; its value is the address field ``eps``."""
    epsilon = page_fields.slider(
        "Privacy budget ε: ← more private · less regret →",
        "eps",
        EPSILONS,
        "1",
        "home-epsilon",
        "How much one answer may tell about the person who gave it.",
    )
    if told:
        st.caption(words.odds(epsilon))
    return epsilon


def home_experiment(epsilon: float) -> Experiment:
    """The preset ``trust`` at another budget: for each trust the best method there, see `best_by_trust`."""
    lines = best_by_trust.lines(epsilon, words.HOME_LABELS)
    view = {"bounds": False, "y": "log"}
    return load_preset(best_by_trust.PRESET).with_changes(lines=lines, title=words.HOME_TITLE, note="", view=view)


def methods(epsilon: float) -> str:
    """Which method stands behind each label of Home's picture."""
    free, curator, nobody = best_by_trust.at(epsilon).values()
    titles = [words.plain(each.title) for each in (free, curator, nobody)]
    head = "Each curve shows the best method for that level of trust"
    if curator == nobody:
        alike = f"A curator would use {titles[1]}, which needs no trust, so the two curves are the same"
        return f"{head}: {titles[0]} without privacy, {titles[1]} with it. {alike}."
    named = (f"{title} ({label})" for title, label in zip(titles, words.HOME_LABELS, strict=True))
    return f"{head}: {', '.join(named)}."


def home_range(experiment: Experiment) -> tuple[float, float]:
    """Range (logarithms) of Home's vertical axis, the same at every position of the slider.

    So the curve moves and not the frame. Above, there is what choosing at random loses: no budget makes these policies
    clearly worse than that, and it is known without simulating any. Below, one lost reward: what every policy has lost
    after a few users. Between the two lie factors of a thousand, hence the log scale.
    """
    return 0.0, float(np.log10(1.25 * blind_regret(experiment)))


def ghosts(result: Result, where: str = "home") -> Result | None:
    """The picture of the slider's last position, for this visit only; None before the slider was moved."""
    now = st.session_state
    shown: Result | None = now.get(f"{where}-shown")
    if shown is None or shown.experiment != result.experiment:
        alike = shown is not None and _alike(shown.experiment, result.experiment)
        now[f"{where}-before"] = shown if alike else None
    now[f"{where}-shown"] = result
    return now[f"{where}-before"]


def _alike(one: Experiment, other: Experiment) -> bool:
    """Whether the curves of both can stand in one picture: they differ in budgets, and in the methods for them."""
    same = (one.arms, one.contexts, one.horizon, one.view) == (other.arms, other.contexts, other.horizon, other.view)
    names = [[line.label or line.policy for line in each.lines] for each in (one, other)]
    return same and names[0] == names[1]


def home_chart(
    result: Result, before: Result | None, dark: bool, direct_labels: bool, alone: bool = False
) -> go.Figure:
    """Home's picture, with the curves of the slider's last position behind it; ``alone`` as a lesson."""
    height = lesson.HEIGHT if alone else 400 if direct_labels else 320  # a phone has no room for labels, either
    figure = charts.regret_chart(result, dark, height, direct_labels, vertical=home_range(result.experiment))
    if before is not None:
        charts.add_ghosts(figure, before, result, dark)
    return lesson.large(figure) if alone else figure


def link_to_explore(label: str, experiment: Experiment) -> None:
    """A real link (it can be copied or opened in a new tab) to Explore with this experiment."""
    explore = page_links.to("explore")
    st.page_link(explore, label=label, icon=ARROW, query_params=links.write(experiment))


def _link(name: str, label: str) -> None:
    """A link to the page of that name."""
    st.page_link(page_links.to(name), label=label, icon=ARROW)


def doors() -> None:
    """Four ways in, by who is asking."""
    learn, teach, decide, research = st.columns(4)
    with learn.container(border=True, height="stretch"):
        st.markdown("#### I am new here\nTen short steps: guess first, then look. About a quarter of an hour.")
        _link("learn", "Learn, step by step")
    with teach.container(border=True, height="stretch"):
        st.markdown("#### I teach\nLessons to project: one idea each, one slider, a link for every student.")
        link_to_explore("Two treatments in a clinic", load_preset("two-treatments"))
        link_to_explore("Shy users", load_preset("shy-users"))
    with decide.container(border=True, height="stretch"):
        st.markdown(
            "#### I decide\nWhat would privacy cost with my numbers, and which ε can I afford? Type rates, or upload "
            "a CSV."
        )
        _link("your-numbers", "Your numbers")
        _link("tradeoff", "How much privacy can you afford?")
        _link("threshold", "Which answers are too noisy to keep?")
    with research.container(border=True, height="stretch"):
        st.markdown(
            "#### I research\nThe figures of the papers at their own settings, with every bound that really applies."
        )
        _link("papers", "Every figure beside what its paper says")
        link_to_explore("Ren et al. 2020, Figure 1c", load_preset("ren-1c"))
        link_to_explore("Ren et al. 2020, Figure 2", load_preset("ren-2"))


@st.cache_data(max_entries=64, show_spinner=False)
def _thumbnail(name: str, dark: bool) -> str:
    """A preset's small picture: its own policies and arms at a horizon that computes at once."""
    experiment = load_preset(name)
    small = experiment.with_changes(horizon=min(experiment.horizon, 5_000), trials=min(experiment.trials, 8))
    try:
        return charts.sparkline(simulate(small), dark)
    except InputError:  # more than this server computes
        return ""


def cards() -> None:
    """The gallery: a small picture made by the same code, a title, one sentence, a link."""
    st.subheader("Ready-made experiments")
    found = [preset for preset in presets() if not preset.name.endswith("-quick") and preset.name != "default"]
    groups = sorted({preset.group for preset in found}, key=lambda group: (group != LESSONS, group))
    shown = st.pills(
        "Collection",
        groups,
        default=LESSONS,
        required=True,
        key="collection",
        label_visibility="collapsed",
        help="Lessons, or the figures of a paper.",
    )
    chosen = [preset for preset in found if preset.group == shown]
    for start in range(0, len(chosen), 3):
        for column, preset in zip(st.columns(3), chosen[start : start + 3], strict=False):
            with column.container(border=True, height="stretch"):
                picture = _thumbnail(preset.name, theme.is_dark())
                if picture:
                    st.image(picture, width="stretch", alt=f"Regret curves of: {preset.title}")
                st.markdown(f"**{words.plain(preset.title)}**")
                st.caption(words.plain(preset.note))
                link_to_explore("Open", preset.experiment)
