"""Shuffling: a column's values are handed out anew, so that relations stay and no value stays with its row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from scipy.special import ndtri

from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Kind
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.mask.needs import number_faults
from dalenius.mask.neighbours import Floats


@step
@dataclass(frozen=True)
class Shuffle(Step):
    """Values handed out anew in the order of a draw that depends on other columns (data shuffling).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> age = rng.integers(20, 80, 500)
    >>> people = Table.from_frame({"age": age, "pay": age * 10.0 + rng.normal(0, 50, 500)})
    >>> made = Shuffle(("pay",), by=("age",)).apply(people, 1).table
    >>> bool(np.corrcoef(made["age"].data, made["pay"].data)[0, 1] > 0.9)
    True
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="shuffle",
        title="Data shuffling",
        meaning="Hands a column's values out anew so that its relations to other columns stay.",
        plain="All amounts stay in the file, but they are dealt to other people who are much alike.",
        guarantee="none",
        reference="Muralidhar and Sarathy 2006",
        example_options={"variables": ["income"], "by": ["age"]},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="confidential numbers that are shuffled", knob=True)
    ]
    by: Annotated[tuple[str, ...], Option(title="By", meaning="columns whose relation to them is kept")] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Also those whose relation is kept."""
        return (*super().named, *self.by)

    def conflicts(self) -> list[str]:
        """Columns to shuffle, and others to shuffle by."""
        wrong = [] if self.variables else ["variables names none; say which columns are shuffled"]
        return wrong + (
            ["a column cannot be shuffled by itself"] if set(self.variables) & set(self.by) else []
        )

    def faults(self, table: Table) -> list[str]:
        """Numbers, and rows that have all of them."""
        wrong = super().faults(table) + number_faults(table, self.variables)
        if (
            not wrong
            and np.count_nonzero(_full(table, self.variables)) < len(self.variables) + len(self.by) + 2
        ):
            wrong.append("too few rows have all values of the columns; leave some out")
        return wrong

    def _apply(self, table: Table, seed: Seed) -> Masked:
        full = np.flatnonzero(_full(table, self.variables))
        wanted = np.column_stack([_scores(table[name].data[full].astype(float)) for name in self.variables])
        known = [_predictors(table[name], full) for name in self.by]
        given = np.column_stack(known) if known else np.zeros((len(full), 0))
        drawn = conditional(wanted, given, generator(seed, "shuffle"))
        made = []
        for j, name in enumerate(self.variables):
            vector = table[name]
            data = vector.data.copy()
            data[full[np.argsort(drawn[:, j], kind="stable")]] = np.sort(vector.data[full])
            made.append(replace(vector, data=data))
        left = table.rows - len(full)
        notes = ["Values were dealt out anew; each column holds the values it held."]
        notes += [f"{left:,} rows with gaps keep their values."] if left else []
        return Masked.of(table, table.with_vectors(*made), perturbed=self.variables, notes=notes)


def conditional(wanted: Floats, given: Floats, rng: np.random.Generator) -> Floats:
    """Draws of normal scores given others: the regression on them, and residuals with the covariance that is left.

    Examples
    --------
    >>> given = np.random.default_rng(1).normal(size=(500, 1))
    >>> drawn = conditional(2 * given, given, np.random.default_rng(2))
    >>> bool(np.allclose(drawn, 2 * (given - given.mean()), atol=1e-6))
    True
    """
    centred, base = wanted - wanted.mean(axis=0), given - given.mean(axis=0)
    slopes = (
        np.linalg.lstsq(base, centred, rcond=None)[0] if base.shape[1] else np.zeros((0, wanted.shape[1]))
    )
    fitted = base @ slopes
    rest = centred - fitted
    sizes, turns = np.linalg.eigh(rest.T @ rest / len(rest))
    drawn: Floats = fitted + rng.normal(size=wanted.shape) * np.sqrt(np.maximum(sizes, 0)) @ turns.T
    return drawn


def _scores(values: Floats) -> Floats:
    """Normal scores of ranks, equal values by their mean rank."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    _, ids = np.unique(values, return_inverse=True)
    mean = np.bincount(ids, ranks) / np.bincount(ids)
    scores: Floats = ndtri((mean[ids] - 0.5) / len(values))
    return scores


def _predictors(vector: Vector, rows: np.ndarray) -> Floats:
    """Columns to predict by: scores of an ordered one (gaps in the middle), or one for each level but the first."""
    present = vector.present[rows]
    if vector.is_number or vector.column.kind is Kind.ORDERED:
        scores = np.zeros((len(rows), 2))
        scores[present, 0] = _scores(vector.data[rows][present].astype(float))
        scores[:, 1] = ~present
        return scores if not present.all() else scores[:, :1]
    codes = vector.categories.codes[rows]
    levels = np.unique(codes)[1:]
    return (codes[:, None] == levels).astype(float)


def _full(table: Table, names: tuple[str, ...]) -> np.ndarray:
    return np.all([table[name].present for name in names], axis=0)
