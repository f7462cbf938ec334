"""People in words and in pictures: both count the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.report.people import against_strangers, people_picture

CHANCES = st.floats(0, 100, allow_nan=False)


@given(CHANCES, CHANCES)
def test_a_picture_marks_as_many_as_the_sentence_beside_it_says(inside, outside):
    picture = people_picture(inside, outside)
    per, mine, strangers = (
        int(n.replace(",", ""))
        for n in re.search(
            r"of ([\d,]+) people in the data (\d+) .*who are not in it, (\d+)",
            against_strangers(inside, outside, "{} are found"),
        ).groups()
    )
    assert picture.count("<circle") == per
    assert picture.count('"extra"') == max(mine - strangers, 0)
    assert picture.count('"extra"') + picture.count('"anyway"') == mine
    assert mine - strangers == pytest.approx((inside - outside) * per / 100, abs=1.0)


def test_a_difference_is_not_made_by_rounding():
    assert "adds about 13" in against_strangers(4.58, 3.33, "{} seem to be found", "adds")


def test_without_strangers_nobody_is_marked_as_the_files_doing():
    picture = people_picture(12.0, None)
    assert (picture.count('"either"'), picture.count('"extra"'), picture.count('"anyway"')) == (12, 0, 0)
