"""Criteria of groups against their definitions, in plain Python over small random files, one group at a time."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.mask.lattice.generalise import Generalise

Values = list[str]
GRADES = ("a", "b", "c", "d")


def share(values: Values, one: str) -> float:
    return values.count(one) / len(values)


def recursive(group: Values, file: Values, c: float, least: int) -> bool:
    """r1 < c (rl + r(l+1) + … + rm), counts from the largest down (Machanavajjhala and others 2007)."""
    counts = sorted((group.count(one) for one in set(group)), reverse=True)
    return len(counts) >= least and counts[0] < c * sum(counts[least - 1 :])


def entropy(group: Values, file: Values, least: float) -> bool:
    """The entropy is at least log l (Machanavajjhala and others 2007)."""
    found = -sum(share(group, one) * math.log(share(group, one)) for one in set(group))
    return found >= math.log(least) - 1e-9


def moved(group: Values, file: Values, most: float) -> bool:
    """Earth mover's distance of values in order, by the earth carried from each to the next (Li and others 2007)."""
    values, carried, work = sorted(set(file)), 0.0, 0.0
    for one in values:
        carried += share(group, one) - share(file, one)
        work += abs(carried)
    return work / max(len(values) - 1, 1) <= most + 1e-9


def apart(group: Values, file: Values, most: float) -> bool:
    """The same where every value is as far from every other (Li and others 2007)."""
    return sum(max(share(group, one) - share(file, one), 0.0) for one in set(file)) <= most + 1e-9


def likeness(group: Values, file: Values, beta: float) -> bool:
    """Enhanced beta-likeness: (p − q) / q ≤ min(beta, −ln q) where p > q (Cao and Karras 2012, definition 3)."""
    pairs = [(share(group, one), share(file, one)) for one in set(file)]
    return all((p - q) / q <= min(beta, -math.log(q)) + 1e-9 for p, q in pairs if p > q)


def disclosure(group: Values, file: Values, delta: float) -> bool:
    """|ln (p / q)| is at most delta for every value of the file, without end at p = 0 (Brickell, Shmatikov 2008)."""
    pairs = [(share(group, one), share(file, one)) for one in set(file)]
    return all(p > 0 and abs(math.log(p / q)) <= delta + 1e-9 for p, q in pairs)


def files() -> list[tuple[list[str], Values]]:
    """Thirty files of three groups of 3 to 9 people; four values of unlike shares, not all of them in every group."""
    rng = random.Random(4)
    made = []
    for _ in range(30):
        groups = [name for name in "pqr" for _ in range(rng.randint(3, 9))]
        made.append((groups, rng.choices(GRADES, (8, 4, 2, 1), k=len(groups))))
    return made


def kept(groups: list[str], said: Values, line: str, ordered: bool) -> list[bool]:
    """Whether the group of each row keeps a criterion, as the search sees it."""
    kind = Kind.ORDERED if ordered else Kind.CATEGORICAL
    grade = Column("s", kind, levels=tuple(sorted(set(said))))
    table = Table.from_frame({"g": groups, "s": said}, Schema((Column("g", Kind.CATEGORICAL), grade)))
    lattice = Generalise(("g",), {"g": ["all"]}, None, (line,)).lattice(table, ["g"])
    found = lattice.groups((0,))
    return [bool(good) for good in lattice.kept(found)[found.ids][lattice.rows_ids]]


@pytest.mark.parametrize(
    ("line", "means", "ordered"),
    [
        ("recursive-l(s, c=2) >= 2", lambda g, f: recursive(g, f, 2, 2), False),
        ("recursive-l(s, c=3) >= 3", lambda g, f: recursive(g, f, 3, 3), False),
        ("entropy-l(s) >= 2", lambda g, f: entropy(g, f, 2), False),
        ("t(s) <= 0.1", lambda g, f: moved(g, f, 0.1), True),
        ("t(s) <= 0.2", lambda g, f: apart(g, f, 0.2), False),
        ("beta(s) <= 0.5", lambda g, f: likeness(g, f, 0.5), False),
        ("beta(s) <= 9", lambda g, f: likeness(g, f, 9), False),
        ("delta-disclosure(s) <= 0.7", lambda g, f: disclosure(g, f, 0.7), False),
        ("delta-disclosure(s) <= 9", lambda g, f: disclosure(g, f, 9), False),
    ],
)
def test_a_group_keeps_a_criterion_by_its_definition(
    line: str, means: Callable[[Values, Values], bool], ordered: bool
) -> None:
    answers = set()
    for groups, said in files():
        every = zip(groups, said, strict=True)
        inside: dict[str, Values] = {}
        for group, value in every:
            inside.setdefault(group, []).append(value)
        expected = {group: means(values, said) for group, values in inside.items()}
        assert kept(groups, said, line, ordered) == [expected[group] for group in groups]
        answers |= set(expected.values())
    assert answers == {True, False}  # the limit divides these groups
