"""What a visitor of Your numbers says: options typed or uploaded, limits, users, unit and budget."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import InputError
from bandit_core.data import observations
from bandit_core.data.columns import ROWS
from bandit_core.data.observations import Observations, Option
from bandit_core.data.spreadsheets import defused_frame
from bandit_core.data.tables import ENDINGS, MAX_BYTES, MAX_ROWS, read_sheet
from bandit_core.spec import own_data
from bandit_core.spec.budgets import Epsilon
from bandit_core.spec.feedback import MAX_WAITING
from bandit_core.spec.found import fields_of
from bandit_core.spec.number_text import percent
from bandit_core.studies import business_case
from bandit_core.studies.best_arm import TRIALS
from bandit_core.studies.best_method import Question
from bandit_core.studies.price import PRIVATE, PriceQuestion, read_epsilons
from bandit_core.theory.power import EVERY_TRUST
from ui import charts, figures, lab_parts, page_fields, real_world_budgets, state, theme, uploads, words
from ui.your_numbers import question
from ui.your_numbers.question import FIELDS, LIMITS, Asked, Setting, ask, control, said, spans, text, write_address

# ---------------------------------------------------------------------------------------------------------------------
# Limits of one user's reward, chosen for uploaded amounts: what they cut, and whether that changes the best option.


BINS = 60  # of the picture
SHOWN = 8  # options in the picture
OWN_LIMITS = "others, known beforehand"
NEAR, UNIT = "without those far from all others", "the rewards are shares"
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
    with st.expander("Picture of the amounts and their limits", key="own-amounts"):
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
    found = {(0.0, 1.0): UNIT} if seen.limits[0] >= 0 and seen.limits[1] <= 1 else {}
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
    if observations.cut_misleads(seen.options, limits):
        said.append("another option looks best then")
    if more > 1.005:
        said.append(f"needs {words.number(more)} times the noise of the narrowest limits")
    return words.plain("; ".join(said))


def chosen_limits(seen: Observations, slot: str) -> tuple[float, float] | None:
    """The limits of a reward, once the visitor chose them; rewards beyond are cut."""
    low, high = seen.limits
    choices = uploads.kept("own-choices", (slot, seen.used), lambda: _choices(seen))
    st.markdown(words.plain(text("why limits", low=words.number(low, 6), high=words.number(high, 6))))
    key = f"{slot}-limits"
    if seen.far:
        _tell_far(seen)
    captions = [*(message for _, message in choices.values()), "what you know of a reward before any data"]
    names = [*choices, OWN_LIMITS]
    first = 0 if names[0].endswith(UNIT) else None
    named = st.radio(**control("box limits"), options=names, index=first, captions=captions, key=key)
    st.caption(text("limits before data"))
    if named != OWN_LIMITS:
        limits = choices[named][0] if named else None
    else:
        ends = zip(LIMITS, st.columns(2), strict=True)
        least, most = (page_fields.draw(end, None, f"{slot}-{end.name}", place) for end, place in ends)
        limits = None if least is None or most is None else (least, most)
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

    ends = {f"{slot}-{end.name}": page_fields.shown(limit) for end, limit in zip(LIMITS, (low, high), strict=True)}
    harmless, use = {f"{slot}-limits": OWN_LIMITS, **ends}, st.session_state.update
    label = f"Use limits that keep the order: {_ends((low, high))}"
    st.button(label, key=f"{slot}-harmless", on_click=use, args=(harmless,), help=text("harmless"))


def misled_words(options: Sequence[Option], limits: tuple[float, float]) -> str:
    """Which option looks best after the cut in place of which, as a clause; empty where the best one does."""
    if not observations.cut_misleads(options, limits):
        return ""
    return f"in cut rewards {_looks(options, limits)} best, in uncut ones it is **{_named(options)}**"


def _misled(options: Sequence[Option], limits: tuple[float, float]) -> tuple[str, tuple[float, float]] | None:
    """What goes wrong when rewards are cut to these limits, and limits that do not mislead; None where nothing does."""
    if not observations.cut_misleads(options, limits):
        return None
    best, seen = (observations.best_of(options, each) for each in (None, limits))
    true, wide = options[best[0]], observations.harmless_limits(options, limits)
    told = {"limits": _ends(limits), "best": _named(options), "mean": words.number(true.mean), "wide": _ends(wide)}
    against = f" against {words.number(true.clipped(*limits).mean)}" if best[0] not in seen else ""
    told |= {"looks": _looks(options, limits), "cut": words.number(options[seen[0]].clipped(*limits).mean) + against}
    told["given"] = "would give that one" if len(seen) == 1 else "may give any of them"
    lost = true.mean - min(options[place].mean for place in seen)
    return text("another best", **told, lost=words.number(lost)), wide


def _ends(limits: tuple[float, float]) -> str:
    return " to ".join(words.plain(words.number(limit, 6)) for limit in limits)


def _looks(options: Sequence[Option], limits: tuple[float, float]) -> str:
    """Which option looks best once rewards are cut: subject and verb."""
    return f"**{_named(options, limits)}** look{'s' * (len(observations.best_of(options, limits)) == 1)}"


def _named(options: Sequence[Option], limits: tuple[float, float] | None = None) -> str:
    """The options with the largest mean, cut or not, safe inside markdown."""
    names = [words.plain(options[place].name) for place in observations.best_of(options, limits)]
    return " and ".join(names) if len(names) < 4 else f"{names[0]} and {len(names) - 1} others"


def _tell_far(seen: Observations) -> None:
    """Where rewards stand that lie far from all others, and what they do to the noise."""
    (low, high), (all_low, all_high) = seen.near, seen.holding(1.0)
    them, times = "it" if len(seen.far) == 1 else "them", words.number((all_high - all_low) / (high - low))
    shown = [f"- {words.plain(str(reward))}" for reward in seen.far[:8]]
    shown += [f"- and {len(seen.far) - 8:,} more"] * (len(seen.far) > 8)
    st.warning("\n".join(shown) + f"\n\n{text('far', them=them, times=times)}", icon=":material/data_alert:")


# ---------------------------------------------------------------------------------------------------------------------
# What a visitor of Your numbers says: options typed or uploaded, users, unit and budget.
#
# Nothing that was uploaded leaves the session: it is simulated with a store in the session's memory, and neither links
# nor functions with a process-wide cache (bounds, automatic thresholds) ever see it.


RATE_UNITS = ("conversions", "clicks", "recovered patients")  # of what succeeds or not
AMOUNT_UNITS = ("units of reward", "euros", "minutes")  # of amounts and times
LARGE_FILE = 2**20  # bytes; reading a smaller one takes no time to speak of
DETAILS = ("times", "night", "delta", "power", "zone", "split", "list", "sides", "trust")  # fields of the fold
# what a session keeps of files, and of what was computed from them
_OF_UPLOADS = re.compile(rf"own-(store|choices|limited|misled)|own-.+-(read|found)|run-own.*|{uploads.ANSWERS}")


# ---------------------------------------------------------------------------------------------------------------
# The options


def options() -> Asked | None:
    """The visitor's options, typed or uploaded; None until they can be used (why is told)."""
    left, right = st.columns(2)
    words_of = {"typed": "I type rates", "upload": "I upload observations"}
    source = left.segmented_control(
        **control("source"), options=list(words_of), default="typed", required=True,
        format_func=words_of.__getitem__, key="own-source",
    )  # fmt: skip
    if source == "upload":
        return _uploaded()
    if (typed := _typed(right)) is None:
        setting(None)  # a control that is not drawn forgets what stands in it
    return typed


@uploads.refused
def _typed(right: DeltaGenerator) -> Asked | None:
    amount = ask("as", right)
    left, middle, right = st.columns([1, 2, 1], vertical_alignment="bottom")
    name = {"share": "Baseline rate, %", "amount": "Baseline mean per user", "sales": "Users who buy, %"}[amount]
    base, points = ask("base", left, label=name), "plain amounts" if amount == "amount" else "points"
    relative = ask("by", right, allowed={"percent": "% of the baseline", "plain": points}) == "percent"
    wanted = ask("lifts", middle, allowed=partial(business_case.read_lifts, relative=relative))
    low, high = 0.0, 100.0
    if amount == "amount":
        low, high = (ask(name, column) for name, column in zip(("least", "most"), st.columns(2), strict=True))
        st.caption(text("typed amounts"))
    if amount == "sales":
        first, second, third = st.columns(3, vertical_alignment="bottom")
        sale = ask("sale", first), ask("sd", second), ask("most", third, **control("most of a sale"))
    lifts = business_case.read_lifts(wanted, relative)
    typed = business_case.typed_options(base, business_case.shares(lifts) if relative else lifts, relative, (low, high))
    names = ("baseline", *(f"option {number}" for number in range(1, len(typed.arms))))
    if amount == "sales":  # some users buy
        sold, limits = business_case.sales(names, typed, *sale), (0.0, sale[2])
        asked = Asked(
            **vars(sold.options), names=names, low=sold.low, high=sold.high, clip=sold.clip, amounts=True,
            sure="The numbers were typed. Purchases have a lognormal distribution.",
            cut=cut_words(sold.amounts, limits, True), misled=misled_words(sold.amounts, limits),
            limits=None if sold.clip is None else limits,
        )  # fmt: skip
    else:
        unit, worth = ("%", (0.0, 1.0)) if amount == "share" else ("", (low, high))
        sure = "In a range every value is equally likely." if typed.draws else "Typed numbers are taken as exact."
        sure += " ? stands for a lift from -20% to 20% of the baseline." * (business_case.UNKNOWN in lifts)
        asked = Asked(**vars(typed), names=names, low=worth[0], high=worth[1], sure=sure, unit=unit)
    compared = ", ".join(f"**{name}** {span}" for name, span in zip(names, spans(asked), strict=True))
    st.markdown(f"You compare{', per user,' * asked.amounts} {compared}. Best: {asked.best}.", help=asked.sure)
    if asked.amounts:
        fold(sold.amounts, limits, False)
    return asked


def _parsed(upload: Any, name: str, read: Any, *how: Any) -> Any:
    """What ``read`` makes of the file, kept in the session while the file is there; None where it is no use.

    ``how`` goes to ``read`` after the content of the file.
    """
    slot = f"own-{name}-read"
    if upload is None:
        st.session_state.pop(slot, None)
        return None
    own_data.hold(uploads.store("own-store"))
    try:
        return uploads.kept(slot, (upload.file_id, *map(str, how)), lambda: read(upload.getvalue(), *how))
    except InputError as error:
        st.markdown("**This file cannot be used yet:**")
        uploads.refuse(error)
        return None


def _uploader(key: str, endings: Sequence[str]) -> Any:
    words_of = fields_of(question.__file__, f"box {key}", rows=f"{MAX_ROWS:,}", size=f"{MAX_BYTES // 10**6} MB")
    return st.file_uploader(**words_of, type=endings, key=key, max_upload_size=MAX_BYTES // 10**6)


def _uploaded() -> Asked | None:
    upload = _uploader("own-file", ENDINGS)
    st.caption(uploads.PRIVATE_WORDS)
    if upload is None:
        uploads.forget(*filter(_OF_UPLOADS.fullmatch, map(str, st.session_state)))
        st.caption(text("such files"))
        return None
    said = uploads.said(upload.file_id)
    of_text = {key: each for key, each in said.items() if key in ("sheet", "heading")}
    bar = st.empty()

    def watch(share: float) -> None:  # which also stops reading when the visitor does something else
        if upload.size > LARGE_FILE:
            bar.progress(min(share, 1.0), "Cutting the file into rows ...")

    table = _parsed(upload, "table", partial(read_sheet, watch=watch), of_text)
    columns = said.pop("columns", ())
    bar.empty()
    if table is None:
        return None
    shown = defused_frame(pd.DataFrame(table.head(), columns=table.columns))
    st.dataframe(shown, hide_index=True, width="stretch", alt="The first rows of your file as they were read")
    with st.spinner("Reading the columns ..."):
        reading = _parsed(upload, "file", lambda _, *how: observations.observations_of(table, *how), said, columns)
    _boxes(table.columns, reading.roles if reading else {"rows": "person"} | said, upload.file_id, columns)
    if reading is None:
        return None
    st.markdown(words.plain(reading.sentence))
    for check in reading.checks:
        st.warning(words.plain(check), icon=":material/fact_check:")
    if reading.notes:
        st.caption(words.plain(" ".join(reading.notes)))
    answered = uploads.doubts_answered(reading, upload.file_id)
    return _chosen(reading.data, upload.file_id, reading.checks) if answered else None


def _boxes(names: list[str], roles: Mapping[str, str], slot: str, columns: Sequence[str]) -> None:
    """Which column is what, filled with what was read, or was said of a file that cannot be read so."""
    wide = roles["rows"] == "wide"

    def box(place: DeltaGenerator, role: str, choices: list[str], said: str = "") -> None:
        """``said`` names the words of the box, where they are not those of its role."""
        key = f"{slot}-{role}"
        st.session_state[key] = roles.get(role)  # the box shows what was read
        place.selectbox(
            **control(f"box {said or role}"), options=choices,
            index=0 if role in roles else None, key=key,
            format_func=lambda each: ROWS.get(each, each) if role == "rows" else each,
            on_change=lambda: uploads.say(slot, {"columns": None, role: st.session_state[key]}),
        )  # fmt: skip

    left, middle, right = st.columns([2, 2, 2] if not wide else [3, 1, 2])
    if wide:
        key = f"{slot}-columns"
        left.multiselect(
            **control("box columns"), options=names, default=list(columns), key=key,
            on_change=lambda: uploads.say(slot, {"columns": tuple(st.session_state[key])}),
        )  # fmt: skip
    else:
        box(left, "option", names)
        box(middle, "outcome", names, "successes" if roles["rows"] == "total" else "")
    box(right, "rows", list(ROWS))
    if not wide:
        with st.expander("More: person, people of a row", key="own-more-columns"):
            left, right = st.columns(2)
            box(left, "person", names)
            box(right, "weight", ["none", "both", *names])


@uploads.refused
def _chosen(seen: Observations, slot: str, checks: tuple[str, ...]) -> Asked | None:
    """The options of a file, once baseline and limits are chosen."""
    names = [option.name for option in seen.options]
    first = st.selectbox(**control("box first"), options=names, key=f"{slot}-first")
    seen = seen.starting_with(first)
    limits = (0.0, 1.0) if seen.yes_or_no else chosen_limits(seen, slot)
    if limits is None:
        return None
    key = (slot, str(uploads.said(slot)), first, limits)
    chosen = uploads.kept("own-limited", key, lambda: _limited(seen, limits, checks))
    alt = "Observed options: count, mean and interval of each"
    st.dataframe(pd.DataFrame(chosen.rows), hide_index=True, width="stretch", alt=alt)
    if not seen.yes_or_no:
        fold(seen.options, limits, True)
    st.markdown(chosen.sure)
    if any(option.summarised for option in seen.options):
        st.caption(text("summarised"))
    return chosen


def _limited(seen: Observations, limits: tuple[float, float], checks: tuple[str, ...]) -> Asked:
    """What was observed as the options of the question; methods with privacy see rewards cut to the limits."""
    options, cut = seen.options, cut_words(seen.options, limits)
    arms, low, high, clip = business_case.observed_arms(options, limits)
    return Asked(
        **vars(business_case.observed(options, arms, high - low)),
        names=tuple(option.name for option in options),
        low=low,
        high=high,
        observed=options,
        sure=certainty(options),
        cut=cut,
        checks=checks,
        limits=None if clip is None else limits,
        amounts=not all(option.clipped(*limits).yes_or_no for option in options),
        misled=misled_words(options, limits),
        clip=clip,
    )


def certainty(options: Sequence[Option]) -> str:
    """How sure one can be which option is best, in one sentence."""
    chances = business_case.chances_of_being_best(options)
    if np.isnan(chances).any():
        return text("too few")
    order = np.argsort(-chances, kind="stable")
    first, second = order[:2]
    told = {"best": words.plain(options[first].name), "chance": percent(round(chance := chances[first], 2))}
    told |= {"next": words.plain(options[second].name), "other": percent(round(chances[second], 2))}
    return text("sure" if chance > 0.99 else "rather sure" if chance >= 0.8 else "open", **told)


# ---------------------------------------------------------------------------------------------------------------
# Users, unit, privacy


def setting(asked: Asked | None) -> tuple[Setting, DeltaGenerator] | None:
    """The rest of the question, and a place for the advice; None where an uploaded list of budgets cannot be used."""
    left, middle, right = st.columns(3)
    ask("users", left)
    ask("week", middle)
    amounts = asked.amounts if asked and asked.observed else said("as") != "share"
    own, other = (AMOUNT_UNITS, RATE_UNITS) if amounts else (RATE_UNITS, AMOUNT_UNITS)
    first = own[0] if said("unit") in other else said("unit")
    key, units = state.own_key("own-unit-of-amounts" if amounts else "own-unit"), list(dict.fromkeys([first, *own]))
    unit = right.selectbox(**control("unit"), options=units, key=key, accept_new_options=True)
    page_fields.keep(FIELDS["unit"], " ".join(str(unit or own[0]).split())[:30] or own[0])
    epsilon: float = ask("eps")
    st.caption(words.odds(epsilon))
    advice = st.empty()  # above what most visitors leave closed
    lab_parts.fold("Visits, results at night, chance of error, other ε", "own-details", _details, *DETAILS)
    distribution: Epsilon | None = None
    fold = lab_parts.part("Which ε do others use? Do my users differ?", "own-budgets-fold")
    if fold.open or st.session_state.get("own-budgets") is not None:  # a file stays while the fold is closed
        with fold:
            real_world_budgets.table("one answer of one user")
            upload = _uploader("own-budgets", ["csv", "tsv", "txt"])
            how = [uploads.said(upload.file_id)] if upload else []
            read = _parsed(upload, "budgets", observations.read_budgets, *how)
            if upload is not None and (read is None or not uploads.doubts_answered(read, upload.file_id)):
                return None
            if read is not None:
                st.caption(uploads.PRIVATE_WORDS)
                distribution, users = read.data
                st.caption(f"{users:,} users' own budgets are used instead of the slider.")
    numbers = {row.place: said(name) for name, row in FIELDS.items() if row.place}
    return Setting(epsilon=distribution or epsilon, budgets=read_epsilons(said("list")), **numbers), advice


def _details() -> None:
    """How people come, what a test may get wrong, and which ε are compared; remembered while the fold is closed."""
    first, second, third = st.columns(3, vertical_alignment="bottom")
    visits = ask("times", first)
    night = words.count(min(max(1, round(said("week") * visits / 7)), MAX_WAITING))
    ask("night", second, help=f"For the learner only. 1: after each visit. {night}: every night.")
    for name, place in zip(DETAILS[2:], (first, second, third) * 2 + (third,), strict=True):
        ask(name, place)


def question_of(asked: Asked, chosen: Setting, *epsilons: float) -> PriceQuestion:
    """The whole question, at these budgets."""
    return PriceQuestion(
        asked.arms, chosen.users, chosen.weekly, epsilons or (chosen.tested,), chosen.visits, chosen.batch,
        chosen.delta, chosen.power, chosen.rule, TRIALS, chosen.zone / 100 * abs(asked.means[0]) / asked.scale,
        clip=asked.clip, note=asked.note[:600], names=asked.names, low=asked.low, scale=asked.scale, unit=chosen.unit,
        beliefs=asked.beliefs, draws=asked.draws, trusts=EVERY_TRUST[1:] if chosen.all_trusts else PRIVATE,
        looks=chosen.looks, sides=2 - chosen.one_sided, split=chosen.split,
    )  # fmt: skip


def contest_of(asked: Asked, chosen: Setting) -> Question:
    """The question which learner loses least; the address follows it."""
    write_address()
    return replace(question_of(asked, chosen).contest(chosen.tested), epsilon=chosen.epsilon)
