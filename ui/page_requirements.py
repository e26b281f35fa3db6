"""The kinds of experiment that pages are about: what an experiment lacks to be of one, and an example of each.

A page that is about another kind than the visitor's own experiment shows the example in the same sidebar, and the
visitor's own is kept for the other pages; so each page has one experiment and one set of controls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments.presets import load_preset
from bandit_core.spec import notation
from bandit_core.spec.errors import Issue
from bandit_core.studies.tradeoff import levels
from ui import menu, page_links, state, words
from ui.contextual import view as contextual
from ui.heavy_tails import view as heavy

Reading = tuple[Experiment, list[Issue]]


@dataclass(frozen=True)
class Kind:
    """One kind; ``example`` is a preset, for ``users`` with other budgets where it says so; ``old`` reads the fields
    that a page of this kind wrote once.
    """

    lacks: Callable[[Experiment], str]
    example: str
    old: Callable[[dict[str, str]], Reading] | None = None
    users: str = ""

    @property
    def opening(self) -> Experiment:
        """The example."""
        preset = load_preset(self.example)
        return with_users(preset, self.users) if self.users else preset


def with_users(experiment: Experiment, text: str) -> Experiment:
    """The experiment with this budget for every line that takes one, and the threshold chosen automatically."""
    document = experiment.spec() | {"note": ""}  # which may speak of the budgets
    for line, stated in zip(document["lines"], experiment.lines, strict=True):
        if stated.entry.epsilon == "any":
            line["epsilon"] = notation.read_epsilon(text)
            line.pop("params", None)
            line.pop("label", None)
    return Experiment.model_validate(document)


def _without_arms(experiment: Experiment) -> str:
    return "options that are the same for every user" if experiment.contexts is not None else ""


def _people_again(experiment: Experiment) -> str:
    """What pages lack words for: a budget that is spent in parts."""
    return "one visit of each person" if experiment.visits > 1 else ""


def _usual(experiment: Experiment) -> str:
    return _people_again(experiment) or (
        "" if experiment.feedback.immediate else "feedback before the next user arrives"
    )


def _priced(experiment: Experiment) -> str:
    private = any(line.epsilon is not None for line in experiment.lines)
    return _without_arms(experiment) or ("" if private else "a private policy")


def _robust(experiment: Experiment) -> str:
    made = any(line.policy in heavy.EPOCHS for line in experiment.lines)
    lack = "" if made else "DPRSE or LDPRSE, the private policies for heavy tails"
    return _without_arms(experiment) or lack or _usual(experiment)


def _features(experiment: Experiment) -> str:
    return "" if experiment.contexts is not None else "users with features"


def _spread(experiment: Experiment) -> str:
    spread = any(line.epsilon is not None and line.epsilon.fixed is None for line in experiment.lines)
    return (
        _without_arms(experiment)
        or ("" if spread else "budgets that differ from user to user")
        or _people_again(experiment)
    )


def _trusted(experiment: Experiment) -> str:
    return "" if len(levels(experiment)) > 2 else "policies at three privacy levels"


KINDS = {
    "any": Kind(lambda _: "", "default"),
    "usual": Kind(_usual, "default"),
    "priced": Kind(_priced, "default"),
    "robust": Kind(_robust, "wild-rewards", heavy.of_fields),
    "features": Kind(_features, "trust-with-features", contextual.of_fields),
    "trusted": Kind(_trusted, "trust-ladder"),
    "spread": Kind(_spread, "own-budgets", users="uniform(0, 2)"),
}


def settle(page: menu.Page) -> None:
    """Show on ``page`` the visitor's own experiment or, where that is of another kind, an example."""
    kind = KINDS[page.shows]
    state.show(page.shows, kind.lacks, lambda: kind.opening)


def reset(page: menu.Page) -> None:
    """Callback: back to the page's opening picture, or to its example as it is shipped."""
    if state.example_of():
        state.adopt(KINDS[page.shows].opening)
    else:
        state.open_own(load_preset(page.opens or "default"))


def tell() -> None:
    """Where the sidebar edits an example: that it is one, and the way back to one's own experiment."""
    kind = state.example_of()
    if not kind or not state.is_chosen():
        return
    own = state.own_experiment()
    with st.container(border=True):
        st.caption(
            f"This page needs {KINDS[kind].lacks(own)}, so it uses an example. Your settings are saved: "
            f"{words.plain(words.heading(own)[0])} ({words.summary(own)})."
        )
        st.page_link(page_links.to("explore"), label="Back to your experiment", icon=":material/arrow_back:")
        st.button(
            "Use this example on all pages",
            key=state.key("keep-example"),
            on_click=state.keep_example,
            help="All pages then show this example.",
            width="stretch",
        )
