"""`Partition`: which units stand behind each released cell of an output, as codes over numbered units.

A layer is one code per unit: 0 for nobody's, c + 1 for cell c. Most tables need one layer; a unit with rows in several
cells, or in a cell and its margins, has one code in each of several layers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
from pyroaring import BitMap

from dalenius.outputs.position import asked, intervals
from dalenius.outputs.query import Bools, Ints, Query

Layer = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Units by cell.

    Attributes
    ----------
    layers
        Codes by unit number, as many as there are cells a unit is in.
    cells
        Number of cells, hidden ones included.
    guarded
        A layer of cells that must stay unknown though they hold many units (dominated ones); None if there are none.

    Examples
    --------
    >>> part = Partition((np.array([1, 1, 2, 0], np.uint8),), 2)
    >>> part.counts.tolist()
    [2, 1]
    >>> Partition.read(part.stored(), 4).layers[0].tolist()
    [1, 1, 2, 0]
    """

    layers: tuple[Layer, ...]
    cells: int
    guarded: Layer | None = None

    @property
    def simple(self) -> bool:
        """Whether every unit is in one cell at most."""
        return len(self.layers) == 1

    @property
    def counts(self) -> Ints:
        """Units of each cell; 0 for hidden ones."""
        both = sum(np.bincount(layer, minlength=self.cells + 1) for layer in self.layers)
        return np.asarray(both)[1:].astype(np.int64)

    def resized(self, units: int) -> Partition:
        """The same over more units; new ones are in no cell."""
        if len(self.layers[0]) == units:
            return self
        guard = None if self.guarded is None else _padded(self.guarded, units)
        return Partition(tuple(_padded(layer, units) for layer in self.layers), self.cells, guard)

    @cached_property
    def body(self) -> bytes:
        """As bytes, made once."""
        return self.stored()

    def incidence(self) -> Any:
        """Units × cells, 1 where the unit is in the cell (sparse)."""
        who = [np.flatnonzero(layer) for layer in self.layers]
        what = [layer[at].astype(np.int64) - 1 for layer, at in zip(self.layers, who, strict=True)]
        at = (np.concatenate(who), np.concatenate(what))
        return sp.csr_matrix((np.ones(len(at[0]), np.int64), at), shape=(len(self.layers[0]), self.cells))

    def stored(self) -> bytes:
        """As bytes: for each layer a bitmap of the units in it, and their codes, compressed."""
        parts = [len(self.layers).to_bytes(2, "little"), self.cells.to_bytes(4, "little")]
        parts.append((self.guarded is not None).to_bytes(1, "little"))
        for layer in (*self.layers, *(() if self.guarded is None else (self.guarded,))):
            inside = np.flatnonzero(layer).astype(np.uint32)
            bitmap = BitMap(inside)
            bitmap.run_optimize()
            members, codes = bitmap.serialize(), (layer[inside] - 1).astype(layer.dtype)
            squeezed = bytes(pa.compress(codes.tobytes(), codec="zstd", asbytes=True)) if len(codes) else b""
            sizes = (len(members), len(squeezed), len(codes), layer.dtype.itemsize)
            parts += [b"".join(n.to_bytes(8, "little") for n in sizes), members, squeezed]
        return b"".join(parts)

    @classmethod
    def read(cls, data: bytes, units: int) -> Partition:
        """Read back what `stored` wrote."""
        number, cells, has = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:6], "little"), data[6]
        place, layers = 7, []
        for _ in range(number + has):
            sizes = [int.from_bytes(data[place + 8 * i : place + 8 * i + 8], "little") for i in range(4)]
            place += 32
            members = BitMap.deserialize(data[place : place + sizes[0]])
            place += sizes[0]
            kind = np.dtype(f"u{sizes[3]}")
            codes: Layer = np.zeros(0, kind)
            if sizes[2]:
                raw = pa.decompress(
                    data[place : place + sizes[1]], sizes[2] * sizes[3], codec="zstd", asbytes=True
                )
                codes = np.frombuffer(raw, kind)
            place += sizes[1]
            layer = np.zeros(units, kind)
            if (
                sizes[2] and sizes[2] == members.max() - members.min() + 1
            ):  # one run: no list of places needed
                layer[members.min() : members.max() + 1] = codes + kind.type(1)
            elif sizes[2]:
                layer[np.asarray(members.to_array())] = codes + kind.type(1)
            layers.append(layer)
        guard = layers.pop() if has else None
        return cls(tuple(layers), cells, guard)

    @staticmethod
    def digest(stored: bytes) -> str:
        """Name under which equal partitions are stored once."""
        return hashlib.blake2b(stored, digest_size=16).hexdigest()

    @classmethod
    def of(
        cls,
        query: Query,
        hidden: Bools,
        numbers: Ints,
        units: int,
        guarded: Bools | None = None,
        every: bool = False,
    ) -> Partition:
        """The units behind the shown cells of a query; ``numbers`` gives each record's unit number."""
        present = np.ones(query.rows, np.bool_) if query.value is None else ~np.isnan(query.value)
        start, pairs, fine = 0, [], fineness(query)
        cells = fine * sum(query.size(over) for over in query.parts)
        hidden = np.repeat(hidden, fine)
        guarded = None if guarded is None else np.repeat(guarded, fine)
        for over in query.parts:
            size = query.size(over)
            if over and not every and fine == 1 and not hidden[: query.cells].any():
                break  # margins of cells that are all shown add nothing, but for quantiles, which do not add up
            codes = query.collapsed(over).astype(np.int64)
            keep = present & (codes >= 0)
            places = (codes + start) * fine + (_finer(query, codes) if fine > 1 else 0)
            pairs.append((numbers[keep], places[keep]))
            start += size
        layers = [layer for who, what in pairs for layer in _layers(who, what, hidden, units, cells)]
        guard = None
        if guarded is not None and guarded.any():
            found = [layer for who, what in pairs for layer in _layers(who, what, ~guarded, units, cells)]
            guard = found[0] if found else None
        return cls(tuple(layers) or (np.zeros(units, np.uint8),), cells, guard)


def fineness(query: Query) -> int:
    """Cells of a partition for each cell of its output: intervals between quantiles, further counts, else one."""
    if "parts" in query.facts:
        return int(query.facts["parts"][1])
    return 1 if query.value is None else len(asked(query)) + 1


def _finer(query: Query, codes: Ints) -> Any:
    """Place of each record within its cell, where a partition is finer than its output."""
    return query.facts["parts"][0] if "parts" in query.facts else intervals(query, codes)


def _padded(layer: Layer, units: int) -> Layer:
    if len(layer) == units:
        return layer
    return np.concatenate([layer, np.zeros(units - len(layer), layer.dtype)])


def _layers(who: Ints, what: Ints, hidden: Bools, units: int, cells: int) -> list[Layer]:
    """Codes by unit, in as many layers as the unit with most cells needs."""
    kind = np.dtype(np.uint8 if cells < 255 else np.uint16 if cells < 65_535 else np.uint32)
    first = np.zeros(units, kind)
    first[who] = (what + 1).astype(kind)
    layers = [first]
    if (
        first[who] != what + 1
    ).any():  # units with rows in several cells: the lowest first, whatever the order of rows
        every = np.sort(who * np.int64(cells) + what)
        every = every[np.append(True, every[1:] != every[:-1])]
        more, cell = every // cells, every % cells
        turn = np.arange(len(more)) - np.searchsorted(more, more)
        layers = [np.zeros(units, kind) for _ in range(int(turn.max()) + 1)]
        for k, layer in enumerate(layers):
            layer[more[turn == k]] = (cell[turn == k] + 1).astype(kind)
    closed = np.append(True, ~hidden)  # code 0 stays 0
    closed[0] = False
    return [np.where(closed[layer], layer, 0).astype(kind) for layer in layers]
