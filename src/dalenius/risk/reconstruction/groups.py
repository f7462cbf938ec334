"""Groups of people whose count may follow from published tables although no table prints it.

They are the cells of every published table and of every table that follows from one by adding up: printed, suppressed
or not listed, in the bands of any table that has the column. A table more only adds to them. Beside them stand the
people whom no published cell tells apart, what two printed cells have in common or not, and what is left of a sum
whose other parts can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.random import generator
from dalenius.published import Margin, Published
from dalenius.published.arrays import Bools, Ints

Family = tuple[Any, Ints, Bools]
"""Groups as rows of atoms, the number of the cell that withholds each (or -1), and which are cells of a table."""
MOST_PAIRS = 400
"""Printed cells up to which any two are compared; what is left of sums says the same of larger tables."""
MOST_WORK = 20_000_000
"""Cells times ways to divide them up to which implied tables are looked at."""
MOST_MAPS = 6
"""Ways to band a column up to which any two of them are also crossed."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups as sets of atoms (people whom no published cell tells apart).

    Attributes
    ----------
    rows
        Groups × atoms, zeros and ones; no group stands there twice.
    withheld
        The number of a cell that is the group and does not say its count (see `Cells`); -1 where there is none.
    proper
        Whether the group is a cell of a published or implied table, and not only put together from such cells.
    """

    rows: sp.csr_matrix
    withheld: Ints
    proper: Bools

    @classmethod
    def of(cls, parts: Sequence[Family], atoms: int) -> Groups:
        """Put several families together; a group that stands in several has the marks of all."""
        rows = sp.csr_matrix(sp.vstack([sp.csr_matrix((0, atoms), dtype=np.int64), *(p[0] for p in parts)]))
        withheld = np.concatenate([np.zeros(0, np.int64), *(p[1] for p in parts)])
        proper = np.concatenate([np.zeros(0, np.bool_), *(p[2] for p in parts)])
        if not rows.shape[0]:
            return cls(rows, withheld, proper)
        marks = generator(1, "groups").integers(1, 2**62, (atoms, 2), dtype=np.int64)
        _, first, place = np.unique(
            np.asarray(rows.astype(np.int64) @ marks), axis=0, return_index=True, return_inverse=True
        )
        place = place.ravel()
        named, own = np.full(len(first), -1, np.int64), np.bincount(place, proper, len(first)) > 0
        np.maximum.at(named, place, withheld)
        order = np.argsort(first)
        return cls(sp.csr_matrix(rows[first[order]]), named[order], own[order])


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of all published tables and of those that follow from them by adding up.

    Attributes
    ----------
    families
        One for each table.
    withheld
        Table and number of every cell that a table has and does not print: suppressed, given as a range, or not listed.
    whole
        Whether these are all.
    """

    families: list[Family]
    withheld: list[tuple[Margin, int]]
    whole: bool

    @classmethod
    def of(cls, published: Published, cells: Ints, atom_of: Ints) -> Cells:
        """Divide the possible cells in all ways that tables do.

        ``atom_of`` is the atom of every possible cell, -1 where certainly nobody is. Only groups that are made of
        whole atoms are there: of others nothing can follow.
        """
        atoms = int(atom_of.max(initial=-1)) + 1
        made = cls([], [], True)
        printed = {_described(m, int(key)) for m in published.margins for key in m.keys[m.low == m.high]}
        for margin in published.margins:
            inside, key = margin.keyed(cells, published.columns)
            rows, kinds = _whole(np.where(inside, key, -1), atom_of, atoms)
            listed, hidden = set(margin.keys.tolist()), set(margin.keys[margin.low < margin.high].tolist())
            named = np.full(len(kinds), -1, np.int64)
            for place, kind in enumerate(kinds.tolist()):
                if kind in hidden or (kind not in listed and _described(margin, kind) not in printed):
                    named[place] = len(made.withheld)
                    made.withheld.append((margin, kind))
            made.families.append((rows, named, np.ones(len(kinds), np.bool_)))
        most = max(MOST_WORK // max(len(cells), 1), 1)
        for number, way in enumerate(_divided(published, cells)):
            if number >= most:
                return replace(made, whole=False)
            rows, kinds = _whole(way, atom_of, atoms)
            made.families.append((rows, np.full(len(kinds), -1, np.int64), np.ones(len(kinds), np.bool_)))
        return made


def finer_than_printed(
    published: Published, cells: Ints, atom_of: Ints, groups: Any, sums: Any
) -> dict[int, list[Ints]]:
    """Cells of tables that hold the same people as a printed sum because the rest of it is certainly empty.

    That they do is news: that the only one of b2 has a0 does not stand in a count of b2. Nothing new is a cell that
    printed sums which lie in it make up.

    Parameters
    ----------
    groups
        Groups that are printed when empty cells are left out, as rows of atoms.
    sums
        The printed sums, by possible cell.

    Returns
    -------
    By place among the groups, the possible cells of each such cell, empty ones included.
    """
    atoms = int(atom_of.max(initial=-1)) + 1
    made: dict[int, list[Ints]] = {}
    marks = generator(1, "finer").integers(1, 2**62, atoms, dtype=np.int64)
    asked = {mark: k for k, mark in enumerate(np.asarray(groups @ marks).tolist())}
    filled = sp.csr_matrix(sums)[np.flatnonzero(np.diff(sp.csr_matrix(sums).indptr))]
    atom, start, size = atom_of[filled.indices], filled.indptr[:-1], np.diff(filled.indptr)
    for way in _divided(published, cells) if asked else ():
        rows, kinds = _whole(way, atom_of, atoms)
        kind_of = way[filled.indices]
        within = np.repeat(np.minimum.reduceat(kind_of, start) == np.maximum.reduceat(kind_of, start), size)
        news = np.ones(atoms, np.int64)
        news[atom[within & (atom >= 0)]] = 0
        held = np.asarray(rows @ marks)
        for k in np.flatnonzero(np.isin(held, list(asked)) & (np.asarray(rows @ news) > 0)).tolist():
            made.setdefault(asked[int(held[k])], []).append(cells[way == kinds[k]])
    return made


def _described(margin: Margin, key: int) -> frozenset[tuple[str, bytes]]:
    """Of whom a cell speaks, however the table calls them."""
    codes = np.unravel_index(key, margin.shape) if margin.columns else ()
    held = [(c, m == k) for c, m, k in zip(margin.columns, margin.maps, codes, strict=True)]
    return frozenset((column, values.tobytes()) for column, values in held if not values.all())


def pairs_of(known: Any) -> list[Family]:
    """What two printed cells have in common, and what one has beyond the other."""
    if known.shape[0] > MOST_PAIRS:
        return []
    members = [frozenset(known[k].indices.tolist()) for k in range(known.shape[0])]
    made = {
        tuple(sorted(group))
        for first, second in combinations(members, 2)
        if first & second
        for group in (first - second, second - first, first & second)
        if group
    }
    return [_family(sorted(made, key=lambda g: (len(g), g)), known.shape[1])]


def left_of(lines: Any, tables: Sequence[tuple[Any, Bools]], small: Callable[[Any], Bools]) -> list[Family]:
    """What is left of a computable cell when the computable cells of another table that lie in it are taken away.

    ``lines`` are the computable cells, ``tables`` the cells of every table and which of them can be computed; only what
    is ``small`` is kept.
    """
    made = []
    for rows, computable in tables:
        inner = rows[np.flatnonzero(computable)]
        if not inner.shape[0]:
            continue
        common = sp.coo_matrix(lines @ inner.T)
        whole = common.data == np.diff(inner.indptr)[common.col]
        taken = sp.csr_matrix(
            (np.ones(int(whole.sum()), np.int64), (common.row[whole], common.col[whole])), shape=common.shape
        )
        left = sp.csr_matrix(lines - taken @ inner)
        left.eliminate_zeros()
        changed = (np.diff(left.indptr) > 0) & (np.diff(left.indptr) < np.diff(lines.indptr))
        kept = sp.csr_matrix(left[np.flatnonzero(changed & small(left))])
        kept.sort_indices()
        made.append((kept, *unmarked(kept.shape[0])))
    return made


def covered(groups: Any, parts: Any) -> Bools:
    """Which groups are made up of smaller ones: everybody in them is in a part that lies in them and is smaller.

    Examples
    --------
    >>> covered(sp.csr_matrix([[1, 1, 0], [0, 1, 1]]), sp.csr_matrix([[1, 0, 0], [0, 1, 0], [0, 1, 1]])).tolist()
    [True, False]
    """
    parts, sizes = sp.csr_matrix(parts), np.diff(sp.csr_matrix(groups).indptr)
    small = np.diff(parts.indptr)
    common = sp.coo_matrix(groups @ parts.T)
    inside = (common.data == small[common.col]) & (small[common.col] < sizes[common.row])
    which = sp.csr_matrix(
        (np.ones(int(inside.sum()), np.int64), (common.row[inside], common.col[inside])), shape=common.shape
    )
    reached = sp.csr_matrix(which @ parts)
    reached.eliminate_zeros()
    return np.asarray((np.diff(reached.indptr) == sizes) & (sizes > 0))


def _family(groups: Sequence[tuple[int, ...]], atoms: int) -> Family:
    rows = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    columns = np.array([c for g in groups for c in g], np.int64)
    made = sp.csr_matrix((np.ones(len(columns), np.int64), (rows, columns)), shape=(len(groups), atoms))
    return made, *unmarked(len(groups))


def unmarked(groups: int) -> tuple[Ints, Bools]:
    """Marks of groups that no table withholds and that are cells of none."""
    return np.full(groups, -1, np.int64), np.zeros(groups, np.bool_)


def _divided(published: Published, cells: Ints) -> Iterator[Ints]:
    """For every set of columns that some table crosses, and every banding of each, the group of each possible cell."""
    bands = {name: _bandings(published, name) for name in published.columns}
    for chosen in _crossed(published):
        for way in product(*(bands[name] for name in chosen)):
            group = np.zeros(len(cells), np.int64)
            for name, band in zip(chosen, way, strict=True):
                group = group * (int(band.max(initial=0)) + 1) + band[cells[:, published.columns.index(name)]]
                group = np.unique(group, return_inverse=True)[1].ravel()
            yield group


def _crossed(published: Published) -> Iterator[tuple[str, ...]]:
    """Sets of columns that some table crosses, those of few columns first."""
    widest = max((len(margin.columns) for margin in published.margins), default=0)
    for size in range(widest + 1):
        done: set[tuple[str, ...]] = set()
        for margin in published.margins:
            for chosen in combinations(margin.columns, size):
                named = tuple(sorted(chosen))
                if named not in done:
                    done.add(named)
                    yield named


def _bandings(published: Published, name: str) -> list[Ints]:
    """How tables divide the values of a column: each on its own, any two crossed, and all of them crossed."""
    own: dict[bytes, Ints] = {}
    for margin in published.margins:
        if name in margin.columns:
            band = _numbered(margin.maps[margin.columns.index(name)][:, None])
            own[band.tobytes()] = band
    single = list(own.values())
    pairs = combinations(single, 2) if len(single) <= MOST_MAPS else ()
    for crossed in (*map(list, pairs), *([single] if single else [])):
        band = _numbered(np.column_stack(crossed))
        own[band.tobytes()] = band
    return [band for band in own.values() if band.max(initial=0) > 0]


def _numbered(maps: Ints) -> Ints:
    """One number for every combination of categories, in the order in which they come."""
    _, first, place = np.unique(maps, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.ravel()]


def _whole(group_of: Ints, atom_of: Ints, atoms: int) -> tuple[Any, Ints]:
    """Groups of possible cells as sets of atoms, those that cut an atom left out; and their numbers."""
    alive = atom_of >= 0
    group, atom = group_of[alive], atom_of[alive]
    least, most = np.full(atoms, np.iinfo(np.int64).max), np.full(atoms, -1, np.int64)
    np.minimum.at(least, atom, group)
    np.maximum.at(most, atom, group)
    cut = np.unique(group[(least < most)[atom]])
    pure = np.flatnonzero((least == most) & (most >= 0))
    good = pure[~np.isin(most[pure], cut)]
    kinds, row = np.unique(most[good], return_inverse=True)
    return sp.csr_matrix(
        (np.ones(len(good), np.int64), (row.ravel(), good)), shape=(len(kinds), atoms)
    ), kinds
