"""The audit: the paper's tables of what can be computed, requirements, repair, and tables made by others."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.core.errors import OptionError
from dalenius.published.enough import enough_for
from dalenius.tables import (
    Disclosed,
    Dominance,
    FewContributors,
    KDisclosure,
    Manual,
    PPercent,
    Requirement,
    SingletonRules,
    SmallCount,
    audit,
    define,
    exposure,
    feasibility_intervals,
    protect,
    protect_linked,
    read_suppressed,
)
from tests.tables.test_paper import FIRMS2, OWNER3, PATTERNS3, PRIMARY3, ROWS3, firms, table3

VALUES3 = {
    "AgrP": 3.9,
    "AgrS": 122.3,
    "EntI": 2.7,
    "EntP": 12.2,
    "EntS": 109.1,
    "GovP": 64.8,
    "GovS": 15.5,
    "IndI": 45.6,
    "IndP": 83.9,
    "IndS": 2.3,
}
EXPOSED = {
    "none": ({(0, 1)}, "Ind|P Ind|S", "Ent|I Ent|P Gov|S", {(1, 2), (2, 1)}),
    "virtual": (set(), "Ind|P Ind|S", "Ent|I", {(1, 2)}),
    "within, top row": ({(0, 1)}, "", "Ent|I Ent|P", {(1, 2)}),
    "within, parallel": ({(0, 1)}, "", "", {(1, 2)}),
    "combinations": (set(), "", "", set()),
}


@pytest.mark.parametrize("pattern", EXPOSED)
def test_who_can_compute_what(pattern):
    """The paper's audit of Table 3: outsiders, contributor A (1) and contributor B (2)."""
    outside, by_a, by_b, sums = EXPOSED[pattern]
    names, matrix = table3()
    suppressed = np.isin(names, [*PATTERNS3[pattern][1].split(), *PRIMARY3])
    found = exposure(matrix, suppressed, np.array([OWNER3.get(row, 0) for row in ROWS3]))
    assert not found.outsider.any()
    assert {pair for pair in found.combinations if pair[0] == 0} == outside
    for who, expected in ((1, by_a), (2, by_b)):
        cells = {names[i] for i in found.by_contributor.get(who, [])} & set(PRIMARY3)
        assert cells == set(expected.split())
    assert set(found.sums) == sums
    if pattern == "combinations":
        assert not found.combinations


def test_intervals_of_table_3():
    names, matrix = table3()
    inner = np.array([VALUES3[a + b] for a, b in ROWS3])
    expected = {
        "none": {
            "Ent|I": (0, 14.9),
            "Ent|P": (0, 14.9),
            "Gov|S": (0, 17.8),
            "Ind|P": (65.7, 98.4),
            "Ind|S": (0, 17.8),
            "Gov|P": (62.5, 80.3),
            "Ind|I": (33.4, 48.3),
        },
        "combinations": {
            "Ent|I": (0, 48.3),
            "Ent|P": (0, 124),
            "Gov|S": (0, 212.1),
            "Ind|P": (0, 164.8),
            "Ind|S": (0, 212.1),
        },
    }
    for pattern, bounds in expected.items():
        suppressed = np.isin(names, [*PATTERNS3[pattern][1].split(), *PRIMARY3])
        found = feasibility_intervals(matrix, matrix.T @ inner, ~suppressed)
        shown = {
            names[i]: (low, high) for i, low, high in zip(found.cells, found.low, found.high, strict=True)
        }
        for cell, (low, high) in bounds.items():
            assert shown[cell] == pytest.approx((low, high), abs=1e-6)


def test_intervals_of_table_1():
    data = {"age": ["Yng"] * 3 + ["Old"] * 3, "geo": list("IPSIPS"), "n": [0, 0, 5, 6, 3, 4]}
    model = define(data, by=["age", "geo"], freq="n")
    leak = (
        protect(model, SmallCount(0), small="none", repair=False)
        .audit(intervals="exact", cells="suppressed")
        .cells
    )
    assert leak["low"].to_list() == leak["high"].to_list()
    safe = protect(model, SmallCount(0)).audit(intervals="exact", cells="suppressed")
    got = {tuple(r[:2]): r[2:4] for r in safe.cells.iter_rows()}
    assert got[("Yng", "I")] == (0, 5)
    assert got[("Yng", "P")] == (0, 3)
    assert got[("Old", "I")] == (1, 6)
    assert got[("Old", "S")] == (4, 9)
    assert safe.passed


def test_what_can_be_computed_fails_the_audit_without_any_interval():
    model = define({"a": list("xyz"), "n": [2, 30, 20]}, by="a", freq="n")
    alone = Disclosed.of(protect(model, SmallCount(3)))
    hidden = np.array([cell == "x" for cell in model.cells.to_series()])
    leak = replace(alone, suppressed=hidden, primary=hidden)  # the total and the others give it away
    found = audit(leak, intervals="none")
    assert not found.passed
    assert found.at_risk["reason"].to_list() == ["can be computed exactly"]
    assert audit(alone, intervals="none").passed


def test_intruders_who_know_every_cell_to_within_a_share():
    model = define({"a": list("wxyz"), "v": [10.0, 20.0, 40.0, 80.0]}, by="a", value="v")
    hidden = np.array([cell in ("w", "x") for cell in model.cells.to_series()])
    result = replace(Disclosed.of(protect(model, Manual(hidden))), suppressed=hidden)
    free = audit(result, intervals="exact").cells
    assert free.select("low", "high").rows() == [(0, 30), (0, 30)]
    near = audit(result, intervals="exact", prior=20).cells  # w in 8-12, x in 16-24, together 30
    assert near.select("low", "high").rows() == [pytest.approx((8, 12)), pytest.approx((18, 22))]


def test_repair_widens_intervals_until_the_rule_is_met():
    model = define(firms(FIRMS2), ["sector", "country"], value="value", contributor="company")
    plain = protect(model, PPercent(30), singleton=SingletonRules.none(), repair=False)
    fixed = protect(model, PPercent(30), singleton=SingletonRules.none())
    assert not plain.audit().passed
    assert fixed.audit().passed
    assert fixed.primary.tolist() == plain.primary.tolist()
    assert fixed.suppressed.sum() > plain.suppressed.sum()


def test_repair_to_a_wider_range():
    rng = np.random.default_rng(2)
    data = {
        "r": np.repeat(list("abcdef"), 5).tolist(),
        "c": list("vwxyz") * 6,
        "n": rng.poisson(6, 30).tolist(),
    }
    model = define(data, ["r", "c"], freq="n")
    asked = Requirement(range_min=8)
    assert not protect(model, SmallCount(2)).audit(requirement=asked).passed
    assert protect(model, SmallCount(2), repair=True, requirement=asked).audit(requirement=asked).passed


def test_negative_values_are_noted():
    data = {"a": ["x", "y", "z"], "v": [5.0, -3.0, 9.0]}
    found = protect(define(data, by="a", value="v"), Dominance([(1, 90)])).audit()
    assert "negative" in str(found)


def test_differences_are_audited():
    data = {"town": ["a", "a", "b", "b", "c", "c"], "ill": ["y", "n"] * 3, "n": [5, 0, 4, 3, 6, 2]}
    model = define(data, by=["town", "ill"], freq="n")
    result = protect(model, KDisclosure(0), order="disclosure")
    assert result.suppressed.any()
    assert audit(result).passed


def test_table_suppressed_by_others():
    table = {"r": ["Total", "a", "b", "c"] * 3, "c": ["Total"] * 4 + ["x"] * 4 + ["y"] * 4,
             "n": ["30", "10", "9", "11", "15", "c", "c", "6", "15", "c", "c", "5"]}  # fmt: skip
    safe = audit(read_suppressed(table, ["r", "c"], "n"), intervals="exact")
    assert safe.passed
    assert safe.cells["low"].to_list() == [0, 0, 1, 0]
    leak = dict(table, n=[*table["n"][:5], "4", *table["n"][6:]])
    found = audit(read_suppressed(leak, ["r", "c"], "n"))
    assert not found.passed
    assert len(found.at_risk) == 3
    assert set(found.at_risk["reason"]) == {"can be computed exactly"}


def test_earlier_releases_are_respected():
    """A later table is protected together with what is already published."""
    rng = np.random.default_rng(4)
    data = {"year": np.repeat(["2023", "2024"], 12).tolist(), "r": list("abcd") * 6, "s": list("xxxxyyyyzzzz") * 2,
            "n": rng.poisson(5, 24).tolist()}  # fmt: skip
    model = define(data, tables={"first": "~ r:s:year + year", "second": "~ r:year + s:year"}, freq="n")
    result = protect_linked(model, SmallCount(3), how="chained")
    alone = protect(model.restrict(model.tables["first"]), SmallCount(3))
    assert result.tables["first"].suppressed.tolist() == alone.suppressed.tolist()
    assert not audit(result.combined, intervals="none").exposed.outsider[result.combined.primary].any()


def test_contributors_narrow_intervals_with_their_own_value():
    """Four firms, one a cell: whoever knows its own cell knows what the other three add up to."""
    data = {"a": list("wxyz"), "firm": list("ABCD"), "v": [10.0, 20.0, 30.0, 40.0]}
    model = define(data, by="a", value="v", contributor="firm")
    result = protect(model, FewContributors(1))
    outside = audit(result, intervals="exact", requirement=Requirement(range_min=70))
    assert outside.passed
    assert outside.intervals.high.tolist() == [100.0] * 4
    inside = audit(result, requirement=Requirement(range_min=70), contributors="intervals")
    assert not inside.passed
    seen = inside.insiders.table(result.model.cells)
    assert set(seen["intruder"]) == {4}  # D knows 40 of 100 and sees 60 left; A to C see 70 or more
    assert seen["high"].to_list() == [60.0] * 3
    assert set(inside.at_risk["reason"]) == {"its interval is too narrow for a contributor"}
    assert "see too narrow an interval" in str(inside)


def test_bounds_of_insiders_equal_fresh_programs():
    rng = np.random.default_rng(8)
    data = {"r": rng.choice(list("abcde"), 40).tolist(), "c": rng.choice(list("vwxyz"), 40).tolist(),
            "firm": rng.choice(list("ABCDEFGHIJ"), 40).tolist(),
            "v": rng.gamma(1.0, 30.0, 40).round(1).tolist()}  # fmt: skip
    model = define(data, ["r", "c"], value="v", contributor="firm")
    result = protect(model, FewContributors(1))
    table = Disclosed.of(result)
    places = np.flatnonzero(result.primary)
    huge = Requirement(range_min=1e9)  # nothing is wide enough, so all bounds are exact
    found = audit(result, requirement=huge, contributors="intervals").insiders
    assert len(found.cell) > 20
    for who in np.unique(found.intruder).tolist():
        rows = np.flatnonzero(table.owners == who)
        known = sp.csc_matrix(
            (np.ones(len(rows)), (rows, np.arange(len(rows)))), (len(table.owners), len(rows))
        )
        fresh = feasibility_intervals(
            table.matrix, table.amounts, table.published, places, extra=(known, table.inner[rows])
        )
        mine = found.intruder == who
        at = np.searchsorted(places, found.cell[mine])
        np.testing.assert_allclose(found.low[mine], fresh.low[at], atol=1e-5)
        np.testing.assert_allclose(found.high[mine], fresh.high[at], atol=1e-5)


def test_coalitions_pool_what_they_know():
    data = {"a": list("xyz"), "firm": list("ABC"), "v": [4.0, 5.0, 9.0]}
    result = protect(define(data, by="a", value="v", contributor="firm"), FewContributors(1))
    assert audit(result).passed
    pooled = audit(result, coalitions=[("A", "B")])
    assert not pooled.passed
    assert pooled.exposed.by_coalition[0].tolist() == [3]
    assert "1 coalitions can compute" in str(pooled)
    with pytest.raises(OptionError, match="are not contributors of this table"):
        audit(result, coalitions=[("A", "Nobody")])


def test_exact_bounds_do_not_depend_on_threads(monkeypatch):
    rng = np.random.default_rng(1)
    data = {"r": np.repeat([f"r{i}" for i in range(40)], 20).tolist(), "c": [f"c{i}" for i in range(20)] * 40,
            "n": (rng.poisson(3, 800) * (rng.random(800) < 0.7)).tolist()}  # fmt: skip
    result = protect(define(data, ["r", "c"], freq="n"), SmallCount(3))
    assert result.suppressed.sum() > 300
    found = []
    for threads in (1, 2):
        monkeypatch.setattr("dalenius.published.intervals.thread_count", lambda threads=threads: threads)
        found.append(audit(result, intervals="exact", cells="suppressed").intervals)
    assert found[0].low.tolist() == found[1].low.tolist()
    assert found[0].high.tolist() == found[1].high.tolist()
    told = []
    audit(
        result, intervals="exact", cells="suppressed", progress=lambda done, total: told.append((done, total))
    )
    assert told[-1][0] == told[-1][1] == int(result.suppressed.sum())
    assert len(told) > 2


def whole_number_table():
    """Counts whose linear intervals are half a person wide: only one whole number fits."""
    rng = np.random.default_rng(26)
    shape = rng.integers(2, 5), rng.integers(2, 6)
    depth, mean = rng.choice([1, 2, 3]), rng.choice([1, 2, 4, 8])
    cells = [(i, j, k) for i in range(shape[0]) for j in range(shape[1]) for k in range(depth)]
    n = rng.poisson(mean, len(cells)) * rng.integers(0, 2, len(cells)) + rng.integers(0, 3, len(cells))
    names = ("a", "b", "c")
    return define(
        {**{d: [f"{d}{c[i]}" for c in cells] for i, d in enumerate(names)}, "n": n}, by=list(names), freq="n"
    )


def test_counts_are_known_to_be_whole():
    model = whole_number_table()
    bare = protect(model, SmallCount(1), repair=False)
    assert (
        audit(bare, integer=False).intervals.low.tolist() != audit(bare, integer=True).intervals.low.tolist()
    )
    result = protect(model, SmallCount(1))
    assert result.is_safe
    table = result.model
    known = ~result.suppressed
    rows = sp.csr_matrix(table.matrix[:, np.flatnonzero(known)].T)
    for place in np.flatnonzero(result.primary & (table.sizes > 0)):
        goal = table.matrix[:, [place]].toarray().ravel().astype(float)
        ends = [
            milp(sign * goal, integrality=np.ones(len(goal)), bounds=Bounds(0, np.inf),
                 constraints=LinearConstraint(rows, table.amount[known], table.amount[known])).fun * sign
            for sign in (1, -1)
        ]  # fmt: skip
        assert round(ends[0]) < round(ends[1])


def test_an_interval_must_hold_two_whole_numbers():
    enough = enough_for(np.array([1.0, 1.0]), np.zeros(2), Requirement(), whole=True)
    assert enough.met(np.array([0.5, 0.0]), np.array([1.0, 1.0])).tolist() == [False, True]


def test_large_tables_say_what_was_left_out(monkeypatch):
    monkeypatch.setattr(sys.modules["dalenius.tables.audit"], "MOST_WHOLE", 5)
    found = audit(protect(whole_number_table(), SmallCount(1), repair=False))
    assert "integer=True" in str(found)


def test_a_difference_that_is_given_away_fails_the_audit():
    data = {"town": ["a", "a", "b", "b", "c", "c"], "ill": ["y", "n"] * 3, "n": [5, 0, 4, 3, 6, 2]}
    model = define(data, by=["town", "ill"], freq="n")
    found = audit(protect(model, KDisclosure(0), repair=False, forced=np.arange(len(model.cells))))
    assert len(found.failing) == 0
    assert found.differences.any()
    assert not found.passed
