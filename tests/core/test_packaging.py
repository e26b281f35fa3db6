"""The package, the image and the files for hosts agree with each other and with the project."""

import contextlib
import importlib.util
import json
import os
import pickle
import re
import runpy
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import threading
import time
import tomllib
import venv
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import ClassVar
from urllib.request import urlopen

import pandas as pd
import pytest
from helpers import kernels_lent, refused
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from bandit_core import cli, load_preset, simulate
from bandit_core.jit import decorators
from bandit_core.policies import registry
from bandit_core.policies.stopping import stopping_policies
from bandit_core.simulation import costs, warm_up
from bandit_core.spec.errors import InputError, Issue

# ---------------------------------------------------------------------------------------------------------------------
# The package that ``pip install .`` makes, and what it says of itself.
# The wheel is built once and installed into an environment of its own, without any request to the network: its
# dependencies are those that the tests run on, lent by a ``.pth`` file. This proves what the wheel holds, that its
# command runs far from the checkout, and that the versions we test with satisfy what it asks for. It does not prove
# that pip finds these dependencies in a registry: that takes minutes, and CONTRIBUTING.md says how to see it by hand.


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


# ---------------------------------------------------------------------------------------------------------------------
# The files for hosts agree with each other and with the project.


def test_every_setting_is_documented_and_every_documented_one_exists(project: Path) -> None:
    sources = [path for folder in ("bandit_core", "ui", "deploy") for path in (project / folder).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r"LAB_[A-Z_]+[A-Z]", path.read_text())}
    message = set(re.findall(r"LAB_[A-Z_]+[A-Z]", (project / "docs" / "hosting.md").read_text()))
    assert read == message
    for name in ("Dockerfile", "deploy/private-bandit-lab@.service"):
        set_there = set(re.findall(r"(LAB_[A-Z_]+[A-Z])=", (project / name).read_text()))
        assert (
            {"LAB_MAX_STEPS", "LAB_MAX_SECONDS", "LAB_MAX_RUNS", "LAB_MAX_RESULT_MB", "LAB_CACHE_MB", "LAB_CACHE_DIR"}
            <= set_there
            <= read
        )


@pytest.mark.parametrize("names", [[*costs.SETTINGS], ["LAB_PROCESS"], ["PORT"]], ids="-".join)
def test_a_server_with_wrong_settings_says_a_sentence_of_each_and_does_not_start(project: Path, names: str) -> None:
    said = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **dict.fromkeys(names, "abc")}
    start = ["sh", str(project / "deploy" / "start.sh")]
    done = subprocess.run(start, env={**os.environ, **said}, check=False, capture_output=True, text=True)
    words = "{}: 'abc': this environment variable takes a whole number of at least {}"
    assert done.stderr.splitlines() == [words.format(name, costs.SETTINGS.get(name, (1, 1))[0]) for name in names]
    assert done.returncode == 2 and done.stdout == ""


def test_no_run_starts_with_a_wrong_limit_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_CACHE_MB", "-1")
    with refused("LAB_CACHE_MB", value="-1"):
        simulate(load_preset("default"))


def test_a_wrong_input_found_in_another_process_is_told_as_in_this_one() -> None:
    error = InputError([Issue("horizon", 0, "a whole number"), Issue("trials", None, "required")])
    assert pickle.loads(pickle.dumps(error)).issues == error.issues


def test_streamlit_may_look_for_secrets_in_the_home_of_the_unit(project: Path) -> None:
    unit = (project / "deploy" / "private-bandit-lab@.service").read_text()
    assert re.findall(r"^ProtectHome=(.*)$", unit, re.MULTILINE) == ["tmpfs"]  # `yes`: 500 for every page


def test_the_image_holds_what_the_app_needs_and_runs_it_as_nobody_special(project: Path) -> None:
    kept = {line[1:] for line in (project / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {"app.py", "bandit_core", "ui", "pages", "presets", "deploy", ".streamlit", "requirements.txt"} <= kept
    assert all((project / name).exists() for name in kept)
    image = (project / "Dockerfile").read_text()
    assert image.rindex("USER lab") < image.rindex("CMD [")
    for script in re.findall(r'"(deploy/[^"]+)"', image):
        assert (project / script).is_file()


VISIT = """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
from bandit_core.paths import project_version

failed = [] if project_version() else ["no version"]
for page in sorted(Path("pages").glob("*.py")):
    screen = AppTest.from_file(str(Path("app.py").resolve()), default_timeout=300)
    if page.stem != "home":
        screen.switch_page(str(page))
    screen.run()
    failed += [f"{page.stem}: {error.message}" for error in screen.exception]
    if not screen.title:
        failed.append(f"{page.stem}: no title")
print(failed)
"""


def test_what_the_image_holds_is_enough_for_every_page(project: Path, tmp_path: Path) -> None:
    for line in (project / ".dockerignore").read_text().splitlines():
        if line.startswith("!"):
            source = project / line[1:]
            if source.is_dir():
                shutil.copytree(source, tmp_path / line[1:], ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, tmp_path / line[1:])
    with kernels_lent(project, tmp_path):
        done = subprocess.run([sys.executable, "-c", VISIT], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr


class Health(BaseHTTPRequestHandler):
    """A server that answers every path with 200 and its word."""

    word = b"ok"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.word if self.path == "/_stcore/health" else b"<html>")

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.mark.parametrize(("word", "code"), [(b"ok", 0), (b"<html>a page", 1), (None, 1)])
def test_health_is_read_from_the_body(project: Path, monkeypatch: pytest.MonkeyPatch, word: bytes, code: int) -> None:
    with HTTPServer(("127.0.0.1", 0), Health) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        if word is not None:
            monkeypatch.setattr(Health, "word", word)
            threading.Thread(target=server.handle_request, daemon=True).start()
        else:
            address = "http://127.0.0.1:1"
        done = subprocess.run(
            [sys.executable, "-I", "deploy/healthy.py", address], cwd=project, check=False, timeout=30
        )
    assert done.returncode == code


def test_warm_plays_every_policy() -> None:
    # private: this is what is tested
    played = {experiment.lines[0].policy for experiment in warm_up._experiments()}
    assert played == set(registry())


def test_no_kernel_is_compiled_in_two_processes() -> None:
    # private: this is what is tested
    every = list(warm_up._experiments())
    groups = warm_up._apart(every)
    assert sorted(id(each) for group in groups for each in group) == sorted(map(id, every))
    kernels = [set().union(*map(warm_up._kernels, group)) for group in groups]
    assert len(set().union(*kernels)) == sum(map(len, kernels)) and len(groups) > 10


def test_warm_compiles_and_tells_where(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # private: this is what is tested
    one = next(experiment for experiment in warm_up._experiments() if experiment.lines[0].policy == "ucb")
    monkeypatch.setattr(warm_up, "_experiments", lambda: iter([one]))
    assert cli.main(["warm"]) == 0
    folder = decorators.kernel_folder()
    assert folder is not None
    message, _, place = capsys.readouterr().out.rstrip().rpartition(" ")
    assert place == str(folder) and str(1 + len(stopping_policies())) in message.split()
    assert decorators.compiled_before()
    (folder / "processor").write_text("another")
    assert not decorators.compiled_before()
    (folder / "processor").unlink()
    assert not decorators.compiled_before()


class _Index(BaseHTTPRequestHandler):
    """A package index that knows versions, or, as some mirrors, the newest one only."""

    versions = True
    against: ClassVar[dict[str, list]] = {}

    def do_GET(self) -> None:
        name, *version = self.path.removeprefix("/pypi/").removesuffix("/json").split("/")
        if version and not self.versions:
            return self.send_error(404)
        message = {
            "info": {"version": version[0] if version else "9999"},
            "vulnerabilities": self.against.get(name, []),
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(message).encode())
        return None

    def log_message(self, *_) -> None:
        pass


@pytest.mark.parametrize(
    ("versions", "against", "code"),
    [
        (True, {}, 0),
        (True, {"numpy": [{"id": "X-1", "link": "x"}]}, 1),
        (True, {"numpy": [{"id": "X-1", "link": "x", "withdrawn": "2020"}]}, 0),
        (False, {}, 2),  # about what is older than the newest nothing is known
    ],
)
def test_the_audit_of_dependencies_asks_about_the_installed_versions(project, monkeypatch, versions, against, code):
    monkeypatch.setattr(_Index, "versions", versions)
    monkeypatch.setattr(_Index, "against", against)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script = runpy.run_path(str(project / "deploy" / "audit_dependencies.py"))
    try:
        assert script["main"](f"http://127.0.0.1:{server.server_port}") == code
    finally:
        server.shutdown()
        server.server_close()
