"""Rebuilding a file from its counts by descent (Dick et al. 2023), many times over.

Every row of the file is a product of distributions, one a column; the mean over rows answers the published questions.
Adam moves the rows until the answers fit, whole rows are drawn from them, and what comes back often is ranked high.
The gradient is worked out by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dalenius.core.descent import Adam
from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import generator
from dalenius.risk.reconstruction.workload import Workload

Matrix = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
MEMORY = 2**30
"""Bytes one product of rows and questions may take."""


def softmax(weights: Matrix, edges: Ints) -> Matrix:
    """Weights to distributions, block by block."""
    shares = np.exp(weights - weights.max(axis=1, keepdims=True))
    sums = np.add.reduceat(shares, edges[:-1], axis=1)
    shares /= np.maximum(np.repeat(sums, np.diff(edges), axis=1), 1e-30)
    return np.asarray(shares, np.float32)


class Pairs:
    """Questions about single values of at most two columns: all answers are entries of one small matrix."""

    def __init__(self, workload: Workload) -> None:
        edges = workload.edges
        self.first = np.zeros(len(workload.answers), np.int64)
        self.second = np.zeros(len(workload.answers), np.int64)
        for q, (line, asked) in enumerate(zip(workload.members, workload.asked, strict=True)):
            at = [
                int(edges[a] + np.flatnonzero(line[edges[a] : edges[a + 1]])[0])
                for a in np.flatnonzero(asked)
            ]
            self.first[q], self.second[q] = at[0], at[-1]
        self.alone = self.first == self.second

    @staticmethod
    def fits(workload: Workload) -> bool:
        """Whether all questions are of this kind."""
        edges = workload.edges
        asked = workload.asked
        sizes = np.column_stack([workload.members[:, a:b].sum(axis=1) for a, b in pairwise(edges)])
        ways = asked.sum(axis=1)
        return bool(((ways >= 1) & (ways <= 2)).all() and (sizes[asked] == 1).all())

    def answers(self, shares: Matrix) -> Any:
        """Answers of the rows to all questions."""
        both = (shares.T @ shares) / len(shares)
        return np.where(self.alone, shares.mean(axis=0)[self.first], both[self.first, self.second])

    def gradient(self, shares: Matrix, pull: Any) -> Matrix:
        """How the weighted answers change with every share."""
        mixed = np.zeros((shares.shape[1], shares.shape[1]), np.float32)
        np.add.at(mixed, (self.first[~self.alone], self.second[~self.alone]), pull[~self.alone])
        single = np.zeros(shares.shape[1], np.float32)
        np.add.at(single, self.first[self.alone], pull[self.alone])
        return np.asarray((shares @ (mixed + mixed.T) + single) / len(shares), np.float32)


class Products:
    """Questions of any kind: products over columns of what each allows."""

    def __init__(self, workload: Workload, rows: int) -> None:
        size = 4 * rows * len(workload.answers) * len(workload.domains)
        if size > MEMORY:
            raise DataError(
                f"{len(workload.answers):,} questions to {rows:,} rows take {size / 2**30:.1f} GB; draw some of them "
                "(Workload.sample) or use fewer rows"
            )
        self.edges = workload.edges
        self.masks = [workload.members[:, a:b].T.astype(np.float32) for a, b in pairwise(self.edges)]

    def _parts(self, shares: Matrix) -> list[Any]:
        return [
            shares[:, a:b] @ mask for a, b, mask in zip(self.edges, self.edges[1:], self.masks, strict=False)
        ]

    def answers(self, shares: Matrix) -> Any:
        """Answers of the rows to all questions."""
        self.parts = self._parts(shares)
        whole = self.parts[0].copy()
        for part in self.parts[1:]:
            whole *= part
        return whole.mean(axis=0)

    def gradient(self, shares: Matrix, pull: Any) -> Matrix:
        """How the weighted answers change with every share."""
        made = np.empty_like(shares)
        drawn = np.flatnonzero(pull)
        parts = [part[:, drawn] for part in self.parts]
        for a in range(len(parts)):
            others = np.broadcast_to(pull[drawn].astype(np.float32), parts[0].shape).copy()
            for b, part in enumerate(parts):
                if b != a:
                    others *= part
            made[:, self.edges[a] : self.edges[a + 1]] = others @ self.masks[a][:, drawn].T
        return made / np.float32(len(shares))


def descend(
    workload: Workload, weights: Matrix, steps: int, rate: float, batch: int, rng: np.random.Generator
) -> tuple[Matrix, float]:
    """Move rows until they answer the questions; the distributions, and the largest error left."""
    edges = workload.edges
    kind: Pairs | Products = Pairs(workload) if Pairs.fits(workload) else Products(workload, len(weights))
    adam = Adam(rate)
    shares = softmax(weights, edges)
    sizes = np.diff(edges)
    for _ in range(steps):
        errors = workload.answers - kind.answers(shares)
        size = np.abs(errors)
        total = size.sum()
        if total == 0:
            break
        drawn = np.bincount(
            np.searchsorted(np.cumsum(size) / total, rng.random(batch), side="right").clip(0, len(size) - 1),
            minlength=len(size),
        )
        length = float(np.sqrt((drawn * errors**2).sum()))
        gradient = kind.gradient(shares, -drawn * errors / max(length * batch, 1e-30))
        sums = np.add.reduceat(gradient * shares, edges[:-1], axis=1)
        gradient -= np.repeat(sums, sizes, axis=1)
        gradient *= shares
        adam.step(weights, gradient)
        shares = softmax(weights, edges)
    return shares, float(np.abs(workload.answers - kind.answers(shares)).max(initial=0.0))


def draw_rows(shares: Matrix, edges: Ints, rows: int, rng: np.random.Generator) -> Ints:
    """Whole rows: each of the distributions as often as it fits, the rest chosen among them."""
    whole, rest = divmod(rows, len(shares))
    used = np.concatenate([np.tile(np.arange(len(shares)), whole), rng.permutation(len(shares))[:rest]])
    columns = []
    for a, b in pairwise(edges):
        steps = np.cumsum(shares[used, a:b].astype(np.float64), axis=1)
        at = (rng.random((rows, 1)) * steps[:, -1:] > steps).sum(axis=1)
        columns.append(np.minimum(at, b - a - 1))
    return np.column_stack(columns).astype(np.int64)


def rebuild(
    workload: Workload,
    *,
    runs: int = 100,
    rows: int = 1000,
    steps: int = 1000,
    rate: float = 0.1,
    batch: int = 1024,
    start: Literal["random", "baseline"] = "random",
    reference: Ints | None = None,
    seed: int = 1,
    done: dict[int, Ints] | None = None,
    after: Callable[[int, Ints], None] | None = None,
) -> list[Ints]:
    """Rebuild the file many times; one array of codes a run.

    Parameters
    ----------
    rows
        Distributions that make up the file; with ``start="baseline"`` as many as the ``reference`` has rows.
    start, reference
        Start at random, or at a public sample of codes.
    done, after
        Runs that are there already, and what to do with each new one: how a killed attack goes on to the same bytes.

    Examples
    --------
    >>> people = {"sex": ["f", "m"] * 10, "town": ["A", "A", "B", "B"] * 5}
    >>> [run.shape for run in rebuild(Workload.margins(people), runs=2, rows=20, steps=50)]
    [(20, 2), (20, 2)]
    """
    if min(runs, rows, steps, batch) < 1:
        raise OptionError("runs, rows, steps and batch must be at least 1")
    if start == "baseline" and reference is None:
        raise OptionError("a baseline start needs a reference sample")
    edges = workload.edges
    made = []
    for run in range(runs):
        if done is not None and run in done:
            made.append(done[run])
            continue
        rng = generator(seed, "rebuild", run)
        count = rows if start == "random" or reference is None else len(reference)
        weights = rng.standard_normal((count, int(edges[-1])), dtype=np.float32)
        if start == "baseline" and reference is not None:
            weights = at_rows(reference, weights, edges)
        shares, _ = descend(workload, weights, steps, rate, batch, rng)
        found = draw_rows(shares, edges, workload.rows, rng)
        if after is not None:
            after(run, found)
        made.append(found)
    return made


def at_rows(reference: Ints, weights: Matrix, edges: Ints) -> Matrix:
    """Weights that start at known rows: the largest of a row at its values, twice the smallest elsewhere."""
    held = np.repeat(2 * weights.min(axis=1, keepdims=True), weights.shape[1], axis=1)
    for a in range(reference.shape[1]):
        held[np.arange(len(reference)), edges[a] + reference[:, a]] = weights.max(axis=1)
    return held
