"""Your numbers: what would privacy cost with a practitioner's own options, in their own unit?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from ui import build_view, exports, figures, lab_parts, page_frame, shared
from ui.menu import Page
from ui.your_numbers import answers, drawing, inputs, planned, question

PAGE = Page(
    title="Your numbers",
    icon="calculate",
    place=0.7,
    section="",
    fields="as base lifts by least most users unit eps goal limit search delta power rule week list times night zone "
    "tests slack sale sd looks split sides trust",
    remembers=True,
)
page_frame.enter()

st.title("Your numbers: what would privacy cost?")
st.markdown("Privacy adds noise, so finding the best option takes longer.")
question.open_link()
asked = inputs.options()
if asked is None:
    page_frame.leave()
settled = inputs.setting(asked)
if settled is None:
    page_frame.leave()
chosen, advice = settled
contest = inputs.contest_of(asked, chosen)

chosen = planned.section(asked, chosen)
planned.fold(asked, chosen)
st.header("3. Learning while earning")
decision = drawing.decided(asked, chosen, contest)
price = drawing.known(asked, chosen, decision)
drawing.show_advice(advice, price, decision)
if decision is None:
    st.info("No answer yet: the search for the best method is going on, or waits for Run.")
    page_frame.leave()
answer = answers.reply(asked, chosen, contest, decision)
st.markdown(shared.once("own-verdict", answer.content, None, lambda: answers.verdict(answer)))
make = partial(answers.chart, answer)
figures.draw("own-chart", answer.content, make, partial(answers.describe, answer))
st.caption(f"Shaded: middle 90% of {answer.experiment.trials:,} runs: how far a single roll-out may differ.")
if decision.more:
    st.info("This is a first answer. More runs follow: numbers, errors and the best method may still change.")
    page_frame.leave()
drawing.methods(answer)
drawn = exports.telling(partial(make, False), lambda: exports.made(answer.result))
lab_parts.fold_for_print(drawn, "price-of-privacy")
price = drawing.side_by_side(asked, chosen, price)
found = drawing.search(answer)
drawing.take_away(answer, price, found)
lab_parts.fold("If you build this", "own-build", lambda: build_view.draw(answer.experiment, "own-build"))
lab_parts.fold("How is this computed?", "explanation", lambda: drawing.explanation(answer))
