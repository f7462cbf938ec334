"""Tables: from a frame to a query, its figures, and a pandas object."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.outputs.checks import finding
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.impossible import with_rules
from dalenius.outputs.judge import Judged, examined, judge
from dalenius.outputs.output import Output, Values
from dalenius.outputs.query import Dimension, Floats, Query
from dalenius.outputs.register import register
from dalenius.outputs.wraps.columns import column, dimension, numbers, rows_of, units
from dalenius.outputs.wraps.groups import remember
from dalenius.outputs.wraps.sources import noted, retold

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

FROM_EVIDENCE: Mapping[str, Callable[[Evidence], Floats]] = {
    "count": lambda e: e.figures["rows"],
    "size": lambda e: e.figures["rows"],
    "sum": lambda e: e.figures["sum"],
    "mean": lambda e: _divided(e.figures["sum"], e.figures["rows"]),
    "min": lambda e: e.figures["low"],
    "max": lambda e: e.figures["high"],
}
"""Statistics that need no further look at the data."""
ENDS = {"p0": "min", "0%": "min", "p100": "max", "100%": "max"}
"""Quantiles that are end values."""
POWERS = {"std": 2, "var": 2, "sem": 2, "skew": 3, "kurt": 4, "kurtosis": 4}
"""Statistics of shape: the power of the deviations that they are made of."""
QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)|(\d{1,2}(?:\.\d+)?)%")


def _divided(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def table_output(
    desk: Desk, data: Any, by: str | Sequence[str], value: str | None, statistic: str | Sequence[str], *,
    margins: bool = False, structural_zeros: Any = None, structural_limits: Sequence[float] = (),
    fix: str | None = None,
) -> Output:  # fmt: skip
    """Make a table of a frame and check it."""
    if isinstance(data, Mapping):
        data = pd.DataFrame(dict(data))
    remember(desk, data)
    keys = [by] if isinstance(by, str) else list(by)
    stats = [statistic] if isinstance(statistic, str) else list(statistic)
    query = frame_query(desk, data, keys, value, stats, margins=margins)
    query = replace(
        query,
        structural=structural_cells(structural_zeros, query.names),
        limits=tuple(map(float, structural_limits)),
    )
    out = take_table(desk, query, stats, fix=fix, notes=unit_note(desk, data))
    if query.limits:
        told = "end values were said to be known to everybody, and are not checked: a person should know why"
        out.record.notes.append(told)
        desk.note("limits", out.record.uid, limits=len(query.limits))
    return out


def frame_query(
    desk: Desk,
    data: Any,
    keys: Sequence[str],
    value: str | None,
    stats: Sequence[str],
    *,
    margins: bool = False,
) -> Query:
    """The question a table asks of a frame."""
    dims = tuple(dimension(column(data, key), str(key)) for key in keys)
    amounts = None if value is None else numbers(column(data, value), str(value))
    unit, ids = unit_of(desk, data)
    told = ", ".join([*map(str, keys), *([] if value is None else [f"{'/'.join(stats)} of {value}"])])
    return Query(
        ", ".join(register_name(s) for s in stats), dims, rows_of(data), amounts, value, unit, ids, margins,
        facts=form_facts(stats), command=f"table({told})",
    )  # fmt: skip


def unit_of(desk: Desk, data: Any) -> tuple[Any, Any]:
    """Unit of each row by the desk's column; without one every row is a unit, told again by its index."""
    there = [str(c) for c in data.columns] if hasattr(data, "columns") else []
    if desk.unit is not None and desk.unit in there:
        return units(column(data, desk.unit))
    if isinstance(data, pd.DataFrame | pd.Series):
        return None, data.index if data.index.is_unique else None
    return None, None


def unit_note(desk: Desk, data: Any) -> tuple[str, ...]:
    """What to say when the column of the unit is not in the data."""
    if desk.unit is None:
        return ()
    if hasattr(data, "columns") and desk.unit in map(str, data.columns):
        return retold(desk, data)
    return (f"the column {desk.unit!r} of the unit is not in these data: rows were counted, not units",)


def register_name(stat: str) -> str:
    """A statistic under a name that the register knows."""
    if ENDS.get(stat):
        return ENDS[stat]
    return "percentile" if QUANTILE.fullmatch(stat) else {"50%": "median"}.get(stat, stat)


def percentiles(shares: Any) -> list[str]:
    """Quantiles as statistics, to the last digit: 0.25 is p25.

    Examples
    --------
    >>> percentiles([0.25, 1e-5])
    ['p25', 'p0.001']
    """
    return [f"p{np.format_float_positional(100 * float(x), trim='-')}" for x in np.atleast_1d(shares)]


def form_facts(stats: Iterable[str], interpolation: str = "linear") -> dict[str, Any]:
    """What the checks must know of the form: which ends, which quantiles and how they lie between two values."""
    names = {ENDS.get(stat, stat) for stat in stats}
    facts: dict[str, Any] = {}
    if names & {"min", "max"} and not {"min", "max"} <= names:
        facts["ends"] = "low" if "min" in names else "high"
    if names & {"count", "size"}:
        facts["counts"] = True
    if "mode" in names:
        facts["mode"] = True
    shares = [_share(n) for n in names]
    found = [q for q in shares if q is not None]
    if found:
        facts["quantiles"] = found
        facts |= {} if interpolation == "linear" else {"interpolation": interpolation}
    powers = [POWERS[n] for n in names if n in POWERS]
    return {**facts, "power": max(powers)} if powers else facts


def _share(stat: str) -> float | None:
    if stat == "median":
        return 0.5
    match = QUANTILE.fullmatch(stat)
    return None if match is None else float(match[1] or match[2]) / 100.0


def take_table(
    desk: Desk, query: Query, stats: Sequence[str], *, values: Values | None = None, fix: str | None = None,
    render: Callable[[Values], Any] | None = None, notes: Sequence[str] = (), judged: Judged | None = None,
) -> Output:  # fmt: skip
    """Check a table and hand it over, with its figures (computed here unless given)."""
    if judged is None:
        query = with_rules(query, desk.schema)
        judged = judge(query, desk.policy)
    evidence = judged.evidence
    judged = judged.with_findings(*noted(notes, evidence))
    if values is None:
        values = {stat: figures(query, evidence, stat) for stat in stats}
    out = desk.take(
        query, judged=judged, values=values, render=render or (lambda v: plain_frame(query, v)), fix=fix
    )
    out.shown = (
        out.render(out.values) if out.render and out.values is not None and out.merged is None else out.shown
    )
    return out


def figures(query: Query, evidence: Evidence, stat: str) -> Floats:
    """Figures of a statistic by cell."""
    if stat in FROM_EVIDENCE:
        return np.asarray(FROM_EVIDENCE[stat](evidence), np.float64)
    if query.value is None:
        raise OptionError(f"{stat!r} needs a column of numbers; name it with value=")
    out = np.full(len(evidence.cells), np.nan)
    start = 0
    for over in query.parts:
        groups = pl.DataFrame({"cell": query.collapsed(over), "value": query.value}).filter(
            (pl.col("cell") >= 0) & ~pl.col("value").is_nan()
        )
        found = groups.group_by("cell").agg(_expression(stat).alias("x"))
        out[start + found["cell"].to_numpy()] = found["x"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        start += query.size(over)
    return out


def _expression(stat: str) -> pl.Expr:
    value = pl.col("value")
    share = _share(stat)
    if share is not None:
        return value.quantile(share, interpolation="linear")
    ways = {
        "std": value.std,
        "var": value.var,
        "skew": value.skew,
        "kurtosis": value.kurtosis,
        "nunique": value.n_unique,
    }
    if stat == "mode":
        return value.mode().min()
    if stat not in ways:
        raise OptionError(f"the desk cannot compute {stat!r}; compute it and hand it over with declare()")
    return ways[stat]()


def plain_frame(query: Query, values: Values) -> Any:
    """A pandas frame, rows by the first dimension, columns by the others."""
    frame = pd.DataFrame({name: np.asarray(v) for name, v in values.items()})
    if not query.dimensions:
        return frame.iloc[0]
    frame.index = pd.MultiIndex.from_frame(query.frame().to_pandas())
    if len(query.dimensions) == 1:
        frame.index = frame.index.get_level_values(0)
        return frame
    shown = frame.iloc[:, 0] if frame.shape[1] == 1 else frame
    return shown.unstack(list(range(1, len(query.dimensions))), sort=False)


def structural_cells(given: Any, names: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Cells that cannot hold anybody, as tuples of labels."""
    if given is None:
        return frozenset()
    rows = (
        given.to_dicts()
        if isinstance(given, pl.DataFrame)
        else given.to_dict("records")
        if hasattr(given, "iloc")
        else given
    )
    if isinstance(rows, Mapping):
        rows = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    lost = [n for n in names if any(n not in row for row in rows)]
    if lost:
        raise DataError(f"structural zeros need a label for each of {', '.join(map(repr, names))}")
    return frozenset(tuple(str(row[n]) for n in names) for row in rows)


def made_table(desk: Desk, table: Any, statistic: str) -> Output:
    """Check a table somebody made: only its own figures are there, so that a pass is not possible."""
    frame = table.to_pandas() if isinstance(table, pl.DataFrame) else pd.DataFrame(table)
    counts = frame.select_dtypes("number").to_numpy(np.float64)
    flat = np.nan_to_num(counts.ravel())
    figures = {
        name: np.zeros(flat.size)
        for name in ("rows", "missing", "negative", "sum", "total", "low", "high", "at_low", "at_high")
    }
    figures["units"] = flat
    rows = [str(i) for i in frame.index]
    names = [str(c) for c in frame.select_dtypes("number").columns]
    cells = pl.DataFrame({"row": np.repeat(rows, len(names)).tolist(), "column": names * len(rows)})
    evidence = Evidence(cells, counts.shape, figures, np.zeros((flat.size, 2)), np.zeros(flat.size, np.bool_))
    judged = examined([register().lookup(statistic)], evidence, desk.policy)
    words = "the data behind the table are not here: only its own figures were looked at"
    judged = judged.with_findings(finding("weaker", evidence, np.ones(1, np.bool_), words, verdict="review"))
    query = Query(statistic, command=f"check(table of {len(rows)} × {len(names)})")
    return desk.take(
        query,
        judged=judged,
        frame=pl.DataFrame({"row": rows}).hstack(
            pl.DataFrame({n: counts[:, i] for i, n in enumerate(names)})
        ),
        shown=table,
    )


def compared_table(desk: Desk, table: Any, out: Output, by: Any) -> Output:
    """A table that was made of data beside the one that somebody said is it."""
    frame = table.to_pandas() if isinstance(table, pl.DataFrame) else pd.DataFrame(table)
    names = {by} if isinstance(by, str) else set(map(str, by or ()))
    said = (
        frame[[c for c in frame.columns if str(c) not in names]].select_dtypes("number").to_numpy(np.float64)
    )
    true = np.concatenate([np.asarray(v, np.float64) for v in (out.original or {"": np.zeros(0)}).values()])
    if not _same_figures(said.ravel(), true):
        words = "the table handed over shows other figures than its data give; the figures of the data were checked"
        found = finding("table", out.judged.evidence, np.ones(1, np.bool_), words, verdict="review")
        out.judged = out.judged.with_findings(found)
        desk.judged(out, notes=(words,))
        desk.note("differs", out.record.uid, status=out.status)
    return out


def _same_figures(said: Floats, true: Floats) -> bool:
    """Whether two tables show the same figures in any order, as far as the first has decimals."""
    said, true = (np.sort(x[~np.isnan(x)]) for x in (said, true))
    if len(said) != len(true):
        return False
    places = next((d for d in range(12) if np.allclose(said, np.round(said, d), rtol=1e-12, atol=0)), 12)
    return bool(np.allclose(said, true, rtol=1e-9, atol=0.5000001 * 10.0**-places))


def grid_query(
    desk: Desk, dims: Sequence[Dimension], values: Any, name: str | None, stats: Sequence[str], unit: tuple[Any, Any],
    rows: int, command: str, margins: bool = False,
) -> Query:  # fmt: skip
    """A question from columns that are no frame (crosstab)."""
    amounts = None if values is None else numbers(values, name or "values")
    barns = ", ".join(register_name(s) for s in stats)
    return Query(
        barns,
        tuple(dims),
        rows,
        amounts,
        name,
        unit[0],
        unit[1],
        margins,
        facts=form_facts(stats),
        command=command,
    )
