"""Small drawings: who sees what under each trust model, what each promise hides, and which promise implies which."""

from __future__ import annotations

from functools import partial

from bandit_core.model import Privacy
from bandit_core.model.bound import Model
from bandit_core.theory.definitions import DEFINITIONS, IMPLICATIONS, NOT_IMPLIED
from ui import theme

WIDTH = 260  # of `who_sees_what`, in pixels
_STATIONS: dict[Privacy, tuple[tuple[str, str, bool], ...]] = {
    # name, what is there, whether it is behind the privacy barrier (private) or not
    "none": (("user", "reward", False), ("learner", "sees every reward", False), ("public", "sees the choices", False)),
    "central": (
        ("user", "reward", False),
        ("trusted curator", "sees every reward", False),
        ("learner and public", "see noisy sums, choices", True),
    ),
    "local": (
        ("user", "reward", False),
        ("learner", "sees noisy answers", True),
        ("public", "sees the choices", True),
    ),
}


def _text(x: float, y: float, words: str, colour: str, size: int = 16) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" font-size="{size}" fill="{colour}">{words}</text>'


def in_words(privacy: Privacy) -> str:
    """The drawing of `who_sees_what` for readers who cannot see it."""
    return f"{theme.TRUST_WORDS[privacy]}: " + "; ".join(f"{name} {sight}" for name, sight, _ in _STATIONS[privacy])


def who_sees_what(privacy: Privacy, dark: bool) -> str:
    """SVG: the way of a reward from its user to the public, with the place where noise is added; fits a phone."""
    ink, quiet, _ = _inks(dark)
    hue = theme.as_text(theme.TRUST_COLOURS[privacy], dark)
    boxes, wide, high, way = [], 240, 56, 34
    for place, (name, sight, private) in enumerate(_STATIONS[privacy]):
        top, middle = 28 + place * (high + way), 2 + wide / 2
        fill = theme.transparent(hue, 0.22) if private else "none"
        boxes.append(
            f'<rect x="2" y="{top}" width="{wide}" height="{high}" rx="9" fill="{fill}" stroke="{hue}"/>'
            + _text(middle, top + 24, name, ink)
            + _text(middle, top + 44, sight, quiet, 14)
        )
        if place:
            noisy = private and not _STATIONS[privacy][place - 1][2]
            boxes.append(_arrow(middle, top - way + 3, middle, top - 3, hue, wide=2))
            boxes.append(_text(middle + 46, top - way / 2 + 5, "+ noise" if noisy else "", hue, 14))
    title = f'<text x="2" y="16" font-size="14" fill="{hue}">{theme.TRUST_SIGNS[privacy]} '
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="268" viewBox="0 0 {WIDTH} 268" {_FONT}>'
        f"{title}{theme.TRUST_WORDS[privacy]}</text>{''.join(boxes)}</svg>"
    )


_FONT = 'font-family="Source Sans, Segoe UI, Roboto, Helvetica, Arial, sans-serif"'
_COLUMNS = (90, 210, 330)  # of users 1 to 3 in `promise`
_BOXES: dict[Model, tuple[int, int]] = {  # corners in `implications`
    "local": (2, 40),
    "central": (177, 40),
    "instantaneous": (352, 40),
    "environment": (177, 164),
}
_WIDE, _HIGH = 116, 56


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
    hue = theme.MODEL_COLOURS[model]
    written = theme.as_text(hue, dark)
    seen = theme.transparent(hue, 0.30)
    local = model == "local"
    top, middle, low = 34, 112, 262
    answers = 186 if local else middle  # the row that the learner reads
    barrier = 149 if local else 216
    parts = []
    for place, x in enumerate(_COLUMNS):
        start = 210 + 10 * (place - 1)
        parts.append(_arrow(start, top + 15, x, middle - 19, quiet))
        if local:
            parts.append(_arrow(x, middle + 18, x, answers - 19, hue, wide=2))
        for later in range(place + 1, 3):
            to = _COLUMNS[later]
            parts.append(_arrow(x + 11, answers + 14, to - (9 if later == place + 1 else 15), low - 15, quiet))
        if place < 2:
            parts.append(_arrow(x + 18, low, _COLUMNS[place + 1] - 19, low, quiet))
    ends = (290, 372) if model == "instantaneous" else (30, 392)
    parts.append(
        f'<path d="M{ends[0]} {barrier} H{ends[1]}" stroke="{hue}" stroke-width="7" opacity="0.35" '
        'stroke-linecap="round"/>' + _text(ends[1] + 34, barrier + 4, "+ noise", written)
    )
    hidden_mean = model == "environment"
    parts.append(_node(210, top, "θ", "", ground, hue if hidden_mean else quiet, ink))
    for place, x in enumerate(_COLUMNS):
        parts.append(
            _node(x, middle, "x", str(place + 1), ground, hue if place == 1 and not hidden_mean else quiet, ink)
        )
        if local:
            parts.append(_node(x, answers, "z", str(place + 1), seen, hue, ink))
        watched = model != "instantaneous" or place == 2
        parts.append(_node(x, low, "a", str(place + 1), seen if watched else ground, hue if watched else quiet, ink))
    around, sign = ((210, top), "θ or θ′ ?") if hidden_mean else ((210, middle), "x or x′ ?")
    parts.append(
        f'<rect x="{around[0] - 25}" y="{around[1] - 25}" width="50" height="50" rx="9" fill="none" stroke="{hue}" '
        'stroke-width="1.8" stroke-dasharray="5 4"/>' + _text(around[0] + 64, around[1] - 12, sign, written)
    )
    rows = [(top, "means"), (middle, "rewards"), (low, "arms")] + ([(answers, "answers")] if local else [])
    parts += [f'<text x="2" y="{y + 5}" font-size="16" fill="{quiet}">{words}</text>' for y, words in rows]
    if model == "instantaneous":
        parts.append(_text(150, low + 32, "given", quiet))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="460" height="300" viewBox="0 0 460 300" {_FONT}>'
        f"{''.join(parts)}</svg>"
    )


def promise_in_words(model: Model) -> str:
    """The drawing of `promise` for readers who cannot see it."""
    chosen = DEFINITIONS[model]
    noisy = "become noisy answers z, which " if model == "local" else ""
    return (
        f"{chosen.title}: the means theta give the rewards x of three users; these {noisy}decide the later arms a. "
        f"Hidden: {chosen.neighbouring}. Trusted: {chosen.trusted}. Seen: {chosen.seen}."
    )


def implications(chosen: Model, dark: bool) -> str:
    """SVG: the four promises and what each implies; dashed where the budget grows with the number of users."""
    ink, quiet, _ = _inks(dark)
    parts = []
    for each in IMPLICATIONS:
        (x, y), (to_x, to_y) = _BOXES[each.source], _BOXES[each.target]
        colour = theme.MODEL_COLOURS[each.source]
        mark = "same ε" if each.mark == "ε" else each.mark
        arrow = partial(_arrow, colour=colour, dashed=not each.lasting, wide=2.2)
        if y != to_y:
            parts.append(arrow(x + _WIDE / 2, y + _HIGH + 2, to_x + _WIDE / 2, to_y - 3))
            parts.append(_text(x + _WIDE / 2 + 46, (y + _HIGH + to_y) / 2 + 4, mark, ink))
        elif to_x > x:
            parts.append(arrow(x + _WIDE + 2, y + 16, to_x - 3, y + 16))
            parts.append(_text((x + _WIDE + to_x) / 2, y + 6, mark, ink))
        else:
            parts.append(arrow(x - 2, y + 40, to_x + _WIDE + 3, y + 40))
            parts.append(_text((to_x + _WIDE + x) / 2, y + 75, mark, ink))
    for name, (x, y) in _BOXES.items():
        hue = theme.MODEL_COLOURS[name]
        fill = theme.transparent(hue, 0.30 if name == chosen else 0.06)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="10" fill="{fill}" stroke="{hue}" '
            f'stroke-width="{2.6 if name == chosen else 1.4}"/>'
        )
        first, _, second = DEFINITIONS[name].title.partition(" ")
        parts.append(_text(x + _WIDE / 2, y + 24, first, ink) + _text(x + _WIDE / 2, y + 42, second, ink))
    for x, words in ((46, "strongest"), (396, "weakest of these")):
        parts.append(_text(x, 20, words, quiet))
    parts.append(f'<path d="M112 16 H330" stroke="{quiet}" stroke-width="1" stroke-dasharray="1 4"/>')
    legend = ("→ implies, for any number of users", "⇢ implies, with a budget that grows with T")
    for row, words in enumerate(legend):
        parts.append(f'<text x="2" y="{246 + 21 * row}" font-size="16" fill="{quiet}">{words}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="470" height="276" viewBox="0 0 470 276" {_FONT}>'
        f"{''.join(parts)}</svg>"
    )


def implications_in_words() -> str:
    """The drawing of `implications` for readers who cannot see it."""
    arrows = (
        f"{DEFINITIONS[each.source].title} implies {DEFINITIONS[each.target].title} with {each.mark}"
        for each in IMPLICATIONS
    )
    missing = (
        f"{DEFINITIONS[first].title} does not imply {DEFINITIONS[second].title}" for first, second, _ in NOT_IMPLIED
    )
    return "Map of the promises: " + "; ".join((*arrows, *missing)) + "."
