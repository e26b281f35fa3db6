"""What the documents promise is true: policies, links, commands, the tutorial, the guide to extensions, notebooks."""

import contextlib
import importlib
import inspect
import io
import itertools
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import conformance as suite
import pandas as pd
import pytest
from helpers import FILES, own_policies_forgotten

import bandit_core
from bandit_core import Experiment, cli, policies
from bandit_core.cli import main
from bandit_core.experiments import links
from bandit_core.experiments.experiment import View
from bandit_core.policies import registry
from bandit_core.simulation.prepared import prepared_line
from bandit_core.studies import benchmark
from benchmarks import pictures
from ui import menu

# ---------------------------------------------------------------------------------------------------------------------
# What the documents promise is true: the policy in one file, links, commands, tables of pages.


ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME, FILE = "noisy-greedy", "noisy_greedy"


def checks() -> Iterator[tuple[str, object]]:
    """Every check of the conformance suite that is made for each policy, with all its other settings."""
    for title, check in vars(suite).items():
        marks = {mark.args[0]: mark.args[1] for mark in getattr(check, "pytestmark", []) if mark.name == "parametrize"}
        wanted = list(inspect.signature(check).parameters) if marks else []
        if title.startswith("test_") and "name" in wanted and set(wanted) <= set(marks):
            others = [name for name in wanted if name != "name"]
            for values in itertools.product(*(marks[name] for name in others)):
                settings = dict(zip(others, values, strict=True))
                yield f"{title} {settings}", (check, settings)


@pytest.fixture(scope="class")
def one_more_policy(policy_file) -> Iterator[None]:
    """The guide followed to the letter: in a folder that counts as bandit_core/policies."""
    folder = policy_file(FILE, FILES[FILE]).parent
    policies.__path__.append(str(folder))
    importlib.invalidate_caches()
    registry.cache_clear()
    yield
    policies.__path__.remove(str(folder))
    sys.modules.pop(f"bandit_core.policies.{FILE}", None)
    importlib.invalidate_caches()
    registry.cache_clear()


@pytest.mark.usefixtures("one_more_policy")
class TestPolicyOfTheGuide:
    @pytest.mark.parametrize("check", [check for _, check in checks()], ids=[title for title, _ in checks()])
    def test_the_policy_of_the_guide_conforms(self, check):
        function, settings = check
        assert NAME in registry()
        function(NAME, **settings)

    def test_the_policy_of_the_guide_is_everywhere(self, capsys):
        assert main(["list", "policies"]) == 0
        assert NAME in capsys.readouterr().out
        experiment, problems = links.read({"lines": f"ucb,{NAME}(1,explore=0.5)"})
        assert not problems and experiment.lines[1].params == {"explore": 0.5}


def test_the_guide_says_what_the_keys_of_a_view_mean():
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    rows = {
        key: cells
        for keys, cells in re.findall(r"^\| (`.+?`) \| (.*)$", guide, re.MULTILINE)
        for key in keys.split(", ")
    }
    for name, field in View.model_fields.items():
        if name not in {"worst_case", "shapes"}:  # of links of former times
            literal = get_origin(field.annotation) is Literal
            values = get_args(field.annotation) if literal else [field.get_default()]
            assert all(f"`{json.dumps(value)}`" in rows[f"`{name}`"] for value in values), name


def test_most_of_the_conformance_suite_is_run_over_it():
    assert len({title.split(" ")[0] for title, _ in checks()}) >= 10


SPEC = {"arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)], "horizon": 300, "trials": 3}
BUDGET = {"kind": "fixed", "value": 1}


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "POLICY = 1",
        "",
        None,
        "from bandit_core.policies.ucb import POLICY",
        "raise SystemExit",
        "import a_file_beside",
    ],
)
def test_a_file_without_a_policy_of_its_own_is_refused_in_one_line(text, tmp_path, capsys):
    path = tmp_path / "own.py"
    if text is not None:
        path.write_text(text)
    assert cli.main(["run", "default", "--policy", str(path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("policy: ") and message.count("\n") == 1


def test_blocks_of_a_policy_from_a_file_belong_to_its_kernel(tmp_path, monkeypatch):
    def identity(text: str) -> bytes:
        monkeypatch.setattr(policies, "_added", {})
        registry.cache_clear()
        (tmp_path / "own.py").write_text(text.replace(NAME, "own-bits"), encoding="utf-8")
        policies.load_policy(tmp_path / "own.py")
        lines = [{"policy": "own-bits", "epsilon": BUDGET}]
        [setup] = Experiment.model_validate({**SPEC, "lines": lines}).setups
        return prepared_line(registry()["own-bits"], setup).identity

    text = FILES[FILE]
    changed = text.replace("known.counts[arm] += 1", "known.counts[arm] += 2")
    assert identity(text) == identity(text + "# prose\n") != identity(changed)
    monkeypatch.undo()
    registry.cache_clear()


ADDRESSES = re.findall(r"\(http://localhost:8501(/[\w-]*)(?:\?([^)\s]*))?\)", README)


def test_the_readme_has_links_to_try():
    assert len(ADDRESSES) >= 5


@pytest.mark.parametrize(("page", "query"), ADDRESSES)
def test_a_link_of_the_readme_opens_what_it_says(page, query):
    from urllib.parse import parse_qsl

    assert page == "/" or (ROOT / "pages" / f"{page[1:]}.py").exists()
    fields = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=True)) if query else {}
    own = {name for each in menu.pages() for name in f"{each.fields} {each.old_fields}".split()} | links.DISPLAY
    _, problems = links.read(fields, ignored=own)
    assert problems == []


def test_the_readme_names_every_page_and_files_that_are_named_exist():
    for path in (ROOT / "pages").glob("*.py"):
        address = "/" if path.stem == "home" else f"/{path.stem}"
        assert f"`{address}`" in README, address
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")):
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), (document, target)


def test_readme_says_what_the_picture_command_prints():
    readme = " ".join(README.split())
    assert all(message in readme for message in pictures.numbers())


def test_the_two_commands_stand_alone_in_the_readme():
    for command in (
        ".venv/bin/pip install -r requirements.txt && .venv/bin/streamlit run app.py",
        ".venv/bin/pip install -r tests/requirements.txt && .venv/bin/python -m pytest",
    ):
        assert f"\n    python3 -m venv .venv && {command}\n" in README


def test_versions_agree():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version
    assert f"version: {version[1]}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {version[1]}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_test_that_the_notes_on_security_name_exists(project):
    named = set(re.findall(r"`(test_\w+)`", (project / "docs" / "security.md").read_text()))
    there = {path.stem for path in (project / "tests").rglob("test_*.py")}
    assert named and named <= there


# ---------------------------------------------------------------------------------------------------------------------
# docs/tutorial.md is true: its files are saved and its commands run, in their order, in a fresh folder.


TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEPS = re.findall(
    r"^Save it as `([^`]+)`:\n\n```\w+\n(.*?)```|^```(python)\n(.*?)```|^    (python -m [^\n]*)$",
    TUTORIAL,
    re.DOTALL | re.MULTILINE,
)


def test_every_policy_of_the_tutorial_takes_at_most_45_lines() -> None:
    files = [text for name, text, *_ in STEPS if "POLICY = " in text]
    assert len(files) == 3
    assert [text for text in files if sum(bool(line.strip()) for line in text.splitlines()) > 45] == []


@pytest.fixture
def fresh_folder(pytestconfig: pytest.Config, worker_id: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Here the reader works, always at the same place, so that its kernels are compiled once.

    The benchmark plays fewer runs of every task, else it would take minutes.
    """
    folder = Path(pytestconfig.cache.mkdir(f"tutorial-{worker_id}")) / "mine"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(benchmark, "LEAST", 8)
    monkeypatch.setattr(benchmark, "MOST", 8)
    return folder


def test_the_tutorial_is_followed_to_the_letter(fresh_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = {}
    for name, text, _, code, command in STEPS:
        if name:
            (fresh_folder / name).write_text(text, encoding="utf-8")
            os.utime(fresh_folder / name, (0, 0))  # numba throws away machine code of an older file
            continue
        with own_policies_forgotten():  # each command starts with what it names itself
            if code:
                exec(compile(code, "tutorial", "exec"), {})
            else:
                _, _, package, *words = command.split()
                if package == "pytest":
                    tried = [sys.executable, "-m", package, "-c", os.devnull, "-p", "no:cacheprovider", *words]
                    print(subprocess.check_output(tried, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}))
                else:
                    assert package == "bandit_core" and main(words) == 0, capsys.readouterr().err
        printed[code or command] = capsys.readouterr().out
    assert len(printed) == 15
    assert "10 passed, 3 skipped" in printed["python -m pytest test_noisy_greedy.py"]
    checked = [text for command, text in printed.items() if "check-policy" in command]
    assert len(checked) == 3 and not any("does not hold" in text for text in checked)
    for check, text in itertools.product(("description", "numbers", "plain Python", "guarantee", "account"), checked):
        assert f": {check}: holds. " in text
    for picture in ("curves.pdf", "study.pdf"):
        assert (fresh_folder / picture).read_bytes().startswith(b"%PDF")
    assert (fresh_folder / "study.tex").read_text(encoding="utf-8").count(r"\pm") >= 3 * 2 * 2 * 2
    [tests] = [text for command, text in printed.items() if "study.toml" in command and "--compare" in command]
    assert "p_corrected" in tests and "Noisy greedy" in tests
    assert "Noisy greedy" in (fresh_folder / "final.tex").read_text(encoding="utf-8")
    rank = pd.read_csv(fresh_folder / "rank.csv")
    mine = rank[rank["policy"] == "noisy-greedy"]
    assert len(mine) >= 1 and (mine["factor"] > 1).all() and rank["policy"].nunique() > 5
    study = pd.read_csv(fresh_folder / "study.csv")
    assert len(study[study["policy"] == "noisy-greedy"]) == 3 * 2 * 2 * 2


# ---------------------------------------------------------------------------------------------------------------------
# docs/extending.md is true: every section is followed to the letter, in one copy of the project.


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


# ---------------------------------------------------------------------------------------------------------------------
# The notebooks of the site, run cell by cell as a reader would; what they show is what they say.
# Their sources are Markdown, so that a change can be read. The site itself is built by Sphinx, which only a checkout
# with docs/requirements.txt has; the workflow builds it, and fails for a warning or a page that asks another host.


FOLDER = ROOT / "docs" / "notebooks"


def played(name: str) -> dict[str, Any]:
    """The names that a notebook has made when its last cell has run, and what it has printed."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert cells and {path.stem for path in FOLDER.glob("*.md")} == {"lecturer", "practitioner", "researcher"}
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for number, cell in enumerate(cells, 1):
            exec(compile(cell, f"{name}, cell {number}", "exec"), names)
    return names | {"printed": out.getvalue()}


def test_the_lecture_shows_that_privacy_costs_more_the_more_of_it_there_is() -> None:
    names = played("lecturer")
    prices = names["prices"]
    assert list(prices.columns) == ["trusting a curator", "trusting no one"]
    assert prices["trusting no one"].is_monotonic_decreasing
    assert (prices["trusting no one"] > prices["trusting a curator"]).tolist() == [True, True, True, True, False]
    assert "controls=off" in names["link"]


def test_the_decision_names_a_method_and_a_budget_for_every_promise() -> None:
    names = played("practitioner")
    lost = names["chosen"]["lost clicks"]
    assert lost["local"] > lost["central"] and lost["local"] > lost["none"]
    smallest = {each.privacy: each.answer.best for each in names["found"]}
    assert 0 < smallest["central"] < smallest["local"]
    released = names["released"]
    assert set(released["guarantee_epsilon"]) == {1.0}


def test_the_paper_measures_bounds_reproduces_and_audits() -> None:
    names = played("researcher")
    experiment = names["experiment"]
    upper = names["beside"].query("side == 'upper'")
    assert set(upper["line"]) == {0, 1, 2} and (upper["measured"] <= upper["value"]).all()
    assert (upper.groupby("line")["value"].min() < experiment.horizon * experiment.largest_gap).all()  # not the cap
    assert names["again"].share < names["shipped"].share == 1
    assert {name: found.verdict for name, found in names["audits"].items()} == {
        "ctb-as-printed": "violates",
        "ctb": "consistent",
    }
    assert names["curator"].confirmed
    assert {each.held for each in names["judged"]} & {"confirmed", "not confirmed"}


def test_the_reference_names_everything_public() -> None:
    text = (ROOT / "docs" / "reference" / "library.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\.\. auto\w+:: bandit_core\.(\w+)(?:\(.*\))?$", text, re.MULTILINE))
    assert named == set(bandit_core.__all__)


def test_a_page_of_the_site_that_asks_another_host_is_told(tmp_path: Path) -> None:
    """The build itself looks at every page (docs/conf.py)."""
    pages = {
        "own.html": '<link href="_static/a.css"><script src="_static/a.js"></script><a href="https://b.org">b</a>',
        "script.html": '<script async src="https://b.org/a.js"></script>',
        "style.html": '<link rel="stylesheet" href="//b.org/a.css">',
        "own.css": "p { background: url(a.png) }",
        "font.css": "@import url('https://b.org/font.css');",
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = runpy.run_path(str(ROOT / "docs" / "other_hosts.py"))["asking_another_host"](tmp_path)
    assert [path.name for path in found] == ["font.css", "script.html", "style.html"]
    assert "asking_another_host" in (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# Every command of the lab that a document shows is run, in a fresh folder, with the files that documents show.


FOLLOWED = ("tutorial.md", "extending.md")  # by tests of their own, above
TEXTS = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
SHOWN = {
    line: shlex.split(line, comments=True)
    for name, text in TEXTS.items()
    if name not in FOLLOWED
    for line in re.findall(r"^    (?:\.venv/bin/)?(?:python -m bandit_core|bandit-lab) ([^\n]*)$", text, re.MULTILINE)
}
SHORTER = {  # than minutes, or hours
    "reproduce": ["--trials", "2", "--out", "mine"],
    "export": ["--at", "0.5,2", "--trials", "4"],
    "run": ["--trials", "4"],
    "sweep": ["--trials", "4"],
    "price": ["--weekly", "40"],
}
ELSEWHERE = {  # run by another test
    "benchmark": "test_documents.py",
    "warm": "test_packaging.py",
}


def elsewhere(words: list[str]) -> str | None:
    return next((test for name, test in ELSEWHERE.items() if name in words), None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A fresh folder with the files of the guide; a policy that is loaded in it is known here only."""
    settings, study = re.findall(r"```toml\n(.*?)```", TEXTS["guide.md"], re.DOTALL)
    assert "trials = 100\n" in study
    stops = settings.replace('"ucb"', '"top-two"').replace('"heldp-ucb-b"', '"ctb-tt"').replace("10_000", "1_000_000")
    files = {
        "my-experiment.toml": settings, "my-own.toml": settings, "my-question.toml": stops,
        "my-study.toml": study.replace("trials = 100\n", "trials = 2\n"),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with own_policies_forgotten():
        yield tmp_path


@pytest.mark.parametrize("shown", SHOWN)
def test_a_command_of_a_document_runs(shown, folder, policy_file, capsys):
    policy = policy_file("noisy_greedy", re.findall(r"```python\n(.*?)```", TEXTS["tutorial.md"], re.DOTALL)[0])
    words = [str(policy) if word == "my_policy.py" else word for word in SHOWN[shown]]
    if (test := elsewhere(words)) is not None:
        assert list(ROOT.glob(f"tests/*/{test}"))
        return
    refuted = words[0] == "audit" and "ctb-as-printed" in words
    assert main([*words, *SHORTER.get(words[0], [])]) == int(refuted)
    written = words[words.index("--out") + 1] if "--out" in words else None
    assert (folder / written).exists() if written else capsys.readouterr().out


def test_the_documents_show_nearly_every_command():
    from bandit_core.export.command_options import COMMANDS

    assert {each.name for each in COMMANDS} - {words[0] for words in SHOWN.values()} <= {"app"}
