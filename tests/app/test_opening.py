"""Visitors who come together to a server that has just started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys, threading
from ui.opening import import_everything
begin, failures = threading.Barrier(8), []
def visit(names):
    begin.wait()
    try:
        import_everything()
        for name in names:
            __import__(name)
    except BaseException as error:
        failures.append(repr(error))
names = ["ui.charts", "bandit_core.theory.curves", "ui.tradeoff_view", "bandit_core", "ui.shell", "bandit_core.sweep"]
threads = [threading.Thread(target=visit, args=(names[k % 6:] + names[: k % 6],)) for k in range(8)]
assert not any(name.startswith("bandit_core") for name in sys.modules)
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(failures, "ui.tradeoff_view" in sys.modules)
"""


def test_a_fresh_server_imports_everything_once_whoever_comes_first(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=project, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split(maxsplit=1)[0] == "[]"
    assert done.stdout.strip() == "[] True"
