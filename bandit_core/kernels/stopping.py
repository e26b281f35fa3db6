"""Policies that stop: they look for the best arm, and end at their own time with a recommendation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.batch_rule import begin, count_pulls, noise, room_for_batches, survivors
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.play import STOPPED, Rewards, arrange, draw_labels, write_pulls
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record

# ---------------------------------------------------------------------------------------------------------------------
# Policies that stop: they look for the best arm, and end at their own time with a recommendation.
#
# Every reward in [0, 1] counts as a bit that is 1 with this chance, so each arm is known by the chance of its bits, and
# what many users of one arm answer is one binomial draw. A policy decides at t = K, K+1, ... and then ever more rarely:
# after t users the next decision comes after max(1, (growth - 1) t) more, of whom half get the leader and half the
# challenger (a coin decides about an odd one). With ``growth`` = 1 there is a decision for every user. So nothing is
# approximated: between decisions only sums matter, and their distribution is exact. A threshold that holds at all times
# also holds at some of them; it only notices up to the factor ``growth`` later.
#
# Stopping rules (K arms, B the arm with the largest mean, n and m the numbers of bits of B and of arm a):
#
# * bits, PROVED: stop when for every other arm a
#
#       Z_a = n kl(m_B, x) + m kl(m_a, x) >= ln((K-1)/delta) + r(n) + r(m),   r(n) = ln(n)/2 + ln 2,
#
#   x the mean of both together. Proof: mixed over its chance with the prior Beta(1/2, 1/2), the likelihood of n bits
# divided by the true one is a martingale of mean 1, also if a policy chooses when to ask the arm, and the mixture is at
# least the largest likelihood times e^{-r(n)} (Krichevsky and Trofimov 1981). The product over B and the best arm stays
# below (K-1)/delta with probability 1 - delta/(K-1) (Ville's inequality). Where B is worse than the best arm, Z of the
# two is at most n kl(m_B, mu_B) + m kl(m_*, mu_*), hence below the right side; a union over the K - 1 worse arms.
# * bits, HEURISTIC: the right side is ln(1/delta) + ln(1 + ln n) + ln(1 + ln m): no union over arms, a slower clock.
# * noisy means of phases, PAPER (Azize, Jourdan, Al Marjani and Basu 2023): stop when for every other arm
#
#       (M_B - M_a)^2 / (2 (1/n + 1/m)) >= 2 C(ln((K-1) zeta(2) k^2/delta)/2) + 2 ln(4 + ln n) + 2 ln(4 + ln m)
#                                          + (1/n + 1/m) ln^2(2 K zeta(2) k^2/delta) / epsilon^2,
#
#   C(x) = x + ln x, n and m the lengths of the phases and k the later of the two. Checked: with (S + L)^2 at most
#   2 S^2 + 2 L^2 for sampling S and noise L, all noises stay within the last term with probability 1 - delta/2, and the
#   sampling parts within the others with far more than 1 - delta/2 (Hoeffding; a phase's length is known beforehand).
# * noisy means of phases, PROVED: the same argument without its losses. Stop when for every other arm
#
#       M_B - M_a >= sqrt((1/n + 1/m) ln(3/d) / 2) + (1/n + 1/m) ln(3/(2d)) / epsilon,
#       d = delta / ((K-1) k_B (k_B + 1) k_a (k_a + 1)).
#
#   Each pair of phases errs with probability at most d: d/3 for the sampling (Hoeffding), d/3 for each noise; the d of
#   all pairs of phases sum to delta/(K-1).
# * noisy means of phases, HEURISTIC, by which the public code of that paper stops: the right side of PAPER is
#   ln(1/delta) + ln(1 + ln n) + ln(1 + ln m) + (1/n + 1/m) ln^2(1/delta) / epsilon^2: no union over arms or phases.
#
# Indifference zone: a recommendation is wrong only where it is worse than the best arm by more than ``zone``. On bits
# Z_a is then min over x of n kl(m_B, x) + m kl(m_a, x + zone), on noisy means ``zone`` is added to M_B - M_a. The
# proofs stay as they are: where mu_B < mu_* - zone, that minimum is at most n kl(m_B, mu_B) + m kl(m_*, mu_*), and M_B
# - M_* + zone exceeds its right side only where the noise does. Elimination also ends once its margin is at most
# ``zone``: the best arm is still there, and no arm that is left can be better than the leader by more than the margin.
# Top-Two also chooses its challenger by these distances, as EB-TC with a slack does (Jourdan, Degenne and Kaufmann
# 2023, An epsilon-best-arm identification algorithm for fixed-confidence and beyond).
#
# A search for the best arm, then the arm that it recommends, for everyone else: the searches of `kernels.stopping`
# over a given number of users.
#
# One trial is the search of `kernels.stopping` from the same stream, user by user: between two decisions the leader and
# the challenger take turns, and where their users are odd in number the coin says who begins. So pulls are counted in
# bulk, a checkpoint within a turn needs no draw, and a shorter horizon is a prefix of a longer one. A decision that
# would come after the last user is not taken.


PROVED, HEURISTIC, PAPER = range(3)
_ZETA_2 = math.pi**2 / 6
_LN_2 = math.log(2.0)
_STEPS = 60  # of a search; Newton's take about five


class Search(NamedTuple):
    """What is looked for, and how long: ``chances`` (arms,) of the bits, who may err with chance ``delta``.

    ``zone`` is the indifference zone, in the units in which the kernel compares means; ``epsilon`` of the noise in what
    is released, 0 where bits are seen.
    """

    chances: np.ndarray
    delta: float
    rule: int
    growth: float
    cap: int
    zone: float
    epsilon: float


class Outcome(NamedTuple):
    """Where a kernel writes, one row per trial: users (trials,), stopped (trials,), recommended (trials,) arms, pulls
    (trials, arms). ``signal`` as in `bandit_core.model.Record`; here its second cell counts finished trials.
    """

    users: np.ndarray
    stopped: np.ndarray
    recommended: np.ndarray
    pulls: np.ndarray
    signal: np.ndarray


@inlined
def _xlog(x: float, share: float, whole: float) -> float:
    """x ln(share / whole), 0 where x is."""
    return x * math.log(share / whole) if x > 0.0 else 0.0


@device_function
def shared_mean(mean: float, count: float, other: float, other_count: float, zone: float) -> float:
    """The x with the smallest n kl(m, x) + n' kl(m', x + zone), where m is at least m': a root of a cubic."""
    low = max(0.0, other - zone)
    high = min(mean, 1.0 - zone)
    x = min(high, max(low, (count * mean + other_count * (other - zone)) / (count + other_count)))
    for _ in range(_STEPS):
        y = x + zone
        slope = count * (x - mean) * y * (1.0 - y) + other_count * (y - other) * x * (1.0 - x)
        if slope > 0.0:
            high = x
        else:
            low = x
        bend = count * (y * (1.0 - y) + (x - mean) * (1.0 - 2.0 * y))
        bend += other_count * (x * (1.0 - x) + (y - other) * (1.0 - 2.0 * x))
        following = x - slope / bend if bend > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 1e-12 * (y * (1.0 - y)):
            break
        x = following
    return x


@device_function
def transport(ones: float, count: float, other_ones: float, other_count: float, zone: float) -> float:
    """The least n kl(m, x) + n' kl(m', x + zone) for two arms with so many ones among their bits; in nats.

    Without a ``zone`` x is the mean of all.
    """
    both = (ones + other_ones) / (count + other_count)
    mean = ones / count
    other = other_ones / other_count
    beyond = both
    if zone > 0.0:
        both = shared_mean(mean, count, other, other_count, zone)
        beyond = min(both + zone, 1.0 - 1e-16)
    apart = _xlog(ones, mean, both) + _xlog(count - ones, 1.0 - mean, 1.0 - both)
    apart += _xlog(other_ones, other, beyond)
    return max(0.0, apart + _xlog(other_count - other_ones, 1.0 - other, 1.0 - beyond))


@device_function
def bits_threshold(rule: int, arms: int, delta: float, count: float, other: float) -> float:
    """What `transport` must reach for each arm that is not recommended."""
    if rule == PROVED:
        return math.log((arms - 1) / delta) + 0.5 * math.log(count) + 0.5 * math.log(other) + 2.0 * _LN_2
    return -math.log(delta) + math.log1p(math.log(count)) + math.log1p(math.log(other))


@device_function
def phase_margin(
    rule: int, arms: int, delta: float, epsilon: float, count: float, other: float, phase: float, other_phase: float
) -> float:
    """How far the largest noisy mean must lie above another one; ``count`` and ``other`` are lengths of phases."""
    rest = 1.0 / count + 1.0 / other
    if rule == PROVED:
        each = (arms - 1) * phase * (phase + 1.0) * other_phase * (other_phase + 1.0) / delta
        return math.sqrt(0.5 * rest * math.log(3.0 * each)) + rest * math.log(1.5 * each) / epsilon
    if rule == PAPER:
        later = max(phase, other_phase)
        half = 0.5 * math.log((arms - 1) * _ZETA_2 * later * later / delta)
        noise = math.log(2.0 * arms * _ZETA_2 * later * later / delta) / epsilon
        bar = 2.0 * (half + math.log(half))
        bar += 2.0 * math.log(4.0 + math.log(count)) + 2.0 * math.log(4.0 + math.log(other))
    else:
        noise = -math.log(delta) / epsilon
        bar = -math.log(delta) + math.log1p(math.log(count)) + math.log1p(math.log(other))
    return math.sqrt(2.0 * rest * (bar + rest * noise * noise))


@inlined
def until_next(t: int, growth: float, cap: int) -> int:
    """Users until the next decision."""
    return min(max(1, int((growth - 1.0) * t)), cap - t)


@inlined
def first_half(size: int, state: np.ndarray, trial: int) -> int:
    """How many of ``size`` users get the leader."""
    half = size // 2
    if size % 2 == 1 and next_uniform(state, trial, 0) < 0.5:
        half += 1
    return half


@inlined
def note(
    outcome: Outcome, trial: int, order: np.ndarray, users: int, stopped: bool, best: int, pulled: np.ndarray
) -> None:
    outcome.users[trial] = users
    outcome.stopped[trial] = stopped
    outcome.recommended[trial] = order[best]
    for label in range(order.shape[0]):
        outcome.pulls[trial, order[label]] = pulled[label]
    outcome.signal[1] += 1


@inlined
def largest(values: np.ndarray) -> int:
    best = 0
    for arm in range(1, values.shape[0]):
        if values[arm] > values[best]:
            best = arm
    return best


class State(NamedTuple):
    """What is known of every arm (arms,), and the ``pair`` (2,) of arms that play next: leader and challenger.

    ``counts`` users, the ``sums`` of what is seen of them and the ``means``; of releases: users since the last one
    (``fresh``), users in the sum or mean (``lengths``), and their number.
    """

    counts: np.ndarray
    sums: np.ndarray
    means: np.ndarray
    fresh: np.ndarray
    lengths: np.ndarray
    releases: np.ndarray
    pair: np.ndarray


@allocating
def nothing(arms: int) -> State:
    """Nothing is known."""
    each = np.zeros((6, arms))
    return State(each[0], each[1], each[2], each[3], each[4], each[5], np.zeros(2, np.int64))


@device_function
def compare(known: State, search: Search, leader: int) -> bool:
    """Whether the leader of a Top-Two policy on bits may be recommended; its challenger into ``known.pair``."""
    sums, counts, arms = known.sums, known.counts, known.counts.shape[0]
    least, sure = np.inf, True
    for arm in range(arms):
        if arm == leader:
            continue
        cost = transport(sums[leader], counts[leader], sums[arm], counts[arm], search.zone)
        sure &= cost >= bits_threshold(search.rule, arms, search.delta, counts[leader], counts[arm])
        if cost + math.log(counts[arm]) < least:
            least = cost + math.log(counts[arm])
            known.pair[1] = arm
    return sure


@device_function
def sure_of(known: State, search: Search, best: int) -> bool:
    """Whether the arm with the largest noisy mean may be recommended."""
    means, n, k, arms = known.means, known.lengths, known.releases, known.means.shape[0]
    for arm in range(arms):
        if arm != best:
            margin = phase_margin(search.rule, arms, search.delta, search.epsilon, n[best], n[arm], k[best], k[arm])
            if means[best] - means[arm] + search.zone < margin:
                return False
    return True


@device_function
def find_pair(known: State, search: Search, t: int) -> None:
    """Fill ``known.pair`` with the leader and the challenger of AdaP-TT at user ``t``."""
    means, lengths, counts, pair = known.means, known.lengths, known.counts, known.pair
    level = math.log(t)
    highest = -np.inf
    for arm in range(means.shape[0]):
        value = means[arm] + level / (search.epsilon * lengths[arm]) + math.sqrt(0.5 * level / lengths[arm])
        if value > highest:
            highest = value
            pair[0] = arm
    leader = pair[0]
    least = np.inf
    for arm in range(means.shape[0]):
        if arm != leader:
            apart = means[leader] - means[arm] + search.zone + 1.0 / (1.0 + math.sqrt(t))
            value = apart / math.sqrt(1.0 / counts[leader] + 1.0 / counts[arm])
            if value < least:
                least = value
                pair[1] = arm


@device_function
def learn(
    known: State, search: Search, arm: int, users: int, chances: np.ndarray, state: np.ndarray, trial: int
) -> None:
    """Count the answers of an arm's next ``users``. With noisy means the fresh ones become the arm's mean, with
    Laplace(1/(epsilon n)) noise, when the phase is over.
    """
    known.counts[arm] += users
    if search.epsilon == 0.0:
        known.sums[arm] += binomial(users, chances[arm], state, trial)
        known.means[arm] = known.sums[arm] / known.counts[arm]
        return
    known.fresh[arm] += users
    fresh = known.fresh[arm]
    if users > 0 and 2.0 * fresh >= known.counts[arm]:
        added = noise(state, trial, 1.0 / search.epsilon)
        known.means[arm] = (binomial(fresh, chances[arm], state, trial) + added) / fresh
        known.lengths[arm] = fresh
        known.releases[arm] += 1.0
        known.fresh[arm] = 0.0


@device_function
def decide(known: State, search: Search, t: int, state: np.ndarray, trial: int) -> tuple[int, int, bool]:
    """(users until the next decision, how many of them get the leader, whether the leader is recommended); no users
    where the search ends.
    """
    pair = known.pair
    pair[0] = largest(known.means)
    sure = compare(known, search, pair[0]) if search.epsilon == 0.0 else sure_of(known, search, pair[0])
    if sure or t >= search.cap:
        return 0, 0, sure
    size = until_next(t, search.growth, search.cap)
    if search.epsilon > 0.0:
        find_pair(known, search, t)
        for place in range(2):  # no arm goes beyond the end of its phase
            size = min(size, 2 * int(known.counts[pair[place]] - 2.0 * known.fresh[pair[place]]))
    return size, first_half(size, state, trial), sure


@kernel
def top_two(state: np.ndarray, search: Search, outcome: Outcome) -> None:
    """Top-Two, one trial per row of ``state``.

    On bits (EB-TCI: Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022) the leader is the arm with the largest mean,
    its challenger the one with the smallest `transport` + ln(bits). On noisy means (AdaP-TT: Azize, Jourdan, Al Marjani
    and Basu 2023) an arm's mean is that of its last phase, which is as long as all before it together.
    """
    arms = search.chances.shape[0]
    order, here = np.empty(arms, np.int64), np.empty(arms)
    for trial in range(state.shape[0]):
        draw_labels(state, trial, order)
        arrange(order, search.chances, here)
        known = nothing(arms)
        for arm in range(arms):
            learn(known, search, arm, 1, here, state, trial)
        t = arms
        while True:
            if outcome.signal[0] != 0:
                return
            size, own, sure = decide(known, search, t, state, trial)
            if size == 0:
                break
            learn(known, search, known.pair[0], own, here, state, trial)
            learn(known, search, known.pair[1], size - own, here, state, trial)
            t += size
        note(outcome, trial, order, t, sure, largest(known.means), known.counts)


class Epochs(NamedTuple):
    """What an answer is worth: means are 1/2 + width (share of ones - 1/2), with Laplace noise for ``epsilon``."""

    width: float
    noisy: bool
    epsilon: float


@device_function
def epoch(epochs: Epochs, size: int, number: int, delta: float) -> tuple[float, float]:
    """(pulls of each arm, margin) of an epoch with ``size`` arms left."""
    depth = 2.0**number
    if epochs.noisy:
        sampling = math.log(8.0 * size * number * number / delta)
        privacy = math.log(4.0 * size * number * number / delta)
        pulls = math.floor(max(32.0 * sampling * depth * depth, 8.0 * privacy * depth / epochs.epsilon) + 1.0)
        return pulls, 2.0 * math.sqrt(sampling / (2.0 * pulls)) + 2.0 * privacy / (pulls * epochs.epsilon)
    sampling = epochs.width * epochs.width * math.log(4.0 * size * number * number / delta)
    pulls = math.floor(8.0 * sampling * depth * depth + 1.0)
    return pulls, 2.0 * math.sqrt(sampling / (2.0 * pulls))


@kernel
def elimination(state: np.ndarray, search: Search, epochs: Epochs, outcome: Outcome) -> None:
    """Successive elimination in epochs, until one arm is left or all are close; one trial per row of ``state``.

    The epochs of DP-SE (`policies.dp_se`), with beta = delta and an end; without a curator's noise the
    same with radii for sampling alone: pulls = [8 width^2 ln(4 |S| e^2/delta) / D^2] + 1 with D = 2^-e. In each epoch
    each of |S| means leaves its radius with probability at most delta/(2 |S| e^2), over all epochs pi^2/12 delta.
    """
    chances, delta, _, _, cap, zone, _ = search
    arms = chances.shape[0]
    order = np.empty(arms, np.int64)
    here = np.empty(arms)
    counts = np.empty(arms)
    means = np.empty(arms)
    members = np.empty(arms, np.int64)
    for trial in range(state.shape[0]):
        draw_labels(state, trial, order)
        arrange(order, chances, here)
        counts[:] = 0.0
        for arm in range(arms):
            members[arm] = arm
        size = arms
        number = 0
        best = 0
        t = 0
        near = False
        while size > 1 and not near:
            if outcome.signal[0] != 0:
                return
            number += 1
            pulls, margin = epoch(epochs, size, number, delta)
            if pulls * size > cap - t:  # what is left of the users is too few to tell anything
                for turn in range(size):
                    counts[members[turn]] += (cap - t) // size + (1 if turn < (cap - t) % size else 0)
                t = cap
                break
            t += int(pulls) * size
            best = members[0]
            for turn in range(size):
                arm = members[turn]
                counts[arm] += pulls
                share = binomial(pulls, here[arm], state, trial) / pulls
                means[arm] = 0.5 + epochs.width * (share - 0.5)
                if epochs.noisy:
                    means[arm] += noise(state, trial, 1.0 / (epochs.epsilon * pulls))
                if means[arm] > means[best]:
                    best = arm
            size = survivors(members, size, means, margin)
            near = margin <= zone
        note(outcome, trial, order, t, size == 1 or near, best, counts)


@kernel
def search(state: np.ndarray, rewards: Rewards, asked: Search, record: Record) -> None:
    """Play one trial per row of ``state``; ``rewards.means`` are the chances of the bits."""
    arms, horizon = rewards.table.shape[0], record.checkpoints[-1]
    order, batches = room_for_batches(rewards, True, record)
    everyone, pair = np.arange(arms), np.zeros(2, np.int64)
    chances = batches.rewards.means
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        known = nothing(arms)
        t = min(arms, horizon)  # each arm once
        place = count_pulls(batches, everyone, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        for arm in range(arms if t < horizon else 0):
            learn(known, asked, arm, 1, chances, state, trial)
        while t < horizon:
            size, own, _ = decide(known, asked, t, state, trial)
            pair[0], pair[1] = known.pair[0], known.pair[1]
            if 2 * own < size:  # the challenger begins
                pair[0], pair[1] = known.pair[1], known.pair[0]
            steps = horizon - t if size == 0 else min(size, horizon - t)
            place = count_pulls(batches, pair, 1 if size == 0 else 2, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if size > 0 and t < horizon:
                learn(known, asked, known.pair[0], own, chances, state, trial)
                learn(known, asked, known.pair[1], size - own, chances, state, trial)
        write_pulls(record, trial, order, batches.pulled)


# ---------------------------------------------------------------------------------------------------------------------
# Top-Two on a curator's noisy sums that keep all data: the kernel and the stopping rule of `dp-tt`.
#
# Arm a's j-th release is the sum of the bits of its j-th batch with Laplace(1/epsilon) noise. The batches are public:
# after a release the arm has n_j = `total_after` bits, whatever the bits were. Y is the sum of an arm's first j
# releases: its n_j bits, and j Laplace variables. The learner sees nothing else.
#
# Stopping rule (K arms, B the arm with the largest mean Y/n, j and h the numbers of releases of B and of arm a): stop
# when for every other arm a
#
#     Z_a = min over x of  R_j(Y_B; x) + R_h(n_h - Y_a; 1 - x)  >=  c + ln(1/w_j) + ln(1/w_h),
#     R_j(y; x) = max over 0 <= s < epsilon of  s y - n_j ln(1 - x + x e^s) + j ln(1 - (s/epsilon)^2),
#     w_j = 6 / ((j + 5) (j + 6)),        (K - 1) (1 + c) e^-c = delta.
#
# Without noise the last term of R is gone, and Z_a is n kl(m_B, x) + m kl(m_a, x) of `kernels.stopping`. With noise, R
# is the smallest n_j kl((y - v)/n_j, x) + j L(epsilon v / j) over the noise v, where L is the Cramér transform of a
# Laplace variable: Z_a charges each nat that noise could explain, exactly as far as the noise can explain it.
#
# The recommendation is wrong with probability delta at most. Proof. Let * be a best arm and B a worse one.
#
# 1. Tails. E e^{s Y} = (1 - mu + mu e^s)^{n_j} (1 - (s/epsilon)^2)^{-j} for |s| < epsilon, as bits and noise are
#    independent. By Markov's inequality at the best s >= 0, P(R_j(Y; mu) >= x) <= e^-x for every x >= 0: R_j rises
#    with y, so the event is that Y exceeds a fixed number. The same holds for R_j(n_j - Y; 1 - mu), by symmetry.
# 2. Releases. n_j is fixed beforehand, so Y after j releases is a function of the arm's own first n_j users and noises,
#    whenever they are asked. J_B = max over j of R_j(Y_B; mu_B) - ln(1/w_j) has P(J_B >= x) <= sum of w_j e^-x = e^-x,
#    since w_j = 6/(j + 5) - 6/(j + 6). Likewise J_* = max over h of R_h(n_h - Y_*; 1 - mu_*) - ln(1/w_h).
# 3. Two arms. J_B and J_* are independent, and neither exceeds a standard exponential variable in distribution, so
#    P(J_B + J_* >= c) <= (1 + c) e^-c.
# 4. Arms. R_j(y; x) falls with x and R_h(n - y; 1 - x) rises with x. So where mu_B < mu_*, Z of B against * is at most
#    R_j(Y_B; mu_B) + R_h(n_h - Y_*; 1 - mu_*) <= J_B + J_* + ln(1/w_j) + ln(1/w_h): recommending B implies
#    J_B + J_* >= c. A union over the K - 1 worse arms gives (K - 1) (1 + c) e^-c = delta. The order in which arms are
#    asked does not enter.
#
# Indifference zone: the second term is R_h(n_h - Y_a; 1 - x - zone). B is wrong only where mu_B < mu_* - zone, so step
# 4 holds for x = mu_B: R_h(n_h - Y_*; 1 - mu_B - zone) is at most R_h(n_h - Y_*; 1 - mu_*).
#
# HEURISTIC: the right side is ln(1/delta) + ln(1 + ln n) + ln(1 + ln m), as for bits, never more than that of the
# proof.
#
# Privacy: a user's reward enters one released sum, and changes it by 1 at most; actions, end and recommendation are
# computed from the releases and coins. So the run is epsilon-DP in every reward (parallel composition). ``epsilon`` may
# be infinite: the same rule without noise.


_FIRST_USERS = 32.0  # of an arm, at a large epsilon
_FIRST_BUDGET = 4.0  # the first batch has as many users as make this over epsilon: fewer decide nothing
_EARLY = 512.0  # while n is below, batches double: a release costs certainty
_NOISY = 32.0  # and while epsilon^2 n is below: noise costs more than waiting
_GROWTH = 1.3
_WEIGHT = 6.0  # J: w_j = J / ((j + J - 1) (j + J))
_EDGE = 36.0  # log-odds beyond which a chance is 0 or 1
_OUTER, _INNER = 40, 60  # steps of the searches; Newton's take about five


@device_function
def total_after(total: float, epsilon: float) -> float:
    """Bits that an arm with ``total`` released bits has at its next release."""
    if total == 0.0:
        return max(_FIRST_USERS, math.ceil(_FIRST_BUDGET / epsilon))
    growth = 2.0 if total < _EARLY or total * epsilon * epsilon < _NOISY else _GROWTH
    return math.ceil(growth * total)


@device_function
def release_cost(releases: float) -> float:
    """ln(1/w_j): what an arm's j-th release costs, in nats."""
    return math.log((releases + _WEIGHT - 1.0) * (releases + _WEIGHT) / _WEIGHT)


@device_function
def confidence_cost(arms: int, delta: float) -> float:
    """c with (arms - 1) (1 + c) e^-c = delta, in nats, found from below; 0 where no c > 0 is needed."""
    cost, level = 0.0, math.log((arms - 1) / delta)
    for _ in range(200):
        following = level + math.log1p(max(0.0, cost))
        if following <= cost:
            break
        cost = following
    return cost + 1e-9


@device_function
def sums_threshold(
    rule: int, arms: int, delta: float, count: float, other: float, releases: float, other_releases: float
) -> float:
    """What `evidence` must reach for each arm that is not recommended; counts are released bits."""
    if rule == PROVED:
        return confidence_cost(arms, delta) + release_cost(releases) + release_cost(other_releases)
    return -math.log(delta) + math.log1p(math.log(count)) + math.log1p(math.log(other))


@inlined
def _chance(odds: float) -> float:
    """The chance of these log-odds."""
    return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0.0 else math.exp(odds) / (1.0 + math.exp(odds))


@inlined
def _softplus(odds: float) -> float:
    return odds + math.log1p(math.exp(-odds)) if odds > 0.0 else math.log1p(math.exp(odds))


@device_function
def rate(total: float, count: float, releases: float, odds: float, epsilon: float) -> tuple[float, float]:
    """(R, chance of the bits that explains the sum best) for a noisy sum ``total`` of ``count`` bits and ``releases``
    noises, if the log-odds of a bit are ``odds``; in nats. Any point of Newton's search is a lower bound of R.
    """
    if total <= count * _chance(odds):
        return 0.0, _chance(odds)
    low, high = 0.0, epsilon
    tilt = min(0.5 * epsilon, 1.0)
    for _ in range(_INNER):
        chance = _chance(odds + tilt)
        share = tilt / epsilon
        left = 1.0 - share * share
        slope = total - count * chance - 2.0 * releases * share / (epsilon * left)
        if slope > 0.0:
            low = tilt
        else:
            high = tilt
        bend = count * chance * (1.0 - chance) + 2.0 * releases * (1.0 + share * share) / (
            epsilon * epsilon * left * left
        )
        following = tilt + slope / bend
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - tilt) <= 1e-11 * tilt:
            break
        tilt = following
    share = tilt / epsilon
    sampled = count * (_softplus(odds + tilt) - _softplus(odds))
    return max(0.0, tilt * total - sampled + releases * math.log1p(-share * share)), _chance(odds + tilt)


@inlined
def _odds(total: float, count: float) -> float:
    """Log-odds of a mean, within the edges."""
    share = total / count
    if share <= 0.0:
        return -_EDGE
    return _EDGE if share >= 1.0 else min(_EDGE, max(-_EDGE, math.log(share / (1.0 - share))))


@device_function
def evidence(  # noqa: PLR0913 (both arms' numbers)
    total: float,
    count: float,
    releases: float,
    other: float,
    other_count: float,
    other_releases: float,
    epsilon: float,
    enough: float,
    zone: float,
) -> float:
    """Z of an arm against another one with a smaller mean, in nats; 0 where it has none. Where Z is below ``enough``,
    some number below ``enough``.
    """  # fmt: skip
    if total / count + zone <= other / other_count:
        return 0.0
    if epsilon == np.inf:
        return transport(total, count, other, other_count, zone)
    low, high = _odds(other - zone * other_count, other_count), min(_odds(total, count), _odds(1.0 - zone, 1.0))
    least = np.inf
    for _ in range(_OUTER):
        odds = 0.5 * (low + high)
        x = _chance(odds)
        y, beyond, weight = x, odds, 1.0
        if zone > 0.0:
            y = min(x + zone, 1.0 - 1e-15)
            beyond, weight = _odds(y, 1.0), x * (1.0 - x) / (y * (1.0 - y))
        mine, chance = rate(total, count, releases, odds, epsilon)
        theirs, missing = rate(other_count - other, other_count, other_releases, -beyond, epsilon)
        least = min(least, mine + theirs)
        if least < enough:
            return least
        # The sum of both is convex in x; does it rise?
        if count * (x - chance) + weight * other_count * (y - (1.0 - missing)) > 0.0:
            high = odds
        else:
            low = odds
    return least


@device_function
def is_sure(known: State, search: Search, leader: int) -> bool:
    """Whether the arm with the largest noisy mean may be recommended."""
    y, n, k, arms = known.sums, known.lengths, known.releases, known.sums.shape[0]
    for arm in range(arms):
        if arm != leader:
            enough = sums_threshold(search.rule, arms, search.delta, n[leader], n[arm], k[leader], k[arm])
            found = evidence(
                y[leader], n[leader], k[leader], y[arm], n[arm], k[arm], search.epsilon, enough, search.zone
            )  # fmt: skip
            if found < enough:
                return False
    return True


@device_function
def find_challenger(known: State, search: Search, leader: int) -> int:
    """The arm that is hardest to tell from the leader: the smallest z^2/2 + ln(users), z the distance of the two means
    in standard deviations of sampling and noise.
    """
    totals, lengths, releases, counts = known.sums, known.lengths, known.releases, known.counts
    epsilon, challenger, least = search.epsilon, -1, np.inf
    for arm in range(totals.shape[0]):
        if arm == leader:
            continue
        both = lengths[leader] + lengths[arm]
        edge = 1.0 / both
        x = min(1.0 - edge, max(edge, (totals[leader] + totals[arm]) / both))
        spread = x * (1.0 - x) * (1.0 / counts[leader] + 1.0 / counts[arm])
        noises = releases[leader] / lengths[leader] ** 2 + releases[arm] / lengths[arm] ** 2
        apart = totals[leader] / lengths[leader] - totals[arm] / lengths[arm] + search.zone
        cost = 0.5 * apart * apart / (spread + 2.0 * noises / (epsilon * epsilon)) + math.log(counts[arm])
        if cost < least:
            least, challenger = cost, arm
    return challenger


@device_function
def noisy_sum(bits: float, chance: float, epsilon: float, state: np.ndarray, trial: int) -> float:
    """The one release of a batch: the sum of so many bits, with Laplace(1/epsilon) noise."""
    added = noise(state, trial, 1.0 / epsilon)
    return binomial(bits, chance, state, trial) + added


@inlined
def _release(known: State, search: Search, arm: int, here: np.ndarray, state: np.ndarray, trial: int) -> None:
    """End an arm's batch: its noisy sum joins the arm's total."""
    bits = known.counts[arm] - known.lengths[arm]
    known.sums[arm] += noisy_sum(bits, here[arm], search.epsilon, state, trial)
    known.lengths[arm] = known.counts[arm]
    known.releases[arm] += 1.0
    known.means[arm] = known.sums[arm] / known.lengths[arm]


@kernel
def dp_tt(state: np.ndarray, search: Search, outcome: Outcome) -> None:
    """Play one trial per row of ``state``: every arm's first batch, then leader and challenger in turns until one of
    them has its next release. ``search.growth`` is not used: batches are those of `total_after`.
    """
    arms, cap, epsilon = search.chances.shape[0], search.cap, search.epsilon
    order, here = np.empty(arms, np.int64), np.empty(arms)
    for trial in range(state.shape[0]):
        draw_labels(state, trial, order)
        arrange(order, search.chances, here)
        known = nothing(arms)
        counts, lengths = known.counts, known.lengths
        t, leader, sure = 0, 0, False
        first = int(min(float(cap), total_after(0.0, epsilon)))
        for arm in range(arms):
            known.means[arm] = -np.inf
            counts[arm] = min(first, cap - t)
            t += int(counts[arm])
            if counts[arm] == total_after(0.0, epsilon):
                _release(known, search, arm, here, state, trial)
        while True:
            if outcome.signal[0] != 0:
                return
            leader = largest(known.means)
            sure = bool(known.releases.min() > 0.0) and is_sure(known, search, leader)
            if sure or t >= cap:
                break
            challenger = find_challenger(known, search, leader)
            mine, theirs = total_after(lengths[leader], epsilon), total_after(lengths[challenger], epsilon)
            missing = min(mine - counts[leader], theirs - counts[challenger])
            size = int(min(2.0 * missing, float(cap - t)))
            own = first_half(size, state, trial)
            counts[leader] += own
            counts[challenger] += size - own
            t += size
            if counts[leader] == mine:
                _release(known, search, leader, here, state, trial)
            if counts[challenger] == theirs:
                _release(known, search, challenger, here, state, trial)
        note(outcome, trial, order, t, sure, leader, counts)
