"""Columns that never lie before another (a discharge and an admission), and questions that are not asked of some."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import counted
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, SPECIAL, VALUE, AnyArray, BoolArray, Vector, states
from dalenius.preparation.finding import Finding

MIN_ROWS = 50
"""Rows in which both columns are known, and rows of a level of which a question is not asked."""
KNOWN = 0.99
"""Share of the later column's values beside which the earlier one must be known."""
CHANCE = 0.02
"""Independent columns must break the order in this share of rows, or it says nothing."""
SLIPS = 0.005
"""Share of rows in which a date may lie before the one it follows: slips of the pen, which no made file repeats."""
UNASKED, ASKED = 0.995, 0.5
"""Share of gaps from which on a question counts as not asked, and up to which others count as asked."""
MANY = 30
"""Number columns that are compared with each other at most, and levels of the column that says who is asked."""


def orders(table: Table) -> list[Finding]:
    """Columns that are never smaller than another of the same kind: start and end, part and whole."""
    findings: list[tuple[float, Finding]] = []
    for kind in (Kind.DATETIME, Kind.INTEGER, Kind.CONTINUOUS):
        numbers = [n for n, v in table.vectors.items() if v.column.kind is kind][:MANY]
        means = {
            n: float(np.mean(table[n].values))
            for n in numbers
            if len(table[n].values) and np.isfinite(table[n].values).all()
        }
        for name, mean in means.items():
            before = [other for other in means if other != name and _follows(table[name], table[other])]
            if before:
                # The nearest of those it follows: what that one follows, this one does too.
                findings.append((mean, _order(table, name, max(before, key=means.__getitem__))))
    # The last of a chain first: it is put as a distance while what it follows is still as it was.
    return [finding for _, finding in sorted(findings, key=lambda entry: -entry[0])]


def _follows(own: Vector, other: Vector) -> bool:
    both = own.present & other.present
    if both.sum() < max(MIN_ROWS, KNOWN * own.present.sum()):
        return False
    a, b = own.data[both], other.data[both]
    if np.mean(a < b) > (SLIPS if own.column.kind is Kind.DATETIME else 0) or np.all(a == b):
        return False
    return float(np.mean(np.searchsorted(np.sort(a), b, side="left")) / len(a)) >= CHANCE


def _order(table: Table, name: str, other: str) -> Finding:
    own, before = table[name], table[other]
    both = own.present & before.present
    apart = own.data[both] - before.data[both]
    slips, rows = int((apart < 0).sum()), int(both.sum())
    whole = own.column.kind is not Kind.CONTINUOUS
    unit = float(np.gcd.reduce(apart)) if whole else 1.0
    places = [v.column.decimals for v in (own, before)]
    decimals = None if whole or None in places else max(place for place in places if place is not None)
    remedy = {
        "do": "keep-order", "column": name, "after": other, "unit": unit, "kind": str(own.column.kind),
        "decimals": decimals,
    }  # fmt: skip
    text = f"never {'before' if own.column.kind is Kind.DATETIME else 'below'} {other!r}"
    text += f", but for {counted(slips, 'row')}, put on the same day" if slips else ""
    todo = f"synthesize its distance from {other!r}, or put the rule '{name} >= {other}' into the schema"
    return Finding("order", (name, other), "info", text, rows, 1 - slips / rows, todo, remedy)


def unasked(table: Table) -> list[Finding]:
    """Columns that are empty, or have one special code, where another column has certain levels, and seldom else."""
    askers = [n for n, v in table.vectors.items() if not v.is_number and 2 <= len(v.levels) <= MANY]
    findings = []
    for name, own in table.vectors.items():
        if own.state is None:
            continue
        for gap in np.unique(own.state[own.state != VALUE]).tolist():
            best = max(
                ((who, *_split(table[who], own.state == gap)) for who in askers if who != name),
                key=lambda entry: len(entry[1]) and entry[2],
                default=None,
            )
            if best is not None and best[1]:
                findings.append(_unasked(table, name, gap, *best))
    return findings


def _split(asker: Vector, gap: BoolArray) -> tuple[list[int], int, bool]:
    """Levels with whom the question is not asked, the rows they have, and whether nobody else has the gap."""
    known = asker.present
    size = len(asker.levels)
    rows = np.bincount(asker.data[known], minlength=size)
    gaps = np.bincount(asker.data[known & gap], minlength=size)
    share: AnyArray = gaps / np.maximum(rows, 1)
    closed = (rows >= MIN_ROWS) & (share >= UNASKED)
    others = int(gaps[~closed].sum())
    if not closed.any() or closed[rows > 0].all() or others > ASKED * rows[~closed].sum():
        return [], 0, False
    return np.flatnonzero(closed).tolist(), int(rows[closed].sum()), others == 0


def _unasked(
    table: Table, name: str, gap: int, who: str, levels: list[int], rows: int, only: bool
) -> Finding:
    own, asker = table[name], table[who]
    code = own.column.special[gap - SPECIAL] if gap >= SPECIAL else None
    chosen = tuple(asker.levels[i] for i in levels)
    words = " or ".join(str(level) for level in chosen)
    what = "empty" if code is None else str(code)
    remedy = {"do": "keep-gap", "column": name, "where": who, "levels": chosen, "code": code, "only": only}
    hit = np.isin(asker.data, levels) & asker.present & (states(own) == gap)
    share = float(hit.sum() / rows)
    text = f"{what} in {100 * share:.2f} % of {rows:,} rows where {who!r} is {words}"
    todo = f"put it into the schema as a rule on {who!r}, or keep the gap by construction"
    fits = gap == MISSING or gap >= SPECIAL
    return Finding("unasked", (name, who), "info", text, rows, share, todo, remedy if fits else None)
