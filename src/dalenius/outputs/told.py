"""What an output tells beyond who is in its cells, as keyed hashes that the memory keeps beside it.

Quantiles as equations (`gaps`), what columns are made of (`made`), columns of models, a sample of values by which they
are known again under other names of units, and whether figures were rounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.outputs.gaps import Gap, gaps_of, solved
from dalenius.outputs.hashing import part_of, siphash
from dalenius.outputs.made import MOST_COLUMNS, Made, made_of
from dalenius.outputs.partition import Partition
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Bools, Codes, Floats, Ints, Query

if TYPE_CHECKING:
    from dalenius.outputs.memory import Earlier, Memory
    from dalenius.outputs.output import Output

MOST_MISSING = 500
"""People without a value who are kept: it is the few who matter."""
SAMPLE = 64
"""Values that are kept to know them again: those with the smallest hashes."""
STRETCH, FINE, DIFFERENT = 40, 2.0**20, 0.5
"""Stretches there are, how finely two are compared, and the share of them that must be different."""
SAME_VALUES = 0.5
"""Share of such values in common from which two columns are of the same people."""


@dataclass(frozen=True)
class Told:
    """What one output tells.

    Attributes
    ----------
    gaps
        Quantiles as equations, each with its cell.
    made
        What its columns are made of.
    columns
        Hashes of the regressors of a model.
    sample
        Smallest hashes of its values; empty where many share values.
    spacing
        The same of how values are spaced, whatever they are multiplied with or moved by.
    pairs
        Hashes of columns of which each pair has a figure (covariances, correlations).
    rounded
        Whether its counts were rounded.
    missing
        Column → numbers of the people who are left out because they have no value of it; not if they are many.
    """

    gaps: tuple[tuple[int, Gap], ...] = ()
    made: Made = field(default_factory=Made)
    columns: tuple[str, ...] = ()
    sample: tuple[int, ...] = ()
    rounded: bool = False
    missing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    spacing: tuple[int, ...] = ()
    pairs: tuple[str, ...] = ()

    def text(self) -> str:
        """As text for the memory.

        Examples
        --------
        >>> told = Told(((0, ("a", "", 0.0)),), Made(but=frozenset({"pay"})), rounded=True)
        >>> Told.read(told.text()) == told
        True
        """
        made = [sorted(x) for x in (self.made.of, self.made.but, self.made.ends, self.made.own)]
        rest = [list(self.columns), list(self.sample), self.rounded, dict(self.missing), list(self.spacing)]
        rest.append(list(self.pairs))
        return json.dumps([list(self.gaps), made, *rest])

    @classmethod
    def read(cls, text: str | None) -> Told:
        """Read back what `text` wrote; nothing of a memory of an earlier version."""
        if not text:
            return cls()
        gaps, made, columns, sample, rounded, *later = json.loads(text)
        missing = {str(name): tuple(who) for name, who in (later[0] if later else {}).items()}
        spacing, pairs = (tuple(later[i]) if len(later) > i else () for i in (1, 2))
        held = tuple((int(cell), (str(low), str(high), float(part))) for cell, (low, high, part) in gaps)
        made_of = Made(*map(frozenset, made))
        return cls(held, made_of, tuple(columns), tuple(sample), bool(rounded), missing, spacing, pairs)


def told_of(memory: Memory, out: Output, hidden: Bools, numbers: Ints, policy: Policy) -> Told:
    """What an output tells, by its question."""
    query, words = out.merged or out.query, memory.words
    missing = missing_of(query, numbers) if len(numbers) == query.rows else {}
    if out.rounded or query.value is None:
        return Told(rounded=out.rounded, missing=missing)
    columns = query.facts.get("columns")
    made = _made(out, numbers, columns, policy.threshold)
    filled = () if columns is None else np.nan_to_num(columns).T
    hashes = tuple(_column(column, numbers, words) for column in filled)
    pairs = () if "outcome" in query.facts else hashes  # a model tells about its outcome only
    gaps = gaps_of(query, hidden, numbers, words, policy.threshold)
    value = query.value if columns is None else columns[:, 0]
    # Of people who are not known by their own names a person decides anyway.
    lost = any(f.check == "unit" and f.verdict != "pass" for f in out.judged.findings)
    sample = () if lost else _sample(value, memory.key)
    spacing = () if lost else _spacing(value, memory.key)
    return Told(tuple(gaps), made, hashes[1:], sample, missing=missing, spacing=spacing, pairs=pairs)


def missing_of(query: Query, numbers: Ints) -> dict[str, tuple[int, ...]]:
    """People who have no value of a column that a table is crossed by, or is of, by column.

    Examples
    --------
    >>> from dalenius.outputs.query import Dimension
    >>> missing_of(Query("count", (Dimension("edu", np.array([0, -1]), ("a",)),), 2), np.array([7, 8]))
    {'edu': (8,)}
    """
    columns = [(d.name, d.codes < 0) for d in query.dimensions if len(d.codes) and int(d.codes.min()) < 0]
    if query.value is not None and query.variable is not None and "columns" not in query.facts:
        columns.append((query.variable, np.isnan(query.value)))
    found = {name: np.unique(numbers[gone]) for name, gone in columns if gone.any()}
    return {name: tuple(who.tolist()) for name, who in found.items() if len(who) <= MOST_MISSING}


def _made(out: Output, numbers: Ints, columns: Floats | None, few: int) -> Made:
    """What the columns of an output are made of, by the data that are at hand."""
    query, found = out.query, Made()
    assert query.value is not None
    values = [query.value] if columns is None else list(columns.T)
    people, owner = np.unique(numbers, return_inverse=True)
    if query.cells == 1 and columns is None and len(people) < len(numbers):  # or sums of people's rows
        sums = np.asarray(np.bincount(owner.ravel(), np.nan_to_num(query.value)), np.float64)
        found |= _by_base(out, people, [sums], np.zeros(len(people), np.int64), few)
    few = -(-few * len(numbers) // max(len(np.unique(numbers)), 1))  # rows of so many people
    return found | _by_base(out, numbers, values, query.cell, few)


def _by_base(out: Output, numbers: Ints, values: Sequence[Floats], cell: Codes, few: int) -> Made:
    """What columns are made of, by all data that came."""
    found = Made()
    for base in out.desk.base:  # a column that came later may be made of one that came before
        rows = base.places(out.desk.memory, numbers)
        known = np.flatnonzero(rows >= 0)
        if 2 * len(known) < len(rows) and len(known) < 4 * few:
            continue
        held = {name: np.asarray(c)[rows[known]] for name, c in list(base.columns.items())[:MOST_COLUMNS]}
        for value in values:
            found |= _known(out.query.variable, value[known], held, few, cell[known])
    return found


def _known(name: str | None, value: Floats, held: dict[str, Any], few: int, cell: Codes) -> Made:
    """What one column is made of; itself, where it came with the data."""
    if name in held and np.array_equal(value, np.asarray(held[name], np.float64), equal_nan=True):
        return Made(frozenset({str(name)}))
    return made_of(value, held, few, cell.astype(np.int64))


def _column(column: Floats, numbers: Ints, words: Any) -> str:
    """A regressor as one number: a sum of its values weighted by hashes of the units."""
    weights = words[numbers].astype(np.float64) / 2.0**64
    return f"{float((column * weights).sum()):.9g}"


def _sample(values: Floats, key: bytes) -> tuple[int, ...]:
    """The smallest hashes of values; none where fewer than half of them are different."""
    there = values[~np.isnan(values)]
    hashes = np.unique(siphash(np.asarray(there, np.float64) + 0.0, part_of(key, "values known again")))
    if len(hashes) < max(SAMPLE, len(there) // 2):
        return ()
    return tuple(int(x) for x in hashes[:SAMPLE])


def _spacing(values: Floats, key: bytes) -> tuple[int, ...]:
    """The smallest hashes of how far neighbours lie apart, one stretch beside the next; none where many are equal.

    Multiplied or moved, values are spaced as before, and one person more or less changes few stretches. With hardly any
    equal ones, those of other people are others.
    """
    there = np.sort(values[~np.isnan(values)])
    length = 1 << (
        max(len(there) // STRETCH, 1).bit_length() - 1
    )  # mostly as long with one person more or less
    ends = there[length:] - there[:-length]
    one, two = ends[:-length], ends[length:]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log2(two / one))  # turned round they are spaced alike too
    ratio = ratio[np.isfinite(ratio)]
    hashes = np.unique(siphash(np.rint(ratio * FINE) + 0.0, part_of(key, "spacing known again")))
    if len(hashes) < max(SAMPLE, DIFFERENT * len(ratio)):
        return ()
    return tuple(int(x) for x in hashes[:SAMPLE])


def same_values(one: Sequence[int], two: Sequence[int]) -> bool:
    """Whether two columns have most values in common, by their smallest hashes (Broder 1997).

    Examples
    --------
    >>> same_values([1, 2, 3, 4], [1, 2, 3, 5]), same_values([1, 2, 3, 4], [5, 6, 7, 8]), same_values([], [])
    (True, False, False)
    """
    if not one or not two:
        return False
    smallest = set(sorted({*one, *two})[: min(len(one), len(two))])
    return len(smallest & set(one) & set(two)) >= SAME_VALUES * len(smallest)


class Beside:
    """What a new output tells beside the earlier ones: failures, doubts with their reason, and marked cells."""

    def __init__(self, told: Told, out: Output, part: Partition, policy: Policy) -> None:
        self.told, self.out, self.part, self.policy = told, out, part, policy
        self.lines: list[str] = []
        self.doubts: list[tuple[str, str]] = []
        self.marked: list[int] = []

    def look(self, earlier: Sequence[Earlier], same_outcome: Callable[[Earlier], bool]) -> Beside:
        """Compare with all earlier outputs."""
        known = [(each, Told.read(each.more)) for each in earlier]
        self._gaps(known)
        for each, old in known:
            self._made(each, old)
        self._parameters([(e, o) for e, o in known if o.columns], same_outcome)
        self._pairs([old.pairs for _, old in known])
        return self

    def _gaps(self, known: Sequence[tuple[Earlier, Told]]) -> None:
        if not self.told.gaps:
            return
        self.marked = solved(self.told.gaps, [gap for _, old in known for _, gap in old.gaps])
        if self.marked:
            with_these = [each for each, old in known if solved(self.told.gaps, [g for _, g in old.gaps])]
            who = " and ".join(each.told for each in with_these[:6]) or "other quantiles"
            self.lines.append(
                f"with {who}: values of single people follow from quantiles between the same two"
            )

    def _made(self, each: Earlier, old: Told) -> None:
        """A column that few people have otherwise, beside another of the same columns of the data."""
        mine, theirs = self.told.made, old.made
        if (mine.ends - theirs.ends) & theirs.all or (theirs.ends - mine.ends) & mine.all:
            words = (
                "one is the other divided or moved by the smallest or largest value, which few people have"
            )
            self.lines.append(f"with {each.told}: {words}")
        elif (mine.own - theirs.own) & theirs.all or (theirs.own - mine.own) & mine.all:
            words = "one is the other divided or moved by what one person or a few have"
            self.doubts.append((words, f"with {each.told}: {words}"))
        if not (mine.but & theirs.all or theirs.but & mine.all):
            if self._alike(old) and not (mine.of & theirs.of):
                words = "for most people one column is another multiplied or moved: show one of the two"
                self.doubts.append((words, f"with {each.told}: {words}"))
            return
        if mine == theirs and self.out.query.variable == each.variable:
            return  # the same again; whether it changed, is seen by its values
        few = self.policy.threshold
        told = f"with {each.told}: both are made of the same columns, but for fewer than {few} people"
        if mine.all == theirs.all:
            self.lines.append(told)
        else:
            words = f"but for fewer than {few} people it is made of columns that earlier outputs are of"
            self.doubts.append((words, told))

    def _alike(self, old: Told) -> bool:
        """Whether most values are spaced like those of an earlier output, and are others."""
        return same_values(self.told.spacing, old.spacing) and not same_values(self.told.sample, old.sample)

    def _parameters(
        self, known: Sequence[tuple[Earlier, Told]], same_outcome: Callable[[Earlier], bool]
    ) -> None:
        """Models of one outcome with nearly as many different regressors, all together, as there are people."""
        people, mine = int((self.part.layers[0] > 0).sum()), set(self.told.columns)
        most = people - self.policy.dof
        if not mine or sum(len(old.columns) for _, old in known) + len(mine) <= most:
            return
        every = mine.union(*(old.columns for each, old in known if same_outcome(each)))
        if len(every) > most and len(every) > len(mine):
            words = "models of this outcome have, all together, nearly as many regressors as there are people"
            self.doubts.append((words, f"with {len(known)} models: {words}"))

    def _pairs(self, known: Sequence[tuple[str, ...]]) -> None:
        """Figures of one column with nearly as many others as there are people: equations in what these have."""
        most = int((self.part.layers[0] > 0).sum()) - self.policy.dof
        every = [set(pairs) for pairs in (self.told.pairs, *known)]
        numbers = [len(set().union(*(p for p in every if column in p))) - 1 for column in self.told.pairs]
        if numbers and max(numbers) > most:
            words = "one column has figures with nearly as many others, all together, as there are people"
            self.doubts.append((words, f"with {len(known)} earlier outputs: {words}"))
