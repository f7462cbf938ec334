"""Values that change between two versions of the data, and a memory that is lost: both are noticed."""

from __future__ import annotations

import sqlite3
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dalenius.core.errors import FileError
from dalenius.outputs import Desk
from dalenius.outputs.cuts import thin_cuts
from dalenius.outputs.differencing import moved_groups, pair_groups
from dalenius.outputs.trail import read_lines, trail_faults

LIMIT = 4


def people(n=200):
    rng = np.random.default_rng(2)
    return pd.DataFrame({
        "g": rng.choice(list("ab"), n), "c": rng.choice(list("xy"), n), "v": rng.normal(50, 5, n).round(2),
        "person": [f"id{i}" for i in range(n)],
    })  # fmt: skip


def said(out):
    return out.record.checks["differencing"]["verdict"]


@pytest.mark.parametrize("again", ["same desk", "another desk"])
@pytest.mark.parametrize("statistic", ["mean", "sum"])
def test_one_corrected_value_is_found(tmp_path, again, statistic):
    data = people()
    desk = Desk(unit="person", memory=tmp_path)
    assert desk.table(data, ["g", "c"], "v", statistic).status == "pass"
    newer = data.copy()
    newer.loc[7, "v"] += 12.5
    other = desk if again == "same desk" else Desk(unit="person", memory=tmp_path, name="later")
    out = other.table(newer, ["g", "c"], "v", statistic)
    assert said(out) == "fail"
    assert "a change of it, follows by subtraction" in out.record.conflicts[0]
    marked = out.cells.filter(out.cells["outcome"] == "differencing").rows()
    assert [row[:2] for row in marked] == [(data.g[7], data.c[7])]
    assert said(other.table(newer, "g", "v", statistic)) == "fail"  # beside the coarser table too


def test_a_table_of_unchanged_values_or_of_many_changes_passes(tmp_path):
    data = people()
    desk = Desk(unit="person", memory=tmp_path)
    desk.table(data, "g", "v", "mean")
    assert said(desk.table(data.sample(frac=1.0, random_state=3), "g", "v", "mean")) == "pass"
    newer = data.assign(v=data.v + 1.0)
    assert said(desk.table(newer, "g", "v", "mean")) == "pass"  # everybody got one more
    assert said(desk.table(data, "g")) == "pass"  # the counts say nothing about values


def test_a_changed_value_under_another_name_is_found():
    data = people()
    desk = Desk(unit="person")
    desk.table(data, "g", "v", "mean")
    data.loc[7, "v"] = 99.0
    assert said(desk.table(data.rename(columns={"v": "pay"}), "g", "pay", "sum")) == "fail"


def test_one_person_in_the_place_of_another_is_found_in_sums_only():
    data = people()
    first, second = (
        data.drop(index=data.index[data.g == "a"][0]),
        data.drop(index=data.index[data.g == "a"][1]),
    )
    desk = Desk(unit="person")
    desk.table(first, "g")
    assert said(desk.table(second, "g")) == "pass"
    desk = Desk(unit="person")
    desk.table(first, "g", "v", "sum")
    assert said(desk.table(second, "g", "v", "sum")) == "fail"


@pytest.mark.parametrize("most", [240, 0], ids=["all cells together", "too many cells for that"])
def test_people_with_several_rows(monkeypatch, most):
    monkeypatch.setattr("dalenius.outputs.beside_rows.MOST_CELLS", most)
    data = pd.concat([people().assign(year=y) for y in (2020, 2021)], ignore_index=True)
    data["v"] += np.random.default_rng(1).normal(0, 1, len(data))
    desk = Desk(unit="person")
    assert desk.table(data, "year", "v", "mean").status == "pass"
    assert said(desk.table(data.sample(frac=1.0, random_state=1), "year", "v", "mean")) == "pass"
    data.loc[3, "v"] += 1.0
    out = desk.table(data, "year", "v", "mean")
    assert said(out) == "fail"
    assert out.cells["outcome"].to_list() == ["differencing", "ok"]


def test_a_dominated_rest_is_found_by_a_later_desk(tmp_path):
    """What is no longer there dominates the difference; only its size, not its value, was kept."""
    value = np.concatenate([10.0 + np.arange(60), np.full(29, 0.01), [5000.0]])
    frame = pd.DataFrame({"g": "a", "v": value, "person": np.arange(90)})
    policy = {"nk_k": 0.99, "p": 0.001}
    Desk(policy, unit="person", memory=tmp_path).table(frame, "g", "v", "sum").exception("a test")
    out = Desk(policy, unit="person", memory=tmp_path, name="later").table(frame[:60], "g", "v", "sum")
    assert "dominated by a few units" in out.record.conflicts[0]


def test_no_value_is_kept(tmp_path):
    data = people().assign(v=np.arange(200) + 731_905_482_117.25)
    Desk(unit="person", memory=tmp_path).table(data, "g", "v", "mean")
    text = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".key")
    assert b"731905482" not in text  # few digits stand in hashes by chance
    assert all(np.float64(v).tobytes() not in text for v in data.v)
    assert b"id17" not in text


# Against brute force.


def brute(table: np.ndarray, changed: np.ndarray, limit: int) -> bool:
    """Whether some combination of the cells of two sums moves more than none and fewer than the limit."""
    rows, columns = table.shape
    for given in product((0, 1), repeat=rows + columns - 2):
        row, column = np.array([0, *given[: rows - 1]]), np.array([0, *given[rows - 1 :]])
        same, other = table - changed, changed
        moved = (same * (row[:, None] != column[None, :])).sum()
        moved += (other * ((row[:, None] != 0) | (column[None, :] != 0))).sum()
        if 0 < moved < limit:
            return True
    return False


def test_moved_groups_against_brute_force():
    found = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 7, (int(rng.integers(2, 5)), int(rng.integers(2, 4))))
        table *= rng.random(table.shape) < rng.choice([0.5, 0.9])
        changed = rng.binomial(table, rng.choice([0.0, 0.2]))
        changed[0], changed[:, 0] = 0, 0  # those who are in one table only have not changed
        groups, complete = moved_groups(table, changed, LIMIT)
        assert complete
        assert bool(groups) == brute(table, changed, LIMIT), seed
        found += bool(groups)
    assert 50 < found < 250


def test_many_small_groups_are_searched_to_the_end():
    """Two fine tables of many people: hundreds of free directions, and still a definite answer."""
    rng = np.random.default_rng(1)
    table = np.zeros((121, 101), np.int64)
    np.add.at(table, (rng.integers(1, 121, 20_000), rng.integers(1, 101, 20_000)), 1)
    assert pair_groups(table, 10) == ([], True)
    table[5, 0] = 3
    assert pair_groups(table, 10)[0] == [[(5, 0)]]  # all cells of the one less all of the other
    table[5, 0] = 0
    table[:, 100] = 0
    table[7, 100] = 4
    groups, complete = pair_groups(table, 10)
    assert complete
    assert groups == [[(7, 100)]]


def test_thin_cuts_against_brute_force():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(2, 7))
        ties = np.triu(
            rng.integers(0, 6, (nodes, nodes)) * (rng.random((nodes, nodes)) < rng.choice([0.3, 0.9])), 1
        )
        ties = ties + ties.T
        limit = int(rng.integers(1, 9))
        sets = [np.array(m, bool) for m in product((0, 1), repeat=nodes) if 0 < sum(m) < nodes]
        thin = [m for m in sets if 0 < ties[np.ix_(m, ~m)].sum() < limit]
        found = thin_cuts(ties, limit)
        assert bool(found.thin) == bool(thin), seed
        assert all(0 < ties[np.ix_(m, ~m)].sum() < limit for m in found.thin)
        part = thin_cuts(ties, limit, stop=False).part
        assert all(len(set(m[part == p])) == 1 for m in thin for p in part), seed


def test_thin_cuts_join_only_what_is_tied():
    ties = np.kron(np.eye(3), np.full((4, 4), 5.0))
    ties[0, 4] = ties[4, 0] = 2.0
    found = thin_cuts(ties, 10)
    assert len(found.thin) == 1
    assert found.complete


# A memory that is lost.


def used(folder, **options):
    desk = Desk(unit="person", memory=folder, **options)
    desk.table(people(), "g")
    desk.table(people(), "c")
    return desk


@pytest.mark.parametrize("harm", ["deleted", "set back", "row", "history", "trail", "event", "key"])
def test_a_memory_that_is_not_what_it_was(tmp_path, harm):
    folder = tmp_path / "project"
    desk = Desk(unit="person", memory=folder)
    desk.table(people(), "g")
    desk.memory.store.execute("pragma wal_checkpoint(truncate)")
    copy = (folder / "memory.sqlite").read_bytes()
    desk.table(people(), "c")
    desk.memory.store.close()
    if harm == "deleted":
        for path in folder.glob("memory.sqlite*"):
            path.unlink()
    elif harm == "set back":
        for path in folder.glob("memory.sqlite-*"):
            path.unlink()
        (folder / "memory.sqlite").write_bytes(copy)
    elif harm in ("row", "history"):
        with sqlite3.connect(folder / "memory.sqlite") as store:
            store.execute("delete from outputs" if harm == "row" else "delete from history where number = 2")
    elif harm == "key":
        (folder / "memory.key").write_bytes(bytes(32))
    elif harm == "trail":
        (folder / "trail.jsonl").unlink()
    else:
        text = (folder / "trail.jsonl").read_text()
        (folder / "trail.jsonl").write_text(text.replace('"made"', '"mode"', 1))
    with pytest.raises(FileError, match=r"not what it was.*anew="):
        Desk(unit="person", memory=folder)
    again = Desk(unit="person", memory=folder, anew="the disk broke")
    assert trail_faults(again.trail.lines) == []
    assert "the disk broke" in "".join(again.trail.lines)
    again.table(people(), "g")
    assert Desk(unit="person", memory=folder).trail.head == again.trail.head


def test_a_whole_memory_is_recognised_by_every_desk(tmp_path):
    first, second = used(tmp_path), Desk(unit="person", memory=tmp_path, name="two")
    second.table(people(), ["g", "c"])
    first.table(people(), ["c", "g"])
    first.remove("output_0")
    first.finalise(tmp_path / "out")
    third = Desk(unit="person", memory=tmp_path, name="three")
    assert len(third.memory.earlier()) == 3
    assert trail_faults(read_lines(tmp_path / "trail.jsonl")) == []


def test_many_people_with_several_rows(monkeypatch):
    """Beyond what can be searched a table with one person fewer is still found, and the limit is told."""
    monkeypatch.setattr("dalenius.outputs.comparison.MOST_KINDS", 1)
    monkeypatch.setattr("dalenius.outputs.beside_rows.MOST_CELLS", 0)
    data = pd.concat([people().assign(year=y) for y in (2020, 2021)], ignore_index=True)
    desk = Desk(unit="person")
    desk.table(data, ["g", "year"])
    assert said(desk.table(data, ["g", "year"])) == "pass"
    out = desk.table(data[data.person != "id3"], ["g", "year"])
    assert said(out) == "fail"
    assert set(out.cells.filter(out.cells["outcome"] == "differencing")["g"]) == {data.g[3]}
    coarse = desk.table(data, "g")
    assert "not all combinations could be tried" in coarse.record.checks["differencing"]["sentence"]


def test_what_left_by_exception_is_not_held_against_later_outputs():
    """A small cell that was let through is known; another table adds nothing to it."""
    data = people()
    data.loc[:2, "g"] = "rare"
    desk = Desk(unit="person")
    desk.table(data, "g").exception("let through")
    out = desk.table(data, "c")
    assert said(out) == "pass"
    assert said(desk.table(data[data.g != "rare"], "c")) == "fail"  # by sex this is new


def test_the_same_person_under_whole_numbers_texts_and_fractions():
    """A column of identifiers with a gap is read as fractions; the person is still the same."""
    data = people().assign(person=np.arange(200))
    for again in (
        data.person.astype(str),
        data.person.astype(float),
        data.person.astype(float).astype(object),
    ):
        desk = Desk(unit="person")
        desk.table(data, "g")
        assert said(desk.table(data.assign(person=again)[1:], "g")) == "fail"


def test_the_order_of_a_persons_rows_does_not_matter():
    """Fractions added up in another order differ in the last digit; nothing was corrected."""
    data = pd.concat([people()] * 5, ignore_index=True)
    data["v"] = np.random.default_rng(1).normal(50, 5, len(data)) / 3
    desk = Desk(unit="person")
    desk.table(data, "g", "v", "mean")
    assert said(desk.table(data[::-1], "g", "v", "mean")) == "pass"
