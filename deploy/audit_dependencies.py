"""Is a vulnerability known in what is installed here? Run it inside the environment of the server.

``python deploy/audit_dependencies.py`` asks PyPI about the very version of every installed package, as ``pip-audit``
does. A mirror that only tells of the newest version is believed about that one alone: what it cannot be asked about is
named, and counts as unknown. Exit code 0: everything was asked about and nothing is known; 1: something is known; 2:
nothing is known, but not everything could be asked about.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distributions
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen


def _told(address: str) -> dict[str, Any] | None:
    """What PyPI says at this address, or None."""
    try:
        with urlopen(address, timeout=30) as answer:
            message = json.load(answer)
    except HTTPError as refusal:
        refusal.close()
        return None
    except (URLError, OSError, ValueError):
        return None
    return message if isinstance(message, dict) and "vulnerabilities" in message else None


def known(index: str, name: str, version: str) -> list[str] | None:
    """What is known against this version of a package; None where no one could be asked."""
    message = _told(f"{index}/pypi/{name}/{version}/json") or _told(f"{index}/pypi/{name}/json")
    if message is None or message["info"]["version"] != version:
        return None
    return [f"{entry['id']} {entry['link']}" for entry in message["vulnerabilities"] if not entry.get("withdrawn")]


def main(index: str = "https://pypi.org") -> int:
    """Print what is known, and what could not be asked about."""
    installed = sorted({found.metadata["Name"]: found.version for found in distributions()}.items())
    found, unasked = 0, []
    for name, version in installed:
        entries = known(index, name, version)
        if entries is None:
            unasked.append(f"{name} {version}")
        for entry in entries or []:
            found += 1
            print(f"{name} {version}: {entry}")
    print(f"{len(installed)} packages, {len(installed) - len(unasked)} asked about; known vulnerabilities: {found}")
    if unasked:
        print(f"{index} tells nothing about: {', '.join(unasked)}")
        print("Look these up where pypi.org or osv.dev can be reached: python -m pip_audit -r requirements.txt")
    return 1 if found else 2 if unasked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
