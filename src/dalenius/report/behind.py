"""The two tables behind a cell of the heat map: shares in the original and in the file, for the pairs furthest off."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any

import polars as pl

from dalenius.evaluation import Evaluation
from dalenius.report.pairs import pair_cells

MOST_TABLES, FEW_TABLES = 30, 5
"""Pairs whose tables a report holds for each file, and where it is about many files."""


def tables_behind(evaluation: Evaluation, most: int = MOST_TABLES) -> list[dict[str, Any]]:
    """Tables of the pairs that are furthest off, the worst first, as plain data; small cells are left out.

    Shares are in tenths of a per cent; None where too few original records are in a cell.

    Examples
    --------
    >>> from dalenius import Pair
    >>> from dalenius.evaluation import evaluate_pair
    >>> data = {"a": ["x", "x", "y", "y"] * 30, "b": ["u", "v"] * 60}
    >>> made = {"a": ["x", "y"] * 60, "b": ["u", "v"] * 60}
    >>> behind = tables_behind(evaluate_pair(Pair(data, made), measures=["two-way-utility"]))
    >>> behind[0]["pair"], behind[0]["original"], behind[0]["protected"]
    ('a × b', [[250, 250], [250, 250]], [[500, 0], [0, 500]])
    """
    result = evaluation.results.get("two-way-utility")
    table = None if result is None else result.shown
    if table is None or not {"first", "second", "S_pMSE"} <= set(table.columns):
        return []
    worst = table.sort("S_pMSE", descending=True, nulls_last=True)
    known = set(evaluation.pair.columns)
    named = [(a, b) for a, b in worst.select("first", "second").iter_rows() if {a, b} <= known]
    tables = (_table(evaluation, first, second) for first, second in named[: 3 * most])
    return list(
        islice((table for table in tables if table["down"]), most)
    )  # where every cell is small nothing is shown


def _table(evaluation: Evaluation, first: str, second: str) -> dict[str, Any]:
    cells = pair_cells(evaluation.pair, first, second)
    down, across = (cells.data[side].unique(maintain_order=True).to_list() for side in ("first", "second"))
    across = [str(v) for v in evaluation.pair.categories(second).original.labels if str(v) in set(across)]
    return {
        "pair": f"{first} × {second}",
        "columns": [first, second],
        "down": down,
        "across": across,
        **{side: _square(cells.data, side, down, across) for side in ("original", "protected")},
    }


def _square(
    cells: pl.DataFrame, side: str, down: Sequence[str], across: Sequence[str]
) -> list[list[int | None]]:
    held = {(a, b): round(1000 * share) for a, b, share in cells.select("first", "second", side).iter_rows()}
    return [[held.get((a, b)) for b in across] for a in down]


def as_script(tables: Sequence[dict[str, Any]]) -> str:
    r"""Tables as JSON that is safe inside a script element.

    Examples
    --------
    >>> as_script([{"pair": "</script>"}])
    '[{"pair":"\\u003c/script>"}]'
    """
    text = json.dumps(list(tables), ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")
