"""The page Learn: one step at a time, a guess before the answer, and the way on."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from bandit_core.simulation.results import Result
from ui import (
    charts,
    figures,
    lesson,
    menu,
    page_fields,
    page_links,
    render_lock,
    runner,
    shared,
    state,
    take_along,
    theme,
)
from ui.learn import printed, together
from ui.learn.course import MINUTES, STEPS
from ui.learn.step import Choice, Number, Scale, Step
from ui.learn.together import Room

HEIGHT, LESSON_HEIGHT = 320, 280  # of the picture; its legend comes on top of it
_GUESSES, _UP = "learn-guesses", together.UP
SECOND = "second"  # field of the address: where the slider of a second part stands


@dataclass
class Guess:
    """A guess of this visit, the position that it was about, and what was measured there once it is known."""

    value: float
    at: float
    measured: Number | None = None


def _guesses() -> dict[str, Guess]:
    found: dict[str, Guess] = st.session_state.setdefault(_GUESSES, {})
    return found


def number_of_step() -> int:
    """The step of the address, from 1 on."""
    return int(page_fields.number("step", "1", 1, len(STEPS), whole=True))


def go(number: int) -> None:
    """Callback: another step, with its slider at the beginning."""
    state.keep_page_fields({"step": None if number == 1 else str(number), "at": None, SECOND: None})
    st.session_state[_UP] = number


def _back_up() -> None:
    """After a button below, what it has changed may be out of sight, above."""
    why = st.session_state.pop(_UP, None)
    if why is not None:
        up = "document.querySelector('[data-testid=stMain]').scrollTo({top: 0, behavior: 'instant'})"
        st.html(f"<script>{up} // {why}</script>", unsafe_allow_javascript=True)


def draw() -> None:
    """The whole page."""
    number = number_of_step()
    step = STEPS[number - 1]
    left = max(1, round(MINUTES * (len(STEPS) + 1 - number) / len(STEPS)))
    line, way = st.columns([3, 2], vertical_alignment="bottom")
    line.progress(number / len(STEPS), f"Step {number} of {len(STEPS)} · about {left} minutes to go")
    with way:
        _way(number, "above")
    st.title(f"{number}. {step.title}")
    room = together.room()
    at = step.slider.start if _held(room, number) else _position(step)
    shown = _is_shown(step, room, number)
    with st.container(key="learn-step"):
        words, picture = st.columns([2, 3], gap="medium")
        with words:
            at = _words(step, at, room, number, shown)
        with picture:
            if shown:
                _reveal(step, at, room, number)
            elif room is not None and room.teacher:
                together.board(room, number)
        if shown and room is not None and room.teacher:
            with words:
                together.guessed(room, step, number)
    _way(number, "below")
    if step.second is not None and room is None:
        _second(step.second)
    _folds(step, at, room, shown)
    _back_up()


def _words(step: Step, at: float, room: Room | None, number: int, shown: bool) -> float:
    """The idea, and the question or the slider; the slider's position."""
    teacher = room is not None and room.teacher
    if teacher and shown:  # the class has read the idea: room for its guesses
        st.markdown(step.question.format(at=step.slider.words(step.slider.start)))
        return _slider(step, at)
    st.markdown(step.idea)
    if shown:
        return _slider(step, at)
    if teacher:
        _put(step, at)
    else:
        _ask(step, at, room, number)
    return at


def _held(room: Room | None, number: int) -> bool:
    """Whether the visitor is in a class that has not seen the answer yet."""
    return room is not None and not room.revealed(number)


def _is_shown(step: Step, room: Room | None, number: int) -> bool:
    """Whether the answer is to be seen: after one's guess, and in a class when the teacher reveals it."""
    if _held(room, number):
        return False
    return step.name in _guesses() or (room is not None and room.teacher)


# ---------------------------------------------------------------------------------------------------------------
# Guess and slider


def _position(step: Step, field: str = "at") -> float:
    """The slider's position that a field of the address asks for."""
    stops = {f"{stop:g}": stop for stop in step.slider.stops}
    return stops[page_fields.choice(field, f"{step.slider.start:g}", stops)]


def _slider(step: Step, at: float, field: str = "at") -> float:
    chosen: float = st.select_slider(
        step.slider.label,
        step.slider.stops,
        at,
        key=state.own_key(f"learn-{step.name}"),
        format_func=step.slider.words,
        help=step.slider.help,
    )
    state.keep_page_field(field, f"{chosen:g}", f"{step.slider.start:g}")
    return chosen


def _keep(step: Step, value: float, at: float, room: Room | None, number: int) -> None:
    """Callback: the guess stands, until the session ends, and goes to the class where there is one."""
    _guesses()[step.name] = Guess(value, at)
    st.session_state[_UP] = f"{step.name} {value:g}"
    if room is not None:
        together.send(room, step, number, value)


def _again(step: Step) -> None:
    """Callback: for the next class."""
    _guesses().pop(step.name, None)


def _put(step: Step, at: float) -> None:
    """The question on the board, with what there is to choose from."""
    st.markdown(f"**Guess first.** {step.question.format(at=step.slider.words(at))}")
    if isinstance(step.guess, Choice):
        st.markdown("\n".join(f"- {label}" for label, _, _ in step.guess.options))


def _ask(step: Step, at: float, room: Room | None, number: int) -> None:
    """The question, and the controls for a guess."""
    st.markdown(f"**Guess first.** {step.question.format(at=step.slider.words(at))}")
    held = _held(room, number)
    kept = "Kept without a name until the class ends." if held else "Guesses are kept in this visit only."
    if isinstance(step.guess, Choice):
        for place, (label, _, _) in enumerate(step.guess.options):
            st.button(
                label,
                key=f"learn-{step.name}-guess-{place}",
                on_click=_keep,
                args=(step, float(place), at, room, number),
                width="stretch",
                help=f"Your guess; then the answer is shown. {kept}",
            )
    else:
        _ask_scale(step, step.guess, at, room, number, kept)
    if room is not None and held:
        together.waiting(room, step, number)


def _ask_scale(step: Step, scale: Scale, at: float, room: Room | None, number: int, kept: str) -> None:
    value = st.slider(
        f"Your guess ({scale.unit})", scale.low, scale.high, scale.start, key=f"learn-{step.name}-guess", help="Guess."
    )
    st.button(
        "Send your guess" if _held(room, number) else "Show the answer",
        type="primary",
        key=f"learn-{step.name}-guess-show",
        on_click=_keep,
        args=(step, float(value), at, room, number),
        width="stretch",
        help=f"Your guess stands; then the answer is shown. {kept}",
    )


def said_of(guess: Choice | Scale, mine: Guess, step: Step) -> str:
    """Your guess beside what was measured."""
    assert mine.measured is not None
    fits = guess.fits(mine.value, mine.measured)
    head = f"Your guess for {step.slider.words(mine.at)}: {guess.told(mine.value)}. "
    return f"{head}Measured: {mine.measured} {step.unit}. {'Right!' if fits else 'Not quite.'}"


# ---------------------------------------------------------------------------------------------------------------
# The answer


def _reveal(step: Step, at: float, room: Room | None, number: int) -> None:
    """Picture and sentence at the slider's position."""
    found = _found(step, at)
    if found is None:
        return
    _picture(step, at, found, "learn-picture")
    if room is not None and room.teacher and at == step.slider.start:
        together.note(room, number, step.measured(found, at))
    _say(step, at, found, "learn-told")
    if step.below is not None and isinstance(found, Result):
        step.below(found)
    if isinstance(found, Result) and room is None and not state.lesson():
        take_along.draw(found.experiment, "learn")


def _picture(step: Step, at: float, found: object, key: str) -> None:
    """What was found, drawn."""
    figure = step.draw(found, at, theme.is_dark(), LESSON_HEIGHT if state.lesson() else HEIGHT)
    if state.lesson():
        lesson.large(figure)
    figures.show(shared.Picture(figure, charts.read_aloud(figure, step.title)), key)
    render_lock.shown()


def _say(step: Step, at: float, found: object, key: str) -> None:
    """What was found, in a sentence, and one's guess beside it."""
    mine = _guesses().get(step.name)
    if mine is not None and mine.measured is None and mine.at == at:
        mine.measured = step.measured(found, at)
    with st.container(key=key):
        st.markdown(f"**So: {step.so}** {step.conclude(found, at).text}")
        if mine is not None and mine.measured is not None:
            st.caption(said_of(step.guess, mine, step))


def _second(part: Step) -> None:
    """The second part of a step, folded: a question of its own, its answer, and what a teacher may want."""
    at, shown = _position(part, SECOND), part.name in _guesses()
    opened = shown or at != part.slider.start
    with st.expander(f"A second look: {part.title}", icon=":material/visibility:", expanded=opened):
        st.markdown(part.idea)
        if not shown:
            _ask(part, at, None, 0)
        else:
            at = _slider(part, at, SECOND)
            found = _found(part, at, "learn-second")
            if found is not None:
                _picture(part, at, found, "learn-second-picture")
                _say(part, at, found, "learn-second-told")
        st.page_link(
            page_links.to(part.page), label=part.link_words, icon=":material/tune:", query_params=part.fields(at)
        )
        if shown:
            st.caption(f"**The maths.** {part.exact}")
            st.caption(f"**For teachers.** {part.notes}")
            st.caption(f"**Exercise.** {part.exercise} **Answer.** {part.answer}")


def _found(step: Step, at: float, place: str = "learn") -> object | None:
    """What the step shows, once all of it is there."""
    if step.experiment is not None:
        result = runner.result_of(step.experiment(at), place)
        return result if result is not None and result.complete else None
    with render_lock.computing():
        return _sampled(step.name, at)


@st.cache_data(max_entries=128, show_spinner=False)
def _sampled(name: str, at: float) -> object:
    step = next(each for each in STEPS if each.name == name)
    assert step.sample is not None
    return step.sample(at, 0)


# ---------------------------------------------------------------------------------------------------------------
# The way on, and what is folded away


def _way(number: int, place: str) -> None:
    """Back and on; drawn above for wide windows and below for phones, and one of the two is shown."""
    last = number == len(STEPS)
    with st.container(key=f"learn-{place}", horizontal=True, horizontal_alignment="right"):
        st.button(
            "Back", icon=":material/arrow_back:", key=f"learn-back-{place}", on_click=go, args=(number - 1,),
            disabled=number == 1, help="The step before.",
        )  # fmt: skip
        st.button(
            "Next", icon=":material/arrow_forward:", key=f"learn-next-{place}", on_click=go, args=(number + 1,),
            disabled=last, type="primary", help="The next step." if not last else "This was the last step.",
        )  # fmt: skip


def _folds(step: Step, at: float, room: Room | None, shown: bool) -> None:
    """Things to try, the exact statement, the same experiment elsewhere, and what a teacher may want."""
    for hint in step.more:
        st.markdown(f"- {hint}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(
            page_links.to(step.page), label=step.link_words, icon=":material/tune:", query_params=step.fields(at)
        )
        if shown and not (room is not None and room.teacher):
            st.button(
                "Guess again", icon=":material/replay:", key="learn-again", on_click=_again, args=(step,),
                help="Hide the answer and ask once more.",
            )  # fmt: skip
        lesson.phone(menu.named("learn"))
        together.opener(room)
    with st.expander("The maths"):
        st.markdown(step.exact)
    with st.expander("For teachers"):
        st.markdown(step.notes)
        st.markdown(f"**Exercise.** {step.exercise}")
        st.markdown(f"**Answer.** {step.answer}")
        st.download_button(
            "All ten steps on paper (HTML, to print)",
            data=printed.page,
            file_name="learn.html",
            mime="text/html",
            on_click="ignore",
            key="learn-print",
            help="Every step with its question, exercises, and the answers on the last pages.",
        )
