"""Synthesis by strata: each part of the records on its own, on this machine or on the workers of a Spark session.

Rows of a stratum are put in an order of their own before anything is learnt, and its seed follows from its name, so
that the file does not depend on partitions, on the order of rows or on who was asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.random import DEFAULT_SEED, sequence
from dalenius.counts.spark import is_spark, spark_told
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.candidate import DEFAULT_METHOD, Candidate


def synthesize_strata(
    frame: Any, by: Sequence[str], method: str = DEFAULT_METHOD, *, schema: Schema | None = None,
    seed: int = DEFAULT_SEED, **options: Any,
) -> Any:  # fmt: skip
    """Synthetic version of a frame, made apart for each combination of some columns, which stay as they are.

    Parameters
    ----------
    frame
        A frame of Spark, which comes back as one (the session is the caller's and is left running; nothing is computed
        before the frame is used), or any other frame, which comes back as an Arrow table, sorted by strata.
    by
        Columns whose combinations are synthesized apart. They are released as they are, with the sizes of the strata.
    schema
        What the columns are; without one each stratum would be guessed on its own, so that it is inferred from all
        rows, or from the first 100,000 of a Spark frame.

    Examples
    --------
    >>> people = pa.table({"town": ["a", "b"] * 30, "age": [20, 30, 40] * 20})
    >>> made = synthesize_strata(people, ["town"], "cart", seed=1)
    >>> made.num_rows, made.group_by("town").aggregate([([], "count_all")]).num_rows
    (60, 2)
    """
    names = list(frame.columns) if is_spark(frame) else list(_arrow(frame).column_names)
    absent = [name for name in by if name not in names]
    if absent:
        raise DataError(no_column(absent, names))
    if not by or len(by) == len(names):
        raise OptionError("name some columns as strata, and leave others to synthesize")
    inner = [name for name in names if name not in by]
    candidate = Candidate(method, options)
    candidate.check()
    if is_spark(frame):
        return _on_spark(frame, list(by), inner, candidate, schema, seed)
    table = _arrow(frame)
    described = (schema or Schema.infer(table)).select(inner)
    make = maker(candidate, list(by), names, described, seed)
    groups = table.group_by(by).aggregate([]).sort_by([(name, "ascending") for name in by])
    made = [make(_where(table, {name: groups[name][i] for name in by})) for i in range(groups.num_rows)]
    return pa.concat_tables(made)


def maker(
    candidate: Candidate, by: list[str], names: list[str], schema: Schema, seed: int
) -> Callable[[pa.Table], pa.Table]:
    """A function that makes one stratum: the same wherever it runs."""

    def make(rows: pa.Table) -> pa.Table:
        rows = rows.select(names)
        inner = [name for name in names if name not in by]
        name = [str(rows[column][0].as_py()) for column in by]
        ordered = rows.select(inner).sort_by([(column, "ascending") for column in inner])
        table = Table.from_frame(ordered, schema)
        made = candidate.make(table, seed=sequence(seed, "stratum", *name)).table.to_frame("pyarrow")
        given = [pa.array([rows[column][0].as_py()] * made.num_rows, rows[column].type) for column in by]
        kept = {**dict(zip(by, given, strict=True)), **{column: made[column] for column in inner}}
        wanted = pa.schema(
            [_as_spark_has_it(rows.schema.field(column).remove_metadata()) for column in names]
        )
        return pa.table({column: kept[column] for column in names}).cast(wanted)

    return make


def _on_spark(
    frame: Any, by: list[str], inner: list[str], candidate: Candidate, schema: Schema | None, seed: int
) -> Any:
    if schema is None:
        with spark_told("look at the first rows"):
            schema = Schema.infer(frame.select(*inner).limit(100_000).toArrow())
            schema = Schema(tuple(_open(column) for column in schema))
    make = maker(candidate, by, list(frame.columns), schema.select(inner), seed)
    return frame.groupBy(*by).applyInArrow(make, frame.schema)


def _as_spark_has_it(field: pa.Field) -> pa.Field:
    """Moments with a zone are given to Spark's workers in that of the session, and taken back in UTC."""
    zoned = pa.types.is_timestamp(field.type) and field.type.tz is not None
    return field.with_type(pa.timestamp(field.type.unit, "UTC")) if zoned else field


def _open(column: Any) -> Any:
    """A column whose further rows may have other values."""
    return replace(column, levels=None, bounds=None)


def _arrow(frame: Any) -> pa.Table:
    return frame if isinstance(frame, pa.Table) else Table.from_frame(frame).to_frame("pyarrow")


def _where(table: pa.Table, cell: dict[str, Any]) -> pa.Table:
    chosen = None
    for name, value in cell.items():
        here = pc.is_null(table[name]) if not value.is_valid else pc.equal(table[name], value)
        chosen = here if chosen is None else pc.and_(chosen, here)
    return table.filter(chosen)
