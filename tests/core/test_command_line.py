"""The command line: formats, exit codes, and one line per error."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest

from bandit_core import StoppingSpec, cli, sample_size, stopping, stopping_policies
from bandit_core.auditing.subjects import audit
from bandit_core.cli import main
from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import preset_names
from bandit_core.export import command_options
from bandit_core.policies import registry
from bandit_core.simulation import engine
from bandit_core.simulation.results import CURVE_COLUMNS
from bandit_core.spec import budgets
from bandit_core.spec.rewards import DISTRIBUTIONS
from bandit_core.studies.best_arm import HARD
from bandit_core.theory.power import COLUMNS

SPEC = {
    "version": 1,
    "title": "Zwei Arme: ε",
    "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.6}],
    "lines": [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 2.0}}],
    "horizon": 300,
    "trials": 4,
    "seed": 0,
}
BOUND_COLUMNS = ["line", "name", "label", "side", "source", "status", "t", "value"]


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC), encoding="utf-8")
    return str(path)


@pytest.fixture
def say(capsys):
    """Run a command that must succeed; its standard output."""

    def run(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return run


@pytest.fixture
def refuse(capsys):
    """Run a command that must be refused; its error lines."""

    def run(*words):
        assert main(list(words)) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.endswith("\n")
        return err.splitlines()

    return run


def table(text):
    """A printed table, every number exactly as it stands there."""
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    words = {"label", "policy", "side", "name", "source", "status", "privacy", "trust", "goal", "rule", "instance"}
    for name in set(frame) - words:
        frame[name] = [float(cell) if cell else float("nan") for cell in frame[name]]
    return frame


# ---------------------------------------------------------------------------------------------------------------


def test_list_policies(say):
    listed = json.loads(say("list", "policies", "--json"))
    assert [each["name"] for each in listed] == list(registry())
    for each in listed:
        assert set(each) == {"name", "title", "paper", "privacy", "guarantee", "params"}
        assert each["privacy"] in ("none", "local", "shuffle", "distributed", "joint", "central")
        model = registry()[each["name"]].parameters
        assert [param["name"] for param in each["params"]] == list(model.model_fields)
        for param in each["params"]:
            assert set(param) == {"name", "default", "help", "minimum", "maximum", "choices"}
            assert param["help"], f"{each['name']} leaves {param['name']} unexplained"
            model.model_validate({param["name"]: param["default"]})


def test_the_range_of_a_parameter_is_listed(say):
    params = {each["name"]: each["params"] for each in json.loads(say("list", "policies", "--json"))}
    (eps_min,) = params["heldp-ucb-l"]
    assert (eps_min["default"], eps_min["choices"], eps_min["minimum"], eps_min["maximum"]) == (
        "auto",
        ["auto"],
        0,
        1e6,
    )
    alpha = params["ucb"][0]
    assert (alpha["name"], alpha["default"], alpha["choices"]) == ("alpha", 2.0, None)
    assert (alpha["minimum"], alpha["maximum"]) == (0, 100)


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("arms", list(DISTRIBUTIONS)),
        ("epsilons", list(budgets.DISTRIBUTIONS)),
        ("presets", preset_names()),
        ("policies", list(registry())),
    ],
)
def test_lists_name_everything(say, what, names):
    assert [each["name"] for each in json.loads(say("list", what, "--json"))] == names
    assert [row.split()[0] for row in say("list", what).splitlines()] == names


@pytest.mark.parametrize(
    ("options", "fields"),
    [("", {}), ("--horizon 1e2 --trials 3 --seed 5 --jobs 2", {"horizon": 100, "trials": 3, "seed": 5})],
)
def test_run_prints_the_curves_and_takes_other_numbers_from_its_options(say, spec, options, fields):
    frame = table(say("run", spec, *options.split()))
    experiment = Experiment.model_validate({**SPEC, **fields})
    assert tuple(frame.columns) == CURVE_COLUMNS and set(frame["line"]) == {0, 1}
    pd.testing.assert_frame_equal(frame, engine.simulate(experiment).curves, check_exact=True, check_dtype=False)
    assert all(frame.groupby("line")["t"].max() == experiment.horizon) and set(frame["trials"]) == {experiment.trials}


def test_run_takes_json_from_standard_input(say, spec, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(SPEC)))
    assert say("run", "-") == say("run", spec)


@pytest.mark.parametrize("command", ["run", "bounds"])
def test_every_format_holds_the_same_table(say, spec, tmp_path, command):
    printed = table(say(command, spec))
    csv, js, parquet = (tmp_path / f"out.{ending}" for ending in ("csv", "json", "PARQUET"))
    for path in (csv, js, parquet):
        assert say(command, spec, "--out", str(path)) == ""
    pd.testing.assert_frame_equal(table(csv.read_text(encoding="utf-8")), printed)
    rows = json.loads(js.read_text(encoding="utf-8"))
    assert list(rows[0]) == list(printed.columns)
    pd.testing.assert_frame_equal(pd.DataFrame(rows), printed, check_dtype=False, check_exact=True)
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), printed, check_dtype=False, check_exact=True)


@pytest.mark.parametrize("ending", ["tex", "md"])
def test_a_table_to_read_has_the_final_numbers_of_a_run(say, spec, tmp_path, ending):
    path = tmp_path / f"table.{ending}"
    assert say("run", spec, "--out", str(path)) == ""
    result = engine.simulate(Experiment.model_validate(SPEC))
    assert path.read_text(encoding="utf-8") == {"tex": result.to_latex, "md": result.to_markdown}[ending]()
    assert say("bounds", spec, "--out", str(path)) == ""
    found, printed = path.read_text(encoding="utf-8"), table(say("bounds", spec))
    rows = [line for line in found.splitlines() if line.startswith("| ") or line.endswith(r"\\")]
    assert len(rows) == 1 + len(printed) + (ending == "md")  # below the heads Markdown draws a rule
    assert f"{printed.value.iloc[-1]:.6g}" in rows[-1]


def test_what_is_unknown_is_empty_in_csv_and_null_in_json(say, spec, tmp_path):
    path = tmp_path / "one.json"
    say("run", spec, "--trials", "1", "--out", str(path))
    assert all(row["std"] is None and row["mean"] is not None for row in json.loads(path.read_text(encoding="utf-8")))
    assert ",," in say("run", spec, "--trials", "1")


@pytest.mark.parametrize("epsilon", ["discrete(0,0.2,1,2,100)", '{"kind": "discrete", "values": [0, 0.2, 1, 2, 100]}'])
def test_thresholds(capsys, epsilon):
    assert main(["thresholds", "--epsilon", epsilon, "--eps-min", "0.2,1,2,100"]) == 0
    out, err = capsys.readouterr()
    frame = table(out)
    assert list(frame.columns) == ["eps_min", "p0", "v_l", "v_b", "v_w"]
    assert list(frame["eps_min"]) == [0.2, 1, 2, 100]
    assert list(frame["p0"]) == pytest.approx([0.8, 0.6, 0.4, 0.2])
    # the paper's discrete law: V_L is least at 100 and V_B at 2
    laplace, bernoulli = err.splitlines()
    assert "Laplace" in laplace and laplace.endswith(" 100")
    assert "Bernoulli" in bernoulli and bernoulli.endswith(" 2")
    assert frame["v_l"].idxmin() == 3 and frame["v_b"].idxmin() == 2


def test_link(say, spec):
    assert say("link", "ren-1c") == "http://localhost:8501/explore?preset=ren-1c\n"
    printed = say("link", spec, "--base", "https://lab.example.org/")
    assert printed.startswith("https://lab.example.org/explore?")
    assert "arms=0.9,0.6&" in printed


# ---------------------------------------------------------------------------------------------------------------


def test_a_mistyped_preset_is_answered_with_its_neighbours(refuse):
    (line,) = refuse("run", "ren-1cc")
    assert "ren-1c" in line and ".json" in line


@pytest.mark.parametrize(("typed", "said"), [("", "From 50% to 54%."), ("--baseline 4%", "From 4% to 4.32%.")])
def test_power_says_what_a_lift_makes_of_the_baseline(capsys, typed, said):
    main(["power", "--lift", "8%", *typed.split()])
    assert capsys.readouterr().err.strip() == said


def test_an_audit_prints_one_row_and_says_it_in_words(capsys):
    words = ["audit", "ctb-as-printed", "--epsilon", "0.1", "--samples", "20000", "--seed", "3"]
    assert main(words) == 1  # a violation
    out, err = capsys.readouterr()
    [row] = pd.read_csv(io.StringIO(out)).to_dict(orient="records")
    found = audit("ctb-as-printed", 0.1, samples=20_000, seed=3)
    assert row["verdict"] == "violates" and row["kind"] == "negative control"
    assert row["lower_bound"] == pytest.approx(found.lower_bound, rel=1e-12)
    assert (row["samples"], row["seed"], row["confidence"], row["delta"]) == (20_000, 3, 0.999, 0.0)
    assert row["p_low"] < row["p"] < row["p_high"]
    assert "Violation" in err and "never prove" in err


def test_power_prints_users_per_trust(say):
    frame = table(say("power", "--baseline", "0.04", "--effect", "0.004", "--options", "3", "--trust", "none,shuffle"))
    assert list(frame.columns) == list(COLUMNS)
    assert list(zip(frame["trust"], frame["goal"], strict=True)) == [
        ("none", "best"), ("shuffle", "best"), ("none", "baseline"), ("shuffle", "baseline")
    ]  # fmt: skip
    for _, row in frame.iterrows():
        plan = {"privacy": row["trust"], "epsilon": 1.0, "options": 3, "goal": row["goal"]}
        size = sample_size(0.04, 0.004, **plan)
        assert (row["users_per_option"], row["users"]) == (size.users_per_option, 3 * size.users_per_option)
        assert row["inflation"] == pytest.approx(size.inflation, rel=1e-9)


@pytest.mark.parametrize("solve", ["effect", "power", "epsilon"])
def test_power_finds_any_of_its_numbers(say, solve):
    """What it finds gives the users back; `--split` makes the groups unequal, `--looks` lets the test end early."""
    how = ["--baseline", "4%", "--options", "3", "--goal", "baseline", "--split", "2", "--looks", "4", "--sides", "1"]
    how += ["--trust", "local,central"]
    given = {"effect": 0.004, "power": 0.8, "epsilon": 1.0}
    frame = table(say("power", *how, "--users", "300000", "--solve", solve, "--effect", "0.4%"))
    for _, row in frame.iterrows():
        numbers = {name: repr(row[name]) if name == solve else str(value) for name, value in given.items()}
        again = table(say("power", *how, *(word for each in numbers.items() for word in (f"--{each[0]}", each[1]))))
        back = again[again["trust"] == row["trust"]].iloc[0]
        assert back["users"] == pytest.approx(300_000, rel=1e-4)
        assert back["inflation"] == pytest.approx(row["inflation"], rel=1e-3)
        assert 4 * back["users_per_option"] == back["users"] >= max(back["users_mean"], back["users_median"])


def test_stopping_prints_times_and_errors(say):
    words = ["stopping", "--means", "0.9,0.4", "--trials", "50", "--cap", "1e6", "--epsilon", "2"]
    printed = say(*words)
    assert say(*words, "--jobs", "2") == printed
    frame = table(printed)
    pairs = [(name, rule) for name, policy in stopping_policies().items() for rule in policy.rules]
    assert list(zip(frame["policy"], frame["rule"], strict=True)) == pairs
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.4)]
    spec = StoppingSpec.of(arms=arms, policy="ctb-tt", epsilon=2.0, trials=50, cap=10**6)
    (result,) = stopping([spec])
    assert frame["mean"][pairs.index(("ctb-tt", "proved"))] == result.mean_users
    hard = table(say("stopping", "--trials", "20", "--policy", "adap-tt", "--cap", "1e5"))
    assert set(hard["instance"]) == set(HARD) and (hard["epsilon"] == 1e-3).all()


def test_audits_are_listed(say):
    assert "binary-natural-log" in say("list", "audits")
    listed = json.loads(say("list", "audits", "--json"))
    assert {"name", "title", "kind", "inputs", "seen"} == set(listed[0])
    assert {each["kind"] for each in listed} == {"mechanism", "negative control", "run"}


def test_help_lists_every_command_once_and_each_ends_with_an_example_that_is_taken(say):
    listed = [row.split()[0] for row in say("--help").splitlines() if re.match(r"  [a-z][\w-]+ +[a-z]", row)]
    assert listed == [each.name for each in command_options.COMMANDS]
    for each in command_options.COMMANDS:
        name, example = each.name, each.example
        text = " ".join(say(name, "--help").replace("\n", " ").split())
        assert text.endswith(f"{name} {example}")
        options = cli._parser().parse_args([name, *shlex.split(example)])  # private: no command is run here
        assert callable(options.act)


def test_progress_is_told_by_tenths_on_standard_error(capsys):
    assert main(["run", "default", "--seed", "31337", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    percents = [int(line.removesuffix("%")) for line in err.splitlines()]
    assert percents == sorted(set(percents)) and percents[0] >= 10 and percents[-1] == 100
    assert len(table(out)) > 0


# ---------------------------------------------------------------------------------------------------------------
# Real processes


def process(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "bandit_core", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def test_a_real_process_reads_standard_input_and_writes_utf8(project):
    started = process(
        "run", "-", stdin=subprocess.PIPE, cwd=project, env={**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C"}
    )
    out, err = started.communicate(
        json.dumps({**SPEC, "lines": [{"policy": "ucb", "label": "ε"}]}).encode(), timeout=300
    )
    assert started.returncode == 0, err
    assert out.decode("utf-8").splitlines()[1].startswith("0,ε,ucb,1,")
    assert b"Traceback" not in err


@pytest.mark.parametrize(("words", "code"), [(["run", "two-treatments", "--horizon", "50"], 0), (["run", "x"], 2)])
def test_without_assertions_and_docstrings_it_says_the_same(project, words, code, capsys):
    def told(err: str) -> list[str]:  # without the progress of a first run: the second one finds its blocks
        return [row for row in err.splitlines() if not re.fullmatch(r"\d+%", row)]

    command = [sys.executable, "-OO", "-m", "bandit_core", *words]
    bare = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert main(words) == bare.returncode == code
    out, err = capsys.readouterr()
    assert (bare.stdout, told(bare.stderr)) == (out, told(err))


def test_a_long_run_soon_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(command_options, "SILENT", 0.0)
    shown = command_options.Progress()
    for fraction in (0.004, 0.005, 0.2, 0.21):
        shown(SimpleNamespace(fraction=fraction))
    assert capsys.readouterr().err == "0%\n20%\n"


def test_a_real_process_is_interrupted_by_ctrl_c(project):
    started = process("run", "default", "--horizon", "1e6", "--trials", "600", "--seed", "4", cwd=project)
    assert started.stderr is not None
    assert started.stderr.readline().endswith(b"%\n")
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=300)
    assert started.returncode == 130, err
    assert out == b""
    assert err.splitlines()[-1].startswith(b"interrupted; finished blocks") and b"Traceback" not in err


def test_the_version_and_help_when_called_bare(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capsys.readouterr().out)
    assert main([]) == 0
    assert "price" in capsys.readouterr().out


def test_a_terminal_shows_the_final_table_and_a_file_is_named(tmp_path, spec, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["run", spec]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert "guarantee" in head and len(rows) == len(SPEC["lines"])
    assert all(len(digits) <= 8 for row in rows for digits in re.findall(r"\d+\.\d+", row))
    assert main(["run", spec, "--trials", "40", "--horizon", "2000", "--compare"]) == 0
    assert "< 0.001" in capsys.readouterr().out
    assert main(["bounds", spec, "--out", str(tmp_path / "bounds.parquet")]) == 0
    assert str(tmp_path / "bounds.parquet") in capsys.readouterr().err
    made = pd.read_parquet(tmp_path / "bounds.parquet").attrs["made"]
    assert set(made) == {"command", "versions"}


@pytest.mark.parametrize("ending", ["pdf", "svg", "png", "html"])
def test_curves_are_written_for_print(tmp_path, ending, capsys):
    small = ["two-treatments", "--horizon", "200", "--trials", "3", "--out", str(tmp_path / f"curves.{ending}")]
    for command in (["run", *small], ["sweep", *small, "--epsilon", "0.5,1"]):
        assert main(command) == 0
        begin = (tmp_path / f"curves.{ending}").read_bytes()[:400]
        assert {"pdf": b"%PDF", "svg": b"<svg", "png": b"\x89PNG", "html": b"<html"}[ending] in begin
    capsys.readouterr()
    assert main(["run", *small[:-1], str(tmp_path / "absent" / "curves.pdf")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_reader_who_has_enough_is_no_error(project):
    with process("run", "default", "--trials", "2", cwd=project) as running:
        running.stdout.close()
        told = running.stderr.read().decode()
        assert running.wait() == 0 and re.fullmatch(r"(\d+%\n)*", told), told
