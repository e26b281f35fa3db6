"""The registry: every module here, or in `contextual`, with ``POLICY`` (or ``POLICIES``) is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from bandit_core.model import Policy


@cache
def registry() -> dict[str, Policy]:
    """Every policy by name: those for arms first, then grouped by trust (none, local, central), then by file."""
    found: list[Policy] = []
    for package in (__name__, f"{__name__}.contextual"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            contents = vars(importlib.import_module(f"{package}.{module.name}"))
            found.extend(contents.get("POLICIES", (contents["POLICY"],) if "POLICY" in contents else ()))
    order = ("none", "local", "central")
    found.sort(key=lambda policy: (policy.setting == "contexts", order.index(policy.privacy)))
    return {policy.name: policy for policy in found}
