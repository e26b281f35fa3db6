"""The sidebar: every control of the shared experiment, generated from the spec and the registry."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, InputError
from bandit_core.experiments import links
from bandit_core.experiments.experiment import Band, View, parse
from bandit_core.experiments.presets import presets
from bandit_core.policies import registry
from bandit_core.simulation.summaries import QUANTITY_WORDS
from bandit_core.spec import notation
from bandit_core.spec.budgets import DISTRIBUTIONS as BUDGETS
from bandit_core.spec.contexts import DISTRIBUTIONS as CONTEXTS
from bandit_core.spec.contexts import Table
from bandit_core.spec.errors import Issue
from bandit_core.spec.rewards import DISTRIBUTIONS as REWARDS
from ui import charts, epsilon_grid, line_cards, render_lock, state, theme, words

HORIZONS = (*(base * 10**power for power in range(2, 9) for base in (1, 2, 5)), 10**9)
TRIALS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
SPEC_MEGABYTES = 1


def _slider(label: str, grid: tuple[Any, ...], value: Any, name: str, help: str, write=str, disabled=False) -> Any:  # type: ignore[no-untyped-def]
    """A log-scaled slider that also holds the base's value when that is off the grid."""
    options = sorted({*grid, value})
    return st.select_slider(label, options, value, key=state.key(name), help=help, format_func=write, disabled=disabled)


def _preset_section() -> None:
    names = {preset.name: preset for preset in presets()}

    def chosen() -> None:
        name = st.session_state[state.key("preset")]
        if name:
            state.open_preset(name)

    st.selectbox(
        "Start from",
        list(names),
        index=None,
        placeholder="a preset …",
        format_func=lambda name: f"{name} · {names[name].title}",
        key=state.key("preset"),
        on_change=chosen,
        help="Fills every control from a ready-made experiment: the figures of the papers and some lessons.",
    )


def _arms_section(base: Experiment) -> str:
    with st.expander(f"Arms · {_arms_words(base)}", key=state.key("arms-section")):
        as_table = st.toggle(
            "Edit as a table",
            key="arms-as-table",
            on_change=lambda: state.adopt(state.experiment()),
            help="One row per group of equal arms, instead of text.",
        )
        if as_table:
            return _arms_table(base)
        text = st.text_area(
            "Means and reward laws",
            notation.write_arms(base.arms),
            key=state.key("arms"),
            help="A bare number is a Bernoulli mean; x5 repeats an arm. Distributions: " + ", ".join(REWARDS) + ". "
            "Example: 0.9, beta(4,1) x5, two-point(0.4,1,0.5), uniform(0,1), gaussian(0.5,1), pareto(2,1.5). "
            + words.PUBLIC["ranges"],
        )
    return text


def _contexts_section(base: Experiment) -> str:
    """Users with features, as text; a data set is too long for that and stays as it is."""
    assert base.contexts is not None
    text = notation.write_contexts(base.contexts)
    with st.expander(f"Users with features · {words.arms_summary(state.experiment())}", key=state.key("arms-section")):
        if isinstance(base.contexts.law, Table):
            st.caption(f"{len(base.contexts.law.rows):,} rows of a data set. Load another spec to change them.")
            return text
        return st.text_area(
            "Features, arms, distribution and link",
            text,
            key=state.key("contexts"),
            help="single (one parameter, a context for each arm) or multi (a parameter for each arm); features, arms, "
            "law of the contexts (" + ", ".join(name for name in CONTEXTS if name != "table") + "), link, noise. "
            "Example: single(2, 10, margin(0.5), link=logistic).",
        )


def _arms_words(base: Experiment) -> str:
    experiment = state.experiment()
    if st.session_state.get("arms-as-table"):
        return words.arms_summary(experiment)
    try:
        text = state.current("arms", notation.write_arms(base.arms))
        experiment = Experiment.model_validate({"arms": notation.read_arms(text), "lines": [{"policy": "ucb"}]})
    except InputError:  # told below, with everything else that is not valid yet
        pass
    return words.arms_summary(experiment)


def _arms_table(base: Experiment) -> str:
    rows = [
        {
            "law": arm.kind,
            "numbers": notation.write_arms([arm.single]).partition("(")[2].rstrip(")"),
            "count": arm.count,
        }
        for arm in base.arms
    ]
    for row, arm in zip(rows, base.arms, strict=True):
        if arm.kind == "bernoulli":
            row["numbers"] = notation.write_arms([arm.single])
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
    filled = edited.dropna()
    return ", ".join(f"{row.law}({row.numbers}) x{int(row[2])}" for row in filled.itertuples(index=False))


def _budget_section(base: Experiment) -> tuple[str, DeltaGenerator]:
    """The shared budget as text, and the place for a picture of it."""
    text = line_cards.shared_text(base)
    distribution = notation.read_epsilon(text)
    following, private = line_cards.followers(base)
    distributions = {kind: BUDGETS[kind].words for kind in BUDGETS}
    with st.expander(f"Privacy budget · {_budget_words(distribution)}", expanded=True, key=state.key("budget-section")):
        kind = st.selectbox(
            "Users' budget ε is",
            list(distributions),
            list(distributions).index(distribution["kind"]),
            format_func=distributions.__getitem__,
            key=state.key("budget-kind"),
            help=f"One budget for everybody, or a distribution of budgets over users. {words.PUBLIC['budgets']}",
        )
        if kind == "fixed":
            value = distribution["value"] if distribution["kind"] == "fixed" else 1.0
            epsilon = _slider(
                "ε: ← more private · less regret →",
                epsilon_grid.EPSILONS,
                value,
                "epsilon",
                "The privacy budget in nats: how much one answer may change an observer's belief.",
                lambda value: f"{value:g}",
                disabled=private > 0 and not following,
            )
            st.caption(
                "  \n".join(text for text in (words.odds(epsilon), line_cards.moves(following, private)) if text)
            )
            return f"{epsilon!r}", st.container()
        written = st.text_input(
            "Distribution of ε over users",
            text if distribution["kind"] == kind else BUDGETS[kind].example,
            key=state.key(f"budget-{kind}"),
            help=f"For example {BUDGETS[kind].example}. Users with ε = 0 share nothing. {words.PUBLIC['budgets']}",
        )
        return written, st.container()


def _budget_picture(written: str, experiment: Experiment) -> None:
    """How the shared budget is spread, with the threshold of the first policy that ignores some of it."""
    distribution = notation.read_epsilon(written)
    drawn = BUDGETS[distribution["kind"]].model_validate(distribution)
    if drawn.fixed is not None:
        return
    thresholds = [
        instance.parameters.eps_min
        for instance in experiment.setups
        if hasattr(instance.parameters, "eps_min") and instance.epsilon == drawn
    ]
    st.plotly_chart(
        charts.density_chart(drawn, thresholds[0] if thresholds else None, theme.is_dark()),
        key=state.key("budget-picture"),
        config={"displayModeBar": False},
        alt=charts.read_users_aloud(drawn, thresholds[0] if thresholds else None),
    )
    if thresholds:
        st.caption(
            f"{1 - drawn.share_above(thresholds[0]):.0%} of users are below ε_min = {words.number(thresholds[0])}."
        )


def _budget_words(distribution: dict[str, Any]) -> str:
    kind = state.current("budget-kind", distribution["kind"])
    if kind == "fixed":
        return f"ε = {state.current('epsilon', distribution['value'] if distribution['kind'] == 'fixed' else 1.0):g}"
    return str(BUDGETS[kind].words)


def _lines_section(base: Experiment, shared: str) -> list[dict[str, Any]]:
    setting = "arms" if base.contexts is None else "contexts"
    rows: list[int] = st.session_state["line-rows"]
    added: dict[int, str] = st.session_state["added-lines"]
    st.markdown(f"**Policies** · {len(rows)} compared")
    lines = [line_cards.card(base, row, shared) for row in list(rows)]

    def add() -> None:
        name = st.session_state[state.key("add")]
        if name:
            row = max([*rows, *added, len(base.lines) - 1]) + 1
            added[row] = name
            rows.append(row)
            st.session_state[state.key("add")] = None

    st.selectbox(
        "Add a policy",
        [name for name, policy in registry().items() if policy.setting == setting],
        index=None,
        placeholder="add a policy …",
        format_func=lambda name: f"{theme.TRUST_SIGNS[registry()[name].privacy]} {registry()[name].title}",
        key=state.key("add"),
        on_change=add,
        help="● nobody is trusted (local DP)   ■ a curator is trusted (central DP)   – no privacy",
        label_visibility="collapsed",
    )
    return lines


def _size_section(base: Experiment) -> dict[str, Any]:
    users, runs = (words.count(state.current(name, getattr(base, name))) for name in ("horizon", "trials"))
    with st.expander(f"Size · {users} users, {runs} trials", key=state.key("size-section")):
        horizon = _slider(
            "Users (horizon)",
            HORIZONS,
            base.horizon,
            "horizon",
            f"How many users arrive in one run. {words.PUBLIC['horizon']}",
            words.count,
        )
        trials = _slider(
            "Trials", TRIALS, base.trials, "trials", "Independent runs; more of them narrow the error.", words.count
        )
        seed = st.number_input(
            "Seed",
            0,
            2**53 - 1,
            base.seed,
            key=state.key("seed"),
            help="The same seed gives the same numbers, bit for bit.",
        )
    return {"horizon": horizon, "trials": trials, "seed": int(seed)}


def _hidden_lines(labels: list[str]) -> list[int]:
    """Which lines are not drawn; remembered by row, so that adding, removing or renaming another line keeps it."""
    rows: list[int] = st.session_state["line-rows"]
    if len(set(labels)) < len(labels):
        labels = [f"{place}: {label}" for place, label in enumerate(labels, 1)]
    key = state.key(f"visible {rows} {labels}")
    if key not in st.session_state:
        st.session_state[key] = [row for row in rows if row not in st.session_state["hidden-rows"]]
    shown = st.multiselect(
        "Visible lines",
        rows,
        format_func=lambda row: labels[rows.index(row)],
        key=key,
        help="Which lines are drawn.",
    )
    st.session_state["hidden-rows"] = {row for row in rows if row not in shown}
    return [place for place, row in enumerate(rows) if row not in shown]


def _view_section(base: Experiment, labels: list[str]) -> dict[str, Any]:
    view = base.view
    with st.expander("View", key=state.key("view-section")):
        quantities = list(QUANTITY_WORDS)
        quantity = st.selectbox(
            "Vertical axis",
            quantities,
            quantities.index(view.quantity),
            format_func=QUANTITY_WORDS.__getitem__,
            key=state.key("quantity"),
            help="Regret, regret / ln t (flat when optimal), regret per user, or the price of privacy.",
        )
        against = st.selectbox(
            "Price compares with",
            list(words.AGAINST_WORDS),
            list(words.AGAINST_WORDS).index(view.against),
            format_func=words.AGAINST_WORDS.__getitem__,
            key=state.key("against"),
            help="A method's price is its regret relative to the same method without privacy, which is played along "
            "where it is not shown; or relative to whatever is best of those shown without privacy.",
        )
        axes = ["linear", "log"]
        x = st.segmented_control(
            "Users axis", axes, default=view.x, required=True, key=state.key("x"), help="Scale of the horizontal axis."
        )
        y = st.segmented_control(
            "Regret axis", axes, default=view.y, required=True, key=state.key("y"), help="Scale of the vertical axis."
        )
        bands: list[Band] = list(words.BAND_WORDS)
        band = st.selectbox(
            "Band",
            bands,
            bands.index(view.band),
            format_func=lambda kind: words.sentence(f"{words.BAND_WORDS[kind]} the runs"),
            key=state.key("band"),
            help="What is shaded around a mean. It shows how runs differ, not how well the mean is known.",
        )
        bounds = st.toggle(
            "Bounds",
            view.bounds,
            key=state.key("bounds"),
            help="Limits that hold at every number of users: ↓ what every policy loses at least, ↑ what a policy loses "
            "at most. A dotted slope is drawn only where the curve has reached it.",
        )
        worst = st.toggle(
            "Worst-case bounds",
            view.worst_case,
            key=state.key("worst"),
            help="Also bounds that speak of the hardest arms there are, not of these: a curve may lie below.",
        )
        shapes = st.toggle(
            "Slopes and shapes",
            view.shapes,
            key=state.key("shapes"),
            help="Also what is no limit at any one number of users: slopes that hold in the long run only, and shapes "
            "whose constant is not known. Curves may lie on either side.",
        )
        runs = st.toggle(
            "20 sample runs", view.runs, key=state.key("runs"), help="Single runs, to see what the band hides."
        )
        hidden = _hidden_lines(labels)
    return {
        "x": x,
        "y": y,
        "quantity": quantity,
        "band": band,
        "bounds": bounds,
        "worst_case": worst,
        "shapes": shapes,
        "runs": runs,
        "hidden": hidden,
        "against": against,
    }


@cache
def _opening() -> Experiment:
    """What an empty address opens."""
    return links.read({})[0]


def _foot() -> DeltaGenerator:
    """Spec, reset and upload; returns the place for the links, which wait for the page's own fields."""
    now = state.experiment()
    place = st.container()
    left, right = st.columns(2)
    left.download_button(
        "Spec",
        data=lambda: json.dumps(now.spec(), indent=2),
        file_name="experiment.json",
        mime="application/json",
        on_click="ignore",
        help="The whole experiment as a JSON document.",
        width="stretch",
    )
    right.button(
        "Reset", on_click=state.adopt, args=(_opening(),), help="Back to the opening picture.", width="stretch"
    )
    upload = st.file_uploader(
        "Open a spec",
        type=["json", "toml"],
        key=state.key("upload"),
        help="A spec saved here before (JSON or TOML).",
        max_upload_size=SPEC_MEGABYTES,
    )
    if upload is not None and st.button(
        "Load this spec", help="Replace the experiment by the uploaded one.", key=state.key("load")
    ):
        try:
            if upload.size > SPEC_MEGABYTES * 2**20:  # the widget's own limit holds in the browser only
                told = f"at most {SPEC_MEGABYTES} MB; this page is not for data"
                raise InputError([Issue("spec", f"{upload.size / 2**20:.1f} MB", told)])
            form: Literal["json", "toml"] = "toml" if upload.name.lower().endswith(".toml") else "json"
            with render_lock.computing():
                experiment = parse(upload.getvalue().decode("utf-8", "replace"), form, upload.name)
            state.adopt(experiment, own_file=True)
            st.rerun()
        except InputError as error:
            _show_problems("This file is not a valid spec:", error)
    return place


def _show_problems(head: str, error: InputError) -> None:
    st.error(f"{words.plain(head)}\n{words.issues(error.issues)}")


def _read(setting: str, users: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Arms (or contexts) and lines as documents; every text that cannot be read is told at once."""
    document: dict[str, Any] = {"lines": [dict(line) for line in lines]}
    issues: list[Issue] = []
    try:
        document[setting] = notation.read_arms(users) if setting == "arms" else notation.read_contexts(users)
    except InputError as error:
        issues += error.issues
    for place, line in enumerate(document["lines"]):
        if "epsilon" in line:
            try:
                line["epsilon"] = notation.read_epsilon(line["epsilon"])
            except InputError as error:
                issues += [Issue(f"lines[{place}].epsilon", item.value, item.allowed) for item in error.issues]
    if issues:
        raise InputError(issues)
    return document


def draw() -> DeltaGenerator:
    """Draw the sidebar and commit what it says; what is not valid is told and changes nothing.

    Returns the place for the links to this picture.

    Every widget is drawn, whatever the others say: a widget that is not drawn would forget its value.
    """
    base = state.base()
    wrong: InputError | None = None
    with st.sidebar:
        _preset_section()
        setting = "arms" if base.contexts is None else "contexts"
        users = _arms_section(base) if base.contexts is None else _contexts_section(base)
        shared, picture = _budget_section(base)
        lines = _lines_section(base, shared)
        size = _size_section(base)
        try:
            experiment = base.with_changes(**_read(setting, users, lines), **size, view={})
            labels = [experiment.label(number) for number in range(len(lines))]
            with picture:
                _budget_picture(shared, experiment)
        except InputError as error:
            wrong = error
            labels = [line.get("label") or registry()[line["policy"]].title for line in lines]
        view = _view_section(base, labels)
        if wrong is None:
            state.commit(experiment.model_copy(update={"view": View.model_validate(view)}))
        else:
            _show_problems("Not drawn yet:", wrong)
        place = _foot()
    if wrong is not None:
        _show_problems("The sidebar asks for something that cannot be drawn; below is the last valid picture.", wrong)
    return place
