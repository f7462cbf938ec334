"""Histories of people from day to day: spells of work, gaps, the end of the study and that of a life, all invented."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import generator
from dalenius.data.examples.draw import check_size

STATES = ("job", "no job", "ill", "pension", "dead")
MOVES = np.array(
    [
        [0.35, 0.42, 0.16, 0.05, 0.02],
        [0.80, 0.00, 0.10, 0.08, 0.02],
        [0.55, 0.20, 0.00, 0.15, 0.10],
        [0.00, 0.00, 0.00, 0.00, 1.00],
        [0.00, 0.00, 0.00, 0.00, 0.00],
    ]
)
"""Chance that one state is followed by another; nobody comes back from a pension, or from death."""
DAYS = np.array([620.0, 150.0, 60.0, 2600.0, 0.0])
"""How long a state lasts on average."""
FIRST, LAST = np.datetime64("2010-01-01"), np.datetime64("2019-12-31")
LEAVES = 0.03
"""Chance that somebody is not followed further after a spell."""
MOST = 60
"""Spells that nobody has more of."""


def histories(n: int = 1_000, seed: int = 0) -> pl.DataFrame:
    """``n`` people with a row for each spell: from when to when they were in a state.

    What follows what depends on the state (`MOVES`), how long it lasts on the state, on sex and on a tempo of a
    person's own; after one spell in five there is a gap of which nothing is known. A spell that was going on when the
    study ended has no end, nor has death; some leave earlier.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> examples.histories(100).columns
    ['person', 'sex', 'born', 'start', 'end', 'state', 'pay']
    """
    check_size(n)
    rng = generator(seed, "histories")
    female = rng.random(n) < 0.5
    tempo = np.exp(rng.normal(0, 0.45, n))
    born = FIRST - (rng.integers(20 * 365, 63 * 365, n)).astype("timedelta64[D]")
    day = FIRST + rng.integers(0, 400, n).astype("timedelta64[D]")
    state = rng.choice(3, n, p=[0.75, 0.17, 0.08])
    now, parts = np.arange(n), []
    for _ in range(MOST):
        mean = DAYS[state[now]] * tempo[now] * np.where(female[now] & (state[now] == 1), 1.6, 1.0)
        end = day[now] + np.ceil(rng.gamma(1.4, mean / 1.4 + 1e-9)).astype("timedelta64[D]")
        going = (end > LAST) | (state[now] == 4)
        parts.append((now, day[now], np.where(going, np.datetime64("NaT"), end), state[now]))
        on = ~going & (rng.random(len(now)) >= LEAVES)
        gap = np.where(rng.random(len(now)) < 0.2, rng.integers(1, 60, len(now)), 0)
        chances = np.cumsum(MOVES[state[now]], axis=1)
        state[now] = (rng.random(len(now))[:, None] > chances).sum(axis=1).clip(0, 4)
        day[now] = np.where(going, day[now], end + gap.astype("timedelta64[D]"))
        now = now[on & (day[now] <= LAST)]
        if not len(now):
            break
    who, start, end, kind = (np.concatenate(part) for part in zip(*parts, strict=True))
    rows = np.lexsort((start, who))
    who, kind = who[rows], kind[rows]
    pay = np.round(np.exp(7.6 - 0.1 * female[who] + rng.normal(0, 0.3, len(who))), -1)
    return pl.DataFrame(
        {
            "person": who + 1,
            "sex": np.where(female, "female", "male")[who],
            "born": born[who],
            "start": start[rows],
            "end": end[rows],
            "state": np.array(STATES)[kind],
            "pay": pl.Series(pay.astype(np.int64)).set(pl.Series(kind != 0), None),
        }
    )
