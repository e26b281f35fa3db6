"""Whatever stands in a link, a title, a label or a file: it is shown as text, told in words, and never a traceback."""

import re

import pytest
import screen as on
from extreme_links import extreme_links
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments import links
from ui import exports, menu, state, words

FIELDS = sorted(state.PASSED_OVER.union(*(f"{page.fields} {page.old_fields}".split() for page in menu.pages())))
BAD = ("", "nan", "-1", "1e300", "0", "[x](http://x)<b>", "9" * 400)
MARKUP = "<b>bold</b> **strong** [link](javascript:alert(1)) $x^2$ `code` :red[x] <img src=x onerror=alert(1)> &lt;"


NONSENSE = [(page, BAD[place % len(BAD)]) for place, page in enumerate(2 * on.PAGES) if page not in ("home", "explore")]


@pytest.mark.parametrize(("page", "value"), NONSENSE, ids=lambda value: repr(value)[:20])
def test_every_own_field_of_every_page_may_be_nonsense(page: str, value: str) -> None:
    screen = on.visit(page, **on.SMALL, **dict.fromkeys(FIELDS, value))
    for alert in (*screen.main.warning, *screen.main.error):
        assert "<b>" not in alert.value and "](" not in alert.value
    assert len(screen.title) == 1


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    page=st.sampled_from(on.PAGES),
    fields=st.dictionaries(st.sampled_from([*FIELDS, "preset", "arms", "lines", "x", "title"]), st.text(max_size=12)),
)
def test_any_text_in_any_field(page: str, fields: dict[str, str]) -> None:
    assert len(on.visit(page, **{**on.SMALL, **fields}).title) == 1


def shown(screen) -> list[str]:  # type: ignore[no-untyped-def]
    """Everything that goes through markdown."""
    kinds = ["title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success"]
    texts = [element.value for kind in kinds for element in getattr(screen, kind)]
    return texts + [element.label for element in (*screen.expander, *screen.checkbox)]


def drawn(page: str, link: dict[str, str]) -> AppTest:
    """A page of a link: never an error page, and what is wrong with the link is told in words."""
    screen = on.visit(page, **{**link, "T": "20", "n": "2"})
    assert len(screen.title) == 1
    _, problems = links.read({**link, "T": "20", "n": "2"})
    message = " ".join(alert.value for alert in screen.main.warning)
    assert all(words.plain(problem.path) in message for problem in problems[:3]), (problems, message)
    return screen


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(link=extreme_links())
def test_explore_shows_any_link_of_extreme_numbers(link: dict[str, str]) -> None:
    experiment, _ = links.read(link)
    drawn("explore" if experiment.contexts is None else "contextual", link)


@pytest.mark.parametrize("field", ["title", "note", "lines"])
def test_words_that_turn_the_direction_of_text_are_refused_on_the_page(field: str) -> None:
    text = "\u202e681" if field != "lines" else 'ucb(label="\u202e681"),kl-ucb'
    screen = on.visit("explore", **on.SMALL, **{field: text})
    assert any("U\\+202E" in alert.value and "formatting" in alert.value for alert in screen.main.warning)
    assert not any("\u202e" in text for text in shown(screen))


def active(text: str) -> bool:
    """Whether markdown would make anything of the marks in MARKUP."""
    return bool(re.search(r"(?<!\\)(<b>|<img|\]\(|\$x|`code|:red|&lt;)", text)) or "\\*\\*strong" not in text


# What the browser looks for in finished text, after markdown has taken every backslash away: addresses, e-mail, codes.
FOUND_LATER = re.compile(
    r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)|([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)|:[\w+-]+:|:material[/_]\w+:",
    re.IGNORECASE,
)
PIECES = [
    "http",
    "https",
    "://",
    ":",
    "www",
    "WWW",
    ".",
    "@",
    "evil",
    "example",
    "/",
    " ",
    "smile",
    "material/home",
    "a-b",
]


@settings(max_examples=300)
@given(text=st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_text_holds_what_a_browser_makes_a_link_or_a_sign_of(text: str) -> None:
    finished = re.sub(r"\\(.)", r"\1", words.plain(text))
    assert not FOUND_LATER.search(finished)
    # private: this is what is tested
    assert finished.replace(words._JOINER, "") == re.sub(r"\s+", " ", text)  # and it still reads the same


@pytest.mark.parametrize("page", ["explore", "tradeoff", "threshold", "theory"])
def test_words_of_a_link_are_marked_as_such_and_those_of_presets_are_not(page: str) -> None:
    def mark(**address: str) -> str:
        texts = [caption.value for caption in on.visit(page, **on.SMALL, **address).main.caption]
        return next((text for text in texts if "of this link" in text), "")

    plain = {"arms": "0.9,0.5", "lines": "ucb,heldp-ucb-b(discrete(0,1))"}
    assert mark(preset="shy-users") == mark(**plain) == ""
    assert "title" in mark(**plain, title="Mine") and "label" not in mark(**plain, title="Mine")
    assert "note" in mark(**plain, note="Mine")
    assert "label" in mark(arms="0.9,0.5", lines='ucb,heldp-ucb-b(discrete(0,1),label="Mine")')
    assert mark(**plain, title="Mine", controls="off")  # in a lesson, too


@pytest.mark.usefixtures("quick_answers")
def test_names_of_an_upload_are_shown_as_text() -> None:
    screen = on.visit("your-numbers", users="400")
    on.put(screen, next(group for group in screen.button_group if group.label == "Your options"), "upload")
    name = MARKUP.replace(",", "")[:56]
    rows = "".join(f"{int(row % 2 == 0)},{int(row % 3 == 0)}\n" for row in range(60))
    on.put(screen, screen.file_uploader(key="own-file"), ("<b>file</b>.csv", f"{name},B\n{rows}".encode(), "text/csv"))
    on.press(screen, next(button for button in screen.button if button.label == "Yes, read it so"))
    carrying = [text for text in shown(screen) if "strong" in text]
    assert carrying and [text for text in carrying if active(text)] == []
    for element in screen.get("plotly_chart"):
        assert "<b>bold" not in element.proto.spec


def test_exports_show_markup_as_text() -> None:
    document = load_preset("default").spec() | {"title": MARKUP, "note": MARKUP, "horizon": 200, "trials": 2}
    document["lines"][0]["label"] = MARKUP[:79]
    experiment = Experiment.model_validate(document)
    result = simulate(experiment)
    page = exports.page_of(result, exports.for_file(result, 640, True)())
    data = page[page.rindex("Plotly.newPlot") :]
    assert "<b>" not in data and "<img" not in data
    assert "<title>&lt;b&gt;bold" in page
    compile(exports.snippet(experiment), "snippet", "exec")


# ---------------------------------------------------------------------------------------------------------------
# What reaches everyone


def test_reading_aloud_tells_beginning_and_end_of_every_curve() -> None:
    screen = on.visit(arms="0.9,0.5", lines='ucb,heldp-ucb-b(1,label="a & b")', T="300", n="3")
    pulls = on.look(screen, "Pulls per arm").get_by_key("pulls").proto.alt
    assert re.search(r"UCB: [\d,.]+ at 0.9 bernoulli, [\d,.]+ at 0.5 bernoulli\.", pulls)  # a sentence is the form
    assert "a & b: " in pulls
    spent = on.look(screen, "Budget").get_by_key("budget").proto.alt
    assert re.search(r"a & b: from [\d.]+ at 1 to [\d.]+ at 300\.", spent)


def test_links_carry_what_the_page_itself_asks() -> None:
    screen = on.visit("heavy-tails", users="10000", rewards="100")
    link, embedded = (code.value for code in screen.sidebar.code)
    assert "/heavy-tails?" in link and "rewards=100" in link and "rewards=100" in embedded
    on.put(screen, screen.select_slider(key="heavy-n"), 1778)
    assert "rewards=1778" in screen.sidebar.code[0].value


def test_the_places_that_emit_html_are_counted(project) -> None:
    sources = [path.read_text() for folder in ("ui", "pages") for path in (project / folder).rglob("*.py")]
    calls = sum(len(re.findall(r"\bst\.html\(", source)) for source in sources)
    text = (project / "docs" / "security.md").read_text()
    assert calls == 7 and "seven places that emit HTML (`st.html`)" in text.replace("\n", " ")
    assert sum("unsafe_allow_html" in source for source in sources) == 0
