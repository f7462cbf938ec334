"""`Pair`: an original and a protected file (and a holdout) on one domain, with each margin counted once.

All measures read a pair. It settles what differs between the files (column order, levels, number types, sizes), groups
numbers by the original's breaks, and keeps every count that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from dalenius.core.errors import DataError, names
from dalenius.core.result import figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.counts import Counts
from dalenius.counts.groups import PairGroups, group_rows
from dalenius.counts.harmonising import (
    Source,
    by_value,
    harmonised,
    merged_labels,
    notes_on,
    through,
    unshared,
)
from dalenius.counts.leftovers import leftovers
from dalenius.counts.match import Match, check_keys
from dalenius.counts.memory import count_codes, count_codes_many
from dalenius.counts.strangers import MOST, in_both
from dalenius.counts.weighing import Weighed, weigh_many
from dalenius.data.design import DESIGN_ROLES, Design
from dalenius.data.grouping import Grouping
from dalenius.data.lens import Lens
from dalenius.data.schema import Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.data.units import Unit, Units, owner_column
from dalenius.data.vector import AnyArray, Categories

NOT_COMPARED = (
    Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD, Role.WEIGHT, Role.PSU, Role.FPC, Role.REPLICATE,
)  # fmt: skip


MOST_KEPT = 100_000
"""Tables that are kept for other figures, a few hundred megabytes; of more each figure counts its own."""
MOST_EFFECT = 2.0
"""Times the original's design effect that a file's own may be and still be allowed for."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """One column of all files as codes over one list of labels."""

    original: Categories
    protected: Categories
    holdout: Categories | None


@dataclass(frozen=True, eq=False)
class PairCounts:
    """The same contingency table counted in each file; equal keys mean equal cells."""

    original: Counts
    protected: Counts
    holdout: Counts | None


@dataclass(frozen=True, eq=False)
class PairWeighed:
    """The same contingency table with each file's weights; equal keys mean equal cells."""

    original: Weighed
    protected: Weighed
    holdout: Weighed | None

    def effect(self, file: Literal["protected", "holdout"] = "protected") -> float:
        """Design effect that statistics of a file are divided by.

        At most twice that of the original: a file must not look well because a few of its rows have all the weight.
        """
        other = self.protected if file == "protected" else self.holdout
        return 1.0 if other is None else min(other.effect, MOST_EFFECT * max(self.original.effect, 1.0))


@dataclass(frozen=True, eq=False)
class PairDesigns:
    """How the rows of each file were drawn; None where they count alike.

    A protected file without weights stands for the population by itself: that is what its readers take it for.
    """

    original: Design | None = None
    protected: Design | None = None
    holdout: Design | None = None

    def __bool__(self) -> bool:
        return any(design is not None for design in (self.original, self.protected))

    def weights(self, file: str) -> AnyArray | None:
        """Weights of the rows of "original", "protected" or "holdout" that sum to their number; None if all are 1."""
        design: Design | None = getattr(self, file)
        return None if design is None else design.scaled


class Pair:
    """Original and protected file, aligned.

    Parameters
    ----------
    original, protected, holdout
        Tables, frames or dicts. The holdout is a sample of the same population that the protected file was not made
        from: it tells what an intruder would learn about people who are *not* in the data.
    schema
        Of the original; inferred when absent.
    keys, targets
        What an intruder may know, and what would hurt if learnt; default: the columns with those roles.
    grouping
        How numbers are grouped where a measure groups them; default: five quantile groups of the original.
    unit
        Whom figures count: "entity", "household" or "record"; default: the first of them that the schema names.
    threshold
        Fewest original records behind anything that results show.
    lens
        What a mask did to make the protected file of the original. Original and holdout are sent through its maps, and
        cells that were suppressed are empty in the original's rows too: who knows 37 looks for 30-39. A key or target
        that the mask dropped is no longer one.

    Attributes
    ----------
    unmasked
        The original before it was sent through the lens.
    unshared
        Columns that are not compared because not every file has them.
    designs
        How the rows of each file were drawn: weights, strata, sampling units.
    remembered
        What was found out about the files once and for every intruder.
    made_here
        Whether one of our methods made the file in this very run, so that texts in it are made up. Of a file that was
        read nobody can tell.

    Examples
    --------
    >>> pair = Pair({"sex": ["f", "m", "m"]}, {"sex": ["m", "m", "x"]})
    >>> pair.categories("sex").original.labels
    ['f', 'm', 'x']
    >>> pair.counts(["sex"]).protected.counts.tolist()
    [2, 1]
    """

    def __init__(
        self,
        original: Any,
        protected: Any,
        holdout: Any = None,
        *,
        schema: Schema | None = None,
        keys: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
        grouping: Grouping | None = None,
        unit: Unit | None = None,
        threshold: int = THRESHOLD,
        lens: Lens | None = None,
    ) -> None:
        whole = base = Table.from_frame(original, schema)
        others = [other for other in (protected, holdout) if other is not None]
        sources = [Source(other) for other in others]
        strangers = sources[1] if holdout is not None else None
        if lens is not None:
            keys, targets = _left(base, keys, Role.KEY, lens), _left(base, targets, Role.TARGET, lens)
            lens.check(base, sources[0].rows)
            base = lens.see_own(base, drop=False)
            sources[1:] = [Source(through(lens, whole, source)) for source in sources[1:]]
        self.lens = lens
        self.unmasked = whole
        self.made_here = sources[0].left
        tables = harmonised(base, sources)
        self.original: Table = tables[0]
        self.protected: Table = tables[1]
        self.holdout: Table | None = tables[2] if holdout is not None else None
        self.unshared: list[str] = unshared(base, tables[0], sources[0])
        self.notes: list[str] = notes_on(self.unshared, tables, base, sources[0])
        if self.original.rows == 0 or self.protected.rows == 0:
            raise DataError("original and protected file need at least one row each to be compared")
        if self.holdout is not None and self.holdout.rows == 0:
            raise DataError("the holdout has no rows; leave it out, or give people who are not in the data")
        full = base.schema.with_roles(keys=keys, targets=targets)
        self._take_roles(full)
        self.designs = _designs(whole, sources)
        if self.designs:
            self.notes.append(_told(self.designs))
        self.threshold = threshold
        self._grouping = grouping
        self._given, self._whole = sources[0], base
        self.remembered: dict[str, Any] = {}
        self._aligned: dict[tuple[str, bool], Aligned] = {}
        self._counts: dict[tuple[tuple[str, ...], bool], PairCounts] = {}
        self._weighed: dict[tuple[str, ...], PairWeighed] = {}
        self._groups: dict[tuple[tuple[str, ...], bool], PairGroups] = {}
        self._matches: dict[tuple[tuple[str, ...], bool], Match] = {}
        self.units, self.holdout_units = _owners(whole, full, unit, strangers)

    @property
    def people(self) -> int:
        """How many people the original is about, as `Table.people` counts them."""
        entities = self.units.column in self.schema.by_role(Role.ENTITY)
        return self.units.count if entities else self.original.rows

    @property
    def real(self) -> str:
        """What figures "of the original" are of, in words: seen through a mask it tells less than it does itself."""
        return "the original masked in the same way" if self.lens else "the original itself"

    def _take_roles(self, schema: Schema) -> None:
        self.schema = schema
        self.keys = self._chosen(Role.KEY, "key")
        self.targets = self._chosen(Role.TARGET, "target")
        both = [name for name in self.keys if name in self.targets]
        if both:
            raise DataError(f"column {names(both)} is both key and target; take it out of one of the two")

    def _chosen(self, role: Role, word: str) -> list[str]:
        chosen = self.schema.by_role(role)
        absent = [name for name in chosen if name not in self.original]
        if absent:
            raise DataError(
                f"{word} {names(absent)} is not in the protected file; add it, or drop it from the {word}s"
            )
        return chosen

    @cached_property
    def doubt(self) -> str:
        """Why the holdout is no yardstick; empty where it is one. Many people of the data in it are an error.

        Examples
        --------
        >>> people = {"age": list(range(200)), "pay": [37 * i % 1001 for i in range(200)]}
        >>> others = {name: [*values[:6], *(v + 5000 for v in values[6:])] for name, values in people.items()}
        >>> Pair(people, people, others).doubt
        ''
        >>> Pair(people, people, people).doubt
        Traceback (most recent call last):
        ...
        dalenius.core.errors.DataError: 100 % of the people of the holdout are in the data too, ...
        """
        if self.holdout is None or not self.columns:
            return ""
        match = self.match(self.columns)
        share = in_both(match.original, match.holdout)
        if not share:
            return ""
        told = f"{figure(100 * share, '%')} of the people of the holdout are in the data too, more than chance explains"
        if share >= MOST:
            raise DataError(f"{told}: the holdout must hold other people; take those in the data out of it")
        return (
            f"{told}: what strangers reach is told too high, and what the file adds too low. Not trusted; take them "
            "out of the holdout."
        )

    @cached_property
    def leftovers(self) -> list[str]:
        """What the file holds that no figure looks at and that may say who people are, in sentences without values.

        Examples
        --------
        >>> Pair({"a": ["x", "y"]}, {"a": ["x", "y"], "b": ["u", "v"]}).leftovers
        ["The protected file has a column that the original has not ('b'): no figure looks there, ..."]
        """
        return leftovers(self._whole, self._given, self.protected, not self.sampled, self.made_here)

    made_here = False
    sampled = False
    """Whether the rows are some of larger files, so that it is not known how many people hold a value."""

    @cached_property
    def columns(self) -> list[str]:
        """Columns that measures compare: all common ones but identifiers, weights and free text."""
        return [
            name
            for name in self.original.names
            if not any(self.schema[name].has(role) for role in NOT_COMPARED)
            and self.original[name].column.kind is not Kind.TEXT
        ]

    @cached_property
    def grouping(self) -> Grouping:
        """How numbers are grouped."""
        return self._grouping or Grouping.fit(self.original)

    def categories(self, name: str, grouped: bool = True) -> Aligned:
        """A column of all files as codes over common labels; numbers grouped, or each value a category."""
        place = (name, grouped)
        if place not in self._aligned:
            tables = [t for t in (self.original, self.protected, self.holdout) if t is not None]
            vectors = [table[name] for table in tables]
            if grouped and name in self.grouping:
                merged = merged_labels([self.grouping.categories(vector) for vector in vectors])
            elif vectors[0].is_number:
                merged = merged_labels(by_value(vectors))
            else:
                merged = merged_labels([vector.categories for vector in vectors])
            self._aligned[place] = Aligned(merged[0], merged[1], merged[2] if len(merged) > 2 else None)
        return self._aligned[place]

    def counts(self, columns: Sequence[str], grouped: bool = True) -> PairCounts:
        """The contingency table of some columns in each file, counted once."""
        place = (tuple(columns), grouped)
        if place not in self._counts:
            aligned = [self.categories(name, grouped) for name in columns]
            held = [a.holdout for a in aligned if a.holdout is not None]
            self._counts[place] = PairCounts(
                count_codes(place[0], [a.original for a in aligned]),
                count_codes(place[0], [a.protected for a in aligned]),
                count_codes(place[0], held) if self.holdout is not None else None,
            )
        return self._counts[place]

    def count_many(
        self, tables: Iterable[Sequence[str]], grouped: bool = True
    ) -> dict[tuple[str, ...], PairCounts]:
        """Many contingency tables in one pass over the rows."""
        wanted = [tuple(columns) for columns in tables]
        new = [columns for columns in wanted if (columns, grouped) not in self._counts]
        if new:
            used = {name: self.categories(name, grouped) for columns in new for name in columns}
            first = count_codes_many({n: a.original for n, a in used.items()}, new)
            second = count_codes_many({n: a.protected for n, a in used.items()}, new)
            third: Mapping[tuple[str, ...], Counts] = {}
            if self.holdout is not None:
                third = count_codes_many(
                    {n: a.holdout for n, a in used.items() if a.holdout is not None}, new
                )
            made = {c: PairCounts(first[c], second[c], third.get(c)) for c in new}
            if len(self._counts) + len(made) > MOST_KEPT:  # a thousand columns have half a million pairs
                return {c: made[c] if c in made else self._counts[c, grouped] for c in wanted}
            self._counts |= {(c, grouped): counted for c, counted in made.items()}
        return {columns: self._counts[columns, grouped] for columns in wanted}

    def weigh_many(self, tables: Iterable[Sequence[str]]) -> dict[tuple[str, ...], PairWeighed]:
        """Many contingency tables with the weights of each file, numbers in groups.

        Examples
        --------
        >>> schema = Schema.infer({"a": ["x", "y"], "w": [1.0, 3.0]}).with_roles(weight="w")
        >>> pair = Pair({"a": ["x", "y"], "w": [1.0, 3.0]}, {"a": ["x", "y"]}, schema=schema)
        >>> found = pair.weigh_many([["a"]])["a",]
        >>> found.original.counts.counts.tolist(), found.protected.counts.counts.tolist()
        ([0.5, 1.5], [1, 1])
        """
        wanted = [tuple(columns) for columns in tables]
        new = [columns for columns in wanted if columns not in self._weighed]
        used = {name: self.categories(name) for columns in new for name in columns}
        files = {
            file: self._weigh_file(file, used, new)
            for file in ("original", "protected", "holdout")
            if file != "holdout" or self.holdout is not None
        }
        made = {
            columns: PairWeighed(
                files["original"][columns],
                files["protected"][columns],
                files["holdout"][columns] if "holdout" in files else None,
            )
            for columns in new
        }
        self._weighed |= {columns: weighed for columns, weighed in made.items() if len(columns) <= 2}
        return {columns: made.get(columns) or self._weighed[columns] for columns in wanted}

    def _weigh_file(
        self, file: str, used: Mapping[str, Aligned], tables: Sequence[tuple[str, ...]]
    ) -> dict[tuple[str, ...], Weighed]:
        own = {name: getattr(aligned, file) for name, aligned in used.items()}
        design: Design | None = getattr(self.designs, file)
        if design is not None:
            return weigh_many(own, tables, design)
        return {columns: Weighed(counts) for columns, counts in count_codes_many(own, tables).items()}

    def groups(self, columns: Sequence[str], grouped: bool = True, keep: bool = True) -> PairGroups:
        """Rows of each file numbered by their combination of some columns, made once (unless told not to keep it)."""
        place = (tuple(columns), grouped)
        if place not in self._groups:
            aligned = [self.categories(name, grouped) for name in columns]
            files = [[a.original for a in aligned], [a.protected for a in aligned]]
            rows = [self.original.rows, self.protected.rows]
            if self.holdout is not None:
                files.append([a.holdout for a in aligned if a.holdout is not None])
                rows.append(self.holdout.rows)
            made = group_rows(place[0], files, rows)
            if not keep:
                return made
            self._groups[place] = made
        return self._groups[place]

    streams = False
    """Whether the rows stream by, so that only counts of all rows can be had."""

    def for_rows(self) -> tuple[Pair, str]:
        """The pair that figures of rows read, and a sentence about it where it is not this one."""
        return self, ""

    def match(self, keys: Sequence[str], grouped: bool = False) -> Match:
        """Who shares a combination of keys in each file, and who is single in both; made once.

        Examples
        --------
        >>> Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]}).match(["a"]).single_in_both.sum()
        np.int64(1)
        """
        check_keys(self, keys)
        place = (tuple(keys), grouped)
        if place not in self._matches:
            self._matches[place] = Match(self.groups(keys, grouped), self.units, self.holdout_units)
        return self._matches[place]

    def seen_by(self, keys: Sequence[str], targets: Sequence[str]) -> Pair:
        """The same files seen by another intruder; what was aligned, grouped and counted is shared.

        Examples
        --------
        >>> pair = Pair({"a": ["x", "y"], "b": [1, 2]}, {"a": ["x", "x"], "b": [1, 1]}, keys=["a"], targets=["b"])
        >>> other = pair.seen_by(["b"], ["a"])
        >>> other.keys, other.counts(["a"]) is pair.counts(["a"])
        (['b'], True)
        """
        other = copy(self)
        other._take_roles(self.schema.with_roles(keys=keys, targets=targets))
        return other

    def swap_in(self, protected: Any) -> Pair:
        """The same original, keys, targets and grouping with another protected file."""
        # the original as it was made comparable: its schema may speak of another kind than the files share
        other = Pair(
            self.original,
            protected,
            self.holdout,
            keys=self.keys,
            targets=self.targets,
            grouping=self.grouping,
            threshold=self.threshold,
        )
        other.unmasked = self.unmasked
        # the column that owns rows need not be in every file
        other.units, other.holdout_units = self.units, self.holdout_units
        given = Source(protected)
        other.designs = replace(self.designs, protected=_design(self.unmasked.schema, given))
        return other


def _designs(whole: Table, sources: Sequence[Source]) -> PairDesigns:
    """The designs of the files; that of the original may rest on columns that the others lack."""
    designs = [_design(whole.schema, source) for source in (Source(whole), *sources)]
    return PairDesigns(*designs)


def _design(schema: Schema, source: Source) -> Design | None:
    """The design of one file by the original's schema: what it has no weights for was drawn alike."""
    weights = schema.by_role(Role.WEIGHT)
    if weights and weights[0] not in source:
        return None
    used = [
        c for c in schema if any(c.has(role) for role in DESIGN_ROLES) or c.name in schema.sampling.calibrated
    ]
    named = [
        replace(c, levels=None, bounds=None, parent=None, partner=None) for c in used if c.name in source
    ]
    if len(named) < len(used):  # replicate weights and margins are of no use by halves
        named = [c for c in named if c.has(Role.WEIGHT) or c.has(Role.STRATUM) or c.has(Role.PSU)]
    vectors = [source.encoded(column) for column in named]
    table = Table.from_vectors(vectors, source.rows, schema=replace(schema, rules=(), columns=()))
    return Design.of(table, lenient=True)


def _told(designs: PairDesigns) -> str:
    """A note on whose weights count."""
    if designs.original is None:
        return "rows of the protected file count with their weights, those of the original alike"
    column = designs.original.column
    name = "its sampling units" if column is None else f"the weights {column!r}"
    if designs.protected is None:
        return f"the original counts with {name}; the protected file has none and is read as the population"
    return f"rows of both files count with {name}"


def _left(base: Table, wanted: Sequence[str] | None, role: Role, lens: Lens) -> list[str]:
    """The columns with a role, without those that a mask dropped."""
    named = base.schema.by_role(role) if wanted is None else wanted
    return [name for name in named if name not in lens.dropped]


def _owners(base: Table, schema: Schema, unit: Unit | None, holdout: Source | None) -> tuple[Units, Units]:
    """Owners of the original's rows and of the holdout's; the owning column need not be in the protected file."""
    name, rows = owner_column(schema, unit), 0 if holdout is None else holdout.rows
    if name is None or name not in base:
        return Units(None, base.rows), Units(None, rows)
    units = Units.of(base[name])
    if holdout is None or name not in holdout:
        return units, Units(None, rows)
    return units, Units.of(holdout.encoded(replace(base[name].column, levels=None, bounds=None)))
