"""Why a cell is at risk, or suppressed, in one sentence each; and the sums it takes part in, drawn."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dalenius.core.style import FONT
from dalenius.tables.model import beside
from dalenius.tables.relations import relations

if TYPE_CHECKING:
    from dalenius.tables.audit import Audit
    from dalenius.tables.suppression import Suppression

MOST_TERMS = 8
MOST_RELATIONS = 6


def cell_label(result: Suppression, place: int) -> str:
    """A cell by its codes, without the totals.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> cell_label(result, 0), cell_label(result, 1)
    ('Total', 'x')
    """
    model = result.model
    codes = [
        model.cells[d.name][place]
        for d in model.dimensions
        if model.cells[d.name][place] != d.hierarchy.total
    ]
    return " : ".join(codes) or "Total"


def faults(result: Suppression, found: Audit, most: int = 50) -> pl.DataFrame:
    """The cells at risk, each with one sentence that says how it can be known. No value is shown.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> leaky = protect(model, SmallCount(3), forced=[0, 2, 3])
    >>> faults(leaky, leaky.checked)["why"].to_list()
    ['x is Total − y − z, and all of these are published.']
    """
    reasons = found.at_risk["reason"].to_list()
    rows = found.failing[:most]
    return beside(found.table.cells[rows], why=pl.Series(
        [_why(result, int(p), reason) for p, reason in zip(rows, reasons, strict=False)], dtype=pl.String))  # fmt: skip


def _why(result: Suppression, place: int, reason: str) -> str:
    name = cell_label(result, place)
    if reason == "can be computed exactly":
        closed = result.suppressed | result.hidden
        for whole, parts in relations(result.model, place):
            others = [p for p in (whole, *parts) if p != place]
            if not closed[others].any():
                return f"{name} is {_sum(result, whole, parts, place)}, and all of these are published."
        return f"{name} follows from the published cells of several sums taken together."
    if reason == "a contributor can compute it":
        return f"{name} can be computed by a single contributor who knows its own value."
    if reason == "its interval is too narrow":
        return f"{name} can be placed within a narrower interval than its rule allows."
    return f"{name} can be placed too closely by a contributor who knows its own value."


def _sum(result: Suppression, whole: int, parts: list[int], place: int) -> str:
    if place == whole:
        named = [cell_label(result, p) for p in parts]
        return " + ".join(named[:MOST_TERMS]) + (
            f" + {len(named) - MOST_TERMS} more" if len(named) > MOST_TERMS else ""
        )
    named = [cell_label(result, p) for p in parts if p != place]
    more = f" − {len(named) - MOST_TERMS} more" if len(named) > MOST_TERMS else ""
    return " − ".join([cell_label(result, whole), *named[:MOST_TERMS]]) + more


def relations_svg(result: Suppression, place: int) -> str:
    """The sums a cell takes part in, one a line, cells coloured and patterned by status; no value is shown.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> relations_svg(result, 1).count("<rect class=")
    4
    """
    sums = relations(result.model, place)[:MOST_RELATIONS]
    status = np.array(result.status)
    lines, width = [], 0
    for row, (whole, parts) in enumerate(sums):
        shown = [*([place] if place in parts else []), *(p for p in parts if p != place)][:MOST_TERMS]
        x, y = 4, 6 + 40 * row
        for i, cell in enumerate((whole, *shown)):
            label = cell_label(result, cell)
            text = label if len(label) <= 24 else label[:23] + "…"
            box = 16 + 7 * len(text)
            if i:
                lines.append(f'<text x="{x}" y="{y + 18}" class="sign">{"=" if i == 1 else "+"}</text>')
                x += 16
            here = " here" if cell == place else ""
            lines.append(
                f'<rect class="{status[cell]}{here}" x="{x}" y="{y}" width="{box}" height="28" rx="4"/>'
                f'<text x="{x + box / 2}" y="{y + 18}" class="on-{status[cell]}" text-anchor="middle">'
                f"{html.escape(text)}</text>"
            )
            x += box + 8
        left = len(parts) - len(shown)
        if left > 0:
            lines.append(f'<text x="{x}" y="{y + 18}" class="sign">+ {left} more</text>')
            x += 70
        width = max(width, x)
    words = html.escape(
        f"Sums that {cell_label(result, place)} takes part in, {len(sums)} of them", quote=True
    )
    return (
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {width + 4} {40 * len(sums) + 8}" '
        f'width="{width + 4}" style="font:12px {FONT};max-width:100%;height:auto">{PATTERNS}{"".join(lines)}</svg>'
    )


PATTERNS = """<defs><pattern id="dalenius-stripes" width="6" height="6" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><rect width="6" height="6" fill="#A93226"/>
<rect width="3" height="6" fill="#8E2A20"/></pattern><pattern id="dalenius-dots" width="6" height="6"
 patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="#F6DDDA"/>
<circle cx="3" cy="3" r="1" fill="#C98A82"/></pattern></defs>
<style>rect.published{fill:#FFF;stroke:#687381}rect.primary{fill:url(#dalenius-stripes);stroke:#7A1F14}
rect.secondary{fill:url(#dalenius-dots);stroke:#A93226}rect.forced{fill:#FFF;stroke:#2166AC;stroke-width:2}
rect.hidden{fill:#F2F2F2;stroke:#687381;stroke-dasharray:3}rect.here{stroke-width:3;stroke:#1B1F24}
.on-primary{fill:#FFF;font-weight:700}.on-secondary{fill:#5E1710}.on-published,.on-forced,.on-hidden,.sign{fill:#1B1F24}</style>"""
