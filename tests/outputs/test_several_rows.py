"""People with several rows: what one of them has, or one row of theirs, follows from two outputs by subtraction."""

from __future__ import annotations

from hashlib import blake2b
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk
from dalenius.outputs.few import about_few


def visits(seed=2, people=300):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rng.integers(1, 6, people))
    size = len(person)
    return pd.DataFrame({
        "person": person, "site": rng.choice(["A", "B", "C"], size), "kind": rng.choice(["x", "y"], size),
        "year": rng.choice([2020, 2021], size), "cost": rng.gamma(2, 300, size).round(),
    })  # fmt: skip


@pytest.fixture
def desk(tmp_path):
    visits().to_csv(tmp_path / "visits.csv", index=False)
    made = Desk(unit="person", memory=tmp_path / "memory")
    return made, made.pandas.read_csv(tmp_path / "visits.csv")


def totals(f):
    f.cost.sum()


def sums(f):
    f.groupby("kind").cost.sum()


def means(f):
    f.groupby("site").cost.mean()


def sites(f):
    f.site.value_counts()


def kinds(f):
    f.kind.value_counts()


def crossed(f):
    f.groupby(["site", "kind"]).size()


@pytest.mark.parametrize(
    "pair", [(totals, sums), (sums, totals), (means, sums), (sites, kinds), (crossed, sites)]
)
@pytest.mark.parametrize("who", [5, 40])
def test_one_person_less_is_found_under_other_categories(desk, pair, who):
    made, frame = desk
    pair[0](frame)
    assert made.last.status == "pass"
    pair[1](frame[frame.person != who])
    assert made.last.record.checks["differencing"]["verdict"] == "fail"
    assert made.last.record.conflicts


@pytest.mark.parametrize("table", [crossed, sites, sums, totals])
def test_one_row_less_of_somebody_who_stays_is_found(desk, table):
    made, frame = desk
    twice = frame[frame.duplicated(["person", "site", "kind"])].index[0]
    table(frame)
    table(frame.drop(twice))
    assert made.last.record.checks["differencing"]["verdict"] == "fail"


def test_everyday_tables_of_visits_pass(desk):
    made, frame = desk
    for part in (frame, frame[frame.year == 2020], frame[frame.kind == "x"]):
        for table in (sites, kinds, crossed, sums, means, totals):
            if part is frame or table is not kinds:
                table(part)
    for out in made.outputs:
        assert out.judged.status == "pass" or out.judged.summary.startswith("fail: zero_cell"), out.summary


def test_a_person_who_is_left_out_of_one_of_three_outputs(desk):
    """Visits of each year add up to all visits; the second year lacks one person."""
    made, frame = desk
    sites(frame)
    kinds(frame[frame.year == 2020])
    assert [out.status for out in made.outputs] == ["pass", "pass"]
    crossed(frame[(frame.year == 2021) & (frame.person != 5)])
    assert made.last.record.checks["differencing"]["verdict"] == "fail"
    assert " and output_" in made.last.record.conflicts[-1]


def test_nothing_of_the_values_is_kept_as_such(desk, tmp_path):
    made, frame = desk
    sums(frame)
    held = [body for (body,) in made.memory.store.execute("select body from contributions")]
    assert held
    again = made.memory.rows_held(made.memory.earlier()[0].sketch)
    assert again.groups.shape == (frame.person.max() + 1, 2)
    assert int((again.groups > 0).sum()) == len(pd.DataFrame(frame).groupby(["person", "kind"]).size())


def brute(table: np.ndarray, few: int) -> set[tuple[int, ...]]:
    """Fewest rows that, left out, lower the rank: then a combination is about these alone."""
    full, found = np.linalg.matrix_rank(table), set()
    for size in range(1, few):
        for gone in combinations(range(len(table)), size):
            if any(set(less) <= set(gone) for less in found):
                continue
            if np.linalg.matrix_rank(np.delete(table, gone, axis=0)) < full:
                found.add(gone)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_against_brute_force(seed):
    """All that tell about few, whatever the order of the rows; many of them are tied together in odd seeds."""
    rng = np.random.default_rng(seed)
    people, cells = 24, int(rng.integers(2, 4))
    own = rng.integers(1, 30, (people, cells))
    other = own @ rng.integers(0, 2, (cells, 2))
    if seed % 2:
        other[: int(rng.integers(1, 3))] += rng.integers(1, 9, (1, 2))
        other[5 : int(rng.integers(5, 8))] += rng.integers(1, 9, 2)
    table = np.hstack([own, other])
    for few in (3, 4):
        wanted = brute(table.astype(float), few)
        for order in (np.arange(people), rng.permutation(people)):
            found, complete = about_few(table[order], few)
            assert complete
            assert {tuple(sorted(order[c.rows].tolist())) for c in found} == wanted


def test_where_not_all_can_be_listed_it_says_so(monkeypatch):
    """Two differences that three people make together: each alone, and the third from both."""
    rng = np.random.default_rng(1)
    kind = rng.integers(1, 90, (60, 3))
    changed = kind.copy()
    changed[[3, 4], 0] += 5
    changed[[4, 5], 1] += 7
    for most, whole in ((10_000, True), (0, False)):
        monkeypatch.setattr("dalenius.outputs.few.MOST_LISTED", most)
        found, complete = about_few(np.hstack([kind, changed]), 4)
        assert {tuple(c.rows.tolist()) for c in found} == {(3, 4), (4, 5), (3, 5)}
        assert complete is whole


LIMIT = 3
OPEN = {"threshold": LIMIT, "zeros": False, "full_cells": False, "all_same": False, "nk_k": 0.999, "p": 1e-6}


def followed(tables: list[np.ndarray], few: int) -> bool:
    """Whether something about few people follows from all tables, but not from those before the last."""
    table = np.hstack(tables).astype(float)
    before = np.hstack(tables[:-1]).astype(float) if len(tables) > 1 else np.zeros((len(table), 1))
    return any(
        told(table, list(gone)) > told(before, list(gone))
        for size in range(1, few)
        for gone in combinations(range(len(table)), size)
    )


def told(table: np.ndarray, people: list[int]) -> int:
    """How many combinations of the columns are about these people alone."""
    return int(np.linalg.matrix_rank(table) - np.linalg.matrix_rank(np.delete(table, people, axis=0)))


def stays(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(16), rng.integers(1, 4, 16))
    size = len(person)
    kinds = {"g": rng.choice(["a", "b"], size), "h": rng.choice(["x", "y", "z"], size)}
    return pd.DataFrame({"person": person, **kinds, "cost": rng.integers(1, 99, size)})


def random_part(rng: np.random.Generator, data: pd.DataFrame) -> pd.DataFrame:
    """Everybody, all but one or two people or rows, or those of one kind."""
    way = rng.integers(5)
    if way == 0:
        return data
    if way == 1:
        return data[~data.person.isin(rng.choice(16, int(rng.integers(1, 3)), replace=False))]
    if way == 2:
        return data.drop(index=rng.choice(data.index, int(rng.integers(1, 3)), replace=False))
    return data[data.g == "a"] if way == 3 else data[data.h != "z"]


def shown(data: pd.DataFrame, by: str | None, value: str | None) -> np.ndarray:
    """People × cells: rows or sums."""
    amount = pd.Series(1.0, data.index) if value is None else data[value]
    keys = [data.person] if by is None else [data.person, data[by]]
    found = amount.groupby(keys).sum()
    found = found.to_frame("all") if by is None else found.unstack(fill_value=0)
    return found.reindex(range(16), fill_value=0).to_numpy()


def check_desk(seeds: range, outputs: int) -> int:
    """A desk fails the last of some tables exactly when it tells about few together with those that are kept."""
    hits = 0
    for seed in seeds:
        rng = np.random.default_rng(50_000 + seed)
        data, desk, kept = stays(seed), Desk(OPEN, unit="person"), []
        for _ in range(outputs):
            part = random_part(rng, data)
            by, value = rng.choice([None, "g", "h"]), rng.choice([None, "cost"])
            out = desk.table(part.assign(all="x"), by or "all", value, "sum" if value else "count")
            cells = shown(part, by, value)
            verdict = out.record.checks["differencing"]["verdict"] == "fail"
            if followed([cells], LIMIT):  # few are in a cell of its own: not a matter of two outputs
                desk.remove(out.record.uid)
                continue
            assert verdict == followed([*kept, cells], LIMIT), (seed, len(kept))
            hits += verdict
            if out.status == "pass":
                kept.append(cells)
            else:
                desk.remove(out.record.uid)
    return hits


@pytest.mark.parametrize("key", [0, 94, 226])
def test_what_is_found_does_not_depend_on_the_key(key, monkeypatch):
    """People are numbered in the order of their hashes; with these keys the search missed one of a thousand pairs."""
    monkeypatch.setattr(
        "dalenius.outputs.memory.secrets.token_bytes", lambda n: blake2b(b"%d" % key, digest_size=n).digest()
    )
    assert check_desk(range(369, 370), 2) == 1


def test_pairs_of_people_with_several_rows():
    assert check_desk(range(40), 2) > 5


def test_triples_of_people_with_several_rows():
    assert check_desk(range(20), 3) > 5


@pytest.mark.slow
def test_a_thousand_pairs_of_people_with_several_rows():
    assert check_desk(range(1000), 2) > 100


@pytest.mark.slow
def test_three_hundred_triples_of_people_with_several_rows():
    assert check_desk(range(300), 3) > 50


def many_visits(people: int = 6000) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(people), rng.integers(1, 4, people))
    size = len(person)
    kinds = {"site": rng.choice(list("ABCDEF"), size), "kind": rng.choice(["x", "y"], size)}
    large = {"ward": rng.integers(0, 130, size), "cost": rng.gamma(2, 300, size).round()}
    return pd.DataFrame({"person": person, **kinds, **large})


@pytest.mark.parametrize("by", [["site"], ["kind", "site"], ["ward", "kind"]])
def test_few_and_many_who_are_left_out_of_more_people_than_groups(by):
    """Groups of people are kept, no people: nine of six thousand are found in them, thousands are no conflict."""
    data, free = many_visits(), {"zeros": False, "full_cells": False, "threshold": 10}
    for value in (None, "cost"):
        desk = Desk(free, unit="person")
        desk.table(data, by, value, "sum" if value else "count")
        kept = desk.memory.rows_held(desk.memory.earlier()[0].sketch)
        assert kept.groups.shape[0] <= 4096
        assert len(kept.checks)
        for gone, told in (
            (range(1), "fail"),
            (range(50, 59), "fail"),
            (range(100, 3100), "pass"),
            ((), "pass"),
        ):
            desk.table(data[~data.person.isin(gone)], by, value, "sum" if value else "count")
            assert desk.last.record.checks["differencing"]["verdict"] == told, (value, gone)
            desk.remove(desk.last.record.uid)


def test_a_margin_of_a_large_table_beside_a_small_one():
    """The costs by kind, and by ward and kind without one person: more cells than all combinations are tried of."""
    data = many_visits()
    desk = Desk({"zeros": False, "full_cells": False}, unit="person")
    assert desk.table(data, "kind", "cost", "sum").status == "pass"
    out = desk.table(data[data.person != 5], ["ward", "kind"], "cost", "sum")
    assert out.record.checks["differencing"]["verdict"] == "fail"
    assert desk.memory.several(out).cells > 240


def test_people_with_one_row_beside_people_with_several():
    """Visits of everybody, then the first visit of each and the others, without one person: three outputs."""
    data = visits()
    first = ~data.duplicated("person")
    desk = Desk({"zeros": False, "full_cells": False}, unit="person")
    assert desk.table(data.assign(all="x"), "all", "cost", "sum").status == "pass"
    assert desk.table(data[~first].assign(all="x"), "all", "cost", "sum").status == "pass"
    out = desk.table(data[first & (data.person != 5)].assign(all="x"), "all", "cost", "sum")
    assert out.record.checks["differencing"]["verdict"] == "fail"


def test_a_model_with_one_value_corrected(desk):
    made, frame = desk
    frame["turn"] = np.arange(len(frame)) % 97
    made.smf.ols("np.log(cost + 1) ~ turn", frame).fit()
    assert made.last.status == "pass"
    made.smf.ols("np.log(cost + 1) ~ turn", frame.assign(cost=frame.cost + 50 * (frame.index == 3))).fit()
    assert made.last.record.checks["differencing"]["verdict"] == "fail"
