"""Audits: right mechanisms pass, mechanisms with too little noise fail, with the stated confidence."""

import math

import numpy as np
import pytest
from helpers import refused
from scipy import stats

from bandit_core import InputError
from bandit_core.auditing.subjects import RUNS, audit, power, subjects
from bandit_core.mechanisms import CTB, CTL, registry
from bandit_core.policies import registry as policies


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


@pytest.mark.parametrize(("pairs", "samples", "confidence"), [([], 100, 0.9), ([(0, 1)], 3, 0.9), ([(0, 1)], 100, 1.0)])
def test_impossible_audits_are_refused(pairs, samples, confidence):
    with pytest.raises(InputError, match=r"pairs|samples|confidence"):
        audit(CTB, 1.0, pairs, samples, confidence)


# ---- By name: mechanisms, runs, negative controls ----

SUBJECTS = subjects()
SOUND = [name for name, subject in SUBJECTS.items() if subject.kind == "mechanism"]
BROKEN = {name: subject.opens_at for name, subject in SUBJECTS.items() if subject.kind == "negative control"}
# What no audit of the first choices can pass; the rest of epsilon hides behind the other user's noise.
RUNS_SEEN = {"heldp-ucb-b": 0.7, "ucb-cf": 0.7, "kl-ucb-cf": 0.7, "ts-cf": 0.1, "private-ucb": 0.1, "adap-ucb": 0.35}


@pytest.mark.parametrize("name", SOUND)
def test_every_mechanism_passes_by_name_and_the_audit_sees_it(name):
    found = audit(name, 1.0, samples=60_000)
    assert found.verdict == "consistent", found.words
    assert found.lower_bound > (0.2 if name == "gaussian" else 0.45)  # Gaussian: far more noise than delta needs
    assert found.delta == SUBJECTS[name].delta == (0.0 if registry()[name].pure else 0.01)


@pytest.mark.parametrize(("name", "epsilon"), BROKEN.items(), ids=BROKEN)
def test_every_negative_control_is_caught(name, epsilon):
    found = audit(name, epsilon)
    assert found.verdict == "violates", found.words
    real = SUBJECTS[name].real(epsilon)
    assert epsilon < found.lower_bound <= real
    assert power(found) > 0.95  # it opens where it is caught nearly always, not by luck
    assert SUBJECTS[name].flaw


@pytest.mark.parametrize(("name", "epsilon", "samples"), [("ctl-half-noise", 0.3, 2000), ("ctb", 1.0, 2000)])
def test_the_told_power_is_the_share_of_audits_that_accuse(name, epsilon, samples):
    audits = [audit(name, epsilon, samples=samples, confidence=0.999, seed=seed) for seed in range(150)]
    message = [power(found, draws=400) for found in audits]
    caught = np.mean([found.verdict == "violates" for found in audits])
    assert abs(np.mean(message) - caught) < 0.1
    assert (0.1 < caught < 0.9) == (name == "ctl-half-noise")  # neither always nor never, or the test says little


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.9])
def test_the_real_epsilon_of_the_misprint_is_that_of_its_two_coins(epsilon):
    """The exact chances of each answer, by hand: 1/(1 + e) after 0 and e/(1 + e) after 1."""
    ratio = max((epsilon / (1 + epsilon)) / (1 / (1 + epsilon)), 1 / epsilon)
    assert SUBJECTS["ctb-as-printed"].real(epsilon) == pytest.approx(math.log(ratio))


def test_the_misprint_is_harmless_at_one():
    assert SUBJECTS["ctb-as-printed"].real(1.0) == 0
    found = audit("ctb-as-printed", 1.0, samples=20_000)
    assert found.verdict == "consistent" and found.lower_bound < 0.05


def test_the_real_epsilon_of_the_tree_is_that_of_its_nodes():
    scale, nodes = math.log(8) / 0.8, 4  # item 1 of 8 lies in the nodes that end at 1, 2, 4 and 8
    assert SUBJECTS["binary-natural-log"].real(0.8) == pytest.approx(nodes / scale)


@pytest.mark.parametrize(("name", "least"), RUNS_SEEN.items(), ids=RUNS_SEEN)
def test_first_choices_of_policies_keep_their_claim(name, least):
    found = audit(name, 1.0, samples=60_000)
    assert found.verdict == "consistent", found.words
    assert found.lower_bound > least


def test_the_sums_of_dp_tt_keep_their_claim_and_half_their_noise_does_not():
    """Those of the kernel: Laplace noise of scale 1/epsilon around the batch's sum."""
    found = audit("dp-tt", 1.0, samples=60_000)
    assert found.verdict == "consistent" and found.lower_bound > 0.7, found.words
    sample = SUBJECTS["dp-tt"].sampler
    ones = sample(np.ones(20_000), 2.0, np.random.default_rng(3))
    assert stats.kstest(ones, stats.laplace(1.0, 0.5).cdf).pvalue > 1e-4
    halved = audit(lambda inputs, epsilon, rng: sample(inputs, 2 * epsilon, rng), 1.0, samples=60_000)
    assert halved.verdict == "violates" and 1 < halved.lower_bound <= 2


def test_runs_are_those_of_registered_private_policies():
    for name, users in RUNS.items():
        policy = policies()[name]
        assert policy.privacy != "none" and policy.setting == "arms"
        assert SUBJECTS[name].guarantee == policy.guarantee_words
        assert users in (2, 3)


def test_the_choices_of_a_run_have_the_chances_that_its_answers_give():
    """HeLDP-UCB-B: arm 1 is chosen next only if its answer is 1 and that of arm 0 is 0."""
    rng, keep = np.random.default_rng(0), 1 / (1 + math.exp(1.0))  # chance of an answer that is not the reward
    for reward, zero in ((0.0, 1 - keep), (1.0, keep)):
        seen = SUBJECTS["heldp-ucb-b"].sampler(np.full(40_000, reward), 1.0, rng)
        assert set(np.unique(seen)) == {1.0, 2.0}
        assert np.mean(seen == 2) == pytest.approx(zero * keep, abs=0.006)


def test_the_numbers_of_an_audit_belong_together():
    found = audit("ctl-half-noise", 0.8, samples=30_000, confidence=0.99)
    (p_low, p, p_high), (q_low, q, q_high) = found.chances
    assert p_low < p < p_high and q_low < q < q_high
    assert found.lower_bound == pytest.approx(math.log(p_low / q_high)) == found.event_loss[0]
    assert found.event_loss[1] == pytest.approx(math.log(p / q))
    assert found.event_loss[2] == pytest.approx(math.log(p_high / q_low))
    half, hits = 15_000, round(p * 15_000)
    exact = stats.binomtest(hits, half).proportion_ci(1 - 0.01, "exact")  # each side 0.005: two limits share 0.01
    assert (p_low, p_high) == pytest.approx((exact.low, exact.high))


def test_delta_is_taken_off_the_likelier_chance():
    strict, lenient = (audit("ctl", 1.0, samples=20_000, delta=delta) for delta in (0.0, 0.1))
    assert lenient.lower_bound < strict.lower_bound
    assert lenient.event_loss[0] == pytest.approx(math.log((lenient.chances[0][0] - 0.1) / lenient.chances[1][2]))
    assert "0.1" in lenient.words and "0.1" not in strict.words
    whole = audit("ctl", 1.0, samples=20_000, delta=0.9)
    assert whole.lower_bound == 0 and whole.verdict == "consistent"


def test_progress_is_told_and_batches_are_all_drawn():
    message, sizes = [], []

    def counted(rewards, epsilon, rng):
        sizes.append(len(rewards))
        return rng.random(len(rewards))

    audit(counted, 1.0, samples=120_000, on_progress=message.append)
    assert sizes == [50_000, 50_000, 20_000] * 2
    assert message == sorted(message) and message[-1] == 1.0 and len(message) == 6


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"sampler": "nobody"}, "name"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_words(changes, path):
    [value] = changes.values()
    with refused(path, value=pytest.approx(value, nan_ok=True)) as issues:
        audit(**{"sampler": "ctb", "epsilon": 1.0, "samples": 100, **changes})
    assert (path == "name") == ("ctb-as-printed" in issues[0].allowed)


def test_false_alarms_of_all_sound_mechanisms_stay_within_the_stated_rate():
    """200 small audits at 95 %: 10 false alarms expected at most; 21 or more would happen in 1 of 1,000 such tests."""
    most = int(stats.binom.isf(1e-3, 200, 0.05))
    for name in ("ctb", "ctl", "l2-ball"):  # those that spend epsilon in full
        alarms = sum(
            audit(name, 1.0, samples=400, confidence=0.95, seed=seed).verdict == "violates" for seed in range(200)
        )
        assert alarms <= most, name
