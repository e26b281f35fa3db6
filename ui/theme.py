"""Colours, markers and dashes: one shade per policy everywhere, warm where nobody is trusted, cool where a curator
is, grey without privacy. The shades differ in lightness as well as hue, so that they survive colour blindness."""

from __future__ import annotations

import colorsys
from zlib import crc32

import streamlit as st

from bandit_core import Experiment
from bandit_core.policies import registry
from bandit_core.policies.base import Privacy

_SHADES = {
    "ucb": "#6b7680",
    "kl-ucb": "#3f4a54",
    "thompson": "#98a3ad",
    "heldp-ucb-b": "#d55e00",
    "heldp-ucb-l": "#a8324a",
    "heldp-ucb-bs": "#b07d12",
    "heldp-ucb-ls": "#7a3b69",
    "ucb-cf": "#e69f00",
    "kl-ucb-cf": "#c2477f",
    "ts-cf": "#8c4a1f",
    "dp-ucb-int": "#0072b2",
    "dp-ucb": "#56b4e9",
    "dp-ucb-bound": "#009e73",
    "private-ucb": "#7f78c9",
    "dp-se": "#1b4f72",
    "adap-ucb": "#3f8f8b",
    "adap-klucb": "#005f56",
    "lazy-dp-ts": "#8fb8de",
    "anytime-lazy-ucb": "#4a5fb5",
    "dp-klucb": "#00838f",
    "dp-imed": "#33205f",
}
_HUES: dict[Privacy, tuple[float, float]] = {"none": (0.58, 0.12), "local": (0.04, 0.75), "central": (0.56, 0.75)}
TRUST_WORDS: dict[Privacy, str] = {
    "none": "no privacy",
    "central": "a curator is trusted (central DP)",
    "local": "nobody is trusted (local DP)",
}
MARKERS: dict[Privacy, str] = {"local": "circle", "central": "square", "none": "line-ns-open"}
TRUST_COLOURS: dict[Privacy, str] = {"none": "#6b7680", "central": "#0072b2", "local": "#d55e00"}
TRUST_SIGNS: dict[Privacy, str] = {"local": "●", "central": "■", "none": "–"}
DASHES = {"proved": "dash", "derived": "dot", "asymptotic": "dot", "order-only": "longdash"}


def is_dark() -> bool:
    """Whether the visitor's browser shows the dark theme."""
    return st.context.theme.type == "dark"


def _mix(colour: str, other: str, share: float) -> str:
    first, second = (tuple(int(text[place : place + 2], 16) for place in (1, 3, 5)) for text in (colour, other))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, second, strict=True))


def policy_colour(policy: str, dark: bool = False) -> str:
    """The policy's shade; lighter on dark ground. Unknown policies get one from their trust model and name."""
    shade = _SHADES.get(policy)
    if shade is None:
        hue, saturation = _HUES[registry()[policy].privacy]
        place = crc32(policy.encode()) % 97 / 97
        red, green, blue = colorsys.hls_to_rgb((hue + 0.10 * (place - 0.5)) % 1, 0.30 + 0.3 * place, saturation)
        shade = f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
    return _mix(shade, "#ffffff", 0.35) if dark else shade


def line_colours(experiment: Experiment, dark: bool = False) -> list[str]:
    """A colour per line: the policy's shade, spread from dark to light where several lines share a policy."""
    colours = []
    for number, line in enumerate(experiment.lines):
        family = [place for place, other in enumerate(experiment.lines) if other.policy == line.policy]
        colour = policy_colour(line.policy, dark)
        if len(family) > 1:
            step = family.index(number) / (len(family) - 1) * 1.2 - 0.6
            colour = _mix(colour, "#ffffff" if step > 0 else "#000000", abs(step))
        colours.append(colour)
    return colours


def transparent(colour: str, opacity: float) -> str:
    """The colour as rgba text."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
