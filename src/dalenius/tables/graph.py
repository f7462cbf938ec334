"""The sums around one cell as a graph: what it is part of, itself and its fellows, its own parts, left to right."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import counted
from dalenius.core.style import FONT
from dalenius.tables.explain import MOST_TERMS, cell_label
from dalenius.tables.relations import Relation, relations

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression

MOST_RELATIONS = 6
ROW, BOX, LINKS, LETTER, CAPITAL, LONGEST = 36, 28, 90, 7, 9, 24
"""Pixels: a row, a box, the room between two columns for lines, a letter; and the most letters of a name."""


@dataclass
class _Column:
    """Boxes below each other: cells, or (as text) how many more there are."""

    cells: list[int | str] = field(default_factory=list)
    middle: float = 0.0

    def add(self, parts: Sequence[int], place: int) -> None:
        """The parts of a sum that are not there yet; of many only the first."""
        fresh = [p for p in parts if p not in self.cells and p != place]
        self.cells += fresh[:MOST_TERMS]
        if len(fresh) > MOST_TERMS:
            self.cells.append(f"and {len(fresh) - MOST_TERMS:,} more")

    def heights(self) -> dict[int | str, float]:
        """Where the centre of every box lies."""
        top = self.middle - ROW * (len(self.cells) - 1) / 2
        return {cell: top + ROW * i for i, cell in enumerate(self.cells)}


def relations_svg(result: Suppression, place: int) -> str:
    """The sums a cell takes part in, as a graph; cells coloured and patterned by status, without values.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> drawn = relations_svg(result, 1)
    >>> drawn.count("<rect class="), drawn.count("<path")
    (4, 3)
    """
    sums = relations(result.model, place)[:MOST_RELATIONS]
    above, below = [s for s in sums if s[0] != place], [s for s in sums if s[0] == place]
    columns = _columns(above, below, place)
    at = [column.heights() for column in columns]
    at[0] = _apart({w: float(np.mean([at[1][p] for p in _ends(at[1], parts)])) for w, parts in above})
    lowest = min(y for heights in at for y in heights.values()) - ROW / 2
    names = {c: _short(result, c) for column in columns for c in column.cells}
    widths = [max((16 + _pixels(names[c]) for c in column.cells), default=0) for column in columns]
    left = [4 + sum(w + LINKS for w in widths[:i] if w) for i in range(3)]
    status = result.status
    lines, boxes = [], []
    for which, start in ((above, 0), (below, 1)):
        for whole, parts in which:
            ends = [at[start + 1][p] for p in _ends(at[start + 1], parts)]
            lines += [
                _line(left[start] + widths[start], at[start][whole] - lowest, left[start + 1], end - lowest)
                for end in ends
            ]
    for x, width, heights in zip(left, widths, at, strict=True):
        boxes += [_box(_kind(status, c, place), names[c], x, y - lowest, width) for c, y in heights.items()]
    highest = max(y for heights in at for y in heights.values()) - lowest + ROW / 2
    wide = max(x + w for x, w in zip(left, widths, strict=True)) + 4
    return (
        f'<svg role="img" aria-label="{html.escape(_words(result, sums, place), quote=True)}" '
        f'viewBox="0 0 {wide:.0f} {highest:.0f}" width="{wide:.0f}" style="font:12px {FONT};max-width:100%;'
        f'height:auto">{PATTERNS}{"".join(lines)}{"".join(boxes)}</svg>'
    )


def _columns(above: Sequence[Relation], below: Sequence[Relation], place: int) -> list[_Column]:
    """Wholes; the cell between its fellows of the first sum and those of the others; its parts."""
    fellows = _Column()
    for _, parts in above[:1]:
        fellows.add(parts, place)
    fellows.cells.append(place)
    for _, parts in above[1:]:
        fellows.add(parts, place)
    own = _Column(middle=fellows.heights()[place])
    for _, parts in below:
        own.add(parts, place)
    return [_Column(list(dict.fromkeys(whole for whole, _ in above))), fellows, own]


def _apart(wanted: dict[int | str, float]) -> dict[int | str, float]:
    """Boxes as near as possible to where they should be, without touching."""
    placed: dict[int | str, float] = {}
    for cell, height in sorted(wanted.items(), key=lambda pair: pair[1]):
        placed[cell] = max(height, max(placed.values(), default=-np.inf) + ROW)
    return placed


def _ends(heights: dict[int | str, float], parts: Sequence[int]) -> list[int | str]:
    """The boxes a sum's lines go to; what is not drawn is behind the nearest "and … more"."""
    drawn: list[int | str] = [p for p in parts if p in heights]
    more = [c for c in heights if isinstance(c, str)]
    return drawn + (more[:1] if len(drawn) < len(parts) else [])


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = (to_x - x) / 2
    return (
        f'<path d="M{x:.0f} {y:.0f}c{bend:.0f} 0 {bend:.0f} {to_y - y:.0f} {to_x - x:.0f} {to_y - y:.0f}"/>'
    )


def _kind(status: Sequence[str], cell: int | str, place: int) -> str:
    return "" if isinstance(cell, str) else status[cell] + (" here" if cell == place else "")


def _box(kind: str, text: str, x: float, y: float, width: int) -> str:
    label = f'x="{x + width / 2:.0f}" y="{y + 4:.0f}" text-anchor="middle">{html.escape(text)}</text>'
    if not kind:
        return f"<text {label}"
    return (
        f'<rect class="{kind}" x="{x:.0f}" y="{y - BOX / 2:.0f}" width="{width}" height="{BOX}" rx="4"/>'
        f'<text class="on-{kind}" {label}'
    )


def _pixels(text: str) -> int:
    """Width of a label; capitals are wider, and a bold label must not run over its frame."""
    return sum(CAPITAL if letter.isupper() else LETTER for letter in text)


def _short(result: Suppression, cell: int | str) -> str:
    text = cell if isinstance(cell, str) else cell_label(result, cell)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _words(result: Suppression, sums: Sequence[Relation], place: int) -> str:
    """What the graph shows, for people who do not see it."""
    name = cell_label(result, place)
    told = [
        f"is the sum of {counted(len(parts), 'cell')}" if whole == place
        else f"is part of {cell_label(result, whole)} with {counted(len(parts) - 1, 'other')}"
        for whole, parts in sums
    ]  # fmt: skip
    return f"{name} {', '.join(told)}" if told else f"{name} takes part in no sum"


PATTERNS = """<defs><pattern id="dalenius-stripes" width="6" height="6" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><rect width="6" height="6" fill="#A93226"/>
<rect width="3" height="6" fill="#8E2A20"/></pattern><pattern id="dalenius-dots" width="6" height="6"
 patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="#F6DDDA"/>
<circle cx="3" cy="3" r="1" fill="#C98A82"/></pattern></defs>
<style>.drawing path{fill:none;stroke:#687381}.drawing text{fill:#1B1F24}
rect.published{fill:#FFF;stroke:#687381}rect.primary{fill:url(#dalenius-stripes);stroke:#7A1F14}
rect.secondary{fill:url(#dalenius-dots);stroke:#A93226}rect.forced{fill:#FFF;stroke:#2166AC;stroke-width:2}
rect.hidden{fill:#F2F2F2;stroke:#687381;stroke-dasharray:3}rect.here{stroke-width:3;stroke:#1B1F24}
.drawing .on-primary{fill:#FFF;font-weight:700}.drawing .on-secondary{fill:#5E1710}</style>"""
