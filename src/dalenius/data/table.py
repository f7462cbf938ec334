"""`Table`: immutable encoded columns.

Made once at the border from any frame or file; everything inside the toolkit works on it; at the end it becomes the
caller's own frame type again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from dalenius.core.cost import Shape
from dalenius.core.errors import DataError, SchemaError, names, no_column
from dalenius.data.declared import encode_declared
from dalenius.data.decode import build_frame
from dalenius.data.encode import encode
from dalenius.data.frames import Backend, Origin, Raw, open_frame
from dalenius.data.schema import Column, Kind, Role, Schema, unrelated
from dalenius.data.units import Units, units_of
from dalenius.data.vector import BoolArray, IntArray, Vector


@dataclass(frozen=True, eq=False)
class Table:
    """Immutable encoded columns with their schema.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m", "f"], "age": [31, 64, None]})
    >>> table.rows, table.names
    (3, ['sex', 'age'])
    >>> table["sex"].levels
    ('f', 'm')
    >>> table.take(np.array([2, 0])).to_frame()
    {'sex': ['f', 'f'], 'age': [None, 31]}
    """

    schema: Schema
    vectors: Mapping[str, Vector]
    rows: int
    origin: Origin = field(default_factory=Origin)

    @classmethod
    def from_frame(cls, frame: Any, schema: Schema | None = None) -> Table:
        """Encode a pandas, Polars, Arrow or DuckDB frame, or a dict of columns.

        Without a schema the kinds are inferred (`Schema.infer`). Columns of the schema must all be there; columns the
        schema does not name are an error, because nobody decided what they are.
        """
        if isinstance(frame, Table):
            return frame if schema is None else cls.from_frame(frame.to_frame(), schema)
        origin, raws = open_frame(frame)
        return cls.from_raws(raws, origin, schema)

    @classmethod
    def from_raws(cls, raws: Sequence[Raw], origin: Origin, schema: Schema | None = None) -> Table:
        """Encode raw columns; every fault of every column is reported at once."""
        if schema is None:
            from dalenius.data.infer import infer_from_raws  # noqa: PLC0415 (inference needs Table's parts)

            schema = infer_from_raws(raws)
        _match_names([raw.name for raw in raws], schema)
        vectors: dict[str, Vector] = {}
        faults: list[str] = []
        for raw in raws:
            try:
                column = schema[raw.name]
                read = encode if column.outside is None else encode_declared
                vectors[raw.name] = read(raw, column)
            except SchemaError as error:
                faults += error.faults
        if faults:
            raise SchemaError.from_faults("data do not follow the schema", faults)
        rows = len(raws[0].data) if raws else 0 if origin.index is None else len(origin.index)
        return cls.from_vectors(list(vectors.values()), rows, origin, schema)

    @classmethod
    def from_vectors(
        cls, vectors: Iterable[Vector], rows: int, origin: Origin | None = None, schema: Schema | None = None
    ) -> Table:
        """A table of finished vectors (what synthesizers make)."""
        held = _unrelated(vectors)
        for name, vector in held.items():
            if len(vector) != rows:
                raise DataError(f"column {name!r} has {len(vector)} rows where {rows} are expected")
        columns = tuple(vector.column for vector in held.values())
        full = Schema(columns) if schema is None else replace(schema, columns=columns)
        return cls(full, MappingProxyType(held), rows, origin or Origin())

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return list(self.vectors)

    def __getitem__(self, name: str) -> Vector:
        try:
            return self.vectors[name]
        except KeyError:
            raise DataError(no_column([name], self.names)) from None

    def __contains__(self, name: object) -> bool:
        return name in self.vectors

    def __iter__(self) -> Iterator[str]:
        return iter(self.vectors)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"Table({self.rows:,} rows, {len(self.vectors)} columns: {names(self.names, 8)})"

    def select(self, wanted: Iterable[str]) -> Table:
        """Some columns, in the order asked for."""
        chosen = list(wanted)
        vectors = _unrelated(self[name] for name in chosen)
        return replace(self, schema=self.schema.select(chosen), vectors=MappingProxyType(vectors))

    def drop(self, unwanted: Iterable[str]) -> Table:
        """All columns but these."""
        gone = set(unwanted)
        return self.select([name for name in self.names if name not in gone])

    def take(self, rows: IntArray | BoolArray) -> Table:
        """Some rows, by position (with repetition) or by mask; a pandas index is not carried over."""
        vectors = {name: vector.take(rows) for name, vector in self.vectors.items()}
        count = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return replace(
            self, vectors=MappingProxyType(vectors), rows=count, origin=replace(self.origin, index=None)
        )

    def with_vectors(self, *vectors: Vector) -> Table:
        """The table with these columns added, or in place of those of the same name."""
        held = {**self.vectors, **{vector.column.name: vector for vector in vectors}}
        origin = self.origin
        recoded = {v.column.name for v in vectors if _outgrew(self.vectors.get(v.column.name), v)}
        if recoded & origin.dtypes.keys():
            origin = replace(origin, dtypes={n: d for n, d in origin.dtypes.items() if n not in recoded})
        return Table.from_vectors(held.values(), self.rows, origin, self.schema)

    def with_schema(self, schema: Schema) -> Table:
        """The same data under another schema; encoded anew only where kinds, codes, levels or formats change."""
        vectors = []
        for name, vector in self.vectors.items():
            if _reads_alike(schema[name], vector.column):
                vectors.append(replace(vector, column=replace(schema[name], levels=vector.column.levels)))
            else:
                return Table.from_frame(self.to_frame(), schema)
        return Table.from_vectors(vectors, self.rows, self.origin, schema)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """The caller's own frame type again, or another: "polars", "pandas", "pyarrow", "duckdb" or "dict"."""
        return build_frame(self.vectors, self.rows, self.origin, backend)

    @cached_property
    def units(self) -> Units:
        """Who owns the rows: entities where the schema names them, otherwise households, otherwise each row itself."""
        return units_of(self)

    @property
    def people(self) -> int:
        """How many people the rows are about: owners where the schema names entities, otherwise as many as rows.

        Examples
        --------
        >>> visits = {"patient": ["a", "a", "b"], "ward": ["x", "y", "x"]}
        >>> Table.from_frame(visits, Schema.infer(visits).with_roles(entity="patient")).people
        2
        """
        return self.units.count if self.schema.by_role(Role.ENTITY) else self.rows

    @property
    def shape(self) -> Shape:
        """Rows and levels per column, for cost forecasts."""
        return Shape(self.rows, tuple(_level_count(vector) for vector in self.vectors.values()))

    @property
    def nbytes(self) -> int:
        """Bytes held by the encoded columns."""
        return sum(v.data.nbytes + (0 if v.state is None else v.state.nbytes) for v in self.vectors.values())


def _unrelated(vectors: Iterable[Vector]) -> dict[str, Vector]:
    """Vectors by name, without relations to columns that are not among them."""
    held = {vector.column.name: vector for vector in vectors}
    loose = unrelated(vector.column for vector in held.values())
    return {
        c.name: v if v.column is c else replace(v, column=c)
        for c, v in zip(loose, held.values(), strict=True)
    }


def _reads_alike(wanted: Column, held: Column) -> bool:
    """Whether a column encoded under one description is already encoded as another asks."""
    same = wanted.kind is held.kind and wanted.special == held.special
    if held.kind is Kind.DATETIME:
        same = same and wanted.format == held.format and (wanted.decimals == 9) == (held.decimals == 9)
    return same and (held.kind.is_number or wanted.levels is None or wanted.levels == held.levels)


def _outgrew(old: Vector | None, new: Vector) -> bool:
    """Whether a column no longer fits the type it had in the caller's frame: no number any more, or new categories."""
    if old is None or (old.is_number and new.is_number) or old.levels == new.levels:
        return False
    if old.is_number != new.is_number:
        return True
    known = set(old.levels)
    return any(level not in known for level in new.levels)


def _level_count(vector: Vector) -> int:
    if not vector.is_number:
        return len(vector.levels) + len(vector.column.special)
    return min(len(vector), 1000) if vector.column.kind is Kind.INTEGER else len(vector)


def _match_names(given: Sequence[str], schema: Schema) -> None:
    there, wanted = set(given), set(schema.names)
    missing = [name for name in schema.names if name not in there]
    extra = [name for name in given if name not in wanted]
    faults = []
    if missing:
        faults.append(f"column {names(missing)} of the schema is not in the data")
    if extra:
        faults.append(f"column {names(extra)} is not in the schema; add it, or drop it from the data")
    if faults:
        raise SchemaError.from_faults("data do not follow the schema", faults)
