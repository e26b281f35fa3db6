"""What every view of a lesson has: the controls of a guess, and the slider with its picture and sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from bandit_core.spec.errors import Issue
from ui import charts, page_fields, shared, state, theme
from ui.learn.course import Slider, Step, tips
from ui.learn.measured import Number
from ui.page_fields import Field
from ui.player import slider as player
from ui.player.slider import Stop, text
from ui.words import as_html

OTHER = "eps"  # field of the address: where the second slider of a lesson stands
SECOND = "second"  # and where the slider of a second part does
SCENE = 320  # pixels, the height of a picture before the guess


def button(label: str, key: str, help: str, act: Callable[..., None], *args: object, **look: Any) -> None:
    """A button that acts before the page is drawn again; ``look`` as Streamlit takes it, an icon by its name."""
    if "icon" in look:
        look["icon"] = f":material/{look['icon']}:"
    st.button(label, key=key, help=help, on_click=act, args=args, **look)


def _row(slider: Slider, field: str, key: str = "") -> Field:
    write = slider.words
    return Field(field, slider.label, slider.start, slider.help, allowed=slider.stops, write=write, key=key)


def position(step: Step, field: str = "at") -> float:
    """The slider's position that a field of the address asks for."""
    at: float = player.value(_row(step.slider, field))
    return at


def check(step: Step | None = None) -> None:
    """Say which positions in the address this lesson, or a screen without any, cannot use: also of hidden sliders."""
    parts = [] if step is None else [step.slider, step.other, step.second.slider if step.second else None]
    sliders = dict(zip(("at", OTHER, SECOND), parts or [None] * 3, strict=True))
    for field, found in sliders.items():
        if found is not None:
            player.value(_row(found, field))
        elif (text := state.page_values().get(field)) is not None:
            page_fields.refuse(Issue(field, text, "no slider of this screen; leave it out"))


def document(step: Step, dark: bool, **look: Any) -> str:
    """A lesson at all positions of its slider, for the player; ``look`` as `ui.player.slider` says.

    Raises
    ------
    InputError
        As `Step.content` does.
    """
    slider, stops = step.slider, []
    for at in slider.stops:
        content, name = step.content(at), slider.words(at)
        figure = step.draw(content, at, dark, 320)
        aloud = f"{name}. {step.conclude(content, at).text}".replace("*", "")
        says = as_html(step.says(content, at))
        stops.append(Stop(name, aloud, charts.read_aloud(figure, step.title), figure, says))
    return text(stops, dark, label=slider.label, help=slider.help, **look)


def played(step: Step, field: str = "at", guess: Mapping[str, Any] | None = None, **look: Any) -> float:
    """The slider of a lesson with its picture, which follows the thumb, and words; where it rests.

    The curves run through a ``guess`` at first, see `Step.aim`.
    """
    how = theme.is_dark(), step.epsilon, *look.items()
    made = shared.once("learn", step.name, how, lambda: document(step, theme.is_dark(), **look))
    rest: float = player.ask(_row(step.slider, field, f"play-{step.name}"), made, position(step, field), guess)
    return rest


def other(step: Step) -> Step:
    """The lesson as its second slider says, where it has one."""
    if step.other is None:
        return step
    epsilon = page_fields.ask(_row(step.other, OTHER, f"learn-{step.name}-{OTHER}"))
    return step.model_copy(update={"epsilon": epsilon})


def ask(step: Step, take: Callable[[Step, float], None], label: str, kept: str, mine: float | None = None) -> None:
    """The controls for a guess, which ``take`` gets; ``mine`` is the one that stands."""
    key = f"learn-{step.name}-guess"
    scale = step.scale
    if scale is None:
        for place, words in enumerate(step.options):
            kind = "primary" if mine == place else "secondary"
            button(words, f"{key}-{place}", f"Your guess. {kept}", take, step, float(place), type=kind, width="stretch")
        return
    value = st.slider(f"Your guess ({scale.unit})", scale.low, scale.high, scale.start, key=key, help="Guess.")
    button(label, f"{key}-show", f"Your guess. {kept}", take, step, float(value), type="primary", width="stretch")


def verdict(step: Step, guess: float, measured: Number) -> str:
    """Whether a guess fits what was measured."""
    return "Right!" if step.guess.fits(guess, measured) else "Not quite."


def scene(step: Step, **look: Any) -> None:
    """What the idea is about, before the guess: a picture of it, or the axes of the one that answers."""
    dark, at = theme.is_dark(), step.slider.start
    figure = tips(step, dark, SCENE) if step.tips else step.draw(step.content(at), at, dark, SCENE)
    alt = charts.read_aloud(go.Figure(layout=figure.layout), step.title)
    made = text([Stop("", "", alt, figure)], dark, not step.tips, label="", help="", **look)
    player.still(f"scene-{step.name}", made)
