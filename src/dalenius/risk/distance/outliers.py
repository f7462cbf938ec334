"""Linkage of outliers: people with extreme values, and how many protected records could be theirs (spec psd16).

Trindade, Antunes, Carvalho and Moniz (PSD 2024): take the outliers of the original, look for protected records close to
them on all keys, and count outliers with exactly one candidate. The control is ours: without people who are not in the
data such a count says little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.stats import chi2

from dalenius.core.errors import DataError, OptionError
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.distance._outliers import _kernels
from dalenius.risk.units import Units

Rule = Literal["zscore", "tukey", "robust", "mahalanobis"]
Decay = Literal["gauss", "exp", "linear", "squared", "step"]
MOST_PAIRS = 10**10


def find_outliers(
    table: Table,
    columns: Sequence[str],
    rule: Rule = "zscore",
    limit: float | None = None,
    combine: Literal["any", "all"] = "any",
    reference: Table | None = None,
) -> AnyArray:
    """Mark rows with extreme numbers.

    Parameters
    ----------
    rule
        "zscore": |x - mean| > 3 sd (sample sd); "tukey": outside the fences at 1.5 interquartile ranges; "robust":
        median and 1.4826 MAD instead of mean and sd; "mahalanobis": jointly extreme (chi-square at 0.999).
    limit
        Another number of sds, fences or probability.
    combine
        Extreme in any of the columns, or in all.
    reference
        Take means and limits from this table instead.

    Examples
    --------
    >>> table = Table.from_frame({"x": [0.37 * i for i in range(99)] + [900.5]})
    >>> int(find_outliers(table, ["x"]).sum())
    1
    """
    if not columns:
        raise OptionError("no columns are named; outliers need at least one number column")
    odd = [name for name in columns if not table[name].is_number]
    if odd:
        raise DataError(f"column {odd[0]!r} is {table[odd[0]].column.kind}; outliers need numbers")
    x = np.column_stack([table[name].floats() for name in columns])
    base = x if reference is None else np.column_stack([reference[name].floats() for name in columns])
    if rule == "mahalanobis":
        return _joint(x, base, 0.999 if limit is None else limit)
    flags = np.column_stack([_extreme(x[:, j], base[:, j], rule, limit) for j in range(len(columns))])
    result: AnyArray = np.asarray(flags.any(axis=1) if combine == "any" else flags.all(axis=1))
    return result


def _extreme(x: AnyArray, base: AnyArray, rule: str, limit: float | None) -> AnyArray:
    known = base[np.isfinite(base)]
    if len(known) < 2:
        return np.zeros(len(x), bool)
    if rule == "tukey":
        low, high = np.quantile(known, [0.25, 0.75])
        width = (1.5 if limit is None else limit) * (high - low)
        return (x < low - width) | (x > high + width)
    if rule not in ("zscore", "robust"):
        raise OptionError(f"unknown rule {rule!r}; use zscore, tukey, robust or mahalanobis")
    middle = known.mean() if rule == "zscore" else np.median(known)
    spread = known.std(ddof=1) if rule == "zscore" else 1.4826 * np.median(np.abs(known - middle))
    if spread == 0:
        return np.zeros(len(x), bool)
    return np.abs(x - middle) > (3.0 if limit is None else limit) * spread


def _joint(x: AnyArray, base: AnyArray, probability: float) -> AnyArray:
    known = base[np.isfinite(base).all(axis=1)]
    if len(known) <= base.shape[1]:
        return np.zeros(len(x), bool)
    gap = x - known.mean(axis=0)
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(known, rowvar=False)))
    distance = np.einsum("ij,jk,ik->i", np.nan_to_num(gap), inverse, np.nan_to_num(gap))
    return (distance > chi2.ppf(probability, x.shape[1])) & np.isfinite(x).all(axis=1)


def similarity(distance: AnyArray, offset: float, scale: float, decay: Decay = "gauss") -> AnyArray:
    """Similarity of two numbers a distance apart: 1 up to the offset, 1/2 at offset + scale.

    Examples
    --------
    >>> similarity(np.array([5.0, 7.0, 10.0]), offset=5, scale=5).round(6).tolist()
    [1.0, 0.895025, 0.5]
    """
    if offset < 0 or scale <= 0:
        raise OptionError("offset must be 0 or more and scale above 0")
    e = np.maximum(np.asarray(distance, float) - offset, 0) / scale
    if decay == "gauss":
        return np.asarray(2.0 ** -(e**2))
    if decay == "exp":
        return np.asarray(2.0**-e)
    if decay == "linear":
        return np.maximum(0, 1 - e / 2)
    if decay == "squared":
        return np.maximum(0, 1 - e**2 / 2)
    if decay == "step":
        return (e == 0).astype(float)
    raise OptionError(f"unknown decay {decay!r}; use gauss, exp, linear, squared or step")


def levenshtein(a: str, b: str) -> float:
    """Similarity of two words: 1 - edits / length of the longer one.

    Examples
    --------
    >>> levenshtein("RENT", "OWN"), levenshtein("x", "x")
    (0.25, 1.0)
    """
    if a == b:
        return 1.0
    line = list(range(len(b) + 1))
    for i, first in enumerate(a, 1):
        before, line[0] = line[0], i
        for j, second in enumerate(b, 1):
            before, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, before + (first != second))
    return 1 - line[-1] / max(len(a), len(b))


@dataclass(frozen=True, eq=False)
class Linkage:
    """Candidates of each original outlier."""

    rows: AnyArray
    candidates: AnyArray
    by_knowledge: pl.DataFrame

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
    counts = _kernels.count_close(x, y, a, b, width)  # candidates by number of exact columns that are known
    names = ["numbers", *exact]
    table = pl.DataFrame(
        {
            "known": [" + ".join(names[: i + 1]) for i in range(len(names))],
            "pairs": counts.sum(axis=0),
            "exactly one": (counts == 1).sum(axis=0),
            "at least one": (counts > 0).sum(axis=0),
        }
    )
    return Linkage(rows, counts[:, -1], table)


def _common_codes(
    left: Table, right: Table, names: Sequence[str], rows: AnyArray, theirs: AnyArray
) -> tuple[AnyArray, AnyArray]:
    columns = []
    for name in names:
        mine, other = left[name].categories, right[name].categories
        places = {str(label): i for i, label in enumerate(other.labels)}
        moved = np.array([places.get(str(label), -1) for label in mine.labels] or [-1])
        columns.append((moved[mine.codes[rows]], other.codes[theirs].astype(np.int64)))
    if not columns:
        return np.zeros((len(rows), 0), np.int64), np.zeros((len(theirs), 0), np.int64)
    return np.column_stack([c[0] for c in columns]), np.column_stack([c[1] for c in columns])


@measure(
    MeasureInfo(
        name="outlier-linkage",
        title="Outliers that can be linked",
        family="risk",
        meaning="Share of the original's outliers for which a protected record agrees in every known category and lies "
        "within 2 % of the range in every known number.",
        better="lower",
        bounds=(0, 100),
        unit="%",
        reference="Trindade et al. 2024 (PSD), with a control group added",
        default=False,
    )
)
def outlier_linkage(
    pair: Pair, columns: Sequence[str] | None = None, share: float = 0.02, rule: Rule = "zscore"
) -> Result:
    """Outliers with at least one candidate, beside the same for outliers of the holdout.

    Examples
    --------
    >>> data = {"x": [0.37 * i for i in range(99)] + [900.5], "y": [0.1 * i for i in range(100)]}
    >>> outlier_linkage(Pair(data, data)).value
    100.0
    """
    default = [n for n in pair.columns if pair.original[n].is_number or n in pair.keys]
    used = list(columns) if columns is not None else default
    numbers = [n for n in used if pair.original[n].is_number]
    if not numbers:
        text = "No number column is known, so there are no outliers."
        return Result("outlier-linkage", float("nan"), text, trusted=False)
    width = {n: share * _range(pair.original, n) for n in numbers}
    exact = [n for n in used if n not in numbers]
    found = link_outliers(pair.original, pair.protected, width, exact, candidates="all", rule=rule)
    units = Units.of(pair).subset(found.rows)
    if units.count == 0:
        text = "The original has no outliers in the known numbers."
        return Result("outlier-linkage", 0.0, text, unit="%", trusted=False)
    value, single = units.share(found.candidates > 0), units.share(found.candidates == 1)
    yardsticks = {}
    beside = "without a holdout it cannot be told how many would by chance"
    if pair.holdout is not None:
        others = np.flatnonzero(find_outliers(pair.holdout, numbers, rule, reference=pair.original))
        control = link_outliers(pair.holdout, pair.protected, width, exact, rows=others, candidates="all")
        held = Units.of_holdout(pair).subset(others)
        yardsticks["holdout"] = held.share(control.candidates > 0)
        beside = f"for outliers who are not in the data it is {figure(yardsticks['holdout'], '%')}"
    return Result(
        name="outlier-linkage",
        value=value,
        unit="%",
        sentence=f"{figure(value, '%')} of {units.count:,} outliers among the original {units.noun} have a protected "
        f"record like them, {figure(single, '%')} exactly one; {beside}.",
        interval=units.interval(value),
        yardsticks=yardsticks,
        values={"exactly one": single, "pairs": float(found.pairs), "outliers": float(units.count)},
        table=found.by_knowledge,
        trusted=bool(yardsticks),
    )


def _range(table: Table, name: str) -> float:
    values = table[name].values
    return float(np.ptp(values)) if len(values) else 0.0
