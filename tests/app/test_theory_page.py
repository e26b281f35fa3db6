"""Theory, Errata and Glossary: what a reader chooses is what is shown, and every view is a link."""

import re
from itertools import pairwise

import numpy as np
import pytest
import screen as on

from bandit_core.experiments import catalogue
from bandit_core.experiments.presets import load_preset
from bandit_core.literature.erratum import KINDS
from bandit_core.literature.papers import errata
from bandit_core.model.policy import STATUS_WORDS, status_words
from bandit_core.theory.definitions import DEFINITIONS
from ui import diagrams, errata_view, glossary, menu

TRUST = {"preset": "trust", **on.SMALL}


def pictures(screen) -> list[str]:
    return [image.alt for element in screen.get("image") for image in element.proto.imgs]


def card(screen) -> str:
    """The formula of the open card."""
    return screen.latex[1].value


# --- promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", DEFINITIONS)
def test_a_promise_changes_picture_words_and_formula(promise: str) -> None:
    screen = on.visit("theory", promise=promise, **TRUST)
    definition = DEFINITIONS[promise]
    assert screen.latex[0].value.strip("$\n") == definition.formula
    assert definition.says in on.words(screen)
    assert definition.neighbouring in on.words(screen)
    the_map, model = pictures(screen)
    for strong, weak in pairwise(("Local", "Shuffle", "Distributed", "Central")):
        assert f"{strong} DP implies {weak} DP with ε" in the_map and f"{weak} DP implies {strong} DP" not in the_map
    assert model.startswith(definition.title) and definition.trusted in model


@pytest.mark.parametrize("dark", [False, True])
def test_drawings_differ_by_promise_and_mark_the_chosen_one(dark: bool) -> None:
    for draw in (diagrams.promise, diagrams.implications):
        drawn = {name: draw(name, dark) for name in DEFINITIONS}
        assert len(set(drawn.values())) == len(DEFINITIONS)
        assert all(svg.startswith("<svg") and svg.endswith("</svg>") for svg in drawn.values())
    assert "z<tspan" in diagrams.promise("local", dark)
    assert "z<tspan" not in diagrams.promise("central", dark)
    assert diagrams.promise("central", True) != diagrams.promise("central", False)


def test_the_promise_is_in_the_address() -> None:
    screen = on.visit("theory", **TRUST)
    on.put(screen, screen.button_group(key="theory-promise"), "environment")
    assert on.address(screen)["promise"] == "environment"
    assert DEFINITIONS["environment"].says in on.words(screen)


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_the_table_has_every_bound_and_filters_narrow_it() -> None:
    screen = on.opened("theory", **TRUST)
    screen.session_state["theory-bounds"] = True
    on.run(screen)
    whole, opened = screen.dataframe[0].value, card(screen)
    assert len(whole) == len(catalogue.entries(load_preset("trust")))
    assert {"proved", "derived", "as printed", "asymptotic", "order-only", "superseded"} == set(whole["status"])
    on.put(screen, screen.selectbox(key="theory-about"), "local")
    on.put(screen, screen.selectbox(key="theory-kind"), "minimax")
    part = screen.dataframe[0].value
    assert 0 < len(part) < len(whole)
    assert set(part["guarantee"]) == {"local DP"} and set(part["kind"]) == {"minimax"}
    assert on.address(screen)["about"] == "local" and on.address(screen)["kind"] == "minimax"
    again = on.visit("theory", about="local", kind="minimax", **TRUST)
    assert again.dataframe[0].value.equals(part) and card(again) == card(screen) != opened
    for name in ("about", "kind"):  # and back: the card that the filters had hidden
        on.put(screen, screen.selectbox(key=f"theory-{name}"), "all")
    assert card(screen) == opened and on.address(screen) == TRUST


def test_the_bounds_are_folded_until_they_are_asked_for() -> None:
    screen = on.visit("theory", **TRUST)
    assert not screen.dataframe and len(pictures(screen)) == 2
    assert on.visit("theory", kind="minimax", **TRUST).dataframe


def test_no_bound_with_all_three_properties_is_told() -> None:
    screen = on.visit("theory", about="environment", kind="Bayesian", **TRUST)
    assert not screen.dataframe and len(screen.info) == 1
    assert screen.get("page_link")  # the foot of the page is there all the same


@pytest.mark.parametrize("axis", ["users", "epsilon", "arms"])
def test_a_card_shows_formula_value_and_picture_of_the_bound(axis: str) -> None:
    key = "local-exact-ldp-bound-0-or-1"
    experiment = load_preset("trust").with_changes(horizon=400, trials=4)
    entry = {each.key: each for each in catalogue.entries(experiment)}[key]
    screen = on.visit("theory", bound=key, axis=axis, **TRUST)
    assert card(screen).strip("$\n") == entry.bound.formula
    message = on.words(screen)
    assert entry.bound.words in message and entry.bound.source in message and status_words(entry.bound) in message
    curve = on.chart(screen, "theory-chart")
    (trace,) = curve.traces
    values = on.chart(screen, "theory-chart").y(trace["name"])
    assert np.all(values[np.isfinite(values)] > 0)
    rising = np.diff(values[np.isfinite(values)])
    assert np.all(rising <= 1e-9) if axis == "epsilon" else np.all(rising >= -1e-9)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("ucb-ucb1", "lost rewards at most."),
        ("local-exact-ldp-bound-0-or-1", "holds only in the limit"),
        ("local-basu-theorem-1-0-1", "lost rewards at least, on the hardest arms."),
        ("dp-se-order-of-dp-se", "not a reliable limit"),
        ("local-floor-of-every-policy-any", "lost rewards at least."),
        ("local-floor-iii-learns-fast-any", "lost rewards at least, for policies that"),
    ],
)
def test_no_more_is_said_of_a_value_than_its_status_allows(key: str, said: str) -> None:
    """The wording is what is tested."""
    message = on.words(on.visit("theory", bound=key, **TRUST))
    assert said in message
    assert message.count("lost rewards at") == said.startswith("lost rewards")


@pytest.mark.parametrize("key", ["instantaneous-basu-theorem-2-any", "central-basu-theorem-3-any"])
def test_superseded_bounds_are_off_and_grey(key: str) -> None:
    screen = on.visit("theory", bound=key, **TRUST)
    assert "textcolor{gray}" in card(screen)
    assert any("DP-SE" in box.value for box in screen.info)
    assert not screen.get("plotly_chart")
    before = on.words(screen)
    on.put(screen, screen.toggle(key="theory-old"), True)
    assert on.address(screen)["old"] == "1"
    drawn = screen.get("plotly_chart")
    if "theorem-3" in key:  # its numbers are not known
        assert not drawn and on.words(screen) != before  # another reason
    else:
        (trace,) = on.chart(screen, "theory-chart").traces
        assert trace["line"]["color"] == "#8a949e"


def test_a_bound_that_does_not_apply_says_why() -> None:
    screen = on.visit("theory", bound="ldp-ols-theorem-3-1", **TRUST)
    assert any("features" in box.value for box in screen.info)
    screen = on.visit("theory", bound="ldp-ols-theorem-3-1", preset="han-single-quick", **on.SMALL)
    assert not any("features" in box.value for box in screen.info)
    assert screen.get("plotly_chart")


@pytest.mark.parametrize("field", ["promise", "about", "laws", "kind", "bound", "axis", "old"])
def test_a_wrong_field_is_told_and_the_default_stands_in(field: str) -> None:
    screen = on.visit("theory", **{field: "nonsense"}, **TRUST)
    assert any("nonsense" in box.value and field in box.value and len(box.value) < 400 for box in screen.warning)
    assert field not in on.address(screen)


# --- errata -----------------------------------------------------------------------------------------------------------


def test_every_erratum_is_listed_with_command_and_live_result() -> None:
    screen = on.visit("errata")
    message = on.words(screen)
    counts = {kind: sum(erratum.kind == kind for erratum in errata()) for kind in KINDS}
    assert f"**{counts['error']} of {counts['error']}** " in message
    assert f"**{counts['sharpening']}** " in message and f"**{counts['misprint']}** " in message
    codes = [block.value for block in screen.code]
    for erratum in errata():
        assert (erratum.command in codes) == (erratum.kind not in ("misprint", "withdrawn"))
        assert erratum.printed in message and erratum.corrected in message
    checked = [each.check() for each in errata() if each.evidence is not None]
    assert all(each.words.partition(": ")[2] in message for each in checked)
    assert sum(code.startswith("def ") for code in codes) == counts["error"] + counts["sharpening"] + counts["gap"]
    signs = [box.label.split(":")[1] for box in screen.expander if box.label.startswith(":material/")]
    assert signs.count("material/visibility") == counts["misprint"] + counts["withdrawn"]


def test_a_link_opens_one_paper_and_one_erratum() -> None:
    screen = on.visit("errata", paper="ren", erratum="ren-curator-3")
    opened = [box.label for box in screen.expander if box.proto.expanded]
    assert len(opened) == 1 and "check_circle" in opened[0] and "Curator 3" in opened[0]
    assert len(screen.header) == 3 and "Ren, " in screen.header[0].value
    apart = [errata_view.APART[kind] for kind in ("misprint", "withdrawn")]
    assert [title.value for title in screen.header[1:]] == apart
    on.put(screen, screen.selectbox(key="errata-paper"), "tao")
    assert on.address(screen)["paper"] == "tao"


def test_a_wrong_paper_is_told() -> None:
    screen = on.visit("errata", paper="nobody")
    assert any("nobody" in box.value for box in screen.warning)


# --- glossary ---------------------------------------------------------------------------------------------------------

REQUIRED = """arm, asymptotic, band, Bayesian, central DP, checkpoint, composition, context, delta, derived, epsilon,
environment privacy, eps_min, heavy tail, horizon, instantaneous DP, Laplace noise, local DP, lower bound, margin,
mechanism, minimax, neighbouring, order-only, policy, price of privacy, privacy budget, pseudo-regret, randomised
response, regret, sensitivity, shuffle DP, tree counter, trial, truncation, upper bound, V_L and V_B, distributed DP,
zCDP, approximate DP, UCB, Thompson sampling, curator, DP-IMED, TS-CF, HeLDP, CTB, no privacy"""


def test_the_glossary_has_the_words_of_the_field_once_and_in_plain_sentences() -> None:
    names = [name for term in glossary.terms() for name in (term.name, *term.other)]
    assert len(names) == len(set(names))
    names = [name.lower() for name in names]
    wanted = {word.strip().lower() for word in REQUIRED.replace("\n", " ").split(",")}
    assert wanted <= set(names)
    for term in glossary.terms():
        assert term.words.endswith(".") and len(term.words.split()) > 7, term.name
        assert (on.ROOT / "pages" / f"{term.page}.py").exists()


def test_statuses_and_kinds_of_bounds_are_in_the_glossary() -> None:
    names = {term.name.lower() for term in glossary.terms()}
    assert {*STATUS_WORDS, "problem-dependent", "minimax", "bayesian", "superseded"} <= names
    assert {definition.title.lower() for definition in DEFINITIONS.values()} <= names


def test_searching_the_glossary() -> None:
    screen = on.visit("glossary", term="ε")
    assert "**Privacy budget**" in on.words(screen) and "**Arm**" not in on.words(screen)
    on.put(screen, screen.text_input(key="glossary-term"), "flipped")
    assert "**Randomised response**" in on.words(screen)
    assert on.address(screen)["term"] == "flipped"
    on.put(screen, screen.text_input(key="glossary-term"), "xyzzy")
    assert "xyzzy" not in on.words(screen) and "**Arm**" not in on.words(screen) and len(screen.info) == 1


def test_pages_are_called_the_same_everywhere() -> None:
    """Menu and the table in the README use one name for a page."""
    rows = dict(re.findall(r"^\| ([\w -]+) `/([\w-]*)` \|", (on.ROOT / "README.md").read_text(), re.MULTILINE))
    assert {address: name for name, address in rows.items()} == {page.address: page.title for page in menu.pages()}
