"""A result shows nothing that rests on few records."""

from __future__ import annotations

import polars as pl

from dalenius.core.result import WHOLE, Result


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
