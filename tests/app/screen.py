"""What a visitor would do and see, over Streamlit's AppTest."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from ui import menu

ROOT = Path(__file__).resolve().parents[2]
PAGES = tuple(page.name for page in menu.pages())
SMALL = {"T": "400", "n": "4"}  # an experiment that costs nothing


def visit(page: str = "explore", **address: str) -> AppTest:
    """A new visitor opens ``page`` with these address fields and waits for what begins by itself.

    Whether a study is short enough to be computed on the spot depends on what other tests have left in the store.
    """
    screen = arrive(page, **address)
    if "run-own" not in screen.session_state:
        return screen
    screen.session_state["run-own"].thread.join()
    return run(screen)


def arrive(page: str, **address: str) -> AppTest:
    """A new visitor opens ``page`` with these address fields."""
    return run(opened(page, **address))


def opened(page: str, **address: str) -> AppTest:
    """The same before anything is drawn."""
    screen = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    screen.session_state["lab"] = {"everything": True}  # has opened "More" before, and the boxes of methods
    for row in range(20):
        screen.session_state[f"line-{row}"] = True
    for name, value in address.items():
        screen.query_params[name] = value
    if page != "home":
        screen.switch_page(f"pages/{page}.py")
    return screen


def run(screen: AppTest) -> AppTest:
    """Let the app react once; it never shows a traceback, nor two entries of a box that read alike: one is lost."""
    screen.run()
    assert not screen.exception, screen.exception[0].stack_trace
    assert not [box.label for box in screen.selectbox if len(set(box.options)) < len(box.options)]
    return screen


def runs(screen: AppTest) -> list[Any]:
    """The visitor's runs in the background, finished or not."""
    kept = screen.session_state.to_dict()
    return [value for name, value in kept.items() if str(name).startswith("run-") and value is not None]


def go(screen: AppTest, page: str) -> AppTest:
    """Choose a page in the navigation, which leaves the address bare."""
    screen.query_params.clear()
    screen.switch_page(f"pages/{page}.py")
    return run(screen)


def unfold(screen: AppTest, *folds: str) -> AppTest:
    """Open folds that are drawn once they are open."""
    for fold in folds:
        screen.session_state[fold] = True
    return run(screen)


def look(screen: AppTest, view: str) -> AppTest:
    """Ask Explore for one of its views, or for one of those for builders."""
    if view in ("Budget", "Build it", "Code"):
        screen.session_state["builders"], view = view, "For builders"
    screen.session_state["views"] = view
    return run(screen)


def key(screen: AppTest, name: str) -> str:
    """The present key of a control of the sidebar."""
    return f"{name}:{screen.session_state['lab']['generation']}"


def own(screen: AppTest, kind: str, name: str) -> Any:
    """A page's own control whose value is a field of the address."""
    turn = screen.session_state["lab"].get("own-turn", 0)
    return getattr(screen, kind)(key=f"{name}:turn {turn}" if turn else name)


def setting(screen: AppTest, kind: str, name: str) -> Any:
    """A page's control of the experiment, whose key carries the value that it was drawn with."""
    found = f"{name} "
    return next(each for each in getattr(screen, kind) if (each.key or "").startswith(found))


def control(screen: AppTest, kind: str, name: str) -> Any:
    """A control of the sidebar."""
    return getattr(screen, kind)(key=key(screen, name))


def put(screen: AppTest, control: Any, value: Any) -> AppTest:
    """Set a control and let the app react."""
    control.set_value(value)
    return run(screen)


def press(screen: AppTest, button: Any) -> AppTest:
    """Press a button and let the app react."""
    button.click()
    return run(screen)


def change(screen: AppTest, kind: str, name: str, value: Any) -> AppTest:
    """Set a control of the sidebar and let the app react."""
    return put(screen, control(screen, kind, name), value)


def words(screen: AppTest) -> str:
    """Everything printed on the page itself, as markdown."""
    kinds = (screen.main.title, screen.main.markdown, screen.main.caption)
    alerts = (screen.main.info, screen.main.warning, screen.main.error)
    return "\n".join(element.value for kind in (*kinds, *alerts) for element in kind).replace("\u00a0", " ")


def tables(screen: AppTest) -> list[pd.DataFrame]:
    """The small tables of the page itself, as text."""
    shown = [element.value.splitlines() for element in screen.main.markdown if element.value.startswith("| ")]
    cells = [[re.sub(r"\\(.)", r"\1", line).strip("| ").split(" | ") for line in lines] for lines in shown]
    return [pd.DataFrame(rows, columns=head) for head, _, *rows in cells]


def address(screen: AppTest) -> dict[str, str]:
    """The fields of the address line."""
    return {name: value[0] if isinstance(value, list) else value for name, value in screen.query_params.items()}


def numbers_in(values: Any) -> np.ndarray:
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).astype(float)
    return np.array([np.nan if value is None else value for value in values], float)


def as_shown(name: str) -> str:
    """The words of a legend, whose rows are marked where Plotly alone reads them."""
    return name.replace("<br>", " ")


class Chart:
    """A Plotly figure as it is sent to the browser; its traces keep their names as they are sent."""

    def __init__(self, spec: str) -> None:
        figure = json.loads(spec)
        self.layout: dict[str, Any] = figure["layout"]
        self.traces: list[dict[str, Any]] = figure["data"]

    @property
    def names(self) -> list[str]:
        """Names of the traces that stand in the legend, as it shows them."""
        return [as_shown(trace["name"]) for trace in self.traces if trace.get("showlegend") is not False]

    def y(self, name: str) -> np.ndarray:
        """Values of the trace of that name."""
        return numbers_in(self._named(name)["y"])

    def band(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper edge of the band around the mean of that name."""
        group = self._named(name)["legendgroup"]
        low = next(place for place, trace in enumerate(self.traces) if _is_band(trace, group))
        return numbers_in(self.traces[low]["y"]), numbers_in(self.traces[low - 1]["y"])

    def _named(self, name: str) -> dict[str, Any]:
        return next(trace for trace in self.traces if as_shown(trace.get("name", "")) == as_shown(name))


def _is_band(trace: dict[str, Any], group: str) -> bool:
    return trace.get("fill") == "tonexty" and trace["legendgroup"] == group


def chart(screen: AppTest, name: str = "regret-chart") -> Chart:
    """The chart with that key."""
    return Chart(screen.get_by_key(name).proto.spec)


def players(screen: AppTest) -> list[dict[str, Any]]:
    """What the players of a page draw: their documents, with the position ``at`` which each begins."""
    found = [element.proto for element in screen.get("bidi_component") if element.proto.component_name == "player"]
    sent = [json.loads(proto.json) for proto in found]
    return [{**json.loads(each["text"]), "at": each["at"]} for each in sent]


def slide(screen: AppTest, name: str, place: int) -> AppTest:
    """Bring the slider of a player to rest at that position."""
    screen.session_state[name] = {"at": [screen.session_state["lab"].get("own-turn", 0), place]}
    return run(screen)


def legend_entries(figure):
    """The names in the legend of a picture."""
    if figure.layout.showlegend is False:
        return []
    return [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
