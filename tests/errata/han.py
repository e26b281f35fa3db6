"""Errata of Han, Liang, Wang and Zhang 2021, Generalized Linear Bandits with Local Differential Privacy."""

import math

import numpy as np

from bandit_core.literature.erratum import Check
from bandit_core.mechanisms import gaussian, l2_ball


def radius() -> Check:
    dimension, epsilon = 2, 1.0
    gammas = dimension * math.gamma((dimension + 1) / 2) / math.gamma(dimension / 2 + 1)
    printed = (math.sqrt(math.pi) * math.exp(epsilon) + 1) / 2 * gammas
    half_sphere = math.gamma(dimension / 2) / (math.sqrt(math.pi) * math.gamma((dimension + 1) / 2))

    def mean(r: float) -> float:  # of the answer along x, for |x| = R = 1
        return r * half_sphere * math.tanh(epsilon / 2)

    measure = "mean answer along a vector of length 1 (two dimensions, ε = 1)"
    return Check(measure, "equal to", 1.0, mean, printed, l2_ball.radius(dimension, epsilon))


def zero_vector() -> Check:
    zeros, rng = np.zeros((4000, 3)), np.random.default_rng(1)

    def on_one_side(literal: bool) -> float:
        if literal:  # the points z with <z, X> > 0 for X = 0
            return float(np.mean(np.sum(rng.normal(size=zeros.shape) * zeros, axis=1) > 0))
        return float(np.mean(l2_ball.release(zeros, 1.0, rng)[:, 0] > 0))

    measure = "share of answers on one side, for the vector 0 of an arm that was not played"
    return Check(measure, "equal to", 0.5, on_one_side, True, False, tolerance=0.08)


def regression_noise() -> Check:
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
    return Check(measure, "at most", most, worst, 2 * size, 2 * size**2)


def gaussian_range() -> Check:
    epsilon, delta = 12.0, 0.2  # each of the two mechanisms at half of both
    classical = math.sqrt(2 * math.log(1.25 / (delta / 2))) / (epsilon / 2)
    analytic = gaussian.analytic_sd(1.0, epsilon / 2, delta / 2)
    measure = "δ that a Gaussian mechanism at ε/2 = 6 really has, asked for 0.1"

    def delta_of(noise: float) -> float:
        return gaussian.smallest_delta(1.0, noise, epsilon / 2)

    return Check(measure, "at most", delta / 2, delta_of, classical, analytic, tolerance=1e-6)
