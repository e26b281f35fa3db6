"""Does PyPI know of a vulnerability in what is installed here? Run it inside the environment of the server.

``python deploy/audit_dependencies.py`` asks for the newest version of every package, which one file of PyPI tells.
``pip-audit`` also knows of older ones, but needs more of PyPI than every mirror has.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import distributions
from urllib.error import URLError
from urllib.request import urlopen


def main(index: str = "https://pypi.org") -> int:
    """Print what is known; 0 where every package was asked about and nothing is known."""
    installed = sorted({found.metadata["Name"]: found.version for found in distributions()}.items())
    known, behind, unasked = 0, [], []
    for name, version in installed:
        try:
            with urlopen(f"{index}/pypi/{name}/json", timeout=30) as answer:
                told = json.load(answer)
        except (URLError, OSError, ValueError) as error:
            unasked.append(f"{name} ({error})")
            continue
        if told["info"]["version"] != version:
            behind.append(f"{name} {version} (newest: {told['info']['version']})")
        for entry in told["vulnerabilities"]:
            if not entry.get("withdrawn"):
                known += 1
                print(f"{name} {told['info']['version']}: {entry['id']} {entry['link']}")
    newest = len(installed) - len(behind) - len(unasked)
    print(f"{len(installed)} packages, {newest} of them the newest version; vulnerabilities of the newest: {known}")
    print(f"older ones, to be looked up: {', '.join(behind) or 'none'}")
    print(f"not asked: {', '.join(unasked) or 'none'}")
    return 1 if known or unasked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
