"""Samples of households drawn from a population by design, with their weights."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED, Seed, generator

Allocation = Literal["prop", "equal"]


def draw_sample(
    population: pl.DataFrame, households: int, allocation: Allocation = "prop", *, household: str = "household",
    strata: str = "region", seed: Seed = DEFAULT_SEED,
) -> pl.DataFrame:  # fmt: skip
    """Draw households without replacement, stratified, with base weights (households in the stratum / drawn).

    Parameters
    ----------
    allocation
        "prop": as many of a stratum as its share of households; "equal": the same number of each.

    Examples
    --------
    >>> people = pl.DataFrame({"household": [1, 1, 2, 3, 4], "region": ["n", "n", "n", "s", "s"]})
    >>> draw_sample(people, 2, "equal", seed=1)["weight"].unique().to_list()
    [2.0]
    """
    if allocation not in ("prop", "equal"):
        raise OptionError(f"allocation is {allocation!r}; use prop or equal")
    heads = population.group_by(household).agg(pl.col(strata).first()).sort(household)
    codes = heads[strata].cast(pl.String).rank("dense").to_numpy() - 1
    totals = np.bincount(codes)
    share = (
        households * totals / totals.sum()
        if allocation == "prop"
        else np.full(len(totals), households / len(totals))
    )
    wanted = np.minimum(np.floor(share + 0.5).astype(np.int64), totals)
    rng = generator(seed, "sample", allocation)
    chosen, weights = [], []
    for stratum, number in enumerate(wanted):
        pool = np.flatnonzero(codes == stratum)
        chosen.append(rng.choice(pool, number, replace=False))
        weights.append(np.full(number, totals[stratum] / max(number, 1)))
    picked = pl.DataFrame(
        {household: heads[household].gather(np.concatenate(chosen)), "weight": np.concatenate(weights)}
    )
    return population.join(picked, on=household, how="inner", maintain_order="left")
