"""Small drawings: who sees what under each trust model."""

from __future__ import annotations

from bandit_core.policies.base import Privacy
from ui import theme

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


def _text(x: float, y: float, words: str, colour: str, size: int = 12) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle" font-size="{size}" fill="{colour}">{words}</text>'


def in_words(privacy: Privacy) -> str:
    """The drawing of `who_sees_what` for readers who cannot see it."""
    return f"{theme.TRUST_WORDS[privacy]}: " + "; ".join(f"{name} {sight}" for name, sight, _ in _STATIONS[privacy])


def who_sees_what(privacy: Privacy, dark: bool) -> str:
    """SVG: the way of a reward from its user to the public, with the place where noise is added."""
    ink, quiet = ("#e6ebf0", "#8b98a5") if dark else ("#1d2733", "#66727e")
    hue = theme.TRUST_COLOURS[privacy]
    boxes, width = [], 178
    for place, (name, sight, private) in enumerate(_STATIONS[privacy]):
        left = 4 + place * (width + 54)
        fill = theme.transparent(hue, 0.22) if private else "none"
        boxes.append(
            f'<rect x="{left}" y="26" width="{width}" height="50" rx="9" fill="{fill}" stroke="{hue}"/>'
            + _text(left + width / 2, 47, name, ink, 14)
            + _text(left + width / 2, 65, sight, quiet)
        )
        if place:
            start = left - 50
            noisy = private and not _STATIONS[privacy][place - 1][2]
            boxes.append(f'<path d="M{start} 51 h42 m-7 -5 l7 5 l-7 5" fill="none" stroke="{hue}" stroke-width="2"/>')
            boxes.append(_text(start + 20, 40, "+ noise" if noisy else "", hue))
    title = theme.TRUST_WORDS[privacy]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="650" height="82" viewBox="0 0 650 82" '
        'font-family="Source Sans, Segoe UI, Roboto, Helvetica, Arial, sans-serif">'
        f'<text x="4" y="15" font-size="13" fill="{hue}">{theme.TRUST_SIGNS[privacy]} {title}</text>'
        f"{''.join(boxes)}</svg>"
    )
