"""The design of a propensity model: original and protected rows stacked, every column as a predictor.

Categories enter level by level (a gap is a level), numbers as they are, with 0 where there is no number and a 0/1
column for each kind of gap (synthpop's treatment). Interactions are products of predictors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.option import at_least
from dalenius.counts.pair import Pair
from dalenius.data.vector import SPECIAL, AnyArray, IntArray, Vector

COUNTED = 4_000_000
"""Whole numbers over a range up to this are ranked by counting instead of sorting."""


@dataclass(frozen=True, eq=False)
class Predictor:
    """One predictor on all rows: codes of a factor (0 is the reference level), or numbers."""

    name: str
    column: str
    values: AnyArray = field(repr=False)
    factor: bool
    size: int = 1

    def some(self, rows: IntArray) -> Predictor:
        """The same predictor on some rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class Design:
    """Sparse design matrix with at most one non-zero per row and term; the first term is the intercept."""

    columns: IntArray = field(repr=False)
    values: AnyArray = field(repr=False)
    place: IntArray
    size: int
    names: tuple[str, ...]
    owners: tuple[tuple[str, ...], ...]

    @property
    def rows(self) -> int:
        """Rows of both files."""
        return int(self.columns.shape[0])


def predictors(
    pair: Pair, columns: Sequence[str] | None = None, *, grouped: bool = False, max_levels: int | None = None
) -> list[Predictor]:
    """Every column as predictors on the stacked rows, protected first; constant columns are left out.

    Examples
    --------
    >>> pair = Pair({"sex": ["f", "m"], "age": [30, None]}, {"sex": ["m", "m"], "age": [40, 50]})
    >>> [p.name for p in predictors(pair)]
    ['sex', 'age', 'age: missing']
    """
    if max_levels is not None:
        at_least("max_levels", max_levels, 2)
    made: list[Predictor] = []
    for name in columns if columns is not None else pair.columns:
        if pair.original[name].is_number and not (grouped and name in pair.grouping):
            made += _numbers(name, pair.protected[name], pair.original[name])
        else:
            aligned = pair.categories(name)
            codes = np.concatenate([aligned.protected.codes, aligned.original.codes])
            made.append(_factor(name, codes, max_levels))
    return [p for p in made if _varies(p)]


def _factor(name: str, codes: IntArray, max_levels: int | None) -> Predictor:
    """Levels in use, the reference first; beyond ``max_levels`` the rarest share one level."""
    ranks, count = dense(codes)
    if max_levels is not None and len(count) > max_levels:
        kept = np.argsort(-count, kind="stable")[: max_levels - 1]
        lookup = np.zeros(len(count), dtype=np.int32)
        lookup[np.sort(kept)] = np.arange(1, max_levels)
        return Predictor(name, name, lookup[ranks], True, max_levels)
    return Predictor(name, name, ranks, True, len(count))


def dense(values: AnyArray) -> tuple[IntArray, IntArray]:
    """Ranks of values among those that occur, and how often each occurs; whole numbers are counted, others sorted.

    Examples
    --------
    >>> [part.tolist() for part in dense(np.array([7.0, 3.0, 7.0]))]
    [[1, 0, 1], [1, 2]]
    """
    low, high = values.min(), values.max()
    if high - low < COUNTED and (values.dtype.kind in "iu" or np.all(values == np.floor(values))):
        whole = (values - low).astype(np.int64)
        count = np.bincount(whole)
        there = count > 0
        return (np.cumsum(there) - 1).astype(np.int32)[whole], count[there]
    _, rank, count = np.unique(values, return_inverse=True, return_counts=True)
    return rank.astype(np.int32), count


def _numbers(name: str, first: Vector, second: Vector) -> list[Predictor]:
    numbers = np.concatenate([first.data, second.data]).astype(np.float64)
    if first.column.kind.value == "datetime":
        numbers = numbers / 86_400e6
    state = np.concatenate(
        [v.state if v.state is not None else np.zeros(len(v), np.uint8) for v in (first, second)]
    )
    numbers[state != 0] = 0.0
    bad = ~np.isfinite(numbers)
    numbers[bad] = 0.0
    made = [Predictor(name, name, numbers, False)]
    gaps = {"missing": (state == 1) | (state == 2) | bad}
    gaps |= {f"code {j + 1}": state == SPECIAL + j for j in range(len(first.column.special))}
    return made + [
        Predictor(f"{name}: {word}", name, rows.astype(np.float64), False)
        for word, rows in gaps.items()
        if rows.any()
    ]


def _varies(predictor: Predictor) -> bool:
    values = predictor.values
    return len(values) > 0 and bool(np.any(values != values[0]))


def build(
    parts: Sequence[Predictor], order: int = 0, rows: int | None = None, max_params: int = 400
) -> Design:
    """Main effects and all interactions of up to ``order + 1`` predictors.

    Raises `OptionError` when the model would have more than ``max_params`` coefficients.
    """
    at_least("order", order, 0)
    count = rows if rows is not None else _rows(parts)
    columns: list[IntArray] = [np.zeros(count, np.int32)]
    values: list[AnyArray] = []
    place, names, size = [-1], ["(intercept)"], 1
    owners: list[tuple[str, ...]] = [()]
    for width in range(1, order + 2):
        for chosen in combinations(parts, width):
            column, levels = _one_column(chosen, size)
            size += levels
            if size - 1 > max_params:
                raise OptionError(
                    f"the propensity model would have more than {max_params} coefficients; name fewer columns, "
                    "group them, lower the order of interactions, or raise max_params"
                )
            columns.append(column)
            numbers = [standard(p.values) for p in chosen if not p.factor]
            place.append(len(values) if numbers else -1)
            if numbers:
                values.append(np.prod(numbers, axis=0))
            names.append(" × ".join(p.name for p in chosen))
            owners.append(tuple(dict.fromkeys(p.column for p in chosen)))
    stacked = np.stack(values, axis=1) if values else np.zeros((count, 1))
    return Design(
        np.stack(columns, axis=1), stacked, np.array(place, np.int64), size, tuple(names), tuple(owners)
    )


def _rows(parts: Sequence[Predictor]) -> int:
    if not parts:
        raise OptionError("there is no column that varies; nothing can tell the files apart")
    return len(parts[0].values)


def _one_column(chosen: Sequence[Predictor], offset: int) -> tuple[IntArray, int]:
    """Place of each row's non-zero: one column per combination of levels that are not the reference."""
    factors = [p for p in chosen if p.factor]
    if not factors:
        rows = _rows(chosen)
        return np.full(rows, offset, np.int32), 1
    key = np.zeros(_rows(chosen), np.int64)
    inside = np.ones(len(key), dtype=bool)
    for factor in factors:
        key = key * factor.size + factor.values
        inside &= factor.values > 0
    used, dense = np.unique(key[inside], return_inverse=True)
    column = np.full(len(key), -1, np.int32)
    column[inside] = offset + dense
    return column, len(used)


def standard(numbers: AnyArray) -> AnyArray:
    """Centre and scale: the fitted values stay, the arithmetic gets better."""
    spread = float(numbers.std())
    return np.asarray((numbers - numbers.mean()) / (spread if spread > 0 else 1.0))
