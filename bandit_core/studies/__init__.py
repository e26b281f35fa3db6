"""Questions that take many runs: sweeps, trade-offs, searches, contests, accounts."""
