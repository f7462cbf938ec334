"""Distributions of single columns: shape, range, categories, gaps.

Shape, range coverage, category coverage and boundary adherence are SDMetrics' scores, equal to theirs: 1 is best.
Category adherence leaves empty cells out, where SDMetrics counts them as valid. Special codes count as gaps of a number
and as categories of a categorical column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.errors import counted
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import MISSING, NAN, SPECIAL, AnyArray, BoolArray, Vector
from dalenius.utility.cells import paired, table_statistics
from dalenius.utility.charts import plain_bars
from dalenius.utility.summary import Summary
from dalenius.utility.tables import one_table, reading
from dalenius.utility.yardstick import held_out

DIGITS = 15
TINY, ROUNDED = 1e-3, 1e12
"""Decimals are cut at fifteen between these sizes; beyond them that would change numbers instead of noise."""
COUNTED = 4_000_000
"""Whole numbers over a range up to this are counted instead of sorted."""


Weights = AnyArray | None


def ks_distance(first: AnyArray, second: AnyArray, weights: tuple[Weights, Weights] = (None, None)) -> float:
    """Kolmogorov–Smirnov distance: largest difference between two distribution functions, perhaps weighted.

    Examples
    --------
    >>> ks_distance(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 10]))
    0.25
    >>> ks_distance(np.array([1, 2]), np.array([1, 2, 2, 2]), (np.array([1.0, 3.0]), None))
    0.0
    """
    return _distances((first, weights[0]), (second, weights[1]))[0]


Weighed = tuple[AnyArray, Weights]
"""Values, and their weights if they do not count alike."""


def _distances(first: Weighed, second: Weighed) -> tuple[float, float]:
    """Kolmogorov–Smirnov and earth mover's distance from one pair of distribution functions."""
    if len(first[0]) == 0 or len(second[0]) == 0:
        return float("nan"), float("nan")
    grid, d, s = _histograms(first, second)
    if not d.any() or not s.any():
        return float("nan"), float("nan")
    gap = np.abs(np.cumsum(d) / d.sum() - np.cumsum(s) / s.sum())
    middle = float(grid @ d) / float(d.sum())
    spread = (
        float(np.std(first[0])) if first[1] is None else float(np.sqrt((grid - middle) ** 2 @ d / d.sum()))
    )
    moved = float(np.sum(gap[:-1] * np.diff(grid))) / (spread if spread > 0 else 1.0)
    return float(gap.max()), moved


def _histograms(first: Weighed, second: Weighed) -> tuple[AnyArray, AnyArray, AnyArray]:
    """All values that occur and how often, or with what weight; whole numbers are counted, others sorted."""
    (a, of_a), (b, of_b) = first, second
    low = float(min(a.min(), b.min()))
    size = float(max(a.max(), b.max())) - low
    if size < COUNTED and np.all(a == np.floor(a)) and np.all(b == np.floor(b)):
        d, s = (
            np.bincount((side - low).astype(np.int64), weights, minlength=int(size) + 1)
            for side, weights in (first, second)
        )
        return low + np.arange(int(size) + 1), d, s
    grid, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    d = np.bincount(place[: len(a)], of_a, minlength=len(grid))
    return grid, d, np.bincount(place[len(a) :], of_b, minlength=len(grid))


def shape_scores(pair: Pair, columns: Sequence[str]) -> dict[str, float]:
    """SDMetrics' column shapes alone: 1 − KS of numbers, 1 − TVD of categories.

    Examples
    --------
    >>> shape_scores(Pair({"a": ["x", "x", "y", "z"]}, {"a": ["x", "x", "y", "y"]}), ["a"])
    {'a': 0.75}
    """
    scores = {}
    for name in columns:
        if pair.original[name].is_number:
            scores[name] = 1 - _distances(*_finite(pair, name))[0]
        else:
            scores[name] = _category_figures(pair, name)["shape"]
    return scores


def _finite(pair: Pair, name: str) -> tuple[Weighed, Weighed]:
    """Finite values of a number in both files, with their weights."""
    first, second = (_known(pair, name, file) for file in ("original", "protected"))
    known = [first[0], second[0]]
    largest = max((float(np.abs(side).max()) for side in known if len(side)), default=0.0)
    if largest == 0 or largest >= ROUNDED or all(np.all(side == np.floor(side)) for side in known):
        return first, second
    # fifteen decimals as in SDMetrics; numbers that are all tiny keep their digits
    decimals = DIGITS if largest >= TINY else min(DIGITS - math.floor(math.log10(largest)), 290)
    return (np.round(first[0], decimals), first[1]), (np.round(second[0], decimals), second[1])


def _known(pair: Pair, name: str, file: Literal["original", "protected"]) -> Weighed:
    vector = pair.original[name] if file == "original" else pair.protected[name]
    weights = pair.designs.weights(file)
    values = vector.values.astype(np.float64)
    if weights is not None and vector.state is not None:
        weights = weights[vector.present]
    finite = np.isfinite(values)
    return (
        (values, weights) if finite.all() else (values[finite], None if weights is None else weights[finite])
    )


def column_figures(pair: Pair, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Every column's figures, one row per column.

    ``shape`` is 1 − KS for numbers and 1 − TVD for categories (SDMetrics' column shapes); ``TVD`` and ``S_pMSE``
    compare the column in groups, gaps included; ``vanished`` is the share of original rows whose category the protected
    file has lost, ``novel`` the share of protected rows with a category or value outside the original's.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "x", "y", "z"]}, {"a": ["x", "x", "y", "y"]})
    >>> row = column_figures(pair).row(0, named=True)
    >>> row["shape"], row["coverage"], row["vanished"]
    (0.75, 0.6666666666666666, 0.25)
    """
    rows = []
    for name in columns if columns is not None else pair.columns:
        original, protected = pair.original[name], pair.protected[name]
        figures = (
            _number_figures(*_finite(pair, name)) if original.is_number else _category_figures(pair, name)
        )
        table = _in_groups(pair, name)
        rows.append(
            {
                "column": name,
                "kind": str(original.column.kind),
                **figures,
                "TVD": table["TVD"],
                "S_pMSE": table["S_pMSE"],
                "missing original": _gaps(original, pair.designs.weights("original")),
                "missing protected": _gaps(protected, pair.designs.weights("protected")),
                "reading": reading(table["S_pMSE"]),
            }
        )
    return pl.DataFrame(rows, schema=_SCHEMA)


def _in_groups(pair: Pair, name: str) -> dict[str, float]:
    """Statistics of a column's table, with weights and people of several rows where there are some."""
    original, protected, effect = one_table(pair, [name])
    return table_statistics(*paired(original, protected), ranked=False, effect=effect)


_FIGURES = ("shape", "KS", "Wasserstein", "coverage", "adherence", "vanished", "novel")
_SCHEMA = {
    "column": pl.String, "kind": pl.String, **dict.fromkeys(_FIGURES, pl.Float64), "TVD": pl.Float64,
    "S_pMSE": pl.Float64, "missing original": pl.Float64, "missing protected": pl.Float64, "reading": pl.String,
}  # fmt: skip


def _gaps(vector: Vector, weights: Weights = None) -> float:
    """Share of empty cells."""
    if vector.state is None or len(vector) == 0:
        return 0.0
    missing = SPECIAL + len(vector.column.missing)
    gap = (
        (vector.state == MISSING)
        | (vector.state == NAN)
        | ((vector.state >= SPECIAL) & (vector.state < missing))
    )
    return float(np.mean(gap)) if weights is None else float(weights @ gap / weights.sum())


def _number_figures(first: Weighed, second: Weighed) -> dict[str, float]:
    ks, moved = _distances(first, second)
    (a, _), (b, weights) = first, second
    figures = dict.fromkeys(_FIGURES, float("nan")) | {"shape": 1 - ks, "KS": ks, "Wasserstein": moved}
    if len(a) and len(b):
        low, high = float(a.min()), float(a.max())
        inside = float(np.average((b >= low) & (b <= high), weights=weights))
        figures |= {"adherence": inside, "novel": 1 - inside, "vanished": 0.0}
        if high > low:
            short = max((float(b.min()) - low) / (high - low), 0) + max(
                (high - float(b.max())) / (high - low), 0
            )
            figures["coverage"] = max(1 - short, 0.0)
    elif len(a):
        figures |= _nothing_left()
    return figures


def _nothing_left() -> dict[str, float]:
    """Figures of a column that has values in the original and none in the protected file."""
    return {"coverage": 0.0, "vanished": 1.0}


def category_counts(pair: Pair, name: str) -> tuple[AnyArray, AnyArray, BoolArray]:
    """Rows (or weights) of each category in the original and the protected file, and which categories are gaps."""
    aligned = pair.categories(name, grouped=False)
    size = aligned.original.size
    gap = np.array(
        [str(label) in ("missing", "NaN") and not isinstance(label, str) for label in aligned.original.labels]
    )
    of_d, of_s = (pair.designs.weights(file) for file in ("original", "protected"))
    d = np.bincount(aligned.original.codes, of_d, minlength=size).astype(np.float64)
    s = np.bincount(aligned.protected.codes, of_s, minlength=size).astype(np.float64)
    return d, s, gap


def _category_figures(pair: Pair, name: str) -> dict[str, float]:
    d, s, gap = category_counts(pair, name)
    dn, sn = d[~gap], s[~gap]
    figures = dict.fromkeys(_FIGURES, float("nan"))
    if dn.sum() and sn.sum():
        seen = dn > 0
        figures |= {
            "shape": 1 - 0.5 * float(np.abs(dn / dn.sum() - sn / sn.sum()).sum()),
            "coverage": float(np.mean(sn[seen] > 0)),
            "adherence": float(sn[seen].sum() / sn.sum()),
            "novel": float(sn[~seen].sum() / sn.sum()),
            "vanished": float(dn[sn == 0].sum() / dn.sum()),
        }
    elif dn.sum():
        figures |= _nothing_left()
    return figures


@measure(
    name="column-shapes",
    title="Column shapes",
    family="utility",
    meaning="How alike the distributions of single columns are, averaged: 1 is the same, 0 has nothing in common.",
    better="higher",
    bounds=(0, 1),
    reference="SDMetrics: QualityReport, Column Shapes (KSComplement, TVComplement)",
    sees_dependence=False,
    weighs=True,
)
def column_shapes(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean of SDMetrics' column shape scores, with all figures of each column.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 5}
    >>> column_shapes(Pair(data, data)).value
    1.0
    """
    table = column_figures(pair, columns).sort("shape", descending=False, nulls_last=True)
    summary = Summary.of(table, "shape")
    text = "There is no column to compare."
    if summary.worst is not None:
        text = (
            f"Single columns overlap by {figure(100 * summary.mean, '%')} on average; the least alike is "
            f"{summary.worst['column']!r} with {figure(100 * summary.worst['shape'], '%')}."
        )
    shown = table.with_columns((1 - pl.col("shape")).alias("distance"))
    return Result(
        name="column-shapes",
        value=summary.mean,
        sentence=text,
        yardsticks={"the original itself": 1.0, **_holdout_shapes(pair, table["column"].to_list())},
        values={"lowest": summary.lowest},
        table=table,
        counts=WHOLE,
        chart=lambda: plain_bars(shown, "column", "distance", "distance between distributions (0 is best)"),
    )


def _holdout_shapes(pair: Pair, columns: Sequence[str]) -> dict[str, float]:
    held = held_out(pair)
    if held is None:
        return {}
    summary = Summary.of(column_figures(held, columns), "shape")
    return {"holdout": summary.mean} if summary.worst is not None else {}


@measure(
    name="coverage",
    title="Coverage of categories and ranges",
    family="utility",
    meaning="Share of the original's categories, and of its number ranges, that the protected file still has; rare "
    "categories vanish first.",
    better="higher",
    bounds=(0, 1),
    reference="SDMetrics: CategoryCoverage, RangeCoverage; Fössing, Drechsler 2024 (vanished categories)",
    sees_dependence=False,
    weighs=True,
)
def coverage(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean coverage over the columns, with what has vanished and what is new.

    Examples
    --------
    >>> coverage(Pair({"a": ["x", "y", "z", "z"]}, {"a": ["x", "z", "z", "z"]})).value
    0.6666666666666666
    """
    table = column_figures(pair, columns).select(
        "column", "kind", "coverage", "adherence", "vanished", "novel"
    )
    table = table.sort("coverage", nulls_last=True)
    known = table.filter(pl.col("coverage").is_not_nan())
    value = Summary.of(table, "coverage").mean
    lost = table.filter(pl.col("vanished") > 0)
    text = f"The protected file covers {figure(100 * value, '%')} of the original's categories and ranges on average."
    if not len(known):
        text = "There is no column whose categories or range could be covered."
    elif len(lost):
        names = ", ".join(repr(name) for name in lost.sort("vanished", descending=True)["column"].head(3))
        more = " and more" if len(lost) > 3 else ""
        text += f" Categories have vanished in {counted(len(lost), 'column')}: {names}{more}."
    return Result(
        name="coverage",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 1.0},
        values={"vanished categories": float(table["vanished"].fill_nan(0.0).sum())},
        table=table,
        counts=WHOLE,
        chart=lambda: plain_bars(known, "column", "coverage", "share of categories or range covered"),
    )
