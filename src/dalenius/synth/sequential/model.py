"""`SequentialModel`: fitted columns in visit order, drawn one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import ClassVar

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, sequence
from dalenius.data.derived import Derived
from dalenius.data.rules import parse_rules
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, IntArray, Vector, states
from dalenius.synth.base import Model
from dalenius.synth.conditional import Condition, with_levels
from dalenius.synth.sequential.block import Block
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.column import UNDRAWN, Cells, ColumnModel
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.parameters import parameter_table
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
    block
        The first columns as one table, where they are drawn together.
    notes
        What a person should know about the fit, in plain sentences.
    """

    method: ClassVar[str] = "cart"
    contents = (
        "for each column a model that holds its values: the donors in the leaves of the trees, not linked across "
        "columns; values of fewer than 3 units were drawn anew. Whoever has it can draw any number of files"
    )

    keeps = (
        "visit", "coders", "columns", "kept", "rules", "rescues", "passive", "pairs", "expansion", "notes", "block",
    )  # fmt: skip

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
        self.block: Block | None = None

    def parameters(self) -> pl.DataFrame:
        """The coefficients of every column's model, to be printed; they tell as much as the model file does.

        Examples
        --------
        >>> from dalenius.synth import make_synthesizer
        >>> data = {"age": list(range(20, 80)) * 5, "pay": [100 + 3 * i % 89 for i in range(300)]}
        >>> model = make_synthesizer("parametric", methods={"pay": "norm"}).fit(data, seed=1)
        >>> model.parameters().filter(column="pay")["term"].to_list()
        ['(Intercept)', '(age - 49.5) / 17.3181', 'residual standard deviation']
        """
        return parameter_table(self.columns, self.visit, self.coders, self.schema)

    def _draw(self, rows: int, seed: Seed) -> Table:
        return self._sequence(rows, seed, _Nothing())

    def draw_block(self, rows: int, seed: Seed, conditions: Sequence[Condition] = ()) -> Table:
        """Rows are left out as soon as the columns of a condition are drawn and break it."""
        if self.kept:
            raise OptionError("some columns are kept as they are, so rows cannot be drawn on conditions")
        return self._sequence(rows, seed, _Rejecting(conditions))

    def fill(self, given: Mapping[str, Vector], rows: int, seed: Seed) -> tuple[Table, IntArray]:
        """Rows with the given cells put in, and how many columns of each hold until the first that would differ."""
        if self.kept or self.block is not None:
            how = "kept as they are" if self.kept else "drawn together (block)"
            raise OptionError(f"some columns are {how}, so rows cannot be filled")
        filling = _Filling(given, rows)
        return self._sequence(rows, seed, filling), filling.held

    def after(self, given: Mapping[str, Vector], rows: int, seed: Seed) -> Table:
        """Rows that begin with these columns in place of those the model was fitted to keep; the others are drawn."""
        beside = copy(self)
        beside.kept, beside.rows = dict(given), rows
        return beside._draw(rows, seed)

    def _sequence(self, rows: int, seed: Seed, watch: _Nothing) -> Table:
        """Draw the columns one after the other; ``watch`` may change a column, or leave rows out, after each."""
        if self.kept and rows != self.rows:
            raise OptionError(
                f"some columns are kept as they are, so a sample has as many rows as the original ({self.rows:,}); "
                "ask for no number of rows, or keep no columns"
            )
        design = Design(self.coders, rows)
        rules = parse_rules(self.rules)
        base = sequence(seed, "draw")
        events: dict[str, Cells] = {}
        given = self.kept if self.block is None else self.block.draw(rows, sequence(base, "block"), rules)
        for place, name in enumerate(self.visit):
            if name in given:
                vector = given[name]
            elif name in self.passive:
                so_far = _loose_table(list(design.vectors.values()), design.rows)
                vector = Derived.parse(name, self.passive[name]).compute(self.schema[name], so_far)
            else:
                limits = Restrictions.at(name, self.visit[:place], rules)
                vector, event = self._column(
                    name, design, limits, sequence(base, name), events.pop(name, None)
                )
                if event is not None:
                    events[self.pairs[name]] = event
            design.fill(place, watch.seen(name, vector, self.coders[place]))
            stay = watch.stay(design, self.visit[: place + 1])
            if stay is not None:
                design.keep(stay)
                events = {time: cells.take(stay) for time, cells in events.items()}
        drawn = {self.visit[place]: vector for place, vector in design.vectors.items()}
        vectors = [drawn[name] for name in self.schema.names]
        return Table.from_vectors(vectors, design.rows, self.origin, self.schema)

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


class _Nothing:
    """Watches a sequence being drawn, and changes nothing."""

    def seen(self, name: str, vector: Vector, coder: Coder) -> Vector:
        """A column that was drawn, as it is to go on."""
        return vector

    def stay(self, design: Design, names: Sequence[str]) -> IntArray | None:
        """Rows to go on with; None for all."""
        return None


class _Rejecting(_Nothing):
    """Leaves out rows that break a condition, once its columns are there."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.open = list(conditions)

    def stay(self, design: Design, names: Sequence[str]) -> IntArray | None:
        """Rows that meet the conditions whose last column was just drawn."""
        now = [c for c in self.open if set(c.columns) <= set(names)]
        if not now:
            return None
        self.open = [c for c in self.open if c not in now]
        so_far = _loose_table(list(design.vectors.values()), design.rows)
        met = np.ones(design.rows, bool)
        for condition in now:
            met &= condition.met(so_far)
        return np.flatnonzero(met)


class _Filling(_Nothing):
    """Puts given cells in, and notes for each row how far the model itself would have drawn the same."""

    def __init__(self, given: Mapping[str, Vector], rows: int) -> None:
        self.given = given
        self.free = np.zeros(rows, bool)
        self.alive = np.ones(rows, bool)
        self.held: IntArray = np.zeros(rows, np.int64)

    def seen(self, name: str, vector: Vector, coder: Coder) -> Vector:
        """The column with its given cells."""
        if name in self.given:
            theirs = with_levels(self.given[name], vector.column)
            there = states(theirs) != MISSING
            known = theirs.is_number or theirs.levels == vector.levels
            same = coder.codes(vector) == coder.codes(theirs) if known else np.zeros(len(vector), bool)
            self.alive &= ~there | ~self.free | same
            data = np.where(there, theirs.data, vector.data)
            state = np.where(there, states(theirs), states(vector)).astype(np.uint8)
            vector = Vector(vector.column, data, state).tidy() if known else vector
            self.free |= ~there
        else:
            self.free[:] = True
        self.held += self.alive
        return vector


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
