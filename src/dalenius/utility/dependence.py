"""How much of what goes together still does: the dependence of pairs of columns, held against mere chance.

The dependence of two columns is what their joint table has beyond the product of its margins, R = P − pq. Rows dealt
out at random have none, however well each column is kept. Two files agree as far as their R do: 2⟨R, S⟩ / (|R|² + |S|²)
is 1 for a copy and 0 for rows that were dealt out. |R|² is the Hilbert–Schmidt independence criterion of categories
(Gretton, Bousquet, Smola, Schölkopf 2005), divided by that of each column with itself; what chance alone would give is
taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from dalenius.counts.counts import Counts
from dalenius.counts.pair import Pair, PairCounts
from dalenius.data.relations import OWNER
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray, IntArray

BATCH = 1000
"""Tables counted at a time."""
BEYOND_CHANCE = 3.0
WEAK = 0.1
"""A pair of columns counts where one file's dependence is so many times what chance gives, and not weaker than this."""
FAR = 20
"""Rows of one owner so far apart, and nearer, are looked at together; more of them count as those do."""
SCHEMA = {
    "first": pl.String, "second": pl.String, "score": pl.Float64, "original": pl.Float64, "protected": pl.Float64,
    "kept": pl.Float64, "size": pl.Float64,
}  # fmt: skip


class _Joint:
    """A joint table as shares, with its margins."""

    def __init__(self, table: Counts, sizes: tuple[int, int]) -> None:
        self.total = max(float(table.total), 1.0)
        self.flat: IntArray = table.cells[:, 0].astype(np.int64) * sizes[1] + table.cells[:, 1]
        self.shares: AnyArray = table.counts / self.total
        self.cells = table.cells
        self.margins = [
            np.bincount(table.cells[:, i], self.shares, minlength=sizes[i]).astype(np.float64) for i in (0, 1)
        ]

    @property
    def most(self) -> float:
        """|R|² of two columns that settle each other and have these margins: what dependence is divided by."""
        own = [(m**2).sum() - 2 * (m**3).sum() + (m**2).sum() ** 2 for m in self.margins]
        return float(np.sqrt(np.prod(own)))

    def chance(self, codes: Sequence[AnyArray], order: IntArray, owners: IntArray | None) -> float:
        """What |R|² is on average where nothing goes together: rows of one owner count as a cluster."""
        kernels = [(c[order], m, float((m**2).sum())) for c, m in zip(codes, self.margins, strict=True)]
        total = _products(kernels, 0, None)
        if owners is not None and len(order):
            mine = owners[order]
            sizes = np.bincount(np.unique(mine, return_inverse=True)[1])
            pairs = float((sizes * (sizes - 1.0)).sum()) / 2
            product, met = 0.0, 0
            for lag in range(1, min(FAR, int(sizes.max()) - 1) + 1):
                same = mine[lag:] == mine[:-lag]
                product += _products(kernels, lag, same)
                met += int(same.sum())
            total += 2 * product * (pairs / met if met else 1.0)
        return max(total, 0.0) / self.total**2


def _products(kernels: Sequence[tuple[AnyArray, AnyArray, float]], lag: int, same: BoolArray | None) -> float:
    """Sum over rows, and rows so far behind them, of the product of both columns' centred likeness."""
    result: AnyArray | float = 1.0
    for codes, shares, squares in kernels:
        ahead, back = (codes[lag:], codes[: len(codes) - lag]) if lag else (codes, codes)
        if same is not None:
            ahead, back = ahead[same], back[same]
        result = result * ((ahead == back) - shares[ahead] - shares[back] + squares)
    return float(np.sum(result))


def _inner(first: _Joint, second: _Joint) -> float:
    """⟨R, S⟩ without writing out empty cells."""
    _, here, there = np.intersect1d(first.flat, second.flat, return_indices=True)
    value = float((first.shares[here] * second.shares[there]).sum())
    for one, other in ((first, second), (second, first)):
        value -= float(
            (one.shares * other.margins[0][one.cells[:, 0]] * other.margins[1][one.cells[:, 1]]).sum()
        )
    return value + float(np.prod([(first.margins[i] * second.margins[i]).sum() for i in (0, 1)]))


def dependence_table(pair: Pair | None, pairs: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Dependence of pairs of columns in both files (0 none, 1 one settles the other), and how alike it is.

    ``kept`` and ``size`` are the parts of which `dependence_kept` makes one figure; pairs that go together in neither
    file beyond chance have none.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> dealt = {"a": ["x", "y"] * 50, "b": ["u"] * 50 + ["v"] * 50}
    >>> dependence_table(Pair(data, dealt), [("a", "b")]).select("score", "original", "protected").row(0)
    (0.0, 1.0, 0.0)
    """
    rows = []
    orders = [] if pair is None else [_by_owner(table) for table in (pair.original, pair.protected)]
    for (a, b), counts in _counted(pair, pairs):
        assert pair is not None
        sizes = (len(pair.categories(a).original.labels), len(pair.categories(b).original.labels))
        one, other = _Joint(counts.original, sizes), _Joint(counts.protected, sizes)
        norm = one.most
        if norm <= 0:
            continue
        own = [_inner(j, j) for j in (one, other)]
        both = _inner(one, other)
        aligned = pair.categories(a), pair.categories(b)
        chance = [
            one.chance([c.original.codes for c in aligned], *orders[0]),
            other.chance([c.protected.codes for c in aligned], *orders[1]),
        ]
        beyond = any(o > max(BEYOND_CHANCE * c, c + norm * WEAK**2) for o, c in zip(own, chance, strict=True))
        size = sum(max(o - c, 0.0) for o, c in zip(own, chance, strict=True)) / norm
        score = float(np.clip(2 * both / sum(own), 0, 1)) if beyond else np.nan
        rows.append({
            "first": a, "second": b, "score": score, "original": float(np.sqrt(max(own[0] / norm, 0))),
            "protected": float(np.sqrt(max(own[1] / norm, 0))), "kept": 2 * both / norm if beyond else 0.0,
            "size": size if beyond else 0.0,
        })  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA)


def _counted(
    pair: Pair | None, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[str, ...], PairCounts]]:
    """Tables of pairs of columns, some at a time."""
    if pair is not None:
        for begin in range(0, len(pairs), BATCH):
            yield from pair.count_many(pairs[begin : begin + BATCH]).items()


def _by_owner(table: Table) -> tuple[IntArray, IntArray | None]:
    """Rows one owner after the other, and who owns them."""
    if OWNER not in table:
        return np.arange(table.rows), None
    owners = table[OWNER].data
    return np.argsort(owners, kind="stable"), owners


def dependence_kept(table: pl.DataFrame) -> float:
    """One figure for several pairs of columns, the stronger the heavier; 1 where nothing goes together in either file.

    Examples
    --------
    >>> dependence_kept(pl.DataFrame(schema=SCHEMA))
    1.0
    """
    size = float(table["size"].sum()) if table.height else 0.0
    return 1.0 if size <= 0 else float(np.clip(float(table["kept"].sum()) / size, 0, 1))
