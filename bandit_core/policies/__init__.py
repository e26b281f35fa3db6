"""The registry: every module of this package that defines ``POLICY`` (or ``POLICIES``) is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from bandit_core.policies.base import Policy


@cache
def registry() -> dict[str, Policy]:
    """Every policy by name, grouped by trust (none, local, central), then by name of its file."""
    found: list[Policy] = []
    for module in pkgutil.iter_modules(__path__):
        contents = vars(importlib.import_module(f"{__name__}.{module.name}"))
        found.extend(contents.get("POLICIES", (contents["POLICY"],) if "POLICY" in contents else ()))
    order = ("none", "local", "central")
    return {policy.name: policy for policy in sorted(found, key=lambda policy: order.index(policy.privacy))}
