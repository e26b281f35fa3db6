"""The answer of the Your numbers page: what each trust model loses, in the visitor's own unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment, InvalidInput, tradeoff
from bandit_core.engine import estimated_seconds
from bandit_core.inverse import Answer, Goal, smallest_epsilon
from bandit_core.own_question import Cost, costs
from bandit_core.results import Result
from bandit_core.store import Store
from ui import charts, gallery, theme, tradeoff_view, uploads, words
from ui import your_numbers_input as asking
from ui.your_numbers_input import Asked, Setting, is_private
from ui.your_numbers_summary import summary_page

SEARCH_POINTS = 12  # budgets that a search usually tries


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
            found.append((row.line, row.label, smallest_epsilon(answer.experiment, row.line, goal, None, trying, kept)))
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
