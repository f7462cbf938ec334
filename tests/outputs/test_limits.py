"""Each limit at its very edge: one person more passes, one less does not, and nothing else marks the cell."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest

from dalenius.core.errors import FileError
from dalenius.outputs import Desk
from dalenius.outputs.differencing import _leaves
from dalenius.outputs.partition import Partition


def said(out, check):
    return out.record.checks[check]["verdict"]


def marked(out, check):
    return next(f.flagged for f in out.judged.findings if f.check == check).tolist()


@pytest.mark.parametrize(("others", "verdict"), [(1, "fail"), (9, "fail"), (10, "pass")])
def test_few_with_another_value(others, verdict):
    values = [5.0] * max(others, 17) + list(np.arange(others) * 40.0 + 60)
    if others == 9:  # as many as the others are
        values = values[8:]
    out = Desk().table({"g": ["a"] * len(values), "v": values}, "g", "v", "mean")
    assert said(out, "few_others") == verdict


@pytest.mark.parametrize(("people", "verdict"), [(3, "fail"), (12, "pass")])
def test_the_rows_around_a_quantile_are_those_of_few(people, verdict):
    """Seventy-two rows in the middle, of three people or of twelve."""
    middle = np.repeat(np.arange(people), 72 // people)
    person = np.concatenate([100 + np.arange(60), middle, 200 + np.arange(60)])
    value = np.concatenate([np.arange(60), 100 + np.arange(72) / 10, 200 + np.arange(60)])
    out = Desk(unit="person").table({"g": ["a"] * 192, "v": value, "person": person}, "g", "v", "median")
    assert said(out, "owners") == verdict


@pytest.mark.parametrize(("people", "verdict"), [(9, "fail"), (10, "pass")])
def test_an_end_value_of_few(people, verdict):
    values = [0.0] * 10 + list(range(1, 40)) + [50.0] * people
    out = Desk().table({"g": ["a"] * len(values), "v": values}, "g", "v", ["min", "max"])
    assert said(out, "endpoints") == verdict


@pytest.mark.parametrize(("rest", "verdict"), [(9, "fail"), (10, "pass")])
def test_nearly_everybody_in_one_cell(rest, verdict):
    data = {"g": ["a"] * (30 + rest) + ["b"] * 60, "c": ["x"] * 30 + ["y"] * rest + ["x"] * 30 + ["y"] * 30}
    assert said(Desk({"near_full": True}).table(data, ["g", "c"]), "full_cell") == verdict


def test_few_left_at_risk():
    """Twenty leave in the first step and twenty in the second, after which nine are left."""
    out = Desk().survival([1.0] * 20 + [2.0] * 20 + [3.0] * 9, [1] * 49)
    assert marked(out, "survival_exits") == [False, True, True]


@pytest.mark.parametrize(("people", "verdict"), [(2, "fail"), (3, "review"), (40, "pass")])
def test_a_parameter_of_few(people, verdict):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": rng.normal(size=200), "x": rng.normal(size=200), "d": np.arange(200) < people})
    desk = Desk()
    desk.smf.ols("y ~ x + d", data).fit()
    assert said(desk.last, "own_parameter") == verdict


@pytest.mark.parametrize(("people", "verdict"), [(9, "fail"), (10, "pass")])
def test_a_test_of_few(people, verdict):
    rng, desk = np.random.default_rng(1), Desk()
    desk.stats.ttest_ind(rng.normal(size=40), rng.normal(size=people))
    assert said(desk.last, "few_in_group") == verdict


@pytest.mark.parametrize(("people", "verdict"), [(10, "fail"), (11, "pass")])
def test_degrees_of_freedom_are_one_less_than_people(people, verdict):
    values = np.random.default_rng(1).normal(size=people)
    assert said(Desk().table({"g": ["a"] * people, "v": values}, "g", "v", "std"), "min_dof") == verdict


@pytest.mark.parametrize(("people", "verdict"), [(18, "fail"), (20, "pass")])
def test_people_beyond_a_median(people, verdict):
    data = {"g": ["a"] * people, "v": np.arange(people) * 7.0}
    assert said(Desk().table(data, "g", "v", "median"), "tail_count") == verdict


def test_a_dominated_cell_that_was_taken_out_does_not_follow_from_a_total():
    rng = np.random.default_rng(1)
    value = np.concatenate([[5000.0], rng.uniform(1, 2, 19), rng.uniform(900, 1100, 60)])
    data = pd.DataFrame(
        {"g": ["a"] * 20 + ["b"] * 30 + ["c"] * 30, "v": value, "person": range(80), "all": "x"}
    )
    desk = Desk(unit="person")
    assert desk.table(data, "g", "v", "sum", fix="suppress").status == "pass"
    assert desk.last.hidden.tolist() == [True, False, False]
    out = desk.table(data, "all", "v", "sum")
    assert [name for name, check in out.record.checks.items() if check["verdict"] == "fail"] == [
        "differencing"
    ]
    assert said(desk.table(data, "all"), "differencing") == "pass"  # how many they are, is no secret


def test_a_dominated_rest_of_two_totals_is_found():
    """Twenty people lie between the two totals, enough of them, and nearly all of it is one's."""
    rng = np.random.default_rng(1)
    value = np.concatenate([[5000.0], rng.uniform(1, 2, 19), rng.uniform(900, 1100, 60)])
    data = pd.DataFrame({"g": ["a"] * 20 + ["b"] * 60, "v": value, "person": range(80), "all": "x"})
    desk = Desk(unit="person")
    assert desk.table(data, "all", "v", "sum").status == "pass"
    desk.table(data[data.g == "b"], "all", "v", "sum")
    assert desk.last.status == "fail"
    assert "dominated by a few units" in desk.last.record.conflicts[0]


def test_a_stored_output_that_was_exchanged_is_damage(tmp_path):
    data = pd.DataFrame({"g": ["a", "b"] * 30, "person": range(60)})
    Desk(unit="person", memory=tmp_path).table(data, "g")
    with sqlite3.connect(tmp_path / "memory.sqlite") as store:
        other = Partition((np.ones(60, np.uint8),), 2).stored()
        store.execute("update partitions set body = ?", (other,))
    with pytest.raises(FileError, match="damaged"):
        Desk(unit="person", memory=tmp_path, name="later").table(data[1:], "g")


def test_people_whom_another_desk_added_are_not_taken_for_new_ones(tmp_path):
    one, two = (Desk(memory=tmp_path / "memory").memory for _ in range(2))
    one.numbers(["a"])
    added = two.numbers(["b", "c"])
    assert one.known(["c", "nobody"]).tolist() == [added[1], -1]


def test_three_people_who_follow_only_together():
    """Three have left, one of each group, and one of each group is in the next one now."""
    group = np.repeat([0, 1, 2], 30)
    later = group.copy()
    later[[1, 31, 61]] = [1, 2, 0]
    data = pd.DataFrame({"g": group, "h": later, "person": range(90)})
    desk = Desk(unit="person")
    assert desk.table(data, "g").status == "pass"
    out = desk.table(data.drop(index=[0, 30, 60]), "h")
    assert said(out, "differencing") == "fail"


def test_nobody_knows_how_many_are_outside():
    """One kind of people is the only one outside of the first output, and follows from nothing."""
    rows, columns = np.array([0, 1, 1, 2, 2]), np.array([1, 1, 2, 1, 2])
    assert _leaves(rows, columns, np.full(5, 3), 10, (3, 3)) == []
    closed = _leaves(rows[1:], columns[1:], np.array([3, 30, 30, 30]), 10, (3, 3))
    assert closed == []
    assert _leaves(rows[:4], columns[:4], np.full(4, 3), 10, (3, 3)) == [
        [(0, 1)],
        [(1, 1)],
        [(1, 2)],
        [(2, 1)],
    ]


def test_a_merged_table_is_offered_only_if_earlier_ones_allow_it():
    data = pd.DataFrame({"g": ["a"] * 40 + ["b"] * 40 + ["c"] * 4, "person": range(84), "all": "x"})
    desk = Desk(unit="person")
    assert desk.table(data[:-1], "all").status == "pass"
    out = desk.table(data, "g")
    offered = dict(out.suggest().select("fix", "status").rows())
    assert offered["merge"] == "fail"
    assert offered["round"] == "review"  # without the last person it is the earlier one
    assert (
        dict(Desk(unit="person").table(data, "g").suggest().select("fix", "status").rows())["round"] == "pass"
    )


@pytest.mark.parametrize(("inclusive", "verdict"), [(True, "fail"), (False, "pass")])
def test_the_limit_of_dominance_itself_in_a_difference(inclusive, verdict):
    """Of those who come, two have exactly three quarters."""
    more = np.array([64.0, 32.0] + [4.0] * 8)
    value = np.concatenate([np.random.default_rng(1).uniform(100, 900, 60), more])
    data = pd.DataFrame({"g": "a", "v": value, "person": range(70)})
    desk = Desk({"nk_k": 0.75, "p": 0.001, "nk_inclusive": inclusive}, unit="person")
    assert desk.table(data[:60], "g", "v", "sum").status == "pass"
    assert said(desk.table(data, "g", "v", "sum"), "differencing") == verdict
