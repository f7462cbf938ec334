"""Other tables that fit: every one that is shown keeps every published sum, and cells are refuted by them alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from dalenius.published import Published, cpsat, fit, varying, whole
from dalenius.published.circuits import Circuits
from dalenius.published.ends import Ends
from dalenius.published.system import System
from dalenius.published.walking import Walker


def crossed(ways, rows=60, seed=3):
    rng = np.random.default_rng(seed)
    data = {name: rng.choice(list("abc")[:size], rows).tolist() for name, size in
            (("x", 3), ("y", 3), ("z", 2), ("w", 2))}  # fmt: skip
    return Published.count(data, list(combinations(data, ways)))


def first(system):
    ends = Ends.of(system, *system.bounds(), 2000, 1)
    assert ends.solution is not None
    return ends


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_a_walk_moves_and_keeps_every_table(ways):
    """Where every pair of columns is published, no swap of two records keeps all tables, but moves of four do."""
    system = System.of(crossed(ways))
    walker = Walker.of(system, first(system).solution, seed=1)
    assert walker.steps(20_000) > 0
    assert system.keeps(walker.counts).all()
    assert (walker.counts >= 0).all()
    found = fit(system.published)
    assert (walker.low >= found.low).all()
    assert (walker.high <= found.high).all()


def test_known_moves_are_made_where_nobody_is_missing():
    system = System.of(Published.count({"a": list("xy"), "b": list("pq")}, [["a"], ["b"]]))
    walker = Walker.of(system, np.array([1, 0, 0, 1]), seed=1)
    walker.add(np.array([-1, 1, 1, -1]))
    walker.steps(2_000)
    assert (walker.low.tolist(), walker.high.tolist()) == ([0, 0, 0, 0], [1, 1, 1, 1])
    walker.jump(np.array([0, 1, 1, 0]))
    assert walker.counts.tolist() == [0, 1, 1, 0]


def test_the_smallest_change_through_a_cell_keeps_every_sum():
    system = System.of(crossed(2))
    begun, found = first(system), fit(system.published)
    circuits = Circuits(system, found.low, found.high)
    circuits.start(begun.solution, np.random.default_rng(1))
    met = 0
    for cell in np.flatnonzero(found.low < found.high).tolist():
        change = circuits.through(cell)
        if change is not None:
            met += 1
            assert change[cell] != 0
            assert not (system.rows @ change).any()
    assert met > 3


def test_a_range_may_move_inside_itself():
    rounded = Published.from_tables(
        {"r": {"a": ["x", "y"], "n": [3, 6]}}, kind="rounded", base=3
    ) | Published.from_tables({"t": {"a": ["Total"], "n": [9]}}, domains={"a": ["x", "y"]})
    system = System.of(rounded)
    circuits = Circuits(system, *system.bounds())
    circuits.start(np.array([3, 6]), np.random.default_rng(1))
    assert circuits.through(0) is None  # it changes rounded sums, so it is no move that holds elsewhere
    found = fit(rounded)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 4], [5, 8])


@pytest.mark.parametrize("small", [0, 10**6])
def test_one_cell_is_held_between_two_counts(monkeypatch, small):
    if not small and not cpsat.available():
        pytest.skip("OR-Tools is not installed")
    monkeypatch.setattr(whole, "SMALL", small)
    system = System.of(Published.count({"a": list("xxy"), "b": list("pqq")}, [["a"], ["b"]]))
    asked = whole.Whole(system, *system.bounds(), 100)
    try:
        assert asked.ask(within=(0, 0, 0))[1].tolist() == [0, 2, 1, 0]
        assert asked.ask(within=(0, 2, 2)) == ("none", None)
        status, table = asked.ask({0: 1})  # held for one question, not for good
        assert (status, int(table[0])) == ("best", 1)
    finally:
        asked.close()


@pytest.mark.parametrize("way", ["_by_circuits", "_by_programs", "both"])
def test_each_way_alone_comes_to_the_same(monkeypatch, way):
    out = crossed(2, rows=25)
    plain = fit(out, bounds=False)
    for name in ("_by_circuits", "_by_programs"):
        if name != way:
            monkeypatch.setattr(varying, name, lambda *_: None)
    monkeypatch.setattr(varying.Walker, "of", lambda *_: None)
    other = fit(out, bounds=False)
    assert (other.proved == plain.proved).all()
    assert not other.undecided.any()


@pytest.mark.parametrize("bounds", [True, False])
def test_whole_numbers_prove_what_fractions_do_not(bounds):
    """Two triangles of which every side holds one person at most: three halves each by fractions, one by people."""
    sides = [(1, 2), (2, 3), (1, 3), (4, 5), (5, 6), (4, 6)]
    rows = np.zeros((7, 7), np.int64)
    for number, side in enumerate(sides):
        rows[number, side] = 1
    rows[6] = 1
    low, high = np.array([0] * 6 + [3]), np.array([1] * 6 + [3])
    published = Published.count({"a": list("xy")}, [["a"]])
    system = System(published, np.arange(7), sp.csr_matrix(rows), low, high, np.zeros((7, 2), np.int64))
    ends = Ends.of(system, np.zeros(7, np.int64), np.ones(7, np.int64), 2000, 1, walk=False)
    ends.search(bounds)
    ends.whole.close()
    assert not ends.undecided.any()
    assert (ends.low.tolist(), ends.high.tolist()) == ([1] + [0] * 6, [1] * 7)
