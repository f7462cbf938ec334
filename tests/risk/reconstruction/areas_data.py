"""Simulated blocks of the specification: sizes, race mixes and ethnicity drawn in a fixed order."""

from __future__ import annotations

import numpy as np
import polars as pl

RACES = np.array([0.72, 0.13, 0.01, 0.05, 0.002, 0.06, 0.028])
AGES = np.array([6.5, 6.6, 6.7, 4.2, 2.9, 1.4, 1.4, 4.1, 6.8, 6.5, 6.5, 6.8, 7.4, 7.2, 6.4, 2.3, 3.2, 1.7, 2.3, 3.0,
                 2.4, 1.9, 1.8])  # fmt: skip
HISPANIC = np.array([0.12, 0.03, 0.23, 0.015, 0.13, 0.97, 0.34])


def blocks(seed: int, count: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    share, ages = RACES / RACES.sum(), AGES / AGES.sum()
    parts = []
    for block in range(count):
        n = rng.geometric(1 / 50)
        mix = rng.dirichlet(8 * share)
        race = rng.choice(7, n, p=mix)
        sex, age = rng.integers(0, 2, n), rng.choice(23, n, p=ages)
        parts.append(np.column_stack([np.full(n, block), sex, age, race, rng.random(n) < HISPANIC[race]]))
    rows = np.concatenate(parts)
    names = ("block", "sex", "age", "race", "hisp")
    return pl.DataFrame({name: rows[:, j] for j, name in enumerate(names)}).cast(pl.String)
