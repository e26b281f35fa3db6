"""Reads the dependencies of the package from requirements.txt, the one place that states them, when it is built."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Dependencies(MetadataHookInterface):
    """What stands below ``# The app`` is the extra ``app``, requirements-dask.txt is the extra ``dask``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the fields that pyproject.toml calls dynamic."""
        library, app = self._text("requirements.txt").split("\n# The app\n")
        metadata["dependencies"] = _lines(library)
        metadata["optional-dependencies"] = {"app": _lines(app), "dask": _lines(self._text("requirements-dask.txt"))}

    def _text(self, name: str) -> str:
        return (Path(self.root) / name).read_text(encoding="utf-8")


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]
