"""A result shows nothing that rests on few records."""

from __future__ import annotations

import polars as pl

from dalenius.core.replicates import mean_result
from dalenius.core.result import WHOLE, Result
from dalenius.core.small_cells import withhold


def test_a_table_that_says_nothing_about_its_records_is_not_shown():
    """Rows by single years of age, one of them about one person: nothing of it may be shown until somebody says so."""
    table = pl.DataFrame({"age": [15, 16], "people": [1, 40]})
    silent = Result("toy", 1.0, "A figure by age.", table=table)
    assert silent.shown is None
    assert silent.to_dict()["table"] is None
    assert "40" not in silent._repr_html_()
    assert silent.to_dict(whole=True)["table"] == table.to_dicts()
    assert Result.from_dict(silent.to_dict()).counts is None
    told = Result("toy", 1.0, "A figure by age.", table=table, counts=("people",))
    assert told.shown["age"].to_list() == []
    assert Result("toy", 1.0, "A figure by column.", table=table, counts=WHOLE).shown.equals(table)


def test_the_last_bit_of_two_equal_levels_is_nothing_that_is_added():
    even = Result("toy", 100 * (0.1 + 0.2), "As outside.", outside=100 * 0.3)
    assert even.value != even.outside
    assert even.added == 0
    assert Result("toy", 30.1, "More.", outside=30.0).added > 0.09


def test_a_row_without_a_count_hides_no_other():
    """6 of a known number of people would follow by subtraction, were a row without people left out beside it."""
    table = pl.DataFrame({"group": ["few", "none", "some", "many"], "rows": [6, None, 40, 90]})
    assert withhold(table, ["rows"], 10)["group"].to_list() == ["none", "many"]


def test_a_mean_is_of_what_every_replicate_has():
    first = Result("toy", 1.0, "One.", yardsticks={"holdout": 4.0, "fresh": 2.0}, values={"a": 1.0, "b": 1.0})
    second = Result("toy", 3.0, "Two.", yardsticks={"fresh": 4.0}, values={"b": 3.0})
    mean = mean_result([first, second])
    assert mean.yardsticks == {"fresh": 3.0}
    assert mean.values == {"b": 2.0}
