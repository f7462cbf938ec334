"""Households: who lives together, where, how old they are and whether they are married."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dalenius.data.examples.draw import Bools, Floats, Ints, Lottery, happens, sigmoid
from dalenius.data.examples.geography import Geography

MARITAL = ("single", "married", "divorced", "widowed")
SINGLE, MARRIED, DIVORCED, WIDOWED = range(4)

_ALONE, _COUPLE, _FAMILY, _LONE_PARENT, _SHARED_FLAT = range(5)
_HEAD, _PARTNER, _CHILD, _FLATMATE, _GRANDPARENT = range(5)
_YOUNGEST_HEAD, OLDEST = 18, 99
_OLDEST_CHILD_AT_HOME = 29
# Household types (alone, couple, family, lone parent, shared flat) in villages, towns and cities.
_TYPE_WEIGHTS = ((28, 30, 33, 7, 0.3), (33, 28, 29, 8, 1.5), (41, 24, 22, 8, 4))


@dataclass(frozen=True)
class People:
    """The skeleton of the persons of one chunk, household by household, the head of each first.

    `household` counts from 0 in the chunk, `member` from 1 in the household; `place` is the index of the
    municipality; `partnered` says that the partner lives here, `parent` that a child does.
    """

    household: Ints
    member: Ints
    place: Ints
    age: Ints
    male: Bools
    marital: Ints
    partnered: Bools
    parent: Bools
    longitude: Floats
    latitude: Floats

    def shared(self, rng: np.random.Generator) -> Floats:
        """Return a standard normal factor that all members of a household share."""
        return rng.standard_normal(int(self.household[-1]) + 1)[self.household]


@dataclass(frozen=True)
class _Heads:
    """What is drawn once per household."""

    kind: Ints
    place: Ints
    age: Ints
    male: Bools
    partner_age: Ints
    partner_male: Bools
    children: Ints

    @property
    def couple(self) -> Bools:
        result: Bools = (self.kind == _COUPLE) | (self.kind == _FAMILY)
        return result


def _bump(age: Floats, centre: float, spread: float) -> Floats:
    result: Floats = np.exp(-0.5 * ((age - centre) / spread) ** 2)
    return result


@cache
def _head_ages() -> Lottery:
    age = np.arange(_YOUNGEST_HEAD, OLDEST + 1, dtype=np.float64)
    return Lottery.of(
        [
            0.9 * _bump(age, 27, 6) + 0.7 * _bump(age, 50, 13) + 0.8 * _bump(age, 76, 9),
            0.5 * _bump(age, 29, 5) + _bump(age, 66, 11),
            _bump(age, 41, 8) * (age <= 66) * (age >= 20),
            _bump(age, 42, 9) * (age <= 66) * (age >= 20),
            _bump(age, 23, 4) * (age <= 40),
        ]
    )


@cache
def _unpartnered() -> Lottery:
    """Marital status of adults without a husband or wife; the group is ``100 * male + age``."""
    age = np.arange(100, dtype=np.float64)
    single = np.exp(-np.maximum(age - 18, 0) / 16) + 0.12
    divorced = 0.45 * sigmoid((age - 42) / 6) * (age >= 22)
    widowed = 2.4 * sigmoid((age - 74) / 6.5) * (age >= 28)
    rows = [np.stack([single, np.zeros(100), divorced, share * widowed], axis=1) for share in (1.0, 0.55)]
    return Lottery.of(np.concatenate(rows))


@cache
def _household_types() -> Lottery:
    return Lottery.of(_TYPE_WEIGHTS)


@cache
def _child_counts() -> Lottery:
    return Lottery.of([(40, 42, 13, 3.5, 1.5), (60, 31, 9, 0, 0)])


def _heads(rng: np.random.Generator, land: Geography, size: int) -> _Heads:
    place = land.lottery.draw_many(rng, size)
    kind = _household_types().draw(rng, np.digitize(land.urban[place], (0.0, 1.5)).astype(np.int64))
    age = _YOUNGEST_HEAD + _head_ages().draw(rng, kind)
    male = rng.random(size) < np.where(kind == _LONE_PARENT, 0.17, 0.52)
    # Husbands are two years older on average; the heavy tails of Student's t give a few large gaps.
    gap = np.where(male, -2.0, 2.0) + 2.6 * rng.standard_t(4, size)
    partner_age = np.clip(np.rint(age + gap), _YOUNGEST_HEAD, OLDEST).astype(np.int64)
    children = 1 + _child_counts().draw(rng, (kind == _LONE_PARENT).astype(np.int64))
    has_children = (kind == _FAMILY) | (kind == _LONE_PARENT)
    return _Heads(
        kind=kind,
        place=place,
        age=age,
        male=male,
        partner_age=partner_age,
        partner_male=male ^ (rng.random(size) < 0.98),
        children=np.where(has_children, children, 0),
    )


def _child_ages(rng: np.random.Generator, heads: _Heads, household: Ints) -> Ints:
    """Draw ages such that the younger parent was between 18 and 43 at the birth."""
    parent = np.where(heads.couple, np.minimum(heads.age, heads.partner_age), heads.age)[household]
    low = np.clip(parent - 43, 0, _OLDEST_CHILD_AT_HOME)
    high = np.clip(parent - 18, low, _OLDEST_CHILD_AT_HOME)
    ages = low + np.floor((high - low + 1) * rng.beta(1.7, 1.9, household.shape[0])).astype(np.int64)
    result: Ints = np.minimum(ages, high)
    return result


def _members(rng: np.random.Generator, heads: _Heads) -> tuple[Ints, Ints, Ints, Bools]:
    """Return household, role, age and sex of all persons, in order of household and role."""
    everyone = np.arange(heads.kind.shape[0])
    partners = everyone[heads.couple]
    children = np.repeat(everyone, heads.children)
    flatmates = np.repeat(
        everyone, np.where(heads.kind == _SHARED_FLAT, rng.integers(1, 4, len(everyone)), 0)
    )
    takes_in = (heads.age >= 35) & (heads.age <= 65) & (heads.kind != _SHARED_FLAT)
    grandparents = everyone[happens(rng, np.where(takes_in, 0.03, 0.0))]
    flatmate_age = np.clip(np.rint(heads.age[flatmates] + rng.normal(0, 3, len(flatmates))), 18, 45)
    ages = (
        heads.age,
        heads.partner_age[partners],
        _child_ages(rng, heads, children),
        flatmate_age.astype(np.int64),
        np.minimum(heads.age[grandparents] + rng.integers(20, 38, len(grandparents)), OLDEST),
    )
    males = (
        heads.male,
        heads.partner_male[partners],
        rng.random(len(children)) < 0.512,
        rng.random(len(flatmates)) < 0.5,
        rng.random(len(grandparents)) < 0.25,
    )
    groups = (everyone, partners, children, flatmates, grandparents)
    household = np.concatenate(groups)
    role = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    age = np.concatenate(ages)
    # Older children come first, as a household would list itself.
    order = np.argsort(household * 1000 + role * 100 + np.where(role == _CHILD, 99 - age, 0), kind="stable")
    return household[order], role[order], age[order], np.concatenate(males)[order]


def _marital(
    rng: np.random.Generator, heads: _Heads, household: Ints, role: Ints, age: Ints, male: Bools
) -> Ints:
    """Marry couples more often when older or with children; others are single, divorced or widowed by age."""
    couple_age = np.minimum(heads.age, heads.partner_age)
    chance = sigmoid(-0.9 + 0.09 * (couple_age - 25) + 0.8 * (heads.children > 0))
    wed = happens(rng, np.where(heads.couple, chance, 0.0))
    status = _unpartnered().draw(rng, 100 * male + age)
    status = np.where((role == _CHILD) | (role == _FLATMATE), SINGLE, status)
    bereaved = np.where(rng.random(len(age)) < 0.75, WIDOWED, DIVORCED)
    status = np.where(role == _GRANDPARENT, bereaved, status)
    return np.where(wed[household] & (role <= _PARTNER), MARRIED, status)


def households(rng: np.random.Generator, land: Geography, size: int) -> People:
    """Draw `size` households and the people who live in them.

    Examples
    --------
    >>> from dalenius.core.random import generator
    >>> from dalenius.data.examples.geography import geography
    >>> people = households(generator(0), geography(), 50)
    >>> int(people.household.max()), int(people.age[people.member == 1].min()) >= 18
    (49, True)
    """
    heads = _heads(rng, land, size)
    household, role, age, male = _members(rng, heads)
    sizes = np.bincount(household, minlength=size)
    home = rng.standard_normal((2, size)) * land.spread[heads.place]
    grown_up = role <= _PARTNER
    return People(
        household=household,
        member=np.arange(1, len(household) + 1) - (np.cumsum(sizes) - sizes)[household],
        place=heads.place[household],
        age=age,
        male=male,
        marital=_marital(rng, heads, household, role, age, male),
        partnered=grown_up & heads.couple[household],
        parent=grown_up & (heads.children > 0)[household],
        longitude=np.round(land.longitude[heads.place] + home[0], 5)[household],
        latitude=np.round(land.latitude[heads.place] + home[1], 5)[household],
    )
