"""The cells that a repair adds to a small table are chosen by programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dalenius.tables import SmallCount, define, protect
from dalenius.tables import completion as choosing
from dalenius.tables import repair as mending
from tests.tables.test_release import firms


@pytest.mark.parametrize(("seed", "safe"), [pytest.param(12, False, marks=pytest.mark.slow), (10, True)])
def test_programs_need_fewer_cells_than_the_elimination(seed, safe, monkeypatch, capfd):
    model = define(firms(seed), by=["area", "sector"], value="v", contributor="firm")
    bare, chosen = protect(model, repair=False), protect(model)
    assert capfd.readouterr().out == ""  # a solver in trouble would write into the answer for machines
    assert not bare.audit().passed
    assert chosen.audit().passed
    assert chosen.suppressed[bare.suppressed].all()
    monkeypatch.setattr(choosing, "MOST_ENTRIES", 0)
    eliminated = protect(model)
    assert eliminated.is_safe == safe  # in the first file the elimination finds no way out
    assert chosen.suppressed.sum() < eliminated.suppressed.sum()


def programs(forced=None):
    """One row of five counts, of which the first is closed, and the total; 0 and what is forced cannot be closed."""
    model = define({"a": list("vwxyz"), "n": [1, 4, 6, 0, 9]}, by="a", freq="n")
    bare = protect(model, SmallCount(3, protect_zeros=False), repair=False, forced=forced)
    return model, bare, choosing._Programs.of(bare)


def closed_for(target, **given):
    model, _, made = programs(**given)
    start = np.zeros(made.sums.shape[0], np.bool_)
    start[made.column[1]] = True
    found = made._solved(target, start)
    return None if found is None else model.cells["a"].filter(found[made.column]).to_list()


def cell(*rows):
    return sp.csc_matrix(np.isin(np.arange(5), rows).astype(float)[:, None])


def test_one_cell_more_is_enough_and_it_is_the_least_useful_that_can_change_as_much():
    assert closed_for(choosing.Target(cell(0), up=2.0, width=1.0)) == ["v", "w"]
    assert closed_for(choosing.Target(cell(0), up=5.0, width=1.0)) == ["v", "x"]  # w has 4 only
    assert closed_for(choosing.Target(cell(0), up=5.0, down=1.0, width=6.0)) == ["v", "x"]
    assert closed_for(choosing.Target(cell(0), up=100.0, width=1.0)) == ["Total", "v"]
    assert closed_for(choosing.Target(cell(0), down=2.0, width=1.0)) is None  # it is 1


def test_forced_cells_stay_open_and_what_a_contributor_knows_is_no_cover():
    assert closed_for(choosing.Target(cell(0), width=1.0), forced=[2]) == ["v", "x"]
    assert closed_for(choosing.Target(cell(0))) == ["v", "w"]
    assert closed_for(choosing.Target(cell(0), known=np.array([1]))) == ["v", "x"]
    assert closed_for(choosing.Target(cell(0), known=np.array([0]))) is None


@pytest.mark.slow
def test_without_a_way_by_programs_the_elimination_goes_on(monkeypatch):
    model = define(firms(4), by=["area", "sector"], value="v", contributor="firm")
    monkeypatch.setattr(choosing._Programs, "_solved", lambda self, target, closed: None)
    stuck = protect(model)
    monkeypatch.setattr(mending, "completed", lambda bare, found, check: (bare, found))
    assert stuck.is_safe
    assert (stuck.suppressed == protect(model).suppressed).all()
