"""What a visit tells others, and what a link made by others may do: nothing."""

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from visitor import Visitor

from ui.words import _JOINER as JOINER

Visits = Callable[..., Visitor]
SMALL = {"arms": "0.9,0.5", "T": "300", "n": "3"}
# Every way of markdown and of Streamlit to make something of a text; short, because a label has at most 80 characters.
HOSTILE = (
    "Log in at https://evil.example/login or http://evil.example",
    "www.evil.example and mailto:you@evil.example, you@evil.example",
    "[click](https://evil.example) <https://evil.example> ![x](//evil.example/x.png)",
    "<a href='//evil.example'>a</a> <img src=//evil.example/x> &lt;b&gt; <b>b</b>",
    "$x^2$ $$y$$ `code` **bold** _it_ ~~no~~ # head | :red[x] :blue-badge[y]",
    ":smile: :+1: :streamlit: :material/home: :material/lock: ftp://evil.example",
)
# Whatever is more than text: links and pictures of the other host, and marks that markdown or shortcodes would leave.
ACTIVE = """() => {
  const ends = e => ['href', 'src'].map(name => e.getAttribute(name) || '#');
  const foreign = e => ends(e).some(at => !at.startsWith('#') && /evil/.test(at));
  const found = [...document.querySelectorAll('a, img, area, form, iframe')].filter(foreign);
  const formulas = [...document.querySelectorAll('.katex annotation')].filter(e => /^(x.2|y)$/.test(e.textContent));
  const signs = [...document.querySelectorAll('del, [class*=stMarkdownColored], [class*=stMarkdownBadge], ' +
    'img[alt="Streamlit logo"], h1 em, h1 strong, h1 code, h1 b')];
  const icons = [...document.querySelectorAll('[aria-label="home icon"], [aria-label="lock icon"]')];
  return [...found, ...formulas, ...signs, ...icons].map(e => e.outerHTML.slice(0, 200));
}"""


def shown(visitor: Visitor) -> str:
    """All text of the page as one reads it."""
    text = visitor.tab.evaluate(
        "document.body.innerText + [...document.querySelectorAll('svg text')].map(e => e.textContent).join(' ')"
    )
    return " ".join(text.replace(JOINER, "").split())


def a_request_to_another_host_is_noticed(visitor: Visitor) -> None:
    """Every visit of every test fails on one; this shows that it would be seen."""
    visitor.tab.evaluate("document.head.insertAdjacentHTML('beforeend', '<link rel=icon href=//evil.example/i.png>')")
    with visitor.tab.expect_request("https://evil.example/x"):
        visitor.tab.evaluate("fetch('https://evil.example/x', {mode: 'no-cors'}).catch(() => 0)")
    assert any(address.startswith("https://evil.example/x") for address in visitor.foreign)
    visitor.foreign.clear()


@pytest.mark.parametrize("page", ["explore", "tradeoff"])
def test_the_words_of_a_link_stay_words(visits: Visits, page: str) -> None:
    labels = [text[:79].replace('"', "'").rstrip() for text in HOSTILE]
    lines = ",".join(["ucb", *(f'heldp-ucb-b({number + 1},label="{label}")' for number, label in enumerate(labels))])
    title, note = " ".join(HOSTILE[:2])[:120], " ".join(HOSTILE[2:])  # a longer title is refused
    visitor = visits(f"/{page}?" + urlencode({**SMALL, "title": title, "note": note, "lines": lines}))
    visitor.main().locator(".js-plotly-plot .main-svg").first.wait_for()
    visitor.open_controls()
    message = shown(visitor)
    assert "Written by the author of this link" in message
    assert [label for label in labels if label not in message] == []
    if page == "explore":
        assert title in message and note in message
    assert visitor.tab.evaluate(ACTIVE) == []
    assert "evil" not in visitor.tab.title()
    if page == "explore":  # the check sees what it looks for
        visitor.main().locator("h1").evaluate("e => e.innerHTML = '<a href=//evil.example>in</a> <code>c</code>'")
        assert len(visitor.tab.evaluate(ACTIVE)) == 2


def test_what_a_link_asks_wrongly_is_told_as_text(visits: Visits) -> None:
    visitor = visits("/mechanisms?" + urlencode({"part": HOSTILE[0], "mech": HOSTILE[2][:60], "eps": HOSTILE[5]}))
    visitor.sees("could not be used")
    assert "https://evil.example" in shown(visitor)
    assert visitor.tab.evaluate(ACTIVE) == []


def test_a_unit_of_a_link_stays_a_word_and_a_request_to_another_host_would_be_seen(visits: Visits) -> None:
    visitor = visits("/your-numbers?" + urlencode({"unit": "https://evil.example :smile:"}))
    visitor.sees("https://evil.example :smile:")  # in the sentence about losses, which comes last
    assert visitor.tab.evaluate(ACTIVE) == []
    a_request_to_another_host_is_noticed(visitor)
