"""`calibrate`: weights of households that meet margins of households and of people at once.

A household counts in a margin of people with each of its members, and all its members have one weight. The weights stay
as near to the old ones as raking does: they are multiplied by an exponential of the margins (Deville, Särndal 1992).
That is where iterative proportional updating goes; Newton's method gets there in a few steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.sparse import coo_array, csr_array

from dalenius.core.errors import DataError, names, no_column
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray

STEPS = 100


@dataclass(frozen=True)
class Margin:
    """Known totals of a table of columns.

    Attributes
    ----------
    columns
        Columns of the table, such as region by sex.
    totals
        A frame with these columns and ``total``.
    level
        Whether people or households are counted.

    Examples
    --------
    >>> Margin(("sex",), {"sex": ["f", "m"], "total": [10.0, 12.0]}).name
    'sex (people)'
    """

    columns: tuple[str, ...]
    totals: Any
    level: Literal["people", "households"] = "people"

    @property
    def name(self) -> str:
        """What it is called in a message."""
        return f"{' by '.join(self.columns)} ({self.level})"


def calibrate(
    sample: Any,
    margins: Sequence[Margin],
    *,
    household: str | None = None,
    weight: str = "weight",
    tol: float = 1e-6,
) -> AnyArray:
    """Weights of the rows of a sample that meet every margin; equal within a household.

    Nothing is given where margins cannot be met: one error names empty cells, margins whose sums disagree, or those
    that are furthest off.

    Parameters
    ----------
    household
        Column of households; without it every row is one.
    tol
        Largest relative deviation from any total.

    Examples
    --------
    >>> people = {"home": [1, 1, 2, 3], "sex": ["f", "m", "f", "m"], "weight": [1.0, 1.0, 1.0, 1.0]}
    >>> margins = [Margin(("sex",), {"sex": ["f", "m"], "total": [10.0, 12.0]})]
    >>> calibrate(people, margins, household="home").round(3).tolist()
    [8.0, 8.0, 2.0, 4.0]
    """
    table = Table.from_frame(sample)
    absent = [n for m in margins for n in m.columns if n not in table]
    absent += [n for n in (weight, household) if n is not None and n not in table]
    if absent:
        raise DataError(f"calibrate: {no_column(list(dict.fromkeys(absent)), table.names)}")
    frame = table.to_frame("polars").with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    owner = np.arange(table.rows)
    if household is not None:
        owner = frame.select(pl.col(household).rank("dense"))[household].to_numpy().astype(np.int64) - 1
    homes = int(owner.max(initial=-1)) + 1
    start = np.bincount(owner, table[weight].amounts(), homes) / np.maximum(
        np.bincount(owner, minlength=homes), 1
    )
    built = [_built(frame, margin, owner, homes) for margin in margins]
    wrong = [fault for _, _, faults in built for fault in faults] + _sums(margins, built)
    if wrong:
        raise DataError.from_faults("calibrate", wrong)
    design = _stacked(built)
    goal = np.concatenate([totals for _, totals, _ in built])
    weights = _solved(design, goal, start, tol)
    off = np.abs(design.T @ weights - goal) / np.maximum(np.abs(goal), 1e-12)
    if off.max(initial=0.0) > tol or not np.isfinite(weights).all():
        raise DataError(
            f"calibrate: the margins conflict, no weights were made; furthest off: {_furthest(margins, built, off)}"
        )
    return weights[owner]


Built = tuple[csr_array, AnyArray, list[str]]


def _stacked(built: Sequence[Built]) -> csr_array:
    from scipy.sparse import hstack  # noqa: PLC0415

    return csr_array(hstack([part for part, _, _ in built]))


def _built(frame: pl.DataFrame, margin: Margin, owner: IntArray, homes: int) -> Built:
    """Members of each household in each cell of a margin, the totals, and what is wrong with them."""
    totals = pl.DataFrame(_plain(margin.totals)).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    keys = list(margin.columns)
    lacking = [n for n in (*keys, "total") if n not in totals.columns]
    if lacking:
        return (
            csr_array((homes, 0)),
            np.zeros(0),
            [f"margin {margin.name}: {no_column(lacking, totals.columns)}"],
        )
    totals = totals.with_columns(pl.col(n).cast(frame.schema[n], strict=False) for n in keys).with_row_index(
        "cell"
    )
    rows = frame.select(keys).with_columns(owner=pl.Series(owner))
    if margin.level == "households":
        rows = rows.unique("owner", keep="first", maintain_order=True)
    joined = rows.join(
        totals.select([*keys, "cell"]), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    wrong = []
    strangers = int(joined["cell"].null_count())
    if strangers:
        wrong.append(f"margin {margin.name}: {strangers:,} rows of the sample are in no cell of it")
    held = joined.drop_nulls("cell")
    cell = held["cell"].to_numpy().astype(np.int64)
    matrix = coo_array((np.ones(len(cell)), (held["owner"].to_numpy(), cell)), shape=(homes, totals.height))
    goal = totals["total"].cast(pl.Float64).to_numpy()
    empty = np.flatnonzero((np.bincount(cell, minlength=totals.height) == 0) & (goal > 0))
    if len(empty):
        shown = [" × ".join(map(str, totals.select(keys).row(int(i)))) for i in empty]
        wrong.append(
            f"margin {margin.name}: nobody in the sample is in {names(shown)}, which should hold people"
        )
    return csr_array(matrix), goal, wrong


def _plain(totals: Any) -> Any:
    return (
        totals if isinstance(totals, (pl.DataFrame, Mapping)) else Table.from_frame(totals).to_frame("polars")
    )


def _sums(margins: Sequence[Margin], built: Sequence[Built]) -> list[str]:
    """Margins of one level whose sums disagree."""
    wrong = []
    for level in ("people", "households"):
        sums = {
            m.name: float(b[1].sum())
            for m, b in zip(margins, built, strict=True)
            if m.level == level and len(b[1])
        }
        if sums and max(sums.values()) - min(sums.values()) > 1e-6 * max(abs(s) for s in sums.values()):
            told = ", ".join(f"{name} {total:,.10g}" for name, total in sums.items())
            wrong.append(f"margins of {level} have different sums: {told}")
    return wrong


def _solved(design: csr_array, goal: AnyArray, start: AnyArray, tol: float) -> AnyArray:
    """Weights start × exp(design · λ) that meet the totals: Newton's method, its steps halved until they help."""
    power = np.zeros(len(goal))
    weights = start.copy()
    off = goal - design.T @ weights
    for _ in range(STEPS):
        if np.abs(off).max(initial=0.0) <= 0.01 * tol * max(
            float(np.abs(goal).max(initial=1.0)), 1e-300
        ) and np.all(np.abs(off) <= 0.1 * tol * np.maximum(np.abs(goal), 1e-12)):
            break
        curve = (design.T @ design.multiply(weights[:, None])).toarray()
        move = np.linalg.lstsq(
            curve + 1e-12 * np.eye(len(goal)) * np.trace(curve) / len(goal), off, rcond=1e-12
        )[0]
        size = 1.0
        while size > 1e-6:
            with np.errstate(over="ignore"):
                tried = start * np.exp(np.clip(design @ (power + size * move), -500, 500))
            new = goal - design.T @ tried
            if np.isfinite(new).all() and np.linalg.norm(new) < np.linalg.norm(off) * (1 - 1e-4 * size):
                break
            size /= 2
        else:
            break
        power, weights, off = power + size * move, tried, new
    return weights


def _furthest(margins: Sequence[Margin], built: Sequence[Built], off: AnyArray) -> str:
    ends = np.cumsum([len(b[1]) for b in built])
    worst = [float(part.max(initial=0.0)) for part in np.split(off, ends[:-1])]
    order = np.argsort(worst)[::-1]
    return ", ".join(f"{margins[i].name} by {100 * worst[i]:.2g} %" for i in order if worst[i] > 0)
