"""Linkage of outliers: people with extreme values, and how many protected records could be theirs.

The linkage attack of Trindade et al. 2024, section 3.2.

Trindade, Antunes, Carvalho and Moniz (PSD 2024): take the outliers of the original, look for protected records close to
them on all keys, and count outliers with exactly one candidate. The control is ours: without people who are not in the
data such a count says little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.compared import compared
from dalenius.core.errors import DataError
from dalenius.core.intervals import Share
from dalenius.core.kernels import threads_for
from dalenius.core.option import at_least, one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.encode import level_key
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.distance._kernels import outliers as kernels
from dalenius.risk.distance.outlier_rules import Rule, find_outliers
from dalenius.risk.distance.similarity import similarity
from dalenius.risk.within import ROUNDING

MOST_PAIRS = 10**10


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """Candidates of each original outlier.

    Attributes
    ----------
    rows
        The outliers.
    candidates
        How many records each could be.
    matched
        A record it could be (-1: none): the only one where there is exactly one.
    similarity
        How like the only candidate is (mean over the numbers; 1: within half the tolerance, 1/2: at its limit); NaN
        where there is none or more than one.
    by_knowledge
        Pairs, and outliers with one and with at least one candidate, as more columns are known.
    """

    rows: AnyArray
    candidates: AnyArray
    matched: AnyArray
    similarity: AnyArray
    by_knowledge: pl.DataFrame

    @property
    def unique_similarity(self) -> tuple[float, float]:
        """Mean and smallest similarity of the outliers with exactly one candidate; NaN when there are none."""
        known = self.similarity[~np.isnan(self.similarity)]
        return (float(known.mean()), float(known.min())) if len(known) else (float("nan"), float("nan"))

    @property
    def pairs(self) -> int:
        """Possible matches in all."""
        return int(self.candidates.sum())

    @property
    def unique(self) -> int:
        """Outliers with exactly one candidate: the greatest risk."""
        return int(np.count_nonzero(self.candidates == 1))

    @property
    def linked(self) -> int:
        """Outliers with at least one candidate."""
        return int(np.count_nonzero(self.candidates > 0))


def link_outliers(
    left: Table,
    right: Table,
    tolerances: Mapping[str, float],
    exact: Sequence[str] = (),
    *,
    rows: AnyArray | None = None,
    candidates: Literal["outliers", "all"] = "outliers",
    rule: Rule = "zscore",
) -> Linkage:
    """Link outliers of one table with records of another.

    Parameters
    ----------
    tolerances
        Number columns the intruder knows, and how far off a candidate may be: similarity 1/2 under ``gauss`` with
        offset o and scale s is a distance of o + s, and the distance is what is compared, so that rounding at the
        limit plays no part.
    exact
        Category columns that must be equal.
    rows
        Rows of ``left`` to link; default: its outliers on the number columns.
    candidates
        Only outliers of ``right`` by its own limits, or all of its rows.

    Examples
    --------
    >>> a = Table.from_frame({"age": [54.0, 20.0], "home": ["own", "rent"]})
    >>> b = Table.from_frame({"age": [50.0, 47.0, 90.0], "home": ["own", "rent", "own"]})
    >>> link_outliers(a, b, {"age": 10.0}, ["home"], rows=np.array([0]), candidates="all").unique
    1
    """
    one_of("candidates", candidates, ("outliers", "all"))
    numbers = list(tolerances)
    rows = np.flatnonzero(find_outliers(left, numbers, rule)) if rows is None else rows
    theirs = (
        np.flatnonzero(find_outliers(right, numbers, rule))
        if candidates == "outliers"
        else np.arange(right.rows)
    )
    if len(rows) * len(theirs) > MOST_PAIRS:
        raise DataError(
            f"{len(rows) * len(theirs):,} pairs are too many; take a sample or candidates='outliers'"
        )
    x = np.column_stack([left[n].floats()[rows] for n in numbers])
    y = np.column_stack([right[n].floats()[theirs] for n in numbers])
    a, b = _common_codes(left, right, exact, rows, theirs)
    width = np.array([tolerances[n] for n in numbers])
    with threads_for(x.size * len(y)):  # by number of exact columns that are known
        counts, last = kernels.count_close(x, y, a, b, width * (1 + ROUNDING))
    names = ["numbers", *exact]
    table = pl.DataFrame(
        {
            "known": [" + ".join(names[: i + 1]) for i in range(len(names))],
            "pairs": counts.sum(axis=0),
            "exactly one": (counts == 1).sum(axis=0),
            "at least one": (counts > 0).sum(axis=0),
        }
    )
    alike = _likeness(x, y, np.where(counts[:, -1] == 1, last, -1), width)
    return Linkage(rows, counts[:, -1], np.where(last >= 0, theirs[last], -1), alike, table)


def _likeness(x: AnyArray, y: AnyArray, candidate: AnyArray, width: AnyArray) -> AnyArray:
    """Mean similarity of each row to its candidate (-1: none): offset and scale are half the tolerance each."""
    likeness = np.full(len(x), np.nan)
    only = np.flatnonzero(candidate >= 0)
    gaps = np.abs(x[only] - y[candidate[only]])
    parts = [
        similarity(gap, w / 2, w / 2) if w > 0 else np.ones(len(only))
        for gap, w in zip(gaps.T, width.tolist(), strict=True)
    ]
    likeness[only] = np.mean(parts, axis=0)
    return likeness


def drop_links(
    left: Table,
    right: Table,
    tolerances: Mapping[str, float],
    exact: Sequence[str] = (),
    *,
    candidates: Literal["outliers", "all"] = "outliers",
    rule: Rule = "zscore",
) -> Table:
    """Take records out of a protected table that are the only candidate of an outlier, until no outlier has just one.

    Who lost one of two candidates has one left, and a file without its extremes has other outliers: therefore again.

    Examples
    --------
    >>> a = Table.from_frame({"x": [0.37 * i for i in range(99)] + [900.5]})
    >>> b = Table.from_frame({"x": [0.36 * i for i in range(99)] + [900.0]})
    >>> drop_links(a, b, {"x": 1.0}, candidates="all").rows
    99
    """
    while True:
        linked = link_outliers(left, right, tolerances, exact, candidates=candidates, rule=rule)
        only = linked.matched[linked.candidates == 1]
        if not len(only):
            return right
        right = right.take(np.delete(np.arange(right.rows), only))


def _common_codes(
    left: Table, right: Table, names: Sequence[str], rows: AnyArray, theirs: AnyArray
) -> tuple[AnyArray, AnyArray]:
    columns = []
    for name in names:
        mine, other = left[name].categories, right[name].categories
        places = {level_key(label): i for i, label in enumerate(other.labels)}
        moved = np.array([places.get(level_key(label), -1) for label in mine.labels] or [-1])
        columns.append((moved[mine.codes[rows]], other.codes[theirs].astype(np.int64)))
    if not columns:
        return np.zeros((len(rows), 0), np.int64), np.zeros((len(theirs), 0), np.int64)
    return np.column_stack([c[0] for c in columns]), np.column_stack([c[1] for c in columns])


def check_links(pair: Pair, linkage: Linkage, columns: Sequence[str]) -> pl.DataFrame:
    """Whether the only candidate of an outlier tells the truth: agreement in columns that were not used to link.

    A close record is no re-identification when the rest of it is another person's: beside the agreement of linked pairs
    stands that of the same outliers with any protected record.

    Examples
    --------
    >>> data = {"x": [0.37 * i for i in range(99)] + [900.5], "c": ["a"] * 99 + ["b"]}
    >>> pair = Pair(data, data)
    >>> found = link_outliers(pair.original, pair.protected, {"x": 1.0}, candidates="all")
    >>> check_links(pair, found, ["c"]).rows()
    [('c', 1, 100.0, 1.0)]
    """
    single = (linkage.candidates == 1) & (linkage.matched >= 0)
    rows, matched = linkage.rows[single], linkage.matched[single]
    checked = []
    for name in columns:
        aligned = pair.categories(name, grouped=True)
        mine, theirs = aligned.original.codes[rows], aligned.protected.codes
        shares = np.bincount(theirs, minlength=len(aligned.protected.labels)) / len(theirs)
        agree = 100 * float(np.mean(mine == theirs[matched])) if len(rows) else float("nan")
        chance = 100 * float(shares[mine].mean()) if len(rows) else float("nan")
        checked.append({"column": name, "linked": len(rows), "agree": agree, "any record": chance})
    return pl.DataFrame(checked)


def compare_outliers(
    original: Any,
    files: Mapping[str, Any],
    tolerances: Mapping[str, float],
    exact: Sequence[str] = (),
    *,
    holdout: Any = None,
    rule: Rule = "zscore",
    candidates: Literal["outliers", "all"] = "outliers",
) -> pl.DataFrame:
    """Run the linkage on several protected files (methods, settings, budgets): one row each (Trindade et al. 2024).

    Parameters
    ----------
    files
        Protected files by name.
    holdout
        People who are not in the data: their outliers (by the original's limits) are linked too, as the control.

    Examples
    --------
    >>> data = {"x": [0.37 * i for i in range(99)] + [900.5]}
    >>> compare_outliers(data, {"copy": data}, {"x": 1.0}).select("file", "outliers", "exactly one").rows()
    [('copy', 1, 1)]
    """
    rows = []
    for name, file in files.items():
        pair = Pair(original, file, holdout)
        linked = link_outliers(
            pair.original, pair.protected, tolerances, exact, candidates=candidates, rule=rule
        )
        row: dict[str, Any] = {
            "file": name,
            "outliers": len(linked.rows),
            "its own outliers": int(find_outliers(pair.protected, list(tolerances), rule).sum()),
            "pairs": linked.pairs,
            "exactly one": linked.unique,
            "at least one": linked.linked,
        }
        if pair.holdout is not None:
            strangers = np.flatnonzero(
                find_outliers(pair.holdout, list(tolerances), rule, reference=pair.original)
            )
            control = link_outliers(
                pair.holdout,
                pair.protected,
                tolerances,
                exact,
                rows=strangers,
                candidates=candidates,
                rule=rule,
            )
            row |= {"outsiders": len(strangers), "outsiders, at least one": control.linked}
        rows.append(row)
    return pl.DataFrame(rows)


@measure(
    name="outlier-linkage",
    title="Outliers that can be linked",
    family="risk",
    dimension="singling out",
    meaning="Share of the original's outliers for which a protected record agrees in every known category and lies "
    "within 2 % of the range in every known number.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Trindade et al. 2024, with a control group added",
    default=False,
)
def outlier_linkage(
    pair: Pair,
    columns: Sequence[str] | None = None,
    share: float = 0.02,
    rule: Rule = "zscore",
    records: bool = False,
) -> Result:
    """Outliers with at least one candidate, beside the same for outliers of the holdout.

    Examples
    --------
    >>> data = {"x": [0.37 * i for i in range(99)] + [900.5], "y": [0.1 * i for i in range(100)]}
    >>> outlier_linkage(Pair(data, data)).value
    100.0
    """
    at_least("share", share, 0)
    default = [n for n in pair.columns if pair.original[n].is_number or n in pair.keys]
    used = list(columns) if columns is not None else default
    numbers = [n for n in used if pair.original[n].is_number]
    if not numbers:
        text = "No number column is known, so there are no outliers."
        return Result("outlier-linkage", float("nan"), text, trusted=False)
    width = {n: share * _range(pair.original, n) for n in numbers}
    exact = [n for n in used if n not in numbers]
    linked = link_outliers(pair.original, pair.protected, width, exact, candidates="all", rule=rule)
    units = pair.units.subset(linked.rows)
    if units.count == 0:
        text = "The original has no outliers in the known numbers."
        return Result("outlier-linkage", 0.0, text, unit="%", trusted=False)
    value, single = units.share(linked.candidates > 0), units.share(linked.candidates == 1)
    yardsticks, outside = {}, None
    beside = "without a holdout it cannot be told how many would by chance"
    if pair.holdout is not None:
        others = np.flatnonzero(find_outliers(pair.holdout, numbers, rule, reference=pair.original))
        control = link_outliers(pair.holdout, pair.protected, width, exact, rows=others, candidates="all")
        held = pair.holdout_units.subset(others)
        outside = _alone(held, control.candidates > 0)
        yardsticks["holdout"] = 100 * outside.value
        beside = f"for outliers who are not in the data it is {figure(yardsticks['holdout'], '%')}"
    return Result(
        name="outlier-linkage",
        value=value,
        sentence=f"{figure(value, '%')} of {units.count:,} outliers among the original {units.noun} have a protected "
        f"record like them, {figure(single, '%')} exactly one; {beside}.",
        **compared(_alone(units, linked.candidates > 0), outside),
        yardsticks=yardsticks,
        values={
            "exactly one": single,
            "pairs": float(linked.pairs),
            "outliers": float(units.count),
            "outliers linked, % of everybody": value * units.count / pair.units.count,
            "mean similarity of the only candidate": linked.unique_similarity[0],
        },
        table=linked.by_knowledge,
        counts=WHOLE,
        trusted=bool(yardsticks),
        records=pl.DataFrame({"row": linked.rows, "candidates": linked.candidates}) if records else None,
    )


def _alone(units: Units, flags: AnyArray) -> Share:
    """Share of units with a flagged row, each unit on its own."""
    return Share.of(units.any(flags).astype(float), np.arange(units.count))


def _range(table: Table, name: str) -> float:
    values = table[name].values
    values = values[np.isfinite(values)]
    return float(np.ptp(values)) if len(values) else 0.0
