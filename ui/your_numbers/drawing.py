"""The answer of Your numbers, drawn; and pages to take away, one HTML file each."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from html import escape
from ipaddress import ip_address
from urllib.parse import urlsplit

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import paths
from bandit_core.model import PROMISES
from bandit_core.spec import own_data
from bandit_core.studies.best_method import FEWEST, FINALISTS, Contest, Decision, Question, Tried
from bandit_core.studies.business_case import goal, ranges_of
from bandit_core.studies.goal_search import BestSearch, Found
from bandit_core.studies.price import PRIVATE, Price, PriceQuestion, PriceStudy, advise, rows_of, unknown_words
from ui import charts, figures, gallery, lab_parts, printing, runner, shared, stylesheet, theme, uploads, words
from ui.your_numbers import question
from ui.your_numbers.answers import Reply, amount, best_rows, chart, describe, found_words, goals, verdict
from ui.your_numbers.inputs import Asked, Setting, question_of
from ui.your_numbers.planned import correction, looks_words, picture, studied, table
from ui.your_numbers.question import control, spans, text

# ---------------------------------------------------------------------------------------------------------------------
# The one-page summary of Your numbers: one HTML file that needs nothing else.
#
# It is made when someone asks for it, by a thread without a session: nothing here may ask the session for anything.


SIZE = printing.Size(17.0, 8.0, 9)  # of the picture


def plain_html(markdown: str) -> str:
    """The few marks of a verdict as HTML: bold, and escapes taken away."""
    text = escape(re.sub(r"\\(.)", r"\1", markdown.replace("**", "\0")))
    return re.sub(r"\0(.*?)\0", r"<b>\1</b>", text).replace("\0", "")


def shareable(link: str | None) -> bool:
    """Whether a link opens on other machines: not where it names this one, or a private network."""
    host = urlsplit(link or "").hostname or ""
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".localhost", ".internal", ".lan"))


def _origin(answer: Reply, made: datetime) -> str:
    """Where the numbers came from: methods, promises, seeds, trials, versions, date."""
    meta, rows = answer.result.metadata, []
    for row, guarantee in zip(answer.rows, meta["guarantees"], strict=True):
        chosen = guarantee["parameters"]  # a test's length says all of the numbers that it was planned with
        told = {name: chosen[name] for name in ({"users"} if "baseline" in chosen else chosen)}
        method = f"{answer.decision.chosen(row.privacy).title}, the best of {answer.decision.policies(row.privacy)}"
        method = "; ".join((method, *(f"{name} = {value}" for name, value in told.items())))
        shown = {"who is trusted": PROMISES[row.privacy].who, "method": method}
        rows.append({**shown, "what it promises": guarantee["words"]})
    kernels = {name.rpartition("kernels.")[2]: version for name, version in meta["kernels"].items()}
    used = {"Private Bandit Lab": paths.project_version(), **meta["versions"], **kernels}
    said = text(
        "origin", trials=words.count(answer.experiment.trials), seed=answer.experiment.seed,
        screened=answer.decision.screened, other=answer.question.screening_seed, made=f"{made:%Y-%m-%d %H:%M}",
        used=", ".join(f"{name} {version}" for name, version in used.items()),
    )  # fmt: skip
    return f"{table_html(rows)}<p class='small'>{escape(said)}</p>"


def table_html(rows: list[dict[str, str]]) -> str:
    """Rows of text as a table, which scrolls where it is wider than the page."""
    head = "".join(f"<th>{escape(name)}" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}" for cell in row.values()) for row in rows)
    return f"<div style='overflow-x:auto'><table><tr>{head}{body}</table></div>"


def summary_page(
    answer: Reply,
    verdict: str,
    found: dict[str, list[Found]],
    limit: str,
    link: str | None,
    made: datetime | None = None,
    price: Price | None = None,
) -> str:
    """Question, answer, assumptions, origin and (for typed numbers) the link, as one self-contained HTML page.

    ``found`` are the answers of the searches by what was searched, ``limit`` what they were to meet, in words;
    ``made`` is the date that the page bears (default: now), ``price`` has the rows of tests.
    """
    asked, chosen, searched, tests = answer.asked, answer.chosen, "", ""
    if price is not None:
        tests = f"<h2>Tests</h2>{table_html(table(price.question, price.rows).to_dict('records'))}"
        tests += f"<p class='small'>{escape(correction(price.question))} {escape(looks_words(price.question))}</p>"
    for axis, rows in found.items():
        message = "".join(
            f"<li>{escape(PROMISES[each.privacy].who)}: {plain_html(found_words(each, answer, axis == 'users'))}"
            for each in rows
        )
        what = "Fewest users" if axis == "users" else "Smallest ε"
        searched += f"<h2>{what} for {escape(limit)}</h2><ul>{message}</ul>"
    if shareable(link):
        again = f'<p class="small">Open again: <a href="{escape(link or "")}">{escape(link or "")}</a></p>'
    elif own_data.store():
        again = '<p class="small">Computed from an uploaded file, which is not part of this page.</p>'
    else:
        again = f"<pre style='white-space:pre-wrap'>{escape(json.dumps(answer.experiment.spec(), indent=1))}</pre>"
        again = f"<details class='small'><summary>Settings file of the learners</summary>{again}</details>"
    ends = f"<p class='small'>One user's reward: {asked.low:g} to {asked.high:g}. {escape(asked.note)}</p>"
    return stylesheet.filled(
        "summary.html",
        verdict=plain_html(verdict),
        unit=escape(words.sentence(chosen.unit)),
        users=words.count(chosen.users),
        budget=escape(chosen.budget),
        picture=printing.image(chart(answer, False), SIZE, describe(answer)),
        learners=table_html(best_rows(answer)),
        trials=words.count(answer.rows[0].trials),
        covered="cover draws of the means" if asked.draws else "do not cover how far the means are from the truth",
        odds=f"<p>{escape(words.odds(chosen.epsilon))}</p>" if isinstance(chosen.epsilon, float) else "",
        tests=tests,
        searched=searched,
        options=table_html(asked.rows),
        ends="" if asked.unit == "%" else ends,
        sure=plain_html(asked.sure),
        origin=_origin(answer, made or datetime.now(UTC)),
        again=again,
    )


# ---------------------------------------------------------------------------------------------------------------------
# The page for a meeting: question, advice, one picture and one table on one sheet, from a `Price` alone.
#
# It is made when someone asks for it, by a thread without a session: nothing here may ask the session for anything.


TITLE = "What would privacy cost?"


def one_page(price: Price, title: str = "", link: str | None = None, made: datetime | None = None) -> str:
    """One self-contained HTML page; ``made`` is the date that it bears (default: now)."""
    question, rate = price.question, price.question.scale == 1
    named = question.names or [f"option {place}" for place, _ in enumerate(question.arms, 1)]
    means = [span + f" {question.unit}" * (not rate) for span in spans(question)]
    options = "; ".join(map(escape, map("{}: {}".format, named, means)))
    address, drawn = escape(link or ""), picture(question, question.epsilons, False)
    return stylesheet.filled(
        "meeting.html",
        title=escape(title or TITLE),
        options=options,
        people=f"{words.count(question.users)} people, {words.count(question.weekly)} a week",
        advice=plain_html(advise(question, price.rows, words.plain).words),
        picture=printing.image(drawn, SIZE, charts.read_aloud(drawn, "Weeks of a planned A/B test against ε")),
        table=table_html(table(question, price.rows).to_dict("records")),
        assumptions=_assumptions(price),
        again=f'Open again: <a href="{address}">{address}</a>.' if shareable(link) else _settings(price),
        version=escape(paths.project_version()),
        seed=question.seed,
        date=f"{made or datetime.now(UTC):%Y-%m-%d}",
    )


def _assumptions(price: Price) -> str:
    question = price.question
    message = [
        price.unknown or "The means above are taken as exact.",
        question.note,
        f"Error {words.number(100 * question.delta)}%, power {words.number(100 * question.power)}%.",
        correction(question),
        looks_words(question),
        "In tests each person counts once.",
        f"A person comes {question.visits} times, and ε covers all visits." if question.visits > 1 else "",
        f"A learner learns after every {words.count(question.batch)} visits." if question.batch > 1 else "",
        "Tests are sized for larger differences than the ignored one." if question.zone else "",
        text("assumptions"),
    ]
    return escape(" ".join(filter(None, message)))


def _settings(price: Price) -> str:
    """The command that makes these numbers again; empty where they came from a file or are amounts."""
    question = price.question
    ranges = ranges_of(question.beliefs)
    (first, _), *others = ranges or [(mean, mean) for mean in question.tests.means]
    if question.scale != 1 or not first or question.clip is not None or (question.draws and not ranges):
        return ""
    ends = [dict.fromkeys(f"{100 * (mean / first - 1):.6g}%" for mean in pair) for pair in others]
    lifts = ",".join("..".join(pair) for pair in ends)
    budgets = ",".join(f"{epsilon:g}" for epsilon in question.epsilons)
    command = f"bandit-lab price --baseline {100 * first:.10g}% --lifts={lifts} --epsilon {budgets}"
    names = ("visits", "batch", "delta", "power", "looks", "sides", "split")
    numbers = {"weekly": question.weekly, "weeks": question.weeks}
    said = {name: getattr(question, name) for name in names}
    numbers |= {name: value for name, value in said.items() if value != getattr(PriceQuestion, name)}
    command += f" --trust {','.join(question.trusts)}" if question.trusts != PRIVATE else ""
    command += "".join(f" --{name} {value:.10g}" for name, value in numbers.items())
    command += f" --zone {100 * question.zone / first:.10g}%" if question.zone else ""
    return f"The same tests again, with what learners lose at each ε: <code>{escape(command)}</code>."


# ---------------------------------------------------------------------------------------------------------------------
# The answer of the Your numbers page, drawn: cards, methods, chart, search, and what a visitor takes away.


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
        "runs": f"{words.count(each.trials)}, {'reported' if each.finalist else 'to choose'}",
    }


def search(answer: Reply) -> dict[str, list[Found]]:
    """The inverse questions: the smallest ε, and the fewest users, for a limit that the visitor chooses."""
    fold = lab_parts.part("Which ε can I afford?", "own-search", "search")
    with fold:
        return _searches(answer) if fold.open or question.said("search") != "nothing" else {}


def _searches(answer: Reply) -> dict[str, list[Found]]:
    asked = replace(answer.question, draws=())
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    kind = question.ask("goal", right, allowed=goals(answer.chosen.unit))
    limit = question.ask("limit", left)
    wanted = goal(kind, limit, answer.asked.low, answer.asked.high)
    chosen = [row.privacy for row in answer.rows[1:]]
    found, visits = {}, answer.chosen.visits
    asks = {"epsilon": (bool(chosen), chosen), "users": (kind == "percent" and visits == 1, ["none", *chosen])}
    told = {"most": words.count(answer.chosen.users), "budget": answer.chosen.budget}
    for axis, (offered, trusts) in asks.items():
        if question.searches(axis, offered, **told):
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
    kind, limit = question.said("goal"), question.said("limit")
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


def show_advice(place: DeltaGenerator, price: Price, decision: Decision | None) -> None:
    """What to do; where it follows from learners that are still being tried, only what is known of the tests."""
    sure = decision is not None and not decision.more
    advice = advise(price.question, price.rows if sure else rows_of(price.question), words.plain)
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
    long = "A test that takes years is not practical. " * (" years" in rows)
    st.caption("The same ε is another promise at each level of trust. " + long + unknown_words(question, price.rows))
    return price


def take_away(answer: Reply, price: Price, found: dict[str, list[Found]]) -> None:
    """The page for a meeting, the sheet for engineers, and the links where the numbers were typed."""
    st.header("Take it to a meeting")
    limit = f"at most {question.said('limit'):.12g} {goals(answer.chosen.unit)[question.said('goal')]}"
    link = None if own_data.store() else question.link()
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
        st.code(question.link(), language=None, wrap_lines=True)
    with columns[1]:
        gallery.link_to_explore("Open in Explore", answer.experiment)


def explanation(answer: Reply) -> None:
    """How the answer comes about."""
    covered = "The ± does not cover how far your numbers are from the truth."
    if answer.asked.draws:
        covered = "The runs are spread evenly over draws of the means that are not known, so the ± covers those, too."
    st.markdown(stylesheet.filled("your-numbers.md", trials=words.count(answer.experiment.trials), covered=covered))
