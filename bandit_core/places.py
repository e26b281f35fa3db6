"""Where the files stand that are no modules of the library: presets, papers, the app.

In a checkout they stand beside the package, in an installed wheel in its folder ``shipped``, which looks just like the
checkout (see ``pyproject.toml``).
"""

import tomllib
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
IS_CHECKOUT = not (_PACKAGE / "shipped").is_dir()
ROOT = _PACKAGE.parent if IS_CHECKOUT else _PACKAGE / "shipped"


def project_version() -> str:
    """The version of this project, from the one place that states it."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version
