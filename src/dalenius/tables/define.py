"""`define`: from microdata (or counts) to a `TableModel`, with every fault of the input reported at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.data import Table
from dalenius.tables.dimensions import Coded, Dimension, find_dimensions
from dalenius.tables.errors import TableError
from dalenius.tables.formula import Term, terms_of
from dalenius.tables.hierarchy import TOTAL, Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy
from dalenius.tables.model import Bools, Floats, Ints, Records, TableModel
from dalenius.tables.reader import Reader

Layout = str | Sequence[str]
MAX_CELLS = 50_000_000


def define(
    data: Any,
    by: Layout | None = None,
    *,
    formula: str | None = None,
    tables: Mapping[str, Layout] | Sequence[Layout] | None = None,
    hierarchies: Mapping[str, Hierarchy | str | Path] | None = None,
    freq: str | None = None,
    value: str | None = None,
    contributor: str | None = None,
    weight: str | None = None,
    total: str = TOTAL,
    extend0: bool | Literal["all"] = False,
    structural: Any | None = None,
    remove_empty: bool | None = None,
    nested: bool = True,
) -> TableModel:
    """Define the table or tables to be published.

    Parameters
    ----------
    data
        Microdata, or inner cells with their counts (``freq``): any frame, dict of columns or `Table`.
    by
        Columns to cross, with all totals. Columns that are levels of each other share one dimension.
    formula
        Margins to publish instead, such as ``"~ age * geo + eu:year"``.
    tables
        Several linked tables: each a list of columns or a formula, by name or in order.
    hierarchies
        Column → `Hierarchy` or hierarchy file, for dimensions whose groups are not in the data.
    freq, value, contributor, weight
        Columns: count of a row, value to be summed (a magnitude table), whose row it is (a firm or its
        holding), and
        the sampling weight.
    extend0
        Add every missing combination as an inner cell with count 0 ("all": of all leaves of the hierarchies,
        not
        only those in the data). A combination that cannot exist is listed in ``structural`` and stays out.
    structural
        Frame of leaf codes: combinations that cannot occur.
    remove_empty
        Leave out cells without any inner cell; by default only for formulas.
    nested
        Look for columns that are levels of each other; say False if a column determines another one by chance only.

    Examples
    --------
    >>> model = define({"geo": ["N1", "N2", "S1"], "zone": ["N", "N", "S"], "n": [4, 1, 7]}, ["geo", "zone"], freq="n")
    >>> model.cells["geo"].to_list(), model.frequency.tolist()
    (['Total', 'N', 'S', 'N1', 'N2', 'S1'], [12, 5, 7, 4, 1, 7])
    """
    layouts = _layouts(by, formula, tables, hierarchies)
    table = Table.from_frame(data)
    asked = dict.fromkeys(name for layout in layouts.values() for term in layout.terms for name in term)
    trees = _read_trees(hierarchies or {}, total)
    reader = Reader(table, total)
    reader.need([*asked, *trees, *(c for c in (freq, value, contributor, weight) if c)])
    coded = {name: reader.codes(name, trees.get(name)) for name in asked if name in table}
    counts = reader.counts(freq if freq in table else None)
    amounts = None if value not in table else reader.numbers(str(value))
    weights = None if weight not in table else reader.numbers(str(weight), positive=True)
    firms = None if contributor not in table else reader.codes(str(contributor), None, dimension=False)
    reader.raise_faults()
    dimensions = _dimensions(coded, trees, total, nested)
    frame = _Inner.collect(dimensions, coded, counts, amounts)
    inner_of = frame.of_record
    if extend0:
        frame = frame.extended(dimensions, structural, everything=extend0 == "all")
    records = None
    if amounts is not None:
        records = Records(
            inner_of,
            amounts,
            None if firms is None else firms.codes,
            weights,
            () if firms is None else firms.labels,
        )
        weighted = amounts if weights is None else amounts * weights
        frame.values = np.asarray(np.bincount(inner_of, weighted, len(frame.counts)), np.float64)
    return _publish(dimensions, layouts, frame, records, remove_empty)


def _read_trees(hierarchies: Mapping[str, Hierarchy | str | Path], total: str) -> dict[str, Hierarchy]:
    """Read hierarchy files; the faults of all of them together."""
    trees: dict[str, Hierarchy] = {}
    faults: list[str] = []
    for name, given in hierarchies.items():
        try:
            trees[name] = read_hierarchy(given, total) if isinstance(given, str | Path) else given
        except TableError as error:
            faults += [f"{Path(str(given)).name}: {fault}" for fault in error.faults]
    if faults:
        raise TableError("hierarchies", faults)
    return trees


@dataclass(frozen=True)
class _Layout:
    """One table: its margins, or all columns crossed."""

    terms: list[Term]
    crossed: bool


def _layouts(by: Layout | None, formula: str | None, tables: Any, hierarchies: Any) -> dict[str, _Layout]:
    given = sum(x is not None for x in (by, formula, tables))
    if given == 0 and hierarchies:
        by, given = list(hierarchies), 1
    if given != 1:
        raise OptionError("give one of by= (columns to cross), formula= or tables= (several linked tables)")
    if tables is not None:
        listed = tables if isinstance(tables, Mapping) else {f"table_{i}": t for i, t in enumerate(tables, 1)}
        if not listed:
            raise OptionError("tables= lists no table")
        return {str(name): _layout(spec) for name, spec in listed.items()}
    return {"": _layout(formula if by is None else ([by] if isinstance(by, str) and "~" not in by else by))}


def _layout(spec: Any) -> _Layout:
    if isinstance(spec, str):
        return _Layout(terms_of(spec), crossed=False)
    columns = tuple(str(name) for name in spec)
    if not columns:
        raise OptionError("a table needs at least one column")
    return _Layout([columns], crossed=True)


def _dimensions(
    coded: Mapping[str, Coded], trees: Mapping[str, Hierarchy], total: str, nested: bool
) -> tuple[Dimension, ...]:
    loose = {name: c for name, c in coded.items() if name not in trees}
    if nested:
        free = find_dimensions(loose, total)
    else:
        free = [
            Dimension(name, Hierarchy.flat(c.labels, total), {name: c.labels}) for name, c in loose.items()
        ]
    given = [Dimension(name, trees[name], {name: trees[name].codes}) for name in coded if name in trees]
    order = list(coded)
    return tuple(sorted([*free, *given], key=lambda d: order.index(d.name)))


@dataclass
class _Inner:
    """Inner cells: leaf number per dimension, with counts."""

    leaves: list[tuple[str, ...]]
    codes: Ints
    counts: Ints
    of_record: Ints
    values: Floats | None = None

    @classmethod
    def collect(
        cls, dimensions: Sequence[Dimension], coded: Mapping[str, Coded], counts: Ints, amounts: Floats | None
    ) -> _Inner:
        leaves, key, radix = [], np.zeros(len(counts), np.int64), []
        for d in dimensions:
            column = coded[d.name]
            leaves.append(column.labels)
            key = key * len(column.labels) + column.codes
            radix.append(len(column.labels))
        distinct, of_record = np.unique(key, return_inverse=True)
        sums = np.bincount(of_record, counts, len(distinct)).astype(np.int64)
        return cls(leaves, _unkey(distinct, radix), sums, of_record.astype(np.int64))

    def extended(self, dimensions: Sequence[Dimension], structural: Any | None, everything: bool) -> _Inner:
        """Add the missing combinations, those declared impossible excepted."""
        leaves = [
            d.hierarchy.leaves if everything else own for d, own in zip(dimensions, self.leaves, strict=True)
        ]
        radix = [len(level) for level in leaves]
        size = int(np.prod([float(r) for r in radix]))
        if size > MAX_CELLS:
            raise DataError(
                f"extending with zeros would make {size:,} inner cells; use fewer dimensions or extend0=False"
            )
        moved = (
            np.stack(
                [
                    np.searchsorted(np.sort(new), own)[old]
                    for new, own, old in zip(leaves, self.leaves, self.codes.T, strict=True)
                ],
                axis=1,
            )
            if everything
            else self.codes
        )
        leaves = [tuple(sorted(level)) for level in leaves]
        key = _key(moved, radix)
        fresh = np.setdiff1d(np.arange(size), key)
        if structural is not None:
            fresh = np.setdiff1d(fresh, self._impossible(dimensions, leaves, radix, structural, key))
        codes = np.vstack([moved, _unkey(fresh, radix)])
        counts = np.concatenate([self.counts, np.zeros(len(fresh), np.int64)])
        return _Inner(leaves, codes, counts, self.of_record)

    def _impossible(
        self,
        dimensions: Sequence[Dimension],
        leaves: Sequence[Sequence[str]],
        radix: Sequence[int],
        listed: Any,
        key: Ints,
    ) -> Ints:
        frame = pl.DataFrame(listed)
        missing = [d.name for d in dimensions if d.name not in frame.columns]
        faults = [f"no column {name!r}" for name in missing]
        columns = []
        for d, level in zip(dimensions, leaves, strict=True):
            if d.name not in missing:
                place = {leaf: i for i, leaf in enumerate(level)}
                columns.append(np.array([place.get(str(v), -1) for v in frame[d.name]], np.int64))
        if faults:
            raise TableError("structural zeros", faults)
        codes = np.stack(columns, axis=1)
        codes = codes[(codes >= 0).all(axis=1)]
        named = _key(codes, radix)
        filled = int(np.isin(named, key[self.counts > 0]).sum())
        if filled:
            raise TableError(
                "structural zeros", [f"{filled} combinations declared impossible occur in the data"]
            )
        return named


def _key(codes: Ints, radix: Sequence[int]) -> Ints:
    key = np.zeros(len(codes), np.int64)
    for column, size in zip(codes.T, radix, strict=True):
        key = key * size + column
    return key


def _unkey(key: Ints, radix: Sequence[int]) -> Ints:
    columns = []
    for size in reversed(radix):
        key, code = np.divmod(key, size)
        columns.append(code)
    return np.stack(columns[::-1], axis=1) if columns else np.zeros((len(key), 0), np.int64)


def _publish(
    dimensions: tuple[Dimension, ...],
    layouts: Mapping[str, _Layout],
    inner: _Inner,
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
    codes = _unkey(cells, radix)
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
