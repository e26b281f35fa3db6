"""When rewards are counted: some users later, and only every so many users, as by a daily job."""

from typing import Annotated

from pydantic import Field

from bandit_core.spec.field_types import Frozen, Whole

MAX_WAITING = 1_000_000  # users that ``batch`` and ``delay`` may be, each: their answers are kept until they count
MAX_VISITS = 1_000  # that one person may make


class Feedback(Frozen):
    """The reward of user t is counted at the first multiple of ``batch`` at or after t + ``delay``, in users."""

    batch: Annotated[Whole, Field(ge=1, le=MAX_WAITING)] = 1
    delay: Annotated[Whole, Field(ge=0, le=MAX_WAITING)] = 0

    @property
    def immediate(self) -> bool:
        """Whether every reward is counted before the next user comes."""
        return self.batch == 1 and self.delay == 0

    def counted_at(self, user: int) -> int:
        """The user (from 1) after whom the reward of ``user`` is counted.

        >>> Feedback(batch=10, delay=3).counted_at(7), Feedback(batch=10, delay=3).counted_at(8)
        (10, 20)
        """
        return -(-(user + self.delay) // self.batch) * self.batch


IMMEDIATE = Feedback()
