"""Mechanisms: what the server sees, how little it reveals, and an audit that anyone can run."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import lab_parts, page_fields, page_frame, watch
from ui.mechanisms import answer, audit, batch, guess, sums
from ui.menu import Page

PAGE = Page(
    title="Mechanisms",
    icon="casino",
    place=7,
    section="Reference",
    fields="part mech with eps x1 x2 delta d upto answers round subject samples sure draw run sums count at crowd "
    "users",
)
page_frame.enter()

st.title("Mechanisms: what does the server see?")
st.markdown(
    "A mechanism adds noise **before** it shows anything. An answer is private at ε if **the log ratio of two inputs "
    "stays between −ε and ε**."
)
part = page_fields.ask(answer.FIELDS["part"], label_visibility="collapsed")
if part == "answers":
    opening = answer.opening()
    chosen = answer.choice(opening)
    with opening:
        answer.densities(chosen)
    lab_parts.fold("What the server sees of ten users, and of many", "mechanisms-stream", lambda: answer.stream(chosen))
    watch.learner(chosen.shown[0].name, chosen.epsilon, "mechanisms-watch")
    lab_parts.fold("What it costs", "mechanisms-cost", lambda: answer.cost(chosen))
    lab_parts.fold("Can the privacy loss exceed ε?", "mechanisms-loss", lambda: answer.promise(chosen))
    answer.facts([one.described for one in chosen.shown])
    lab_parts.fold("If you build this", "mechanisms-build", lambda: answer.building(chosen))
    answer.public()
elif part == "batch":
    batch.draw()
elif part == "sums":
    sums.draw()
elif part == "guess":
    guess.draw()
else:
    audit.draw()
