"""`Hierarchy`: the codes of one dimension and which code is part of which.

Usually a tree from the total down to the leaves, the codes found in the data. Several trees over the same leaves (a
region by county and by urban type) are one hierarchy in which a code may have several parents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import TableError, names

TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Codes of a dimension with their parents.

    Attributes
    ----------
    parents
        For every code the codes it is part of; the total has none.

    Examples
    --------
    >>> region = Hierarchy.from_pairs([("North", "Total"), ("South", "Total"), ("N1", "North"), ("N2", "North")])
    >>> region.codes
    ('Total', 'North', 'N1', 'N2', 'South')
    >>> region.leaves, region.height["North"]
    (('N1', 'N2', 'South'), 1)
    >>> print(region)
    Total
      North
        N1
        N2
      South
    """

    parents: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        faults = _faults(self.parents)
        if faults:
            raise TableError("hierarchy", faults)

    @classmethod
    def flat(cls, leaves: Iterable[str], total: str = TOTAL) -> Hierarchy:
        """Leaves and their total.

        Examples
        --------
        >>> Hierarchy.flat(["b", "a"]).codes
        ('Total', 'a', 'b')
        """
        codes = list(leaves)
        twice = (
            sorted({code for code in codes if codes.count(code) > 1}) if len(set(codes)) < len(codes) else []
        )
        faults = [f"code {code!r} appears more than once" for code in twice]
        if total in codes:
            faults.append(f"the total's code {total!r} is also a leaf; choose another with total=")
        if faults:
            raise TableError("hierarchy", faults)
        return cls({total: (), **dict.fromkeys(codes, (total,))})

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]], total: str | None = None) -> Hierarchy:
        """Parent–child pairs ``(child, parent)``; codes without a parent go under ``total`` if one is given."""
        parents: dict[str, tuple[str, ...]] = {}
        faults: list[str] = []
        named: list[str] = []
        for number, (child, parent) in enumerate(pairs, 1):
            if not child or not parent:
                faults.append(f"pair {number}: empty code")
            elif child in parents:
                same = parents[child] == (parent,)
                faults.append(
                    f"code {child!r} is listed twice" if same else f"code {child!r} has two parents"
                )
            else:
                parents[child] = (parent,)
                named.append(parent)
        tops = [code for code in dict.fromkeys(named) if code not in parents]
        if total is not None and tops != [total]:
            parents |= dict.fromkeys((code for code in tops if code != total), (total,))
            tops = [total]
        if len(tops) > 1:
            faults.append(f"codes {names(tops)} have no parent; give them one, or name the total with total=")
        parents |= dict.fromkeys(tops, ())
        faults += _faults(parents)
        if faults:
            raise TableError("hierarchy", list(dict.fromkeys(faults)))
        return cls(parents)

    @classmethod
    def from_levels(cls, levels: Sequence[int], codes: Sequence[str], total: str | None = None) -> Hierarchy:
        """Codes in tree order with their depth (0 or 1 for the top); ``total`` adds one above them.

        Examples
        --------
        >>> Hierarchy.from_levels([1, 2, 2], ["Total", "a", "b"]).leaves
        ('a', 'b')
        """
        faults: list[str] = []
        parents: dict[str, tuple[str, ...]] = {} if total is None else {total: ()}
        path: list[str] = []
        base = min(levels, default=0)
        for line, (level, code) in enumerate(zip(levels, codes, strict=True), 1):
            depth = level - base
            if not code:
                faults.append(f"line {line}: empty code")
                continue
            if depth > len(path):
                faults.append(f"line {line}: level of {code!r} jumps, its parent is missing")
                depth = len(path)
            if code in parents:
                faults.append(f"line {line}: code {code!r} appears twice")
                continue
            path = [*path[:depth], code]
            above = path[-2] if depth else total
            parents[code] = () if above is None else (above,)
        if not parents:
            faults.append("no codes")
        faults += _faults(parents) if not faults else []
        if faults:
            raise TableError("hierarchy", faults)
        return cls(parents)

    @classmethod
    def from_columns(cls, columns: Sequence[Sequence[str]], total: str = TOTAL) -> Hierarchy:
        """Level columns, finest first: each row is one leaf with its groups.

        Examples
        --------
        >>> Hierarchy.from_columns([["m1", "m2", "m3"], ["c1", "c1", "c2"]]).codes
        ('Total', 'c1', 'c2', 'm1', 'm2', 'm3')
        """
        parents: dict[str, tuple[str, ...]] = {total: ()}
        faults: list[str] = []
        for row in zip(*columns, strict=True):
            path = [*dict.fromkeys(row), total] if total not in row else list(dict.fromkeys(row))
            for child, parent in pairwise(path):
                if not child:
                    faults.append("an empty code")
                elif child == total:
                    faults.append(f"the total {total!r} is part of {parent!r}; choose another with total=")
                elif parents.setdefault(child, (parent,)) != (parent,):
                    faults.append(f"code {child!r} is part of {parents[child][0]!r} and of {parent!r}")
        faults = list(dict.fromkeys(faults)) + (_faults(parents) if not faults else [])
        if faults:
            raise TableError("hierarchy", faults)
        return cls(parents)

    def combine(self, other: Hierarchy) -> Hierarchy:
        """Two hierarchies over the same leaves as one; codes of the same name must mean the same leaves.

        Examples
        --------
        >>> county = Hierarchy.from_columns([["m1", "m2", "m3"], ["c1", "c1", "c2"]])
        >>> kind = Hierarchy.from_columns([["m1", "m2", "m3"], ["town", "land", "town"]])
        >>> county.combine(kind).codes
        ('Total', 'c1', 'c2', 'land', 'town', 'm1', 'm2', 'm3')
        """
        mine, theirs = self.parts, other.parts
        clash = [c for c in self.codes if c in theirs and mine[c] != theirs[c]]
        faults = [f"code {code!r} stands for different leaves in the two hierarchies" for code in clash]
        if set(self.leaves) != set(other.leaves):
            odd = sorted(set(self.leaves) ^ set(other.leaves))
            faults.append(f"leaves {names(odd)} are in one hierarchy only")
        if faults:
            raise TableError("hierarchies to combine", faults)
        merged = {c: tuple(dict.fromkeys((*self.parents.get(c, ()), *other.parents.get(c, ()))))
                  for c in (*self.parents, *other.parents)}  # fmt: skip
        return Hierarchy(merged)

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """For every code its parts, in the order given."""
        below: dict[str, list[str]] = {code: [] for code in self.parents}
        for code, above in self.parents.items():
            for parent in above:
                below[parent].append(code)
        return below

    @cached_property
    def total(self) -> str:
        """The code without a parent (the first, if several)."""
        return next(code for code, above in self.parents.items() if not above)

    @cached_property
    def height(self) -> dict[str, int]:
        """Distance of a code from its deepest leaf."""
        heights: dict[str, int] = {}
        for code in _bottom_up(self.parents, self.children):
            heights[code] = 1 + max((heights[child] for child in self.children[code]), default=-1)
        return heights

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """All codes, the widest level first, alphabetically within a level (the order of the R packages)."""
        top = self.total
        return tuple(sorted(self.parents, key=lambda c: (c != top, -self.height[c], c)))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Codes without parts."""
        return tuple(code for code in self.codes if not self.children[code])

    @cached_property
    def parts(self) -> dict[str, frozenset[str]]:
        """For every code the leaves it covers."""
        covered: dict[str, frozenset[str]] = {}
        for code in _bottom_up(self.parents, self.children):
            below = self.children[code]
            covered[code] = frozenset().union(*(covered[b] for b in below)) if below else frozenset([code])
        return covered

    def matrix(self, leaves: Sequence[str] | None = None) -> Any:
        """Leaves × codes, 1 where the leaf is part of the code (sparse).

        Examples
        --------
        >>> Hierarchy.flat(["a", "b"]).matrix().toarray().tolist()
        [[1, 1, 0], [1, 0, 1]]
        """
        wanted = self.leaves if leaves is None else leaves
        place = {leaf: i for i, leaf in enumerate(wanted)}
        pairs = [
            (place[leaf], j)
            for j, code in enumerate(self.codes)
            for leaf in self.parts[code]
            if leaf in place
        ]
        rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
        ones = np.ones(len(rows), np.int64)
        return sp.csr_matrix((ones, (rows, columns)), shape=(len(wanted), len(self.codes)))

    def __str__(self) -> str:
        lines: list[str] = []

        def walk(code: str, depth: int) -> None:
            lines.append("  " * depth + code)
            for child in self.children[code]:
                walk(child, depth + 1)

        for code, above in self.parents.items():
            if not above:
                walk(code, 0)
        return "\n".join(lines)


def _bottom_up(parents: Mapping[str, tuple[str, ...]], children: Mapping[str, Sequence[str]]) -> list[str]:
    """Codes ordered so that parts come before wholes."""
    waiting = {code: len(children[code]) for code in parents}
    ready = [code for code, count in waiting.items() if count == 0]
    for code in ready:
        for parent in parents[code]:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                ready.append(parent)
    return ready


def _faults(parents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Missing parents and cycles."""
    faults = [
        f"code {code!r} has the parent {parent!r}, which is not in the hierarchy"
        for code, above in parents.items()
        for parent in above
        if parent not in parents
    ]
    known = {code: tuple(p for p in above if p in parents) for code, above in parents.items()}
    children: dict[str, list[str]] = {code: [] for code in known}
    for code, above in known.items():
        for parent in above:
            children[parent].append(code)
    stuck = set(known) - set(_bottom_up(known, children))
    down = {code: [c for c in children[code] if c in stuck] for code in stuck}
    circle = sorted(code for code in stuck if _reaches_itself(code, down))
    if circle:
        faults.append(f"codes {names(circle)} are part of themselves (a cycle)")
    elif parents and not any(not above for above in parents.values()):
        faults.append("no code is the total (every code has a parent)")
    return faults


def _reaches_itself(code: str, down: Mapping[str, Sequence[str]]) -> bool:
    seen: set[str] = set()
    ahead = list(down[code])
    while ahead:
        here = ahead.pop()
        if here == code:
            return True
        if here not in seen:
            seen.add(here)
            ahead += down.get(here, ())
    return False
