"""One reward like a thousand: a sum with one huge tip, and a cut-off that decides between bias and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bandit_core.mechanisms.laplace import CTL
from bandit_core.spec.number_text import count
from ui import theme
from ui.learn import pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, spread

STOPS = (1.0, 2.0, 5.0, 10.0, 100.0, 1000.0)
TIPS, EPSILON, REPEATS = 1000, 1.0, 4000


@dataclass(frozen=True)
class Tips:
    """All tips, the largest first; how much a cut-off takes away, and the typical size of the noise behind it."""

    tips: tuple[float, ...]
    cut: float
    noise: Number

    @property
    def total(self) -> float:
        """What all tips are together."""
        return sum(self.tips)


def tips(seed: int) -> np.ndarray:
    """999 tips of 1 on average, and one that is as large as these together."""
    small = np.random.default_rng([seed, 12]).exponential(1.0, TIPS - 1)
    small *= (TIPS - 1) / small.sum()
    return np.sort(np.append(small, small.sum()))[::-1]


def _sample(at: float, seed: int) -> Tips:
    all_tips = tips(seed)
    noise = at * CTL.release(np.zeros(REPEATS), EPSILON, np.random.default_rng([seed, 13]))
    return Tips(tuple(all_tips), float(all_tips[all_tips > at].sum()), spread(noise, 0.0))


def _draw(found: Tips, at: float, dark: bool, height: int) -> go.Figure:
    figure, quiet = go.Figure(), theme.quiet(dark)
    shade = pictures.colour(pictures.CENTRAL, dark)
    ranks = np.arange(1, TIPS + 1)
    sizes = np.array(found.tips)
    for kept, colour in ((sizes <= at, shade), (sizes > at, quiet)):
        figure.add_scatter(
            x=ranks[kept],
            y=sizes[kept],
            mode="markers",
            showlegend=False,
            marker={"color": colour, "size": 7},
            hovertemplate="%{y:,.2~f}<extra></extra>",
        )
    levels = [("cut-off", at, "solid", shade), ("noise on the sum", found.noise.value, "dash", theme.ink(dark))]
    if found.cut:
        levels.append(("cut away", found.cut, "dot", quiet))
    for name, level, dash, colour in levels:
        figure.add_scatter(
            x=[1, TIPS],
            y=[level, level],
            mode="lines",
            name=name,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate="%{y:,.3~g}",
        )
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="tips, the largest first", type="log", dtick=1, range=[-0.1, 3.05])
    figure.update_yaxes(title="size", type="log", tickvals=[0.1, 1, 10, 100, 1000], range=[-1.3, 3.5])
    return figure


def _told(found: Tips, at: float) -> Message:
    share = Number(100 * found.cut / found.total)
    numbers = {"noise": found.noise, "cut": share}
    head = f"The cut-off {count(int(at))} takes away {share.value:.0f}% of all tips"
    if not found.cut:
        head = f"The cut-off {count(int(at))} takes nothing away"
    text = f"{head}; the noise on their sum is typically **{found.noise}**. All tips together are {found.total:,.0f}."
    return Message(text, numbers, "more" if found.cut > found.noise.value else "less")


def _measured(found: Tips, at: float) -> Number:
    return Number(found.noise.value / found.total, found.noise.error / found.total)


STEP = Step(
    name="outlier",
    title="One reward like a thousand",
    idea="A thousand people give tips. One tip is as large as all others together. A curator wants to tell the sum and "
    "hide each person. So the noise must be as large as the largest tip that may count. The curator can **cut off**: "
    "a tip above the cut-off counts as nothing.",
    question="Nothing is cut off: the largest tip counts. How large is the noise, next to the sum of all tips?",
    guess=Choice(
        (("less than a tenth", -np.inf, 0.1), ("a tenth to a third", 0.1, 1 / 3), ("more than a third", 1 / 3, np.inf))
    ),
    unit="times",
    slider=Slider(
        label="Cut-off: ← more is cut · more noise →",
        help="Tips above it count as nothing.",
        stops=STOPS,
        start=1000.0,
        words=lambda at: f"{count(int(at))}",
    ),
    sample=_sample,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    so="The noise must hide the largest tip that counts, so one huge tip makes the whole sum noisy.",
    exact="999 exponential rewards, rescaled to the mean 1, and one of 999. Truncation at the cut-off c (larger "
    "rewards become 0) gives the sum the sensitivity c, so Laplace noise of scale c/ε is ε-differentially private with "
    "a trusted curator; ε = 1. The bias is the sum of the rewards above c. Sizes of noise are root mean squares over "
    "4,000 repeats, ± one standard error.",
    notes="Move the cut-off from right to left. First the noise falls and only the huge tip is missing; then many "
    "normal tips are missing, too. Ask which mistake is better: one that is always the same, or one that is different "
    "each time. Someone has to choose the cut-off without looking at the tips.",
    exercise="Why must the curator choose the cut-off before it sees the tips?",
    answer="A cut-off that follows the tips tells about them. It would show how large the largest tip is.",
    page="heavy-tails",
    link=lambda at: {},
    link_words="Learners that cut off rewards",
)
