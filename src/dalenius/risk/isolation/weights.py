"""Weight of a description: the share of the population it fits, as an outsider may know it.

D'Acquisto et al. 2024, section 2.

A weight must come from knowledge that is *not* the protected data: a register, an earlier wave, published margins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.isolation.predicate import Predicate, Where


class WeightModel(Protocol):
    """Anything that gives the weight of a predicate.

    Examples
    --------
    >>> model: WeightModel = FunctionWeights(lambda predicate: 0.25)
    >>> model.weight(Predicate())
    0.25
    """

    def weight(self, predicate: Predicate) -> float:
        """Share of the population that fits."""
        ...


@dataclass(frozen=True, eq=False)
class ExactWeights:
    """A known distribution: cells of the joint table with their probabilities.

    Examples
    --------
    >>> from dalenius.risk.isolation.predicate import OneOf
    >>> known = ExactWeights.of({"sex": ["f", "m"], "share": [0.4, 0.6]}, "share")
    >>> known.weight(Predicate.of(OneOf("sex", frozenset({"f"}))))
    0.4
    """

    cells: Table
    shares: AnyArray

    @classmethod
    def of(cls, cells: Any, share: str) -> ExactWeights:
        """Read cells with a column of shares; the shares must add up to 1."""
        table = Table.from_frame(cells)
        if share not in table:
            raise DataError(f"no column {share!r} with the shares of the cells")
        shares = table[share].floats()
        if np.any(shares < 0) or not np.isclose(shares.sum(), 1):
            raise DataError(f"the shares in column {share!r} must be 0 or more and add up to 1")
        return cls(table.select([name for name in table.names if name != share]), shares)

    def weight(self, predicate: Predicate) -> float:
        """Add up the shares of the cells that fit."""
        return float(self.shares[predicate.mask(self.cells)].sum())


@dataclass(frozen=True, eq=False)
class ReferenceWeights:
    """Share among people of a reference file, which must not be the protected data; (count + a) / (rows + 2 a).

    Examples
    --------
    >>> from dalenius.risk.isolation.predicate import OneOf
    >>> register = ReferenceWeights.of({"sex": ["f"] * 40 + ["m"] * 59})
    >>> register.weight(Predicate.of(OneOf("sex", frozenset({"f"}))))
    0.405
    """

    reference: Table
    smoothing: float = 0.5

    @classmethod
    def of(cls, reference: Any, smoothing: float = 0.5) -> ReferenceWeights:
        """Take people of a reference file."""
        if smoothing < 0:
            raise OptionError("smoothing must be 0 or more")
        return cls(Table.from_frame(reference), smoothing)

    def weight(self, predicate: Predicate) -> float:
        """Share of the reference that fits, smoothed."""
        return _smoothed(predicate.count(self.reference), self.reference.rows, self.smoothing)


@dataclass(frozen=True, eq=False)
class MarginWeights:
    """Product of the columns' own shares: right only where columns are independent, too small where they go together.

    Examples
    --------
    >>> from dalenius.risk.isolation.predicate import Between, OneOf
    >>> margins = MarginWeights.of({"sex": ["f", "m"] * 50, "age": list(range(100))}, smoothing=0)
    >>> margins.weight(Predicate.of(OneOf("sex", frozenset({"f"})), Between("age", 0, 9)))
    0.05
    """

    reference: Table
    smoothing: float = 0.5

    @classmethod
    def of(cls, reference: Any, smoothing: float = 0.5) -> MarginWeights:
        """Take the margins of a reference file."""
        return cls(Table.from_frame(reference), smoothing)

    def weight(self, predicate: Predicate) -> float:
        """Multiply the shares of the columns."""
        if predicate.left_out or any(isinstance(c, Where) for c in predicate.conditions):
            raise OptionError("margins know single columns only; use reference weights for this description")
        masks: dict[str, AnyArray] = {}
        for condition in predicate.conditions:
            assert not isinstance(condition, Where)  # refused above
            mine = condition.mask(self.reference)
            masks[condition.column] = masks.get(condition.column, True) & mine
        shares = [_smoothed(int(m.sum()), self.reference.rows, self.smoothing) for m in masks.values()]
        return float(np.prod(shares)) if shares else 1.0


@dataclass(frozen=True)
class FunctionWeights:
    """A function of the predicate, such as a copula model of the population.

    Examples
    --------
    >>> FunctionWeights(lambda predicate: 0.01).weight(Predicate())
    0.01
    """

    function: Callable[[Predicate], float]

    def weight(self, predicate: Predicate) -> float:
        """Ask the function."""
        return float(self.function(predicate))


def _smoothed(count: int, rows: int, smoothing: float) -> float:
    return (count + smoothing) / (rows + 2 * smoothing) if rows + smoothing > 0 else 0.0
