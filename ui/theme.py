"""Colours, markers and dashes: one shade per policy everywhere, warm where nobody is trusted, cool where a curator
is, grey without privacy. The shades differ in lightness as well as hue, so that they survive colour blindness."""

from __future__ import annotations

import colorsys
from zlib import crc32

import streamlit as st

from bandit_core import Experiment
from bandit_core.policies import registry
from bandit_core.policies.base import Privacy

# On light and on dark ground. Found by a search for colours of which any two differ by more than 11 in CIE Lab, also
# for eyes without red or green cones, with grey for no privacy, warm for local and cool for central DP.
_SHADES = {
    "ucb": ("#687880", "#a0a8b0"),
    "kl-ucb": ("#485058", "#c0c8d8"),
    "thompson": ("#90a0a8", "#687078"),
    "robust-ucb": ("#203038", "#e0e8f0"),
    "heldp-ucb-b": ("#d85800", "#f08838"),
    "heldp-ucb-l": ("#a00880", "#d81878"),
    "heldp-ucb-bs": ("#f87808", "#f8c810"),
    "heldp-ucb-ls": ("#600808", "#d03818"),
    "ucb-cf": ("#e88050", "#f0b878"),
    "kl-ucb-cf": ("#d06068", "#c87068"),
    "ts-cf": ("#b86040", "#e08858"),
    "ldp-robust-se": ("#a02000", "#d03840"),
    "private-ucb": ("#2068a0", "#0878a8"),
    "dp-ucb-bound": ("#58a0e8", "#60a0f8"),
    "dp-ucb": ("#0070c8", "#2080d0"),
    "dp-ucb-int": ("#2030f8", "#6058f8"),
    "dp-se": ("#10a880", "#00b888"),
    "adap-ucb": ("#185838", "#108048"),
    "adap-klucb": ("#4090b0", "#4088a0"),
    "lazy-dp-ts": ("#302850", "#88d0b8"),
    "anytime-lazy-ucb": ("#0018c0", "#00d8f8"),
    "dp-klucb": ("#1050c8", "#40b0d0"),
    "dp-imed": ("#4888f8", "#98e8b8"),
    "dp-robust-ucb": ("#082888", "#18f898"),
    "dp-robust-se": ("#1060f8", "#0898d0"),
    "linucb": ("#6c6060", "#505a5a"),
    "greedy-ols": ("#080408", "#f0f0dc"),
    "ldp-ols": ("#fa823c", "#e6960a"),
    "ldp-sgd": ("#8c1432", "#b4005a"),
    "ldp-linucb": ("#c82828", "#aa2814"),
    "ldp-gloc": ("#dc8c8c", "#fafab4"),
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


def is_phone() -> bool:
    """Whether the visitor's browser calls itself a mobile one (the width of its window is not known here)."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def _mix(colour: str, other: str, share: float) -> str:
    first, second = (tuple(int(text[place : place + 2], 16) for place in (1, 3, 5)) for text in (colour, other))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(first, second, strict=True))


def policy_colour(policy: str, dark: bool = False) -> str:
    """The policy's shade on light or dark ground. Policies without one get it from their trust model and name."""
    if policy in _SHADES:
        return _SHADES[policy][dark]
    hue, saturation = _HUES[registry()[policy].privacy]
    place = crc32(policy.encode()) % 97 / 97
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
    "binary": "private-ucb",
    "logarithmic": "adap-ucb",
    "hybrid": "dp-ucb-bound",
    "adaptive-tree": "dp-robust-ucb",
}


def mechanism_colour(mechanism: str, dark: bool = False) -> str:
    """The mechanism's shade: warm for what users answer, cool for a curator's counters."""
    return policy_colour(_PLAYED_BY[mechanism], dark) if mechanism in _PLAYED_BY else TRUST_COLOURS["local"]


def quiet(dark: bool = False) -> str:
    """Grey for what is only compared with."""
    return "#aab4be" if dark else "#5c6873"


def line_colours(experiment: Experiment, dark: bool = False) -> list[str]:
    """A colour per line: the policy's shade, spread from dark to light where several lines share a policy."""
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


def readable_on(colour: str) -> str:
    """Black or white, whichever is easier to read on ``colour``."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#11161c" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def transparent(colour: str, opacity: float) -> str:
    """The colour as rgba text."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
