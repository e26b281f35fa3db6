"""Exit code 0 when the app at the given address (default http://127.0.0.1:8501) is well; for health checks."""

import sys
from urllib.request import urlopen


def main(address: str) -> int:
    """Ask for ``/_stcore/health`` and read the answer: every path answers 200, only the body tells."""
    try:
        with urlopen(f"{address.rstrip('/')}/_stcore/health", timeout=4) as answer:
            return 0 if answer.read().strip() == b"ok" else 1
    except (OSError, ValueError):
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8501"))
