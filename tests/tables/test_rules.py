"""Rules beyond the plain ones: prior-posterior, requests, holdings, weights, a priori bounds; sums by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.tables import (
    Dominance,
    FewContributors,
    PPercent,
    Request,
    SmallCount,
    audit,
    default_rules,
    define,
    information_loss,
    parse_rule,
    protect,
)
from dalenius.tables.contributions import single_owners


def cell(values, **columns):
    """A table of one cell and its total; the marks of the cell are the second entry."""
    return define(
        {"a": ["x"] * len(values), "v": values, **columns}, by="a", value="v", **{n: n for n in columns}
    )


def hit(rule, model):
    return bool(rule.protects(model).mask[1])


def test_prior_posterior_rule():
    """Rest 8 of 100 + 50 + 8: with q = 100 the second largest gets the largest to 8 %, with q = 40 to 3.2 %."""
    model = cell([100.0, 50.0, 8.0])
    assert hit(PPercent(10), model)
    assert hit(PPercent(5, q=40), model)
    assert not hit(PPercent(5), model)
    assert not hit(PPercent(3, q=40), model)
    assert PPercent(5, q=40).protects(model).upper[1] == pytest.approx(100 * 5 / 40 - 8)
    assert parse_rule("pq:5,40") == PPercent(5, q=40)
    for wrong in ("pq:5", "pq:50,40", "request:0", "request:101"):
        with pytest.raises(OptionError):
            parse_rule(wrong)


def test_request_rule():
    model = cell([60.0, 25.0, 15.0], request=[0, 1, 2])
    assert not hit(Request(30), model)
    assert hit(Request(25), model)
    assert hit(Request(30, second=15), model)
    assert protect(model, Request(25)).suppressed.all()
    with pytest.raises(DataError, match="request="):
        Request(30).protects(cell([1.0]))
    with pytest.raises(DaleniusError, match="neither 0"):
        cell([1.0], request=["maybe"])


def test_holdings_count_as_one():
    """Three firms of 30 and one of 10; two of the three belong together."""
    values, firms = [30.0, 30.0, 30.0, 10.0], list("ABCD")
    alone = cell(values, contributor=firms)
    held = cell(values, contributor=firms, holding=["H", "H", "C", "D"])
    assert not hit(Dominance([(1, 60)]), alone)
    assert hit(Dominance([(1, 60)]), held)
    assert not hit(FewContributors(3), alone)
    assert hit(FewContributors(3), held)
    assert hit(PPercent(20), held)  # 100 − 60 − 30 = 10 < 12
    assert not hit(PPercent(20), alone)


def test_a_rule_asks_for_what_contributors_and_holdings_ask_for():
    """Sums as above: 2 above the cell by holdings, where contributors ask for nothing."""
    held = cell([30.0, 30.0, 30.0, 10.0], contributor=list("ABCD"), holding=["H", "H", "C", "D"])
    assert PPercent(20).protects(held).upper[1] == pytest.approx(0.2 * 60 - 10)
    assert Dominance([(1, 50)]).protects(held).upper[1] == pytest.approx(60 / 0.5 - 100)
    even, firms = [5.0, -5.0], ["A", "B"]
    assert FewContributors(1).protects(cell(even, contributor=firms, holding=["H", "H"])).zeros
    assert not FewContributors(1).protects(cell(even, contributor=firms)).zeros


def test_an_insider_knows_its_whole_holding():
    """A, B and C have a cell each. Who owns A and B takes both off the total, and has C unless a fourth is hidden."""
    data = {"a": list("wxyzz"), "v": [5.0, 6.0, 7.0, 8.0, 9.0], "f": list("ABCDE"), "h": list("HHCDE")}
    apart = define(data, by="a", value="v", contributor="f")
    held = define(data, by="a", value="v", contributor="f", holding="h")
    three = protect(apart, FewContributors(1))
    assert three.suppressed.tolist() == [False, True, True, True, False]
    assert audit(three, intervals="none").passed
    assert not audit(replace(three, model=held), intervals="none").passed
    assert protect(held, FewContributors(1)).suppressed.sum() == 4
    # every check by an insider stands on who owns a cell alone: the holding, not its firms; z has two owners
    first, second, third, several = single_owners(held).tolist()
    assert first == second != third
    assert several == 0


def test_two_contributors_of_a_sample_are_few_by_default():
    """Of 5 × 30 + 5 × 20 enough is left beside the two largest for the p % rule, but two are two."""
    model = cell([30.0, 20.0], weight=[5.0, 5.0])
    assert not hit(PPercent(10), model)
    assert any(hit(rule, model) for rule in default_rules(model))


def test_weights_as_in_tau_argus():
    """A firm of 50 with weight 3 is three firms of 50: nobody among them knows the others' values."""
    model = cell([50.0, 10.0], weight=[3.0, 1.0])
    assert hit(PPercent(90), model) is False  # 160 − 50 − 10 = 100
    assert hit(PPercent(90, weighting="tau-argus"), model) is False  # 160 − 50 − 50 = 60 ≥ 45
    small = cell([50.0, 10.0], weight=[1.0, 1.0])
    assert hit(PPercent(90, weighting="tau-argus"), small)
    assert hit(FewContributors(2), model)
    assert not hit(FewContributors(2, weighting="tau-argus"), model)
    assert not hit(Dominance([(1, 40)], weighting="tau-argus"), model)  # 50 of 160
    assert hit(Dominance([(2, 60)], weighting="tau-argus"), model)  # 100 of 160


def test_weights_with_contributors_keep_the_weighted_sum():
    """Two records of one firm, 30 × 2 and 10 × 4: value 40, 2.5 units, weighted sum 100."""
    model = cell([30.0, 10.0, 20.0], weight=[2.0, 4.0, 1.0], contributor=["A", "A", "B"])
    share = Dominance([(2, 50)], weighting="tau-argus").shares(model)[2][1]
    assert share == pytest.approx(80 / 120)


def test_negative_values_count_with_their_size():
    assert hit(Dominance([(1, 80)]), cell([-90.0, 5.0, 5.0]))
    data = {"a": list("xyzxyz"), "b": list("ppqqrr"), "v": [-5.0, 7.0, 9.0, 4.0, -12.0, 2.0]}
    result = protect(define(data, by=["a", "b"], value="v"), FewContributors(1))
    assert result.checked.passed
    assert "negative" in str(result.checked)


def test_a_priori_bounds():
    """Total 100 of x = 30 and y = 70: to within 10 %, x lies between 27 and 33, and y between 63 and 77 allows that."""
    data = {"a": ["x", "y"], "v": [30.0, 70.0]}
    result = protect(define(data, by="a", value="v"), FewContributors(1), repair=False, singleton="numFFFFF")
    found = audit(result, intervals="exact", cells="suppressed", prior=10, contributors=False)
    x = found.intervals.cells.tolist().index(1)
    if not result.suppressed[0]:
        assert (found.intervals.low[x], found.intervals.high[x]) == pytest.approx((27.0, 33.0))
    negative = define({"a": list("xyz"), "v": [-10.0, 40.0, 70.0]}, by="a", value="v")
    bare = protect(negative, FewContributors(1), repair=False, singleton="numFFFFF")
    seen = audit(bare, intervals="exact", cells="suppressed", prior=50, contributors=False)
    assert np.isfinite(seen.intervals.low).all()
    assert (seen.intervals.low <= seen.table.amounts[seen.intervals.cells] + 1e-6).all()


def test_defaults_by_kind_of_table():
    counts = define({"a": list("xxy")}, by="a")
    sums = cell([90.0, 9.0, 1.0])
    assert default_rules(counts) == (SmallCount(3),)
    assert [r.name for r in default_rules(sums)] == ["few contributors", "p percent"]
    assert protect(counts).primary.all()
    assert protect(sums).primary[1]


def test_empty_cells_of_sums_are_not_small_counts():
    data = {"a": list("xxxxyyyy"), "b": list("ppppqqqq"), "v": [5.0] * 8}
    model = define(data, by=["a", "b"], value="v", nested=False)
    result = protect(model, SmallCount(3))
    empty = model.frequency == 0
    assert empty.any()
    assert not result.primary[empty].any()


def test_a_share_of_exactly_k_percent_is_too_much():
    firms = {"branch": ["a", "a", "b", "b"], "value": [80, 20, 79, 21]}
    model = define(firms, by="branch", value="value")
    assert Dominance([(1, 80)]).protects(model).mask.tolist() == [False, True, False]
    assert Dominance([(1, 80)], strict=True).protects(model).mask.tolist() == [False, False, False]
    assert 100 * 0.27 < 90 * (0.27 + 0.03)  # exactly 90 %, but for the last bit
    assert hit(Dominance([(1, 90)]), cell([0.27, 0.03]))
    assert not hit(Dominance([(1, 90)], strict=True), cell([0.27, 0.03]))


def test_the_second_largest_estimates_the_largest():
    """30 left beside 100 and 20: an upper bound of 50 less 20 is off by 30 %, which is less than 40 %."""
    firms = {"branch": ["a"] * 3 + ["b"] * 3, "value": [100, 20, 30, 100, 90, 80]}
    model = define(firms, by="branch", value="value")
    assert PPercent(25).protects(model).mask.tolist() == [False, True, False]
    assert PPercent(15).protects(model).mask.tolist() == [False, False, False]


def test_what_suppression_loses_is_counted_once():
    model = define({"a": ["x", "y", "z"], "n": [1, 7, 12]}, by="a", freq="n")
    lost = information_loss(model, {"none": [float("nan"), float("nan"), 7, 12]})
    assert lost["value_lost_percent"].to_list() == [5.0]


def test_the_largest_small_count_is_small():
    model = define({"a": ["x", "y", "z"], "n": [4, 3, 0]}, by="a", freq="n")
    assert SmallCount(3).protects(model).mask.tolist() == [False, False, True, True]
    assert SmallCount(3, protect_zeros=False).protects(model).mask.tolist() == [False, False, True, False]
