"""`Evidence`: the figures that checks look at, collected apart from the checks, so that they can be sent elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.plain import plain
from dalenius.outputs._kernels import COLUMNS, by_record, by_unit
from dalenius.outputs.query import SMALL, Bools, Floats, Ints, Query


@dataclass(frozen=True, eq=False)
class Evidence:
    """Figures by cell, and figures of the form. Confidential.

    It has what the rules of tables ask of `Contributions`: ``total``, ``number`` and ``largest_sum``, by unit.

    Attributes
    ----------
    cells
        Labels of the cells, inner cells first, then margins.
    shape
        Categories of each dimension; ``inner`` cells of them.
    figures
        One column a figure: rows (non-missing), missing, negative, units, sum, total (of absolute contributions of
        units), low, high, and how many units hold these two ends.
    top
        Largest absolute contributions of single units, cells × n.
    impossible
        Inner cells that cannot hold anybody.
    facts
        Figures of the form (degrees of freedom, rank and patterns of a design, steps of a survival table).
    """

    cells: pl.DataFrame
    shape: tuple[int, ...]
    figures: Mapping[str, Floats] = field(repr=False)
    top: Floats = field(repr=False)
    impossible: Bools = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict)
    limits: tuple[float, ...] = ()

    @property
    def inner(self) -> int:
        """Number of inner cells; the others are margins."""
        return len(self.impossible)

    @property
    def number(self) -> Ints:
        """Distinct units with a value, by cell."""
        return self.figures["units"].astype(np.int64)

    @property
    def total(self) -> Floats:
        """Sum of the units' absolute contributions, by cell."""
        return self.figures["total"]

    def largest_sum(self, count: int) -> Floats:
        """Sum of the ``count`` largest contributions, by cell."""
        return np.asarray(self.top[:, :count].sum(axis=1))

    def grid(self, name: str = "units") -> Floats:
        """A figure of the inner cells in the shape of the table."""
        return np.asarray(self.figures[name][: self.inner].reshape(self.shape or (1,)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, to be sent to a checker elsewhere. Confidential.

        Examples
        --------
        >>> from dalenius.outputs.query import Dimension
        >>> found = collect(Query("count", (Dimension("sex", np.array([0, 1, 0]), ("f", "m")),), rows=3))
        >>> Evidence.from_dict(found.to_dict()).number.tolist()
        [2, 1]
        """
        return {
            "cells": self.cells.to_dict(as_series=False), "shape": list(self.shape),
            "figures": {k: plain(v.tolist()) for k, v in self.figures.items()}, "top": plain(self.top.tolist()),
            "impossible": self.impossible.tolist(), "facts": plain(dict(self.facts)), "limits": list(self.limits),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evidence:
        """Read back what `to_dict` wrote."""
        figures = {k: np.array([_number(x) for x in v], np.float64) for k, v in data["figures"].items()}
        top = np.array(data["top"], np.float64).reshape(len(data["top"]), -1)
        frame = pl.DataFrame(data["cells"], schema=dict.fromkeys(data["cells"], pl.String))
        mask = np.array(data["impossible"], np.bool_)
        return cls(frame, tuple(data["shape"]), figures, top, mask, data["facts"], tuple(data["limits"]))


def _number(value: Any) -> float:
    return float("nan") if value is None else float(str(value).replace("Infinity", "inf"))


def collect(query: Query, largest: int = 2) -> Evidence:
    """Collect the evidence of a table in one pass over its records (one more a margin).

    Examples
    --------
    >>> from dalenius.outputs.query import Dimension
    >>> firm = Dimension("branch", np.array([0, 0, 0, 1]), ("a", "b"))
    >>> value, unit = np.array([30.0, 40, 10, np.nan]), np.array([0, 0, 1, 2])
    >>> query = Query("sum", (firm,), 4, value, "turnover", unit, list("xyz"))
    >>> found = collect(query)
    >>> found.number.tolist(), found.largest_sum(1).tolist(), found.figures["missing"].tolist()
    ([2, 0], [70.0, 0.0], [0.0, 1.0])
    """
    outs, tops = [], []
    for over in query.parts:
        out, top = _figures(query, query.collapsed(over), query.size(over), largest)
        outs.append(out)
        tops.append(top)
    out = np.concatenate(outs)
    empty = out[:, 0] == 0
    out[empty, 6], out[empty, 7] = np.nan, np.nan
    figures = {name: out[:, i] for i, name in enumerate(COLUMNS)}
    shape, facts = query.shape, dict(query.facts)
    return Evidence(
        query.frame(), shape, figures, np.concatenate(tops), query.impossible, facts, query.limits
    )


def _figures(query: Query, cell: Any, cells: int, largest: int) -> tuple[Floats, Floats]:
    out = np.zeros((cells, len(COLUMNS)))
    out[:, 6], out[:, 7] = np.inf, -np.inf
    top = np.zeros((cells, max(largest, 1)))
    has = query.value is not None
    value = query.value if query.value is not None else np.zeros(1)
    if query.unit is None:
        by_record(cell, value, has, out, top)
    else:
        units = int(query.unit.max(initial=-1)) + 1
        marks = np.full((3, units), -1, np.int16 if cells < SMALL else np.int32)
        by_unit(cell, value, has, query.unit, marks, out, top)
    return out, top
