"""`Fitted` and `Target`: what every conditional model of one column has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats

Takes = Literal["number", "classes", "both"]
Parts = tuple[dict[str, Any], dict[str, AnyArray]]


@dataclass(frozen=True, eq=False)
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
    """

    values: AnyArray
    classes: int = 0
    ordered: bool = False
    weights: Floats | None = None
    event: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Tuning:
    """Settings shared by the models; a model reads those it knows.

    See `dalenius.synth.sequential.synthesizers.Sequential` for what they mean.
    """

    minbucket: int = 5
    cp: float = 1e-8
    evidence: float = 1.0
    depth: int = 60
    diversity: int = 1
    trees: int = 10
    alpha: float = 0.05
    donors: int = 5
    ridge: float = 1e-5
    proper: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


class Fitted(ABC):
    """A fitted conditional model: draws the column for given rows of the predictors."""

    name: ClassVar[str]
    takes: ClassVar[Takes] = "both"
    summary: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> Fitted:
        """Fit on some rows of the original with some of the columns already visited."""

    @abstractmethod
    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """One value for each of these rows of the design."""

    @abstractmethod
    def parts(self) -> Parts:
        """Everything the model is, as JSON data and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Fitted:
        """Rebuild the model."""


F = TypeVar("F", bound=type[Fitted])
METHODS: dict[str, type[Fitted]] = {}


def column_method(cls: F) -> F:
    """Make a conditional model known by its name."""
    METHODS[cls.name] = cls
    return cls


def method_named(name: str) -> type[Fitted]:
    """A conditional model by name.

    Examples
    --------
    >>> import dalenius.synth.sequential
    >>> method_named("cart").takes
    'both'
    """
    if name not in METHODS:
        raise OptionError(f"no column method {name!r}; there are {', '.join(sorted(METHODS))}")
    return METHODS[name]


def nest(prefix: str, parts: Parts) -> Parts:
    """Parts of a component under a prefix."""
    facts, arrays = parts
    return {prefix: facts}, {f"{prefix}.{key}": array for key, array in arrays.items()}


def nested(prefix: str, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Parts:
    """Parts that were put under a prefix by `nest`."""
    start = f"{prefix}."
    return dict(facts[prefix]), {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}


def resampled(rows: IntArray, weights: Floats | None, rng: np.random.Generator) -> IntArray:
    """Rows drawn with replacement: the parameter draw of a model without a posterior of its own."""
    del weights  # kept by the model that is fitted on the resampled rows
    return rows[rng.integers(0, len(rows), len(rows))] if len(rows) else rows
