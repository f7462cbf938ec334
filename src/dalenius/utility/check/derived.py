"""Columns that follow from others: groupings, formulas and functional dependence (spec psd08, 2.1: 2)."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from dalenius.data.schema import Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector
from dalenius.utility.check.finding import Finding

FORMULA_SHARE, FD_SHARE, MODAL_SHARE = 0.99, 0.99, 0.97
MIN_ROWS, MIN_FORMULA_ROWS = 50, 200
MAX_LEVELS = 100
SAMPLE = 5000
NUMBERS = 15
"""More number columns than this are not searched for formulas in two others."""


def groupings(table: Table) -> list[Finding]:
    """Categorical columns that cut a number column into intervals."""
    numbers = [n for n, v in table.vectors.items() if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS)]
    found = []
    for name, vector in table.vectors.items():
        if vector.is_number or not 2 <= len(vector.levels) <= MAX_LEVELS:
            continue
        for other in numbers:
            both = vector.present & table[other].present
            if both.sum() < MIN_ROWS:
                continue
            if _disjoint(vector.data[both], table[other].data[both], len(vector.levels)):
                gaps = int((~vector.present & table[other].present).sum())
                text = f"its levels are intervals of {other!r}" + (
                    f"; empty in {gaps} rows where that is known" if gaps else ""
                )
                found.append(
                    Finding(
                        "derived-grouping",
                        (name, other),
                        "warning",
                        text,
                        int(both.sum()),
                        1.0,
                        f"drop {name!r} before synthesis and make it again from {other!r}",
                    )
                )
    return found


def _disjoint(codes: AnyArray, values: AnyArray, size: int) -> bool:
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    used = np.isfinite(low)
    if used.sum() < 2 or len(np.unique(values)) < 2 * used.sum():
        return False
    order = np.argsort(low[used])
    return bool(np.all(high[used][order][:-1] < low[used][order][1:]))


def formulas(table: Table) -> list[Finding]:
    """Number columns that are a sum, difference, product or ratio of two others, or a multiple of one."""
    names = [
        n
        for n, v in table.vectors.items()
        if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS) and not v.column.has(Role.IDENTIFIER)
    ]
    names = [n for n in names if len(np.unique(table[n].values[:SAMPLE])) > 2][:NUMBERS]
    found = []
    for name in names:
        rule = _formula(table, name, [other for other in names if other != name])
        if rule is not None:
            text, columns, share, rows = rule
            found.append(
                Finding(
                    "derived-formula",
                    (name, *columns),
                    "warning",
                    f"{text} in {100 * share:.2f} % of {rows:,} rows",
                    rows,
                    share,
                    f"drop {name!r} before synthesis and compute it afterwards",
                )
            )
    return found


def _formula(table: Table, name: str, others: list[str]) -> tuple[str, tuple[str, ...], float, int] | None:
    y = table[name].floats()
    for a in others:
        checked = _holds(y, table[a].floats(), scaled=True)
        if checked is not None:
            k, share, rows = checked
            return f"{name} = {k:.6g} × {a}", (a,), share, rows
    for a, b in combinations(others, 2):
        x, z = table[a].floats(), table[b].floats()
        for text, value in ((f"{a} + {b}", x + z), (f"{a} − {b}", x - z), (f"{b} − {a}", z - x)):
            checked = _holds(y, value, scaled=False)
            if checked is not None:
                return f"{name} = {text}", (a, b), checked[1], checked[2]
    for a, b in permutations(others, 2):
        x, z = table[a].floats(), table[b].floats()
        known = np.where(z == 0, np.nan, z)
        for text, value in ((f"{a} × {b}", x * z), (f"{a} / {b}", x / known), (f"{a} / {b}²", x / known**2)):
            checked = _holds(y, value, scaled=True)
            if checked is not None:
                return f"{name} = {checked[0]:.6g} × {text}", (a, b), checked[1], checked[2]
    return None


def _holds(y: AnyArray, f: AnyArray, scaled: bool) -> tuple[float, float, int] | None:
    """Factor, share of rows and rows for which y = k f (k = 1 unless scaled); None when too few."""
    step = max(1, len(y) // SAMPLE)
    for part in (slice(None, None, step), slice(None)):
        a, b = y[part], f[part]
        usable = np.isfinite(a) & np.isfinite(b) & (b != 0)
        if usable.sum() < min(MIN_FORMULA_ROWS, max(20, len(y) // 2)) or len(np.unique(a[usable][:500])) < 3:
            return None
        ratio = a[usable] / b[usable]
        k = float(np.median(ratio)) if scaled else 1.0
        good = np.abs(ratio - k) <= 1e-6 * abs(k)
        share = float(good.mean())
        if k == 0 or share < FORMULA_SHARE:
            return None
    return k, share, int(usable.sum())


def dependences(table: Table) -> list[Finding]:
    """Pairs of categorical columns where one settles the other."""
    usable = [
        (n, v) for n, v in table.vectors.items() if not v.is_number and 2 <= len(v.levels) <= MAX_LEVELS
    ]
    found = []
    for (a, va), (b, vb) in permutations(usable, 2):
        if len(va.levels) < len(vb.levels) or (len(va.levels) == len(vb.levels) and a > b):
            continue
        share, modal = _explained(va, vb)
        if share >= FD_SHARE and modal < MODAL_SHARE:
            exact = share == 1.0
            text = f"{a!r} settles {b!r} in {100 * share:.2f} % of the rows"
            todo = (
                f"put the rule '{a} determines {b}' into the schema"
                if exact
                else f"check the exceptions to '{a} determines {b}'"
            )
            found.append(
                Finding("dependence", (a, b), "warning" if exact else "info", text, table.rows, share, todo)
            )
    return found


def _explained(first: Vector, second: Vector) -> tuple[float, float]:
    a, b = first.categories, second.categories
    cells = np.zeros((a.size, b.size), np.int64)
    np.add.at(cells, (a.codes.astype(np.int64), b.codes.astype(np.int64)), 1)
    n = max(int(cells.sum()), 1)
    return float(cells.max(axis=1).sum() / n), float(cells.sum(axis=0).max() / n)
