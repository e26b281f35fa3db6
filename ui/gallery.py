"""Start's parts: the one slider, its picture and verdict, the three doors, the cards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments import links, trust_table
from bandit_core.experiments.presets import load_preset
from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.simulation.results import Drawable, Result
from bandit_core.spec.number_text import number, percent
from bandit_core.studies import sweep
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, epsilon_grid, lesson, page_links, words
from ui.player.slider import Shipped, Stop, shipped, small, text

EPSILONS = tuple(epsilon for epsilon in sweep.EPSILONS if 0.1 <= epsilon <= 8)  # nats; positions of the slider
HOME = replace(epsilon_grid.SLIDER, allowed=EPSILONS, key="home-epsilon")
CARDS = ("with-bounds", "two-treatments", "three-price-pages", "shy-users", "own-budgets", "wild-rewards")
SHIPPED = "start"  # name of its positions, see ui/player/slider.py
NUMBERS = {
    "central": "ratio 1 0",
    "central-more": "difference 1 0",
    "local": "ratio 2 0",
    "local-more": "difference 2 0",
}
SINCE = 100  # users, where Start's picture begins: the methods were chosen for many more
ARROW = ":material/arrow_forward:"


def home_experiment(epsilon: float) -> Experiment:
    """The preset ``trust`` at any budget: the best method there for each level of trust, see `trust_table`."""
    return load_preset(trust_table.PRESET).with_changes(lines=trust_table.lines(epsilon, words.HOME_LABELS))


def shown(epsilon: float) -> Shipped:
    """Start's picture at a position of its slider, which ships.

    Raises
    ------
    InputError
        Where the files that ship are damaged or missing.
    """
    return shipped(SHIPPED, epsilon, home_experiment(epsilon))


def document(dark: bool, lesson_mode: bool, hidden: bool) -> str:
    """All of Start's pictures, for the player; ``lesson_mode`` as a lesson, ``hidden`` without private lines."""
    stops = []
    for epsilon in EPSILONS:
        found = shown(epsilon)
        found = lesson.without_private(found) if hidden else found
        name, figure = f"ε = {epsilon:g}", home_chart(found, dark)
        aloud = name if hidden else f"{name}. {verdict(found, epsilon)}".replace("*", "")
        stops.append(Stop(name, aloud, charts.describe(found), figure, more={} if lesson_mode else people(epsilon)))
    look = {"height": f"{lesson.HEIGHT}px", "size": lesson.SIZE} if lesson_mode else {"height": "360px"}
    return text(stops, dark, label=HOME.label, help=HOME.help, **look)


def people(epsilon: float) -> dict[str, Any]:
    """The strip of people behind coins at a budget: the chance of a flip, and what is said of it."""
    flips = 1 - float(CTB.mean(1.0, epsilon))
    said = "Above, what fifty people would say. Below, what the server sees if a coin on each phone flips"
    said += f" {percent(flips)} of the answers (randomised response)."
    return {"flips": flips, "people": said}


def verdict(found: Shipped, epsilon: float) -> str:
    """What the two steps of trust lose, as a multiple of what is lost without privacy."""
    methods = trust_table.at(epsilon)
    curator, no_one = (_loses(found, line) for line in ("central", "local"))
    if methods["central"] == methods["local"]:
        return f"At ε = {epsilon:g}, privacy {no_one}, whether you trust a curator or no one."
    if all(_is_large(found, line) for line in ("central", "local")):
        no_one = f"about **{number(found.numbers['local'].value, 2)} times**"
        return f"At ε = {epsilon:g}, trusting a curator {curator}; trusting no one, {no_one}."
    return f"At ε = {epsilon:g}, trusting a curator {curator}; trusting no one {no_one}."


def _is_large(found: Shipped, line: str) -> bool:
    """Whether it is told as a multiple; what is close to 1 is told in percent."""
    return found.numbers[f"{line}-more"].verdict == "more" and found.numbers[line].value >= 1.1


def _loses(found: Shipped, line: str) -> str:
    times = found.numbers[line].value
    if found.numbers[f"{line}-more"].verdict == "unclear":
        return "is statistically tied with no privacy"
    if not _is_large(found, line):
        return f"loses about **{number(100 * (times - 1), 1)}%** more rewards than no privacy"
    return f"loses about **{number(times, 2)} times** as many rewards as no privacy"


def methods(epsilon: float) -> str:
    """Which method stands behind each label of Start's picture."""
    titles = [words.plain(each.title) for each in trust_table.at(epsilon).values()]
    named = ", ".join(f"{title} ({label})" for title, label in zip(titles, words.HOME_LABELS, strict=True))
    alike = f" {titles[1]} needs no trust, and is here the best for a curator, too." if titles[1] == titles[2] else ""
    return f"Each curve is the best method for that level of trust: {named}.{alike}"


def marks() -> str:
    """What is drawn beside the curves."""
    found = shown(EPSILONS[0])
    trials = min(line.count for line in found.lines if line is not None)
    message = words.sentence(words.band(trials, found.experiment.view))
    return f"{message}. Dotted: the slider's last position. Drag the slider, or the ring at the end of a curve."


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


def is_of_start(experiment: Experiment) -> bool:
    """Whether the picture has Start's axes, also with other arms or one more method."""
    named = words.lines_of_start(experiment)
    return bool(named and experiment.arms) and experiment.horizon > SINCE and experiment.view.y == "log"


def home_chart(found: Drawable, dark: bool) -> go.Figure:
    """Start's picture at a position."""
    return charts.regret_chart(found, dark, vertical=home_range(found.experiment), since=SINCE, direct_labels=False)


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


def cards() -> None:
    """Six experiments: a small picture, which ships, and a link."""
    st.subheader("Ready-made experiments")
    for start in range(0, len(CARDS), 3):
        for column, name in zip(st.columns(3), CARDS[start : start + 3], strict=False):
            with column.container(border=True, height="stretch"):
                experiment = load_preset(name)
                small(name, f"Regret curves of: {experiment.title}")
                link_to_explore(words.plain(experiment.title), experiment)
    st.page_link(page_links.to("explore"), label="All experiments, in Explore under “Examples”", icon=ARROW)
