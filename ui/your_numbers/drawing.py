"""The answer of the Your numbers page, drawn: cards, chart, search, and what a visitor takes away."""

from __future__ import annotations

import math

import plotly.graph_objects as go
import streamlit as st

from bandit_core import InvalidInput
from bandit_core.inverse import Answer, Goal, smallest_epsilon
from bandit_core.limits import estimated_seconds
from bandit_core.own_question import Cost
from bandit_core.results import Result
from bandit_core.store import Store
from ui import charts, gallery, theme, tradeoff_view, turns, uploads, words
from ui.your_numbers import asking
from ui.your_numbers.asking import is_private
from ui.your_numbers.replying import Reply, verdict
from ui.your_numbers.summary import summary_page

SEARCH_POINTS = 12  # budgets that a search usually tries


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
            name=f"{theme.TRUST_SIGNS[row.privacy]} {row.label}",
            **charts.marked(row.privacy, colour, len(result.times)),
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


def search(answer: Reply, kept: Store | None) -> list[tuple[int, str, Answer]]:
    """The inverse question: the smallest ε for a chosen price, for every trust model side by side."""
    st.subheader("Which ε can I afford?")
    kinds = {"price": "times the loss without privacy", "regret": f"{answer.chosen.unit} lost in all"}
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    kind = right.selectbox(
        "of what",
        list(kinds),
        list(kinds).index(asking.first_value("goal")),
        format_func=kinds.__getitem__,
        key=asking.key_of("goal"),
        help="What must not exceed the number beside it, after all users.",
    )
    limit = left.number_input(
        "I accept at most",
        min_value=0.0,
        value=asking.number_at_first("limit"),
        format="%g",
        key=asking.key_of("limit"),
        help="Your limit.",
    )
    asking.remember(goal=kind, limit=f"{limit:.12g}")
    private = is_private(answer.asked, answer.chosen)
    asking.write_address(private)
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
            with turns.computing():
                least = smallest_epsilon(answer.experiment, row.line, goal, None, trying, kept)
            found.append((row.line, row.label, least))
        except InvalidInput as error:
            uploads.refuse(error)
            return []
    place.empty()
    scale, what = (1.0, "price") if kind == "price" else (answer.asked.scale, f"{answer.chosen.unit} lost")
    tradeoff_view.answers(answer.experiment, found, limit, scale, charts.escape(what))
    return found


def take_away(answer: Reply, found: list[tuple[int, str, Answer]]) -> None:
    """The one-page summary, and the links where the numbers were typed."""
    private = is_private(answer.asked, answer.chosen)
    columns = st.columns(3, vertical_alignment="bottom")
    limit = asking.page_memory()["fields"]["limit"]
    goal = f"at most {limit} " + (
        "times the loss without privacy"
        if asking.page_memory()["fields"]["goal"] == "price"
        else f"{answer.chosen.unit} lost"
    )
    columns[0].download_button(
        "One-page summary (HTML)",
        data=lambda: summary_page(answer, verdict(answer), found, goal, None if private else asking.link()),
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
        st.code(asking.link(), language=None, wrap_lines=True)
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
