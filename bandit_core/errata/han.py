"""Errata of Han, Liang, Wang and Zhang 2021, Generalized Linear Bandits with Local Differential Privacy."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.errata.erratum import Erratum, Outcome, compare
from bandit_core.mechanisms import gaussian, l2_ball

PAPER = "Han, Liang, Wang and Zhang 2021"


def radius() -> Outcome:
    dimension, epsilon = 2, 1.0
    gammas = dimension * math.gamma((dimension + 1) / 2) / math.gamma(dimension / 2 + 1)
    printed = (math.sqrt(math.pi) * math.exp(epsilon) + 1) / 2 * gammas
    half_sphere = math.gamma(dimension / 2) / (math.sqrt(math.pi) * math.gamma((dimension + 1) / 2))

    def mean(r: float) -> float:  # of the answer along x, for |x| = R = 1
        return r * half_sphere * math.tanh(epsilon / 2)

    measure = "mean answer along a vector of length 1 (two dimensions, ε = 1)"
    return compare(measure, "equal to", 1.0, mean(printed), mean(l2_ball.radius(dimension, epsilon)))


def zero_vector() -> Outcome:
    rng = np.random.default_rng(1)
    sphere = rng.normal(size=(4000, 3))
    printed = float(np.mean(sphere @ np.zeros(3) > 0))
    answers = l2_ball.release(np.zeros((4000, 3)), 1.0, rng)
    measure = "share of answers on one side, for the vector 0 of an arm that was not played"
    return compare(measure, "equal to", 0.5, printed, float(np.mean(answers[:, 0] > 0)), tolerance=0.08)


def regression_noise() -> Outcome:
    most, size = 4.0, 2.0  # C_B = 2, c_r = 1
    angle = np.linspace(0, math.pi, 181)
    a, b = np.meshgrid(angle, angle)

    def worst(spread: float) -> float:
        """Largest squared distance of two users' statistics, each measured in its noise; angles of x and x'."""
        matrix = (np.cos(a) ** 2 - np.cos(b) ** 2) ** 2 + (np.sin(a) ** 2 - np.sin(b) ** 2) ** 2
        matrix += (np.cos(a) * np.sin(a) - np.cos(b) * np.sin(b)) ** 2
        vector = size**2 * ((np.cos(a) + np.cos(b)) ** 2 + (np.sin(a) + np.sin(b)) ** 2)  # rewards 1 and -1
        return float(np.max(size**4 * matrix / spread**2 + vector / size**2))

    measure = "squared sensitivity of a user's statistics in units of their noise, for contexts of length 2"
    return compare(measure, "at most", most, worst(2 * size), worst(2 * size**2))


def restored_lines() -> Outcome:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 2))

    def spent(each: float) -> float:
        answers = points / np.linalg.norm(points, axis=1, keepdims=True) * l2_ball.radius(2, each)
        full, nothing = np.array([1.0, 0.0]), np.zeros(2)
        told = l2_ball.log_density(answers, full, each) - l2_ball.log_density(answers, nothing, each)
        two_users = l2_ball.log_density(answers, full, each) - l2_ball.log_density(answers, -full, each)
        # Another user may be sent to another arm: one arm's message turns from real to synthetic, one the other way.
        return float(max(2 * np.abs(told).max(), np.abs(two_users).max()))

    measure = "ε that the messages of one user to all arms give away together, for a budget of 1"
    return compare(measure, "at most", 1.0, spent(1.0), spent(0.5), tolerance=1e-6)


def margin_range() -> Outcome:
    width = 1e-9
    measure = "chance of a tie that the margin condition allows (γ = 1, gaps below 1e-9); β = 0, and 0.05"
    return compare(measure, "below", 1.0, width**0.0, width**0.05)


def gaussian_range() -> Outcome:
    epsilon, delta = 12.0, 0.2  # each of the two mechanisms at half of both
    classical = math.sqrt(2 * math.log(1.25 / (delta / 2))) / (epsilon / 2)
    analytic = gaussian.analytic_sd(1.0, epsilon / 2, delta / 2)
    measure = "δ that a Gaussian mechanism at ε/2 = 6 really has, asked for 0.1"
    return compare(
        measure,
        "at most",
        delta / 2,
        gaussian.smallest_delta(1.0, classical, epsilon / 2),
        gaussian.smallest_delta(1.0, analytic, epsilon / 2),
        tolerance=1e-6,
    )


ERRATA = tuple(
    Erratum(name, PAPER, place, printed, corrected, why, check, "contextual")
    for name, place, printed, corrected, why, check in (
        (
            "han-radius",
            "Lemma 2.2",
            r"radius with the factor $\frac{\sqrt\pi e^\epsilon+1}{2}$",
            r"$r=R\sqrt\pi\,\frac{e^\epsilon+1}{e^\epsilon-1}\,\frac{\Gamma((d+1)/2)}{\Gamma(d/2)}$",
            "A fraction lost its line. Only with the corrected radius the answers average to the vector.",
            radius,
        ),
        (
            "han-zero-vector",
            "Lemma 2.2",
            r"$\tilde X=(2b-1)x$, also for $x=0$",
            "a random direction where x = 0",
            "0 is no direction, so there is no half sphere to choose. The synthetic messages for arms that were not "
            "played are exactly this case.",
            zero_vector,
        ),
        (
            "han-regression-noise",
            "section 3.1",
            r"noise on $xx^\top$ of variance $4C_B^2\sigma^2$",
            r"$4C_B^4\sigma^2$",
            "The product of two contexts grows with the square of their length. The printed noise is too small for "
            "contexts longer than √2.",
            regression_noise,
        ),
        (
            "han-restored-lines",
            "Algorithm 2, lines 15 to 19",
            r"the lines are lost in our copy; $Z_{i,t}$ and $Z_{t,i}$ are mixed, and $a$ has two meanings in (7)",
            r"play $\arg\max_{a\in\hat K_t}\mu(X_t^\top\hat\theta_a)$; send a real message for that arm and one made "
            r"from zeros for the others, each at $(\epsilon/2,\delta/2)$",
            "Two users may be sent to two different arms: then two messages change, and each may spend half.",
            restored_lines,
        ),
        (
            "han-margin-range",
            "the bounds under a margin, Theorem 3.3",
            r"$0\le\beta<1$",
            r"$0<\beta<1$, as in Assumption 4",
            "At β = 0 the condition allows arms that tie for every user, so it is none.",
            margin_range,
        ),
        (
            "han-gaussian-range",
            "Proposition 4.1",
            r"no range of $\epsilon$",
            r"each mechanism runs at $\epsilon/2$, and the Gaussian one is proved up to 1: $\epsilon\le2$ "
            "(beyond, calibrate exactly)",
            "For large budgets the classical noise is too small for the δ it promises.",
            gaussian_range,
        ),
    )
)
