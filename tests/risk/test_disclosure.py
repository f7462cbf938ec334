"""Worked examples and identities of Raab 2024."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius import DaleniusError, Pair
from dalenius.risk import (
    Exclusions,
    apparent_matches,
    dcap,
    disclosure,
    disco,
    group_disclosure,
    msu_overlap,
    multi_target,
    multi_target_chart,
    replicated_uniques,
    specific_risk,
    tcap_ratio,
    tolerance_disco,
    uniques,
)

GT = {"sex": list("MMFMFFFM"), "area": list("AAABBBBC"), "t": ["x", "x", "y", "y", "x", "x", "z", None]}
SD = {"sex": list("MMMFFFMM"), "area": list("AAAABBBD"), "t": list("xxxzxxyy")}
GT2 = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 3, 4, 4, 9, 10]}
SD2 = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 5, 4, 4, 4, 10]}


def test_toy_with_absent_and_extra_key() -> None:
    found = disclosure(Pair(GT, SD), "t", ["sex", "area"])
    assert found.identity == {"UiO": 37.5, "UiS": 37.5, "UiOiS": 25.0, "repU": 25.0}
    wanted = {
        "Dorig": 62.5,
        "Dsyn": 100,
        "iS": 87.5,
        "DiS": 87.5,
        "DiSCO": 62.5,
        "DiSDiO": 37.5,
        "max_denom": 2,
    }
    assert {k: found.attribute[k] for k in wanted} == wanted
    assert found.attribute["mean_denom"] == pytest.approx(5 / 3)
    caps = {
        "baseCAPd": 34.375,
        "CAPd": 83.3333333,
        "dcap": 62.5,
        "tcap_found": 71.4285714,
        "tcap_disclosive": 71.4285714,
    }
    assert {k: found.caps[k] for k in caps} == pytest.approx(caps)
    seen = disclosure(Pair(GT, SD), "t", ["sex", "area"], denominator_basis="synthetic").attribute
    assert (seen["max_denom"], seen["mean_denom"]) == (3, 2)


@pytest.mark.parametrize(
    ("exclusions", "wanted"),
    [
        (Exclusions(target_levels=["x"]), (37.5, 37.5, 37.5, 12.5, 12.5)),
        (Exclusions(missing_target=True), (50, 87.5, 87.5, 62.5, 37.5)),
        (Exclusions(denom_lim=1), (37.5, 37.5, 37.5, 12.5, 12.5)),
        (Exclusions(pairs=[("sex", "M", "x")]), (37.5, 62.5, 62.5, 37.5, 12.5)),
    ],
)
def test_toy_exclusions(exclusions: Exclusions, wanted: tuple[float, ...]) -> None:
    found = disclosure(Pair(GT, SD), "t", ["sex", "area"], exclusions=exclusions)
    assert tuple(found.attribute[k] for k in ("Dorig", "iS", "DiS", "DiSCO", "DiSDiO")) == wanted
    assert found.identity["UiO"] == 37.5  # identity comes from the keys alone


def test_toy_with_impure_key() -> None:
    found = disclosure(Pair(GT2, SD2), "t", ["k1", "k2"])
    assert list(found.identity.values()) == pytest.approx([100 / 6] * 4)
    wanted = {"Dorig": 50, "Dsyn": 200 / 3, "iS": 100, "DiS": 200 / 3, "DiSCO": 50, "DiSDiO": 100 / 6}
    assert {k: found.attribute[k] for k in wanted} == pytest.approx(wanted)
    caps = {
        "baseCAPd": 27.77777778,
        "CAPd": 77.77777778,
        "dcap": 66.66666667,
        "tcap_found": 50,
        "tcap_disclosive": 75,
    }
    assert {k: found.caps[k] for k in caps} == pytest.approx(caps)


SPECIFIC = [
    (5.53, 1.90, 0.04), (9.06, 2.92, 0.06), (9.45, 4.20, 0.05), (15.98, 5.80, 0.11), (11.88, 8.60, 0.04),
    (19.79, 12.53, 0.08), (34.50, 21.30, 0.17), (41.50, 24.94, 0.22), (49.28, 31.30, 0.26), (52.92, 33.31, 0.29),
]  # fmt: skip


def test_precision_improvement_of_the_paper() -> None:
    # Francis 2024: matches / all of SynDiffix, beside the baseline; the same arithmetic
    for right, matched, base, wanted in (
        (6, 10, 0.2, 0.5),
        (115, 943, 0.073019, 0.0528),
        (1162, 1184, 0.979085, 0.1116),
    ):
        assert specific_risk(right / matched, base) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(("inside", "outside", "wanted"), SPECIFIC)
def test_specific_risk(inside: float, outside: float, wanted: float) -> None:
    assert round(specific_risk(inside / 100, outside / 100), 2) == wanted


codes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40)


def frame(rows: list[tuple[int, int, int]]) -> dict[str, list[str | None]]:
    names = ("a", "b", "t")
    return {n: [None if r[i] == 2 else f"{n}{r[i]}" for r in rows] for i, n in enumerate(names)}


@given(codes, codes)
@settings(max_examples=60, deadline=None)
def test_shapes_that_must_hold(rows: list, other: list) -> None:
    found = disclosure(Pair(frame(rows), frame(other)), "t", ["a", "b"])
    f = {**found.identity, **found.attribute, **found.caps}
    e = 1e-9
    assert f["repU"] <= f["UiOiS"] + e <= f["UiO"] + 2 * e
    assert f["DiSDiO"] <= f["DiSCO"] + e <= f["DiS"] + 2 * e <= f["iS"] + 3 * e
    assert f["DiSDiO"] <= f["Dorig"] + e
    assert f["DiSCO"] <= f["dcap"] + e <= f["iS"] + 2 * e
    assert f["Dorig"] <= f["CAPd"] + e
    assert f["baseCAPd"] <= f["CAPd"] + e
    assert f["UiO"] <= f["Dorig"] + e
    if f["iS"] > 0:  # the printed pairs of the paper (Raab 2024) are this identity
        assert f["tcap_found"] == pytest.approx(100 * f["DiSCO"] / f["iS"])
        assert f["dcap_found"] == pytest.approx(100 * f["dcap"] / f["iS"])
    if f["DiS"] > 0:
        assert f["tcap_disclosive"] == pytest.approx(100 * f["DiSCO"] / f["DiS"])
    if f["iS"] > 0 and f["DiS"] > 0:
        assert f["tcap_disclosive"] + e >= f["tcap_found"] >= f["DiSCO"] - e
    fewer = disclosure(Pair(frame(rows), frame(other)), "t", ["a"])
    assert fewer.identity["UiO"] <= f["UiO"] + e
    assert fewer.attribute["Dorig"] <= f["Dorig"] + e
    assert fewer.attribute["iS"] >= f["iS"] - e


@given(codes, st.randoms())
@settings(max_examples=40, deadline=None)
def test_copy_discloses_what_the_original_does(rows: list, random) -> None:
    shuffled = rows[:]
    random.shuffle(shuffled)
    found = disclosure(Pair(frame(rows), frame(shuffled)), "t", ["a", "b"])
    assert found.identity["repU"] == found.identity["UiO"]
    assert found.attribute["iS"] == 100
    assert (
        found.attribute["DiS"]
        == found.attribute["DiSCO"]
        == found.attribute["DiSDiO"]
        == found.attribute["Dorig"]
    )
    assert found.caps["dcap"] == pytest.approx(found.caps["CAPd"])
    limited = disclosure(
        Pair(frame(rows), frame(shuffled)), "t", ["a", "b"], exclusions=Exclusions(denom_lim=1)
    )
    assert limited.attribute["Dorig"] == found.identity["UiO"]


@given(codes, codes)
@settings(max_examples=40, deadline=None)
def test_exclusion_never_raises_a_figure(rows: list, other: list) -> None:
    pair = Pair(frame(rows), frame(other))
    whole = disclosure(pair, "t", ["a", "b"])
    for exclusions in (
        Exclusions(missing_target=True),
        Exclusions(missing_keys=True),
        Exclusions(denom_lim=2),
    ):
        less = disclosure(pair, "t", ["a", "b"], exclusions=exclusions)
        for name in ("Dorig", "Dsyn", "iS", "DiS", "DiSCO", "DiSDiO"):
            assert less.attribute[name] <= whole.attribute[name] + 1e-9
        assert less.caps["dcap"] <= whole.caps["dcap"] + 1e-9


def test_disjoint_keys() -> None:
    found = disclosure(Pair({"k": ["a", "b"], "t": ["x", "y"]}, {"k": ["c"], "t": ["x"]}), "t", ["k"])
    assert [found.attribute[k] for k in ("iS", "DiS", "DiSCO")] == [0, 0, 0]
    assert found.caps["dcap"] == 0
    assert math.isnan(found.caps["tcap_found"])
    assert math.isnan(found.caps["tcap_disclosive"])


def test_tolerance_zero_is_disco() -> None:
    rng = np.random.default_rng(1)
    gt = {"k": rng.integers(0, 30, 200), "x": rng.integers(0, 40, 200)}
    sd = {"k": rng.integers(0, 30, 60), "x": rng.integers(0, 40, 60)}
    pair = Pair(gt, sd)
    found = tolerance_disco(pair, "x", 0, ["k"], records=True)
    assert found.value == pytest.approx(disclosure(pair, "x", ["k"]).attribute["DiSCO"])
    assert 100 * found.records["correct"].mean() == pytest.approx(found.value)
    assert tolerance_disco(pair, "x", 0, ["k"], relative=True).value == pytest.approx(found.value)
    with pytest.raises(DaleniusError):
        tolerance_disco(pair, "x", -1, ["k"])


def test_tolerance_beside_people_outside() -> None:
    rng = np.random.default_rng(1)
    draw = lambda: {"k": np.arange(200).astype(str), "x": rng.uniform(100, 1000, 200)}  # noqa: E731
    people, outside = draw(), draw()
    found = tolerance_disco(Pair(people, people, outside), "x", 0.1, ["k"], relative=True)
    assert found.value == 100
    assert found.interval.low > 90
    assert found.yardsticks["holdout"] < 40
    assert "not in the data" in found.sentence


def test_records_add_up_and_are_only_made_on_request() -> None:
    pair = Pair(GT, SD, keys=["sex", "area"], targets=["t"])
    assert disco(pair).records is None
    result = disco(pair, records=True)
    assert 100 * result.records["correct"].mean() == result.value
    assert replicated_uniques(pair, records=True).records["replicated_unique"].sum() == 2


def test_units_are_counted_when_the_schema_names_them() -> None:
    from dalenius import Schema

    frame = {"person": [1, 1, 1, 2, 3], "k": ["a", "a", "b", "c", "c"], "t": ["x", "x", "y", "z", "w"]}
    schema = Schema.infer(frame).with_roles(entity="person", keys=["k"], targets=["t"])
    pair = Pair(frame, {"k": ["a", "b"], "t": ["x", "q"]}, schema=schema)
    # person 1 owns both rows with k = a, so he is unique there; persons 2 and 3 share k = c
    assert uniques(pair, ["k"])["UiO"] == pytest.approx(100 / 3)
    result = disco(pair)
    assert result.value == pytest.approx(100 / 3)
    assert "units (person)" in result.sentence


@pytest.mark.parametrize(
    "call",
    [
        lambda p: disclosure(p, "t", []),
        lambda p: disclosure(p, "t", ["sex", "sex"]),
        lambda p: disclosure(p, "sex", ["sex"]),
        lambda p: disclosure(p, "nothing", ["sex"]),
        lambda p: disclosure(p, "t", ["sex"], exclusions=Exclusions(target_levels=["nobody"])),
        lambda p: disclosure(p, "t", ["sex"], exclusions=Exclusions(pairs=[("area", "A", "x")])),
        lambda p: disclosure(p, "t", ["sex"], compat="r"),
    ],
)
def test_bad_input_is_named(call) -> None:
    with pytest.raises(DaleniusError):
        call(Pair(GT, SD))


def test_warnings_about_keys() -> None:
    rows = 80
    fine = {"k": [str(i) for i in range(rows)], "t": ["a", "b"] * (rows // 2)}
    other = {"k": [f"z{i}" for i in range(rows)], "t": ["a", "b"] * (rows // 2)}
    found = disclosure(Pair(fine, other), "t", ["k"])
    assert len(found.warnings) == 3


def test_apparent_matches() -> None:
    rng = np.random.default_rng(3)
    people = {
        "a": rng.integers(0, 40, 300).astype(str),
        "b": rng.integers(0, 9, 300).astype(str),
        "t": rng.integers(0, 3, 300).astype(str),
    }
    same = apparent_matches(Pair(people, people), ["a", "b"], ["t"])
    assert same.value == 1
    assert same.values["coverage"] == pytest.approx(uniques(Pair(people, people), ["a", "b"])["UiO"])
    assert same.records is None
    told = apparent_matches(Pair(people, people), ["a", "b"], ["t"], records=True).records
    assert told["told_t"].all()
    constant = people | {"u": ["one"] * 300}
    both = [
        apparent_matches(Pair(constant, constant), ["a", "b"], perfect_baseline=p)
        for p in ("exclude", "zero")
    ]
    assert [found.values["mean improvement"] for found in both] == [1, 0.5]
    assert both[0].interval.low < same.interval.low, "the worst of two targets has a wider interval"
    with pytest.raises(DaleniusError):
        apparent_matches(Pair(people, people), ["a", "b"], perfect_baseline="keep")
    other = people | {"t": rng.permutation(people["t"])}
    assert apparent_matches(Pair(people, other), ["a", "b"], ["t"]).value < 0.3
    with pytest.raises(DaleniusError):
        apparent_matches(Pair(people, people), ["a"], ["t"])


def test_baselines_of_one_release_serve_the_next() -> None:
    rng = np.random.default_rng(3)
    people = {"a": rng.integers(0, 9, 400).astype(str), "b": rng.integers(0, 40, 400).astype(str)}
    people["t"] = np.where(rng.random(400) < 0.7, people["a"], "none")
    first = apparent_matches(Pair(people, people), ["a", "b"], ["t"])
    assert first.table is not None
    known = dict(first.table.select("target", "baseline").rows())
    again = apparent_matches(Pair(people, people), ["a", "b"], ["t"], baselines=known)
    assert (again.value, again.interval) == (first.value, first.interval)
    lower = apparent_matches(Pair(people, people), ["a", "b"], ["t"], baselines={"t": known["t"] / 2})
    assert lower.table is not None
    assert lower.table["baseline"][0] == known["t"] / 2


def test_exclusions_by_target_as_objects_and_as_plain_data() -> None:
    rng = np.random.default_rng(2)
    people = {
        "k": rng.integers(0, 40, 300).astype(str),
        "ill": rng.choice(["no", "yes"], 300, p=[0.9, 0.1]),
        "rich": rng.choice(["poor", "well"], 300),
    }
    pair = Pair(people, people, keys=["k"], targets=["ill", "rich"])
    plain = disco(pair)
    with pytest.raises(DaleniusError, match="no such level"):
        disco(pair, exclusions=Exclusions(target_levels=["no"]))  # 'rich' has no such level
    for exclusions in ({"ill": Exclusions(target_levels=["no"])}, {"ill": {"target_levels": ["no"]}}):
        found = disco(pair, exclusions=exclusions)
        assert found.values["ill"] < plain.values["ill"]
        assert found.values["rich"] == plain.values["rich"]
        table = multi_target(pair, exclusions=exclusions)
        assert dict(table.select("target", "protected").rows()) == pytest.approx(dict(found.values))
        assert dcap(pair, exclusions=exclusions).values["ill"] < dcap(pair).values["ill"]
    limited = disco(pair, exclusions={"denom_lim": 1})
    assert max(limited.values.values()) <= plain.value
    assert "Left out as no news: cells of more than 1 records" in limited.sentence
    assert "Left out" not in plain.sentence
    one = disco(pair, exclusions={"ill": {"target_levels": "no"}})  # one value need not be a list
    assert "Left out as no news: named target values of 'ill' (" in one.sentence, (
        "whichever target is the worst"
    )
    for wrong in ({"nothing": {"denom_lim": 1}}, {"ill": {"nothing": 1}}, {"ill": 3}):
        with pytest.raises(DaleniusError):
            disco(pair, exclusions=wrong)


def test_keys_that_cannot_be_found_are_said_in_the_sentence() -> None:
    original = {"k": [str(i % 40) for i in range(200)], "t": ["a", "b"] * 100}
    other = {"k": [f"z{i % 40}" for i in range(200)], "t": ["a", "b"] * 100}
    pair = Pair(original, other, keys=["k"], targets=["t"])
    assert "check the coding" in disco(pair).sentence
    assert "check the coding" in dcap(pair).sentence


def test_several_targets_are_drawn_for_every_figure() -> None:
    pair = Pair(GT, SD, keys=["sex", "area"], targets=["t"])
    for name in ("DiSCO", "dcap"):
        table = multi_target(pair, attribute=name)
        assert {"UiO", "UiOiS", "repU"} <= set(table.columns)
        assert len(multi_target_chart(table).to_dict()["layer"]) == 3
    for result in (disco(pair), dcap(pair)):
        assert len(result.chart().to_dict()["layer"]) == 3


def test_one_way_arithmetic_of_the_paper() -> None:
    # Raab 2024: 2,482 of 2,605 disclosive records at one level are 95.28 %, and 2,605 of 5,000 are DiSCO 52.10
    level = ["NO"] * 2482 + ["YES"] * 123 + ["NO", "YES"] * 1197 + ["NO"]
    key = [str(i) for i in range(2605)] + ["shared"] * 2395
    found = disclosure(Pair({"k": key, "t": level}, {"k": key, "t": level}), "t", ["k"])
    assert found.attribute["DiSCO"] == pytest.approx(52.10)
    assert found.one_way["disclosive_at_level"] == 2482
    assert found.one_way["level_share_of_disclosive"] == pytest.approx(95.28, abs=0.005)
    strict = disclosure(Pair({"k": key, "t": level}, {"k": key, "t": level}), "t", ["k"], one_way=(2482, 90))
    assert strict.one_way is None, "both thresholds are strict"


def test_msu_overlap_beside_people_outside() -> None:
    rng = np.random.default_rng(6)
    people, made, outside = ({c: rng.integers(0, 12, 200).astype(str) for c in "abc"} for _ in range(3))
    found = msu_overlap(Pair(people, made, outside), records=True)
    assert found.interval.low < found.value < found.interval.high
    assert found.yardsticks["holdout"] == pytest.approx(found.value, abs=0.1), (
        "fresh people are like outsiders"
    )
    assert found.records["common"].sum() == found.values["common"]
    assert not msu_overlap(Pair(people, made)).trusted


def test_tables_planned_for_publication() -> None:
    rng = np.random.default_rng(7)
    people, made, outside = ({c: rng.integers(0, 9, 150).astype(str) for c in "abt"} for _ in range(3))
    pair = Pair(people, made, outside, keys=["a", "b"], targets=["t"])
    found = group_disclosure(pair)
    assert found.value == pytest.approx(100 * tcap_ratio(pair, ["a", "b"], "t", nu=0.9))
    assert found.value <= found.interval.high < 100
    assert group_disclosure(Pair(people, people, outside, keys=["a", "b"], targets=["t"])).value == 100
    with pytest.raises(DaleniusError, match="no table has a protected column"):
        group_disclosure(pair, [["a", "b"]])
