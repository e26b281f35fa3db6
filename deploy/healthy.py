"""Exit code 0 when the app at the given address is well; for health checks.

Without an address it asks where ``deploy/start.sh`` serves: ``PORT``, else 8500 and ``LAB_PROCESS``.
"""

import os
import sys
from urllib.request import urlopen


def main(address: str) -> int:
    """Ask for ``/_stcore/health`` and read the answer: every path answers 200, only the body tells."""
    try:
        with urlopen(f"{address.rstrip('/')}/_stcore/health", timeout=4) as answer:
            return 0 if answer.read().strip() == b"ok" else 1
    except (OSError, ValueError):
        return 1


def own_address() -> str:
    """Where the process of this environment serves."""
    number = os.environ.get("LAB_PROCESS") or "1"
    if not number.isdecimal():
        sys.exit(f"LAB_PROCESS: {number!r}: this environment variable takes a whole number of at least 1")
    return f"http://127.0.0.1:{os.environ.get('PORT') or 8500 + int(number)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else own_address()))
