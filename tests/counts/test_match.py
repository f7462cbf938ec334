"""Who shares a combination of keys: counted by hand."""

from __future__ import annotations

import pytest

from dalenius import Pair
from dalenius.core.errors import DataError, OptionError
from dalenius.counts.match import check_keys

ORIGINAL = {"a": ["x", "y", "z", "z", "w"], "t": [1, 2, 3, 4, 5]}
PROTECTED = {"a": ["x", "y", "y", "z", "v"], "t": [1, 2, 3, 4, 5]}


def test_single_in_both_means_exactly_one_and_one():
    figures = Pair(ORIGINAL, PROTECTED).match(["a"]).figures
    assert figures == {"UiO": 60.0, "UiS": 60.0, "UiOiS": 40.0, "repU": 20.0}


def test_the_holdout_is_counted_by_itself():
    match = Pair(ORIGINAL, PROTECTED, {"a": ["x", "x", "y", "z"], "t": [1, 2, 3, 4]}).match(["a"])
    assert match.holdout.sum() == 4
    assert sorted(match.holdout.tolist()) == [0, 0, 1, 1, 2]
    assert Pair(ORIGINAL, PROTECTED).match(["a"]).holdout.sum() == 0


@pytest.mark.parametrize(
    ("keys", "target", "message"),
    [
        ([], None, "no keys"),
        (["a", "a"], None, "twice"),
        (["a", "t"], "t", "among the keys"),
        (["b"], None, "not in both files"),
    ],
)
def test_impossible_keys(keys, target, message):
    with pytest.raises((OptionError, DataError), match=message):
        check_keys(Pair(ORIGINAL, PROTECTED), keys, target)
