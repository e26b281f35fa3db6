"""Papers: verdicts on their statements, shipped figures, errata."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import refused
from runs import coins, one_line
from scipy.special import ndtri

from bandit_core import Experiment, cli, simulate
from bandit_core.cli import main
from bandit_core.experiments.presets import load_preset, preset_names
from bandit_core.literature import claims, papers, reproductions, significance
from bandit_core.literature.erratum import CHECKS, KINDS, Check, checks
from bandit_core.literature.papers import Figure, errata, erratum_of
from bandit_core.mechanisms import Hybrid, gaussian, l2_ball
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.simulation.costs import refuse_if_too_large
from bandit_core.spec.errors import InputError, validated
from bandit_core.theory import definitions

# ---------------------------------------------------------------------------------------------------------------------
# Verdicts on statements of papers: each kind can get each verdict; the data say nothing impossible.


TIMES = [1, 10, 100, 1000, 5000, 10_000]
ARMS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
LUCK = np.linspace(-2, 2, 25)
WINDOWS = ((10, 1000), (55, 55), (1000, 1000))


def line(mean, wide=1.0, price=None, luck=LUCK, noise=0.0):
    """A line whose mean at each of ``TIMES`` is given; runs differ by ``wide`` times some luck."""
    mean = np.array(mean, float)
    spread = wide * luck
    error = spread.std(ddof=1) / np.sqrt(len(spread))
    runs = mean + spread[:, None]
    numbers = {
        "mean": mean.tolist(),
        "stderr": [error] * len(mean),
        "q05": mean.tolist(),
        "q95": mean.tolist(),
        "final": runs[:, -1].tolist(),
        "noise": noise,
        "windows": [[*each, reproductions.averaged(np.array(TIMES), runs, each).tolist()] for each in WINDOWS],
    }
    if price is not None:
        numbers |= {"price": list(price), "price_stderr": [0.01] * len(mean)}
    return {"trials": len(luck), **numbers}


@pytest.fixture
def judge(tmp_path):
    """Write a file with these lines and judge one statement about it."""

    def run(claim, *lines, spec=None, name="figure", preset="figure", tally=False):
        spec = spec or [
            {"policy": "ucb"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}},
            {"policy": "heldp-ucb-l", "epsilon": {"kind": "fixed", "value": 1.0}},
        ]
        experiment = Experiment.model_validate(
            {"arms": ARMS, "lines": spec[: len(lines)], "horizon": TIMES[-1], "trials": len(LUCK)}
        )
        made = {"seconds": 1, "processor_seconds": 1}
        content = {"format": reproductions.FORMAT, "name": name, "made": made, "seed": 0, "tally": tally}
        content |= {"spec": experiment.spec(), "t": TIMES}
        reproductions.write({**content, "lines": list(lines)}, tmp_path)
        statement = {"says": "something.", **claim}
        figure = validated(
            Figure, {"name": "figure", "title": "t", "shows": "s", "presets": [preset], "claims": [statement]}
        )
        [verdict] = claims.verdicts(figure, tmp_path)
        return verdict

    return run


def rising(end):
    return np.array([0.01, 0.1, 0.3, 0.6, 0.9, 1.0]) * end


RATIO = {"kind": "ratio", "line": "heldp-ucb-b", "reported": 2.0, "half": 0.05, "runs": 50}


@pytest.mark.parametrize(
    ("price", "noise", "held"),
    [
        (2.06, 0.0, "confirmed"),  # within a tenth of the printed number, error and all
        (2.18, 0.0, "confirmed"),
        (2.22, 0.0, "not confirmed"),
        # sqrt((1 + 2.1^2) 2 / 50) / 10 = 0.047 from the noise of the paper's 50 runs alone
        (2.10, 2.0, "confirmed"),
        (2.13, 2.0, "compatible"),
        (2.30, 2.0, "not confirmed"),
        (1.70, 2.0, "not confirmed"),
    ],
)
def test_a_reported_ratio_has_the_error_of_the_papers_own_runs(judge, price, noise, held):
    prices = [1, 1, 1, 1, 2.0, price]  # at half of the horizon it is met, which decides nothing
    base, other = line(rising(10), 0.01, noise=noise), line(rising(20), 0.01, prices, noise=noise)
    verdict = judge(RATIO, base, other)
    assert verdict.held == held
    assert verdict.reported == "2" and verdict.measured.startswith(f"{price:.3f} ± 0.010") and verdict.about_a_number
    assert ("would be compatible" in verdict.measured) == (held == "compatible")
    assert (verdict.test.p > claims.ALPHA) == (held == "compatible")
    assert verdict.test.name.startswith("equivalence") == (held == "confirmed")


def test_the_error_of_a_ratio_is_that_of_a_simulated_paper(judge):
    # Pseudo-regret 1000 and 2000 with spreads, 50 runs each, noise of known variance: what a paper would print.
    generator = np.random.default_rng(3)
    spread, noise = LUCK.std(ddof=1) * 100, 40_000.0
    base, other = (
        (mean + generator.normal(0, np.hypot(spread, np.sqrt(noise)), (4000, 50))).mean(axis=1) for mean in (1000, 2000)
    )
    lines = (line(rising(mean), 100, [1.5] * 5 + [2.0], noise=noise) for mean in (1000, 2000))
    verdict = judge(RATIO, *lines)
    message = float(verdict.detail.split("standard deviation of ")[1].split(",")[0])
    assert message == pytest.approx((other / base).std(), rel=0.08)


def test_less_is_taken_run_by_run_within_a_file(judge):
    pair = {"kind": "less", "pairs": [["ucb", "heldp-ucb-b"]]}
    # Runs spread over 400, but every run of the second line loses 3 or 4 more than the same run of the first.
    close = LUCK + 0.005 * (np.arange(25) % 2)
    verdict = judge(pair, line(rising(1000), 100), line(rising(1003), 100, luck=close))
    assert verdict.held == "confirmed" and verdict.test.trials == 25 and verdict.test.name.startswith("Wilcoxon")
    assert judge(pair, line(rising(1003), 100), line(rising(1000), 100, luck=close)).held == "not confirmed"
    other = judge(pair, line(rising(1000), 100), line(rising(1003), 100, luck=LUCK[::-1]))
    assert other.held == "inconclusive" and other.test.p > claims.ALPHA


def test_a_few_runs_that_turn_the_mean_leave_it_undecided(judge):
    pair = {"kind": "less", "pairs": [["ucb", "heldp-ucb-b"]]}
    rare = np.where(np.arange(25) % 9 == 0, 9000.0, LUCK)  # three of 25 runs are far off
    verdict = judge(pair, line(rising(100), luck=rare), line(rising(120)))
    assert verdict.test.p < claims.ALPHA and verdict.held == "inconclusive"
    assert rare.mean() > 20  # so the mean says the contrary
    half = np.where(np.arange(25) % 12 == 0, 190.0, 0.0)  # most runs lose 30 less; the mean is 1.0 standard errors away
    unclear = judge(pair, line(rising(100), luck=LUCK + half), line(rising(130), luck=LUCK))
    assert unclear.test.p < claims.ALPHA and unclear.held == "inconclusive"
    assert "the mean does not clearly say so" in unclear.detail


def test_several_pairs_hold_only_together(judge):
    chain = {"kind": "less", "rising": ["ucb", "heldp-ucb-b", "heldp-ucb-l"]}
    lines = [line(rising(end), luck=np.roll(LUCK, place)) for place, end in enumerate((100, 200, 300))]
    assert judge(chain, *lines).held == "confirmed" and judge(chain, *lines).measured.startswith("2 of 2 ")
    equal = line(rising(200), luck=np.roll(LUCK, 7))
    assert judge(chain, lines[0], lines[1], equal).held == "inconclusive"
    verdict = judge(chain, lines[0], lines[2], lines[1])
    assert verdict.held == "not confirmed" and verdict.measured.startswith("1 of 2 ") and "Holm" in verdict.test.name


@pytest.mark.parametrize(("power", "held"), [(0.5, "confirmed"), (1.5, "not confirmed")])
def test_a_straight_line_in_the_root_of_a_deltas_logarithm(judge, power, held):
    deltas = [1e-2, 1e-5, 1e-9]
    shuffled = {"policy": "shuffle-se", "epsilon": {"kind": "fixed", "value": 1.0}}
    spec = [{"policy": "se"}, *({**shuffled, "params": {"delta": delta}} for delta in deltas)]
    lines = [line(rising(10 + 100 * np.log(1 / delta) ** power), wide=0.1) for delta in deltas]
    claim = {"kind": "straight", "over": "root of ln(1/δ)", "at_least": 0.99}
    verdict = judge(claim, line(rising(1)), *lines, spec=spec)
    assert verdict.held == held and verdict.reported == ""


def test_the_noise_of_shuffled_bits_is_calculated(judge):
    claim = {"kind": "noise", "users": 1000, "epsilon": 1.0, "deltas": [1e-6, 1e-2, 1e-9], "at_least": 0.99}
    verdict = judge(claim, line(rising(1)))
    assert verdict.held == "confirmed" and verdict.test is None and "73.2 at 1e-06" in verdict.detail
    assert judge({**claim, "at_least": 1.0}, line(rising(1))).held == "not confirmed"


@pytest.mark.parametrize("tally", [False, True])
def test_less_across_files_and_tallies_takes_them_as_independent(judge, tally):
    def shipped(end):
        drawn = line(rising(end))
        return {**drawn, "final": [[value, 1] for value in sorted(drawn["final"])]} if tally else drawn

    judge({"kind": "unchecked", "why": "only to write the file"}, shipped(900), name="other", tally=tally)
    pair = {"kind": "less", "pairs": [["other/ucb", "figure/ucb"]]}
    verdict = judge(pair, shipped(1000), tally=tally)
    assert verdict.held == "confirmed" and "other: UCB" in verdict.detail and verdict.test.name.startswith("Mann")
    assert judge(pair, shipped(900.3), tally=tally).held == "inconclusive"


def test_the_straight_line_and_the_best_threshold(judge):
    values, chosen = (0.2, 1.0, 2.0, 100.0), {"kind": "discrete", "values": [0.0, 0.2, 1.0, 2.0, 100.0]}
    spec = [
        {"policy": "heldp-ucb-b", "epsilon": chosen, "params": {"eps_min": value}, "label": f"{value:g}"}
        for value in values
    ]
    base = Experiment.model_validate({"arms": ARMS, "lines": spec, "horizon": 10, "trials": 2})
    v = [claims.MECHANISMS["heldp-ucb-b"][1](one.epsilon, one.parameters.eps_min) for one in base.setups]
    straight = {"kind": "straight", "reported": 0.9977, "at_least": 0.99}
    exact = [line(rising(50 + 100 * value), luck=np.roll(LUCK, place)) for place, value in enumerate(v)]
    verdict = judge(straight, *exact, spec=spec)
    assert (verdict.held, verdict.measured) == ("confirmed", "R² = 1.0000")
    assert judge(straight, *exact[::-1], spec=spec).held == "not confirmed"
    blurred = [line(rising(50 + 100 * value), 600, luck=np.roll(LUCK, place)) for place, value in enumerate(v)]
    assert judge(straight, *blurred, spec=spec).held == "inconclusive"
    assert judge({"kind": "threshold"}, *exact, spec=spec).held == "confirmed"
    assert judge({"kind": "threshold"}, *exact[::-1], spec=spec).held == "not confirmed"
    level = [line(rising(500), luck=np.random.default_rng(place).permutation(LUCK)) for place in range(4)]
    assert judge({"kind": "threshold"}, *level, spec=spec).held == "inconclusive"


SPEC_OF_INT = [{"policy": "ucb"}, {"policy": "dp-ucb-int", "epsilon": {"kind": "fixed", "value": 1.0}}]
GAP = {"kind": "gap", "line": "dp-ucb-int", "other": "ucb", "after": 1000}


@pytest.mark.parametrize(
    ("ends", "luck", "held"),
    [
        ([0, 5, 50, 60, 70, 65], LUCK, "confirmed"),
        ([0, 5, 50, 60, 70, 120], LUCK, "not confirmed"),
        ([0, 5, 50, 60, 70, 80], LUCK, "inconclusive"),
    ],
)
def test_a_gap_that_stays_in_the_typical_run(judge, ends, luck, held):
    verdict = judge(GAP, line([0, 1, 10, 20, 30, 40]), line(ends, luck=luck), spec=SPEC_OF_INT)
    assert verdict.held == held and "0 of 25 runs" in verdict.detail


def test_a_gap_before_the_first_release_says_nothing(judge):
    spec = [{"policy": "ucb"}, {"policy": "dp-ucb-int", "epsilon": {"kind": "fixed", "value": 0.02}}]
    assert judge(GAP, line(rising(50)), line(rising(500)), spec=spec).held == "inconclusive"


@pytest.mark.parametrize(("rare", "chance"), [(0, 1.0), (3, 0.69), (8, 0.36), (60, 0.0)])
def test_best_and_worst_run_by_the_probability_of_what_the_paper_saw(judge, rare, chance):
    """Of 400 runs some are far off: the chance that 50 runs hold none of these."""
    runs = np.concatenate([np.full(rare, 900.0), np.linspace(0, 5, 400 - rare)])
    lines = {**line(rising(5)), "trials": 400, "final": runs.tolist()}
    narrow = {"kind": "spread", "lines": ["ucb"], "runs": 50, "below": 100}
    verdict = judge(narrow, lines)
    exact = (1 - rare / 400) ** 50  # besides the runs that are all far off
    assert float(verdict.measured.split()[1]) == pytest.approx(exact, abs=0.01)
    assert exact == pytest.approx(chance, abs=0.03)
    assert verdict.held == ("compatible" if chance > 0.3 else "not confirmed") and verdict.about_a_number
    wide = {"kind": "spread", "lines": ["ucb"], "runs": 50, "reaches": 100}
    assert judge(wide, lines).held == ("compatible" if rare > 3 else "inconclusive")  # few or none seen: not impossible


def test_tests_keep_their_size_and_find_what_they_say():
    generator = np.random.default_rng(1)
    base = generator.normal(0, 1, (600, 40))
    equal = [significance.paired(each, other) for each, other in zip(base[:300], base[300:], strict=True)]
    rejected = np.mean([order.p_for <= significance.ALPHA for order in equal])
    assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    faint = equal[0].detectable  # P(average of two differences > 0), which for normal differences is Phi(sqrt2 d / s)
    shift = ndtri(faint)  # their spread is sqrt2
    found = [
        significance.paired(each, other + shift).p_for <= significance.ALPHA
        for each, other in zip(base[:300], base[300:], strict=True)
    ]
    assert np.mean(found) == pytest.approx(significance.POWER, abs=0.07)
    apart = significance.unpaired(base[0], base[1])
    shift = np.sqrt(2) * ndtri(apart.detectable)
    found = [
        significance.unpaired(each, other + shift).p_for <= significance.ALPHA
        for each, other in zip(base[:300], base[300:], strict=True)
    ]
    assert np.mean(found) == pytest.approx(significance.POWER, abs=0.07)


def test_a_limit_is_supported_or_left_open_but_never_refuted(judge):
    growth = {"kind": "growth", "line": "ucb", "at_most": 0.75}
    assert (
        judge(growth, line([1, 10, 90, 100, 200, 300], 0.1)).held == "confirmed"
    )  # 10 times the users, 3 times the regret
    verdict = judge(growth, line([1, 10, 90, 100, 700, 1000], 0.1))
    assert verdict.held == "inconclusive" and verdict.measured.startswith("exponent 1.0") and verdict.test.p > 0.99


def test_readings_are_judged_by_the_same_test_and_explain(judge, monkeypatch):
    monkeypatch.setattr(papers, "study", lambda figure, name: papers.Study(name=name, says=f"reading {name}"))
    fails, holds = (line(rising(200)), line(rising(100))), (line(rising(100)), line(rising(200)))
    judge({"kind": "unchecked", "why": "-"}, *holds, name="figure--a")
    judge({"kind": "unchecked", "why": "-"}, *fails, name="figure--b")
    pair = {"kind": "less", "pairs": [["ucb", "heldp-ucb-b"]], "readings": ["b", "a"]}
    verdict = judge(pair, *fails)
    assert verdict.held == "not confirmed"
    assert [(name, other.held) for name, other in verdict.readings] == [
        ("reading b", "not confirmed"),
        ("reading a", "confirmed"),
    ]
    assert "reading a" in verdict.explained and "reading b" not in verdict.explained
    tried = judge({**pair, "readings": ["b"]}, *fails)
    assert "reading b" in tried.explained and tried.explained.replace("reading b", "reading a") != verdict.explained
    assert judge({**pair, "study": "a"}, *fails).held == "confirmed"  # the study decides, not the figure
    assert judge({**pair, "study": "a"}, *fails).explained == ""


def test_changes_between_two_tables_are_told():
    head = "| figure | statement | paper | here | |\n|---|---|---|---|---|\n"
    old = (
        head
        + "| F 1 | A. |  | 3 | confirmed |\n| F 1 | B. | 2 | 1 | **not confirmed** |\n| F 2 | A. | | 3 | confirmed |\n"
    )
    new = head + "| F 1 | A. |  | 4 | confirmed |\n| F 1 | B. | 2 | 2 | confirmed |\n| F 3 | C. | | 3 | not checked |\n"
    message = claims.changes(old, new).splitlines()[2:]
    assert message == [
        "| F 1 | B. | not confirmed | confirmed | 1 | 2 |",
        "| F 3 | C. | – | not checked | – | 3 |",
        "| F 2 | A. | confirmed | – | 3 | – |",
    ]


def test_a_shipped_ratio_agrees_with_one_computed_from_its_runs():
    file = reproductions.load("ren-1c")
    base, bits = file.lines[0].final, file.lines[1].final
    [verdict] = [each for each in claims.verdicts(papers.figures()["ren-1c"]) if each.reported == "1.6"]
    ratio = bits.mean() / base.mean()
    error = (bits - ratio * base).std(ddof=1) / np.sqrt(len(base)) / base.mean()
    assert verdict.measured.startswith(claims.with_error(ratio, error))
    assert file.lines[0].noise == pytest.approx(0.09 * file.experiment.horizon, rel=0.01)  # mostly the best arm's


# ---------------------------------------------------------------------------------------------------------------
# The data


@pytest.mark.parametrize("figure", papers.figures().values(), ids=lambda figure: figure.name)
def test_every_statement_can_be_judged_and_speaks_plainly(figure):
    assert figure.claims and (figure.presets or figure.page)
    assert all(load_preset(name) for name in figure.presets)
    for claim, verdict in zip(figure.claims, claims.verdicts(figure), strict=True):
        assert verdict.says.endswith(".") and verdict.measured
        assert (verdict.held == "not checked") == (claim.kind == "unchecked")
        assert verdict.detail or claim.kind == "unchecked"
        assert (verdict.test is None) == (claim.kind in ("unchecked", "noise"))  # which no one plays
        assert [other.held == "not checked" for _, other in verdict.readings] == [False] * len(claim.readings)


def test_whatever_was_not_confirmed_or_is_inconclusive_is_explained():
    whole = [
        figure
        for figure in papers.figures().values()
        if all(reproductions.load(name).is_complete for name in papers.files_of(figure))
    ]
    open_ = [each for figure in whole for each in claims.verdicts(figure) if each.held != "confirmed"]
    assert [each.says for each in open_ if each.held in ("not confirmed", "inconclusive") and not each.explained] == []


def test_a_mistake_in_the_data_is_told_with_its_place(tmp_path, monkeypatch):
    (tmp_path / "odd.toml").write_text('place = "first"\nshort = "Odd"\n', encoding="utf-8")
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    with pytest.raises(InputError) as refusal:
        papers.papers.__wrapped__()
    assert {"place", "figures"} <= {problem.path.rpartition(".")[2] for problem in refusal.value.issues}


# ---------------------------------------------------------------------------------------------------------------------
# Shipped results: what every file must say, and how one is made (`benchmarks.shipped`: its numbers come out again).


NAMES = papers.reproducible()


@pytest.fixture(scope="module")
def shipped():
    return {name: reproductions.load(name) for name in NAMES}


def test_every_figure_and_study_has_a_file_and_every_file_is_needed():
    assert {path.stem for path in reproductions.FOLDER.glob("*")} == set(NAMES)
    assert {name.partition("--")[0] for name in NAMES} == set(NAMES) & set(preset_names())
    wanted = {*(f"ren-1{letter}" for letter in "abcdefgh"), "ren-2", *(f"tossou-2{letter}" for letter in "abcd")}
    wanted |= {"tao-1", "tao-2", "tao-3", "tao-4", "han-single", "han-multi", "basu-bounds"}
    assert wanted <= set(papers.figures())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_its_preset_and_says_how_it_was_made(name, shipped):
    # Title, note, view and how a label is written change no number. Where this fails: bandit_core reproduce NAME.
    file, preset = shipped[name], papers.played()[name].experiment
    assert file.experiment.plays_as(preset)
    assert (file.experiment.trials, file.experiment.seed) == (preset.trials, preset.seed)
    numbers = range(len(preset.lines))
    assert [file.experiment.label(number) for number in numbers] == [preset.label(number) for number in numbers]
    content = json.loads(reproductions.path_of(name).read_text(encoding="utf-8"))
    made = content["made"]
    assert content["seed"] == content["spec"]["seed"] == preset.seed
    assert set(made["versions"]) >= {"python", "numpy", "numba", "private-bandit-lab"}
    assert all(made["versions"].values()) and made["kernels"] and made["machine"]
    assert made["date"].count("-") == 2 and made["cores"] >= 1 and made["workers"] >= 1
    assert made["seconds"] >= 0 and made["processor_seconds"] >= 0 and 0 <= made["found"] <= 1
    assert 0 < file.share <= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_file_fit_together(name, shipped):
    file = shipped[name]
    assert file.times[0] == 1 and file.times[-1] == file.experiment.horizon and len(file.times) <= 62
    assert np.all(np.diff(file.times) > 0)
    for line in file.lines:
        assert set(line.windows) == set(papers.played()[name].windows)
        assert {line.count} == {len(line.final), *map(len, line.windows.values())}
        assert line.mean[-1] == pytest.approx(line.final.mean(), rel=1e-4)
        assert line.stderr[-1] == pytest.approx(line.final.std(ddof=1) / math.sqrt(line.count), rel=1e-2, abs=1e-4)
        for (first, last), values in line.windows.items():
            low = line.mean[np.searchsorted(file.times, first, side="right") - 1]
            assert 0.999 * low <= values.mean() <= 1.001 * line.mean[np.searchsorted(file.times, last)]
        assert line.q05[-1] == pytest.approx(np.quantile(line.final, 0.05), rel=1e-3)
        assert np.all(np.diff(line.mean) >= -1e-5 * line.mean[1:]) and np.all(line.q05 <= line.q95)


def test_no_figure_or_study_is_larger_than_what_is_played():
    for each in papers.played().values():
        refuse_if_too_large(each.experiment)


# ---------------------------------------------------------------------------------------------------------------
# Making and reading


@pytest.fixture
def small():
    lines = [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 2.0}}]
    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
    return Experiment.model_validate({"arms": arms, "lines": lines, "horizon": 3000, "trials": 6})


FIGURE_WINDOWS = ((10, 300), (250, 250))


def made_of(experiment, name="small", part=None, tally=False):
    result = simulate(part or experiment, jobs=1)
    played = papers.Played(name, experiment, () if tally else FIGURE_WINDOWS, tally)
    return result, reproductions.document(result, played, reproductions.Cost(1.5, 2.5, 0.25, 2))


def test_what_is_written_is_read_again(small, tmp_path):
    result, content = made_of(small)
    path = reproductions.write(content, tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]  # no half-written file is left
    file = reproductions.load("small", tmp_path)
    assert file.is_complete and file.experiment == small
    assert (file.made["seconds"], file.made["processor_seconds"], file.made["workers"]) == (1.5, 2.5, 2)
    places = np.searchsorted(result.times, file.times)
    for line, whole in zip(file.lines, result.lines, strict=True):
        np.testing.assert_allclose(line.mean, whole.mean[places], rtol=1e-5)
        np.testing.assert_allclose(line.quantile(0.95), whole.quantile(0.95)[places], rtol=1e-3)
        np.testing.assert_allclose(line.final, whole.regret[:, -1], rtol=1e-5)
        inside = (result.times >= 10) & (result.times <= 300)
        np.testing.assert_allclose(line.windows[10, 300], whole.regret[:, inside].mean(axis=1), rtol=1e-5)
        straight = [np.interp(250, result.times, each) for each in whole.regret]
        np.testing.assert_allclose(line.windows[250, 250], straight, rtol=1e-5)
        pulls = whole.pulls.mean(axis=0)
        assert line.noise == pytest.approx(0.09 * pulls[0] + 0.25 * pulls[1], rel=1e-3)
    assert file.lines[0].price is None
    wanted = result.lines[1].ratio(result.lines[0])[:2]
    assert (file.lines[1].price[-1], file.lines[1].price_stderr[-1]) == pytest.approx(wanted, rel=1e-2)
    frame = reproductions.curves(file)
    assert len(frame) == 2 * len(file.times) and set(frame["label"]) == {"UCB", "HeLDP-UCB-B"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "t": [1], "lines": [{}]}'])
def test_a_damaged_file_is_told_in_words(text, tmp_path):
    (tmp_path / "odd.json").write_text(text, encoding="utf-8")
    with refused("file", value="odd.json"):
        reproductions.load("odd", tmp_path)
    assert reproductions.load("absent", tmp_path) is None


CHEAP = "tao-s3-local-v09"


def test_the_command_computes_a_figure_and_prints_its_file(tmp_path, capsys, shipped):
    assert cli.main(["reproduce", CHEAP, "--out", str(tmp_path / "new"), "--jobs", "1", "--fresh"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(tmp_path / "new" / f"{CHEAP}.json")]
    assert CHEAP in err and "90 of 90" in err
    file = reproductions.load(CHEAP, tmp_path / "new")
    assert file.is_complete and file.experiment == load_preset(CHEAP) and file.made["found"] == 0
    for new, old in zip(file.lines, shipped[CHEAP].lines, strict=True):
        error = math.hypot(new.stderr[-1], old.stderr[-1])
        assert abs(new.mean[-1] - old.mean[-1]) <= 5 * error


def test_a_figure_means_all_its_panels_and_their_studies():
    panels = ["tao-s3-local-v05", "tao-s3-local-v09"]
    assert papers.names_of(["tao-2", "ren-2", "tao-2"]) == [*panels, *(f"{name}--local" for name in panels), "ren-2"]
    assert papers.names_of(["zheng-1"]) == ["zheng-1", "zheng-1--long"]
    assert papers.names_of(["zheng-1--long"]) == ["zheng-1--long"]
    assert papers.names_of([]) == NAMES


def test_a_study_is_its_preset_but_for_what_it_says():
    study = papers.Study(
        name="s",
        says="other",
        trials=7,
        horizon=50,
        policies=("ucb", "dp-ucb"),
        params={"dp-ucb": {"accounting": "paper"}},
    )
    experiment, preset = study.of("tossou-2a"), load_preset("tossou-2a")
    assert (experiment.trials, experiment.horizon, experiment.seed) == (7, 50, preset.seed)
    assert [line.policy for line in experiment.lines] == ["ucb", "dp-ucb"]
    assert experiment.lines[1].params == {"accounting": "paper"} and experiment.arms == preset.arms


def test_verdicts_that_changed_since_an_older_table_are_told(tmp_path, capsys, project):
    table = (project / "docs" / "reproduce.md").read_text(encoding="utf-8")
    old = tmp_path / "old.md"
    old.write_text(table.replace("| confirmed |", "| inconclusive |", 1), encoding="utf-8")
    assert cli.main(["reproduce", "--table", "--since", str(old)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 3 and "| inconclusive | confirmed |" in rows[2]
    assert cli.main(["reproduce", "--table", "--since", str(tmp_path / "absent.md")]) == 2
    assert "since" in capsys.readouterr().err


def test_a_folder_that_cannot_be_had_is_refused_before_anything_is_computed(tmp_path, capsys):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli.main(["reproduce", CHEAP, "--out", str(tmp_path / "file" / "below")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("out:") and "trials" not in err


def test_the_table_is_the_document_in_docs(capsys, project):
    assert cli.main(["reproduce", "--table"]) == 0
    out = capsys.readouterr().out
    assert out == (project / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert cli.main(["reproduce", "--table", "--details"]) == 0
    whole = capsys.readouterr().out
    assert set(filter(None, out.splitlines()[3:])) < set(whole.splitlines())
    assert all(f"| {name} |" in whole for name in NAMES)


# ---------------------------------------------------------------------------------------------------------------------
# Every erratum is confirmed by its own check, and every check can fail.


ERRATA = [erratum.name for erratum in errata()]
CHECKED = [erratum.name for erratum in errata() if erratum.evidence is not None]
ERRORS = [erratum.name for erratum in errata() if erratum.kind == "error"]
azize, ren = checks("azize"), checks("ren")


def check_of(name) -> Check:
    return erratum_of(name).evidence()


@pytest.mark.parametrize("name", ERRORS)
def test_the_printed_version_fails_and_the_corrected_one_passes(name):
    outcome = erratum_of(name).check()
    assert outcome.confirmed, outcome.words
    assert not outcome.printed_holds and outcome.corrected_holds
    assert not math.isnan(outcome.check.wanted)
    message = (
        f"{value:.5g}".replace("inf", "∞") for value in (outcome.check.wanted, outcome.printed, outcome.corrected)
    )
    assert all(number in outcome.words for number in message)


@pytest.mark.parametrize("name", CHECKED)
def test_every_check_can_fail_and_measures_both_readings_in_the_same_way(name):
    """With the corrected reading in print there is no erratum; with the printed one as the cure, there is no cure."""
    check = check_of(name)
    assert check.run().confirmed
    assert not replace(check, printed=check.corrected).run().confirmed
    assert not replace(check, corrected=check.printed).run().confirmed
    assert not replace(check, printed=check.corrected, corrected=check.printed).run().confirmed


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_measured_depends_on_the_reading_and_what_is_wanted_on_neither(name):
    """A number typed beside another would pass for every reading; here other readings give other numbers."""
    check, again = check_of(name), check_of(name)
    first, second = (float(check.value(reading)) for reading in (check.printed, check.corrected))
    assert first != second
    assert again.wanted == check.wanted
    numbers = [each for each in (check.printed, check.corrected) if type(each) in (int, float) and each]
    for number in numbers:
        assert {float(check.value(factor * number)) for factor in (0.4, 1.1)} != {float(check.value(number))}


def test_a_mechanism_that_is_mended_takes_its_erratum_away(monkeypatch):
    """Checks ask the mechanism itself, so they notice when it changes."""
    monkeypatch.setattr(Hybrid, "as_printed", Hybrid.calibrated)
    assert not check_of("tossou-hybrid-budget").run().confirmed
    monkeypatch.undo()
    monkeypatch.setattr(l2_ball, "radius", lambda dimension, epsilon: 2.0)
    assert not check_of("han-radius").run().confirmed
    monkeypatch.undo()
    monkeypatch.setattr(ren.divergences, "response_mean", lambda mean, epsilon: mean)
    assert not check_of("ren-lemma-9").run().confirmed
    monkeypatch.undo()
    monkeypatch.setattr(azize, "_index", lambda mean, pulls, t, epsilon: mean)  # never two equal ones
    assert not check_of("azize-order-of-arms").run().confirmed


def test_the_order_of_arms_is_judged_on_the_policy_itself():
    """The plain loop beside the compiled policy, where indices seldom tie (large epsilon, arms in random order)."""
    means, epsilon, users, runs = (0.9, 0.8, 0.7, 0.6, 0.5), 20.0, 1000, 300
    rng = np.random.default_rng(1)
    plain, compiled = [], []
    for seed in range(runs):
        order = tuple(rng.permutation(means).tolist())
        # private: this is what is tested
        plain.append(azize._regret(order, True, epsilon, users, seed))
        [instance] = one_line("adap-klucb", coins(*order), epsilon, users).setups
        streams = rng.integers(0, 2**64, (1, 8), dtype=np.uint64)
        block = registry()["adap-klucb"].play(instance, streams, np.array([users]), Signal())
        compiled.append(block.regret.item())
    error = math.sqrt((np.var(plain) + np.var(compiled)) / runs)
    assert abs(np.mean(plain) - np.mean(compiled)) < 3.5 * error
    assert error < 0.05 * np.mean(plain)


def test_every_check_is_that_of_an_erratum_and_every_checked_erratum_has_one():
    offered = set()
    for path in CHECKS.glob("*.py"):
        module = checks(path.stem)
        made = {name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__}
        offered |= {f"{path.stem}-{name.replace('_', '-')}" for name in made if not name.startswith("_")}
    assert offered == set(CHECKED)


def test_kinds_are_counted_apart_and_no_misprint_claims_a_check():
    kinds = {kind: [erratum for erratum in errata() if erratum.kind == kind] for kind in KINDS}
    assert sum(map(len, kinds.values())) == len(ERRATA) == len(set(ERRATA))
    assert [erratum.name for erratum in kinds["sharpening"]] == ["basu-lemma-4"]
    assert [erratum.name for erratum in kinds["gap"]] == ["azize-order-of-arms"]
    assert {erratum.name for erratum in kinds["misprint"]} == {
        "tossou-one-name-twice", "tossou-rate-of-prior-work", "ren-corollary-13-name", "tao-symbols",
    }  # fmt: skip
    assert {erratum.name for erratum in kinds["withdrawn"]} == {"han-margin-range", "ren-theorem-7-exponent"}
    unchecked = {"misprint", "withdrawn"}
    assert all((erratum.evidence is None) == (erratum.kind in unchecked) for erratum in errata())
    assert all("as printed" in erratum.corrected for erratum in kinds["withdrawn"])
    assert all(erratum.check() is None for erratum in kinds["misprint"])
    assert "han-restored-lines" not in ERRATA  # its sum of two one-sided losses is epsilon exactly, see below


def test_releases_of_the_simplified_interval_add_up_to_about_twice_the_budget():
    """Exact between the analytic ends of one release and a bound that holds for every composition."""
    outcome = erratum_of("tossou-release-interval").check()
    assert 1.64 < outcome.printed < 2.27 and 0.4 < outcome.corrected < 1
    for interval in (16, 153):
        # private: this is what is tested
        exact = checks("tossou")._exact_epsilon(interval, 1.1, math.exp(-10))
        assert exact < float(definitions.interval_epsilon(interval, 1.1, math.exp(-10), 1e5))
        variance = float(np.sum((interval * np.arange(1.0, 1e5 // interval + 1)) ** -1.1))
        normal = gaussian.smallest_delta(math.sqrt(variance), 1.0, exact)  # many small losses are nearly normal
        assert 0.5 < normal / math.exp(-10) < 3


def test_a_sharpening_is_true_as_printed():
    outcome = erratum_of("basu-lemma-4").check()
    assert outcome.confirmed and outcome.printed_holds and outcome.corrected_holds
    assert not replace(outcome, printed=1.5).confirmed  # not true as printed: that would be an error
    assert not replace(outcome, printed=outcome.corrected).confirmed


def test_entries_are_whole():
    for erratum in errata():
        assert all((erratum.place, erratum.printed, erratum.corrected, erratum.why))
        assert erratum.printed.count("$") % 2 == erratum.corrected.count("$") % 2 == 0
        assert erratum.command.endswith(erratum.name)


@pytest.mark.parametrize(
    ("rule", "passes", "fails"),
    [("equal to", 2.0, 2.1), ("at most", 1.9, 2.1), ("at least", 2.1, 1.9), ("below", 1.9, 2.0)],
)
def test_rules_can_fail_and_a_missing_number_never_passes(rule, passes, fails):
    def run(printed, corrected):
        return Check("x", rule, 2.0, float, printed, corrected).run()

    assert run(fails, passes).confirmed
    assert not run(passes, fails).confirmed
    assert not run(passes, passes).confirmed  # what is printed would be right
    assert not run(math.nan, math.nan).confirmed
    assert run(math.nan, passes).confirmed


def test_an_unknown_erratum_is_refused_by_name(capsys):
    with refused("name", value="ren-curator-4") as issues:
        erratum_of("ren-curator-4")
    assert "ren-curator-3" in issues[0].allowed
    assert main(["errata", "ren-curator-4"]) == 2
    assert str(issues[0]) in capsys.readouterr().err


def test_the_command_line_runs_one_check_or_all(capsys):
    assert main(["errata", "ren-curator-3"]) == 0
    message = capsys.readouterr().out
    assert "confirmed" in message
    assert erratum_of("ren-curator-3").check().words in message
    assert main(["errata"]) == 0
    message = capsys.readouterr().out
    assert message.count("  confirmed (") == len(CHECKED) and message.count(KINDS["misprint"]) + message.count(
        KINDS["withdrawn"]
    ) == len(ERRATA) - len(CHECKED)
    assert "NOT CONFIRMED" not in message
