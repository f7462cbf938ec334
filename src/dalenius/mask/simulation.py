"""Synthetic populations that are projected many times, and whether a rare person comes back in every run.

Tables of runs are rounded by `dalenius.tables`; here are the audit of systematic replication, a small harness to try it
on, and which checks each level of access asks for (Brenzel et al. 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.later import stats
from dalenius.core.option import at_least, whole_number
from dalenius.core.random import Seed, generator
from dalenius.core.result import WHOLE, Result, figure
from dalenius.data.vector import BoolArray, IntArray
from dalenius.mask.neighbours import Floats

ALWAYS = 0.95
"""A unit with the event in more runs than this share is as good as certain."""
FALSE = 0.05
"""Share of false alarms among records called systematic (Benjamini and Hochberg 1995)."""
Verdict = Literal["none", "accidental", "systematic"]


def simulate_transitions(classes: IntArray, chance: Floats, runs: int, seed: Seed = None) -> BoolArray:
    """Runs of an event that each unit has with the chance of its class: runs by units.

    Examples
    --------
    >>> simulate_transitions(np.array([0, 0, 1]), np.array([0.0, 1.0]), 2, seed=1).tolist()
    [[False, False, True], [False, False, True]]
    """
    whole_number("runs", runs, 1)
    return generator(seed, "runs").random((runs, len(classes))) < np.asarray(chance)[classes]


def class_counts(events: BoolArray, classes: IntArray, size: int | None = None) -> IntArray:
    """Events by run and class.

    Examples
    --------
    >>> class_counts(np.array([[True, True, False]]), np.array([0, 0, 1])).tolist()
    [[2, 0]]
    """
    count = int(classes.max(initial=-1)) + 1 if size is None else size
    run, unit = np.nonzero(events)
    cells = np.bincount(run * count + classes[unit], minlength=len(events) * count)
    return cells.reshape(len(events), count)


def rare_class_frequency(counts: IntArray, k: int = 3) -> pl.DataFrame:
    """For each class the share of runs in which it has any event, and in which it has fewer than k.

    Examples
    --------
    >>> rare_class_frequency(np.array([[1, 5], [0, 5]])).rows()
    [(0, 0.5, 0.5), (1, 1.0, 0.0)]
    """
    some, few = (counts > 0).mean(axis=0), ((counts > 0) & (counts < k)).mean(axis=0)
    return pl.DataFrame({"class": np.arange(counts.shape[1]), "any": some, "rare": few})


def unit_persistence(events: BoolArray, certain: float = ALWAYS) -> Result:
    """The largest share of runs in which one and the same unit has the event, and how many units always have it.

    Examples
    --------
    >>> unit_persistence(np.array([[True, False], [True, True]])).value
    1.0
    """
    if events.ndim != 2 or not events.size:
        raise DataError("runs by units are needed, at least one of each")
    share = events.mean(axis=0)
    sure = int(np.count_nonzero(share > certain))
    value = float(share.max())
    return Result(
        "unit-persistence",
        value,
        f"The unit that has the event most often has it in {figure(100 * value, '%')} of the runs; "
        f"{counted(sure, 'unit')} in more than {100 * certain:g} %.",
        values={"units as good as certain": float(sure), "median": float(np.median(share))},
        counts=WHOLE,
    )


def run_overlap(events: BoolArray) -> float:
    """How alike the units with the event are from run to run: pooled Jaccard index over pairs of runs.

    Independent draws with chance q give q / (2 - q).

    Examples
    --------
    >>> run_overlap(np.array([[True, False], [True, True]]))
    0.5
    """
    sizes = events.sum(axis=1).astype(float)
    runs = len(events)
    often = events.sum(axis=0).astype(float)
    both = float((often * (often - 1) / 2).sum())
    either = float(sizes.sum() * (runs - 1)) - both
    return both / either if either else 0.0


@dataclass(frozen=True, eq=False)
class Replication:
    """What the audit found: by record of the reference how often it came back, and what to call it."""

    table: pl.DataFrame
    rate: float
    baseline: float
    attribute_match: float
    verdict: Verdict

    def __str__(self) -> str:
        found = int((self.table["verdict"] == "systematic").sum())
        return (
            f"{self.verdict}: unique records come back in {figure(100 * self.rate, '%')} of the runs, people outside "
            f"in {figure(100 * self.baseline, '%')}; {counted(found, 'record')} more often than chance."
        )


def replication_audit(
    runs: Sequence[pl.DataFrame], reference: pl.DataFrame, keys: Sequence[str], sensitive: Sequence[str] = (),
    holdout: pl.DataFrame | None = None,
) -> Replication:  # fmt: skip
    """Whether synthetic runs bring back real records that are unique on the keys more often than people outside.

    A record is *systematic* if its number of runs is more than the baseline's chance explains (one-sided binomial test,
    5 % false discoveries). Without a holdout the baseline is the mean rate over the reference itself.

    Parameters
    ----------
    runs
        One synthetic population each; whole life courses are compared by giving their states as keys.
    sensitive
        Among records found by the keys these are compared too: another value is no disclosure.

    Examples
    --------
    >>> real = pl.DataFrame({"age": [20, 30, 40], "ill": ["a", "b", "c"]})
    >>> copies = [real.clone() for _ in range(20)]
    >>> replication_audit(copies, real, ["age"], ["ill"], holdout=pl.DataFrame({"age": [55], "ill": ["a"]})).verdict
    'systematic'
    """
    files = (reference, *runs)
    absent = [name for name in (*keys, *sensitive) if any(name not in f.columns for f in files)]
    wrong = [f"no column {name!r} in every run and the reference" for name in absent]
    lost = [name for name in keys if holdout is not None and name not in holdout.columns]
    wrong += [f"no column {name!r} in the holdout" for name in lost]
    wrong += ([] if runs else ["no runs; give one or more"]) + ([] if keys else ["no keys; name one or more"])
    if wrong:
        raise DataError.from_faults("replication audit", wrong)
    found, right = _came_back(runs, reference, keys, sensitive)
    outside = _came_back(runs, holdout, keys, ())[0] if holdout is not None else found
    rate = float(found["share"].mean() or 0.0) if len(found) else 0.0  # type: ignore[arg-type]
    base = float(outside["share"].mean() or 0.0) if len(outside) else 0.0  # type: ignore[arg-type]
    hits = np.rint(found["share"].to_numpy() * len(runs)) if len(found) else np.zeros(0)
    p = stats.binom.sf(hits - 1, len(runs), min(max(base, 1e-9), 1 - 1e-9))
    order = np.argsort(p)
    fine = p[order] <= FALSE * np.arange(1, len(p) + 1) / max(len(p), 1)
    flagged = np.zeros(len(p), bool)
    if fine.any():
        flagged[order[: int(np.flatnonzero(fine)[-1]) + 1]] = True
    told = np.where(flagged, "systematic", np.where(hits > 0, "accidental", "none"))
    verdict: Verdict = "systematic" if flagged.any() else "accidental" if (hits > 0).any() else "none"
    return Replication(
        found.with_columns(verdict=pl.Series(told.tolist(), dtype=pl.String)), rate, base, right, verdict
    )


def _came_back(
    runs: Sequence[pl.DataFrame], people: pl.DataFrame, keys: Sequence[str], sensitive: Sequence[str]
) -> tuple[pl.DataFrame, float]:
    """For each record unique on the keys the share of runs that have it, and how often sensitive values match too."""
    alone = people.with_row_index("record").filter(pl.struct(keys).is_unique())
    share, right = np.zeros(len(alone)), [0, 0]
    for run in runs:
        there = alone.join(run.select(keys).unique(), on=list(keys), how="semi")["record"]
        share += alone["record"].is_in(there.to_list()).to_numpy()
        if sensitive:
            both = alone.join(run.select(*keys, *sensitive).unique(), on=[*keys, *sensitive], how="semi")
            right[0] += len(both)
            right[1] += len(there)
    frame = pl.DataFrame({"record": alone["record"], "share": share / max(len(runs), 1)})
    return frame, right[0] / right[1] if right[1] else float("nan")


LEVELS = {
    "formal": (
        "names and addresses removed; inside secured rooms, for approved science",
        ("every output checked by staff", "minimum case numbers of inputs"),
    ),
    "factual": (
        "found only with disproportionate effort; for institutions under contract",
        ("minimum case numbers of inputs", "replication audit", "rounded counts of every run", "a contract"),
    ),
    "absolute": (
        "nobody can be found; for anyone",
        ("minimum case numbers of inputs", "replication audit", "rounded counts of every run", "verdict of the figures",
         "no exact margins beside rounded cells"),
    ),
}  # fmt: skip
"""Levels of access, what they mean, and the checks each asks for."""


@dataclass(frozen=True)
class AccessLevel:
    """A level of access to a synthetic population: what it means, and which checks it asks for.

    Examples
    --------
    >>> AccessLevel("factual").missing(["a contract", "replication audit"])
    ['minimum case numbers of inputs', 'rounded counts of every run']
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in LEVELS:
            raise OptionError(f"no level {self.name!r}; there are {', '.join(LEVELS)}")

    @property
    def meaning(self) -> str:
        """Who may see it, and where."""
        return LEVELS[self.name][0]

    @property
    def required_checks(self) -> tuple[str, ...]:
        """What must be done before anything leaves at this level."""
        return LEVELS[self.name][1]

    def missing(self, done: Sequence[str]) -> list[str]:
        """Checks that are still to be done."""
        return [check for check in self.required_checks if check not in done]


def rounding_posterior(mu: float, k: int = 3) -> tuple[float, float, list[float]]:
    """What a rounded cell tells about a Poisson count: P(0 is shown), P(count above 0 | 0), P(count = 1 … k | k).

    Examples
    --------
    >>> shown, hidden, counts = rounding_posterior(1.0)
    >>> round(shown, 4), round(hidden, 4), [round(x, 4) for x in counts]
    (0.6744, 0.4545, [0.4, 0.4, 0.2])
    """
    at_least("mu", mu, 0)
    whole_number("k", k, 2)
    z = np.arange(k + 1)
    chance = np.exp(-mu) * mu**z / np.array([float(np.prod(np.arange(1, n + 1))) for n in z])
    zero = chance * (1 - z / k)
    full = (chance * z / k)[1:]
    total = float(zero.sum())
    return total, float(zero[1:].sum() / total), (full / full.sum()).tolist()
