"""The chart of components draws squares of many records only, also when that leaves none."""

from __future__ import annotations

import numpy as np

from dalenius.counts.pair import Pair
from dalenius.utility.components import principal_components


def drawn(rows: int) -> list[dict]:
    rng = np.random.default_rng(1)
    data = {name: rng.normal(size=rows) for name in "abc"}
    spec = principal_components(Pair(data, data)).chart().to_dict()
    return [row for rows in spec["datasets"].values() for row in rows]


def test_no_square_for_few_records():
    many = drawn(4000)
    assert many
    assert min(row["share"] for row in many) >= Pair({"a": [1]}, {"a": [1]}).threshold / 4000
    assert drawn(30) == []
