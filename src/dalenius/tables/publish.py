"""From inner cells to published cells: the codes of all cells and the sparse matrix that sums inner cells to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError
from dalenius.tables.dimensions import Dimension
from dalenius.tables.formula import Term
from dalenius.tables.inner import MAX_CELLS, InnerCells, unkeyed
from dalenius.tables.layout import TableLayout
from dalenius.tables.model import Bools, Ints, Records, TableModel


def publish(
    dimensions: tuple[Dimension, ...],
    layouts: Mapping[str, TableLayout],
    inner: InnerCells,
    records: Records | None,
    remove_empty: bool | None,
) -> TableModel:
    """Cells of all tables, each once, and the matrix that sums inner cells to them."""
    spread = [d.hierarchy.matrix(level) for d, level in zip(dimensions, inner.leaves, strict=True)]
    radix = [matrix.shape[1] for matrix in spread]
    if float(np.prod([float(r) for r in radix])) > 2.0**62:
        raise DataError("the dimensions have too many codes to be crossed")
    known: dict[str, Ints] = {}
    keys: list[Ints] = []
    entries: list[tuple[Ints, Ints]] = []
    for name, layout in layouts.items():
        mine = []
        for term in layout.terms:
            rows, key = _expand(dimensions, spread, inner.codes, term, layout.crossed)
            full = layout.crossed and not remove_empty
            cells = _all_keys(dimensions, radix, term) if full else np.unique(key)
            mine.append(cells)
            entries.append((rows, key))
        known[name] = np.concatenate(mine)
        keys.append(known[name])
    cells = _first_seen(np.concatenate(keys))
    order = np.argsort(cells)
    rows = np.concatenate([r for r, _ in entries])
    columns = order[np.searchsorted(cells[order], np.concatenate([key for _, key in entries]))]
    pairs = np.unique(columns * len(inner.counts) + rows)
    columns, rows = np.divmod(pairs, len(inner.counts))
    matrix = sp.csc_matrix(
        (np.ones(len(rows), np.int64), (rows, columns)), shape=(len(inner.counts), len(cells))
    )
    if remove_empty:
        keep = np.diff(matrix.indptr) > 0
        matrix, cells = matrix[:, keep], cells[keep]
    codes = unkeyed(cells, radix)
    shown = pl.DataFrame(
        {d.name: np.array(d.hierarchy.codes, object)[codes[:, i]].tolist() for i, d in enumerate(dimensions)},
        schema={d.name: pl.String for d in dimensions},
    )
    inside = pl.DataFrame(
        {
            d.name: np.array(inner.leaves[i], object)[inner.codes[:, i]].tolist()
            for i, d in enumerate(dimensions)
        },
        schema={d.name: pl.String for d in dimensions},
    )
    masks: dict[str, Bools] = (
        {name: np.isin(cells, own) for name, own in known.items()} if len(known) > 1 else {}
    )
    return TableModel(dimensions, shown, inside, matrix, inner.counts, inner.values, records, masks)


def _first_seen(keys: Ints) -> Ints:
    _, first = np.unique(keys, return_index=True)
    return keys[np.sort(first)]


def _allowed(dimension: Dimension, term: Term, crossed: bool) -> Ints:
    """Codes of a dimension that a term publishes: all, those of its finest column named, or the total."""
    codes = dimension.hierarchy.codes
    named = [name for name in dimension.columns if name in term]
    if crossed and named:
        if len(dimension.columns) == len(named) or len(dimension.columns) == 1:
            return np.arange(len(codes))
        wanted = {dimension.hierarchy.total, *(c for name in named for c in dimension.columns[name])}
        return np.array([i for i, code in enumerate(codes) if code in wanted], np.int64)
    if not named:
        return np.array([codes.index(dimension.hierarchy.total)])
    if len(dimension.columns) == 1 and len(dimension.hierarchy.leaves) < len(codes) - 1:
        wanted = set(codes)  # an explicit hierarchy in a formula: all its codes
    else:
        finest = max(named, key=lambda name: len(dimension.columns[name]))
        wanted = set(dimension.columns[finest]) - {dimension.hierarchy.total}
    return np.array([i for i, code in enumerate(codes) if code in wanted], np.int64)


def _all_keys(dimensions: Sequence[Dimension], radix: Sequence[int], term: Term) -> Ints:
    key = np.zeros(1, np.int64)
    for d, size in zip(dimensions, radix, strict=True):
        allowed = _allowed(d, term, crossed=True)
        if len(key) * len(allowed) > MAX_CELLS:
            raise DataError(
                "the crossing has more than 50 million cells; use fewer columns or remove_empty=True"
            )
        key = (key[:, None] * size + allowed[None, :]).ravel()
    return key


def _expand(
    dimensions: Sequence[Dimension], spread: Sequence[Any], codes: Ints, term: Term, crossed: bool
) -> tuple[Ints, Ints]:
    """Every (inner cell, cell key) pair of a term: each inner cell belongs to one code per level of each dimension."""
    rows = np.arange(len(codes))
    key = np.zeros(len(codes), np.int64)
    for i, (d, matrix) in enumerate(zip(dimensions, spread, strict=True)):
        allowed = _allowed(d, term, crossed)
        part = sp.csr_matrix(matrix[:, allowed])
        leaf = codes[rows, i]
        times = np.diff(part.indptr)[leaf]
        offset = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        picked = allowed[part.indices[np.repeat(part.indptr[leaf], times) + offset]]
        rows, key = np.repeat(rows, times), np.repeat(key, times) * matrix.shape[1] + picked
    return rows.astype(np.int64), key.astype(np.int64)
