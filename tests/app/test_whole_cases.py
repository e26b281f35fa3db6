"""Four visitors of Your numbers: the page answers what `price` answers for the same question and seed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core.simulation.store import Store
from bandit_core.studies.price import Price, PriceStudy, advise, price_question
from ui import words
from ui.your_numbers import inputs, planned

USERS = 400
pytestmark = pytest.mark.usefixtures("quick_answers_in_the_file")


def answered(*file: Path, weekly: int, **asked: Any) -> Price:
    """What the library says."""
    question = price_question(*file, weekly=weekly, weeks=USERS / weekly, epsilon=[1], **asked)
    found = PriceStudy(replace(question, trials=inputs.TRIALS), Store(None, 2**26)).run()
    assert found is not None
    return found


def same(screen: AppTest, expected: Price, unit: str = "conversions") -> None:
    """The page's table and advice are those of the library."""
    [shown] = [table for table in on.tables(screen) if "planned test" in table]
    question = replace(expected.question, unit=unit)
    assert shown.to_numpy().tolist() == planned.table(question, expected.rows).to_numpy().tolist()
    [advice] = [box.value for box in screen.success]
    named = replace(question, names=tuple(name.removeprefix("the ") for name in question.names))
    assert advice == advise(named, expected.rows, words.plain).words


@pytest.mark.parametrize(
    ("baseline", "lifts", "weekly", "zone"),
    [
        (0.031, [8, 15], 40_000, 8),  # an analyst, three signup pages of which two may count as equal
        (0.5, [30], 40, 0),  # a clinic, two arms
        (0.031, [1], 70_000_000, 0),  # a game, 10 million users a day
    ],
)
def test_typed_rates(baseline: float, lifts: list[float], weekly: int, zone: float) -> None:
    asked = {
        "base": f"{100 * baseline:g}",
        "lifts": ",".join(f"{lift}%" for lift in lifts),
        "week": str(weekly),
        "zone": str(zone),
    }
    screen = on.visit("your-numbers", **asked, users=str(USERS), eps="1", list="1")
    same(screen, answered(weekly=weekly, baseline=baseline, lifts=lifts, zone=zone))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Revenue of 5,000 users, written as 1,234.50 and as 1.234,50."""
    draw = np.random.default_rng(3)
    page = draw.choice(["present", "new"], 5000)
    bought = draw.random(5000) < np.where(page == "new", 0.3, 0.1)
    revenue = np.where(bought, draw.lognormal(6, 1, 5000), 0).round(2)
    folder = tmp_path_factory.mktemp("shop")
    files = folder / "english.csv", folder / "german.csv"
    texts = [f"{amount:,.2f}" for amount in revenue]
    assert any("," in text for text in texts)
    files[0].write_text("page,revenue\n" + "".join(f'{a},"{b}"\n' for a, b in zip(page, texts, strict=True)))
    swapped = [text.translate(str.maketrans(",.", ".,")) for text in texts]
    files[1].write_text("page;revenue\n" + "".join(f"{a};{b}\n" for a, b in zip(page, swapped, strict=True)))
    return files


@pytest.mark.parametrize("dialect", [0, 1])
def test_a_file_of_revenue(shop: tuple[Path, Path], dialect: int) -> None:
    screen = on.visit("your-numbers", users=str(USERS), eps="1", list="1")
    on.put(screen, next(group for group in screen.button_group if group.label == "Your options"), "upload")
    on.put(screen, screen.file_uploader(key="own-file"), ("revenue.csv", shop[dialect].read_bytes(), "text/csv"))
    on.put(screen, next(box for box in screen.selectbox if box.label == "Baseline"), "present")
    [choice] = [radio for radio in screen.radio if "imits" in radio.label]
    on.put(screen, choice, inputs.OWN_LIMITS)
    for label, value in (("Smallest", "0"), ("Largest", "2000")):
        next(box for box in screen.text_input if box.label == label).set_value(value)
    on.run(screen)
    unit = str(next(box.value for box in screen.selectbox if "unit" in box.label))
    expected = answered(shop[0], weekly=5000, first="present", limits=(0, 2000))
    same(screen, expected, unit)
    assert words.number(expected.question.low + expected.question.scale * expected.question.arms[0].expected) in (
        cell
        for table in screen.main.dataframe
        if "observations" in table.value
        for cell in table.value["mean per user"]
    )
