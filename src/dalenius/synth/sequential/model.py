"""`SequentialModel`: fitted columns in visit order, drawn one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, sequence
from dalenius.data.derived import Derived
from dalenius.data.rules import parse_rules
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray, Vector
from dalenius.synth._store import vector_arrays, vector_from
from dalenius.synth.base import Arrays, Model
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.column import UNDRAWN, Cells, ColumnModel
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import nest, nested
from dalenius.synth.sequential.restrict import Rescue, Restrictions

TRIES = 8
"""Times a row that breaks a rule is drawn again before an original cell is looked for."""
RESCUES = 30


class SequentialModel(Model):
    """Everything needed to draw rows: one `ColumnModel` per synthesized column.

    Attributes
    ----------
    visit
        Names of the columns in the order in which they are drawn.
    kept
        Columns that are released as they are (partial synthesis), in the original's row order.
    rules
        Rules that every drawn row keeps.
    passive
        Columns that are computed, with their expressions.
    expansion
        People of the population that one fitted row stands for (1 without weights): totals of a sample of k rows are
        multiplied by ``expansion * rows / k``.
    pairs
        Columns of times with the event column that is drawn together with each.
    notes
        What a person should know about the fit, in plain sentences.
    """

    method: ClassVar[str] = "cart"
    contents = (
        "for each column a model that holds its values: the donors in the leaves of the trees, not linked across "
        "columns; values of fewer than 3 units were drawn anew. Whoever has it can draw any number of files"
    )

    def __init__(
        self, schema: Schema, rows: int, visit: Sequence[str], coders: Sequence[Coder],
        columns: Mapping[str, ColumnModel], kept: Mapping[str, Vector] | None = None, rules: Sequence[str] = (),
        rescues: Mapping[str, Rescue] | None = None, passive: Mapping[str, str] | None = None,
        pairs: Mapping[str, str] | None = None, expansion: float = 1.0, notes: Sequence[str] = (),
        table: Table | None = None,
    ) -> None:  # fmt: skip
        super().__init__(schema, rows, table.origin if table is not None else None)
        self.visit = list(visit)
        self.coders = list(coders)
        self.columns = dict(columns)
        self.kept = dict(kept or {})
        self.rules = tuple(rules)
        self.rescues = dict(rescues or {})
        self.passive = dict(passive or {})
        self.pairs = dict(pairs or {})
        self.expansion = expansion
        self.notes = list(notes)

    def _draw(self, rows: int, seed: Seed) -> Table:
        if self.kept and rows != self.rows:
            raise OptionError(
                f"some columns are kept as they are, so a sample has as many rows as the original ({self.rows:,}); "
                "ask for no number of rows, or keep no columns"
            )
        design = Design(self.coders, rows)
        rules = parse_rules(self.rules)
        base = sequence(seed, "draw")
        events: dict[str, Cells] = {}
        for place, name in enumerate(self.visit):
            if name in self.kept:
                vector = self.kept[name]
            elif name in self.passive:
                so_far = _loose_table(list(design.vectors.values()), rows)
                vector = Derived.parse(name, self.passive[name]).compute(self.schema[name], so_far)
            else:
                limits = Restrictions.at(name, self.visit[:place], rules)
                vector, event = self._column(
                    name, design, limits, sequence(base, name), events.pop(name, None)
                )
                if event is not None:
                    events[self.pairs[name]] = event
            design.fill(place, vector)
        found = {self.visit[place]: vector for place, vector in design.vectors.items()}
        vectors = [found[name] for name in self.schema.names]
        return Table.from_vectors(vectors, rows, self.origin, self.schema)

    def _column(
        self, name: str, design: Design, limits: Restrictions, seed: np.random.SeedSequence, given: Cells | None
    ) -> tuple[Vector, Cells | None]:  # fmt: skip
        """Draw one column: fixed rows are set, the others drawn until they break no rule.

        ``given`` are cells that were drawn already, with the time they belong to; for a time, the cells of its event
        column come back.
        """
        model = self.columns[name]
        everything: IntArray = np.arange(design.rows, dtype=np.int32)
        if not limits.fixed and not limits.checked:
            cells = _drawn(model, design, everything, seed, given)
            return Vector(model.column, cells.data, cells.state).tidy(), cells.event
        so_far = _loose_table(list(design.vectors.values()), design.rows)
        free = everything[~limits.fixed_rows(so_far)]
        drawn = _drawn(model, design, free, seed, given)
        cells = Cells.empty(design.rows, drawn.data.dtype)
        cells.put(free, drawn)
        if limits.checked:
            self._repair(name, design, limits, free, cells, so_far, seed)
        vector = Vector(model.column, cells.data, cells.state)
        return limits.set_fixed(vector, so_far) if limits.fixed else vector.tidy(), cells.event

    def _repair(
        self, name: str, design: Design, limits: Restrictions, free: IntArray, cells: Cells, so_far: Table,
        seed: np.random.SeedSequence,
    ) -> None:  # fmt: skip
        """Draw rows that break a rule again; take original cells for those that stay broken."""
        model = self.columns[name]
        bad = free
        for turn in range(TRIES + RESCUES):
            trial = Vector(model.column, cells.data[bad], cells.state[bad])
            beside = [so_far[other].take(bad) for other in limits.others if other != name]
            bad = bad[limits.broken(_loose_table([*beside, trial], len(bad)))]
            if not len(bad):
                return
            if turn < TRIES:
                cells.put(bad, model.draw(design, bad, sequence(seed, "again", turn)))
            else:
                cells.put(
                    bad, Cells(*self.rescues[name].cell_of(design, bad, sequence(seed, "rescue", turn)))
                )

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Coders, columns, kept columns and rules."""
        facts: dict[str, Any] = {"visit": self.visit, "kept": list(self.kept), "rules": list(self.rules)}
        facts |= {name: getattr(self, name) for name in ("passive", "pairs", "expansion", "notes")}
        arrays: dict[str, AnyArray] = {}
        groups: list[tuple[str, Mapping[str, Any]]] = [
            ("coder", {str(i): c for i, c in enumerate(self.coders)}),
            ("column", {str(self.visit.index(n)): c for n, c in self.columns.items()}),
            ("rescue", {str(self.visit.index(n)): r for n, r in self.rescues.items()}),
        ]
        for word, held in groups:
            facts[word] = {}
            for key, thing in held.items():
                more_facts, more_arrays = nest(key, thing.parts())
                facts[word] |= more_facts
                arrays |= {f"{word}.{k}": a for k, a in more_arrays.items()}
        for i, vector in enumerate(self.kept.values()):
            arrays |= vector_arrays(f"kept.{i}", vector)
        return facts, arrays

    @classmethod
    def from_parts(
        cls, schema: Schema, rows: int, facts: Mapping[str, Any], arrays: Arrays
    ) -> SequentialModel:
        """Rebuild from a saved file."""
        visit = list(facts["visit"])

        def rebuilt(word: str) -> dict[int, tuple[dict[str, Any], dict[str, AnyArray]]]:
            own = nested(word, facts, arrays)
            return {int(key): nested(key, *own) for key in own[0]}

        coders = [Coder.from_parts(*parts) for _, parts in sorted(rebuilt("coder").items())]
        columns = {
            visit[i]: ColumnModel.from_parts(schema[visit[i]], *p) for i, p in rebuilt("column").items()
        }
        rescues = {visit[i]: Rescue.from_parts(*p) for i, p in rebuilt("rescue").items()}
        kept = {name: vector_from(f"kept.{i}", schema[name], arrays) for i, name in enumerate(facts["kept"])}
        plain = [facts[name] for name in ("passive", "pairs", "expansion", "notes")]
        return cls(schema, rows, visit, coders, columns, kept, facts["rules"], rescues, *plain)


def _drawn(
    model: ColumnModel, design: Design, rows: IntArray, seed: np.random.SeedSequence, given: Cells | None
) -> Cells:
    """Cells of some rows; where a cell was drawn already with the time it belongs to, that one."""
    if given is None:
        return model.draw(design, rows, seed)
    cells = given.take(rows)
    left = np.flatnonzero(cells.state == UNDRAWN)
    if len(left):
        cells.put(left, model.draw(design, rows[left], seed))
    return cells


def _loose_table(vectors: Sequence[Vector], rows: int) -> Table:
    """A table of some columns, without the relations to columns that are not (yet) there."""
    loose = [replace(v, column=replace(v.column, parent=None, partner=None)) for v in vectors]
    return Table.from_vectors(loose, rows)
