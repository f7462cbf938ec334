"""Differencing over everything that is out: every small group that follows is found, none wrongly."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tables.exact import Span

from dalenius.core.errors import FileError
from dalenius.data.table import Table
from dalenius.published import Entry, Ledger, Published
from dalenius.risk.reconstruction import differencing, holds_for

VALUES = [str(v) for v in range(8)]
THRESHOLD = 5


def bands(rng: np.random.Generator) -> list[list[str]]:
    """Neighbouring values put together at random."""
    cuts = np.flatnonzero(rng.random(len(VALUES) - 1) < 0.45) + 1
    return [list(part) for part in np.split(np.array(VALUES), cuts)]


def release(name: str, counts: np.ndarray, rng: np.random.Generator) -> Entry:
    parts = bands(rng)
    labels = [f"{part[0]}-{part[-1]}" for part in parts]
    shown = rng.random(len(parts)) < 0.8
    table = {
        "age": [*(label for label, there in zip(labels, shown, strict=True) if there), "Total"],
        "n": [*(sum(counts[int(v)] for v in part) for part, there in zip(parts, shown, strict=True) if there),
              int(counts.sum())],
    }  # fmt: skip
    groups = {"age": dict(zip(labels, parts, strict=True))}
    return Entry(name, Table.from_frame(table), groups=groups)


def check_one(seed: int) -> tuple[int, int]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, len(VALUES))
    entries = [release("first", counts, rng), release("second", counts, rng)]
    published = Published.from_entries(entries, {"age": VALUES})
    found = differencing(published, threshold=THRESHOLD)
    cells, known = [], []
    for margin in published.margins:
        for k in range(len(margin.keys)):
            place = margin.places(np.arange(len(VALUES))[:, None], ["age"])
            cells.append(frozenset(np.flatnonzero(place == k).tolist()))
            known.append(int(margin.low[k]))
    vectors = [[int(i in cell) for i in range(len(VALUES))] for cell in cells]
    zero = {i for cell, n in zip(cells, known, strict=True) if n == 0 for i in cell}
    span = Span([*vectors, *([int(i == z) for i in range(len(VALUES))] for z in zero)])
    classes: dict[tuple[int, ...], set[int]] = {}
    for i in set(range(len(VALUES))) - zero:
        classes.setdefault(tuple(v[i] for v in vectors), set()).add(i)
    groups = {frozenset(c) for c in classes.values()}
    for a in cells:
        for b in cells:
            groups |= {frozenset((a - b) - zero), frozenset((a & b) - zero)} if a & b else set()
    live = {frozenset(cell - zero) for cell in cells}
    expected = {}
    for group in groups - live - {frozenset()}:
        if [int(i in group) for i in range(len(VALUES))] in span:
            total = int(sum(counts[i] for i in group))
            if 0 < total < THRESHOLD:
                expected[group] = total
    for small in found.follows:
        if small.recipe is not None:
            at = {m.named(k): int(m.low[k]) for m in published.margins for k in range(len(m.keys))}
            total = sum(at[c] for c in small.recipe.add) - sum(at[c] for c in small.recipe.subtract)
            assert total == small.recipe.value == small.low
    assert len(found.follows) == len(expected), (seed, expected, found.frame())
    assert sorted(s.low for s in found.follows) == sorted(expected.values())
    return len(expected), len(found.follows)


def test_every_small_group_that_follows_is_found_and_none_wrongly():
    totals = np.array([check_one(seed) for seed in range(40)])
    assert totals[:, 0].sum() > 10


@pytest.mark.slow
def test_a_thousand_pairs_of_overlapping_releases():
    totals = np.array([check_one(seed) for seed in range(40, 1000)])
    assert totals[:, 0].sum() > 300


def test_a_second_table_is_refused_beside_the_first_and_the_cells_to_hold_are_named():
    domains = {"age": ["0-79", "80+"], "sex": ["f", "m"]}
    first = Published.from_tables({"everybody": {"sex": ["f", "m"], "n": [52, 48]}}, domains=domains)
    young = {"sex": ["f", "m"], "age": ["0-79", "0-79"], "n": [49, 30]}
    second = Published.from_tables({"young": young}, domains=domains)
    assert not differencing(second).follows
    held = holds_for(first, second)
    assert len(held) == 1
    assert "young" in held[0]
    assert "sex = f" in held[0]
    assert holds_for(first, Published.from_tables({"m": {"sex": ["m"], "n": [48]}}, domains=domains)) == []


def test_other_dates_count_only_if_the_people_are_the_same():
    domains = {"age": ["0-79", "80+"]}
    old = Published.from_tables({"all": {"age": ["Total"], "n": [100]}}, domains=domains, date="2024")
    new = Published.from_tables({"young": {"age": ["0-79"], "n": [97]}}, domains=domains, date="2025")
    assert not differencing(old | new).follows
    assert len(differencing(old | new, same_people=True).follows) == 1


def test_ranges_bound_small_groups_without_giving_them():
    domains = {"age": ["0-79", "80+"]}
    all_ages = Entry("all", Table.from_frame({"age": ["Total"], "n": [100]}))
    young = Entry("young", Table.from_frame({"age": ["0-79"], "n": [95]}), kind="rounded", base=3)
    found = differencing(Published.from_entries([all_ages, young], domains))
    assert not found.follows
    assert [(s.low, s.high) for s in found.bounded if "80+" in s.group] == [(3, 7)]


def test_the_ledger_notices_a_changed_line(tmp_path):
    ledger = Ledger(tmp_path / "out.jsonl")
    for name, n in (("a", 3), ("b", 4)):
        ledger.append(name, Published.from_tables({name: {"sex": ["f"], "n": [n]}}))
    assert ledger.names == ["a", "b"]
    assert len(ledger.published().margins) == 2
    text = ledger.path.read_text()
    ledger.path.write_text(text.replace('"low": [3]', '"low": [2]'))
    with pytest.raises(FileError, match="line 1 was changed"):
        ledger.published()
    ledger.path.write_text(text.splitlines()[1] + "\n")
    with pytest.raises(FileError, match="missing"):
        ledger.published()
