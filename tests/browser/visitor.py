"""A visitor: one browser profile with one tab, and what can be seen and done in it."""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect
from playwright.sync_api import Error as PlaywrightError

from ui import menu

IDLE = "[data-testid=stApp][data-test-script-state=notRunning], main[data-code]"  # or the page of a phone
# What moved on the screen without the visitor's doing, as the web's measure of layout shift counts it.
SHIFTS = """window.shifts = [];
new PerformanceObserver(list => list.getEntries().filter(entry => !entry.hadRecentInput).forEach(entry => shifts.push({
  value: entry.value,
  moved: entry.sources.map(({node}) => node?.parentElement?.className + ' ' + node?.innerText?.slice(0, 40)),
}))).observe({type: 'layout-shift', buffered: true});"""
# How often the page has asked the server for something, and how often the server had said something after that.
ASKED = """if (window.WebSocket) {
  const send = WebSocket.prototype.send; window.asked = window.answered = 0;
  WebSocket.prototype.send = function (...words) {
    if (!this.heard) this.heard = this.addEventListener('message', () => { answered = asked }) ?? true;
    asked += 1; window.still = 0; return send.apply(this, words) } }"""
SECONDS = 1000  # Playwright counts milliseconds
HANGS = 300 * SECONDS  # what never comes: no machine is so slow, and no test passes or fails by its speed
PHONE: dict[str, Any] = {  # one kind for all tests, so that they share its profile
    "width": 390,
    "user_agent": "Mozilla/5.0 (Linux; Android 14) Chrome/140.0 Mobile Safari/537.36",
    "has_touch": True,
    "is_mobile": True,
}
# Of every chart that is seen: what its buttons cover, its smallest letters, and how wide labels at curve ends are.
PLOTS = """() => [...document.querySelectorAll('.js-plotly-plot')].filter(plot => plot.clientWidth > 0).map(plot => {
  const seen = node => { const box = node.getBoundingClientRect(); return box.width * box.height > 0 };
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const boxes = name => [...plot.querySelectorAll(name)].filter(seen).map(node => node.getBoundingClientRect());
  const words = [...plot.querySelectorAll('.main-svg text')].filter(seen);
  const under = [...boxes('.main-svg text'), ...boxes('.legend'), ...boxes('.nsewdrag')];
  return {
    height: plot.clientHeight,
    bars: boxes('.modebar').length,
    covered: boxes('.modebar-group').flatMap(bar => under.filter(box => meet(bar, box))).length,
    size: Math.min(...words.map(word => parseFloat(getComputedStyle(word).fontSize))),
    legend: boxes('.legend').flatMap(one => [...boxes('.xtitle'), ...boxes('.nsewdrag')].filter(
      box => meet(one, box))).length,
    ends: Math.max(0, ...boxes('.annotation:has([style*="pointer-events: all"])').map(
      box => (box.right - plot.querySelector('.nsewdrag').getBoundingClientRect().right) / plot.clientWidth)),
    labels: boxes('.annotation:has([style*="pointer-events: all"])').length,
    outside: under.filter(box => box.right > plot.getBoundingClientRect().right + 1).length,
  };
})"""

# Words of the page, as a pattern defines them: those on the first screen, and all of them.
WORDS = """pattern => {
    const word = new RegExp(pattern, 'u');
    const walker = document.createTreeWalker(document.querySelector('[data-testid=stMain]'), NodeFilter.SHOW_TEXT);
    let first = 0, all = 0;
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement, box = parent.getBoundingClientRect();
        if (!parent.checkVisibility({opacityProperty: true, visibilityProperty: true}) || box.width < 2
            || parent.closest('[data-testid=stIconMaterial], style, script')) continue;
        const words = walker.currentNode.textContent.split(/\\s+/).filter(each => word.test(each)).length;
        all += words;
        if (box.top < innerHeight) first += words;
    }
    return [first, all]; }"""


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    log: Path

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()


class Profile:
    """A browser profile with one tab."""

    def __init__(self, browser: Browser, options: dict[str, Any]) -> None:
        self.options = options
        self.context = browser.new_context(**options)
        self.tab: Page = self.context.new_page()
        self.tab.add_init_script(SHIFTS + ASKED)
        self.tab.set_default_timeout(HANGS)

    def forget(self) -> None:
        """Leave the page, and keep nothing that the next visitor could find."""
        for other in self.context.pages:
            if other is not self.tab:
                other.close()
        if self.tab.url.startswith("http"):
            self.tab.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.context.clear_cookies()
        self.tab.goto("about:blank")


class Profiles:
    """Profiles of a browser, used again: what a tab keeps of the code of a page is half the cost of the next visit."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[Profile] = []

    def new(self, options: dict[str, Any]) -> Profile:
        """A profile that has seen nothing."""
        return Profile(self._browser, options)

    def take(self, options: dict[str, Any]) -> Profile:
        """A profile of this kind that no one uses now."""
        found = next((profile for profile in self._free if profile.options == options), None)
        if found is None:
            return self.new(options)
        self._free.remove(found)
        return found

    def give_back(self, profile: Profile) -> None:
        """The visit is over."""
        assert profile not in self._free, "two visitors would share a tab"
        profile.forget()
        self._free.append(profile)


class Visitor:
    """Someone with one browser profile and one tab.

    ``new``: the profile has seen nothing yet, and runs ``script`` before every page; ``still``: asked for less motion.
    """

    def __init__(
        self,
        profiles: Profiles,
        server: Server,
        width: int = 1400,
        height: int = 900,
        dark: bool = False,
        new: bool = False,
        script: str = "",
        still: bool = False,
        **options: Any,
    ) -> None:
        self.server = server
        self.errors: list[str] = []
        self.foreign: list[str] = []  # requests to another host than the server's
        self.console: list[str] = []  # errors that the page's scripts report
        self._profiles, self._new = profiles, new
        self._profile = profiles.new(options) if new else profiles.take(options)
        self.context, self.tab = self._profile.context, self._profile.tab
        if new:
            self.tab.add_init_script(script)
        self.tab.set_viewport_size({"width": width, "height": height})
        motion = "reduce" if still else "no-preference"
        scheme = "dark" if dark else "light"
        self.tab.emulate_media(color_scheme=scheme, reduced_motion=motion, forced_colors="none")
        self._heard = {
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": self._hear,
            "websocket": lambda socket: self._note(socket.url),
            "request": lambda request: self._note(request.url),
        }
        for event, hear in self._heard.items():
            self._source(event).on(event, hear)

    def _source(self, event: str) -> Any:
        return self.context if event == "request" else self.tab

    def _note(self, address: str) -> None:
        """Remember a request that leaves the server's host (data: and blob: addresses leave nothing)."""
        asked, own = urlsplit(address), urlsplit(self.server.url)
        if asked.scheme not in ("data", "blob", "about") and asked.netloc != own.netloc:
            self.foreign.append(address)

    def _hear(self, message: ConsoleMessage) -> None:
        """Remember an error of the page's scripts; Streamlit looks for its server below the page's address first."""
        if message.type == "error" and "/_stcore/" not in message.location.get("url", ""):
            self.console.append(message.text)

    def start(self, path: str) -> None:
        """Follow a link, and do not wait for what it opens."""
        self.tab.goto(path if "://" in path else self.server.url + path, wait_until="commit")

    def open(self, path: str) -> None:
        """Open a path of the app, or a whole address."""
        self.tab.goto(path if "://" in path else self.server.url + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the app has nothing to do."""
        self.tab.locator(IDLE).wait_for(state="attached")
        self.tab.wait_for_timeout(150)  # a change reaches the server a moment after the key press
        self.tab.locator(IDLE).wait_for(state="attached")

    def shifts(self) -> list[dict[str, Any]]:
        """What has moved since the page was opened, once all that is in the window has been drawn."""
        self.main().locator("h1").wait_for()
        self.settle()
        self.tab.wait_for_function(
            "() => [...document.querySelectorAll('[data-testid=stSkeleton]')]"
            ".every(each => each.getBoundingClientRect().top > innerHeight)"
        )
        self.tab.wait_for_timeout(300)
        return self.tab.evaluate("shifts")

    def go_back(self) -> None:
        """Press Back as soon as a person could: at once after a move, an earlier address is a late one."""
        self.tab.wait_for_timeout(700)
        self.tab.go_back()

    def leave(self) -> None:
        """Close the tab, once; a new profile is thrown away with it."""
        if not self._heard:
            return
        for event, hear in self._heard.items():
            self._source(event).remove_listener(event, hear)
        self._heard.clear()
        if self._new:
            self.context.close()
        else:
            self._profiles.give_back(self._profile)

    def describe(self) -> str:
        """What this visitor has before them, and the last that the server has printed."""
        try:
            state = self.tab.locator("[data-testid=stApp]").get_attribute("data-test-script-state", timeout=SECONDS)
            words = self.tab.locator("body").inner_text(timeout=SECONDS)
        except PlaywrightError as error:
            state, words = "unknown", str(error)
        size = self.tab.viewport_size
        return f"{self.tab.url}\n{size}, script {state}\n{words}\n--- server:\n{self.server.output[-2000:]}"

    @property
    def address(self) -> dict[str, str]:
        """Fields of the address line."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.tab.url).query).items()}

    def element(self, key: str) -> Locator:
        """The element with that Streamlit key (without the number that the app adds)."""
        return self.tab.locator(f"[class*='st-key-{key}']").first

    def open_page(self, title: str) -> None:
        """Choose a page in the menu of a wide window."""
        section = next(page.section for page in menu.pages() if page.title == title)
        if section:
            self.tab.get_by_test_id("stTopNavSection").filter(has_text=section).click()
            self.tab.get_by_role("menuitem", name=title, exact=True).click()
        else:
            self.tab.get_by_test_id("stHeader").get_by_role("link", name=title, exact=True).click()

    def open_controls(self) -> None:
        """Have all controls of the experiment in the sidebar."""
        self.tab.get_by_role("switch", name="More", exact=True).press("Space")
        self.settle()

    def main(self) -> Locator:
        """The page without sidebar and navigation."""
        return self.tab.get_by_test_id("stMain")

    def sees(self, words: str) -> None:
        """Wait until the page shows these words."""
        expect(self.main()).to_contain_text(words)

    def alerts(self) -> list[str]:
        """What warnings and errors say, on the page and in the sidebar."""
        found = self.tab.locator("[data-testid=stAlertContentWarning], [data-testid=stAlertContentError]")
        return [" ".join(words.split()) for words in found.all_inner_texts()]

    def switched_off(self) -> list[str]:
        """Controls of the page that do not answer, by their words or names."""
        return (
            self.main()
            .locator(":is(button,input,textarea,select):disabled, [aria-disabled=true]")
            .evaluate_all("found => found.map(each => each.ariaLabel || each.innerText || each.outerHTML.slice(0, 80))")
        )

    def choose(self, label: str, option: str) -> None:
        """Choose an entry of a select box with the mouse."""
        box = self.tab.get_by_test_id("stSelectbox").filter(
            has=self.tab.get_by_test_id("stWidgetLabel").get_by_text(label, exact=True)
        )
        entry = self.tab.get_by_role("option", name=option, exact=True)
        box.wait_for()  # a box of a method draws it once it is open
        self.settle()
        while not self.tab.get_by_role("option").count():  # a list goes where its page is still being drawn
            box.get_by_role("combobox").click()
            self.tab.wait_for_timeout(500)
        if not entry.count():  # of a long list, only what is in sight is there
            box.get_by_role("combobox").fill(option)
        entry.click()
        self.settle()

    def open_fold(self, title: str) -> None:
        """Open a closed part of the page or of the sidebar."""
        self.tab.locator("summary").filter(has_text=title).first.click()
        self.settle()
        self.tab.wait_for_timeout(500)  # it unfolds, and what is below moves

    def copy_link(self, button: str = "Copy link") -> str:
        """Press the button; what is in the clipboard then, which the page says, too."""
        self.tab.get_by_role("button", name=button, exact=True).click()
        popover = self.tab.get_by_test_id("stPopoverBody")
        expect(popover.get_by_role("status")).to_have_text("Copied:")
        shown = popover.locator("code").inner_text()
        self.context.grant_permissions(["clipboard-read"])
        copied: str = self.tab.evaluate("navigator.clipboard.readText()")
        self.context.clear_permissions()
        assert copied == shown
        self.tab.keyboard.press("Escape")
        popover.wait_for(state="detached")
        return copied

    def picture(self) -> dict[str, Any]:
        """What the page says in numbers: every curve of its charts, and every sentence with a number in it."""
        self.settle()
        self.tab.wait_for_function(
            "() => !document.querySelector('[data-testid=stMain] [data-testid=stSkeleton]') && "
            "[...document.querySelectorAll('[data-testid=stMain] [data-testid=stPlotlyChart]')]"
            ".every(each => each.querySelector('.main-svg'))"
        )
        drawn = (
            self.main()
            .locator(".js-plotly-plot")
            .evaluate_all(
                "plots => plots.map(plot => plot.data.filter(trace => trace.name)"
                ".map(trace => [trace.name, trace.x?.bdata ?? trace.x, trace.y?.bdata ?? trace.y]))"
            )
        )
        said = [words for words in self.main().locator("p").all_inner_texts() if re.search(r"\d", words)]
        return {"drawn": drawn, "said": said}

    @property
    def verdict(self) -> str:
        """The sentence above the chart."""
        return (
            self.main()
            .locator("p", has_text=re.compile("times the regret|loses|tied"))
            .first.inner_text()
            .replace("\u00a0", " ")
        )

    def words(self, numbers: bool) -> tuple[int, int]:
        """How many words are on the first screen, and on the whole page, with or without numbers."""
        first, all_of_it = self.tab.evaluate(WORDS, r"[\p{L}\p{N}]" if numbers else r"\p{L}")
        return first, all_of_it

    def chart(self, key: str = "regret-chart") -> dict[str, np.ndarray]:
        """Drawn curves by their name in the legend."""
        plot = self.element(key).locator(".js-plotly-plot")
        plot.locator(".main-svg").first.wait_for()
        traces = plot.evaluate(
            "plot => plot.data.filter(trace => trace.name && trace.showlegend !== false)"
            ".map(trace => [trace.name, trace.y.bdata ? trace.y : Array.from(trace.y)])"
        )
        return {name: _numbers(values) for name, values in traces}

    def press_on_slider(self, label: str, key: str) -> None:
        """Move a slider with the keyboard."""
        self.tab.get_by_role("slider", name=label).first.press(key)
        self.settle()


def _numbers(values: Any) -> np.ndarray:
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).astype(float)
    return np.array([np.nan if value is None else value for value in values], float)
