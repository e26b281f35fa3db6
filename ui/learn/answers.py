"""What every view of a lesson has: the controls of a guess, the slider, the picture and the sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from bandit_core import simulate
from bandit_core.spec.errors import Issue
from ui import charts, figures, page_fields, page_lock, runner, shared, state, theme
from ui.learn import pictures
from ui.learn.course import named
from ui.learn.measured import Number
from ui.learn.step import Slider, Step
from ui.page_fields import Field
from ui.player import view as player
from ui.player.document import Stop, text

OTHER = "eps"  # field of the address: where the second slider of a lesson stands
SECOND = "second"  # and where the slider of a second part does


def button(label: str, key: str, help: str, act: Callable[..., None], *args: object, **look: Any) -> None:
    """A button that acts before the page is drawn again; ``look`` as Streamlit takes it, an icon by its name."""
    if "icon" in look:
        look["icon"] = f":material/{look['icon']}:"
    st.button(label, key=key, help=help, on_click=act, args=args, **look)


def position(step: Step, field: str = "at") -> float:
    """The slider's position that a field of the address asks for."""
    return _position(step.slider, field)


def _position(slider: Slider, field: str) -> float:
    stops = {f"{stop:g}": stop for stop in slider.stops}
    return stops[page_fields.choice(field, f"{slider.start:g}", stops)]


def check(step: Step | None = None) -> None:
    """Say which positions in the address this lesson, or a screen without any, cannot use: also of hidden sliders."""
    parts = [] if step is None else [step.slider, step.other, step.second.slider if step.second else None]
    sliders = dict(zip(("at", OTHER, SECOND), parts or [None] * 3, strict=True))
    for field, found in sliders.items():
        if found is not None:
            _position(found, field)
        elif (text := state.page_values().get(field)) is not None:
            page_fields.refuse(Issue(field, text, "no slider of this screen; leave it out"))


def slider(step: Step, at: float, field: str = "at") -> float:
    """The slider of a lesson; its position."""
    return _slider(step.slider, at, field, f"learn-{step.name}")


def _slider(slider: Slider, at: float, field: str, key: str) -> float:
    chosen: float = st.select_slider(
        slider.label, slider.stops, at, key=state.own_key(key), format_func=slider.words, help=slider.help
    )
    state.keep_page_field(field, f"{chosen:g}", f"{slider.start:g}")
    return chosen


def played(step: Step, at: float, field: str, height: int) -> float:
    """The slider of a lesson that ships, with its picture, which follows the thumb; where it rests."""
    slider, dark = step.slider, theme.is_dark()

    def document() -> str:
        stops = []
        for stop in slider.stops:
            content, name = step.content(stop, simulate), slider.words(stop)
            figure = step.draw(content, stop, dark, height)
            aloud = f"{name}. {step.conclude(content, stop).text}".replace("*", "")
            stops.append(Stop(name, aloud, charts.read_aloud(figure, step.title), figure))
        return text(stops, dark, label=slider.label, help=slider.help, height=height)

    row = Field(field, slider.label, slider.start, slider.help, allowed=slider.stops, key=f"play-{step.name}")
    rest: float = player.ask(row, shared.once("learn", step.name, (height, dark), document), at)
    return rest


def other(step: Step) -> Step:
    """The lesson as its second slider says, where it has one."""
    if step.other is None:
        return step
    epsilon = _slider(step.other, _position(step.other, OTHER), OTHER, f"learn-{step.name}-{OTHER}")
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


def content(step: Step, at: float, place: str = "learn") -> Any:
    """What the lesson shows, once all of it is there; None before."""
    if step.ships:
        return step.content(at, simulate)
    if step.setting:
        result = runner.result_of(step.experiment(at), place)
        return result if result is not None and result.complete else None
    with page_lock.computing():
        return _sampled(step.name, at, step.epsilon)


@st.cache_data(max_entries=128, show_spinner=False)
def _sampled(name: str, at: float, epsilon: float) -> object:
    return named(name).model_copy(update={"epsilon": epsilon}).sample(at, 0)


def picture(figure: go.Figure, title: str, key: str, config: Mapping[str, Any] = charts.CONFIG, **options: Any) -> None:
    """What was found, drawn."""
    figures.plot(figure, key, title, config=config, **options)
    page_lock.shown()


def scene(step: Step, height: int) -> None:
    """What the idea is about, before the guess, where the step has a picture of it."""
    if step.tips:
        picture(pictures.tips(step, theme.is_dark(), height), step.title, f"scene-{step.name}", figures.QUIET)
