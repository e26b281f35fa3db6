"""Blocks of a page below its chart: a table of its lines, bounds, the explanation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from bandit_core.data.spreadsheets import defused_frame
from bandit_core.experiments.catalogue import asked_by_link, in_focus, line_bounds
from bandit_core.experiments.experiment import Experiment
from bandit_core.model.policy import status_words
from bandit_core.simulation.results import LEVEL, Result, Summary, differences, summaries
from bandit_core.spec.number_text import write_number
from ui import lab_parts, page_fields, shared, state, stylesheet, theme, words
from ui.page_fields import Field


def lines(result: Result, verdict: str = "") -> None:
    """A table with a row for each line: regret, price, how often it picked the best arm; and the guarantees as run.

    What the ``verdict`` above it says already is not said again.
    """
    text, messages = shared.once("lines", result, bool(verdict), lambda: _table_and_notes(result, verdict))
    lab_parts.table(text, "lines")
    if messages:
        st.caption(messages)


def _table_and_notes(result: Result, verdict: str) -> tuple[str, str]:
    rows = summaries(result)
    bounded = any(np.isfinite(row.regret_over_bound) for row in rows)
    promises: dict[str, list[str]] = {}
    for row in rows:
        privacy = result.experiment.lines[row.line].entry.privacy
        if privacy != "none":
            of = promises.setdefault(f"{theme.TRUST_WORDS[privacy]}: {words.plain(row.guarantee.words)}", [])
            of += [] if theme.TRUST_WORDS[privacy].startswith(row.label) else [words.called(row.label)]
    notices = [
        words.sentence(f"{promise} ({', '.join(of)})." if of else f"{promise}.") for promise, of in promises.items()
    ]
    notes = dict.fromkeys(f"{note}." for row in rows if (note := words.below_one(row, result)) and note not in verdict)
    return words.table(pd.DataFrame([_line(row, result, bounded) for row in rows])), "  \n".join([*notices, *notes])


def _line(row: Summary, result: Result, bounded: bool) -> dict[str, str]:
    sign = theme.TRUST_SIGNS[result.experiment.lines[row.line].entry.privacy]
    share = f"{words.number(100 * row.regret_over_bound, 2)}%" if np.isfinite(row.regret_over_bound) else "–"
    return {
        "method": f"{sign} {row.label}",
        "regret ± standard error": words.with_error(row.regret, row.stderr),
        "price of privacy": words.price(row) if np.isfinite(row.price) else "–",
        "picked the best option, second half": f"{100 * row.best_share:.0f}%",
        **({"of its proved upper bound": share} if bounded else {}),
    }


def _bound_rows(result: Result, chosen: int) -> pd.DataFrame:
    """Every bound that applies to a line: its value at the horizon, and how the regret compares."""
    line, experiment = result.lines[chosen], result.experiment
    regret = float(line.mean[-1]) if line is not None else float("nan")
    shown = []
    for bound in line_bounds(experiment, chosen):
        if bound.not_applicable:
            continue
        value = float(bound.values(result.times[-1:], experiment.largest_gap)[0])
        shown.append(
            {
                "bound": bound.label,
                "side": bound.limits,
                "at the horizon": words.number(value),
                "regret / bound": words.number(regret / value, 2) if value > 0 and bound.form == "bound" else "–",
                "status": bound.status,
                "source": bound.source,
            }
        )
    return pd.DataFrame(shown)


def focus(experiment: Experiment) -> int | None:
    """The line whose bounds are shown, chosen where there are several; None where the view shows none."""
    first = in_focus(experiment)
    if not experiment.view.bounds or first is None:
        return None
    labels = {number: experiment.label(number) for number in experiment.drawn}
    twins = [number for number, label in labels.items() if list(labels.values()).count(label) > 1]
    names = {
        str(number + 1): f"Bounds of {label}{f' (method {number + 1})' if number in twins else ''}"
        for number, label in labels.items()
    }
    help = "The method whose bounds are drawn. A click on a curve chooses it, too."
    field = Field("focus", "Bounds of", str(first + 1), help, "box", names)
    more = {"label_visibility": "collapsed", "width": 400}  # labels are long
    return int(page_fields.ask(field, **more)) - 1 if len(names) > 1 else first


def lit(experiment: Experiment, line: int | None) -> tuple[str, ...]:
    """The labels of the bounds whose rows are chosen in the table below; at first those that an old link asks for."""
    if line is None:
        return ()
    chosen = st.session_state.get(state.key(f"bounds-{line}"))
    if chosen is None:
        return asked_by_link(experiment, line)
    shown = [bound.label for bound in line_bounds(experiment, line) if not bound.not_applicable]
    return tuple(shown[row] for row in chosen.selection.rows if row < len(shown))


def bounds_table(result: Result, line: int | None) -> None:
    """Every bound of a line: its value at the horizon, its status, and why a hidden one is hidden."""
    experiment, how = result.experiment, "Choose a row to draw its curve"
    if line is None:
        line, how = in_focus(experiment) or 0, "To draw them, switch on *Bounds* in the sidebar"
    bounds = line_bounds(experiment, line)
    hidden = [bound for bound in bounds if bound.not_applicable]
    rows = shared.table("bounds", result, line, lambda: _bound_rows(result, line))
    st.caption(f"Bounds of {words.called(experiment.label(line))}. {how}.")
    asked = asked_by_link(experiment, line)
    opening = [row for row, bound in enumerate(each for each in bounds if each not in hidden) if bound.label in asked]
    st.dataframe(
        rows, hide_index=True, width="stretch", alt="Bounds of the chosen line", key=state.key(f"bounds-{line}"),
        on_select="rerun", selection_mode="multi-row", selection_default={"selection": {"rows": opening}},
    )  # fmt: skip
    st.caption(stylesheet.asset("bounds.md"))
    for bound in bounds:
        if not bound.not_applicable:
            with st.expander(f"{bound.label}: what it says", key=f"bound-{bound.label}"):
                st.latex(bound.formula)
                holds = f"\n\n*Holds for:* {bound.only}." if bound.only else ""
                st.markdown(
                    f"{bound.words}{holds}\n\n*Assumes:* {bound.assumptions}\n\n*Status:* {status_words(bound)}."
                )
    if hidden:
        with st.expander(f"{len(hidden)} bounds do not apply: why?", key="bounds-hidden"):
            for bound in hidden:
                st.markdown(f"- **{bound.name}** ({bound.source}): {bound.not_applicable}")


def comparisons(result: Result) -> None:
    """Which lines differ at the horizon, and which differences could be luck; nothing of a single line."""
    pairs = len(result.comparisons)
    if not pairs:
        return
    st.markdown("**Could a difference be luck?**")
    rows = shared.table("comparisons", result, None, lambda: defused_frame(_luck(result)))
    st.dataframe(rows, hide_index=True, width="stretch", alt="Differences of the lines at the horizon")
    counted = "one pair" if pairs == 1 else f"{pairs} pairs"
    st.caption(stylesheet.filled("luck.md", counted=counted, level=f"{LEVEL:g}"))


def _luck(result: Result) -> pd.DataFrame:
    """A row per pair of lines, by their names, first the line that lost more."""
    rows = []
    for pair in differences(result.lines):
        first, second = map(result.experiment.label, (pair.first, pair.second))
        more, less = (first, second) if pair.difference >= 0 else (second, first)
        low, high = (pair.low, pair.high) if pair.difference >= 0 else (-pair.high, -pair.low)
        rows.append(
            {
                "verdict": words.luck(pair),
                "lost more": more,
                "than": less,
                "by": words.number(abs(pair.difference)),
                "95% interval": words.interval(low, high),
                "p": words.chance(pair.p_value),
                "corrected p": words.chance(pair.p_corrected),
            }
        )
    return pd.DataFrame(rows)


def _repeated(experiment: Experiment) -> str:
    """How often the run is repeated, and what the band and the errors mean."""
    if experiment.trials == 1:
        return "This is a single run, so it has no band and no error."
    message = (
        "The band shows how well the mean is known at each number of users, not how single runs differ"
        if experiment.view.band == "interval-95"
        else "The band shows how single runs differ, not the error of the mean"
    )
    return (
        f"This is repeated in {experiment.trials:,} runs; {words.band(experiment.trials, experiment.view)}. {message}. "
        "Numbers after ± are standard errors."
    )


def _share(experiment: Experiment) -> str:
    if experiment.visits_delta == 0:
        return f"one part in {experiment.visits}"
    return f"as much as lets {experiment.visits} answers keep it with δ = {write_number(experiment.visits_delta)}"


def _late(experiment: Experiment) -> str:
    """When rewards are counted, and that people come again; empty where neither is so."""
    feedback, message = experiment.feedback, ""
    if not feedback.immediate:
        until_then = (
            "a policy that must try an arm prefers arms with fewer rewards pending, and a batch lasts until enough of "
            "its rewards are counted"
            if experiment.contexts is None
            else "the policy learns nothing from this user; a warm-up in turns lasts until all of it is counted"
        )
        message = (
            f"Here the reward of user *t* is counted after the first user, from *t* + {feedback.delay} on, whose "
            f"number is a multiple of {words.count(feedback.batch)}; until then {until_then}. "
        )
    if experiment.visits > 1:
        message += (
            f"A person comes up to {experiment.visits} times, and each visit is a user: rewards do not depend on the "
            f"person. One answer spends {_share(experiment)} of a private policy's ε. "
        )
    return message


def explanation(result: Result) -> None:
    """How the picture is computed: plain words, pseudo-code, sources."""
    experiment = result.experiment
    best = "playing the best arm" if experiment.contexts is None else "playing the arm that is best for each user"
    more = {"late": _late(experiment), "repeated": _repeated(experiment), "price": words.PRICE}
    st.markdown(stylesheet.filled("regret.md", best=best, **more))
    for name in dict.fromkeys(line.policy for line in experiment.lines):
        policy = next(line.entry for line in experiment.lines if line.policy == name)
        st.markdown(f"**{policy.title}** · {policy.paper}. {policy.summary}")
        if policy.pseudo_code:
            st.code(policy.pseudo_code, language=None)
