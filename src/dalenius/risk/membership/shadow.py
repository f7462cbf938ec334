"""Shadow models: synthesize many times with and without each person, and test whether his presence shows.

This is the strongest attack here, because the intruder is given the synthesizer itself and the whole population he
chooses from; only which half was used is hidden (a likelihood-ratio test as in Carlini et al. 2022, on repeated
syntheses). Any method will do: a callable that takes a table and a seed and gives a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, generator, sequence
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.space import Space
from dalenius.risk.membership.curve import Curve
from dalenius.risk.sampling import SEED

SIDES = (True, False)
TIED, TYPICAL, TINY = 20, 4, 1e-12
Release = Callable[[Table, Seed], Table]
"""A way to protect a file: a method, a candidate, or any function from a table and a seed to a table."""


@dataclass(frozen=True, eq=False, repr=False)
class ShadowAudit:
    """Outcome of repeated syntheses.

    Attributes
    ----------
    rows
        Candidates: rows of the table that were tested (where the schema names an entity: the first row of each).
    included
        Which candidate was in which run (runs x candidates).
    statistic
        Closeness of each candidate to the run's synthetic file.
    curve
        Likelihood-ratio scores of members and outsiders over all runs.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> data = Table.from_frame({"x": rng.normal(size=120), "y": rng.normal(size=120)})
    >>> audit = shadow_audit(data, lambda table, seed: table, runs=8, candidates=60)
    >>> audit.curve.auc > 0.95
    True
    """

    rows: AnyArray
    included: AnyArray
    statistic: AnyArray
    curve: Curve

    def exposure(self) -> pl.DataFrame:
        """Most exposed candidates first: row number, and how well his presence shows (AUC over runs).

        The table names rows, not values; it is for the data holder.
        """
        aucs = [
            Curve(self.statistic[self.included[:, i], i], self.statistic[~self.included[:, i], i]).auc
            for i in range(len(self.rows))
        ]
        return pl.DataFrame({"row": self.rows, "exposure": aucs}).sort(
            "exposure", "row", descending=[True, False]
        )

    def result(self) -> Result:
        """The audit as a result."""
        found = self.curve.tpr_at(0.01)
        floor = self.curve.epsilon_floor(0.01)
        exposed = float(np.mean(self.exposure()["exposure"].to_numpy() > 0.95))
        return Result(
            name="membership-shadow",
            value=self.curve.auc,
            sentence=f"Given the synthesizer itself, the best test over {len(self.included)} syntheses tells "
            f"members from outsiders with chance {figure(self.curve.auc)} (0.5 is a coin) and finds "
            f"{figure(100 * found, '%')} of members at 1 % false accusations; no guarantee stronger than "
            f"ε = {figure(floor)} can hold.",
            interval=self.curve.interval(),
            yardsticks={"coin": 0.5},
            values={
                "members found at 1 % false positives": found,
                "ε at least": floor,
                "share exposed": exposed,
            },
            table=self.curve.table(),
            counts=WHOLE,
        )


def shadow_audit(
    data: Any,
    method: Release,
    *,
    runs: int = 16,
    candidates: int = 200,
    seed: Seed = SEED,
    progress: Callable[[int, int], None] | None = None,
) -> ShadowAudit:
    """Audit a method by repeated syntheses of random halves of the data.

    Parameters
    ----------
    method
        A method, a `Candidate`, or any callable (table, seed) -> table.
    runs
        Syntheses: each candidate is in half of them.
    candidates
        Rows (units, where the schema names an entity) that are tested; the others only fill the halves.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> data = {"x": rng.normal(size=80), "y": rng.normal(size=80)}
    >>> shadow_audit(data, lambda table, seed: table, runs=6, candidates=20).exposure().columns
    ['row', 'exposure']
    """
    if runs < 4:
        raise OptionError("a likelihood ratio needs at least 4 runs")
    table = Table.from_frame(data)
    rng = generator(seed, "shadow")
    units = table.units
    if units.count < 2:
        raise DataError(f"the file has {units.count} people to tell apart; halves of it need at least 2")
    rows = units.rows_of_some(candidates, seed, "candidates")
    tested = units.subset(rows)
    first = rows[np.unique(tested.owners_of_rows, return_index=True)[1]]
    included = np.zeros((runs, tested.count), bool)
    statistic = np.empty((runs, tested.count))
    for pair_start in range(0, runs, 2):
        # runs come in complementary pairs, so that every unit is in exactly half of them
        half = (rng.permutation(units.count) < units.count // 2)[units.owners_of_rows]
        for run in range(pair_start, min(pair_start + 2, runs)):
            chosen = half if run == pair_start else ~half
            made = method(table.take(chosen), sequence(seed, "run", run))
            included[run] = chosen[first]
            statistic[run] = tested.most(_closeness(table.take(rows), made))
            if progress is not None:
                progress(run + 1, runs)
    scores = likelihood_ratios(statistic, included)
    return ShadowAudit(first, included, statistic, Curve(scores[included], scores[~included]))


def _closeness(people: Table, made: Table) -> AnyArray:
    """Minus the logarithm of the distance to the closest synthetic record."""
    space = Space.of(Pair(people, made))
    return -np.log(space.nearest(space.original, space.protected).distance[:, 0] + 1e-6)


def likelihood_ratios(statistic: AnyArray, included: AnyArray, observed: AnyArray | None = None) -> AnyArray:
    """Log likelihood ratio of "in" against "out" for each run and candidate, both normal, fitted on the other runs.

    Few runs leave a candidate's own spread and shift uncertain, so both are drawn towards those of all candidates. With
    ``observed`` it is the ratio of one more run, of which nobody knows who was in it, fitted on all runs.

    Examples
    --------
    >>> known = np.array([[3.0, 0.1], [0.0, 2.9], [3.1, 0.0], [0.1, 3.0]])
    >>> who = np.array([[True, False], [False, True], [True, False], [False, True]])
    >>> (likelihood_ratios(known, who, np.array([3.0, 0.0])) > 0).tolist()
    [True, False]
    """
    spread = _spreads(statistic, included)
    if observed is not None:
        return _ratios(observed, statistic, included, spread)
    runs = np.arange(len(statistic))
    others = [(statistic[runs != run], included[runs != run]) for run in runs]
    return np.array([_ratios(statistic[run], *others[run], spread) for run in runs])


def _ratios(
    observed: AnyArray, statistic: AnyArray, included: AnyArray, spread: dict[bool, AnyArray]
) -> AnyArray:
    count, mean, _ = _moments(statistic, included)
    doubt = {side: spread[side] ** 2 / count[side] for side in SIDES}
    both = doubt[True] + doubt[False]
    # In units of his spread each candidate's shift is the common one and a part of his own, as large as the data say.
    unit = np.sqrt((spread[True] ** 2 + spread[False] ** 2) / 2)
    shift, error = (mean[True] - mean[False]) / unit, both / unit**2
    common = np.average(shift, weights=1 / error)
    own = max(float(np.average((shift - common) ** 2 - error, weights=1 / error)), 0.0)
    change = (1 - own / (own + error)) * (common - shift) * unit
    centre = {
        True: mean[True] + doubt[True] / both * change,
        False: mean[False] - doubt[False] / both * change,
    }
    logs = {
        side: -0.5 * ((observed - centre[side]) / spread[side]) ** 2 - np.log(spread[side]) for side in SIDES
    }
    ratios: AnyArray = logs[True] - logs[False]
    return ratios


def _spreads(statistic: AnyArray, included: AnyArray) -> dict[bool, AnyArray]:
    """Spread of each candidate's statistic, in and out: his own, drawn towards what both sides say of him.

    That in turn is drawn towards the typical one. ``TIED`` and ``TYPICAL`` count as so many runs more.
    """
    count, _, squares = _moments(statistic, included)
    usual = {side: max(squares[side].sum() / max((count[side] - 1).sum(), 1), TINY) for side in SIDES}
    runs = count[True] + count[False] - 2
    his = (sum(squares[side] / usual[side] for side in SIDES) + TYPICAL) / (runs + TYPICAL)
    return {
        side: np.sqrt((squares[side] + TIED * usual[side] * his) / (count[side] - 1 + TIED)) + 1e-3
        for side in SIDES
    }


def _moments(
    statistic: AnyArray, included: AnyArray
) -> tuple[dict[bool, AnyArray], dict[bool, AnyArray], dict[bool, AnyArray]]:
    """Number of runs, mean and sum of squares around it, of the runs with and without each candidate."""
    count, mean, squares = {}, {}, {}
    for side in SIDES:
        there = included == side
        count[side] = np.maximum(there.sum(axis=0), 1)
        mean[side] = np.where(there, statistic, 0).sum(axis=0) / count[side]
        squares[side] = np.where(there, (statistic - mean[side]) ** 2, 0).sum(axis=0)
    return count, mean, squares
