"""The first imports of a server process: whole, and in one thread. Imported before all else by app.py and every page.

Visitors who come together to a fresh server would import the same modules from different threads in different orders.
Python breaks the deadlock of their module locks with an error, or by handing out half-made modules. Here all wait for
the lock of one module that nothing else imports.
"""

import gc
import importlib
import pkgutil
from pathlib import Path

for _name in ("pandas", "joblib.parallel", "plotly.graph_objects"):  # elsewhere imported inside functions
    importlib.import_module(_name)
for _module in pkgutil.walk_packages([str(Path(__file__).parent)], "ui."):
    if _module.name != "ui.preload":
        importlib.import_module(_module.name)
# Every search for garbage (see ui/page_lock.py) walks all of memory. What was imported stays for ever and need not be
# looked at again: that took a tenth of a second, longer than a page.
gc.freeze()
