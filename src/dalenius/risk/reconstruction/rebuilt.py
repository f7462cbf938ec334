"""`reconstruct_arithmetic` and `reconstruct_exact`: who of each category is in the group, area by area.

Arithmetic alone fixes most people (Muralidhar and Ruggles 2024, section 3): the reference category by subtraction,
categories of which nobody or everybody is in the group, the last category that is open, and bounds by single sums. The
exact answer looks for another table: a cell varies exactly if some can be pushed around it without its own arcs in the
residual graph of one table that fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import TableError
from dalenius.risk.reconstruction._kernels import exact_areas, fix_areas
from dalenius.risk.reconstruction.areas import AreaTables

RULES = ("open", "reference", "race_zero", "race_all", "residual", "bounds", "exact")
LEVELS = {"reference": 1, "whole categories": 3, "with the last category": 4, "bounds": 5, "exact": 6}


@dataclass(frozen=True, eq=False, repr=False)
class Rebuilt:
    """What follows from the tables of all areas.

    Attributes
    ----------
    low, high
        Bounds of the number in the group, by area, row and category.
    rule
        Number of the rule in `RULES` that fixed each cell.
    solution
        One table that fits, where the exact answer was asked for.
    """

    tables: AreaTables
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    rule: npt.NDArray[np.int8]
    solution: npt.NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        share = self.summary()["people proved %"][-1]
        return f"Rebuilt({share:.3f} % of {int(self.tables.total.sum()):,} people are proved)"

    @cached_property
    def determined(self) -> npt.NDArray[np.bool_]:
        """Cells whose number is the same in every table that fits."""
        return np.asarray(self.low == self.high)

    @property
    def people_proved(self) -> int:
        """How many people are in cells that are proved."""
        return int(self.tables.total[self.determined].sum())

    def summary(self) -> pl.DataFrame:
        """People and areas that are proved, level by level: each level includes the ones before.

        Examples
        --------
        >>> people = {"block": ["A"] * 3, "sex": ["f", "f", "m"], "race": ["w", "b", "b"], "hisp": ["y", "n", "n"]}
        >>> tables = AreaTables.from_microdata(people, "block", ["sex"], "race", "hisp", "y", "w")
        >>> reconstruct_arithmetic(tables).summary()["people proved"].to_list()
        [1, 3, 3, 3]
        """
        total = self.tables.total
        there = total > 0
        occupied = there.any(axis=(1, 2))
        lines = []
        for name, last in LEVELS.items():
            if name == "exact" and self.solution is None:
                continue
            fixed = (self.rule > 0) & (self.rule <= last)
            whole = ~(there & ~fixed).any(axis=(1, 2)) & occupied
            lines.append((name, int(total[fixed].sum()), int(whole.sum())))
        people, areas = max(int(total.sum()), 1), max(int(occupied.sum()), 1)
        return pl.DataFrame(
            [(n, p, 100 * p / people, a, 100 * a / areas) for n, p, a in lines],
            schema=["level", "people proved", "people proved %", "areas complete", "areas complete %"],
            orient="row",
        )

    def microdata(
        self, split: str = "split", member: str = "yes", other: str = "no", fill: bool = False
    ) -> pl.DataFrame:
        """One row a person; whether he is in the group is empty where it is not proved.

        ``fill`` takes one table that fits (of `reconstruct_exact`) for those. Confidential: it points at people.
        """
        shown = self.solution if fill and self.solution is not None else self.low
        tables, parts = self.tables, []
        for value, counts in ((member, np.where(self.determined | fill, shown, 0)),
                              (other, np.where(self.determined | fill, tables.total - shown, 0)),
                              (None, np.where(self.determined | fill, 0, tables.total))):  # fmt: skip
            cells = np.argwhere(counts > 0)
            people = np.repeat(cells, counts[tuple(cells.T)], axis=0)
            parts.append(_people(tables, people, split, value))
        return pl.concat(parts)


def _people(tables: AreaTables, cells: Any, split: str, value: str | None) -> pl.DataFrame:
    columns: dict[str, Any] = {"area": np.array(tables.areas, object)[cells[:, 0]]}
    for k, key in enumerate(tables.keys):
        columns[key] = np.array([row[k] for row in tables.rows], object)[cells[:, 1]]
    columns["category"] = np.array(tables.categories, object)[cells[:, 2]]
    frame = pl.DataFrame({name: pl.Series(name, list(values), pl.String) for name, values in columns.items()})
    return frame.with_columns(
        pl.lit(value, pl.String).alias(split), pl.lit(value is not None).alias("certain")
    )


def reconstruct_arithmetic(tables: AreaTables) -> Rebuilt:
    """What subtraction alone gives, with the rule that fixed each cell.

    Examples
    --------
    >>> people = {"block": ["A"] * 3, "sex": ["f", "f", "m"], "race": ["w", "b", "b"], "hisp": ["y", "n", "n"]}
    >>> tables = AreaTables.from_microdata(people, "block", ["sex"], "race", "hisp", "y", "w")
    >>> reconstruct_arithmetic(tables)
    Rebuilt(100.000 % of 3 people are proved)
    """
    low = np.zeros_like(tables.total, np.int32)
    high, rule = np.zeros_like(low), np.zeros(low.shape, np.int8)
    wrong = fix_areas(
        tables.total,
        tables.split,
        tables.reference,
        tables.known,
        tables.inside,
        tables.outside,
        low,
        high,
        rule,
    )
    if wrong >= 0:
        raise TableError(
            "area tables", [f"area {tables.areas[wrong]!r}: no table fits T, H, W, N and M together"]
        )
    return Rebuilt(tables, low, high, rule)


def reconstruct_exact(tables: AreaTables) -> Rebuilt:
    """Everything that follows from the tables: exact ends of every cell, and one table that fits.

    Examples
    --------
    >>> people = {"block": ["A"] * 3, "sex": ["f", "f", "m"], "race": ["w", "b", "b"], "hisp": ["y", "n", "n"]}
    >>> tables = AreaTables.from_microdata(people, "block", ["sex"], "race", "hisp", "y", "w")
    >>> reconstruct_exact(tables).people_proved
    3
    """
    found = reconstruct_arithmetic(tables)
    solution = found.low.copy()
    areas = np.flatnonzero((found.low < found.high).any(axis=(1, 2)))
    wrong = exact_areas(areas, tables.split, tables.inside, found.low, found.high, found.rule, solution)
    if wrong >= 0:
        raise TableError(
            "area tables", [f"area {tables.areas[wrong]!r}: no table fits T, H, W, N and M together"]
        )
    return Rebuilt(tables, found.low, found.high, found.rule, solution)
