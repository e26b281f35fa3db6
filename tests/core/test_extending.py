"""docs/extending.md is true: every section is followed to the letter, in one copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE))
COMMAND = re.compile(r"(?:echo '([^']*)' \| )?python -m (bandit_core|pytest) ([^\n]*)\n")
PARTS = ("bandit_core", "ui", "pages", "presets", "papers", "tests", "docs", "app.py", "README.md", "pyproject.toml")

ASKED = {  # what is looked at beyond the commands of a section
    "A distribution of rewards": """
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
    """,
    "A distribution of budgets": """
        import numpy as np
        from scipy import stats
        from bandit_core.kernels.users import draw_epsilon
        from bandit_core.spec import budgets, notation

        spread = budgets.DISTRIBUTIONS["exponential"](mean=2)
        found = [draw_epsilon(*spread.kernel_form(), uniform) for uniform in (np.arange(20_000) + 0.5) / 20_000]
        print(stats.kstest(found, "expon", args=(0, 2)).pvalue > 1e-4, end=" ")
        print(np.isclose(spread.share_above(2), np.exp(-1)), end=" ")
        print(notation.write_epsilon(spread), notation.read_epsilon(spread.example))
    """,
    "A bound": """
        from bandit_core import load_preset
        from bandit_core.experiments import catalogue
        experiment = load_preset("two-treatments")
        entry = {each.key: each for each in catalogue.entries(experiment)}["none-first-user-any"]
        print(entry.bound.values([10.0], 1.0), experiment.largest_gap / len(experiment.single_arms))
    """,
    "A page": """
        from streamlit.testing.v1 import AppTest
        from ui import menu, state
        screen = AppTest.from_file("app.py", default_timeout=120)
        screen.query_params["eps"] = "2"
        screen.switch_page("pages/coin.py").run()
        place = [page.name for page in menu.pages()].index("coin")
        print(screen.metric[0].value, screen.session_state["lab"]["page"], len(screen.sidebar), place)
    """,
    "A mechanism": """
        from ui import theme
        print(theme.mechanism_colour('stars'), theme.mechanism_colour('ctl'))
    """,
    "A preset": """
        from bandit_core.experiments.presets import presets
        print({preset.name: preset.group for preset in presets()}['two-shops'])
    """,
}

FOLLOW = """
import contextlib, io, json, shlex, sys
import pytest
from bandit_core import cli

def done(given, module, words):
    sys.stdin = io.StringIO(given or "")
    code = cli.main(words) if module == "bandit_core" else pytest.main(words)
    assert code == 0, (module, words, code)

told = {}
for section, (commands, asked) in json.load(sys.stdin).items():
    for kind, work in (("tried", commands), ("asked", asked)):
        print(section, kind, file=sys.stderr)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            for given, module, words in work if kind == "tried" else ():
                done(given, module, shlex.split(words))
            if kind == "asked":
                path = f"<{section}>"
                exec(compile(work, path, "exec"), {"__name__": "__main__"})
        told[section] = [*told.get(section, []), out.getvalue()]
print(json.dumps(told))
"""


def saved(root: Path, text: str) -> None:
    """Write the file of a section, and the one line elsewhere where there is one."""
    [(place, code)] = re.findall(r"Save it as `([^`]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL)
    assert not (root / place).exists()
    (root / place).write_text(code, encoding="utf-8")
    lines = re.findall(r"Add this line to `README.md`, to the table of pages:\n\n    (.*)", text)
    assert len(lines) <= 1
    for line in lines:
        readme, row = root / "README.md", "| Glossary `/glossary` |"
        readme.write_text(readme.read_text(encoding="utf-8").replace(row, f"{line}\n{row}"), encoding="utf-8")


def commands_of(text: str) -> list[tuple[str, str, str]]:
    """What a section says to try: what is piped in, the module, and its words."""
    [block] = re.findall(r"Try it:\n\n((?:    .*\n)+)", text)
    block = textwrap.dedent(block)
    assert COMMAND.sub("", block) == ""
    return COMMAND.findall(block)


@pytest.fixture
def followed(pytestconfig: pytest.Config, worker_id: str) -> dict[str, tuple[str, str]]:
    """What the commands of each section print, and what is asked after them.

    The copy is always in the same place, so that its kernels are compiled once; one process follows all sections.
    """
    folder = Path(pytestconfig.cache.mkdir(f"extending-{worker_id}"))
    root = folder / "project"
    shutil.rmtree(root, ignore_errors=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, root / part)
    for section in ASKED:
        saved(root, SECTIONS[section])
    environment = {**os.environ, "LAB_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTEST_XDIST_WORKER", None)
    work = {section: (commands_of(SECTIONS[section]), textwrap.dedent(ASKED[section])) for section in ASKED}
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW],
        cwd=root, env=environment, input=json.dumps(work), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def test_the_page_has_a_section_for_everything_in_its_table() -> None:
    links = re.findall(r"^\| \[.*?\]\(#([\w-]+)\)", GUIDE, re.MULTILINE)
    assert [name.lower().replace(" ", "-") for name in SECTIONS] == links
    assert len(links) == 8 == len(ASKED) + 2  # a policy and a sentence of a lesson ask for nothing more


def test_every_section_is_followed_to_the_letter(followed) -> None:
    message, said = followed["A distribution of rewards"]
    assert "triangular" in message
    assert [line.split(",")[3] for line in message.splitlines() if line.startswith("0,UCB,")]
    assert said == "True True triangular(1,3) [{'kind': 'triangular', 'low': 1, 'high': 3, 'count': 2}]\n"

    message, said = followed["A distribution of budgets"]
    assert "exponential" in message
    assert said == "True True exponential(2) {'kind': 'exponential', 'mean': 1}\n"

    message, said = followed["A mechanism"]
    assert message.count("stars") >= 2
    assert re.search(r"\d+ passed|\.{5,}", message)
    first, second = said.split()
    assert re.fullmatch("#[0-9a-f]{6}", first) and first != second

    message, said = followed["A bound"]
    rows = [line for line in message.splitlines() if ",First user" in line]
    assert len({row.split(",")[0] for row in rows}) >= 2  # beside every line, whatever its promise
    value, expected = said.strip("[").split("] ")
    assert float(value) == pytest.approx(float(expected))

    message, said = followed["A preset"]
    assert "two-shops" in message and "preset=two-shops" in message
    assert said == "Lessons\n"

    message, said = followed["A page"]
    assert re.search(r"^\.{3,} ", message, re.MULTILINE)
    assert said == "11.9% coin 0 16\n"
