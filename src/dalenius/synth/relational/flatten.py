"""`flatten`: a family of each size class as one row, so that any method of single tables keeps families.

Parents with k children are a table of their own: the parent's columns and those of k children side by side, in their
order. With a privacy budget there is one table, with as many places for children as the link allows (``most``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from dalenius.core.option import Option
from dalenius.core.random import Seed, generator, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.relations import OWNER, Database, Link
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector, compact, emptied
from dalenius.synth.base import METHODS, Model, Synthesizer, make_method
from dalenius.synth.candidate import Candidate
from dalenius.synth.relational.beside import fitted, loose, renamed, stack
from dalenius.synth.relational.method import DatabaseModel, Parts, RelationalMethod, register_relational

NUMBER = "(number)"
ENOUGH = 20
"""Families that a size class must have; rarer sizes join the next smaller one that has them."""


class FlattenModel(DatabaseModel):
    """A model of the families of each size."""

    def __init__(
        self, base: Database, link: Link, models: Mapping[int, Model], numbers: Mapping[int, int],
        blank: Mapping[str, Table], notes: tuple[str, ...],
    ) -> None:  # fmt: skip
        super().__init__(base, notes)
        self.link, self.models, self.numbers, self.blank = link, models, numbers, blank

    def draw(self, seed: Seed) -> Parts:
        """Families of each size, taken apart."""
        parents, children, owners, last = [self.blank["parent"]], [self.blank["child"]], [], 0
        for size, rows in self.numbers.items():
            wide = (
                self.models[size].sample(rows, seed=sequence(seed, size))
                if size in self.models
                else loose([], rows)
            )
            parents.append(_part(wide, "parent.", self.blank["parent"]))
            here = _numbers(wide, size)
            for place in range(size):
                there = np.flatnonzero(here > place)
                children.append(_part(wide.take(there), f"{place + 1}.", self.blank["child"]))
                owners.append(last + there)
            last += wide.rows
        above, below = stack(parents), stack(children)
        whose = np.concatenate(owners) if owners else np.zeros(0, np.int64)
        turn = generator(seed, "order").permutation(
            above.rows
        )  # sizes one after the other would show in the order
        new = np.argsort(turn)
        order = np.argsort(new[whose], kind="stable")
        tables = {self.link.parent: above.take(turn), self.link.child: below.take(order)}
        return Parts(tables, {self.link: new[whose][order]})


def _numbers(wide: Table, size: int) -> IntArray:
    """How many children each family has: as drawn where that is a column, otherwise all alike."""
    if NUMBER not in wide:
        return np.full(wide.rows, size)
    drawn = wide[NUMBER]
    named = np.array([int(str(level)) for level in drawn.levels] or [0])
    return np.where(drawn.present, named[drawn.data], 0)


def _part(wide: Table, prefix: str, blank: Table) -> Table:
    """Columns of the parent or of one child, by their own names."""
    vectors = []
    for name in blank.names:
        held = wide[f"{prefix}{name}"]
        vectors.append(fitted(held, blank[name].column))
    return loose(vectors, wide.rows)


@register_relational
@dataclass(frozen=True)
class Flatten(RelationalMethod):
    """Families as rows.

    Attributes
    ----------
    base, options
        Method of the tables of families (cart, syndiffix, mst …), and its options.
    largest
        Children of the largest size class; of larger families the first so many are kept.

    Examples
    --------
    >>> homes = {"id": list(range(60)), "area": ["n", "s", "s"] * 20}
    >>> people = {"home_id": [i // 2 for i in range(120)], "age": [40, 9, 70, 30] * 30}
    >>> made = Flatten().make(Database.of({"homes": homes, "people": people}), seed=1).database
    >>> made["people"].rows
    120
    """

    base: str = "cart"
    options: Mapping[str, Any] = field(default_factory=dict)
    largest: Annotated[int, Option(at_least=1)] = 8

    info = MethodInfo(
        name="flatten",
        title="Families as rows",
        meaning="Parents with k children are one table for each k, with the children side by side, made by any method "
        "of single tables.",
        guarantee="that of the method of the tables of families; keys are new",
        plain="The program writes each family as one long row and makes up new rows.",
        reference="Thees, Novák, Templ 2024 (outlook: a household as one row for each size class)",
    )

    def faults_for(self, base: Database) -> list[str]:
        """One parent table and one child table; with a budget, a public bound on the children."""
        wrong = []
        if len(base.tables) != 2 or len(base.links) != 1 or base.links[0].own:
            wrong.append("flatten takes one table and another that belongs to it; use conditional")
        if not issubclass(METHODS[self.base], Synthesizer):
            wrong.append(f"base: {self.base} fits no model; choose a synthesizer such as cart")
        elif make_method(self.base, **self.options).private:
            wrong += [
                f"link {link}: base {self.base} has a privacy budget, which needs a public bound on children; say most"
                for link in base.links if link.most is None
            ]  # fmt: skip
        return wrong

    def _fit(self, base: Database, seed: Seed) -> FlattenModel:
        link = base.links[0]
        rows = np.argsort(base.places(link), kind="stable")
        rows = rows[base.places(link)[rows] >= 0]
        sizes = base.sizes(link)
        if make_method(self.base, **self.options).private:
            return self._bounded(base, link, rows, sizes, seed)
        classes = _classes(sizes, min(self.largest, link.most or self.largest))
        starts = np.cumsum(sizes) - sizes
        parent, child = base.bare(link.parent), base.owned(link.child).drop([OWNER])
        models, numbers, notes = {}, {}, []
        for size in np.unique(classes):
            mine = np.flatnonzero(classes == size)
            vectors = renamed(parent.take(mine), "parent.")
            for place in range(size):
                vectors += renamed(child.take(rows[starts[mine] + place]), f"{place + 1}.")
            numbers[int(size)] = len(mine)
            if vectors:
                made = Candidate(self.base, self.options).make(
                    loose(vectors, len(mine)), seed=sequence(seed, int(size))
                )
                assert made.model is not None
                models[int(size)] = made.model
                notes += [f"families of {size}: {note}" for note in made.notes]
        blank = {"parent": _none(models, "parent.", parent), "child": _none(models, "1.", child)}
        return FlattenModel(base, link, models, numbers, blank, tuple(notes))

    def _bounded(
        self, base: Database, link: Link, rows: IntArray, sizes: IntArray, seed: Seed
    ) -> FlattenModel:
        """One table for all families, with as many places for children as the public bound says.

        One row is a family, so that a budget for rows is one for families; the number of children is a column like any
        other, and keys have no pattern of the original's.
        """
        most = int(link.most or 0)
        parent, child = base.bare(link.parent), base.bare(link.child)
        starts = np.cumsum(sizes) - sizes
        levels = tuple(range(most + 1))
        number = Column(NUMBER, Kind.CATEGORICAL, levels=levels, domain="declared")
        vectors = [*renamed(parent, "parent."), Vector(number, compact(np.minimum(sizes, most), most + 1))]
        for place in range(most):
            there = sizes > place
            held = child.take(rows[np.where(there, starts + place, 0)]) if len(rows) else child
            vectors += [emptied(v, ~there) for v in renamed(held, f"{place + 1}.")]
        made = Candidate(self.base, self.options, prepare=False).make(loose(vectors, parent.rows), seed=seed)
        assert made.model is not None
        empty = np.zeros(0, np.int64)
        blank = {
            "parent": loose(renamed(parent.take(empty), ""), 0),
            "child": loose(renamed(child.take(empty), ""), 0),
        }
        notes = (*made.notes, *(line for line in made.ledger.splitlines()))
        model = FlattenModel(base, link, {most: made.model}, {most: made.model.rows}, blank, notes)
        model.patterns = {}
        return model


def _classes(sizes: IntArray, largest: int) -> IntArray:
    """Size class of each family: its size, at most the largest; classes that few are in join the next smaller one."""
    classes = np.minimum(sizes, largest)
    for size in range(largest, 0, -1):
        few = classes == size
        if 0 < few.sum() < ENOUGH:
            classes[few] = size - 1
    return classes


def _none(models: Mapping[int, Model], prefix: str, like: Table) -> Table:
    """No rows of a table, with all levels that the models of its families know."""
    vectors = []
    for name in like.names:
        drawn = [
            model.sample(1, seed=0)[f"{prefix[:-1] if prefix == 'parent.' else place}.{name}"]
            for size, model in models.items()
            for place in (range(1, size + 1) if prefix != "parent." else [0])
        ]
        levels = tuple(dict.fromkeys(level for v in drawn for level in v.levels))
        column = drawn[0].column if drawn else like[name].column
        plain = {**column.__dict__, "name": name, "levels": None if drawn and drawn[0].is_number else levels}
        vector = (drawn[0] if drawn else like[name]).take(np.zeros(0, np.int64))
        vectors.append(type(vector)(type(column)(**plain), vector.data, None))
    return loose(vectors, 0)
