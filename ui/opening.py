"""The first imports of a server process: once, whole, and one visitor at a time.

Visitors who arrive together at a fresh server import the same modules in different orders from different threads.
Python then breaks the deadlock of their module locks by handing out half-made modules. This module imports nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from pathlib import Path

_alone = threading.Lock()
_done = threading.Event()
HEAVY = ("pandas", "joblib", "joblib.parallel", "plotly.graph_objects")  # imported inside functions, elsewhere


def import_everything() -> None:
    """Import all that pages use; at once when it is done already."""
    if _done.is_set():
        return
    with _alone:
        for name in HEAVY:
            importlib.import_module(name)
        for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
            importlib.import_module(f"ui.{module.name}")
        _done.set()
