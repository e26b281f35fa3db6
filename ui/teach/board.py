"""A class on the teacher's screen: how to join, who has guessed, and the guesses beside the answer.

Whoever has the teacher's address, which carries a key, leads the class: a reload, or another machine.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from ui import export_panel, figures, lesson, page_fields, state, theme, words
from ui.learn import answers, classroom, course, pictures
from ui.learn.course import Choice, Scale, Step
from ui.learn.measured import Number
from ui.page_fields import Field
from ui.words import as_html

EVERY = 1.5  # seconds between looks at the class
SHARE = 320  # height of the picture of an estimate in pixels
_SAID, _MINE, _DRAWN = "class-said", "class-mine", "class-drawn"


@dataclass(frozen=True)
class Room:
    """A class whose teacher this visitor is, and where it is now."""

    code: str
    key: str
    now: classroom.Moment


def room() -> Room | None:
    """The class of the address, where it carries the teacher's key; says so where it does not."""
    if _SAID in st.session_state:
        st.warning(st.session_state.pop(_SAID), icon=":material/groups:")
    code, key = state.page_field("class", "").strip().upper(), state.page_field("key", "")
    if not code:
        return None
    if not classroom.offered():
        st.warning("This server holds no classes: its host has switched them off.", icon=":material/groups:")
        return None
    now = classroom.CLASSES.now(code) if len(code) == classroom.LENGTH else None
    if now is None:
        st.warning(
            f"There is no class {words.plain(code[: 2 * classroom.LENGTH])} now. A class ends four hours after its "
            "last action, or when its teacher closes it.",
            icon=":material/groups:",
        )
        return None
    if not classroom.CLASSES.is_teacher(code, key):
        st.warning("Only the address of its teacher leads this class.", icon=":material/groups:")
        return None
    st.session_state[_MINE] = code, key
    return Room(code, key, now)


def led_class() -> tuple[str, str] | None:
    """The open class that this visitor has led before: code and key."""
    led: tuple[str, str] | None = st.session_state.get(_MINE)
    return led if led and classroom.CLASSES.is_teacher(*led) else None


def open_class(step: Step) -> None:
    """Callback: a class at a lesson, in the full window; the one that is open already, where there is one."""
    led = led_class()
    try:
        code, key = led or classroom.CLASSES.open(step.name)
    except classroom.Refused as refused:
        st.session_state[_SAID] = str(refused)
        return
    classroom.CLASSES.go(code, key, step.name)
    full_window(code, key)


def full_window(code: str, key: str) -> None:
    """Callback: a class fills the window. A link to the page that one is on would lose its fields."""
    st.query_params["controls"] = "off"
    state.keep_page_fields({"class": code, "key": key, "step": None, "at": None, answers.OTHER: None})


def lead(room: Room, step: Step) -> None:
    """Callback: the class goes on to another lesson."""
    st.session_state.pop(_DRAWN, None)
    classroom.CLASSES.go(room.code, room.key, step.name)
    state.keep_page_fields({"at": None, answers.OTHER: None})


def reveal(room: Room) -> None:
    """Callback: the answer is out; the slider begins where the question was asked."""
    classroom.CLASSES.reveal(room.code, room.key, room.now.step)
    state.keep_page_fields({"at": None, answers.OTHER: None})


def _again(room: Room) -> None:
    """Callback: the guesses at this lesson go."""
    st.session_state.pop(_DRAWN, None)
    classroom.CLASSES.again(room.code, room.key, room.now.step)


def _close(room: Room) -> None:
    """Callback: the class goes."""
    classroom.CLASSES.close(room.code, room.key)
    state.keep_page_fields({"class": None, "key": None, "step": course.address(course.named(room.now.step))})


# ---------------------------------------------------------------------------------------------------------------
# How phones come in


def own_address() -> str:
    """The address of this machine in its network; empty where it has none.

    A datagram socket that is connected sends nothing: the system only chooses the address that it would send from.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # an address for documents, which no one has
            return str(asked.getsockname()[0])
        except OSError:
            return ""


def listens_there() -> bool:
    """Whether the app answers at the machine's address in the network."""
    return st.get_option("server.address") not in ("localhost", "127.0.0.1", "::1")


def for_phones(code: str) -> tuple[str, str]:
    """The address for the phones of a class, and what to do first where phones do not reach it (else nothing)."""
    where = f"{export_panel.base_address('teach')}/learn?class={code}&controls=off"
    seen = urlsplit(where)
    if seen.hostname not in (None, "localhost", "127.0.0.1", "::1"):
        return where, ""
    own, port = own_address(), seen.port or 8501
    if own and not own.startswith("127.") and listens_there():
        return where.replace(str(seen.netloc), f"{own}:{port}", 1), ""
    return where, f"streamlit run app.py --server.address 0.0.0.0 --server.port {port}"


def join(room: Room, scan: Any) -> None:
    """The code to ``scan``, in a place of its own, how many have guessed, and the buttons of the teacher."""
    where, command = for_phones(room.code)
    drawn = lesson.code(where)
    if drawn is not None:
        scan.image(drawn, width="stretch", alt=f"QR code of the address {where}")
    st.code(re.sub(r"^https?://|&controls=off$", "", where), language=None, wrap_lines=True)
    if command:
        st.caption("Phones do not reach this computer yet. Start the app with:")
        st.code(command, language=None, wrap_lines=True)
    count, buttons = st.columns(2, vertical_alignment="center")
    with count:
        follow(room, counts=True)
    with buttons:
        about = "Key R. Shows the answer here and on the phones. Later guesses do not count."
        answers.button("Reveal", "project-reveal", about, reveal, room, type="primary", width="stretch")


def follow(room: Room, counts: bool = False) -> None:
    """Count the guesses, and draw the page again when another screen of the teacher has gone on."""

    def look(code: str, drawn: tuple[str, bool]) -> None:
        there = classroom.CLASSES.now(code)
        if there is None or (there.step, there.revealed) != drawn:
            st.rerun()
        elif counts:
            st.metric("Bits" if course.named(there.step).coins else "Guesses", there.guesses)

    st.fragment(look, run_every=EVERY)(room.code, (room.now.step, room.now.revealed))


def closer(room: Room) -> None:
    """The button that ends the class."""
    with st.popover("End the class", key="class-end", help="Asks before it ends the class."):
        st.markdown("The code stops working on all phones, and all guesses are deleted.")
        about = "There is no way back. “Close” above leaves the class open."
        answers.button("End it for everyone", "class-close", about, _close, room, width="stretch")


# ---------------------------------------------------------------------------------------------------------------
# The guesses beside the answer


def draws(room: Room) -> bool:
    """Whether the picture has followed the guesses, on this screen."""
    return st.session_state.get(_DRAWN) == (room.code, room.now.step)


def guessed(room: Room, step: Step, measured: Number) -> None:
    """The guesses of the class as bars, those that fit what was ``measured`` ticked, and the way to the picture."""
    guesses = classroom.CLASSES.guesses(room.code, step.name)
    st.html(bars(step.guess, guesses, measured, theme.is_dark()))
    fit, picture, again = st.columns([2, 1, 1], vertical_alignment="center")
    fit.markdown(f"**{sum(step.guess.fits(value, measured) for value in guesses)} of {len(guesses)}** guesses fit.")
    with picture:
        now = {_DRAWN: (room.code, room.now.step)}
        about = "Key R. The picture, with its slider."
        answers.button(
            "Picture", "project-reveal", about, st.session_state.update, now, type="primary", width="stretch"
        )
    with again:
        _again_button(room)
    follow(room)


def _again_button(room: Room) -> None:
    about = "Deletes the guesses at this lesson and hides the answer."
    answers.button("Ask again", "class-again", about, _again, room, icon="replay", width="stretch")


@st.fragment(run_every=EVERY)
def share_now(code: str, step: Step) -> None:
    """The class's share of yes, estimated from the bits so far."""
    _share(classroom.Bits(classroom.CLASSES.bits(code, step.name)))


def share(room: Room, step: Step) -> None:
    """The same once all bits are in, beside a show of hands if the class wants one."""
    picture, side = st.columns([3, 1])
    bits = classroom.CLASSES.bits(room.code, step.name)
    with side:
        help = "Optional: the true answers, by a show of hands. The number is not kept."
        field = Field("hands", "Hands raised for yes", None, help, "number", (0, max(1, len(bits))))
        hands = page_fields.draw(field, None, f"class-hands-{len(bits)}")
        _again_button(room)
    with picture:
        _share(classroom.Bits(bits, None if hands is None or not bits else 100 * hands / len(bits)))
    follow(room)


def _share(found: classroom.Bits) -> None:
    if not found.bits:
        st.caption("No phone has sent a bit yet.")
        return
    st.markdown(found.message())
    figure = found.draw(len(found.bits), theme.is_dark(), SHARE)
    figures.plot(figure, "class-share", alt=found.message(), config=figures.QUIET)


def bars(guess: Choice | Scale, guesses: tuple[float, ...], measured: Number, dark: bool) -> str:
    """A bar for each choice, in HTML. Of a scale: for what is too low, what fits and what is too high."""
    if isinstance(guess, Choice):
        rows = [(guess.message(value), range(value, value + 1)) for value in guess.values()]
    else:
        near = [value for value in guess.values() if guess.fits(value, measured)]
        low, high = (near[0], near[-1]) if near else (round(measured.value), round(measured.value))
        rows = [(f"below {guess.message(low)}", range(guess.low, low))]
        rows += [(f"{low} to {guess.message(high)}", range(low, high + 1))]
        rows += [(f"above {guess.message(high)}", range(high + 1, guess.high + 1))]
    made = [sum(value in values for value in guesses) for _, values in rows]
    shades, shown = (theme.quiet(dark), pictures.colour(pictures.PRIVATE, dark)), []
    for (name, values), count in zip(rows, made, strict=True):
        fits = any(guess.fits(value, measured) for value in values)
        look = f"--share:{100 * count / max(*made, 1):.0f}%;--shade:{shades[fits]}"
        shown.append(f'<li style="{look}">{"✓ " * fits}{as_html(name)} <b>{count}</b><i></i></li>')
    return f'<ul class="guesses">{"".join(shown)}</ul>'
