"""Columns that follow from others: groupings, formulas and functional dependence (Latner et al. 2024, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from dalenius.core.random import generator
from dalenius.data.schema import Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector
from dalenius.preparation.finding import Finding

FORMULA_SHARE, FD_SHARE, MODAL_SHARE = 0.99, 0.99, 0.97
MIN_ROWS, MIN_FORMULA_ROWS = 50, 200
MAX_LEVELS = 100
SAMPLE = 5000
"""Rows on which something is looked for before it is checked on all."""
GLANCE, GLANCED = 64, 5
"""Rows on which all formulas are tried at once, and how many of them must be known."""
TERMS, TRIED = 4, 500
"""Columns in a sum at most, and rows on which sums are looked for."""
NUMBERS = 40
"""More number columns than this are not searched for formulas in two others."""
SURPRISE = 14.0
"""How improbable a dependence must be by chance, as −log: one in a million."""
SPREAD = 8
"""A rounded column must spread over this many steps of its last digit, or anything would fit it."""


def groupings(table: Table) -> list[Finding]:
    """Categorical columns that cut a number column into intervals."""
    part = _some(table)
    numbers = [n for n, v in table.vectors.items() if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS)]
    findings = []
    for name, vector in table.vectors.items():
        if vector.is_number or not 2 <= len(vector.levels) <= MAX_LEVELS:
            continue
        for other in numbers:
            if _cut(part, name, other) is None:
                continue
            cut = _cut(table, name, other)
            if cut is not None:
                findings.append(_grouping(table, name, other, *cut))
    return findings


def _some(table: Table) -> Table:
    """At most `SAMPLE` rows, spread over the table."""
    step = -(-table.rows // SAMPLE)
    return table if step <= 1 else table.take(np.arange(0, table.rows, step))


def _cut(table: Table, name: str, other: str) -> tuple[tuple[float, ...], list[int]] | None:
    both = table[name].present & table[other].present
    if both.sum() < MIN_ROWS:
        return None
    return _intervals(table[name].data[both], table[other].data[both], len(table[name].levels))


def _grouping(table: Table, name: str, other: str, cuts: tuple[float, ...], order: list[int]) -> Finding:
    vector, source = table[name], table[other]
    both = int((vector.present & source.present).sum())
    gaps = int((~vector.present & source.present).sum())
    text = f"its levels are intervals of {other!r}"
    text += f"; empty in {gaps} rows where that is known" if gaps else ""
    # Where the number is empty the group could not be made again, so such a group stays in the data; and the cut beside
    # a level that few rows have would tell their number.
    again = both >= FORMULA_SHARE * int(vector.present.sum())
    again &= bool(np.bincount(vector.values)[order].min() >= table.schema.min_units)
    remedy = {
        "do": "drop-grouping", "column": name, "source": other, "cuts": cuts,
        "levels": tuple(vector.levels[i] for i in order), "kind": str(vector.column.kind),
    }  # fmt: skip
    todo = f"drop {name!r} before synthesis and make it again from {other!r}"
    return Finding(
        "derived-grouping", (name, other), "warning", text, both, 1.0, todo, remedy if again else None
    )


def _intervals(codes: AnyArray, values: AnyArray, size: int) -> tuple[tuple[float, ...], list[int]] | None:
    """Where the next level begins (the roundest number that parts them), and the levels in order."""
    order = np.argsort(values, kind="stable")
    kinds, first = np.unique(codes[order], return_index=True)
    last = len(codes) - 1 - np.unique(codes[order][::-1], return_index=True)[1]
    if len(kinds) < 2 or len(np.unique(values)) < 2 * len(kinds):
        return None
    by_start = np.argsort(first)
    low, high = values[order][first[by_start]], values[order][last[by_start]]
    if not np.all(high[:-1] < low[1:]):
        return None
    cuts = tuple(_between(float(a), float(b)) for a, b in zip(high[:-1], low[1:], strict=True))
    return cuts, kinds[by_start].tolist()


def _between(above: float, to: float) -> float:
    """The number with the fewest digits that is greater than the first and at most the second."""
    for digits in range(-12, 13):
        value = float(np.floor(np.round(to * 10.0**digits, 6)) / 10.0**digits)
        if above < value <= to:
            return value
    return to


@dataclass(frozen=True)
class _Formula:
    """A column as an expression of others: in words, in the language of rules, and how often it holds."""

    words: str
    rule: str
    columns: tuple[str, ...]
    share: float
    rows: int


@dataclass(frozen=True)
class _Expression:
    """Two columns (or one) joined: in words, as a rule, as a function; ``free`` says whether a factor is open."""

    words: str
    rule: str
    columns: tuple[str, ...]
    worth: Callable[..., AnyArray]
    free: bool

    def of(self, floats: dict[str, AnyArray]) -> AnyArray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.worth(*(floats[name] for name in self.columns))


def formulas(table: Table) -> list[Finding]:
    """Number columns that are a sum of up to four, a difference, product or ratio of two, or a multiple of one."""
    some = _some(table)
    names = [
        n
        for n, v in some.vectors.items()
        if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS)
        and not v.column.has(Role.IDENTIFIER)
        and len(np.unique(v.values)) > 2
    ][:NUMBERS]
    search = _Search(table, some, names)
    findings = []
    for name in names:
        column = table[name].column
        formula = search.formula(name)
        if formula is not None:
            findings.append(
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
    # Of "gross = net + tax" and "net = gross − tax" the one that gives the later column comes first: people put what
    # they compute after what they compute it from.
    place = {name: number for number, name in enumerate(table.names)}
    return sorted(findings, key=lambda f: place[f.columns[0]] < max(place[name] for name in f.columns[1:]))


class _Search:
    """Formulas of a table's number columns: at a glance for all, then on some rows, then on all."""

    def __init__(self, table: Table, some: Table, names: list[str]) -> None:
        self.table, self.names = table, names
        self.some = {name: some[name].floats() for name in names}
        rows = generator(0, "formulas").permutation(some.rows)[:GLANCE]
        self.glance = {name: values[rows] for name, values in self.some.items()}
        self.expressions = list(_expressions(names))
        self.worths = np.array([e.of(self.glance) for e in self.expressions])
        self.free = np.array([e.free for e in self.expressions], bool)
        self.reads = [frozenset(e.columns) for e in self.expressions]

    def formula(self, name: str) -> _Formula | None:
        step = _rounding(self.table[name])
        for number in self._likely(self.glance[name], step):
            expression = self.expressions[number]
            if name in self.reads[number]:
                continue
            checked = _holds(self.some[name], expression.of(self.some), expression.free, step)
            if checked is not None:
                whole = {n: self.table[n].floats() for n in (name, *expression.columns)}
                checked = _holds(whole[name], expression.of(whole), expression.free, step, checked[0])
            if checked is not None:
                k, share, rows = checked
                times = expression.free and k != 1
                words = f"{k:.6g} × {expression.words}" if times else expression.words
                rule = f"{k:.12g} * {expression.rule}" if times else expression.rule
                return _Formula(words, rule, expression.columns, share, rows)
        return _sum_of_several(self.table, name, [other for other in self.names if other != name])

    def _likely(self, y: AnyArray, step: float) -> list[int]:
        """Expressions that hold on the few rows of the glance, the simplest first."""
        if not len(self.expressions):
            return []
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.where(self.worths != 0, y / self.worths, np.nan)
            known = np.isfinite(ratio)
            rows = np.flatnonzero(known.sum(axis=1) >= min(GLANCED, len(y)))
            ratio[~known] = np.nan
            k = np.where(self.free[rows], np.nanmedian(ratio[rows], axis=1), 1.0)
            off = np.abs(y - k[:, None] * self.worths[rows])
        # At a glance the factor is rough where the column is rounded: a wide tolerance, the check on more rows decides.
        wrong = known[rows] & (off > 3 * step + 1e-5 * np.abs(y))
        return rows[wrong.sum(axis=1) <= 0.05 * known[rows].sum(axis=1)].tolist()


def _rounding(vector: Vector) -> float:
    """Half a step of the last digit of a column that is rounded and spreads over many steps; else 0."""
    decimals = vector.column.decimals if vector.column.kind is Kind.CONTINUOUS else 0
    if decimals is None or decimals > 6:
        return 0.0
    step = 10.0**-decimals
    values = vector.values
    spread = float(np.subtract(*np.percentile(values, [90, 10]))) if len(values) else 0.0
    return 0.5 * step * (1 + 1e-6) if spread >= SPREAD * step else 0.0


def _quoted(name: str) -> str:
    return f"`{name}`"


def _expressions(names: list[str]) -> Iterator[_Expression]:
    """Every expression of one or two columns, the simplest first."""
    for a in names:
        yield _Expression(a, _quoted(a), (a,), lambda x: x, True)
    for a, b in combinations(names, 2):
        p, q = _quoted(a), _quoted(b)
        yield _Expression(f"{a} + {b}", f"{p} + {q}", (a, b), lambda x, z: x + z, False)
        yield _Expression(f"{a} − {b}", f"{p} - {q}", (a, b), lambda x, z: x - z, False)
        yield _Expression(f"{b} − {a}", f"{q} - {p}", (a, b), lambda x, z: z - x, False)
        yield _Expression(f"{a} × {b}", f"{p} * {q}", (a, b), lambda x, z: x * z, True)
    for a, b in permutations(names, 2):
        p, q = _quoted(a), _quoted(b)
        yield _Expression(f"{a} / {b}", f"{p} / {q}", (a, b), lambda x, z: x / z, True)
        yield _Expression(f"{a} / {b}²", f"{p} / {q} / {q}", (a, b), lambda x, z: x / z**2, True)


def _sum_of_several(table: Table, name: str, others: list[str]) -> _Formula | None:
    """A sum of three or four columns, some of them taken away: least squares on a few rows, then a check on all."""
    if len(others) < 3:
        return None
    y = table[name].floats()
    x = np.column_stack([table[other].floats() for other in others])
    known = np.flatnonzero(np.isfinite(y) & np.isfinite(x).all(axis=1))[:TRIED]
    if len(known) < 10 * len(others):
        return None
    weights = np.linalg.lstsq(x[known], y[known])[0]
    signs = np.rint(weights)
    used = np.flatnonzero(signs)
    if not 3 <= len(used) <= TERMS or np.abs(weights - signs).max() > 1e-6 or np.abs(signs).max() > 1:
        return None
    checked = _holds(y, x[:, used] @ signs[used], free=False, step=0.0)
    if checked is None:
        return None
    parts = [
        ("+" if signs[i] > 0 else "-", others[i]) for i in sorted(used.tolist(), key=lambda i: -signs[i])
    ]
    words = " ".join(f"{sign} {other}" for sign, other in parts).removeprefix("+ ")
    rule = " ".join(f"{sign} {_quoted(other)}" for sign, other in parts).removeprefix("+ ")
    return _Formula(words, rule, tuple(others[i] for i in used.tolist()), checked[1], checked[2])


def _holds(
    y: AnyArray, f: AnyArray, free: bool, step: float, factor: float | None = None
) -> tuple[float, float, int] | None:
    """Factor, share of rows and rows for which y = k f (k = 1 unless it is free) to the last digit; else None."""
    usable = np.isfinite(y) & np.isfinite(f) & (f != 0)
    a, b = y[usable], f[usable]
    if len(a) < min(MIN_FORMULA_ROWS, max(20, len(y) // 2)) or len(np.unique(a[:500])) < 3:
        return None
    k = (_factor(a, b, step) if factor is None else factor) if free else 1.0
    share = float(np.mean(np.abs(a - k * b) <= step + 1e-6 * np.abs(a)))
    return None if k == 0 or share < FORMULA_SHARE else (k, share, len(a))


def _factor(a: AnyArray, b: AnyArray, step: float) -> float:
    """The factor between two columns: the roundest number that the rounding of the first leaves open."""
    ratio = a / b
    k = float(np.median(ratio))
    if step == 0 or k == 0:
        return k
    slack = float(np.median(step / np.abs(b)))
    for digits in range(1, 8):
        rounded = float(f"{k:.{digits - 1}e}")
        if abs(rounded - k) <= slack:
            return rounded
    return k


def dependences(table: Table) -> list[Finding]:
    """Pairs of categorical columns where one settles the other."""
    part = _some(table)
    usable = [n for n, v in table.vectors.items() if not v.is_number and 2 <= len(v.levels) <= MAX_LEVELS]
    findings = []
    for a, b in permutations(usable, 2):
        va, vb = table[a], table[b]
        if len(va.levels) < len(vb.levels) or (len(va.levels) == len(vb.levels) and a > b):
            continue
        if part is not table and _explained(part[a], part[b])[0] < FD_SHARE:
            continue
        share, modal = _explained(va, vb)
        if share >= FD_SHARE and modal < MODAL_SHARE and _no_chance(table.rows - len(va.levels), modal):
            findings.append(_dependence(table, a, b, share))
    return findings


def _no_chance(repeats: int, modal: float) -> bool:
    """Whether rows that repeat a level of the first column would hardly all agree in the second by chance."""
    return repeats * -np.log(max(modal, 1e-9)) > SURPRISE


def _dependence(table: Table, a: str, b: str, share: float) -> Finding:
    exact = share == 1.0
    text = f"{a!r} settles {b!r} in {100 * share:.2f} % of the rows"
    if not exact:
        todo = f"check the exceptions to '{a} determines {b}'"
        return Finding("dependence", (a, b), "info", text, table.rows, share, todo)
    todo = f"drop {b!r} before synthesis and read it off {a!r} afterwards"
    return Finding("dependence", (a, b), "warning", text, table.rows, share, todo, _settled(table, a, b))


def _settled(table: Table, a: str, b: str) -> dict[str, object] | None:
    """Which level goes with each level that enough units have; None where a gap settles or is settled."""
    first, second = table[a], table[b]
    if not np.array_equal(first.present, second.present):
        return None
    rows = np.flatnonzero(first.present)
    of = np.zeros(len(first.levels), np.int64)
    of[first.data[rows]] = second.data[rows]
    units = table.units.subset(rows).owners(first.data[rows].astype(np.int64), len(first.levels))
    used = np.flatnonzero(units >= table.schema.min_units).tolist()
    return {
        "do": "drop-settled", "column": b, "source": a, "levels": tuple(first.levels[i] for i in used),
        "becomes": tuple(second.levels[of[i]] for i in used), "kind": str(second.column.kind),
    }  # fmt: skip


def _explained(first: Vector, second: Vector) -> tuple[float, float]:
    a, b = first.categories, second.categories
    joint = a.codes.astype(np.int64) * b.size + b.codes
    cells = np.bincount(joint, minlength=a.size * b.size).reshape(a.size, b.size)
    n = max(int(cells.sum()), 1)
    return float(cells.max(axis=1).sum() / n), float(cells.sum(axis=0).max() / n)
