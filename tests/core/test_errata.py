"""Every erratum is confirmed by its own check, and every check can fail."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import refused
from runs import coins, one_line

from bandit_core.cli import main
from bandit_core.literature.erratum import CHECKS, KINDS, Check, checks
from bandit_core.literature.papers import errata, erratum_of
from bandit_core.mechanisms import Hybrid, gaussian, l2_ball
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.theory import definitions

NAMES = [erratum.name for erratum in errata()]
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


@pytest.mark.parametrize("name", ["ren-lemma-99", "nobody-lemma-9"])
def test_an_entry_without_its_check_is_told(name):
    with refused(name, value="error") as issues:
        erratum_of("ren-lemma-9").model_copy(update={"name": name}).check()
    assert "tests/errata/" in issues[0].allowed


def test_kinds_are_counted_apart_and_no_misprint_claims_a_check():
    kinds = {kind: [erratum for erratum in errata() if erratum.kind == kind] for kind in KINDS}
    assert sum(map(len, kinds.values())) == len(NAMES) == len(set(NAMES))
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
    assert "han-restored-lines" not in NAMES  # its sum of two one-sided losses is epsilon exactly, see below


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
    ) == len(NAMES) - len(CHECKED)
    assert "NOT CONFIRMED" not in message
