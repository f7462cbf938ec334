"""Means, ratios, shares, indices and medians: protected through their parts.

Whoever knows a mean and the count behind it knows the sum; a ratio and its denominator give the numerator; a share and
its total give the part; an index and the base year give this year. So a statistic is shown only where all its parts
could be published, under one pattern that protects each of them. A median is not a sum of anything: it is shown where
the count table, with a higher threshold, shows its cell, so that no difference of two cells holds just a few people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.tables.define import define
from dalenius.tables.formats.tablefile import UNSAFE, TableFile
from dalenius.tables.model import Bools, Floats, TableModel
from dalenius.tables.protect import protect
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rules import FewContributors, Manual, SmallCount, default_rules
from dalenius.tables.suppression import Suppression
from dalenius.tables.whose import whose_rows

Statistic = Literal["mean", "ratio", "share", "index", "median"]
MOST_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class ProtectedStatistic:
    """A statistic of every cell, shown where its parts may be.

    Attributes
    ----------
    kind
        Which statistic.
    values
        True values, NaN where there is none. Confidential.
    suppressed
        Cells without a published value.
    parts
        Name → the protected table of each part; all have the same pattern.
    """

    kind: Statistic
    model: TableModel
    values: Floats
    suppressed: Bools
    parts: Mapping[str, Suppression]
    decimals: int = 2

    @property
    def is_safe(self) -> bool:
        """Whether the audit of every part passed."""
        return all(part.is_safe for part in self.parts.values())

    def to_file(self, *, force: bool = False) -> TableFile:
        """The table for `write_table_file`. Refused if a part is not safe, unless ``force``; then it is marked."""
        if not self.is_safe and not force:
            raise DataError("a part of the statistic is not safe; force=True hands it out all the same")
        shown = np.where(self.suppressed, np.nan, np.round(self.values, self.decimals))
        flags, trees = (
            ["c" if s else "" for s in self.suppressed],
            {d.name: d.hierarchy for d in self.model.dimensions},
        )
        notes = () if self.is_safe else (UNSAFE,)
        return TableFile(self.model.cells, shown, flags, self.kind, self.decimals, trees, notes)

    def to_frame(self, *, force: bool = False) -> pl.DataFrame:
        """Codes, statistic and flag. Refused if a part is not safe, unless ``force``."""
        return self.to_file(force=force).frame()

    def __str__(self) -> str:
        gone = int(self.suppressed.sum())
        names = " and ".join(self.parts)
        safe = "" if self.is_safe else " A part is NOT SAFE."
        said = f"{self.kind} of {len(self.values):,} cells, {gone:,} of them suppressed to protect {names}.{safe}"
        whose = whose_rows(self.model)
        return f"{said} {whose}" if whose else said


def protect_statistic(
    data: Any,
    by: Any,
    statistic: Statistic,
    *rules: PrimaryRule,
    value: str,
    denominator: str | None = None,
    base: Any | None = None,
    least: int = 5,
    **options: Any,
) -> ProtectedStatistic:
    """A table of means, ratios, shares, indices or medians.

    Parameters
    ----------
    data, by
        As in `define`; further options of it (``contributor=``, ``hierarchies=`` …) as well.
    statistic
        "mean" of ``value``; "ratio" of ``value`` to ``denominator``; "share" (%) of ``value`` in the grand total;
        "index" of ``value`` against the data ``base`` of another year (that year = 100); "median" of ``value``.
    rules
        Rules for the sums behind it; by default those for sums, and more than 3 records, as for counts. Cells without
        any record are then marked like suppressed ones: that there is nobody is a count too.
    least
        Fewest records behind a median.

    Examples
    --------
    >>> firms = {"branch": list("aaaabbbbbccccc"), "pay": [9.0, 8, 1, 2, 5, 5, 4, 6, 5, 7, 8, 9, 7, 8]}
    >>> means = protect_statistic(firms, "branch", "mean", value="pay")
    >>> means.to_frame()["mean"].to_list()
    [6.0, 5.0, 5.0, 7.8]
    """
    if statistic not in get_args(Statistic):
        raise OptionError(f"unknown statistic {statistic!r}; there are {', '.join(get_args(Statistic))}")
    if (statistic == "ratio") != (denominator is not None) or (statistic == "index") != (base is not None):
        raise OptionError("a ratio needs denominator=, an index needs base=, and the others neither")
    top = define(data, by, value=value, **options)
    asked = rules or (*default_rules(top), SmallCount(3, protect_zeros=False))
    if statistic == "median":
        return _median(top, least)
    others: dict[str, TableModel] = {}
    if denominator is not None:
        others[denominator] = define(data, by, value=denominator, **options)
    if base is not None:
        others[f"{value} of the base"] = _aligned(define(base, by, value=value, **options), top)
    parts = _one_pattern({value: top, **others}, asked)
    gone = next(iter(parts.values())).suppressed
    gone = gone if rules else gone | (top.frequency == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "mean":
            values = top.unweighted / top.frequency
        elif statistic == "share":
            whole = top.find()
            if not len(whole):
                raise DataError("shares need the grand total among the cells")
            values = 100.0 * top.amount / top.amount[whole[0]]
            gone = gone | bool(gone[whole[0]])
        else:
            values = (
                top.amount / next(iter(others.values())).amount * (100.0 if statistic == "index" else 1.0)
            )
    return ProtectedStatistic(statistic, top, np.where(np.isfinite(values), values, np.nan), gone, parts)


def _one_pattern(models: Mapping[str, TableModel], rules: tuple[PrimaryRule, ...]) -> dict[str, Suppression]:
    """Protect all parts until they have the same pattern: what one suppresses is protected in the others."""
    first = next(iter(models.values()))
    closed = np.zeros(len(first.cells), np.bool_)
    for _ in range(MOST_ROUNDS):
        before = int(closed.sum())
        parts = {}
        for name, model in models.items():
            parts[name] = protect(model, *rules, Manual(closed, "suppressed in another part")).under(rules)
            closed = closed | parts[name].suppressed
        if int(closed.sum()) == before or len(models) == 1:
            return parts
    return parts


def _aligned(base: TableModel, now: TableModel) -> TableModel:
    """The base year's table with the cells of this year's."""
    if base.cells.equals(now.cells):
        return base
    at = {row: i for i, row in enumerate(base.cells.iter_rows())}
    missing = [row for row in now.cells.iter_rows() if row not in at]
    if missing:
        raise DataError(
            f"{len(missing)} cells of this year are not in the base year; give both the same codes"
        )
    order = [at[row] for row in now.cells.iter_rows()]
    kept = base.matrix[:, order]
    return TableModel(
        base.dimensions, now.cells, base.inner, sp.csc_matrix(kept), base.counts, base.values, base.records
    )


def _median(model: TableModel, least: int) -> ProtectedStatistic:
    records = model.records
    assert records is not None
    few = FewContributors(least - 1) if least > 1 else FewContributors(1)
    part = protect(model, few, SmallCount(max(least - 1, 0), protect_zeros=False))
    members = sp.csc_matrix(model.matrix)
    order = np.argsort(records.inner, kind="stable")
    edges = np.searchsorted(records.inner[order], np.arange(len(model.counts) + 1))
    values = np.full(len(model.cells), np.nan)
    for j in range(len(values)):
        inside = members.indices[members.indptr[j] : members.indptr[j + 1]]
        held = np.concatenate([order[edges[i] : edges[i + 1]] for i in inside]) if len(inside) else inside
        if len(held):
            values[j] = float(np.median(records.value[held]))
    gone = part.suppressed | (model.frequency == 0)
    return ProtectedStatistic("median", model, values, gone, {"the counts": part})
