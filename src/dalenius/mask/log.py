"""What each step of a recipe did: cells and records changed, what was lost, and the risk before and after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from dalenius.core.errors import counted
from dalenius.core.random import Seed
from dalenius.core.result import figure
from dalenius.data.recipe import Recipe
from dalenius.data.schema import Role
from dalenius.data.steps.step import Masked
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.risk.sample.frequencies import frequencies
from dalenius.risk.sample.individual import sample_risk
from dalenius.utility.detail import bits


@dataclass(frozen=True)
class Logged:
    """One step of a recipe as it was done.

    Attributes
    ----------
    cells, records
        Cells and records changed.
    loss
        Share of what the columns told (their entropy) that is gone after the step.
    before, after
        Expected re-identifications by the keys before and after the step, the smallest group of records that look
        alike likewise; None without keys.
    """

    step: str
    columns: tuple[str, ...]
    cells: int
    records: int
    loss: float
    before: tuple[float, int] | None
    after: tuple[float, int] | None
    notes: tuple[str, ...] = ()

    @property
    def public(self) -> str:
        """What people outside may know: which step on which columns, without its parameters and counts."""
        where = f" of {', '.join(self.columns)}" if self.columns else ""
        return f"{self.step}{where}"

    def __str__(self) -> str:
        text = f"{self.public}: {counted(self.cells, 'cell')} of {counted(self.records, 'record')} changed"
        text += f", {100 * self.loss:.1f} % of what the columns told is gone"
        if self.before is not None and self.after is not None:
            text += (
                f"; expected re-identifications {figure(self.before[0])} → {figure(self.after[0])}, "
                f"smallest group {self.before[1]} → {self.after[1]}"
            )
        return text


def run(
    recipe: Recipe, table: Table, seed: Seed = None, keys: list[str] | None = None
) -> tuple[Masked, list[Logged]]:
    """Do a recipe and log every step; the table given stays as it is.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> table = Table.from_frame({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    >>> made, log = run(Recipe((Recode("age", width=20),)), table, 1, ["age", "sex"])
    >>> print(log[0])
    recode of age: 40 cells of 40 records changed, 81.2 % of what the columns told is gone; expected re-identifications
    40 → 4, smallest group 1 → 10
    """
    known = table.schema.by_role(Role.KEY) if keys is None else keys
    whole, log, before = Masked(table), [], _risk(table, known)
    for step, made in zip(recipe.steps, recipe.each(table, seed), strict=True):
        after = _risk(made.table, known)
        touched = tuple(made.changed) or step.named
        lost = _loss(whole.table, made.table, touched)
        log.append(
            Logged(
                step.do, touched, sum(made.changed.values()), made.records, lost, before, after, made.notes
            )
        )
        whole, before = whole.then(made), after
    return whole, log


def log_frame(log: list[Logged]) -> pl.DataFrame:
    """The log as a table.

    Examples
    --------
    >>> log_frame([Logged("round", ("pay",), 3, 3, 0.5, None, None)]).columns[:3]
    ['step', 'columns', 'cells changed']
    """
    return pl.DataFrame(
        [
            {
                "step": each.step, "columns": ", ".join(each.columns), "cells changed": each.cells,
                "records changed": each.records, "loss": each.loss,
                "expected re-identifications before": each.before[0] if each.before else None,
                "after": each.after[0] if each.after else None,
                "smallest group before": each.before[1] if each.before else None,
                "smallest group after": each.after[1] if each.after else None,
            }
            for each in log
        ]
    )  # fmt: skip


def _risk(table: Table, keys: list[str]) -> tuple[float, int] | None:
    """Expected re-identifications and smallest group; a gap is a value of its own, as in `evaluate`."""
    there = [name for name in keys if name in table]
    if not keys or not table.rows:
        return None
    if not there:
        return float(table.rows / max(table.rows, 1)), table.rows
    return sample_risk(table, there, alpha=None).expected, int(frequencies(table, there, alpha=None).fk.min())


def _loss(before: Table, after: Table, columns: tuple[str, ...]) -> float:
    """Share of the entropy of some columns that is gone; a cell that was emptied tells nothing any more."""
    had = sum(bits(before[name]) for name in columns if name in before)
    has = sum(_still(before, after[name], name) for name in columns if name in after)
    return max(0.0, 1 - has / had) if had else 0.0


def _still(before: Table, vector: Vector, name: str) -> float:
    """Entropy of a column over the rows whose cell was not emptied, of all rows."""
    if name not in before or before.rows != len(vector):
        return bits(vector)
    kept = np.flatnonzero(vector.present | ~before[name].present)
    return bits(vector.take(kept)) * len(kept) / max(len(vector), 1)
