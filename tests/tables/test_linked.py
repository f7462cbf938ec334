"""Ways to link tables: small tables on which they must differ, and what each of them promises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.tables import SmallCount, define, protect, protect_linked
from dalenius.tables.gauss import gauss_suppress
from dalenius.tables.linked import table_of
from tests.tables.exact import Span, computable

PAIRS = {"one": ["area", "sex"], "two": ["area", "job"], "three": ["sex", "job"]}
ONES = SmallCount(2, protect_zeros=False)


def three_way(counts, shape):
    index = np.indices(shape).reshape(3, -1)
    codes = {
        name: [f"{name[0]}{i}" for i in row] for name, row in zip(("area", "sex", "job"), index, strict=True)
    }
    return define({**codes, "n": counts}, tables=PAIRS, freq="n", nested=False)


def run(model, how, rule=ONES):
    return protect_linked(model, rule, how=how, small="none", repair=False)


def joined_leaks(model, result):
    """Primary cells that follow once common cells are known to have the same value in every table."""
    parts = {name: table_of(model, mask) for name, mask in model.tables.items()}
    cell = np.concatenate([np.flatnonzero(mask) for mask in model.tables.values()])
    matrix = sp.block_diag([part.matrix for part in parts.values()]).toarray()
    suppressed = np.concatenate([result.tables[name].suppressed for name in parts])
    primary = np.concatenate([result.tables[name].primary for name in parts])
    known = Span(matrix[:, j] for j in np.flatnonzero(~suppressed))
    for j, c in enumerate(cell):
        known.add(matrix[:, j] - matrix[:, int(np.flatnonzero(cell == c)[0])])
    return [int(cell[j]) for j in np.flatnonzero(primary) if matrix[:, j] in known]


def own_leaks(result):
    """Suppressed common cells that follow from the published cells of a single table."""
    return [
        (name, j)
        for name, part in result.tables.items()
        for j in computable(part.model.matrix, ~part.suppressed, np.flatnonzero(part.suppressed))
    ]


def test_local_lets_common_cells_differ():
    model = three_way([3, 1, 0, 2, 0, 0, 0, 2], (2, 2, 2))
    assert run(model, "local").disagreeing == 2
    for how in ("back-tracking", "consistent", "super-consistent", "global"):
        assert run(model, how).disagreeing == 0


@pytest.mark.parametrize("seed", range(12))
def test_local_in_one_run_is_local(seed):
    counts = np.random.default_rng(seed).poisson(1.2, 12).tolist()
    model = three_way([*counts[:-1], counts[-1] + 1], (3, 2, 2))
    apart, together = run(model, "local"), run(model, "local-bdiag")
    for name in model.tables:
        assert apart.tables[name].suppressed.tolist() == together.tables[name].suppressed.tolist()


def test_consistent_protects_common_cells_in_every_table():
    model = three_way([1, 1, 1, 0, 0, 0, 0, 3, 0, 0, 1, 0], (2, 2, 3))
    consistent, tracked = run(model, "consistent"), run(model, "back-tracking")
    assert not own_leaks(consistent)
    assert not own_leaks(tracked)
    # Back-tracking ends up with one cell more here: it cannot take back what an earlier round suppressed.
    assert (consistent.combined.suppressed.sum(), tracked.combined.suppressed.sum()) == (16, 17)


def test_super_consistent_knows_that_common_cells_are_equal():
    model = three_way([0, 1, 2, 2, 0, 0, 0, 1], (2, 2, 2))
    weaker, stronger = run(model, "consistent"), run(model, "super-consistent")
    assert joined_leaks(model, weaker)
    assert not joined_leaks(model, stronger)
    assert (weaker.combined.suppressed.sum(), stronger.combined.suppressed.sum()) == (12, 13)


def test_only_global_sees_a_sum_of_another_tables_cells():
    """North is p + q, but only one table has p and q and only the other has North."""
    data = {"area": list("pqrt"), "zone": ["North", "North", "Mid", "Mid"], "n": [2, 9, 5, 8]}
    model = define(data, tables={"areas": "~ area", "zones": "~ zone"}, freq="n")
    primary = np.flatnonzero(model.frequency == 2)
    for how, safe in (("super-consistent", False), ("consistent", False), ("global", True)):
        whole = run(model, how).combined
        assert (not computable(model.matrix, ~whole.suppressed, primary)) == safe


def test_the_same_people_under_another_name_are_a_common_cell():
    """Area r and zone South are the same people, so their cells go together although their codes differ."""
    data = {"area": list("pqr"), "zone": ["North", "North", "South"], "n": [20, 9, 2]}
    model = define(data, tables={"areas": "~ area", "zones": "~ zone"}, freq="n")
    result = run(model, "consistent")
    r, south = int(model.find(area="r")[0]), int(model.find(area="South")[0])
    assert result.combined.suppressed[[r, south]].all()


def test_groups_of_cells_as_in_the_r_documentation():
    counts = np.array([1, 1, 1, 5, 5, 9, 9, 9, 9, 9, 0, 0, 0, 7, 7])
    rows = [(a, b) for a in range(3) for b in range(5)]
    cells = [(None, None), *((a, None) for a in range(3)), *((None, b) for b in range(5)), *rows]
    matrix = np.array([[int(r in (None, a) and c in (None, b)) for r, c in cells] for a, b in rows])
    values = matrix.T @ counts
    order = np.concatenate([np.flatnonzero(values == 0), np.flatnonzero(values > 0)])
    groups = np.zeros(24, np.int64)
    groups[[15, 19, 20]], groups[[9, 3]] = 1, 2
    assert gauss_suppress(matrix, order, [9, 10, 11]).secondary.tolist() == [14, 15, 16]
    found = gauss_suppress(matrix, order, [9, 10, 11], groups=groups).secondary
    assert sorted(found.tolist()) == [2, 3, 5, 8, 14, 16, 23]


def test_unknown_ways_and_single_tables_are_refused():
    model = three_way([1] * 8, (2, 2, 2))
    with pytest.raises(OptionError, match="unknown way"):
        run(model, "magic")
    with pytest.raises(OptionError, match="one table"):
        run(define({"a": ["x", "y"]}, by="a"), "global")


@pytest.mark.parametrize("how", ["global", "local", "consistent", "super-consistent", "back-tracking"])
def test_every_table_carries_the_verdict_over_all_of_them(how):
    data = {"sex": list("ffmm"), "job": list("abab"), "age": list("yooy"), "n": [2, 9, 8, 7]}
    model = define(data, tables={"jobs": ["sex", "job"], "ages": ["sex", "age"]}, freq="n")
    outcome = protect_linked(model, SmallCount(3), how=how)
    assert all(part.checked is outcome.combined.checked for part in outcome.tables.values())


def test_a_table_nobody_audited_is_audited_when_it_is_handed_out():
    data = {"age": ["y"] * 3 + ["o"] * 3, "geo": list("IPSIPS"), "n": [0, 0, 5, 6, 3, 4]}
    leaky = protect(define(data, by=["age", "geo"], freq="n"), SmallCount(0), small="none", repair=False)
    with pytest.raises(DataError, match="not safe"):
        leaky.to_frame()
