"""Fitting a sequence: every column is fitted on the original, so columns are fitted on several threads at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from dalenius.core.random import Seed, sequence
from dalenius.data.rules import parse_rules
from dalenius.data.table import Table
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.column import ColumnModel, Recipe
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.model import SequentialModel
from dalenius.synth.sequential.restrict import Rescue, Restrictions, coders_fit

Progress = Callable[[str, int, int], None]
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
    """

    visit: tuple[str, ...]
    recipes: Mapping[str, Recipe]
    keep: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    weights: Floats | None = field(default=None, compare=False)


def fit_sequence(
    table: Table, plan: Plan, seed: Seed, *, threads: int | None = None, progress: Progress | None = None
) -> SequentialModel:
    """Fit every column of a plan."""
    coders = [Coder.fit(table[name]) for name in plan.visit]
    design = Design(coders, table.rows)
    for place, name in enumerate(plan.visit):
        design.fill(place, table[name])
    rules = parse_rules(plan.rules)
    base = sequence(seed, "fit")
    made = [name for name in plan.visit if name not in plan.keep]
    everything = np.arange(table.rows)
    done = 0

    def fit_one(name: str) -> tuple[ColumnModel, Rescue | None]:
        nonlocal done
        place = plan.visit.index(name)
        limits = Restrictions.at(name, plan.visit[:place], rules)
        rows = np.flatnonzero(~limits.fixed_rows(table)) if limits.fixed else everything
        fitted = ColumnModel.fit(
            table[name], place, design, rows, plan.recipes[name], plan.weights, sequence(base, name)
        )
        done += 1
        if progress is not None:
            progress(name, done, len(made))
        return fitted, _rescue(name, limits, design, table, plan.visit)

    with ThreadPoolExecutor(max_workers=threads) as pool:
        fitted = dict(zip(made, pool.map(fit_one, made), strict=True))
    return SequentialModel(
        table.schema, table.rows, plan.visit, coders, {n: f for n, (f, _) in fitted.items()},
        {name: table[name] for name in plan.keep}, plan.rules,
        {n: r for n, (_, r) in fitted.items() if r is not None}, table,
    )  # fmt: skip


def _rescue(
    name: str, limits: Restrictions, design: Design, table: Table, visit: Sequence[str]
) -> Rescue | None:
    if not limits.checked:
        return None
    places = [visit.index(other) for other in limits.others if other != name]
    while places and not coders_fit([design.coders[p] for p in places]):
        places.pop()
    return Rescue.fit(table[name], design, places)
