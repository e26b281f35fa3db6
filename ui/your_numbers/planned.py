"""Tests on Your numbers: how many weeks a planned one takes, and how many users until a decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core.model import PROMISES, Privacy
from bandit_core.spec.field_types import SMALLEST
from bandit_core.studies.best_arm import CAP, RollOut, RollOutQuestion, RollOutStudy
from bandit_core.studies.best_method import known_words
from bandit_core.studies.price import MAX_WEEKS, PRIVATE, PriceQuestion, Row, rows_of, sure_words, weeks_words
from bandit_core.studies.production import parts
from bandit_core.theory.power import TestPlan, critical_value, design_of
from ui import charts, figures, lab_parts, runner, shared, theme, uploads, words
from ui.your_numbers.answers import amount
from ui.your_numbers.inputs import Asked, Setting, question_of
from ui.your_numbers.question import ask, text, write_address

# ---------------------------------------------------------------------------------------------------------------------
# A planned A/B test on Your numbers: how many weeks it takes at each budget, and what it can find in n weeks.


FINE = tuple(float(f"{epsilon:.4g}") for epsilon in np.geomspace(0.1, 10, 41))
WEEKS = np.geomspace(1, MAX_WEEKS, 40)


def section(asked: Asked, chosen: Setting) -> Setting:
    """The planned test and the one with looks, their picture, and what a test can find; the setting with its looks."""
    question = question_of(asked, chosen)
    rows = rows_of(question)
    st.markdown(f"## 1. A planned A/B test\n\n{sentence(question, rows)}")
    st.caption(correction(question))
    make, what = partial(picture, question, chosen.budgets), "Weeks of a planned A/B test against ε"
    figures.draw("planned-chart", question, make, what, chosen.budgets)
    lifts = partial(_lifts, asked, question, chosen.budgets)
    lab_parts.fold("Which lift can n weeks find?", "own-smallest-lifts", lifts)
    several = partial(_several, question)
    lab_parts.fold("One person in several tests", "own-several", several, "tests", "slack")
    st.header("2. A test with looks")
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    chosen = replace(chosen, looks=ask("looks", left))
    write_address()
    question = question_of(asked, chosen)
    rows = rows_of(question)
    if any(math.isfinite(row.test_users) for row in rows):
        half = weeks_words(rows[0].median_users / question.weekly)
        right.markdown(f"Without privacy, half of all tests that look {question.looks} times end within **{half}**.")
        lab_parts.table(words.table(looks_table(question, rows)), "looks")
    st.caption(looks_words(question))
    return chosen


def _lifts(asked: Asked, question: PriceQuestion, budgets: tuple[float, ...]) -> None:
    """What a test of each length can find, and what it assumes."""
    make = partial(lift_picture, asked, question, budgets)
    what = "Smallest lift over the first option that a planned test finds"
    figures.draw("lift-chart", question, make, what, budgets)
    shares = "Every option gets the same number of users"
    if question.split != 1:
        shares = f"The first option gets {question.split:g} users for one of each other option"
    st.caption(text("assumed", shares=shares, missed=words.number(100 * (1 - question.power))))


@uploads.refused
def _several(question: PriceQuestion) -> None:
    """What a person who is in several tests may spend in each, and how long a planned test then takes."""
    [epsilon] = question.epsilons
    left, right = st.columns(2, vertical_alignment="bottom")
    tests, slack = ask("tests", left), ask("slack", right)
    write_address()
    found = parts(epsilon, tests, question.visits, slack)
    rows = []
    for part, once in zip(found, parts(epsilon, tests, 1, slack), strict=True):
        planned = rows_of(replace(question, epsilons=(once.test,)))
        users = next(row.test_users for row in planned if row.privacy == part.privacy)
        shown = {"who is trusted": PROMISES[part.privacy].who, "ε of one test": words.number(part.test)}
        shown |= {"ε of one answer": words.number(part.answer)} if question.visits > 1 else {}
        rows.append({**shown, "a planned test takes": weeks_words(users / question.weekly)})
    lab_parts.table(words.table(pd.DataFrame(rows)), "tests")
    kept = f"ε = {epsilon:g} for a person" + (f" with δ = {slack:g}" if slack else "")
    st.caption(text("several tests", tests=tests, kept=kept))


def sentence(question: PriceQuestion, rows: Sequence[Row]) -> str:
    """How long the test takes at every level of trust."""
    if not any(math.isfinite(row.test_users) for row in rows):
        return "Several options are equally good, so no test can name the best one."
    times = [f"**{weeks_words(row.test_users / question.weekly)}** if you {row.who}" for row in rows[1:]]
    plain = f"**{weeks_words(rows[0].test_users / question.weekly)}** without privacy"
    message = f"To find the best option takes {'; '.join([plain, *times])}."
    return message + " Power is an average over what is not known." * (rows[0].cases is not None)


def correction(question: PriceQuestion) -> str:
    """Which tests these are, and how they keep their level."""
    options, error = len(question.tests.means), words.number(100 * question.delta)
    if options == 2:
        return text("two options", sides="two-sided" if question.sides == 2 else "one-sided", error=error)
    best = critical_value(question.delta, options, 1)
    first = critical_value(question.delta, options, question.sides, question.split)
    return text("several options", others=options - 1, best=f"{best:.2f}", first=f"{first:.2f}", error=error)


def looks_words(question: PriceQuestion) -> str:
    """How the test with looks keeps its level."""
    options = len(question.tests.means)
    sides = 1 if options > 2 else question.sides
    test = design_of(question.delta, options, options > 2, sides, 1.0, question.looks)
    limits = ", ".join(f"{boundary:.2f}" for boundary in test.boundaries)
    shuffled = " With a shuffler δ = 0.000001." * ("shuffle" in question.trusts)
    return text("test with looks", looks=question.looks, limits=limits) + shuffled


def looks_table(question: PriceQuestion, rows: Sequence[Row]) -> pd.DataFrame:
    """Weeks of the planned test and of the one with looks, a row for each level of trust."""
    columns = ["who is trusted", "without looks", "a look every", "at most", "on average", "half end within"]
    times = [
        (row.test_users, row.most_users / question.looks, row.most_users, row.mean_users, row.median_users)
        for row in rows
    ]
    cells = [[weeks_words(users / question.weekly) for users in each] for each in times]
    return pd.DataFrame([[row.who, *each] for row, each in zip(rows, cells, strict=True)], columns=columns)


def picture(question: PriceQuestion, budgets: Sequence[float], dark: bool) -> go.Figure:
    """Weeks against ε, a curve for each level of trust; signs at the budgets that are compared."""
    grid, tests = tuple(sorted({*FINE, *budgets, *question.epsilons})), question.tests

    def weeks(privacy: Privacy, epsilon: float | None) -> float:
        size = tests.test_for(privacy, epsilon, "best")
        return size.total(len(tests.means)) / question.weekly if tests.effect(privacy) > 0 else math.inf

    hover, plain = "%{y:,.2~g} weeks", weeks("none", None)
    curves = [charts.Curve([grid[0], grid[-1]], [plain] * 2, "no privacy", theme.quiet(dark), hover)]
    signs = {*budgets, *question.epsilons}
    for trust in question.trusts:
        places = sorted({*FINE[::8], *signs}) if trust == "shuffle" else grid  # a shuffler's account takes long
        sizes = [10 * (epsilon in signs) for epsilon in places]
        marker = {"symbol": theme.MARKERS[trust], "size": sizes, "opacity": 1, "line": {"width": 0}}
        name, colour = f"{theme.TRUST_SIGNS[trust]} {PROMISES[trust].who}", theme.TRUST_COLOURS[trust]
        more, found = {"mode": "lines+markers", "marker": marker}, [weeks(trust, epsilon) for epsilon in places]
        curves.append(charts.Curve(places, found, name, colour, f"ε = %{{x:.3~g}}: {hover}", more=more))
    shown = [value for curve in curves for value in curve.y if math.isfinite(value)]
    low, high = min([*shown, question.weeks]), max([*shown, MAX_WEEKS])
    levels = [(question.weeks, "your weeks"), (MAX_WEEKS, "two years")]
    up = charts.log_axis("weeks", range=[math.log10(low) - 0.15, math.log10(high) + 0.15])
    figure = charts.draw(curves, charts.log_axis("ε", dtick="D2"), up, 380, dark, closest=True)
    return _with_levels(figure, levels, dark)


def _with_levels(figure: go.Figure, levels: Sequence[tuple[float, str]], dark: bool) -> go.Figure:
    """The picture, whose vertical axis is logarithmic, with named lines across it."""
    charts.add_marks(figure, [charts.Mark(y=value, colour=theme.quiet(dark)) for value, _ in levels])
    place = {"x": 1, "xref": "paper", "showarrow": False, "xanchor": "right", "yanchor": "bottom"}
    for value, name in levels:
        figure.add_annotation(y=math.log10(value), text=charts.escape(name), **place)
    return figure


def smallest_lift(
    asked: Asked, question: PriceQuestion, privacy: Privacy, epsilon: float | None, weeks: float
) -> float:
    """The smallest lift over the first option that a test of so many weeks finds, in percent; NaN: none."""
    rewards = question.tests
    view = rewards.view(privacy)
    if view.misleads or not asked.means[0]:
        return math.nan
    fields: dict[str, Any] = {"privacy": privacy, "epsilon": epsilon, "options": len(view.means)}
    plan = TestPlan(question.delta, question.power, sides=question.sides, split=question.split, **fields)
    users = weeks * question.weekly / (len(view.means) - 1 + question.split)
    base, amounts = min(max(view.means[0], SMALLEST), 1 - SMALLEST), 2 * float(view.variances[0])
    effect = plan.solve("effect", users, base, amounts=amounts if rewards.amounts else None)
    return 100 * effect * view.width * asked.scale / abs(asked.means[0])


def lift_picture(asked: Asked, question: PriceQuestion, budgets: Sequence[float], dark: bool) -> go.Figure:
    """The smallest lift against weeks: a curve for no privacy, and up to three budgets for each level of trust.

    One of these is the chosen one.
    """
    budgets = sorted({*budgets, *question.epsilons})
    if len(budgets) > 3:
        budgets = sorted({budgets[0], *question.epsilons, budgets[-1]})
    dashes, curves = dict(zip([None, *budgets[::-1]], (None, None, "dash", "dot"), strict=False)), []
    tests: list[tuple[Privacy, float | None]] = [("none", None)]
    tests += [(privacy, epsilon) for privacy in PRIVATE for epsilon in budgets]
    for privacy, epsilon in tests:
        lifts = [smallest_lift(asked, question, privacy, epsilon, weeks) for weeks in WEEKS]
        name = PROMISES[privacy].who + ("" if epsilon is None else f", ε = {epsilon:g}")
        colour = theme.quiet(dark) if privacy == "none" else theme.TRUST_COLOURS[privacy]
        hover = "%{x:.2~g} weeks: %{y:,.2~g}%"
        curves.append(charts.Curve(WEEKS, lifts, name, colour, hover, dashes[epsilon], width=2.2))
    first = float(asked.means[0])
    named = [*zip(asked.names, asked.means, strict=True)][1:6]
    levels = [(100 * (float(mean) - first) / abs(first), name) for name, mean in named if first and mean > first]
    across, up = charts.log_axis("weeks", dtick="D2"), charts.log_axis("smallest lift, % of the first option")
    return _with_levels(charts.draw(curves, across, up, 420, dark, closest=True), levels, dark)


# ---------------------------------------------------------------------------------------------------------------
# ε side by side


def table(question: PriceQuestion, rows: Sequence[Row]) -> pd.DataFrame:
    """A row for each level of trust and budget, as text."""
    found = []

    def weeks(users: float) -> str:
        return "–" if math.isnan(users) else weeks_words(users / question.weekly)

    for row in rows:
        cells = {
            "who is trusted": PROMISES[row.privacy].who,
            "ε": "–" if row.epsilon is None else f"{row.epsilon:g}",
            "50% sure becomes": "–" if row.epsilon is None else sure_words(row.epsilon),
            "planned test": weeks(row.test_users)
            + " (quicker: amounts are cut)" * (question.clip is not None and row.test_users < rows[0].test_users)
            + _cases(row, question.weekly),
            **({"beats the first": weeks(row.lift_users)} if len(question.arms) > 2 else {}),
            f"{question.looks} looks: half end within": weeks(row.median_users),
            "at most": weeks(row.most_users),
            f"{question.unit} lost": amount(*row.loss[:2]) + known_words(row.loss),
            "1 run in 20 loses more than": "–" if math.isnan(row.worst) else words.number(row.worst),
            "more than without privacy": amount(*row.extra[:2]),
        }
        found.append(cells)
    return pd.DataFrame(found)


def _cases(row: Row, weekly: int) -> str:
    """What 10%, half and 90% of the draws take at most, where the means are not known exactly."""
    if row.cases is None or not math.isfinite(row.test_users):
        return ""
    low, middle, high = (weeks_words(users / weekly) for users in row.cases)
    return f" on average (one draw: {low} to {high}, median {middle})"


# ---------------------------------------------------------------------------------------------------------------------
# Until when? Users until a decision on Your numbers: what is asked, and the answer in words and numbers.


SAME = 1e-12  # a difference of two means of cut rewards that rounding may make


def fold(asked: Asked, chosen: Setting) -> None:
    """The search, for who opens the fold."""
    make, title = partial(_until_when, asked, chosen), "For researchers: a test with exact confidence"
    lab_parts.fold(title, "own-until-fold", make, "rule")


def _until_when(asked: Asked, chosen: Setting) -> None:
    """When each level's runs end, and what the test promises; why there is no answer where none is."""
    chosen = replace(chosen, rule=ask("rule"))
    write_address()
    question = question_of(asked, chosen).roll_out(chosen.tested)
    if nothing := undecided(question):
        st.info(nothing)
        return
    rows = studied("own-until", question, lambda: RollOutStudy(question))
    if rows is None:
        return
    weekly, memory = chosen.weekly, (question, chosen.weekly)
    st.markdown(shared.once("until-words", memory, None, lambda: until_sentence(rows, weekly)))
    st.caption(f"{question.trials:,} simulated runs. A test counts each person once.")
    alt = "When the test that stops by itself ends, for each level of trust"
    st.dataframe(pd.DataFrame(times_rows(question, rows, weekly)), hide_index=True, width="stretch", alt=alt)
    told = [*map(method_words, rows[1:]), promises(question)]
    told += [text("at least")] * any(row.bound is not None for row in rows) + [text("as bits")] * asked.amounts
    st.caption(" ".join(filter(None, told)))


def undecided(question: RollOutQuestion) -> str:
    """Why no number of users decides, in words; empty where it does at every level of trust."""
    if question.effect("none") == 0:
        return text("nothing to find")
    if question.view("central").misleads:
        return text("misled")
    return text("cut to the same") if any(question.effect(privacy) < SAME for privacy, _ in question.epsilons) else ""


@uploads.refused
def studied(name: str, what: Hashable, build: Callable[[], Any]) -> Any:
    """What a study finds, kept in the session while it is the same; None until it is known (why is told)."""
    slot = f"{name}-found"
    memory = st.session_state.get(slot)
    if memory is not None and memory[0] == what:
        st.empty()  # in the place of the progress bar
        return memory[1]
    found = runner.study_of(build, what, name)
    if found is not None:
        st.session_state[slot] = what, found
    return found


# ---------------------------------------------------------------------------------------------------------------
# In words and numbers


def users_words(users: float) -> str:
    """A number of users, rounded to what is worth reading; what is beyond the cap is said to be that."""
    return words.number(users) if math.isfinite(users) else f"more than {words.count(CAP)}"


def who(row: RollOut) -> str:
    """The trust model and its budget."""
    return PROMISES[row.privacy].who + ("" if row.epsilon is None else f" (ε = {row.epsilon:g})")


def until_sentence(rows: Sequence[RollOut], weekly: int) -> str:
    """The answer: the median time of every level of trust, and whether a curator is worth it."""
    plain, *private = [weeks_words(row.times.quantile(0.5) / weekly) for row in rows]
    times = [f"**{each}** if you {who(row)}" for each, row in zip(private, rows[1:], strict=True)]
    times.insert(0, f"**{plain}** without privacy")
    message = f"Half of all tests end within: {'; '.join(times)}."
    central = next(row for row in rows if row.privacy == "central")
    if central.times.spec.entry.privacy == "local":
        message += " A curator would use the method that needs no trust: none that is known here is quicker."
    return message


def noiseless_median(row: RollOut) -> float:
    """Users that half of the runs of the same method take at ε = ∞; NaN where they are not known."""
    return math.nan if row.noiseless is None else float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))


def method_words(row: RollOut) -> str:
    """What of a private row's users is the method's and what is privacy's, in one sentence; empty where unknown."""
    middle, method = row.times.quantile(0.5), noiseless_median(row)
    if not (math.isfinite(middle) and method < CAP):
        return ""
    message = f"Under {PROMISES[row.privacy].name}, the same method at ε = ∞ needs {users_words(method)} users"
    ratio = words.number(middle / method, 2)
    if middle > method:
        return f"{message}, so privacy itself multiplies the users by about {ratio}."
    return f"{message}: privacy adds nothing that these runs can show."


def times_rows(question: RollOutQuestion, found: Sequence[RollOut], weekly: int) -> list[dict[str, str]]:
    """Users until a decision, a row for each trust model."""
    rows, users = [], question.users
    for row in found:
        times, stopped = row.times, row.times.stopped.all()
        cells = {
            "who is trusted": who(row),
            "weeks, median": weeks_words(times.quantile(0.5) / weekly),
            "users, median": users_words(times.quantile(0.5)),
            "users, mean": "at least " * (not stopped) + users_words(times.mean_users),
            "middle 90%": " to ".join(users_words(times.quantile(share)) for share in (0.05, 0.95)),
        }
        if any(each.bound is not None for each in found):
            least = row.bound and f"{words.number(row.bound.users)} ({row.bound.status})"
            cells["at least, on average"] = least or "–"
        decided = (times.stopped & (times.users <= users)).mean()
        cells[f"decided by {words.count(users)} users"] = f"{100 * decided:.3g}%"
        cells["wrong (95% limits)"] = " to ".join(f"{words.number(100 * limit, 2)}%" for limit in times.wrong_limits())
        cells["which method"] = times.spec.entry.title
        without = noiseless_median(row)
        cells["same method at ε = ∞, median"] = "–" if math.isnan(without) else users_words(without)
        rows.append(cells)
    return rows


def promises(question: RollOutQuestion) -> str:
    """How the promise of the test differs from that of the method that stops, in one sentence."""
    told = {"error": f"{words.number(100 * question.delta)}%"}
    promise = text("proved" if question.rule == "proved" else "heuristic", **told)
    promise += f" ({text('ignored')})" if question.zone else ""
    return text("promises", missed=words.number(100 * (1 - question.power)), promise=promise, **told)
