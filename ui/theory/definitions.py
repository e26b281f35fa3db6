"""What the Theory page shows first: what "private" may mean."""

from __future__ import annotations

import streamlit as st

from bandit_core.model import MEASURES, Model
from bandit_core.theory.definitions import DEFINITIONS, IMPLICATIONS, NOT_IMPLIED
from ui import diagrams, page_fields
from ui.page_fields import Field

FIRST: Model = "central"


def choice() -> Model:
    """Which promise to look at; kept in the address."""
    names = {name: definition.title for name, definition in DEFINITIONS.items()}
    help = "What people mean when they call a learner private."
    chosen: Model = page_fields.ask(
        Field("promise", "Privacy guarantee", FIRST, help, "buttons", names, key="theory-promise")
    )
    return chosen


def pictures(chosen: Model, dark: bool) -> None:
    """The map of implications beside the graphical model of the chosen promise."""
    left, right = st.container(key="theory-pictures").columns(2)
    with left:
        st.markdown("**Which guarantee implies which**")
        st.image(diagrams.implications(chosen, dark), width=460, alt=diagrams.implications_in_words())
    with right:
        st.markdown(f"**{DEFINITIONS[chosen].title}**: dashed is hidden, filled is seen")
        st.image(diagrams.promise(chosen, dark), width=460, alt=diagrams.promise_in_words(chosen))


def in_words(chosen: Model) -> None:
    """The chosen promise in plain words and as a formula, and its arrows."""
    definition = DEFINITIONS[chosen]
    st.markdown(f"**{definition.title}.** {definition.says}")
    st.latex(definition.formula)
    st.markdown(
        f"- **Neighbours:** {definition.neighbouring}.\n"
        f"- **Trusted:** {definition.trusted}.\n"
        f"- **Seen:** {definition.seen}.\n"
        f"- **Example:** {definition.example}"
        + (f"\n- **Lower bounds:** {definition.lower}" if definition.lower else "")
    )
    with st.expander("Why these arrows, and why not others?"):
        arrows = [
            f"- **{DEFINITIONS[each.source].title} ⇒ {DEFINITIONS[each.target].title}** with {each.mark}: {each.why}"
            for each in IMPLICATIONS
        ]
        arrows += [
            f"- **{DEFINITIONS[first].title} ⇏ {DEFINITIONS[second].title}**: {why}"
            for first, second, why in NOT_IMPLIED
        ]
        st.markdown("\n".join(arrows))
        st.caption(
            "Instantaneous and environment privacy: Basu, Dimitrakakis and Tossou 2019. The budgets of the "
            "implications are derived here."
        )
    with st.expander("What units does a budget have?"):
        st.markdown(
            "\n".join(f"- **{measure.name}**, {measure.symbol}: {measure.says}" for measure in MEASURES.values())
            + "\n\nOne converts into another in one direction only: "
            + "; ".join(measure.conversion for measure in MEASURES.values() if measure.conversion)
            + "."
        )
