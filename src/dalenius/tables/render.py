"""A protected table for people: as text and as HTML, with suppressed cells marked."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import OptionError, names
from dalenius.core.style import FONT
from dalenius.tables.model import Ints

if TYPE_CHECKING:
    from dalenius.tables.hierarchy import Hierarchy
    from dalenius.tables.suppression import Suppression

MOST_ROWS = 2000
MOST_ACROSS = 12
ACROSS_A4, ACROSS_A3 = 24, 40


def _grid(
    result: Suppression, rows: str | None, columns: str | None, at: Mapping[str, str]
) -> tuple[str, str | None, list[str], list[str], Ints]:
    """Row codes, column codes and the place of the cell in each field (-1 where there is none)."""
    model = result.model
    known = {d.name: d.hierarchy for d in model.dimensions}
    unknown = [name for name in (rows, columns, *at) if name is not None and name not in known]
    if unknown:
        raise OptionError(f"no dimension {names(unknown)}; there are {names(list(known))}")
    rows = rows or _long_side(result, columns)
    others = [name for name in model.names if name != rows]
    columns = columns or (others[0] if others else None)
    fixed = {name: at.get(name, known[name].total) for name in others if name != columns}
    keep = np.ones(len(model.cells), np.bool_)
    for name, code in fixed.items():
        keep &= (model.cells[name] == code).to_numpy()
    places = np.flatnonzero(keep)
    row_codes = _tree_order(known[rows])
    column_codes = [""] if columns is None else _tree_order(known[columns])
    row_place, column_place = ({c: i for i, c in enumerate(codes)} for codes in (row_codes, column_codes))
    grid = np.full((len(row_codes), len(column_codes)), -1, np.int64)
    for place in places.tolist():
        left = row_place[model.cells[rows][place]]
        right = 0 if columns is None else column_place[model.cells[columns][place]]
        grid[left, right] = place
    used_rows, used_columns = np.asarray((grid >= 0).any(axis=1)), np.asarray((grid >= 0).any(axis=0))
    row_codes = [c for c, ok in zip(row_codes, used_rows, strict=True) if ok]
    column_codes = [c for c, ok in zip(column_codes, used_columns, strict=True) if ok]
    return rows, columns, row_codes, column_codes, grid[used_rows][:, used_columns]


def _long_side(result: Suppression, columns: str | None) -> str:
    """What runs down the page: the first dimension, unless the second is the longer one and too long for a line."""
    first, *others = (d for d in result.model.dimensions if d.name != columns)
    if columns is None and others:
        across = len(others[0].hierarchy.parents)
        if across > max(MOST_ACROSS, len(first.hierarchy.parents)):
            return others[0].name
    return first.name


def _nearest(tree: Hierarchy) -> dict[str, str | None]:
    """For every code the smallest group it is part of."""
    return {
        code: min(above, key=lambda p: len(tree.parts[p]), default=None)
        for code, above in tree.parents.items()
    }


def _tree_order(tree: Hierarchy) -> list[str]:
    """Codes from the total down, every group before its parts, every code below its smallest group."""
    below: dict[str | None, list[str]] = {}
    for code, above in _nearest(tree).items():
        below.setdefault(above, []).append(code)
    order: list[str] = []
    stack = sorted(below.get(None, []), key=lambda code: code == tree.total)
    while stack:
        order.append(stack.pop())
        stack += reversed(below.get(order[-1], []))
    return order


def _field(result: Suppression, place: int, mark: str) -> str:
    if place < 0:
        return ""
    if result.hidden[place]:
        return "·"
    if result.suppressed[place]:
        return mark
    if not result.model.is_magnitude:
        return f"{int(result.model.frequency[place]):,}"
    return f"{result.model.published_amount[place]:,.{result.model.decimals}f}"


def cross_table(
    result: Suppression,
    rows: str | None = None,
    columns: str | None = None,
    mark: str = "×",
    at: Mapping[str, str] | None = None,
) -> str:
    r"""The table as text.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"], "n": [2, 9, 8, 7]},
    ...                by=["sex", "job"], freq="n")
    >>> print(cross_table(protect(model, SmallCount(3)), "sex", "job"))
    sex \ job  Total   a   b
    Total         26  10  16
    f             11   ×   ×
    m             15   ×   ×
    """
    rows, columns, row_codes, column_codes, grid = _grid(result, rows, columns, at or {})
    corner = rows if columns is None else f"{rows} \\ {columns}"
    heads = ["Total"] if columns is None else column_codes
    body = [
        [code, *(_field(result, int(p), mark) for p in line)]
        for code, line in zip(row_codes, grid, strict=True)
    ]
    lines = [[corner, *heads], *body]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    gap = "  " if columns is not None else " "
    text = [
        gap.join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in lines
    ]
    return "\n".join(text)


CSS = f"""
.dalenius-scroll {{ overflow: auto; max-height: 80vh; border: 1px solid #E5E9ED; }}
.dalenius-table {{ border-collapse: separate; border-spacing: 0; font: 13px {FONT}; background: #FFF; color: #1B1F24; }}
.dalenius-table th, .dalenius-table td {{ padding: 2px 8px; text-align: right; border-bottom: 1px solid #E5E9ED;
  white-space: nowrap; }}
.dalenius-table thead th {{ position: sticky; top: 0; background: #FFF; z-index: 2; }}
.dalenius-table th {{ font-weight: 600; color: #1B1F24; }}
.dalenius-table th:first-child {{ text-align: left; position: sticky; left: 0; background: #FFF; z-index: 1; }}
.dalenius-table thead th:first-child {{ z-index: 3; }}
.dalenius-table td.u {{ background: repeating-linear-gradient(45deg, #A93226 0 4px, #8E2A20 4px 8px); color: #FFF;
  font-weight: 700; }}
.dalenius-table td.x {{ background: radial-gradient(#E3B7B1 1px, #F6DDDA 1.5px) 0 0 / 6px 6px; color: #5E1710; }}
.dalenius-table td.c {{ background: #E9ECEF; color: #1B1F24; }}
.dalenius-table td.z {{ outline: 1px solid #2166AC; outline-offset: -1px; }}
@media print {{ .dalenius-scroll {{ overflow: visible; max-height: none; border: 0; }}
  .dalenius-table {{ font-size: 6.5pt; border-collapse: collapse; }}
  .dalenius-table th, .dalenius-table td {{ padding: 1px 2px; }}
  .dalenius-table thead th, .dalenius-table th:first-child {{ position: static; }}
  .dalenius-table thead {{ display: table-header-group; }} .dalenius-table tr {{ break-inside: avoid; }}
  .dalenius-table td {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }} }}
"""


def cross_table_html(
    result: Suppression, rows: str | None = None, columns: str | None = None, *, internal: bool = True
) -> str:
    """The table as HTML: primary cells dark and striped, secondary ones light and dotted; all alike for the public.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> page = cross_table_html(protect(model, SmallCount(3)))
    >>> page.count('class="u"'), page.count('class="x"')
    (1, 1)
    """
    rows, columns, row_codes, column_codes, grid = _grid(result, rows, columns, {})
    shown = grid[:MOST_ROWS]
    heads = [result.model.dimensions[0].hierarchy.total] if columns is None else column_codes
    corner = rows if columns is None else f"{rows} \\ {columns}"
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in (corner, *heads))
    nearest = _nearest(next(d.hierarchy for d in result.model.dimensions if d.name == rows))
    depth = {code: _depth(code, nearest) for code in row_codes}
    body = []
    for code, line in zip(row_codes, shown, strict=False):
        indent = f' style="padding-left:{8 + 14 * depth[code]}px"'
        body.append(
            f'<tr><th scope="row"{indent}>'
            f"{html.escape(code)}</th>{''.join(_html_field(result, int(p), internal) for p in line)}</tr>"
        )
    more = "" if len(grid) <= MOST_ROWS else f"<p>{len(grid) - MOST_ROWS:,} further rows are not shown.</p>"
    legend = (
        "<p><small>× suppressed: dark and striped because a rule asks for it, light and dotted to protect those"
        "</small></p>"
        if internal
        else "<p><small>:c confidential</small></p>"
    )
    said = f"<p>{html.escape(str(result))}</p>" if internal else ""
    return (
        f"<style>{CSS}{_paper(len(heads))}</style><section aria-label='Table'>{said}"
        '<div class="dalenius-scroll" tabindex="0" role="region" aria-label="Protected table">'
        f'<table class="dalenius-table"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
        f"{legend}{more}</section>"
    )


def _paper(columns: int) -> str:
    """Print rules for wide tables: larger paper, and smaller letters where that is not enough."""
    if columns <= ACROSS_A4:
        return ""
    letters = min(6.5, 6.5 * ACROSS_A3 / columns)
    return f"@page {{ size: A3 landscape; }} @media print {{ .dalenius-table {{ font-size: {letters:.1f}pt; }} }}"


def _depth(code: str, nearest: Mapping[str, str | None]) -> int:
    depth, above = 0, nearest[code]
    while above is not None:
        depth, above = depth + 1, nearest[above]
    return depth


def _html_field(result: Suppression, place: int, internal: bool = True) -> str:
    if place < 0:
        return "<td></td>"
    kind = (
        "u"
        if result.primary[place]
        else "x"
        if result.secondary[place]
        else "z"
        if result.forced[place]
        else ""
    )
    if not internal:
        kind = "c" if kind in ("u", "x") else ""
    mark = f' class="{kind}"' if kind else ""
    return f"<td{mark}>{html.escape(_field(result, place, '×' if internal else ':c'))}</td>"
