"""The parts of the page Heavy tails, and what its controls say of the experiment."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, Simulation, simulate
from bandit_core.experiments.presets import load_preset
from bandit_core.model import PROMISES
from bandit_core.simulation.costs import estimated_seconds, worker_count
from bandit_core.simulation.results import Result
from bandit_core.spec.errors import Issue
from bandit_core.spec.number_text import percent
from bandit_core.spec.own_data import remembered
from bandit_core.spec.rewards import RewardDistribution
from bandit_core.theory import heavy
from ui import (
    charts,
    figures,
    gallery,
    lab_parts,
    page_fields,
    page_lock,
    panels,
    runner,  # fmt: skip
    shared,
    theme,
    words,
)
from ui.page_fields import Field, Fields

# ---------------------------------------------------------------------------------------------------------------------
# The setting of the page on heavy tails: what its controls say of the experiment that is shown, and change in it.


Trust = Literal["central", "local"]

MEANS = {
    "S1": (0.9, 0.7, 0.5, 0.3, 0.1),
    "S2": (0.9, 0.55, 0.3, 0.15, 0.1),
    "S3": (0.9, 0.85, 0.7, 0.45, 0.1),
}
INSTANCES = {
    "S1": "S1: evenly spread",
    "S2": "S2: most far behind",
    "S3": "S3: most close by",
    "own": "as in the sidebar",
}
DISTRIBUTIONS = {
    "pareto": "Pareto: wild above",
    "student": "Student: wild both ways",
    "own": "as in the sidebar",
}
TRUST: dict[Trust, str] = {"central": PROMISES["central"].who, "local": PROMISES["local"].who}
EXPONENTS = tuple(round(0.1 * step, 1) for step in range(2, 11))
EPOCHS = ("dp-robust-se", "ldp-robust-se")  # policies that play in epochs: the page explains them
EVERY_USER = ("robust-ucb", "dp-robust-ucb")  # policies that take a step for every user
STEP_BY_STEP = 10**7  # beyond so many users they are left out
ENOUGH_USERS: dict[Trust, int] = {"central": 10**5, "local": 10**9}  # that the private policies learn
_FORMER = Fields(  # fields of the address in former links
    "heavy",
    Field("instance", "", "", "", "box", tuple(MEANS), place="instance"),
    Field("law", "", "", "", "box", ("pareto", "student"), place="distribution"),
    Field("trust", "", "", "", "box", tuple(TRUST), place="trust"),
    Field("printed", "", False, "", "switch", place="printed"),
    Field("v", "", 1.0, "", allowed=EXPONENTS, place="v"),
    Field("budget", "", 1.0, "", allowed=(0.1, 20.0), place="epsilon"),
    Field("users", "", 1, "", allowed=(1, 10**9), place="horizon"),
)


@dataclass(frozen=True)
class Setting:
    """What is special about an experiment with heavy tails."""

    instance: str
    distribution: str
    v: float
    trust: Trust
    printed: bool  # the constants of the theory

    @property
    def estimator(self) -> heavy.Estimator:
        """How the private policy of this trust model estimates a mean."""
        return "epoch" if self.trust == "central" else "local"


def explained(experiment: Experiment) -> int:
    """The line that the page explains: the last policy that plays in epochs."""
    return max(number for number, line in enumerate(experiment.lines) if line.policy in EPOCHS)


def epsilon_of(experiment: Experiment) -> float:
    """The budget of the line that the page explains."""
    budget = experiment.lines[explained(experiment)].epsilon
    assert budget is not None and budget.fixed is not None  # its policy takes one budget only
    return budget.fixed


def of(experiment: Experiment) -> Setting:
    """What the controls of the page say of an experiment."""
    number = explained(experiment)
    parameters = experiment.setups[number].parameters
    trust = cast(Trust, experiment.lines[number].entry.privacy)
    instance = distribution = "own"
    for name, means in MEANS.items():
        for kind in ("pareto", "student"):
            if experiment.arms == _typed(name, kind, parameters.v):
                instance, distribution = name, kind
        if instance == "own" and tuple(experiment.means) == means:
            instance = name
    printed = experiment.lines[number].params.get("kappa") == 1.0
    return Setting(instance, distribution, parameters.v, trust, printed)


def _arms(instance: str, distribution: str, v: float) -> list[dict[str, Any]]:
    shape = round(1.05 + v, 6)  # moments are finite below this order
    if distribution == "pareto":
        return [{"kind": "pareto", "mean": mean, "shape": shape} for mean in MEANS[instance]]
    return [{"kind": "student", "mean": mean, "scale": 0.2, "df": shape} for mean in MEANS[instance]]


@remembered(256)
def _typed(instance: str, distribution: str, v: float) -> tuple[RewardDistribution, ...]:
    arms = _arms(instance, distribution, v)
    return Experiment.model_validate({"arms": arms, "lines": [{"policy": "ucb"}]}).arms


def _lines(setting: Setting, epsilon: float) -> list[dict[str, Any]]:
    """The policies of a trust model, and a curator's to compare with; the page explains the last one."""
    params: dict[str, Any] = {"v": setting.v} | ({"kappa": 1.0} if setting.printed else {})
    names = ["dp-robust-ucb", "dp-robust-se"] if setting.trust == "central" else list(EPOCHS)
    budget = {"kind": "fixed", "value": epsilon}
    return [{"policy": "robust-ucb", "params": params}] + [
        {"policy": name, "epsilon": budget, "params": params} for name in names
    ]


def changed(experiment: Experiment, **fields: Any) -> Experiment:
    """The experiment in another setting (see `Setting` for the fields).

    Raises
    ------
    InputError
        Where its arms or policies refuse that, for example own arms without a finite moment of the order 1 + v.
    """
    before = of(experiment)
    after = replace(before, **fields)
    if after.instance != "own" and after.distribution == "own":
        after = replace(after, distribution="pareto")
    document = experiment.spec()
    if after.trust != before.trust:
        document["lines"] = _lines(after, epsilon_of(experiment))
        if experiment.horizon == ENOUGH_USERS[before.trust]:
            document["horizon"] = ENOUGH_USERS[after.trust]
    else:
        for line, stated in zip(document["lines"], experiment.lines, strict=True):
            parameters = stated.entry.parameters.model_fields
            params = dict(line.get("params", {}))
            if "v" in parameters:
                params["v"] = after.v
            if "kappa" in parameters and after.printed != before.printed:
                params.pop("kappa", None)
                params |= {"kappa": 1.0} if after.printed else {}
            line["params"] = params
    arms = document["arms"]
    if after.instance != "own" and (after.instance, after.distribution, after.v) != (
        before.instance, before.distribution, before.v,
    ):  # fmt: skip
        arms = _arms(after.instance, after.distribution, after.v)
    return experiment.with_changes(arms=arms, lines=document["lines"], horizon=document["horizon"])


def playable(experiment: Experiment) -> Experiment:
    """Without the lines that take a step for every user, where there are too many users for that."""
    lines = [line for line in experiment.spec()["lines"] if line["policy"] not in EVERY_USER]
    if experiment.horizon <= STEP_BY_STEP or len(lines) == len(experiment.lines):
        return experiment
    return experiment.with_changes(lines=lines, view=experiment.view.model_dump() | {"hidden": []})


def of_fields(fields: dict[str, str]) -> tuple[Experiment, list[Issue]]:
    """The experiment that a link in the page's former fields asks for, and what is wrong with it."""
    said, issues = _FORMER.read({name: text for name, text in fields.items() if name in _FORMER})  # the rest is gone
    epsilon, users = said.pop("epsilon", None), said.pop("horizon", None)
    preset = load_preset("wild-rewards")
    experiment = changed(preset, **said)
    lines = experiment.spec()["lines"]
    for line in lines:
        if "epsilon" in line and epsilon is not None:
            line["epsilon"] = {"kind": "fixed", "value": epsilon}
    return experiment.with_changes(lines=lines, horizon=users or preset.horizon), issues


# ---------------------------------------------------------------------------------------------------------------------
# The parts of the Heavy tails page.


TRIALS_AGAINST_V = 10
LONGEST_SECONDS = 30  # that the picture against v may take
_EXPONENT = Field(
    "heavy-v", "Exponent v: ← wilder · tamer →", 1.0, "Moments of order 1 + v are finite. v = 1: a finite variance; "
    f"near 0: hardly more than a finite mean. {words.PUBLIC['moments']}", allowed=EXPONENTS, place="v",
)  # fmt: skip
_TRUST = Field(
    "heavy-trust", "Trust", "", "Central DP: noise on sums. Local DP: noise on every single reward, which takes far "
    "more users.", "box", TRUST, place="trust",
)  # fmt: skip
_CONTROLS = (
    Field("heavy-instance", "Arms", "", "The means of five arms, three sets of Tao et al. 2022. Others can be written "
          "in the sidebar.", "box", INSTANCES, place="instance"),
    Field("heavy-distribution", "Rewards", "", "Pareto rewards have a smallest value and no largest one, Student's "
          "have neither. Both have finite moments below the order 1.05 + v only.", "box", DISTRIBUTIONS,
          place="distribution"),
    Field("heavy-printed", "Constants of the theory (κ = 1)", False, "The printed constants instead of reduced ones. "
          "They make the first epoch last up to 10^15 pulls.", "switch", place="printed"),
)  # fmt: skip
_REWARDS = Field(
    "rewards", "Rewards of this arm so far: slide to see B grow", 1000, "The level B grows with the number of rewards.",
    allowed=tuple(round(10 ** (step / 4)) for step in range(4, 29)), write=words.count, key="heavy-n",
)  # fmt: skip


def exponent(experiment: Experiment) -> None:
    """How wild the rewards are, as a control that changes the experiment."""
    page_fields.change(_EXPONENT, of(experiment).v, partial(changed, experiment))


def trust(experiment: Experiment) -> None:
    """Whom users trust, as a control that changes policies and the number of users."""
    page_fields.change(_TRUST, of(experiment).trust, partial(changed, experiment))


def controls(experiment: Experiment, now: Setting) -> None:
    """What else is special about heavy tails, as controls that change the experiment."""

    for field in _CONTROLS:
        value, allowed = getattr(now, field.place), field.allowed
        if field.kind == "box":  # "as in the sidebar" is offered while it is so
            allowed = {name: text for name, text in field.allowed.items() if name != "own" or value == "own"}
        page_fields.change(replace(field, allowed=allowed), value, partial(changed, experiment))


def cut_off(chosen: Setting, experiment: Experiment) -> None:
    """What the cut-off does to the best arm's rewards, and to their estimated mean."""
    st.markdown(
        "Noise that hides a huge reward would hide everything else, too. Counting rewards beyond B as 0 makes the "
        "estimates a little wrong (bias), but then noise in proportion to B is enough. As more rewards arrive, B grows "
        "and both errors shrink."
    )
    n: int = page_fields.ask(_REWARDS)
    tail, errors = (partial(each, chosen, experiment, n) for each in (tail_chart, error_chart))
    figures.beside(
        experiment,
        ("**What is thrown away** of the best arm's rewards", "tail", tail, "What is thrown away",
         tail_words(chosen, experiment, n)),
        ("**What the estimate loses**: truncation, noise, chance", "errors", errors, "Bias, noise and chance",
         error_words(chosen)),
        how=n,
    )  # fmt: skip


def _rule(chosen: Setting, experiment: Experiment) -> dict[str, Any]:
    """The truncation rule of the page's private policy, in its first epoch."""
    instance = experiment.setups[explained(experiment)]
    factor = 4 if chosen.trust == "central" else 8
    return {
        "v": chosen.v,
        "u": instance.parameters.u,
        "epsilon": epsilon_of(experiment),
        "estimator": chosen.estimator,
        "logarithm": math.log(factor * len(instance.arms) * experiment.horizon),
    }


def _best_arm(experiment: Experiment) -> RewardDistribution:
    return experiment.single_arms[int(np.argmax(experiment.means))]


def _level(chosen: Setting, experiment: Experiment, n: int) -> float:
    return float(heavy.truncation_level(n, **_rule(chosen, experiment)))


def tail_chart(chosen: Setting, experiment: Experiment, n: int, dark: bool) -> go.Figure:
    """Chance of a reward beyond x, log-log, with the part beyond B shaded."""
    distribution, level = _best_arm(experiment), _level(chosen, experiment, n)
    largest = float(np.max(np.abs(distribution.quantile(np.array([5e-7, 1 - 5e-7])))))
    smallest = max(distribution.support[0], largest * 1e-6, 0.01 * abs(distribution.expected)) or 1e-3
    sizes = np.unique(np.append(np.geomspace(smallest, max(largest, 1.5 * level), 400), level))
    chances = heavy.chance_beyond(distribution, sizes)
    colour = theme.policy_colour("dp-robust-se" if chosen.trust == "central" else "ldp-robust-se", dark)
    beyond = (sizes >= level) & (chances > 1e-7)
    shade = {"fill": "tozeroy", "fillcolor": theme.transparent(colour, 0.25)}
    curves = [
        charts.Curve(sizes, np.where(chances > 1e-7, chances, np.nan), "rewards", colour, "%{y:.2~%}"),
        charts.Curve(sizes[beyond], chances[beyond], "counted as 0", hover="", width=0, more=shade),
    ]
    across = charts.log_axis("size of a reward", range=np.log10([smallest, 1.4 * sizes[-1]]))
    up = charts.log_axis("chance of more", range=[-6, 0.1])
    figure = charts.draw(curves, across, up, 340, dark, [charts.Mark(level)], closest=True)
    text = f"B = {words.number(level, 2)}"
    figure.add_annotation(x=math.log10(level), y=0.02, text=text, showarrow=False, xanchor="left", xshift=6)
    return figure


def tail_words(chosen: Setting, experiment: Experiment, n: int) -> str:
    """How much is thrown away, as a share of rewards and of the mean."""
    distribution, level = _best_arm(experiment), _level(chosen, experiment, n)
    first, _ = heavy.truncated_moments(distribution, level)
    lost = 1 - float(first) / distribution.expected if distribution.expected else 0.0
    beyond = percent(float(heavy.chance_beyond(distribution, np.array([level]))[0]))
    moved = f"{'lowers' if lost >= 0 else 'raises'} the mean by {percent(abs(lost))}"
    reached = f"After {words.count(n)} rewards B = {words.number(level, 2)}"
    return f"{reached}: {beyond} of the rewards lie beyond, which {moved}."


def error_chart(chosen: Setting, experiment: Experiment, n: int, dark: bool) -> go.Figure:
    """Bias, privacy noise and sampling error of the private robust mean against the number of rewards."""
    grid = np.unique(np.round(np.geomspace(10, 1e7, 61)).astype(np.int64))
    frame = heavy.errors(_best_arm(experiment), grid, **_rule(chosen, experiment))
    shades = ("#d55e00", "#0072b2", "#7a828a") if not dark else ("#f08838", "#58b7e0", "#aab2ba")
    titles = {"bias": "truncation (bias)", "noise": "privacy noise", "sampling": "chance (sampling)"}
    curves = [
        charts.Curve(frame["n"], frame[name].abs(), title, shade, "%{y:.3~g}")
        for (name, title), shade in zip(titles.items(), shades, strict=True)
    ]
    rewards = {"title": "rewards of the arm", **charts.USERS_LOG}
    return charts.draw(curves, rewards, charts.log_axis("error of the mean"), 340, dark, [charts.Mark(n)])


def error_words(chosen: Setting) -> str:
    """What the three curves are."""
    whose = "one sum of all rewards" if chosen.trust == "central" else "every single reward"
    return (
        "For the best arm, in units of reward: the size of the bias, and standard deviations. Noise is added to "
        f"{whose}."
    )


def constants(chosen: Setting, experiment: Experiment, result: Result | None) -> None:
    """Which constants run, what that costs, and the exact numbers."""
    local, epsilon = chosen.trust == "local", epsilon_of(experiment)
    if chosen.printed:
        st.markdown(
            "The simulation uses the **constants of the theory** (κ = 1): the orders of regret are proved for this "
            "run. But the first epoch may last longer than the whole run, and then nothing is learned."
        )
    else:
        names = ", ".join(
            f"{line.entry.title} κ = {instance.parameters.kappa:.2g}"
            for line, instance in zip(experiment.lines, experiment.setups, strict=True)
        )
        st.markdown(
            f"The simulation uses **reduced constants** ({names}; chosen by experiment), because with the printed "
            "ones runs of ordinary length learn next to nothing. What is lost is the proof of the bound on the "
            "regret."
        )
    beyond = f" At ε = {epsilon:g} no theorem covers LDPRSE: they stop at ε = 1." * (local and epsilon > 1)
    st.markdown(f"The privacy guarantee is the same for every κ.{beyond}")
    if result is not None:
        st.caption(shared.once("verdict", result, None, lambda: words.verdict(result)))
    gallery.link_to_explore("Open in Explore", experiment)


def no_help_words(experiment: Experiment) -> str:
    """Says so where even reduced constants let the policy that plays in epochs drop no arm."""
    number = explained(experiment)
    title = experiment.lines[number].entry.title
    if of(experiment).printed or not shared.once(
        "drops-none", experiment, number, lambda: _drops_none(experiment, number)
    ):
        return ""
    return (
        f"{title} drops no arm before the users run out, so it loses as much as choosing in turn. It needs more users, "
        "a larger ε or a larger v."
    )


def _drops_none(experiment: Experiment, number: int) -> bool:
    """Whether the first trial shows all arms equally often: in turns until the end."""
    alone = experiment.with_lines((experiment.lines[number],)).model_copy(update={"trials": 1})
    [line] = simulate(alone).lines
    return line is not None and bool(np.ptp(line.pulls) <= 1)


def band_words(result: Result) -> str:
    """What is shaded, and what is left out."""
    report = (
        f"{words.sentence(words.band(result.experiment.trials, result.experiment.view))}. Regret in units of reward."
    )
    if result.experiment.horizon > STEP_BY_STEP:
        report += (
            f" Beyond {words.count(STEP_BY_STEP)} users only policies that play in epochs are shown: "
            "the others need a step for each user."
        )
    return report


def _at(experiment: Experiment, v: float) -> Experiment:
    return changed(experiment, v=v).with_changes(trials=TRIALS_AGAINST_V, seed=experiment.seed)


@remembered(64)  # asked whenever the page is drawn
def _seconds(experiment: Experiment) -> float:
    return sum(estimated_seconds(_at(experiment, v)) for v in EXPONENTS)


def _points(experiment: Experiment, report: Callable[[float], None]) -> pd.DataFrame:
    """Regret of every line at every exponent; ``report`` hears the share that is done, and may end it."""
    rows = []
    for place, v in enumerate(EXPONENTS):

        def show(running: Simulation, place: int = place) -> None:
            report((place + running.fraction) / len(EXPONENTS))

        report(place / len(EXPONENTS))
        result = simulate(_at(experiment, v), on_progress=show)
        for number, line in enumerate(result.lines):
            assert line is not None
            rows.append((number, v, float(line.mean[-1]), float(line.stderr[-1])))
    return pd.DataFrame(rows, columns=["line", "v", "regret", "stderr"])


def _computed_points(experiment: Experiment) -> pd.DataFrame:
    """The same with a bar, once for each experiment; any change of a control ends it, and what is done is kept."""
    wanted = runner.numbers_of(experiment)
    before: tuple[Experiment, pd.DataFrame] | None = st.session_state.get("heavy-points")
    if before is not None and before[0] == wanted:
        return before[1]
    place = st.empty()
    with page_lock.computing():
        points = _points(wanted, runner.bar(place, "simulating each exponent … (switch it off to stop)"))
    place.empty()
    st.session_state["heavy-points"] = (wanted, points)
    return points


def against_v(chosen: Setting, experiment: Experiment) -> None:
    """Regret at the horizon against the exponent, as long as that is quick or someone asks for it."""
    if "own" in (chosen.instance, chosen.distribution):
        st.caption("The tails of your own arms stay as they are. Choose S1, S2 or S3 below to vary them.")
        return
    cost = _seconds(runner.numbers_of(experiment)) / worker_count()
    wanted = cost <= runner.LIVE_SECONDS or page_fields.ask(
        Field(
            "against", f"Simulate every exponent ({words.duration(cost)} when nothing is cached)", False,
            f"{len(EXPONENTS)} experiments of {TRIALS_AGAINST_V} trials, each with tails as wild as its v "
            "allows.", "switch", key="heavy-against-v",
        )
    )  # fmt: skip
    if not wanted:
        return
    if cost > LONGEST_SECONDS:
        st.info(f"That would take {words.duration(cost)} here. Choose fewer users, or Pareto rewards.")
        return
    points = _computed_points(changed(experiment, v=EXPONENTS[0]))
    figure = _against_chart(points, experiment, chosen.v, not theme.is_phone(), theme.is_dark())
    figures.plot(figure, "against-v", "Regret at the horizon against the exponent v", tall=True)
    many = words.count(ENOUGH_USERS["local"])
    why = f" Noise on every reward needs far more users, so “{TRUST['local']}” opens with {many}."
    st.caption(
        f"± 2 standard errors of {TRIALS_AGAINST_V} trials each. Large dots: v = {chosen.v:g}, drawn below."
        + why * (chosen.trust == "local")
    )


def _against_chart(points: pd.DataFrame, experiment: Experiment, v: float, direct: bool, dark: bool) -> go.Figure:
    curves, colours, ends = [], theme.line_colours(experiment, dark), {}
    for number, part in points.groupby("line"):
        line, regret = int(number), part["regret"].to_numpy()
        marker = {"size": np.where(np.isclose(part["v"], v), 16, 6), "color": colours[line]}
        more = {"mode": "lines+markers", "marker": marker, "error_y": {"type": "data", "array": 2 * part["stderr"]}}
        look = {"hover": "v = %{x}: %{y:,.4~g}", "legend": charts.NARROW if direct else None, "more": more}
        curves.append(charts.line_curve(experiment, line, part["v"], regret, colours[line], **look))
        ends[line] = regret
    span = np.log10([max(1e-3, limit) for limit in (points["regret"].min() / 3, points["regret"].max() * 1.5)])
    across = {"title": "exponent v  (← wilder · tamer →)", "tickvals": EXPONENTS, "range": (0.16, 1.03)}
    up = charts.log_axis(f"regret after {words.count(experiment.horizon)} users", *span, range=span)
    figure = charts.draw(curves, across, up, lab_parts.HEIGHT, dark, [charts.Mark(v)], closest=True)
    if direct:
        charts.add_direct_labels(figure, experiment, EXPONENTS[-1], ends, colours, lab_parts.HEIGHT, dark)
        figure.layout[charts.NARROW].update(y=0.02, yanchor="bottom")  # curves begin high
    return figure


def curves(experiment: Experiment, result: Result) -> int | None:
    """Regret over users at the chosen exponent, with the bounds of one method, whose number is returned."""
    line = lab_parts.axes(lambda _: panels.focus(experiment))
    lit, direct = panels.lit(experiment, line), not theme.is_phone()
    since = max(1, experiment.horizon // 10**6)  # before that, a billion users' regret is below the picture
    draw = partial(
        charts.regret_chart, result, since=since, height=lab_parts.HEIGHT, direct_labels=direct, focus=line, asked=lit
    )
    figures.draw("heavy-regret", result, draw, partial(charts.describe, result), direct, line, lit, tall=True)
    st.caption(f"{words.distances(result, line)} {band_words(result)}".strip())
    return line


def theory(experiment: Experiment, result: Result, line: int | None) -> None:
    """The bounds of the method in focus, which the rows draw, and the paper's table of all."""
    panels.bounds_table(result, line)
    table_1 = lab_parts.part("Table 1 of the paper, for these arms", "heavy-table-1")
    if not table_1.open:
        return
    beyond = " The heavy-tailed bounds are stated for ε up to 1, and ε is larger here."
    with table_1:
        st.markdown(
            f"Values after {words.count(experiment.horizon)} users, shapes with the factor 1. They may exceed what can "
            "be lost at all. *Bounded*: the same gaps with rewards between 0 and 1, for comparison."
            f"{beyond * (epsilon_of(experiment) > 1)}"
        )
        table(heavy.table_1(experiment.setups[explained(experiment)]))


def table(frame: pd.DataFrame) -> None:
    """Table 1 with its formulas set, upper bounds beside lower ones; what is superseded in grey."""
    for column, side in zip(st.columns(2), ("upper", "lower"), strict=True):
        lines = [f"| {side} bounds | value |", "|---|---|"]
        for row in frame.to_dict("records"):
            printed = row["version"] == "printed" and row["rewards"] == "heavy-tailed"
            if not row[side]:
                continue
            where = f"{row['rewards']}, {row['model']}, {row['kind']}"
            value = words.number(row[f"{side}_value"])
            if printed and side == "upper":  # of the printed versions only the lower bounds stand
                lines.append(f"| :gray[{where}, as printed (superseded)] ${row[side]}$ | :gray[{value}] |")
            else:
                version = "as printed" if row["version"] == "printed" else row["version"]
                if side == "lower" and version == "corrected":  # lower bounds are the paper's, or ours
                    version = "as printed" if row["model"] == "central" else "derived"
                lines.append(f"| {where}, {version} ${row[side]}$ | {value} |")
        column.markdown("\n".join(dict.fromkeys(lines)))  # Theorem 5 stands in two rows
