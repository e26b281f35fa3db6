"""Your numbers: what would privacy cost with a practitioner's own options, in their own unit?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import build_view, exports, figures, page_frame, shared, theme
from ui.menu import Page
from ui.your_numbers import address, answers, drawing, inputs, until

PAGE = Page(
    title="Your numbers",
    icon="calculate",
    place=0.7,
    section="",
    fields="as base lifts by least most users unit eps goal limit search delta power rule epsl epsc",
)
page_frame.enter()

st.title("What would privacy cost with your numbers?")
st.markdown(
    "You try several options on users and want to find the best one. Privacy hides each user's answer in noise, so "
    "more users get a worse option until the best one is found. How much does that cost?"
)
address.open_link()
asked = inputs.options()
if asked is None:
    page_frame.leave()
chosen = inputs.setting(asked)
if chosen is None:
    page_frame.leave()
question = inputs.question_of(asked, chosen)

st.subheader("The price")
store = inputs.store() if inputs.is_private(asked, chosen) else None
decision = drawing.decided(question, store)
if decision is None:
    st.info("No answer yet: the search for the best method of each trust model is going on, or waits for Run.")
    page_frame.leave()
answer = answers.reply(asked, chosen, question, decision)
st.markdown(shared.of_controls("own-verdict", answer.content, lambda: answers.verdict(answer), answer.private))
drawing.cards(answer)
drawing.methods(answer)
dark = theme.is_dark()
picture = shared.figure(
    "own",
    (answer.content, dark),
    lambda: drawing.chart(answer, answer.result, dark),
    lambda _: answers.describe(answer),
    own=store is not None,
)
figures.show(picture, "own-chart")
st.caption(f"Shaded: middle 90 % of {question.reported} runs, which shows how far a single roll-out may differ.")
drawn = exports.telling(
    lambda: drawing.chart(answer, answer.result, False), lambda: exports.made(answer.result), store is not None
)
figures.fold_for_print(drawn, "price-of-privacy")
decision_times = until.until_when(answer, store)
found = drawing.search(answer, store)
drawing.take_away(answer, found, decision_times)
fold = st.expander("If you build this", key="own-build", on_change="rerun")
if fold.open:
    with fold:
        build_view.draw(answer.experiment, "own-build")
drawing.explanation(answer)
