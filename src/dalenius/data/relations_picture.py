"""A drawing of tables and links with their numbers of rows, as SVG that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Mapping

from dalenius.core.errors import counted
from dalenius.data.relations import Database

WIDE, HIGH, APART, BELOW = 190, 54, 40, 70


def picture(
    base: Database, beside: Mapping[str, int] | None = None, torn: Mapping[str, str] | None = None
) -> str:
    """Tables as boxes, parents above their children, links as lines with their cardinality.

    Parameters
    ----------
    beside
        Rows of another database with the same tables (a synthetic one), shown under those of this one.
    torn
        Links to be marked, by text, with what is wrong with them.

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1]}})
    >>> picture(base).count("<rect")
    2
    """
    spots = _spots(base)
    width = max(x for x, _ in spots.values()) + WIDE + 20 + _over(base, torn or {})
    height = max(y for _, y in spots.values()) + HIGH + 20
    parts = [_line(base, number, spots, torn or {}) for number in range(len(base.links))]
    for name, (x, y) in spots.items():
        rows = counted(base[name].rows, "row")
        more = "" if beside is None else f", {counted(beside.get(name, 0), 'row')} made"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="6" fill="none" stroke="currentColor"/>'
            f'<text x="{x + WIDE / 2}" y="{y + 22}" text-anchor="middle" font-weight="bold" fill="currentColor">'
            f"{html.escape(name)}</text>"
            f'<text x="{x + WIDE / 2}" y="{y + 42}" text-anchor="middle" font-size="12" fill="currentColor">'
            f"{rows}{more}</text>"
        )
    told = html.escape("; ".join(map(str, base.links)))
    return (
        f'<svg class="tables" role="img" aria-label="{told}" viewBox="0 0 {width} {height}" width="{width}" '
        f'font-family="sans-serif" font-size="14">{"".join(parts)}</svg>'
    )


def _over(base: Database, torn: Mapping[str, str]) -> int:
    """Room on the right for what is written beside links."""
    longest = max((len(_said(base, number, torn)) for number in range(len(base.links))), default=0)
    return max(0, longest * 6 - WIDE // 2)


def _said(base: Database, number: int, torn: Mapping[str, str]) -> str:
    link = base.links[number]
    fault = torn.get(f"{link.child}.{link.child_key}")
    return (
        link.child_key
        if link.own
        else f"{link.child_key} {link.cardinality or ''}{' – ' + fault if fault else ''}"
    )


def _spots(base: Database) -> dict[str, tuple[int, int]]:
    """Where each table stands: one level below the lowest of its parents."""
    level: dict[str, int] = {}
    for name in base.sequence:
        level[name] = 1 + max((level[link.parent] for link in base.parents(name)), default=-1)
    taken: dict[int, int] = {}
    spots = {}
    for name in base.sequence:
        place = taken.get(level[name], 0)
        taken[level[name]] = place + 1
        spots[name] = (10 + place * (WIDE + APART), 10 + level[name] * (HIGH + BELOW))
    return spots


def _line(base: Database, number: int, spots: Mapping[str, tuple[int, int]], torn: Mapping[str, str]) -> str:
    link = base.links[number]
    fault = torn.get(f"{link.child}.{link.child_key}")
    colour = "#c0392b" if fault else "currentColor"
    (a, b), (c, d) = spots[link.parent], spots[link.child]
    if link.own:
        text = _said(base, number, torn)
        return (
            f'<path d="M {a + WIDE} {b + 12} q 26 15 0 30" fill="none" stroke="{colour}"/>'
            f'<text x="{a + WIDE + 16}" y="{b + 31}" font-size="11" fill="{colour}">{html.escape(text)}</text>'
        )
    top, bottom = (a + WIDE / 2, b + HIGH), (c + WIDE / 2, d)
    said = html.escape(_said(base, number, torn))
    middle = ((top[0] + bottom[0]) / 2 + 6, (top[1] + bottom[1]) / 2)
    return (
        f'<line x1="{top[0]}" y1="{top[1]}" x2="{bottom[0]}" y2="{bottom[1]}" stroke="{colour}"/>'
        f'<text x="{middle[0]}" y="{middle[1]}" font-size="11" fill="{colour}">{said}</text>'
    )
