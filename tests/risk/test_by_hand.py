"""Small cases worked out by hand: what the headline figure is when there is more than one to choose from."""

from __future__ import annotations

from dalenius import Pair
from dalenius.risk import disco, replicated_rows

ORIGINAL = {"k": ["a", "a", "b", "c"], "safe": [1, 2, 3, 4], "open": ["x", "x", "y", "z"]}
PROTECTED = {"k": ["a", "a", "b", "c"], "safe": [9, 8, 7, 6], "open": ["x", "x", "y", "y"]}


def test_the_worst_target_is_the_headline():
    result = disco(Pair(ORIGINAL, PROTECTED, keys=["k"], targets=["safe", "open"]))
    assert result.value == 75.0
    assert result.table["target"].to_list() == ["open", "safe"]
    assert result.values == {"open": 75.0, "safe": 0.0}


def test_protected_uniques_in_the_original():
    rows = replicated_rows(Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]}), ["a"])
    assert rows.table["number"].to_list() == [1, 3, 2, 1]
    assert rows.kept.to_frame() == {"a": ["y", "z"]}
