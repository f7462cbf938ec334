"""Risky combinations: which of the facts an intruder may know make people stand out, and still do in the file.

Only names of columns and shares of people are given, never the values of a combination.
"""

from __future__ import annotations

import itertools

import polars as pl

from dalenius.counts.pair import Pair
from dalenius.risk.identity import uniques

MOST_COMBINATIONS = 64


def risky_combinations(pair: Pair, most: int = MOST_COMBINATIONS) -> pl.DataFrame:
    """Every combination of the keys: how many people stand alone with it, and how many still do in the file.

    ``alone`` is the share of original records nobody shares the combination with (UiO), ``found`` the share of those
    that also meet exactly one protected record (repU), both in per cent; the riskiest first.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 10, "age": list(range(20))}
    >>> risky_combinations(Pair(data, data, keys=["sex", "age"])).row(0)
    ('age', 1, 100.0, 100.0)
    """
    rows: list[dict[str, object]] = []
    for size in range(1, len(pair.keys) + 1):
        for chosen in itertools.combinations(pair.keys, size):
            if len(rows) == most:
                break
            single = uniques(pair, list(chosen))
            rows.append(
                {
                    "combination": " + ".join(chosen),
                    "columns": size,
                    "alone": single["UiO"],
                    "found": single["repU"],
                }
            )
    schema = {"combination": pl.String, "columns": pl.Int64, "alone": pl.Float64, "found": pl.Float64}
    return pl.DataFrame(rows, schema=schema).sort("found", "alone", "columns", descending=[True, True, False])
