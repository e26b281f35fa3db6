"""Audits: right mechanisms pass, mechanisms with too little noise fail, with the stated confidence."""

import itertools
import math

import numpy as np
import pytest

from bandit_core.audit import audit
from bandit_core.mechanisms import CTB, CTL, MECHANISMS

UNIT_PAIRS = list(itertools.combinations([0.0, 0.3, 0.5, 1.0], 2))
WIDE_PAIRS = list(itertools.combinations([-60.0, -1.0, 0.5, 60.0], 2))
CLAIMS = [0.2, 1.0, 3.0]
EVERY = pytest.mark.parametrize("name", MECHANISMS)


def pairs_of(name):
    return UNIT_PAIRS if MECHANISMS[name].domain == (0.0, 1.0) else WIDE_PAIRS


@EVERY
@pytest.mark.parametrize("epsilon", CLAIMS)
def test_every_mechanism_is_consistent_with_its_epsilon(name, epsilon):
    result = audit(MECHANISMS[name], epsilon, pairs_of(name), samples=20_000, seed=1)
    assert result.verdict == "consistent"
    assert result.words.startswith("Consistent")
    assert 0.6 * epsilon < result.lower_bound <= epsilon  # and the audit is no rubber stamp


@EVERY
@pytest.mark.parametrize("epsilon", CLAIMS)
def test_half_the_noise_fails_the_same_audit(name, epsilon):
    def halved(rewards, claimed, rng):
        return MECHANISMS[name].release(rewards, 2 * claimed, rng)

    result = audit(halved, epsilon, pairs_of(name), samples=20_000, seed=1)
    assert result.verdict == "violates"
    assert epsilon < result.lower_bound <= 2 * epsilon
    assert result.words.startswith("Violation")


@pytest.mark.parametrize("epsilon", CLAIMS)
def test_doubled_contrast_fails_the_same_audit(epsilon):
    def doubled(rewards, claimed, rng):
        contrast = min(1.0, 2 * math.tanh(claimed / 2))
        return rng.random(rewards.shape) < 0.5 + contrast * (rewards - 0.5)

    assert audit(doubled, epsilon, UNIT_PAIRS, samples=20_000, seed=1).verdict == "violates"


def test_the_formula_as_printed_in_the_paper_is_not_private():
    """Curator 3 has epsilon where e^epsilon is meant: at 0.1 its two outcomes differ by a factor of 10."""

    def as_printed(rewards, epsilon, rng):
        return rng.random(rewards.shape) < (rewards * epsilon + 1 - rewards) / (1 + epsilon)

    result = audit(as_printed, 0.1, UNIT_PAIRS, samples=20_000, seed=1)
    assert result.verdict == "violates"
    assert 2.0 < result.lower_bound <= math.log(10)


def test_an_audit_says_where_it_looked():
    result = audit(CTL, 1.0, [(0.0, 0.1), (0.0, 1.0)], samples=20_000, seed=3)
    assert set(result.pair) == {0.0, 1.0}
    # The likelier reward is the one on whose side the event lies.
    assert result.event[1] == math.inf if result.pair == (1.0, 0.0) else result.event[0] == -math.inf
    assert result == audit(CTL, 1.0, [(0.0, 0.1), (0.0, 1.0)], samples=20_000, seed=3)


def test_an_interval_in_the_middle_is_found():
    def centred(
        rewards, epsilon, rng
    ):  # half of the responses to 1 crowd around 0: no threshold shows it, a range does
        return rng.uniform(-1, 1, rewards.shape) * np.where(rng.random(rewards.shape) < rewards / 2, 0.1, 1.0)

    result = audit(centred, 1.0, [(0.0, 1.0)], samples=20_000, seed=1)
    assert result.verdict == "violates"
    assert 1.4 < result.lower_bound < math.log(5.5)
    assert result.pair == (1.0, 0.0)
    assert -0.5 < result.event[0] < result.event[1] < 0.5


def test_false_alarms_are_as_rare_as_the_confidence_says():
    """CTB spends its epsilon in full, so a violation is a false alarm: at most 10 % of audits at confidence 0.9."""
    alarms = sum(
        audit(CTB, 1.0, [(0.0, 1.0)], samples=400, confidence=0.9, seed=seed).verdict == "violates"
        for seed in range(300)
    )
    assert alarms <= 45  # 30 expected at most; 45 is 2.9 standard deviations above


@pytest.mark.parametrize(("pairs", "samples", "confidence"), [([], 100, 0.9), ([(0, 1)], 3, 0.9), ([(0, 1)], 100, 1.0)])
def test_impossible_audits_are_refused(pairs, samples, confidence):
    with pytest.raises(ValueError, match="an audit needs"):
        audit(CTB, 1.0, pairs, samples, confidence)
