"""A protected table for people: as text and as HTML, with suppressed cells marked."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
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
MOST_SLICES = 200
ACROSS_A4, ACROSS_A3 = 24, 40


@dataclass(frozen=True)
class View:
    """Which dimension runs down, which across, and at which codes the others stand."""

    rows: str
    columns: str | None
    row_codes: list[str]
    column_codes: list[str]
    grid: Ints
    """Place of the cell in each field, -1 where there is none."""
    fixed: Mapping[str, str]

    @property
    def said(self) -> str:
        """Where the other dimensions stand."""
        return ", ".join(f"{name} = {code}" for name, code in self.fixed.items())

    @property
    def shown(self) -> int:
        """Cells of the view."""
        return int((self.grid >= 0).sum())


def _view(result: Suppression, rows: str | None, columns: str | None, at: Mapping[str, str]) -> View:
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
    down, across = (model.cells[name].to_list() if name else [] for name in (rows, columns))
    for place in places.tolist():
        grid[row_place[down[place]], column_place[across[place]] if across else 0] = place
    used_rows, used_columns = np.asarray((grid >= 0).any(axis=1)), np.asarray((grid >= 0).any(axis=0))
    row_codes = [c for c, ok in zip(row_codes, used_rows, strict=True) if ok]
    column_codes = [c for c, ok in zip(column_codes, used_columns, strict=True) if ok]
    return View(rows, columns, row_codes, column_codes, grid[used_rows][:, used_columns], fixed)


def _views(result: Suppression, rows: str | None, columns: str | None) -> Iterator[View]:
    """The table slice by slice: the totals of the other dimensions first, then their codes from the total down."""
    first = _view(result, rows, columns, {})
    yield first
    if not first.fixed:
        return
    trees = {d.name: d.hierarchy for d in result.model.dimensions}
    order = [{code: n for n, code in enumerate(_tree_order(trees[name]))} for name in first.fixed]
    there = result.model.cells.select(list(first.fixed)).unique().rows()
    for codes in sorted(there, key=lambda row: [place[code] for place, code in zip(order, row, strict=True)]):
        at = dict(zip(first.fixed, codes, strict=True))
        if at != first.fixed:
            yield _view(result, first.rows, first.columns, at)


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
    r"""The table as text. Of more than two dimensions one slice, with a line that says which and what is not in it.

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
    view = _view(result, rows, columns, at or {})
    columns = view.columns
    corner = view.rows if columns is None else f"{view.rows} \\ {columns}"
    heads = ["Total"] if columns is None else view.column_codes
    body = [
        [code, *(_field(result, int(p), mark) for p in line)]
        for code, line in zip(view.row_codes, view.grid, strict=True)
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
    left = len(result.model.cells) - view.shown
    if view.fixed and left:
        text.append(f"Shown: {view.said}. Not in this view: {left:,} of {len(result.model.cells):,} cells.")
    return "\n".join(text)


CSS = f"""
.dalenius-scroll {{ overflow: auto; max-height: 80vh; border: 1px solid #E5E9ED; max-width: max-content;
  background: linear-gradient(to left, #FFF 40%, #FFF0) right / 50px 100% no-repeat local,
    linear-gradient(to left, #0003, #0000) right / 16px 100% no-repeat scroll, #FFF; }}
.dalenius-slice {{ margin: 10px 0 4px; }} .dalenius-slice summary {{ cursor: pointer; }}
.dalenius-table {{ border-collapse: separate; border-spacing: 0; font: 13px {FONT}; color: #1B1F24; }}
.dalenius-table th, .dalenius-table td {{ padding: 2px 8px; text-align: right; border-bottom: 1px solid #E5E9ED;
  white-space: nowrap; }}
.dalenius-table thead th {{ position: sticky; top: 0; background: #FFF; z-index: 2; white-space: normal;
  max-width: 9em; vertical-align: bottom; }}
.dalenius-table th {{ font-weight: 600; color: #1B1F24; }}
.dalenius-table th:first-child {{ text-align: left; position: sticky; left: 0; background: #FFF; z-index: 1; }}
.dalenius-table thead th:first-child {{ z-index: 3; }}
.dalenius-table td.u {{ background: repeating-linear-gradient(45deg, #A93226 0 4px, #8E2A20 4px 8px); color: #FFF;
  font-weight: 700; }}
.dalenius-table td.x {{ background: radial-gradient(#E3B7B1 1px, #F6DDDA 1.5px) 0 0 / 6px 6px; color: #5E1710; }}
.dalenius-table td.c {{ background: #E9ECEF; color: #1B1F24; }}
.dalenius-table td.z {{ outline: 1px solid #2166AC; outline-offset: -1px; }}
@media print {{ .dalenius-scroll {{ overflow: visible; max-height: none; border: 0; background: none; }}
  .dalenius-table {{ font-size: 6.5pt; border-collapse: collapse; }}
  .dalenius-table th, .dalenius-table td {{ padding: 1px 2px; }}
  .dalenius-table thead th, .dalenius-table th:first-child {{ position: static; }}
  .dalenius-slice::details-content {{ content-visibility: visible; block-size: auto; }}
  .dalenius-table thead {{ display: table-header-group; }} .dalenius-table tr {{ break-inside: avoid; }}
  /* thousands of patterns take a browser many minutes to print: dark and light tell them apart on paper */
  .dalenius-table td.u {{ background: #A93226; }} .dalenius-table td.x {{ background: #F6DDDA; }}
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
    views = list(islice(_views(result, rows, columns), MOST_SLICES))
    wide = max(len(view.column_codes) for view in views)
    slices = "".join(_slice(result, view, internal, n, len(views)) for n, view in enumerate(views))
    left = len(result.model.cells) - sum(view.shown for view in views)
    more = f"<p>{left:,} cells of further slices are not on this page.</p>" if left else ""
    legend = (
        "<p><small>× suppressed: dark and striped because a rule asks for it, light and dotted to protect those"
        "</small></p>"
        if internal
        else "<p><small>:c confidential</small></p>"
    )
    said = f"<p>{html.escape(str(result))}</p>" if internal else ""
    return f"<style>{CSS}{_paper(wide)}</style><section aria-label='Table'>{said}{slices}{legend}{more}</section>"


def _slice(result: Suppression, view: View, internal: bool, number: int, of: int) -> str:
    """One slice: the first stands open, the others are folded under where they stand."""
    total = result.model.dimensions[0].hierarchy.total
    heads = [total] if view.columns is None else view.column_codes
    corner = view.rows if view.columns is None else f"{view.rows} \\ {view.columns}"
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in (corner, *heads))
    nearest = _nearest(next(d.hierarchy for d in result.model.dimensions if d.name == view.rows))
    depth = {code: _depth(code, nearest) for code in view.row_codes}
    body = []
    for code, line in zip(view.row_codes, view.grid[:MOST_ROWS], strict=False):
        indent = f' style="padding-left:{8 + 14 * depth[code]}px"'
        body.append(
            f'<tr><th scope="row"{indent}>'
            f"{html.escape(code)}</th>{''.join(_html_field(result, int(p), internal) for p in line)}</tr>"
        )
    left = len(view.grid) - MOST_ROWS
    more = f"<p>{left:,} further rows are not shown.</p>" if left > 0 else ""
    named = f"Protected table{f', {view.said}' if view.said else ''}"
    table = (
        f'<div class="dalenius-scroll" tabindex="0" role="region" aria-label="{html.escape(named, quote=True)}">'
        f'<table class="dalenius-table"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
        f"{more}"
    )
    if of == 1:
        return table
    where, cells = html.escape(view.said), int(result.suppressed[view.grid[view.grid >= 0]].sum())
    told = f"{where} <small>{view.shown:,} cells, {cells:,} suppressed</small>"
    if number:
        return f'<details class="dalenius-slice"><summary>{told}</summary>{table}</details>'
    return f'<p class="dalenius-slice">{told}</p>{table}'


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
