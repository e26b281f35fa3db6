"""Mechanisms: what the server sees, how little it tells, and an audit that anyone can run."""

import ui.opening  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import audit_view, guess_view, mechanisms_view, shell, sums_view
from ui.page_fields import Fields

shell.enter()

st.title("What does the server see?")
st.markdown(
    "Privacy is noise that is added **before** anybody looks. A mechanism is the recipe for it. It is private when two "
    "people with different secrets would send almost the same: the two laws of what the server sees overlap, and "
    "**their log ratio stays under the line ε**."
)
fields = Fields(mechanisms_view.DEFAULTS)
part = mechanisms_view.part_control(fields)
if part == "answers":
    chosen = mechanisms_view.choice(fields)
    mechanisms_view.densities(chosen)
    mechanisms_view.stream(chosen)
    mechanisms_view.cost(chosen)
    mechanisms_view.promise(chosen)
    mechanisms_view.facts([one.told for one in chosen.shown])
elif part == "sums":
    sums_view.draw(fields)
elif part == "guess":
    guess_view.draw(fields)
else:
    audit_view.draw(fields)
fields.tell()
