"""What several tests of the core share: small experiments and their exact numbers, watched policies, blocks."""

import functools
import hashlib
import itertools
import math
import re
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from bandit_core import Experiment, InputError, cli, policies
from bandit_core.jit import decorators
from bandit_core.model import Block, KernelCall, Signal
from bandit_core.policies import registry
from bandit_core.simulation import costs, engine
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import Issue
from bandit_core.studies import price

TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"Save it as `(\w+)\.py`:\n\n```python\n(.*?)```", TUTORIAL, re.DOTALL))  # its policies
REFUSED, EDITS = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8")) for name in ("refused", "edits")
)
HANGS = 300.0  # seconds after which a test that would wait for ever gives up; no test passes or fails by its speed
ARMS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.6, "count": 3}]
SLOW = [{"kind": "beta", "a": 2.0, "b": 1.0, "count": 2}]  # drawn one by one at every horizon, for minutes at 10^9
LINES = [
    {"policy": "ucb"},
    {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 2.0}, "params": {"eps_min": 2.0}},
    {
        "policy": "heldp-ucb-l",
        "epsilon": {"kind": "discrete", "values": [0.0, 1.0, 4.0]},
        "params": {"eps_min": 1.0},
    },
]


@contextmanager
def refused(*paths: str, value: Any = mock.ANY) -> Iterator[list[Issue]]:
    """What is done here is refused for what stands at these paths and nothing else; ``value`` stood at the first."""
    issues: list[Issue] = []
    with pytest.raises(InputError) as refusal:
        yield issues
    issues += refusal.value.issues
    assert [issue.path for issue in issues] == list(paths), issues
    assert issues[0].value == value, issues


def experiment_of(**fields) -> Experiment:
    return Experiment.model_validate({"arms": ARMS, "lines": LINES, "horizon": 600, "trials": 13, "seed": 5, **fields})


def memory() -> Store:
    return Store(None, 10**8)


def numbers(result) -> list[bytes]:
    return [
        b"".join(getattr(line, name).tobytes() for name in ("trials", "regret", "best_pulls", "pulls"))
        for line in result.lines
    ]


def cut_finely(monkeypatch, seconds=1e-9):
    """Cut trials into single ones (or as many as fit ``seconds``), and use threads however small the work is."""
    monkeypatch.setattr(costs, "SHORTEST_TASK", seconds / 2)
    monkeypatch.setattr(costs, "LONGEST_TASK", seconds)


def take_time(monkeypatch, seconds=0.03):
    """Let every block of every line last, so that whoever follows a run has the time to interfere."""
    for line in LINES:
        Counted(monkeypatch, line["policy"], lambda counted, stop: time.sleep(seconds))


class Counted:
    """Wraps a policy's kernel: counts calls and trials, optionally interferes, then plays as before."""

    def __init__(self, monkeypatch, name, interfere=None):
        self.calls: list[int] = []
        self.policy = registry()[name]
        self.interfere = interfere
        self.lock = threading.Lock()
        monkeypatch.setitem(registry(), name, replace(self.policy, prepare=self.prepare))

    def prepare(self, setup) -> KernelCall:
        call = self.policy.prepare(setup)

        @functools.wraps(call.kernel)  # of the same version, hence with the same blocks
        def kernel(state, *arguments):
            with self.lock:
                self.calls.append(len(state))
            if self.interfere is not None:
                self.interfere(self, Signal(arguments[-1].signal))
            call.kernel(state, *arguments)

        return replace(call, kernel=kernel)

    @property
    def trials(self) -> int:
        return sum(self.calls)


def together(works) -> list:
    """Results of these calls, each in a thread of its own; they begin together."""
    begin = threading.Barrier(len(works))
    results = [None] * len(works)

    def call(number, work):
        begin.wait()
        try:
            results[number] = work()
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=call, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=HANGS)
        assert not thread.is_alive()
    return results


def wait_for(happens) -> None:
    last = time.monotonic() + HANGS
    while not happens():
        assert time.monotonic() < last
        time.sleep(0.002)


def block_of(trials=5, seed=0, times=7, arms=3):
    draw = np.random.default_rng(seed)
    return Block(*(draw.random((trials, width)) for width in (times, times, arms)))


def same(one: Block, other: Block) -> bool:
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in ("regret", "best_pulls", "pulls")
    )


def setting(name: str, structure: str = "single") -> dict:
    """Two arms, or users with features, as a policy needs them."""
    if registry()[name].setting == "arms":
        return {"arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.6}]}
    return {"contexts": {"dimension": 3, "arms": 4, "structure": structure}}


def line_of(name: str, epsilon=None, horizon: int = 100_000, structure: str = "single", **params) -> Experiment:
    """An experiment of one line."""
    line = {"policy": name, "params": params} | ({"epsilon": epsilon} if epsilon else {})
    return Experiment.model_validate({**setting(name, structure), "lines": [line], "horizon": horizon})


def lines_taken(setting: dict, budgets: Iterable[dict]) -> list[dict]:
    """A line of every policy, and with every one of these budgets, that takes these arms or users."""
    found = []
    for name, policy in registry().items():
        for budget in [{}] if policy.epsilon == "none" else [{"epsilon": each} for each in budgets]:
            with suppress(InputError):
                Experiment.model_validate({**setting, "lines": [{"policy": name, **budget}]})
                found.append({"policy": name, **budget})
    return found


class Asked(Exception):
    """The question that a command would have answered."""


def asked(monkeypatch, *words: str):
    """What `price` would answer, called with these words."""

    def stop(question, *_):
        raise Asked(question)

    monkeypatch.setattr(price, "PriceStudy", stop)
    with pytest.raises(Asked) as found:
        cli.main(["price", *words])
    return found.value.args[0]


def fixed(epsilon: float) -> dict:
    """The same budget for everyone."""
    return {"kind": "fixed", "value": epsilon}


@contextmanager
def kernels_lent(project: Path, copy: Path) -> Iterator[None]:
    """Let a copy of the project load and keep machine code where the project's own stands, as numba names folders.

    Were they named otherwise, the copy would compile for itself, which takes longer and proves the same.
    """
    folder, links = decorators.kernel_folder(), []
    sources = {path.parent for path in (copy / "bandit_core").rglob("*.py")}
    for source in sources if folder is not None else ():
        own, other = (
            folder / f"{place.name}_{hashlib.sha1(str(place).encode()).hexdigest()}"
            for place in (project / source.relative_to(copy), source)
        )
        own.mkdir(exist_ok=True)
        other.symlink_to(own)
        links.append(other)
    yield
    for link in links:
        link.unlink()


@contextmanager
def own_policies_forgotten() -> Iterator[None]:
    """Policies from files are known here only: what a process of its own would forget by ending."""
    try:
        yield
    finally:
        policies._added.clear()  # private: no file is ever taken back otherwise
        registry.cache_clear()


def least_p(mine: Block, theirs: Block) -> float:
    """Of two samplers' runs, regret at every checkpoint and pulls of every arm compared by Kolmogorov and Smirnov's
    test: the smallest p-value, times the number of comparisons."""
    pairs = [*zip(mine.regret.T, theirs.regret.T, strict=True), *zip(mine.pulls.T, theirs.pulls.T, strict=True)]
    return len(pairs) * min(float(stats.ks_2samp(*pair, method="asymp").pvalue) for pair in pairs)


def chi_square_p(sample: np.ndarray, law) -> float:
    """p-value of the sample under the law, over at most 60 cells of about equal probability."""
    borders = np.unique(law.ppf(np.linspace(0, 1, 61)[1:-1]))
    chances = np.diff(np.concatenate([[0.0], law.cdf(borders), [1.0]]))
    counts = np.bincount(np.searchsorted(borders, sample, side="left"), minlength=len(chances))
    large = chances * len(sample) > 5
    assert chances[large].sum() > 0.999
    expected = chances[large] * len(sample)
    return float(stats.chi2.sf(((counts[large] - expected) ** 2 / expected).sum(), large.sum() - 1))


def delta_by_hand(epsilon: float, part: float, times: int) -> float:
    """Hockey-stick divergence of so many randomised responses, over every pattern of truths and lies."""
    truth = 1 / (1 + math.exp(-part))
    patterns = itertools.product((truth, 1 - truth), repeat=times)
    return sum(max(0.0, math.prod(p) - math.exp(epsilon) * math.prod(1 - each for each in p)) for p in patterns)


def keys_of(experiment) -> list[str]:
    return [line.key(engine.checkpoints(experiment.horizon), experiment.seed) for line in prepared_lines(experiment)]
