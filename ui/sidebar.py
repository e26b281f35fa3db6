"""The sidebar: every control of the shared experiment, generated from the spec and the registry."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, InputError
from bandit_core.experiments.experiment import View
from bandit_core.model import KEPT, PROMISES
from bandit_core.policies import registry
from bandit_core.simulation.results import QUANTITY_WORDS
from bandit_core.spec import notation, number_text, own_data
from bandit_core.spec.contexts import DISTRIBUTIONS as CONTEXTS
from bandit_core.spec.contexts import Table
from bandit_core.spec.errors import Issue, raise_any
from bandit_core.spec.rewards import DISTRIBUTIONS as REWARDS
from bandit_core.spec.rewards import RewardDistribution
from ui import (
    examples,
    export_panel,
    figures,
    menu,
    page_fields,
    page_requirements,
    policy_controls,
    state,
    stylesheet,
    theme,
    uploads,
    words,
)
from ui.heavy_tails import view as heavy_tails
from ui.page_fields import Field

HORIZONS = (*(base * 10**power for power in range(2, 9) for base in (1, 2, 5)), 10**9)
TRIALS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
BATCHES = (*(base * 10**power for power in range(5) for base in (1, 2, 5)), 100_000)
MOST_BARS = 10  # of arms that have room side by side
_bars = stylesheet.component("arms", stylesheet.ASSETS, "arms")
# Names as in an address and in `PAGE.sidebar`; places in the experiment, in its feedback or in its view.
_SIZE = (
    Field("T", "Users (horizon)", 0, f"How many users arrive in one run. {words.PUBLIC['horizon']}", allowed=HORIZONS,
          write=words.count, place="horizon"),
    Field("n", "Trials", 0, "Independent runs. More runs give a smaller error.", allowed=TRIALS, write=words.count,
          place="trials"),
    Field("seed", "Seed", 0, "The same seed gives the same numbers, bit for bit.", "number", (0, 2**53 - 1),
          place="seed"),
)  # fmt: skip
_COMING = (
    Field("batch", "Update after every … users", 1, "1: after every user. Larger: in batches, such as a daily job. "
          "Between updates the learner learns nothing.", allowed=BATCHES, write=words.count, place="batch"),
    Field("delay", "Feedback delay, in users", 0, "0: before the next user arrives. Larger: a purchase the next day "
          "or a cure weeks later. This many users are served before the feedback arrives.", allowed=(0, *BATCHES),
          write=words.count, place="delay"),
    Field("visits", "Visits of each person", 1, "At most this many visits of a person are used. ε protects the "
          "person, so one answer may spend ε divided by the visits, or more if a δ is allowed. Methods without privacy "
          "stay as they are.", allowed=(*range(1, 11), 20, 50, 100), write=str, place="visits"),
    Field("visits_delta", "δ at which a person's answers are composed", 0.0, "0: basic composition, ε divided by the "
          "visits. Larger: tight composition. One answer may spend more, and the person's guarantee is (ε, δ) instead "
          "of ε. Only for local policies whose single answers keep a pure ε.",
          allowed=(0.0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3), write=number_text.write_number, place="visits_delta"),
)  # fmt: skip
_VIEW = (
    Field("show", "Vertical axis", "", "Regret, regret / ln t (flat when optimal), regret per user, or the price of "
          "privacy.", "box", QUANTITY_WORDS, place="quantity"),
    Field("price", "Price compares with", "", "A method's price is its regret divided by that of the best method "
          "without privacy that is shown, or by that of the same method without privacy. What is not shown is run for "
          "comparison.", "box", words.AGAINST_WORDS, place="against"),
    Field("band", "Band", "", "The shading around a mean shows how runs differ, or (95% interval) how well the mean is "
          "known.", "box", {kind: words.sentence(f"{band} the runs") for kind, band in words.BAND_WORDS.items()},
          place="band"),
    Field("runs", "20 sample runs", False, "Up to 20 single runs of each policy.", "switch", place="runs"),
)  # fmt: skip
_USERS = _SIZE[0]
_BOUNDS = Field(
    "bounds", "Bounds", False, "The light area: what is proved of one method at every number of users.", "switch",
    place="bounds",
)  # fmt: skip


def _draw(row: Field, now: Any) -> Any:
    """A control of the experiment, which opens at what the base says; what it says now."""
    return page_fields.draw(row, now, state.key(row.key or row.place))


def _redraw() -> None:
    """Callback of a switch that draws other controls: they open at the last valid experiment."""
    state.adopt(state.experiment())


def _arms_section(base: Experiment, issues: uploads.Problems) -> Any:
    """The arms as documents; appends what cannot be read to ``issues``."""
    unreadable: list[Issue] = []
    as_table, bars = bool(st.session_state.get("arms-as-table")), st.container()
    try:
        arms = _arms_table(base) if as_table else notation.read_arms(_arms_text(base))
    except InputError as error:
        arms, unreadable = None, error.issues
    issues.under("arms", "", "Arms")
    if arms and not as_table and len(arms) <= MOST_BARS and all(arm["kind"] == "bernoulli" for arm in arms):
        with bars:
            _arms_bars([REWARDS["bernoulli"].model_validate(arm) for arm in arms])
    if as_table or state.memory().get("everything"):
        st.toggle(
            "Edit as a table",
            as_table,
            key="arms-as-table",
            on_change=_redraw,
            help="One row per group of equal arms, instead of text. Not while something here cannot be read.",
            disabled=bool(unreadable),
        )
    issues += unreadable
    return arms


def _arms_bars(arms: list[RewardDistribution]) -> None:
    """A bar for each group of equal arms; one that is moved changes the text, which is read as if it had been typed."""

    def moved() -> None:
        place, mean = st.session_state["arms-bars"].moved
        if place in range(len(arms)) and 0 <= mean <= 1:
            arms[place] = arms[place].model_copy(update={"mean": float(mean)})
            st.session_state[state.key("arms")] = notation.write_arms(arms)

    data = {"means": [arm.expected for arm in arms], "counts": [arm.count for arm in arms]}
    _bars(key="arms-bars", data=data, on_moved_change=own_data.bound(moved))


def _arms_text(base: Experiment) -> str:
    st.session_state.setdefault(state.key("arms"), notation.write_arms(base.arms))
    return st.text_area(
        "Arms",
        height=68,
        key=state.key("arms"),
        help="A bare number is a Bernoulli mean; x5 repeats an arm. Distributions: " + ", ".join(REWARDS) + ". "
        "Example: 0.9, beta(4,1) x5, two-point(0.4,1,0.5), uniform(0,1), gaussian(0.5,1), pareto(2,1.5). "
        + words.PUBLIC["ranges"],
    )


def _contexts_section(base: Experiment, issues: uploads.Problems) -> Any:
    """Users with features, as text. A data set is too long for a text field and cannot be edited."""
    assert base.contexts is not None
    if isinstance(base.contexts.law, Table):
        st.caption(f"{len(base.contexts.law.rows):,} rows of a data set. Load another settings file to change them.")
        return base.contexts
    text = st.text_area(
        "Users with features",
        notation.write_contexts(base.contexts),
        height=68,
        key=state.key("contexts"),
        help="single (one parameter, a context for each arm) or multi (a parameter for each arm); features, arms, "
        "distribution of the contexts (" + ", ".join(name for name in CONTEXTS if name != "table") + "), link, "
        "noise. Example: single(2, 10, margin(0.5), link=logistic).",
    )
    issues.under("contexts", "", "Users with features")
    try:
        return notation.read_contexts(text)
    except InputError as error:
        issues += error.issues
        return None


def _parameters_as_text(arm: RewardDistribution) -> str:
    text = notation.write_arms([arm])
    return text if arm.kind == "bernoulli" else text.partition("(")[2].rstrip(")")


def _arms_table(base: Experiment) -> list[dict[str, Any]]:
    """The rows of the table as documents.

    Raises
    ------
    InputError
        With every row that cannot be read.
    """
    rows = [
        {"law": arm.kind, "numbers": _parameters_as_text(arm.single), "count": arm.count}  # names that links carry
        for arm in base.arms
    ]
    edited = st.data_editor(
        pd.DataFrame(rows),
        num_rows="dynamic",
        hide_index=True,
        key=state.key("arms-editor"),
        column_config={
            "law": st.column_config.SelectboxColumn(
                "Distribution", options=list(REWARDS), required=True, default="bernoulli"
            ),
            "numbers": st.column_config.TextColumn(
                "Parameters", required=True, default="0.5", help="In the order of the distribution."
            ),
            "count": st.column_config.NumberColumn("How many", min_value=1, step=1, default=1, required=True),
        },
    )
    arms: list[dict[str, Any]] = []
    issues: list[Issue] = []
    for place, row in enumerate(edited.dropna().itertuples(index=False)):
        try:
            arms.append({**notation.read_arms(f"{row.law}({row.numbers})")[0], "count": int(row[2])})
        except InputError as error:
            issues += [Issue(f"arms[{place}]", item.value, item.allowed) for item in error.issues]
    raise_any(issues)
    return arms


def _lines_section(base: Experiment, shared: dict[str, Any], with_own: bool, issues: uploads.Problems) -> None:
    setting = "arms" if base.contexts is None else "contexts"
    rows: list[int] = state.memory()["line-rows"]
    added: dict[int, str] = state.memory()["added-lines"]
    for place, row in enumerate(list(rows)):
        policy_controls.card(base, row, shared, with_own, partial(issues.under, f"lines[{place}]"))

    def add() -> None:
        name = st.session_state[state.key("add")]
        if name:
            row = max([*rows, *added, len(base.lines) - 1]) + 1
            added[row] = name
            rows.append(row)
            st.session_state[state.key("add")] = None

    st.selectbox(
        "Add a method",
        [name for name, policy in registry().items() if policy.setting == setting],
        index=None,
        placeholder="Add a method …",
        format_func=lambda name: f"{theme.TRUST_SIGNS[registry()[name].privacy]} {registry()[name].title}",
        key=state.key("add"),
        on_change=add,
        help="   ".join(f"{PROMISES[key].sign} {PROMISES[key].short}" for key in KEPT),
        label_visibility="collapsed",
    )


def _coming_section(base: Experiment, asked: frozenset[str], issues: uploads.Problems) -> dict[str, Any]:
    """Feedback and visits: the controls that are ``asked`` for, or all of them where something is unusual."""
    said: dict[str, Any] = {"batch": base.feedback.batch, "delay": base.feedback.delay, "visits": base.visits}
    said["visits_delta"] = base.visits_delta
    own = asked & set(said) if base.feedback.immediate and base.visits == 1 else set(said)
    if own:
        now = {name: state.current(name, said[name]) for name in said}
        with st.expander(f"Arrivals and feedback · {words.coming(**now)}", key="coming-section"):
            for row in _COMING:
                if row.name in own if row.name != "visits_delta" else "visits" in own and said["visits"] > 1:
                    said[row.name] = _draw(row, said[row.name])
                if row.name != "batch":
                    path = "feedback" if row.name == "delay" else row.name
                    issues.under(path, "", row.label if row.name == "visits" else "Arrivals and feedback")
    feedback = {"batch": said.pop("batch"), "delay": said.pop("delay")}
    return {"feedback": feedback, **said}


def _size_section(asked: frozenset[str], size: dict[str, Any]) -> dict[str, Any]:
    """Trials and seed, besides the ``size`` that is known. Only those that are ``asked`` for have a control."""
    shown = [row for row in _SIZE if row is not _USERS and row.name in asked]
    if not shown:
        return size
    runs, seed = (state.current(name, size[name]) for name in ("trials", "seed"))
    parts = {"n": f"{words.count(runs)} {'trial' if runs == 1 else 'trials'}", "seed": f"seed {seed}"}
    with st.expander(f"Size · {', '.join(parts[row.name] for row in shown)}", key="size-section"):
        return size | {row.place: _draw(row, size[row.place]) for row in shown}


def _hidden_lines(labels: list[str]) -> list[int]:
    """The lines that are not drawn. Kept by row, so that adding or removing others changes nothing."""
    rows: list[int] = state.memory()["line-rows"]
    if len(set(labels)) < len(labels):
        labels = [f"{place}: {label}" for place, label in enumerate(labels, 1)]
    key = state.key(f"visible {rows} {labels}")
    if key not in st.session_state:
        st.session_state[key] = [row for row in rows if row not in state.memory()["hidden-rows"]]
    shown = st.multiselect(
        "Visible curves",
        rows,
        format_func=lambda row: labels[rows.index(row)],
        key=key,
        help="Which curves are shown.",
    )
    state.memory()["hidden-rows"] = {row for row in rows if row not in shown}
    return [place for place, row in enumerate(rows) if row not in shown]


def _view_section(base: Experiment, labels: list[str], asked: frozenset[str], bounds: bool) -> View:
    """The view, with a control for each part that is ``asked`` for; that of the ``bounds`` stands elsewhere."""
    said, shown = base.view.model_dump() | {"bounds": bounds}, [row for row in _VIEW if row.name in asked]
    if not shown and "hide" not in asked:
        return base.view.model_copy(update={"bounds": bounds})
    with st.expander("View", key="view-section"):
        said |= {row.place: _draw(row, said[row.place]) for row in shown}
        if "hide" in asked:
            said["hidden"] = _hidden_lines(labels)
    return View.model_validate(said)


def _foot(page: menu.Page) -> None:
    """Settings file, reset and upload."""
    now = state.experiment()
    left, right = st.columns(2)
    message = "The whole experiment as JSON."
    figures.download(left, "Settings file", lambda: json.dumps(now.spec(), indent=2), "experiment.json", message)
    what = "the page's example as it was" if state.example_of() else "the opening picture"
    right.button("Reset", on_click=page_requirements.reset, args=(page,), help=f"Back to {what}.", width="stretch")
    upload = st.file_uploader(
        "Load a settings file",
        type=["json", "toml"],
        key=state.key("upload"),
        help="A file saved here before (JSON or TOML). It replaces what is shown.",
        max_upload_size=uploads.SPEC_MEGABYTES,
    )
    if upload is not None:
        try:
            experiment = uploads.kept("spec-read", upload.file_id, lambda: uploads.read_spec(upload))
        except InputError as error:
            st.error(f"This file has no valid settings:\n{words.issues(error.issues)}")
        else:
            state.open_own(experiment, own_file=True)
            st.rerun()


def _offer_fixes(issues: uploads.Problems, labels: list[str]) -> None:
    """A button for each line whose policy needs the same budget for all users."""
    rows: list[int] = state.memory()["line-rows"]
    for issue in issues:
        match = re.fullmatch(r"lines\[(\d+)\]\.epsilon(?:\.kind)?", issue.path)
        place = issues.place(issue)
        if match is None or place is None:
            continue
        row = rows[int(match[1])]

        def mend(row: int = row) -> None:
            st.session_state[state.key(f"own-{row}")] = "1"

        place.button(
            f"Give everyone ε = 1 in “{words.plain(labels[int(match[1])])}”",
            key=state.key(f"mend-{row}"),
            on_click=mend,
            help="Gives this line a budget of 1.",
            width="stretch",
        )


def _say_twins(experiment: Experiment, issues: uploads.Problems) -> None:
    """Below the box of each method that another one above it plays already."""
    played = experiment.played
    for number, plays in enumerate(played):
        place = issues.place(Issue(f"lines[{number}]", None, ""))
        if plays in played[:number] and place is not None:
            place.caption("↑ The same as a method above: both curves are one. Change a parameter or remove it.")


def _open_controls() -> None:
    """Callback: remembers the choice, and keeps the values of controls that go. They stay while one cannot be read."""
    if state.unfinished():
        st.session_state["change-experiment"] = True
    state.memory()["everything"] = st.session_state["change-experiment"]
    if not state.unfinished():
        _redraw()


def draw(page: menu.Page) -> list[DeltaGenerator]:
    """Draw the sidebar and commit what it says; what is not valid is reported and changes nothing.

    Returns the places for the links to this picture, which need the page's own fields first. Only controls that change
    something on the page are drawn; what the others would say stays as it is in the experiment.
    """
    base, issues = state.base(), uploads.Problems()
    asked = page.controls(
        lambda switch: st.session_state.get(state.own_key(switch), state.page_field(switch, "0") == "1")
    )
    setting = "arms" if base.contexts is None else "contexts"
    above = page.epsilon_above and policy_controls.followers(base)[1] > 0
    with st.sidebar:
        page_requirements.tell()
        examples.button(page.shows)
        users, lines_place = getattr(base, setting), st.container(key="methods")
        if "arms" in asked:
            users = (_arms_section if setting == "arms" else _contexts_section)(base, issues)
        if page.shows == "any" and not page_requirements.KINDS["robust"].lacks(state.experiment()):
            heavy_tails.exponent(state.experiment())
        shared, picture = policy_controls.draw(base, issues, above)
        if "lines" in asked:
            with lines_place:
                _lines_section(base, shared, "own" in asked, issues)
        lines = policy_controls.documents(base, shared, issues)
        size = {row.place: getattr(base, row.place) for row in _SIZE}
        if "T" in asked:
            size[_USERS.place] = _draw(_USERS, base.horizon)
        bounds = _draw(_BOUNDS, base.view.bounds) if "bounds" in asked else base.view.bounds
        everything = st.toggle(
            "More",
            bool(state.memory().get("everything")),
            key="change-experiment",
            on_change=_open_controls,
            help="Trials, arrivals and view; saving, opening and resetting settings.",
        )
        asked = asked if everything else frozenset()
        size = _coming_section(base, asked, issues) | _size_section(asked, size)
        labels = [line.get("label") or registry()[line["policy"]].title for line in lines]
        experiment = None
        if not issues:
            experiment, labels = _experiment(page, {setting: users, "lines": lines, **size}, labels, issues)
        if experiment is not None:
            _say_twins(experiment, issues)
            with picture:
                policy_controls.picture(shared, experiment)
        view, places = _view_section(base, labels, asked, bounds), export_panel.places()
        if experiment is not None:
            policy_controls.commit(experiment.model_copy(update={"view": view}))
        state.finish(issues)
        if everything:
            _foot(page)
    if issues:
        issues.tell()
        _offer_fixes(issues, labels)
    return places


def _experiment(
    page: menu.Page, said: dict[str, Any], labels: list[str], issues: list[Issue]
) -> tuple[Experiment | None, list[str]]:
    """What the controls say, if it is an experiment that the page can show; appends to ``issues`` where it is not."""
    try:
        experiment = state.base().with_changes(**said, view={})
    except InputError as error:
        issues += error.issues
        return None, labels
    labels = [experiment.label(number) for number in range(len(experiment.lines))]
    if lacks := page_requirements.KINDS[page.shows].lacks(experiment):
        issues.append(Issue("experiment", words.arms_summary(experiment), f"this page needs {lacks}"))
        return None, labels
    return experiment, labels
