"""`join`: tables with at most one child each are joined, made as one table, and taken apart again (strategy A)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector, emptied
from dalenius.synth.base import METHODS, Model, Synthesizer
from dalenius.synth.candidate import Candidate
from dalenius.synth.relational.beside import loose, renamed
from dalenius.synth.relational.method import DatabaseModel, Parts, RelationalMethod, register_relational


class JoinModel(DatabaseModel):
    """A model of the joined table."""

    def __init__(self, base: Database, model: Model, notes: tuple[str, ...]) -> None:
        super().__init__(base, notes)
        self.model = model
        self.order = base.sequence
        self.held = {name: base.bare(name).names for name in base.tables}

    def draw(self, seed: Seed) -> Parts:
        """One wide table, taken apart."""
        wide = self.model.sample(seed=seed)
        tables: dict[str, Table] = {}
        places: dict[Link, IntArray] = {}
        rows: dict[str, IntArray] = {}
        for name in self.order:
            link = next((link for link in self.links if link.child == name), None)
            rows[name] = np.arange(wide.rows) if link is None else rows[link.parent]
            if _has(name) in wide:
                there = wide[_has(name)].take(rows[name])
                yes = np.array([str(level) == "True" for level in there.levels] or [False])
                rows[name] = rows[name][there.present & yes[there.data]]
            if link is not None:
                where = np.full(wide.rows, -1)
                where[rows[link.parent]] = np.arange(len(rows[link.parent]))
                places[link] = where[rows[name]]
            tables[name] = _taken(wide, name, self.held[name], rows[name])
        return Parts(tables, places)


def _has(table: str) -> str:
    return f"has_{table}"


def _taken(wide: Table, name: str, columns: list[str], rows: IntArray) -> Table:
    vectors = []
    for column in columns:
        held = wide[f"{name}.{column}"].take(rows)
        vectors.append(Vector(_called(held.column, column), held.data, held.state))
    return loose(vectors, len(rows))


def _called(column: Column, name: str) -> Column:
    return Column(**{**column.__dict__, "name": name})


@register_relational
@dataclass(frozen=True)
class Join(RelationalMethod):
    """Join, make one table, split.

    Attributes
    ----------
    base, options
        Method of the wide table, and its options (columns are called ``table.column`` there).
    how
        "left" keeps parents without a child (a column ``has_<child>`` is drawn with the others); "inner" leaves them
        out, as Slokom et al. 2024 do.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> made = Join().make(examples.benefit_registers(300), seed=1).database
    >>> made["gba"].rows == made["bij"].rows
    True
    """

    base: str = "cart"
    options: Mapping[str, Any] = field(default_factory=dict)
    how: str = "left"

    info = MethodInfo(
        name="join",
        title="Join, make one table, split",
        meaning="Tables with at most one child for each parent are joined, made by any method of single tables, and "
        "taken apart again: links hold by construction.",
        guarantee="that of the method of the wide table; keys are new",
        plain="The program puts the tables side by side, makes up new rows, and takes them apart again.",
        reference="Slokom, Agrawal, Krol, de Wolf 2024 (strategy A)",
    )

    def faults_for(self, base: Database) -> list[str]:
        """Links to several children cannot be joined without repeating parents."""
        wrong = [
            f"link {link} has several children for a parent; use conditional or hma"
            for link in base.links if base.cardinality(link) == "1-n" and not link.own
        ]  # fmt: skip
        wrong += [f"link {link} is of a table to itself; use conditional" for link in base.links if link.own]
        wrong += [
            f"table {name!r} belongs to several tables; use conditional"
            for name in base.tables if len(base.parents(name)) > 1
        ]  # fmt: skip
        if sum(not base.parents(name) for name in base.tables) > 1:
            wrong.append("several tables belong to no other; join makes one wide table, use conditional")
        if self.how not in ("left", "inner"):
            wrong.append(f"how is {self.how!r}; use left or inner")
        if not issubclass(METHODS[self.base], Synthesizer):
            wrong.append(f"base: {self.base} fits no model; choose a synthesizer such as cart")
        return wrong

    def _fit(self, base: Database, seed: Seed) -> JoinModel:
        rows: dict[str, IntArray] = {}
        vectors: list[Vector] = []
        kept = np.ones(0, bool)
        for name in base.sequence:
            link = base.main(name)
            if link is None:
                rows[name] = np.arange(base[name].rows)
                kept = np.ones(len(rows[name]), bool)
            else:
                where = np.full(base[link.parent].rows, -1)
                places = base.places(link)
                where[places[places >= 0]] = np.flatnonzero(places >= 0)
                above = rows[link.parent]
                rows[name] = np.where(above >= 0, where[np.maximum(above, 0)], -1)
            gone = rows[name] < 0
            if gone.any() and self.how == "inner":
                kept &= ~gone
            elif gone.any():
                levels = (False, True)
                there = Vector(Column(_has(name), Kind.BOOLEAN, levels=levels), (~gone).astype(np.uint8))
                vectors.append(there)
            for vector in renamed(base.bare(name), f"{name}."):
                vectors.append(
                    emptied(vector.take(np.maximum(rows[name], 0)), gone)
                    if gone.any()
                    else vector.take(rows[name])
                )
        wide = loose(vectors, len(kept)).take(kept)
        made = Candidate(self.base, self.options).make(wide, seed=seed)
        assert made.model is not None
        return JoinModel(base, made.model, tuple(made.notes))
