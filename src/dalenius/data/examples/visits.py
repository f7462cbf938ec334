"""Patients and their visits: a sequence of events with known gaps and transitions, all invented."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import generator
from dalenius.data.examples.draw import check_size
from dalenius.data.relations import Database, Link

REASONS = ("check-up", "acute", "surgery", "rehab", "chronic")
MOVES = np.array(
    [
        [0.55, 0.25, 0.03, 0.02, 0.15],
        [0.30, 0.30, 0.20, 0.05, 0.15],
        [0.05, 0.05, 0.10, 0.75, 0.05],
        [0.35, 0.10, 0.05, 0.40, 0.10],
        [0.10, 0.15, 0.05, 0.05, 0.65],
    ]
)
"""Chance that a visit for one reason is followed by one for another."""
WAIT = np.array([180.0, 25.0, 9.0, 14.0, 45.0])
"""Mean days after a visit for each reason until the next."""
STAY = np.array([0.88, 0.80, 0.95, 0.85, 0.93])
"""Chance that there is another visit."""
END = 20089
"""2025-01-01 in days since 1970: the register ends there."""


def visits(n: int = 2_000, seed: int = 0) -> Database:
    """``n`` patients with a birth date, some with a date of death, and their visits in order of date.

    A visit's reason depends on the one before (`MOVES`), the days until the next on the reason (`WAIT`), the number of
    visits on sex and age; no visit is before birth or after death.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(100)
    >>> base["patients"].rows, str(base.links[0]), dict(base.order)
    (100, 'visits.patient_id -> patients.patient_id (1-n)', {'visits': 'date'})
    """
    check_size(n)
    rng = generator(seed, "visits")
    female = rng.random(n) < 0.53
    age = rng.integers(0, 95, n)
    born = END - 3650 - np.floor(365.25 * (age + rng.random(n))).astype(np.int64)
    dies = rng.random(n) < 0.02 + 0.25 * (age > 65)
    died = np.where(dies, END - rng.integers(0, 3000, n), END + 1)
    region = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    day = np.maximum(END - 3650, born) + rng.integers(0, 2500, n)
    reason = np.where(
        age > 60,
        rng.choice(5, n, p=[0.3, 0.3, 0.1, 0.05, 0.25]),
        rng.choice(5, n, p=[0.5, 0.4, 0.05, 0, 0.05]),
    )
    alive = (day <= np.minimum(died, END)) & (rng.random(n) < np.where(age > 40, 0.9, 0.7))
    who, parts = np.flatnonzero(alive), []
    day, reason = day[alive], reason[alive]
    while len(who):
        cost = np.round(rng.lognormal(4 + 0.8 * (reason == 2) + 0.3 * female[who], 0.5), 2)
        parts.append((who, day, reason, cost))
        goes_on = rng.random(len(who)) < STAY[reason] - 0.05 * female[who]
        gap = 1 + rng.exponential(WAIT[reason] * (1 + 0.5 * (region[who] == 3))).astype(np.int64)
        ends = np.cumsum(MOVES[reason], axis=1)
        following = (rng.random(len(who))[:, None] > ends).sum(axis=1).clip(0, 4)
        goes_on &= day + gap <= np.minimum(died[who], END)
        who, day, reason = who[goes_on], (day + gap)[goes_on], following[goes_on]
    whose, days, reasons, costs = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((days, whose))
    return _tables(
        n,
        female,
        region,
        born,
        np.where(dies, died, -1),
        whose[order],
        days[order],
        reasons[order],
        costs[order],
    )


def _tables(n: int, female, region, born, died, whose, days, reasons, costs) -> Database:  # type: ignore[no-untyped-def]
    people = pl.DataFrame(
        {
            "patient_id": np.arange(1, n + 1),
            "sex": np.where(female, "female", "male"),
            "region": np.array(["north", "south", "east", "west"])[region],
            "born": pl.Series(born.astype(np.int32)).cast(pl.Date),
            "died": pl.Series(died.astype(np.int32)).cast(pl.Date).set(pl.Series(died < 0), None),
        }
    )
    held = pl.DataFrame(
        {
            "visit_id": np.arange(1, len(whose) + 1),
            "patient_id": whose + 1,
            "date": pl.Series(days.astype(np.int32)).cast(pl.Date),
            "reason": np.array(REASONS)[reasons],
            "cost": costs,
        }
    )
    return Database.of(
        {"patients": people, "visits": held}, {"patients": "patient_id", "visits": "visit_id"},
        [Link("patients", "patient_id", "visits", "patient_id", "1-n")], order={"visits": "date"},
        rules=("visits.date >= patients.born", "visits.date <= patients.died"),
    )  # fmt: skip
