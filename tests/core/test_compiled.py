"""Machine code on disk: found again, and a damaged file costs a compilation, never a result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bandit_core.kernels import compiled


def tripled(number):
    return 3.0 * number


def fresh():
    """A new dispatcher of the same function, as another process would have it."""
    return compiled.kernel(tripled)


def files(ending: str) -> list[Path]:
    return sorted(Path(fresh()._cache.cache_path).glob(f"*tripled*.{ending}"))


def test_machine_code_is_found_on_disk():
    assert fresh()(2.0) == 6.0
    again = fresh()
    assert again(2.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: os.urandom(99)])
def test_damaged_machine_code_is_compiled_anew(ending, damage):
    assert fresh()(2.0) == 6.0
    assert files(ending)
    for file in files(ending):
        file.write_bytes(damage(file.read_bytes()))
    assert fresh()(2.0) == 6.0
    again = fresh()
    assert again(2.0) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1


def test_the_fingerprint_follows_the_sources(tmp_path, monkeypatch):
    here = compiled.fingerprint()
    core = tmp_path / "bandit_core"
    for folder in ("kernels", "mechanisms", "policies"):
        (core / folder).mkdir(parents=True)
    for name in ("arms.py", "epsilons.py", "engine.py"):
        (core / name).write_text("one")
    monkeypatch.setattr(compiled, "__file__", str(core / "kernels" / "compiled.py"))
    first = compiled.fingerprint.__wrapped__()
    (core / "mechanisms" / "new.py").write_text("changed")
    second = compiled.fingerprint.__wrapped__()
    assert len({here, first, second}) == 3


@pytest.mark.parametrize("settings", [{"LAB_CACHE_DIR": "/dev/null/x"}, {"LAB_KERNEL_CACHE": "0"}])
def test_without_a_place_on_disk_kernels_are_compiled_in_memory(settings):
    code = "from bandit_core.kernels import compiled; print(compiled._DISK, compiled.kernel(lambda x: x + 1)(1) == 2)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **settings}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_a_user_without_a_home_gets_no_cache_instead_of_an_error(monkeypatch):
    monkeypatch.delenv("LAB_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(compiled.Path, "home", homeless)
    with pytest.raises(OSError, match="Not a directory"):
        compiled.cache_folder().mkdir(parents=True)


def test_a_start_does_not_load_linear_algebra_and_kernels_can_still_use_it():
    code = """
import sys
import numpy as np
from bandit_core.kernels.compiled import kernel
loaded = "scipy.linalg" in sys.modules
product = kernel(lambda a, b: a @ b)
print(loaded, product(np.eye(2), np.full((2, 2), 7.0))[0, 0])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "LAB_KERNEL_CACHE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "7.0"]
