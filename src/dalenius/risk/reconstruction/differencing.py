"""Differencing: small groups that follow from everything that is out, though no table prints them.

The groups looked at are the atoms (people whom no published cell tells apart) and the differences and common parts of
any two published cells. One random vector that no published cell sees decides for all of them whether they follow, and
each that does comes with a recipe a checker can follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.published import Margin, Published
from dalenius.published.arrays import Ints
from dalenius.published.ends import Ends
from dalenius.published.margin import NO_LIMIT
from dalenius.published.nullspace import NullSpace
from dalenius.published.recipes import Recipe, fewest_cells
from dalenius.published.system import System

MOST_CELLS = 20_000
MOST_PAIRS = 400
"""Published cells up to which any two are compared; beyond it only atoms are looked at."""


@dataclass(frozen=True, eq=False)
class Small:
    """A group below the threshold: its atoms in words, its bounds, and the recipe where the count follows by adding."""

    group: str
    low: int
    high: int
    recipe: Recipe | None
    cells: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """What follows by differencing; confidential, as it says how to get at people.

    Attributes
    ----------
    follows
        Small groups whose count follows exactly, the ones with the shortest recipe first.
    bounded
        Small groups whose count lies certainly between 1 and the threshold, without following exactly.
    """

    threshold: int
    follows: tuple[Small, ...]
    bounded: tuple[Small, ...]
    looked_at: int = 0
    releases: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        return (
            f"Differences({len(self.follows)} small groups follow, {len(self.bounded)} more are bounded, of "
            f"{self.looked_at:,} groups looked at)"
        )

    def frame(self) -> pl.DataFrame:
        """The groups as a table, with their recipes."""
        lines = [
            (small.group, small.low, small.high, "" if small.recipe is None else str(small.recipe))
            for small in (*self.follows, *self.bounded)
        ]
        names = {"group": pl.String, "low": pl.Int64, "high": pl.Int64, "recipe": pl.String}
        return pl.DataFrame(lines, schema=names, orient="row")


def differencing(
    published: Published, *, threshold: int = 10, same_people: bool = False, most: int = MOST_CELLS
) -> Differences:
    """Small groups that follow from all published tables together.

    Parameters
    ----------
    threshold
        Groups of 1 to fewer than this many people are small.
    same_people
        Whether tables of different dates speak of the same people. Otherwise each date is looked at alone.

    Examples
    --------
    >>> everybody, young = {"age": ["Total"], "n": [100]}, {"age": ["0-79"], "n": [97]}
    >>> domains = {"age": ["0-79", "80+"]}
    >>> out = Published.from_tables({"everybody": everybody, "young": young}, domains=domains)
    >>> print(differencing(out).follows[0].recipe)
    age = 80+ = + everybody [total] − young [age = 0-79] = 3
    """
    if threshold < 1:
        raise OptionError("threshold must be at least 1")
    dates = sorted({margin.date for margin in published.margins})
    if same_people or len(dates) < 2:
        return _together(published, threshold, most)
    found = [
        _together(
            replace(published, margins=tuple(m for m in published.margins if m.date == date)), threshold, most
        )
        for date in dates
    ]
    return Differences(
        threshold, tuple(s for d in found for s in d.follows), tuple(s for d in found for s in d.bounded),
        sum(d.looked_at for d in found),
    )  # fmt: skip


def _together(published: Published, threshold: int, most: int) -> Differences:
    system = System.of(published, most)
    system.bounds()
    rows = sp.csr_matrix(system.rows)
    exact = np.flatnonzero(system.low == system.high)
    atoms, atom_of = _atoms(rows)
    matrix = sp.csr_matrix(_by_atom(rows, atom_of, len(atoms)))
    known = matrix[exact]
    targets = _targets(known, len(atoms))
    printed = {tuple(known[k].indices.tolist()) for k in range(known.shape[0])}
    space = NullSpace(sp.csc_matrix(known.T), vectors=2)
    computable = space.computable(sp.csc_matrix(targets.T)) if targets.shape[0] else np.zeros(0, np.bool_)
    low, high, solution = _bounds(system, atoms, matrix)
    # What can be computed is the same in every table that fits, so that one of them tells its count.
    counts = None if solution is None else np.asarray(targets @ solution)
    follows, bounded = [], []
    for t in range(targets.shape[0]):
        parts = targets[t].indices
        if computable[t]:
            if counts is not None and not 0 < counts[t] < threshold:
                continue
            if tuple(np.sort(parts).tolist()) not in printed:
                name = _named(system, atom_of, parts)
                count = None if counts is None else int(counts[t])
                small = _followed(system, known, exact, targets[t], name, threshold, count)
                follows += [small] if small is not None else []
        elif len(parts) == 1 and low[parts[0]] > 0 and high[parts[0]] < threshold:
            name = _named(system, atom_of, parts)
            bounded.append(Small(name, int(low[parts[0]]), int(high[parts[0]]), None))
    follows.sort(key=lambda s: (len(s.cells), s.group))
    return Differences(threshold, tuple(follows), tuple(bounded), targets.shape[0])


def _atoms(rows: Any) -> tuple[Ints, Ints]:
    """Cells that lie in the same published sums are one atom: the first cell of each, and every cell's atom."""
    columns = sp.csc_matrix(rows)
    keys = [columns.indices[a:b].tobytes() for a, b in zip(columns.indptr, columns.indptr[1:], strict=False)]
    place: dict[bytes, int] = {}
    atom_of = np.array([place.setdefault(key, len(place)) for key in keys], np.int64)
    first = np.unique(atom_of, return_index=True)[1] if len(atom_of) else np.zeros(0, np.int64)
    return first.astype(np.int64), atom_of


def _by_atom(rows: Any, atom_of: Ints, atoms: int) -> Any:
    first = np.zeros(len(atom_of), np.bool_)
    first[np.unique(atom_of, return_index=True)[1]] = True
    chosen = np.flatnonzero(first)
    order = np.argsort(atom_of[chosen])
    return sp.csc_matrix(rows)[:, chosen[order]]


def _targets(known: Any, atoms: int) -> Any:
    """The groups looked at, as sets of atoms: each atom, and differences and common parts of two published cells."""
    found = {(i,) for i in range(atoms)}
    if known.shape[0] <= MOST_PAIRS:
        members = [frozenset(known[k].indices.tolist()) for k in range(known.shape[0])]
        for i, first in enumerate(members):
            for second in members[:i]:
                if first & second:
                    for group in (first - second, second - first, first & second):
                        if group:
                            found.add(tuple(sorted(group)))
    groups = sorted(found, key=lambda g: (len(g), g))
    rows = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    columns = np.array([c for g in groups for c in g], np.int64)
    return sp.csr_matrix((np.ones(len(columns), np.int64), (rows, columns)), shape=(len(groups), atoms))


def _bounds(system: System, atoms: Ints, matrix: Any) -> tuple[Ints, Ints, Ints | None]:
    """Bounds of the atoms by everything that is published, ranges and non-negativity included; one table that fits."""
    merged = replace(system, cells=system.cells[atoms], rows=matrix)
    low, high = merged.bounds()
    ends = Ends.of(merged, low, high, 2000, 1, walk=False)
    try:
        ends.search(True)
    finally:
        ends.whole.close()
    return ends.low, ends.high, ends.solution


def _followed(
    system: System, known: Any, exact: Ints, target: Any, name: str, threshold: int, count: int | None
) -> Small | None:
    wanted = np.asarray(target.toarray(), np.int64).ravel()
    times = fewest_cells(known, wanted)
    if times is None:  # it takes fractions, or many cells: the count follows, but there is no short recipe
        dense = known.toarray().T.astype(np.float64)
        shares = np.linalg.lstsq(dense, wanted.astype(np.float64), rcond=None)[0]
        value = round(float(shares @ system.low[exact])) if count is None else count
        used = tuple((int(a), int(b)) for a, b in system.origin[exact[np.abs(shares) > 1e-9]])
        return Small(name, value, value, None, used) if 0 < value < threshold else None
    value = int(times @ system.low[exact])
    if not 0 < value < threshold:
        return None
    add = tuple(system.named(int(r)) for r in np.repeat(exact, np.maximum(times, 0)))
    subtract = tuple(system.named(int(r)) for r in np.repeat(exact, np.maximum(-times, 0)))
    used = tuple((int(a), int(b)) for a, b in system.origin[exact[times != 0]])
    counts = {system.named(int(r)): int(system.low[r]) for r in exact[times != 0]}
    return Small(name, value, value, Recipe(name, add, subtract, value, counts), used)


def _named(system: System, atom_of: Ints, parts: Any) -> str:
    """A group in words: for each column the values its people have, where they do not have all."""
    members = system.cells[np.isin(atom_of, parts)]
    said = []
    for j, (name, values) in enumerate(system.published.domains.items()):
        there = np.unique(members[:, j])
        if len(there) < len(values):
            shown = [values[c] for c in there[:4].tolist()]
            said.append(f"{name} = {' or '.join(shown)}{' or …' if len(there) > 4 else ''}")
    return ", ".join(said) or "everybody"


def holds_for(
    earlier: Published, planned: Published, *, threshold: int = 10, same_people: bool = True
) -> list[str]:
    """Cells of a planned release to hold back, so that no small group follows from it and what is out already.

    Only groups that do not follow from the earlier tables alone count. Empty where the planned tables may go out.

    Examples
    --------
    >>> domains = {"age": ["0-79", "80+"]}
    >>> out = Published.from_tables({"everybody": {"age": ["Total"], "n": [100]}}, domains=domains)
    >>> new = Published.from_tables({"young": {"age": ["0-79"], "n": [97]}}, domains=domains)
    >>> holds_for(out, new)
    ['young [age = 0-79]']
    """
    known = {s.group for s in differencing(earlier, threshold=threshold, same_people=same_people).follows}
    held: list[str] = []
    rest = planned
    for _ in range(sum(len(m.keys) for m in planned.margins)):
        both = earlier | rest
        found = differencing(both, threshold=threshold, same_people=same_people).follows
        new = [s for s in found if s.group not in known]
        if not new:
            return held
        own = len(earlier.margins)
        votes: dict[tuple[int, int], int] = {}
        for small in new:
            for margin, place in small.cells:
                if margin >= own:
                    votes[margin - own, place] = votes.get((margin - own, place), 0) + 1
        if not votes:
            return held
        number, place = max(sorted(votes), key=votes.__getitem__)
        held.append(rest.margins[number].named(place))
        rest = replace(
            rest, margins=tuple(_held(m, place) if i == number else m for i, m in enumerate(rest.margins))
        )
    return held


def _held(margin: Margin, place: int) -> Margin:
    low, high, value = margin.low.copy(), margin.high.copy(), margin.value.copy()
    low[place], high[place], value[place] = 0, NO_LIMIT, np.nan
    return replace(margin, low=low, high=high, value=value)


def averaged_noise(published: Published) -> pl.DataFrame:
    """Cells whose noise was drawn anew in several releases: averaging them takes the noise away.

    Examples
    --------
    >>> one, two = ({"sex": ["f"], "n": [n]} for n in (3.0, 5.0))
    >>> out = Published.from_tables({"first": one, "second": two}, kind="noisy", scale=2.0)
    >>> averaged_noise(out).row(0)
    ('sex = f', 2, 4.0, 1.4142135623730951)
    """
    drawn: dict[str, list[tuple[float, float]]] = {}
    for margin in published.margins:
        for k in np.flatnonzero(margin.scale > 0):
            label = margin.named(int(k)).split(" [", 1)[1].removesuffix("]")
            drawn.setdefault(label, []).append((float(margin.value[k]), float(margin.scale[k])))
    lines = [
        (label, len(v), float(np.mean([x for x, _ in v])), float(np.sqrt(sum(s**2 for _, s in v)) / len(v)))
        for label, v in drawn.items()
        if len(v) > 1
    ]
    names = {"cell": pl.String, "releases": pl.Int64, "mean": pl.Float64, "scale left": pl.Float64}
    return pl.DataFrame(lines, schema=names, orient="row")
