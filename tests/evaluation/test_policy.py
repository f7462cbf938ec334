"""Lines of a policy: both ways round, and never met by a figure that is not trusted."""

from __future__ import annotations

import polars as pl
import pytest

from dalenius import Result
from dalenius.core.errors import OptionError
from dalenius.core.maps import Frame, risk_facts
from dalenius.core.replicates import mean_result
from dalenius.core.result import Interval
from dalenius.evaluation.policy import DEFAULT_POLICY, DIMENSIONS, KEPT, Rule, judge, open_dimensions
from dalenius.web.choices import Choices


def result(value: float, trusted: bool = True) -> Result:
    return Result("x", value, "", unit="%", yardsticks={"holdout": 10.0}, trusted=trusted)


@pytest.mark.parametrize(
    ("line", "met", "missed"),
    [
        ("repU <= 5 %", 5.0, 5.1),
        ("repU < 5 %", 4.9, 5.0),
        ("DiSCO <= holdout + 2 points", 12.0, 12.1),
        ("k-marginal >= 800", 800.0, 799.0),
        ("k-marginal > 800", 801.0, 800.0),
    ],
)
def test_both_ways(line, met, missed):
    rule = Rule.parse(line)
    assert rule.met_by(result(met))
    assert not rule.met_by(result(missed))
    assert not rule.met_by(result(met, trusted=False))


@pytest.mark.parametrize(
    ("added", "low", "met"),
    [
        (4.0, 1.0, True),
        (6.0, 2.0, True),  # beyond the limit by less than chance
        (6.0, 5.5, False),  # surely beyond it
        (11.0, -9.0, False),  # few people set aside: chance does not excuse more than twice the limit
        (6.0, None, False),  # nobody knows what chance may have done
    ],
)
def test_what_is_surely_added(added, low, met):
    spread = None if low is None else Interval(low, 2 * added - low)
    found = Result("disco", 20.0 + added, "", unit="%", outside=20.0, added_interval=spread)
    assert Rule.parse("DiSCO surely added <= 5 points").met_by(found) == met
    assert Rule.parse("DiSCO added <= 5 points").met_by(found) == (added <= 5)


@pytest.mark.parametrize(
    ("line", "interval", "crossed"),
    [
        ("DiSCO added <= 5 points", (1.0, 7.0), "95 % interval 1 to 7"),
        ("DiSCO surely added <= 5 points", (1.0, 7.0), "measured 4 points, 95 % interval 1 to 7"),
        ("DiSCO added <= 5 points", (3.0, 5.0), ""),
        ("DiSCO added <= 5 points", (3.0, 4.0), ""),
        ("DiSCO added <= 2 points", (3.0, 5.0), ""),
        ("gcap added <= 5 points", (1.0, 7.0), "spread over records 1 to 7"),
    ],
)
def test_a_line_says_when_its_limit_lies_within_what_chance_can_do(line, interval, crossed):
    rule = Rule.parse(line)
    found = Result(rule.measure, 24.0, "", unit="%", outside=20.0, added_interval=Interval(*interval))
    assert rule.crossed(found) == crossed
    judged = judge(rule, "", 1.0, [found])
    assert judged.crossed == crossed
    assert (f"({crossed}: the limit lies within it)" in judged.said) == bool(crossed)
    assert judged.said.endswith(("met", "not met"))


def test_the_limit_of_a_level_and_of_a_lower_end_too():
    near = Result("dcr", 68.0, "", unit="%", interval=Interval(64.0, 72.0))
    assert Rule.parse("dcr <= 70 %").crossed(near) == "95 % interval 64 to 72"
    useful = Result("k-marginal", 820.0, "", interval=Interval(790.0, 850.0))
    assert Rule.parse("k-marginal >= 800").crossed(useful) == "95 % interval 790 to 850"
    assert not Rule.parse("k-marginal >= 790").crossed(useful)
    expected = Rule.parse("expected dcr <= 7 %")
    assert expected.crossed(near, 0.1) == "95 % interval 6.4 to 7.2"


@pytest.mark.parametrize(("value", "beyond"), [(780.0, True), (800.0, False), (820.0, False)])
def test_below_a_lower_limit_is_beyond_it(value, beyond):
    found = judge(Rule.parse("k-marginal >= 800"), "", 1.0, [Result("k-marginal", value, "")])
    assert found.beyond == beyond
    assert found.over == 800.0 - value


def test_an_expected_figure_and_its_yardstick_are_both_a_share_of_the_population():
    found = Result("disco", 40.0, "", unit="%", yardsticks={"holdout": 30.0})
    rule = Rule.parse("expected DiSCO <= holdout + 2 points")
    assert (rule.value(found, 0.1), rule.bound(found, 0.1)) == pytest.approx((4.0, 5.0))
    assert rule.met_by(found, 0.1)
    assert not rule.met_by(found, 0.5)
    assert Rule.parse("DiSCO <= holdout + 12 points").bound(found, 0.1) == 42.0
    assert Rule.parse("DiSCO <= holdout - 5 points").bound(found) == 25.0


def test_a_figure_of_one_column_is_held_against_a_number_alone():
    found = Result(
        "l-diversity", 2.0, "", values={"diagnosis": 3.0, "job": 2.0}, yardsticks={"original": 1.0}
    )
    assert Rule.parse("l(diagnosis) >= 3").met_by(found)
    assert not Rule.parse("l(job) >= 3").met_by(found)
    for line in ("l(job) >= original + 2", "disco(job) added <= 5 points"):
        with pytest.raises(OptionError, match="a column in brackets"):
            Rule.parse(line)


def test_surely_needs_an_interval():
    for line in ("dcap surely added >= 1 %", "adversarial-accuracy surely added <= 0.1"):
        with pytest.raises(OptionError, match="surely"):
            Rule.parse(line)


@pytest.mark.parametrize(
    "line",
    ["repU >= 5 %", "DiSCO added > 5 points", "mean S_pMSE >= 10", "k-marginal <= 800", "nndr added >= 0"],
)
def test_a_sign_the_wrong_way_round_is_no_limit(line):
    with pytest.raises(OptionError, match="turn the sign round"):
        Rule.parse(line)


BEYOND = [
    *(
        "dcr <= 7000 %",
        "membership-distance <= 65",
        "repU <= holdout + 500 points",
        "nndr >= 0",
        "k-anonymity >= 0",
    ),
    *("identical-matches surely added <= 150 %", "dcr <= -5 %", "k-marginal >= 1001", "nndr >= 1.5"),
]


@pytest.mark.parametrize("line", BEYOND)
def test_a_limit_that_no_figure_can_reach_is_a_fault(line):
    none = line in ("dcr <= -5 %", "k-marginal >= 1001", "nndr >= 1.5")
    with pytest.raises(OptionError, match=f"lets {'no' if none else 'every'} file pass"):
        Rule.parse(line)


def test_an_unknown_part_is_a_fault():
    with pytest.raises(OptionError, match="dcr has no part 'foo'"):
        Rule.parse("dcr(foo) <= 70 %")
    assert Rule.parse("l(diagnosis) >= 3").part == "diagnosis"


def test_a_limit_that_nothing_can_miss_leaves_its_dimension_open():
    lines = ["repU <= 100 %", "dcr <= 100 %", "membership-distance <= 1", "DiSCO added <= 100 points"]
    assert open_dimensions([Rule.parse(line) for line in lines]) == list(DIMENSIONS)
    assert "membership" not in open_dimensions([Rule.parse("membership-distance <= 0.9")])


def test_the_page_begins_with_the_default_policy():
    rules = [Rule.parse(line) for line in Choices({}, {}, [], []).policy_lines()]
    facts = {(r.measure, r.limit, r.upper, r.added, r.surely) for r in rules}
    assert facts == {
        (r.measure, r.limit, r.upper, r.added, r.surely) for r in map(Rule.parse, DEFAULT_POLICY)
    }


def test_the_map_shows_what_the_file_adds():
    known = Result("disco", 90.0, "", outside=88.0, added_interval=Interval(-1.0, 5.0))
    facts = risk_facts(known)
    assert (facts["risk"], facts["risk_low"], facts["risk_high"]) == (2.0, 0.0, 5.0)
    assert "adds" in facts["risk_title"]
    assert risk_facts(Result("disco", 90.0, ""))["risk"] == 90.0


def test_replicates_average_what_is_added_too():
    runs = [Result("disco", 20.0 + k, "", outside=10.0 + 3 * k) for k in (0, 2)]
    mean = mean_result(runs, "range")
    assert mean.added == 8.0
    assert (mean.added_interval.low, mean.added_interval.high) == (6.0, 10.0)


def test_the_default_limits():
    """Who writes no policy relies on these; another limit is a decision, not a typing error."""
    assert DEFAULT_POLICY == (
        "identical-matches surely added <= 1.5 %",  # so many more people than strangers come out whole
        "identical-matches(lines surely added) <= 5 %",  # of a file with few lines, had it as many as people
        "near-copies surely added <= 5 points",  # or nearly so
        "part-copies surely added <= 5 points",  # or with answers together too rare to be anybody else's
        "part-copies(lines surely added) <= 10 %",
        "dcr <= 70 %",  # half of the records are nearer to the data by chance; beyond 70 they are copies
        "membership-distance <= 0.65",  # 0.5 is guessing
        "DiSCO surely added <= 5 points",
        "repU surely added <= 5 points",
        "mean S_pMSE <= 10",  # Raab, Nowok and Dibben (2021): beyond 10 a file misses what users look for
    )
    assert KEPT == "unique-matches <= 5 %", "people alone on columns that come out as they were"


def test_a_map_has_room_where_limit_and_figures_lie_below_nothing():
    """What a file adds may be negative, and so may the limit that is drawn from it."""
    row = {"risk": -3.0, "risk_high": -1.0, "risk_limit": -2.0, "utility": 1.0, "utility_better": "lower"}
    frame = Frame(pl.DataFrame([row]), 300, 200)
    assert frame.top > 0
    assert frame.pixels(1.0, -3.0)[1] == 200
