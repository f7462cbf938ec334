"""`hma`: one Gaussian copula for the children of each parent, its parameters as further columns of the parent.

The way of SDV's HMASynthesizer (strategy B), with the parameters of all groups from one pass over the rows instead of
one model a parent. What it cannot know is the same: with one child a parent there is no dependence within children, and
missing cells fall anywhere. It is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from dalenius.core.random import Seed, generator, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.exit import guard
from dalenius.data.relations import OWNER, Database, Link
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.relational.beside import loose
from dalenius.synth.relational.method import DatabaseModel, Parts, RelationalMethod, register_relational
from dalenius.synth.relational.scores import Bent, Score, Sizes, normal_scores

CHUNK = 20_000
"""Children whose groups' matrices are held at once."""


@dataclass(frozen=True, eq=False)
class Group:
    """A child table: its columns, where its parameters stand among the parent's, numbers of rows."""

    link: Link
    scores: tuple[Score, ...]
    place: int
    sizes: Sizes

    @property
    def width(self) -> int:
        """Parameters of a group: number of rows, means, spreads, correlations."""
        p = len(self.scores)
        return 1 + 2 * p + p * (p - 1) // 2


@dataclass(frozen=True, eq=False)
class Extended:
    """A topmost table with the parameters of its children, as one copula."""

    name: str
    scores: tuple[Score, ...]
    bent: tuple[Bent, ...]
    root: AnyArray
    groups: tuple[Group, ...]
    rows: int


class HmaModel(DatabaseModel):
    """Copulas of the topmost tables with the parameters of their children."""

    def __init__(self, base: Database, tops: Sequence[Extended], notes: tuple[str, ...]) -> None:
        super().__init__(base, notes)
        self.tops = tops

    def draw(self, seed: Seed) -> Parts:
        """Parents with parameters, then children by them, level by level."""
        tables: dict[str, Table] = {}
        places: dict[Link, IntArray] = {}
        for top in self.tops:
            rng = generator(seed, top.name)
            shares = ndtr(rng.standard_normal((top.rows, len(top.root))) @ top.root.T)
            own = len(top.scores)
            vectors = [s.vector(s.at(shares[:, i]), rng) for i, s in enumerate(top.scores)]
            tables[top.name] = loose(vectors, top.rows)
            facts = np.column_stack(
                [b.at(shares[:, own + i]) for i, b in enumerate(top.bent)] or [np.zeros((top.rows, 0))]
            )
            for group in top.groups:
                mine = facts[:, group.place : group.place + group.width].copy()
                mine[:, 0] = group.sizes.at(shares[:, own + group.place])
                made, owners = drawn_children(group, mine, sequence(seed, group.link.child))
                tables[group.link.child], places[group.link] = made, owners
        for (
            link
        ) in self.links:  # further parents are dealt out at random: the copula of one parent knows no other
            if link not in places and link.child in tables:
                rows, above = tables[link.child].rows, tables[link.parent].rows
                there = generator(seed, str(link)).integers(0, max(above, 1), rows)
                places[link] = there if above else np.full(rows, -1)
        return Parts(tables, places)


def drawn_children(group: Group, facts: AnyArray, seed: Seed) -> tuple[Table, IntArray]:
    """Rows of children by the parameters of each parent, and whose they are."""
    rng = generator(seed, "children")
    numbers = _settled(facts[:, 0], group)
    owners = np.repeat(np.arange(len(facts)), numbers)
    p = len(group.scores)
    values = np.empty((len(owners), p))
    for start in range(0, len(owners), CHUNK):
        mine = owners[start : start + CHUNK]
        noise = rng.standard_normal((len(mine), p))
        if p > 1:
            groups, inverse = np.unique(mine, return_inverse=True)
            roots = _roots(facts[groups, 1 + 2 * p :], p)
            noise = np.einsum("nij,nj->ni", roots[inverse], noise)
        values[start : start + CHUNK] = facts[mine, 1 : 1 + p] + facts[mine, 1 + p : 1 + 2 * p] * noise
    return loose([s.vector(values[:, i], rng) for i, s in enumerate(group.scores)], len(owners)), owners


def _settled(wanted: AnyArray, group: Group) -> IntArray:
    """Numbers of children whose total is the original's share: the smallest get one more, the largest one less."""
    fewest, most = (int(group.sizes.values[i]) for i in (0, -1)) if len(group.sizes.values) else (0, 0)
    numbers = np.clip(np.round(wanted), fewest, most).astype(np.int64)
    apart = round(group.sizes.mean * len(numbers)) - int(numbers.sum())
    while apart:
        room = numbers < most if apart > 0 else numbers > fewest
        order = np.argsort(numbers if apart > 0 else -numbers, kind="stable")
        some = order[room[order]][: abs(apart)]
        if not len(some):
            break
        numbers[some] += 1 if apart > 0 else -1
        apart += -len(some) if apart > 0 else len(some)
    return numbers


def _roots(flat: AnyArray, p: int) -> AnyArray:
    """Square roots of the correlation matrices of groups, made possible where what was drawn is not."""
    matrix = np.broadcast_to(np.eye(p), (len(flat), p, p)).copy()
    above = np.triu_indices(p, 1)
    matrix[:, above[0], above[1]] = matrix[:, above[1], above[0]] = np.clip(flat, -1, 1)
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 1e-9))[:, None, :]
    return root / np.sqrt(np.maximum((root**2).sum(axis=2), 1e-12))[:, :, None]


def group_parameters(values: AnyArray, places: IntArray, parents: int) -> AnyArray:
    """Number, means, spreads and correlations of the children of every parent, in one pass; NaN where undefined.

    Examples
    --------
    >>> group_parameters(np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 5.0]]), np.array([0, 0, 1]), 2)[0].tolist()
    [2.0, 2.0, 4.0, 1.0, 2.0, 1.0]
    """
    known = places >= 0
    own, where = values[known], places[known]
    number = np.bincount(where, minlength=parents).astype(np.float64)
    p = values.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.column_stack([np.bincount(where, own[:, j], minlength=parents) / number for j in range(p)])
        apart = own - means[where]
        spreads = np.sqrt(
            np.column_stack(
                [np.bincount(where, apart[:, j] ** 2, minlength=parents) / number for j in range(p)]
            )
        )
        spreads[number < 2] = np.nan
        pairs = [(i, j) for i in range(p) for j in range(i + 1, p)]
        together = [
            np.bincount(where, apart[:, i] * apart[:, j], minlength=parents)
            / number
            / spreads[:, i]
            / spreads[:, j]
            for i, j in pairs
        ]
    return np.column_stack([number, means, spreads, *together])


@register_relational
@dataclass(frozen=True)
class Hma(RelationalMethod):
    """Gaussian copulas of children, their parameters beside the parent's columns.

    Examples
    --------
    >>> homes = {"id": list(range(60)), "area": ["n", "s", "s"] * 20}
    >>> people = {"home_id": [i // 2 for i in range(120)], "age": [40.5, 9.5, 70.5, 30.5] * 30}
    >>> made = Hma().make(Database.of({"homes": homes, "people": people}), seed=1).database
    >>> made["people"].rows
    120
    """

    info = MethodInfo(
        name="hma",
        title="Copulas of children beside their parent (HMA)",
        meaning="For each parent a Gaussian copula of its children, whose parameters are modelled with the parent's "
        "columns in one more copula: SDV's way, for comparison.",
        guarantee="none; keys are new",
        plain="The program describes every family by averages and makes up families with similar averages.",
        reference="Patki, Wedge, Veeramachaneni 2016 (SDV); Slokom et al. 2024 (strategy B)",
    )

    def faults_for(self, base: Database) -> list[str]:
        """Two levels, as the parameters of grandchildren would be parameters of parameters."""
        deep = [
            n
            for n in base.tables
            if (link := base.main(n)) is not None and base.main(link.parent) is not None
        ]
        wrong = [
            f"table {name!r} is below a child; hma takes parents and children, use conditional"
            for name in deep
        ]
        return wrong + [
            f"link {link} is of a table to itself; use conditional" for link in base.links if link.own
        ]

    def _fit(self, base: Database, seed: Seed) -> HmaModel:
        notes: list[str] = []
        tops = []
        for name in base.sequence:
            if base.main(name) is not None:
                continue
            mine = sequence(seed, name)
            held = guard(base.owned(name), seed=mine)
            notes += [f"{name}: {note}" for note in held.notes]
            tops.append(_extended(base, name, held.table, notes, mine))
        single = [
            str(link)
            for link in base.links
            if base.cardinality(link) != "1-n" and base.main(link.child) == link
        ]
        notes += [
            f"{link}: with one child for each parent hma knows nothing of what goes together within a child; use join"
            for link in single
        ]
        return HmaModel(base, tops, tuple(notes))


def _scored(table: Table, seed: Seed) -> tuple[tuple[Score, ...], AnyArray]:
    """Scores of the columns that a copula can hold (no free text), and the rows as numbers."""
    names = [n for n in table.names if n != OWNER and table[n].column.kind is not Kind.TEXT]
    scores = tuple(Score.of(table[n]) for n in names)
    values = [s.numbers(table[n], generator(seed, n)) for s, n in zip(scores, names, strict=True)]
    return scores, np.column_stack(values) if values else np.zeros((table.rows, 0))


def _extended(base: Database, name: str, table: Table, notes: list[str], seed: Seed) -> Extended:
    scores, values = _scored(table, seed)
    blocks, groups, place = [values], [], 0
    for link in base.children(name):
        held = guard(base.owned(link.child), seed=sequence(seed, link.child))
        notes += [f"{link.child}: {note}" for note in held.notes]
        own, numbers = _scored(held.table, sequence(seed, link.child))
        facts = group_parameters(numbers, base.places(link), table.rows)
        sizes = Sizes.of(base.sizes(link), table.schema.min_units)  # nobody's family alone is the largest
        groups.append(Group(link, own, place, sizes))
        place += facts.shape[1]
        blocks.append(facts)
    wide = np.hstack(blocks)
    facts = wide[:, values.shape[1] :]
    bent = tuple(Bent.of(facts[:, i]) for i in range(facts.shape[1]))
    filled = np.where(np.isfinite(wide), wide, np.array([0.0] * values.shape[1] + [b.mean for b in bent]))
    return Extended(name, scores, bent, _joint_root(filled), tuple(groups), table.rows)


def _joint_root(values: AnyArray) -> AnyArray:
    """Square root of the correlations of normal scores; a constant column goes with nothing."""
    p = values.shape[1]
    if not p or len(values) < 2:
        return np.eye(p)
    scores = np.column_stack([normal_scores(values[:, j]) for j in range(p)])
    spread = scores.std(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.nan_to_num(np.corrcoef(scores, rowvar=False)) if p > 1 else np.eye(1)
    matrix = np.atleast_2d(matrix)
    matrix[spread <= 0, :] = matrix[:, spread <= 0] = 0.0
    np.fill_diagonal(matrix, 1.0)
    roots = _roots(matrix[np.triu_indices(p, 1)][None, :], p)
    return np.asarray(roots[0])
