"""A stratified sample of persons with unequal sampling fractions, and its weights."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import generator
from dalenius.data.examples.draw import Floats, Ints, check_size
from dalenius.data.examples.geography import REGIONS
from dalenius.data.examples.population import population, population_chunks

AGE_BANDS = ("0-15", "16-29", "30-44", "45-64", "65+")
STRATA = tuple(f"{region}:{band}" for region in REGIONS for band in AGE_BANDS)
"""Strata of the survey: region by age band."""

_BAND_STARTS = (16, 30, 45, 65)
# How much more likely a person is to be drawn: small regions and the old are of interest and are oversampled.
_REGION_RATE = np.array((0.6, 0.9, 1.0, 1.3, 1.8, 4.0))
_BAND_RATE = np.array((0.5, 1.0, 1.0, 1.1, 1.8))
_RATES: Floats = np.outer(_REGION_RATE, _BAND_RATE).ravel()
_MINIMUM = 2


def _stratum(frame: pl.DataFrame) -> Ints:
    """Return the index in STRATA of each person."""
    region = frame["region"].cast(pl.Enum(REGIONS)).to_physical().to_numpy().astype(np.int64)
    band = np.digitize(frame["age"].to_numpy(), _BAND_STARTS)
    index: Ints = region * len(AGE_BANDS) + band
    return index


def _allocate(n: int, sizes: Ints, available: Ints) -> Ints:
    """Share n draws among strata in proportion to size times rate, at least two each where n allows.

    No stratum gets more than is available: what is left over goes to the others.
    """
    least = _MINIMUM if n >= _MINIMUM * len(sizes) else 0
    taken = np.minimum(least, available)
    while (rest := n - int(taken.sum())) > 0:
        room = available - taken
        claim = np.where(room > 0, sizes * _RATES, 0.0)
        share = np.minimum(rest * claim / claim.sum(), room)
        whole = np.floor(share).astype(np.int64)
        if not whole.any():
            # Fewer draws left than strata: the largest claims get one each.
            whole[np.argsort(-share, kind="stable")[: min(rest, np.count_nonzero(room))]] = 1
        taken += whole
    return taken


def _candidates(n: int, seed: int, people: int) -> tuple[pl.DataFrame, Ints]:
    """Pass once over the population; return enough candidates of each stratum, and the strata sizes.

    Every person gets a random number, and the sample will be those with the smallest numbers of their
    stratum. Only about twice as many as needed (and a hundred more) are kept, so that a survey of a large
    population fits in memory. The first chunk tells how large the strata are, closely enough for that.
    """
    sizes = np.zeros(len(STRATA), dtype=np.int64)
    keep: Floats | None = None
    kept = []
    for index, chunk in enumerate(population_chunks(people, seed)):
        stratum = _stratum(chunk)
        here = np.bincount(stratum, minlength=len(STRATA))
        sizes += here
        if keep is None:
            expected = np.ceil(here * (people / chunk.height)).astype(np.int64)
            keep = (2 * _allocate(n, expected, expected) + 100) / np.maximum(expected, 1)
        draw = generator(seed, "survey", index).random(chunk.height)
        chosen = chunk.with_columns(_stratum=pl.Series(stratum), _draw=pl.Series(draw))
        kept.append(chosen.filter(pl.Series(draw < keep[stratum])))
    return pl.concat(kept), sizes


def _empty(seed: int) -> pl.DataFrame:
    columns = [pl.lit("").alias("stratum"), pl.lit(1.0).alias("weight")]
    return population(0, seed).with_columns(columns).clear()


def survey(n: int, seed: int = 0, population_size: int | None = None) -> pl.DataFrame:
    """Return a stratified sample of n persons of a generated population.

    Strata are region by age band; small regions and the old are oversampled. Persons are drawn without
    replacement and with equal chances in a stratum, so members of one household are rarely both in.

    Parameters
    ----------
    n
        How many persons. From 60 on every stratum that has people is represented.
    seed
        Which population and which sample of it.
    population_size
        People in the population: ``population(population_size, seed)``. Ten for each sampled person
        by default, and 10,000 at least.

    Returns
    -------
    polars.DataFrame
        The columns of :func:`population`, `stratum` and `weight`. The weight is the inverse of the chance to
        be drawn; the weights sum to the population size when every stratum is represented.

    Examples
    --------
    >>> sample = survey(200, seed=3)
    >>> sample.shape, round(sample["weight"].sum())
    ((200, 27), 10000)
    """
    check_size(n)
    people = max(10 * n, 10_000) if population_size is None else population_size
    if people < n:
        raise OptionError(f"population_size must be at least n = {n}, got {people}")
    if n == 0:
        return _empty(seed)
    pool, sizes = _candidates(n, seed, people)
    available = np.bincount(pool["_stratum"].to_numpy(), minlength=len(STRATA))
    sampled = _allocate(n, sizes, available)
    ordered = pool.sort("_stratum", "_draw", "person_id")
    stratum = ordered["_stratum"].to_numpy()
    rank = np.arange(len(stratum)) - np.searchsorted(stratum, stratum)
    weight = sizes / np.maximum(sampled, 1)
    return (
        ordered.with_columns(
            stratum=pl.Series(STRATA).gather(ordered["_stratum"]), weight=pl.Series(weight[stratum])
        )
        .filter(pl.Series(rank < sampled[stratum]))
        .sort("person_id")
        .drop("_stratum", "_draw")
    )
