"""The privacy budget that private lines share: its slider, on the page or in the sidebar, or its distribution."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, InputError
from bandit_core.policies.visits import part_of_one
from bandit_core.spec import notation, number_text
from bandit_core.spec.budgets import DISTRIBUTIONS as BUDGETS
from bandit_core.spec.number_text import percent
from ui import charts, epsilon_grid, figures, menu, page_fields, policy_controls, state, words
from ui.page_fields import Field
from ui.problems import Problems

SLIDER = replace(epsilon_grid.SLIDER, help="How much one answer may change what an observer believes.")


def epsilon_now(base: Experiment) -> float:
    """What the slider of ε says, also before it is drawn in this run."""
    opening = policy_controls.shared(base)
    return float(state.current("epsilon", 1.0 if opening.fixed is None else opening.fixed))


def epsilon_slider(base: Experiment) -> float:
    """The budget that private lines share, and what it means."""
    following, private = policy_controls.followers(base)
    opening = policy_controls.shared(base).fixed
    now = 1.0 if opening is None else opening
    epsilon: float = page_fields.draw(SLIDER, now, state.key("epsilon"), disabled=private > 0 and not following)
    visits = state.current("visits", base.visits)
    delta = state.current("visits_delta", base.visits_delta)
    part = f"Each of a person's {visits} answers may spend {part_of_one(epsilon, visits, delta):.4g}."
    part += f" The person's guarantee then has a δ, too: {number_text.write_number(delta)}." if delta > 0 else ""
    message = (words.odds(epsilon), "" if visits == 1 else part, policy_controls.moves(following, private))
    st.caption("  \n".join(filter(None, message)))
    return epsilon


def _kind_of_budget(base: Experiment) -> str:
    return str(state.current("budget-kind", policy_controls.shared(base).kind))


def epsilon_above() -> None:
    """The slider of ε on the page itself, where all users have the same budget; the sidebar has read it already."""
    base = state.base()
    if _kind_of_budget(base) == "fixed" and policy_controls.followers(base)[1]:
        epsilon_slider(base)


def draw(base: Experiment, issues: Problems, above: bool) -> tuple[dict[str, Any], DeltaGenerator]:
    """The shared budget as a document, and the place for a picture of it. ``above``: its slider is on the page."""
    opening = policy_controls.shared(base)
    other_kinds = policy_controls.takes_distribution(base)
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
