"""Step 8: wild rewards, of which the largest must be cut off before they can be hidden."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui.learn import jokes, pictures
from ui.learn.step import Choice, Message, Number, Slider, Step, difference, lost, ratio, size

LEVELS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
MEANS, TAIL, V = (0.9, 0.7, 0.5, 0.3, 0.1), 1.95, 0.9
TIPS = 1000  # in the picture before the guess


def _experiment(at: float) -> Experiment:
    arms = [{"kind": "pareto", "mean": mean, "shape": TAIL} for mean in MEANS]
    lines = [
        {"policy": "dp-robust-se", "epsilon": jokes.budget(1.0), "params": {"v": V, "u": level}} for level in LEVELS
    ]
    return jokes.played([{"policy": "robust-ucb", "params": {"v": V}, "label": jokes.FREE}, *lines], arms, y="log")


def _scene(dark: bool, height: int) -> go.Figure:
    """A thousand tips of the best option, one after the other."""
    arm = _experiment(1.0).arms[0]
    tips = arm.quantile(np.random.default_rng(jokes.SEED).random(TIPS))
    figure = go.Figure()
    figure.add_scatter(
        x=np.arange(1, TIPS + 1),
        y=tips,
        mode="markers",
        name="tips",
        marker={"color": pictures.colour(pictures.OPEN, dark), "size": 5},
        hovertemplate="%{y:.2~f}<extra></extra>",
    )
    pictures.plain(figure, dark, height)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title=f"{TIPS:,} tips, one after the other", range=[0, TIPS + 1])
    figure.update_yaxes(title="size of the tip", rangemode="tozero")
    return figure


def _best(result: Result) -> int:
    """The line among the private ones that lost least."""
    return min(range(1, len(LEVELS) + 1), key=lambda number: lost(result, number).value)


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    figure = go.Figure()
    numbers = [lost(result, number) for number in range(1, len(LEVELS) + 1)]
    pictures.dots(figure, LEVELS, numbers, "hidden tips", pictures.colour("dp-robust-se", dark), at, symbol="square")
    free = lost(result, 0)
    pictures.dots(figure, LEVELS, [free] * len(LEVELS), "open tips", pictures.colour("robust-ucb", dark))
    pictures.plain(figure, dark, height)
    figure.update_xaxes(title="level u: ← cut off more · cut off less →", type="log", tickvals=LEVELS)
    ends = [each.high for each in (*numbers, free) if np.isfinite(each.high)]
    figure.update_yaxes(title="tips lost", range=[0, 1.05 * max(ends, default=1.0)])
    return figure


def _told(result: Result, at: float) -> Message:
    message, openly = _compared(result, at), difference(result, 0, LEVELS.index(at) + 1)
    if openly.verdict != "more":
        return message
    free = lost(result, 0)
    tail = f"The learner on open tips lost **{free}**: it is another method, more careful than it must be here."
    return Message(f"{message.text} {tail}", {**message.numbers, "free": free}, message.verdict)


def _compared(result: Result, at: float) -> Message:
    """The position next to the best one."""
    place, best = LEVELS.index(at) + 1, _best(result)
    mine, least = lost(result, place), lost(result, best)
    head = f"At level {at:g} the learner on hidden tips lost **{mine}**"
    if place == best:
        return Message(f"{head}: no other level lost less in these runs.", {"mine": mine}, "unclear")
    numbers = {"mine": mine, "least": least}
    head += f"; level {LEVELS[best - 1]:g}, the best of these runs, lost **{least}**"
    extra = difference(result, place, best)
    if extra.verdict == "unclear":
        return Message(f"{head}, but the two cannot be told apart.", numbers, "unclear")
    numbers["extra"] = size(extra)
    return Message(
        f"{head}, which is **{numbers['extra']}** {'fewer' if extra.value > 0 else 'more'}.", numbers, extra.verdict
    )


def _measured(result: Result, at: float) -> Number:
    return ratio(result, LEVELS.index(at) + 1, _best(result))


STEP = Step(
    name="wild",
    title="Wild rewards",
    idea="A laugh is yes or no. But think of tips: most are small, and once in a while one is huge. To hide a huge "
    "tip takes huge noise. So the app first **cuts off** what is too large: such a tip counts as nothing. Cut off too "
    "much, and it learns nothing. Cut off too little, and the noise is too loud.",
    question="At level {at}, next to the best level: how many times as much is lost?",
    guess=Choice((("less than 2 times", -np.inf, 2), ("2 to 6 times", 2, 6), ("more than 6 times", 6, np.inf))),
    unit="times",
    slider=Slider(
        label="Level u: ← cut off more · cut off less →",
        help="How large tips are said to be before anyone looks at them. The cut-off and the noise follow from it.",
        stops=LEVELS,
        start=4.0,
    ),
    experiment=_experiment,
    scene=_scene,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    bars=True,
    so="Cut too much and the signal goes; cut too little and the noise drowns it.",
    exact="Five arms with Pareto rewards of shape 1.95 (the variance is infinite) and means 0.9, 0.7, 0.5, 0.3, 0.1; "
    "10,000 users, 500 runs, ε = 1 with a trusted curator (DPRSE), and Robust-UCB without privacy. A public bound u on "
    "the moment of order 1 + v = 1.9 gives the cut-off B = (u R ε / L)^(1/(1+v)) of an epoch of R rewards and Laplace "
    "noise of scale 2 B/(R ε). A u below the true moment keeps the privacy and loses the proof of the regret. "
    "Choosing u by looking at the tips would tell of them.",
    notes="Ask for other wild numbers: incomes, views of a video, damages of a storm. One in a thousand outweighs the "
    "rest. The best level is known here only because we played all of them. In real life someone must name it "
    "before, and a wrong guess costs in either direction.",
    exercise="Why may the app not look at the largest tip and cut off just above it?",
    answer="The cut-off would tell the largest tip, which one person gave. It must be fixed before anyone looks.",
)
