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

    Examples
    --------
    >>> k_anonymity({"sex": ["f", "m", "m"]}, ["sex"]).table.select("k", "rows below").rows()
    [(2, 1), (3, 3), (5, 3), (10, 3)]
    """
    groups = frequencies(data, keys)
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
    when there is none. A missing key is a level of its own. All missing sensitive values together are one value;
    ``compat="sdcMicro"`` counts each as a different one, as sdcMicro does, which overstates diversity.

    Examples
    --------
    >>> l_diversity({"k": ["a", "a", "b"], "s": ["x", "y", "x"]}, ["k"], "s")["distinct"].to_list()
    [2, 2, 1]
    """
    if compat not in (None, "sdcMicro"):
        raise OptionError(f"unknown compat {compat!r}; use 'sdcMicro' or leave it out")
    codes = KeyCodes.of(data, keys)
    ids, size = codes.groups()
    column = _sensitive(data, codes, sensitive).categories
    values = column.codes.astype(np.int64)
    if compat == "sdcMicro":
        gaps = np.flatnonzero(np.isin(values, gap_codes(column.labels)))
        values[gaps] = len(column.labels) + np.arange(len(gaps))
    width = int(values.max()) + 1 if len(values) else 1
    cells, place = np.unique(ids * width + values, return_inverse=True)
    counts = codes.units.owners(place, len(cells))
    owner = cells // width
    share = counts / np.bincount(owner, counts)[owner]
    distinct = np.bincount(owner, minlength=size)
    entropy = np.exp(-np.bincount(owner, share * np.log(share), minlength=size))
    recursive = _recursive(owner, counts, size, recursive_c)
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
    tail = total[owner] - (before - before[starts][owner])
    holds = counts[starts][owner] < c * tail
    return np.maximum(np.bincount(owner, holds, minlength=size).astype(np.int64), 1)


def t_closeness(data: Any, keys: Sequence[str], sensitive: str, records: bool = False) -> Result:
    """Largest distance between a class's distribution of the sensitive value and everybody's.

    The distance is the earth mover's: half the sum of absolute differences for nominal values, the mean absolute
    difference of the cumulative shares for ordered ones and numbers (Li, Li and Venkatasubramanian 2007).

    Examples
    --------
    >>> t_closeness({"k": ["a", "a", "b", "b"], "s": ["x", "y", "x", "x"]}, ["k"], "s").value
    0.25
    """
    codes = KeyCodes.of(data, keys)
    ids, size = codes.groups()
    column = _sensitive(data, codes, sensitive)
    labels = column.categories
    values = labels.codes.astype(np.int64)
    width = max(len(labels.labels), 1)
    overall = codes.units.owners(values, width).astype(float)
    overall /= overall.sum()
    ordered = column.is_number or column.column.kind is Kind.ORDERED
    distance = np.empty(size)
    for start in range(0, size, 4096):
        stop = min(start + 4096, size)
        inside = (ids >= start) & (ids < stop)
        cell = (ids[inside] - start) * width + values[inside]
        some = codes.units.subset(np.flatnonzero(inside))
        shares = some.owners(cell, (stop - start) * width).reshape(stop - start, width).astype(float)
        gap = shares / shares.sum(axis=1, keepdims=True) - overall
        if ordered and width > 1:
            distance[start:stop] = np.abs(np.cumsum(gap, axis=1)).sum(axis=1) / (width - 1)
        else:
            distance[start:stop] = np.abs(gap).sum(axis=1) / 2
    worst = float(distance.max())
    return Result(
        name="t-closeness",
        value=worst,
        sentence=f"The combination of keys that differs most from everybody is {figure(worst)} away in {sensitive!r} "
        f"(0 = like everybody, 1 = nothing in common); half of the rows are within {figure(np.median(distance[ids]))}.",
        values={"median row": float(np.median(distance[ids])), "mean row": float(distance[ids].mean())},
        records=pl.DataFrame({"row": np.arange(len(ids)), "distance": distance[ids]}) if records else None,
    )
