"""`conditional`: table by table from the top, each child given its parent (strategy C; the default)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from dalenius.core.option import Option
from dalenius.core.random import Seed, generator, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.relations import OWNER, Database, Link
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector
from dalenius.synth.base import METHODS, Model, Synthesizer, make_method
from dalenius.synth.candidate import Candidate
from dalenius.synth.relational.beside import loose, renamed, stack
from dalenius.synth.relational.children import Children, Numbers
from dalenius.synth.relational.events import Events
from dalenius.synth.relational.method import DatabaseModel, Parts, RelationalMethod, register_relational
from dalenius.synth.relational.others import Other
from dalenius.synth.sequential.synthesizers import CartSynthesizer

GENERATIONS = 3
"""Parents, grandparents and so on whose columns a child is drawn from."""


@dataclass(frozen=True, eq=False)
class Below:
    """What is known of a table that belongs to another."""

    link: Link
    numbers: Numbers
    children: Children | Events
    loose_rows: int


class ConditionalModel(DatabaseModel):
    """A model of each topmost table, and of children given their parents."""

    def __init__(
        self, base: Database, tops: Mapping[str, Model | int], below: Mapping[str, Below],
        others: Mapping[Link, Other], notes: tuple[str, ...],
    ) -> None:  # fmt: skip
        super().__init__(base, notes)
        self.order = base.sequence
        self.tops, self.below, self.others = tops, below, others

    def draw(self, seed: Seed) -> Parts:
        """Topmost tables first, then whoever belongs to them."""
        tables: dict[str, Table] = {}
        known: dict[str, Table] = {}
        places: dict[Link, IntArray] = {}
        for name in self.order:
            mine = sequence(seed, name)
            if name in self.tops:
                top = self.tops[name]
                tables[name] = loose([], top) if isinstance(top, int) else top.sample(seed=mine)
                known[name] = tables[name]
            else:
                tables[name], places[self.below[name].link], known[name] = self._children(name, known, mine)
            for link in [link for link in self.links if link.child == name and link in self.others]:
                above = tables[name] if link.own else tables[link.parent]
                drawn = self.others[link].draw(known[name], sequence(mine, link.child_key))
                owners = self._owners(name, places) if link.own else None
                places[link] = self.others[link].find(
                    drawn, above, owners, sequence(mine, "find", link.child_key)
                )
        return Parts(tables, places)

    def _children(self, name: str, known: Mapping[str, Table], seed: Seed) -> tuple[Table, IntArray, Table]:
        held = self.below[name]
        parents = seen_from_below(known[held.link.parent], held.link.parent)
        numbers = held.numbers.draw(parents.vectors, parents.rows, sequence(seed, "number"))
        made, owners = held.children.draw(parents, numbers, seed)
        beside = [v.take(owners) for v in parents.vectors.values() if _generation(v) < GENERATIONS]
        if held.loose_rows:  # rows without a parent are like those of a parent of whom nothing is known
            rng = generator(seed, "loose")
            alone = rng.integers(0, max(made.rows, 1), held.loose_rows if made.rows else 0)
            made = stack([made, made.take(alone)])
            beside = [v.take(np.append(np.arange(len(owners)), alone)) for v in beside]
            owners = np.append(owners, np.full(len(alone), -1))
        return made, owners, loose([*beside, *made.vectors.values()], made.rows)

    def _owners(self, name: str, places: Mapping[Link, IntArray]) -> IntArray | None:
        return places[self.below[name].link] if name in self.below else None


def _generation(vector: Vector) -> int:
    return vector.column.name.count("›")


def seen_from_below(parents: Table, name: str) -> Table:
    """Columns of a parent, and of whoever is above it, as its children see them; free text tells them nothing."""
    told = [n for n in parents.names if n != OWNER and parents[n].column.kind is not Kind.TEXT]
    return loose(renamed(parents.select(told), f"{name}›"), parents.rows)


@register_relational
@dataclass(frozen=True)
class Conditional(RelationalMethod):
    """Parents first, then for each the number of children and one child after the other.

    Attributes
    ----------
    base, options
        Method of the topmost tables (any that fits a model), and its options.
    minbucket
        Smallest leaf of the trees that draw children.

    Examples
    --------
    >>> homes = {"id": list(range(60)), "area": ["n", "s", "s"] * 20}
    >>> people = {"home_id": [i // 2 for i in range(120)], "age": [40, 9, 70, 30] * 30}
    >>> made = Conditional().make(Database.of({"homes": homes, "people": people}), seed=1).database
    >>> made.sizes(made.links[0]).max() <= 2
    np.True_
    """

    base: str = "cart"
    options: Mapping[str, Any] = field(default_factory=dict)
    minbucket: Annotated[int, Option(at_least=1)] = 5

    info = MethodInfo(
        name="conditional",
        title="Table by table, children given parents",
        meaning="Topmost tables by any method, the number of children by a tree on the parent, each child by trees on "
        "parent, place and sibling before; dates as gaps where a table has an order.",
        guarantee="none: values come from original records; keys are new, rules across tables are kept",
        plain="The program learns which families there are and makes up new ones member by member.",
        reference="Slokom, Agrawal, Krol, de Wolf 2024 (strategy C, extended to several children)",
    )

    def faults_for(self, base: Database) -> list[str]:
        """The method of the topmost tables must fit a model; with a privacy budget it cannot go on to children."""
        method = METHODS[self.base]
        if not issubclass(method, Synthesizer):
            return [f"base: {self.base} fits no model; choose a synthesizer such as cart"]
        if make_method(self.base, **self.options).private and base.links:
            unbounded = [str(link) for link in base.links if link.most is None]
            said = f"; {', '.join(unbounded)} has no bound at all (most)" if unbounded else ""
            return [
                f"base: {self.base} has a privacy budget, which trees for children do not keep{said}; say how many "
                "children a parent may have (most) and use flatten"
            ]
        return []

    def _fit(self, base: Database, seed: Seed) -> ConditionalModel:
        tops: dict[str, Model | int] = {}
        below: dict[str, Below] = {}
        others: dict[Link, Other] = {}
        notes: list[str] = []
        seen: dict[str, Table] = {}
        trees = CartSynthesizer(minbucket=self.minbucket)
        for name in base.sequence:
            mine, link = sequence(seed, name), base.main(name)
            owned = base.owned(name)
            if link is None:
                tops[name] = self._top(base.bare(name), mine, notes, name)
                seen[name] = owned
            else:
                below[name] = self._below(base, link, seen[link.parent], owned, trees, mine)
                notes += [f"{name}: {note}" for note in below[name].children.notes]
                seen[name] = _with_parents(seen[link.parent], owned, base.places(link), link.parent)
            for further in [*base.parents(name)[1:], *base.own_links(name)]:
                above = base.bare(further.parent)
                others[further] = Other.fit(
                    seen[name], above, base.places(further), trees, sequence(mine, further.child_key),
                    base.tops(name)[1] if further.own else None,
                )  # fmt: skip
        return ConditionalModel(base, tops, below, others, tuple(notes))

    def _top(self, table: Table, seed: Seed, notes: list[str], name: str) -> Model | int:
        if not table.names:
            return table.rows
        made = Candidate(self.base, self.options).make(table, seed=seed)
        notes += [f"{name}: {note}" for note in made.notes]
        return made.model if made.model is not None else table.rows

    def _below(
        self, base: Database, link: Link, above: Table, owned: Table, trees: CartSynthesizer, seed: Seed
    ) -> Below:
        parents = seen_from_below(above, link.parent).with_vectors(above[OWNER])
        places = base.places(link)
        gone = int((places < 0).sum())
        least = owned.schema.min_units
        name = link.child
        if name in base.order:
            sizes = np.minimum(base.sizes(link), 1)
            children: Children | Events = Events.fit(parents, owned, places, base.order[name], trees, seed)
        else:
            sizes = base.sizes(link)
            children = Children.fit(parents, owned, places, trees, seed, base.cardinality(link) != "1-n")
        return Below(link, Numbers.fit(parents, sizes, trees, seed), children, gone if gone >= least else 0)


def _with_parents(above: Table, owned: Table, places: IntArray, parent: str) -> Table:
    """A child's columns beside those of its parents, for whoever is below it."""
    if not above.rows:
        return owned
    beside = seen_from_below(above, parent)
    taken = [v.take(np.maximum(places, 0)) for v in beside.vectors.values() if _generation(v) < GENERATIONS]
    return loose([*taken, *owned.vectors.values()], owned.rows)
