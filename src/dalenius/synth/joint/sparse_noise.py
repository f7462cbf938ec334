"""Noise on a table with far more cells than can be written down.

Each empty cell gets discrete Laplace noise too; where that is positive, the cell takes part in the draw. With a
trillion cells nobody lists them: the number of positive ones is binomial, the sum of their noise negative
binomial, and a record that falls among them meets a cell in proportion to its noise. A pool of records is drawn
once, when the model is fitted; samples come out of the pool. Drawing the empty cells anew for each sample would
betray which cells are not empty: those that come back. (Spec raab-dp-categorical, 2.1.)
"""

from __future__ import annotations

import numpy as np

from dalenius.data.vector import IntArray
from dalenius.dp.noise import positive_laplace
from dalenius.synth.joint import _kernels
from dalenius.synth.joint.cells import Cells

_EXACT = 10.0**15
"""Beyond so many cells sums are replaced by their expectation: their relative deviation is below 1e-7."""


def noisy_pool(listed: Cells, noisy: IntArray, scale: float, possible: int, records: int) -> Cells:
    """Pool of records drawn from a noisy table that is never written down.

    Parameters
    ----------
    listed
        The cells that occur.
    noisy
        Their noisy counts.
    scale
        Scale of the discrete Laplace noise.
    possible
        Number of possible cells.
    records
        Size of the pool.

    Examples
    --------
    >>> listed = Cells((10**6, 10**6), [np.array([5]), np.array([7])], np.array([100.0]), 0.0)
    >>> pool = noisy_pool(listed, np.array([101]), scale=0.02, possible=10**12, records=50)
    >>> float(pool.weights.sum())
    50.0
    """
    # Chance decides here which cells an intruder sees, so it comes from the operating system and not from a seed.
    rng = np.random.default_rng()
    kept = np.maximum(noisy, 0).astype(np.float64)
    mass, sizes = _empty_noise(possible - len(noisy), scale, rng)
    held = float(kept.sum())
    if held + mass <= 0:
        kept, held = np.ones(len(kept)), float(len(kept))
    outside = int(rng.binomial(records, mass / (held + mass)))
    times = rng.multinomial(records - outside, kept / held) if held > 0 else np.zeros(len(kept), np.int64)
    visits = _visits(outside, mass, sizes, scale, rng)
    fresh = listed.empty_cells(len(visits), rng, different=True)
    used = times > 0
    codes = [np.concatenate([c[used], f]) for c, f in zip(listed.codes, fresh, strict=True)]
    weights = np.concatenate([times[used], visits]).astype(np.float64)
    return Cells(listed.sizes, codes, weights, 0.0, listed.structure, pool=True)


def _empty_noise(cells: int, scale: float, rng: np.random.Generator) -> tuple[float, int]:
    """Sum of the positive noise of so many empty cells, and in how many of them it is positive."""
    p = float(np.exp(-1 / scale))
    share = p / (1 + p)
    if cells * share > _EXACT:
        return cells * share / (1 - p), int(min(cells * share, 2.0**62))
    positive = int(rng.binomial(cells, share)) if cells < 2**62 else int(cells * share)
    beyond = int(rng.negative_binomial(positive, 1 - p)) if positive and p > 0 else 0
    return float(positive + beyond), positive


def _visits(records: int, mass: float, cells: int, scale: float, rng: np.random.Generator) -> IntArray:
    """How many of the records fall into each visited empty cell."""
    if records == 0 or cells == 0:
        return np.zeros(0, np.int64)
    if cells <= 4 * records:
        return _nonzero(rng.multinomial(records, _shares(positive_laplace(cells, scale))))
    # A record meets a cell in proportion to its noise: the size of a met cell is the sum of two such noises less one.
    sizes = (positive_laplace(records, scale) + positive_laplace(records, scale) - 1).astype(np.float64)
    met = _kernels.visit_cells(rng.random(records), rng.random(records), sizes, mass)
    return _nonzero(np.bincount(met))


def _shares(sizes: IntArray) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return sizes / sizes.sum()


def _nonzero(times: IntArray) -> IntArray:
    return times[times > 0]
