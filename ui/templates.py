"""Pages, styles and scripts that stand in files of ui/assets, with blanks such as ``$head`` in those that have some."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from string import Template

ASSETS = Path(__file__).with_name("assets")


def text(name: str) -> str:
    """The file of that name."""
    return (ASSETS / name).read_text("utf-8")


def filled(name: str, **parts: object) -> str:
    """The file of that name with its blanks filled in."""
    return Template(text(name)).substitute(parts)


def source(inline: str) -> str:
    """A style or script that stands in a page, as the page's policy allows it (Content-Security-Policy)."""
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode()}'"
