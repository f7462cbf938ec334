"""Zeros and single contributors: anysum0, zeros of sums, and reports about what a contributor can still do."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.tables import (
    Dominance,
    Hierarchy,
    KDisclosure,
    PPercent,
    SingletonRules,
    SmallCount,
    audit,
    define,
    parse_rule,
    protect,
)
from tests.tables.test_paper import FIRMS2, MAGNITUDE1, cell_names, firms, named

INJURIES = {
    "serious": [4, 5, 3, 4, 1, 6],
    "light": [0, 0, 2, 1, 0, 0],
    "none": [0, 1, 1, 4, 0, 0],
    "unknown": [0] * 6,
}


@pytest.mark.parametrize("method", ["anysum0", "anySum0", "anysum_notprimary"])
def test_direct_disclosure_as_in_the_r_documentation(method):
    data = {
        "mun": [f"k{i}" for i in range(1, 7)] * 4,
        "inj": [kind for kind in INJURIES for _ in range(6)],
        "n": [n for counts in INJURIES.values() for n in counts],
    }
    model = define(data, formula="~ mun * inj", freq="n")
    result = protect(model, KDisclosure(1), order="disclosure", small=method)
    expected = "k1|none k1|serious k2|none k2|serious k3|light k3|none k5|none k5|serious k6|light k6|serious"
    assert cell_names(model, result.suppressed) == named(expected)


def lonely_parts(model, result):
    """Suppressed zero totals whose parts are all known to be zero, except one suppressed part."""
    matrix = model.matrix.toarray().astype(bool)
    zero = model.frequency == 0
    shown = matrix[:, zero & ~result.suppressed].any(axis=1)
    found = []
    for whole in np.flatnonzero(zero & result.suppressed & (model.sizes > 1)):
        rest = matrix[:, whole] & ~shown
        found += [
            (int(whole), int(part))
            for part in np.flatnonzero(result.suppressed)
            if part != whole
            and (matrix[:, part] == rest).all()
            and matrix[:, part].sum() < matrix[:, whole].sum()
        ]
    return found


def test_anysum0_avoids_a_zero_total_with_one_suppressed_part():
    tree = Hierarchy.from_pairs(
        [("g", "Total"), ("h", "Total"), ("a", "g"), ("b", "g"), ("c", "h"), ("d", "h")]
    )
    odd = {"anysum_notprimary": 0, "anysum0": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        counts = (rng.poisson(1.5, 16) * (rng.random(16) < 0.5)).tolist()
        frame = {"x": [x for x in "abcd" for _ in range(4)], "y": list("pqrs") * 4, "n": counts}
        model = define(frame, ["x", "y"], hierarchies={"x": tree}, freq="n")
        for method in odd:
            rule = SmallCount(2, protect_zeros=False)
            result = protect(model, rule, secondary_zeros=True, small=method)
            odd[method] += bool(lonely_parts(model, result))
            assert audit(result, intervals="none").passed
    assert odd["anysum_notprimary"] > 10
    assert odd["anysum0"] < odd["anysum_notprimary"] / 3


def with_zeros():
    frame = firms(MAGNITUDE1)
    frame["value"] = [
        0.0 if sector in ("Gov", "Agr") else value
        for sector, value in zip(frame["sector"], frame["value"], strict=True)
    ]
    return define(frame, ["sector", "country"], value="value")


def test_a_published_zero_sum_gives_its_parts_away_unless_singleton_zeros():
    """As in R's test of singletonZeros: suppressed zeros of Gov are worthless beside the published total 0."""
    model = with_zeros()
    plain = protect(model, Dominance([(1, 70)]), secondary_zeros=True)
    assert {"Gov:P", "Gov:S"} <= cell_names(model, plain.suppressed)
    assert "Gov:Total" not in cell_names(model, plain.suppressed)
    careful = protect(model, Dominance([(1, 70)]), secondary_zeros=True, singleton_zeros=True)
    assert "Gov:Total" in cell_names(model, careful.suppressed)


@pytest.mark.parametrize("rule", [Dominance([(1, 70)], protect_zeros=True), PPercent(30, protect_zeros=True)])
def test_a_rule_that_protects_zeros_keeps_sums_of_zeros_apart(rule):
    model = with_zeros()
    assert "Gov:P" in cell_names(model, rule.protects(model).mask)
    assert (
        protect(model, rule, repair=False).audit(unions=False).passed
    )  # sums that one firm reads are for the repair
    assert protect(model, rule).audit().passed
    assert protect(model, rule, singleton_zeros=True).audit().passed


def test_reports_about_what_is_left():
    model = define(firms(FIRMS2), ["sector", "country"], value="value", contributor="company")
    rule = Dominance([(1, 80)])
    told = protect(model, rule, singleton="numFFFfF")
    assert "single contributors can compute a protected cell" in str(told)
    with pytest.warns(UserWarning, match="somebody else"):
        protect(model, rule, singleton=SingletonRules(
            "off", True, "off", within=False, parallel=False, combinations=0, report="warning"
        ))  # fmt: skip
    assert "somebody else" not in str(protect(model, rule, singleton="numttHMT"))


@pytest.mark.parametrize(
    ("letter", "expected"),
    [("T", (True, True, "none")), ("t", (True, False, "none")), ("F", (False, False, "none")),
     ("M", (True, True, "message")), ("m", (True, False, "message")), ("W", (True, True, "warning")),
     ("w", (True, False, "warning")), ("f", (False, False, "message"))],
)  # fmt: skip
def test_fourth_letter(letter, expected):
    rules = SingletonRules.from_code(f"numttH{letter}T")
    assert (rules.within, rules.parallel, rules.report) == expected


def test_rules_with_options():
    assert parse_rule("p:10,coalition=2,zeros") == PPercent(10, 2, (), True)
    assert parse_rule("nk:1,80,tau-argus") == Dominance([(1, 80)], "tau-argus")
    assert parse_rule("k:1,sensitive=ill,sensitive=job") == KDisclosure(1, ("ill", "job"))
    assert parse_rule("contributors:2,ignore=unknown").ignored == ("unknown",)
    with pytest.raises(OptionError, match="not an option"):
        parse_rule("freq:3,coalition=2")
