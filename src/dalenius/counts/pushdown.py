"""From grouped results to `Counts`, with the same labels as if the rows themselves had been encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, names
from dalenius.counts.counts import Counts
from dalenius.counts.memory import refuse_bad_weights, tally
from dalenius.counts.sources import BAD, COUNT, WEIGHT, Source
from dalenius.data.encode import encode
from dalenius.data.frames import Raw, open_frame
from dalenius.data.grouping import Grouping
from dalenius.data.infer import ENOUGH_ROWS, infer_from_raws
from dalenius.data.schema import Column, Schema
from dalenius.data.vector import AnyArray, Categories, Vector

WHOLE = r"^[+-]?(0|[1-9][0-9]*)$"
DECIMAL = r"^[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""Numbers in a CSV file; a leading zero makes a code, not a number."""


def count_pushed(
    source: Source,
    tables: Sequence[tuple[str, ...]],
    *,
    schema: Schema | None = None,
    grouping: Grouping | None = None,
    weights: str | None = None,
) -> dict[tuple[str, ...], Counts]:
    """Tables of a source that groups by itself."""
    wanted = list(dict.fromkeys(name for table in tables for name in table))
    absent = [name for name in (*wanted, *([weights] if weights else [])) if name not in source.names]
    if absent:
        raise DataError(f"no column {names(absent)}; there are {names(source.names)}")
    described: dict[str, Column] = {column.name: column for column in schema or () if column.name in wanted}
    found = {}
    for table, frame in zip(tables, source.group(tables, weights), strict=True):
        raws = {raw.name: raw for raw in open_frame(_typed(frame, table) if source.text_only else frame)[1]}
        counts = raws[COUNT].data
        if weights is not None:
            refuse_bad_weights(int(raws[BAD].data.sum()), weights)
        for name in table:
            if name not in described:
                described[name] = _infer(raws[name], counts)
        categories = [as_categories(encode(raws[name], described[name]), grouping) for name in table]
        found[table] = _merge(table, categories, counts if weights is None else raws[WEIGHT].data)
    return found


def as_categories(vector: Vector, grouping: Grouping | None) -> Categories:
    """Rows of a column as codes, grouped when the grouping covers it."""
    name = vector.column.name
    if grouping is None or name not in grouping:
        return vector.categories
    if not vector.is_number:
        raise DataError(f"column {name!r} is {vector.column.kind}; only numbers can be grouped")
    return grouping.categories(vector)


def _merge(table: tuple[str, ...], categories: Sequence[Categories], counts: AnyArray) -> Counts:
    """Add up combinations that became equal by encoding (-0.0 and 0.0, or members of one group)."""
    sizes = [each.size for each in categories]
    keys, sums = tally([each.codes for each in categories], sizes, len(counts), counts)
    return Counts(table, tuple(each.labels for each in categories), keys, sums)


def _infer(raw: Raw, counts: AnyArray) -> Column:
    """Describe a column by its distinct values, as `Schema.infer` would by its rows.

    Inference asks how often a value occurs only up to ``ENOUGH_ROWS``, so each is repeated at most so often.
    """
    state = np.zeros(len(raw.data), np.uint8) if raw.state is None else raw.state
    order = np.lexsort((raw.data, state))
    data, states = raw.data[order], state[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (data[1:] != data[:-1]) | (states[1:] != states[:-1])
    first = np.flatnonzero(new)
    times = np.add.reduceat(counts[order], first) if len(first) else first
    rows = np.repeat(first, np.minimum(times, ENOUGH_ROWS))
    sample = replace(raw, data=data[rows], state=None if raw.state is None else states[rows])
    return infer_from_raws([sample]).columns[0]


def _typed(frame: Any, table: Sequence[str]) -> pl.DataFrame:
    """Columns of text that hold nothing but numbers or true and false, as such."""
    plain: pl.DataFrame = frame
    return plain.with_columns([_typed_series(plain[name]) for name in table])


def _typed_series(series: pl.Series) -> pl.Series:
    present = series.drop_nulls().unique()
    if not len(present):
        return series
    if present.str.contains(WHOLE).all():
        whole = series.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == series.null_count() else series
    if present.str.contains(DECIMAL).all():
        return series.cast(pl.Float64)
    if present.str.to_lowercase().is_in(["true", "false"]).all():
        return series.str.to_lowercase() == "true"
    return series
