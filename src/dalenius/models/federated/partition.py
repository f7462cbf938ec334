"""One file dealt out to several holders, evenly or with other shares of the classes: for trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.counts.ipf import fit_dense
from dalenius.data.vector import AnyArray, IntArray


def label_skew_partition(
    labels: AnyArray, holders: int, *, alpha: float | None = None, shares: AnyArray | None = None,
    sizes: Sequence[int] | None = None, seed: Seed = 0,
) -> list[IntArray]:  # fmt: skip
    """Rows of each holder.

    Parameters
    ----------
    alpha
        Shares of the classes drawn from a Dirichlet law: small ones make holders differ. None deals evenly.
    shares
        Wanted share of each class at each holder, instead.
    sizes
        Rows of each holder; equal by default.

    Examples
    --------
    >>> parts = label_skew_partition(np.repeat([0, 1], 50), 4, seed=1)
    >>> [len(part) for part in parts], sorted(np.concatenate(parts).tolist()) == list(range(100))
    ([25, 25, 25, 25], True)
    """
    held = np.asarray(labels)
    classes, codes, totals = np.unique(held, return_inverse=True, return_counts=True)
    if not 1 <= holders <= len(held):
        raise OptionError(f"{len(held)} rows cannot be dealt out to {holders} holders")
    wanted = np.array(sizes if sizes is not None else _even(len(held), holders))
    if len(wanted) != holders or wanted.sum() != len(held) or (wanted < 1).any():
        raise OptionError(f"sizes are one number a holder and add up to the {len(held)} rows")
    rng = generator(seed, "holders")
    if shares is not None:
        start = np.asarray(shares, np.float64)
    elif alpha is not None:
        start = rng.dirichlet(np.full(len(classes), alpha), holders)
    else:
        start = np.tile(totals / totals.sum(), (holders, 1))
    if start.shape != (holders, len(classes)) or not (start >= 0).all():
        raise OptionError("shares are one row a holder and one column a class, 0 or more")
    start = (start + 1e-9) * wanted[:, None]
    fitted = fit_dense(start, [(0,), (1,)], [wanted.astype(float), totals.astype(float)]).table
    table = _whole(np.asarray(fitted), wanted, totals)
    parts: list[list[IntArray]] = [[] for _ in range(holders)]
    for c in range(len(classes)):
        rows = rng.permutation(np.flatnonzero(codes == c))
        ends = np.cumsum(table[:, c])
        for i, piece in enumerate(np.split(rows, ends[:-1])):
            parts[i].append(piece)
    return [np.sort(np.concatenate(part)) for part in parts]


def _even(rows: int, holders: int) -> list[int]:
    return [rows // holders + (i < rows % holders) for i in range(holders)]


def _whole(table: AnyArray, sizes: IntArray, totals: IntArray) -> IntArray:
    """Whole numbers near a table that keep both margins: rounded down, then the largest remainders where both lack."""
    held = np.floor(table + 1e-9).astype(np.int64)
    rest = table - held
    while (held.sum(axis=1) < sizes).any():
        rows, columns = held.sum(axis=1) < sizes, held.sum(axis=0) < totals
        open_cells = np.where(rows[:, None] & columns[None, :], rest, -np.inf)
        place = np.unravel_index(int(np.argmax(open_cells)), held.shape)
        held[place] += 1
        rest[place] -= 1
    return held
