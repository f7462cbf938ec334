"""People with several rows: what one of them has, or one row of theirs, follows from two outputs by subtraction."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk
from dalenius.outputs.rows import about_few


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
    again = made.memory.rows_held(made.memory.earlier()[0].rows)
    assert len(again.words) == len(pd.DataFrame(frame).groupby(["person", "kind"]).size())


def brute(table: np.ndarray, few: int) -> bool:
    """Whether leaving out some few rows lowers the rank: then a combination is about these alone."""
    full = np.linalg.matrix_rank(table)
    rows = range(len(table))
    return any(
        np.linalg.matrix_rank(np.delete(table, gone, axis=0)) < full
        for size in range(1, few)
        for gone in combinations(rows, size)
    )


@pytest.mark.parametrize("seed", range(40))
def test_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    people, cells = 24, int(rng.integers(2, 4))
    own = rng.integers(1, 30, (people, cells))
    other = own @ rng.integers(0, 2, (cells, 2))
    if seed % 2:
        other[: int(rng.integers(1, 3))] += rng.integers(1, 9, (1, 2))
    table = np.hstack([own, other])
    assert bool(about_few(table, 3)) == brute(table.astype(float), 3)
