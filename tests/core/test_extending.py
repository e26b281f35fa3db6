"""docs/extending.md is true: every section is followed to the letter, in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers import kernels_lent

from bandit_core.jit.version import code_fingerprint, sources

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE))
pytestmark = pytest.mark.xdist_group("extending")  # one place, hence one after the other
PARTS = ("bandit_core", "ui", "pages", "presets", "papers", "tests", "docs", "app.py", "README.md", "pyproject.toml")


class Copy:
    """The project with what one section adds. Always in the same place, so that kernels are compiled once."""

    def __init__(self, folder: Path, section: str) -> None:
        self.root = folder / "project"
        shutil.rmtree(self.root, ignore_errors=True)
        for part in PARTS:
            source, target = ROOT / part, self.root / part
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)
        paths = [os.path.dirname(sys.executable), os.environ["PATH"]]
        self.environment = {**os.environ, "PATH": os.pathsep.join(paths)}
        self.environment.pop("PYTEST_XDIST_WORKER", None)
        self.text = SECTIONS[section]
        self.write()
        if code_fingerprint(sources(self.root / "bandit_core")) != code_fingerprint():
            self.environment["LAB_CACHE_DIR"] = str(folder / "cache")  # else it uses the project's machine code

    def write(self) -> None:
        """The file of the section, and the one line elsewhere where there is one."""
        [(place, code)] = re.findall(r"Save it as `([^`]+)`:\n\n```\w+\n(.*?)```", self.text, re.DOTALL)
        assert not (self.root / place).exists()
        (self.root / place).write_text(code, encoding="utf-8")
        lines = re.findall(r"Add this line to `README.md`, to the table of pages:\n\n    (.*)", self.text)
        assert len(lines) <= 1
        for line in lines:
            readme = self.root / "README.md"
            row = "| Glossary `/glossary` |"
            readme.write_text(readme.read_text(encoding="utf-8").replace(row, f"{line}\n{row}"), encoding="utf-8")

    def run(self, command: list[str]) -> str:
        """Standard output of a command, which must succeed."""
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def tried(self) -> str:
        """What the commands of the section print."""
        [block] = re.findall(r"Try it:\n\n((?:    .*\n)+)", self.text)
        return self.run(["bash", "-euo", "pipefail", "-c", textwrap.dedent(block)])

    def says(self, code: str) -> str:
        """What a piece of Python prints."""
        return self.run([sys.executable, "-c", textwrap.dedent(code)]).strip()


@pytest.fixture
def copy_with(pytestconfig: pytest.Config, worker_id: str):  # type: ignore[no-untyped-def]
    """A function that gives the copy for a section."""

    folder = Path(pytestconfig.cache.mkdir(f"extending-{worker_id}"))
    with ExitStack() as after:

        def made(section: str) -> Copy:
            copy = Copy(folder, section)
            after.enter_context(kernels_lent(ROOT, copy.root))
            return copy

        yield made


def test_the_page_has_a_section_for_everything_in_its_table() -> None:
    links = re.findall(r"^\| \[.*?\]\(#([\w-]+)\)", GUIDE, re.MULTILINE)
    assert [name.lower().replace(" ", "-") for name in SECTIONS] == links
    assert len(links) == 7


def test_a_distribution_of_rewards(copy_with) -> None:
    copy = copy_with("A distribution of rewards")
    message = copy.tried()
    assert "triangular" in message
    assert [line.split(",")[3] for line in message.splitlines() if line.startswith("0,UCB,")]
    said = copy.says("""
        import numpy as np
        from scipy import stats
        from bandit_core.jit.decorators import device_function
        from bandit_core.kernels.rewards import draw_reward
        from bandit_core.kernels.streams import next_uniform, streams
        from bandit_core.spec import notation, rewards

        @device_function
        def drawn(table, values, state, found):
            for place in range(len(found)):
                found[place] = draw_reward(table, values, place % 2, next_uniform(state, 0, 0), state, 0)

        triangular = rewards.DISTRIBUTIONS["triangular"](low=1, high=3)
        arms = (triangular, rewards.Pareto(mean=2, shape=1.5))
        found = np.empty(40_000)
        drawn(*rewards.tables(arms), streams(0, 0, 1), found)
        for place, arm in enumerate(arms):
            grid = np.linspace(0, 1, 20_001)
            inside = stats.kstest(found[place::2], lambda x: np.interp(x, arm.quantile(grid[:-1]), grid[:-1]))
            print(inside.pvalue > 1e-4, end=" ")
        print(notation.write_arms([triangular]), notation.read_arms("triangular(1,3) x2"))
    """)
    assert said == "True True triangular(1,3) [{'kind': 'triangular', 'low': 1, 'high': 3, 'count': 2}]"


def test_a_distribution_of_budgets(copy_with) -> None:
    copy = copy_with("A distribution of budgets")
    assert "exponential" in copy.tried()
    said = copy.says("""
        import numpy as np
        from scipy import stats
        from bandit_core.kernels.users import draw_epsilon
        from bandit_core.spec import budgets, notation

        spread = budgets.DISTRIBUTIONS["exponential"](mean=2)
        found = [draw_epsilon(*spread.kernel_form(), uniform) for uniform in (np.arange(20_000) + 0.5) / 20_000]
        print(stats.kstest(found, "expon", args=(0, 2)).pvalue > 1e-4, end=" ")
        print(np.isclose(spread.share_above(2), np.exp(-1)), end=" ")
        print(notation.write_epsilon(spread), notation.read_epsilon(spread.example))
    """)
    assert said == "True True exponential(2) {'kind': 'exponential', 'mean': 1}"


def test_a_mechanism(copy_with) -> None:
    copy = copy_with("A mechanism")
    message = copy.tried()
    assert message.count("stars") >= 2
    assert re.search(r"\d+ passed|\.{5,}", message)
    colours = "from ui import theme; print(theme.mechanism_colour('stars'), theme.mechanism_colour('ctl'))"
    first, second = copy.says(colours).split()
    assert re.fullmatch("#[0-9a-f]{6}", first) and first != second


def test_a_bound(copy_with) -> None:
    copy = copy_with("A bound")
    message = copy.tried()
    rows = [line for line in message.splitlines() if ",First user" in line]
    assert len({row.split(",")[0] for row in rows}) >= 2  # beside every line, whatever its promise
    said = copy.says("""
        from bandit_core import load_preset
        from bandit_core.experiments import catalogue
        experiment = load_preset("two-treatments")
        entry = catalogue.entry_of(catalogue.entries(experiment), "none-first-user-any")
        print(entry.bound.values([10.0], 1.0), experiment.largest_gap / len(experiment.single_arms))
    """)
    value, expected = said.strip("[").split("] ")
    assert float(value) == pytest.approx(float(expected))


def test_a_preset(copy_with) -> None:
    copy = copy_with("A preset")
    message = copy.tried()
    assert "two-shops" in message and "preset=two-shops" in message
    groups = (
        "from bandit_core.experiments.presets import presets; print({p.name: p.group for p in presets()}['two-shops'])"
    )
    assert copy.says(groups) == "Shops"


def test_a_page(copy_with) -> None:
    copy = copy_with("A page")
    assert re.search(r"^\.{3,} ", copy.tried(), re.MULTILINE)
    said = copy.says("""
        from streamlit.testing.v1 import AppTest
        from ui import menu, state
        screen = AppTest.from_file("app.py", default_timeout=120)
        screen.query_params["eps"] = "2"
        screen.switch_page("pages/coin.py").run()
        place = [page.name for page in menu.pages()].index("coin")
        print(screen.metric[0].value, screen.session_state["lab"]["page"], len(screen.sidebar), place)
    """)
    assert said == "11.9% coin 0 16"
