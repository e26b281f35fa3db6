"""What the pages of the Lab share: losses in a sentence."""

import re

import pytest

from bandit_core import Experiment, simulate
from ui import lab_parts

ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.4)]


def stated(policies: dict[str, float | None], horizon: int, trials: int) -> tuple[str, dict[str, float]]:
    """The sentence on some policies at their budgets, and what each has lost."""
    lines = [
        {"policy": name} | ({} if epsilon is None else {"epsilon": {"kind": "fixed", "value": epsilon}})
        for name, epsilon in policies.items()
    ]
    document = {"arms": ARMS, "lines": lines, "horizon": horizon, "trials": trials}
    result = simulate(Experiment.model_validate(document), jobs=1)
    ends = {name: float(line.mean[-1]) for name, line in zip(policies, result.lines, strict=True) if line is not None}
    return lab_parts.losses(result), ends


def test_the_sentence_names_the_best_and_the_worst_private_line_and_the_loss_without_privacy() -> None:
    message, ends = stated({"ucb": None, "heldp-ucb-b": 1.0, "heldp-ucb-l": 1.0, "dp-se": 1.0}, 2000, 20)
    private = sorted(end for name, end in ends.items() if name != "ucb")
    numbers = [float(text.replace(",", "")) for text in re.findall(r"\*\*([\d.,]+)\*\*", message)]
    assert numbers == pytest.approx([private[0], private[-1], ends["ucb"]], rel=0.051)  # two digits
    assert "ε = 1" in message and "tied" not in message and message.count("(trust ") == 2  # best and worst: two levels
    assert "(trust " not in stated({"ucb": None, "heldp-ucb-b": 1.0, "heldp-ucb-l": 1.0}, 500, 5)[0]


def test_what_is_not_told_apart_is_called_tied_and_one_run_proves_little() -> None:
    assert "tied" in stated({"ucb": None, "heldp-ucb-b": 8.0}, 20, 10)[0]
    assert "single run" in stated({"ucb": None, "heldp-ucb-b": 8.0}, 20, 1)[0]


def test_without_a_price_the_losses_and_their_budget_are_still_stated() -> None:
    message, ends = stated({"heldp-ucb-b": 1.0}, 500, 5)  # nothing was run for comparison
    [loss] = re.findall(r"\*\*([\d.]+)\*\*", message)
    assert float(loss) == pytest.approx(ends["heldp-ucb-b"], rel=0.051) and message.startswith("At ε = 1,")
    assert "no method without privacy" in message and "tied" not in message
