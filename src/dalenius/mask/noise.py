"""Noise on numbers: independent, correlated, by random rotation, or for outliers only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.mask.needs import number_faults, one_draw_each
from dalenius.mask.neighbours import Floats, spread

BLOCK = 50
"""Rows turned together by random rotation."""
TOGETHER = 200
"""Blocks in memory at a time."""
OUTLYING = 0.975
"""Rows beyond this quantile of robust distances are outliers."""


@step
@dataclass(frozen=True)
class AddNoise(Step):
    """Random amounts added to numbers; ``amount`` is their standard deviation in that of the column.

    Examples
    --------
    >>> pay = Table.from_frame({"pay": [float(x) + 0.5 for x in range(100)]})
    >>> moved = AddNoise(("pay",), amount=0.1).apply(pay, 1).table["pay"].data - pay["pay"].data
    >>> bool(2 < moved.std() < 4)
    True
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="add-noise",
        title="Noise",
        meaning="Adds random amounts to numbers.",
        plain="Every amount is moved a little, up or down, by chance.",
        guarantee="none",
        reference="Brand 2002; Ting, Fienberg and Trottini 2008",
        example_options={"variables": ["income"], "amount": 0.1},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="numbers that get noise", knob=True)
    ]
    amount: Annotated[
        float,
        Option(
            above=0,
            title="Amount",
            meaning="spread of the noise in that of the column: more is safer",
            knob=True,
        ),
    ] = 0.1
    method: Annotated[
        Literal["additive", "correlated", "restored", "rotation", "outliers"],
        Option(title="Way", meaning="independent, correlated as the data, with variances restored, by rotation, or "
               "for outliers only"),
    ] = "additive"  # fmt: skip

    def conflicts(self) -> list[str]:
        """Columns to change, each once."""
        wrong = [] if self.variables else ["variables names none; say which columns get noise"]
        return wrong + (["a column is named twice"] if len(set(self.variables)) < len(self.variables) else [])

    def faults(self, table: Table) -> list[str]:
        """Numbers, and complete rows where columns move together."""
        wrong = super().faults(table) + number_faults(table, self.variables)
        if not wrong and self.method != "additive":
            full = int(np.count_nonzero(np.all([table[name].present for name in self.variables], axis=0)))
            if full < len(self.variables) + 2:
                wrong.append(f"{full} rows have all {len(self.variables)} values; {self.method!r} needs "
                             f"{len(self.variables) + 2} or more")  # fmt: skip
        return wrong

    def cost(self, shape: Shape) -> Cost:
        """Rotation turns blocks of rows."""
        turns = 4e-5 if self.method == "rotation" else 1e-7
        return Cost(0.01 + turns * shape.rows, 40.0 * shape.rows * max(len(self.variables), 1))

    def _apply(self, table: Table, seed: Seed) -> Masked:
        vectors = [table[name] for name in self.variables]
        values = np.column_stack([vector.floats() for vector in vectors])
        full = np.all([vector.present for vector in vectors], axis=0)
        rng = generator(seed, "noise")
        moved = values.copy()
        if self.method == "additive":
            moved += rng.normal(size=values.shape) * self.amount * _spread(values)
        else:
            moved[full] = self._together(values[full], rng)
            if not full.all():  # rows with gaps get noise of their own
                alone = rng.normal(size=values.shape) * self.amount * _spread(values)
                moved[~full] += alone[~full] if self.method != "outliers" else 0.0
        made = []
        for j, vector in enumerate(vectors):
            new = np.where(vector.present, moved[:, j], 0.0)
            if vector.data.dtype.kind == "f":
                digits = vector.column.decimals
                data = new if digits is None else np.round(new, digits)
            else:
                data = np.rint(new).astype(vector.data.dtype)
            made.append(replace(vector, column=replace(vector.column, bounds=None), data=data))
        return Masked.of(table, table.with_vectors(*one_draw_each(table, made)), perturbed=self.variables,
                         notes=[f"Noise of {self.amount:g} standard deviations ({self.method})."])  # fmt: skip

    def _together(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Rows whose columns move together."""
        if self.method == "rotation":
            return rotated(values, self.amount, rng)
        mean = values.mean(axis=0)
        noise = self.amount * _like(values, rng)
        if self.method == "outliers":
            far = np.sqrt((spread(values, "robust").values ** 2).sum(axis=1))
            noise[far <= np.quantile(far, OUTLYING)] = 0.0
            return values + noise
        if (
            self.method == "restored"
        ):  # x = mean + (x - mean + e) / sqrt(1 + a²): covariances as before (Kim 1986)
            return mean + (values - mean + noise) / np.sqrt(1 + self.amount**2)
        return values + noise


def _spread(values: Floats) -> Floats:
    """Standard deviation of each column; 0 where one row says nothing of it."""
    held = np.count_nonzero(~np.isnan(values), axis=0)
    middle = np.nansum(values, axis=0) / np.maximum(held, 1)
    made: Floats = np.sqrt(np.nansum((values - middle) ** 2, axis=0) / np.maximum(held - 1, 1))
    return made


def _like(values: Floats, rng: np.random.Generator) -> Floats:
    """Normal amounts with mean 0 and the covariance of the data."""
    sizes, turns = np.linalg.eigh(np.atleast_2d(np.cov(values.T)))
    drawn: Floats = rng.normal(size=values.shape) * np.sqrt(np.maximum(sizes, 0)) @ turns.T
    return drawn


def rotated(values: Floats, amount: float, rng: np.random.Generator) -> Floats:
    """Rows mixed by random orthogonal matrices that keep means and covariances exactly (ROMM).

    Rows are taken in blocks drawn at random. In each block X becomes T X with T 1 = 1 and T' T = I: T is the orthogonal
    factor of I + a G, G normal, on what is orthogonal to 1 (Ting, Fienberg and Trottini 2008).

    Examples
    --------
    >>> values = np.random.default_rng(1).normal(size=(100, 2))
    >>> made = rotated(values, 0.3, np.random.default_rng(2))
    >>> bool(np.allclose(np.cov(made.T), np.cov(values.T))), bool(np.allclose(made.mean(0), values.mean(0)))
    (True, True)
    """
    rows = len(values)
    order = rng.permutation(rows)
    whole = max(rows // BLOCK - 1, 0)  # the last block takes the remainder
    made = values.copy()
    for begin in range(0, whole, TOGETHER):
        blocks = order[begin * BLOCK : min(begin + TOGETHER, whole) * BLOCK].reshape(-1, BLOCK)
        made[blocks] = _turned(values[blocks], amount, rng)
    rest = order[whole * BLOCK :]
    if len(rest) > 2:
        made[rest] = _turned(values[rest][None], amount, rng)[0]
    return made


def _turned(blocks: Floats, amount: float, rng: np.random.Generator) -> Floats:
    """Blocks of rows, each mixed by an orthogonal matrix of its own that keeps its mean."""
    count, size, _ = blocks.shape
    vector = np.ones(size)
    vector[0] += np.sqrt(size)
    basis = (np.eye(size) - 2 * np.outer(vector, vector) / (vector @ vector))[
        :, 1:
    ]  # a mirror sends 1 to an axis
    mixed = np.eye(size - 1) + amount * rng.normal(size=(count, size - 1, size - 1)) / np.sqrt(size - 1)
    turns, upper = np.linalg.qr(mixed)
    turns = turns * np.sign(np.diagonal(upper, axis1=1, axis2=2))[:, None, :]
    mean = blocks.mean(axis=1, keepdims=True)
    turned: Floats = mean + basis @ (turns @ (basis.T @ (blocks - mean)))
    return turned
