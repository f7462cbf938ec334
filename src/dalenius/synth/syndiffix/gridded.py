"""A forest from a group-by: the database counts, only groups come into memory.

Trees read nothing of the rows but cell codes, counts and the combined hashes of units. A database can deliver these
for a table of any size: numbers cut to a precision, then grouped with a count and the exclusive or of keyed hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.counts.sources import quoted
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.syndiffix.casting import Casting
from dalenius.synth.syndiffix.ground import Ground, Method
from dalenius.synth.syndiffix.salt import resolve_salt
from dalenius.synth.syndiffix.units import Units, unit_key

ROWS, HASH = "__rows", "__hash"


def ground_from_duckdb(
    relation: Any, columns: Sequence[str], entity: str, *, salt: str | bytes | None = None,
    method: Method | None = None, schema: Schema | None = None,
) -> Ground:  # fmt: skip
    """Put a DuckDB relation on the grid without loading its rows.

    Columns named in ``method.precision`` are cut to that width inside the database, which bounds the number of groups.
    With one row per entity, groups are sets of equal rows; where an entity has several rows, equal rows of one entity.
    The result equals that of the same rows in memory.

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
    alone = _one_row_each(relation, entity)
    frame = _grouped(relation, [_cut(name, casting) for name in columns], entity, unit_key(secret), alone)
    frame = frame.sort_by([(name, "ascending") for name in (*columns, HASH)])
    wanted = schema.select(columns) if schema is not None else None
    table = Table.from_frame(frame.select(list(columns)), wanted)
    counts = frame[ROWS].to_numpy().astype(np.int64)
    units = Units.single(counts, _signed(frame[HASH])) if alone else _owners(frame[HASH])
    cast = [casting.cast(table[name]) for name in table.names]
    originals = [table[name].column for name in table.names]
    return Ground(originals, cast, units, secret, options, rows=counts, origin=table.origin)


def _one_row_each(relation: Any, entity: str) -> bool:
    """Whether every row has an entity of its own."""
    repeated = relation.aggregate(f"count(*) - count(DISTINCT {quoted(entity)}) AS n").to_arrow_table()
    return int(repeated["n"][0].as_py()) == 0


def _grouped(relation: Any, spelled: Sequence[str], entity: str, key: str, alone: bool) -> Any:
    """Groups with their number of rows and the hash of their entities (or of their one entity)."""
    hashed = f"md5_number_lower('{key}' || CAST({quoted(entity)} AS VARCHAR))"
    count = len(spelled) + (0 if alone else 1)
    combined = f"bit_xor({hashed})" if alone else hashed
    query = f"{', '.join(spelled)}, {combined} AS {HASH}, count(*) AS {ROWS}"
    return relation.aggregate(query, ", ".join(str(i + 1) for i in range(count))).to_arrow_table()


def _signed(hashes: Any) -> npt.NDArray[np.int64]:
    return np.asarray(hashes.to_numpy().astype(np.uint64).view(np.int64))


def _owners(hashes: Any) -> Units:
    """Units of groups that have one entity each; a group without an entity has no unit."""
    known = hashes.is_valid().to_numpy()
    distinct, place = np.unique(_signed(hashes.drop_null()), return_inverse=True)
    codes = np.full((1, len(known)), -1, np.int32)
    codes[0, known] = place
    table = distinct if len(distinct) else np.zeros(1, np.int64)
    return Units(np.ones(len(known), np.int64), np.zeros(len(known), np.int64), codes, table[None, :])


def _cut(name: str, casting: Casting) -> str:
    """A column, cut to its precision where it has one."""
    width = casting.width(name, whole=False)
    spelled = quoted(name)
    if width is None:
        return f"{spelled} AS {spelled}"
    return f"floor({spelled} / {width!r}) * {width!r} AS {spelled}"
