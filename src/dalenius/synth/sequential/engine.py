"""Fitting a sequence: every column is fitted on the original, so columns are fitted on several threads at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from dalenius.core.errors import names
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.keyed import keyed
from dalenius.data.rules import parse_rules
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.column import ColumnModel, Event, Recipe
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.model import SequentialModel
from dalenius.synth.sequential.regression import one_thread
from dalenius.synth.sequential.restrict import Rescue, Restrictions, coders_fit

Fitting = Callable[[str, int, int], None]
"""Called with the column just fitted, how many are done and how many there are."""


@dataclass(frozen=True)
class Plan:
    """What is to be fitted, with every choice made.

    Attributes
    ----------
    visit
        Columns in the order in which they will be drawn, kept ones first.
    recipes
        How each synthesized column is modelled.
    keep
        Columns that are not synthesized.
    rules
        Rules of the drawn rows.
    passive
        Columns that are computed, with their expressions.
    weights
        Case weight of every row; rows with weight 0 are left out.
    events, pairs
        For a column of times, what happened then; and the event column that is drawn together with it.
    expansion
        People of the population that one row stands for.
    notes
        What a person should know about the data, in plain sentences.
    """

    visit: tuple[str, ...]
    recipes: Mapping[str, Recipe]
    keep: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    passive: Mapping[str, str] = field(default_factory=dict)
    weights: Floats | None = field(default=None, compare=False, repr=False)
    events: Mapping[str, Event] = field(default_factory=dict, compare=False, repr=False)
    pairs: Mapping[str, str] = field(default_factory=dict)
    expansion: float = 1.0
    notes: tuple[str, ...] = ()


class _Counted:
    """Tells of one column after the other, whichever thread fitted it."""

    def __init__(self, progress: Fitting | None, columns: int) -> None:
        self.progress = progress
        self.columns = columns
        self.done = 0
        self.lock = Lock()

    def __call__(self, name: str) -> None:
        with self.lock:
            self.done += 1
            if self.progress is not None:
                self.progress(name, self.done, self.columns)


def fit_sequence(
    table: Table, plan: Plan, seed: Seed, model: type[SequentialModel] = SequentialModel,
    *, threads: int | None = None, progress: Fitting | None = None,
) -> SequentialModel:  # fmt: skip
    """Fit every column of a plan."""
    coders = [Coder.fit(table[name]) for name in plan.visit]
    design = Design(coders, table.rows)
    for place, name in enumerate(plan.visit):
        design.fill(place, table[name])
    rules = parse_rules(plan.rules)
    base = sequence(seed, "fit")
    made = [name for name in plan.visit if name not in plan.keep and name not in plan.passive]
    everything: IntArray = np.arange(table.rows, dtype=np.int32)
    counted = everything if plan.weights is None else np.flatnonzero(plan.weights > 0)
    tell = _Counted(progress, len(made))

    def fit_one(name: str) -> tuple[ColumnModel, Rescue | None]:
        place = plan.visit.index(name)
        limits = Restrictions.at(name, plan.visit[:place], rules)
        rows = counted[~limits.fixed_rows(table)[counted]] if limits.fixed else counted
        fitted = ColumnModel.fit(
            table[name], place, design, rows, plan.recipes[name], plan.weights, plan.events.get(name),
            sequence(base, name),
        )  # fmt: skip
        tell(name)
        return fitted, _rescue(name, limits, design, table, plan.visit)

    with one_thread(), ThreadPoolExecutor(max_workers=threads) as pool:
        fitted = dict(zip(made, pool.map(fit_one, made), strict=True))
    columns = {n: f for n, (f, _) in fitted.items()}
    rescues = {n: r for n, (_, r) in fitted.items() if r is not None}
    kept = _apart(table, plan.keep, seed) if plan.keep else {}
    notes = [*plan.notes, *_separation(columns)]
    return model(
        table.schema, table.rows, plan.visit, coders, columns, kept, plan.rules, rescues, plan.passive, plan.pairs,
        plan.expansion, notes, table,
    )  # fmt: skip


def _apart(table: Table, kept: Sequence[str], seed: Seed) -> dict[str, Vector]:
    """Kept cells are the original's own: in an order of their own, so that no place tells whose row a row is."""
    order = generator(keyed(seed, table), "kept").permutation(table.rows)
    return {name: table[name].take(order) for name in kept}


def _separation(columns: Mapping[str, ColumnModel]) -> list[str]:
    """A remark on columns of which some answers are certain: their odds are infinite, ours are not."""
    separated = [name for name, column in columns.items() if column.separated]
    if not separated:
        return []
    return [
        f"separation: predictors decide some answers of {names(separated)} completely; the shrinkage (option ridge) "
        "keeps the coefficients finite"
    ]


def _rescue(
    name: str, limits: Restrictions, design: Design, table: Table, visit: Sequence[str]
) -> Rescue | None:
    if not limits.checked:
        return None
    places = [visit.index(other) for other in limits.others if other != name]
    while places and not coders_fit([design.coders[p] for p in places]):
        places.pop()
    return Rescue.fit(table[name], design, places)
