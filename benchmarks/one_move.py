"""What one moved slider runs through on a warm Explore: ``python -m benchmarks.one_move``.

Counts functions of the project only, compiled kernels not at all. The first line is a new position of the slider, whose
runs are played; the second is one that someone has drawn before. ``--files`` also prints the calls of each file.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

from streamlit.testing.v1 import AppTest

from bandit_core import paths
from benchmarks.measuring import print_table

PARTS = tuple(str(paths.ROOT / part) for part in ("app.py", "pages", "ui", "bandit_core"))
POSITIONS = (1.0, 0.5, 0.3, 0.5)  # the first two load and compile what the others need


@dataclass
class Calls:
    """Counts calls of the project's functions in every thread that begins while it is entered, and in this one."""

    functions: Counter[CodeType] = field(default_factory=Counter)
    crossings: int = 0  # calls from one file of the project into another

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """What the interpreter tells."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PARTS):
            self.functions[code] += 1
            caller = frame.f_back
            if caller and caller.f_code.co_filename.startswith(PARTS):
                self.crossings += caller.f_code.co_filename != code.co_filename

    def __enter__(self) -> Calls:
        threading.setprofile_all_threads(self) if sys.version_info >= (3, 12) else threading.setprofile(self)
        return self

    def __exit__(self, *_: object) -> None:
        threading.setprofile_all_threads(None) if sys.version_info >= (3, 12) else threading.setprofile(None)

    @property
    def files(self) -> Counter[str]:
        """Calls by file."""
        found: Counter[str] = Counter()
        for code, number in self.functions.items():
            found[str(Path(code.co_filename).relative_to(paths.ROOT))] += number
        return found


def moves() -> list[Calls]:
    """What each position of the slider runs through."""
    screen = AppTest.from_file(str(paths.ROOT / "app.py"), default_timeout=600)
    screen.switch_page("pages/explore.py")
    screen.run()
    (slider,) = (each for each in screen.get("select_slider") if "epsilon" in each.key)
    found = []
    for position in POSITIONS:
        slider.set_value(position)
        with Calls() as calls:
            screen.run()
        assert not screen.exception, screen.exception[0].stack_trace
        (slider,) = (each for each in screen.get("select_slider") if "epsilon" in each.key)
        found.append(calls)
    return found


def main() -> None:
    """Print the table."""
    *_, new, known = moves()
    rows = [
        [name, len(calls.files), len(calls.functions), sum(calls.functions.values()), calls.crossings]
        for name, calls in (("a new position", new), ("one that was drawn before", known))
    ]
    print_table(["a moved slider", "files", "functions", "calls", "calls into another file"], rows)
    if "--files" in sys.argv[1:]:
        print_table(["file", "calls"], [[name, number] for name, number in new.files.most_common()])


if __name__ == "__main__":
    main()
