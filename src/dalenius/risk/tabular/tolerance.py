"""Numbers that count as learnt when they are met within a tolerance (Raab 2024; an extension of DiSCO)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.result import Result, figure
from dalenius.counts.match import check_keys
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.within import within


def tolerance_disco(
    pair: Pair,
    target: str,
    tolerance: float,
    keys: Sequence[str] | None = None,
    *,
    relative: bool = False,
    grouped_keys: bool = False,
    records: bool = False,
) -> Result:
    """DiSCO of a number that counts as learnt when it is met within a tolerance.

    A key combination is disclosive when its protected values lie within twice the tolerance; the guess is their
    middle. Tolerance 0 gives DiSCO back, missing values left out.

    Parameters
    ----------
    tolerance
        In the units of the column, or as a share of the guess.
    relative
        The tolerance is a share of the guess (0.1: within 10 %).
    grouped_keys
        Group numeric keys by the pair's grouping.
    records
        Give one row per original record too (confidential).

    Examples
    --------
    >>> pair = Pair({"k": ["a", "b"], "x": [100, 200]}, {"k": ["a", "a"], "x": [98, 104]})
    >>> tolerance_disco(pair, "x", 5, ["k"]).value, tolerance_disco(pair, "x", 2, ["k"]).value
    (50.0, 0.0)
    >>> tolerance_disco(pair, "x", 0.05, ["k"], relative=True).value
    50.0
    """
    known = list(keys) if keys is not None else pair.keys
    check_keys(pair, known, target)
    if not pair.original[target].is_number:
        raise DataError(
            f"column {target!r} is {pair.original[target].column.kind}; a tolerance needs numbers"
        )
    if not tolerance >= 0:
        raise OptionError(f"the tolerance is {tolerance}; use 0 or more")
    groups, units = pair.groups(known, grouped_keys), pair.units
    guess, width = _guesses(pair.protected, target, groups.protected, len(groups), tolerance, relative)
    met = _met(pair.original, target, guess[groups.original], width[groups.original])
    value, yardsticks = units.share(met), {}
    beside = "without a holdout it cannot be told how much of this is general knowledge"
    if pair.holdout is not None and groups.holdout is not None:
        held = _met(pair.holdout, target, guess[groups.holdout], width[groups.holdout])
        yardsticks["holdout"] = pair.holdout_units.share(held)
        beside = f"for people who are not in the data it is {figure(yardsticks['holdout'], '%')}"
    within = figure(100 * tolerance, "%") if relative else figure(tolerance)
    told = {"row": np.arange(len(met)), "guess": guess[groups.original], "correct": met}
    return Result(
        name="tolerance-disco",
        value=value,
        unit="%",
        sentence=f"For {figure(value, '%')} of the original {units.noun}, somebody who knows the {len(known)} keys "
        f"would read {target!r} off the protected file within {within}; {beside}.",
        interval=units.interval(value),
        yardsticks=yardsticks,
        records=pl.DataFrame(told) if records else None,
    )


def _guesses(
    table: Table, target: str, ids: IntArray, size: int, tolerance: float, relative: bool
) -> tuple[AnyArray, AnyArray]:
    """Middle of the values of each key combination, NaN where they are too far apart, and how far off it may be."""
    y = table[target].floats()
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    there = np.isfinite(y)
    np.minimum.at(low, ids[there], y[there])
    np.maximum.at(high, ids[there], y[there])
    # A gap or an infinite number among the protected values leaves the intruder unsure
    sure = (high >= low) & (np.bincount(ids, ~there, minlength=size) == 0)
    low, high = np.where(sure, low, 0.0), np.where(sure, high, 0.0)
    middle = low / 2 + high / 2
    width = tolerance * np.abs(middle) if relative else np.full(size, float(tolerance))
    return np.where(sure & within(high - low, 2 * width), middle, np.nan), width


def _met(table: Table, target: str, guess: AnyArray, width: AnyArray) -> AnyArray:
    return within(np.abs(guess - table[target].floats()), width)
