"""The ten steps in their order, the second parts that some have, and all that a teacher can show."""

from __future__ import annotations

from ui.learn.step import Step, read

MINUTES = 15
STEPS = tuple(map(read, ["choosing", "coin", "crowd", "learner", "price", "trust", "whom", "wild", "promise", "yours"]))
PARTS = tuple(part for step in STEPS for part in (step, step.second) if part is not None)  # as they are printed
EXTRAS = tuple(map(read, ("tradeoff", "toss", "noises", "outlier", "features")))  # each on its own, after the course
LESSONS = STEPS + EXTRAS
LECTURE = STEPS[1], STEPS[4], STEPS[5]  # a quarter of an hour before a class
ADDRESSES = {str(STEPS.index(step) + 1) if step in STEPS else step.name: step for step in LESSONS}


def named(name: str) -> Step:
    """The lesson of that name; the first one where there is none."""
    return next((step for step in LESSONS if step.name == name), LESSONS[0])


def address(step: Step) -> str:
    """What the field ``step`` of an address says of a lesson."""
    return next(field for field, each in ADDRESSES.items() if each is step)


def title(step: Step) -> str:
    """Its title, with its number in the course."""
    field = address(step)
    return f"{field}. {step.title}" if field.isdigit() else step.title


def on_button(label: str, step: Step) -> str:
    """What a button of a lesson's card says; eyes see the label, a screen reader says the lesson, too."""
    field = address(step)
    return f"{label} *lesson {f'{field}: ' * field.isdigit()}{step.title}*"


def beside(step: Step, by: int, lessons: tuple[Step, ...] = LESSONS) -> Step | None:
    """The lesson after it among some, or before it (``by`` = -1)."""
    place = lessons.index(step) + by
    return lessons[place] if 0 <= place < len(lessons) else None
