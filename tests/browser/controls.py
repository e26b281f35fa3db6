"""Every control of a page, found on the page itself; moved by keyboard or mouse, and moved back."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import doors
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, TimeoutError
from visitor import HANGS, Visitor

WIDGETS = {
    "slider": "stSlider",
    "select box": "stSelectbox",
    "choice of several": "stMultiSelect",
    "switch": "stCheckbox",
    "text": "stTextInput",
    "long text": "stTextArea",
    "buttons": "stButtonGroup",
    "radio": "stRadio",
}
# The widgets that are in use, as kind, label and their place among those alike; each is marked with this name.
FIND = """widgets => {
  const names = {}, found = [];
  for (const node of document.querySelectorAll(Object.values(widgets).map(id => `[data-testid=${id}]`).join())) {
    const box = node.getBoundingClientRect();
    if (!box.width || node.closest('details:not([open])')) continue;
    if (!node.closest('[data-testid=stMain], [data-testid=stSidebar]')) continue;
    if (node.querySelector('input:disabled, textarea:disabled, [role=radio]:disabled')) continue;
    const kind = Object.keys(widgets).find(kind => widgets[kind] === node.dataset.testid);
    const label = node.querySelector('[aria-label]:not([aria-label^="Help for"])')?.ariaLabel ?? '';
    const name = [node.closest('[data-testid=stSidebar]') ? 'sidebar' : 'page', kind, label].join(', ');
    names[name] = (names[name] ?? 0) + 1;
    node.dataset.tried = `${name}, ${names[name]}`.replace(', 1', '');
    found.push(node.dataset.tried);
  }
  return found }"""
# What the page says and draws beside what stands in its controls.
SHOWN = """() => {
  const main = document.querySelector('[data-testid=stMain]');
  const own = 'stWidgetLabel stSlider stButtonGroup stTooltipContent'.split(' ')
    .map(id => `[data-testid=${id}]`).join() + ', button, summary';
  const said = 'stMarkdownContainer stCaptionContainer stHtml stCode stMetric stDataFrame stImage stAlert'.split(' ')
    .map(id => `[data-testid=${id}]`).join();
  const seen = node => node.getBoundingClientRect().width > 0 && !node.closest(own);
  const ghosts = / (Thin|Dotted): the slider.s last position\\./;
  const of = plot => JSON.stringify([
    plot.data.filter(trace => trace.name && !trace.name.startsWith('before: ')).map(
      trace => [trace.name, trace.x, trace.y, trace.z, trace.text, trace.line, trace.error_y]),
    plot.layout.xaxis?.type, plot.layout.yaxis?.type, plot.layout.shapes, plot.layout.annotations]);
  return {
    words: [...document.querySelectorAll(said)].filter(seen).map(node => node.innerText.replace(ghosts, '')),
    pictures: [...main.querySelectorAll('img')].filter(seen).map(node => node.src),
    numbers: [...main.querySelectorAll('.js-plotly-plot')].filter(seen).map(of),
    folds: [...document.querySelectorAll('summary [data-testid=stMarkdownContainer]')]
      .filter(node => node.clientWidth > 0)
      .map(node => `${node.closest('details').open ? 'open' : 'closed'}: ${node.innerText}`),
  } }"""

# A fold that was opened has come, or has been drawn anew; many ask the server for what is in them.
FILLED = "!opened.isConnected || opened.open && opened.querySelector('[data-testid=stVerticalBlock] > *')"
# No picture before a run, and a method that refuses a distribution of budgets which one beside it takes.
EXPECTED = re.compile("^no picture|needs one fixed epsilon")
FOCUS = "document.activeElement.closest('[data-tried]')?.dataset.tried"
MOMENTS = 60  # of half a second each, until a page is not expected to say more
OPENS = 5  # seconds until a list is open
# They begin something else, or bring other controls, so there is no way back; or are seen in a file only,
# or say nothing alone: a student's name on Teach without a code, a seed on Papers before a run is asked for.
NOT_MOVED = ("Examples", "Add a method", "More", "Edit as a table", "Title of the page", "Name", "Seed of another run")


def unfold(visitor: Visitor, gone: Collection[str] | None = None) -> None:
    """Open every fold, also those inside others; or only those of these titles."""

    def closed() -> Locator | None:
        folds = visitor.tab.locator("[data-testid=stExpander] details:not([open]) > summary >> visible=true").all()
        title = "summary => summary.querySelector('[data-testid=stMarkdownContainer]').innerText"
        return next((each for each in folds if gone is None or each.evaluate(title) in gone), None)

    while (fold := closed()) is not None:
        fold.evaluate("summary => { window.opened = summary.parentElement }")
        fold.press("Enter")
        visitor.tab.wait_for_function(FILLED)
        doors.wait(visitor)


def names(visitor: Visitor) -> list[str]:
    """The widgets that there are now."""
    return visitor.tab.evaluate(FIND, WIDGETS)


def widget(visitor: Visitor, name: str) -> Locator:
    """The widget of that name."""
    assert name in names(visitor), name
    return visitor.tab.locator(f'[data-tried="{name}"]')


def move(visitor: Visitor, name: str) -> Iterator[None]:
    """Move a control; with the next step, move it back."""
    kind = name.split(", ")[1]
    here = widget(visitor, name)
    if kind == "slider":
        knob = here.locator("input[type=range]").first
        ahead = knob.get_attribute("value") != knob.get_attribute("max")
        yield from (knob.press(key) for key in (("ArrowRight", "ArrowLeft") if ahead else ("ArrowLeft", "ArrowRight")))
    elif kind == "switch":
        for _ in range(2):
            widget(visitor, name).locator("input").press("Space")
            yield
    elif kind in ("text", "long text"):
        field = here.locator("input, textarea").first
        stood = field.input_value()
        for value in (doors.elsewhere(stood, name), stood):
            field = widget(visitor, name).locator("input, textarea").first
            field.fill(value)
            field.press("ControlOrMeta+Enter" if kind == "long text" else "Enter")
            yield
    elif kind in ("buttons", "radio"):
        button = here.locator("[role=radio], button[aria-pressed]")
        on = "button => button.ariaChecked === 'true' || button.ariaPressed === 'true'"
        stood = next((place for place, each in enumerate(button.all()) if each.evaluate(on)), None)
        other = 1 if stood == 0 else 0
        for number in (other, other if stood is None else stood):
            widget(visitor, name)  # marks it anew
            button.nth(number).click()
            yield
    else:
        stood = here.get_by_role("combobox").input_value()
        if kind == "choice of several":
            stood = here.locator("[data-tag]").last.get_attribute("aria-label")
            here.locator("[data-tag] button").last.click()
        else:
            choose(visitor, here, stood, other=True)
        yield
        choose(visitor, widget(visitor, name), stood)
        yield


def choose(visitor: Visitor, here: Locator, words: str, other: bool = False) -> None:
    """Choose the entry of a select box with these words, or another one."""
    box = here.get_by_role("combobox")
    entries = visitor.tab.get_by_role("listbox").get_by_role("option")
    for _ in range(MOMENTS):  # a list closes where its page is drawn anew
        box.press("ArrowDown")
        with suppress(TimeoutError):
            entries.first.wait_for(timeout=1000 * OPENS)
            break
    said = [each.inner_text() for each in entries.all()]  # of a long list, only what is in sight
    place = said.index(words) if words in said else None
    if other:
        place = 0 if place is None else place + 1 if place + 1 < len(said) else place - 1
    if place is None:
        box.fill(words)
        entries, place = entries.filter(has_text=words), 0
    entries.nth(place).click()


def state(visitor: Visitor) -> dict[str, Any]:
    """What is shown now, where, and with which controls."""
    return {"address": [visitor.tab.url], "controls": names(visitor), **visitor.tab.evaluate(SHOWN)}


def shown(visitor: Visitor, awaited: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The `state` that is awaited; the last one where it does not come."""
    for _ in range(MOMENTS):
        doors.wait(visitor)
        if awaited(now := state(visitor)):
            break
        visitor.tab.wait_for_timeout(500)
    return now


def tried(visitor: Visitor, name: str) -> str:
    """What is wrong with a control that is moved and moved back; empty where nothing is."""
    before = state(visitor)
    step = partial(next, move(visitor, name))
    if not doors.asks(visitor, step, HANGS):
        return "asks nothing"
    after, seen = shown(visitor, lambda now: now != before), doors.look(visitor)
    troubles = [words for words in seen.troubles if not EXPECTED.search(words)]
    if ", slider, " in name and visitor.tab.evaluate(FOCUS) != name:
        troubles.append("keys do not move it on")  # it was drawn anew, without the focus
    if not doors.asks(visitor, step, HANGS):
        return "cannot be moved back"
    titles = {words.partition(": ")[2] for words in after["folds"]}
    gone = {words.removeprefix("open: ") for words in before["folds"] if words.startswith("open: ")} - titles
    unfold(visitor, gone)  # a fold that went with what it is about may come back closed
    back = shown(visitor, lambda now: now == before)
    left = [f"{part}: {doors.first_of(before[part], back[part])}" for part in before if before[part] != back[part]]
    if troubles:
        return "; ".join(troubles)
    if after == before:
        return "changes nothing"
    return f"back again, {'; '.join(left)}" if left else ""


def faults(visits: Callable[..., Visitor], path: str, folds: bool = False) -> list[str]:
    """What is wrong with any control of a page; ``folds``: also with those that are folded away."""
    visitor, found = visits(height=1600), []

    def arrive() -> None:
        visitor.start(path)
        doors.wait(visitor)
        if folds:
            switch = visitor.tab.get_by_role("switch", name="More", exact=True)
            if switch.count() and not switch.is_checked():
                doors.asks(visitor, partial(switch.press, "Space"))
            unfold(visitor)

    arrive()
    for name in names(visitor):
        if name.split(", ")[2] in NOT_MOVED or name not in names(visitor):
            continue
        try:
            fault = tried(visitor, name)
        except (AssertionError, PlaywrightError) as error:
            fault = str(error)
        if fault:
            found.append(f"{path}: {name}: {fault}")
            arrive()
    return found
