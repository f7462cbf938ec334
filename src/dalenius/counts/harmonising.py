"""Files on one domain: columns encoded the way the original's are, kinds that clash weakened, labels put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, SchemaError, names
from dalenius.data.encode import encode, level_key
from dalenius.data.frames import open_frame
from dalenius.data.lens import Lens
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import Categories, Vector, compact


class Source:
    """One file: its columns encoded the way the original's are, re-reading them only where they differ."""

    def __init__(self, other: Any) -> None:
        self.table = other if isinstance(other, Table) else None
        self.raws = {} if self.table is not None else {raw.name: raw for raw in open_frame(other)[1]}
        self.rows = max((len(raw.data) for raw in self.raws.values()), default=0)
        if self.table is not None:
            self.rows = self.table.rows

    @property
    def left(self) -> bool:
        """Whether the file came through our exit in this very run."""
        return self.table is not None and self.table.origin.left

    @property
    def names(self) -> list[str]:
        """Columns of the file."""
        return self.table.names if self.table is not None else list(self.raws)

    def __contains__(self, name: str) -> bool:
        return name in self.table if self.table is not None else name in self.raws

    def encoded(self, column: Column) -> Vector:
        """One column by a description; a fault where it does not follow it."""
        if self.table is not None:
            held = self.table[column.name]
            if held.column.kind is column.kind and held.column.special == column.special:
                return held
            self.raws |= {raw.name: raw for raw in open_frame(self.table.select([column.name]).to_frame())[1]}
        return encode(self.raws[column.name], column)


def harmonised(base: Table, sources: Sequence[Source]) -> list[Table]:
    """Encode every file like the original, over their common columns; where kinds clash, take the weaker one."""
    common = [name for name in base.names if all(name in source for source in sources)]
    if not common:
        raise DataError("the files have no column in common; check that the names are spelled alike")
    own = Source(base)
    encoded: list[list[Vector]] = [[] for _ in range(len(sources) + 1)]
    for name in common:
        vectors = _one_kind(name, base[name].column, [own, *sources])
        for place, vector in zip(encoded, vectors, strict=True):
            place.append(vector)
    rows = [base.rows, *(source.rows for source in sources)]
    return [Table.from_vectors(vectors, n, base.origin) for vectors, n in zip(encoded, rows, strict=True)]


def through(lens: Lens, base: Table, source: Source) -> Table:
    """Another file of the original's columns as the mask shows it."""
    mapped = set(lens.mapped)
    vectors = []
    for name in (n for n in base.names if n in source):
        column = replace(base[name].column, levels=None, bounds=None)
        kinds = [column.kind] if name in mapped else _weaker(column.kind)
        vectors.append(_one_of([replace(column, kind=kind) for kind in kinds], source))
    return lens.see(Table.from_vectors(vectors, source.rows), drop=False)


def _one_kind(name: str, column: Column, sources: Sequence[Source]) -> list[Vector]:
    for kind in _weaker(column.kind):
        wanted = replace(column, kind=kind, levels=None, bounds=None)
        try:
            vectors = [source.encoded(wanted) for source in sources]
        except SchemaError:
            continue
        return [_in_order(vector, vectors[0]) for vector in vectors] if kind is Kind.ORDERED else vectors
    raise DataError(f"column {name!r} holds different kinds of values in the files; give them one type")


def _one_of(wanted: Sequence[Column], source: Source) -> Vector:
    """A column by the first description that it follows."""
    *some, last = wanted
    for column in some:
        try:
            return source.encoded(column)
        except SchemaError:
            continue
    return source.encoded(last)


def _weaker(kind: Kind) -> list[Kind]:
    if kind is Kind.INTEGER:
        return [kind, Kind.CONTINUOUS, Kind.CATEGORICAL]
    return [kind, Kind.CATEGORICAL] if kind.is_number else [kind]


def _in_order(vector: Vector, first: Vector) -> Vector:
    """An ordered column with the original's levels first and in their order: rules may compare them."""
    if vector.levels == first.levels:
        return vector
    known = {level_key(level): i for i, level in enumerate(first.levels)}
    new = [level for level in vector.levels if level_key(level) not in known]
    known |= {level_key(level): len(known) + i for i, level in enumerate(new)}
    codes = np.array([known[level_key(level)] for level in vector.levels], np.int64)
    levels = (*first.levels, *new)
    moved = compact(codes[vector.data], len(levels)) if len(codes) else vector.data
    return replace(vector, column=replace(vector.column, levels=levels), data=moved)


def unshared(base: Table, common: Table, protected: Source) -> list[str]:
    """Columns that are not compared because not every file has them."""
    lost = [name for name in base.names if name not in common]
    return lost + [name for name in protected.names if name not in base]


def _not_compared(lost: Sequence[str], base: Table, protected: Source) -> list[str]:
    """Which columns are not compared, by the file that lacks them."""
    new = [name for name in lost if name not in base]
    gone = [name for name in lost if name in base and name not in protected]
    outside = [name for name in lost if name not in new and name not in gone]
    told = {"original": new, "protected file": gone, "holdout": outside}
    return [
        f"{names(several)} {'is' if len(several) == 1 else 'are'} not in the {file} and not compared"
        for file, several in told.items()
        if several
    ]


def notes_on(lost: Sequence[str], tables: Sequence[Table], base: Table, protected: Source) -> list[str]:
    """What a reader should know of files that were put on one domain."""
    notes = _not_compared(lost, base, protected)
    for name in tables[0].names:
        has_gaps = [table[name].state is not None for table in tables[:2]]
        if has_gaps == [False, True]:
            notes.append(
                f"column {name!r} has empty or special cells in the protected file but none in the original"
            )
    return notes


def by_value(vectors: Sequence[Vector]) -> list[Categories]:
    """Every distinct number a category, over the union of all files."""
    distinct = np.unique(np.concatenate([vector.values for vector in vectors]))
    labels = distinct.tolist()
    last = max(len(labels) - 1, 0)
    codes = [np.searchsorted(distinct, vector.data).clip(0, last) for vector in vectors]
    return [vector.with_gaps(own, labels) for vector, own in zip(vectors, codes, strict=True)]


def merged_labels(several: Sequence[Categories]) -> list[Categories]:
    """Codes over the union of labels: the original's first, in its order, then what only others have."""
    if all(len(c.labels) == len(several[0].labels) and c.labels == several[0].labels for c in several):
        return list(several)
    position: dict[Any, int] = {}
    labels: list[Any] = []
    merged = []
    for categories in several:
        moved = np.empty(max(len(categories.labels), 1), dtype=np.int64)
        for i, label in enumerate(categories.labels):
            key = level_key(label)
            if key not in position:
                position[key] = len(labels)
                labels.append(label)
            moved[i] = position[key]
        merged.append(moved[categories.codes])
    return [Categories(compact(codes, len(labels)), labels) for codes in merged]
