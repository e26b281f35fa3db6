"""Start's parts: the one slider, its picture and verdict, the three doors, the cards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, simulate
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset
from bandit_core.simulation.results import Result
from bandit_core.simulation.summaries import Summary, summaries
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import number
from bandit_core.studies import best_by_trust
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, epsilon_grid, lesson, page_links, theme, words

EPSILONS = best_by_trust.BUDGETS
HOME = replace(epsilon_grid.SLIDER, allowed=EPSILONS, key="home-epsilon")
CARDS = ("first-look", "two-treatments", "three-price-pages", "shy-users", "own-budgets", "wild-rewards")
SINCE = 100  # users, where Start's picture begins: the methods were chosen for many more
ARROW = ":material/arrow_forward:"


def home_experiment(epsilon: float) -> Experiment:
    """The preset ``trust`` at any budget: the best method there for each level of trust, see `best_by_trust`."""
    return load_preset(best_by_trust.PRESET).with_changes(lines=best_by_trust.lines(epsilon, words.HOME_LABELS))


def verdict(result: Result, epsilon: float) -> str:
    """What the two steps of trust lose, as a multiple of what is lost without privacy."""
    rows = {row.line: row for row in summaries(result)}
    methods = best_by_trust.at(epsilon)
    if methods["central"] == methods["local"]:
        return f"At ε = {epsilon:g}, privacy {_loses(rows[2])}, whether you trust a curator or no one."
    message = f"At ε = {epsilon:g}, trusting a curator {_loses(rows[1])}; trusting no one"
    return f"{message}, {_times(rows[2])}." if rows[1].differs and rows[2].differs else f"{message} {_loses(rows[2])}."


def _times(row: Summary) -> str:
    return f"about **{number(row.price, 2)} times**"


def _loses(row: Summary) -> str:
    if not row.differs:
        return "is statistically tied with no privacy"
    return f"loses {_times(row)} as many rewards as no privacy"


def methods(epsilon: float) -> str:
    """Which method stands behind each label of Start's picture."""
    titles = [words.plain(each.title) for each in best_by_trust.at(epsilon).values()]
    named = ", ".join(f"{title} ({label})" for title, label in zip(titles, words.HOME_LABELS, strict=True))
    alike = f" {titles[1]} needs no trust, and a curator can do no better here." if titles[1] == titles[2] else ""
    return f"Each curve is the best method for that level of trust: {named}.{alike}"


def marks(result: Result, before: Result | None) -> str:
    """What is drawn beside the curves."""
    trials = min((line.count for line in result.lines if line is not None), default=0)
    message = f"{words.sentence(words.band(trials, result.experiment.view))}."
    return message if before is None else f"{message} Thin: the slider's last position."


def home_range(experiment: Experiment) -> tuple[float, float]:
    """Range (logarithms) of Start's vertical axis, the same at every position of the slider.

    So the curve moves and not the frame. Above, there is what choosing at random loses: no budget makes these policies
    clearly worse than that, and it is known without simulating any. Below, ten lost rewards: what every policy has lost
    after some users. Between the two lie factors of a hundred, hence the log scale.
    """
    return 1.0, float(np.log10(1.25 * blind_regret(experiment)))


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
    result: Result, before: Result | None, dark: bool, direct_labels: bool, lesson_mode: bool = False
) -> go.Figure:
    """Start's picture, with the curves of the slider's last position behind it; ``lesson_mode`` as a lesson."""
    height = lesson.HEIGHT if lesson_mode else 360 if direct_labels else 320  # a phone has no room for labels, either
    figure = charts.regret_chart(result, dark, height, direct_labels, home_range(result.experiment), SINCE)
    if before is not None:
        charts.add_ghosts(figure, before, result, dark)
    return lesson.large(figure) if lesson_mode else figure


def link_to_explore(label: str, experiment: Experiment) -> None:
    """A real link (it can be copied or opened in a new tab) to Explore with this experiment."""
    explore = page_links.to("explore")
    st.page_link(explore, label=label, icon=ARROW, query_params=links.write(experiment))


def _link(name: str, label: str) -> None:
    """A link to the page of that name."""
    st.page_link(page_links.to(name), label=label, icon=ARROW)


def doors() -> None:
    """Three ways in, by who is asking."""
    teach, decide, research = st.columns(3)
    with teach.container(border=True, height="stretch"):
        st.markdown("#### I teach\nThe class guesses first, then looks: fifteen minutes.")
        _link("teach", "Project a lesson, or let a class guess")
        _link("learn", "Learn by yourself, step by step")
    with decide.container(border=True, height="stretch"):
        st.markdown("#### I run experiments\nWhat would privacy cost with your numbers?")
        _link("your-numbers", "Enter your numbers")
        _link("tradeoff", "Find the smallest ε that you can afford")
    with research.container(border=True, height="stretch"):
        st.markdown("#### I do research\nEvery method and bound, and the papers' figures.")
        _link("benchmark", "Compare methods at each privacy level")
        _link("papers", "Reproduce the papers' figures")


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
    """Six experiments: a small picture made by the same code, and a link."""
    st.subheader("Ready-made experiments")
    for start in range(0, len(CARDS), 3):
        for column, name in zip(st.columns(3), CARDS[start : start + 3], strict=False):
            with column.container(border=True, height="stretch"):
                experiment = load_preset(name)
                picture = _thumbnail(name, theme.is_dark())
                if picture:
                    st.image(picture, width="stretch", alt=f"Regret curves of: {experiment.title}")
                link_to_explore(words.plain(experiment.title), experiment)
    st.page_link(page_links.to("explore"), label="All experiments, in Explore under “Start from”", icon=ARROW)
