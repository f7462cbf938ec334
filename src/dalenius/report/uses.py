"""What a file may be used for, read off its two-way tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from dalenius.core.result import Result, figure
from dalenius.report.story import joined
from dalenius.utility.tables import GONE, GOOD, USABLE


def tables_of(results: Mapping[str, Result]) -> Result | None:
    """Two-way tables as their users see them: of a masked file in the detail that the real data have."""
    return results.get("detail-utility", results.get("two-way-utility"))


def masked_lines(results: Mapping[str, Result], mask: str = "") -> list[str]:
    """What a mask did, what it took away, and what the other figures therefore do not see; nothing without one."""
    if "detail-lost" not in results:
        return []
    did = f"The mask: {mask}. " if mask else ""
    return [
        f"{did}{results['detail-lost'].sentence} Figures of risk compare with the real data masked in the same way: "
        "whoever knows 37 looks for 30 to 39."
    ]


def use_lines(tables: Result | None) -> list[str]:
    """What the file may be used for, from its two-way tables, column by column."""
    good, poor, gone = readings(tables)
    lines = ["Learning, teaching, trying out programs, and first looks at a question."]
    if tables is not None and not math.isnan(tables.value):
        word = (
            "close to" if tables.value < GOOD else ("some way from" if tables.value < USABLE else "far from")
        )
        lines.append(
            f"Tables of two facts at a time are on average {word} those of the real data: {figure(tables.value)} on a "
            f"scale where 1 is as close as chance allows and above {USABLE:g} is too far to be used."
        )
    if good:
        lines.append(
            f"Close to the real data in tables of two facts at a time, numbers in groups: {joined(good)}."
        )
        lines.append(
            "Facts that fit exactly in the real data, such as an age and a date of birth, may contradict."
        )
    if gone:
        lines.append(f"Not in the file any more: {joined(gone)}.")
    if poor:
        lines.append(f"Far from the real data, not to be relied on: {joined(poor)}.")
    return [
        *lines,
        "Confirm every result that matters on the real data, with the people who hold them.",
        "Not for decisions about single people, not for rare groups, and not for finding anybody.",
    ]


def readings(result: Result | None) -> tuple[list[str], list[str], list[str]]:
    """Columns whose two-way tables are good, those whose are bad, by the mean over their tables, and those gone.

    A column half of whose tables have lost a cell is not called good; tables that lack the other column say nothing.
    """
    if (
        result is None
        or result.shown is None
        or not {"first", "second", "S_pMSE"} <= set(result.shown.columns)
    ):
        return [], [], []
    said = "reading" in result.shown.columns
    word = pl.col("reading") if said else pl.lit("good")
    long = pl.concat(
        [
            result.shown.select(pl.col(side).alias("column"), "S_pMSE", word.alias("reading"))
            for side in ("first", "second")
        ]
    )
    there = long.filter(pl.col("reading") != GONE)
    means = there.group_by("column").agg(pl.col("S_pMSE").mean(), (pl.col("reading") == "good").mean())
    rows = means.sort("column").rows()
    return (
        [c for c, v, fine in rows if v < GOOD and fine >= 0.5],
        [c for c, v, _ in rows if v >= USABLE],
        sorted(set(long["column"]) - set(there["column"])) if rows else [],
    )
