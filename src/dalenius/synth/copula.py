"""`copula`: the columns' own distributions, joined by one correlation each pair.

Every column is read as a normal variable cut into pieces, one piece a value or category, in an order; a file is drawn
by drawing correlated normals and cutting them again (Sklar 1959; Nelsen 2006). Categories without an order get one
from the data: that of their mean on the first common component, found by turns (reciprocal averaging; Hill 1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.later import special
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import VALUE, AnyArray, BoolArray, IntArray, Vector
from dalenius.synth._store import stored
from dalenius.synth.base import Model, Synthesizer, register

FloatArray = npt.NDArray[np.float64]
TURNS = 4
"""How often categories are put in order again by the component that the last order gave."""
VALUES, STATES = "values", "states"
LEAST = 1e-6
"""Least eigenvalue of a matrix of correlations that can be drawn from."""


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Pieces:
    """Entries as pieces of a normal variable.

    Attributes
    ----------
    entries
        Distinct entries, in the order of their pieces.
    ends
        How many records have one of the entries up to each.
    """

    entries: AnyArray
    ends: IntArray

    @classmethod
    def of(cls, entries: AnyArray, codes: IntArray, rank: IntArray) -> Pieces:
        """Pieces of entries that have these places, with one code a row."""
        order = np.argsort(rank, kind="stable")
        return cls(entries[order], np.cumsum(np.bincount(codes, minlength=len(rank))[order]))

    def draw(self, normal: FloatArray) -> AnyArray:
        """Entries of drawn normals."""
        place = np.searchsorted(self.ends, special.ndtr(normal) * self.ends[-1], side="right")
        return self.entries[np.minimum(place, len(self.ends) - 1)]


def middles(times: IntArray) -> FloatArray:
    """Mean of a standard normal variable over each of its pieces, which hold so many of the records.

    Examples
    --------
    >>> middles(np.array([1, 1])).round(3).tolist()
    [-0.798, 0.798]
    """
    shares = times / times.sum()
    ends = special.ndtri(np.clip(np.cumsum(shares), 0.0, 1.0))
    height = np.exp(-0.5 * np.square(ends[:-1])) / np.sqrt(2 * np.pi)
    height = np.concatenate([[0.0], height, [0.0]])
    return np.asarray((height[:-1] - height[1:]) / shares)


def latent_correlations(scores: FloatArray, present: FloatArray) -> FloatArray:
    """Correlations of normal variables whose pieces have these middles, as far as correlations alone decide.

    Cutting a variable into pieces leaves a share v of its variance, so that a correlation ρ shows as a covariance of
    ρ·v·w between middles. A pair is judged by the rows that have both. The result is the nearest matrix that can be
    drawn from.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=1000)
    >>> cut = np.where(np.array([x, x]) > 0, 0.798, -0.798)
    >>> latent_correlations(cut, np.ones((2, 1000))).round(3).tolist()
    [[1.0, 0.995], [0.995, 1.0]]
    """
    both = np.maximum(present @ present.T, 1.0)
    covariance = (scores * present) @ (scores * present).T / both
    held = np.diag(covariance)
    matrix = np.where(np.outer(held, held) > 0, covariance / np.maximum(np.outer(held, held), 1e-12), 0.0)
    matrix = np.clip(matrix, -0.995, 0.995)
    np.fill_diagonal(matrix, 1.0)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= LEAST:
        return np.asarray(matrix)
    repaired = (vectors * np.maximum(values, LEAST)) @ vectors.T
    scale = np.sqrt(np.diag(repaired))
    return np.asarray(repaired / np.outer(scale, scale))


class CopulaModel(Model):
    """Pieces of every column, and the correlations of the normals behind them."""

    method = "copula"
    keeps = ("pieces", "factor")
    contents = (
        "every distinct value of each column with its count, and one correlation for each pair of columns"
    )

    def __init__(self, table: Table, pieces: dict[tuple[str, str], Pieces], factor: FloatArray) -> None:
        super().__init__(table.schema, table.rows, table.origin)
        self.pieces = pieces
        self.factor = factor

    def _draw(self, rows: int, seed: Seed) -> Table:
        normals = generator(seed, "normals").standard_normal((rows, len(self.factor))) @ self.factor.T
        drawn = {part: pieces.draw(normals[:, i]) for i, (part, pieces) in enumerate(self.pieces.items())}
        vectors = []
        for column in self.schema:
            state = drawn.get((column.name, STATES))
            data = drawn.get((column.name, VALUES), np.zeros(rows, np.int64))
            if state is not None:
                data = np.where(state == VALUE, data, 0).astype(data.dtype)
            vectors.append(Vector(column, data, state).tidy())
        return Table.from_vectors(vectors, rows, self.origin, self.schema)


@register
@dataclass(frozen=True)
class Copula(Synthesizer):
    """Draw the columns' own distributions, joined by a correlation for each pair.

    Fast, and right where every relation is one of more and less. What a correlation cannot say is lost: curves,
    groups, combinations that do not occur.

    Examples
    --------
    >>> table = Table.from_frame({"age": list(range(20, 60)) * 5, "pay": [3 * a for a in range(20, 60)] * 5})
    >>> made = Copula().fit(table).sample(500, seed=1)
    >>> bool(np.corrcoef(made["age"].data, made["pay"].data)[0, 1] > 0.9)
    True
    """

    info = MethodInfo(
        name="copula",
        title="Gaussian copula",
        meaning="Right margins, and one correlation for each pair of columns; curves and combinations are lost.",
        guarantee="none: relations are few, but single values come from the data",
        plain="The program learns how the answers to each question are spread and which go up and down together, and "
        "makes up new people from that alone.",
        reference="Sklar 1959; Nelsen 2006; reciprocal averaging: Hill 1973",
    )
    model = CopulaModel

    def _fit(self, table: Table, seed: Seed) -> CopulaModel:
        if not table.rows:
            return CopulaModel(table, {}, np.zeros((0, 0)))
        parts = [part for name in table.names for part in _parts(table[name])]
        free = [part for part in parts if part.free and len(part.entries) > 2]
        present = np.array([part.present for part in parts], dtype=np.float64)
        for _ in range(TURNS if free and len(parts) > 1 else 0):
            common = _component(np.array([part.scores() for part in parts]), present)
            for part in free:
                part.put_in_order(common)
        correlations = latent_correlations(np.array([part.scores() for part in parts]), present)
        pieces = {part.name: Pieces.of(part.entries, part.codes[part.present], part.rank) for part in parts}
        return CopulaModel(table, pieces, np.asarray(np.linalg.cholesky(correlations), np.float64))

    def cost(self, shape: Shape) -> Cost:
        """A sort of each column, and a normal and a search per drawn cell."""
        cells = shape.rows * shape.columns
        return Cost(
            seconds=0.02 + 4e-7 * cells + 2e-9 * cells * shape.columns,
            bytes=40.0 * cells + 9.0 * shape.columns**2,
        )


@dataclass(repr=False)
class _Part:
    """Values, or states (gaps, special codes), of one column while they are put in order."""

    name: tuple[str, str]
    entries: AnyArray
    codes: IntArray
    present: BoolArray
    free: bool

    def __post_init__(self) -> None:
        self.rank: IntArray = np.arange(len(self.entries))

    def scores(self) -> FloatArray:
        """The middle of each row's piece; 0, the mean of all, where it has none."""
        place = self.rank[self.codes]
        times = np.bincount(place[self.present], minlength=len(self.entries))
        return np.where(self.present, middles(times)[place], 0.0)

    def put_in_order(self, common: FloatArray) -> None:
        """Places of the entries by their mean on the common component."""
        held = np.bincount(self.codes[self.present], minlength=len(self.entries))
        means = np.bincount(self.codes[self.present], common[self.present], len(self.entries)) / held
        self.rank = np.empty(len(means), np.int64)
        self.rank[np.argsort(means, kind="stable")] = np.arange(len(means))


def _parts(vector: Vector) -> list[_Part]:
    """The values of a column, and its states where it has several."""
    name, every = vector.column.name, np.ones(len(vector), bool)
    parts = []
    if vector.present.any():
        entries, inverse = np.unique(vector.values, return_inverse=True)
        codes = np.zeros(len(vector), np.int64)
        codes[vector.present] = inverse
        unordered = not vector.is_number and vector.column.kind is not Kind.ORDERED
        parts.append(_Part((name, VALUES), entries, codes, vector.present, unordered))
    if vector.state is not None:
        held, inverse = np.unique(vector.state, return_inverse=True)
        parts.append(_Part((name, STATES), held, inverse, every, free=True))
    return parts


def _component(scores: FloatArray, present: FloatArray) -> FloatArray:
    """The first principal component of the rows."""
    spread = np.sqrt(np.maximum((scores**2).sum(axis=1) / np.maximum(present.sum(axis=1), 1), 1e-12))
    kept = scores / spread[:, None]
    weights = np.linalg.eigh(kept @ kept.T)[1][:, -1]
    weights = weights * np.sign(weights[np.argmax(np.abs(weights))])
    return np.asarray(weights @ kept)
