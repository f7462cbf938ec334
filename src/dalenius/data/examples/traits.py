"""Schooling, smoking, body and health of people, each drawn given the ones before it."""

from __future__ import annotations

import numpy as np

from dalenius.data.examples.codes import DIAGNOSES, DIAGNOSIS_AGE_BANDS, diagnosis_lottery
from dalenius.data.examples.draw import NOT_APPLICABLE, Bools, Floats, Ints, happens, sigmoid
from dalenius.data.examples.geography import Geography
from dalenius.data.examples.households import People

EDUCATION = ("none", "primary", "lower secondary", "upper secondary", "bachelor", "master", "doctorate")
UPPER_SECONDARY = EDUCATION.index("upper secondary")
HEALTH = ("very bad", "bad", "fair", "good", "very good")
SATISFACTION = ("very low", "low", "medium", "high", "very high")
ADULT = 16
"""Age from which questions on work, money and smoking are asked."""

_EDUCATION_CUTS = (-2.7, -1.8, -0.8, 0.45, 1.15, 2.4)
# Youngest age at which each level of education can be complete.
EDUCATION_AGE = (0, 12, 16, 18, 21, 23, 27)
# Effects by region R1 ... R6: R1 is schooled, R4 smokes and is in worse health.
_SCHOOLED = np.array((0.25, 0.05, -0.15, -0.2, 0.0, -0.1))
_SMOKES = np.array((-0.1, 0.0, 0.15, 0.45, -0.05, 0.2))
_WEIGHT_GAIN = np.array((-0.4, 0.0, 0.5, 0.7, 0.1, 0.2))


def education(rng: np.random.Generator, people: People, land: Geography) -> Ints:
    """Draw the level of education: higher for the young, in cities, and alike in a household."""
    score = (
        0.6 * people.shared(rng)
        + 0.8 * rng.standard_normal(len(people.age))
        - 0.016 * (people.age - 40)
        + 0.22 * land.urban[people.place]
        + _SCHOOLED[land.region[people.place]]
        + np.where(people.male | (people.age > 45), 0.0, 0.15)
    )
    # A score says how far someone will get; the young have not got there yet.
    reachable = np.searchsorted(EDUCATION_AGE, people.age, side="right") - 1
    level: Ints = np.minimum(np.searchsorted(_EDUCATION_CUTS, score), reachable)
    return level


def smoker(rng: np.random.Generator, people: People, land: Geography, schooling: Ints) -> Bools:
    """Draw who smokes: men, the less schooled and people of R4 more, the old less, children never."""
    score = (
        -1.2
        - 0.35 * (schooling - UPPER_SECONDARY)
        + 0.35 * people.male
        - 0.04 * np.maximum(people.age - 50, 0)
        + _SMOKES[land.region[people.place]]
    )
    return happens(rng, np.where(people.age >= ADULT, sigmoid(score), 0.0))


def cigarettes(rng: np.random.Generator, people: People, smokes: Bools) -> Ints:
    """Draw cigarettes per day of smokers, reported in halves of a pack more often than not."""
    number = 1 + np.floor(rng.gamma(1.6, np.where(people.male, 7.0, 5.5)))
    heaped = np.maximum(5 * np.rint(number / 5), 5)
    number = np.where(rng.random(len(number)) < 0.6, heaped, number)
    return np.where(smokes, np.clip(number, 1, 60), NOT_APPLICABLE).astype(np.int64)


def body_mass(
    rng: np.random.Generator, people: People, land: Geography, schooling: Ints, smokes: Bools
) -> Floats:
    """Draw the body mass index: rises to age 65, higher for the less schooled, lower for smokers."""
    # A gamma variable less its mean: skewed to the right, as weights are.
    noise = rng.gamma(6.0, 1.0, len(people.age)) - 6.0
    adult = (
        23.0
        + 0.075 * (np.minimum(people.age, 65) - 18)
        - 0.35 * (schooling - UPPER_SECONDARY)
        + 0.7 * people.male
        - 0.8 * smokes
        + _WEIGHT_GAIN[land.region[people.place]]
        + 1.6 * noise
    )
    child = 15.8 + 0.38 * np.maximum(people.age - 5, 0) + 0.75 * noise
    return np.round(np.clip(np.where(people.age >= 18, adult, child), 11.0, 60.0), 1)


def health_score(
    rng: np.random.Generator, people: People, schooling: Ints, smokes: Bools, bmi: Floats
) -> Floats:
    """Draw the hidden health score that drives self-rated health, diagnoses, work and visits."""
    adult_schooling = np.where(people.age >= 25, schooling - UPPER_SECONDARY, 0)
    score: Floats = (
        0.2
        - 0.024 * (people.age - 40)
        + 0.14 * adult_schooling
        - 0.35 * smokes
        - 0.045 * np.maximum(bmi - 25, 0)
        + 0.85 * rng.standard_normal(len(people.age))
    )
    return score


def health(score: Floats) -> Ints:
    """Cut the health score into self-rated health."""
    return np.searchsorted((-2.3, -1.5, -0.5, 0.7), score).astype(np.int64)


def diagnosis(rng: np.random.Generator, people: People, smokes: Bools, bmi: Floats, score: Floats) -> Ints:
    """Draw the main diagnosis, 'none' for most; what it is depends on age, sex, smoking and obesity."""
    ill = happens(rng, sigmoid(-1.9 + 0.022 * (people.age - 40) - 0.9 * score))
    decade = np.minimum(people.age // 10, DIAGNOSIS_AGE_BANDS - 1)
    group = 8 * decade + 4 * people.male + 2 * smokes + (bmi >= 30)
    return np.where(ill, diagnosis_lottery().draw(rng, group), DIAGNOSES.index("none"))


def visits(rng: np.random.Generator, people: People, score: Floats, ill: Bools) -> Ints:
    """Draw visits to a doctor in a year: a share never goes, the others follow an overdispersed count."""
    never = happens(
        rng, sigmoid(-0.6 + 0.35 * score - 1.4 * ill + 0.35 * people.male - 1.0 * (people.age < 6))
    )
    mean = np.exp(0.8 - 0.3 * score + 0.6 * ill + 0.004 * (people.age - 40))
    count = rng.poisson(mean * rng.gamma(1.5, 1 / 1.5, len(mean)))
    return np.where(never, 0, np.minimum(count, 99)).astype(np.int64)


def satisfaction(
    rng: np.random.Generator, people: People, score: Floats, income: Ints, unemployed: Bools
) -> Ints:
    """Draw life satisfaction: health, a partner and money raise it, unemployment lowers it."""
    money = np.where(people.age >= ADULT, np.log((np.maximum(income, 0) + 3000) / 25000), 0.0)
    total = (
        0.45 * score
        + 0.3 * money
        + 0.35 * people.partnered
        - 0.9 * unemployed
        + 0.8 * rng.standard_normal(len(score))
    )
    level: Ints = np.searchsorted((-2.2, -1.1, -0.1, 1.0), total).astype(np.int64)
    return level
