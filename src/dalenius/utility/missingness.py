"""Gaps: are cells empty, or not applicable, where they were, and together as they were.

A column's share of gaps can be right while its gaps sit in the wrong rows. So besides each column the pairs of columns
are compared: which of the two has a value, is empty, or holds a special code.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.memory import count_codes_many
from dalenius.counts.pair import Pair
from dalenius.data.vector import SPECIAL, VALUE, Categories, Vector
from dalenius.utility.cells import paired, table_statistics
from dalenius.utility.charts import two_files


def gap_table(pair: Pair, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Share of rows without a value, by column and kind of gap, in both files.

    Examples
    --------
    >>> pair = Pair({"a": [1, None, 3, 4]}, {"a": [1, 2, None, None]})
    >>> gap_table(pair).rows()
    [('a', 'empty', 0.25, 0.5)]
    """
    rows = []
    for name in _with_gaps(pair, columns):
        first, second = (_states(table[name]) for table in (pair.original, pair.protected))
        sides = (first, pair.designs.weights("original")), (second, pair.designs.weights("protected"))
        for code, label in enumerate(first.labels):
            shares = [float(np.average(side.codes == code, weights=w)) for side, w in sides]
            if code and max(shares) > 0:
                rows.append({"column": name, "gap": label, "original": shares[0], "protected": shares[1]})
    schema = {"column": pl.String, "gap": pl.String, "original": pl.Float64, "protected": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _with_gaps(pair: Pair, columns: Sequence[str] | None) -> list[str]:
    used = columns if columns is not None else pair.columns
    sides = (pair.original, pair.protected)
    return [name for name in used if any(not table[name].present.all() for table in sides)]


def _states(vector: Vector) -> Categories:
    """Rows by what they hold: a value, nothing, or one of the special codes."""
    labels = ["a value", "empty", *(f"code {code}" for code in vector.column.special)]
    if vector.state is None:
        return Categories(np.zeros(len(vector), np.uint8), labels)
    codes = np.where(
        vector.state == VALUE, 0, np.where(vector.state < SPECIAL, 1, vector.state - SPECIAL + 2)
    )
    return Categories(codes.astype(np.uint8), labels)


@measure(
    name="missingness",
    title="Gaps in the same places",
    family="utility",
    meaning="How differently rows are empty or not applicable, over all pairs of columns with gaps (share of rows "
    "that would have to change): 0 is the same.",
    better="lower",
    bounds=(0, 1),
    reference="SDMetrics: MissingValueSimilarity, extended to pairs; Slokom et al. 2024",
    sees_dependence=False,
    weighs=True,
)
def gaps_alike(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean total variation distance between the files' patterns of gaps.

    Examples
    --------
    >>> data = {"a": [1, None, 3, None], "b": [1, None, 3, None]}
    >>> gaps_alike(Pair(data, {"a": [1, None, 3, None], "b": [None, 1, None, 3]})).value
    1.0
    """
    used = _with_gaps(pair, columns)
    if not used:
        return Result(
            "missingness", 0.0, "Neither file has an empty or special cell in the columns compared."
        )
    tables: list[tuple[str, ...]] = list(combinations(used, 2)) or [(used[0],)]
    counted = [
        count_codes_many({name: _states(side[name]) for name in used}, tables, pair.designs.weights(file))
        for file, side in (("original", pair.original), ("protected", pair.protected))
    ]
    distances = [
        table_statistics(*paired(counted[0][names], counted[1][names]), ranked=False)["TVD"]
        for names in tables
    ]
    value = float(np.mean(distances))
    table = gap_table(pair, used)
    table = table.sort((pl.col("original") - pl.col("protected")).abs(), descending=True, maintain_order=True)
    worst = " × ".join(tables[int(np.argmax(distances))])
    shown = table.with_columns(pl.format("{}: {}", "column", "gap").alias("where"))
    return Result(
        name="missingness",
        value=value,
        sentence=f"Gaps of {len(used)} columns sit alike in {figure(100 * (1 - value), '%')} of the rows on average; "
        f"least alike in {worst}.",
        yardsticks={"the original itself": 0.0},
        values={"worst": float(max(distances))},
        table=table,
        counts=WHOLE,
        chart=lambda: two_files(shown, "where", "share of rows"),
    )
