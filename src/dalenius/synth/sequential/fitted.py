"""`Fitted` and `Target`: what every conditional model of one column has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray, Vector
from dalenius.synth._store import stored
from dalenius.synth.sequential.design import Design, Floats

Takes = Literal["number", "classes", "both"]
Positive = Annotated[int, Option(at_least=1)]
NotNegative = Annotated[float, Option(at_least=0)]
Level = Annotated[float, Option(above=0, at_most=1)]
MinBucket = Annotated[
    int,
    Option(
        at_least=1,
        title="Smallest group",
        meaning="Fewest real people behind any answer the method draws from. More: safer, less detail.",
        knob=True,
    ),
]
Diversity = Annotated[
    int,
    Option(
        at_least=1,
        title="Different answers in a group",
        meaning="A group that holds fewer different answers than this is made larger, so that nobody can be sure of "
        "one. 1: off.",
        knob=True,
    ),
]


@dataclass(frozen=True, eq=False, repr=False)
class Target:
    """What is to be drawn, for every row of the original.

    Attributes
    ----------
    values
        Class codes or numbers.
    classes
        Number of classes; 0 for a number.
    ordered
        Whether the classes have an order.
    weights
        Survey weight of every row; None when all count alike.
    event
        For a time: whether the event happened (1) or the time was cut off (0).
    beside
        For a time: its event column, when both are drawn together.
    """

    values: AnyArray
    classes: int = 0
    ordered: bool = False
    weights: Floats | None = None
    event: npt.NDArray[np.bool_] | None = None
    beside: Vector | None = None


@dataclass(frozen=True)
class Tuning:
    """Settings shared by the models; a model reads those it knows.

    See `dalenius.synth.sequential.synthesizers.Sequential` for what they mean.
    """

    minbucket: MinBucket = 5
    cp: NotNegative = 1e-8
    evidence: NotNegative = 1.0
    depth: Positive = 60
    diversity: Diversity = 1
    trees: Positive = 10
    alpha: Level = 0.05
    donors: Positive = 5
    ridge: NotNegative = 1e-5
    proper: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """What one model is fitted on: some rows of the original, with some of the columns already visited.

    Attributes
    ----------
    target
        The column to be drawn.
    design
        Columns in visit order.
    use
        Places of the predictors.
    rows
        Rows of the original.
    tuning
        Settings.
    seed
        Randomness of this model alone.
    """

    target: Target
    design: Design
    use: tuple[int, ...]
    rows: IntArray
    tuning: Tuning
    seed: Seed

    @property
    def values(self) -> AnyArray:
        """The column on the rows."""
        return self.target.values[self.rows]

    @property
    def weights(self) -> Floats | None:
        """Weights of the rows, if there are any."""
        return None if self.target.weights is None else self.target.weights[self.rows]

    @property
    def masses(self) -> Floats:
        """Weights of the rows, ones when all count alike."""
        return np.ones(len(self.rows)) if self.target.weights is None else self.target.weights[self.rows]

    def rng(self, *path: str | int) -> np.random.Generator:
        """A stream of random numbers of this model."""
        return generator(self.seed, *path)

    def resampled(self, *path: str | int) -> Job:
        """The same with rows drawn with replacement: the parameter draw of a model without a posterior of its own."""
        if not len(self.rows):
            return self
        drawn = self.rng("rows", *path).integers(0, len(self.rows), len(self.rows))
        return replace(self, rows=self.rows[drawn])

    def proper(self) -> Job:
        """Resampled for a proper synthesis, itself otherwise."""
        return self.resampled() if self.tuning.proper else self


class Fitted(ABC):
    """A fitted conditional model: draws the column for given rows of the predictors."""

    name: ClassVar[str]
    takes: ClassVar[Takes] = "both"
    summary: ClassVar[str] = ""
    separated: bool = False
    """Whether a predictor decides an answer completely, so that only shrinkage keeps its coefficient finite."""

    @abstractmethod
    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """One value for each of these rows of the design."""


class ColumnMethod(Fitted):
    """A conditional model that can be chosen by name for a column."""

    @classmethod
    @abstractmethod
    def fit(cls, job: Job) -> Fitted:
        """Fit on some rows of the original with some of the columns already visited."""


F = TypeVar("F", bound=type[ColumnMethod])
COLUMN_METHODS: dict[str, type[ColumnMethod]] = {}


def column_method(cls: F) -> F:
    """Make a conditional model known by its name."""
    COLUMN_METHODS[cls.name] = cls
    return stored(cls)


def method_named(name: str) -> type[ColumnMethod]:
    """A conditional model by name.

    Examples
    --------
    >>> import dalenius.synth.sequential
    >>> method_named("cart").takes
    'both'
    """
    if name not in COLUMN_METHODS:
        raise OptionError(f"no column method {name!r}; there are {', '.join(sorted(COLUMN_METHODS))}")
    return COLUMN_METHODS[name]


def put_together(size: int, pieces: Sequence[tuple[AnyArray, AnyArray]]) -> AnyArray:
    """Values drawn for some places each, as one array of a type that holds them all.

    Examples
    --------
    >>> put_together(3, [(np.array([0, 2]), np.array([1, 2], np.int8)), (np.array([1]), np.array([500]))]).tolist()
    [1, 500, 2]
    """
    kinds = {values.dtype for _, values in pieces}
    dtype = kinds.pop() if len(kinds) == 1 else np.result_type(*kinds) if kinds else np.dtype(np.float64)
    whole = np.zeros(size, dtype)
    for places, values in pieces:
        whole[places] = values
    return whole


def smallest(values: AnyArray) -> AnyArray:
    """Whole numbers in the smallest type that holds them: a model keeps as many as the table has cells.

    Examples
    --------
    >>> smallest(np.array([-3, 90])).dtype, smallest(np.array([0.5])).dtype
    (dtype('int8'), dtype('float64'))
    """
    if values.dtype.kind not in "iu" or not len(values):
        return values
    low, high = int(values.min()), int(values.max())
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind, copy=False)
    return values
