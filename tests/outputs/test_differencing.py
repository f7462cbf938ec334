"""What follows from several outputs together, against brute force over all groups of people."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk
from dalenius.outputs.differencing import atoms_of, pair_groups, small_groups
from dalenius.outputs.together import project_audit

LIMIT = 4
POLICY = {"threshold": LIMIT, "zeros": False, "full_cells": False}


def brute(tables: list[np.ndarray], limit: int) -> set[frozenset[int]]:
    """Smallest groups of fewer than ``limit`` people whose number is a combination of the cells' numbers."""
    people = len(tables[0])
    kinds: dict[tuple[int, ...], list[int]] = {}
    for i in range(people):
        key = tuple(int(t[i]) for t in tables)
        if any(key):
            kinds.setdefault(key, []).append(i)
    atoms = list(kinds)
    cells = [(k, c) for k, t in enumerate(tables) for c in np.unique(t[t > 0]).tolist()]
    known = np.array([[float(a[k] == c) for k, c in cells] for a in atoms])
    rank = np.linalg.matrix_rank(known)
    small = [i for i, a in enumerate(atoms) if len(kinds[a]) < limit]
    found: set[frozenset[int]] = set()
    for size in range(1, min(len(small), limit - 1) + 1):
        for chosen in combinations(small, size):
            if sum(len(kinds[atoms[i]]) for i in chosen) >= limit:
                continue
            if any(old <= set(chosen) for old in found):
                continue
            column = np.zeros((len(atoms), 1))
            column[list(chosen)] = 1.0
            if np.linalg.matrix_rank(np.hstack([known, column])) == rank:
                found.add(frozenset(chosen))
    return {frozenset(p for i in group for p in kinds[atoms[i]]) for group in found}


def smallest(groups: list[frozenset[int]]) -> set[frozenset[int]]:
    return {g for g in groups if not any(o < g for o in groups)}


def by_pair(first: np.ndarray, second: np.ndarray) -> set[frozenset[int]]:
    table = np.zeros((first.max() + 1, second.max() + 1), np.int64)
    np.add.at(table, (first, second), 1)
    groups, complete = pair_groups(table, LIMIT)
    assert complete
    where = [[np.flatnonzero((first == r) & (second == c)) for r, c in g] for g in groups]
    return smallest([frozenset(np.concatenate(w).tolist()) for w in where])


def by_all(tables: list[np.ndarray]) -> set[frozenset[int]]:
    layers, start = [], 0
    for t in tables:
        layers.append((t, start))
        start += int(t.max())
    atoms, atom = atoms_of(layers, start)
    found = small_groups(atoms, LIMIT)
    assert found.complete
    return smallest(
        [frozenset(np.flatnonzero(np.isin(atom, np.flatnonzero(g))).tolist()) for g in found.groups]
    )


def cells(rng: np.random.Generator, people: int, kinds: int) -> np.ndarray:
    return np.asarray(rng.integers(0, kinds, people) + 1)


def nested_pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A table of everybody, and one of all but a few, with the same or other categories."""
    rng = np.random.default_rng(seed)
    people = int(rng.integers(25, 60))
    first = cells(rng, people, int(rng.integers(1, 4)))
    again = rng.random() < 0.6
    second = first.copy() if again else np.maximum(first - rng.integers(0, 2), 1)
    if rng.random() < 0.2:
        second = cells(rng, people, 2)
    second[rng.random(people) < rng.choice([0.02, 0.08, 0.3])] = 0
    return first, second


def three(seed: int) -> list[np.ndarray]:
    """Three tables: parts, unions and others of the same people."""
    rng = np.random.default_rng(10_000 + seed)
    people = int(rng.integers(20, 45))
    first, second = cells(rng, people, 2), cells(rng, people, 2)
    third = np.where(rng.random() < 0.5, first + second - 1, np.where(first == 2, second, 0))
    third = third.astype(np.int64)
    third[rng.random(people) < 0.05] = 0
    tables = [first, second, third]
    tables[int(rng.integers(3))][rng.random(people) < 0.05] = 0
    return tables


def check_pairs(seeds: range) -> int:
    found = 0
    for seed in seeds:
        first, second = nested_pair(seed)
        wanted = brute([first, second], LIMIT)
        assert by_pair(first, second) == wanted, seed
        assert by_all([first, second]) == wanted, seed
        found += bool(wanted)
    return found


def test_nested_pairs():
    assert 20 < check_pairs(range(120)) < 100


@pytest.mark.slow
def test_a_thousand_nested_pairs():
    assert check_pairs(range(1000)) > 200


def check_threes(seeds: range) -> int:
    found = 0
    for seed in seeds:
        tables = three(seed)
        wanted = brute(tables, LIMIT)
        assert by_all(tables) == wanted, seed
        found += bool(wanted)
    return found


def test_sets_of_three():
    assert check_threes(range(40)) > 5


@pytest.mark.slow
def test_three_hundred_sets_of_three():
    assert check_threes(range(300)) > 50


@pytest.mark.parametrize("seed", range(25))
def test_through_the_desk(seed):
    """A desk fails the last of three tables exactly when something follows from those that it let pass."""
    tables = three(seed)
    desk, kept = Desk(POLICY, unit="person"), []
    for t in tables:
        inside = t > 0
        data = pd.DataFrame({"g": [f"c{c}" for c in t[inside]], "person": np.flatnonzero(inside)})
        out = desk.table(data, "g")
        counts = np.bincount(t)[1:]
        if (counts[counts > 0] < LIMIT).any():
            assert out.status == "fail"
            continue
        wanted = brute([*kept, t], LIMIT)
        assert (out.record.checks["differencing"]["verdict"] == "fail") == bool(wanted), seed
        if out.status == "pass":
            kept.append(t)


def test_a_union_of_two_outputs_gives_one_person_away():
    """Men, women, and everybody but one person: no two of them tell anything."""
    people = np.arange(100)
    sex = np.where(people < 50, "m", "f")
    desk = Desk(unit="person")
    frame = pd.DataFrame({"sex": sex, "person": people, "all": "x"})
    assert desk.table(frame[frame.sex == "m"], "all").status == "pass"
    assert desk.table(frame[frame.sex == "f"], "all").status == "pass"
    out = desk.table(frame[frame.person != 7], "all")
    assert out.status == "fail"
    assert " and " in out.record.conflicts[0]


def test_a_union_of_twelve_outputs_gives_one_person_away():
    """Twelve regions, each on its own, and everybody but one person."""
    frame = pd.DataFrame({"region": np.repeat(np.arange(12), 20), "person": np.arange(240), "all": "x"})
    desk = Desk(unit="person")
    for region in range(12):
        assert desk.table(frame[frame.region == region], "all").status == "pass"
    assert desk.table(frame[frame.person != 7], "all").status == "fail"
    assert "6 more" in desk.last.record.conflicts[0]
    told = desk.table(frame, "all").record.checks["differencing"]
    assert (told["verdict"], told["sentence"]) == (
        "pass",
        "Nothing found beside 12 earlier outputs, 12 of them looked at all together.",
    )


def test_memory_lasts_and_works_over_new_versions_of_the_data(tmp_path):
    frame = pd.DataFrame({"g": ["a", "b"] * 30, "person": [f"id{i}" for i in range(60)]})
    assert Desk(unit="person", memory=tmp_path / "project").table(frame, "g").status == "pass"
    newer = pd.concat([frame, pd.DataFrame({"g": ["a"] * 3, "person": ["new1", "new2", "new3"]})])
    out = Desk(unit="person", memory=tmp_path / "project", name="later").table(newer, "g")
    assert out.status == "fail"
    text = b"".join(p.read_bytes() for p in (tmp_path / "project").rglob("*") if p.is_file())
    assert b"id17" not in text
    assert b"new1" not in text
    moved = frame.sample(frac=1.0, random_state=1)
    assert Desk(unit="person", memory=tmp_path / "project", name="third").table(moved, "g").status == "pass"


def test_a_difference_that_is_dominated():
    """Thirty people more, but one of them has almost all of what they add."""
    value = np.concatenate([np.full(60, 10.0), np.full(29, 0.01), [5000.0]])
    frame = pd.DataFrame({"g": "a", "v": value, "person": np.arange(90)})
    frame.loc[:59, "v"] += np.arange(60)
    desk = Desk({"nk_k": 0.99, "p": 0.001}, unit="person")
    assert desk.table(frame[:60], "g", "v", "sum").status == "pass"
    assert desk.table(frame, "g", "v", "sum").record.checks["differencing"]["verdict"] == "fail"


def test_removed_outputs_are_forgotten():
    frame = pd.DataFrame({"g": ["a", "b"] * 30, "person": range(60)})
    desk = Desk(unit="person")
    desk.table(frame, "g")
    desk.remove("output_0")
    assert desk.table(frame[1:], "g").status == "pass"


@pytest.mark.parametrize("seed", range(6))
def test_nothing_taken_out_can_be_computed_from_all_outputs(seed):
    """Several suppressed tables of one project: the audit of tables finds no way back to a small cell."""
    rng = np.random.default_rng(seed)
    people = 400
    frame = pd.DataFrame({
        "a": rng.choice(list("pqrs"), people, p=[0.6, 0.3, 0.08, 0.02]),
        "b": rng.choice(list("xyz"), people, p=[0.8, 0.15, 0.05]),
        "c": rng.choice(list("uv"), people), "person": np.arange(people),
    })  # fmt: skip
    desk = Desk({"zeros": False, "full_cells": False}, unit="person", fix="suppress")
    for by in (["a", "b"], ["a"], ["b", "c"], ["a", "c"]):
        desk.table(frame, by, margins=True)
    assert any(out.hidden.any() for out in desk.outputs)
    found = project_audit(desk)
    assert found.passed, str(found)
    for out in desk.outputs:  # the same project, with nothing but the small cells taken out
        few = (out.judged.evidence.number > 0) & (out.judged.evidence.number < 10)
        out.values = {"count": np.where(few, np.nan, out.original["count"])}
    assert not project_audit(desk).passed
