"""Sums are found by what they are called and by what they count; what is not sure is a doubt."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.data.table import Table
from dalenius.published import Entry, Ledger, Published, fit
from dalenius.published.totals import totals_of

NAN = float("nan")


def labelled(labels, counts, **more):
    return totals_of({"sex": labels}, np.array(counts, float), **more)


@pytest.mark.parametrize(
    "name", ["Total", "both sexes", " Insgesamt ", "All causes", "T", "Men and women combined"]
)
def test_names(name):
    assert labelled(["f", "m", name], [NAN, 4, 5]).labels == (name,)


def test_a_name_that_may_mean_a_sum_is_none_where_the_counts_say_so():
    assert labelled(["f", "m", "T"], [3, 4, 5]).labels == ()
    assert labelled(["f", "m", "T"], [3, 4, 5], exact=False).labels == ("T",)  # rounded counts say nothing
    assert labelled(["f", "m", "T"], [9, NAN, 5]).labels == ()  # a part is larger than the sum
    assert labelled(["f", "m", "Total"], [3, 4, 5]).labels == (
        "Total",
    )  # sure: the contradiction is for `fit`


def test_counts_alone_make_a_total_only_against_chance():
    assert labelled(["f", "m", "Persons"], [600, 500, 1100]).by_counts == (("sex", "Persons"),)
    assert labelled(["f", "m", "Persons"], [6, 5, 11]).unsure == (("sex", "Persons"),)
    assert labelled(["f", "m"], [600, 600]) == totals_of({"sex": ["f", "m"]}, np.array([1.0, 2]))
    assert not labelled(["f", "m", "Persons"], [600, 500, 1101]).labels
    assert not labelled(["f", "m", "Persons"], [600, 500, 1100], exact=False).labels
    assert labelled(["f", "m", "Persons", "Total"], [600, 500, 1100, 2200]).by_counts  # beside a total too


def test_every_combination_must_agree():
    towns = {"town": [t for t in "ABC" for _ in range(3)], "sex": ["f", "m", "x"] * 3}
    counts = np.array([12.0, 13, 25, 20, 31, 51, 7, 9, 16])
    assert totals_of(towns, counts).labels == ("x",)
    gaps = np.where(np.arange(9) == 3, NAN, counts)  # what is suppressed contradicts nothing
    assert totals_of(towns, gaps).unsure == (("sex", "x"),)
    counts[8] += 1
    assert totals_of(towns, counts).labels == ()


def test_a_label_of_two_columns_is_not_decided():
    twice = {"a": ["f", "m", "x", "f"], "b": ["p", "p", "p", "x"]}
    found = totals_of(twice, np.array([600.0, 500, 1100, 3]))
    assert (found.labels, found.unsure) == ((), (("a", "x"),))


def test_a_total_by_counts_is_used_and_told():
    """Three towns, one sex suppressed in one of them: it follows, once the level of sums is known."""
    table = {"town": [t for t in "ABCD" for _ in range(3)], "sex": ["f", "m", "Pop"] * 4,
             "n": ["12", "13", "25", "20", "31", "51", "7", "9", "16", ":c", "8", "9"]}  # fmt: skip
    out = Published.from_entries([Entry("t", Table.from_frame(table), total=None)])
    assert out.remarks
    assert not out.doubts
    assert fit(out).people == 101
    assert fit(out).proved.all()
    assert not fit(Published.from_tables({"t": table})).proved.all()


def test_doubts_stay_with_what_is_recorded(tmp_path):
    table = {"sex": ["f", "m", "Persons"], "n": [6, 5, 11]}
    doubted = Published.from_entries([Entry("t", Table.from_frame(table), total=None)])
    assert "may be a total" in doubted.doubts[0]
    Ledger(tmp_path / "out.jsonl").append("t", doubted)
    assert Ledger(tmp_path / "out.jsonl").published().doubts == doubted.doubts
    assert (doubted | doubted).doubts == doubted.doubts


def test_two_labels_that_go_together_are_no_sums_of_one_another():
    """Where one other label alone has people, each equals "all others": that says nothing."""
    pairs = {"kind": ["a", "b", "c"] * 4, "town": [t for t in "ABCD" for _ in range(3)]}
    counts = np.array([30.0, 0, 30, 41, 0, 41, 25, 0, 25, 68, 0, 68])
    assert totals_of(pairs, counts) == totals_of({"sex": ["f", "m"]}, np.array([1.0, 2]))
