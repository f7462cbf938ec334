"""A forest from rows that stream by: only groups of equal rows come into memory.

As with a database (`gridded`), trees read nothing of the rows but cell codes, counts and combined hashes. Each row is a
unit of its own, known by its number, so that the model is that of the same rows in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from dalenius.core.errors import DataError, names
from dalenius.counts.batches import Passed
from dalenius.counts.keys import fill, product, unravel
from dalenius.counts.survey import Survey, survey
from dalenius.data.vector import IntArray
from dalenius.synth.counted import StreamTable
from dalenius.synth.syndiffix.casting import Casting
from dalenius.synth.syndiffix.ground import Ground, Method, as_the_schema_says
from dalenius.synth.syndiffix.units import Units, row_hashes

CELLS = 1 << 10
"""Steps over the middle of a number that has too many values to list and no precision of its own."""
GROUPS = 1 << 25
"""Groups of equal rows that are held."""


@dataclass(eq=False)
class CutStream(Passed):
    """A stream whose numbers are cut to a width."""

    widths: Mapping[str, float]

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order."""
        for batch in self.stream.batches(columns):
            arrays = [
                _cut(batch.column(name), self.widths[name]) if name in self.widths else batch.column(name)
                for name in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, list(columns))


def _cut(column: pa.Array, width: float) -> pa.Array:
    whole = pc.floor(pc.divide(column.cast(pa.float64()), width))
    return pc.multiply(whole, width).cast(column.type, safe=False)


def ground_from_stream(table: StreamTable, salt: bytes, method: Method) -> Ground:
    """Put a stream on the grid: one pass over its rows, after the look that told its values."""
    method = as_the_schema_says(method, table.schema)
    casting = Casting(method.snapping, method.precision)
    seen = _listed(table, casting)
    cast = [casting.cast(seen.values[name].vector) for name in table.names]
    keys, counts, hashes = _groups(seen, table.names, salt)
    sizes = [len(seen.values[name].times) for name in table.names]
    codes = [own[unravel(keys, sizes, i)] for i, (_, own) in enumerate(cast)]
    originals = [seen.values[name].vector.column for name in table.names]
    placed = [(axis, code) for (axis, _), code in zip(cast, codes, strict=True)]
    origin = table.origin([])
    return Ground(originals, placed, Units.single(counts, hashes), salt, method, rows=counts, origin=origin)


def _listed(table: StreamTable, casting: Casting) -> Survey:
    """The survey with every value listed: numbers with too many are cut, and looked at again."""
    seen = table.survey
    many = [name for name in table.names if seen.values[name].coder is None]
    if not many:
        return seen
    widths = {}
    for name in many:
        kind = seen.stream.schema.field(name).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise DataError(
                f"column {name!r} ({kind}) has too many different values for a stream; leave it out, or make it coarser"
            )
        widths[name] = casting.width(name, whole=False) or _width(seen.values[name].vector.values)
    told = ", ".join(f"{name} to steps of {width:g}" for name, width in widths.items())
    table.notes.append(f"numbers with too many different values to list are cut: {told}")
    cut = CutStream(seen.stream, widths)
    again = survey(cut, many, schema=table.schema.select(many))
    still = [name for name in many if again.values[name].coder is None]
    if still:
        raise DataError(f"{names(still)}: too many different values even at that precision; give a wider one")
    return Survey(cut, seen.rows, {**seen.values, **again.values}, seen.schema)


def _width(values: npt.NDArray[np.float64]) -> float:
    """The power of two that makes about so many steps over all but the outermost values."""
    low, high = np.quantile(values, [0.001, 0.999])
    span = float(high - low) or max(abs(float(high)), 1.0)
    return float(2.0 ** np.floor(np.log2(span / CELLS)))


def _groups(
    seen: Survey, columns: Sequence[str], salt: bytes
) -> tuple[IntArray, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sets of equal rows: keys of their entries, ascending, with counts and the exclusive or of the rows' hashes."""
    sizes = [len(seen.values[name].times) for name in columns]
    if product(sizes) >= 2**63:
        raise DataError(f"{names(columns)}: too many combinations for one table; choose fewer columns")
    encoders = {
        name: seen.values[name].encoder(lambda v: np.arange(len(v)), np.arange(len(seen.values[name].times)))
        for name in columns
    }
    held: list[pl.DataFrame] = []
    row = waiting = 0
    for batch in seen.stream.batches(columns):
        keys = np.empty(batch.num_rows, np.int64)
        fill(keys, [encoders[name](batch.column(name)) for name in columns], sizes, 0)
        part = pl.DataFrame({"key": keys, "hash": row_hashes(salt, row, len(keys)), "rows": 1})
        held.append(_summed(part))
        row, waiting = row + len(keys), waiting + len(held[-1])
        if waiting > 2 * len(held[0]) + (1 << 21):
            held = [_summed(pl.concat(held))]
            waiting = len(held[0])
            if waiting > GROUPS:
                raise DataError(
                    f"{seen.stream.where}: more than {GROUPS:,} different rows; choose fewer columns, or give numbers "
                    "a precision"
                )
    whole = _summed(pl.concat(held)).sort("key")
    return tuple(whole[name].to_numpy() for name in ("key", "rows", "hash"))  # type: ignore[return-value]


def _summed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("key").agg(pl.col("hash").bitwise_xor(), pl.col("rows").sum())
