"""Policies that stop, again: slow, plain Python, step by step from their pseudo-code; nothing here knows the kernels.

``Bits`` answers for arms that are known by their labels, from the trial's stream in the documented order: sums of bits
from its second generator, coins and noise from its first; or from given tapes of rewards.
"""

import math
from dataclasses import dataclass, field

from batch_reference import binomial
from reference import Stream, divergence, laplace


@dataclass
class Bits:
    """What users answer; ``releases`` are (arm's label, numbers of its users) of each noisy mean."""

    chances: list[float]
    stream: Stream
    tapes: list[list[int]] | None = None
    asked: list[int] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    releases: list[tuple[int, range]] = field(default_factory=list)
    leaders: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.asked = [0] * len(self.chances)

    def ones(self, label: int, users: int) -> int:
        """Ones among the bits of the next users of an arm."""
        first = self.asked[label]
        self.asked[label] += users
        if self.tapes is not None:
            return sum(self.tapes[label][first : first + users])
        return binomial(users, self.chances[label], self.stream.rejections.uniform) if users else 0

    def noisy_mean(self, label: int, users: int, epsilon: float) -> float:
        """Mean of the next users' bits with Laplace(1/(epsilon users)) noise."""
        self.releases.append((label, range(self.asked[label], self.asked[label] + users)))
        return (self.ones(label, users) + laplace(self.stream.uniform(), 1 / epsilon)) / users


def until_next(t: int, growth: float, cap: int) -> int:
    """Users until the next decision."""
    return min(max(1, int((growth - 1) * t)), cap - t)


def halves(size: int, stream: Stream) -> tuple[int, int]:
    """How many of them get the leader and the challenger."""
    odd = 1 if size % 2 and stream.uniform() < 0.5 else 0
    return size // 2 + odd, size - size // 2 - odd


def in_turns(leader: int, challenger: int, own: int, other: int) -> list[int]:
    """Who is shown to these users: whoever gets more of them begins, else the leader."""
    first, second = (leader, challenger) if own >= other else (challenger, leader)
    return [second if place % 2 else first for place in range(own + other)]


def transport(n: int, mean: float, m: int, other: float, zone: float = 0.0) -> float:
    """n kl(mean, x) + m kl(other, x + zone) for x the mean of all or, with a zone, for the best x, by trisection."""
    if zone == 0:
        both = (n * mean + m * other) / (n + m)
        return n * divergence(mean, both) + m * divergence(other, both)

    def value(x: float) -> float:
        return n * divergence(mean, x) + m * divergence(other, min(1.0, x + zone))

    low, high = max(0.0, other - zone), min(mean, 1 - zone)
    for _ in range(150):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (left, high) if value(left) > value(right) else (low, right)
    return value((low + high) / 2)


def bits_threshold(rule: str, arms: int, delta: float, n: int, m: int) -> float:
    """What `transport` must reach."""
    if rule == "proved":
        return math.log((arms - 1) / delta) + math.log(n * m) / 2 + 2 * math.log(2)
    return math.log(1 / delta) + math.log(1 + math.log(n)) + math.log(1 + math.log(m))


def far_enough(spec, arms: int, apart: float, lengths, phases) -> bool:
    """Whether a noisy mean of phase k and length n lies far enough above one of phase h and length m."""
    rule, delta, epsilon, (n, m), (k, h) = spec.rule, spec.delta, spec.epsilon, lengths, phases
    rest, zeta = 1 / n + 1 / m, math.pi**2 / 6
    if rule == "proved":
        d = delta / ((arms - 1) * k * (k + 1) * h * (h + 1))
        return apart >= math.sqrt(rest * math.log(3 / d) / 2) + rest * math.log(3 / (2 * d)) / epsilon
    if rule == "paper":
        x = math.log((arms - 1) * zeta * max(k, h) ** 2 / delta) / 2
        bar = 2 * (x + math.log(x)) + 2 * math.log(4 + math.log(n)) + 2 * math.log(4 + math.log(m))
        bar += rest * math.log(2 * arms * zeta * max(k, h) ** 2 / delta) ** 2 / epsilon**2
    else:
        bar = math.log(1 / delta) + math.log(1 + math.log(n)) + math.log(1 + math.log(m))
        bar += rest * math.log(1 / delta) ** 2 / epsilon**2
    return apart > 0 and apart**2 / (2 * rest) >= bar


def top_two(bits: Bits, spec) -> tuple[bool, int]:
    """(stopped, label recommended) of Top-Two."""
    k = len(bits.chances)
    n, s, t = [1] * k, [bits.ones(a, 1) for a in range(k)], k
    bits.actions += range(k)
    while True:
        mean = [s[a] / n[a] for a in range(k)]
        leader = mean.index(max(mean))
        zone = spec.zone * (math.tanh(spec.epsilon / 2) if spec.entry.privacy == "local" else 1.0)
        z = {a: transport(n[leader], mean[leader], n[a], mean[a], zone) for a in range(k) if a != leader}
        if all(z[a] >= bits_threshold(spec.rule, k, spec.delta, n[leader], n[a]) for a in z):
            return True, leader
        if t >= spec.cap:
            return False, leader
        challenger = min(z, key=lambda a: z[a] + math.log(n[a]))
        size = until_next(t, spec.growth, spec.cap)
        shares = halves(size, bits.stream)
        bits.actions += in_turns(leader, challenger, *shares)
        for a, users in zip((leader, challenger), shares, strict=True):
            s[a] += bits.ones(a, users)
            n[a] += users
        t += size


def adap_tt(bits: Bits, spec) -> tuple[bool, int]:
    """(stopped, label recommended) of AdaP-TT."""
    k, epsilon = len(bits.chances), spec.epsilon
    pulls, fresh, phase, length, t = [1] * k, [0] * k, [1] * k, [1] * k, k
    bits.actions += range(k)
    mean = [bits.noisy_mean(a, 1, epsilon) for a in range(k)]
    while True:
        best = mean.index(max(mean))
        if all(
            far_enough(spec, k, mean[best] - mean[a] + spec.zone, (length[best], length[a]), (phase[best], phase[a]))
            for a in range(k)
            if a != best
        ):
            return True, best
        if t >= spec.cap:
            return False, best
        index = [
            mean[a] + math.log(t) / (epsilon * length[a]) + math.sqrt(math.log(t) / (2 * length[a])) for a in range(k)
        ]
        leader = index.index(max(index))
        bits.leaders.append(leader)
        cost = {
            a: (mean[leader] - mean[a] + spec.zone + 1 / (1 + math.sqrt(t)))
            / math.sqrt(1 / pulls[leader] + 1 / pulls[a])
            for a in range(k)
            if a != leader
        }
        challenger = min(cost, key=lambda a: cost[a])
        size = until_next(t, spec.growth, spec.cap)
        for a in (leader, challenger):  # an arm's phase is as long as all before it
            size = min(size, 2 * (pulls[a] - fresh[a] - fresh[a]))
        shares = halves(size, bits.stream)
        bits.actions += in_turns(leader, challenger, *shares)
        for a, users in zip((leader, challenger), shares, strict=True):
            pulls[a] += users
            fresh[a] += users
            if users and fresh[a] == pulls[a] - fresh[a]:
                mean[a] = bits.noisy_mean(a, fresh[a], epsilon)
                length[a], fresh[a], phase[a] = fresh[a], 0, phase[a] + 1
        t += size


def elimination(bits: Bits, spec) -> tuple[bool, int]:
    """(stopped, label recommended) of elimination in epochs; ``spec.epsilon`` by the policy's trust."""
    k, t, best, e = len(bits.chances), 0, 0, 0
    left = list(range(k))
    central = spec.entry.privacy == "central"
    w = 1 / math.tanh(spec.epsilon / 2) if spec.entry.privacy == "local" else 1.0
    while len(left) > 1:
        e += 1
        x, y = (math.log(c * len(left) * e * e / spec.delta) for c in (8, 4))
        if central:
            r = math.floor(max(32 * x * 4**e, 8 * y * 2**e / spec.epsilon) + 1)
            margin = 2 * math.sqrt(x / (2 * r)) + 2 * y / (r * spec.epsilon)
        else:
            r = math.floor(8 * w * w * y * 4**e + 1)
            margin = 2 * w * math.sqrt(y / (2 * r))
        if r * len(left) > spec.cap - t:
            bits.actions += [left[place % len(left)] for place in range(spec.cap - t)]
            return False, best
        t += r * len(left)
        mean = {}
        for a in left:
            bits.actions += [a] * r
            share = bits.noisy_mean(a, r, spec.epsilon) if central else bits.ones(a, r) / r
            mean[a] = 0.5 + w * (share - 0.5)
        best = max(left, key=lambda a: (mean[a], -a))
        left = [a for a in left if max(mean.values()) - mean[a] <= margin]
        if margin <= spec.zone:
            break
    return True, best


def batch_end(n: int, epsilon: float) -> int:
    """Users of an arm at its next release."""
    if n == 0:
        return max(32, math.ceil(4 / epsilon))
    return math.ceil((2 if n < 512 or epsilon**2 * n < 32 else 1.3) * n)


def noisy_rate(y: float, n: int, j: int, x: float, epsilon: float) -> float:
    """The most of s y - n ln(1 - x + x e^s) + j ln(1 - (s/epsilon)^2) over 0 <= s < epsilon, by trisection."""

    def value(s: float) -> float:
        return s * y - n * math.log1p(x * math.expm1(s)) + j * math.log1p(-((s / epsilon) ** 2))

    low, high = 0.0, epsilon * (1 - 1e-12)
    for _ in range(120):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (left, high) if value(left) < value(right) else (low, right)
    return max(0.0, value(low))


def noisy_evidence(
    best: tuple[float, int, int], other: tuple[float, int, int], epsilon: float, zone: float = 0.0
) -> float:
    """The least of both rates over the chances x and x + zone of two arms; (noisy sum, users, releases) of each."""
    (y, n, j), (z, m, h) = best, other
    if y / n + zone <= z / m:
        return 0.0

    def value(odds: float) -> float:
        x = 1 / (1 + math.exp(-odds))
        return noisy_rate(y, n, j, x, epsilon) + noisy_rate(m - z, m, h, max(1e-16, 1 - x - zone), epsilon)

    low, high = -36.0, 36.0 if zone == 0 else math.log((1 - zone) / zone)
    for _ in range(90):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (left, high) if value(left) > value(right) else (low, right)
    return value(low)


def sums_threshold(spec, arms: int, counts, releases) -> float:
    """What `noisy_evidence` must reach."""
    if spec.rule == "heuristic":
        return math.log(1 / spec.delta) + sum(math.log(1 + math.log(n)) for n in counts)
    low, high = 0.0, 1e4
    for _ in range(200):
        c = (low + high) / 2
        low, high = (c, high) if (arms - 1) * (1 + c) * math.exp(-c) > spec.delta else (low, c)
    return high + sum(math.log((j + 5) * (j + 6) / 6) for j in releases)


def dp_tt(bits: Bits, spec) -> tuple[bool, int]:
    """(stopped, label recommended) of DP-TT."""
    k, epsilon, t = len(bits.chances), spec.epsilon, 0
    asked, n, y, j = [0] * k, [0] * k, [0.0] * k, [0] * k

    def ask(a: int, users: int) -> None:
        asked[a] += users
        if asked[a] == batch_end(n[a], epsilon):
            y[a] += bits.noisy_mean(a, asked[a] - n[a], epsilon) * (asked[a] - n[a])
            n[a], j[a] = asked[a], j[a] + 1

    for a in range(k):
        users = min(batch_end(0, epsilon), spec.cap - t)
        bits.actions += [a] * users
        ask(a, users)
        t += users
    while True:
        leader = max(range(k), key=lambda a: (y[a] / n[a] if n[a] else -math.inf, -a))
        rest = [a for a in range(k) if a != leader]
        if all(n) and all(
            noisy_evidence((y[leader], n[leader], j[leader]), (y[a], n[a], j[a]), epsilon, spec.zone)
            >= sums_threshold(spec, k, (n[leader], n[a]), (j[leader], j[a]))
            for a in rest
        ):
            return True, leader
        if t >= spec.cap:
            return False, leader
        cost = {}
        for a in rest:
            both = n[leader] + n[a]
            x = min(1 - 1 / both, max(1 / both, (y[leader] + y[a]) / both))
            variance = x * (1 - x) * (1 / asked[leader] + 1 / asked[a])
            variance += 2 * (j[leader] / n[leader] ** 2 + j[a] / n[a] ** 2) / epsilon**2
            cost[a] = (y[leader] / n[leader] - y[a] / n[a] + spec.zone) ** 2 / (2 * variance) + math.log(asked[a])
        challenger = min(cost, key=lambda a: cost[a])
        size = min(*(2 * (batch_end(n[a], epsilon) - asked[a]) for a in (leader, challenger)), spec.cap - t)
        shares = halves(size, bits.stream)
        bits.actions += in_turns(leader, challenger, *shares)
        for a, users in zip((leader, challenger), shares, strict=True):
            ask(a, users)
        t += size


_PLAYED = {"top-two": top_two, "ctb-tt": top_two, "adap-tt": adap_tt, "dp-tt": dp_tt}


def play(spec, words, tapes=None):
    """(users, stopped, arm recommended, pulls of each arm, the `Bits`) of one run."""
    stream = Stream(words)
    means = [float(mean) for mean in spec.setup.means]
    order = stream.labels(len(means))
    if spec.entry.privacy == "local":
        means = [0.5 + math.tanh(spec.epsilon / 2) * (mean - 0.5) for mean in means]
    bits = Bits([means[arm] for arm in order], stream, tapes)
    stopped, label = _PLAYED.get(spec.policy, elimination)(bits, spec)
    pulls = [0] * len(means)
    for action in bits.actions:
        pulls[order[action]] += 1
    return len(bits.actions), stopped, order[label], pulls, bits
