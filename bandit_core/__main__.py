"""``python -m bandit_core COMMAND``, or ``bandit-lab COMMAND`` once installed: see `bandit_core.cli`."""

import sys

from bandit_core.cli import main


def start() -> None:
    """Run the command line and end the process."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())


if __name__ == "__main__":
    start()
