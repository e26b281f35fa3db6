"""Mechanisms: what the server sees, how little it tells, and an audit that anyone can run."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import page_frame, watch
from ui.mechanisms import answer, audit, batch, guess, sums
from ui.menu import Page
from ui.page_fields import Fields

PAGE = Page(
    title="Mechanisms",
    icon="casino",
    place=7,
    section="Reference",
    fields="part mech with eps x1 x2 delta d upto answers round subject samples sure draw run sums count at crowd "
    "users",
)
page_frame.enter()

st.title("What does the server see?")
st.markdown(
    "Privacy comes from noise that is added **before** anybody looks. A mechanism is the recipe for it. It is private "
    "when two people with different secrets send answers that look almost alike: the two distributions of what the "
    "server sees overlap, and **their log ratio stays between the lines at −ε and ε**."
)
fields = Fields(answer.DEFAULTS)
part = answer.part_control(fields)
if part == "answers":
    chosen = answer.choice(fields)
    answer.densities(chosen)
    answer.stream(chosen)
    watch.learner(chosen.shown[0].name, chosen.epsilon, "mechanisms-watch")
    answer.cost(chosen)
    answer.promise(chosen)
    answer.facts([one.told for one in chosen.shown])
    answer.building(chosen)
elif part == "batch":
    batch.draw(fields)
elif part == "sums":
    sums.draw(fields)
elif part == "guess":
    guess.draw(fields)
else:
    audit.draw(fields)
answer.public()
fields.tell()
