"""A box for each line: policy, parameters, label; and the budget that private lines share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import streamlit as st
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, InputError
from bandit_core.experiments import trust_table
from bandit_core.experiments.experiment import Line, is_stale
from bandit_core.experiments.presets import follows, moved, shared_budget
from bandit_core.model import Policy
from bandit_core.policies import registry
from bandit_core.policies.visits import part_of_one
from bandit_core.spec import notation, number_text
from bandit_core.spec.budgets import DISTRIBUTIONS as BUDGETS
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.errors import Issue
from bandit_core.spec.number_text import percent
from ui import charts, epsilon_grid, figures, menu, page_fields, state, theme, words
from ui.page_fields import Field
from ui.uploads import Problems

# ---------------------------------------------------------------------------------------------------------------------
# The sidebar's boxes, one per line: policy, own budget, parameters, label.


def shared(base: Experiment) -> BudgetDistribution:
    """The first value of the budget's section: the shared budget, else that of the first private line, else 1."""
    budgets = (each for each in (shared_budget(base), *(line.epsilon for line in base.lines)) if each is not None)
    return next(budgets, None) or BUDGETS["fixed"].model_validate({"kind": "fixed", "value": 1.0})


def _own_budget(base: Experiment, row: int) -> str:
    """A line's own budget as text, when it is first drawn; empty if it follows the shared one."""
    distribution, shared = (base.lines[row].epsilon if row < len(base.lines) else None), shared_budget(base)
    return (
        ""
        if distribution is None or (shared is not None and follows(distribution, shared))
        else notation.write_epsilon(distribution)
    )


def takes_distribution(base: Experiment) -> bool:
    """Whether any policy allows different budgets."""
    rows, added = state.memory()["line-rows"], state.memory()["added-lines"]
    return any(registry()[added[row] if row in added else base.lines[row].policy].epsilon == "any" for row in rows)


def followers(base: Experiment) -> tuple[int, int]:
    """The number of private lines without a budget of their own, and of all private lines."""
    rows, added = state.memory()["line-rows"], state.memory()["added-lines"]
    policies = {row: added[row] if row in added else base.lines[row].policy for row in rows}
    private = [row for row, name in policies.items() if registry()[name].epsilon != "none"]
    return sum(not state.current(f"own-{row}", _own_budget(base, row)) for row in private), len(private)


def moves(following: int, private: int) -> str:
    """Which lines the slider moves."""
    if not private:
        return "No policy here is private."
    if not following:
        return "Every private policy has its own budget, in its box in the sidebar. A new policy gets this one."
    return "" if following == private else f"For {following} of {private} private policies. The others have their own."


@cache
def _schema(parameters: type[BaseModel]) -> dict[str, Any]:
    """What a policy's parameters may be, by name."""
    fields: dict[str, Any] = parameters.model_json_schema()["properties"]
    return fields


def _stated(value: Any) -> Any:
    """A parameter's value as its text field shows it."""
    return value if isinstance(value, str) else number_text.write_number(value)


def _field(policy: Policy, name: str) -> Field:
    """The control of one parameter of a policy."""
    said_out_loud = {"eps_min": words.PUBLIC["eps_min"], "u": words.PUBLIC["moments"]}.get(name, "")
    help = f"{policy.parameters.model_fields[name].description or ''} {said_out_loud}".strip()
    schema = _schema(policy.parameters)[name]
    kind: Any = "box" if "enum" in schema else "switch" if schema.get("type") == "boolean" else "text"
    return Field(name, name.replace("_", " "), None, help, kind, schema.get("enum", ()))


def _parameter(policy: Policy, name: str, field: FieldInfo, value: Any, slot: str) -> Any:
    """The value of a parameter's control; None stands for the default."""
    schema = _schema(policy.parameters)[name]
    if "enum" in schema or schema.get("type") == "boolean":  # also before there is a control: of the value's own type
        said = state.current(slot, value)
        return None if said == field.default else said
    text = str(state.current(slot, _stated(value))).strip()
    if text == str(field.default) or not text:
        return None
    try:
        number = float(text)
    except ValueError:
        return text
    if schema.get("type") == "integer" and number.is_integer():
        number = int(number)
    return None if number == field.default else number


def _parameters(policy: Policy, stated: dict[str, Any], row: int) -> dict[str, Any]:
    """The parameters of a policy that differ from their defaults."""
    params = {}
    for name, field in policy.parameters.model_fields.items():
        value = _parameter(policy, name, field, stated.get(name, field.default), f"{name}-{row}")
        if value is None and name in stated and stated[name] == field.default:
            value = stated[name]  # a preset may state what is the default anyway
        if value is not None and _belongs(policy, stated, row, field):
            params[name] = value
    return params


def _belongs(policy: Policy, stated: dict[str, Any], row: int, field: FieldInfo) -> bool:
    """Whether a parameter has an effect beside the others: a delta needs a counter that has one."""
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    others: Any = extra.get("with", {})
    fields = policy.parameters.model_fields

    def says(other: str) -> Any:
        shown = stated.get(other, fields[other].default)
        value = _parameter(policy, other, fields[other], shown, f"{other}-{row}")
        return fields[other].default if value is None else value

    return all(says(other) == value for other, value in others.items())


def _followed(base: Experiment, row: int, shared: dict[str, Any]) -> dict[str, Any]:
    """The budget of a line that has none of its own, as a document."""
    distribution = base.lines[row].epsilon if row < len(base.lines) else None
    if distribution is None or _own_budget(base, row):
        return shared
    try:
        return moved(distribution, shared)
    except (InputError, ValidationError):  # told where it was written
        return shared


def _as_text(budget: dict[str, Any]) -> str:
    try:
        return notation.write_epsilon(BUDGETS[budget["kind"]].model_validate(budget))
    except ValidationError:  # told where it was written
        return ""


def _line_now(base: Experiment, row: int, shared: dict[str, Any]) -> dict[str, Any]:
    """A line as its controls say it, as a document.

    Raises
    ------
    InputError
        When its own budget cannot be read.
    """
    policy, stated, label = _line_before(base, row)
    line: dict[str, Any] = {"policy": policy.name}
    if policy.epsilon != "none":
        own = state.current(f"own-{row}", _own_budget(base, row)).strip()
        line["epsilon"] = notation.read_epsilon(own) if own else _followed(base, row, shared)
    if params := _parameters(policy, stated, row):
        line["params"] = params
    if label := state.current(f"label-{row}", label):
        line["label"] = label
    return line


def _matters(base: Experiment, row: int, shared: dict[str, Any], name: str, field: FieldInfo) -> bool:
    """Whether a parameter has an effect on this line: thresholds need different budgets, others a structure."""
    if isinstance(field.json_schema_extra, dict) and base.contexts is not None:
        return field.json_schema_extra.get("structure", base.contexts.structure) == base.contexts.structure
    return name != "eps_min" or _spread(base, row, shared)


def _spread(base: Experiment, row: int, shared: dict[str, Any]) -> bool:
    """Whether the users of a line have different budgets."""
    try:
        return bool(_line_now(base, row, shared).get("epsilon", {}).get("kind") != "fixed")
    except InputError:  # told where it was written
        return True


def documents(base: Experiment, shared: dict[str, Any], issues: list[Issue]) -> list[dict[str, Any]]:
    """All lines as their controls say them, drawn or not; appends what cannot be read to ``issues``."""
    lines = []
    for place, row in enumerate(state.memory()["line-rows"]):
        try:
            lines.append(_line_now(base, row, shared))
        except InputError as error:
            issues += [Issue(f"lines[{place}].epsilon", item.value, item.allowed) for item in error.issues]
            lines.append({"policy": _line_before(base, row)[0].name})
    return lines


def _line_before(base: Experiment, row: int) -> tuple[Policy, dict[str, Any], str]:
    """Policy, parameters and label of a line when it is first drawn."""
    added: dict[int, str] = state.memory()["added-lines"]
    if row in added:
        return registry()[added[row]], {}, ""
    line = base.lines[row]
    return line.entry, line.params, line.label or ""


def _called(base: Experiment, row: int, shared: dict[str, Any]) -> tuple[str, bool]:
    """A line's label with its blanks filled (empty without one), and whether it is out of date."""
    try:
        now = _line_now(base, row, shared)
        if "label" not in now:
            return "", False
        line = Line.model_validate(now)
        return line.written_label, is_stale(now["label"], line, base.lines)
    except (InputError, ValidationError):  # told with all the rest
        return str(state.current(f"label-{row}", "")), False


def card(base: Experiment, row: int, shared: dict[str, Any], with_own: bool, under: Callable[[str, str], None]) -> None:
    """The box of one line; `documents` reads what it says. ``under`` gets each part of the line below its control."""
    policy, stated, label = _line_before(base, row)
    own = _own_budget(base, row)
    called, stale = _called(base, row, shared)
    own_now = state.current(f"own-{row}", own)
    title = "" if stale else called
    title = title or policy.title + (f" · ε {own_now}" if own_now else "")
    named, drawn = f"{theme.TRUST_SIGNS[policy.privacy]} {words.plain(title)}", state.memory()["drawn-rows"]
    st.session_state[f"line-{row}"] = bool(st.session_state.get(f"line-{row}"))  # another title makes another box
    box = st.expander(named, key=f"line-{row}", on_change="rerun")
    under("", title)
    if not box.open and row not in drawn:  # the picture need not wait for what no one sees
        return
    drawn.add(row)  # from now on: a control that goes would forget what it says
    with box:
        st.caption(f"{policy.summary} {policy.guarantee_words[:1].upper()}{policy.guarantee_words[1:]}.")
        if policy.epsilon != "none" and with_own:
            st.text_input(
                "Own budget",
                own,
                key=state.key(f"own-{row}"),
                placeholder=f"shared: {_as_text(_followed(base, row, shared))}",
                help="Leave empty for the shared budget (if some users share nothing, that of the others). Examples: "
                "0.5, or discrete(0, 1, 2).",
            )
            if own_now:  # else it follows the shared budget, and this box may be closed
                under(".epsilon", f"{title}, own budget")
        for name, field in policy.parameters.model_fields.items():
            shown = name in stated or _matters(base, row, shared, name, field)
            if not shown or not _belongs(policy, stated, row, field):
                continue
            control, value = _field(policy, name), stated.get(name, field.default)
            page_fields.draw(control, _stated(value) if control.kind == "text" else value, state.key(f"{name}-{row}"))
            under(f".params.{name}", f"{title}, {name.replace('_', ' ')}")
        st.text_input(
            "Label",
            label,
            key=state.key(f"label-{row}"),
            max_chars=80,
            help="The name in the legend. {epsilon}, or a parameter's name in braces, stands for its value.",
        )
        under(".label", f"{title}, label")
        if stale:
            st.caption("This label has a number, and the policy has changed: it is not used. Write {epsilon} instead.")
        st.button(
            "Remove",
            key=state.key(f"remove-{row}"),
            on_click=lambda: state.memory()["line-rows"].remove(row),
            help="Remove this policy.",
            disabled=len(state.memory()["line-rows"]) == 1,
        )


def commit(said: Experiment) -> None:
    """Make this the current experiment. If the budget changes the methods, their boxes are redrawn."""
    followed = trust_table.followed(state.experiment(), said)
    if followed is not said:
        state.adopt(followed)
        st.rerun()
    state.commit(said)


# ---------------------------------------------------------------------------------------------------------------------
# The privacy budget that private lines share: its slider, on the page or in the sidebar, or its distribution.


SLIDER = replace(epsilon_grid.SLIDER, help="How much one answer may change what an observer believes.")


def epsilon_now(base: Experiment) -> float:
    """What the slider of ε says, also before it is drawn in this run."""
    opening = shared(base)
    return float(state.current("epsilon", 1.0 if opening.fixed is None else opening.fixed))


def epsilon_slider(base: Experiment) -> float:
    """The budget that private lines share, and what it means."""
    following, private = followers(base)
    opening = shared(base).fixed
    now = 1.0 if opening is None else opening
    epsilon: float = page_fields.draw(SLIDER, now, state.key("epsilon"), disabled=private > 0 and not following)
    visits = state.current("visits", base.visits)
    delta = state.current("visits_delta", base.visits_delta)
    part = f"Each of a person's {visits} answers may spend {part_of_one(epsilon, visits, delta):.4g}."
    part += f" The person's guarantee then has a δ, too: {number_text.write_number(delta)}." if delta > 0 else ""
    message = (words.odds(epsilon), "" if visits == 1 else part, moves(following, private))
    st.caption("  \n".join(filter(None, message)))
    return epsilon


def _kind_of_budget(base: Experiment) -> str:
    return str(state.current("budget-kind", shared(base).kind))


def epsilon_above() -> None:
    """The slider of ε on the page itself, where all users have the same budget; the sidebar has read it already."""
    base = state.base()
    if _kind_of_budget(base) == "fixed" and followers(base)[1]:
        epsilon_slider(base)


def draw(base: Experiment, issues: Problems, above: bool) -> tuple[dict[str, Any], DeltaGenerator]:
    """The shared budget as a document, and the place for a picture of it. ``above``: its slider is on the page."""
    opening = shared(base)
    other_kinds = takes_distribution(base)
    if above and _kind_of_budget(base) == "fixed" and not other_kinds:
        return {"kind": "fixed", "value": epsilon_now(base)}, st.container()
    kind = opening.kind
    if kind != "fixed" or other_kinds:  # else the other kinds lead to refusals only
        help = f"The same budget for everyone, or a distribution over users. {words.PUBLIC['budgets']}"
        names = {name: each.words for name, each in BUDGETS.items()}
        field = Field("budget", "Users' budget ε is", kind, help, "box", names)
        kind = page_fields.draw(field, kind, state.key("budget-kind"))
    if kind == "fixed":
        epsilon = epsilon_now(base) if above else epsilon_slider(base)
        return {"kind": "fixed", "value": epsilon}, st.container()
    written = st.text_input(
        "Distribution of ε over users",
        notation.write_epsilon(opening) if opening.kind == kind else BUDGETS[kind].example,
        key=state.key(f"budget-{kind}"),
        help=f"For example {BUDGETS[kind].example}. Users with ε = 0 share nothing. {words.PUBLIC['budgets']}",
    )
    issues.under("budget", "", "Distribution of ε over users")
    place = st.container()
    try:
        return notation.read_epsilon(written), place
    except InputError as error:
        issues += [replace(item, path=item.path.replace("epsilon", "budget", 1)) for item in error.issues]
        return opening.model_dump(mode="json"), place


def picture(distribution: dict[str, Any], experiment: Experiment) -> None:
    """How the shared budget is spread, with the threshold of the first policy that ignores some of it."""
    drawn = BUDGETS[distribution["kind"]].model_validate(distribution)
    if drawn.fixed is not None or menu.at(state.memory()["page"]).shows == "spread":  # which draws its users itself
        return
    found = [
        (number, setup.parameters.eps_min * setup.visits)  # of a person, as the distribution is
        for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True))
        if hasattr(setup.parameters, "eps_min") and line.epsilon == drawn
    ]
    number, threshold = found[0] if found else (0, None)
    make, alt = partial(charts.density_chart, drawn, threshold), partial(charts.read_users_aloud, drawn, threshold)
    key = state.key("budget-picture")
    figures.draw(key, experiment, make, alt, drawn, threshold, name="budget", config=figures.QUIET)
    if threshold is not None:
        st.caption(
            f"Dashed: ε_min = {words.number(threshold)}, the threshold of {words.called(experiment.label(number))}; "
            f"{percent(1 - drawn.share_above(threshold))} of the users are below it."
        )
