"""Replicate weights of a sampling design, made from its strata and primary sampling units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import hadamard

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.vector import IntArray

Floats = npt.NDArray[np.float64]
BOOTSTRAPS = 200
"""Replicates of a bootstrap, unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Stages:
    """Rows in primary sampling units, and these in strata.

    Examples
    --------
    >>> stages = Stages.of(4, np.array([7, 7, 9, 9]), np.array([1, 2, 1, 1]))
    >>> stages.unit.tolist(), stages.home.tolist(), stages.sizes.tolist()
    ([0, 1, 2, 2], [0, 0, 1], [2, 1])
    """

    unit: IntArray
    home: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, rows: int, strata: IntArray | None, psu: IntArray | None) -> Stages:
        """Number units and strata; without strata there is one, without units every row is one."""
        stratum = np.zeros(rows, np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
        if psu is None:
            unit = np.arange(rows)
        else:
            # a unit is numbered within its stratum in many surveys: 1, 2, 1, 2, …
            place = np.unique(psu, return_inverse=True)[1]
            unit = np.unique(stratum * (int(place.max(initial=0)) + 1) + place, return_inverse=True)[1]
        home = np.zeros(int(unit.max(initial=-1)) + 1, np.int64)
        home[unit] = stratum
        return cls(unit, home, np.bincount(home, minlength=int(stratum.max(initial=-1)) + 1))


def bootstrap_weights(weights: Floats, strata: IntArray | None, psu: IntArray | None, seed: Seed) -> Floats:
    """One set of bootstrap weights: n_h - 1 of the n_h units of each stratum drawn with replacement (Rao, Wu 1988).

    Parameters
    ----------
    strata, psu
        Codes of the design strata and of the primary sampling units; default: one stratum, every row a unit.

    Examples
    --------
    >>> w = bootstrap_weights(np.ones(1000), None, None, 1)
    >>> round(float(w.sum()) / 1000, 2), bool((w == 0).any())
    (1.0, True)
    """
    stages = Stages.of(len(weights), strata, psu)
    return weights * _drawn(stages, seed)[stages.unit]


def _drawn(stages: Stages, seed: Seed) -> Floats:
    """How often each unit counts in one bootstrap sample."""
    rng = generator(seed, "replicate")
    times = np.zeros(len(stages.home))
    order = np.argsort(stages.home, kind="stable")
    starts = np.concatenate([[0], np.cumsum(stages.sizes)])
    for h, size in enumerate(stages.sizes.tolist()):
        mine = order[starts[h] : starts[h + 1]]
        if size < 2:
            times[mine] = 1.0  # a lone unit cannot be resampled: it stays
            continue
        drawn = np.bincount(rng.integers(0, size, size - 1), minlength=size)
        times[mine] = drawn * (size / (size - 1))
    return times


def many_bootstraps(weights: Floats, stages: Stages, count: int, seed: Seed) -> Floats:
    """Bootstrap weights, one column a replicate."""
    times = np.stack([_drawn(stages, sequence(seed, i)) for i in range(count)], axis=1)
    return weights[:, None] * times[stages.unit]


def jackknife_weights(weights: Floats, stages: Stages) -> Floats:
    """One column a unit, which is left out; the others of its stratum stand in for it."""
    units = np.arange(len(stages.home))
    n = stages.sizes[stages.home]
    _two_a_stratum(stages, "a jackknife")
    same = stages.home[:, None] == stages.home[None, :]
    factor = np.where(same, (n / (n - 1))[:, None], 1.0)
    factor[units, units] = 0.0
    return weights[:, None] * factor[stages.unit]


def half_samples(weights: Floats, stages: Stages, fay: float = 0.0) -> Floats:
    """Balanced half-samples: one unit of each stratum counts twice, the other not at all (McCarthy 1966).

    With Fay's factor the one counts 2 - fay times and the other fay times (Judkins 1990).
    """
    odd = int(np.count_nonzero(stages.sizes != 2))
    if odd:
        raise DataError(f"half-samples need two units in each stratum; {odd} strata have another number")
    strata = len(stages.sizes)
    signs = hadamard(1 << strata.bit_length()).astype(np.float64)[:, 1 : strata + 1]
    order = np.argsort(stages.home, kind="stable")
    first = np.zeros(len(stages.home))
    first[order[0::2]], first[order[1::2]] = 1.0, -1.0
    times = 1 + (1 - fay) * first[:, None] * signs.T[stages.home]
    return weights[:, None] * times[stages.unit]


def _two_a_stratum(stages: Stages, what: str) -> None:
    lone = int(np.count_nonzero(stages.sizes < 2))
    if lone:
        raise DataError(
            f"{what} needs two units in each stratum; {lone} strata have one, join them to others"
        )
