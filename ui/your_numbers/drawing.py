"""The answer of the Your numbers page, drawn: cards, methods, chart, search, and what a visitor takes away."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core.model import PROMISES
from bandit_core.simulation.results import Result
from bandit_core.spec import own_data
from bandit_core.studies.best_method import FEWEST, FINALISTS, Contest, Decision, Question, Tried, known_words
from bandit_core.studies.business_case import goal
from bandit_core.studies.goal_search import BestSearch, Found
from bandit_core.studies.price import Price, PriceQuestion, PriceStudy, rows_of, unknown_words
from bandit_core.studies.price import advise as advise_on
from ui import charts, figures, gallery, lab_parts, runner, shared, templates, theme, uploads, words
from ui.your_numbers import address
from ui.your_numbers.answers import Reply, amount, found_words, goals, rivals, verdict
from ui.your_numbers.inputs import Asked, Setting, question_of
from ui.your_numbers.one_page import TITLE, one_page
from ui.your_numbers.planned import table
from ui.your_numbers.question import text
from ui.your_numbers.summary import summary_page
from ui.your_numbers.until import studied


@uploads.refused
def decided(asked: Asked, chosen: Setting, question: Question) -> Decision | None:
    """The best method of every trust model; None as long as it is not known (why is told).

    Where every ε is simulated, that of the whole table.
    """
    table, price = st.session_state.get("own-price-found", (None, None))
    whole = question.epsilon == chosen.tested and table == _compared(asked, chosen)
    if st.session_state.get("own-every") and whole and price.decisions:
        st.empty()  # in the place of the progress bar
        return price.decisions[chosen.tested]
    return runner.study_of(lambda: Contest(question), question, "own")


def methods(answer: Reply) -> None:
    """Every method that was tried, trust model by trust model, for who opens the fold."""
    count = sum(answer.decision.policies(row.privacy) for row in answer.rows)
    lab_parts.fold(f"All {count} methods tried", "own-all-methods", partial(_methods, answer))


def _methods(answer: Reply) -> None:
    chosen = [
        {
            "who is trusted": row.label,
            "best method": answer.method(row),
            f"{answer.chosen.unit} lost": amount(*row.lost[:2]) + known_words(row.lost),
            "1 run in 20 loses more than": words.number(row.worst),
            "more than without privacy": amount(*row.extra[:2]) if math.isfinite(row.extra.value) else "–",
            "times": amount(*row.price[:2]) if math.isfinite(row.price.value) else "–",
            "as good within the errors": rivals(answer, row.privacy) or "–",
        }
        for row in answer.rows
    ]
    lab_parts.table(words.table(pd.DataFrame(chosen)), "own-best")
    st.dataframe(
        shared.once("own-methods", answer.content, None, lambda: _rows_of_methods(answer)),
        hide_index=True,
        width="stretch",
        alt="Methods tried: trust model, loss with its error, runs, and whether each can be told from the best",
    )
    st.caption(text("methods", fewest=FEWEST, finalists=FINALISTS))


def _rows_of_methods(answer: Reply) -> pa.Table:
    rows = [_method(each, answer) for row in answer.rows for each in answer.decision.of(row.privacy)]
    return shared.as_sent(pd.DataFrame(rows))


def _method(each: Tried, answer: Reply) -> dict[str, str]:
    scale = answer.asked.scale
    behind = amount(*(each.behind * scale)[:2])
    return {
        "who is trusted": PROMISES[each.privacy].who,
        "method": each.title,
        f"{answer.chosen.unit} lost": amount(*(each.lost * scale)[:2]),
        "more than the best": "chosen" if each.chosen else behind if each.apart else f"{behind}: within the error",
        "runs": f"{each.trials}, reported" if each.finalist else f"{each.trials}, to choose",
    }


def chart(answer: Reply, result: Result, dark: bool) -> go.Figure:
    """Loss so far against users, with what choosing blindly and keeping the first option would lose."""
    colours, scale, curves = theme.line_colours(result.experiment, dark), answer.asked.scale, []
    for row in answer.rows:
        line = result.lines[row.line]
        assert line is not None
        name = (
            f"{theme.TRUST_SIGNS[row.privacy]} {row.label}: {charts.escape(answer.decision.chosen(row.privacy).title)}"
        )
        low, high = (scale * line.quantile(share) for share in (0.05, 0.95))
        look: dict[str, Any] = {"level": row.privacy, "low": low, "high": high, "group": row.label}
        curves.append(charts.Curve(result.times, scale * line.mean, name, colours[row.line], **look))
    top, ends = max(0.0, *(float(curve.high[-1]) for curve in curves)), [0, answer.question.horizon]
    curves.append(charts.Curve(ends, [0, answer.blind], "choose at random", dash="dot", width=1.3))
    if answer.first > 0:
        name = f"keep {charts.escape(answer.asked.names[0])} for everyone"
        curves.append(charts.Curve(ends, [0, answer.first], name, dash="dash", width=1.3))
    people = "users so far" if answer.chosen.visits == 1 else "visits so far"
    lost = {"title": charts.escape(f"{answer.chosen.unit} lost so far"), "range": [0, 1.1 * max(top, 1e-12)]}
    users = {"title": people, "range": ends, **charts.USERS}
    return charts.draw(curves, users, {**lost, **charts.AMOUNTS}, 440, dark)


def search(answer: Reply) -> dict[str, list[Found]]:
    """The inverse questions: the smallest ε, and the fewest users, for a limit that the visitor chooses."""
    key, wanted = "own-search", address.said("search") != "nothing"
    if wanted:
        st.session_state.setdefault(key, True)
    fold = st.expander("Which ε can I afford?", key=key, on_change="rerun")
    if not (fold.open or wanted):
        return {}
    with fold:
        return _searches(answer)


def _searches(answer: Reply) -> dict[str, list[Found]]:
    asked = replace(answer.question, draws=())
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    kind = address.ask("goal", right, allowed=goals(answer.chosen.unit))
    limit = address.ask("limit", left)
    wanted = goal(kind, limit, answer.asked.low, answer.asked.high)
    chosen = [row.privacy for row in answer.rows[1:]]
    found = {}
    if address.searches(
        "epsilon",
        "Search the smallest ε",
        offered=bool(chosen),
        help=text("search ε"),
    ):
        found["ε"] = _searched(answer, "ε", partial(BestSearch, asked, wanted, tuple(chosen)))
    if address.searches(
        "users",
        "Search the fewest users",
        offered=kind == "percent" and answer.chosen.visits == 1,
        help=f"The smallest number of users, up to {words.count(answer.chosen.users)}, at {answer.chosen.budget}.",
    ):
        build = partial(BestSearch, asked, wanted, ("none", *chosen), users=True)
        found["users"] = _searched(answer, "users", build)
    return {axis: rows for axis, rows in found.items() if rows}


def _searched(answer: Reply, axis: str, build: partial[BestSearch]) -> list[Found]:
    """What one search found, told and drawn; nothing as long as it is not finished."""
    what = axis, build.args, answer.asked.scale
    rows: list[Found] = studied(f"own-search-{axis}", what, build) or []
    if not rows:
        return []
    users = axis == "users"
    st.markdown(
        "  \n".join(
            f"{theme.TRUST_SIGNS[each.privacy]} {PROMISES[each.privacy].who}: {found_words(each, answer, users)}"
            for each in rows
        )
    )
    middle = " This search takes the middle of what is not known." * bool(answer.question.draws)
    st.caption(text("found users" if users else "found ε") + middle)
    if any(len(each.answer.points) > 1 for each in rows):
        _search_chart(answer, rows, users)
    return rows


def _search_chart(answer: Reply, rows: list[Found], users: bool) -> None:
    """Every value that was tried."""
    dark, curves = theme.is_dark(), []
    kind, limit = address.said("goal"), address.said("limit")
    scale = answer.asked.scale if kind in ("regret", "extra") else 1.0
    axis, name = ("users", "users tried") if users else ("ε", "ε tried")
    for each in rows:
        x, measured, trust = list(each.answer.points), each.answer.measured, each.privacy
        look = {"mode": "lines+markers", "marker": {"symbol": theme.MARKERS[trust]}}
        look |= {"error_y": charts.error_bars(*scale * measured)}
        title, hover = f"{theme.TRUST_SIGNS[trust]} {PROMISES[trust].who}", f"{axis} = %{{x:,.3~g}}: %{{y:,.4~g}}"
        colour = theme.TRUST_COLOURS[trust]
        curves.append(charts.Curve(x, scale * measured[0], title, colour, hover, width=2, more=look))
    across = {"title": name, "type": "log", "dtick": 1, **(charts.USERS if users else charts.AMOUNTS)}
    up = {"title": charts.escape(goals(answer.chosen.unit)[kind]), "rangemode": "tozero", **charts.AMOUNTS}
    figure = charts.draw(curves, across, up, 330, dark, [charts.Mark(y=limit, colour=theme.quiet(dark))])
    what = "Every value that was tried, and what the best method there loses"
    figures.plot(figure, f"searched-{axis}", what)
    st.caption(f"{what} (with 95% intervals). The dashed line is your limit.")


def known(asked: Asked, chosen: Setting, decision: Decision | None) -> Price:
    """The answer at the budget of the page, as far as it is known."""
    question = question_of(asked, chosen)
    decisions = {chosen.tested: decision} if isinstance(chosen.epsilon, float) and decision is not None else {}
    return Price(question, rows_of(question, decisions))


def advise(place: DeltaGenerator, price: Price, decision: Decision | None) -> None:
    """What to do, once all that it follows from is known."""
    advice = advise_on(price.question, price.rows, words.plain)
    known = decision is not None and not decision.more
    if known or advice.kind in ("test", "nothing", "limits"):
        place.success(advice.words, icon=":material/tips_and_updates:")


def _compared(asked: Asked, chosen: Setting) -> PriceQuestion:
    """The question at every budget that is compared."""
    return question_of(asked, chosen, *sorted({*chosen.budgets, chosen.tested}))


def side_by_side(asked: Asked, chosen: Setting, now: Price) -> Price:
    """The answer at every budget that is compared: what is known of them, or all of it once it is simulated."""
    st.header("ε side by side")
    question = _compared(asked, chosen)
    known = {(row.privacy, row.epsilon): row for row in now.rows}
    price = Price(question, tuple(known.get((row.privacy, row.epsilon), row) for row in rows_of(question)))
    if len(question.epsilons) > 1 and st.toggle(
        "Simulate every ε",
        key="own-every",
        help="Also find the best learner at each ε of the table.",
    ):
        before = st.session_state.get("own-price-found", (None,))[0]
        found = studied("own-price", question, lambda: PriceStudy(question))
        if found is not None and before != question:
            st.rerun()  # what stands above comes from this table, too
        price = found or price
    rows = shared.once("own-table", (question, price.rows), None, lambda: words.table(table(question, price.rows)))
    lab_parts.table(rows, "own")
    st.caption("The same ε is a different promise for each level of trust. " + unknown_words(question, price.rows))
    return price


def take_away(answer: Reply, price: Price, found: dict[str, list[Found]]) -> None:
    """The page for a meeting, the sheet for engineers, and the links where the numbers were typed."""
    st.header("Take it to a meeting")
    limit = f"at most {address.said('limit'):.12g} {goals(answer.chosen.unit)[address.said('goal')]}"
    link = None if own_data.store() else address.link()
    left, first, second = st.columns([2, 1, 1], vertical_alignment="bottom")
    title = left.text_input("Title of the page", TITLE, 80, key="own-title", help="It stands above the printed page.")
    # Files are made when they are asked for, by a thread without a session: all that they need is handed over now.
    page = partial(one_page, price, " ".join(title.split()), link)
    message = "Question, advice, one picture and one table (HTML). It holds means, never single rewards."
    figures.download(first, "One page to print", page, "price-of-privacy.html", message)
    page = partial(summary_page, answer, verdict(answer), found, limit, link, price=price)
    message = "Methods, promises, seeds and versions (HTML). It holds means, never single rewards."
    figures.download(second, "Sheet for engineers", page, "price-of-privacy-details.html", message)
    if own_data.store():
        st.caption("No link here: what was uploaded never goes into one. Forward the page instead.")
        return
    _, *columns = st.columns([2, 1, 1], vertical_alignment="bottom")
    with columns[0].popover("Copy link", width="stretch", help="The address of this page with your typed numbers."):
        st.code(address.link(), language=None, wrap_lines=True)
    with columns[1]:
        gallery.link_to_explore("Open in Explore", answer.experiment)


def explanation(answer: Reply) -> None:
    """How the answer comes about."""
    covered = "The ± does not cover how far your numbers are from the truth."
    if answer.asked.draws:
        covered = "The runs are spread evenly over draws of the means that are not known, so the ± covers those, too."
    st.markdown(templates.filled("your-numbers.md", trials=answer.experiment.trials, covered=covered))
