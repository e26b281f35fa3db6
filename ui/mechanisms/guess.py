"""The guessing game of the Mechanisms page: which of two inputs does this user have?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core.mechanisms.losses import Round, chance_of_right_guess, play_round
from bandit_core.simulation.sentences import surest
from ui import charts, figures, page_fields, theme, words
from ui.mechanisms.answer import FIELDS, Choice, choice, opening

(_, MAX_ANSWERS), (_, MAX_ROUNDS) = FIELDS["answers"].allowed, FIELDS["round"].allowed
_SCORE = "mechanisms-score"  # (round as text) -> whether the guess was right


def _more() -> None:
    key = "mechanisms-answers"
    st.session_state[key] = min(MAX_ANSWERS, st.session_state[key] + 1)


def _next_round() -> None:
    key = "mechanisms-round"
    st.session_state[key] = str(FIELDS.said("round") % MAX_ROUNDS + 1)


def _guess(which: str, guess: int, truth: int) -> None:
    st.session_state.setdefault(_SCORE, {})[which] = guess == truth


def odds_chart(game: Round, chosen: Choice, dark: bool) -> go.Figure:
    """ln of the odds for input A after each answer, within the cone that n epsilon allows."""
    one, quiet, counts, curves = chosen.shown[0], theme.quiet(dark), np.arange(len(game.log_odds)), []
    if one.described.pure:
        edge: dict[str, Any] = {"colour": quiet, "hover": "", "dash": "dash", "width": 1.2}
        filled = {"fill": "tonexty", "fillcolor": theme.transparent(quiet, 0.12)}
        curves.append(charts.Curve(counts, game.most, "no odds beyond ±nε", **edge))
        curves.append(charts.Curve(counts, -game.most, listed=False, more=filled, **edge))
    sure = 100 / (1 + np.exp(-np.clip(game.log_odds, -700, 700)))
    hover, more = "ln odds %{y:.3~g}: A with %{customdata:.1f}%", {"mode": "lines+markers", "customdata": sure}
    colour = theme.mechanism_colour(one.name, dark)
    curves.append(charts.Curve(counts, game.log_odds, "best guesser's odds", colour, hover, more=more))
    top = max(1.0, float(np.abs(game.log_odds).max()), float(game.most[-1]) if one.described.pure else 0.0)
    across = {"title": "answers so far", "rangemode": "tozero", "dtick": max(1, len(counts) // 10)}
    up = {"title": "ln odds: ← B · A →", "range": [-1.1 * top, 1.1 * top], "nticks": 7}
    return charts.draw(curves, across, up, 400, dark, closest=True)


def _answers_text(game: Round, bits: bool) -> str:
    shown = game.responses[-12:]
    listed = ", ".join(f"{value:.0f}" if bits else f"{value:.2f}" for value in shown)
    return ("…, " if len(game.responses) > len(shown) else "") + listed.replace("-", "−") if listed else "nothing yet"


def draw() -> None:
    """The whole part."""
    st.markdown(
        "A coin gave one user **input A or input B**, and the device answers again and again. Which is it? The "
        "curve is what the best possible guesser believes."
    )
    above = opening()
    chosen = choice(above, compare=False)
    with above:
        _game(chosen)


def _game(chosen: Choice) -> None:
    """The picture, the buttons, and how sure anyone can be."""
    one = chosen.shown[0]
    first, second = st.columns(2)
    # Kept under their keys, because buttons move them; read from the address when the page opens.
    for name, kept in (("answers", int), ("round", str)):
        if f"mechanisms-{name}" not in st.session_state:
            st.session_state[f"mechanisms-{name}"] = kept(FIELDS.said(name))
    answers = first.slider(
        FIELDS["answers"].label, 1, MAX_ANSWERS, key="mechanisms-answers", help=FIELDS["answers"].help
    )
    said = second.text_input("Round", key="mechanisms-round", help=FIELDS["round"].help)
    number = page_fields.typed(FIELDS["round"], said, FIELDS.said("round"), second)
    page_fields.keep(FIELDS["answers"], answers)
    page_fields.keep(FIELDS["round"], number)
    game = play_round(one.mechanism, chosen.inputs, chosen.epsilon, answers, number)
    alt = f"ln odds for input A after each of {answers} answers, now {game.log_odds[-1]:.2f}"
    figures.plot(odds_chart(game, chosen, theme.is_dark()), "odds", alt=alt)
    st.markdown(f"The server has seen: {_answers_text(game, one.mechanism.outputs == 'bit')}.")
    which = f"{one.name} {chosen.inputs} {chosen.epsilon} {number}"
    score: dict[str, bool] = st.session_state.setdefault(_SCORE, {})
    guessed = which in score
    buttons = st.columns(4)
    buttons[0].button(
        "One more answer",
        key="mechanisms-ask",
        on_click=_more,
        width="stretch",
        disabled=answers >= MAX_ANSWERS,
        help="The device answers once more. That spends ε again.",
    )
    for column, label, guess in zip(buttons[1:3], "AB", (0, 1), strict=True):
        column.button(
            f"It is {label}: {chosen.inputs[guess]:g}",
            key=f"mechanisms-guess-{label}",
            on_click=_guess,
            args=(which, guess, game.truth),
            disabled=guessed,
            width="stretch",
            help="Your guess is final.",
        )
    buttons[3].button(
        "New round", key="mechanisms-next", on_click=_next_round, width="stretch", help="A new secret, drawn by a coin."
    )
    sure = chance_of_right_guess(float(game.log_odds[-1]))
    if guessed:
        truth = f"It was **{'AB'[game.truth]}**, {chosen.inputs[game.truth]:g}."
        if score[which]:
            st.success(f"Right! {truth}", icon=":material/check:")
        else:
            st.info(f"Not quite. {truth}", icon=":material/shuffle:")
    right = sum(score.values())
    tally = f" You were right in {right} of {len(score)} rounds." if score else ""
    nats = answers * chosen.epsilon
    limit = surest(nats)
    st.markdown(
        f"The best guess is right with a chance of **{100 * sure:.3g}%**."
        + (
            f" After {answers} answers at ε = {chosen.epsilon:g} no one can be more than **{limit:.4g}%** sure: "
            f"the odds stay at or below e^(nε) = {words.number(math.exp(min(nats, 700.0)))}. Budgets add up."
            if one.described.pure
            else " The odds of a Gaussian mechanism have **no** upper limit: together the answers guarantee "
            f"nε = {nats:g} with nδ = {answers * getattr(one.mechanism, 'delta', 0.0):.2g}. Budgets add up."
        )
        + tally
    )
