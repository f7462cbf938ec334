"""Is the protected file valid at all: ranges, categories and keys as they were, the same columns of the same kinds.

SDMetrics' DiagnosticReport and its KeyUniqueness. It says whether a file can be loaded where the original could, not
whether it is any good: a file of one row drawn again and again is perfectly valid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, names
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, NAN, BoolArray, Vector
from dalenius.utility.charts import plain_bars
from dalenius.utility.distributions import category_counts
from dalenius.utility.summary import Summary


def unique_share(table: Table, columns: Sequence[str]) -> float:
    """Share of rows whose key, taken over some columns together, is there and occurs for the first time.

    Examples
    --------
    >>> unique_share(Table.from_frame({"id": ["a", "b", "b", None]}), ["id"])
    0.5
    """
    codes = np.stack([table[name].categories.codes.astype(np.int64) for name in columns])
    _, first = np.unique(codes, axis=1, return_index=True)
    empty = np.logical_and.reduce([_empty(table[name]) for name in columns])
    return float(np.sum(~empty[first])) / table.rows


def _empty(vector: Vector) -> BoolArray:
    if vector.state is None:
        return np.zeros(len(vector), dtype=bool)
    return np.asarray((vector.state == MISSING) | (vector.state == NAN))


def _inside(pair: Pair, name: str) -> float:
    """Share of numbers inside the original's range; gaps are left out where the original has some, else invalid."""
    original, protected = pair.original[name], pair.protected[name]
    known = original.values
    gaps = _empty(protected)
    counted = protected.data[~gaps] if _empty(original).any() else protected.data
    if not len(known) or not len(counted):
        return float("nan")
    valid = (protected.data >= known.min()) & (protected.data <= known.max()) | ~protected.present
    return float(np.sum(valid & ~gaps)) / len(counted)


def _known(pair: Pair, name: str) -> float:
    """Share of rows with a category of the original; a gap is one where the original has gaps."""
    d, s, gap = category_counts(pair, name)
    valid = (d > 0) & ~gap | gap & bool(d[gap].any())
    return float(s[valid].sum() / s.sum())


def diagnostic_table(pair: Pair, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Validity of each column, 1 is best: range of numbers, categories, and uniqueness of identifiers.

    Examples
    --------
    >>> pair = Pair({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}, {"age": [20, 60, 30, 40], "sex": ["f"] * 4})
    >>> diagnostic_table(pair).rows()
    [('age', 'inside the range', 0.75), ('sex', 'known category', 1.0)]
    """
    identifiers = _identifiers(pair)
    used = [*identifiers, *pair.columns] if columns is None else columns
    rows: list[tuple[str, str, float]] = []
    for name in used:
        if name in identifiers:
            rows.append((name, "unique key", unique_share(pair.protected, [name])))
        elif pair.original[name].is_number:
            rows.append((name, "inside the range", _inside(pair, name)))
        else:
            rows.append((name, "known category", _known(pair, name)))
    schema = {"column": pl.String, "check": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("score", nulls_last=True, maintain_order=True)


def _identifiers(pair: Pair) -> list[str]:
    return [name for name in pair.schema.by_role(Role.IDENTIFIER) if name in pair.protected]


def _structure(pair: Pair) -> float:
    """Share of all columns that both files have, of the same kind."""
    common = pair.protected.names
    alike = [name for name in common if pair.original[name].column.kind is pair.schema[name].kind]
    return len(alike) / (len(common) + len(pair.unshared))


@measure(
    name="diagnostic",
    title="Validity (diagnostic score)",
    family="utility",
    meaning="Whether the protected file is valid where the original is: numbers inside its range, categories it "
    "has, unique keys, the same columns of the same kinds; 1 is valid throughout.",
    better="higher",
    bounds=(0, 1),
    reference="SDMetrics: DiagnosticReport (Data Validity, Data Structure)",
    default=False,
    sees_spread=False,
    sees_dependence=False,
)
def diagnostic(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean of data validity and data structure, as SDMetrics' diagnostic report has them.

    Examples
    --------
    >>> pair = Pair({"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"]}, {"age": [20, 60, 30, 40], "sex": ["f"] * 4})
    >>> found = diagnostic(pair)
    >>> found.value, found.values["data validity"], found.values["data structure"]
    (0.9375, 0.875, 1.0)
    """
    table = diagnostic_table(pair, columns)
    validity, structure = Summary.of(table, "score"), _structure(pair)
    value = structure if validity.worst is None else (validity.mean + structure) / 2
    text = f"{figure(100 * structure, '%')} of the columns are in both files and of the same kind"
    text += f"; {names(pair.unshared)} is in one of them only." if pair.unshared else "."
    if validity.worst is not None:
        text += (
            f" Of their values {figure(100 * validity.mean, '%')} are valid on average (inside the original's range or "
            "among its categories)"
        )
        worst = validity.worst
        text += (
            "."
            if worst["score"] == 1
            else f", fewest in {worst['column']!r} ({figure(100 * worst['score'], '%')})."
        )
    return Result(
        name="diagnostic",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 1.0},
        values={"data validity": validity.mean, "data structure": structure},
        table=table,
        counts=WHOLE,
        chart=lambda: plain_bars(table, "column", "score", "share of valid values"),
    )


@measure(
    name="key-uniqueness",
    title="Unique keys",
    family="utility",
    meaning="Share of protected rows with a key of their own: not empty and not that of an earlier row.",
    better="higher",
    bounds=(0, 1),
    reference="SDMetrics: KeyUniqueness",
    default=False,
    needs=frozenset({"identifiers"}),
    sees_dependence=False,
)
def key_uniqueness(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Share of rows with a key of their own; ``columns`` are one key together, default: each identifier alone.

    Examples
    --------
    >>> pair = Pair({"id": [1, 2, 3, 4]}, {"id": [1, 2, 2, 3]})
    >>> key_uniqueness(pair, ["id"]).value
    0.75
    """
    absent = [name for name in columns or () if name not in pair.protected]
    if absent:
        raise DataError(f"column {names(absent)} is not in both files; name columns of both as the key")
    keys = [list(columns)] if columns else [[name] for name in _identifiers(pair)]
    rows = [
        (", ".join(key), *(unique_share(table, key) for table in (pair.original, pair.protected)))
        for key in keys
    ]
    schema = {"key": pl.String, "original": pl.Float64, "score": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row").sort("score")
    summary = Summary.of(table, "score")
    worst = table.row(0, named=True)
    return Result(
        name="key-uniqueness",
        value=summary.mean,
        sentence=f"Of 100 protected rows {figure(100 * worst['score'])} have a key of their own in {worst['key']!r}, "
        f"of 100 original ones {figure(100 * worst['original'])}.",
        yardsticks={"original": float(np.mean(table["original"].to_numpy()))},
        table=table,
        counts=WHOLE,
        chart=lambda: plain_bars(table, "key", "score", "share of rows with a key of their own"),
    )
