"""Tables of the census' structure: number and places of suppressed cells equal a second elimination in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.tables import SmallCount, define, protect
from tests.tables.census import TABLES, eliminate, people


def checksum(suppressed) -> tuple[int, int]:
    """Number of suppressed cells, and the sum of their places counted from 1."""
    places = np.flatnonzero(suppressed) + 1
    return len(places), int(places.sum())


@pytest.mark.parametrize("small", ["none", "anysum"])
@pytest.mark.parametrize("table", TABLES)
def test_checksums(table, small):
    data = people(500, 18, seed=3)
    model = define(data, formula=TABLES[table], extend0=False)
    result = protect(model, SmallCount(3, protect_zeros=False), small=small, repair=False)
    secondary = eliminate(model.matrix, result.order, result.primary, model.counts == 1, small == "anysum")
    expected = result.primary.copy()
    expected[list(secondary)] = True
    assert result.secondary.any() or table == "t4"
    assert checksum(result.suppressed) == checksum(expected)
    assert np.array_equal(result.suppressed, expected)


@pytest.mark.slow
@pytest.mark.parametrize("small", ["none", "anysum"])
def test_checksums_of_all_four_tables_together(small):
    model = define(people(700, 24, seed=4), tables=TABLES, extend0=False)
    result = protect(model, SmallCount(3, protect_zeros=False), small=small, repair=False)
    secondary = eliminate(model.matrix, result.order, result.primary, model.counts == 1, small == "anysum")
    expected = result.primary.copy()
    expected[list(secondary)] = True
    assert checksum(result.suppressed) == checksum(expected)
