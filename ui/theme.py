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
from bandit_core.studies.trust_steps import level_of
from ui import stylesheet

# On light and on dark ground. Found by a search for colours that stand out from their ground (contrast 3) and of which
# any two differ by more than 9 in CIE Lab, also for eyes without red or green cones, and by more than 7 without blue
# ones where they can share a picture; two of one trust model that a preset shows together by 29 (without privacy by
# 20), and by 15 without red or green cones. Quiet for no privacy, warm for local and cool for central DP.
_SHADES = {
    "ucb": ("#6c757c", "#889598"),
    "kl-ucb": ("#210f00", "#c0c9d9"),
    "thompson": ("#7c6d46", "#bea573"),
    "normal-ts": ("#7d9b82", "#7d8255"),
    "robust-ucb": ("#1c303c", "#e9fff7"),
    "heldp-ucb-b": ("#d85800", "#f6a248"),
    "heldp-ucb-l": ("#a1077f", "#ee0079"),
    "heldp-ucb-bw": ("#85844a", "#bc0095"),
    "heldp-ucb-lw": ("#bb3e95", "#d39c50"),
    "heldp-ucb-bs": ("#c43b00", "#f8c810"),
    "heldp-ucb-ls": ("#5d0403", "#d03818"),
    "ucb-cf": ("#cf7d40", "#efb270"),
    "kl-ucb-cf": ("#d16068", "#d27d78"),
    "normal-ts-l": ("#c83868", "#936f8a"),
    "ts-cf": ("#7c3017", "#e5563a"),
    "ldp-robust-se": ("#a02000", "#ac8a49"),
    "private-ucb": ("#394872", "#196b96"),
    "dp-ucb-bound": ("#8c83fc", "#0092ff"),
    "dp-ucb": ("#0f74c8", "#6a5cbd"),
    "dp-ucb-int": ("#2030f8", "#6058f8"),
    "dp-se": ("#0000a0", "#56ff98"),
    "adap-ucb": ("#185a3a", "#4ac495"),
    "adap-klucb": ("#2783a1", "#546f4b"),
    "adac-ucb": ("#42485a", "#acadbc"),
    "normal-ts-c": ("#04046c", "#d5dbdb"),
    "gaussian-ts": ("#6f9893", "#ccfc4e"),
    "lazy-dp-ts": ("#302850", "#9df8fc"),
    "anytime-lazy-ucb": ("#0018c0", "#09a8be"),
    "dp-klucb": ("#1050c8", "#25b9e1"),
    "dp-imed": ("#778de9", "#9ae5b1"),
    "dp-robust-ucb": ("#082888", "#1ce78f"),
    "dp-robust-se": ("#1060f8", "#0c92c9"),
    "explore-then-commit": ("#040018", "#f4f8c0"),
    "explore-then-commit-local": ("#783ca0", "#fcd86c"),
    "explore-then-commit-central": ("#040848", "#8ca4fc"),
    "se": ("#2e5348", "#456a6f"),
    "ldp-se": ("#540024", "#7f40d0"),
    "shuffle-se": ("#88652f", "#b9343e"),
    "dist-dp-se": ("#a284d2", "#bc59ec"),
    "dist-rdp-se": ("#7306ab", "#6837fd"),
    "top-two": ("#3c3921", "#a0d0b4"),
    "ctb-tt": ("#500f69", "#e16e1e"),
    "adap-tt": ("#7864eb", "#73dcff"),
    "linucb": ("#736261", "#556a5f"),
    "greedy-ols": ("#080408", "#e5e7d5"),
    "dist-linucb": ("#000087", "#ff6ade"),
    "jdp-linucb": ("#0f3ee1", "#c5ff87"),
    "jdp-greedy": ("#111c34", "#2d8aaf"),
    "ldp-ols": ("#db765d", "#e6960a"),
    "ldp-sgd": ("#911636", "#e32aa8"),
    "ldp-linucb": ("#cc2a2b", "#b33d25"),
    "ldp-gloc": ("#c66cb4", "#ffffb3"),
}
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
    return _SHADES[policy][dark] if policy in _SHADES else _shade_of(policy, registry()[policy].privacy, dark)


def _shade_of(name: str, trust: Privacy, dark: bool) -> str:
    """A shade of the trust model's colour that depends on the name."""
    hue, saturation = LOOKS[trust].hue
    place = crc32(name.encode()) % 97 / 97
    red, green, blue = colorsys.hls_to_rgb((hue + 0.10 * (place - 0.5)) % 1, 0.30 + 0.3 * place, saturation)
    shade = f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
    return _mix(shade, "#ffffff", 0.35) if dark else shade


# A mechanism has the shade of a policy that plays on it.
_PLAYED_BY = {
    "ctl": "heldp-ucb-l",
    "ctb": "heldp-ucb-b",
    "ctl-s": "heldp-ucb-ls",
    "ctb-s": "heldp-ucb-bs",
    "gaussian": "kl-ucb-cf",
    "l2-ball": "ldp-sgd",
    "shuffled-bits": "shuffle-se",
    "polya-sum": "dist-dp-se",
    "skellam-sum": "dist-rdp-se",
    "binary": "private-ucb",
    "hybrid": "dp-ucb-bound",
    "k-ary": "dp-ucb",
    "square-root": "dp-se",
}


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

    The shade is spread from dark to light where several lines share a policy.
    """
    levels = [level_of(experiment, number) for number in range(len(experiment.lines))]
    if len(levels) > 1 and len(set(levels)) == len(levels):
        return [TRUST_COLOURS[level] for level in levels]
    to_black, to_white = (0.3, 0.75) if dark else (0.65, 0.5)  # never into the ground
    colours = []
    for number, line in enumerate(experiment.lines):
        family = [place for place, other in enumerate(experiment.lines) if other.policy == line.policy]
        colour = policy_colour(line.policy, dark)
        if len(family) > 1:
            spread = min(1.0, 0.2 * len(family) + 0.2)  # a few lines stay close to their policy's shade
            step = spread * (family.index(number) / (len(family) - 1) * (to_black + to_white) - to_black)
            colour = _mix(colour, "#ffffff" if step > 0 else "#000000", abs(step))
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
