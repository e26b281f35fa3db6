"""Bounds under central privacy, where a trusted curator sees the rewards and only what it publishes is private.

Lower bounds of Azize and Basu (arXiv 2209.02570) and of Azize and others (arXiv 2505.05613); upper bounds of the
policies, each with its theorem. No bound of local privacy stands here: those are larger and do not hold for a curator.

What the hardest instance costs every policy of a trusted curator: as printed, with its range, and derived here.
"""

import math
from functools import partial

import numpy as np

from bandit_core.model import Bound, Guarantee, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.theory import classic, definitions, divergences, finite_time_bounds
from bandit_core.theory.classic import BEST_IS_PERFECT, for_unit_rewards, logarithmic, sum_over_gaps
from bandit_core.theory.stated import stated

NO_ROOT = "its proof needs the term sqrt(2 ln t / n), which the index as printed lacks"


def d_eps(x: np.ndarray | float, y: np.ndarray | float, epsilon: np.ndarray | float) -> np.ndarray:
    """``inf over z between x and y of epsilon |z - x| + d(z, y)`` for chances x, y (shapes that broadcast).

    What one reward of mean x tells about y through a curator with budget ``epsilon`` (arXiv 2505.05613), in nats:
    part of the way from x to y is hidden by the noise at epsilon per unit, the rest is plain KL. Closed form: with
    z = y / (y + (1 - y) e^epsilon), for x < y it is d(x, y) if x >= z, else -ln(1 - y (1 - e^-epsilon)) - epsilon x.

    >>> float(d_eps(0.2, 0.6, 100.0).round(4)), float(d_eps(0.2, 0.6, 0.001).round(7))
    (0.3348, 0.0003999)
    """
    x, y, epsilon = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float), np.asarray(epsilon, float))
    x, y = np.where(x > y, 1 - x, x), np.where(x > y, 1 - y, y)
    shrunk = y * np.exp(-epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.where(y < 1, shrunk / (shrunk + (1 - y)), 1.0)
        left = shrunk + (1 - y)  # 1 - y (1 - e^-epsilon): the first form keeps what is near 0, the second near 1
        evidence = np.where(left < 0.5, -np.log(left), -np.log1p(y * np.expm1(-epsilon)))
        hidden = np.where(y < 1, evidence, epsilon) - epsilon * x
    return np.where(x >= turn, divergences.bernoulli_kl(x, y), np.maximum(hidden, 0.0))


def cheapest_shift(distribution: distributions.RewardDistribution, target: float) -> float:
    """Smallest total variation between a distribution on [0, 1] and one there with mean ``target`` >= its own.

    The lowest rewards are moved to 1. For a Bernoulli arm this is the gap.
    """
    if distribution.atoms is not None:
        rewards, weights = distribution.atoms
    else:
        count = 20_000
        rewards, weights = distribution.quantile((np.arange(count) + 0.5) / count), np.full(count, 1 / count)
    gained = np.append(0.0, np.cumsum(weights * (1 - rewards)))
    moved = np.append(0.0, np.cumsum(weights))
    return float(np.interp(target - distribution.expected, gained, moved))


# --- what every centrally private policy must lose -----------------------------------------------------------------


def _d_eps_constant(setup: RunSetup, epsilon: float, binary: classic.BinaryArms) -> float:
    """Sum of gap / d_eps(p_a, p_*) over the worse arms."""
    information = d_eps(binary.chances, binary.chances.max(), epsilon)
    return classic.per_log(classic.true_gaps(setup), information)


def _azize_basu(setup: RunSetup, epsilon: float) -> Bound:
    bound = stated("azize-basu")
    binary = classic.binary_arms(setup)
    if binary is None and not classic.unit_rewards(setup):
        return bound.ruled_out("drawn for rewards in [0, 1] only, and some arm pays outside")
    if (binary.chances.max() if binary is not None else setup.means.max()) >= 1:
        return bound.ruled_out(BEST_IS_PERFECT)
    noisy = 6 * epsilon
    if binary is not None:
        best = binary.chances.max()
        information = np.minimum(divergences.bernoulli_kl(binary.chances, best), noisy * (best - binary.chances))
        return bound.with_curve(logarithmic(classic.per_log(classic.true_gaps(setup), information)))
    target = float(setup.means.max())
    return bound.with_curve(
        logarithmic(
            classic.per_distribution(
                setup, lambda worse, _: min(divergences.kinf(worse, target), noisy * cheapest_shift(worse, target))
            )
        )
    )


def evidence(epsilon: float) -> finite_time_bounds.Evidence:
    """What one pull can tell whoever sees the actions alone, at every number of users.

    For a sequence a of actions let f(x) be its chance if the rewards along it are x; f(x) <= e^epsilon f(x') where one
    reward differs. Averaged over all rewards but one, F has that property, too. So if one reward's chance of the higher
    amount is z instead of y > z, the mean of F changes at most by the factor (1 - k z)/(1 - k y), k = 1 - e^-epsilon,
    which it reaches where F is e^epsilon times smaller at the higher amount; and if arm a's is, the chance of the whole
    sequence by this factor to the power of the number of times that a stands in it. With a stop at z between x and y,

        KL(actions under x, actions under y) <= E_x[N_a] (d(x, z) + ln((1 - k z)/(1 - k y))),

    the first part for whoever sees every reward. The best z has the odds e^epsilon x/(1 - x), or is y, and then the
    bracket is `d_eps`: it binds at every t, not only in the limit. Two arms may change at once, for their factors are
    multiplied. For other distributions: the factor is at most 1 + TV (e^epsilon - 1), and KL holds as ever.
    """

    def any_distributions(
        distribution: distributions.RewardDistribution, other: distributions.RewardDistribution
    ) -> float:
        plain, variation = (
            divergences.relative_entropy(distribution, other),
            divergences.total_variation(distribution, other),
        )
        noisy = epsilon + math.log(variation + (1 - variation) * math.exp(-epsilon)) if variation > 0 else 0.0
        return min(plain, noisy)

    return finite_time_bounds.Evidence(
        "central",
        any_distributions,
        lambda p, q: d_eps(p, q, epsilon),
        f"{CURATOR}; what one pull tells through the actions is d_epsilon (two amounts) or min(KL, "
        "ln(1 + TV (e^epsilon - 1)))",
        r"d_\epsilon(\mu_a,\mu_*)",
    )


def finite_time(setup: RunSetup, guarantee: Guarantee | None = None) -> list[Bound]:
    """The floors that hold at every t for what the run keeps: with a failure probability those without privacy."""
    if guarantee is not None and guarantee.delta > 0:
        return finite_time_bounds.without_privacy(setup)
    return finite_time_bounds.finite_time(setup, evidence(_kept_epsilon(setup, guarantee)))


def _kept_epsilon(setup: RunSetup, guarantee: Guarantee | None) -> float:
    """The epsilon that the run really keeps; without a guarantee the chosen one."""
    return setup.fixed_epsilon if guarantee is None or guarantee.epsilon is None else guarantee.epsilon


def lower_bounds(setup: RunSetup, guarantee: Guarantee | None = None) -> list[Bound]:
    """What every centrally private policy must lose: the bounds without privacy, and those of a curator's noise.

    ``guarantee`` is what the run really keeps: a run that spends twice the chosen epsilon is bound by less, and the
    bounds of a curator's noise are stated for pure privacy only. Without it, the chosen epsilon, pure.
    """
    epsilon = _kept_epsilon(setup, guarantee)
    exact = classic.of_two_amounts(setup, stated("central-d-eps-bound"), partial(_d_eps_constant, setup, epsilon))
    private = [exact, _azize_basu(setup, epsilon), *minimax(setup, epsilon)]
    if guarantee is not None:
        private = [bound.judged(guarantee) for bound in private]
    return [*finite_time(setup, guarantee), *classic.lower_bounds(setup), *private]


# --- what the policies lose at most --------------------------------------------------------------------------------


def _input_budget(setup: RunSetup) -> float:
    """The epsilon that Algorithms 1 and 2 of Tossou and Dimitrakakis are run with.

    Their hybrid counter gives the same reward to a tree and to a sum of blocks, each at the input epsilon, and so
    spends twice that; the tight run is the printed algorithm at half the chosen epsilon.
    """
    return setup.fixed_epsilon * (1.0 if setup.parameters.accounting == "paper" else 0.5)


def theorem_3_2_term(gap: np.ndarray, t: np.ndarray, epsilon: float) -> np.ndarray:
    """``inf over 0 < l < 1 of max(B (ln B + 7), 8 ln t / (l^2 gap))`` with ``B = 4 sqrt(8) ln t / (epsilon (1 - l))``.

    The first rises with l and the second falls, so the infimum is where they meet, which bisection finds.
    Arguments broadcast; the result is in reward units.
    """
    gap, t = np.broadcast_arrays(np.asarray(gap, float), np.asarray(t, float))
    clock = np.log(t)

    def both(logit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(over="ignore"):
            noise = 4 * math.sqrt(8) * clock / epsilon * (1 + np.exp(logit))
            return noise * (np.log(np.where(noise > 0, noise, 1.0)) + 7), 8 * clock / gap * (1 + np.exp(-logit)) ** 2

    low, high = np.full(gap.shape, -300.0), np.full(gap.shape, 300.0)
    for _ in range(64):
        middle = (low + high) / 2
        rising, falling = both(middle)
        low, high = np.where(rising < falling, middle, low), np.where(rising < falling, high, middle)
    return np.maximum(*both((low + high) / 2))


def dp_ucb_bound(setup: RunSetup) -> list[Bound]:
    """DP-UCB-BOUND: Theorem 3.2 of Tossou and Dimitrakakis, the infimum over lambda_0 taken for every arm."""
    epsilon = _input_budget(setup)
    bound = stated(
        "theorem-3-2",
        sum_over_gaps(
            setup, lambda gap, t: theorem_3_2_term(gap, t, epsilon) + (1 + math.pi**2) * gap * np.ones_like(t)
        ),
        epsilon=f"{epsilon:g}",
    )
    return for_unit_rewards(setup, bound.only_if(setup.parameters.index != "as printed", NO_ROOT))


def dp_ucb(setup: RunSetup) -> list[Bound]:
    """DP-UCB: Theorem 3.3 of Tossou and Dimitrakakis."""
    epsilon = _input_budget(setup)
    bound = stated(
        "theorem-3-3",
        sum_over_gaps(
            setup,
            lambda gap, t: (
                np.maximum(32 * math.sqrt(2) * np.log(t) ** 2 / epsilon, 32 * np.log(t) / gap) + (1 + math.pi**2) * gap
            ),
        ),
        epsilon=f"{epsilon:g}",
    )
    return for_unit_rewards(setup, bound.only_if(setup.parameters.index != "as printed", NO_ROOT))


def dp_ucb_int(setup: RunSetup) -> list[Bound]:
    """DP-UCB-INT: Theorem 3.5 of Tossou and Dimitrakakis, as printed.

    The claim cannot hold for every t as it stands. The noise of an arm's first release does not depend on t: with a
    probability of about exp(-c sqrt(ln t)) / 2 it is so low that the bonus sqrt(2 ln t / n) does not lift the best
    arm again before t, and then all of t is lost. t exp(-c sqrt(ln t)) outgrows every constant times ln t.
    """
    delta, v, rule = (getattr(setup.parameters, name) for name in ("delta", "v", "accounting"))
    epsilon = setup.fixed_epsilon
    first = definitions.release_interval(epsilon, delta, v, rule)
    constant = 1 + 4 * definitions.zeta(1.5) + first
    bound = stated(
        "theorem-3-5-as-printed",
        sum_over_gaps(setup, lambda gap, t: gap * constant + 8 * np.log(t) / gap),
        first=first,
    )
    return for_unit_rewards(
        setup, bound.only_if(epsilon <= 1, f"stated for epsilon up to 1, and epsilon is {epsilon:g}")
    )


def private_ucb(setup: RunSetup) -> list[Bound]:
    """Private-UCB: the order of its regret, with the factor K of its budget split in the variant of 2015."""
    arms, epsilon, horizon = len(setup.arms), setup.fixed_epsilon, max(2, setup.horizon)
    old = setup.parameters.variant == "2015"
    noise = (arms if old else 1) * math.log(horizon) ** 2 * math.log(arms * horizon) / epsilon
    factor = r"K\ln^2T\,\ln(KT)" if old else r"\ln^2T\,\ln(KT)"
    bound = stated(
        "order-of-private-ucb",
        sum_over_gaps(setup, lambda gap, t: noise + np.log(t) / gap),
        without="" if old else "; without the factor K, by parallel composition",
        factor=factor,
    )
    return for_unit_rewards(setup, bound)


def _dp_se_pulls(gap: float, arms: int, epsilon: float, beta: float, most: float) -> float:
    """Most pulls of an arm before DP-SE drops it, on the event that no estimate is off; at most ``most``."""
    pulls, epoch = 0.0, 0
    while pulls < most:
        epoch += 1
        width = 2.0**-epoch
        rewards = 32 * math.log(8 * arms * epoch**2 / beta) / width**2
        noise = 8 * math.log(4 * arms * epoch**2 / beta) / (epsilon * width)
        pulls += math.floor(max(rewards, noise)) + 1
        if width <= gap:
            break
    return min(pulls, most)


def dp_se(setup: RunSetup) -> list[Bound]:
    """DP-SE: an explicit bound from the algorithm's own epochs, and the orders of Sajed and Sheffet 2019.

    Explicit bound: in epoch e, R > 32 ln(8|S|e^2/beta)/D^2 and R > 8 ln(4|S|e^2/beta)/(eps D) make both margins h and
    c smaller than D/8, so an arm with gap >= D = 2^-e is dropped then unless an estimate is off by more than h + c.
    That happens with probability at most beta/(2 e^2) in epoch e (Hoeffding, Laplace), pi^2 beta/12 in all, and costs
    at most t x the largest gap.
    """
    arms, epsilon, horizon = len(setup.arms), setup.fixed_epsilon, setup.horizon
    beta = setup.parameters.beta
    chance = 1 / horizon if beta == "auto" else float(beta)
    explicit = classic.until_dropped(
        setup, lambda gap: _dp_se_pulls(gap, arms, epsilon, chance, float(horizon)), math.pi**2 / 12 * chance
    )
    bounds = [
        stated("epochs-until-dropped", explicit),
        stated(
            "order-of-dp-se",
            lambda t: (classic.gap_sum(setup, -1) + arms / epsilon) * math.log(max(2, horizon)) + 0 * t,
        ),
        _worst_case_order(setup, "Sajed and Sheffet 2019"),
    ]
    return for_unit_rewards(setup, *bounds)


def _worst_case_order(setup: RunSetup, source: str) -> Bound:
    arms, epsilon = len(setup.arms), setup.fixed_epsilon
    return stated(
        "central-distribution-free-order",
        lambda t: np.sqrt(arms * t * np.log(t)) + arms * np.log(t) / epsilon,
        source=source,
    )


def adap_ucb_rest(alpha: float) -> float:
    """Most pulls of a worse arm on average in episodes that a wrong estimate started (alpha above 1); see `adap_ucb`.

    The sums go up to 2^63 users, which no horizon exceeds.

    >>> round(adap_ucb_rest(3.1), 3)
    2.472
    """
    sizes = 2.0 ** np.arange(64)
    own = float(np.sum(sizes ** (1 - alpha)))
    best = float(np.sum(sizes[:, None] * (sizes[:, None] + sizes) ** -alpha))
    return 1.5 * (own + best)


def adap_ucb(setup: RunSetup) -> list[Bound]:
    """AdaP-UCB: a bound of our own; the paper's constant could not be confirmed.

    Proof. An arm with N pulls (1, 2, 4, ...) has an estimate from its last L >= N/2 of them. Let an episode start at
    pull t. Unless an estimate is off, mu_* <= index of the best arm <= index of arm a <= mu_a + 2 m(t, L), with
    m(t, L) = sqrt(alpha ln t / (2 L)) + alpha ln t / (epsilon L). So L <= l, the root of gap = 2 m(t, l), and the
    episode ends with N <= 4 l pulls. An estimate is off in one direction with probability at most 3/2 t^-alpha
    (Hoeffding t^-alpha, Laplace t^-alpha / 2). It matters for arm a with N pulls only at t > N, and for the best arm
    with M pulls only at t >= N + M, where margins are wider than at that number; such an episode has N pulls. So these
    episodes cost at most 3/2 [sum_N N^(1 - alpha) + sum_{N, M} N (N + M)^-alpha] pulls (`adap_ucb_rest`), over powers
    of two N and M up to the number of users.
    """
    alpha, epsilon = float(setup.parameters.alpha), setup.fixed_epsilon
    rest = adap_ucb_rest(alpha) if alpha > 1 else 0.0

    def cost(gap: np.ndarray, t: np.ndarray) -> np.ndarray:
        root = np.sqrt(1 + 4 * gap / epsilon) - 1
        return gap * (32 * alpha * np.log(t) / (epsilon * root) ** 2 + rest + 1)

    bound = stated("adap-ucb", sum_over_gaps(setup, cost))
    return for_unit_rewards(setup, bound.only_if(alpha > 1, f"proved for alpha above 1, and alpha is {alpha:g}"))


def adap_klucb(setup: RunSetup) -> list[Bound]:
    """AdaP-KLUCB: the shape of Azize and Basu's bound, whose constants are not given."""
    alpha, epsilon = float(setup.parameters.alpha), setup.fixed_epsilon
    bound = stated("order-of-adap-klucb")
    binary = classic.binary_arms(setup)
    if binary is None or not binary.zero_one:
        return [bound.ruled_out("proved for arms that pay 0 or 1")]
    if alpha <= 3:
        return [bound.ruled_out(f"proved for alpha above 3, and alpha is {alpha:g}")]
    gaps = classic.true_gaps(setup)
    information = np.minimum(divergences.bernoulli_kl(binary.chances, binary.chances.max()), epsilon * gaps)
    slope, rest = classic.per_log(gaps, information), int((gaps > 0).sum()) * alpha / (alpha - 3)
    return [bound.with_curve(lambda t: slope * np.log(t) + rest)]


def lazy(setup: RunSetup) -> list[Bound]:
    """Lazy-DP-TS and Anytime-Lazy-UCB: the order that both share."""
    epsilon = setup.fixed_epsilon
    order = stated(
        "order-with-lazy-releases", sum_over_gaps(setup, lambda gap, t: np.log(t) / np.minimum(gap, epsilon))
    )
    worst = _worst_case_order(setup, "Hu and Hegde 2022")
    return for_unit_rewards(setup, order, worst)


def leading_term(setup: RunSetup, policy: str) -> list[Bound]:
    """DP-KLUCB and DP-IMED: their leading term, growth x the d_eps constant."""
    growth, epsilon = float(setup.parameters.growth), setup.fixed_epsilon
    bits, perfect = "proved for arms that pay 0 or 1", "stated for a best arm that does not always pay 1"
    bound = stated("central-leading-term", policy=policy)
    constant = partial(_d_eps_constant, setup, epsilon)
    return [classic.of_two_amounts(setup, bound, lambda binary: growth * constant(binary), bits, perfect)]


def adac_ucb(setup: RunSetup, rho: float) -> list[Bound]:
    """AdaC-UCB at the concentrated budget ``rho``: proved here, as the paper was not at hand for its constants.

    Let L = alpha ln t, b(n, s) = sqrt((1/(2n) + 1/(rho n^2)) alpha ln s) the bonus at step s, and n_1 the n with
    2 b(n, t) = gap, at most 2 L / gap^2 + 2 sqrt(L / rho) / gap. The noisy mean of n rewards of [0, 1] is sub-Gaussian
    with variance 1/(4n) + 1/(2 rho n^2), so it leaves its mean by b(n, s) on one side with probability at most
    s^-alpha. A worse arm that is chosen with n >= n_1 rewards in its mean needs such a deviation, its own or the best
    arm's. Before that, n < n_1: an arm with n in its last batch has at most 2 n pulls, and 4 n after the next batch, or
    it has the first pull alone: 4 n_1 + 1 pulls. As for the deviations, an arm that is chosen with 2^i pulls is pulled
    2^i times, at a step s > 2^i + N, N = 2^m being the pulls of the best arm. The event of one batch only gets rarer
    with s, so in expectation deviations cause at most  sum_i 2^i (2^i + 1)^-alpha + sum_(i, m) 2^i (2^i + 2^m)^-alpha
    pulls, below 1 for alpha >= 3. Both together: 4 n_1 + 2.
    """
    alpha = float(setup.parameters.alpha)
    bound = stated(
        "adac-ucb",
        sum_over_gaps(
            setup,
            lambda gap, t: 8 * alpha * np.log(t) / gap + 8 * np.sqrt(alpha * np.log(t) / rho) + 2 * gap,
        ),
    )
    return for_unit_rewards(setup, bound.only_if(alpha >= 3, f"proved for alpha of at least 3, and alpha is {alpha:g}"))


def gaussian_thompson(setup: RunSetup, factor: float, pre_pulls: int) -> list[Bound]:
    """Gaussian Thompson sampling with draws of variance ``factor`` / (n + 1) after ``pre_pulls`` pulls of each arm.

    Agrawal and Goyal have the shape for factor 1. Rewards divided by sqrt(c), c >= 1, lie in [0, 1] and are drawn for
    with variance 1 / (n + 1), so c ln(t gap^2 / c) / gap follows from theirs.
    """
    bound = stated(
        "order-of-gaussian-thompson-sampling",
        sum_over_gaps(
            setup,
            lambda gap, t: factor / gap * np.log(math.e + t * gap**2 / factor) + (pre_pulls + 1) * gap,
        ),
    )
    return for_unit_rewards(
        setup, bound.only_if(factor >= 1, "it is proved for draws at least as wide as the usual ones")
    )


CURATOR = "the actions are epsilon-differentially private in every single reward, with a trusted curator"
_ONE_ARM = "with one arm there is nothing to learn"


def minimax(setup: RunSetup, epsilon: float) -> list[Bound]:
    """Both bounds on the hardest instance with as many arms; what does not apply is hidden.

    None at epsilon = 0, which an account gives where a delta close to 1 promises nothing.
    """
    if epsilon == 0:
        return []
    return [_as_printed(setup, epsilon), _derived(setup, epsilon)]


def _as_printed(setup: RunSetup, epsilon: float) -> Bound:
    others = len(setup.arms) - 1
    start = others * max(1.0, 1 / (3 * epsilon))
    bound = stated(
        "central-minimax",
        lambda t: np.where(t >= start, np.maximum(np.sqrt(others * t) / 27, others / (131 * epsilon)), 0.0),
    )
    if not others:
        return bound.ruled_out(_ONE_ARM)
    if setup.horizon < start:
        return bound.ruled_out(
            f"it can be relied on from t = (K - 1) max(1, 1/(3 epsilon)) = {math.ceil(start):,} on, and there are "
            f"{setup.horizon:,} users; with rewards in [0, 1] it is wrong before t = (K - 1)/(131 epsilon)"
        )
    return bound


def _derived(setup: RunSetup, epsilon: float) -> Bound:
    """Two instances: arm 1 has mean 1/2 and the others 1/2 - D, or one of the others, rarely pulled, has 1/2 + D.

    The rare one is pulled t/(K-1) times at most, so the two are told apart by t/(K-1) d_eps(1/2 - D, 1/2 + D) nats
    (`central.evidence`), and one of them costs t D/8 exp(-that) (Bretagnolle and Huber). d_eps <= 2 D epsilon; at D =
    1/2 and t <= (K-1)/epsilon this is at least t/(16 e), and regret does not fall. The rest is the part without
    privacy."""
    others = len(setup.arms) - 1
    plain = classic.two_point_argument(others + 1, 2 * math.log(3), 0.5, 0.25)
    bound = stated(
        "central-minimax-derived", lambda t: np.maximum(plain(t), np.minimum(t, others / epsilon) / (16 * math.e))
    )
    if not others:
        return bound.ruled_out(_ONE_ARM)
    return bound if classic.unit_rewards(setup) else bound.ruled_out("derived for rewards in [0, 1]")
