"""Linked tables in every way: an exact rational audit over all tables together finds no protected cell."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from dalenius.tables import SmallCount, define, protect_linked
from tests import LONG
from tests.tables.exact import computable
from tests.tables.random_linked import WAYS, random_linked

made = lru_cache(maxsize=500)(random_linked)
"""The models of one block, which all ways share."""


def leaks(seed: int, how: str) -> list[int]:
    """Protected cells that follow from everything published, unless the outcome itself says that it is unsafe."""
    model, rule = made(seed)
    whole = protect_linked(model, rule, how=how).combined
    if whole.checked is not None and not whole.checked.passed:
        with pytest.raises(Exception, match="not handed out"):
            whole.to_frame()
        return []
    primary = [int(i) for i in np.flatnonzero(whole.primary) if model.sizes[i]]
    return computable(model.matrix, ~whole.suppressed, primary)


@pytest.mark.parametrize("how", WAYS)
def test_nothing_follows_from_all_tables_together(how):
    assert [seed for seed in range(12) if leaks(seed, how)] == []


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("first", range(0, 5000, 500) if LONG else [0])
def test_nothing_follows_in_many_models(how, first):
    """In blocks, so that a run that is cut off still tells how far it came."""
    assert [seed for seed in range(first, first + (500 if LONG else 100)) if leaks(seed, how)] == []


@pytest.mark.parametrize("how", WAYS)
def test_the_smallest_leak(how):
    """Agri is 2; public and Gov are the same people under two names."""
    data = {
        "sector4": ["Agri", "Ent", "Ind", "Gov"],
        "sector2": ["private"] * 3 + ["public"],
        "n": [2, 30, 20, 10],
    }
    model = define(data, tables={"two": "~ sector2", "four": "~ sector4"}, freq="n")
    result = protect_linked(model, SmallCount(3), how=how)
    whole = result.combined
    assert whole.checked.passed
    assert not computable(model.matrix, ~whole.suppressed, np.flatnonzero(whole.primary))
    status = dict(zip(model.cells["sector4"], whole.suppressed, strict=True))
    assert status["public"] == status["Gov"]
    assert result.disagreeing == 0
