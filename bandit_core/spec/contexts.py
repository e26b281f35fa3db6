"""Contextual bandits (users with features): what the learner sees of a user before it chooses, and the mean reward.

With one parameter theta for all arms (``single``) every arm brings its own context x_a of the arriving user, and its
mean reward is mu(x_a . theta). With one parameter for each arm (``multi``) there is one context x, and the mean is
mu(x . theta_a). mu is the link. All contexts of one run are independent draws from one distribution.
"""

import math
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.field_types import Frozen, Kind, Number, Observed, Positive, Whole

SPHERE, GAUSSIAN, CUBE, DISCRETE, MARGIN, TABLE = range(6)  # codes shared with kernels/contexts.py
IDENTITY, LOGISTIC, POISSON = range(3)
LINKS = ("identity", "logistic", "poisson")
POISSON_CAP = 5.0  # predictors above it count as this: a Poisson mean of at most e^5, as in the published code
SMALLEST_GAP = 1e-6  # the distributions with a chosen margin have no smaller gap
MAX_CELLS = 50_000  # numbers in the table of a distribution

Structure = Literal["single", "multi"]
Link = Literal["identity", "logistic", "poisson"]


class Environment(NamedTuple):
    """What kernels read of `Contexts`; lengths in features, rewards in reward units."""

    distribution: int  # its code, SPHERE to TABLE
    form: np.ndarray  # (2,) its numbers, see `_ContextDistribution.form`
    table: np.ndarray  # (rows, width) users of a data set, else (0, 0)
    actions: np.ndarray  # (arms,) what arms stand for in it, else (0,)
    theta: np.ndarray  # (models, dimension) given parameters, or (0, dimension) where they are random
    link: int  # IDENTITY, LOGISTIC or POISSON
    noise: float  # standard deviation of the normal noise on a reward
    drawn: bool  # rewards are coins or counts, not their mean
    arms: int
    models: int  # parameters theta: 1, or one for each arm
    vectors: int  # contexts of a user: one for each arm, or 1
    dimension: int
    points: int  # types of users of a discrete distribution, else 0


class _ContextDistribution(Kind):
    words: ClassVar[str]
    code: ClassVar[int]

    def largest_norm(self, dimension: int) -> float:
        """Least upper bound of the Euclidean norm of a context; infinite where there is none."""
        return 1.0

    def form(self) -> tuple[float, ...]:
        """Up to two numbers, as the kernel reads them."""
        return self.numbers


class Sphere(_ContextDistribution):
    """Uniform on the unit sphere."""

    words: ClassVar[str] = "uniform on the unit sphere"
    code: ClassVar[int] = SPHERE
    kind: Literal["sphere"] = "sphere"


class GaussianContexts(_ContextDistribution):
    """Independent normal features, each of the standard deviation ``sd``."""

    words: ClassVar[str] = "independent normal features"
    code: ClassVar[int] = GAUSSIAN
    kind: Literal["gaussian"] = "gaussian"
    sd: Annotated[Positive, Field(le=100)] = 1.0

    def largest_norm(self, dimension: int) -> float:
        return math.inf


class Cube(_ContextDistribution):
    """Uniform in a cube around 0: features lie between -``half_width`` and ``half_width``."""

    words: ClassVar[str] = "uniform in a cube around 0"
    code: ClassVar[int] = CUBE
    kind: Literal["cube"] = "cube"
    half_width: Annotated[Positive, Field(le=100)] = 1.0

    def largest_norm(self, dimension: int) -> float:
        return self.half_width * math.sqrt(dimension)


class Discrete(_ContextDistribution):
    """``points`` types of users, drawn at the start of a trial, on the unit sphere, whose best arm is ahead by ``gap``.

    The gap is that of the linear predictors in units of |theta|. With one parameter for each arm the margin depends on
    theta: types are drawn until their gap is large enough, and the best of 2,000 draws is taken where none is.
    """

    words: ClassVar[str] = "a few types of users, whose best arm is ahead by a margin"
    code: ClassVar[int] = DISCRETE
    kind: Literal["discrete"] = "discrete"
    points: Annotated[Whole, Field(ge=1, le=1000)] = 20
    gap: Annotated[Number, Field(gt=0, le=1)] = 0.2


class Margin(_ContextDistribution):
    """A chosen margin condition (Han et al. 2021, Assumption 4): P(gap <= h) grows like h^beta.

    The best arm is ahead of the next by a gap G with P(G <= h) = (h^beta - m^beta) / (1 - m^beta) for m <= h <= 1,
    m = 10^-6 (beta = 0: ln G is uniform, so that small gaps are as common as they can be). One parameter for all arms:
    contexts lie on the unit sphere and the gap of their linear predictors, in units of |theta|, is exactly G. One
    parameter for each arm: a context is drawn on the unit sphere and moved towards the border between its two best
    arms until their gap is G, unless it is smaller already; it stays in the unit ball. Regret then grows like ln T at
    ``beta`` 1, T^((1-beta)/2) below, sqrt(T) at 0.
    """

    words: ClassVar[str] = "small gaps as common as beta says: none at 1, as many as possible at 0"
    code: ClassVar[int] = MARGIN
    kind: Literal["margin"] = "margin"
    beta: Annotated[Number, Field(ge=0, le=1)] = 0.5

    def form(self) -> tuple[float, ...]:
        return (self.beta, SMALLEST_GAP)


class Table(_ContextDistribution):
    """Users of a data set, drawn with replacement.

    A row is a user. With one parameter for each arm it is the context. With one for all, and ``actions``, the context
    of arm a is the row followed by actions[a] times the row; without actions the row holds the contexts of all arms,
    one after the other. Each of ``rows`` has a user's features; ``actions`` are what arms stand for, such as prices.
    """

    words: ClassVar[str] = "users of a data set, drawn with replacement"
    code: ClassVar[int] = TABLE
    kind: Literal["table"] = "table"
    rows: Annotated[tuple[Annotated[tuple[Observed, ...], Field(min_length=1)], ...], Field(min_length=1)]
    actions: tuple[Observed, ...] = ()

    @model_validator(mode="after")
    def _rectangular(self) -> Self:
        widths = {len(row) for row in self.rows}
        if len(widths) > 1:
            raise ValueError(f"every row must have as many numbers as the first, {len(self.rows[0])}")
        if len(self.rows) * widths.pop() > MAX_CELLS:
            raise ValueError(f"at most {MAX_CELLS} numbers in all; take a sample of the rows")
        return self

    @property
    def array(self) -> np.ndarray:
        """The rows, shape (rows, width)."""
        return np.array(self.rows)

    def form(self) -> tuple[float, ...]:
        return ()

    def largest_norm(self, dimension: int) -> float:
        if self.actions:
            return float(np.linalg.norm(self.array, axis=1).max()) * math.sqrt(1 + max(a * a for a in self.actions))
        width = min(dimension, len(self.rows[0]))
        return float(np.linalg.norm(self.array.reshape(-1, width), axis=1).max())


ContextDistribution = Annotated[
    Sphere | GaussianContexts | Cube | Discrete | Margin | Table, Field(discriminator="kind")
]
DISTRIBUTIONS: dict[str, type[_ContextDistribution]] = {
    each.model_fields["kind"].default: each for each in (Sphere, GaussianContexts, Cube, Discrete, Margin, Table)
}


class RandomTheta(Kind):
    """Uniform on the unit sphere, drawn anew for every trial from its own stream (the same for every line)."""

    kind: Literal["random"] = "random"


class GivenTheta(Kind):
    """Fixed numbers: ``dimension`` of them, or, with one parameter for each arm, those of all arms in turn."""

    kind: Literal["given"] = "given"
    values: Annotated[tuple[Observed, ...], Field(min_length=1, max_length=MAX_CELLS)]


Theta = Annotated[RandomTheta | GivenTheta, Field(discriminator="kind")]


class Contexts(Frozen):
    """Users with features, arms that are chosen by them, and the rewards.

    Parameters
    ----------
    dimension
        Features in a context.
    arms
        Arms to choose from.
    structure
        single: one parameter, a context for each arm. multi: one context, a parameter for each arm.
    law
        How contexts are drawn.
    link
        The mean reward is the link of context times theta.
    noise
        Standard deviation of the normal noise on a reward.
    rewards
        drawn: a coin (logistic) or a count (poisson) with that mean; mean: the mean itself, plus noise. The identity
        link pays the mean plus noise either way.
    theta
        The parameters: random (unit sphere, from the seed), or given.
    """

    dimension: Annotated[Whole, Field(ge=1, le=200)]
    arms: Annotated[Whole, Field(ge=2, le=1000)]
    structure: Structure = "single"
    law: ContextDistribution = Sphere()
    link: Link = "identity"
    noise: Annotated[Number, Field(ge=0, le=100)] = 0.0
    rewards: Literal["drawn", "mean"] = "drawn"
    theta: Theta = RandomTheta()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.theta, GivenTheta):
            wanted = self.dimension * self.models
            if len(self.theta.values) != wanted:
                each = f" ({self.arms} arms x {self.dimension})" if self.structure == "multi" else ""
                raise ValueError(f"theta has {len(self.theta.values)} values; it needs {wanted}{each}")
            if self.link == "poisson" and self.theta_norm > 5:
                raise ValueError(f"a Poisson mean explodes at |theta| = {self.theta_norm:.3g}; at most 5")
        if self.noise > 0 and self.rewards == "drawn" and self.link != "identity":
            raise ValueError(
                f'{self.link} rewards that are drawn have their own noise; set noise = 0, or rewards = "mean"'
            )
        if isinstance(self.law, Table):
            self._check_table(self.law)
        return self

    def _check_table(self, distribution: Table) -> None:
        width = len(distribution.rows[0])
        if self.structure == "multi":
            if distribution.actions:
                raise ValueError("actions belong to the single structure; with multi every arm has its own theta")
            wanted, why = self.dimension, "its dimension"
        elif distribution.actions:
            if len(distribution.actions) != self.arms:
                raise ValueError(f"there are {len(distribution.actions)} actions for {self.arms} arms")
            if self.dimension % 2:
                raise ValueError("with actions the dimension is twice the width of a row, so it must be even")
            wanted, why = self.dimension // 2, "half its dimension (the row, and the action times the row)"
        else:
            wanted, why = self.arms * self.dimension, "arms x dimension"
        if width != wanted:
            raise ValueError(f"a row of the table has {width} numbers; it needs {wanted}, {why}")

    @property
    def models(self) -> int:
        """Number of parameters theta: 1, or one for each arm."""
        return self.arms if self.structure == "multi" else 1

    @property
    def vectors(self) -> int:
        """Number of contexts that a user brings: one for each arm, or 1."""
        return 1 if self.structure == "multi" else self.arms

    @property
    def given(self) -> np.ndarray:
        """The given parameters, shape (models, dimension); (0, dimension) where they are random."""
        if isinstance(self.theta, GivenTheta):
            return np.array(self.theta.values).reshape(self.models, self.dimension)
        return np.empty((0, self.dimension))

    @property
    def theta_norm(self) -> float:
        """Largest Euclidean norm of a parameter."""
        return float(np.linalg.norm(self.given, axis=1).max()) if len(self.given) else 1.0

    @property
    def largest_norm(self) -> float:
        """Least upper bound of the norm of a context."""
        return self.law.largest_norm(self.dimension)

    @property
    def largest_gap(self) -> float:
        """What one choice can cost at most, reward units (infinite where means are unbounded)."""
        reach = self.largest_norm * self.theta_norm if self.theta_norm > 0 else 0.0
        if self.link == "identity":
            return 2 * reach
        if self.link == "logistic":
            return math.tanh(reach / 2)  # sigma(reach) - sigma(-reach)
        top = min(reach, POISSON_CAP)
        return math.exp(top) - math.exp(-reach)

    def kernel_form(self) -> Environment:
        """What `kernels.contextual` reads."""
        distribution = self.law
        form = np.zeros(2)
        form[: len(distribution.form())] = distribution.form()
        return Environment(
            distribution=distribution.code,
            form=form,
            table=distribution.array if isinstance(distribution, Table) else np.empty((0, 0)),
            actions=np.array(distribution.actions if isinstance(distribution, Table) else (), float),
            theta=self.given,
            link=LINKS.index(self.link),
            noise=self.noise,
            drawn=self.rewards == "drawn" and self.link != "identity",
            arms=self.arms,
            models=self.models,
            vectors=self.vectors,
            dimension=self.dimension,
            points=distribution.points if isinstance(distribution, Discrete) else 0,
        )
