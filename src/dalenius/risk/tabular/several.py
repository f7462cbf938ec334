"""Several syntheses of one original: every figure for each, and how far they spread (Raab 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from dalenius.core.errors import OptionError
from dalenius.counts.pair import Pair
from dalenius.data.schema import Schema
from dalenius.risk.tabular.disclosure import disclosure


def disclosure_of_several(
    original: Any,
    syntheses: Sequence[Any],
    target: str,
    keys: Sequence[str],
    *,
    schema: Schema | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Identity and attribute disclosure of m syntheses: one row each, then their mean, smallest and largest.

    Numbers are grouped (``grouped=True``) by the original's breaks, so that all syntheses share them; other options are
    those of `disclosure`.

    Examples
    --------
    >>> original = {"k": ["a", "b", "c"], "t": ["x", "y", "x"]}
    >>> other = {"k": ["a", "b", "d"], "t": ["x", "x", "x"]}
    >>> found = disclosure_of_several(original, [original, other], "t", ["k"])
    >>> found.select("synthesis", "repU", "DiSCO").rows()[2]
    ('mean', 83.33333333333334, 66.66666666666667)
    """
    if not syntheses:
        raise OptionError("there is no synthesis to measure; give at least one")
    first = Pair(original, syntheses[0], schema=schema, keys=keys, targets=[target])
    pairs = [first, *(first.swap_in(other) for other in syntheses[1:])]
    rows = []
    for number, pair in enumerate(pairs, 1):
        found = disclosure(pair, target, keys, **options)
        rows.append({"synthesis": str(number), **found.identity, **found.attribute, **found.caps})
    table = pl.DataFrame(rows)
    figures = pl.exclude("synthesis")
    spread = {"mean": figures.mean(), "smallest": figures.min(), "largest": figures.max()}
    summaries = [
        table.select(pl.lit(name).alias("synthesis"), expression) for name, expression in spread.items()
    ]
    return pl.concat([table, *summaries])
