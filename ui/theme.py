"""Colours, markers and dashes: one colour per level of trust, and one shade per policy where some share a level.

Warm where no one is trusted, cool where a curator is, brown for a shuffler, violet for secure aggregation, grey
without privacy. They differ in lightness as well as hue, so that they survive colour blindness.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import streamlit as st

from bandit_core import Experiment
from bandit_core.mechanisms import registry as mechanisms
from bandit_core.model import KEPT, PROMISES, Bound, Model, Privacy
from bandit_core.policies import registry
from bandit_core.spec.found import entries
from bandit_core.studies.tradeoff import level_of
from ui import stylesheet, words

_SHADES = entries(__file__)["shades"]  # of policies, on light and on dark ground
GREY = "#8a949e"  # of what several lines share, on both grounds


@dataclass(frozen=True)
class Look:
    """How a promise is drawn: its colour, the marker of its lines, hue and saturation of policies without a shade."""

    colour: str
    marker: str = ""
    hue: tuple[float, float] = (0.0, 0.0)


# Colours stand out from both grounds (contrast 3); any two differ by more than 9 in CIE Lab for every kind of eyes.
LOOKS: dict[Model, Look] = {
    "none": Look("#6b7680", "line-ns-open", (0.58, 0.12)),
    "local": Look("#d55e00", "circle", (0.04, 0.75)),
    "shuffle": Look("#8a6542", "diamond", (0.09, 0.35)),
    "distributed": Look("#9925f4", "triangle-up", (0.77, 0.9)),
    "joint": Look("#3395cc", "square-open", (0.55, 0.6)),
    "central": Look("#0072b2", "square", (0.56, 0.75)),
    "instantaneous": Look("#7a6bd1"),
    "environment": Look("#009e73"),
}
TRUST_WORDS: dict[Privacy, str] = {key: PROMISES[key].short for key in KEPT}
TRUST_SIGNS: dict[Privacy, str] = {key: PROMISES[key].sign for key in KEPT}
TRUST_COLOURS: dict[Privacy, str] = {key: LOOKS[key].colour for key in KEPT}
MARKERS: dict[Privacy, str] = {key: LOOKS[key].marker for key in KEPT}


def dash(bound: Bound) -> str:
    """How a bound is drawn: solid or dashed where it holds at every t, dotted a slope, long dashes a shape."""
    return {"bound": "solid" if bound.side == "lower" else "dash", "slope": "dot", "shape": "longdash"}[bound.form]


def is_dark() -> bool:
    """Whether the visitor's browser shows the dark theme."""
    return st.context.theme.type == "dark"


def is_phone() -> bool:
    """Whether the visitor's browser calls itself a mobile one (the width of its window is not known here)."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue


def _mix(colour: str, other: str, share: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(_rgb(colour), _rgb(other), strict=True))


def policy_colour(policy: str, dark: bool = False) -> str:
    """The policy's shade on light or dark ground. Policies without one get it from their trust model and name."""
    return str(_SHADES[policy][dark]) if policy in _SHADES else _shade_of(policy, registry()[policy].privacy, dark)


def _shade_of(name: str, trust: Privacy, dark: bool) -> str:
    """A shade of the trust model's colour that depends on the name."""
    hue, saturation = LOOKS[trust].hue
    place = crc32(name.encode()) % 97 / 97
    red, green, blue = colorsys.hls_to_rgb((hue + 0.10 * (place - 0.5)) % 1, 0.30 + 0.3 * place, saturation)
    shade = f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
    return _mix(shade, "#ffffff", 0.35) if dark else shade


_PLAYED_BY = entries(__file__)["played_by"]  # policies whose shades mechanisms have


def mechanism_colour(mechanism: str, dark: bool = False) -> str:
    """The mechanism's shade: warm for what users answer, cool for a curator's counters."""
    if mechanism in _PLAYED_BY:
        return policy_colour(_PLAYED_BY[mechanism], dark)
    return _shade_of(mechanism, mechanisms()[mechanism].trust, dark)


def quiet(dark: bool = False) -> str:
    """Grey for what is only compared with."""
    return "#aab4be" if dark else "#5c6873"


def line_colours(experiment: Experiment, dark: bool = False) -> list[str]:
    """A colour per line: its level's where no other line has that level, else the policy's shade.

    The shade is spread from dark to light where several lines share a policy. Lines of Start keep their colours when a
    method is added, whose shade moves away from theirs.
    """
    levels = [level_of(experiment, number) for number in range(len(experiment.lines))]
    if len(levels) > 1 and len(set(levels)) == len(levels):
        return [TRUST_COLOURS[level] for level in levels]
    named = words.lines_of_start(experiment)
    to_black, to_white, far = (0.3, 0.75, "#ffffff") if dark else (0.65, 0.5, "#000000")  # never into the ground
    colours = []
    for number, line in enumerate(experiment.lines):
        family = [place for place, other in enumerate(experiment.lines) if other.policy == line.policy]
        colour = policy_colour(line.policy, dark)
        if len(family) > 1:
            spread = min(1.0, 0.2 * len(family) + 0.2)  # a few lines stay close to their policy's shade
            step = spread * (family.index(number) / (len(family) - 1) * (to_black + to_white) - to_black)
            colour = _mix(colour, "#ffffff" if step > 0 else "#000000", abs(step))
        if named:
            colour = TRUST_COLOURS[named[number]] if number in named else _mix(colour, far, 0.5)
        colours.append(colour)
    return colours


def ink(dark: bool) -> str:
    """The colour of words in a picture: softer than the page's, but with a contrast far above 4.5."""
    return stylesheet.INK[dark]


def contrast(one: str, other: str) -> float:
    """How far two colours differ in brightness, from 1 to 21, as the web's guidelines for accessibility measure it."""

    def brightness(colour: str) -> float:
        shares = (each / 255 for each in _rgb(colour))
        red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    bright, faint = sorted((brightness(one) + 0.05, brightness(other) + 0.05), reverse=True)
    return bright / faint


@cache
def as_text(colour: str, dark: bool) -> str:
    """The colour, moved away from the ground until words written in it can be read (contrast 4.5)."""
    ground, far = ("#11161c", "#ffffff") if dark else ("#ffffff", "#000000")
    steps = (_mix(colour, far, step / 20) for step in range(21))
    return next(shade for shade in steps if contrast(shade, ground) >= 4.6)


def readable_on(colour: str) -> str:
    """Black or white, whichever is easier to read on ``colour``."""
    red, green, blue = _rgb(colour)
    return "#11161c" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def transparent(colour: str, opacity: float) -> str:
    """The colour as rgba text."""
    return f"rgba({','.join(map(str, _rgb(colour)))},{opacity})"
