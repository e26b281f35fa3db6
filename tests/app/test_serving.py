"""How many files a server may have open."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ui import serving

resource = pytest.importorskip("resource")
CODE = """
import resource, sys
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from ui import serving
print(serving.allow_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def allowed(project, soft: int, hard: int) -> tuple[str, str]:
    """What is allowed in the end, twice, and what the log says, for a process that starts with these limits."""
    command = [sys.executable, "-c", CODE, str(soft), str(hard)]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_the_usual_limit_is_raised(project):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < serving.OPEN_FILES:
        pytest.skip("this machine allows fewer")
    out, log = allowed(project, 1024, serving.OPEN_FILES)
    assert out.split() == [str(serving.OPEN_FILES)] * 2 and "files open" not in log


def test_a_limit_that_cannot_be_raised_enough_is_in_the_log(project):
    out, log = allowed(project, 512, 2048)
    assert out.split() == ["2048", "2048"] and "2048 files open" in log
