"""A repaired table keeps what the elimination closed, and of the rest only what is needed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from dalenius.tables import define, protect
from dalenius.tables import release as opening
from dalenius.tables import repair as mending
from dalenius.tables import union_programs as programs
from dalenius.tables.protected import first_of_kind, signatures

ZONES = dict(zip("abcdef", "NNSSTU", strict=True))


def firms(seed: int, rows: int = 400) -> dict[str, Any]:
    """Firms by area and sector, four of them giants; zones T and U have one area each."""
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abcdef"), rows, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]).tolist()
    sector = rng.choice(list("uvwxyz"), rows, p=[0.3, 0.3, 0.2, 0.1, 0.07, 0.03]).tolist()
    value = np.exp(rng.normal(5, 1, rows)).round(1)
    value[rng.choice(rows, 4, replace=False)] *= 200
    zone = [ZONES[each] for each in area]
    return {"area": area, "zone": zone, "sector": sector, "v": value.tolist(), "firm": list(range(rows))}


@cache
def outcome(opened: bool) -> Any:
    model = define(firms(4), by=["area", "zone", "sector"], value="v", contributor="firm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mending, "completed", lambda bare, found, check: (bare, found))
        if not opened:
            patch.setattr(mending, "released", lambda bare, final, checked, check: (final, checked))
        return protect(model)


def test_opening_saves_cells_and_the_table_stays_safe():
    before, after = outcome(opened=False), outcome(opened=True)
    bare = protect(before.model, repair=False)
    assert before.is_safe
    assert after.audit().passed
    assert after.suppressed.sum() < before.suppressed.sum()
    assert after.suppressed[bare.suppressed].all()
    assert f"asked for {(after.suppressed & ~bare.suppressed).sum()} further cells" in str(after)


def test_every_cell_that_the_repair_left_closed_is_needed():
    after = outcome(opened=True)
    bare = protect(after.model, repair=False)
    groups = opening._groups(bare, after)
    assert groups
    for cells in groups:
        secondary = after.secondary.copy()
        secondary[cells] = False
        assert not replace(after, secondary=secondary, checked=None).audit().passed


def test_cells_of_the_same_content_share_their_fate():
    after = outcome(opened=True)
    kind = first_of_kind(signatures(after.model.matrix))
    filled = after.model.sizes > 0
    assert len(np.unique(kind[filled])) < filled.sum()
    assert (after.suppressed == after.suppressed[kind])[filled].all()


def test_nothing_is_opened_where_the_audit_leaves_something_out(monkeypatch):
    monkeypatch.setattr(programs, "MOST_ROWS", 1)
    monkeypatch.setattr(mending, "completed", lambda bare, found, check: (bare, found))
    model = define(firms(4), by=["area", "sector"], value="v", contributor="firm")
    after = protect(model)
    monkeypatch.setattr(mending, "released", lambda bare, final, checked, check: (final, checked))
    assert not after.checked.unions.complete
    assert (after.suppressed == protect(model).suppressed).all()


def test_a_dear_repair_points_to_other_ways():
    assert "tables compare" in mending._told(10, 20)
    assert "tables compare" not in mending._told(2, 4)
    assert "tables compare" not in mending._told(4, 40)
