"""Survey weights: a sample that was not drawn with equal chances must not be synthesized as if it were.

Pseudo-likelihood (Oganian, Drechsler, Iqbal 2024): every model is fitted with the weights and donors are
drawn in proportion to them, so that the output behaves like a simple random sample of the population and needs no
weight column. The design's uncertainty enters by replicate weights, one set per synthetic file.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import Vector
from dalenius.synth.sequential._kernels.urn import polya
from dalenius.synth.sequential.design import Floats

Weighting = Literal["column", "ignore", "predictor", "pseudo", "population"]
EXTREME = 50
"""Times the median weight beyond which a weight is remarked upon (Oganian et al. 2024)."""
POPULATION = 20
"""Rows of the bootstrapped population for each row of the sample, at most."""


def read_weights(vector: Vector) -> Floats:
    """Weights of every row, scaled to sum to the number of rows (only their ratios matter to a model).

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> read_weights(Table.from_frame({"w": [1.5, 4.5]})["w"]).tolist()
    [0.5, 1.5]
    """
    name = vector.column.name
    w = vector.amounts()
    bad = int(np.count_nonzero(~(np.isfinite(w) & (w > 0))))
    if bad:
        raise DataError(
            f"weight column {name!r}: {bad} rows are missing, infinite or not above 0; drop these rows"
        )
    scaled: Floats = w * (len(w) / w.sum()) if len(w) else w
    return scaled


def kish_effect(weights: Floats) -> float:
    """How much the unequal weights cost: n times the sum of squares over the squared sum (Kish 1965).

    Examples
    --------
    >>> kish_effect(np.array([1.0, 1.0, 2.0]))
    1.125
    """
    return float(len(weights) * np.sum(weights**2) / np.sum(weights) ** 2)


def weight_notes(name: str, weights: Floats) -> tuple[str, ...]:
    """What a person should know about survey weights before a synthesis rests on them (Oganian et al. 2024).

    Examples
    --------
    >>> weight_notes("w", np.array([1.0, 1.0, 2.0]))
    ("weights 'w': design effect 1.12 (Kish), so that 3 rows tell as much as 3 of equal weight",)
    >>> weight_notes("w", np.ones(4))
    ("weights 'w' are all equal: the result is that of an unweighted synthesis",)
    """
    if not len(weights):
        return ()
    if weights.min() == weights.max():
        return (f"weights {name!r} are all equal: the result is that of an unweighted synthesis",)
    effect = kish_effect(weights)
    rows = f"{len(weights):,} rows tell as much as {len(weights) / effect:,.0f} of equal weight"
    notes = [f"weights {name!r}: design effect {effect:.2f} (Kish), so that {rows}"]
    if weights.max() > EXTREME * np.median(weights):
        notes.append(
            f"weights {name!r}: the largest is more than {EXTREME} times the median; such a row shapes the models "
            "and is copied often, so trim the weights first"
        )
    return tuple(notes)


def finite_population(weights: Floats, size: float, seed: Seed) -> Floats:
    """How often each unit occurs in a population drawn by the weighted finite-population Bayesian bootstrap.

    Polya's urn in which a unit starts with w - 1 balls and gains (N - n)/n with each draw (Cohen 1997; Dong, Elliott,
    Raghunathan 2014). ``size`` is the population N, taken as at most 20 rows for each sampled one: the draws
    of a model do not get better beyond that.

    Examples
    --------
    >>> counts = finite_population(np.array([1.0, 1.0, 4.0]), 60, 1)
    >>> int(counts.sum()), int(counts.min()) >= 1
    (60, True)
    """
    n = len(weights)
    total = float(min(max(size, n), POPULATION * n))
    scaled = np.maximum(weights * (total / weights.sum()), 1.0)
    extra = round(total) - n
    chance = generator(seed, "population").random(max(extra, 0))
    counts: Floats = polya(scaled - 1.0, chance, extra / n)
    return counts
