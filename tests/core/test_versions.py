"""One identity for numbers: what changes the key of stored blocks, and what does not."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import rounding

from bandit_core import Experiment, Simulation, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.jit import decorators
from bandit_core.jit.decorators import kernel_name, kernel_version
from bandit_core.kernels import contextual, index, kl, streams
from bandit_core.policies import registry
from bandit_core.policies.contextual import zheng
from bandit_core.simulation import prepared
from bandit_core.simulation.prepared import prepared_line, prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.spec import contexts as users

NAMES = list(registry())
WITH_FEATURES = {name for name, policy in registry().items() if policy.setting == "contexts"}

MODULE = '''
"""A kernel file."""
import math
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from bandit_core.jit.decorators import inlined, kernel, device_function

STEP = 2.0
WORD = ir.IntType(64)
CODES = (1, 2)
UNUSED = 1.0
TABLE = np.arange(3.0)

@inlined
def scaled(x):
    return STEP * x

def doubled(builder, value):
    return builder.shl(value, ir.Constant(WORD, 1))

@intrinsic
def twice(typing, x):
    """Two times a whole number."""
    def generate(context, builder, signature, values):
        return doubled(builder, values[0])
    return types.int64(types.int64), generate

@device_function
def longer(x):
    """Adds a little."""
    return scaled(x) + math.sqrt(CODES[0]) + TABLE[1] + twice(3)

@kernel
def play(x):
    # A comment.
    return longer(x)

@kernel
def other(x):
    """Reaches no constant."""
    return -x
'''


@pytest.fixture
def written(tmp_path):
    """Import a version of the kernel file above: (name of the kernel) -> version, always under one module name."""
    numbers = iter(range(100))

    def versions(*changes: tuple[str, str]) -> dict[str, str]:
        text = MODULE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / f"file{next(numbers)}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("kernel_file", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return {name: kernel_version(getattr(module, name)) for name in ("play", "other")}

    return versions


@pytest.mark.parametrize(
    "change",
    [
        ('"""Two times a whole number."""', '"""The double."""'),
        ('"""Adds a little."""', '"""Adds more\n\n    than a little."""'),
        ('    """Adds a little."""\n', ""),
        ("    return STEP * x", '    """Said at last."""\n    return STEP * x'),
        ("# A comment.", "# Another comment,\n    # longer."),
        ("return STEP * x", "return (\n        STEP\n        * x\n    )"),
        ("UNUSED = 1.0", "UNUSED = 2.0\n\n\n"),
        ('"""A kernel file."""', '"""The same file, described."""'),
        ("def longer(x):", "def longer(x: float) -> float:"),
    ],
)
def test_prose_and_layout_change_no_version(written, change):
    assert written(change) == written()


@pytest.mark.parametrize(
    "change",
    [
        ("STEP = 2.0", "STEP = 2.5"),
        ("STEP = 2.0", "STEP = 2"),
        ("CODES = (1, 2)", "CODES = (2, 2)"),
        ("np.arange(3.0)", "np.arange(1.0, 4.0)"),
        ("math.sqrt(C", "math.exp(C"),
        ("return STEP * x", "return x * STEP"),
        ("@device_function\ndef", "@kernel\ndef"),
        ("values[0])", "values[0 + 0])"),
        ("builder.shl", "builder.lshr"),
        ("IntType(64)", "IntType(32)"),
    ],
)
def test_what_a_kernel_reaches_changes_its_version_and_no_other(written, change):
    before, after = written(), written(change)
    assert after["play"] != before["play"]
    assert after["other"] == before["other"]


def test_no_number_that_a_kernel_is_called_with_depends_on_how_a_processor_rounds():
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, rounding.__file__]
    found = subprocess.run(command, env=places, stdout=subprocess.PIPE, text=True, check=True)
    elsewhere = json.loads(found.stdout)
    assert elsewhere.pop("another exponential")
    here = rounding.contents()
    assert {name for name in here if elsewhere[name] != here[name]} == set()


def test_a_file_that_changes_under_a_running_process_is_told(tmp_path):
    path = tmp_path / "changed.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("changed", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path.write_text("# A line more.\n" + MODULE)
    with pytest.raises(RuntimeError, match=str(path)):
        kernel_version(module.play)


def test_the_versions_of_the_project_are_of_what_was_imported(monkeypatch):
    monkeypatch.setattr(decorators.linecache, "getlines", lambda path: [])  # as if the files were gone
    decorators.linecache.clearcache()
    assert fresh_version(index.vectorised) == kernel_version(index.vectorised)


def fresh_version(kernel) -> str:
    return decorators.kernel_version.__wrapped__(kernel)


def line_of(name: str, **changes):
    line = {"policy": name, **changes}
    if registry()[name].epsilon != "none":
        line.setdefault("epsilon", {"kind": "fixed", "value": 1.0})
    users = {"arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.8, 0.5, 0.3)]}
    if registry()[name].setting == "contexts":
        users = {"contexts": {"dimension": 2, "arms": 3, "structure": "multi"}}
    return Experiment.model_validate({**users, "lines": [line], "horizon": 500, "trials": 3, "seed": 4})


def identities() -> dict[str, bytes]:
    """The identity of every policy's line, with versions that are not remembered."""
    decorators.kernel_version.cache_clear()
    found = {name: prepared_lines(line_of(name))[0].identity for name in NAMES}
    decorators.kernel_version.cache_clear()
    return found


@pytest.fixture(scope="module")
def before() -> dict[str, bytes]:
    """The identities of the code as it stands."""
    return identities()


@pytest.mark.parametrize(
    ("module", "constant", "kernels"),
    [
        (index, "KL_CLOCK", {index.vectorised, index.tournament}),
        (kl, "MARGIN", {kl.by_index}),
    ],
)
def test_a_constant_changes_exactly_the_kernels_that_reach_it(monkeypatch, module, constant, kernels):
    everything = {index.vectorised, index.tournament, kl.by_index}
    before = {kernel: fresh_version(kernel) for kernel in everything}
    monkeypatch.setattr(module, constant, getattr(module, constant) + 7)
    assert {kernel for kernel in everything if fresh_version(kernel) != before[kernel]} == kernels


@pytest.mark.parametrize(
    ("module", "constant", "policies"),
    [
        (kl, "MARGIN", {"kl-ucb", "kl-ucb-cf"}),
        (contextual, "MAX_TRIES", WITH_FEATURES),
        (users, "POISSON_CAP", WITH_FEATURES),
        (zheng, "IDENTITY", {"ldp-linucb", "ldp-gloc"}),
    ],
)
def test_a_constant_invalidates_exactly_the_policies_that_reach_it(monkeypatch, before, module, constant, policies):
    monkeypatch.setattr(module, constant, getattr(module, constant) + 7)
    after = identities()
    assert {name for name in NAMES if before[name] != after[name]} == policies


def changed(value):
    """The value with one number or one array in it changed, each in turn."""
    if isinstance(value, tuple):
        for place, each in enumerate(value):
            for other in changed(each):
                parts = (*value[:place], other, *value[place + 1 :])
                yield type(value)(*parts) if hasattr(value, "_fields") else parts
    elif isinstance(value, np.ndarray):
        other = np.ones((1, 9)) if value.size == 0 else value.copy()
        other.flat[-1] = not other.flat[-1] if other.dtype == bool else other.flat[-1] + 1
        yield other
    else:
        whole = isinstance(value, int)
        yield not value if isinstance(value, bool) else value + 1 if whole else np.nextafter(value, -np.inf)


@pytest.mark.parametrize("name", NAMES)
def test_an_identity_comes_out_again_and_follows_every_argument(name):
    experiment = line_of(name)
    [line] = prepared_lines(experiment)
    assert prepared_lines(line_of(name))[0].identity == line.identity
    for arguments in changed(line.call.arguments):
        other = replace(registry()[name], prepare=lambda setup, a=arguments: replace(line.call, arguments=a))
        assert prepared_line(other, experiment.setups[0]).identity != line.identity, arguments


def test_whole_numbers_floats_and_flags_are_different_arguments():
    policy, setup = registry()["ucb"], line_of("ucb").setups[0]
    call = policy.prepare(setup)

    def identity(*arguments):
        changed = replace(policy, prepare=lambda setup: replace(call, arguments=arguments))
        return prepared_line(changed, setup).identity

    values = [1, 1.0, True, (1,), np.array([1]), np.array([1.0]), np.array([[1.0]]), 0.0, -0.0, np.float32(1)]
    assert len({identity(value) for value in values}) == len(values)
    assert identity(np.float64(1.0)) == identity(1.0)
    assert identity((1, 2)) != identity(1, 2)
    with pytest.raises(TypeError, match="str"):
        identity("words")


def test_equal_calls_share_blocks_whatever_the_policy_is_called(monkeypatch):
    renamed = replace(registry()["ucb"], name="renamed")
    monkeypatch.setitem(registry(), "renamed", renamed)
    store = Store(None, 2**24)
    first = simulate(line_of("ucb"), store=store)
    again = Simulation(line_of("renamed"), store)
    assert again.missing_seconds == 0
    assert again.result().lines[0].regret.tobytes() == first.lines[0].regret.tobytes()
    both = line_of("ucb").with_changes(lines=[{"policy": "ucb"}, {"policy": "renamed"}], seed=5)
    result = simulate(both, store=store)
    assert result.lines[0].regret.tobytes() == result.lines[1].regret.tobytes()


def test_keys_follow_checkpoints_seed_and_the_code_of_the_streams(monkeypatch):
    [line] = prepared_lines(line_of("ucb"))
    times = checkpoints(500)
    keys = {line.key(times, 4), line.key(times, 5), line.key(times[1:], 4)}
    ships = line.portable_key(times, 4)
    monkeypatch.setattr(prepared, "LIBRARIES", "another NumPy")
    keys.add(line.key(times, 4))
    assert len(keys) == 4
    assert line.portable_key(times, 4) == ships
    monkeypatch.setattr(prepared, "kernel_version", lambda kernel: "other streams")
    assert line.portable_key(times, 4) != ships
    assert kernel_name(streams.streams) == "bandit_core.kernels.streams.streams"


def test_a_wrapped_kernel_has_the_version_of_the_kernel():
    def wrapper(*arguments):
        index.vectorised(*arguments)

    wrapper.__wrapped__ = index.vectorised
    assert kernel_version(wrapper) == kernel_version(index.vectorised)
    assert kernel_name(wrapper) == kernel_name(index.vectorised) == "bandit_core.kernels.index.vectorised"


def test_functions_typed_in_have_versions_too():
    step = 3
    doubled = decorators.kernel(lambda x: x * step)
    tripled = decorators.kernel(lambda x: x * 3)
    assert kernel_version(doubled) != kernel_version(tripled)


def test_a_parser_that_other_threads_confuse_is_asked_again(monkeypatch):
    right, parse, asked = decorators.kernel_version(index.vectorised), ast.parse, []

    def confused(source, *given):
        asked.append(source)
        if len(asked) % 2:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(source, *given)

    monkeypatch.setattr(decorators.ast, "parse", confused)
    monkeypatch.setattr(decorators.numba.config, "CACHE_DIR", "")  # else what was parsed is kept there
    decorators._kept.cache_clear()  # private
    assert decorators.kernel_version.__wrapped__(index.vectorised) == right and len(asked) > 2


def test_a_later_process_reads_no_syntax_of_what_has_not_changed(monkeypatch, tmp_path):
    right, folder = decorators.kernel_version(index.vectorised), tmp_path / "kernels-here"
    folder.mkdir()
    monkeypatch.setattr(decorators.numba.config, "CACHE_DIR", str(folder))

    def read_anew(source):
        raise AssertionError("its syntax is known")

    for parse in (ast.parse, read_anew):
        monkeypatch.setattr(decorators.ast, "parse", parse)
        decorators._kept.cache_clear()  # private
        assert decorators.kernel_version.__wrapped__(index.vectorised) == right
    for file in folder.iterdir():
        file.write_text("{", encoding="utf-8")  # damaged
    decorators._kept.cache_clear()
    with pytest.raises(AssertionError, match="its syntax is known"):
        decorators.kernel_version.__wrapped__(index.vectorised)
    monkeypatch.undo()
    decorators._kept.cache_clear()
    assert decorators.kernel_version.__wrapped__(index.vectorised) == right
