"""Every address that someone may follow into the lab, and what is looked at behind it."""

import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import TimeoutError
from visitor import HANGS, Visitor

from bandit_core.policies import registry
from ui import menu, page_requirements
from ui.learn import course, player

ROOT = Path(__file__).resolve().parents[2]
HOST = "http://localhost:8501"
ASKS = 3000  # milliseconds within which a control asks the server
TABS = 2  # while one page is drawn, the server computes the next one
# A page stands still: nothing runs or is computed, nothing waits to be drawn.
STILL = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  const drawn = node => { const box = node.getBoundingClientRect(); return box.width > 0 && box.height > 0 };
  const all = name => [...document.querySelectorAll(`[data-testid=${name}]`)].filter(drawn);
  const waits = all('stSkeleton').length
    || all('stProgress').some(bar => /computing|waiting/.test(bar.innerText))
    || all('stPlotlyChart').some(chart => !chart.querySelector('.main-svg'))
    || [...document.images].filter(drawn)
      .some(image => image.getBoundingClientRect().top < innerHeight && !image.complete);
  const still = app?.dataset.testScriptState === 'notRunning' && answered === asked
    && document.querySelector('[data-testid=stMain] h1') && !waits;
  window.still = still ? (window.still ?? 0) + 1 : 0;
  return window.still > 3 }"""
# What is wrong on a page, and what it shows: words without those of closed folds, numbers of charts, pictures.
LOOK = """() => {
  const all = (name, root = document) => [...root.querySelectorAll(name)];
  const main = document.querySelector('[data-testid=stMain]');
  const called = node => node.closest('[class*=st-key-]')?.className.match(/st-key-(\\S+)/)?.[1]
    ?? node.ariaLabel ?? node.outerHTML.slice(0, 80);
  const seen = node => { const box = node.getBoundingClientRect(); return box.width > 0 && box.height > 0 };
  const plots = all('.js-plotly-plot', main).filter(seen);
  return {
    title: main.querySelector('h1').innerText,
    errors: [...all('[data-testid=stException]'), ...all('[data-testid=stAlertContentError]')].map(e => e.innerText),
    warnings: all('[data-testid=stAlertContentWarning]').map(e => e.innerText),
    disabled: all('[data-testid=stMain] :disabled, [data-testid=stSidebar] :disabled')
      .filter(e => !e.dataset.testid?.startsWith('stNumberInputStep')).map(called),
    formulas: all('.katex-error, .katex [style*="rgb(204, 0, 0)"], .katex [style*="#cc0000"]').map(e => e.innerText),
    raw: main.innerText.match(/<br>|undefined|\\bNaN\\b/g) ?? [],
    broken: all('img', main).filter(e => seen(e) && !e.naturalWidth).map(e => e.alt),
    pictures: plots.filter(e => e.querySelector('.main-svg')).length
      + all('img, iframe', main).filter(e => e.getBoundingClientRect().height > 40).length,
    run: all('button', main).some(e => e.innerText.endsWith('Run')),
    words: main.innerText,
    numbers: JSON.stringify(plots.map(plot => plot.data.map(
      trace => [trace.name, trace.visible, trace.x, trace.y, trace.z, trace.text]))),
    links: [...main.querySelectorAll('a[href]'), ...all('[data-testid=stSidebar] a[href]')]
      .filter(e => e.origin === location.origin && !e.hash).map(e => e.pathname + e.search),
  } }"""
SMALL = {"T": "1000", "n": "2"}  # what is computed at once
# Pages that open with a picture, unless there is a Run to be pressed first.
WITH_PICTURE = re.compile(
    r"/($|\?|explore|tradeoff|trust|threshold|heavy|contextual|mechanisms|papers|theory|benchmark)"
)
CLAIM = "Violates its claim"  # what an audit finds, no fault of the page
# Before the first and after the last; the only method; a slider that no method follows.
AT_AN_END = re.compile(r"(learn|project)-(back|next)|remove-|epsilon-\d|mechanisms-(round|audit-draw)")


def place(path: str, **fields: str) -> str:
    """A path with fields."""
    return f"/{path}" + (f"?{urlencode(fields)}" if fields else "")


def of_documents() -> list[str]:
    """Every link to a page of the app in every document, and every address that one states."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in documents)
    pages = "|".join(page.address for page in menu.pages() if page.address)
    linked = re.findall(rf"{HOST}(/(?:(?:{pages})\b)?(?:\?[^\s)`'\"<>]*)?)(?=[\s)`'\"<>])", text)
    stated = re.findall(rf"`(/(?:{pages})?(?:\?[^\s`]*)?)`", text)
    return list(dict.fromkeys(linked + stated))


def of_lessons() -> list[str]:
    """Every lesson on its own, and in the full window."""
    fields = [*course.ADDRESSES, player.NAME]
    return [place("learn", step=step) for step in fields] + [
        place("teach", step=step, controls="off") for step in course.ADDRESSES
    ]


# An option of each distribution, with methods that take it.
OPTIONS = {
    "0.9,beta(4,2),uniform(0.2,0.8),two-point(0.2,0.8,0.5),empirical(0,0.5,1)": "ucb,heldp-ucb-l(1)",
    "gaussian(0.9,1),pareto(0.5,2.5),student(0.4,1,3)": "robust-ucb,dp-robust-se(1)",
}


def of_methods() -> list[str]:
    """Links that together hold each method, each distribution of rewards, of budgets and of contexts."""
    many: list[dict[str, str]] = []
    for setting, users in (("arms", "0.9,0.5"), ("contexts", "single(3,4)"), ("contexts", "multi(3,4)")):
        methods = {name: each for name, each in registry().items() if each.setting == setting}
        lines = [name + "(1)" * (each.epsilon != "none") for name, each in methods.items()]
        starts = range(0, len(lines), 20)  # a link may hold 24
        many += [{setting: users, "lines": ",".join(lines[start : start + 20])} for start in starts]
    many += [{"arms": arms, "lines": lines} for arms, lines in OPTIONS.items()]
    return [place("theory", **each) for each in many]  # this page plays none, so nothing has to be compiled


def examples() -> list[str]:
    """What each page of the Lab opens with, and its example, by their names."""
    pages = [page for page in menu.pages() if page.sidebar]
    named = [
        (page.address, name) for page in pages for name in (page.opens, page_requirements.KINDS[page.shows].example)
    ]
    return [place(page, preset=name) for page, name in dict.fromkeys(named) if name]


def of_documents_and_examples() -> list[str]:
    """Each address of these once."""
    return list(dict.fromkeys(of_documents() + examples()))


def some_presets() -> list[str]:
    """The example of each kind on the first page that shows it."""
    pages = {page_requirements.KINDS[page.shows].example: page.address for page in menu.pages()[::-1] if page.sidebar}
    return [place(page, preset=name, **SMALL) for name, page in pages.items()]


@dataclass
class Seen:
    """What stands behind a door."""

    path: str
    address: str
    page: dict[str, Any]
    console: list[str]

    @property
    def troubles(self) -> list[str]:
        """What is wrong, without asking whether a warning was to be expected."""
        page = self.page
        said = [f"{kind}: {words}" for kind in ("errors", "formulas", "raw", "broken") for words in page[kind]]
        said = [words for words in said if CLAIM not in words]
        said += [f"disabled: {name}" for name in page["disabled"] if not AT_AN_END.match(name)]
        said += [f"console: {words}" for words in self.console]
        bare = WITH_PICTURE.match(self.path) and not page["pictures"] and not page["run"]
        return said + ["no picture"] * bool(bare)

    @property
    def shown(self) -> dict[str, list[str]]:
        """What must be the same behind the same link."""
        own = r"The first numbers on this page were precomputed.*"
        return {
            "words": re.sub(own, "", self.page["words"]).split("\n"),
            "numbers": self.page["numbers"].split(","),
            "address": [self.address],
        }


def wait(visitor: Visitor) -> None:
    """Until the page stands still."""
    visitor.tab.wait_for_function(STILL, polling=60)


def asks(visitor: Visitor, act: Callable[[], object], within: int = ASKS) -> bool:
    """Whether the page asked the server for something within so many milliseconds after an act, and was answered."""
    before = visitor.tab.evaluate("asked")
    act()
    try:  # a slider waits for a pause before it asks
        visitor.tab.wait_for_function(f"asked > {before}", timeout=within)
    except TimeoutError:
        return False
    wait(visitor)
    return True


def elsewhere(text: str, name: str) -> str:
    """Another text of the same kind: its last number (of arms the first) a little moved, another name, or a number."""
    found = list(re.finditer(r"(?<!\^-)\d+(\.\d+)?", text))  # t^-4 is a name
    if not found:
        if re.search("beta|kappa|delta|zeta|gamma", name):
            return "0.5"
        return f"{text} x" if "abel" in name else "arm" if "ords" in name else "3"
    last = found[0 if name.endswith("Arms") else -1]
    number, whole = float(last[0]), re.search("Round|Seed|isits", name)
    less = "." in last[0] or (number == 1 and not whole)
    part = number * (1.1 if number > 1 else 0.9)  # which may have to stay above 1, or below
    other = f"{part:.6g}" if less else str(int(number) + 1) if number or "δ" not in name else "0.001"
    return text[: last.start()] + other + text[last.end() :]


def change(visitor: Visitor) -> bool:
    """Move the first slider, or what else there is that the address speaks of; whether there is anything."""
    before = visitor.tab.url
    for knob in visitor.tab.locator("input[type=range]:enabled").all():
        ahead = knob.get_attribute("value") != knob.get_attribute("max")
        key = "ArrowRight" if ahead else "ArrowLeft"
        if asks(visitor, partial(knob.press, key)) and visitor.tab.url != before:
            return True
    for field in visitor.tab.get_by_role("textbox", name="Distribution of ε over users").all():
        field.fill(elsewhere(field.input_value(), ""))
        if asks(visitor, partial(field.press, "Enter")) and visitor.tab.url != before:
            return True
    for choice in visitor.main().get_by_role("radio", checked=False).all()[:3]:
        if asks(visitor, partial(choice.press, "Enter")) and visitor.tab.url != before:
            return True
    return False


def look(visitor: Visitor, path: str = "") -> Seen:
    """What stands there now; a page that draws in parts may stand still before its picture comes."""
    wait(visitor)
    if WITH_PICTURE.match(path):
        with suppress(TimeoutError):
            visitor.tab.wait_for_function(f"(seen => seen.pictures || seen.run)(({LOOK})())", timeout=HANGS)
    if path == "/your-numbers":  # its last part, with links, comes once the best method is known
        visitor.sees("Open in Explore")
        wait(visitor)
    said, visitor.console[:] = list(visitor.console), []
    return Seen(path, visitor.tab.url.removeprefix(visitor.server.url), visitor.tab.evaluate(LOOK), said)


def reopened(visits: Callable[..., Visitor], seen: Iterable[Seen], known: Iterable[Seen] = ()) -> list[str]:
    """Open the addresses that pages have left, as someone who was sent them: what they do not show again, or leave.

    Those that are ``known`` have been opened by someone, and are not opened once more.
    """
    first = {each.address: each for each in seen}
    there = {each.path: each for each in known if each.path in first}
    differ = []
    for again in [*there.values(), *(each for _, each in walk(visits, [path for path in first if path not in there]))]:
        before = first[again.path]
        differ += [f"{before.path}, sent as {again.path}: {trouble}" for trouble in again.troubles]
        for name, value in before.shown.items():
            if value != again.shown[name]:
                differ.append(f"{before.path}, sent as {again.path}: {name}: {first_of(value, again.shown[name])}")
    return differ


def first_of(value: list[Any], found: list[Any]) -> str:
    """Where two lists differ first."""
    for one, other in zip([*value, None], [*found, None], strict=False):
        if one != other:
            texts = str(one), str(other)
            alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
            start = max(0, sum(1 for _ in alike) - 60)
            return f"was {texts[0][start : start + 200]}, is {texts[1][start : start + 200]}"
    return "longer or shorter"


def walk(visits: Callable[..., Visitor], paths: Iterable[str], tabs: int = TABS) -> Iterator[tuple[Visitor, Seen]]:
    """Open each path as someone who comes by it, the next one being drawn while one is looked at."""
    free = [visits(height=1600) for _ in range(tabs)]
    coming: deque[tuple[Visitor, str]] = deque()
    for path in [*paths, *[None] * tabs]:
        if path is not None and free:
            coming.append((free.pop(), path))
            coming[-1][0].start(path)
        if coming and (not free or path is None):
            visitor, asked = coming.popleft()
            yield visitor, look(visitor, asked)
            free.append(visitor)


def trips(visits: Callable[..., Visitor], paths: Iterable[str]) -> list[str]:
    """Open each path, change one thing, and open the link afresh: what is wrong anywhere."""
    wrong, left = [], []
    for visitor, seen in walk(visits, paths):
        wrong += [f"{seen.path}: {trouble}" for trouble in seen.troubles]
        if not change(visitor):
            wrong.append(f"{seen.path}: no slider moves the address")
            continue
        left.append(look(visitor, seen.path))
        wrong += [f"{seen.path}, changed: {trouble}" for trouble in left[-1].troubles]
    return wrong + reopened(visits, left)


def too_wide(visitor: Visitor, width: int = 390) -> list[str]:
    """Whether the page is wider than a window that becomes as narrow as a phone."""
    before = visitor.tab.viewport_size
    assert before is not None
    visitor.tab.set_viewport_size({"width": width, "height": 844})
    visitor.settle()
    wide, room = visitor.main().evaluate("main => [main.scrollWidth, main.clientWidth]")
    visitor.tab.set_viewport_size(before)
    return [f"{wide} pixels wide in a window of {width}"] * (wide > room)


def opened(visits: Callable[..., Visitor], paths: list[str], narrow: bool = False) -> list[Seen]:
    """What stands behind these doors; nothing is wrong with any. ``narrow``: nor at 390 pixels."""
    found, wrong = [], []
    for visitor, seen in walk(visits, paths):
        found.append(seen)
        troubles = seen.troubles + seen.page["warnings"] + (too_wide(visitor) if narrow else [])
        wrong += [f"{seen.path}: {trouble}" for trouble in troubles]
    none(wrong)
    return found


def none(faults: list[str]) -> None:
    """There is no fault; all are told."""
    assert not faults, "\n".join(faults)
