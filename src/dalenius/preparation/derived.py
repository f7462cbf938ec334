"""Columns that follow from others: groupings, formulas and functional dependence (Latner et al. 2024, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from dalenius.data.schema import Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector
from dalenius.preparation.finding import Finding

FORMULA_SHARE, FD_SHARE, MODAL_SHARE = 0.99, 0.99, 0.97
MIN_ROWS, MIN_FORMULA_ROWS = 50, 200
MAX_LEVELS = 100
SAMPLE = 5000
TERMS, TRIED = 4, 500
"""Columns in a sum at most, and rows on which sums are looked for."""
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
            cut = _intervals(vector.data[both], table[other].data[both], len(vector.levels))
            if cut is not None:
                found.append(_grouping(table, name, other, *cut))
    return found


def _grouping(table: Table, name: str, other: str, cuts: tuple[float, ...], order: list[int]) -> Finding:
    vector, source = table[name], table[other]
    both = int((vector.present & source.present).sum())
    gaps = int((~vector.present & source.present).sum())
    text = f"its levels are intervals of {other!r}"
    text += f"; empty in {gaps} rows where that is known" if gaps else ""
    # Where the number is empty the group could not be made again, so such a group stays in the data.
    again = both >= FORMULA_SHARE * int(vector.present.sum())
    remedy = {
        "do": "drop-grouping", "column": name, "source": other, "cuts": cuts,
        "levels": tuple(vector.levels[i] for i in order), "kind": str(vector.column.kind),
    }  # fmt: skip
    todo = f"drop {name!r} before synthesis and make it again from {other!r}"
    return Finding(
        "derived-grouping", (name, other), "warning", text, both, 1.0, todo, remedy if again else None
    )


def _intervals(codes: AnyArray, values: AnyArray, size: int) -> tuple[tuple[float, ...], list[int]] | None:
    """Cut points (half way between one level's largest and the next one's smallest value) and levels in order."""
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    used = np.flatnonzero(np.isfinite(low))
    if len(used) < 2 or len(np.unique(values)) < 2 * len(used):
        return None
    order = used[np.argsort(low[used])]
    if not np.all(high[order][:-1] < low[order][1:]):
        return None
    return tuple(((high[order][:-1] + low[order][1:]) / 2).tolist()), order.tolist()


@dataclass(frozen=True)
class _Formula:
    """A column as an expression of others: in words, in the language of rules, and how often it holds."""

    words: str
    rule: str
    columns: tuple[str, ...]
    share: float
    rows: int


def formulas(table: Table) -> list[Finding]:
    """Number columns that are a sum of up to four, a difference, product or ratio of two, or a multiple of one."""
    names = [
        n
        for n, v in table.vectors.items()
        if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS) and not v.column.has(Role.IDENTIFIER)
    ]
    names = [n for n in names if len(np.unique(table[n].values[:SAMPLE])) > 2][:NUMBERS]
    found = []
    for name in names:
        column = table[name].column
        formula = _formula(table, name, [other for other in names if other != name])
        if formula is not None:
            found.append(
                Finding(
                    "derived-formula",
                    (name, *formula.columns),
                    "warning",
                    f"{name} = {formula.words} in {100 * formula.share:.2f} % of {formula.rows:,} rows",
                    formula.rows,
                    formula.share,
                    f"drop {name!r} before synthesis and compute it afterwards",
                    {"do": "drop-derived", "column": name, "rule": f"{_quoted(name)} == {formula.rule}",
                     "kind": str(column.kind), "decimals": column.decimals},
                )
            )  # fmt: skip
    return found


def _quoted(name: str) -> str:
    return f"`{name}`"


def _formula(table: Table, name: str, others: list[str]) -> _Formula | None:
    y = table[name].floats()
    for words, rule, columns, value, scaled in _expressions(table, others):
        checked = _holds(y, value, scaled)
        if checked is not None:
            k, share, rows = checked
            factor = f"{k:.6g} × " if scaled else ""
            return _Formula(factor + words, f"{k:.12g} * {rule}" if scaled else rule, columns, share, rows)
    return _sum_of_several(table, y, others)


def _expressions(
    table: Table, others: list[str]
) -> Iterator[tuple[str, str, tuple[str, ...], AnyArray, bool]]:
    """Words, rule, columns, value and whether a factor is free, the simplest first."""
    for a in others:
        yield a, _quoted(a), (a,), table[a].floats(), True
    for a, b in combinations(others, 2):
        x, z = table[a].floats(), table[b].floats()
        yield f"{a} + {b}", f"{_quoted(a)} + {_quoted(b)}", (a, b), x + z, False
        yield f"{a} − {b}", f"{_quoted(a)} - {_quoted(b)}", (a, b), x - z, False
        yield f"{b} − {a}", f"{_quoted(b)} - {_quoted(a)}", (a, b), z - x, False
    for a, b in permutations(others, 2):
        x, z = table[a].floats(), table[b].floats()
        known = np.where(z == 0, np.nan, z)
        p, q = _quoted(a), _quoted(b)
        if a < b:
            yield f"{a} × {b}", f"{p} * {q}", (a, b), x * z, True
        yield f"{a} / {b}", f"{p} / {q}", (a, b), x / known, True
        yield f"{a} / {b}²", f"{p} / {q} / {q}", (a, b), x / known**2, True


def _sum_of_several(table: Table, y: AnyArray, others: list[str]) -> _Formula | None:
    """A sum of three or four columns, some of them taken away: least squares on a few rows, then a check on all."""
    if len(others) < 3:
        return None
    x = np.column_stack([table[name].floats() for name in others])
    known = np.flatnonzero(np.isfinite(y) & np.isfinite(x).all(axis=1))[:TRIED]
    if len(known) < 10 * len(others):
        return None
    weights = np.linalg.lstsq(x[known], y[known])[0]
    signs = np.rint(weights)
    used = np.flatnonzero(signs)
    if not 3 <= len(used) <= TERMS or np.abs(weights - signs).max() > 1e-6 or np.abs(signs).max() > 1:
        return None
    checked = _holds(y, x[:, used] @ signs[used], scaled=False)
    if checked is None:
        return None
    parts = [
        ("+" if signs[i] > 0 else "-", others[i]) for i in sorted(used.tolist(), key=lambda i: -signs[i])
    ]
    words = " ".join(f"{sign} {name}" for sign, name in parts).removeprefix("+ ")
    rule = " ".join(f"{sign} {_quoted(name)}" for sign, name in parts).removeprefix("+ ")
    return _Formula(words, rule, tuple(others[i] for i in used.tolist()), checked[1], checked[2])


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
