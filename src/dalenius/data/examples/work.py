"""Work and money: employment, occupation, industry, hours, income and wealth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dalenius.data.examples.codes import (
    INDUSTRIES,
    OCCUPATION_MAJOR,
    OCCUPATIONS,
    industry_lottery,
    occupation_lottery,
)
from dalenius.data.examples.draw import NOT_APPLICABLE, Bools, Floats, Ints, Lottery, happens, sigmoid
from dalenius.data.examples.geography import REGIONS, Geography
from dalenius.data.examples.households import People
from dalenius.data.examples.traits import ADULT, UPPER_SECONDARY

EMPLOYMENT = ("employed", "self-employed", "unemployed", "student", "retired", "inactive", "child")
EMPLOYED, SELF_EMPLOYED, UNEMPLOYED, STUDENT, RETIRED, INACTIVE, CHILD = range(7)
EARLIEST_RETIREMENT = 50
LATEST_STUDY = 39

_JOBLESS = np.array((-0.1, 0.0, 0.2, 0.55, 0.0, 0.3))
_PAY_REGION = np.array((0.14, 0.02, -0.08, -0.12, 0.0, -0.15))
# Pay by major group of occupation: most for managers (1) and professionals (2), least for helpers (9).
_PAY_MAJOR = np.array((0.05, 0.35, 0.2, 0.08, -0.03, -0.15, -0.25, 0.0, -0.05, -0.3))
# In the order of EMPLOYMENT: log of a typical income without work, spread of log income, chance of none.
_OTHER_INCOME = np.array((0.0, 0.0, 9.1, 8.4, 9.65, 8.8, 0.0))
_INCOME_SPREAD = np.array((0.36, 0.6, 0.35, 0.7, 0.38, 0.7, 0.0))
_NO_INCOME = np.array((0.0, 0.02, 0.06, 0.3, 0.01, 0.35, 0.0))
_FULL_TIME = np.array((35, 37, 38, 39, 40, 42, 45, 50, 60))
_PART_TIME = np.array((5, 8, 10, 12, 15, 16, 18, 20, 24, 25, 28, 30, 32, 34))


@dataclass(frozen=True)
class Job:
    """The job of each person; occupation and industry index their code lists with '-8' put at the end."""

    works: Bools
    occupation: Ints
    industry: Ints
    hours: Ints


def employment(
    rng: np.random.Generator, people: People, land: Geography, schooling: Ints, score: Floats
) -> Ints:
    """Draw the employment status: study, then work, then retirement around 64, by schooling and health."""
    age, size = people.age, len(people.age)
    level = schooling - UPPER_SECONDARY
    mother = people.parent & ~people.male
    retires = np.where(age >= EARLIEST_RETIREMENT, sigmoid((age - 64.0) / 1.8 - 0.4 * score), 0.0)
    studies = sigmoid(2.6 - 0.6 * (age - 17) + 0.5 * level)
    studies = np.where(age > LATEST_STUDY, 0.0, np.maximum(studies, np.where(age < 18, 0.9, 0.01)))
    idle = sigmoid(-2.2 + 0.9 * mother - 0.3 * level - 0.6 * score)
    jobless = sigmoid(
        -2.5 - 0.3 * level - 0.2 * score + _JOBLESS[land.region[people.place]] + 0.5 * (age < 26)
    )
    own_boss = sigmoid(-2.1 + 0.02 * (age - 40) + 0.35 * people.male)
    status = np.where(happens(rng, own_boss), SELF_EMPLOYED, EMPLOYED)
    status = np.where(happens(rng, jobless), UNEMPLOYED, status)
    status = np.where(happens(rng, idle), INACTIVE, status)
    status = np.where(happens(rng, studies), STUDENT, status)
    status = np.where(happens(rng, retires), RETIRED, status)
    return np.where(age >= ADULT, status, np.full(size, CHILD))


@cache
def _full_time() -> Lottery:
    return Lottery.of((6, 5, 14, 5, 50, 6, 8, 5, 1))


@cache
def _part_time() -> Lottery:
    return Lottery.of((2, 3, 6, 3, 4, 6, 3, 26, 9, 8, 4, 15, 8, 3))


def _hours(rng: np.random.Generator, people: People, status: Ints) -> Ints:
    """Draw weekly hours, heaped at usual contracts; mothers work part time most often."""
    size = len(status)
    mother = people.parent & ~people.male
    part_time = happens(rng, sigmoid(-2.3 + 1.2 * ~people.male + 0.9 * mother))
    hours = np.where(
        part_time,
        _PART_TIME[_part_time().draw_many(rng, size)],
        _FULL_TIME[_full_time().draw_many(rng, size)],
    )
    own = np.clip(np.rint(44 + 12 * rng.standard_normal(size)), 5, 80).astype(np.int64)
    hours = np.where(status == SELF_EMPLOYED, own, hours)
    return np.where(status <= SELF_EMPLOYED, hours, NOT_APPLICABLE)


def job(rng: np.random.Generator, people: People, land: Geography, schooling: Ints, status: Ints) -> Job:
    """Draw occupation (by schooling and sex), industry (by occupation and region) and hours of workers."""
    works = status <= SELF_EMPLOYED
    occupation = occupation_lottery().draw(rng, 2 * schooling + people.male)
    group = len(REGIONS) * OCCUPATION_MAJOR[occupation] + land.region[people.place]
    return Job(
        works=works,
        occupation=np.where(works, occupation, len(OCCUPATIONS)),
        industry=np.where(works, industry_lottery().draw(rng, group), len(INDUSTRIES)),
        hours=_hours(rng, people, status),
    )


@cache
def _rounding() -> Lottery:
    return Lottery.of((20, 8, 22, 12, 28, 10))


def _heap(rng: np.random.Generator, amount: Floats) -> Ints:
    """Round most amounts as people do when they report: to 10, 100, 1,000, or 5,000 when large."""
    steps = np.array((1.0, 10.0, 100.0, 500.0, 1000.0, 5000.0))
    step = steps[_rounding().draw_many(rng, len(amount))]
    # Nobody reports 3,000 to the nearest 5,000: the step stays below the size of the amount itself.
    step = np.minimum(step, np.maximum(10.0 ** np.floor(np.log10(np.maximum(amount, 1.0)) - 0.7), 1.0) * 5)
    rounded: Ints = (step * np.rint(amount / step)).astype(np.int64)
    return rounded


def income(
    rng: np.random.Generator, people: People, land: Geography, schooling: Ints, status: Ints, work: Job
) -> Ints:
    """Draw income by hours, schooling, experience, occupation, region and sex; heaped, with a long tail."""
    size = len(status)
    experience = np.clip(people.age - 20, 0, 50)
    level = schooling - UPPER_SECONDARY
    # People without work have index len(OCCUPATIONS); any major group will do for them.
    major = OCCUPATION_MAJOR[np.minimum(work.occupation, len(OCCUPATIONS) - 1)]
    pay = (
        9.55
        + 0.13 * level
        + 0.046 * experience
        - 0.0007 * experience**2
        + 0.9 * np.log(np.maximum(work.hours, 1) / 40)
        + _PAY_MAJOR[major]
        + _PAY_REGION[land.region[people.place]]
        + 0.04 * land.urban[people.place]
        + 0.1 * people.male
    )
    log_amount = np.where(work.works, pay, _OTHER_INCOME[status] + 0.14 * level * (status == RETIRED))
    log_amount = log_amount + _INCOME_SPREAD[status] * rng.standard_normal(size)
    # One worker in thirty has an income from a Pareto-like tail on top.
    tail = np.where(work.works & (rng.random(size) < 1 / 30), rng.exponential(0.55, size), 0.0)
    amount = np.where(happens(rng, _NO_INCOME[status]), 0.0, np.exp(log_amount + tail))
    return np.where(status == CHILD, NOT_APPLICABLE, _heap(rng, np.minimum(amount, 2e8)))


def wealth(rng: np.random.Generator, people: People, earned: Ints, schooling: Ints) -> Ints:
    """Draw net wealth in hundreds: grows with age and income, alike in a household, less what is owed."""
    size = len(people.age)
    assets = np.exp(
        8.7
        + 0.05 * (np.minimum(people.age, 72) - 20)
        + 0.35 * np.log((np.maximum(earned, 0) + 4000) / 25000)
        + 0.12 * (schooling - UPPER_SECONDARY)
        + 0.9 * people.shared(rng)
        + 0.7 * rng.standard_normal(size)
    )
    indebted = happens(rng, np.where(people.age < 65, 0.5, 0.15))
    debts = np.where(indebted, np.exp(8.9 + 1.2 * rng.standard_normal(size)), 0.0)
    net = 100 * np.rint((np.minimum(assets, 5e8) - debts) / 100).astype(np.int64)
    return np.where(people.age < ADULT, NOT_APPLICABLE, net)
