"""Every policy again: slow, plain Python, line by line from the pseudo-code of its paper.

Nothing here knows the kernels. The loop is one for all: a policy yields its arm, the user answers, and `Late` gives
back whatever is counted now, which without batches and delays is that answer. A trial reads its own stream in the
documented order: per step one uniform for the reward (or its bit), one for Laplace noise, one for the user's epsilon
where users differ; rejection samplers read the stream's second generator. Each function returns the arms pulled, one
per step.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import NormalDist

import numpy as np

WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
INFINITY = math.inf


class Generator:
    """xoshiro256++ (Blackman and Vigna 2019) on Python integers."""

    def __init__(self, words) -> None:
        self.words = [int(word) for word in words]

    def next_word(self) -> int:
        """The next 64 random bits."""
        a, b, c, d = self.words
        total = (a + d) & WORD
        result = (_rotated(total, 23) + a) & WORD
        shifted = (b << 17) & WORD
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        self.words = [a, b, c, _rotated(d, 45)]
        return result

    def uniform(self) -> float:
        """A multiple of 2^-52 in [0, 1)."""
        return (self.next_word() >> 12) * 2.0**-52


def _mixed(word: int) -> int:
    word &= WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & WORD
    return word ^ (word >> 31)


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & WORD


class Stream:
    """The two generators of one trial."""

    def __init__(self, words) -> None:
        self.words = [int(word) for word in words]
        self.steps, self.rejections = Generator(words[:4]), Generator(words[4:])

    def labels(self, arms: int) -> list[int]:
        """The arm that each label of this trial stands for: Fisher and Yates' shuffle by SplitMix64."""
        seed = 0
        for word in self.words:
            seed = _mixed(seed + GOLDEN + word)
        order = list(range(arms))
        for label in range(arms - 1, 0, -1):
            seed = (seed + GOLDEN) & WORD
            other = int((_mixed(seed) >> 11) * 2.0**-53 * (label + 1))
            order[label], order[other] = order[other], order[label]
        return order

    def another(self, count: int) -> list[int]:
        """Words of SplitMix64 for generators that are independent of the two of this trial."""
        seed = 1
        for word in self.words:
            seed = _mixed(seed + GOLDEN + word)
        return [_mixed(seed + place * GOLDEN) for place in range(1, count + 1)]

    def uniform(self) -> float:
        """The next uniform of the current step."""
        return self.steps.uniform()

    def gamma(self, shape: float) -> float:
        """Marsaglia and Tsang 2000, without their squeeze."""
        draw = self.rejections.uniform
        boost = 1.0
        if shape < 1:
            boost, shape = (draw() + 2.0**-53) ** (1 / shape), shape + 1
        d = shape - 1 / 3
        while True:
            z = NormalDist().inv_cdf(draw() + 2.0**-53)
            v = (1 + z / math.sqrt(9 * d)) ** 3
            if v > 0 and math.log(draw() + 2.0**-53) < z * z / 2 + d - d * v + d * math.log(v):
                return boost * d * v

    def beta(self, a: float, b: float) -> float:
        """Gamma(a) / (Gamma(a) + Gamma(b))."""
        x = self.gamma(a)
        y = self.gamma(b)
        return x / (x + y)


def reward_of(arm, u: float, stream: Stream) -> float:
    """One reward, by inversion of u where the law allows it."""
    match arm.kind:
        case "bernoulli":
            return 1.0 if u < arm.mean else 0.0
        case "two-point":
            return arm.high if u < arm.p_high else arm.low
        case "uniform":
            return arm.low + (arm.high - arm.low) * u
        case "gaussian":
            return arm.mean + arm.sd * NormalDist().inv_cdf(u + 2.0**-53)
        case "pareto":
            return arm.mean * (arm.shape - 1) / arm.shape / (1 - u) ** (1 / arm.shape)
        case "empirical":
            return arm.values[int(u * len(arm.values))]
        case "beta" if arm.b == 1:
            return (u + 2.0**-53) ** (1 / arm.a)
        case "beta" if arm.a == 1:
            return 1 - (1 - u) ** (1 / arm.b)
        case "beta":
            return stream.beta(arm.a, arm.b)
    raise ValueError(arm.kind)


def mean_of(arm, transform: Callable[[float], float]) -> float:
    """E[transform(reward)]: exact for discrete laws, a fine midpoint rule otherwise."""
    match arm.kind:
        case "bernoulli":
            return (1 - arm.mean) * transform(0.0) + arm.mean * transform(1.0)
        case "two-point":
            return (1 - arm.p_high) * transform(arm.low) + arm.p_high * transform(arm.high)
        case "empirical":
            return math.fsum(map(transform, arm.values)) / len(arm.values)
        case "gaussian":
            grid = [(i + 0.5) / 400 - 10 for i in range(8000)]
            return math.fsum(transform(arm.mean + arm.sd * z) * NormalDist().pdf(z) / 400 for z in grid)
    return math.fsum(transform(float(arm.quantile((i + 0.5) / 4000))) for i in range(4000)) / 4000


def budget_of(law, stream: Stream) -> float:
    """Epsilon of the user who arrives; takes no uniform where it is the same for all."""
    if law.kind == "fixed":
        return law.value
    u = stream.uniform()
    match law.kind:
        case "discrete" | "empirical":
            shares = getattr(law, "probs", None) or [1 / len(law.values)] * len(law.values)
            reached = 0.0
            for value, share in sorted(zip(law.values, shares, strict=True)):
                reached += share
                if u < reached:
                    return value
            return max(law.values)
        case "clamped-gaussian":
            return min(max(law.mean + law.sd * NormalDist().inv_cdf(u + 2.0**-53), law.low), law.high)
        case "uniform":
            return law.low + (law.high - law.low) * u
        case "lognormal":
            return law.median * math.exp(law.sigma * NormalDist().inv_cdf(u + 2.0**-53))
    raise ValueError(law.kind)


def identity(x: float) -> float:
    """Rewards as they are."""
    return x


def sigmoid(x: float) -> float:
    """Ren et al. 2020, section 3.3."""
    return 1 / (1 + math.exp(-x))


def laplace(u: float, scale: float) -> float:
    """Inverse of the Laplace distribution function at u (moved by half the spacing of the uniforms)."""
    p = u + 2.0**-53
    return scale * math.log(2 * p) if p < 0.5 else -scale * math.log(2 * (1 - p))


def bit_of(mean: float, epsilon: float, stream: Stream) -> int:
    """Randomised response of a reward with that mean: Ren et al. 2020, Curator 3, corrected."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + 1)
    return 1 if stream.uniform() < mean * truth + (1 - mean) * (1 - truth) else 0


def first_largest(values: list[float]) -> int:
    """Ties go to the lowest arm."""
    return values.index(max(values))


def within_rounding(a: int, u: list[float], played, t: int) -> int:
    """What another implementation played at t, if its index differs from the largest by rounding only; else a."""
    if played is None or not abs(u[played[t - 1]] - u[a]) < 1e-12 * (1 + abs(u[a])):
        return a
    return int(played[t - 1])


class Late:
    """Answers that wait to be counted: that of user t until the first multiple of batch at or after t + delay."""

    def __init__(self, instance) -> None:
        self.batch, self.delay = instance.feedback.batch, instance.feedback.delay
        arms = len(instance.arms) if instance.contexts is None else instance.contexts.arms
        self.users, self.queue, self.waiting = 0, [], [0] * arms

    def counted(self, arm: int, answer):
        """The arms and answers that are counted once the next user has answered, in the order of their users."""
        self.users += 1
        due = next(t for t in itertools.count(self.users + self.delay) if t % self.batch == 0)
        self.queue.append((due, arm, answer))
        self.waiting[arm] += 1
        while self.queue and self.queue[0][0] <= self.users:
            _, arm, answer = self.queue.pop(0)
            self.waiting[arm] -= 1
            yield arm, answer

    def first_largest(self, u: list) -> int:
        """Of arms that must be tried the one with the fewest answers on their way; other ties go to the lowest arm."""
        return first_largest([(u[a], -self.waiting[a] if u[a] == INFINITY else 0) for a in range(len(u))])


def f(t: int) -> float:
    """ln t + 3 ln ln t."""
    return math.log(t) + 3 * math.log(math.log(t)) if math.log(t) > 1 else math.log(t)


def divergence(p: float, q: float) -> float:
    """KL divergence of Bernoulli(p) from Bernoulli(q)."""
    total = 0.0
    if p > 0:
        total += p * math.log(p / q) if q > 0 else INFINITY
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q)) if q < 1 else INFINITY
    return total


def largest_q(mean: float, n: int, level: float, low: float, high: float) -> float:
    """max{q in [low, high]: n d(mean, q) <= level} by bisection; high or low where that set is empty."""
    if mean >= high or n * divergence(mean, high) <= level:
        return high
    below, above = max(mean, low), high
    if n * divergence(mean, below) > level:
        return low
    for _ in range(100):
        middle = (below + above) / 2
        if n * divergence(mean, middle) <= level:
            below = middle
        else:
            above = middle
    return below


def ucb(instance, stream: Stream) -> Iterator[int]:
    """Auer, Cesa-Bianchi, Fischer 2002, UCB1 with alpha in place of 2."""
    arms, alpha = instance.arms, instance.parameters.alpha
    n, s, late = [0] * len(arms), [0.0] * len(arms), Late(instance)
    for t in range(1, instance.horizon + 1):
        u = [s[a] / n[a] + math.sqrt(alpha * math.log(t) / n[a]) if n[a] else INFINITY for a in range(len(arms))]
        a = late.first_largest(u)
        yield a
        for b, x in late.counted(a, reward_of(arms[a], stream.uniform(), stream)):
            n[b] += 1
            s[b] += x


def heldp_ucb_l(instance, stream: Stream, transform=identity) -> Iterator[int]:
    """Ren et al. 2020, Agent 2 with Curator 1."""
    arms, eps_min = instance.arms, instance.parameters.eps_min
    n, s, big_a, late = [0] * len(arms), [0.0] * len(arms), [0.0] * len(arms), Late(instance)
    for t in range(1, instance.horizon + 1):
        log_t4 = math.log(t**4)
        short = [a for a in range(len(arms)) if big_a[a] <= log_t4 / eps_min**2]
        if short:
            a = min(short, key=late.waiting.__getitem__)
        else:
            a = first_largest(
                [
                    s[b] / n[b] + math.sqrt(log_t4 / (2 * n[b])) + math.sqrt(8 * big_a[b] * log_t4 / n[b] ** 2)
                    for b in range(len(arms))
                ]
            )
        yield a
        u_reward, u_noise = stream.uniform(), stream.uniform()
        epsilon, x = budget_of(instance.epsilon, stream), 0.0
        if epsilon >= eps_min:
            x = transform(reward_of(arms[a], u_reward, stream)) + laplace(u_noise, 1 / epsilon)
        for b, (eps, answer) in late.counted(a, (epsilon, x)):
            if eps >= eps_min:
                n[b] += 1
                s[b] += answer
                big_a[b] += eps**-2


def heldp_ucb_b(instance, stream: Stream, transform=identity, played=None) -> Iterator[int]:
    """Ren et al. 2020, Agent 4 with Curator 3 (corrected). One uniform decides reward and bit together.

    Where users differ, two arms that got the same responses in another order have the same index but for rounding:
    there what another implementation ``played`` is as right as ours, and is followed.
    """
    arms, eps_min = instance.arms, instance.parameters.eps_min
    means = [mean_of(arm, transform) for arm in arms]
    n, s, big_b = [0] * len(arms), [0.0] * len(arms), [0.0] * len(arms)
    responses: list[list[float]] = [[] for _ in arms]
    late = Late(instance)
    for t in range(1, instance.horizon + 1):
        log_t4 = math.log(t**4)
        u = [
            s[a] / n[a] + math.sqrt(big_b[a] * log_t4 / (2 * n[a] ** 2)) if n[a] else INFINITY for a in range(len(arms))
        ]
        a = late.first_largest(u)
        a = within_rounding(a, u, played, t)
        yield a
        u_bit = stream.uniform()
        epsilon = budget_of(instance.epsilon, stream)
        e = math.exp(epsilon)
        bit = 1 if u_bit < (means[a] * e + 1 - means[a]) / (e + 1) else 0
        for b, (eps, x) in late.counted(a, (epsilon, bit)):
            if eps >= eps_min:
                e = math.exp(eps)
                n[b] += 1
                responses[b].append((1 + (e + 1) / (e - 1)) / 2 if x else (1 - (e + 1) / (e - 1)) / 2)
                s[b] = math.fsum(responses[b])  # the same for the same responses in any order
                big_b[b] += ((e + 1) / (e - 1)) ** 2


def heldp_ucb_bw(instance, stream: Stream, played=None) -> Iterator[int]:
    """Bits weighed by tanh(eps/2)^2, Hoeffding's width. ``played`` as in `heldp_ucb_b`."""

    def answer(mean, arm, epsilon, u_bit, u_noise):
        chance = (mean * math.exp(epsilon) + 1 - mean) / (math.exp(epsilon) + 1)
        return (0.5 + 0.5 / math.tanh(epsilon / 2)) if u_bit < chance else (0.5 - 0.5 / math.tanh(epsilon / 2))

    return _weighted(instance, stream, answer, lambda e: math.tanh(e / 2) ** 2, 0.0, played)


def heldp_ucb_lw(instance, stream: Stream, played=None) -> Iterator[int]:
    """Laplace noise of scale b, weights 1/(1/4 + 2 b^2), the sub-gamma width; a plain reward has the weight 4."""

    def answer(mean, arm, epsilon, u_reward, u_noise):
        return reward_of(arm, u_reward, stream) + laplace(u_noise, 1 / epsilon)

    return _weighted(instance, stream, answer, lambda e: 1 / (1 / 4 + 2 / e**2) / 4, 1 / math.sqrt(2), played)


def _weighted(instance, stream: Stream, answer, weight, tail, played) -> Iterator[int]:
    """Means of all responses of users with epsilon > 0, each with its weight."""
    arms, late = instance.arms, Late(instance)
    means = [mean_of(arm, identity) for arm in arms]
    kept: list[list[tuple[float, float]]] = [[] for _ in arms]  # weight and response
    for t in range(1, instance.horizon + 1):
        u = []
        for responses in kept:
            total, log_t = math.fsum(w for w, _ in responses), math.log(t)
            mean = math.fsum(w * x for w, x in responses) / total if responses else INFINITY
            u.append(mean + math.sqrt(2 * log_t / total) + tail * log_t / total if responses else INFINITY)
        a = within_rounding(late.first_largest(u), u, played, t)
        yield a
        u_reward = stream.uniform()
        u_noise = stream.uniform() if tail else 0.0
        epsilon = budget_of(instance.epsilon, stream)
        x = answer(means[a], arms[a], epsilon, u_reward, u_noise) if epsilon > 0 else 0.0
        for b, (eps, response) in late.counted(a, (epsilon, x)):
            if eps > 0:
                kept[b].append((weight(eps), response))


def heldp_ucb_ls(instance, stream: Stream) -> Iterator[int]:
    """Agent 2 with CTL-S."""
    return heldp_ucb_l(instance, stream, sigmoid)


def heldp_ucb_bs(instance, stream: Stream, played=None) -> Iterator[int]:
    """Agent 4 with CTB-S."""
    return heldp_ucb_b(instance, stream, sigmoid, played)


def ucb_cf(instance, stream: Stream) -> Iterator[int]:
    """Gajane et al. 2018, UCB-CF with randomised response."""
    arms, epsilon = instance.arms, instance.epsilon.value
    means, c = [mean_of(arm, identity) for arm in arms], math.tanh(epsilon / 2)
    n, ones, late = [0] * len(arms), [0] * len(arms), Late(instance)
    for t in range(1, instance.horizon + 1):
        u = [
            0.5 + (ones[a] / n[a] + math.sqrt(f(t) / (2 * n[a])) - 0.5) / c if n[a] else INFINITY
            for a in range(len(arms))
        ]
        a = late.first_largest(u)
        yield a
        for b, x in late.counted(a, bit_of(means[a], epsilon, stream)):
            n[b] += 1
            ones[b] += x


def kl_ucb(instance, stream: Stream, played=None) -> Iterator[int]:
    """Garivier and Cappe 2011, Algorithm 1 with c = 3. ``played`` as in `heldp_ucb_b`."""
    arms = instance.arms
    n, s, late = [0] * len(arms), [0.0] * len(arms), Late(instance)
    for t in range(1, instance.horizon + 1):
        u = [largest_q(s[b] / n[b], n[b], f(t), 0.0, 1.0) if n[b] else INFINITY for b in range(len(arms))]
        a = within_rounding(late.first_largest(u), u, played, t)
        yield a
        for b, x in late.counted(a, reward_of(arms[a], stream.uniform(), stream)):
            n[b] += 1
            s[b] += x


def kl_ucb_cf(instance, stream: Stream) -> Iterator[int]:
    """Gajane et al. 2018, kl-UCB-CF with randomised response."""
    arms, epsilon = instance.arms, instance.epsilon.value
    means, c = [mean_of(arm, identity) for arm in arms], math.tanh(epsilon / 2)
    n, ones, late = [0] * len(arms), [0] * len(arms), Late(instance)
    for t in range(1, instance.horizon + 1):
        if 0 in n:
            a = late.first_largest([0.0 if n[b] else INFINITY for b in range(len(arms))])
        else:
            quantiles = [largest_q(ones[b] / n[b], n[b], f(t), 0.0, 1.0) for b in range(len(arms))]
            indices = [min(max(0.5 + (q - 0.5) / c, 0.0), 1.0) for q in quantiles]
            # Ties at the ends of [0, 1] go to the larger quantile, then to the lowest arm.
            a = first_largest(list(zip(indices, quantiles, strict=True)))
        yield a
        for b, x in late.counted(a, bit_of(means[a], epsilon, stream)):
            n[b] += 1
            ones[b] += x


def thompson(instance, stream: Stream) -> Iterator[int]:
    """Agrawal and Goyal 2012, Algorithms 1 and 2; one uniform decides reward and coin together."""
    means = [mean_of(arm, identity) for arm in instance.arms]
    return _posterior_sampling(means, lambda mean: 1 if stream.uniform() < mean else 0, stream, instance)


def ts_cf(instance, stream: Stream) -> Iterator[int]:
    """Gajane et al. 2018, TS-CF with randomised response."""
    means, epsilon = [mean_of(arm, identity) for arm in instance.arms], instance.epsilon.value
    return _posterior_sampling(means, lambda mean: bit_of(mean, epsilon, stream), stream, instance)


def _posterior_sampling(means: list[float], respond, stream: Stream, instance) -> Iterator[int]:
    ones, zeros, late = [0] * len(means), [0] * len(means), Late(instance)
    for _ in range(instance.horizon):
        a = first_largest([stream.beta(ones[b] + 1, zeros[b] + 1) for b in range(len(means))])
        yield a
        for b, x in late.counted(a, respond(means[a])):
            if x:
                ones[b] += 1
            else:
                zeros[b] += 1


POLICIES: dict[str, Callable[..., Iterator[int]]] = {
    "ucb": ucb,
    "kl-ucb": kl_ucb,
    "thompson": thompson,
    "ucb-cf": ucb_cf,
    "kl-ucb-cf": kl_ucb_cf,
    "ts-cf": ts_cf,
    "heldp-ucb-l": heldp_ucb_l,
    "heldp-ucb-b": heldp_ucb_b,
    "heldp-ucb-bw": heldp_ucb_bw,
    "heldp-ucb-lw": heldp_ucb_lw,
    "heldp-ucb-ls": heldp_ucb_ls,
    "heldp-ucb-bs": heldp_ucb_bs,
}


def pulled_arms(policy: str, instance, words, **options) -> list[int]:
    """The arms one trial pulls: instance.horizon many."""
    if "played" in options:
        labels = np.argsort(Stream(words).labels(len(instance.arms)))
        options["played"] = [labels[arm] for arm in options["played"]]
    return by_labels(instance, words, lambda here, words: list(POLICIES[policy](here, Stream(words), **options)))


def by_labels(instance, words, play: Callable) -> list[int]:
    """Let ``play`` pull arms that stand in the order of the trial's labels; the arms pulled, by their own numbers."""
    order = Stream(words).labels(len(instance.arms))
    here = replace(instance, arms=tuple(instance.arms[arm] for arm in order))
    return [order[label] for label in play(here, words)]
