"""Does a better counter make a better bandit? Policies that play on running sums, and one that needs none."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import InputError, load_preset, simulate
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Guarantee
from bandit_core.policies import registry
from ui import charts, figures, gallery, page_lock, theme, words

PRESET = "better-counters"
ON = {"hybrid": "hybrid counters", "binary": "binary trees", "k-ary": "k-ary trees", "square-root": "square roots"}
COUNTED = {  # policies on running sums, each on the counter of its paper, one with less noise, and a weaker promise
    "dp-ucb": ("hybrid", "k-ary", "square-root"),
    "dp-ucb-bound": ("hybrid", "k-ary", "square-root"),
    "private-ucb": ("binary", "k-ary", "square-root"),
}
ROWS = [(policy, counter) for policy, counters in COUNTED.items() for counter in counters]
_SURE = 3.0  # standard errors of a paired difference


def _named(policy: str, counter: str) -> str:
    """A line by policy and counter."""
    return f"{registry()[policy].title} on {ON[counter]}"


def experiment_at(epsilon: float) -> Experiment:
    """The lesson's experiment with all policies that can choose their counter, all budgets at ``epsilon``."""
    lesson = load_preset(PRESET)
    open_one, *_, batches = lesson.spec()["lines"]
    budget = {"kind": "fixed", "value": epsilon}
    lines = [
        {"policy": policy, "epsilon": budget, "params": {"counter": counter}, "label": _named(policy, counter)}
        for policy, counter in ROWS
    ]
    batches |= {"epsilon": budget, "label": "DP-KLUCB, in batches"}
    return lesson.with_changes(lines=[open_one, *lines, batches], title="", note="")


@st.cache_data(max_entries=32, show_spinner=False)
def _losses(epsilon: float) -> np.ndarray:
    """Regret of every line and trial at the end, shape (lines, trials)."""
    lines = simulate(experiment_at(epsilon)).lines
    return np.array([line.regret[:, -1] for line in lines if line is not None])


def surely(less: np.ndarray, more: np.ndarray) -> bool:
    """Whether the one loses less than the other by more than luck explains; the same trials of both, (trials,)."""
    apart = more - less
    return bool(apart.mean() > _SURE * apart.std(ddof=1) / math.sqrt(len(apart)))


def _guarantees(experiment: Experiment) -> list[Guarantee]:
    """What each line keeps."""
    return [line.entry.guarantee(setup) for line, setup in zip(experiment.lines, experiment.setups, strict=True)]


def verdict(losses: np.ndarray) -> tuple[str, str]:
    """The conclusion, and the numbers; shape (lines, trials).

    Without privacy; three policies on the counter of their paper, on k-ary trees and on square roots; batches.
    """
    means, batches = losses.mean(axis=1), losses[-1]
    described, helped, harmed, pure, weaker = [], [], [], [], []
    for first in range(1, len(losses) - 1, 3):
        title = registry()[ROWS[first - 1][0]].title
        printed, signed, roots = (f"**{words.count(round(mean))}**" for mean in means[first : first + 3])
        described.append(f"{title} loses {printed}, {signed} on k-ary trees, {roots} on square roots")
        helped += [title] if surely(losses[first + 1], losses[first]) else []
        harmed += [title] if surely(losses[first], losses[first + 1]) else []
        pure += [first, first + 1]
        weaker.append(first + 2)
    gain = f"On the counters of their papers, {'; '.join(described)}."
    if helped:
        gain += f" At the same guarantee k-ary trees help {', '.join(helped)}."
    if harmed:
        gain += f" They harm {', '.join(harmed)}." if helped else f" k-ary trees harm {', '.join(harmed)}."
    rest = "DP-KLUCB, which publishes one noisy sum for each batch and needs no counter, loses "
    rest += f"**{words.count(round(means[-1]))}**"
    if all(surely(batches, losses[line]) for line in (*pure, *weaker)):
        return f"No counter rescues running sums: {rest}.", gain
    if ahead := [_named(*ROWS[line - 1]) for line in pure if surely(losses[line], batches)]:
        return f"{rest}. Ahead of it: {', '.join(ahead)}.", gain
    if ahead := [_named(*ROWS[line - 1]) for line in weaker if surely(losses[line], batches)]:
        return f"{rest}. Ahead of it, with a weaker guarantee: {', '.join(ahead)}.", gain
    return f"{rest}, which {losses.shape[1]} runs cannot tell apart from at least one of the others.", gain


def chart(losses: np.ndarray, experiment: Experiment, dark: bool) -> go.Figure:
    """Mean loss of every line with twice its standard error; what keeps a weaker promise is hollow."""
    titles = [experiment.label(number) for number in range(len(experiment.lines))]
    weak = [guarantee.delta > 0 for guarantee in _guarantees(experiment)]
    marker = {"color": [theme.policy_colour(line.policy, dark) for line in experiment.lines], "size": 12}
    marker |= {"line": {"width": 2}, "symbol": ["diamond-open" if weaker else "circle" for weaker in weak]}
    bars = {"array": 2 * losses.std(axis=1, ddof=1) / math.sqrt(losses.shape[1]), "color": theme.quiet(dark)}
    names = [f"{title} (δ)" if weaker else title for title, weaker in zip(titles, weak, strict=True)]
    more, hover = {"mode": "markers", "marker": marker, "error_x": bars}, "%{x:.0f}<extra></extra>"
    dots = charts.Curve(losses.mean(axis=1), names, "loss", hover=hover, listed=False, more=more)
    down = {"autorange": "reversed", "automargin": True}
    return charts.draw([dots], charts.log_axis("regret at the end"), down, 420, dark, closest=True)


def draw(epsilon: float) -> None:
    """The whole part."""
    experiment = experiment_at(epsilon)
    st.markdown("**Does a better counter make a better bandit?** All private policies at the same ε")
    try:
        with page_lock.computing():
            losses = _losses(epsilon)
    except InputError as refused:  # more than this server computes
        st.info(str(refused))
        return
    what = "Regret of bandits on several counters and of one without counters"
    figures.plot(chart(losses, experiment, theme.is_dark()), "sums-bandits", what)
    means = " and ".join(f"{mean:g}" for mean in experiment.means)
    failing = ", ".join(sorted({guarantee.failure for guarantee in _guarantees(experiment) if guarantee.failure}))
    conclusion, numbers = verdict(losses)
    st.markdown(conclusion)
    st.expander("The numbers behind it", key="sums-numbers").markdown(
        f"{numbers} Hollow: normal noise, whose guarantee has a {failing}, so it is weaker. "
        f"Arms with success rates {means}; {words.count(experiment.horizon)} users; {experiment.trials:,} runs. "
        "Error bars: ± 2 standard errors."
    )
    gallery.link_to_explore("Explore this experiment", experiment)
