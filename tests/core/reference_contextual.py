"""The contextual policies again: plain Python and NumPy, line by line from their papers.

Nothing here knows the kernels; of policies only the account of Skellam noise is read. What users send is learnt when
their rewards are counted, by `reference.Late`, which without lateness is at once. A trial reads its own stream in the
documented order: theta, then for each user the context(s) and the reward's noise from the first generator; privacy
noise from the second one. Normal contexts and those on the sphere come from 32 further generators, for a block of users
at once. Each function returns the regret after every step, the arms chosen, and the distance of the estimate from theta
after every step.
"""

import itertools
import math

import numpy as np
from ladder_reference import poisson
from reference import Generator, Late, Stream
from scipy import optimize, stats

from bandit_core.policies.contextual import dist_linucb

EDGE, GRID, LANES = 3.6541528853610088, 2.0**52, 32


def _layers(layers: int, edge: float) -> list[float]:
    """Right edges of the ziggurat's layers, the box with the tail first."""
    area = edge * math.exp(-0.5 * edge**2) + math.sqrt(math.pi / 2) * math.erfc(edge / math.sqrt(2))
    edges = [area * math.exp(0.5 * edge**2), edge]
    for _ in range(layers - 2):
        edges.append(math.sqrt(-2 * math.log(area / edges[-1] + math.exp(-0.5 * edges[-1] ** 2))))
    return [*edges, 0.0]


EDGES, FINE = _layers(256, EDGE), _layers(1024, 4.038849846109505)


def normal(generator) -> float:
    """Marsaglia and Tsang 2000, with disjoint bits for layer, sign and place."""
    while True:
        word = generator.next_word()
        layer, sign, place = word & 255, -1.0 if word & 256 else 1.0, word >> 12
        value = place * EDGES[layer] / GRID
        if value < EDGES[layer + 1]:
            return sign * value
        if layer == 0:
            return sign * beyond(EDGE, generator)
        if below(EDGES[layer : layer + 2], value, generator):
            return sign * value


def beyond(edge: float, generator) -> float:
    """The tail (Marsaglia 1964)."""
    while True:
        far = -math.log(generator.uniform() + 2.0**-53) / edge
        if -2 * math.log(generator.uniform() + 2.0**-53) > far**2:
            return edge + far


def below(edges: list[float], value: float, generator) -> bool:
    """Whether a random point above ``value`` in the layer between these edges is below the curve."""
    low, high = (math.exp(-0.5 * edge**2) for edge in edges)
    return low + generator.uniform() * (high - low) < math.exp(-0.5 * value**2)


def fine_normal(word: int, generator) -> float:
    """The same with 1024 layers and places in the middle of cells; ``generator`` mends what the word leaves open."""
    layer, sign = word & 1023, -1.0 if word & 1024 else 1.0
    value = ((word >> 12) + 0.5) / GRID * FINE[layer]
    if value < FINE[layer + 1]:
        return sign * value
    if layer == 0:
        return sign * beyond(FINE[1], generator)
    return sign * value if below(FINE[layer : layer + 2], value, generator) else normal(generator)


class Users:
    """Theta, contexts and rewards of one trial."""

    def __init__(self, contexts, stream: Stream) -> None:
        self.contexts, self.draws = contexts, stream.steps
        self.order = stream.labels(contexts.arms)  # the arm that each label stands for
        given = contexts.given[self.order] if len(contexts.given) > 1 else contexts.given
        self.theta = given if len(given) else np.array([self.direction() for _ in range(contexts.models)])
        words = np.array(stream.another(4 * LANES), dtype=object).reshape(4, LANES)
        self.lanes, self.block = [Generator(words[:, lane]) for lane in range(LANES)], []
        self.regret, self.arms = 0.0, contexts.arms

    def direction(self) -> np.ndarray:
        """Uniform on the unit sphere."""
        z = np.array([normal(self.draws) for _ in range(self.contexts.dimension)])
        return z / np.linalg.norm(z)

    def next_of_block(self) -> np.ndarray:
        """Normal contexts of a user; 1024 numbers at most for a block of users, whose columns are followed by three."""
        if not self.block:
            vectors, d = self.contexts.vectors, self.contexts.dimension
            users = max(1, 1024 // max(vectors * d, self.arms))
            columns = users * vectors + 3
            z = []
            for _ in range(d * columns // LANES + 1):
                z += [fine_normal(word, self.draws) for word in [lane.next_word() for lane in self.lanes]]
            table = np.array(z[: d * columns]).reshape(d, columns)
            self.block = [table[:, i * vectors : (i + 1) * vectors].T for i in range(users)]
        return self.block.pop(0)

    def features(self) -> np.ndarray:
        """A row for each arm: its context, or with several parameters the one context in all of them."""
        contexts, law = self.contexts, self.contexts.law
        shape = (contexts.vectors, contexts.dimension)
        match law.kind:
            case "sphere":
                z = self.next_of_block()
                x = z * np.array([[1 / math.sqrt(sum(row**2))] for row in z]) if z.shape[1] > 1 else np.sign(z)
            case "gaussian":
                x = law.sd * self.next_of_block()
            case "cube":
                x = np.array([law.half_width * (2 * self.draws.uniform() - 1) for _ in range(shape[0] * shape[1])])
                x = x.reshape(shape)
            case "table":
                user = np.array(law.rows[int(self.draws.uniform() * len(law.rows))])
                if law.actions:
                    x = np.array([np.concatenate([user, law.actions[a] * user]) for a in self.order])
                else:
                    x = user.reshape(shape)
                    x = x[self.order] if len(x) > 1 else x
            case "margin" if contexts.structure == "single":
                x = self.with_gap(law.beta)
        return np.repeat(x, self.arms, axis=0) if contexts.structure == "multi" else x

    def with_gap(self, beta: float) -> np.ndarray:
        """Unit contexts whose two best components along theta differ by a draw of the margin distribution."""
        u, least = self.draws.uniform(), 1e-6
        gap = least ** (1 - u) if beta == 0 else (least**beta + u * (1 - least**beta)) ** (1 / beta)
        middle = (2 * self.draws.uniform() - 1) * (1 - gap / 2)
        best = int(self.draws.uniform() * self.arms)
        runner = (best + 1 + int(self.draws.uniform() * (self.arms - 1))) % self.arms
        axis = self.theta[0] / np.linalg.norm(self.theta[0])
        rows = []
        for arm in range(self.arms):
            level = -1 + self.draws.uniform() * (middle - gap / 2 + 1)
            level = {best: middle + gap / 2, runner: middle - gap / 2}.get(arm, level)
            across = self.direction()
            across = across - (across @ axis) * axis
            rows.append(math.sqrt(1 - level**2) * across / np.linalg.norm(across) + level * axis)
        return np.array(rows)

    def mean(self, predictor: float) -> float:
        """The link."""
        match self.contexts.link:
            case "identity":
                return predictor
            case "logistic":
                return 1 / (1 + math.exp(-predictor))
        return math.exp(min(predictor, 5.0))

    def pay(self, x: np.ndarray, arm: int) -> float:
        """Reward of the chosen arm; counts the regret."""
        contexts = self.contexts
        means = [self.mean(float(x[a] @ self.theta[a % len(self.theta)])) for a in range(self.arms)]
        self.regret += max(means) - means[arm]
        if contexts.link == "identity" or contexts.rewards == "mean":
            return means[arm] + (contexts.noise * normal(self.draws) if contexts.noise else 0.0)
        u = self.draws.uniform()
        if contexts.link == "logistic":
            return float(u < means[arm])
        count, mass = 0, math.exp(-means[arm])
        total = mass
        while u >= total:
            count += 1
            mass *= means[arm] / count
            total += mass
        return float(count)

    def error(self, estimate: np.ndarray) -> float:
        """Root mean square distance over the parameters."""
        return float(np.sqrt(np.mean(np.sum((estimate - self.theta) ** 2, axis=1))))


def symmetric(generator, size: int, sd: float) -> np.ndarray:
    """A symmetric matrix of noise, drawn row by row above the diagonal."""
    noise = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            noise[i, j] = noise[j, i] = sd * normal(generator)
    return noise


def inside(x: np.ndarray, reward: float, bound: float, reward_bound: float) -> tuple[np.ndarray, float]:
    """Context shrunk to the ball, the reward with it, then clipped."""
    scale = min(1.0, bound / np.linalg.norm(x))
    return scale * x, float(np.clip(scale * reward, -reward_bound, reward_bound))


def greedy(estimate: np.ndarray, x: np.ndarray) -> int:
    """Arm with the largest estimated predictor."""
    return int(np.argmax([x[a] @ estimate[a % len(estimate)] for a in range(len(x))]))


def chosen(given, early: np.ndarray, x: np.ndarray, estimate: np.ndarray) -> int:
    """The best arm; with a parameter for each, among those not far below the best early estimate."""
    if len(estimate) == 1 or given.h == "off":
        return greedy(estimate, x)
    first, now = (np.array([x[a] @ each[a] for a in range(len(each))]) for each in (early, estimate))
    return int(np.argmax(np.where(first > first.max() - given.h / 2, now, -np.inf)))


def classical(sensitivity: float, epsilon: float, delta: float) -> float:
    """Noise of the classical Gaussian mechanism."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def analytic(sensitivity: float, epsilon: float, delta: float) -> float:
    """The least noise that keeps (epsilon, delta), by Theorem 8 of Balle and Wang 2018."""

    def too_much(sd: float) -> float:
        half, far = sensitivity / (2 * sd), epsilon * sd / sensitivity
        return stats.norm.cdf(half - far) - math.exp(epsilon) * stats.norm.cdf(-half - far) - delta

    return optimize.brentq(too_much, 0.05 * sensitivity, 1000 * sensitivity / epsilon, xtol=1e-12, rtol=1e-13)


def ldp_ols(instance, words):
    """Algorithms 1 and 2 with the OLS mechanism; users between two solutions have one sum of noise together."""
    contexts, given, epsilon = instance.contexts, instance.parameters, instance.epsilon.fixed
    stream = Stream(words)
    users = Users(contexts, stream)
    k, d, m = contexts.arms, contexts.dimension, contexts.models
    if given.accounting == "tight":  # users of one arm are the farthest: 2
        sigma = analytic(2.0, epsilon, given.delta)
    else:
        share = 2 if m > 1 else 1
        sigma = classical(2.0, epsilon / share, given.delta / share)
        assert epsilon / share <= 1
    c = given.shift * 2 * sigma * (4 * math.sqrt(d) + 2 * math.log(2 * instance.horizon * m / given.alpha))
    gram, moment, releases, owed, due = np.zeros((m, d, d)), np.zeros((m, d)), np.zeros(m), np.zeros(m), 1
    estimate, early = np.zeros((m, d)), np.zeros((m, d))
    warm = k * given.warm_up if m > 1 else 0
    rows, late, counted = [], Late(instance), 0
    for t in range(1, instance.horizon + 1):
        x = users.features()
        arm = (t - 1) % k if counted < warm or t <= warm else chosen(given, early, x, estimate)
        reward = users.pay(x, arm)
        for b, (z, r) in late.counted(arm, inside(x[arm], reward, given.context_bound, given.reward_bound)):
            counted += 1
            for i in range(m):
                mine = i == b % m
                if counted <= warm and not mine:
                    continue
                if mine:
                    gram[i] += np.outer(z, z)
                    moment[i] += r * z
                owed[i] += 1
            solved = counted >= due or counted == warm
            due = counted + max(1, int(given.refresh * counted)) if solved else due
            for i in np.flatnonzero(owed) if solved else ():
                sd = math.sqrt(owed[i]) * given.context_bound * sigma
                gram[i] += symmetric(stream.rejections, d, 2 * given.context_bound * sd)
                moment[i] += [given.reward_bound * sd * normal(stream.rejections) for _ in range(d)]
                releases[i] += owed[i]
                owed[i] = 0
                ridge = c * given.context_bound**2 * math.sqrt(releases[i])
                estimate[i] = np.linalg.solve(gram[i] + ridge * np.eye(d), moment[i])
            if counted == warm:
                early = estimate.copy()
        rows.append((users.regret, arm, users.error(estimate)))
    return rows


def ldp_sgd(instance, words):
    """Algorithms 1 and 2 with the SGD mechanism."""
    contexts, given, epsilon = instance.contexts, instance.parameters, instance.epsilon.fixed
    stream = Stream(words)
    users = Users(contexts, stream)
    k, d, m = contexts.arms, contexts.dimension, contexts.models
    epsilon /= 2 if m > 1 and given.accounting == "paper" else 1
    limit = given.gradient_bound
    reach = limit * math.sqrt(math.pi) * (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    reach *= math.gamma((d + 1) / 2) / math.gamma(d / 2)
    estimate, early = np.zeros((m, d)), np.zeros((m, d))
    warm = k * given.warm_up if m > 1 else 0
    rows, late, counted = [], Late(instance), 0
    for t in range(1, instance.horizon + 1):
        x = users.features()
        arm = (t - 1) % k if counted < warm or t <= warm else chosen(given, early, x, estimate)
        reward = users.pay(x, arm)
        for b, (own, r) in late.counted(arm, (x[arm], reward)):
            counted += 1
            gradient = (users.mean(float(own @ estimate[b % m])) - r) * own
            gradient *= min(1.0, limit / max(1e-300, np.linalg.norm(gradient)))
            for i in range(m):
                mine = i == b % m
                if counted <= warm and not mine:
                    continue
                z = np.array([normal(stream.rejections) for _ in range(d)])
                z *= reach / np.linalg.norm(z)
                coins = stream.rejections.uniform(), stream.rejections.uniform()
                size = np.linalg.norm(gradient)
                if mine and size > 0:
                    towards = gradient if coins[0] < 0.5 + size / (2 * limit) else -gradient
                    ahead = coins[1] < math.exp(epsilon) / (1 + math.exp(epsilon))
                    if (z @ towards > 0) != ahead:
                        z = -z
                estimate[i] -= given.step / (counted + given.offset) ** given.decay * (z + given.ridge * estimate[i])
                if given.project != "off":
                    estimate[i] *= min(1.0, given.project / np.linalg.norm(estimate[i]))
            if counted == warm:
                early = estimate.copy()
        rows.append((users.regret, arm, users.error(estimate)))
    return rows


def zheng(instance, words, gloc: bool):
    """LDP-LinUCB and LDP-GLOC as in their papers, in blocks where every arm has its own parameter."""
    contexts, given, epsilon, horizon = instance.contexts, instance.parameters, instance.epsilon.fixed, instance.horizon
    stream = Stream(words)
    users = Users(contexts, stream)
    d, m = contexts.dimension, contexts.models
    size = d * m
    if given.accounting == "tight":
        sigma = analytic(math.sqrt(8 if gloc else 4.5), epsilon, given.delta)
    else:
        sigma = 6 * math.sqrt(2 * math.log((3.75 if gloc else 2.5) / given.delta)) / epsilon
    level = 4 * math.sqrt(size) + 2 * math.log(2 * horizon / given.alpha)
    slope = {"identity": 1, "poisson": math.exp(-1), "logistic": math.exp(-1) / (1 + math.exp(-1)) ** 2}[contexts.link]
    v, u, theta, online, inverse, beta = np.zeros((size, size)), np.zeros(size), np.zeros(size), np.zeros(size), None, 0
    rows, late, counted, due, owed = [], Late(instance), 0, 1, 0
    for _ in range(horizon):
        x = users.features()
        blocks = np.zeros((contexts.arms, size))
        for a in range(contexts.arms):
            start = (a % m) * d
            blocks[a, start : start + d] = x[a]
        index = blocks @ theta
        if inverse is not None:
            index = index + beta * np.sqrt(np.maximum(0, np.einsum("ai,ij,aj->a", blocks, inverse, blocks)))
        arm = int(np.argmax(index))
        reward = users.pay(x, arm)
        scale = min(1.0, 1 / np.linalg.norm(x[arm]))
        shown = scale * blocks[arm], (scale * reward if contexts.link == "identity" else reward)
        for _, (z, paid) in late.counted(arm, shown):
            counted, r = counted + 1, paid
            if gloc:
                gradient = (users.mean(float(np.clip(z @ online, -5, 5))) - r) * z
                gradient = gradient / max(1.0, np.linalg.norm(gradient))
                noise = sigma * np.array([normal(stream.rejections) for _ in range(size)])
                online = online - given.zeta * (gradient + noise)
                r = float(np.clip(z @ online, -1, 1))
            else:
                r = float(np.clip(r, -1, 1))
            v += np.outer(z, z)
            u += r * z
            owed += 1
            if counted < due:
                continue
            due = counted + max(1, int(given.refresh * counted))
            v += math.sqrt(owed) * symmetric(stream.rejections, size, sigma)
            u += math.sqrt(owed) * sigma * np.array([normal(stream.rejections) for _ in range(size)])
            owed = 0
            upsilon = sigma * math.sqrt(counted) * level
            inverse = np.linalg.inv(v + 2 * upsilon * np.eye(size))
            theta = inverse @ u
            beta = math.sqrt(sigma / slope * math.sqrt(size * counted))
            if not gloc:
                beta = 2 * sigma * math.sqrt(size * math.log(horizon))
                spread = math.sqrt(3 * upsilon) + sigma * math.sqrt(size * counted / upsilon)
                beta += spread * size * math.log(horizon)
        rows.append((users.regret, arm, users.error(theta.reshape(m, d))))
    return rows


def without_privacy(instance, words):
    """LinUCB and greedy least squares, solved afresh at every step."""
    contexts, given = instance.contexts, instance.parameters
    users = Users(contexts, Stream(words))
    d, m = contexts.dimension, contexts.models
    gram = np.repeat(given.ridge * np.eye(d)[None], m, axis=0)
    moment = np.zeros((m, d))
    width = getattr(given, "width", 0.0)
    warm = contexts.arms * getattr(given, "warm_up", 0) if m > 1 else 0
    rows, late, counted = [], Late(instance), 0
    for t in range(1, instance.horizon + 1):
        x = users.features()
        index = [
            x[a] @ np.linalg.solve(gram[a % m], moment[a % m])
            + width * math.sqrt(x[a] @ np.linalg.solve(gram[a % m], x[a]))
            for a in range(contexts.arms)
        ]
        arm = (t - 1) % contexts.arms if counted < warm or t <= warm else int(np.argmax(index))
        reward = users.pay(x, arm)
        for b, (own, r) in late.counted(arm, (x[arm], reward)):
            counted += 1
            gram[b % m] += np.outer(own, own)
            moment[b % m] += r * own
        estimate = np.array([np.linalg.solve(gram[i], moment[i]) for i in range(m)])
        rows.append((users.regret, arm, users.error(estimate)))
    return rows


def root_coefficients(count: int) -> list[float]:
    """1, 1/2, 3/8, ..."""
    found = [1.0]
    for j in range(1, count):
        found.append(found[-1] * (2 * j - 1) / (2 * j))
    return found


def releases_of(first: int, refresh: float, horizon: int) -> list[int]:
    """After how many users sums are released."""
    due, found = first, []
    while due <= horizon:
        found.append(due)
        due += max(1, int(refresh * due))
    return found


class Released:
    """Noise of a curator's sums, from one release to the next: square root, tree of releases, or tree of users."""

    def __init__(self, instance, generator, numbers: int) -> None:
        given, epsilon, horizon = instance.parameters, instance.epsilon.fixed, instance.horizon
        self.count = max(1, len(releases_of(given.first, given.refresh, horizon)))
        self.paper, self.tree = given.accounting == "paper", given.counter == "tree"
        self.generator, self.numbers, self.nodes, self.normals = generator, numbers, {}, []
        a = analytic(1.0, epsilon, given.delta)
        levels = math.floor(math.log2(horizon if self.paper else self.count)) + 1
        self.f = root_coefficients(self.count)
        if self.paper:
            depth = math.ceil(math.log2(horizon)) + 1
            printed = math.sqrt(16 * depth * 2**2 * math.log(4 / given.delta) ** 2) / epsilon
            self.sd, self.worst = max(printed, 2 * math.sqrt(levels) * a), math.sqrt(depth)
        else:
            self.sd = 1.5 * a * math.sqrt(levels if self.tree else sum(f * f for f in self.f))

    def next(self, place: int, users: int) -> tuple[np.ndarray, float]:
        """Noise of this release for sd 1, and how large it is believed to be."""
        draw = lambda: np.array([normal(self.generator) for _ in range(self.numbers)])  # noqa: E731
        if not self.tree:
            self.normals.append(draw())
            shares = self.f[:place][::-1]
            total = sum(share * z for share, z in zip(shares, self.normals, strict=True))
            return total, math.sqrt(sum(share**2 for share in shares))
        leaf, total = (users if self.paper else place), np.zeros(self.numbers)
        for level in reversed(range(leaf.bit_length())):
            if leaf >> level & 1:
                node = (level, leaf >> level)
                if node not in self.nodes:
                    self.nodes[node] = draw()
                total = total + self.nodes[node]
        return total, self.worst if self.paper else math.sqrt(place.bit_count())


def unpacked(numbers: np.ndarray, d: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix, whose diagonal is longer by sqrt 2, and a vector, longer by ``ratio``."""
    w = np.zeros((d, d))
    w[np.triu_indices(d)] = numbers[:-d]
    return w + w.T + np.diag((math.sqrt(2) - 2) * np.diag(w)), ratio * numbers[-d:]


def jointly(instance, words, greedily: bool):
    """LinUCB, or greedy least squares, on a curator's private sums."""
    contexts, given, horizon = instance.contexts, instance.parameters, instance.horizon
    stream = Stream(words)
    users = Users(contexts, stream)
    d, m = contexts.dimension, contexts.models
    numbers = d * (d + 3) // 2
    noise = Released(instance, stream.rejections, m * numbers)
    gram, moment, estimate, inverse = np.zeros((m, d, d)), np.zeros((m, d)), np.zeros((m, d)), np.zeros((m, d, d))
    ratio, many = 1.0 if noise.paper else math.sqrt(2), noise.count * m
    rows, late, counted, released, due, beta = [], Late(instance), 0, 0, given.first, 0.0
    for t in range(1, horizon + 1):
        x = users.features()
        bonus = [0 if greedily else beta * math.sqrt(max(0, x[a] @ inverse[a % m] @ x[a])) for a in range(len(x))]
        index = [x[a] @ estimate[a % m] + bonus[a] for a in range(len(x))]
        arm = int(np.argmax(index)) if released else (t - 1) % len(x)
        reward = users.pay(x, arm)
        for b, (z, r) in late.counted(arm, inside(x[arm], reward, 1.0, 1.0)):
            counted += 1
            gram[b % m] += np.outer(z, z)
            moment[b % m] += r * z
            if counted < due:
                continue
            due, released = counted + max(1, int(given.refresh * counted)), released + 1
            drawn, spread = noise.next(released, counted)
            s = noise.sd * spread
            bound = s * (2 * math.sqrt(d) + 2 * math.sqrt(math.log(6 * many / given.alpha)))
            if noise.paper:
                bound = math.sqrt(2) * s * (4 * math.sqrt(d) + 2 * math.log(2 * horizon / given.alpha))
            shift = given.ridge + (2 * given.shift * s * math.sqrt(d) if greedily else 2 * bound)
            for i in range(m):
                w, h = unpacked(noise.sd * drawn[i * numbers : (i + 1) * numbers], d, ratio)
                v = gram[i] + w + shift * np.eye(d)
                if np.linalg.eigvalsh(v)[0] > 0:
                    estimate[i], inverse[i] = np.linalg.solve(v, moment[i] + h), np.linalg.inv(v)
            if not greedily:
                e = ratio * s * (math.sqrt(d) + math.sqrt(2 * math.log(3 * many / given.alpha)))
                root = math.sqrt(given.ridge + 3 * bound) - math.sqrt(given.ridge)
                beta = given.width + given.confidence * (e / math.sqrt(given.ridge + bound) + root)
        rows.append((users.regret, arm, users.error(estimate)))
    return rows


def securely(instance, words):
    """LinUCB, or greedy least squares, on secure sums: rounded numbers, one noise for each sum, modulo m."""
    contexts, given, horizon = instance.contexts, instance.parameters, instance.horizon
    stream = Stream(words)
    users, coin = Users(contexts, stream), stream.rejections.uniform
    d, m = contexts.dimension, contexts.models
    numbers, greedily = d * (d + 3) // 2, given.confidence == "off"
    g, variance = max(1000, math.ceil(134 * math.sqrt(numbers))), dist_linucb.variance_of(instance)
    ends = [given.first]
    while ends[-1] <= horizon:
        ends.append(max(ends[-1] + 1, int(given.growth * ends[-1])))
    count = max(1, len(ends) - 1)
    x4 = math.log(4 * numbers * m * count / given.alpha)
    tau, many = math.ceil(math.sqrt(2 * variance * x4) + x4 / 3), count * m
    total, batch = np.zeros((m, numbers)), np.zeros((m, numbers))
    estimate, inverse = np.zeros((m, d)), np.zeros((m, d, d))
    rows, late, counted, opened, beta = [], Late(instance), 0, 0, 0.0
    for t in range(1, horizon + 1):
        x = users.features()
        bonus = [beta * math.sqrt(max(0, x[a] @ inverse[a % m] @ x[a])) for a in range(len(x))]
        index = [x[a] @ estimate[a % m] + bonus[a] for a in range(len(x))]
        arm = int(np.argmax(index)) if opened else (t - 1) % len(x)
        reward = users.pay(x, arm)
        for b, (z, r) in late.counted(arm, inside(x[arm], reward, 1.0, 1.0)):
            counted += 1
            own = [z[i] * z[j] / (math.sqrt(2) if i == j else 1) for i in range(d) for j in range(i, d)]
            own += list(r * z / math.sqrt(2))
            batch[b % m] += [math.floor(g * value + coin()) for value in own]
            if counted < ends[opened]:
                continue
            size = counted - (ends[opened - 1] if opened else 0)
            opened += 1
            modulus = 2 * (size * (g + 1) + tau) + 1
            for i, k in itertools.product(range(m), range(numbers)):
                seen = (batch[i, k] + poisson(variance / 2, coin) - poisson(variance / 2, coin)) % modulus
                total[i, k] += seen if 2 * seen < modulus else seen - modulus
            batch[:] = 0
            s = math.sqrt(variance * opened) / g
            bound = s * (2 * math.sqrt(d) + 2 * math.sqrt(math.log(6 * many / given.alpha)))
            for i in range(m):
                w, u = unpacked(total[i] / g, d, math.sqrt(2))
                shift = given.ridge + (2 * given.shift * s * math.sqrt(d) if greedily else 2 * bound)
                if np.linalg.eigvalsh(w + shift * np.eye(d))[0] > 0:
                    inverse[i] = np.linalg.inv(w + shift * np.eye(d))
                    estimate[i] = np.linalg.solve(w + shift * np.eye(d), u)
            if not greedily:
                e = math.sqrt(2) * s * (math.sqrt(d) + math.sqrt(2 * math.log(3 * many / given.alpha)))
                root = math.sqrt(given.ridge + 3 * bound) - math.sqrt(given.ridge)
                beta = given.width + given.confidence * (e / math.sqrt(given.ridge + bound) + root)
        rows.append((users.regret, arm, users.error(estimate)))
    return rows


POLICIES = {
    "dist-linucb": securely,
    "jdp-linucb": lambda instance, words: jointly(instance, words, greedily=False),
    "jdp-greedy": lambda instance, words: jointly(instance, words, greedily=True),
    "ldp-ols": ldp_ols,
    "ldp-sgd": ldp_sgd,
    "ldp-linucb": lambda instance, words: zheng(instance, words, gloc=False),
    "ldp-gloc": lambda instance, words: zheng(instance, words, gloc=True),
    "linucb": without_privacy,
    "greedy-ols": without_privacy,
}


def played(policy: str, instance, words) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regret, arms and error of one trial, each of shape (horizon,)."""
    regret, labels, error = zip(*POLICIES[policy](instance, words), strict=True)
    return np.array(regret), np.array(Stream(words).labels(instance.contexts.arms))[list(labels)], np.array(error)
