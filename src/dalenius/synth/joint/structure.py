"""Structural zeros: combinations of values that cannot occur (a married child), known before any data were seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.junction import Clique
from dalenius.data.encode import level_key
from dalenius.data.schema import Kind
from dalenius.data.vector import BoolArray, IntArray
from dalenius.synth._store import stored
from dalenius.synth.joint.coding import Coding, ColumnCode

Rule: TypeAlias = Mapping[str, Any]
"""Column to a level, a list of levels, or (low, high) for numbers; the rule is all of them together."""

_LARGEST = 2**24


@stored
@dataclass(frozen=True, eq=False)
class Structure:
    """Which cells are possible: one mask (1 possible, 0 not) per set of columns.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> from dalenius.synth.joint.coding import Groups
    >>> table = Table.from_frame({"age": ["child", "adult", "adult"], "married": [False, True, False]})
    >>> coding = Coding.from_data(table, Groups())
    >>> Structure.of(coding, [{"age": "child", "married": True}]).cells(coding.sizes)
    3
    """

    masks: Mapping[Clique, np.ndarray[Any, np.dtype[np.float64]]]

    @classmethod
    def of(cls, coding: Coding, rules: Sequence[Rule]) -> Structure:
        """Masks of a list of rules."""
        masks: dict[Clique, np.ndarray[Any, np.dtype[np.float64]]] = {}
        for number, rule in enumerate(rules, start=1):
            where = f"structural zero {number}"
            unknown = [name for name in rule if name not in coding.names]
            if unknown or not rule:
                said = f"{unknown[0]!r}, which is not a column to synthesize" if unknown else "no column"
                raise OptionError(f"{where} names {said}; use columns of the data")
            columns = tuple(sorted(coding.names.index(name) for name in rule))
            shape = tuple(coding.sizes[v] for v in columns)
            if math.prod(shape) > _LARGEST:
                raise OptionError(
                    f"{where} crosses {math.prod(shape):,} cells; use fewer columns in one rule"
                )
            mask = masks.setdefault(columns, np.ones(shape))
            hit = [_codes(coding.columns[v], rule[coding.names[v]], where) for v in columns]
            mask[np.ix_(*hit)] = 0.0
        return cls(masks)

    def cells(self, sizes: Sequence[int]) -> int:
        """Number of possible cells of the full table."""
        used = tuple(sorted({v for columns in self.masks for v in columns}))
        rest = math.prod(size for v, size in enumerate(sizes) if v not in used)
        if not used:
            return rest
        if math.prod(sizes[v] for v in used) > _LARGEST:
            raise OptionError(
                "the structural zeros together touch too many columns; use fewer columns in the rules"
            )
        return rest * int(np.count_nonzero(self.over(used, [sizes[v] for v in used])))

    def over(self, columns: Clique, shape: Sequence[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Mask of a table over some columns.

        A cell is impossible when a rule says so whatever the other columns are.
        """
        result = np.ones(tuple(shape))
        for held, mask in self.masks.items():
            if set(held) <= set(columns):
                sizes = iter(mask.shape)
                result *= mask.reshape([next(sizes) if v in held else 1 for v in columns])
        return result

    def allows(self, codes: Sequence[IntArray]) -> BoolArray:
        """Which rows (or cells, as codes) are possible."""
        possible = np.ones(len(codes[0]) if codes else 0, dtype=bool)
        for columns, mask in self.masks.items():
            possible &= mask[tuple(codes[v] for v in columns)] > 0
        return possible

    def refuse_contradiction(self, codes: Sequence[IntArray]) -> None:
        """Error when rows hold a combination that was declared impossible; says how many, not which."""
        if self.masks and codes and not np.all(possible := self.allows(codes)):
            used = sorted({v for columns in self.masks for v in columns})
            impossible = np.stack([np.asarray(codes[v], np.int64)[~possible] for v in used])
            contradicted = np.unique(impossible, axis=1).shape[1]
            cells = f"{contradicted} cell" if contradicted == 1 else f"{contradicted} cells"
            raise DataError(
                f"structural zeros contradict the data: {int(np.count_nonzero(~possible))} rows lie in {cells} "
                "that were declared "
                "impossible; correct the rules or the data"
            )


def _codes(column: ColumnCode, wanted: Any, where: str) -> list[int]:
    """Codes a rule means in one column."""
    if column.edges is not None and isinstance(wanted, tuple):
        return _groups_in(column, wanted, where)
    chosen = list(wanted) if isinstance(wanted, (list, set, frozenset)) else [wanted]
    labels = {level_key(column.label(i)): i for i in range(column.size)}
    lost = [value for value in chosen if level_key(value) not in labels]
    if lost:
        raise OptionError(
            f"{where}, column {column.column.name!r}: {len(lost)} of the {len(chosen)} values are not levels of it; "
            "use its levels, 'missing', or (low, high) for numbers"
        )
    return [labels[level_key(value)] for value in chosen]


def _groups_in(column: ColumnCode, wanted: tuple[Any, ...], where: str) -> list[int]:
    """Groups of a number that a range covers; an error when it cuts one, because the rule would be kept by halves."""
    said = f"{where}, column {column.column.name!r}"
    if len(wanted) != 2 or not all(isinstance(w, Real) for w in wanted) or not wanted[0] <= wanted[1]:
        raise OptionError(f"{said}: a range is (low, high), two numbers, the smaller first")
    low, high = wanted
    edges = column.edges if column.edges is not None else np.zeros(1)
    whole = column.column.kind in (Kind.INTEGER, Kind.DATETIME)
    groups = []
    for i in range(column.base):
        start, end = float(edges[i]), float(edges[i + 1])
        if whole:  # [0, 16) of whole numbers ends at 15
            start, end = math.ceil(start), math.ceil(end) - 1 if i < column.base - 1 else math.floor(end)
        if start >= low and end <= high:
            groups.append(i)
        elif start < high and end > low:
            raise OptionError(
                f"{said}: the range cuts a group of numbers, so the rule could not be kept; give breaks for the "
                "column that have both ends of the range"
            )
    return groups
