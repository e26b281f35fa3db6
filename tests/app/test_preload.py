"""Visitors who come together to a server that has just started."""

import ast
import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys, threading
begin, failures = threading.Barrier(6), []
def visit(first):
    begin.wait()
    try:
        import ui.preload
        for number in range(6):
            __import__(names[(first + number) % 6])
    except BaseException as error:
        failures.append(repr(error))
names = "ui.charts bandit_core.experiments.catalogue ui.tradeoff_view bandit_core ui.page_frame"
names = [*names.split(), "bandit_core.studies.sweep"]
threads = [threading.Thread(target=visit, args=(number,)) for number in range(6)]
assert not any(name.startswith("bandit_core") for name in sys.modules)
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(failures, "ui.tradeoff_view" in sys.modules)
"""


def test_a_fresh_server_imports_everything_once_whoever_comes_first(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=project, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] True"


def test_what_is_imported_is_never_searched_for_garbage(project: Path) -> None:
    """Streamlit asks for a full search after every page; over all modules that takes longer than the page."""
    code = "import gc, ui.preload; print(len(gc.get_objects()), gc.get_freeze_count())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=os.environ, capture_output=True, text=True, check=True
    )
    searched, passed_over = map(int, done.stdout.split())
    assert searched < 0.02 * passed_over


def test_every_page_begins_with_it(project: Path) -> None:
    for page in sorted((project / "pages").glob("*.py")):
        first = next(node for node in ast.parse(page.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom))
        assert ast.unparse(first) == "import ui.preload", (
            f"{page.name}: visitors who come together meet half-made modules"
        )
