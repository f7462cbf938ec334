"""Lines of real people, whatever was renamed, moved or exchanged in them: an intruder who learns how it was done.

A line is linked to the person of whom its values are so much likelier than of anybody else that he is surely the one
(Fellegi and Sunter 1969). How likely a value is of a person who has another one is not known, so it is learnt from the
file itself, by expectation and maximisation (Winkler 1988): lines are given to the people they are likeliest of, and
from who was given to whom it is counted anew how values were changed in each column. A column that was renamed comes to
tell as much as one that was not; one that was exchanged tells nothing; numbers tell as much as they lie near.

Who learns finds something in every file. So half of the people are learnt from and the other half looked for, beside
people who are not in the data: a file that was not made of single people gives both away as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.intervals import Share
from dalenius.core.kernels import threads_for
from dalenius.core.random import some_rows
from dalenius.core.result import Interval
from dalenius.counts.pair import Pair
from dalenius.counts.renaming import Codes, by_rank, by_value, vectors_of
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.risk.distance._kernels.linked import attributed
from dalenius.risk.distance.near_copies import numbers_rows
from dalenius.risk.sampling import SEED

SURE = 0.9
"""How surely a line must be of one person, nobody being an answer too. In files of honest methods every second line is
of somebody rather than anybody else."""
GROUPS = 200
"""Groups of numbers: what lies in the same one is half a per cent of the people."""
PEOPLE, LINES = 2000, 10_000
"""People inside and lines that are looked at; of more people those with the rarest values, who are linked most easily,
and of more lines as many with rare values as at random."""
START, LEAST, MOST = 0.3, 0.02, 0.9
"""Share of the lines that are of one of the people who are learnt from: at first, and what it never goes beyond."""
ROUNDS, SETTLED = 12, 0.005
"""Rounds of learning, and by how little the share of linked lines moves when there is no more to learn."""
LIKELIEST = 8
"""People of each line who are learnt from."""
HALF, WIDTH = 0.5, 4.0
"""At first half the cells are taken to be as they were, numbers within about two per cent of the ranks."""
FEWEST_SEEN = 8.0
"""Cells that were seen to change before it counts for more than what holds for the column as a whole."""
LEFT = 0.02
"""Share of the cells that may be anybody's, so that no single one rules a person out."""
TINY = 1e-9
STEPS = np.array([1, 2, 3, 5, 8, 12, 20, 32, 50, 80, 120])
"""How far numbers were moved, in groups: to each step belongs one likelihood, and one to each way."""


@dataclass(frozen=True)
class Linked:
    """Per cent of people that a line is surely of, of people outside, and the range of what the file adds."""

    value: float
    outside: float
    added: Interval


def as_they_are(pair: Pair) -> list[Codes]:
    """Columns by their values, numbers by their place among the original's; not those that number the rows."""
    found = []
    for name in pair.columns:
        if numbers_rows(pair, name):
            continue
        if pair.original[name].is_number:
            vectors = vectors_of(pair, name)
            codes = [by_rank(vector, vectors[0], GROUPS) for vector in vectors]
            found.append(Codes(name, codes, GROUPS + 1, ordered=True))
        else:
            found.append(by_value(pair, name))
    return found


def linked(pair: Pair, columns: Sequence[Codes], learnt: BoolArray) -> Linked:
    """How many people a line is surely of, learnt from those rows of the original, told of the others.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({c: rng.integers(0, 30, 400) for c in "abcdef"} for _ in range(2))
    >>> pair = Pair(people, {**people, "a": 99 - people["a"], "b": people["b"] + 1}, others)
    >>> found = linked(pair, as_they_are(pair), np.arange(400) % 2 == 0)
    >>> found.value > 90, found.outside < 2
    (True, True)
    """
    people, lines, outsiders = (
        np.column_stack([column.files[file] for column in columns]) for file in range(3)
    )
    rows, kept, strangers = _rarest(columns, (people, lines, outsiders), *_one_each(pair))
    mine, theirs = people[rows[learnt[rows]]], people[rows[~learnt[rows]]]
    lines, others = lines[kept], outsiders[strangers]
    if not min(len(mine), len(theirs), len(others)):
        return Linked(0.0, 0.0, Interval(-100.0, 100.0))
    tables, share = _learn(columns, mine, lines)
    pool = np.concatenate([mine, theirs, others])
    who, sure = tables.given(pool, lines, min(2 * share, MOST))
    met = np.zeros(len(pool))
    met[who[sure[:, 0] > SURE, 0]] = 1.0
    inside, outside = (
        Share.of(flags, np.arange(len(flags))) for flags in np.split(met[len(mine) :], [len(theirs)])
    )
    return Linked(100 * inside.value, 100 * outside.value, inside.above(outside, scale=100))


def _one_each(pair: Pair) -> list[IntArray]:
    """A row of every person, inside and outside."""
    return [units.one_row_each(None, SEED, "linked") for units in (pair.units, pair.holdout_units)]


def _rarest(
    columns: Sequence[Codes], files: Sequence[IntArray], rows: IntArray, strangers: IntArray
) -> list[IntArray]:
    """Rows of people, lines and people outside: of many those whose values are rarest, and some other lines."""
    people, lines, outsiders = (_rareness(columns, file, codes) for file, codes in enumerate(files))
    cut = _cut(people[rows], PEOPLE)
    # who adds made-up lines with rare values does not drive all others out
    rare = lines >= _cut(lines, LINES // 2)
    kept = np.union1d(np.flatnonzero(rare)[: LINES // 2], some_rows(len(lines), LINES // 2, SEED, "lines"))
    return [rows[people[rows] >= cut][:PEOPLE], kept, strangers[outsiders[strangers] >= cut][:PEOPLE]]


def _cut(rareness: AnyArray, most: int) -> float:
    return -np.inf if len(rareness) <= most else float(np.partition(rareness, -most)[-most])


def _rareness(columns: Sequence[Codes], file: int, codes: IntArray) -> AnyArray:
    """How much the values of each row tell: of words how rare they are, of numbers how far out they lie.

    By their own file for lines, since names may be others there, and by the original for all people.
    """
    told = np.zeros(len(codes))
    for column, own in zip(columns, codes.T, strict=True):
        held = np.bincount(column.files[1 if file == 1 else 0], minlength=column.size) + 1.0
        held /= held.sum()
        if column.ordered:
            below = np.cumsum(held)
            held = 2 * np.minimum(below, 1 - below + held)
        told -= np.log(np.minimum(held[own], 1.0))
    return told


@dataclass(frozen=True, eq=False, repr=False)
class _Tables:
    """Of each column how much likelier (log) each value of a line is of each value of its person than of anybody."""

    each: Sequence[AnyArray]

    def given(self, people: IntArray, lines: IntArray, share: float) -> tuple[IntArray, AnyArray]:
        """Whom lines are likeliest of, and how surely, if so many of the lines are of one of these people."""
        sizes = np.array([len(table) for table in self.each])
        begins = np.concatenate([[0], np.cumsum(sizes**2)[:-1]])
        flat = np.concatenate([table.T.ravel() for table in self.each]).astype(np.float32)
        odds = share / (1 - share) / len(people)
        with threads_for(len(people) * lines.size):
            who, sure = attributed(
                flat, begins, sizes, np.ascontiguousarray(people.T), lines, odds, LIKELIEST
            )
        return who, sure


def _learn(columns: Sequence[Codes], people: IntArray, lines: IntArray) -> tuple[_Tables, float]:
    """How values were changed, and the share of the lines that are of one of these people."""
    usual = [(np.bincount(c.files[1], minlength=c.size) + 0.5) for c in columns]
    usual = [counts / counts.sum() for counts in usual]
    tables = _Tables([_at_first(c, shares) for c, shares in zip(columns, usual, strict=True)])
    share = START
    for _ in range(ROUNDS):
        who, sure = tables.given(people, lines, share)
        before, share = share, float(np.clip(sure.sum() / len(lines), LEAST, MOST))
        line, place = np.nonzero(sure > 1e-3)
        own, weights = people[who[line, place]], sure[line, place]
        tables = _Tables([
            _changed(c, shares, own[:, j], lines[line, j], weights)
            for j, (c, shares) in enumerate(zip(columns, usual, strict=True))
        ])  # fmt: skip
        if abs(share - before) < SETTLED:
            break
    return tables, share


def _at_first(column: Codes, usual: AnyArray) -> AnyArray:
    """As if half of the cells were as they were, or numbers near to it."""
    near = np.eye(column.size)
    if column.ordered:
        groups = np.arange(column.size - 1)
        near[:-1, :-1] = np.exp(-np.abs(groups[:, None] - groups) / WIDTH)
    return np.asarray(np.log(1 - HALF + HALF * near / (near @ usual)[:, None]))


def _changed(column: Codes, usual: AnyArray, own: IntArray, given: IntArray, weights: AnyArray) -> AnyArray:
    """How values were changed, counted over lines that were given to people."""
    ratio = (_moved if column.ordered else _renamed)(usual, own, given, weights)
    return np.asarray(np.log((1 - LEFT) * ratio + LEFT))


def _renamed(usual: AnyArray, own: IntArray, given: IntArray, weights: AnyArray) -> AnyArray:
    """Each value by each value; what was hardly seen, by how often values stay."""
    size = len(usual)
    stays = 0.9 * float(weights @ (own == given)) / max(float(weights.sum()), TINY)
    seen = np.bincount(own * size + given, weights, size**2).reshape(size, size)
    whole = (1 - stays) * usual + stays * np.eye(size)
    return np.asarray((seen + FEWEST_SEEN * whole) / (seen.sum(1, keepdims=True) + FEWEST_SEEN) / usual)


def _moved(usual: AnyArray, own: IntArray, given: IntArray, weights: AnyArray) -> AnyArray:
    """By how far and which way numbers were moved, beside how often chance puts a number there."""
    steps, kinds = _steps(len(usual)), 2 * len(STEPS) + 3
    chance = np.stack([(steps == k) @ usual for k in range(kinds)], axis=1)  # by value of the person
    chance = np.bincount(own, weights, len(usual)) @ chance + TINY
    chance /= chance.sum()
    seen = np.bincount(steps[own, given], weights, kinds)
    likelier = (seen / chance + FEWEST_SEEN) / (seen.sum() + FEWEST_SEEN)
    ratio = likelier[steps]
    return np.asarray(ratio / (ratio @ usual)[:, None])


def _steps(size: int) -> IntArray:
    """How far a number was moved, by the groups before and after; what is no number, in one file or both, apart."""
    groups = np.arange(size)
    far = groups - groups[:, None]
    steps = np.sign(far) * np.searchsorted(STEPS, np.abs(far), side="right") + len(STEPS)
    steps[-1, :] = steps[:, -1] = 2 * len(STEPS) + 1
    steps[-1, -1] += 1
    return np.asarray(steps)
