"""`Evidence`: the figures that checks look at, collected apart from the checks, so that they can be sent elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.plain import plain
from dalenius.outputs._kernels import COLUMNS, by_record, by_unit
from dalenius.outputs.behind import deviations, modal_of, others_of, owners_of, totals_apart
from dalenius.outputs.position import fewest_between
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
        units), low, high, how many units hold these two ends, and how many are away from what all others have
        (``others``). With a power in the facts ``deviation`` and ``deviation_1`` … (total and largest sums by unit of
        deviations from the mean to that power), with quantiles ``owners`` (people who own the rows around them) and
        ``between`` (fewest people beyond them or between two), with a mode ``modal`` (people who have it), where
        rows of units are counted ``rows_1`` … (rows of those who have most).
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


def collect(query: Query, largest: int = 2, few: int = 10) -> Evidence:
    """Collect the evidence of a table in one pass over its records (one more a margin).

    Parameters
    ----------
    query
        What is asked of the data.
    largest
        How many of the largest contributions are kept by cell.
    few
        How many people are few, where those who differ from all others are counted.

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
    outs, tops, more = [], [], []
    for over in query.parts:
        cell = query.collapsed(over)
        votes = np.full(query.size(over), np.inf)
        out, top = _figures(query, cell, query.size(over), largest, votes)
        empty = out[:, 0] == 0
        out[empty, 6], out[empty, 7] = np.nan, np.nan
        outs.append(out)
        tops.append(top)
        more.append({**_rows(query, cell, top), **_behind(query, cell, out, (few, largest), votes)})
    out = np.concatenate(outs)
    figures = {name: out[:, i] for i, name in enumerate(COLUMNS)}
    figures |= {name: np.concatenate([part[name] for part in more]) for name in more[0]}
    shape, facts = query.shape, dict(query.facts)
    return Evidence(
        query.frame(), shape, figures, np.concatenate(tops), query.impossible, facts, query.limits
    )


def _rows(query: Query, cell: Any, top: Floats) -> dict[str, Floats]:
    """Rows of those who have most, where rows are counted and units have several."""
    if query.unit is None or not (query.value is None or query.facts.get("counts")):
        return {}
    if query.value is not None:
        there = np.where(np.isnan(query.value), np.nan, 1.0)
        _, top = _figures(replace(query, value=there), cell, *top.shape)
    return {f"rows_{k + 1}": top[:, : k + 1].sum(axis=1) for k in range(top.shape[1])}


def _behind(query: Query, cell: Any, out: Floats, least: tuple[int, int], votes: Floats) -> dict[str, Floats]:
    """Figures about the few that many may hide, as the form of the statistic asks for them."""
    if query.value is None:
        return {}
    few, largest = least
    places = {name: i for i, name in enumerate(COLUMNS)}
    found = {
        "others": others_of(query, cell, out[:, [places[n] for n in ("rows", "sum", "low", "high")]], few)
    }
    of = out[:, [places["rows"], places["units"]]]
    found["totals_apart"] = totals_apart(query, cell, of, votes > of[:, 1] - 2 * few)
    if "power" in query.facts:
        away = deviations(cell, query.value, out[:, [places["rows"], places["sum"]]], query.facts["power"])
        own, top = _figures(replace(query, value=away), cell, len(out), largest)
        found["deviation"] = own[:, places["total"]]
        found |= {f"deviation_{k + 1}": top[:, : k + 1].sum(axis=1) for k in range(top.shape[1])}
    if "mode" in query.facts:
        found["modal"] = modal_of(query, cell, len(out))
    if "quantiles" in query.facts:
        found["owners"] = owners_of(query, cell, of, query.facts["quantiles"], few)
        found["between"] = fewest_between(query, cell, len(out))
    return found


def _figures(
    query: Query, cell: Any, cells: int, largest: int, votes: Floats | None = None
) -> tuple[Floats, Floats]:
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
        by_unit(cell, value, has, query.unit, marks, out, top, np.zeros(cells) if votes is None else votes)
    return out, top
