"""The worked examples B to I of the specification, the register's coverage, and the shapes that must hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.outputs import Desk, Dimension, Policy, Query, collect, judge, register
from dalenius.outputs.checks import CHECKS
from dalenius.outputs.concentration import gini, herfindahl


@pytest.fixture(scope="module")
def grid() -> pd.DataFrame:
    """Example B: 81 combinations with 11 records each, 5 where factor 1, 3 and 4 are C."""
    rows = []
    for combination in product("ABC", repeat=4):
        few = combination[0] == combination[2] == combination[3] == "C"
        rows += [(*combination, y) for y in range(5 if few else 11)]
    return pd.DataFrame(rows, columns=["f1", "f2", "f3", "f4", "y"])


def test_b_grid(grid):
    assert len(grid) == 873
    four = Desk().table(grid, ["f1", "f2", "f3", "f4"])
    assert four.status == "fail"
    assert int(four.flagged.sum()) == 3
    assert sorted(set(four.judged.evidence.number.tolist())) == [5, 11]
    two = Desk().table(grid, ["f1", "f2"])
    assert two.status == "pass"
    assert two.judged.evidence.number.tolist() == [99] * 6 + [93] * 3
    sums = Desk().table(grid, ["f1", "f2", "f3", "f4"], "y", "sum").judged.evidence
    shares, ratio = sums.largest_sum(2) / sums.total, (sums.total - sums.largest_sum(2)) / sums.largest_sum(1)
    assert np.isclose(shares, 19 / 55).sum() == 78
    assert np.isclose(shares, 0.7).sum() == 3
    assert np.isclose(ratio, 3.6).sum() == 78
    assert np.isclose(ratio, 0.75).sum() == 3


@pytest.mark.parametrize(("inclusive", "status"), [(True, "fail"), (False, "pass")])
def test_c_boundary(inclusive, status):
    data = {"g": ["a"] * 10, "v": [45.0, 45.0] + [1.25] * 8}
    out = Desk({"nk_inclusive": inclusive}).table(data, "g", "v", "sum")
    assert out.record.checks["nk"]["verdict"] == status
    assert out.record.checks["p_percent"]["verdict"] == "pass"


@pytest.mark.parametrize("statistic", ["mean", "median", "max", "mode"])
def test_d_all_same(statistic):
    data = {
        "g": ["a"] * 20 + ["b"] * 20,
        "c": (["x"] * 10 + ["y"] * 10) * 2,
        "v": [5.0] * 20 + list(range(20)),
    }
    out = Desk().table(data, ["g", "c"], "v", statistic)
    found = next(f for f in out.judged.findings if f.check == "all_same")
    assert found.verdict == "fail"
    assert int(found.flagged.sum()) == 2


def test_e_class_disclosure():
    data = {"g": ["a"] * 30 + ["b"] * 30, "c": ["x"] * 45 + ["y"] * 15}
    out = Desk().table(data, ["g", "c"])
    marked = {(r["g"], r["c"]): r["outcome"] for r in out.cells.to_dicts()}
    assert marked == {
        ("a", "x"): "full_cell",
        ("a", "y"): "zero_cell",
        ("b", "x"): "ok",
        ("b", "y"): "full_cell",
    }
    assert out.status == "fail"
    assert Desk().table(data, ["g", "c"], structural_zeros=[{"g": "a", "c": "y"}]).status == "pass"


def test_f_saturation():
    desk = Desk()
    g, h = np.repeat([0, 0, 1, 1], 10), np.repeat([0, 1, 0, 1], 10)
    data = pd.DataFrame({"g": g, "h": h, "y": np.arange(40.0)})
    desk.smf.ols("y ~ g * h", data).fit()
    assert desk.last.judged.evidence.facts["rank"] == desk.last.judged.evidence.facts["patterns"] == 4
    assert desk.last.statbarn == "d"
    assert desk.last.status == "review"
    assert "saturated" in desk.last.summary
    desk.smf.ols("y ~ g + h", data).fit()
    assert desk.last.status == "pass"
    assert desk.last.judged.evidence.facts["dof"] == 37
    desk.smf.ols("y ~ g * h", data[:38]).fit()  # a pattern of eight people: its table fails
    assert desk.last.status == "fail"
    few = pd.DataFrame(np.random.default_rng(1).normal(size=(12, 8)), columns=list("yabcdefg"))
    desk.smf.ols("y ~ a + b + c + d + e + f + g", few).fit()
    assert "degrees of freedom" in desk.last.summary


@pytest.mark.parametrize(("threshold", "status"), [(10, "pass"), (20, "fail")])
def test_g_differencing(grid, threshold, status):
    desk = Desk({"threshold": threshold})
    assert desk.table(grid, ["f1", "f2"]).status == "pass"
    less = grid[~((grid.f1 == "C") & (grid.f2 == "C") & (grid.y >= 9))]
    out = desk.table(less, ["f1", "f2"])
    assert out.record.checks["differencing"]["verdict"] == status
    if status == "fail":
        assert out.cells.filter(pl.col("outcome") == "differencing").rows() == [("C", "C", "differencing")]


TIMES = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
EVENTS = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]


def test_h_survival():
    out = Desk().survival(TIMES, EVENTS)
    assert out.status == "fail"
    curve = dict(zip(out.values["time"], out.values["survival"].round(6), strict=True))
    wanted = {6: 0.857143, 7: 0.806723, 10: 0.752941, 13: 0.690196, 16: 0.627451, 22: 0.537815, 23: 0.448179}
    assert {t: curve[t] for t in wanted} == wanted
    out.fix()
    assert out.status == "pass"
    assert out.values["time"].tolist() == [13, 35]
    assert out.values["exits"].tolist() == [10, 11]
    assert out.values["events"].tolist() == [6, 3]
    assert out.values["survival"].round(6).tolist() == [0.690196, 0.448179]


def test_i_concentration():
    five = np.array([50.0, 30, 10, 5, 5])
    assert round(herfindahl(five), 9) == 0.355
    assert round(gini(five), 9) == 0.46
    assert round(herfindahl(np.array([90.0, 5, 5])), 9) == 0.815
    share = (1 + np.sqrt(2 * 0.58 - 1)) / 2  # two firms: the index gives their shares away
    assert round(float(share), 9) == 0.7
    told = Desk().declare("gini", 0.46, n=5)
    assert told.record.checks["hhi_gini_n"]["verdict"] == "pass"
    assert told.status == "review"  # nobody saw what it was computed of
    assert (
        Desk().concentration(np.array([50.0, 30, 10, 5, 5]), "gini").record.checks["hhi_gini_n"]["verdict"]
        == "pass"
    )
    assert Desk().declare("herfindahl", 0.58, n=2).status == "fail"


def test_every_name_of_the_register_is_found():
    found = register()
    for barn in found.statbarns.values():
        for name in barn.members:
            assert found.lookup(name).statbarn.id == barn.id, name
            assert all(check in CHECKS or check == "differencing" for check in barn.checks)


@pytest.mark.parametrize(
    ("name", "barn"),
    [
        ("top n share", "d"), ("HerfindahlHirschmanIndex", "k"), ("odds ratio", "e"), ("adjusted odds ratio", "g"),
        ("Maximum", "c"), ("median", "b"), ("life table", "f"), ("Cox", "g"), ("saturated regression", "d"),
        ("saturated logistic model", "a"), ("box plot", "b"), ("HazardRatio", "g"), ("cluster analysis", "clusters"),
    ],
)  # fmt: skip
def test_allocation_rules(name, barn):
    assert register().lookup(name).statbarn.id == barn


@pytest.mark.parametrize("name", ["heat map", "horoscope", "image", ""])
def test_unknown_names_are_reviews(name):
    assert register().lookup(name).statbarn is None
    assert Desk().declare(name or "?").status == "review"


codes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 30)), min_size=1, max_size=80)


def tables(rows, statistic, policy, dims=2):
    first, second, value = (np.array(x) for x in zip(*rows, strict=True))
    both = (Dimension("a", first, (0, 1, 2)), Dimension("b", second, (0, 1, 2)))[:dims]
    amounts = None if statistic == "count" else value.astype(float)
    facts = {"power": 2} if statistic == "std" else {}
    return judge(
        Query(statistic, both, len(rows), amounts, None if amounts is None else "v", facts=facts), policy
    )


def marks(judged, name):
    return next(f.flagged for f in judged.findings if f.check == name)


@settings(max_examples=40)
@given(codes, st.integers(1, 20), st.integers(0, 10))
def test_a_higher_threshold_never_unmarks_a_cell(rows, threshold, more):
    low, high = (
        marks(tables(rows, "count", Policy(threshold=t)), "min_threshold")
        for t in (threshold, threshold + more)
    )
    assert not (low & ~high).any()


@settings(max_examples=40)
@given(codes)
def test_another_dimension_only_adds_people_in_small_cells(rows):
    def small(dims):
        first, second, _ = (np.array(x) for x in zip(*rows, strict=True))
        cell = first if dims == 1 else first * 3 + second
        return marks(tables(rows, "count", Policy(), dims), "min_threshold")[cell]

    assert not (small(1) & ~small(2)).any()


@settings(max_examples=40)
@given(codes)
def test_linear_aggregates_mark_what_frequencies_mark(rows):
    counts, sums = tables(rows, "count", Policy()), tables(rows, "mean", Policy())
    marked = [
        np.logical_or.reduce([f.flagged for f in j.findings if f.verdict == "fail"] or [np.zeros(9, bool)])
        for j in (counts, sums)
    ]
    assert not (marked[0] & ~marked[1]).any()


@settings(max_examples=25)
@given(codes, st.integers(0, 2**32))
def test_safe_statbarns_never_look_at_cell_values(rows, seed):
    other = [
        (a, b, int(v))
        for (a, b, _), v in zip(rows, np.random.default_rng(seed).integers(0, 99, len(rows)), strict=True)
    ]
    one, two = (tables(r, "std", Policy(spread=False)) for r in (rows, other))
    assert one.status == two.status
    assert one.cells.equals(two.cells)
    # By default few who make up the spread are looked for: that is the only look, everything else is judged by form.
    one, two = (tables(r, "std", Policy()) for r in (rows, other))
    checks = [f.check for f in one.findings]
    assert "deviation" in checks
    for name in set(checks) - {"deviation"}:
        assert np.array_equal(marks(one, name), marks(two, name))


def test_units_are_counted_not_rows():
    data = {"g": ["a"] * 12, "person": [1, 2, 3] * 4, "v": np.arange(12.0)}
    assert Desk().table(data, "g", "v", "mean").status == "pass"
    out = Desk(unit="person").table(data, "g", "v", "mean")
    assert out.status == "fail"
    assert out.judged.evidence.number.tolist() == [3]
    found = collect(out.query)
    assert sorted(found.top[0].tolist(), reverse=True) == [26.0, 22.0]


@pytest.mark.parametrize(("people", "marked"), [(1, True), (9, True), (10, False), (11, False)])
def test_the_threshold_is_the_fewest_that_pass(people, marked):
    out = Desk(unit="p").table({"g": ["a"] * 30 + ["b"] * people, "p": list(range(30 + people))}, "g")
    assert out.flagged.tolist() == [False, marked]
