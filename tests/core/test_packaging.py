"""The package that ``pip install .`` makes, and what it says of itself.

The wheel is built once and installed into an environment of its own, without any request to the network: its
dependencies are those that the tests run on, lent by a ``.pth`` file. This proves what the wheel holds, that its
command runs far from the checkout, and that the versions we test with satisfy what it asks for. It does not prove that
pip finds these dependencies in a registry: that takes minutes, and CONTRIBUTING.md says how to see it by hand.
"""

import contextlib
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path
from urllib.request import urlopen

import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from bandit_core import cli, load_preset, simulate

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SHIPPED = "bandit_core/shipped"
KINDS = (".py", ".typed", ".css", ".html", ".js", ".json", ".txt", ".toml", ".md")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, timeout=300)
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(built: list[Path]) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that holds the wheel, and borrows everything else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=os.name != "nt")
    here = {"base": str(folder), "platbase": str(folder)}
    packages, scripts = (Path(sysconfig.get_path(name, "venv", here)) for name in ("purelib", "scripts"))
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet", "--no-index"]
    subprocess.run([*pip, "--no-deps", wheel], check=True, timeout=300)
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return scripts


def run(installed: Path, folder: Path, *command: str) -> str:
    settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [installed / command[0], *command[1:]],
        cwd=folder, env=settings, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


ASKED = """
import json
from importlib import metadata
from pathlib import Path
import bandit_core
from bandit_core import cli, paths
from bandit_core.experiments.presets import preset_names
from bandit_core.literature import papers, reproductions
from streamlit.testing.v1 import AppTest
about = metadata.metadata("private-bandit-lab")
told = {
    "file": bandit_core.__file__,
    "version": about["Version"],
    "own version": paths.project_version(),
    "needed": about.get_all("Requires-Dist"),
    "presets": preset_names(),
    "papers": [paper.name for paper in papers.papers()],
    "results": sorted(name for name in papers.played() if reproductions.load(name)),
    "confirmed": papers.erratum_of("ren-curator-3").check().confirmed,
}
words = ["export", "two-treatments", "--horizon", "200", "--trials", "3", "--at", "1,2", "--out", "lesson.html"]
told["run"] = cli.main(["run", "two-treatments", "--horizon", "200", "--trials", "3", "--out", "run.csv"])
told |= {"lesson code": cli.main(words), "lesson": Path("lesson.html").read_text(encoding="utf-8")}
pages = {}
for page in ("papers", "glossary"):  # neither simulates anything
    screen = AppTest.from_file(str(paths.ROOT / "app.py"), default_timeout=300)
    screen.switch_page(f"pages/{page}.py").run()
    pages[page] = [len(screen.title), [each.message for each in screen.exception]]
told |= {"pages": pages, "is checkout": paths.IS_CHECKOUT}
Path("told.json").write_text(json.dumps(told))
"""


def test_the_wheel_holds_the_library_the_data_and_the_app_and_nothing_else(wheel: Path) -> None:
    tracked = [path for path in ROOT.glob("bandit_core/**/*") if path.suffix in KINDS]
    wanted = {path.relative_to(ROOT).as_posix() for path in tracked}
    for name in ("presets", "papers", "tests/errata", "pages", "ui"):
        files = [path for path in (ROOT / name).rglob("*") if path.is_file() and path.suffix != ".pyc"]
        wanted |= {f"{SHIPPED}/{path.relative_to(ROOT).as_posix()}" for path in files}
    wanted |= {f"{SHIPPED}/{name}" for name in ("app.py", "pyproject.toml", ".streamlit/config.toml")}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert "bandit_core/py.typed" in held
    assert held == wanted


def test_wheel_and_sdist_are_built_and_fit_for_the_registry(built: list[Path]) -> None:
    name = f"private_bandit_lab-{PROJECT['version']}"
    assert [path.name for path in built] == [f"{name}-py3-none-any.whl", f"{name}.tar.gz"]
    with tarfile.open(built[1]) as archive:
        held = {member.removeprefix(f"{name}/") for member in archive.getnames()}
    assert {"README.md", "LICENSE", "bandit_core/rules.py", "presets/default.toml", "docs/tutorial.md"} <= held
    assert not {path.split("/")[0] for path in held} & {".git", ".venv", "dist"}
    if importlib.util.find_spec("twine") is None:
        pytest.skip("docs/requirements.txt is not installed")
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *built], check=True, timeout=300)


def test_far_from_the_checkout_everything_is_found_and_played(installed: Path, tmp_path: Path) -> None:
    run(installed, tmp_path, "python", "-c", ASKED)
    told = json.loads((tmp_path / "told.json").read_text())
    here = simulate(load_preset("two-treatments").with_changes(horizon=200, trials=3)).curves
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "run.csv"), here, check_dtype=False, rtol=1e-12)
    assert not Path(told["file"]).is_relative_to(ROOT) and not told["is checkout"]
    assert set(told["presets"]) == {path.stem for path in (ROOT / "presets").glob("*.toml")}
    assert set(told["papers"]) == {path.stem for path in (ROOT / "papers").glob("*.toml")}
    assert told["results"] == sorted(path.stem for path in (ROOT / "papers" / "results").glob("*.json"))
    assert told["confirmed"] and told["lesson code"] == 0
    for script in ("ui/player/player.js", "bandit_core/export/assets/lesson.js"):
        assert (ROOT / script).read_text(encoding="utf-8") in told["lesson"]
    assert told["pages"] == {"papers": [1, []], "glossary": [1, []]}
    assert told["version"] == told["own version"] == PROJECT["version"]
    requirements = [Requirement(each) for each in told["needed"]]
    library = {each.name for each in requirements if not each.marker}
    app = {each.name for each in requirements if each.marker and each.marker.evaluate({"extra": "app"})}
    assert {"numpy", "numba", "pandas"} <= library
    assert {"streamlit", "plotly"} <= app and not {"streamlit", "plotly"} & library
    stated = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if ">=" in line]
    assert library | app == {Requirement(line).name for line in stated}


def test_one_command_serves_the_app(installed: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {**os.environ, "STREAMLIT_SERVER_HEADLESS": "true", "STREAMLIT_SERVER_ADDRESS": "127.0.0.1"}
    command = [installed / "bandit-lab", "app", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, env=settings, stdout=subprocess.DEVNULL) as server:
        try:
            while server.poll() is None:
                with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
                    assert answer.read() == b"ok"
                    break
                time.sleep(0.1)
            assert server.poll() is None
        finally:
            server.terminate()


def test_the_app_refuses_what_is_no_port(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["app", "--port", "70000"]) == cli.BAD_INPUT
    assert "port" in capsys.readouterr().err


def test_the_version_that_runs_the_tests_is_one_that_we_support() -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={named[0]}"
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', workflow) == named
    assert ".ci/run" in workflow


def pinned(name: str) -> dict[str, Requirement]:
    """The packages of a file of exact versions."""
    lines = [line.partition(" \\")[0] for line in (ROOT / name).read_text().splitlines()]
    found = [Requirement(line) for line in lines if line and not line.lstrip().startswith(("#", "--hash=sha256:"))]
    return {canonicalize_name(each.name): each for each in found}


def version_of(requirement: Requirement) -> str:
    return next(iter(requirement.specifier)).version


def asked(name: str) -> list[Requirement]:
    """What a file of ranges asks for itself."""
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-oldest.txt", "deploy/image.txt"])
def test_constraints_are_exact_versions_and_nothing_else(name: str) -> None:
    assert len(pinned(name)) > 30
    for each in pinned(name).values():
        assert re.fullmatch(r"==[\w.]+", str(each.specifier)) and each.url is None, each


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dask.txt", "tests/requirements.txt"])
def test_constraints_name_an_allowed_version_of_everything_that_we_ask_for(name: str) -> None:
    tested = pinned("constraints.txt")
    for wanted in asked(name):
        assert version_of(tested[canonicalize_name(wanted.name)]) in wanted.specifier, wanted
        assert metadata.version(wanted.name) in wanted.specifier, wanted  # and so is the one that runs here


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dask.txt"])
def test_the_oldest_versions_are_the_lower_ends_of_the_ranges(name: str) -> None:
    oldest = pinned("constraints-oldest.txt")
    for wanted in asked(name):
        (lowest,) = [each.version for each in wanted.specifier if each.operator == ">="]
        assert Version(version_of(oldest[canonicalize_name(wanted.name)])) == Version(lowest), wanted


def test_the_image_installs_tested_versions_by_their_hashes_on_a_python_that_is_tested() -> None:
    image, tested = pinned("deploy/image.txt"), pinned("constraints.txt")
    assert {name: version_of(each) for name, each in image.items()} == {
        name: version_of(tested[name]) for name in image
    }
    assert {canonicalize_name(each.name) for each in asked("requirements.txt")} <= set(image)
    entries = re.split(r"\n(?=\w)", (ROOT / "deploy" / "image.txt").read_text().partition("\n")[2])
    assert len(entries) == len(image) and all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", each) for each in entries)
    recipe = (ROOT / "Dockerfile").read_text()
    assert "pip install --require-hashes -r image.txt" in recipe
    (python,) = re.findall(r"^FROM python:(3\.\d+)-slim", recipe, re.MULTILINE)
    (named,) = re.findall(r"\(Python (3\.\d+)\)", (ROOT / "constraints.txt").read_text().partition("\n")[0])
    assert python == named
