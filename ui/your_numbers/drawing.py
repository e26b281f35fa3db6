"""The answer of the Your numbers page, drawn: cards, methods, chart, search, and what a visitor takes away."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core.model import PROMISES
from bandit_core.spec import own_data
from bandit_core.studies.best_method import FEWEST, FINALISTS, Contest, Decision, Question, Tried
from bandit_core.studies.business_case import goal
from bandit_core.studies.goal_search import BestSearch, Found
from bandit_core.studies.price import Price, PriceQuestion, PriceStudy, rows_of, unknown_words
from bandit_core.studies.price import advise as advise_on
from ui import charts, figures, gallery, lab_parts, runner, shared, templates, theme, uploads, words
from ui.your_numbers import address
from ui.your_numbers.answers import Reply, amount, best_rows, found_words, goals, verdict
from ui.your_numbers.inputs import Asked, Setting, question_of
from ui.your_numbers.one_page import TITLE, one_page
from ui.your_numbers.planned import table
from ui.your_numbers.question import control, text
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
    lab_parts.table(words.table(pd.DataFrame(best_rows(answer))), "own-best")
    tried = [_method(each, answer) for row in answer.rows for each in answer.decision.of(row.privacy)]
    table = shared.once("own-methods", answer.content, None, lambda: shared.as_sent(pd.DataFrame(tried)))
    alt = "Methods tried: trust model, loss with its error, runs, and whether each can be told from the best"
    st.dataframe(table, hide_index=True, width="stretch", alt=alt)
    st.caption(text("methods", fewest=FEWEST, finalists=FINALISTS))


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
    found, visits = {}, answer.chosen.visits
    asks = {"epsilon": (bool(chosen), chosen), "users": (kind == "percent" and visits == 1, ["none", *chosen])}
    told = {"most": words.count(answer.chosen.users), "budget": answer.chosen.budget}
    for axis, (offered, trusts) in asks.items():
        if address.searches(axis, offered, **told):
            build = partial(BestSearch, asked, wanted, tuple(trusts), users=axis == "users")
            found[axis] = _searched(answer, axis, build)
    return {axis: rows for axis, rows in found.items() if rows}


def _searched(answer: Reply, axis: str, build: partial[BestSearch]) -> list[Found]:
    """What one search found, told and drawn; nothing as long as it is not finished."""
    what, users = (axis, build.args, answer.asked.scale), axis == "users"
    rows: list[Found] = studied(f"own-search-{axis}", what, build) or []
    if not rows:
        return []
    who = [f"{theme.TRUST_SIGNS[each.privacy]} {PROMISES[each.privacy].who}" for each in rows]
    told = [f"{name}: {found_words(each, answer, users)}" for name, each in zip(who, rows, strict=True)]
    st.markdown("  \n".join(told))
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
    """What to do; where it follows from learners that are still being tried, only what is known of the tests."""
    sure = decision is not None and not decision.more
    advice = advise_on(price.question, price.rows if sure else rows_of(price.question), words.plain)
    if sure or advice.kind != "open":
        place.success(advice.words, icon=":material/tips_and_updates:")
    else:
        place.info(text("learner to come", late=advice.words.partition("** ")[0]))


def _compared(asked: Asked, chosen: Setting) -> PriceQuestion:
    """The question at every budget that is compared."""
    return question_of(asked, chosen, *sorted({*chosen.budgets, chosen.tested}))


def side_by_side(asked: Asked, chosen: Setting, now: Price) -> Price:
    """The answer at every budget that is compared: what is known of them, or all of it once it is simulated."""
    st.header("ε side by side")
    question = _compared(asked, chosen)
    known = {(row.privacy, row.epsilon): row for row in now.rows}
    price = Price(question, tuple(known.get((row.privacy, row.epsilon), row) for row in rows_of(question)))
    if len(question.epsilons) > 1 and st.toggle(**control("box every"), key="own-every"):
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
    title = left.text_input(**control("box title"), value=TITLE, max_chars=80, key="own-title")
    # Files are made when they are asked for, by a thread without a session: all that they need is handed over now.
    page = partial(one_page, price, " ".join(title.split()), link)
    figures.download(first, **control("box page"), data=page, file_name="price-of-privacy.html")
    page = partial(summary_page, answer, verdict(answer), found, limit, link, price=price)
    figures.download(second, **control("box sheet"), data=page, file_name="price-of-privacy-details.html")
    if own_data.store():
        st.caption("No link here: what was uploaded never goes into one. Forward the page instead.")
        return
    _, *columns = st.columns([2, 1, 1], vertical_alignment="bottom")
    with columns[0].popover(**control("box link"), width="stretch"):
        st.code(address.link(), language=None, wrap_lines=True)
    with columns[1]:
        gallery.link_to_explore("Open in Explore", answer.experiment)


def explanation(answer: Reply) -> None:
    """How the answer comes about."""
    covered = "The ± does not cover how far your numbers are from the truth."
    if answer.asked.draws:
        covered = "The runs are spread evenly over draws of the means that are not known, so the ± covers those, too."
    st.markdown(templates.filled("your-numbers.md", trials=answer.experiment.trials, covered=covered))
