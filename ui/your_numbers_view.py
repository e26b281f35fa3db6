"""The parts of the Your numbers page: a practitioner's options, the question, and the answer in their own unit.

Nothing that was uploaded leaves the session: it is simulated with a store in the session's memory, and neither links
nor functions with a process-wide cache (bounds, automatic thresholds) ever see it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InvalidInput, notation, tradeoff
from bandit_core.arms import Arm
from bandit_core.engine import estimated_seconds
from bandit_core.epsilons import Epsilon
from bandit_core.inverse import Answer, Goal, smallest_epsilon
from bandit_core.observations import (
    MOST_BYTES,
    Cost,
    Observations,
    Option,
    Trouble,
    chances_of_being_best,
    costs,
    question,
    read_budgets,
    read_lifts,
    read_observations,
    typed_arms,
)
from bandit_core.problems import Problem
from bandit_core.results import Result
from bandit_core.store import Store
from ui import charts, gallery, theme, tradeoff_view, words
from ui.your_numbers_summary import summary_page

EPSILONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
UNITS = ("conversions", "clicks", "euros", "minutes", "recovered patients", "units of reward")
MOST_USERS = 10**8
DEFAULTS = {
    "as": "share",
    "base": "10",
    "lifts": "20, 50",
    "by": "percent",
    "least": "0",
    "most": "100",
    "users": "50000",
    "unit": "conversions",
    "eps": "2",
    "goal": "price",
    "limit": "2",
}
CHOICES = {"as": ("share", "amount"), "by": ("percent", "plain"), "goal": ("price", "regret")}
SEARCH_POINTS = 12  # budgets that a search usually tries
STORE_BYTES = 64 * 2**20
# Only published numbers whose unit and trust model are beyond doubt.
DEPLOYED = (
    ("Apple, health data types, 2017", "2", "one person, one day", "nobody is trusted", "Apple, technical overview"),
    ("Apple, popular emoji, 2017", "4", "one person, one day", "nobody is trusted", "Apple, technical overview"),
    (
        "US Census 2020, redistricting tables",
        "19.61",
        "one person or home",
        "the Bureau is trusted",
        "Census Bureau, 2021",
    ),
)
PRIVATE_WORDS = (
    "**Your file stays in this session.** It is read into memory for this browser tab only: never written to disk, a "
    "link, a log or the cache that visitors share, and forgotten when you remove it or close the tab."
)
_MEMORY = "your-numbers"


@dataclass(frozen=True)
class Asked:
    """The options of the question: arms in [0, 1], and what 0 and 1 stand for in the visitor's unit."""

    arms: tuple[Arm, ...]
    names: tuple[str, ...]
    low: float
    high: float
    observed: tuple[Option, ...] | None  # None where the numbers were typed
    sure: str  # how sure one can be which option is best

    @property
    def scale(self) -> float:
        """What a reward of 1 in the simulation is worth."""
        return self.high - self.low

    @property
    def means(self) -> np.ndarray:
        """Mean reward of each option, in the visitor's unit."""
        return np.array([self.low + self.scale * arm.law_mean for arm in self.arms])


@dataclass(frozen=True)
class Setting:
    """How many users, what the reward is called, and what privacy they want."""

    users: int
    unit: str
    epsilon: float | Epsilon

    @property
    def budget(self) -> str:
        """The budget in a few words, safe inside markdown."""
        return f"ε = {self.epsilon:g}" if isinstance(self.epsilon, float) else "your users' own ε"


# ---------------------------------------------------------------------------------------------------------------
# The address: typed numbers only


def _memory() -> dict[str, Any]:
    return st.session_state.setdefault(_MEMORY, {"address": {}, "generation": 0, "fields": dict(DEFAULTS)})


def open_link() -> None:
    """Take over typed numbers from the address, if it says something new; what cannot be used is told."""
    memory = _memory()
    asked = {name: st.query_params[name] for name in DEFAULTS if name in st.query_params}
    if not asked or asked == memory["address"]:
        return
    fields = {**DEFAULTS, **asked}
    problems = [
        Problem(name, fields[name], f"one of {', '.join(allowed)}")
        for name, allowed in CHOICES.items()
        if fields[name] not in allowed
    ]
    for name in ("base", "least", "most", "users", "eps", "limit"):
        value = notation.read_number(fields[name])
        if isinstance(value, str) or not math.isfinite(value) or (name in ("users", "eps", "limit") and value <= 0):
            problems.append(Problem(name, fields[name], "a number" if name in ("base", "least", "most") else "above 0"))
    for problem in problems:
        fields[problem.path] = DEFAULTS[problem.path]
    memory |= {"address": asked, "fields": fields, "generation": memory["generation"] + 1}
    if problems:
        told = words.problems(problems)
        st.warning(
            f"Some of this link could not be used; defaults stand in for it.\n{told}", icon=":material/link_off:"
        )


def _start(name: str) -> str:
    return _memory()["fields"][name]


def _number(name: str) -> float:
    return float(notation.read_number(_start(name)))


def _key(name: str) -> str:
    return f"own-{name}:{_memory()['generation']}"


def _keep(**fields: str) -> None:
    """Remember what the controls say, so that it survives a visit to another page."""
    _memory()["fields"] |= fields


def _write_address(private: bool) -> None:
    """Let the address follow the typed numbers; nothing of an upload ever stands in it."""
    fields = _memory()["fields"]
    wanted = {} if private else {name: text for name, text in fields.items() if text != DEFAULTS[name]}
    for name in DEFAULTS:
        if name in wanted and st.query_params.get(name) != wanted[name]:
            st.query_params[name] = wanted[name]
        elif name not in wanted and name in st.query_params:
            del st.query_params[name]
    _memory()["address"] = wanted


def link() -> str:
    """The address of this page with the typed numbers."""
    fields = {name: text for name, text in _memory()["fields"].items() if text != DEFAULTS[name]}
    base = (st.context.url or "").split("?")[0]
    return base + (f"?{urlencode(fields)}" if fields else "")


# ---------------------------------------------------------------------------------------------------------------
# The options


def told(problem: Problem) -> str:
    """A problem in plain words, safe inside markdown."""
    return words.plain(f"{problem.path}: {problem.allowed}" if problem.value is None else str(problem))


def _refused(error: InvalidInput) -> None:
    st.error("\n".join(f"- {told(problem)}" for problem in error.problems[:8]), icon=":material/error:")


def options() -> Asked | None:
    """The visitor's options, typed or uploaded; None until they can be used (why is told)."""
    source = st.segmented_control(
        "Your options",
        ["typed", "upload"],
        default="typed",
        required=True,
        format_func={"typed": "I type rates", "upload": "I upload observations"}.__getitem__,
        key="own-source",
        help="Type what you expect, or upload what you have observed.",
    )
    return _typed() if source == "typed" else _uploaded()


def _typed() -> Asked | None:
    kinds = {"share": "succeeds or not (a rate)", "amount": "is an amount"}
    amount = st.segmented_control(
        "What one user brings",
        list(kinds),
        default=_start("as"),
        required=True,
        format_func=kinds.__getitem__,
        key=_key("as"),
        help="A share of users who convert, click or recover; or a mean amount such as euros or minutes.",
    )
    left, middle, right = st.columns([1, 2, 1], vertical_alignment="bottom")
    name = "Baseline rate, %" if amount == "share" else "Baseline mean per user"
    base = left.number_input(
        name, value=_number("base"), format="%g", key=_key("base"), help="What the present option brings per user."
    )
    text = middle.text_input(
        "Expected lifts, one per new option",
        _start("lifts"),
        key=_key("lifts"),
        help="With commas between them: 20, 50 stands for two new options. Minus is a loss.",
    )
    ways = {"percent": "% of the baseline", "plain": "points" if amount == "share" else "plain amounts"}
    by = right.selectbox(
        "Lifts are in",
        list(ways),
        list(ways).index(_start("by")),
        format_func=ways.__getitem__,
        key=_key("by"),
        help="20 % of a baseline of 10 gives 12; 20 points give 30.",
    )
    low, high = 0.0, 100.0
    fields = {}
    if amount == "amount":
        left, right = st.columns(2)
        low = left.number_input(
            "Smallest amount of one user",
            value=_number("least"),
            format="%g",
            key=_key("least"),
            help="Privacy noise must be able to hide the difference between the smallest and the largest amount.",
        )
        high = right.number_input(
            "Largest amount of one user",
            value=_number("most"),
            format="%g",
            key=_key("most"),
            help="A wider range needs more noise. Amounts beyond it would be cut.",
        )
        st.caption(
            "Of typed amounts only the mean is known, so the most varied case is assumed: each user brings the "
            "smallest or the largest amount. Upload observations for a closer answer."
        )
        fields = {"least": f"{low:.12g}", "most": f"{high:.12g}"}
    _keep(**{"as": amount, "base": f"{base:.12g}", "lifts": text, "by": by}, **fields)
    try:
        arms = typed_arms(base, read_lifts(text), by == "percent", (low, high))
    except InvalidInput as error:
        _refused(error)
        return None
    names = ("baseline", *(f"option {number}" for number in range(1, len(arms))))
    means = [low + (high - low) * arm.mean for arm in arms]
    best = int(np.argmax(means))
    unit = " %" if amount == "share" else ""
    st.markdown(
        "You compare "
        + ", ".join(f"**{name}** {words.number(mean)}{unit}" for name, mean in zip(names, means, strict=True))
        + f". Best: **{names[best]}**. Typed numbers are taken as exact."
    )
    worth = (0.0, 1.0) if amount == "share" else (low, high)
    return Asked(arms, names, *worth, None, "The rates were typed and taken as exact.")


def _parsed(upload: Any, name: str, read: Any) -> Any:
    """What ``read`` makes of the file, kept in the session while the file is there; None where it is no use."""
    slot = f"own-{name}-read"
    if upload is None:
        st.session_state.pop(slot, None)
        return None
    if st.session_state.get(slot, (None,))[0] != upload.file_id:
        try:
            st.session_state[slot] = (upload.file_id, read(upload.getvalue()))
        except InvalidInput as error:
            st.session_state[slot] = (upload.file_id, error)
    found = st.session_state[slot][1]
    if isinstance(found, InvalidInput):
        st.markdown("**This file cannot be used yet:**")
        _refused(found)
        return None
    return found


def store() -> Store:
    """The session's own store in memory, for everything that was uploaded."""
    if "own-store" not in st.session_state:
        st.session_state["own-store"] = Store(None, STORE_BYTES)
    return st.session_state["own-store"]


def _forget() -> None:
    """The file is gone: so is everything that was computed from it."""
    for slot in ("own-store", "own-file-read", "own-budgets-read", "run-own"):
        kept = st.session_state.pop(slot, None)
        if isinstance(kept, Store):
            kept.close()
        elif hasattr(kept, "simulation"):
            kept.simulation.stop()


def _accepted(troubles: Sequence[Trouble], slot: str) -> bool:
    """Whether the visitor agrees to every repair."""
    if not troubles:
        return True
    shown = [f"- {words.plain(str(trouble))}" for trouble in troubles[:8]]
    if len(troubles) > 8:
        shown.append(f"- and {len(troubles) - 8} more")
    st.warning("Some cells cannot be used:\n" + "\n".join(shown), icon=":material/rule:")
    agreed = []
    for repair in dict.fromkeys(trouble.repair for trouble in troubles):
        cells = sum(trouble.count for trouble in troubles if trouble.repair == repair)
        what = f" ({cells:,} in all)" if cells > 1 else ""
        agreed.append(
            st.checkbox(
                f"{repair.capitalize()}{what}",
                key=f"{slot}-{repair}",
                help="Nothing is left out before you agree. You can also mend the file and upload it again.",
            )
        )
    return all(agreed)


def _uploaded() -> Asked | None:
    upload = st.file_uploader(
        "Observed rewards (CSV)",
        type=["csv", "tsv", "txt"],
        key="own-file",
        max_upload_size=MOST_BYTES // 2**20,
        help="One column per option, or two columns: option and reward. Up to 20 MB.",
    )
    st.caption(PRIVATE_WORDS)
    seen: Observations | None = _parsed(upload, "file", read_observations)
    if upload is None:
        _forget()
        st.caption(
            "For example `arm,reward` with one line per user below it (`A,1`, `B,0`, …), or `A,B` with the rewards "
            "of each option in its own column."
        )
    if seen is None or upload is None:
        return None
    notes = " ".join((f"Read as {seen.layout}, {seen.rows:,} rows.", *seen.notes))
    st.caption(words.plain(notes))
    if not _accepted(seen.troubles, upload.file_id):
        return None
    limits = (0.0, 1.0) if seen.inside_unit else _limits(seen, upload.file_id)
    if limits is None:
        return None
    try:
        arms = tuple(option.rescaled(*limits).arm() for option in seen.options)
    except InvalidInput as error:
        _refused(error)
        return None
    sure = certainty(seen.options)
    _observed_table(seen.options)
    st.markdown(sure)
    if any(option.summarised for option in seen.options):
        st.caption(
            "Options with more than 1,000 different rewards are simulated by 1,000 means of equally large groups of "
            "neighbouring rewards, which keeps their mean."
        )
    return Asked(arms, tuple(option.name for option in seen.options), *limits, seen.options, sure)


def _limits(seen: Observations, slot: str) -> tuple[float, float] | None:
    """The range to rescale to [0, 1], once the visitor agrees to it."""
    low, high = seen.limits
    where = next(option for option in seen.options if option.low < 0 or option.high > 1)
    value = where.low if where.low < 0 else where.high
    st.warning(
        words.plain(
            f"Rewards run from {low:.6g} to {high:.6g} (column {where.name} holds {value:.6g}). Mechanisms that hide a "
            "reward need it between 0 and 1."
        ),
        icon=":material/straighten:",
    )
    left, middle, right = st.columns([1, 1, 2], vertical_alignment="bottom")
    least = left.number_input(
        "Smallest possible", value=min(0.0, low), format="%g", key=f"{slot}-low", help="Becomes 0."
    )
    most = middle.number_input("Largest possible", value=high, format="%g", key=f"{slot}-high", help="Becomes 1.")
    agreed = right.checkbox(
        "Rescale to [0, 1]",
        key=f"{slot}-rescale",
        help="Every reward r becomes (r - smallest) / (largest - smallest). The answer is given in your unit again.",
    )
    st.caption(
        "In a real system these limits must be fixed before looking at the data, or they themselves tell something."
    )
    return (least, most) if agreed else None


def _observed_table(options: Sequence[Option]) -> None:
    rows = []
    for option in options:
        interval = option.interval
        ends = f"{words.number(interval[0])} to {words.number(interval[1])}" if interval else "unknown"
        rows.append(
            {
                "option": option.name,
                "observations": f"{option.count:,}",
                "mean": words.number(option.mean),
                "95 % interval": ends,
                "smallest": words.number(option.low),
                "largest": words.number(option.high),
            }
        )
    st.dataframe(
        pd.DataFrame(rows), hide_index=True, width="stretch", alt="Observed options: count, mean and interval of each"
    )


def certainty(options: Sequence[Option]) -> str:
    """How sure one can be which option is best, in one sentence."""
    chances = chances_of_being_best(options)
    after = "The simulation takes the observed means as the truth."
    if np.isnan(chances).any():
        return f"Some option has too few different observations to say how sure the order is. {after}"
    order = np.argsort(-chances, kind="stable")
    name, chance = words.plain(options[order[0]].name), chances[order[0]]
    if chance > 0.99:
        return f"You can be more than 99 % sure that **{name}** is the best of these options. {after}"
    if chance >= 0.8:
        return f"You can be about {chance:.0%} sure that **{name}** is the best of these options. {after}"
    second = words.plain(options[order[1]].name)
    return (
        f"It is open which option is best: **{name}** with a chance of about {chance:.0%}, **{second}** with about "
        f"{chances[order[1]]:.0%}. {after}"
    )


# ---------------------------------------------------------------------------------------------------------------
# Users, unit, privacy


def setting(asked: Asked) -> Setting | None:
    """The rest of the question; None where an uploaded list of budgets cannot be used."""
    left, right = st.columns(2)
    users = left.number_input(
        "Users",
        min_value=10,
        max_value=MOST_USERS,
        value=min(MOST_USERS, max(10, int(_number("users")))),
        step=1000,
        key=_key("users"),
        help="How many users will be given one of the options.",
    )
    amounts = asked.observed is not None and not all(option.yes_or_no for option in asked.observed)
    first = UNITS[-1] if amounts and _start("unit") == DEFAULTS["unit"] else _start("unit")
    unit = right.selectbox(
        "One unit of reward is called",
        list(dict.fromkeys([first, *UNITS])),
        key=_key("unit-of-amounts" if amounts else "unit"),
        accept_new_options=True,
        help="The word for what you count: choose one or type your own.",
    )
    unit = " ".join(str(unit or UNITS[0]).split())[:30] or UNITS[0]
    start = min(10.0, max(0.01, _number("eps")))
    epsilon = st.select_slider(
        "What users accept, ε: ← more private · less loss →",
        sorted({*EPSILONS, start}),
        start,
        key=_key("eps"),
        format_func=lambda value: f"{value:g}",
        help="The privacy budget: how much one answer may tell about the person who gave it.",
    )
    st.caption(words.odds(epsilon))
    _keep(users=str(int(users)), unit=unit, eps=f"{epsilon:g}")
    law: Epsilon | None = None
    with st.expander("Which ε do others use? Do my users differ?"):
        st.dataframe(
            pd.DataFrame(DEPLOYED, columns=["deployed", "ε", "protects", "trust", "source"]),
            hide_index=True,
            width="stretch",
            alt="Budgets in use, with what they protect, whom they trust, and the source",
        )
        st.caption(
            "For orientation only: these numbers protect different things under different trust. Here ε protects one "
            "answer of one user."
        )
        upload = st.file_uploader(
            "Users' own ε (CSV, optional)",
            type=["csv", "tsv", "txt"],
            key="own-budgets",
            max_upload_size=MOST_BYTES // 2**20,
            help="One column: the ε of one user in each row; 0 shares nothing. Replaces the slider above.",
        )
        read = _parsed(upload, "budgets", read_budgets)
        if upload is not None and read is None:
            return None
        if read is not None and upload is not None:
            st.caption(PRIVATE_WORDS)
            if not _accepted(read[2], upload.file_id):
                return None
            law = read[0]
            st.caption(f"{read[1]:,} users' own budgets are used instead of the slider.")
    return Setting(int(users), unit, float(epsilon) if law is None else law)


def is_private(asked: Asked, chosen: Setting) -> bool:
    """Whether anything of the question was uploaded."""
    return asked.observed is not None or not isinstance(chosen.epsilon, float)


def experiment_of(asked: Asked, chosen: Setting) -> Experiment | None:
    """The question as an experiment; None where it cannot be posed (why is told)."""
    _write_address(is_private(asked, chosen))
    try:
        return question(asked.arms, chosen.users, chosen.epsilon)
    except InvalidInput as error:
        _refused(error)
        return None


# ---------------------------------------------------------------------------------------------------------------
# The answer


@dataclass(frozen=True)
class Reply:
    """Costs of every trust model, and what two policies without learning would lose, all in the visitor's unit."""

    asked: Asked
    chosen: Setting
    experiment: Experiment
    rows: tuple[Cost, ...]
    blind: float
    first: float

    @property
    def amounts(self) -> str:
        """The unit, safe inside markdown."""
        return words.plain(self.chosen.unit)


def reply(asked: Asked, chosen: Setting, result: Result) -> Reply:
    """The answer as numbers."""
    experiment = result.experiment
    stay = chosen.users * float(experiment.means.max() - experiment.means[0])
    rows = tuple(costs(result, asked.scale))
    blind = tradeoff.blind_regret(experiment) * asked.scale
    return Reply(asked, chosen, experiment, rows, blind, stay * asked.scale)


def verdict(answer: Reply) -> str:
    """The answer in sentences that claim no more than the errors allow."""
    base, *private = answer.rows
    users, unit = f"{words.count(answer.chosen.users)} users", answer.amounts
    if answer.blind == 0:
        return "All options bring the same, so there is nothing to find out and nothing to lose."
    if base.privacy != "none":
        return "Press Run for the answer."
    sentences = [
        f"Without privacy, finding the best option costs **{words.with_error(base.lost, base.lost_stderr)} {unit}** "
        f"among {users}."
    ]
    for row in private:
        who = f"If {row.label}" if row.privacy != "none" else row.label
        ratio = words.with_error(row.price, row.price_stderr)
        extra = words.with_error(row.extra, row.extra_stderr)
        if row.certain:
            sentences.append(
                f"{who}, privacy at {answer.chosen.budget} costs **{extra} {unit} more**: {ratio} times as much."
            )
        else:
            sentences.append(
                f"{who}, the cost of privacy at {answer.chosen.budget} cannot be told apart from nothing with "
                f"{row.trials} simulated runs ({extra} {unit})."
            )
        sentences += _warnings(row, answer)
    losses = {row.privacy: row for row in private}
    if "local" in losses and "central" in losses:
        local, central = losses["local"], losses["central"]
        if central.lost - local.lost > 2 * math.hypot(central.lost_stderr, local.lost_stderr):
            sentences.append(
                "Here the method that trusts nobody loses less, and it protects where a curator is trusted, too."
            )
    return " ".join(sentences)


def _warnings(row: Cost, answer: Reply) -> list[str]:
    """What a decision must not overlook: nothing is learned, or trying costs more than it brings."""
    told = []
    error = row.lost_stderr if math.isfinite(row.lost_stderr) else 0.0
    if row.lost >= tradeoff.NOISE_SHARE * answer.blind:
        told.append("That is hardly better than choosing at random: with so few users, next to nothing is learned.")
    if 0 < answer.first < row.lost - 2 * error:
        name = words.plain(answer.asked.names[0])
        told.append(
            f"Keeping **{name}** for everybody would lose less ({words.number(answer.first)} {answer.amounts})."
        )
    return told


def cards(answer: Reply) -> None:
    """One card per trust model."""
    colours = theme.line_colours(answer.experiment, theme.is_dark())
    for column, row in zip(st.columns(len(answer.rows)), answer.rows, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"{theme.TRUST_SIGNS[row.privacy]} **{row.label.capitalize()}**")
            st.html(f'<div style="height:4px;border-radius:2px;background:{colours[row.line]}"></div>')
            st.markdown(f"### {words.with_error(row.lost, row.lost_stderr)}")
            lines = [f"{answer.amounts} lost against always giving the best option"]
            if math.isfinite(row.extra):
                lines.append(f"{words.with_error(row.extra, row.extra_stderr)} more than without privacy")
            if math.isfinite(row.price):
                lines.append(f"{words.with_error(row.price, row.price_stderr)} times the loss without privacy")
            st.caption("  \n".join(lines))


def chart(answer: Reply, result: Result, dark: bool) -> go.Figure:
    """Loss so far against users, with what choosing blindly and keeping the first option would lose."""
    figure = go.Figure()
    colours = theme.line_colours(result.experiment, dark)
    scale = answer.asked.scale
    top = 0.0
    for row in answer.rows:
        line = result.lines[row.line]
        assert line is not None
        colour = colours[row.line]
        quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        group = {"legendgroup": row.label}
        high = scale * line.quantile(0.95)
        figure.add_scatter(x=result.times, y=high, **quiet, **group)
        fill = {"fill": "tonexty", "fillcolor": theme.transparent(colour, 0.15)}
        figure.add_scatter(x=result.times, y=scale * line.quantile(0.05), **quiet, **fill, **group)
        figure.add_scatter(
            x=result.times,
            y=scale * line.mean,
            mode="lines",
            name=f"{theme.TRUST_SIGNS[row.privacy]} {row.label}",
            line={"color": colour, "width": 2.5},
            hovertemplate="%{y:,.4~g}",
            **group,
        )
        top = max(top, float(high[-1]))
    ends = [0, answer.chosen.users]
    still = {"mode": "lines", "hovertemplate": "%{y:,.4~g}"}
    figure.add_scatter(
        x=ends,
        y=[0, answer.blind],
        name="choose at random",
        line={"color": "#8a949e", "width": 1.3, "dash": "dot"},
        **still,
    )
    if answer.first > 0:
        name = f"keep {charts.escape(answer.asked.names[0])} for everybody"
        line = {"color": "#8a949e", "width": 1.3, "dash": "dash"}
        figure.add_scatter(x=ends, y=[0, answer.first], name=name, line=line, **still)
    charts.style(figure, 420, dark, legend_below=True)
    figure.update_xaxes(title="users so far", tickformat="~s", range=ends)
    figure.update_yaxes(
        title=charts.escape(f"{answer.chosen.unit} lost so far"), tickformat="~s", range=[0, 1.1 * max(top, 1e-12)]
    )
    return figure


def describe(answer: Reply) -> str:
    """The chart as text, for screen readers."""
    parts = [f"{answer.chosen.unit} lost against the number of users, up to {words.count(answer.chosen.users)}."]
    parts += [f"{row.label}: {words.with_error(row.lost, row.lost_stderr)} at the end." for row in answer.rows]
    parts.append(f"Choosing at random: {words.number(answer.blind)}.")
    if answer.first > 0:
        parts.append(f"Keeping {answer.asked.names[0]} for everybody: {words.number(answer.first)}.")
    return " ".join(parts)


def search(answer: Reply, kept: Store | None) -> list[tuple[int, str, Answer]]:
    """The inverse question: the smallest ε for a chosen price, for every trust model side by side."""
    st.subheader("Which ε can I afford?")
    kinds = {"price": "times the loss without privacy", "regret": f"{answer.chosen.unit} lost in all"}
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    kind = right.selectbox(
        "of what",
        list(kinds),
        list(kinds).index(_start("goal")),
        format_func=kinds.__getitem__,
        key=_key("goal"),
        help="What must not exceed the number beside it, after all users.",
    )
    limit = left.number_input(
        "I accept at most", min_value=0.0, value=_number("limit"), format="%g", key=_key("limit"), help="Your limit."
    )
    _keep(goal=kind, limit=f"{limit:.12g}")
    private = is_private(answer.asked, answer.chosen)
    _write_address(private)
    pair = answer.experiment.with_changes(lines=answer.experiment.spec()["lines"][:2])
    seconds = SEARCH_POINTS * estimated_seconds(pair) * max(1, len(answer.rows) - 1)
    if not st.toggle(
        "Search the smallest ε",
        key="own-search",
        help=f"Tries about {SEARCH_POINTS} budgets for each trust model ({words.duration(seconds)}).",
    ):
        return []
    place = st.empty()
    found = []
    goal = Goal(kind, limit if kind == "price" else limit / answer.asked.scale)
    for row in answer.rows[1:]:

        def trying(at: float, row: Cost = row) -> None:
            place.progress(0.5, f"{row.label}: trying ε = {at:.3g}")

        try:
            found.append((row.line, row.label, smallest_epsilon(answer.experiment, row.line, goal, None, trying, kept)))
        except InvalidInput as error:
            _refused(error)
            return []
    place.empty()
    scale, what = (1.0, "price") if kind == "price" else (answer.asked.scale, f"{answer.chosen.unit} lost")
    tradeoff_view.answers(answer.experiment, found, limit, scale, charts.escape(what))
    return found


def take_away(answer: Reply, found: list[tuple[int, str, Answer]]) -> None:
    """The one-page summary, and the links where the numbers were typed."""
    private = is_private(answer.asked, answer.chosen)
    columns = st.columns(3, vertical_alignment="bottom")
    limit = _memory()["fields"]["limit"]
    goal = f"at most {limit} " + (
        "times the loss without privacy" if _memory()["fields"]["goal"] == "price" else f"{answer.chosen.unit} lost"
    )
    columns[0].download_button(
        "One-page summary (HTML)",
        data=lambda: summary_page(answer, verdict(answer), found, goal, None if private else link()),
        file_name="price-of-privacy.html",
        mime="text/html",
        on_click="ignore",
        help="One page to print or forward; it needs nothing else. It holds means, never single rewards.",
        width="stretch",
    )
    if private:
        columns[1].caption("No link here: what was uploaded never goes into one. Forward the summary instead.")
        return
    with columns[1].popover("Copy link", width="stretch", help="The address of this page with your typed numbers."):
        st.code(link(), language=None, wrap_lines=True)
    with columns[2]:
        gallery.link_to_explore("Open in Explore", answer.experiment)


def explanation(answer: Reply) -> None:
    """How the answer comes about."""
    with st.expander("How is this computed?"):
        policies = ", ".join(f"{row.label}: {answer.experiment.lines[row.line].entry.title}" for row in answer.rows)
        st.markdown(
            "A learner gives each user one of the options and learns from what comes back; with privacy, only from a "
            "noisy version of it. *Lost* is the difference to giving everybody the best option from the start. This is "
            f"simulated {answer.experiment.trials} times; ± is the standard error of the mean, and the shaded band "
            f"holds the middle 90 % of the runs.\n\nPolicies used: {words.plain(policies)}: versions "
            "of one rule, so that the difference is the price of privacy. Other rules may lose less; compare them in "
            "Explore. "
            "*Nobody is trusted*: each answer is randomised on the user's own device (local DP). *A curator is "
            "trusted*: somebody sees the answers and publishes only private results (central DP). The same ε is a "
            "different promise in each.\n\nThe ± does not cover how far your numbers are from the truth."
        )
