"""Pairs settle what differs between two files."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalenius
from dalenius.core.errors import DataError
from dalenius.counts.pair import Pair
from dalenius.data import Column, Grouping, Kind, Schema, Table
from dalenius.utility import k_marginal


def test_levels_are_united_with_the_originals_first():
    pair = Pair({"a": ["b", "a"]}, {"a": ["c", "a"]})
    aligned = pair.categories("a")
    assert aligned.original.labels == ["a", "b", "c"]
    assert aligned.protected.codes.tolist() == [2, 0]


def test_integers_meet_floats_and_text():
    pair = Pair({"x": list(range(30))}, {"x": [0.5] * 30})
    assert pair.original["x"].column.kind is Kind.CONTINUOUS
    pair = Pair({"x": list(range(30))}, {"x": ["a"] * 30})
    assert pair.original["x"].column.kind is Kind.CATEGORICAL


def test_number_stored_as_whole_floats_matches_integers():
    pair = Pair({"x": [1, 2, 3] * 10}, {"x": np.array([1.0, 2.0, np.nan] * 10)})
    counted = pair.counts(["x"], grouped=False)
    assert counted.original.counts.tolist() == [10, 10, 10]
    assert counted.protected.counts.tolist() == [10, 10, 10]
    assert counted.protected.cells[:, 0].tolist() == [0, 1, 3]


def test_special_codes_of_the_schema_hold_for_both_files():
    schema = Schema((Column("income", Kind.INTEGER, not_applicable=(-8,)),))
    pair = Pair({"income": [-8, 10, 20, 30]}, {"income": [-8, -8, 20, 35]}, schema=schema)
    labels = pair.categories("income", grouped=False).original.labels
    assert labels == [10, 20, 30, 35, -8]
    assert pair.counts(["income"], grouped=False).protected.counts.tolist() == [1, 1, 2]


def test_columns_only_in_one_file_are_noted():
    pair = Pair({"a": [1, 2], "b": [1, 2]}, {"b": [1, 2], "c": [1, 2]})
    assert pair.columns == ["b"]
    assert [note for note in pair.notes if "'a'" in note and "protected" in note]
    assert [note for note in pair.notes if "'c'" in note and "original" in note]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": ["nowhere"]}, "no column 'nowhere'"),
        ({"keys": ["a"]}, "key 'a' is not in the protected file"),
        ({"keys": ["b"], "targets": ["b"]}, "both key and target"),
    ],
)
def test_bad_roles(arguments, message):
    with pytest.raises(DataError, match=message):
        Pair({"a": [1, 2], "b": [1, 2]}, {"b": [1, 2]}, **arguments)


def test_nothing_in_common_and_no_rows():
    with pytest.raises(DataError, match="no column in common"):
        Pair({"a": [1]}, {"b": [1]})
    with pytest.raises(DataError, match="at least one row"):
        Pair({"a": [1]}, {"a": []})


def test_counts_are_made_once_and_many_agree_with_single():
    rng = np.random.default_rng(0)
    frame = {name: rng.integers(0, 4, 500) for name in "abcd"}
    other = {name: rng.integers(0, 5, 300) for name in "abcd"}
    pair = Pair(frame, other, holdout=other)
    many = pair.count_many([("a", "b"), ("c", "d"), ("a", "b", "c")])
    fresh = Pair(frame, other, holdout=other)
    for columns, counted in many.items():
        single = fresh.counts(columns)
        assert counted.original.same_as(single.original)
        assert counted.protected.same_as(single.protected)
        assert counted.holdout.same_as(single.holdout)
        assert pair.counts(columns) is counted


@given(
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=60),
    st.sampled_from(["quantile", "equal-width", "jenks"]),
)
def test_groups_cover_every_number(values, method):
    table = Table.from_frame({"x": np.array(values)}, Schema((Column("x", Kind.CONTINUOUS),)))
    categories = Grouping.fit(table, method=method).categories(table["x"])
    assert len(categories.codes) == len(values)
    assert int(categories.codes.max()) < categories.size
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(categories.codes[order].astype(int)) >= 0), "groups follow the order of the numbers"


def test_a_number_on_a_break_belongs_above_it():
    grouping = Grouping({"age": np.array([0.0, 18.0, 65.0, 99.0])})
    pair = Pair({"age": [17, 18, 64, 65]}, {"age": [18, 17, 65, 64]}, grouping=grouping)
    assert pair.categories("age").original.codes.tolist() == [0, 1, 1, 2]
    assert pair.categories("age").original.labels[1] == "18 to below 65"


def test_breaks_come_from_the_original_only():
    pair = Pair({"x": list(range(100))}, {"x": list(range(1000, 1100))})
    assert pair.counts(["x"]).protected.counts.tolist() == [100]
    assert pair.counts(["x"]).protected.cells.tolist() == [[4]]


def test_quantile_groups_like_synthpop_on_heaped_numbers():
    # Too many equal values leave fewer than three quantile groups: equal widths take over.
    table = Table.from_frame(
        pl.DataFrame({"x": [0] * 95 + [10, 20, 30, 40, 50]}), Schema((Column("x", Kind.INTEGER),))
    )
    assert Grouping.fit(table, groups=5).breaks["x"].tolist() == [0, 10, 20, 30, 40, 50]


def test_given_breaks_and_their_faults():
    table = Table.from_frame({"x": list(range(20)), "t": ["a", "b"] * 10})
    grouping = Grouping.fit(table, breaks={"x": [0, 10, 19]})
    assert grouping.categories(table["x"]).labels == ["below 10", "10 or more"]
    with pytest.raises(DataError, match="only numbers"):
        Grouping.fit(table, columns=["t"])
    with pytest.raises(Exception, match="2 or more"):
        Grouping.fit(table, groups=1)


def test_ordered_levels_keep_the_original_order():
    """A protected file that comes without a schema has its levels in the order of the alphabet."""
    grades = Column("grade", Kind.ORDERED, levels=("none", "primary", "bachelor"))
    pair = Pair(
        {"grade": ["bachelor", "none", "primary"]},
        {"grade": ["bachelor", "doctor", "none"]},
        schema=Schema((grades,)),
    )
    assert pair.protected["grade"].levels == ("none", "primary", "bachelor", "doctor")
    assert pair.protected.to_frame()["grade"] == ["bachelor", "doctor", "none"]


def test_another_file_is_shown_at_the_same_threshold():
    data = {"area": ["n"] * 40 + ["s"] * 40 + ["w"] * 20, "a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    other = Pair(data, data, threshold=30).swap_in({name: values[::-1] for name, values in data.items()})
    assert other.threshold == 30
    shown = k_marginal(other, by="area").shown
    assert len(shown)
    assert shown["original rows"].min() >= 30


@pytest.mark.parametrize("role", ["identifier", "entity", "household", "weight"])
def test_columns_that_are_about_the_file_are_not_compared(role):
    data = {"extra": [float(n) for n in range(40)], "a": ["x", "y"] * 20}
    schema = Schema.infer(data).with_roles(**{role: "extra"})
    assert Pair(data, data, schema=schema).columns == ["a"]
    told = dalenius.evaluate(data, data, schema, measures=["column-shapes"])["column-shapes"]
    assert told.table["column"].to_list() == ["a"]


def test_only_so_many_tables_are_kept_and_all_are_told(monkeypatch):
    """A file of a thousand columns has half a million pairs, which took gigabytes."""
    rng = np.random.default_rng(1)
    data, made = ({c: rng.integers(0, 3, 60) for c in "abcdef"} for _ in range(2))
    wanted = [(a, b) for a in "abcdef" for b in "abcdef" if a < b]
    all_kept = Pair(data, made)
    whole = all_kept.count_many(wanted)
    monkeypatch.setattr("dalenius.counts.pair.MOST_KEPT", 9)
    some = Pair(data, made)
    first, again = some.count_many(wanted[:5]), some.count_many(wanted)
    assert len(some._counts) == 5
    assert len(all_kept._counts) == len(wanted)
    assert list(again) == wanted
    for names in wanted:
        assert again[names].original.counts.tolist() == whole[names].original.counts.tolist()
        assert again[names].protected.counts.tolist() == whole[names].protected.counts.tolist()
    assert again[wanted[0]] is first[wanted[0]]
