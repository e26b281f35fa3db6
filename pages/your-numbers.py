"""Your numbers: what would privacy cost with a practitioner's own options, in their own unit?"""

import ui.opening  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import charts, runner, shell, theme
from ui.your_numbers import asking, drawing, replying

shell.enter()

st.title("What would privacy cost with your numbers?")
st.markdown(
    "You try several options on users and want to find the best one. Privacy hides each user's answer in noise, so "
    "more users get a worse option before the best one is found. How much is lost?"
)
asking.open_link()
asked = asking.options()
if asked is None:
    shell.leave()
chosen = asking.setting(asked)
if chosen is None:
    shell.leave()
experiment = asking.experiment_of(asked, chosen)
if experiment is None:
    shell.leave()

st.subheader("The price")
store = asking.store() if asking.is_private(asked, chosen) else None
result = runner.result_of(experiment, "own", store)
if result is None or any(line is None for line in result.lines):
    st.info("Nothing computed yet. Press Run, or choose fewer users.")
    shell.leave()
answer = replying.reply(asked, chosen, result)
st.markdown(replying.verdict(answer))
drawing.cards(answer)
st.plotly_chart(
    drawing.chart(answer, result, theme.is_dark()),
    config=charts.CONFIG,
    key="own-chart",
    alt=replying.describe(answer),
)
st.caption(f"Shaded: middle 90 % of {experiment.trials} runs, that is what a single roll-out may look like.")
found = drawing.search(answer, store)
drawing.take_away(answer, found)
drawing.explanation(answer)
