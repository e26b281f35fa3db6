"""Small drawings: who sees what, why a curator adds less noise, what each promise hides, and what implies what."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap

import numpy as np

from bandit_core.model import KEPT, PROMISES, Model, Party, Privacy
from bandit_core.theory.definitions import DEFINITIONS, IMPLICATIONS, NOT_IMPLIED
from ui import theme

# Of `who_sees_what` and `noises`, in pixels: two, or one, fit on a phone; ui/assets/app.css keeps their room.
WIDTH, HEIGHT, COST, NOISE_WIDTH, NOISE_HEIGHT = 152, 262, 40, 352, 164
# The privacy levels, least trust first: where users have no features, and where they do.
LEVELS: tuple[Privacy, ...] = (*(key for key in KEPT[1:] if key != "joint"), KEPT[0])
WITH_FEATURES: tuple[Privacy, ...] = ("local", "distributed", "joint", "none")
_SEEN_OF_FEATURES = {  # what parties see where users have features; their choices stay with them
    "reward": "features and reward",
    "sees every reward": "sees features and rewards",
    "sees the choices": "sees the estimate",
    "see noisy sums, choices": "see noisy sums",
}
USERS, TIMES, STEP = 100, 24, 2  # of `noises`: users who answer, how often all are asked, width of a column of dots


def _text(x: float, y: float, words: str, colour: str, size: int = 16, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{words}</text>'


def _box(x: float, y: float, wide: float, high: float, fill: str, edge: str, more: str = "") -> str:
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="9" fill="{fill}" stroke="{edge}" {more}/>'


def _sees(party: Party, features: bool) -> str:
    return _SEEN_OF_FEATURES.get(party.sees, party.sees) if features else party.sees


def in_words(privacy: Privacy, features: bool = False) -> str:
    """The drawing of `who_sees_what` for readers who cannot see it."""
    promise = PROMISES[privacy]
    return f"{promise.short}: " + "; ".join(f"{party.name} {_sees(party, features)}" for party in promise.parties)


def who_sees_what(privacy: Privacy, dark: bool, features: bool = False, cost: tuple[float, str] | None = None) -> str:
    """SVG: the way of a reward from its user to the public, with the place where noise is added.

    Below it a bar for the ``cost``: its share of the width, and its words.
    """
    ink, quiet, _ = _inks(dark)
    shown, hue = PROMISES[privacy], theme.as_text(theme.LOOKS[privacy].colour, dark)
    who = shown.who.removesuffix(" with features")  # which has no room, and stands around the drawing
    head = [f"{shown.sign} {who}", f"({shown.name})" if shown.key != "none" else ""]
    parts, high, way = [_text(WIDTH / 2, 14 + 16 * row, words, hue, 13) for row, words in enumerate(head)], 54, 28
    for place, party in enumerate(shown.parties):
        top = 42 + place * (high + way)
        parts.append(_box(1, top, WIDTH - 2, high, theme.transparent(hue, 0.22) if party.private else "none", hue))
        rows = [(party.name, ink, 14), *((row, quiet, 12) for row in wrap(_sees(party, features), 24))]
        first = top + high / 2 + 5 - 8 * (len(rows) - 1)
        parts += [_text(WIDTH / 2, first + 16 * row, *each) for row, each in enumerate(rows)]
        if place:
            middle = WIDTH / 2 if not party.on_the_way else 40
            parts.append(_arrow(middle, top - way + 3, middle, top - 3, hue, wide=2))
            parts.append(_text(100, top - way / 2 + 5, party.on_the_way, hue, 13))
    if cost is not None:
        parts.append(f'<rect x="1" y="{HEIGHT + 6}" width="{cost[0] * (WIDTH - 2):.1f}" height="14" fill="{hue}"/>')
        parts.append(_text(1, HEIGHT + 36, cost[1], ink, 14, "start"))
    return _svg(WIDTH, HEIGHT + COST * (cost is not None), parts)


def sums() -> tuple[float, np.ndarray, np.ndarray]:
    """What `noises` draws: the true sum, and the sums of `TIMES` polls with a noise for each answer, and with one."""
    draws = np.random.default_rng(8).laplace(size=(TIMES, USERS + 1))
    return USERS / 2, USERS / 2 + draws[:, 1:].sum(axis=1), USERS / 2 + draws[:, 0]


def noises(dark: bool) -> str:
    """SVG: the sum of 100 answers, many times, with Laplace noise of ε = 1 on each answer, and on the sum alone."""
    ink, quiet, _ = _inks(dark)
    true, many, one = sums()
    scale = NOISE_WIDTH / USERS
    parts = [f'<path d="M{true * scale} 22 V142" stroke="{quiet}" stroke-dasharray="4 4"/>']
    rows: tuple[tuple[Model, np.ndarray, int, str], ...] = (
        ("local", many, 54, f"{USERS} noises, one for each answer"),
        ("central", one, 142, "1 noise for the sum"),
    )
    for level, values, floor, words in rows:
        hue, stacks = theme.LOOKS[level].colour, Counter(np.floor(values / STEP).tolist())
        parts += [
            f'<circle cx="{scale * STEP * (column + 0.5):.1f}" cy="{floor - 5 - 7 * row}" r="3.4" fill="{hue}"/>'
            for column, height in stacks.items()
            for row in range(height)
        ]
        parts.append(f'<path d="M0 {floor} H{NOISE_WIDTH}" stroke="{quiet}"/>')
        parts.append(_text(0, floor - 38, words, theme.as_text(hue, dark), 14, "start"))
    parts += [_text(scale * tick, 159, str(tick), ink, 13) for tick in (25, 50, 75)]
    return _svg(NOISE_WIDTH, NOISE_HEIGHT, parts)


def noises_in_words() -> str:
    """The drawing of `noises` for readers who cannot see it."""
    true, many, one = sums()
    far, near = (np.abs(values - true).max() for values in (many, one))
    return (
        f"{TIMES} polls of {USERS} users whose true sum is {true:g}. With a noise for each answer the sums are up to "
        f"{far:.0f} away; with one noise for the sum, up to {near:.0f}."
    )


_FONT = 'font-family="Source Sans, Segoe UI, Roboto, Helvetica, Arial, sans-serif"'
_COLUMNS = (90, 210, 330)  # of users 1 to 3 in `promise`
_BOXES: dict[Model, tuple[int, int]] = {  # corners in `implications`
    "local": (2, 24),
    "shuffle": (165, 24),
    "distributed": (328, 24),
    "joint": (2, 124),
    "central": (328, 124),
    "instantaneous": (165, 124),
    "environment": (328, 224),
}
_WIDE, _HIGH = 116, 56
_POOLED: dict[Model, str] = {"shuffle": "z₂, z₃, z₁ in random order", "distributed": "z₁ + z₂ + z₃"}  # of a batch


def _svg(width: int, height: int, parts: list[str]) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT}>{"".join(parts)}</svg>'


def _inks(dark: bool) -> tuple[str, str, str]:
    """Ink, quiet ink, ground."""
    return ("#e6ebf0", "#98a4b0", "#10161c") if dark else ("#1d2733", "#5c6873", "#ffffff")


def _arrow(x: float, y: float, to_x: float, to_y: float, colour: str, dashed: bool = False, wide: float = 1.5) -> str:
    length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
    along, aside = ((to_x - x) / length, (to_y - y) / length), ((y - to_y) / length, (to_x - x) / length)
    back = (to_x - 8 * along[0], to_y - 8 * along[1])
    head = " ".join(f"{back[0] + side * 4 * aside[0]:.1f},{back[1] + side * 4 * aside[1]:.1f}" for side in (1, -1))
    stroke = f'stroke="{colour}" stroke-width="{wide}"' + (' stroke-dasharray="5 4"' if dashed else "")
    line = f'<path d="M{x:.1f} {y:.1f} L{back[0]:.1f} {back[1]:.1f}" {stroke} fill="none"/>'
    return f'{line}<polygon points="{to_x:.1f},{to_y:.1f} {head}" fill="{colour}"/>'


def _node(x: float, y: float, name: str, index: str, fill: str, edge: str, ink: str) -> str:
    sign = f'{name}<tspan font-size="16" dy="5">{index}</tspan>' if index else name
    circle = f'<circle cx="{x}" cy="{y}" r="17" fill="{fill}" stroke="{edge}" stroke-width="1.6"/>'
    return circle + _text(x, y + 5, sign, ink)


def promise(model: Model, dark: bool) -> str:
    """SVG: the graphical model of three users, with what is hidden (dashed), what is seen (filled) and the noise."""
    ink, quiet, ground = _inks(dark)
    hue = theme.LOOKS[model].colour
    written, seen = theme.as_text(hue, dark), theme.transparent(hue, 0.30)
    local, pooled = model == "local", _POOLED.get(model)
    mean, top, middle, low, parts = model == "environment", 34, 112, 262, []
    answers, barrier = (186, 149) if local or pooled else (middle, 216)  # answers: the row that the learner reads
    for place, x in enumerate(_COLUMNS):
        parts.append(_arrow(210 + 10 * (place - 1), top + 15, x, middle - 19, quiet))
        if local or pooled:
            parts.append(_arrow(x, middle + 18, x, answers - 19, hue, wide=2))
        if pooled:
            parts.append(_arrow(x, answers + 20, x, low - 19, quiet))
            continue
        for later, to in enumerate(_COLUMNS[place + 1 :]):
            parts.append(_arrow(x + 11, answers + 14, to - (15 if later else 9), low - 15, quiet))
        if place < 2:
            parts.append(_arrow(x + 18, low, _COLUMNS[place + 1] - 19, low, quiet))
    start, end = (290, 372) if model == "instantaneous" else (30, 392)
    line = f'stroke="{hue}" stroke-width="7" opacity="0.35" stroke-linecap="round"'
    parts += [f'<path d="M{start} {barrier} H{end}" {line}/>', _text(end + 34, barrier + 4, "+ noise", written)]
    parts.append(_node(210, top, "θ", "", ground, hue if mean else quiet, ink))
    for place, x in enumerate(_COLUMNS):
        edge = hue if place == 1 and not mean else quiet
        parts.append(_node(x, middle, "x", str(place + 1), ground, edge, ink))
        if local:
            parts.append(_node(x, answers, "z", str(place + 1), seen, hue, ink))
        look = (seen, hue) if model != "instantaneous" or place == 2 else (ground, quiet)
        parts.append(_node(x, low, "a", str(place + (4 if pooled else 1)), *look, ink))  # of a batch: the next arms
    y, sign = (top, "θ or θ′ ?") if mean else (middle, "x or x′ ?")
    parts.append(_box(185, y - 25, 50, 50, "none", hue, 'stroke-width="1.8" stroke-dasharray="5 4"'))
    parts.append(_text(274, y - 12, sign, written))
    if pooled:
        parts += [_box(64, answers - 18, 292, 36, seen, hue), _text(210, answers + 5, pooled, ink)]
    rows = [(top, "means"), (middle, "rewards"), (low, "arms")]
    rows += [(answers, "answers")] if local else [(answers, "batch")] if pooled else []
    parts += [_text(2, y + 5, words, quiet, anchor="start") for y, words in rows]
    if model == "instantaneous":
        parts.append(_text(150, low + 32, "given", quiet))
    return _svg(460, 300, parts)


def promise_in_words(model: Model) -> str:
    """The drawing of `promise` for readers who cannot see it."""
    chosen = DEFINITIONS[model]
    noisy = "become noisy answers z, which " if model == "local" else ""
    if model in _POOLED:
        noisy = f"become answers z with little noise, of which the learner sees {_POOLED[model]}, which "
    return (
        f"{chosen.title}: the means theta give the rewards x of three users; these {noisy}decide the later arms a. "
        f"Hidden: {chosen.neighbouring}. Trusted: {chosen.trusted}. Seen: {chosen.seen}."
    )


def implications(chosen: Model, dark: bool) -> str:
    """SVG: the promises and what each implies; dashed where the budget grows with the number of users."""
    ink, quiet, _ = _inks(dark)
    parts = []
    for each in IMPLICATIONS:
        (x, y), (to_x, to_y) = _BOXES[each.source], _BOXES[each.target]
        if y != to_y:
            ends, at = (
                (x + _WIDE / 2, y + _HIGH + 2, to_x + _WIDE / 2, to_y - 3),
                (x + _WIDE / 2 + 44, (y + to_y) / 2 + 34),
            )
        elif to_x > x:
            ends, at = (x + _WIDE + 2, y + 16, to_x - 3, y + 16), ((x + _WIDE + to_x) / 2, y - 6)
        else:
            ends, at = (x - 2, y + 40, to_x + _WIDE + 3, y + 40), ((to_x + _WIDE + x) / 2, y + 75)
        parts.append(_arrow(*ends, theme.LOOKS[each.source].colour, not each.lasting, 2.2))
        parts.append(_text(*at, "same ε" if each.mark == "ε" else each.mark, ink))
    for name, (x, y) in _BOXES.items():
        hue, bold = theme.LOOKS[name].colour, name == chosen
        fill = theme.transparent(hue, 0.30 if bold else 0.06)
        parts.append(_box(x, y, _WIDE, _HIGH, fill, hue, f'stroke-width="{2.6 if bold else 1.4}"'))
        first, _, second = DEFINITIONS[name].title.partition(" ")
        parts += [_text(x + _WIDE / 2, y + 24, first, ink), _text(x + _WIDE / 2, y + 42, second, ink)]
    legend = ("→ implies, for any number of users", "⇢ implies, at a budget that grows")
    parts += [_text(2, 251 + 21 * row, words, quiet, anchor="start") for row, words in enumerate(legend)]
    return _svg(470, 284, parts)


def implications_in_words() -> str:
    """The drawing of `implications` for readers who cannot see it."""
    titles = {model: definition.title for model, definition in DEFINITIONS.items()}
    arrows = (f"{titles[each.source]} implies {titles[each.target]} with {each.mark}" for each in IMPLICATIONS)
    missing = (f"{titles[first]} does not imply {titles[second]}" for first, second, _ in NOT_IMPLIED)
    return "Map of the promises: " + "; ".join((*arrows, *missing)) + "."
