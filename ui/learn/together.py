"""A class together on the page Learn: what the teacher's screen shows, and what the phones do."""

from __future__ import annotations

import secrets
from collections import Counter
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from ui import charts, lesson, menu, state, theme, words
from ui.learn import pictures
from ui.learn.classroom import CLASSES, LENGTH, Refused, offered
from ui.learn.step import Choice, Number, Scale, Step

HEIGHT = 160  # of the histogram, so that it stands above the fold of a projector of 960 × 540
EVERY = 2  # seconds between looks at how many have guessed
UP = "learn-up"  # why the page should go back to its top
_TOKEN, _MINE, _SAID, _ANSWERS = "class-token", "class-mine", "class-said", "class-answers"


@dataclass(frozen=True)
class Room:
    """An open class as this visitor sees it, as its teacher or with a phone."""

    code: str
    teacher: bool

    def revealed(self, number: int) -> bool:
        """Whether the answer of a step is out."""
        return CLASSES.is_revealed(self.code, number)


def _token() -> str:
    """What this visit is known by, drawn at random; it says nothing about who it is."""
    found: str = st.session_state.setdefault(_TOKEN, secrets.token_hex(8))
    return found


def _say(text: str) -> None:
    st.session_state[_SAID] = text


def room() -> Room | None:
    """The open class of this visitor; says so where the class of the address is none."""
    CLASSES.forget()
    if _SAID in st.session_state:
        st.warning(st.session_state.pop(_SAID), icon=":material/groups:")
    asked, mine = state.page_field("class", "").strip().upper(), st.session_state.get(_MINE)
    if not offered():
        if asked:
            st.warning("This server holds no classes: its host has switched them off.", icon=":material/groups:")
        return None
    if mine and not CLASSES.is_open(mine):
        del st.session_state[_MINE]
        mine = None
    code = asked or mine
    if not code:
        return None
    if len(code) == LENGTH and CLASSES.is_open(code):
        return Room(code, code == mine)
    told = words.plain(code[: 2 * LENGTH])
    st.warning(
        f"There is no class {told} now: a class ends after an hour, or when its teacher closes it. Ask for the code, "
        "or go on alone.",
        icon=":material/groups:",
    )
    return None


# ---------------------------------------------------------------------------------------------------------------
# The teacher


def _open() -> None:
    """Callback: a new class, whose code stands in the address."""
    try:
        code = CLASSES.open(_token())
    except Refused as refused:
        _say(str(refused))
        return
    st.session_state[_MINE], st.session_state[UP] = code, code
    state.keep_page_fields({"class": code, "at": None})


def opener(room: Room | None) -> None:
    """The button that opens a class, where the host lets one and this visitor has none."""
    if room is None and offered():
        st.button(
            "Open a class", icon=":material/groups:", key="class-open", on_click=_open,
            help="Phones join by a code and guess together. No names; kept in memory for an hour at most.",
        )  # fmt: skip


def _reveal(code: str, number: int) -> None:
    """Callback: the answer is out; the slider begins where the question was asked."""
    CLASSES.reveal(code, _token(), number)
    st.session_state[UP] = f"{code} {number} revealed"
    state.keep_page_fields({"at": None})


def _again(code: str, number: int) -> None:
    """Callback: the step's guesses go."""
    CLASSES.again(code, _token(), number)
    st.session_state[UP] = f"{code} {number} again"


def _close(code: str) -> None:
    """Callback: the class goes."""
    CLASSES.close(code, _token())
    st.session_state.pop(_ANSWERS, None)
    state.keep_page_fields({"class": None})


def board(room: Room, number: int) -> None:
    """How to join, and how many have guessed, before the answer is out."""
    fields = {"class": room.code, "step": str(number)}
    join, told = st.columns(2, gap="medium")
    with join:
        where = lesson.address(menu.named("learn"), None, fields)
        lesson.scan(where, "**Scan, and guess on your phone.** No name asked.")
    with told:
        st.subheader(f"Class {room.code}")
        st.fragment(_count, run_every=EVERY)(room.code, number)
        st.button(
            "Reveal the answer", type="primary", key="class-reveal", on_click=_reveal, args=(room.code, number),
            width="stretch", help="Shows the guesses of the class beside the answer. Later guesses do not count.",
        )  # fmt: skip
        closer(room)
        st.caption("Keep this tab open, and do not reload it: it alone can reveal. Nothing is stored.")


def _count(code: str, number: int) -> None:
    if not CLASSES.is_open(code):
        st.rerun()
    st.metric("Guesses so far", len(CLASSES.guesses(code, number)))


def closer(room: Room) -> None:
    """The button that ends the class."""
    st.button(
        "Close the class", key="class-close", on_click=_close, args=(room.code,), width="stretch",
        help="Forgets the code and all guesses at once.",
    )  # fmt: skip


def note(room: Room, number: int, answer: Number) -> None:
    """Keep the answer to the question, so that it stays beside the guesses while the slider moves."""
    st.session_state.setdefault(_ANSWERS, {})[room.code, number] = answer


def guessed(room: Room, step: Step, number: int) -> None:
    """The guesses of the class beside the answer, once it is out."""
    answer: Number | None = st.session_state.get(_ANSWERS, {}).get((room.code, number))
    guesses = CLASSES.guesses(room.code, number)
    if answer is None:
        st.caption(f"For the answer beside the guesses, put the slider to {step.slider.words(step.slider.start)}.")
    else:
        fit = sum(step.guess.fits(value, answer) for value in guesses)
        st.markdown(f"**{fit} of {len(guesses)}** guesses fit. Measured: {answer} {step.unit}.")
    figure = histogram(step.guess, guesses, answer, theme.is_dark())
    config = {**charts.CONFIG, "displayModeBar": False}
    st.plotly_chart(figure, config=config, key="class-guesses", alt=read_aloud(step.guess, guesses))
    with st.container(horizontal=True):
        st.button(
            "Ask again", icon=":material/replay:", key="class-again", on_click=_again, args=(room.code, number),
            help="Forgets the guesses at this step and hides the answer.",
        )  # fmt: skip
        closer(room)


def counts(guess: Choice | Scale, guesses: tuple[float, ...]) -> list[int]:
    """How often each possible guess was made."""
    found = Counter(guesses)
    return [found[value] for value in guess.values()]


def read_aloud(guess: Choice | Scale, guesses: tuple[float, ...]) -> str:
    """The histogram in words."""
    made = [f"{guess.told(value)}: {n}" for value, n in zip(guess.values(), counts(guess, guesses), strict=True) if n]
    return f"Histogram of {len(guesses)} guesses. " + "; ".join(made)


def histogram(guess: Choice | Scale, guesses: tuple[float, ...], answer: Number | None, dark: bool) -> go.Figure:
    """One bar for each possible guess; those that fit the answer are coloured, and ticked or marked by a line."""
    fits = [answer is not None and guess.fits(value, answer) for value in guess.values()]
    shade, quiet = pictures.colour(pictures.PRIVATE, dark), theme.quiet(dark)
    names = [("✓ " * fit) + guess.told(value) for value, fit in zip(guess.values(), fits, strict=True)]
    figure = go.Figure()
    figure.add_bar(
        x=names if isinstance(guess, Choice) else list(guess.values()),
        y=counts(guess, guesses),
        name="guesses",
        marker={"color": [shade if fit else quiet for fit in fits]},
        hovertemplate="%{x}: %{y}<extra></extra>",
        showlegend=False,
    )
    pictures.plain(figure, dark, HEIGHT)
    most = max(counts(guess, guesses), default=0)
    figure.update_yaxes(title="guesses", range=[0, 1.15 * max(most, 4)])
    if isinstance(guess, Scale):
        figure.update_xaxes(title=f"guess ({guess.unit})", range=[guess.low - 1, guess.high + 1])
        if answer is not None:
            figure.add_vline(answer.value, line={"color": shade, "width": 2, "dash": "dash"})
    return figure


# ---------------------------------------------------------------------------------------------------------------
# A phone


def send(room: Room, step: Step, number: int, value: float) -> None:
    """Hand a guess to the class, or keep in mind why it was not taken."""
    if value not in step.guess.values():
        return
    try:
        CLASSES.guess(room.code, _token(), number, value)
    except Refused as refused:
        _say(str(refused))


def _leave() -> None:
    """Callback: on alone."""
    state.keep_page_fields({"class": None})


def waiting(room: Room, step: Step, number: int) -> None:
    """What a phone shows until the answer is out: whether its guess is in, and what to do then."""
    mine = CLASSES.guess_of(room.code, _token(), number)
    if mine is None:
        st.caption(f"You are in class {room.code}. Nobody asks for your name.")
    else:
        st.success(
            f"Your guess is in: {step.guess.told(mine)}. Look at the board. You may guess again until the answer is "
            "out.",
            icon=":material/check:",
        )
    with st.container(horizontal=True):
        if mine is not None:
            st.button("Is the answer out?", key="class-look", help="Looks whether the teacher has shown the answer.")
        st.button("Leave the class", key="class-leave", on_click=_leave, help="Go on alone, at your own pace.")
