"""Special uniques: minimal sample uniques (MSU), SUDA and DIS-SUDA scores.

An item set (some columns with their values) is a *sample unique* when one row has it, and *minimal* when no part of it
is unique already. A row with many small MSUs is special: few facts single it out (Elliot, Manning and Ford 2002;
Manning, Haglin and Keane 2008 for the name SUDA2). A row is unique on a set of columns whenever it is on a part of it,
so an MSU is a unique whose every part with one column less is not: one pass per set of columns finds them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.intervals import wilson
from dalenius.core.option import at_least
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.sample.keys import KeyCodes

MOST_COLUMNS = 16
DIS_FRACTION = 0.01
"""Sampling fraction when none is known, as in sdcMicro."""


@dataclass(frozen=True, eq=False, repr=False)
class Suda:
    """SUDA scores of every row.

    Attributes
    ----------
    score
        Sum over a row's MSUs of (M - size)!, M the number of columns.
    dis
        DIS-SUDA: the chance that a match with this row is right, scaled by its score.
    contribution
        Per row and column: the share of the score that comes from MSUs with this column.
    sizes
        Number of MSUs of each size, per row.
    codes, labels
        The keys of each row, and what their codes mean.

    Examples
    --------
    >>> suda({"a": [1, 1, 2], "b": [1, 2, 1], "c": [1, 1, 1]}, ["a", "b", "c"]).score.tolist()
    [1.0, 2.0, 2.0]
    """

    keys: tuple[str, ...]
    score: AnyArray
    dis: AnyArray
    contribution: AnyArray
    sizes: AnyArray
    units: Units
    codes: AnyArray
    labels: tuple[Sequence[Any], ...]

    def by_level(self) -> pl.DataFrame:
        """Per column, how the score that comes from MSUs with it is spread over its levels, in per cent (confidential).

        Examples
        --------
        >>> suda({"a": [1, 1, 2], "b": [1, 2, 1]}, ["a", "b"]).by_level().filter(column="a")["contribution"].to_list()
        [50.0, 50.0]
        """
        told = []
        for j, name in enumerate(self.keys):
            labels = self.labels[j]
            points = np.bincount(
                self.codes[:, j], self.contribution[:, j] * self.score, minlength=len(labels)
            )
            shares = 100 * points / points.sum() if points.sum() else np.zeros(len(labels))
            told += [(name, str(label), float(share)) for label, share in zip(labels, shares, strict=True)]
        return pl.DataFrame(told, schema=["column", "level", "contribution"], orient="row")

    def by_column(self) -> pl.DataFrame:
        """Share of the total score that comes from MSUs with each column, in per cent."""
        total = self.score.sum()
        parts = (
            100 * (self.contribution * self.score[:, None]).sum(axis=0) / total
            if total
            else np.zeros(len(self.keys))
        )
        return pl.DataFrame({"column": list(self.keys), "contribution": parts})

    def records(self) -> pl.DataFrame:
        """One row per record: its scores, its MSUs by size, and what each key contributes (confidential)."""
        columns = {"row": np.arange(len(self.score)), "suda": self.score, "dis_suda": self.dis}
        columns |= {f"msu_of_{k + 1}": self.sizes[:, k] for k in range(self.sizes.shape[1])}
        return pl.DataFrame(
            columns | {f"part_of_{n}": self.contribution[:, j] for j, n in enumerate(self.keys)}
        )

    def result(self, records: bool = False) -> Result:
        """Summary as a result: share of rows with an MSU, and the mean DIS-SUDA score of those."""
        special = self.score > 0
        rows, hit = self.units.count, int(self.units.any(special).sum())
        value = 100 * hit / rows
        mean = float(self.dis[special].mean()) if hit else 0.0
        return Result(
            name="suda",
            value=value,
            unit="%",
            sentence=f"{hit:,} of {rows:,} {self.units.noun} ({figure(value, '%')}) are special uniques on "
            f"{', '.join(self.keys)}: a match with one of them is right with a chance of {figure(100 * mean, '%')} on "
            f"average and {figure(100 * float(self.dis.max()), '%')} at most.",
            interval=self.units.interval(value),
            values={"mean DIS-SUDA": mean, "largest DIS-SUDA": float(self.dis.max())},
            table=self.by_column(),
            counts=WHOLE,
            records=self.records() if records else None,
        )


def suda(
    data: Any, keys: Sequence[str] | None = None, *, dis_fraction: float = DIS_FRACTION, original_scores: bool = True,
    max_size: int | None = None,
) -> Suda:  # fmt: skip
    """SUDA and DIS-SUDA scores; a missing value is never part of an MSU.

    Parameters
    ----------
    dis_fraction
        Sampling fraction of the file.
    original_scores
        (M - size)! per MSU; otherwise (2^(M - size) - 1) / C(M, size), the scoring of an earlier implementation.
    max_size
        Largest MSU looked for; all by default.

    Examples
    --------
    >>> suda({"a": [1, 1, 2], "b": [1, 2, 1]}, ["a", "b"]).records().select("row", "suda").rows()
    [(0, 1.0), (1, 1.0), (2, 1.0)]
    """
    if not 0 < dis_fraction < 1:
        raise OptionError(f"dis_fraction is {dis_fraction}; a sampling fraction lies between 0 and 1")
    codes = KeyCodes.of(data, keys)
    width = len(codes.names)
    score, part = np.zeros(len(codes)), np.zeros((len(codes), width))
    sizes = np.zeros((len(codes), width), np.int64)
    for columns, rows in minimal_uniques(codes, max_size):
        k = len(columns)
        points = float(factorial(width - k)) if original_scores else (2.0 ** (width - k) - 1) / comb(width, k)
        score[rows] += points
        sizes[rows, k - 1] += 1
        part[rows[:, None], columns] += points
    share = np.divide(part, score[:, None], out=np.zeros_like(part), where=score[:, None] > 0)
    dis = _dis(codes, score, dis_fraction)
    return Suda(codes.names, score, dis, share, sizes, codes.units, codes.codes, codes.labels)


def minimal_uniques(codes: KeyCodes, max_size: int | None = None) -> Iterator[tuple[list[int], AnyArray]]:
    """Sets of columns with the rows for which they are a minimal sample unique."""
    width = len(codes.names)
    if width > MOST_COLUMNS:
        raise OptionError(f"{width} columns have too many subsets to search; name at most {MOST_COLUMNS}")
    if max_size is not None:
        at_least("max_size", max_size, 1)
    limit = width if max_size is None else min(max_size, width)
    smaller: dict[tuple[int, ...], AnyArray] = {}
    for k in range(1, limit + 1):
        found: dict[tuple[int, ...], AnyArray] = {}
        for columns in combinations(range(width), k):
            unique = _unique_rows(codes, columns)
            parts = [smaller[part] for part in combinations(columns, k - 1)] if k > 1 else []
            minimal = unique.copy()
            for part in parts:
                minimal &= ~part
            found[columns] = unique
            if minimal.any():
                yield list(columns), np.flatnonzero(minimal)
        smaller = found


def _unique_rows(codes: KeyCodes, columns: Sequence[int]) -> AnyArray:
    ids, size = codes.groups(columns)
    unique: AnyArray = (codes.units.owners(ids, size) == 1)[ids]
    return unique & ~codes.missing[:, list(columns)].any(axis=1)


def _dis(codes: KeyCodes, score: AnyArray, fraction: float) -> AnyArray:
    """DIS-SUDA (Elliot et al. 2005): spread the chance that a unique match is right over rows by their score."""
    ids, size = codes.groups()
    counts = codes.units.owners(ids, size)
    uniques, in_pairs = np.count_nonzero(counts == 1), 2 * np.count_nonzero(counts == 2)
    scored = score > 0
    if uniques == 0 or not scored.any():
        return np.zeros(len(score))
    right = uniques * fraction / (uniques * fraction + in_pairs * (1 - fraction))
    # sdcMicro holds parts of this in single precision: it agrees with us to 1e-7
    power = 1 + (8 - len(codes.names)) / 20
    weight = np.where(scored, score, 1.0) ** power
    total = (1 / weight[scored]).sum()
    odds = (uniques / right - uniques) / (weight * total)
    return np.where(scored, 1 / (1 + odds), 0.0)


def msu_overlap(
    pair: Pair,
    columns: Sequence[str] | None = None,
    max_size: int = 6,
    grouped: bool = True,
    records: bool = False,
) -> Result:
    """Share of the protected rows with an MSU that is an MSU of the original too (Kolb et al. 2024).

    Beside it stands the same share for the holdout's rows: people of one population have MSUs in common by chance.

    Examples
    --------
    >>> gt = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 3, 4, 4, 9, 10]}
    >>> sd = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 5, 4, 4, 4, 10]}
    >>> round(msu_overlap(Pair(gt, sd), grouped=False).value, 3)
    0.333
    """
    used = list(columns) if columns is not None else (pair.keys + pair.targets) or pair.columns
    originals = {
        tuple(chosen): set(map(tuple, values.tolist()))
        for chosen, _, values in _values_of(_side(pair, used, "original", grouped), max_size)
    }
    special, common = _overlap(_side(pair, used, "protected", grouped), originals, max_size)
    hits, total = int(common.sum()), int(special.sum())
    yardsticks, beside = {}, "without a holdout it cannot be told how many would by chance"
    if pair.holdout is not None:
        theirs, shared = _overlap(_side(pair, used, "holdout", grouped), originals, max_size)
        yardsticks["holdout"] = float(shared.sum() / theirs.sum()) if theirs.any() else float("nan")
        beside = f"for people who are not in the data the share is {figure(yardsticks['holdout'])}"
    found = {"protected_row": np.arange(len(special)), "special": special, "common": common}
    return Result(
        name="msu-overlap",
        value=hits / total if total else float("nan"),
        sentence=f"{total:,} protected rows have a minimal sample unique (values that single them out); for {hits:,} "
        f"of them the same values single somebody out in the original; {beside}.",
        interval=wilson(hits, total) if total else None,
        yardsticks=yardsticks,
        values={"protected rows with MSU": float(total), "common": float(hits)},
        trusted=bool(yardsticks),
        records=pl.DataFrame(found) if records else None,
    )


def _side(pair: Pair, columns: Sequence[str], which: str, grouped: bool) -> KeyCodes:
    """One file of a pair as codes over the levels of all of them; a gap is a level."""
    file = [getattr(pair.categories(name, grouped), which) for name in columns]
    codes = np.column_stack([c.codes.astype(np.int64) for c in file])
    owners = {"original": pair.units, "holdout": pair.holdout_units}
    units = owners.get(which, Units(None, len(codes)))
    return KeyCodes(tuple(columns), codes, tuple(c.labels for c in file), np.zeros(codes.shape, bool), units)


def _values_of(codes: KeyCodes, max_size: int) -> Iterator[tuple[list[int], AnyArray, AnyArray]]:
    for columns, rows in minimal_uniques(codes, max_size):
        yield columns, rows, codes.codes[rows[:, None], columns]


def _overlap(
    codes: KeyCodes, originals: dict[tuple[int, ...], set[tuple[int, ...]]], max_size: int
) -> tuple[AnyArray, AnyArray]:
    """Rows that have an MSU, and rows that have one of the original's."""
    special, common = np.zeros(len(codes), bool), np.zeros(len(codes), bool)
    for columns, rows, values in _values_of(codes, max_size):
        special[rows] = True
        known = originals.get(tuple(columns), set())
        common[rows] |= np.fromiter((tuple(row) in known for row in values.tolist()), bool, len(rows))
    return special, common
