"""Every registered policy goes through the conformance suite (its checks stand in ``conformance.py``)."""

from conformance import *  # noqa: F403
