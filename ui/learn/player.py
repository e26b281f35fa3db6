"""Play the learner yourself: choose a joke for each of 30 users, next to Thompson sampling on the same users."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core.mechanisms.randomised_response import CTB
from ui import charts, figures, theme
from ui.learn import pictures

NAME, TITLE = "player", "Play the learner yourself"
IDEA = (
    "Four jokes, thirty users. Tap a joke for each user and see who laughs. The best joke makes eight in ten laugh; "
    "find it before your users are gone. Then play again with a coin before each answer."
)
SO = "Without a coin you trust what you see; behind a coin you must try each joke more often."
MEANS, USERS, EPSILON = (0.8, 0.6, 0.4, 0.3), 30, 1.0
_GAME = "learn-player"


@dataclass
class Game:
    """One game: what each user would answer to each joke, what Thompson sampling chose, and what was tapped."""

    hidden: bool
    means: np.ndarray
    answers: np.ndarray  # (users, jokes), 0 or 1
    theirs: np.ndarray
    mine: list[int] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether every user was shown a joke."""
        return len(self.mine) == USERS

    def lost(self, chosen: list[int] | np.ndarray) -> np.ndarray:
        """Laughs lost so far, in expectation."""
        return np.cumsum(self.means.max() - self.means[np.asarray(chosen, int)])


def deal(hidden: bool, rng: np.random.Generator) -> Game:
    """Jokes in a new order, the answers of all users, and what Thompson sampling does with them."""
    means = rng.permutation(MEANS)
    answers = (rng.random((USERS, len(means))) < means).astype(float)
    if hidden:
        answers = CTB.release(answers, EPSILON, rng)
    return Game(hidden, means, answers, thompson(answers, rng))


def thompson(answers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The jokes that Thompson sampling chooses, one user after the other."""
    ones, zeros, chosen = np.ones(answers.shape[1]), np.ones(answers.shape[1]), []
    for answer in answers:
        joke = int(np.argmax(rng.beta(ones, zeros)))
        ones[joke] += answer[joke]
        zeros[joke] += 1 - answer[joke]
        chosen.append(joke)
    return np.array(chosen)


def _new(hidden: bool) -> None:
    """Callback: another game."""
    st.session_state[_GAME] = deal(hidden, np.random.default_rng())


def _tap(joke: int) -> None:
    """Callback: the next user gets this joke."""
    st.session_state[_GAME].mine.append(joke)


def draw() -> None:
    """The whole screen."""
    st.title(TITLE)
    st.markdown(IDEA)
    if _GAME not in st.session_state:
        _new(False)
    _play()


@st.fragment
def _play() -> None:
    game: Game = st.session_state[_GAME]
    jokes = len(game.means)
    last = ""
    if game.mine:
        yes = game.answers[len(game.mine) - 1, game.mine[-1]]
        message = ("says yes" if yes else "says no") if game.hidden else ("laughs" if yes else "does not laugh")
        last = f" User {len(game.mine)} {message}."
    st.markdown(f"**{len(game.mine)} of {USERS} users.**{last}")
    for joke, column in enumerate(st.columns(jokes)):
        shown = [user for user, chosen in enumerate(game.mine) if chosen == joke]
        yes = int(game.answers[shown, joke].sum())
        column.button(
            f"Joke {joke + 1}", key=f"player-{joke}", on_click=_tap, args=(joke,), disabled=game.over,
            width="stretch", help="Show it to the next user.",
        )  # fmt: skip
        rate = f", truly {100 * game.means[joke]:.0f}%" if game.over else ""
        column.caption(f"{yes} of {len(shown)} {'yes' if game.hidden else 'laughed'}{rate}")
    if game.over:
        _end(game)
    with st.container(horizontal=True):
        for hidden, label in ((False, "New game"), (True, "New game with a coin")):
            st.button(label, key=f"player-new-{hidden}", on_click=_new, args=(hidden,),
                      help="Other users, and the jokes in another order.")  # fmt: skip


def _end(game: Game) -> None:
    mine, theirs = (float(game.lost(chosen)[-1]) for chosen in (game.mine, game.theirs))
    alt = f"Lost laughs over {USERS} users: you {mine:.1f}, Thompson sampling {theirs:.1f}."
    figures.plot(chart(game, theme.is_dark()), "player-chart", alt=alt, config=figures.QUIET)
    behind = f" Each answer was a lie with a chance of {100 * (1 - float(CTB.mean(1.0, EPSILON))):.0f}%."
    st.markdown(
        f"You lost **{mine:.1f}** laughs, Thompson sampling **{theirs:.1f}** on the same users."
        f"{behind if game.hidden else ''} **So: {SO}**"
    )


def chart(game: Game, dark: bool) -> go.Figure:
    """Lost laughs of both, user by user."""
    curves, users = [], np.arange(1, USERS + 1)
    for name, chosen, policy in (("you", game.mine, pictures.PRIVATE), ("Thompson sampling", game.theirs, "ucb")):
        steps = {"line": {"color": pictures.colour(policy, dark), "width": 3, "shape": "hv"}}
        curves.append(charts.Curve(users, game.lost(chosen), name, hover="%{y:.1f}", more=steps))
    lost = {"title": "laughs lost so far", "range": [0, USERS * (max(MEANS) - min(MEANS))]}
    return charts.draw(curves, {"title": "users so far", "range": [1, USERS]}, lost, 280, dark)
