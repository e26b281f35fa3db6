"""Which files of the built site let a browser ask another host, without a click."""

from __future__ import annotations

import re
from pathlib import Path

LOADED = {  # a link may lead elsewhere when it is clicked; what a browser loads by itself may not
    ".html": r"<(?:(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc|link\b[^>]*\bhref)=\"(?:\w+:)?//",
    ".css": r"(?:@import|url\()\s*(?:url\()?['\"]?(?:https?:)?//",
}


def asking_another_host(folder: Path) -> list[Path]:
    """The files, in the order of their names."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in LOADED]
    return [path for path in files if re.search(LOADED[path.suffix], path.read_text(encoding="utf-8"))]
