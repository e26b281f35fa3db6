"""Every erratum is confirmed by its own check, and the checks can fail."""

import math

import pytest

from bandit_core.cli import main
from bandit_core.errata import errata, erratum_of
from bandit_core.errata.erratum import compare
from bandit_core.problems import InvalidInput

NAMES = [erratum.name for erratum in errata()]


@pytest.mark.parametrize("name", NAMES)
def test_the_printed_version_fails_and_the_corrected_one_passes(name):
    outcome = erratum_of(name).check()
    assert outcome.confirmed, outcome.words
    assert not outcome.printed_holds
    assert outcome.corrected is None or outcome.corrected_holds
    assert not math.isnan(outcome.wanted)
    assert "does not hold" in outcome.words


def test_all_five_papers_have_their_errata():
    counts = {}
    for erratum in errata():
        counts[erratum.paper] = counts.get(erratum.paper, 0) + 1
        assert all((erratum.place, erratum.printed, erratum.corrected, erratum.why))
        assert erratum.printed.count("$") % 2 == erratum.corrected.count("$") % 2 == 0
        assert erratum.command.endswith(erratum.name)
    assert len(NAMES) == len(set(NAMES)) == 36
    assert sorted(counts.values()) == [4, 6, 8, 9, 9]


@pytest.mark.parametrize(
    ("rule", "passes", "fails"),
    [("equal to", 2.0, 2.1), ("at most", 1.9, 2.1), ("at least", 2.1, 1.9), ("below", 1.9, 2.0)],
)
def test_rules_can_fail_and_a_missing_number_never_passes(rule, passes, fails):
    outcome = compare("x", rule, 2.0, fails, passes)
    assert outcome.confirmed
    assert not compare("x", rule, 2.0, passes, fails).confirmed
    assert not compare("x", rule, 2.0, passes, None).confirmed  # what is printed would be right
    assert not compare("x", rule, 2.0, math.nan, math.nan).confirmed
    assert compare("x", rule, 2.0, math.nan, passes).confirmed


def test_an_unknown_erratum_is_refused_by_name(capsys):
    with pytest.raises(InvalidInput, match="ren-curator-3"):
        erratum_of("ren-curator-4")
    assert main(["errata", "ren-curator-4"]) == 2
    assert "no such erratum" in capsys.readouterr().err


def test_the_command_line_runs_one_check_or_all(capsys):
    assert main(["errata", "ren-curator-3"]) == 0
    told = capsys.readouterr().out
    assert "confirmed" in told
    assert "as printed 10 (does not hold), corrected 1.1052 (holds)" in told
    assert main(["errata"]) == 0
    assert capsys.readouterr().out.count("  confirmed") == len(NAMES)
