"""Step 1: choosing among options, and what is lost while learning."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from bandit_core.simulation.summaries import best_share_at_end
from bandit_core.spec.number_text import count
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, theme
from ui.learn import jokes
from ui.learn.step import Choice, Message, Number, Slider, Step, line_of, lost, size


def _experiment(at: float) -> Experiment:
    return jokes.played([jokes.OPENLY], horizon=int(at))


def _draw(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    blind = blind_regret(result.experiment)
    figure = charts.regret_chart(result, dark, height, False, vertical=(0.0, 1.05 * blind))
    figure.data[-1].name = "the learner"
    figure.add_scatter(
        x=[1, at],
        y=[blind / at, blind],
        mode="lines",
        name="choosing blindly (on average)",
        line={"color": theme.quiet(dark), "dash": "dash", "width": 2},
        hovertemplate="%{y:,.3~g}",
    )
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="linear", range=[1, at], exponentformat="B", dtick=None)
    figure.update_yaxes(title="laughs lost so far", type="linear", dtick=None)
    return figure


def _told(result: Result, at: float) -> Message:
    mine, blind = lost(result, 0), blind_regret(result.experiment)
    saved = Number(blind - mine.value, mine.error, (blind - mine.high, blind - mine.low))
    share = 100 * best_share_at_end(line_of(result, 0), result.times)
    numbers = {"lost": mine, "blind": Number(blind)}
    head = f"With {count(int(at))} users the learner lost **{mine}** laughs; "
    head += f"choosing blindly loses about {numbers['blind']}"
    if saved.verdict == "unclear":
        return Message(f"{head}: this run cannot tell the two apart.", numbers, "unclear")
    word = "fewer" if saved.verdict == "more" else "more"
    numbers["saved"] = size(saved)
    numbers["share"] = Number(share)
    tail = f"In the second half, {numbers['share']}% of the users got the best joke."
    return Message(f"{head}: **{numbers['saved']}** {word}. {tail}", numbers, saved.verdict)


def _measured(result: Result, at: float) -> Number:
    return lost(result, 0)


STEP = Step(
    name="choosing",
    title="You learn by trying",
    idea="An app knows five jokes. It shows one to each user and sees who laughs. Eight users in ten laugh at the "
    "best joke, six in ten at two others, four in ten at the last two. The app does not know that. It has to try. "
    "Each time it shows a joke that is not the best one, some laughs are lost. We call what is lost the **regret**.",
    question="{at} come by. How many laughs does a good learner lose before it knows the best joke?",
    guess=Choice((("fewer than 50", -np.inf, 50), ("50 to 150", 50, 150), ("more than 150", 150, np.inf))),
    unit="laughs",
    slider=Slider(
        label="Users who come by",
        help="How many users there are in all.",
        stops=(100, 300, 1000, 3000, 10_000),
        start=1000,
        words=lambda at: f"{count(int(at))} users",
    ),
    experiment=_experiment,
    draw=_draw,
    conclude=_told,
    measured=_measured,
    so="To find the best joke, a learner must also show others, and each of those costs laughs.",
    exact="A bandit with K = 5 Bernoulli arms of means 0.8, 0.6, 0.6, 0.4, 0.4. The (pseudo-)regret after T users is "
    "the sum over users of the gap between the best mean and the mean of the arm that was shown. Choosing an arm at "
    "random has expected regret T times the mean gap, here 0.24 T. The learner is Thompson sampling; numbers are "
    "means over 500 runs, ± one standard error, and the shaded band holds the middle 90% of the runs.",
    notes="Ask first what a good app would do with its first ten users. Some will say: try each joke once and keep "
    "the best one. Ask what happens if the best joke had bad luck. The point to reach: trying costs laughs, and not "
    "trying costs more of them later. The curve bends because the learner knows more and more.",
    exercise="After 100 users the learner has lost more laughs per user than after 10,000. Why?",
    answer="In the beginning it knows nothing and must try all jokes. Later nearly every user gets the best joke, so "
    "few laughs are lost per user.",
)
