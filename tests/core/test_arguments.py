"""What is handed to a public function is checked: only an `InputError` may come back, and it names what is wrong."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import bandit_core
from bandit_core import Experiment, Goal, InputError, Question
from bandit_core.experiments.arguments import experiment_of
from bandit_core.studies.price import price_question
from bandit_core.theory.power import TestPlan

SMALL = Experiment(
    arms=[{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)],
    lines=[{"policy": "ucb"}, {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1.0}}],
    horizon=100,
    trials=2,
)
SPEC = {"policy": "dp-tt", "arms": SMALL.spec()["arms"], "epsilon": 1.0, "trials": 2}
KINDS = ["object", "class", "complex", "mapping", "list", "bytes"]
SOURCES = ["experiment", "document", "preset", "file", "result"]
QUESTION = Question(SMALL.single_arms, 100, 1.0)


class Unlike:
    """Nothing that any function takes."""


def allowed(tmp_path):
    """Arguments that every public function takes, as far as one can give them."""
    table = tmp_path / "table.csv"
    bandit_core.write_synthetic_csv(table, 40)
    specs = [bandit_core.StoppingSpec.of(**SPEC)]
    policy = tmp_path / "policy.py"
    return {
        "address": {"experiment": SMALL},
        "audit": {"sampler": "ctb", "epsilon": 1.0, "samples": 100},
        "benchmark": {"policies": ["ucb"]},
        "best_methods": {"question": QUESTION},
        "bounds": {"experiment": SMALL},
        "budget": {"epsilon": 1.0, "tests": 2},
        "build": {"experiment": SMALL},
        "check_policy": {"path": policy},
        "composed": {"releases": ()},
        "decide": {"document": SPEC},
        "errata": {},
        "fewest_users": {"experiment": SMALL, "line": 1, "goal": Goal("missed", 0.3)},
        "figures": {},
        "frontier": {"result": bandit_core.sweep(SMALL, [1.0])},
        "lending_document": {"table": bandit_core.read_lending(table).data},
        "lesson": {"experiment": SMALL},
        "load_policy": {"path": policy},
        "load_preset": {"name": "default"},
        "load_shipped": {"name": "default"},
        "papers": {},
        "power": {"baseline": 0.1, "effect": 0.02, "epsilon": 1.0},
        "preset_names": {},
        "read_budgets": {"data": b"1\n2\n"},
        "read_experiment": {"path": tmp_path / "spec.json"},
        "read_lending": {"source": table},
        "read_observations": {"data": b"A,B\n1,0\n0,1\n"},
        "read_table": {"source": table, "features": ["x"], "action": "a", "reward": "r"},
        "releases": {"experiment": SMALL},
        "price": {"baseline": 0.1, "lifts": [20], "weekly": 100, "weeks": 1, "epsilon": [1.0]},
        "reproduce": {"name": "ren-1c", "folder": tmp_path},
        "sample_size": {"baseline": 0.1, "effect": 0.02},
        "simulate": {"experiment": SMALL},
        "smallest_epsilon": {"experiment": SMALL, "line": 1, "goal": Goal("price", 3)},
        "stopping": {"specs": specs},
        "stopping_policies": {},
        "study": {"source": {"spec": "default", "axes": {"horizon": [100]}}},
        "subjects": {},
        "summaries": {"result": bandit_core.simulate(SMALL)},
        "sweep": {"experiment": SMALL, "epsilons": [1.0]},
        "thresholds": {"epsilon": 1.0},
        "time_bounds": {"arms": SMALL.single_arms, "delta": 0.05},
        "typed_arms": {"baseline": 0.1, "lifts": [0.01], "relative": False},
        "verdicts": {"figure": next(iter(bandit_core.figures().values()))},
        "write_synthetic_csv": {"path": table, "rows": 10},
    }


def functions():
    return {name for name in bandit_core.__all__ if not inspect.isclass(getattr(bandit_core, name))}


def parameters(function):
    """Names of its parameters; `price` hands most of its own to `price_question`, `power` some to a plan."""
    own = {*inspect.signature(function).parameters}
    handed = {"fields": price_question, "plan": TestPlan}
    for name in own & {*handed}:
        own |= {*inspect.signature(handed[name]).parameters}
    return own - {*handed}


def test_every_public_function_is_asked(tmp_path):
    assert set(allowed(tmp_path)) == functions()
    assert all(getattr(bandit_core, name).__module__ == "bandit_core" for name in functions())


@pytest.mark.parametrize("wrong", [Unlike(), Unlike, 1 + 2j, {"no": "such"}, [Unlike()], b"\x00"], ids=KINDS)
def test_a_wrong_kind_is_an_input_error_that_names_the_argument(tmp_path, wrong):
    came, refused = [], 0
    for name, arguments in allowed(tmp_path).items():
        function = getattr(bandit_core, name)
        for parameter in parameters(function):
            if parameter in ("epsilon", "sampler", "on_progress", "on_point", "run") and wrong is Unlike:
                continue  # a class can be called
            try:
                function(**{**arguments, parameter: wrong})
            except InputError as error:
                refused += 1
                assert error.issues and all(issue.allowed for issue in error.issues)
            except Exception as error:  # what a reader must never see
                came.append(f"{name}({parameter}={wrong!r}): {type(error).__name__}: {error}")
    assert came == []
    assert refused > 50


def test_numpy_s_numbers_and_arrays_are_taken():
    assert Goal("price", np.float32(2)).limit == 2.0
    swept = bandit_core.sweep(SMALL, np.array([0.5, 1.0]))
    assert swept.epsilons == (0.5, 1.0)


@pytest.mark.parametrize(
    "source", [SMALL, SMALL.spec(), "default", Path("presets/default.toml"), "a result"], ids=SOURCES
)
def test_what_stands_for_an_experiment(source):
    source = bandit_core.simulate(SMALL) if source == "a result" else source
    source = Path(__file__).parents[2] / source if isinstance(source, Path) else source
    found = experiment_of(source)
    assert found == (SMALL if not isinstance(source, str | Path) else bandit_core.load_preset("default"))
    assert not bandit_core.bounds(source).empty or found.horizon


def test_a_link_stands_for_an_experiment_and_a_broken_one_is_refused():
    assert experiment_of(bandit_core.address(SMALL)) == SMALL
    with pytest.raises(InputError, match="lines"):
        experiment_of("http://localhost:8501/explore?lines=nobody")


MESSAGES = (Path(__file__).parents[2] / "docs" / "reference" / "messages.md").read_text(encoding="utf-8")
CALLS = dict(re.findall(r"^\| `(.+)` \| `(.+)` \|$", MESSAGES, re.MULTILINE))


@pytest.fixture(scope="module")
def names():
    """What the document imports and defines before its table."""
    block = re.search(r"```python\n(.*?)```", MESSAGES, re.DOTALL)
    assert block and len(CALLS) > 50
    found = {}
    exec(block[1], found)
    return found


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_says_what_the_document_tells(call, names):
    with pytest.raises(InputError) as message:
        eval(call, names)
    whole = CALLS[call].removesuffix("…")
    assert str(message.value).startswith(whole) if CALLS[call].endswith("…") else str(message.value) == whole
