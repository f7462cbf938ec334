"""A panel of people asked every year about work and pay: states, spells and a level of their own, all invented."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import generator
from dalenius.data.examples.draw import check_size

STATES = ("employed", "unemployed", "at home", "retired")
MOVES = np.array(
    [
        [0.92, 0.05, 0.03, 0.0],
        [0.45, 0.45, 0.10, 0.0],
        [0.12, 0.05, 0.83, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
)
"""Chance that one state is followed by another a year later, before anybody retires; nobody comes back from there."""
FIRST, LAST = 2012, 2021
STAYS = 0.93
"""Chance that somebody who was asked is asked again in the year after."""
SLUMP = 2019
"""The year in which three times as many people lose their work: waves differ."""


def panel(n: int = 2_000, seed: int = 0) -> pl.DataFrame:
    """``n`` people, one row for each year in which they were asked.

    A state depends on the one before (`MOVES`), on age and on the year; pay on education and on a level of a person's
    own, which carries two thirds of the variance that is left. Some leave the panel, a few come in later.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> made = examples.panel(100)
    >>> made.columns
    ['person', 'year', 'sex', 'born', 'education', 'state', 'pay', 'satisfaction']
    """
    check_size(n)
    rng = generator(seed, "panel")
    female = rng.random(n) < 0.5
    born = rng.integers(1940, 1995, n)
    education = rng.choice(3, n, p=[0.3, 0.45, 0.25])
    level = rng.normal(0, 0.4, n)
    mood = rng.normal(0, 1.2, n)
    start = np.where(rng.random(n) < 0.8, FIRST, rng.integers(FIRST, LAST, n))
    state = rng.choice(3, n, p=[0.68, 0.08, 0.24])
    state = np.where(start - born >= 66, 3, state)
    there = np.ones(n, bool)
    parts = []
    for year in range(FIRST, LAST + 1):
        now = np.flatnonzero(there & (start <= year))
        new = start[now] == year
        state[now[~new]] = _moved(rng, state[now[~new]], year, (year - born)[now[~new]])
        work = state[now] == 0
        pay = np.exp(
            7.2 + 0.3 * education[now] - 0.12 * female[now] + level[now] + rng.normal(0, 0.28, len(now))
        )
        happy = 6.5 + mood[now] - 1.5 * (state[now] == 1) + rng.normal(0, 1.0, len(now))
        parts.append(
            (now, np.full(len(now), year), state[now].copy(), np.where(work, np.round(pay, -1), -1), happy)
        )
        there[now] = rng.random(len(now)) < STAYS
    who, years, states, pays, moods = (np.concatenate(part) for part in zip(*parts, strict=True))
    rows = np.lexsort((years, who))
    who = who[rows]
    return pl.DataFrame(
        {
            "person": who + 1,
            "year": years[rows],
            "sex": np.where(female, "female", "male")[who],
            "born": born[who],
            "education": np.array(["low", "middle", "high"])[education][who],
            "state": np.array(STATES)[states[rows]],
            "pay": pl.Series(pays[rows].astype(np.int64)).set(pl.Series(pays[rows] < 0), None),
            "satisfaction": np.clip(np.round(moods[rows]), 0, 10).astype(np.int64),
        }
    )


def _moved(rng: np.random.Generator, state: np.ndarray, year: int, age: np.ndarray) -> np.ndarray:
    """The states a year later."""
    chances = MOVES[state].copy()
    if year == SLUMP:
        lost = 2 * chances[:, 1] * (state == 0)
        chances[:, 1] += lost
        chances[:, 0] -= lost
    following = (rng.random(len(state))[:, None] > np.cumsum(chances, axis=1)).sum(axis=1).clip(0, 3)
    retires = (state == 3) | (age >= 70) | ((age >= 60) & (rng.random(len(state)) < 0.2))
    return np.where(retires, 3, following)
