"""Where the files stand that are no modules of the library: presets, papers, the app.

In a checkout they stand beside the package, in an installed wheel in its folder ``shipped``, which looks just like the
checkout (see ``pyproject.toml``).
"""

import importlib
import importlib.util
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from bandit_core.spec.errors import InputError, Issue

_PACKAGE = Path(__file__).resolve().parent
IS_CHECKOUT = not (_PACKAGE / "shipped").is_dir()
ROOT = _PACKAGE.parent if IS_CHECKOUT else _PACKAGE / "shipped"


def project_version() -> str:
    """The version of this project, from the one place that states it."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version


def cache_folder() -> Path:
    """Where this project keeps what it can recompute: ``LAB_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get("LAB_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers: then nothing is kept
        base = os.devnull
    return Path(base) / "private-bandit-lab"


def require_app() -> None:
    """Refuse what needs the app's packages where they are not installed.

    Raises
    ------
    InputError
        Where one of them is missing.
    """
    if any(importlib.util.find_spec(each) is None for each in ("streamlit", "plotly", "matplotlib")):
        raise InputError([Issue("app", None, "needs the app's packages: pip install 'private-bandit-lab[app]'")])


def app_module(name: str) -> Any:
    """A module of the app, for the few things of the library that need its pictures.

    Raises
    ------
    InputError
        Where the app's packages are not installed.
    """
    require_app()
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    return importlib.import_module(name)
