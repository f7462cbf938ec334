"""A forest from a group-by: the database counts, only groups come into memory.

Trees read nothing of the rows but cell codes, counts and the combined hashes of units. A database can deliver these
for a table of any size: numbers cut to a precision, then grouped with a count and the exclusive or of keyed hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import DataError
from dalenius.counts.sources import quoted
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.syndiffix.casting import Casting
from dalenius.synth.syndiffix.ground import Ground, Method
from dalenius.synth.syndiffix.noise.salt import resolve_salt
from dalenius.synth.syndiffix.units import Units, unit_key

ROWS, HASH = "__rows", "__hash"


def ground_from_duckdb(
    relation: Any, columns: Sequence[str], entity: str, *, salt: str | bytes | None = None,
    method: Method | None = None, schema: Schema | None = None,
) -> Ground:  # fmt: skip
    """Put a DuckDB relation on the grid without loading its rows; one row per entity.

    Columns named in ``method.precision`` are cut to that width inside the database, which bounds the number of
    groups. The result equals that of the same rows in memory.

    Examples
    --------
    >>> import duckdb
    >>> relation = duckdb.sql("SELECT i AS id, i % 7 AS a, i % 3 AS b FROM range(700) t(i)")
    >>> ground_from_duckdb(relation, ["a", "b"], "id", salt="a secret of mine").model().sample(3, seed=1).rows
    3
    """
    options = method or Method()
    secret = resolve_salt(salt)
    casting = Casting(options.snapping, options.precision)
    spelled = [_cut(name, casting) for name in columns]
    key = unit_key(secret)
    hashed = f"bit_xor(md5_number_lower('{key}' || CAST({quoted(entity)} AS VARCHAR)))"
    groups = ", ".join(str(i + 1) for i in range(len(columns)))
    twice = (
        relation.aggregate(f"count(*) - count(DISTINCT {quoted(entity)}) AS n")
        .to_arrow_table()["n"][0]
        .as_py()
    )
    if twice:
        raise DataError(
            f"column {entity!r}: {twice} rows repeat or lack an entity; add up the rows of each entity first"
        )
    query = f"{', '.join(spelled)}, count(*) AS {ROWS}, {hashed} AS {HASH}"
    frame = relation.aggregate(query, groups).to_arrow_table()
    order = [(name, "ascending") for name in columns]
    frame = frame.sort_by(order)
    wanted = schema.select(columns) if schema is not None else None
    table = Table.from_frame(frame.select(list(columns)), wanted)
    counts = frame[ROWS].to_numpy().astype(np.int64)
    hashes = frame[HASH].to_numpy().astype(np.uint64).view(np.int64)
    plain = [casting.cast(table[name]) for name in table.names]
    units = Units.single(counts, hashes)
    ground = Ground(
        [table[name].column for name in table.names],
        plain,
        units,
        secret,
        options,
        rows=counts,
        origin=table.origin,
    )
    return ground


def _cut(name: str, casting: Casting) -> str:
    """A column, cut to its precision where it has one."""
    width = casting.width(name, whole=False)
    spelled = quoted(name)
    if width is None:
        return f"{spelled} AS {spelled}"
    return f"floor({spelled} / {width!r}) * {width!r} AS {spelled}"
