"""Pandas, which takes long to import, at its first use: ``pd`` stands for the module."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class _Later:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pandas"), name)


if TYPE_CHECKING:
    import pandas as pd
else:
    pd = _Later()
