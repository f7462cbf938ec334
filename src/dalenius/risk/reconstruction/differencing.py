"""Differencing: small groups that follow from everything that is out, though no table prints them.

One random vector that no published cell sees decides for all groups that are looked at whether they follow, and each
that does comes with a recipe a checker can follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.published import Margin, Published
from dalenius.published.arrays import Bools, Ints
from dalenius.published.recipes import Recipe
from dalenius.risk.reconstruction.groups import (
    Cells,
    Groups,
    covered,
    finer_than_printed,
    left_of,
    pairs_of,
    unmarked,
)
from dalenius.risk.reconstruction.known import Known
from dalenius.risk.reconstruction.wording import Wording

MOST_CELLS = 20_000


@dataclass(frozen=True, eq=False)
class Small:
    """A group below the threshold: who it is, its bounds, and the recipe where its count follows by adding.

    ``cells`` are margin and place of the published cells it follows from, ``members`` the possible cells it is made of,
    and ``withheld`` the table and number of a cell that is the group and does not say its count. ``finer`` are cells
    that hold the people of a printed sum because the rest of it is empty, with all their possible cells.
    """

    group: str
    low: int
    high: int
    recipe: Recipe | None
    cells: tuple[tuple[int, int], ...] = ()
    members: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    withheld: tuple[Margin, int] | None = None
    finer: tuple[Ints, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """What follows by differencing; confidential, as it says how to get at people.

    Attributes
    ----------
    follows
        Small groups whose count follows exactly, the ones with the shortest recipe first. A cell that one table
        withholds and another one prints is among them; where bounds alone leave no choice there is no recipe.
    bounded
        Small groups whose count lies certainly between 1 and the threshold, without following exactly.
    whole
        Whether all cells of published and implied tables were looked at; otherwise more may follow.
    alive
        Codes of the cells where somebody may be.
    alone
        How many people are certainly the only one of a group, printed or not, at each date that was looked at: nobody
        shares their combination of values.
    """

    threshold: int
    follows: tuple[Small, ...]
    bounded: tuple[Small, ...]
    looked_at: int = 0
    whole: bool = True
    alive: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    alone: tuple[int, ...] = ()

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
    found = [_dated(published, date, threshold, most) for date in dates]
    return Differences(
        threshold, tuple(s for d in found for s in d.follows), tuple(s for d in found for s in d.bounded),
        sum(d.looked_at for d in found), all(d.whole for d in found), np.concatenate([d.alive for d in found]),
        tuple(n for d in found for n in d.alone),
    )  # fmt: skip


def _dated(published: Published, date: str, threshold: int, most: int) -> Differences:
    """What follows from the tables of one date; cells keep the number of their table among all."""
    numbers = [i for i, margin in enumerate(published.margins) if margin.date == date]
    part = replace(published, margins=tuple(published.margins[i] for i in numbers))
    found = _together(part, threshold, most)
    follows, bounded = (
        tuple(replace(small, cells=tuple((numbers[m], place) for m, place in small.cells)) for small in kind)
        for kind in (found.follows, found.bounded)
    )
    return replace(found, follows=follows, bounded=bounded)


def _together(published: Published, threshold: int, most: int) -> Differences:
    known = Known.of(published, most)
    cells = Cells.of(published, known.system.cells, known.atom_of)
    groups = _groups(known, cells, threshold)
    words = Wording(published, known.alive, cells.withheld)
    added = known.computable(groups.rows)
    proved = added | known.proved(groups.rows)
    maybe = known.may_be_small(groups.rows, threshold)
    printed = known.printed(groups.rows)
    finer = _finer(known, published, groups, maybe & printed & (groups.withheld < 0) & groups.proper)
    wanted = maybe & (~printed | (groups.withheld >= 0))
    wanted[list(finer)] = True
    asked = np.flatnonzero(wanted & ~proved & groups.proper)
    bounds, tried = known.ends_of(
        groups.rows, asked[np.argsort(groups.withheld[asked] < 0, kind="stable")], threshold
    )
    follows: list[Small] = []
    bounded: list[Small] = []
    own = np.union1d(_of_their_own(known, groups, maybe & proved), np.array(list(finer), np.int64))
    for t in own[wanted[own]].tolist():
        small = replace(_told(known, words, groups, t, bool(added[t])), finer=tuple(finer.get(t, ())))
        follows += [small] if 0 < small.low < threshold else []
    for t, (low, high) in bounds.items():
        small = replace(_told(known, words, groups, t, False), low=low, high=high)
        (follows if low == high else bounded).append(small)
    follows.sort(key=lambda s: (len(s.cells), s.group))
    return Differences(
        threshold, tuple(follows), tuple(bounded), groups.rows.shape[0], cells.whole and tried, known.alive,
        (_alone(known, groups, proved),),
    )  # fmt: skip


def _groups(known: Known, cells: Cells, threshold: int) -> Groups:
    """The groups that are looked at."""
    atoms = known.matrix.shape[1]
    tables = [(rows, known.computable(rows)) for rows, _, _ in cells.families]
    lines = Groups.of([(r[np.flatnonzero(c)], *unmarked(int(c.sum()))) for r, c in tables], atoms).rows
    single = sp.identity(atoms, dtype=np.int64, format="csr")
    other = [(single, *unmarked(atoms)), *pairs_of(known.exact_rows)]
    other += left_of(lines, tables, lambda rows: known.may_be_small(rows, threshold))
    return Groups.of([*cells.families, *other], atoms)


def _finer(known: Known, published: Published, groups: Groups, asked: Bools) -> dict[int, list[Ints]]:
    """By group, cells that hold the people of a printed sum because the rest of it is certainly empty."""
    places = np.flatnonzero(asked)
    found = finer_than_printed(
        published, known.system.cells, known.atom_of, groups.rows[places], known.system.rows[known.exact]
    )
    return {int(places[k]): cells for k, cells in found.items()}


def _told(known: Known, words: Wording, groups: Groups, number: int, added: bool) -> Small:
    """A group and its count; with a recipe where adding and subtracting is enough."""
    group, cell = groups.rows[number], int(groups.withheld[number])
    inside = known.members(group.indices)
    name = words.named(inside, cell)
    if added:
        recipe, value, cells = known.recipe(group, name)
    else:
        recipe, value, cells = None, known.counted(group), known.touching(group.indices)
    own = words.listed[cell] if cell >= 0 else None
    return Small(name, value, value, recipe, cells, known.alive[inside], own)


def _of_their_own(known: Known, groups: Groups, small: Bools) -> Ints:
    """Small groups that say something of their own.

    A cell that no table withholds says nothing where everybody in it stands in a smaller printed cell; a group that is
    no cell of a table says nothing where smaller groups that follow, or are printed, make it up.
    """
    every = np.flatnonzero(small)
    rows = sp.csr_matrix(groups.rows[every])
    told = covered(rows, known.exact_rows) & (groups.withheld[every] < 0)
    made = covered(rows, sp.vstack([known.exact_rows, rows])) & ~groups.proper[every]
    return every[~told & ~made]


def _alone(known: Known, groups: Groups, proved: Bools) -> int:
    """How many people are certainly alone, counted by groups of one person that have nobody in common."""
    if known.solution is None:
        return 0
    ones = sp.csr_matrix(
        groups.rows[np.flatnonzero(proved & (np.asarray(groups.rows @ known.solution) == 1))]
    )
    taken, people = np.zeros(ones.shape[1], np.bool_), 0
    for k in np.argsort(np.diff(ones.indptr), kind="stable").tolist():
        atoms = ones.indices[ones.indptr[k] : ones.indptr[k + 1]]
        if not taken[atoms].any():
            taken[atoms] = True
            people += 1
    return people


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
