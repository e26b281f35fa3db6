"""Until when? Users until a decision on Your numbers: what is asked, the answer in words, numbers and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import InputError
from bandit_core.model import PROMISES, Privacy
from bandit_core.policies.stopping import Rule
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import percent
from bandit_core.studies.roll_out import CAP, TRIALS, RollOut, RollOutQuestion, RollOutStudy, mean_and_error
from bandit_core.theory.power import critical_value
from ui import charts, epsilon_grid, figures, runner, shared, theme, uploads, words
from ui.your_numbers import address
from ui.your_numbers.answers import Reply

RULES: dict[Rule, str] = {"proved": "proved", "heuristic": "heuristic, no proof"}
_BUDGETS: dict[Privacy, str] = {"local": "epsl", "central": "epsc"}
_MEMORY = "own-until"
LEAST = (
    "“At least, on average”: no method with this trust that errs with probability δ at most, whatever the options are, "
    "needs fewer users on average; the word beside it says whether a paper proves that or it was derived here."
)
SAME = 1e-12  # a difference of two means of cut rewards that rounding may make
CUT_TO_THE_SAME = (
    "Once rewards are cut, several options look equally good and best, so with privacy no best one is found."
)
NOTHING_TO_FIND = "Several options are equally good and best, so there is no single best one to find."


@dataclass(frozen=True, eq=False)
class Until:
    """The answer of every trust model, beside what the page's bandits lose."""

    answer: Reply
    question: RollOutQuestion
    rows: tuple[RollOut, ...]

    @property
    def error(self) -> str:
        """The chance of error that is allowed, in words."""
        return f"{words.number(100 * self.question.delta)} %"


def until_when(answer: Reply, store: Store | None) -> Until | None:
    """The controls and the answer; None as long as there is none."""
    st.subheader("Until when?")
    st.markdown("How many users does it take until you can stop trying and give everybody the winner?")
    question = _asked(answer)
    if nothing := undecided(question):
        st.info(nothing)
        return None
    rows = _found(question, store)
    if rows is None:
        return None
    until = Until(answer, question, rows)
    st.markdown(
        shared.of_controls("until-words", (question, answer.asked.misled), lambda: sentence(until), answer.private)
    )
    dark = theme.is_dark()
    drawn = shared.figure(
        "until", (question, dark), lambda: picture(until, dark), lambda _: describe(until), own=store is not None
    )
    figures.show(drawn, "until-chart")
    st.caption(
        f"{question.trials:,} simulated runs of the method that stops by itself: the thin line spans the middle 90 %, "
        "the thick one the middle half, and the sign is the median. Dashed: your number of users."
    )
    _tables(until)
    return until


def undecided(question: RollOutQuestion) -> str:
    """Why no number of users decides, in words; empty where it does in every trust model."""
    if question.effect("none") == 0:
        return NOTHING_TO_FIND
    return CUT_TO_THE_SAME if any(question.effect(privacy) < SAME for privacy, _ in question.epsilons) else ""


# ---------------------------------------------------------------------------------------------------------------
# What is asked


def _asked(answer: Reply) -> RollOutQuestion:
    left, right = st.columns(2, vertical_alignment="bottom")
    delta = left.number_input(
        "Chance of error, α and δ",
        *address.RANGES["delta"],
        address.number_at_first("delta"),
        step=0.01,
        format="%g",
        key=address.key_of("delta"),
        help="Of the A/B test: its level α, two-sided, in all comparisons together. Of the method that stops by "
        "itself: δ, its chance of recommending an option that is not the best.",
    )
    power = right.number_input(
        "Power of the A/B test",
        *address.RANGES["power"],
        address.number_at_first("power"),
        step=0.05,
        format="%g",
        key=address.key_of("power"),
        help="The chance that the test finds the difference between the two best options.",
    )
    shown = address.page_memory()["fields"]["eps"]
    budgets = tuple(
        (privacy, _budget(column, privacy, shown)) for column, privacy in zip(st.columns(2), _BUDGETS, strict=True)
    )
    rule: Any = st.segmented_control(
        "Rule to stop by",
        list(RULES),
        default=cast(Rule, address.first_value("rule")),
        required=True,
        format_func=RULES.__getitem__,
        key=address.key_of("rule"),
        help="Proved: wrong with probability δ at most, whatever the options are. Heuristic: the rule that published "
        "programs use; how often it is wrong can only be measured.",
    )
    address.remember(delta=f"{delta:.12g}", power=f"{power:.12g}", rule=rule)
    address.write_address(answer.private)
    if not isinstance(answer.chosen.epsilon, float):
        st.caption(f"In this section all users have one ε: the one chosen here, or else that of the slider, {shown}.")
    return RollOutQuestion(
        answer.question.arms, answer.chosen.users, budgets, float(delta), float(power), rule, TRIALS,
        clip=answer.question.clip,
    )  # fmt: skip


def _budget(column: st.delta_generator.DeltaGenerator, privacy: Privacy, shown: str) -> float:
    """The budget of one trust model: that of the page, or one of its own."""
    name = _BUDGETS[privacy]
    first = address.first_value(name)
    grid = {f"{value:g}" for value in epsilon_grid.between(0.05, 10)} | ({first} - {address.SAME})
    chosen = column.selectbox(
        f"ε: {PROMISES[privacy].who}",
        [address.SAME, *sorted(grid, key=float)],
        key=address.key_of(name),
        index=0 if first == address.SAME else 1 + sorted(grid, key=float).index(first),
        format_func=lambda text: f"as above ({shown})" if text == address.SAME else text,
        help="Equal numbers protect unequally under the two promises, so each may have its own.",
    )
    address.remember(**{name: chosen})
    return float(shown if chosen == address.SAME else chosen)


def _found(question: RollOutQuestion, store: Store | None) -> tuple[RollOut, ...] | None:
    """What the simulations say, kept in the session as long as the question is the same."""
    memory = st.session_state.get(_MEMORY)
    if memory is None or memory[0] != question:
        try:
            rows = runner.study_of(lambda: RollOutStudy(question, store), question, "own-until", store)
        except InputError as error:
            uploads.refuse(error)
            return None
        if rows is None:
            return None
        memory = st.session_state[_MEMORY] = question, rows
    else:
        st.empty()  # in the place of the progress bar
    found: tuple[RollOut, ...] = memory[1]
    return found


# ---------------------------------------------------------------------------------------------------------------
# In words and numbers


def users_words(users: float) -> str:
    """A number of users, rounded to what is worth reading; what is beyond the cap is said to be that."""
    return words.number(users) if math.isfinite(users) else f"more than {words.count(CAP)}"


def who(row: RollOut) -> str:
    """The trust model and its budget."""
    return PROMISES[row.privacy].who + ("" if row.epsilon is None else f" (ε = {row.epsilon:g})")


def sentence(until: Until) -> str:
    """The answer: the median time of every trust model, and whether a curator is worth it."""
    plain, *private = until.rows
    parts = [f"**{users_words(plain.times.quantile(0.5))} users** without privacy"]
    parts += [f"**{users_words(row.times.quantile(0.5))}** if you {who(row)}" for row in private]
    aim = "With" if until.question.rule == "proved" else "Aiming at"
    told = (
        f"{aim} a chance of error of {until.error}, a method that stops by itself has the answer in half of the runs "
        f"within {', '.join(parts[:-1])} and {parts[-1]}."
    )
    central = next(row for row in private if row.privacy == "central")
    if central.times.spec.entry.privacy == "local":
        told += " A curator would use the method that needs no trust: none that is known here is quicker."
    if until.answer.asked.misled:
        told += (
            f" **With privacy that answer is wrong**: {until.answer.asked.misled}. The chance of error speaks of cut "
            "rewards."
        )
    return " ".join(filter(None, (told, *map(method_words, private))))


def method_words(row: RollOut) -> str:
    """What of a private row's users is the method's and what is privacy's, in one sentence; empty where unknown."""
    middle = row.times.quantile(0.5)
    if row.noiseless is None or not math.isfinite(middle):
        return ""
    method = float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))
    if method >= CAP:
        return ""
    told = f"Under {PROMISES[row.privacy].name}, the same method at ε = ∞ needs **{users_words(method)}**"
    ratio = words.number(middle / method, 2)
    return (
        f"{told}, so privacy itself multiplies the users by about {ratio}."
        if middle > method
        else (f"{told}: privacy adds nothing that these runs can show.")
    )


def least_words(row: RollOut) -> str:
    """The lower bound on the mean time and its status."""
    return "–" if row.bound is None else f"{words.number(row.bound.users)} ({row.bound.status})"


def decided_share(row: RollOut, users: int) -> float:
    """Share of the runs that have stopped by so many users."""
    return float((row.times.stopped & (row.times.users <= users)).mean())


def times_rows(until: Until) -> list[dict[str, str]]:
    """Users until a decision, a row for each trust model."""
    rows = []
    for row in until.rows:
        low, high = (users_words(row.times.quantile(share)) for share in (0.05, 0.95))
        wrong = " to ".join(f"{words.number(100 * limit, 2)} %" for limit in row.times.wrong_limits())
        decided = f"decided by {words.count(until.question.users)} users"
        rows.append(
            {
                "who is trusted": who(row),
                "A/B test": words.count(row.test_users),
                "stops by itself, mean": users_words(row.times.mean_users if row.times.stopped.all() else math.inf),
                "middle 90 %": f"{low} to {high}",
                "at least, on average": least_words(row),
                decided: percent(decided_share(row, until.question.users)),
                "wrong (95 % limits)": wrong,
                "which method": row.times.spec.entry.title,
                "same method at ε = ∞, median": "–"
                if row.noiseless is None
                else users_words(float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))),
            }
        )
    return rows


def loss_rows(until: Until) -> list[dict[str, str]]:
    """What is lost by the last user, a row for each trust model, in the visitor's unit."""
    answer, scale = until.answer, until.answer.asked.scale
    bandits = {row.privacy: row for row in answer.rows}
    rows = []
    for row in until.rows:
        bandit, other = bandits.get(row.privacy), "–"
        if bandit is not None:
            title = answer.decision.chosen(bandit.privacy).title
            same = row.epsilon in (None, answer.chosen.epsilon)
            other = words.with_error(bandit.lost, bandit.lost_stderr)
            other += f" ({title})" if same else f" ({title}, {answer.chosen.budget})"
        test, search = (
            words.with_error(*mean_and_error(scale * lost)) for lost in (row.lost_by_test, row.lost_by_search)
        )
        unfinished = " (test not over)" if row.test_users > until.question.users else ""
        rows.append(
            {
                "who is trusted": who(row),
                "A/B test, then its winner": test + unfinished,
                "stops by itself, then its winner": search,
                "the method above": other,
            }
        )
    return rows


def correction(until: Until) -> str:
    """How the test keeps its level where there are more than two options; empty for two."""
    options = len(until.question.means)
    if options == 2:
        return ""
    needed, alone = (critical_value(until.question.delta, each) for each in (options, 2))
    return (
        f"With {options} options the A/B test is Dunnett's: a difference counts beyond {needed:.2f} standard errors "
        f"instead of {alone:.2f}, so that the chance of any false alarm is {until.error} in all."
    )


def promises(until: Until) -> str:
    """How the promise of the test differs from that of the method that stops, in one sentence."""
    promise = f"errs in at most {until.error} of the cases, whatever the options are"
    if until.question.rule != "proved":
        promise = f"aims at an error in {until.error} of the cases, without a proof"
    missed = words.number(100 * (1 - until.question.power))
    return (
        f"α = {until.error} and power are not the same promise as δ: the test takes a number of users that is fixed "
        "beforehand, for a difference that one must guess (here the true one is used), and misses it in "
        f"{missed} % of the cases; the method that stops by itself {promise}, and takes as many users as it needs."
    )


def bits_words(until: Until) -> str:
    """What is assumed of amounts; empty where every reward is a yes or no."""
    observed = until.answer.asked.observed
    if observed is None or all(option.yes_or_no for option in observed):
        return ""
    return (
        "Every amount counts here as the largest or the smallest one, with the same mean: the case that takes longest."
    )


def _tables(until: Until) -> None:
    times, losses = shared.of_controls(
        "until-tables",
        (until.question, until.answer.content),
        lambda: [shared.as_sent(pd.DataFrame(rows(until))) for rows in (times_rows, loss_rows)],
        until.answer.private,
    )
    st.markdown("**Users until a decision**")
    st.dataframe(
        times, hide_index=True, width="stretch",
        alt="Users until a decision for each trust model: by an A/B test, by a method that stops, and at least",
    )  # fmt: skip
    st.caption(" ".join(filter(None, (promises(until), correction(until), LEAST, bits_words(until)))))
    unit, users = until.answer.amounts, words.count(until.question.users)
    st.markdown(f"**Lost on the way: {unit} among {users} users**")
    st.dataframe(
        losses, hide_index=True, width="stretch",
        alt="What is lost for each trust model: by an A/B test, by a method that stops, and by one that always learns",
    )  # fmt: skip
    st.caption(
        "± is one standard error. A method that has not decided by the last user goes on trying until then. The last "
        "column repeats the answer above: the methods that lose least among so many users, which name no winner."
    )


# ---------------------------------------------------------------------------------------------------------------
# The picture


def picture(until: Until, dark: bool) -> go.Figure:
    """Stopping times on a logarithmic axis, a row for each trust model."""
    figure = go.Figure()
    names = [_wrapped(row) for row in until.rows]
    for row, name in zip(until.rows, names, strict=True):
        colour = theme.TRUST_COLOURS[row.privacy] if row.privacy != "none" else theme.quiet(dark)
        for (low, high), width in (((0.05, 0.95), 2), ((0.25, 0.75), 8)):
            ends = [min(row.times.quantile(share), CAP) for share in (low, high)]
            line = {"color": colour, "width": width}
            figure.add_scatter(x=ends, y=[name] * 2, mode="lines", line=line, hoverinfo="skip", showlegend=False)
        middle = row.times.quantile(0.5)
        figure.add_scatter(
            x=[middle if math.isfinite(middle) else None],
            y=[name],
            mode="markers",
            name=f"{theme.TRUST_SIGNS[row.privacy]} {PROMISES[row.privacy].who}",
            marker={
                "symbol": theme.MARKERS[row.privacy], "size": 15, "color": colour,
                "line": {"color": theme.ink(dark), "width": 2},
            },
            hovertemplate="median %{x:,.4~g} users",
        )  # fmt: skip
    points = {"mode": "markers", "hovertemplate": "%{x:,.4~g} users"}
    mark = {"size": 11, "color": theme.ink(dark)}
    sizes = [row.test_users for row in until.rows]
    figure.add_scatter(x=sizes, y=names, name="A/B test", marker={**mark, "symbol": "x"}, **points)
    least = [None if row.bound is None else row.bound.users or None for row in until.rows]
    figure.add_scatter(
        x=least, y=names, name="at least, on average", marker={**mark, "symbol": "diamond-open"}, **points
    )
    charts.style(figure, 340, dark)
    figure.layout.hovermode = "closest"
    users = until.question.users
    figure.add_vline(x=users, line={"dash": "dash", "color": theme.quiet(dark), "width": 1.3})
    shown = np.array([users, *sizes, *(x for trace in figure.data for x in trace.x if x)], float)
    ends = [math.log10(shown.min()) - 0.15, math.log10(shown.max()) + 0.15]
    step = charts.log_step(*ends)  # at 2 and 5 Plotly writes small digits unless it is told a format
    named = charts.USERS if step == 1 else {"tickformat": "~s", "tickangle": 0}  # 500, 2k, 50k, 1M
    figure.update_xaxes(title="users until a decision", type="log", range=ends, dtick=step, **named)
    figure.update_yaxes(autorange="reversed")
    return figure


def _wrapped(row: RollOut) -> str:
    """The name of a row, in two lines: a phone is narrow."""
    return PROMISES[row.privacy].who.replace("trust ", "trust<br>") + (f", ε {row.epsilon:g}" if row.epsilon else "")


def describe(until: Until) -> str:
    """The picture as text, for screen readers."""
    parts = ["Users until a decision, by trust model."]
    for row in until.rows:
        low, middle, high = (users_words(row.times.quantile(share)) for share in (0.05, 0.5, 0.95))
        parts.append(
            f"{who(row)}: half of the runs stop by {middle}, the middle 90 % from {low} to {high}; "
            f"an A/B test takes {words.count(row.test_users)}; at least on average: {least_words(row)}."
        )
    return " ".join(parts)
