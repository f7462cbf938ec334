"""What a rebuilt file can be held against: every published table, and the truth where somebody has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.data.table import Table
from dalenius.published import Published
from dalenius.published.reading import texts


def verify(people: Any, published: Published) -> pl.DataFrame:
    """Published cells that a rebuilt file does not give: the only check an outsider has.

    Examples
    --------
    >>> out = Published.from_tables({"sexes": {"sex": ["f", "m"], "n": [3, 1]}})
    >>> verify({"sex": ["f", "f", "m"]}, out).rows()
    [('sexes [sex = f]', 2, 3, 3)]
    """
    table = Table.from_frame(people)
    missing = [name for name in published.columns if name not in table]
    if missing:
        raise OptionError(f"the rebuilt file lacks columns of the tables: {', '.join(missing)}")
    codes = []
    for name, values in published.domains.items():
        at = {value: i for i, value in enumerate(values)}
        codes.append([at.get(text, -1) for text in texts(table, name)])
    rows = np.array(codes, np.int64).T.reshape(table.rows, len(codes))
    rows = rows[(rows >= 0).all(axis=1)]
    lines: list[tuple[str, int, int, int]] = []
    for margin in published.margins:
        place = margin.places(rows, published.columns)
        held = np.bincount(place[place >= 0], minlength=len(margin.keys))
        wrong = np.flatnonzero((held < margin.low) | (held > margin.high))
        lines += [
            (margin.named(int(k)), int(held[k]), int(margin.low[k]), int(margin.high[k])) for k in wrong
        ]
    schema = {"cell": pl.String, "rebuilt": pl.Int64, "low": pl.Int64, "high": pl.Int64}
    return pl.DataFrame(lines, schema=schema, orient="row")


def agreement(
    rebuilt: Any,
    truth: Any,
    match_on: Sequence[str],
    *,
    within: str = "area",
    age: str | None = None,
    age_fuzz: int = 1,
    age_bin: str | None = None,
) -> dict[str, float]:
    """Share of rebuilt people who pair off with a true person of the same area, each used once.

    First all of ``match_on`` exactly; then, among the rest, everything but ``age`` with the age at most ``age_fuzz``
    years off; then the same ``age_bin``.

    Examples
    --------
    >>> mine = {"area": ["A", "A"], "sex": ["f", "m"], "age": [30, 41]}
    >>> real = {"area": ["A", "A"], "sex": ["f", "m"], "age": [30, 40]}
    >>> agreement(mine, real, ["sex", "age"], age="age")
    {'exact': 0.5, 'fuzzy_age': 1.0}
    """
    first, second = (x if isinstance(x, pl.DataFrame) else pl.DataFrame(x) for x in (rebuilt, truth))
    first, second = first.with_row_index("__row"), second.with_row_index("__row")
    total = max(first.height, 1)
    done = 0
    rates: dict[str, float] = {}
    plain = [c for c in (within, *match_on) if c not in (age, age_bin)]
    steps = [("exact", [within, *match_on], 0)]
    if age is not None:
        steps += [("fuzzy_age", plain, way) for k in range(1, age_fuzz + 1) for way in (-k, k)]
    if age_bin is not None:
        steps.append(("binned_age", [*plain, age_bin], 0))
    for name, on, shift in steps:
        on_age = [age] if name == "fuzzy_age" and age is not None else []
        moved = first.with_columns((pl.col(a) + shift).alias(a) for a in on_age)
        gone = _pairs(moved, second, [*on, *on_age])
        done += gone.height
        first = first.join(gone, left_on="__row", right_on="left", how="anti")
        second = second.join(gone, left_on="__row", right_on="right", how="anti")
        rates[name] = done / total
    return rates


def _pairs(first: pl.DataFrame, second: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    turn = pl.int_range(pl.len()).over(on).alias("__turn")
    left = first.select(*on, pl.col("__row").alias("left"), turn)
    right = second.select(*on, pl.col("__row").alias("right"), turn)
    return left.join(right, on=[*on, "__turn"], how="inner").select("left", "right")
