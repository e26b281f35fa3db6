r"""Top-Two on a curator's noisy sums that keep all data: the kernel and the stopping rule of `dp-tt`.

Arm a's j-th release is the sum of the bits of its j-th batch with Laplace(1/epsilon) noise. The batches are public:
after a release the arm has n_j = `total_after` bits, whatever the bits were. Y is the sum of an arm's first j releases:
its n_j bits, and j Laplace variables. The learner sees nothing else.

Stopping rule (K arms, B the arm with the largest mean Y/n, j and h the numbers of releases of B and of arm a): stop
when for every other arm a

    Z_a = min over x of  R_j(Y_B; x) + R_h(n_h - Y_a; 1 - x)  >=  c + ln(1/w_j) + ln(1/w_h),
    R_j(y; x) = max over 0 <= s < epsilon of  s y - n_j ln(1 - x + x e^s) + j ln(1 - (s/epsilon)^2),
    w_j = 6 / ((j + 5) (j + 6)),        (K - 1) (1 + c) e^-c = delta.

Without noise the last term of R is gone, and Z_a is n kl(m_B, x) + m kl(m_a, x) of `kernels.stopping`. With noise, R is
the smallest n_j kl((y - v)/n_j, x) + j L(epsilon v / j) over the noise v, where L is the Cramér transform of a Laplace
variable: Z_a charges each nat that noise could explain, exactly as far as the noise can explain it.

The recommendation is wrong with probability delta at most. Proof. Let * be a best arm and B a worse one.

1. Tails. E e^{s Y} = (1 - mu + mu e^s)^{n_j} (1 - (s/epsilon)^2)^{-j} for |s| < epsilon, as bits and noise are
   independent. By Markov's inequality at the best s >= 0, P(R_j(Y; mu) >= x) <= e^-x for every x >= 0: R_j rises
   with y, so the event is that Y exceeds a fixed number. The same holds for R_j(n_j - Y; 1 - mu), by symmetry.
2. Releases. n_j is fixed beforehand, so Y after j releases is a function of the arm's own first n_j users and noises,
   whenever they are asked. J_B = max over j of R_j(Y_B; mu_B) - ln(1/w_j) has P(J_B >= x) <= sum of w_j e^-x = e^-x,
   since w_j = 6/(j + 5) - 6/(j + 6). Likewise J_* = max over h of R_h(n_h - Y_*; 1 - mu_*) - ln(1/w_h).
3. Two arms. J_B and J_* are independent, and neither exceeds a standard exponential variable in distribution, so
   P(J_B + J_* >= c) <= (1 + c) e^-c.
4. Arms. R_j(y; x) falls with x and R_h(n - y; 1 - x) rises with x. So where mu_B < mu_*, Z of B against * is at most
   R_j(Y_B; mu_B) + R_h(n_h - Y_*; 1 - mu_*) <= J_B + J_* + ln(1/w_j) + ln(1/w_h): recommending B implies
   J_B + J_* >= c. A union over the K - 1 worse arms gives (K - 1) (1 + c) e^-c = delta. The order in which arms are
   asked does not enter.

Indifference zone: the second term is R_h(n_h - Y_a; 1 - x - zone). B is wrong only where mu_B < mu_* - zone, so step 4
holds for x = mu_B: R_h(n_h - Y_*; 1 - mu_B - zone) is at most R_h(n_h - Y_*; 1 - mu_*).

HEURISTIC: the right side is ln(1/delta) + ln(1 + ln n) + ln(1 + ln m), as for bits, never more than that of the proof.

Privacy: a user's reward enters one released sum, and changes it by 1 at most; actions, end and recommendation are
computed from the releases and coins. So the run is epsilon-DP in every reward (parallel composition). ``epsilon`` may
be infinite: the same rule without noise.
"""

import math

import numpy as np

from bandit_core.jit.decorators import device_function, inlined, kernel
from bandit_core.kernels import stopping
from bandit_core.kernels.batches import noise
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.labels import arrange, draw_labels

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
    if rule == stopping.PROVED:
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
        return stopping.transport(total, count, other, other_count, zone)
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
def is_sure(known: stopping.State, search: stopping.Search, leader: int) -> bool:
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
def find_challenger(known: stopping.State, search: stopping.Search, leader: int) -> int:
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
def _release(
    known: stopping.State, search: stopping.Search, arm: int, here: np.ndarray, state: np.ndarray, trial: int
) -> None:
    """End an arm's batch: its noisy sum joins the arm's total."""
    bits = known.counts[arm] - known.lengths[arm]
    known.sums[arm] += noisy_sum(bits, here[arm], search.epsilon, state, trial)
    known.lengths[arm] = known.counts[arm]
    known.releases[arm] += 1.0
    known.means[arm] = known.sums[arm] / known.lengths[arm]


@kernel
def dp_tt(state: np.ndarray, search: stopping.Search, outcome: stopping.Outcome) -> None:
    """Play one trial per row of ``state``: every arm's first batch, then leader and challenger in turns until one of
    them has its next release. ``search.growth`` is not used: batches are those of `total_after`.
    """
    arms, cap, epsilon = search.chances.shape[0], search.cap, search.epsilon
    order, here = np.empty(arms, np.int64), np.empty(arms)
    for trial in range(state.shape[0]):
        draw_labels(state, trial, order)
        arrange(order, search.chances, here)
        known = stopping.nothing(arms)
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
            leader = stopping.largest(known.means)
            sure = bool(known.releases.min() > 0.0) and is_sure(known, search, leader)
            if sure or t >= cap:
                break
            challenger = find_challenger(known, search, leader)
            mine, theirs = total_after(lengths[leader], epsilon), total_after(lengths[challenger], epsilon)
            missing = min(mine - counts[leader], theirs - counts[challenger])
            size = int(min(2.0 * missing, float(cap - t)))
            own = stopping.first_half(size, state, trial)
            counts[leader] += own
            counts[challenger] += size - own
            t += size
            if counts[leader] == mine:
                _release(known, search, leader, here, state, trial)
            if counts[challenger] == theirs:
                _release(known, search, challenger, here, state, trial)
        stopping.note(outcome, trial, order, t, sure, leader, counts)
