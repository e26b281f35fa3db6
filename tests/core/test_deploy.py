"""The files for hosts agree with each other and with the project."""

import json
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from helpers import kernels_lent, refused

from bandit_core import cli, simulate
from bandit_core.experiments.presets import load_preset
from bandit_core.jit import decorators
from bandit_core.policies import registry
from bandit_core.policies.stopping import stopping_policies
from bandit_core.simulation import costs, warm_up
from bandit_core.spec.errors import InputError, Issue


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
