"""What a mask takes away: detail that no figure can see which compares two files as the mask shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.random import DEFAULT_SEED, generator
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import NOT_COMPARED, Pair
from dalenius.data.schema import Kind
from dalenius.data.vector import IntArray, Vector
from dalenius.utility.tables import REFERENCE, tables_result, two_way_utility


@measure(
    name="detail-lost",
    title="Detail lost to the mask",
    family="utility",
    meaning="Share of what the columns tell about a record (their entropy) that recoding, dropping, suppressing took "
    "away; 0 without a mask. Other figures compare the files as the mask shows them.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="El Emam et al. 2009",
    default=False,
    sees_spread=False,
    sees_dependence=False,
    sees_copy=False,
)
def detail_lost(pair: Pair) -> Result:
    """Mean share of the columns' entropy that is gone.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"age": [*range(16, 80)] * 2})
    >>> made = Recode("age", width=16).apply(table)
    >>> round(detail_lost(Pair(table, made.table, lens=made.lens)).value, 1)
    66.7
    """
    lens = pair.lens
    rows: list[dict[str, Any]] = []
    if lens is not None:
        seen = lens.see_own(pair.unmasked)
        names = [n for n in pair.unmasked.names if n in pair.columns or n in lens.dropped]
        told = {n: bits(pair.unmasked[n]) for n in names}
        rows = [
            {"column": n, "lost": 100 * max(0.0, 1 - bits(seen[n]) / told[n]) if n in seen else 100.0}
            for n in names
            if told[n] > 0
        ]
    value = float(np.mean([row["lost"] for row in rows])) if rows else 0.0
    worst = max(rows, key=lambda row: row["lost"])["column"] if value else ""
    said = f"The mask took away {figure(value, '%')} of the detail of the columns, most of that of {worst}."
    return Result(
        name="detail-lost",
        value=value,
        sentence=said
        if value
        else "No detail of the columns was taken away by recoding, dropping or suppressing.",
        table=pl.DataFrame(rows, schema={"column": pl.String, "lost": pl.Float64}).sort(
            "lost", descending=True
        ),
        counts=WHOLE,
    )


def bits(vector: Vector) -> float:
    """What a column tells about a row: its entropy.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> bits(Table.from_frame({"sex": ["f", "m"]})["sex"])
    1.0
    """
    counts = np.bincount(vector.categories.codes)
    share = counts[counts > 0] / max(len(vector), 1)
    return float(-(share * np.log2(share)).sum()) + 0.0


@measure(
    name="detail-utility",
    title="Two-way tables in the original's detail (mean S_pMSE)",
    family="utility",
    meaning="How far the tables of all pairs of columns differ from the original's where recoded values must be "
    "guessed back, in units of what a correct model would give (1); without a mask the two-way figure.",
    better="lower",
    bounds=(0, float("inf")),
    reference=REFERENCE,
    default=False,
)
def detail_utility(pair: Pair) -> Result:
    """Mean S_pMSE over all two-way tables of the original as it was, so that masked and synthetic files compare.

    Read through its lens a file that was only recoded has no fault at all, however coarse it is. Here a recoded value
    is one of those it may stand for, and a dropped column any of its values, each with the same chance; a table of a
    dropped column counts as bad, however near the guess comes.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"age": [*range(20, 40), *range(20, 60)] * 4, "sex": ["f", "m"] * 120})
    >>> made = Recode("age", width=40).apply(table)
    >>> pair = Pair(table, made.table, lens=made.lens)
    >>> two_way_utility(pair).value, detail_utility(pair).value > 1
    (0.0, True)
    """
    if pair.lens is None:
        return replace(two_way_utility(pair), name="detail-utility")
    whole = Pair(pair.unmasked, guessed(pair), keys=[], targets=[], threshold=pair.threshold)
    result = tables_result(whole, "two", 2, None, gone=_gone(pair))
    told = " Recoded values and dropped columns were guessed."
    return replace(result, name="detail-utility", sentence=result.sentence + told)


def _gone(pair: Pair) -> list[str]:
    """Columns that the mask dropped and that would be compared."""
    if pair.lens is None:
        return []
    return [
        column.name for column in pair.unmasked.schema
        if column.name in pair.lens.dropped and column.name not in pair.protected
        and column.kind is not Kind.TEXT and not any(map(column.has, NOT_COMPARED))
    ]  # fmt: skip


def guessed(pair: Pair) -> pl.DataFrame:
    """The masked file in the original's detail: what the mask took away is guessed, each value with the same chance.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"age": [31, 38, 64]})
    >>> made = Round("age", 10).apply(table)
    >>> guessed(Pair(table, made.table, lens=made.lens))["age"].to_list()
    [31, 38, 64]
    """
    lens, original, rows = pair.lens, pair.unmasked, pair.protected.rows
    frame = pair.protected.to_frame("polars")
    if lens is None:
        return frame
    gone = _gone(pair)
    for name in [*(n for n in lens.mapped if n in pair.columns), *gone]:
        if name in gone:
            seen, shown, empty = (
                np.zeros(original.rows, np.int64),
                np.zeros(rows, np.int64),
                np.zeros(rows, bool),
            )
        else:
            both = pair.categories(name, grouped=False)
            # a cell that is suppressed stays empty, and says nothing of what others stand for
            seen = np.where(
                pair.original[name].present, both.original.codes.astype(np.int64), both.original.size
            )
            shown, empty = both.protected.codes.astype(np.int64), ~pair.protected[name].present
        donors = _donors(seen, original[name].categories.codes.astype(np.int64), shown, name)
        values = original.select([name]).take(donors).to_frame("polars")[name]
        frame = frame.with_columns(
            pl.select(pl.when(pl.Series(empty)).then(None).otherwise(values)).to_series().alias(name)
        )
    return frame


def _donors(seen: IntArray, own: IntArray, shown: IntArray, name: str) -> IntArray:
    """For each masked value a row of the original with a value it may stand for (any, where none is known)."""
    size = int(own.max()) + 1
    cells, first = np.unique(seen * size + own, return_index=True)
    groups = cells // size
    start, end = np.searchsorted(groups, shown), np.searchsorted(groups, shown, side="right")
    anyone = np.unique(own, return_index=True)[1]
    draw = generator(DEFAULT_SEED, "guess", name).random(len(shown))
    known = end > start
    place = start + np.floor(draw * (end - start)).astype(np.int64)
    picked = first[np.where(known, place, 0)]
    return np.where(known, picked, anyone[np.floor(draw * len(anyone)).astype(np.int64)])
