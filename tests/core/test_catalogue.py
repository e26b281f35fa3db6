"""The catalogue has every bound; each has a value computed by hand, its limits and its scaling."""

import math
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pytest
from helpers import fixed, lines_taken

from bandit_core import Experiment, bounds
from bandit_core.experiments import catalogue
from bandit_core.experiments.catalogue import entries, line_bounds
from bandit_core.experiments.experiment import checkpoints
from bandit_core.model.policy import TRIVIAL, Theorem
from bandit_core.policies import registry
from bandit_core.spec.found import entries as texts
from bandit_core.theory import basu, stated
from bandit_core.theory.definitions import skellam_rate

PAIR = [{"kind": "bernoulli", "mean": 0.5}, {"kind": "bernoulli", "mean": 0.4}]
BETA = [{"kind": "beta", "a": 4, "b": 1}, {"kind": "beta", "a": 2, "b": 2}]
RARE = {"heldp-ucb-b-ren-theorem-10", "heldp-ucb-l-ren-theorem-7", "jdp-linucb-shariff-sheffet"}
NORMAL = [{"kind": "gaussian", "mean": 0.5, "sd": 1}, {"kind": "gaussian", "mean": 0.4, "sd": 1}]
MARGIN = {"dimension": 2, "arms": 2, "law": {"kind": "margin", "beta": 0.5}}
SETTINGS = {
    "pair": {"arms": PAIR},
    "beta": {"arms": BETA},
    "normal": {"arms": NORMAL},
    "margin": {"contexts": MARGIN},
    "own": {"contexts": {**MARGIN, "structure": "multi"}},
    "plain": {"contexts": {"dimension": 2, "arms": 2, "law": {"kind": "sphere"}}},
}


def entry_of(listed, key):
    return next((entry for entry in listed if entry.key == key), None)


def experiment_of(setting, horizon=10**6, lines=None):
    document = SETTINGS[setting] if isinstance(setting, str) else setting
    first = {"policy": "linucb" if "contexts" in document else "ucb"}
    return Experiment.model_validate({**document, "lines": lines or [first], "horizon": horizon})


@lru_cache(maxsize=64)
def known(setting, epsilon, horizon=10**6):
    return {entry.key: entry for entry in entries(experiment_of(setting, horizon), epsilon)}


def at(entry, t):
    """The bound without its cap."""
    with np.errstate(all="ignore"):
        return float(entry.bound.curve(np.array([float(t)]))[0])


def applies(entry):
    return not entry.bound.not_applicable or entry.bound.superseded


def every():
    return sorted(known("pair", 0.5))


@cache
def homes():
    """For each bound a setting where it applies, if there is one."""
    return {key: name for name in reversed(SETTINGS) for key, entry in known(name, 0.5).items() if applies(entry)}


def home_of(key):
    return homes()[key]


# --- complete, and the same everywhere ------------------------------------------------------------------------------


def test_every_bound_of_the_theory_is_in_the_catalogue():
    texts_of = texts(stated.__file__)
    written = {entry["name"] for entry in texts_of.values() if "name" in entry}
    deciding = {key: entry for key, entry in texts_of.items() if "characteristic-time" in (key, entry.get("like"))}
    times = {entry["name"] for entry in deciding.values()}  # users until a policy decides, not regret
    assert len(written) > 50 and len(times) == 4
    listed = {entry.bound.name for entry in known("pair", 0.5).values()}
    assert written - times <= listed
    others = "".join(path.read_text(encoding="utf-8") for path in Path(stated.__file__).parent.glob("*.py"))
    assert [name for name in listed - written if f'"{name}"' not in others] == []


def test_every_bound_of_every_policy_is_in_the_catalogue():
    for setting, document in SETTINGS.items():
        for line in lines_taken({**document, "horizon": 10**6}, [fixed(0.5)]):
            for bound in line_bounds(experiment_of(setting, lines=[line]), 0):
                # private: this is what is tested
                key = catalogue._key(bound, line["policy"])
                assert key in every()
                listed = known(setting, 0.5)[key].bound
                assert (listed.name, listed.side, listed.model) == (bound.name, bound.side, bound.model)
                assert all((bound.words, bound.source, bound.formula, bound.assumptions))
                assert bound.not_applicable or np.isfinite(bound.values(np.array([1, 10, 1000]), 0.6)).all()


@pytest.mark.parametrize(
    ("theorem", "spoken_of"),
    [
        ({"promise": "none"}, {"ucb", "dp-ucb", "ucb-cf"}),
        ({"promise": "central"}, {"dp-ucb", "ucb-cf"}),
        ({"promise": "local"}, {"ucb-cf"}),
        ({"policies": ("dp-ucb", "linucb")}, {"dp-ucb", "linucb"}),
        ({"setting": "contexts"}, {"linucb"}),
    ],
)
def test_a_bound_with_a_file_of_its_own_speaks_of_whom_it_says(theorem, spoken_of):
    names = ("ucb", "dp-ucb", "ucb-cf", "linucb")
    message = Theorem(state=lambda setup: None, **theorem)
    assert {name for name in names if message.speaks_of(registry()[name])} == spoken_of


@pytest.mark.parametrize("setting", SETTINGS)
def test_keys_do_not_depend_on_the_experiment(setting):
    assert sorted(known(setting, 2.0, 1000)) == every()


def test_every_bound_applies_somewhere_or_is_superseded():
    users = {"kind": "discrete", "values": [0.5, 1.0]}
    lines = [{"policy": name, "epsilon": users} for name in ("heldp-ucb-b", "heldp-ucb-l")]
    different = {entry.key for entry in entries(experiment_of("pair", lines=lines)) if not entry.bound.not_applicable}
    always = {"policy": "jdp-linucb", "params": {"refresh": 0}, "epsilon": {"kind": "fixed", "value": 0.5}}
    different |= {entry.key for entry in entries(experiment_of("plain", lines=[always])) if applies(entry)}
    assert set(every()) - set(homes()) == RARE <= different
    superseded = {key for key, entry in known("pair", 0.5).items() if entry.bound.superseded}
    assert {key for key in superseded if "basu" in key} == {
        "instantaneous-basu-theorem-2-any",
        "instantaneous-basu-corollary-2-0-1",
        "central-basu-theorem-3-any",
        "central-basu-corollary-3-0-1",
    }
    assert all("as-printed" in key for key in superseded if "basu" not in key)


def test_what_the_command_line_prints_is_what_applies():
    """One line of every policy that takes the arms: every bound that applies is in its table, and no other."""
    lines = lines_taken({"arms": PAIR, "horizon": 10**6}, [fixed(0.5)])
    printed = set()
    for start in range(0, len(lines), 20):
        experiment = experiment_of("pair", lines=lines[start : start + 20])
        table = bounds(experiment)
        printed |= set(zip(table["name"], table["source"], strict=True))
        assert table.groupby(["line", "name"]).size().eq(len(checkpoints(10**6))).all()
    owned = {
        (entry.bound.label, entry.bound.source)
        for entry in known("pair", 0.5).values()
        if entry.asked and not entry.bound.not_applicable
    }
    assert owned <= printed
    assert not [name for name, _ in printed if "Basu Theorem 2" in name or "Basu Theorem 3" in name]
    assert not [name for name, _ in printed if "Environment" in name]


def test_what_does_not_apply_says_why():
    for setting in SETTINGS:
        for entry in known(setting, 0.5).values():
            if entry.bound.not_applicable:
                assert len(entry.bound.not_applicable) > 20
            if entry.bound.not_applicable and not entry.bound.superseded:
                assert np.isnan(entry.value(experiment_of(setting), np.array([10.0]))).all()
    reason = known("normal", 0.5)["dp-se-order-of-dp-se"].bound.not_applicable
    assert "[0, 1]" in reason


# --- values by hand ---------------------------------------------------------------------------------------------------

T, GAP, EPS, U = 1e4, 0.1, 0.5, 0.5  # arms 0.5 and 0.4; E X^1.5 = 1/2 of the better one; horizon 10^6
L, C, ALPHA, UNIT = math.log(T), math.tanh(EPS / 2), math.e * (math.exp(EPS) - 1) ** 2, U ** (2 / 3)


def d(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


LAI_ROBBINS = GAP / d(0.4, 0.5) * L
RESPONSE = GAP / d(0.5 - C * GAP, 0.5) * L
FREE = math.sqrt(2 * T * L)
TWO_POINT = math.exp(-0.5) / (16 * math.sqrt(2)) * math.sqrt(T)
SPEED = skellam_rate(EPS, 1e-6, 4, 10.0)  # of the tight account
RENYI = 2 / SPEED * (math.sqrt(math.log(1e6)) + math.log(1e6) / 10)
HAND = {
    **{f"{name}-search-then-commit": 0.05 * GAP * T for name in ("top-two", "ctb-tt", "adap-tt")},
    "none-lai-robbins-0-or-1": LAI_ROBBINS,
    "kl-ucb-leading-term": LAI_ROBBINS,
    "thompson-leading-term": LAI_ROBBINS,
    "none-trivial-cap": T * GAP,
    "ucb-ucb1": 8 * L / GAP + (1 + math.pi**2 / 3) * GAP,
    "ucb-distribution-free-order": FREE,
    "kl-ucb-distribution-free-order": FREE,
    "thompson-distribution-free-order": FREE,
    "none-minimax-without-privacy-0-1": math.sqrt(2 * T) / 20,
    "none-heavy-tailed-lower-bound-heavy-tails": 0.4 * (U / GAP) ** 2 * L,
    "none-heavy-tailed-minimax-heavy-tails": 0.01 * UNIT * 2 ** (1 / 3) * T ** (2 / 3),
    "robust-ucb-robust-ucb": 8 * (4 * U / GAP) ** 2 * L + 5 * GAP,
    "robust-ucb-robust-ucb-distribution-free-order": UNIT * (2 * L) ** (1 / 3) * T ** (2 / 3),
    "local-exact-ldp-bound-0-or-1": RESPONSE,
    "kl-ucb-cf-leading-term": RESPONSE,
    "ts-cf-leading-term": RESPONSE,
    "kl-ucb-cf-explicit-leading-term": 2 * L / (GAP * C**2),
    "ts-cf-explicit-leading-term": 2 * L / (GAP * C**2),
    "ucb-cf-order-of-the-regret": L / (GAP * C**2),
    "local-ren-theorem-4-0-or-1": L / (GAP * (math.exp(EPS) - math.exp(-EPS)) ** 2),
    "local-basu-theorem-4-any": 2 * GAP / (ALPHA * d(0.4, 0.5)) * L,
    "local-basu-theorem-1-0-1": TWO_POINT / math.sqrt(ALPHA),
    "local-basu-corollary-1-0-1": TWO_POINT / math.sqrt(ALPHA),
    "local-ldp-minimax-0-1": TWO_POINT / math.sqrt(min(ALPHA, 2 * math.log(3))),
    "heldp-ucb-b-ren-corollary-11": 8 * L / (GAP * C**2) + (2 + math.pi**2 / 3) * GAP,
    "heldp-ucb-l-ren-corollary-8": 8 * (1 + 4 / EPS) ** 2 * L / GAP + (3 + 2 * math.pi**2 / 3) * GAP,
    "heldp-ucb-bw-weighed-answers": (8 * L / GAP + GAP) / C**2 + math.pi**2 / 3 * GAP,
    "heldp-ucb-lw-weighed-noisy-answers": (1 + 8 / EPS**2)
    * (2 * (1 + math.sqrt(1 + GAP / math.sqrt(2))) ** 2 * L / GAP + GAP)
    + math.pi**2 / 3 * GAP,
    "heldp-ucb-b-distribution-free-order": FREE / C,
    "heldp-ucb-l-distribution-free-order": FREE * math.sqrt(1 + 1 / EPS**2),
    "local-heavy-tailed-ldp-bound-heavy-tails": U**4 / (4 * ALPHA * 5**4 * GAP**5) * L,
    "local-heavy-tailed-ldp-minimax-heavy-tails": UNIT * T * (1 / (4 * 5**4 * ALPHA * T)) ** (1 / 6) / (8 * math.e),
    "local-theorem-8-heavy-tails": U**2 * L / EPS**2 / GAP**2,
    "local-theorem-11-heavy-tails": U**2 * L / EPS**2 / GAP**2,
    "local-theorem-9-heavy-tails": UNIT * (2 / EPS**2) ** (1 / 3) * T ** (2 / 3),
    "ldp-robust-se-theorem-7-corrected": U**4 * L / (EPS**2 * GAP**5) + GAP,
    "ldp-robust-se-theorem-7-as-printed": U**4 * L / (EPS**2 * GAP**2) + GAP,
    "ldp-robust-se-theorem-7-worst-case-corrected": UNIT * (2 * L / EPS**2) ** (1 / 6) * T ** (5 / 6),
    "ldp-robust-se-theorem-7-worst-case-as-printed": UNIT**2 * (2 * L / EPS**2) ** (1 / 3) * T ** (2 / 3),
    "central-central-d-eps-bound-0-or-1": LAI_ROBBINS,  # 0.4 > 0.5 / (0.5 + 0.5 e^0.5) = 0.378: no private part
    "central-azize-basu-0-1": LAI_ROBBINS,  # d = 0.0201 < 6 x 0.5 x 0.1
    "central-central-minimax-any": max(math.sqrt(T) / 27, 1 / (131 * EPS)),
    "central-central-minimax-derived-0-1": max(TWO_POINT / math.sqrt(2 * math.log(3)), 1 / EPS / (16 * math.e)),
    "central-theorem-5-heavy-tails": U**2 * L / EPS / GAP**2,
    "central-theorem-10-heavy-tails": U**2 * L / EPS / GAP**2,
    "adap-klucb-order-of-adap-klucb": LAI_ROBBINS + 3.1 / 0.1,
    "anytime-lazy-ucb-order-with-lazy-releases": L / GAP,
    "lazy-dp-ts-order-with-lazy-releases": L / GAP,
    "anytime-lazy-ucb-distribution-free-order": FREE + 2 * L / EPS,
    "lazy-dp-ts-distribution-free-order": FREE + 2 * L / EPS,
    "dp-se-distribution-free-order": FREE + 2 * L / EPS,
    "dp-se-order-of-dp-se": (1 / GAP + 2 / EPS) * math.log(1e6),
    "dist-dp-se-published-order": (1 / GAP + 2 / EPS) * math.log(1e6),
    "dist-dp-se-published-distribution-free-order": math.sqrt(2 * T * math.log(1e6)) + 2 * math.log(1e6) / EPS,
    "shuffle-se-published-order": (1 / GAP + 2 * math.sqrt(math.log(1e6)) / EPS) * math.log(1e6),
    "shuffle-se-published-distribution-free-order": math.sqrt(2 * T * math.log(1e6)) + 2 * math.log(1e6) ** 1.5 / EPS,
    "dist-rdp-se-published-order": math.log(1e6) / GAP + RENYI,
    "dist-rdp-se-published-distribution-free-order": math.sqrt(2 * T * math.log(1e6)) + RENYI,
    "dp-klucb-leading-term": 2 * LAI_ROBBINS,
    "dp-imed-leading-term": 2 * LAI_ROBBINS,
    "dp-ucb-theorem-3-3": 32 * math.sqrt(2) * L**2 / (EPS / 2) + (1 + math.pi**2) * GAP,
    "dp-robust-ucb-theorem-2": (U / GAP) ** 2 / EPS * L**4.5 + GAP,
    "dp-robust-se-theorem-4-corrected": U**2 * L / EPS / GAP**2 + GAP,
    "dp-robust-se-theorem-4-as-printed": UNIT * L / EPS / GAP**2 + GAP,
    "dp-robust-se-theorem-4-worst-case-corrected": UNIT * (2 * L / EPS) ** (1 / 3) * T ** (2 / 3),
    "dp-robust-se-theorem-4-worst-case-as-printed": U ** (2 / 9) * (2 * L / EPS) ** (1 / 3) * T ** (2 / 3),
    "instantaneous-basu-theorem-2-any": math.sqrt(T / (2 * EPS * (math.e - 1))),
    "instantaneous-basu-corollary-2-0-1": math.sqrt(T / (2 * EPS * (math.e - 1))),
    "central-basu-theorem-3-any": 0.0,  # its factor is not known: nothing to draw
    "central-basu-corollary-3-0-1": 0.0,
    "environment-environment-privacy-0-or-1": math.exp(-EPS) / 8 * T,
    "none-lai-robbins-gaussian": 2 * L / GAP,
    "none-minimax-without-privacy-gaussian": math.sqrt(T) / 27,
    "local-basu-theorem-1-gaussian": 2 * TWO_POINT / math.sqrt(ALPHA),
    "local-ldp-minimax-gaussian": 2 * TWO_POINT / math.sqrt(min(ALPHA, 2)),
    "ldp-ols-theorem-3-1": math.sqrt(T) / EPS,
    "ldp-sgd-theorem-3-1": math.sqrt(T) / EPS,
    "local-theorem-3-2-features": math.sqrt(T) / EPS,
    "ldp-ols-theorem-3-3": T**0.25 / EPS**1.5,
    "ldp-sgd-theorem-3-3": T**0.25 / EPS**1.5,
    "ldp-ols-theorem-4-1": T**0.25 / EPS**1.5,
    "ldp-sgd-theorem-4-1": T**0.25 / EPS**1.5,
    "joint-private-regression-features": math.sqrt(2 * T) + 2 / EPS,
    "ldp-linucb-zheng-et-al": T**0.75 / EPS,
    "ldp-gloc-zheng-et-al": T**0.75 / EPS,
}
# Values by hand of these need more than a line: the tests that have them.
FLOORS = {
    f"{promise}-floor-{name}-any": f"test_{test}"
    for promise in ("none", "central", "local")
    for name, test in (
        ("of-every-policy", "the_floor_of_every_policy_by_linear_programming"),
        ("i-no-worse-than-chance", "the_forms_at_the_tabulated_values"),
        ("ii-finds-the-best-ones", "the_forms_at_the_tabulated_values"),
        ("iii-learns-fast", "the_forms_at_the_tabulated_values"),
    )
}
# What a test of N users loses depends on its plan, which follows the budget and the gap: no power of anything.
LADDER = ("se", "ldp-se", "shuffle-se", "dist-dp-se", "dist-rdp-se")
SEARCHES = [f"{name}-search-then-commit" for name in ("top-two", "ctb-tt", "adap-tt")]  # they follow delta alone
BATCHES = [f"{name}-batches-until-dropped" for name in LADDER]
PLANNED = [f"explore-then-commit{trust}-explore-then-commit" for trust in ("", "-central", "-local")]
ELSEWHERE = FLOORS | {
    **dict.fromkeys(PLANNED, "test_the_chance_of_overtaking_by_hand_and_by_simulation"),
    **dict.fromkeys(BATCHES, "test_mean_regret_is_below_the_explicit_bound"),
    "none-burnetas-katehakis-0-1": "test_burnetas_katehakis_agrees_with_lai_robbins_on_bernoulli_arms",
    "local-ldp-bound-by-total-variation-any": "test_total_variation_form_by_hand",
    "heldp-ucb-b-ren-theorem-10": "test_infimum_over_kappa_against_a_scalar_optimiser",
    "heldp-ucb-l-ren-theorem-7": "test_infimum_over_kappa_against_a_scalar_optimiser",
    "heldp-ucb-bs-ren-corollary-13-for-these-arms": "test_sigmoid_bound_by_hand",
    "heldp-ucb-ls-ren-corollary-13-for-these-arms": "test_sigmoid_bound_by_hand",
    "heldp-ucb-bs-ren-corollary-13": "test_sigmoid_bounds",
    "heldp-ucb-ls-ren-corollary-13": "test_sigmoid_bounds",
    "adac-ucb-adac-ucb": "test_the_bound_by_hand_and_where_it_is_proved",
    "gaussian-ts-order-of-gaussian-thompson-sampling": "test_the_order_of_the_regret_by_hand",
    "dp-ucb-bound-theorem-3-2": "test_theorem_3_2_adds_the_arms_up_and_runs_at_half_the_budget_unless_as_printed",
    "dp-ucb-int-theorem-3-5-as-printed": "test_theorem_3_5_by_hand",
    "adap-ucb-adap-ucb": "test_adap_ucb_by_hand",
    "dp-se-epochs-until-dropped": "test_dp_se_adds_up_the_epochs_of_the_algorithm",
    "jdp-linucb-shariff-sheffet": "test_orders_of_joint_privacy_by_hand",
    "private-ucb-order-of-private-ucb": "test_private_ucb_of_2015_pays_for_every_arm_again",
}


def test_every_bound_has_a_value_by_hand_somewhere():
    assert sorted({*HAND, *ELSEWHERE}) == every()
    assert not set(HAND) & set(ELSEWHERE)
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in ELSEWHERE.values() if f"def {name}(" not in tests] == []


@pytest.mark.parametrize("key", HAND)
def test_value_by_hand(key):
    assert at(known(home_of(key), EPS)[key], T) == pytest.approx(HAND[key], rel=1e-9)


# --- limits and scaling -----------------------------------------------------------------------------------------------


def epsilon_power(key, bound):
    """Power of 1/epsilon that a bound has as epsilon falls to 0."""
    if bound.model in ("none", "environment"):
        return 0.0
    if bound.rewards == "features":
        return 1.5 if "3-3" in key or "4-1" in key else 1.0
    if bound.rewards == "heavy tails" and bound.kind == "minimax":
        both = bound.model == "local" and ("theorem-9" in key or "as-printed" in key)
        return 2 / 3 if both else 1 / 3  # 2v/(1+v) and v/(1+v) at v = 1/2
    if key.startswith("dp-ucb-int"):
        return 2 / 1.1  # its release interval
    return 2.0 if bound.model == "local" and bound.kind == "problem-dependent" else 1.0


SHOWN = [
    key
    for key in sorted({*HAND, *ELSEWHERE} - RARE)
    if HAND.get(key) != 0.0 and key not in {*FLOORS, *PLANNED, *SEARCHES, *BATCHES}
]


@pytest.mark.parametrize("key", SHOWN)
def test_how_a_bound_grows_as_the_budget_falls(key):
    home = home_of(key)
    # Far into the regime where noise rules: many users for local privacy (its minimax forms are capped by t x gap),
    # few for a curator (whose noise is a term of its own).
    central = known(home, 0.5)[key].bound.model in ("central", "joint", "shuffle", "distributed")
    t, small = (100.0, 1e-6) if central else (1e14, 1e-3)
    if "central-minimax" in key:
        t = 1e6  # where the part of privacy has begun, and is still larger than the other
    low, high = (known(home, epsilon, 10**9)[key] for epsilon in (small, 10 * small))
    found = math.log10(at(low, t) / at(high, t))
    if key == "dp-se-epochs-until-dropped":  # at small budgets it plays out the horizon
        low, high = (known(home, epsilon, 10**9)[key] for epsilon in (1e-3, 1e-2))
        found = math.log10(at(low, 1e9) / at(high, 1e9))
    if key.startswith(
        ("dp-ucb-int", "dist-rdp-se", "adac-ucb", "gaussian-ts")
    ):  # tight: delta covers more of a smaller budget
        assert 0 < found < epsilon_power(key, low.bound)
        return
    assert found == pytest.approx(epsilon_power(key, low.bound), abs=0.06)


@pytest.mark.parametrize("key", SHOWN)
def test_a_bound_never_rises_with_the_budget_and_settles_or_vanishes(key):
    home, grid = home_of(key), (0.01, 0.1, 0.5, 1.0, 3.0, 30.0, 300.0, 1000.0)
    there = [known(home, epsilon)[key] for epsilon in grid]
    values = np.array([at(entry, 1e6) for entry in there])
    assert np.all(np.diff(values) <= 1e-9 * values[:-1])
    settled = values[-1] >= 0.85 * values[-2]
    assert settled or values[-1] <= 0.7 * values[-2]  # like a power of 1/epsilon, at least 1/3
    for entry, epsilon in zip(there, grid, strict=True):
        if entry.bound.not_applicable and not entry.bound.superseded:
            assert epsilon > 1
            assert any(words in entry.bound.not_applicable for words in ("epsilon up to 1", "says nothing"))


NON_PRIVATE = {
    "local-exact-ldp-bound-0-or-1": "none-lai-robbins-0-or-1",
    "kl-ucb-cf-leading-term": "kl-ucb-leading-term",
    "ts-cf-leading-term": "thompson-leading-term",
    "central-central-d-eps-bound-0-or-1": "none-lai-robbins-0-or-1",
    "central-azize-basu-0-1": "none-lai-robbins-0-or-1",
    "heldp-ucb-b-distribution-free-order": "ucb-distribution-free-order",
}


@pytest.mark.parametrize("key", NON_PRIVATE)
def test_with_an_endless_budget_privacy_costs_nothing(key):
    found = known("pair", 1000.0)
    assert at(found[key], T) == pytest.approx(at(found[NON_PRIVATE[key]], T), rel=1e-9)


def users_power(key, bound):
    """Power of t; 0 stands for logarithms."""
    if bound.name == TRIVIAL or bound.model == "environment":
        return 1.0
    if bound.rewards == "features":
        return 0.25 if "3-3" in key or "4-1" in key else 0.75 if "zheng" in key else 0.5
    if bound.kind == "problem-dependent":
        return 0.0
    if bound.rewards == "heavy tails":
        slow = bound.model != "local" or "theorem-9" in key or "as-printed" in key
        return 2 / 3 if slow else 5 / 6
    return 0.5


@pytest.mark.parametrize("key", [key for key in SHOWN if key != "dp-se-epochs-until-dropped"])
def test_how_a_bound_grows_with_the_users(key):
    entry = known(home_of(key), 0.5)[key]
    found = math.log(at(entry, 1e14) / at(entry, 1e12)) / math.log(100)
    assert found == pytest.approx(users_power(key, entry.bound), abs=0.16 if "theorem-2" in key else 0.08)


STEEP = ("local-heavy-tailed-ldp-bound-heavy-tails", "ldp-robust-se-theorem-7-corrected")


@lru_cache(maxsize=64)
def at_gap(setting, gap):
    """Every bound of two arms that are a gap apart."""
    kind = {"kind": "bernoulli"} if setting == "pair" else {"kind": "gaussian", "sd": 1}
    arms = [{**kind, "mean": 0.5}, {**kind, "mean": 0.5 - gap}]
    return {entry.key: entry for entry in entries(experiment_of({"arms": arms}, 10**9), 0.5)}


def test_how_a_bound_grows_as_the_gap_shrinks():
    tried = [key for key in SHOWN if home_of(key) in ("pair", "normal") and key != "none-trivial-cap"]
    assert len(tried) > 60
    for key in tried:
        setting, bound = home_of(key), known(home_of(key), 0.5)[key].bound
        expected = 0.0 if bound.kind != "problem-dependent" else 1.0
        if expected and bound.rewards == "heavy tails":  # (2+v)/v under local privacy, else 1/v, at v = 1/2
            expected = 5.0 if key in STEEP else 2.0
        # Epochs double, and an arm that is never dropped costs less, the nearer it is.
        epochs = key.startswith("dp-se-epochs")
        small, large, t = (0.01, 0.1, 1e9) if epochs else (1e-4, 1e-3, 1e6)
        power = math.log10(at(at_gap(setting, small)[key], t) / at(at_gap(setting, large)[key], t))
        if key.startswith("private-ucb"):  # its noise costs the same whatever the gap is
            assert 0 < power < expected, key
        else:
            assert power == pytest.approx(expected, abs=0.3 if epochs else 0.08), key


@pytest.mark.parametrize(
    ("key", "power"),
    [
        ("local-ldp-minimax-0-1", 0.5),
        ("local-basu-theorem-1-0-1", 0.5),
        ("local-basu-corollary-1-0-1", 0.5),
        ("central-central-minimax-any", 0.5),
        ("local-heavy-tailed-ldp-minimax-heavy-tails", 1 / 6),
        ("environment-environment-privacy-0-or-1", 0.0),
    ],
)
def test_how_a_minimax_bound_grows_with_the_arms(key, power):
    experiment = experiment_of("pair", horizon=10**9)
    entry = entry_of(entries(experiment, 0.5), key)
    found = catalogue.against_arms(entry, experiment, (2, 101))
    assert math.log(found[1] / found[0]) / math.log(100) == pytest.approx(power, abs=1e-6)


# --- what the page draws ----------------------------------------------------------------------------------------------


def test_curves_against_budget_and_arms_are_the_bound_itself():
    lines = [{"policy": "dp-se", "epsilon": {"kind": "fixed", "value": 0.5}}]
    experiment = experiment_of("pair", lines=lines)
    horizon = np.array([1e6])
    for key in ("local-exact-ldp-bound-0-or-1", "dp-se-order-of-dp-se", "environment-environment-privacy-0-or-1"):
        entry = entry_of(entries(experiment), key)
        here = entry.value(experiment, horizon)[0]
        assert catalogue.against_epsilon(entry, experiment, (0.5,))[0] == pytest.approx(here)
        assert catalogue.against_arms(entry, experiment, (2,))[0] == pytest.approx(here)
    assert entry_of(entries(experiment), "no-such-bound") is None


def test_more_arms_take_turns_among_the_worse_ones():
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.9, 0.7)]
    # private: this is what is tested
    document = catalogue._with_arms(experiment_of({"arms": arms}), 6)
    means = sorted(experiment_of(document).means)
    assert means == pytest.approx([0.5, 0.5, 0.5, 0.7, 0.7, 0.9])
    equal = catalogue._with_arms(experiment_of({"arms": arms[:1]}), 4)
    assert experiment_of(equal).means.tolist() == [0.5] * 4
    assert experiment_of(catalogue._with_arms(experiment_of("margin"), 5)).arm_count == 5


def test_own_parameters_of_a_line_are_kept():
    epsilon = {"kind": "fixed", "value": 0.25}
    line = {"policy": "dp-klucb", "epsilon": epsilon, "params": {"growth": 3.0}}
    experiment = experiment_of("pair", lines=[line])
    assert catalogue.usual_epsilon(experiment) == 0.25
    found = {entry.key: entry for entry in entries(experiment)}
    usual = {entry.key: entry for entry in entries(experiment_of("pair"), 0.25)}
    assert at(found["dp-klucb-leading-term"], T) == pytest.approx(1.5 * at(usual["dp-klucb-leading-term"], T))
    assert catalogue.usual_epsilon(experiment_of("pair")) == catalogue.USUAL_EPSILON


def test_worst_case_bounds_are_capped_by_the_worst_case():
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.4999)]
    experiment = experiment_of({"arms": arms})
    minimax = {entry.key: entry for entry in entries(experiment, 0.5)}["local-ldp-minimax-0-1"]
    assert minimax.value(experiment, np.array([1e4]))[0] > 1.0 == 1e4 * 0.0001
    assert minimax.value(experiment, np.array([1.0]))[0] <= 1.0


def test_floors_are_ordered_by_promise():
    experiment = experiment_of("pair")
    floors = catalogue.floors(experiment, entries(experiment, 0.1))
    assert [floor.model for floor in floors] == ["none", "central", "local"]
    assert floors[0].value <= floors[1].value <= floors[2].value
    assert {floor.name for floor in floors} == {"Floor of every policy"}
    growth = catalogue.growth(entries(experiment, 0.1))
    assert [floor.name for floor in growth] == ["Lai-Robbins", "Central d_eps bound", "Exact LDP bound"]
    per_log = GAP / d(0.4, 0.5)
    assert growth[0].value == pytest.approx(per_log * math.log(10))
    assert growth[0].value <= growth[1].value <= growth[2].value
    nothing = entries(experiment_of("plain"), 0.1)
    assert catalogue.floors(experiment_of("plain"), nothing) == catalogue.growth(nothing) == ()


def test_a_floor_is_never_a_slope_a_shape_or_for_some_policies_only():
    for setting in ("pair", "beta", "normal"):
        experiment = experiment_of(setting, horizon=1000)
        found = entries(experiment, 0.5)
        for floor in catalogue.floors(experiment, found):
            named = [
                entry.bound for entry in found if (entry.bound.name, entry.bound.not_applicable) == (floor.name, None)
            ]
            assert {(bound.form, bound.only, bound.worst_case) for bound in named} == {("bound", "", False)}


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 0.999, 1.0, 1.001, 5.0, 100.0])
def test_share_lost_to_environment_privacy_is_the_largest(epsilon):
    gaps = np.linspace(1e-4, 0.5, 5000)
    best = float(np.max(gaps / 4 * np.exp(-2 * epsilon * gaps)))
    assert basu.environment_share(epsilon) == pytest.approx(best, rel=1e-4)
    assert basu.environment_share(epsilon) >= best * (1 - 1e-12)
