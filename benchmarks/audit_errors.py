"""How often does the audit accuse the innocent, and how often does it catch the guilty?

``python -m benchmarks.audit_errors`` (one core, about a minute). Every number is a count of repeated audits with seeds
0, 1, 2, ...; nothing is timed.
"""

from __future__ import annotations

import numpy as np

from bandit_core.auditing.auditor import audit
from bandit_core.auditing.subjects import subjects
from benchmarks.measuring import print_table

REPEATS, CONFIDENCE = 200, 0.95
SOUND_SAMPLES = 2_000
POWER_SAMPLES = (400, 2_000, 10_000, 40_000, 200_000)
POWER_REPEATS = 40
CLAIMS = {"ctb-as-printed": (0.1, 0.5), "ctb-s-as-printed": (0.1, 0.5)}  # others: both of these
USUAL_CLAIMS = (0.3, 1.0)


def share(name: str, epsilon: float, samples: int, repeats: int, confidence: float) -> tuple[int, float]:
    """Audits that accuse, and the median of their lower bounds."""
    found = [audit(name, epsilon, samples=samples, confidence=confidence, seed=seed) for seed in range(repeats)]
    return sum(one.verdict == "violates" for one in found), float(np.median([one.lower_bound for one in found]))


def main() -> None:
    """Print both tables."""
    print(f"\nFalse alarms in {REPEATS} audits of {SOUND_SAMPLES} samples at confidence {CONFIDENCE:.0%}, claim 1\n")
    rows = []
    for name, subject in subjects().items():
        if subject.kind != "negative control":
            alarms, median = share(name, 1.0, SOUND_SAMPLES, REPEATS, CONFIDENCE)
            rows.append([name, subject.kind, str(alarms), f"{median:.2f}"])
    print_table(["subject", "kind", "false alarms", "median lower bound"], rows)
    print(f"\nShare of {POWER_REPEATS} audits that catch each negative control, confidence 99.9%, by samples\n")
    rows = []
    for name, subject in subjects().items():
        if subject.kind != "negative control" or subject.real is None:
            continue
        for epsilon in CLAIMS.get(name, USUAL_CLAIMS):
            caught = [share(name, epsilon, samples, POWER_REPEATS, 0.999)[0] for samples in POWER_SAMPLES]
            shares = [f"{count / POWER_REPEATS:.0%}" for count in caught]
            rows.append([name, f"{epsilon:g}", f"{subject.real(epsilon):.3g}", *shares])
    print_table(["negative control", "claim", "really", *(f"{samples:,}" for samples in POWER_SAMPLES)], rows)


if __name__ == "__main__":
    main()
