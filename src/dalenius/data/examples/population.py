"""The population: people in households in places, made chunk by chunk so that any size fits in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import generator
from dalenius.data.examples import traits, work
from dalenius.data.examples.codes import DIAGNOSES, INDUSTRIES, OCCUPATIONS
from dalenius.data.examples.draw import NOT_APPLICABLE, Ints, check_size, labels
from dalenius.data.examples.geography import geography
from dalenius.data.examples.households import MARITAL, People, households
from dalenius.data.examples.missing import missing_answers

CHUNK_HOUSEHOLDS = 8192
"""Households in a chunk. Part of what the generator is: another number would give other people."""

REFERENCE_YEAR = 2024
"""Ages are in full years at the end of this year, so that age + year of birth is always this number."""

SEXES = ("female", "male")
YES_NO = ("no", "yes")
_NONE = (str(NOT_APPLICABLE),)


def _birth_days(rng: np.random.Generator, age: Ints) -> pl.Series:
    """Draw a day in the year of birth that the age implies."""
    year = (REFERENCE_YEAR - age - 1970).astype("datetime64[Y]")
    first = year.astype("datetime64[D]").astype(np.int64)
    days = (year + 1).astype("datetime64[D]").astype(np.int64) - first
    day = first + np.floor(days * rng.random(len(age))).astype(np.int64)
    return pl.Series(day.astype(np.int32)).cast(pl.Date)


def _who_and_where(rng: np.random.Generator, people: People, first_household: int) -> dict[str, pl.Series]:
    land = geography()
    household = first_household + people.household
    return {
        # At most nine people live in a household: the number tells chunks apart without counting rows.
        "person_id": pl.Series(10 * household + people.member),
        "household_id": pl.Series(household),
        "region": labels(land.regions, land.region[people.place]),
        "district": labels(land.districts, land.district[people.place]),
        "municipality": labels(land.municipalities, people.place),
        "longitude": pl.Series(people.longitude),
        "latitude": pl.Series(people.latitude),
        "sex": labels(SEXES, people.male.astype(np.int64)),
        "age": pl.Series(people.age),
        "birth_date": _birth_days(rng, people.age),
        "marital": labels(MARITAL, people.marital),
    }


@lru_cache(maxsize=8)  # a first day makes samples of one population again and again
def _chunk(seed: int, index: int) -> pl.DataFrame:
    """Make the people of one chunk of households: it depends on the seed and its index alone."""
    rng = generator(seed, "population", index)
    land = geography()
    people = households(rng, land, CHUNK_HOUSEHOLDS)
    columns = _who_and_where(rng, people, index * CHUNK_HOUSEHOLDS + 1)
    schooling = traits.education(rng, people, land)
    smokes = traits.smoker(rng, people, land, schooling)
    bmi = traits.body_mass(rng, people, land, schooling, smokes)
    score = traits.health_score(rng, people, schooling, smokes, bmi)
    status = work.employment(rng, people, land, schooling, score)
    job = work.job(rng, people, land, schooling, status)
    earned = work.income(rng, people, land, schooling, status, job)
    illness = traits.diagnosis(rng, people, smokes, bmi, score)
    ill = illness != DIAGNOSES.index("none")
    columns |= {
        "education": labels(traits.EDUCATION, schooling, ordered=True),
        "occupation": labels(OCCUPATIONS + _NONE, job.occupation),
        "industry": labels(INDUSTRIES + _NONE, job.industry),
        "employment": labels(work.EMPLOYMENT, status),
        "income": pl.Series(earned),
        "wealth": pl.Series(work.wealth(rng, people, earned, schooling)),
        "hours": pl.Series(job.hours),
        "health": labels(traits.HEALTH, traits.health(score), ordered=True),
        "smoker": labels(YES_NO, smokes.astype(np.int64)),
        "cigarettes": pl.Series(traits.cigarettes(rng, people, smokes)),
        "bmi": pl.Series(bmi),
        "diagnosis": labels(DIAGNOSES, illness),
        "life_satisfaction": labels(
            traits.SATISFACTION,
            traits.satisfaction(rng, people, score, earned, status == work.UNEMPLOYED),
            ordered=True,
        ),
        "visits": pl.Series(traits.visits(rng, people, score, ill)),
    }
    gaps = missing_answers(
        rng, age=people.age, income=earned, schooling=schooling, smokes=smokes, works=job.works, score=score
    )
    blanks = [pl.when(~pl.Series(gap)).then(pl.col(name)).alias(name) for name, gap in gaps.items()]
    return pl.DataFrame(columns).with_columns(blanks)


def _own_chunks(n: int, seed: int) -> Iterator[pl.DataFrame]:
    """Yield the chunks as they are made, the last one cut so that there are n people."""
    index = 0
    while n > 0:
        frame = _chunk(seed, index).head(n)
        yield frame
        n -= frame.height
        index += 1


def _resized(frames: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Yield the same rows in frames of `rows` rows, the last one shorter."""
    held: list[pl.DataFrame] = []
    height = 0
    for frame in frames:
        held.append(frame)
        height += frame.height
        if height < rows:
            continue
        joined = pl.concat(held)
        whole = height - height % rows
        yield from (joined.slice(start, rows) for start in range(0, whole, rows))
        held, height = [joined.slice(whole)], height - whole
    if height:
        yield pl.concat(held)


def population_chunks(n: int, seed: int = 0, chunk_rows: int | None = None) -> Iterator[pl.DataFrame]:
    """Iterate over a population of n people without holding it in memory.

    Parameters
    ----------
    n
        How many people. The population of n people is the beginning of every larger one with the same seed.
    seed
        Which population; the country and its ways stay the same.
    chunk_rows
        Rows in each frame (the last may be shorter). By default frames are as the generator makes them,
        about 20,000 rows each. The rows do not depend on this.

    Yields
    ------
    polars.DataFrame
        Frames whose concatenation is ``population(n, seed)``.

    Examples
    --------
    >>> [frame.height for frame in population_chunks(25, chunk_rows=10)]
    [10, 10, 5]
    """
    check_size(n)
    if chunk_rows is not None and chunk_rows < 1:
        raise OptionError(f"chunk_rows must be one or more, got {chunk_rows}")
    frames = _own_chunks(n, seed)
    return frames if chunk_rows is None else _resized(frames, chunk_rows)


def population(n: int, seed: int = 0) -> pl.DataFrame:
    """Return n people in households, with work, money and health; see ``docs/examples.md`` for every column.

    Parameters
    ----------
    n
        How many people. The last household is cut if n falls inside it; its head comes first and stays.
    seed
        Which population: the same n and seed give the same frame.

    Returns
    -------
    polars.DataFrame
        One row per person with the columns of ``POPULATION_COLUMNS``.

    Examples
    --------
    >>> people = population(1000, seed=1)
    >>> people.shape
    (1000, 25)
    >>> people.filter(people["age"] < 16)["income"].unique().to_list()
    [-8]
    """
    check_size(n)
    if n == 0:
        return _chunk(seed, 0).clear()
    return pl.concat(population_chunks(n, seed), rechunk=True)
