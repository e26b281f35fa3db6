"""Limits of one user's reward, chosen for uploaded amounts: what they cut, and whether that changes the best option."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core.data.observations import Observations, Option, best_of, cut_misleads, harmless_limits
from bandit_core.spec.number_text import percent
from ui import charts, figures, theme, uploads, words
from ui.your_numbers.question import control, text

BINS = 60  # of the picture
SHOWN = 8  # options in the picture
OWN_LIMITS = "others, known beforehand"
NEAR = "without those far from all others"
SHARES = {1.0: "all rewards", 0.99: "99% of each option's", 0.95: "95% of each option's"}


def _outside(options: Sequence[Option], limits: tuple[float, float]) -> tuple[int, int]:
    """Number of rewards beyond the limits, and of all."""
    return sum(option.outside(*limits) for option in options), sum(option.count for option in options)


def cut_words(options: Sequence[Option], limits: tuple[float, float], typed: bool = False) -> str:
    """What the limits cut and how far that moves the means, in plain words; nothing where nothing is cut."""
    clipped = [option.clipped(*limits).mean for option in options]  # refuses limits that are none
    outside, count = _outside(options, limits)
    if not outside:
        return ""
    moved, mean = max(zip(options, clipped, strict=True), key=lambda pair: abs(pair[1] - pair[0].mean))
    before, after = words.number(moved.mean), words.number(mean)
    share = percent(outside / count)
    beyond = f"{share} of the users lie" if typed else f"{outside:,} of {count:,} ({share}) lie"
    ends = {"low": words.number(limits[0], 6), "high": words.number(limits[1], 6)}
    return text("cut", **ends, beyond=beyond, option=moved.name, before=before, after=after)


def fold(options: Sequence[Option], limits: tuple[float, float], own: bool) -> None:
    """What the limits cut, in words and drawn; whether the options are someone's ``own`` file, or typed."""
    if cut := cut_words(options, limits, not own):
        st.caption(words.plain(cut))
    with st.expander("Picture of the amounts and their limits"):
        how = tuple((option.name, option.values.tobytes(), option.counts.tobytes()) for option in options), limits
        alt = f"How often each amount occurs. {cut or 'The limits cut nothing.'}"
        figures.draw("amounts-chart", how, partial(picture, options, limits), lambda: alt)
        st.caption("Dashed: the limits. With privacy, what lies in the shaded part is cut to them.")


def picture(options: Sequence[Option], limits: tuple[float, float], dark: bool) -> go.Figure:
    """Share of the users with an amount in each of `BINS` equal parts of the range, an outline for each option."""
    ends = [min(limits[0], *(option.low for option in options)), max(limits[1], *(option.high for option in options))]
    edges, quiet, curves = np.linspace(ends[0], ends[1], BINS + 1), theme.quiet(dark), []
    look = {"mode": "lines+markers", "line": {"shape": "hvh", "width": 2}, "marker": {"size": 4}}
    for option in options[:SHOWN]:
        share = 100 * np.histogram(option.values, edges, weights=option.counts)[0] / option.count
        x, y, name = (edges[1:] + edges[:-1]) / 2, np.where(share > 0, share, np.nan), charts.escape(option.name)
        curves.append(charts.Curve(x, y, name, hover="near %{x:,.3~g}: %{y:.2~g}%", more=look))
    amounts, marks = {"title": "amount of one user"}, [charts.Mark(each, colour=quiet) for each in limits]
    people = charts.log_axis("% of users")
    figure = charts.draw(curves, amounts | charts.AMOUNTS, people, 340, dark, marks, closest=True)
    for limit, end in zip(limits, ends, strict=True):
        if limit != end:
            figure.add_vrect(x0=min(limit, end), x1=max(limit, end), fillcolor=quiet, opacity=0.18)
    return figure


def _choices(seen: Observations) -> dict[str, tuple[tuple[float, float], str]]:
    """Limits to choose from, narrower ones only where they differ, and what each of them costs."""
    found = {(0.0, 1.0): "the rewards are shares"} if seen.inside_unit else {}
    offered = [(seen.holding(share), name) for share, name in SHARES.items()]
    offered[1:1] = [(seen.near, NEAR)] if seen.far else []
    for (low, high), name in offered:
        if low < high:
            found.setdefault((low, high), name)
    narrowest = min((high - low for low, high in found), default=1.0)
    return {
        f"{words.number(low, 6)} to {words.number(high, 6)}: {name}": ((low, high), _cost(seen, (low, high), narrowest))
        for (low, high), name in found.items()
    }


def _cost(seen: Observations, limits: tuple[float, float], narrowest: float) -> str:
    """What limits cut, how far that moves a mean, and how much more noise they need than the narrowest ones."""
    outside, count = _outside(seen.options, limits)
    shift = words.number(max(abs(option.clipped(*limits).mean - option.mean) for option in seen.options))
    cuts = f"cuts {outside:,} of {count:,} rewards ({percent(outside / count)}); means move by up to {shift}"
    said, more = [cuts if outside else "cuts nothing"], (limits[1] - limits[0]) / narrowest
    if cut_misleads(seen.options, limits):
        said.append("another option looks best then")
    if more > 1.005:
        said.append(f"needs {words.number(more)} times the noise of the narrowest limits")
    return words.plain("; ".join(said))


def chosen(seen: Observations, slot: str) -> tuple[float, float] | None:
    """The limits of a reward, once the visitor chose them; rewards beyond are cut."""
    low, high = seen.limits
    choices = uploads.kept("own-choices", (slot, seen.used), lambda: _choices(seen))
    st.markdown(words.plain(text("why limits", low=words.number(low, 6), high=words.number(high, 6))))
    key = f"{slot}-limits"
    if seen.far:
        _tell_far(seen)
    captions = [*(message for _, message in choices.values()), "what you know of a reward before any data"]
    names, first = [*choices, OWN_LIMITS], 0 if seen.inside_unit else None
    named = st.radio(**control("box limits"), options=names, index=first, captions=captions, key=key)
    st.caption(text("limits before data"))
    if named != OWN_LIMITS:
        limits = choices[named][0] if named else None
    else:
        left, right = st.columns(2)
        empty: dict[str, Any] = {"value": None, "format": "%g"}
        least = left.number_input(**control("box low"), **empty, key=f"{slot}-low")
        most = right.number_input(**control("box high"), **empty, key=f"{slot}-high")
        limits = None if least is None or most is None else (float(least), float(most))
    if limits is not None and limits[0] < limits[1]:
        _tell_misled(seen, limits, slot)
    return limits


def _tell_misled(seen: Observations, limits: tuple[float, float], slot: str) -> None:
    """That limits change which option is best, and a button for limits that do not; nothing where they do not."""
    message = uploads.kept("own-misled", (slot, seen.used, limits), lambda: _misled(seen.options, limits))
    if message is None:
        return
    said, (low, high) = message
    st.error(said, icon=":material/swap_vert:")

    def use() -> None:
        st.session_state.update({f"{slot}-limits": OWN_LIMITS, f"{slot}-low": low, f"{slot}-high": high})

    label = f"Use limits that keep the order: {_ends((low, high))}"
    st.button(label, key=f"{slot}-harmless", on_click=use, help=text("harmless"))


def misled_words(options: Sequence[Option], limits: tuple[float, float]) -> str:
    """Which option looks best after the cut in place of which, as a clause; empty where the best one does."""
    if not cut_misleads(options, limits):
        return ""
    return f"in cut rewards {_looks(options, limits)} best, in uncut ones it is **{_named(options)}**"


def _misled(options: Sequence[Option], limits: tuple[float, float]) -> tuple[str, tuple[float, float]] | None:
    """What goes wrong when rewards are cut to these limits, and limits that do not mislead; None where nothing does."""
    if not cut_misleads(options, limits):
        return None
    best, seen = (best_of(options, each) for each in (None, limits))
    cut = [option.clipped(*limits).mean for option in options]
    wrong = [place for place in seen if place not in best]
    true = options[best[0]]
    wide = harmless_limits(options, limits)
    lost = max(true.mean - options[place].mean for place in wrong)
    against = f" against {words.number(cut[best[0]])}" if best[0] not in seen else ""
    given = "would give that one" if len(seen) == 1 else "may give any of them"
    told = {"limits": _ends(limits), "best": _named(options), "mean": words.number(true.mean)}
    told |= {"looks": _looks(options, limits), "cut": words.number(cut[seen[0]]) + against, "given": given}
    return text("another best", **told, lost=words.number(lost), wide=_ends(wide)), wide


def _ends(limits: tuple[float, float]) -> str:
    return " to ".join(words.plain(words.number(limit, 6)) for limit in limits)


def _looks(options: Sequence[Option], limits: tuple[float, float]) -> str:
    """Which option looks best once rewards are cut: subject and verb."""
    return f"**{_named(options, limits)}** look{'s' * (len(best_of(options, limits)) == 1)}"


def _named(options: Sequence[Option], limits: tuple[float, float] | None = None) -> str:
    """The options with the largest mean, cut or not, safe inside markdown."""
    names = [words.plain(options[place].name) for place in best_of(options, limits)]
    return " and ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} others"


def _tell_far(seen: Observations) -> None:
    """Where rewards stand that lie far from all others, and what they do to the noise."""
    (low, high), (all_low, all_high) = seen.near, seen.holding(1.0)
    them, times = "it" if len(seen.far) == 1 else "them", words.number((all_high - all_low) / (high - low))
    shown = [f"- {words.plain(str(reward))}" for reward in seen.far[:8]]
    shown += [f"- and {len(seen.far) - 8:,} more"] * (len(seen.far) > 8)
    st.warning("\n".join(shown) + f"\n\n{text('far', them=them, times=times)}", icon=":material/data_alert:")
