"""k-anonymity, l-diversity and t-closeness of a file.

A *class* is a combination of keys with the rows that share it. k-anonymity asks how many share it, l-diversity how many
different sensitive values they have, t-closeness how far their sensitive values are from those of everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.result import WHOLE, Result, figure
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector
from dalenius.risk.sample.frequencies import frequencies
from dalenius.risk.sample.keys import KeyCodes
from dalenius.risk.tabular.cells import gap_codes


def k_anonymity(
    data: Any,
    keys: Sequence[str] | None = None,
    levels: Sequence[int] = (2, 3, 5, 10),
    records: bool = False,
) -> Result:
    """Profile of class sizes: the value is the smallest class, the table says how many rows violate each k.

    An empty key is a value of its own: only rows that look the same are alike.

    Examples
    --------
    >>> k_anonymity({"sex": ["f", "m", "m"]}, ["sex"]).table.select("k", "rows below").rows()
    [(2, 1), (3, 3), (5, 3), (10, 3)]
    """
    groups = frequencies(data, keys, alpha=None)
    rows, noun = groups.units.count, groups.units.noun
    table = pl.DataFrame(
        [
            {"k": k, "rows below": groups.violations(k), "per cent": 100 * groups.violations(k) / rows}
            for k in levels
        ]
    )
    smallest = float(groups.fk.min())
    return Result(
        name="k-anonymity",
        value=smallest,
        sentence=f"The rarest combination of keys has {figure(smallest)} of the {noun}, so that the file is "
        f"{int(smallest)}-anonymous, and {groups.unique:,} of {rows:,} {noun} are alone with their keys.",
        values={"unique rows": float(groups.unique), "classes": float(KeyCodes.of(data, keys).groups()[1])},
        table=table,
        counts=WHOLE,
        records=pl.DataFrame({"row": np.arange(len(groups.fk)), "same_keys": groups.fk}) if records else None,
    )


def l_diversity(
    data: Any, keys: Sequence[str], sensitive: str, *, recursive_c: float = 2, compat: str | None = None
) -> pl.DataFrame:
    """Distinct, entropy and recursive l-diversity of every row's class.

    ``entropy`` is the exponential of the class's entropy: the number of equally common values that would be as
    diverse. ``recursive`` is the largest l for which r1 < c (rl + … + rm), r1 ≥ r2 ≥ … the counts of the values, and 1
    when there is none. A missing key is a level of its own. A missing sensitive value (or a special code) is no value:
    where nobody's is known, all three are 0. ``compat="sdcMicro"`` counts each missing one as a different value, as
    sdcMicro does, which overstates diversity.

    Examples
    --------
    >>> l_diversity({"k": ["a", "a", "b"], "s": ["x", "y", "x"]}, ["k"], "s")["distinct"].to_list()
    [2, 2, 1]
    >>> l_diversity({"k": ["a", "a", "b"], "s": ["x", None, None]}, ["k"], "s")["distinct"].to_list()
    [1, 1, 0]
    """
    if compat not in (None, "sdcMicro"):
        raise OptionError(f"unknown compat {compat!r}; use 'sdcMicro' or leave it out")
    codes = KeyCodes.of(data, keys)
    ids, size = codes.groups()
    vector = _sensitive(data, codes, sensitive)
    column = vector.categories
    values, rows = column.codes.astype(np.int64), np.flatnonzero(vector.present)
    if compat == "sdcMicro":
        gaps = np.flatnonzero(np.isin(values, gap_codes(column.labels)))
        values[gaps] = len(column.labels) + np.arange(len(gaps))
        rows = np.arange(len(values))
    width = int(values.max()) + 1 if len(values) else 1
    cells, place = np.unique((ids * width + values)[rows], return_inverse=True)
    counts = codes.units.subset(rows).owners(place, len(cells))
    owner = cells // width
    share = counts / np.bincount(owner, counts, minlength=size)[owner]
    distinct = np.bincount(owner, minlength=size)
    entropy = np.exp(-np.bincount(owner, share * np.log(share), minlength=size))
    recursive = _recursive(owner, counts, size, recursive_c)
    entropy[distinct == 0] = recursive[distinct == 0] = 0
    return pl.DataFrame({"distinct": distinct[ids], "entropy": entropy[ids], "recursive": recursive[ids]})


def _sensitive(data: Any, keys: KeyCodes, name: str) -> Vector:
    """Return the sensitive column, which must not be a key: who knows it has nothing to learn."""
    if name in keys.names:
        raise OptionError(f"column {name!r} is a key and sensitive; take it out of the keys")
    return Table.from_frame(data)[name]


def _recursive(owner: AnyArray, counts: AnyArray, size: int, c: float) -> AnyArray:
    """Find per class the largest l with r1 < c (rl + … + rm); counts are sorted downwards within each class."""
    order = np.lexsort((-counts, owner))
    owner, counts = owner[order], counts[order]
    starts = np.searchsorted(owner, np.arange(size))
    total = np.bincount(owner, counts, minlength=size)
    before = np.cumsum(counts) - counts
    first = starts[owner]  # a class without any value has none
    tail = total[owner] - (before - before[first])
    holds = counts[first] < c * tail
    return np.maximum(np.bincount(owner, holds, minlength=size).astype(np.int64), 1)


def t_closeness(data: Any, keys: Sequence[str], sensitive: str, records: bool = False) -> Result:
    """Largest distance between a class's distribution of the sensitive value and everybody's.

    The distance is the earth mover's: half the sum of absolute differences for nominal values, the mean absolute
    difference of the cumulative shares for ordered ones and numbers (Li, Li and Venkatasubramanian 2007). Missing
    values and special codes are left out; a class in which nobody's value is known counts as 1, the farthest.

    Examples
    --------
    >>> t_closeness({"k": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"]}, ["k"], "s").value
    0.25
    """
    codes = KeyCodes.of(data, keys)
    ids, size = codes.groups()
    column = _sensitive(data, codes, sensitive)
    labels = column.categories
    values, known = labels.codes.astype(np.int64), column.present
    used, values[known] = np.unique(values[known], return_inverse=True)
    width = max(len(used), 1)
    overall = codes.units.subset(np.flatnonzero(known)).owners(values[known], width).astype(float)
    overall /= max(overall.sum(), 1)
    ordered = column.is_number or column.column.kind is Kind.ORDERED
    distance = np.empty(size)
    for start in range(0, size, 4096):
        stop = min(start + 4096, size)
        inside = np.flatnonzero((ids >= start) & (ids < stop) & known)
        cell = (ids[inside] - start) * width + values[inside]
        some = codes.units.subset(inside)
        shares = some.owners(cell, (stop - start) * width).reshape(stop - start, width).astype(float)
        total = shares.sum(axis=1, keepdims=True)
        gap = shares / np.maximum(total, 1) - overall
        if ordered and width > 1:
            apart = np.abs(np.cumsum(gap, axis=1)).sum(axis=1) / (width - 1)
        else:
            apart = np.abs(gap).sum(axis=1) / 2
        distance[start:stop] = np.where(total[:, 0] > 0, apart, 1.0)
    worst = float(distance.max())
    return Result(
        name="t-closeness",
        value=worst,
        sentence=f"The combination of keys that differs most from everybody is {figure(worst)} away in {sensitive!r} "
        f"(0 = like everybody, 1 = nothing in common); half of the rows are within {figure(np.median(distance[ids]))}.",
        values={"median row": float(np.median(distance[ids])), "mean row": float(distance[ids].mean())},
        records=pl.DataFrame({"row": np.arange(len(ids)), "distance": distance[ids]}) if records else None,
    )
