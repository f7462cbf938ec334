"""Singling out: descriptions that are unique in the protected file, tried on the original.

The intruder takes a protected record and describes it, value by value, until the description is narrow (by margins
alone it would fit one person in two hundred files of this size) and fits no other protected record. He bets that
exactly one person in the data fits it. Narrow descriptions are seldom right by chance, so that a bet that is won tells
something. The same bets are tried on equally many people who are not in the data; where these are fewer, on each of
several equal parts of the data, so that everybody in it is looked at. The naive guesser wins with probability
n w (1 - w)^(n-1), w the weight of the description (D'Acquisto et al. 2024, eq. 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from dalenius.core.kernels import threads_for
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator, some_rows
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.attack import _kernels
from dalenius.risk.attack.outcome import Outcome
from dalenius.risk.isolation import isolation_probability
from dalenius.risk.needs import compared_columns
from dalenius.risk.sampling import SEED

MOST_PEOPLE = 50_000
"""Records of each file that are looked at, at most: a description that fits one of so many is narrow enough."""
TRIED = 4
"""Protected records described per bet, at most: the narrowest descriptions are bet on."""


@measure(
    name="singling-out",
    covered=True,
    title="Singling out",
    family="risk",
    dimension="singling out",
    meaning="How much more often a description that fits one protected record fits exactly one person in the data "
    "than exactly one person outside it.",
    better="lower",
    bounds=(-100, 100),
    unit="%",
    reference="Article 29 WP216; D'Acquisto, Cohen, Naldi and Nissim 2024 for the baseline",
    default=False,
    random=True,
)
def singling_out(
    pair: Pair,
    attacks: Annotated[int, Option(at_least=1)] = 2000,
    narrow: Annotated[float, Option(above=0)] = 0.005,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Singling-out attack.

    Parameters
    ----------
    attacks
        Bets placed.
    narrow
        People that margins alone would let a description fit, at most, among as many as are in the data; a
        description that fits nobody cannot be bet on.
    records
        Give one row per bet too: the protected record that is described, and whether the bet is won (confidential).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {c: rng.integers(0, 30, 300).astype(str) for c in "abcd"}
    >>> people = draw()
    >>> singling_out(Pair(people, people, draw())).value > 90
    True
    """
    inside, outside = pair.units, pair.holdout_units
    people = min(inside.count, MOST_PEOPLE)
    parts = -(-people // min(outside.count or people, people))
    bets = _bets(pair, attacks, narrow / people, seed)
    if not len(bets.rows):
        text = "No description is unique in the protected file, so there is no bet: not trusted."
        return Result("singling-out", 0.0, text, unit="%", trusted=False)
    members = inside.rows_of_some(people, seed, "members")
    part = (generator(seed, "parts").permutation(inside.count) % parts)[inside.owners_of_rows[members]]
    won = np.sum([bets.won(pair, "original", inside, members[part == k]) for k in range(parts)], axis=0)
    control = None
    if pair.holdout is not None:
        strangers = outside.rows_of_some(people // parts, seed, "outsiders")
        control = bets.won(pair, "holdout", outside, strangers)
    naive = float(isolation_probability(np.exp(bets.weights), people).mean())
    table = pl.DataFrame({"bets": [len(bets.rows)], "columns in a description": [float(bets.depth.mean())]})
    told = (
        pl.DataFrame({"protected_row": bets.rows, "columns": bets.depth, "won": won == 1})
        if records
        else None
    )
    return _outcome(won, control, naive, parts).result(
        "singling-out",
        "Betting that a description of one protected record fits exactly one person",
        table,
        records=told,
    )


def _outcome(won: AnyArray, control: AnyArray | None, naive: float, parts: int) -> Outcome:
    """Bets won on all parts of the data together, beside so many times those won on strangers."""
    if control is None or parts == 1:
        return Outcome.of(won, control, naive, paired=True)
    tries = max(len(control) // parts, 1)
    hits = min(float(won.sum()), len(won))
    return Outcome(hits, len(won), min(float(control.sum()), tries), tries, naive, both=0.0)


@dataclass(frozen=True, eq=False)
class _Bets:
    """Descriptions: the first ``depth`` columns, in its own order, of a protected row; logarithms of the weights."""

    rows: AnyArray
    orders: AnyArray
    depth: AnyArray
    weights: AnyArray
    wanted: AnyArray

    def won(self, pair: Pair, which: str, units: Units, people: AnyArray) -> AnyArray:
        """Say for each bet whether exactly one of some people fits."""
        codes = _codes(pair, which)[people]
        owners = units.subset(people).owners_of_rows
        with threads_for(len(self.wanted) * len(codes)):
            fit = _kernels.owners_that_fit(codes, owners, self.wanted, self.orders, self.depth)
        return (fit == 1).astype(float)


def _bets(pair: Pair, attacks: int, weight: float, seed: Seed) -> _Bets:
    """Describe protected records in random order; narrow descriptions are bet on first, then the narrowest others."""
    rng = generator(seed, "singling-out")
    looked_at = some_rows(pair.protected.rows, MOST_PEOPLE, seed, "protected")
    codes, limit = _codes(pair, "protected")[looked_at], float(np.log(weight))
    logs = np.column_stack([_log_shares(codes[:, j]) for j in range(codes.shape[1])])
    rows = rng.permutation(len(codes))[: TRIED * attacks]
    orders = rng.permuted(np.tile(np.arange(codes.shape[1]), (len(rows), 1)), axis=1)
    depth, weights, narrow = np.zeros(len(rows), np.int64), np.zeros(len(rows)), 0
    for start in range(0, len(rows), attacks):
        some = slice(start, start + attacks)
        with threads_for(len(rows[some]) * len(codes)):
            depth[some], weights[some] = _kernels.describe(codes, logs, rows[some], orders[some], limit)
        narrow += int(np.count_nonzero((depth[some] > 0) & (weights[some] <= limit)))
        if narrow >= attacks:
            break
    unique = np.flatnonzero(depth > 0)
    chosen = unique[np.argsort(np.maximum(weights[unique], limit), kind="stable")[:attacks]]
    described = codes[rows[chosen]]
    return _Bets(looked_at[rows[chosen]], orders[chosen], depth[chosen], weights[chosen], described)


def _codes(pair: Pair, which: str) -> AnyArray:
    aligned = [pair.categories(name, grouped=True) for name in compared_columns(pair)]
    return np.column_stack([getattr(a, which).codes.astype(np.int32) for a in aligned])


def _log_shares(codes: AnyArray) -> AnyArray:
    return np.log(np.bincount(codes)[codes] / len(codes))
