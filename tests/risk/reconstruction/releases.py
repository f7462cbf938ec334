"""Random releases of overlapping tables, and what follows from them by exact arithmetic; nothing is the library's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.data.table import Table
from dalenius.published import Entry

DOMAINS = {"age": ["1", "2", "3", "4"], "sex": ["f", "m"], "town": ["A", "B", "C"]}
COLUMNS = list(DOMAINS)
CELLS = list(product(*DOMAINS.values()))
Group = frozenset[int]


@dataclass(frozen=True)
class Made:
    """One random table: what it prints, and every cell it has but does not print."""

    entry: Entry
    printed: dict[str, tuple[Group, int]]
    withheld: tuple[Group, ...]
    columns: tuple[str, ...]
    bands: dict[str, dict[str, list[str]]]


def cell(parts: dict[str, list[str]]) -> Group:
    """Everybody with these values."""
    return frozenset(
        i for i, c in enumerate(CELLS) if all(c[COLUMNS.index(n)] in held for n, held in parts.items())
    )


def bands(name: str, rng: np.random.Generator) -> dict[str, list[str]]:
    """Neighbouring values put together at random."""
    values = np.array(DOMAINS[name])
    cuts = np.flatnonzero(rng.random(len(values) - 1) < 0.7) + 1
    parts = [list(map(str, part)) for part in np.split(values, cuts)]
    return {part[0] if len(part) == 1 else f"{part[0]}–{part[-1]}": part for part in parts}


def table(name: str, counts: np.ndarray, rng: np.random.Generator) -> Made:
    """A table over some columns, some of its cells suppressed and some not listed, perhaps with its total."""
    chosen = [c for c in COLUMNS if rng.random() < 0.5] or [COLUMNS[int(rng.integers(3))]]
    cut = {c: bands(c, rng) for c in chosen}
    rows, printed, withheld = [], {}, []
    seen: dict[str, set[str]] = {c: set() for c in chosen}
    missing = []
    for labels in product(*cut.values()):
        group = cell({c: cut[c][label] for c, label in zip(chosen, labels, strict=True)})
        way = rng.random()
        if way > 0.92:
            missing.append((labels, group))
            continue
        for c, label in zip(chosen, labels, strict=True):
            seen[c].add(label)
        said = ", ".join(
            f"{c} = {label}" for c, label in sorted(zip(chosen, labels, strict=True), key=by_column)
        )
        rows.append((*labels, ":c" if way > 0.82 else str(counts[list(group)].sum())))
        if way > 0.82:
            withheld.append(group)
        else:
            printed[f"{name} [{said}]"] = (group, int(counts[list(group)].sum()))
    withheld += [g for labels, g in missing if all(x in seen[c] for c, x in zip(chosen, labels, strict=True))]
    if rng.random() < 0.7 or not rows:
        rows.append((*["Total"] * len(chosen), str(counts.sum())))
        printed[f"{name} [total]"] = (frozenset(range(len(CELLS))), int(counts.sum()))
    frame = {c: [row[i] for row in rows] for i, c in enumerate([*chosen, "n"])}
    return Made(
        Entry(name, Table.from_frame(frame), groups=cut), printed, tuple(withheld), tuple(chosen), cut
    )


def by_column(pair: tuple[str, str]) -> int:
    return COLUMNS.index(pair[0])


class Truth:
    """What follows from printed counts: exact rational rank, and cells where no table that fits has anybody."""

    def __init__(self, printed: list[tuple[Group, int]], counts: np.ndarray) -> None:
        rows = np.array([[i in group for i in range(len(CELLS))] for group, _ in printed], float)
        sums = np.array([n for _, n in printed], float)
        self.rows, self.sums = rows, sums
        zero = {i for group, n in printed if n == 0 for i in group}
        somebody = frozenset(np.flatnonzero(counts).tolist())  # the truth is one of the tables that fit
        for i in set(range(len(CELLS))) - zero - somebody:
            if self.most(frozenset([i])) == 0:
                zero.add(i)
        self.alive = frozenset(range(len(CELLS))) - zero
        self.basis: dict[int, list[Fraction]] = {}
        for group, _ in printed:
            self._add(group & self.alive)

    def most(self, group: Group, sense: int = 1) -> float:
        """The largest (or smallest) count of a group in any table that fits; infinite where nothing limits it."""
        goal = np.array([-float(sense) * (i in group) for i in range(len(CELLS))])
        found = milp(
            goal,
            integrality=np.ones(len(CELLS)),
            bounds=Bounds(0, np.inf),
            constraints=LinearConstraint(self.rows, self.sums, self.sums),
        )
        return np.inf if found.x is None else float(round(-sense * found.fun))

    def _left(self, group: Group) -> list[Fraction]:
        rest = [Fraction(int(i in group)) for i in range(len(CELLS))]
        for lead, row in self.basis.items():
            if rest[lead]:
                times = rest[lead]
                rest = [x - times * y for x, y in zip(rest, row, strict=True)]
        return rest

    def _add(self, group: Group) -> None:
        rest = self._left(group)
        lead = next((i for i, x in enumerate(rest) if x), None)
        if lead is not None:
            row = [x / rest[lead] for x in rest]
            for at, other in self.basis.items():
                times = other[lead]
                self.basis[at] = [x - times * y for x, y in zip(other, row, strict=True)]
            self.basis[lead] = row

    def follows(self, group: Group) -> bool:
        return not any(self._left(group & self.alive))


def implied(made: list[Made]) -> set[Group]:
    """Every cell of every table, and of every table that sums one of them over some of its columns."""
    found = set()
    for one in made:
        for size in range(len(one.columns) + 1):
            for chosen in combinations(one.columns, size):
                for labels in product(*(one.bands[c] for c in chosen)):
                    found.add(cell({c: one.bands[c][x] for c, x in zip(chosen, labels, strict=True)}))
    return found


def read(label: str) -> Group:
    """The people that a label speaks of."""
    if label.startswith("(") and ") and (" in label:
        return frozenset().union(*(read(part) for part in label[1:-1].split(") and (")))
    split = re.fullmatch(r"(.*) but \((.*)\)", label)
    if split:
        return read(split[1]) - read(split[2])
    parts: dict[str, list[str]] = {}
    for said in label.split(", ") if label != "everybody" else []:
        name, values = said.split(" = ")
        held: list[str] = []
        for value in values.split(" or "):
            low, high = value.split("–") if "–" in value else (value, value)
            held += [v for v in DOMAINS[name] if low <= v <= high]
        parts[name] = held
    return cell(parts)
