"""``python -m bandit_core COMMAND``: see `bandit_core.cli`."""

import sys

from bandit_core.cli import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())
