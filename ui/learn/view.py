"""The page Learn: one step at a time, a guess before the answer, and the way on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from ui import page_fields, page_links, state, watch
from ui.learn import answers, classroom, ending, player, quiz
from ui.learn.course import ADDRESSES, MINUTES, STEPS, Step, title
from ui.player.slider import or_small
from ui.words import unbroken

HEIGHT = "clamp(20rem, 42vh, 36rem)"  # of the picture; its legend comes below it
_GUESSES, _UP, _LAST = "learn-guesses", "learn-up", "learn-last"
END, QUIZ = "end", "quiz"  # what the field ``step`` says of the screens after the last step
WAY = (*(str(number) for number in range(1, len(STEPS) + 1)), END)  # of Back and Next
KEPT = "Guesses are kept in this visit only."


def _guesses() -> dict[str, tuple[float, float]]:
    """By lesson the guess of this visit, and the position that it was about."""
    guesses: dict[str, tuple[float, float]] = st.session_state.setdefault(_GUESSES, {})
    return guesses


def go(place: str) -> None:
    """Callback: another step, with its slider at the beginning."""
    bare = dict.fromkeys(("at", answers.OTHER, answers.SECOND))
    state.keep_page_fields({"step": None if place == "1" else place, **bare})
    st.session_state[_UP] = place


def _back_up() -> None:
    """After a button below, what it has changed may be out of sight, above."""
    why = st.session_state.pop(_UP, None)
    if why is not None:
        up = "document.querySelector('[data-testid=stMain]').scrollTo({top: 0, behavior: 'instant'})"
        st.html(f"<script>{up} // {why}</script>", unsafe_allow_javascript=True)


def draw() -> None:
    """The whole page."""
    place = page_fields.choice("step", "1", (*ADDRESSES, END, QUIZ, player.NAME))
    answers.check(ADDRESSES.get(place))
    _progress(place)
    if place == END:
        ending.draw(go)
    elif place == QUIZ:
        quiz.draw()
    elif place == player.NAME:
        player.draw()
    else:
        _lesson(ADDRESSES[place])
    _way(place, "below")
    _back_up()


def _progress(place: str) -> None:
    """How far one is, and the way on."""
    number = WAY.index(place) + 1 if place in WAY else len(WAY)
    left = max(1, round(MINUTES * (len(STEPS) + 1 - number) / len(STEPS)))
    message = f"Step {number} of {len(STEPS)} · about {left} minutes to go"
    if number > len(STEPS):
        message = "The end" if place == END else "After the course"
    line, way = st.columns([3, 2], vertical_alignment="bottom")
    line.progress(min(1.0, number / len(STEPS)), message)
    with way:
        _way(place, "above")
    last = st.session_state.get(_LAST, "1")
    if place == "1" and last != "1":
        message = "Go on with the end" if last == END else f"Go on with step {last}"
        answers.button(message, "learn-go-on", "Where you were before.", go, last)
    elif place in WAY:
        st.session_state[_LAST] = place


def _lesson(step: Step) -> None:
    """One step."""
    st.title(title(step))
    at, run = answers.position(step), dict[str, Any]()
    with st.container(key="learn-step"):
        words, picture = st.columns([2, 3], gap="medium")
        shown = step.name in _guesses()
        with words:
            st.markdown(step.idea)
            if not shown:
                _ask(step, at)
            else:
                step = answers.other(step)
        with picture, or_small(step.name):
            if shown:
                at = _reveal(step, words)
                run |= {**step.content(step.slider.start).run, **step.watch} if step.watch else {}
            else:
                answers.scene(step, height=HEIGHT)
                if step.coins:
                    classroom.own_coins(step.coins)
    if run:
        st.subheader(step.watch["title"])
        watch.draw(step.experiment(step.slider.start), 1, "learn-watch", run)
    if step.second is not None:
        with or_small(step.second.name):
            _second(step.second)
    _folds(step, at, shown)


# ---------------------------------------------------------------------------------------------------------------
# Guess and answer


def _ask(step: Step, at: float) -> None:
    """The question, and the controls for a guess."""

    def keep(step: Step, value: float) -> None:
        _guesses()[step.name] = value, at
        st.session_state[_UP] = f"{step.name} {value:g}"

    st.markdown(unbroken(f"**Guess first.** {step.question.format(at=step.slider.words(at))}"))
    answers.ask(step, keep, "Show the answer", KEPT)


def _again(step: Step) -> None:
    """Callback: once more."""
    _guesses().pop(step.name, None)


def _reveal(step: Step, place: Any, field: str = "at") -> float:
    """What was measured, and one's guess beside it, in a ``place``; below, the picture. The slider's position."""
    value, at = _guesses()[step.name]
    measured = step.measured(step.content(at), at)
    with place.container(key=f"learn-guess-{field}"):
        st.markdown(f"### {answers.verdict(step, value, measured)}")
        guess = f"{step.question.format(at=step.slider.words(at))} Your guess: {step.guess.message(value)}."
        st.caption(unbroken(f"{guess} Measured: {step.answer_to(measured)}."))
    return answers.played(step, field, step.aim(value, at), height=HEIGHT)


def _second(part: Step) -> None:
    """The second part of a step, folded: a question of its own, and its answer."""
    at, shown = answers.position(part, answers.SECOND), part.name in _guesses()
    opened = shown or at != part.slider.start
    with st.expander(f"A second look: {part.title}", opened, key=f"second-{part.name}", icon=":material/visibility:"):
        st.markdown(part.idea)
        if not shown:
            _ask(part, at)
        else:
            at = _reveal(part, st, answers.SECOND)
        _link(part, at)
        if shown:
            st.caption(f"**The maths.** {part.exact}")


# ---------------------------------------------------------------------------------------------------------------
# The way on, and what is folded away


def _way(at: str, place: str) -> None:
    """Back and on; drawn above for wide windows and below for phones, and one of the two is shown."""
    number = WAY.index(at) if at in WAY else len(WAY)
    back, on = WAY[max(0, number - 1)], WAY[min(len(WAY) - 1, number + 1)]
    last = number >= len(WAY) - 1
    with st.container(key=f"learn-{place}", horizontal=True, horizontal_alignment="right"):
        first, about = number == 0, "The next screen." if not last else "This was the last step."
        before, after = {"icon": "arrow_back", "disabled": first}, {"icon": "arrow_forward", "disabled": last}
        answers.button("Back", f"learn-back-{place}", "The step before.", go, back, **before)
        answers.button("Next", f"learn-next-{place}", about, go, on, type="primary", **after)


def _link(step: Step, at: float) -> None:
    """The same experiment with all controls."""
    st.page_link(page_links.to(step.page), label=step.link_words, icon=":material/tune:", query_params=step.fields(at))


def _folds(step: Step, at: float, shown: bool) -> None:
    """Things to try, the same experiment elsewhere, and the exact statement."""
    for hint in step.more:
        st.markdown(f"- {hint}")
    with st.container(horizontal=True, vertical_alignment="center"):
        _link(step, at)
        if shown:
            about = "Hide the answer and ask once more."
            answers.button("Guess again", "learn-again", about, _again, step, icon="replay")
    with st.expander("The maths", key=f"maths-{step.name}"):
        st.markdown(step.exact)
