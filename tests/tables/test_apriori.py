"""A priori files of τ-ARGUS: statuses, costs and levels take effect; faults come in one list."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.tables import SmallCount, TableError, define, protect, read_apriori


@pytest.fixture
def model():
    data = {"a": list("xxxyyyzzz"), "b": list("pqr") * 3, "n": [2, 30, 40, 50, 60, 70, 80, 90, 95]}
    return define(data, by=["a", "b"], freq="n")


def known(model, tmp_path, text):
    (tmp_path / "k.hst").write_text(text, encoding="utf-8")
    return read_apriori(tmp_path / "k.hst", model)


def protected(model, found):
    return protect(model, *found.rules(SmallCount(3)), forced=found.forced, usefulness=found.usefulness)


def cell(model, a, b):
    return int(model.find(a=a, b=b)[0])


def test_statuses(model, tmp_path):
    plain = protect(model, SmallCount(3))
    secondary = int(np.flatnonzero(plain.secondary)[0])
    a, b = model.cells.row(secondary)
    found = known(model, tmp_path, f"x,p,s\nz , r, U\n{a},{b},p\n")
    result = protected(model, found)
    assert np.flatnonzero(result.primary).tolist() == [cell(model, "z", "r")]
    assert not result.suppressed[secondary]
    assert result.is_safe


def test_costs_decide_which_cells_go(model, tmp_path):
    plain = protect(model, SmallCount(3))
    dear = "".join(
        f"{a};{b};c;100000\n"
        for (a, b), gone in zip(model.cells.iter_rows(), plain.secondary, strict=True)
        if gone
    )
    result = protected(model, known(model, tmp_path, dear))
    assert (plain.secondary & ~result.suppressed).sum() >= 2  # the rectangle moves away from the dear cells
    assert result.is_safe


def test_protection_levels_are_met(model, tmp_path):
    found = known(model, tmp_path, "z\tr\tu\nz\tr\tpl\t20\t25\n")
    result = protected(model, found)
    bounds = result.audit(intervals="exact")
    place = cell(model, "z", "r")
    high = bounds.intervals.high[bounds.intervals.cells == place]
    assert high[0] >= 95 + 25


def test_faults_in_one_list(model, tmp_path):
    lines = ["x,p,u", "x,nowhere,u", "x,p", "x,p,c", "x,p,pl,1,2,3", "x,p,c,-1", "x,p,c,inf", "x"]
    with pytest.raises(TableError) as caught:
        known(model, tmp_path, "\n".join(lines))
    assert [fault.split(":")[0] for fault in caught.value.faults] == [f"line {i}" for i in range(2, 9)]
    with pytest.raises(TableError, match="and 80 more"):
        known(model, tmp_path, "no,where,u\n" * 100)
