"""Figures that need to know whose row each masked row is: own row found, intervals disclosed, values lost.

The links never leave the house; what leaves are shares and means. sdcMicro's dRisk, dUtility, IL_correl and
IL_variables are here under names of their own, with its figures to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.intervals import wilson
from dalenius.core.result import WHOLE, Result, figure
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.mask.neighbours import Floats, spread

MOST_PAIRED = 4000
"""Rows that can be assigned one to one; the time grows with their cube."""


def linked(
    original: Table, masked: Table, columns: Sequence[str] | None = None, links: IntArray | None = None
) -> tuple[Floats, Floats, list[str]]:
    """Numbers of both files, row by row the same people: the original's rows in the order of the masked file.

    Parameters
    ----------
    columns
        Which; all numbers that both files have by default.
    links
        For each masked row the original row it is; the same rows by default.

    Examples
    --------
    >>> both = Table.from_frame({"a": [1.5, 2.5]}), Table.from_frame({"a": [2.6, 1.4]})
    >>> linked(*both, links=np.array([1, 0]))[0].tolist()
    [[2.5], [1.5]]
    """
    names = [n for n in original.names if n in masked and original[n].is_number and masked[n].is_number]
    chosen = names if columns is None else list(columns)
    absent = [name for name in chosen if name not in names]
    if absent or not chosen:
        raise DataError(no_column(absent, names) if absent else "the files have no numbers in common")
    place = np.arange(masked.rows) if links is None else links
    if len(place) != masked.rows or (links is None and original.rows != masked.rows):
        raise DataError(
            f"{len(place):,} links do not fit {original.rows:,} original and {masked.rows:,} masked rows"
        )
    if not masked.rows:
        raise DataError("the masked file has no rows; there is nothing to measure")
    return _stacked(original, chosen)[place], _stacked(masked, chosen), chosen


def _stacked(table: Table, names: Sequence[str]) -> Floats:
    """Numbers side by side; what is infinite tells no distance."""
    values = np.column_stack([table[name].floats() for name in names])
    return np.where(np.isfinite(values), values, np.nan)


def own_row_found(
    original: Table, masked: Table, columns: Sequence[str] | None = None, *, links: IntArray | None = None,
    one_to_one: bool = False,
) -> Result:  # fmt: skip
    """Share of people whose own masked row is the nearest to what they are known by (distances in standard deviations).

    Of several nearest rows each is right with the same chance. ``one_to_one`` assigns all rows at once, each to one,
    so that the sum of distances is least (Domingo-Ferrer and Torra 2003): the strongest such intruder.

    Examples
    --------
    >>> first = Table.from_frame({"a": [1.5, 2.5, 9.5, 10.5]})
    >>> own_row_found(first, Table.from_frame({"a": [1.4, 2.6, 9.0, 9.7]})).value
    75.0
    """
    x, y, names = linked(original, masked, columns, links)
    full = np.flatnonzero(~(np.isnan(x) | np.isnan(y)).any(axis=1))
    if not len(full):
        raise DataError("no row has all of the columns in both files; name fewer columns")
    points = spread(np.concatenate([x[full], y[full]]), "standard")
    rows = len(full)
    known, shown = points.some(np.arange(rows)), points.some(np.arange(rows, 2 * rows))
    if one_to_one:
        if rows > MOST_PAIRED:
            raise OptionError(
                f"{rows:,} rows are too many to assign one to one; at most {MOST_PAIRED:,}: draw some"
            )
        gaps = ((known.values[:, None, :] - shown.values[None, :, :]) ** 2).sum(axis=2)
        best = linear_sum_assignment(gaps)[1]
    else:
        best = shown.nearest_to(known.values)
    _, ids, counts = np.unique(shown.values, axis=0, return_inverse=True, return_counts=True)
    same = ids.ravel()  # of rows that look the same nobody can tell one from the other
    right = np.where(same[best] == same, 1.0 / counts[same], 0.0)
    value = 100 * float(right.mean())
    way = "assigning all rows at once" if one_to_one else "looking for the nearest row"
    return Result(
        name="own-row-found",
        value=value,
        unit="%",
        sentence=f"By {way} on {', '.join(names)}, {figure(value, '%')} of the people are found in the masked file; "
        f"guessing finds {figure(100 / rows, '%')}.",
        interval=wilson(float(right.sum()), rows, scale=100.0),
        yardsticks={"guessing": 100 / rows},
    )


def interval_disclosure(
    original: Table, masked: Table, columns: Sequence[str] | None = None, *, width: float = 0.05,
    links: IntArray | None = None,
) -> Result:  # fmt: skip
    """Share of rows whose every original value lies within ± width standard deviations of the masked one (dRisk).

    Comparisons with an empty cell count as inside.

    Examples
    --------
    >>> both = Table.from_frame({"a": [1.5, 2.5, 9.5]}), Table.from_frame({"a": [1.5, 4.5, 9.5]})
    >>> round(interval_disclosure(*both).value, 1)
    66.7
    """
    x, y, names = linked(original, masked, columns, links)
    scale = np.nan_to_num(np.nanstd(y, axis=0, ddof=1))  # of one value there is none
    inside = (np.abs(x - y) <= width * scale) | np.isnan(x) | np.isnan(y)
    value = 100 * float(inside.all(axis=1).mean())
    table = pl.DataFrame({"column": names, "inside": 100 * inside.mean(axis=0)})
    return Result(
        name="interval-disclosure",
        value=value,
        unit="%",
        sentence=f"For {figure(value, '%')} of the rows the masked values tell all of {', '.join(names)} to within "
        f"{width:g} standard deviations.",
        interval=wilson(float(inside.all(axis=1).sum()), len(x), scale=100.0),
        table=table,
        counts=WHOLE,
    )


def value_loss(
    original: Table, masked: Table, columns: Sequence[str] | None = None, *, links: IntArray | None = None
) -> Result:
    """How far masked values are from the original ones: sdcMicro's dUtility, IL_correl and IL_variables.

    The value is the mean of |x - y| / (√2 sd(x)) over all cells (IL1old). IL1 and IL1s are sums over cells of
    100 |x - y| / |x| (zeros left out) and of |x - y| / (√2 sd(x)); eigen adds up |λx - λy| / λx of the correlation
    matrices; IL_correl is the distance of the scaled diagonals of their inverses (Młodak 2020), IL_variables the mean
    of (2/π) arctan |x - y|.

    Examples
    --------
    >>> both = Table.from_frame({"a": [1.5, 2.5, 9.5]}), Table.from_frame({"a": [1.5, 4.5, 9.5]})
    >>> round(value_loss(*both).values["IL1"], 9)
    80.0
    """
    x, y, names = linked(original, masked, columns, links)
    gap = np.abs(x - y)
    scale = np.sqrt(2) * np.nanstd(x, axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(x != 0, 100 * gap / np.abs(x), np.nan)
        scaled = np.where(scale > 0, gap / scale, np.nan)
    moved = 2 / np.pi * np.arctan(gap)
    found = {
        "IL1": float(np.nansum(relative)),
        "IL1s": float(np.nansum(scaled)),
        "IL1old": float(np.nansum(scaled)) / x.size,
        "IL_variables": float(np.nanmean(np.nanmean(moved, axis=0))),
    }
    found |= _correlations(x, y)
    return Result(
        name="value-loss",
        value=found["IL1old"],
        sentence=f"On average a masked value is {figure(found['IL1old'] * np.sqrt(2))} standard deviations from the "
        "original one.",
        values=found,
        table=pl.DataFrame({"column": names, "mean shift": np.nanmean(scaled, axis=0) * np.sqrt(2),
                            "IL_variables": np.nanmean(moved, axis=0)}),
        counts=WHOLE,
    )  # fmt: skip


def _correlations(x: Floats, y: Floats) -> dict[str, float]:
    """Loss in the correlation matrices; nothing where they do not exist."""
    before, after = _correlated(x), _correlated(y)
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        return {}
    old, new = (np.linalg.eigvalsh(each)[::-1] for each in (before, after))
    found = {"eigen": float((np.abs(old - new) / old).sum())} if old[-1] > 1e-12 else {}
    if min(old[-1], new[-1]) > 1e-12 and len(before) > 1:
        first, second = (np.diag(np.linalg.inv(each)) for each in (before, after))
        apart = first / np.linalg.norm(first) - second / np.linalg.norm(second)
        found["IL_correl"] = float(np.linalg.norm(apart) / np.sqrt(2))
    return found


def _correlated(values: Floats) -> Floats:
    """Covariances of scaled columns, each from the rows that have both (as R's var does with pairwise.complete.obs)."""
    width = values.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0, ddof=1)
    made = np.full((width, width), np.nan)
    for i in range(width):
        for j in range(width):
            both = scaled[~np.isnan(scaled[:, [i, j]]).any(axis=1)][:, [i, j]]
            if len(both) > 2:
                made[i, j] = ((both - both.mean(axis=0)).prod(axis=1)).sum() / (len(both) - 1)
    return made
