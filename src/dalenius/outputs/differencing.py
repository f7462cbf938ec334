"""What follows from several outputs together: groups of few people whose number can be computed.

People who cannot be told apart by any released cell form an atom. What is known are the sums of atoms that the cells
are. A group is a disclosure if it is a union of atoms, holds fewer people than the threshold, and its number follows
from the cells. Atoms of at least the threshold cannot be in such a group, so a combination of cells that computes it
must leave them alone: the combinations that do are a null space, usually a very small one, and the groups are found in
what it does to the small atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dalenius.core.random import generator
from dalenius.outputs.cuts import MOST_NODES, thin_cuts
from dalenius.outputs.partition import Layer
from dalenius.outputs.query import Bools, Ints
from dalenius.published._modular import PRIME, reduced_form
from dalenius.published.nullspace import NullSpace

MOST_FREE = 60
"""Largest null space that is searched."""
MOST_TRIED = 200_000
"""Combinations of groups that are tried."""
MOST_WORK = 50_000_000
"""The same, times the atoms they are tried on."""
BLOCK = 1 << 18
"""Entries of combinations that are looked at in one go."""
SOME = 65_536
"""Units by which it is seen that there are too many kinds of people."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """People who cannot be told apart: how many there are of each kind, and the cells each kind is in.

    Attributes
    ----------
    counts
        Units of each atom.
    matrix
        Atoms × cells, 1 where the atom is in the cell.
    """

    counts: Ints
    matrix: Any


@dataclass(frozen=True, eq=False)
class Found:
    """Groups of few people that follow from the cells, as masks over the atoms; whether all were looked for."""

    groups: list[Bools]
    complete: bool = True


def atoms_of(layers: Sequence[tuple[Layer, int]], cells: int) -> tuple[Atoms, Ints]:
    """The atoms of some layers, each with the place of its first cell; and the atom of each unit.

    Examples
    --------
    >>> first, second = np.array([1, 1, 1, 2]), np.array([1, 1, 0, 2])
    >>> found, _ = atoms_of([(first, 0), (second, 2)], 4)
    >>> sorted(zip(found.counts.tolist(), found.matrix.toarray().tolist()))
    [(1, [0, 1, 0, 1]), (1, [1, 0, 0, 0]), (2, [1, 0, 1, 0])]
    """
    # A random number for each cell: people in the same cells have the same sum, others have not (64 bits).
    words = generator(0, "atoms").integers(0, 2**63, cells + 1, dtype=np.int64)
    words[0] = 0
    marks = np.zeros(len(layers[0][0]), np.int64)
    with np.errstate(over="ignore"):
        for layer, start in layers:
            own = np.concatenate([[0], words[start + 1 :][: int(layer.max(initial=0))]])
            marks += own[layer]
    first, atom, counts = _kinds(marks)
    rows, columns = [], []
    for layer, start in layers:
        codes = layer[first].astype(np.int64)
        inside = np.flatnonzero(codes)
        rows.append(inside)
        columns.append(codes[inside] - 1 + start)
    row, column = np.concatenate(rows), np.concatenate(columns)
    matrix = sp.csr_matrix((np.ones(len(row), np.int64), (row, column)), shape=(len(first), cells))
    return Atoms(counts, matrix), atom


def _kinds(marks: Ints) -> tuple[Ints, Ints, Ints]:
    """Equal marks as kinds in the order of their marks: a member of each, the kind of each, and how many there are."""
    order = np.argsort(marks, kind="stable")
    fresh = np.ones(len(marks), np.bool_)
    fresh[1:] = marks[order[1:]] != marks[order[:-1]]
    starts = np.flatnonzero(fresh)
    kind = np.empty(len(marks), np.int64)
    kind[order] = np.cumsum(fresh) - 1
    return order[starts], kind, np.diff(np.append(starts, len(marks))).astype(np.int64)


def small_groups(atoms: Atoms, threshold: int) -> Found:
    """All groups of fewer than ``threshold`` people whose number follows from the cells.

    Examples
    --------
    >>> first, second = np.repeat([1, 2], 20), np.repeat([1, 0, 2], [18, 2, 20])
    >>> found = small_groups(atoms_of([(first, 0), (second, 2)], 4)[0], 10)
    >>> len(found.groups), found.complete
    (1, True)
    """
    outside = np.asarray(atoms.matrix.getnnz(axis=1)).ravel() == 0
    small = (atoms.counts < threshold) & ~outside
    if not small.any():
        return Found([])
    big = sp.csr_matrix(atoms.matrix[np.flatnonzero(~small & ~outside)])
    used = np.flatnonzero(np.asarray(atoms.matrix.getnnz(axis=0)).ravel() > 0)
    free, whole = _free(big[:, used])
    few = np.flatnonzero(small)
    effect = _effect(atoms.matrix[few][:, used], free)
    groups, tried = _zero_one(effect, atoms.counts[few], threshold)
    masks = []
    for members in groups:
        mask = np.zeros(len(atoms.counts), np.bool_)
        mask[few[members]] = True
        masks.append(mask)
    return Found(masks, whole and tried)


def pair_groups(table: Ints, threshold: int) -> tuple[list[list[tuple[int, int]]], bool]:
    """The same for two outputs by the table of their joint counts; row and column 0 are people in no cell.

    Large atoms tie cells of both together; what is not tied, or only to people outside, is free to move.

    Examples
    --------
    >>> pair_groups(np.array([[0, 0, 0], [2, 18, 0], [0, 0, 20]]), 10)[0]
    [[(1, 0)]]
    """
    rows, columns = np.nonzero(table)
    counts = table[rows, columns]
    keep = (rows > 0) | (columns > 0)
    rows, columns, counts = rows[keep], columns[keep], counts[keep]
    small = counts < threshold
    if not small.any():
        return [], True
    nodes = table.shape[0] + table.shape[1]
    ends = (rows[~small], columns[~small] + table.shape[0])
    ties = sp.coo_matrix((np.ones(len(ends[0])), ends), shape=(nodes, nodes))
    _, part = connected_components(ties, directed=False)
    closed = {int(part[0]), int(part[table.shape[0]])}
    # A combination gives one number to a part: added in its rows, taken away in its columns; 0 to people outside.
    left, right = part[rows[small]], part[columns[small] + table.shape[0]]
    moving = (left != right) & ~(np.isin(left, list(closed)) & np.isin(right, list(closed)))
    if not moving.any():
        return [], True
    places = np.flatnonzero(small)[moving]
    left, right = left[moving], right[moving]
    names = np.unique(np.concatenate([left, right]))
    names = names[~np.isin(names, list(closed))]
    if len(names) > MOST_FREE:
        left, right, names, kept = _tied(left, right, names, counts[places], threshold)
        places, left, right = places[kept], left[kept], right[kept]
    if not len(names):
        return [], True
    if len(names) > MOST_FREE:
        return _leaves(rows, columns, counts, threshold, table.shape), False
    effect = np.zeros((len(places), len(names)), np.int64)
    for sign, side in ((1, left), (-1, right)):
        at = np.searchsorted(names, side)
        there = (at < len(names)) & (names[np.minimum(at, len(names) - 1)] == side)
        effect[np.flatnonzero(there), at[there]] += sign
    groups, whole = _zero_one(effect % PRIME, counts[places], threshold)
    return [[(int(rows[places[m]]), int(columns[places[m]])) for m in members] for members in groups], whole


def _tied(
    left: Ints, right: Ints, names: Ints, counts: Ints, threshold: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Parts that many small atoms tie together made one; people outside are part -1, atoms within a part left out."""
    if len(names) >= MOST_NODES:
        return left, right, names, np.arange(len(left))
    known = dict(zip(names.tolist(), range(1, len(names) + 1), strict=True))
    one, two = (np.array([known.get(int(x), 0) for x in side]) for side in (left, right))
    ties = np.zeros((len(names) + 1, len(names) + 1))
    np.add.at(ties, (one, two), counts)
    part = thin_cuts(ties + ties.T, threshold, stop=False).part
    part = np.where(part == part[0], -1, part)
    kept = np.flatnonzero(part[one] != part[two])
    every = np.unique(part[part >= 0])
    return part[one], part[two], every, kept


def moved_groups(table: Ints, changed: Ints, threshold: int) -> tuple[list[list[tuple[int, int]]], bool]:
    """Combinations of two sums that are about few people, by the places that they move; whether all were looked for.

    Of the joint counts ``changed`` are people who are in both, but contribute something else. A sum, unlike a count,
    also tells when one person takes another's place; so any sign counts. Giving 1 to a set of cells and 0 to the others
    is enough to find them: what any other combination moves contains what such a set moves.

    Examples
    --------
    >>> table, changed = np.array([[0, 0], [0, 30]]), np.array([[0, 0], [0, 1]])
    >>> moved_groups(table, changed, 10)[0], moved_groups(table, 0 * changed, 10)[0]
    ([[(1, 1)]], [])
    """
    shift = table.shape[0] - 1  # node 0 is outside; then the rows, then the columns
    rows, columns = np.nonzero(table)
    inside = (rows > 0) | (columns > 0)
    rows, columns = rows[inside], columns[inside]
    other = changed[rows, columns]
    same = table[rows, columns] - other
    ends = rows, np.where(columns > 0, columns + shift, 0)
    size = shift + table.shape[1]
    big, much = same >= threshold, other >= threshold
    zero = np.zeros(int(much.sum()), np.int64)
    first = np.concatenate([ends[0][big], ends[0][much], ends[1][much]])
    second = np.concatenate([ends[1][big], zero, zero])
    joined = sp.coo_matrix((np.ones(len(first)), (first, second)), shape=(size, size))
    number, part = connected_components(joined, directed=False)
    if number > MOST_NODES:
        return [], False
    ties = np.zeros((number, number))
    one, two, out = part[ends[0]], part[ends[1]], np.full(len(rows), part[0])
    np.add.at(ties, (one, two), 2 * same)
    for a, b in (
        (one, out),
        (two, out),
        (one, two),
    ):  # one who changed is moved with either end, and counts once
        np.add.at(ties, (a, b), other)
    found = thin_cuts(ties + ties.T, 2 * threshold)
    groups = []
    for mask in found.thin:
        left, right = mask[one], mask[two]
        if mask[part[0]]:
            left, right = ~left, ~right
        hit = ((same > 0) & (left != right)) | ((other > 0) & (left | right))
        groups.append(list(zip(rows[hit].tolist(), columns[hit].tolist(), strict=True)))
    return groups, found.complete


def finer(kinds: Ints, number: int, layer: Layer, codes: int) -> tuple[Ints, int]:
    """Kinds of people told apart by one more layer, and how many there are.

    Examples
    --------
    >>> finer(np.array([0, 0, 1]), 2, np.array([0, 1, 1]), 2)
    (array([0, 1, 2]), 3)
    """
    both = kinds * codes + layer
    if number * codes > 8 * len(kinds) + 1000:
        every, both = np.unique(both, return_inverse=True)
        return both.ravel(), len(every)
    there = np.bincount(both, minlength=number * codes) > 0
    return (np.cumsum(there) - 1)[both], int(there.sum())


def some_units(layer: Layer) -> Layer:
    """Every so manieth unit, at most `SOME` of them."""
    return np.ascontiguousarray(layer[:: max(-(-len(layer) // SOME), 1)])


def kinds_of_some(kinds: Ints, layer: Layer) -> int:
    """How many kinds of people one more layer makes of some units: no more than it makes of all.

    Examples
    --------
    >>> kinds_of_some(np.array([0, 0, 1]), np.array([0, 1, 1], np.uint8))
    3
    """
    both = np.sort(kinds * (int(layer.max(initial=0)) + 1) + layer)
    return int((both[1:] != both[:-1]).sum()) + bool(len(both))


def _leaves(
    rows: Ints, columns: Ints, counts: Ints, threshold: int, shape: tuple[int, int]
) -> list[list[tuple[int, int]]]:
    """Single small atoms found by peeling: a cell all of whose atoms but one are known gives that one away."""
    known = np.zeros(len(rows), np.bool_)
    while True:
        fresh = np.zeros(len(rows), np.bool_)
        for side, size in ((rows, shape[0]), (columns, shape[1])):
            open_ones = np.bincount(side[~known], minlength=size)
            open_ones[0] = 0  # nobody knows how many people are outside
            fresh |= ~known & (open_ones[side] == 1)
        if not fresh.any():
            break
        known |= fresh
    hit = np.flatnonzero(known & (counts < threshold))
    return [[(int(rows[i]), int(columns[i]))] for i in hit]


def _free(big: Any) -> tuple[Ints, bool]:
    """Combinations of cells (as columns) that leave all large atoms alone; whether these are all."""
    cells = big.shape[1]
    if not big.shape[0]:
        full = np.eye(cells, dtype=np.int64)
        return full[:, :MOST_FREE], cells <= MOST_FREE
    # One vector finds the rank; then as many random ones as there are free directions, and one more.
    space = NullSpace(sp.csc_matrix(big.T), vectors=MOST_FREE + 1)
    directions = cells - space.rank
    return space.vectors[:, : min(directions, MOST_FREE) + 1], directions <= MOST_FREE


def _effect(matrix: Any, free: Ints) -> Ints:
    return np.asarray(sp.csr_matrix(matrix).astype(np.int64) @ free) % PRIME


def _zero_one(effect: Ints, counts: Ints, threshold: int) -> tuple[list[Ints], bool]:
    """Groups of few people among the combinations of columns: those with 0 and 1 only.

    In reduced form each pivot atom is moved by one combination alone, so a group is the sum of the combinations of
    its pivots; single ones, pairs and so on are tried as far as `MOST_TRIED` reaches.
    """
    moved = np.flatnonzero((effect != 0).any(axis=1))
    effect, counts = effect[moved], counts[moved]
    basis = reduced_form(effect.T.copy())
    most = min(MOST_TRIED, MOST_WORK // max(len(counts), 1))
    found: list[Ints] = []
    complete, tried = True, 0
    for size in range(1, min(len(basis), threshold - 1) + 1):
        if tried + comb(len(basis), size) > most:
            complete = False
            break
        tried += comb(len(basis), size)
        every = combinations(range(len(basis)), size)
        while some := list(islice(every, max(1, BLOCK // basis.shape[1]))):
            groups = basis[np.array(some)].sum(axis=1) % PRIME
            groups = groups[(groups <= 1).all(axis=1)]
            people = groups @ counts
            for group in groups[(people > 0) & (people < threshold)]:
                members = moved[np.flatnonzero(group)]
                if not any(np.isin(old, members).all() for old in found):
                    found.append(members)
    return found, complete


def given_away(atoms: Atoms, targets: Any) -> Bools:
    """Which sums of atoms (atoms × targets) follow from the cells."""
    known = sp.csc_matrix(atoms.matrix)
    return NullSpace(known, vectors=2).computable(sp.csc_matrix(targets))


def whole_columns(group: Sequence[tuple[int, int]], table: Ints) -> bool:
    """Whether a group is made of whole cells of the earlier output, which tells it alone (it left by exception)."""
    held: dict[int, int] = {}
    for row, column in group:
        held[column] = held.get(column, 0) + int(table[row, column])
    return 0 not in held and all(number == table[:, column].sum() for column, number in held.items())


def fresh_groups(atoms: Atoms, groups: list[Bools], alone: slice) -> list[Bools]:
    """Groups that do not follow from some of the cells alone: what earlier outputs tell is not the new one's doing."""
    rest = sp.csc_matrix(atoms.matrix)[:, alone]
    if not groups or not rest.nnz:
        return groups
    known = given_away(Atoms(atoms.counts, rest), sp.csc_matrix(np.array(groups, np.int64).T))
    return [group for group, before in zip(groups, known, strict=True) if not before]
