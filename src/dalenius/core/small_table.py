"""Small HTML tables for notebooks: figures as a person writes them, no data types, words whole."""

from __future__ import annotations

import html
from typing import Any

import polars as pl

from dalenius.core.result import figure

MOST_ROWS = 12
CELL = (
    "text-align:{};padding:3px 12px 3px 0;border-bottom:1px solid #dfe5ea;vertical-align:top;"
    "overflow-wrap:break-word"
)
LOOK = "border-collapse:collapse;font-size:13px"
PLACE = "overflow-x:auto;max-width:100%"
"""A wide table is moved sideways in its place: broken words are hard to read."""


def small_table(frame: pl.DataFrame, most: int = MOST_ROWS) -> str:
    """A frame as a small table.

    Examples
    --------
    >>> page = small_table(pl.DataFrame({"a": ["<b>"], "x": [0.123456]}))
    >>> "&lt;b&gt;" in page, "0.123<" in page, "f64" in page
    (True, True, False)
    """
    sides = ["right" if dtype.is_numeric() else "left" for dtype in frame.dtypes]
    head = "".join(
        f'<th style="{CELL.format(side)}">{html.escape(name)}</th>'
        for name, side in zip(frame.columns, sides, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(x, side) for x, side in zip(row, sides, strict=True)) + "</tr>"
        for row in frame.head(most).iter_rows()
    )
    more = f"<p><small>and {frame.height - most:,} more rows</small></p>" if frame.height > most else ""
    table = f'<table style="{LOOK}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div style="{PLACE}" role="region" aria-label="table" tabindex="0">{table}</div>{more}'


def _cell(value: Any, side: str) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    text = "–" if value is None else figure(value) if isinstance(value, float) else str(value)
    return f'<td style="{CELL.format(side)}">{html.escape(text)}</td>'
