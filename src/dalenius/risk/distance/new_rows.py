"""New rows: how many protected records lie within a tolerance of no original (Aghaddar et al. 2024; SDMetrics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.compared import compared
from dalenius.core.errors import OptionError
from dalenius.core.intervals import Share
from dalenius.core.kernels import threads_for
from dalenius.core.later import altair as alt
from dalenius.core.option import at_least, one_of
from dalenius.core.random import Seed, some_rows
from dalenius.core.result import Result, figure
from dalenius.core.style import HOLDOUT, PROTECTED
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.distance._kernels import new_rows as kernels
from dalenius.risk.needs import compared_columns
from dalenius.risk.sampling import SEED
from dalenius.risk.within import within

RelativeTo = Literal["value", "range", "sd"]


def smallest_tolerance(
    pair: Pair,
    rows: AnyArray,
    which: str = "protected",
    columns: Sequence[str] | None = None,
    relative_to: RelativeTo = "value",
) -> AnyArray:
    """Smallest tolerance at which each row meets an original, infinite when none ever does.

    A row s meets an original r at tolerance t when |r - s| <= t |s| in every number, and every category and gap is
    equal. The tolerance is relative to s, so a zero meets only a zero; or to the range or the standard deviation of the
    original's column.
    """
    one_of("relative_to", relative_to, ("value", "range", "sd"))
    used = list(columns) if columns is not None else pair.columns
    numbers = [n for n in used if pair.original[n].is_number]
    others = [n for n in used if n not in set(numbers)]
    table = {"protected": pair.protected, "holdout": pair.holdout}[which]
    assert table is not None
    keys = [_gap_and_codes(pair, n, which, n in numbers) for n in (*others, *numbers)]
    theirs, mine = [k[0] for k in keys], [k[1][rows] for k in keys]
    sizes = [int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(theirs, mine, strict=True)]
    original = _group(theirs, sizes, pair.original.rows)
    wanted = _group(mine, sizes, len(rows))
    values, ids = np.unique(np.concatenate([original, wanted]), return_inverse=True, axis=0)
    first, second = ids[: pair.original.rows], ids[pair.original.rows :]
    order = np.argsort(first, kind="stable")
    starts = np.searchsorted(first[order], np.arange(len(values) + 1))
    x = _filled(pair.original, numbers)[order]
    y = _filled(table, numbers)[rows]
    with threads_for(x.size * len(y)):
        return kernels.smallest(x, starts, y, second, _units(pair.original, numbers, relative_to))


def _units(table: Table, numbers: Sequence[str], relative_to: RelativeTo) -> AnyArray:
    """What a tolerance of 1 is in each number column; -1: the value itself."""
    if relative_to == "value":
        return np.full(len(numbers), -1.0)
    spread = np.ptp if relative_to == "range" else np.std
    known = [table[n].floats() for n in numbers]
    known = [values[np.isfinite(values)] for values in known]
    return np.array([float(spread(values)) if len(values) else 0.0 for values in known])


def _group(columns: Sequence[AnyArray], sizes: Sequence[int], rows: int) -> AnyArray:
    from dalenius.counts.keys import ravel  # noqa: PLC0415

    keys = ravel(columns, sizes, rows) if columns else np.zeros(rows, np.int64)
    return keys if keys.ndim == 2 else keys[:, None]


def _gap_and_codes(pair: Pair, name: str, which: str, number: bool) -> tuple[AnyArray, AnyArray]:
    """Codes that must be equal: the category, or for numbers which kind of gap it is."""
    if number:
        states = [table[name].state for table in (pair.original, getattr(pair, which))]
        sizes = [pair.original.rows, getattr(pair, which).rows]
        gaps = [
            np.zeros(n, np.int64) if s is None else s.astype(np.int64)
            for s, n in zip(states, sizes, strict=True)
        ]
        return gaps[0], gaps[1]
    aligned = pair.categories(name, grouped=False)
    return aligned.original.codes.astype(np.int64), getattr(aligned, which).codes.astype(np.int64)


def _filled(table: Table, numbers: Sequence[str]) -> AnyArray:
    columns = [np.nan_to_num(table[n].floats(), nan=0.0) for n in numbers]
    return np.column_stack(columns) if columns else np.zeros((table.rows, 0))


def new_row_curve(
    pair: Pair,
    tolerances: Sequence[float] = tuple(np.round(np.linspace(0, 1, 21), 2)),
    most: int | None = 2000,
    seed: Seed = SEED,
    relative_to: RelativeTo = "value",
) -> pl.DataFrame:
    """Share of new rows by tolerance, for the protected file and for the holdout.

    The risk is how far the protected curve lies below the holdout's, not the curve itself.

    Parameters
    ----------
    relative_to
        Tolerances are shares of the protected "value" (above about 0.3 they no longer mean "copy"), of the "range" or
        of the "sd" of the original's column.

    Examples
    --------
    >>> real = {"a": [100, 200, 300], "c": ["x", "y", "z"]}
    >>> fake = {"a": [101, 150, 300, 0], "c": ["x", "y", "z", "x"]}
    >>> new_row_curve(Pair(real, fake), [0, 0.01, 0.5, 1])["protected"].to_list()
    [0.75, 0.5, 0.25, 0.25]
    """
    if min(tolerances) < 0:
        raise OptionError("a tolerance is negative; use 0 or more")
    curve = {"tolerance": np.asarray(tolerances, float)}
    for which in ("protected", "holdout"):
        table = getattr(pair, which)
        if table is None:
            continue
        found = smallest_tolerance(pair, some_rows(table.rows, most, seed, which), which, None, relative_to)
        curve[which] = np.array([float(np.mean(~within(found, t))) for t in tolerances])
    return pl.DataFrame(curve)


@measure(
    name="new-rows",
    title="Protected rows that match an original",
    family="risk",
    dimension="copying",
    meaning="Share of protected rows that agree with some original in every category and within 1 % in every "
    "number.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="SDMetrics: NewRowSynthesis; Aghaddar et al. 2024",
    default=False,
    random=True,
)
def new_rows(
    pair: Pair,
    tolerance: float = 0.01,
    relative_to: RelativeTo = "value",
    most: int | None = 5000,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Share of protected rows that are not new, beside the holdout's.

    Parameters
    ----------
    tolerance, relative_to
        How far off a number may be: a share of the protected "value", of the "range" or of the "sd" of its column.

    Examples
    --------
    >>> real = {"a": [100, 200, 300], "c": ["x", "y", "z"]}
    >>> new_rows(Pair(real, {"a": [101, 150, 300, 0], "c": ["x", "y", "z", "x"]})).value
    50.0
    """
    at_least("tolerance", tolerance, 0)
    compared_columns(pair)
    rows = some_rows(pair.protected.rows, most, seed, "protected")
    smallest = smallest_tolerance(pair, rows, relative_to=relative_to)
    value = 100 * float(np.mean(within(smallest, tolerance)))
    yardsticks, outside, text = (
        {},
        None,
        " Without a holdout this cannot be interpreted: chance alone makes rows agree.",
    )
    if pair.holdout is not None:
        held = pair.holdout_units.one_row_each(most, seed, "holdout")
        theirs = smallest_tolerance(pair, held, "holdout", relative_to=relative_to)
        outside = _alone(theirs, tolerance)
        yardsticks["holdout"] = 100 * outside.value
        text = (
            f" Of people who are not in the data, {figure(yardsticks['holdout'], '%')} match an original so."
        )
    return Result(
        name="new-rows",
        value=value,
        sentence=f"{figure(value, '%')} of the protected rows agree with an original in every category and within "
        f"{figure(100 * tolerance, '%')}{'' if relative_to == 'value' else f' of the {relative_to}'} in every number."
        f"{text}",
        **compared(_alone(smallest, tolerance), outside),
        yardsticks=yardsticks,
        values={"new": 100 - value},
        trusted=pair.holdout is not None,
        records=pl.DataFrame({"protected_row": rows, "smallest_tolerance": smallest}) if records else None,
        chart=lambda: _chart(new_row_curve(pair, seed=seed, relative_to=relative_to)),
    )


def _alone(smallest: AnyArray, tolerance: float) -> Share:
    """Share of rows that match, each row on its own."""
    return Share.of(within(smallest, tolerance).astype(float), np.arange(len(smallest)))


def _chart(curve: pl.DataFrame) -> alt.TopLevelMixin:
    long = curve.unpivot(index="tolerance", variable_name="file", value_name="new rows")
    colours = alt.Scale(domain=["protected", "holdout"], range=[PROTECTED, HOLDOUT])
    return (
        alt.Chart(long.to_arrow())
        .mark_line()
        .encode(
            x=alt.X("tolerance:Q"),
            y=alt.Y("new rows:Q"),
            color=alt.Color("file:N", scale=colours, title=None),
        )
        .properties(width=420, height=180)
    )
