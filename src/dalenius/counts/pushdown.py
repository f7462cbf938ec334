"""From grouped results to `Counts`, with the same labels as if the rows themselves had been encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, no_column
from dalenius.counts.counts import Counts
from dalenius.counts.memory import refuse_bad_weights, tally
from dalenius.counts.sources import BAD, COUNT, WEIGHT, Source
from dalenius.data.encode import encode
from dalenius.data.files.texts import raw_from_text
from dalenius.data.frames import Raw, open_frame
from dalenius.data.grouping import Grouping
from dalenius.data.infer import ENOUGH_ROWS, infer_from_raws
from dalenius.data.schema import Column, Schema
from dalenius.data.vector import AnyArray, Categories, Vector


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
        raise DataError(no_column(absent, source.names))
    described: dict[str, Column] = {column.name: column for column in schema or () if column.name in wanted}
    tallies = {}
    for table, frame in zip(tables, source.group(tables, weights), strict=True):
        raws = _raws(frame, table, source, described)
        counts = raws[COUNT].data
        if weights is not None:
            refuse_bad_weights(int(raws[BAD].data.sum()), weights)
        for name in table:
            if name not in described:
                described[name] = infer_distinct(raws[name], counts)
        categories = [as_categories(encode(raws[name], described[name]), grouping) for name in table]
        tallies[table] = add_equal_cells(table, categories, counts if weights is None else raws[WEIGHT].data)
    return tallies


def _raws(
    frame: Any, table: Sequence[str], source: Source, described: Mapping[str, Column]
) -> dict[str, Raw]:
    if source.decimal is None:
        return {raw.name: raw for raw in open_frame(frame)[1]}
    texts: pl.DataFrame = frame
    raws = {raw.name: raw for raw in open_frame(texts.drop(table))[1]}
    return raws | {name: typed(name, texts[name], source.decimal, described.get(name)) for name in table}


def typed(name: str, texts: pl.Series, decimal: str, column: Column | None) -> Raw:
    """Text of a CSV file as a column; an empty cell is missing, unless the schema has it among the levels."""
    empty_is_level = column is not None and "" in (column.levels or ())
    return raw_from_text(name, texts if empty_is_level else texts.replace({"": None}), decimal, column)


def as_categories(vector: Vector, grouping: Grouping | None) -> Categories:
    """Rows of a column as codes, grouped when the grouping covers it."""
    name = vector.column.name
    if grouping is None or name not in grouping:
        return vector.categories
    if not vector.is_number:
        raise DataError(f"column {name!r} is {vector.column.kind}; only numbers can be grouped")
    return grouping.categories(vector)


def add_equal_cells(table: tuple[str, ...], categories: Sequence[Categories], counts: AnyArray) -> Counts:
    """Add up combinations that became equal by encoding (-0.0 and 0.0, or members of one group)."""
    sizes = [each.size for each in categories]
    keys, sums = tally([each.codes for each in categories], sizes, len(counts), counts)
    return Counts(table, tuple(each.labels for each in categories), keys, sums)


def infer_distinct(raw: Raw, counts: AnyArray) -> Column:
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
