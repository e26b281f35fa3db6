"""The borders of ARCHITECTURE.md, the public interface, doctests and version ranges."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import shutil
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path

import pytest

import bandit_core
from bandit_core import cli, policies
from bandit_core.literature.papers import errata
from bandit_core.policies import registry

# ---------------------------------------------------------------------------------------------------------------------
# The borders of ARCHITECTURE.md: who may import what, and what no file may say.


ROOT = Path(__file__).parents[2]
CORE = ROOT / "bandit_core"
MOST_CODE_LINES = 36_900  # of bandit_core, ui and pages together
SOURCES = sorted(
    path
    for folder in (CORE, ROOT / "ui", ROOT / "pages")
    for path in folder.rglob("*.py")
    if "__pycache__" not in path.parts
)


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> set[str]:
    """Every module that a file imports anywhere, also within functions; ``from a import b`` counts as a and a.b."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def reaches(path: Path, *forbidden: str) -> set[str]:
    """The imports of a file that lie in one of the forbidden packages."""
    return {name for name in imports(path) if any(name == top or name.startswith(f"{top}.") for top in forbidden)}


def files_in(folder: str) -> list[Path]:
    return [path for path in SOURCES if path.is_relative_to(ROOT / folder)]


LAYERS = (  # packages of the core: each imports only packages above it in this list
    ("spec",),
    ("model", "data", "jit"),
    ("mechanisms",),
    ("kernels", "theory"),
    ("policies",),
    ("experiments",),
    ("simulation",),
    ("auditing",),
    ("studies",),
    ("literature", "export"),
)
OUTSIDE = [
    ("bandit_core", ("streamlit", "plotly", "matplotlib", "ui", "pages", "app", "benchmarks", "tests")),
    ("ui", ("numba", "joblib", "bandit_core.kernels", "bandit_core.jit", "pages")),
    ("pages", ("numba", "joblib", "bandit_core.kernels", "bandit_core.jit", "bandit_core.experiments.links", "pages")),
]


def borders() -> list[tuple[str, tuple[str, ...]]]:
    """Every package, and those that it must not import: its neighbours in the same layer and all below."""
    found = list(OUTSIDE)
    for depth, layer in enumerate(LAYERS):
        below = [package for other in LAYERS[depth:] for package in other]
        for package in layer:
            forbidden = (f"bandit_core.{name}" for name in below if name != package)
            found.append((f"bandit_core/{package}", ("bandit_core.cli", *forbidden)))
    return found


def test_every_package_has_its_layer_and_the_root_is_small():
    packages = {path.parent.name for path in CORE.glob("*/__init__.py")}
    assert packages == {package for layer in LAYERS for package in layer}
    assert len(list(CORE.glob("*.py"))) <= 6


def test_imports_point_one_way():
    crossings = {
        module_name(path): found
        for folder, forbidden in borders()
        for path in files_in(folder)
        if (found := reaches(path, *forbidden))
    }
    assert crossings == {}


def test_the_check_itself_sees_imports_of_every_form(tmp_path):
    path = CORE / "theory" / "invented.py"
    text = "import a.b\nfrom c import d\nfrom . import e\nfrom ..kernels.index import f\ndef g():\n    import h\n"
    real = Path.read_text
    try:
        Path.read_text = lambda self, **options: text if self == path else real(self, **options)
        found = imports(path)
    finally:
        Path.read_text = real
    assert {"a.b", "c.d", "bandit_core.theory.e", "bandit_core.kernels.index.f", "h"} <= found


SCIPY = ("special", "stats", "optimize", "linalg")


@pytest.mark.parametrize("statement", ["import bandit_core", "import bandit_core.__main__"])
def test_the_core_starts_without_heavy_packages(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "bandit_core.simulation.engine" in loaded
    heavy = {"streamlit", "plotly", "pandas", "joblib", *(f"scipy.{part}" for part in SCIPY)}
    if statement == "import bandit_core":
        heavy |= {f"bandit_core.{part}" for part in ("studies", "literature", "auditing")}
    assert loaded & heavy == set()  # the bare scipy is numba's doing: it looks at its version


def test_the_floor_plan_names_every_file_and_nothing_else():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    plan = {}
    for row in re.findall(r"^\| `(\w+)` \| .*? \| (.*) \|$", text, re.MULTILINE):
        plan[row[0]] = {name for name in re.findall(r"`(\w+)/?`", row[1]) if not name.isupper()}
    assert set(plan) == {package for layer in LAYERS for package in layer}
    for package, named in plan.items():
        files = {path.stem for path in (CORE / package).glob("*.py")} - {"__init__"}
        files |= {path.parent.name for path in (CORE / package).glob("*/__init__.py")}
        if package == "policies":  # found by the registry; the plan names none
            files = set()
        assert named - {"_family"} - ({"contextual"} if package == "policies" else set()) == files, package
    paths = re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md))`", text)
    assert paths and not [path for path in paths if not any((base / path).exists() for base in (ROOT, CORE))]


def test_modules_import_at_their_top():
    inside = {
        module_name(path)
        for path in files_in("bandit_core")
        if path != CORE / "cli.py"  # each command loads what it needs
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bandit_core")
    }
    assert inside <= {"bandit_core.auditing.subjects"}


def test_nobody_imports_what_is_private():
    crossings = {
        module_name(path): names
        for path in SOURCES
        if (
            names := [
                alias.name
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
                if alias.name.startswith("_") and not alias.name.startswith("__")
            ]
        )
    }
    assert crossings == {}


def test_every_fold_has_a_key():
    """One without closes where something above it comes or goes."""
    calls = {
        (path.name, node.lineno): {keyword.arg for keyword in node.keywords}
        for path in [*files_in("ui"), *files_in("pages")]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "expander"
    }
    assert calls and not [place for place, given in calls.items() if "key" not in given]


def test_every_policy_file_is_found_by_the_registry():
    defined = {}
    files = [*(CORE / "policies").glob("*.py"), *(CORE / "policies" / "contextual").glob("*.py")]
    for path in sorted(files):
        names = {
            target.id
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        if names & {"POLICY", "POLICIES"}:
            module = importlib.import_module(module_name(path))
            defined[path.stem] = getattr(module, "POLICIES", None) or (module.POLICY,)
    assert {"ucb", "heldp", "heldp_ucb_w"} <= set(defined)
    known = [policy.name for policies in defined.values() for policy in policies]
    assert len(known) == len(set(known))
    assert set(registry()) == set(known)
    for name, policy in registry().items():
        assert policy.name == name


def project_texts() -> list[Path]:
    """Every text file of the project: what git tracks or would track, else what lies there."""
    if shutil.which("git") and (ROOT / ".git").exists():
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        paths = [ROOT / name for name in listing.split("\0") if name]
    else:
        skipped = {".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
        paths = [path for path in ROOT.rglob("*") if not skipped & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


def test_no_file_speaks_of_the_place_where_it_was_written():
    # Put together here, so that this file does not say them either.
    forbidden = ["/" + "work/", ".." + "/shared", "." + "library", "/tmp/" + "brief"]
    found = []
    for path in project_texts():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {words}" for words in forbidden if words in text]
    assert found == []


def code_lines(source: str) -> int:
    """Lines with code: no blank one, no comment, no docstring."""
    tree, code = ast.parse(source), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.string.strip() and token.type != tokenize.COMMENT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node) is not None
        ):
            code.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(code)


def test_the_code_stays_within_its_budget():
    """A change that needs more raises the number, and says so in CHANGELOG.md."""
    assert code_lines('"""A module."""\n\nX = """two\nlines"""  # and a remark\n') == 2
    assert sum(code_lines(path.read_text(encoding="utf-8")) for path in SOURCES) <= MOST_CODE_LINES


def test_no_test_module_imports_another_and_private_access_says_so():
    paths = sorted((ROOT / "tests").rglob("*.py"))
    assert len(paths) > 100
    assert [path.name for path in paths if re.search(r"^\s*(from|import) test_", path.read_text(), re.MULTILINE)] == []
    silent = {path.stem: names for path in paths if (names := private_names(path))}
    assert silent == {}


def private_names(path: Path) -> list[str]:
    """What a file reads that is private elsewhere, in parts that do not say so."""
    source, silent = path.read_text(encoding="utf-8"), []
    open_ones = ("__", "_asdict", "_fields", "_replace")  # special methods, and what every NamedTuple offers
    for part in ast.parse(source).body:
        names = [
            node.attr
            for node in ast.walk(part)
            if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        ]
        here = "\n".join(source.splitlines()[part.lineno - 1 : part.end_lineno])
        silent += [name for name in names if name.startswith("_") and not name.startswith(open_ones)] * (
            "private" not in here
        )
    return silent


# ---------------------------------------------------------------------------------------------------------------------
# The public interface: everything that is promised is there, is documented, and what the README shows runs.


README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
AUDIT = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README + GUIDE + AUDIT, re.DOTALL)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert [name for name in bandit_core.__all__ if not inspect.getdoc(getattr(bandit_core, name))] == []
    assert dir(bandit_core) == sorted(bandit_core.__all__)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        bandit_core.no_such_name  # noqa: B018


def test_every_command_that_computes_has_its_function() -> None:
    commands = set(re.findall(r"^    python -m bandit_core ([\w-]+)", GUIDE, re.MULTILINE))
    same = {
        "run": "simulate",
        "check": "Experiment",
        "link": "address",
        "export": "lesson",
        "check-policy": "check_policy",
    }
    assert {"run", "sweep", "bounds", "releases", "errata", "thresholds", "audit", "reproduce"} <= commands
    assert {same.get(name, name) for name in commands - {"list"}} <= set(bandit_core.__all__)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_an_example_of_readme_or_guide_runs_on_public_names_alone(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {node.module: node.names for node in ast.walk(ast.parse(example)) if isinstance(node, ast.ImportFrom)}
    ours = {module for module in modules if module and module.startswith("bandit_core")}
    assert ours == {"bandit_core"}
    assert {alias.name for alias in modules["bandit_core"]} <= set(bandit_core.__all__)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "example", "exec"), {})


def test_the_document_of_the_guide_is_a_valid_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (document,) = [text for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "[axes]" not in text]
    (tmp_path / "mine.toml").write_text(document, encoding="utf-8")
    assert cli.main(["check", str(tmp_path / "mine.toml")]) == 0
    assert capsys.readouterr().out == "ok\n"


def test_readme_and_changelog_count_what_there_is() -> None:
    changes = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    ships = sum(policies.source_of(name) is None for name in registry())
    assert f"beside {ships} others" in README and f"- {ships} policies: " in changes
    checked = sum(erratum.evidence is not None for erratum in errata())
    assert f" {checked} errata with checks, " in changes


# ---------------------------------------------------------------------------------------------------------------------
# Doctests and version ranges: checked with the tests, so that no one has to remember them.


MODULES = [
    module.name
    for module in pkgutil.walk_packages(bandit_core.__path__, "bandit_core.")
    if not module.name.endswith("__main__")
]


def test_examples_in_docstrings_and_that_every_module_has_one():
    assert len(MODULES) > 100
    modules = [importlib.import_module(name) for name in ("bandit_core", *MODULES)]
    assert [module.__name__ for module in modules if not (module.__doc__ or "").strip()] == []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert [module.__name__ for module in modules if doctest.testmod(module, optionflags=options).failed] == []


def test_some_docstrings_do_hold_examples():
    assert doctest.DocTestFinder().find(bandit_core)[0].examples


@pytest.mark.parametrize("name", ["requirements.txt", "tests/requirements.txt"])
def test_requirements_have_a_lower_and_an_upper_bound(name):
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    packages = [line for line in lines if line and not line.startswith(("#", "-r "))]
    assert packages
    for line in packages:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+>=\d+(\.\d+)*,<\d+(\.\d+)*", line), line


def test_the_test_requirements_include_those_of_the_app():
    assert "-r ../requirements.txt" in (ROOT / "tests" / "requirements.txt").read_text().splitlines()
