"""A person who is in several tests: what each of them may spend of one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandit_core.model import Privacy
from bandit_core.policies.visits import part_of_one
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.feedback import MAX_VISITS
from bandit_core.spec.number_text import write_number
from bandit_core.studies.price import LEAST_EPSILON

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("trust", "test_epsilon", "answer_epsilon")
MAX_TESTS = 1000
MAX_BUDGET = 1000.0
MAX_ANSWERS = 10_000  # of one person in all
MAX_DELTA = 1e-3


@dataclass(frozen=True)
class Part:
    """What a person may spend in one test, and in one answer (nats). Both are pure: no delta of their own."""

    privacy: Privacy
    test: float
    answer: float


def parts(epsilon: float, tests: int, visits: int = 1, delta: float = 0.0) -> tuple[Part, ...]:
    """The largest equal parts for which all ``tests`` together are proved to be (epsilon, delta)-private for a person.

    A person gives ``visits`` answers in each test. Later tests may depend on what earlier ones found.

    On one's own device each answer is a release. There are tests x visits of them, and tight composition (Kairouz, Oh
    and Viswanath 2015) says what each may spend. A trusted curator releases what a test found, for all answers of a
    person at once, so tight composition is over the tests, and an answer gets 1 / visits of its test: of one test
    nothing better is proved (group privacy).

    >>> parts(2.0, 4)[0]
    Part(privacy='local', test=0.5, answer=0.5)

    Raises
    ------
    InputError
        With every number that is out of its range.
    """
    allowed = {
        "epsilon": (epsilon, LEAST_EPSILON, MAX_BUDGET, False),
        "tests": (tests, 1, MAX_TESTS, True),
        "visits": (visits, 1, MAX_VISITS, True),
        "delta": (delta, 0, MAX_DELTA, False),
    }
    issues = [
        Issue(name, value, f"a {'whole ' * whole}number from {write_number(low)} to {write_number(high)}")
        for name, (value, low, high, whole) in allowed.items()
        if isinstance(value, str | bool) or not low <= value <= high or (whole and value != int(value))
    ]
    if not issues and tests * visits > MAX_ANSWERS:
        issues.append(Issue("visits", visits, f"at most {MAX_ANSWERS:,} answers of one person in all"))
    if issues:
        raise InputError(issues)
    tests, visits = int(tests), int(visits)
    answer, test = part_of_one(epsilon, tests * visits, delta), part_of_one(epsilon, tests, delta)
    return Part("local", visits * answer, answer), Part("central", test, test / visits)


def budget(epsilon: float, tests: int, visits: int = 1, delta: float = 0.0) -> pd.DataFrame:
    """`parts` as a table: one row per level of trust, columns `COLUMNS`."""
    import pandas as pd

    found = parts(epsilon, tests, visits, delta)
    return pd.DataFrame([(part.privacy, part.test, part.answer) for part in found], columns=list(COLUMNS))
