"""Reconstruction from area tables and what links to an outside file mean (Muralidhar and Ruggles 2024)."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.risk.reconstruction.areas_data import blocks

from dalenius.core.errors import TableError
from dalenius.published import Published, fit
from dalenius.risk.reconstruction import (
    AreaTables,
    agreement,
    confirm,
    expected_rates,
    guessers,
    putative,
    reconstruct_arithmetic,
    reconstruct_exact,
    reidentification,
    unique_share,
    verify,
)
from dalenius.risk.reconstruction.rebuilt import RULES

RACES = ["White", "Black", "AIAN", "Asian", "NHPI", "Other", "Two or more"]


def paper_block(**changed):
    facts = {
        "total": [[[44, 0, 0, 5, 0, 1, 0]]], "split": [[2]], "others_of_reference": [[43]],
        "by_category": [[377, 10, 1, 80, 0, 6, 9]], "others_by_category": [[355, 9, 1, 80, 0, 2, 8]],
    }  # fmt: skip
    facts.update(changed)
    return AreaTables.from_counts(
        **facts, areas=["3000"], keys=["sex", "age"], rows=[("female", "22-24")], categories=RACES,
        reference="White", partial=True,
    )  # fmt: skip


def test_the_women_of_the_paper_are_all_determined_and_the_rules_named():
    found = reconstruct_arithmetic(paper_block())
    assert found.low[0, 0].tolist() == found.high[0, 0].tolist() == [1, 0, 0, 0, 0, 1, 0]
    named = dict(zip(RACES, (RULES[r] for r in found.rule[0, 0]), strict=True))
    assert named["White"] == "reference"
    assert named["Asian"] == named["AIAN"] == named["NHPI"] == "race_zero"
    assert named["Other"] == "bounds"
    women = found.microdata("hisp", "H", "NH").filter(pl.col("age") == "22-24")
    assert women.height == 50
    assert women["certain"].all()
    assert women.group_by("hisp").len().sort("hisp").rows() == [("H", 2), ("NH", 48)]


def test_ten_identical_women():
    ten = {"block": ["A"] * 10, "sex": ["F"] * 10, "age": ["22-24"] * 10, "race": ["White"] * 10}
    named = {**ten, "pid": list(range(10))}
    keys = ["block", "sex", "age"]
    links, strict = (putative(ten, named, keys, rule=rule) for rule in ("all", "unique"))
    assert links.rate == 1.0
    assert links.random_share == 1.0
    assert strict.rate == 0.0
    assert confirm(links, named, ["race"])["confirmed"].sum() == 10
    assert confirm(links, named, ["race"], style="provable")["confirmed"].sum() == 0
    assert expected_rates(ten, keys, ["race"]) == {
        "provable": 0.0, "true links": 0.1, "agency-style confirmed": 1.0,
    }  # fmt: skip


# Per seed: people, unique share, true links, agency-style, modal, and people and areas proved level by level.
SIMULATED = {
    1: (
        104_368,
        0.2085,
        0.4454,
        0.7098,
        0.6451,
        [0.7251, 0.8894, 0.9446, 0.99632, 0.99632],
        [0.6615, 0.9205, 0.9895],
    ),
    2: (
        97_561,
        0.2191,
        0.4528,
        0.7161,
        0.6438,
        [0.7219, 0.8783, 0.9415, 0.99703, 0.99703],
        [0.6430, 0.9215, 0.9885],
    ),
    3: (
        98_230,
        0.2212,
        0.4574,
        0.7176,
        0.6431,
        [0.7206, 0.8909, 0.9531, 0.99719, 0.99719],
        [0.6660, 0.9265, 0.9905],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SIMULATED)
def test_simulated_blocks(seed):
    people = blocks(seed)
    n, unique, links, agency, modal, shares, areas = SIMULATED[seed]
    assert people.height == n
    keys = ["block", "sex", "age"]
    rates = expected_rates(people, keys, ["race", "hisp"])
    assert rates["provable"] == pytest.approx(unique, abs=1e-4)
    assert rates["true links"] == pytest.approx(links, abs=1e-4)
    assert rates["agency-style confirmed"] == pytest.approx(agency, abs=1e-4)
    assert guessers(people, "block", ["race", "hisp"])["modal guesser"] == pytest.approx(modal, abs=1e-4)
    tables = AreaTables.from_microdata(people, "block", ["sex", "age"], "race", "hisp", "1", "0")
    found = reconstruct_exact(tables).summary()
    assert (found["people proved %"] / 100).to_list() == pytest.approx(shares, abs=1e-4)
    whole = (found["areas complete %"] / 100).to_list()
    assert [whole[1], whole[2], whole[4]] == pytest.approx(areas, abs=1e-4)


def test_the_order_of_the_levels_and_of_the_rates():
    people = blocks(7, 60)
    tables = AreaTables.from_microdata(people, "block", ["sex", "age"], "race", "hisp", "1", "0")
    levels = reconstruct_exact(tables).summary()
    assert levels["people proved"].is_sorted()
    assert levels["areas complete"].is_sorted()
    rates = expected_rates(people, ["block", "sex", "age"], ["race", "hisp"])
    assert rates["provable"] <= rates["true links"] <= rates["agency-style confirmed"] <= 1
    assert (
        rates["agency-style confirmed"] >= guessers(people, "block", ["race", "hisp"])["proportional guesser"]
    )
    assert unique_share(people, ["block", "sex"]) <= unique_share(people, ["block", "sex", "age"])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("fm"), st.sampled_from("wbo"), st.sampled_from("yn")),
        min_size=1,
        max_size=9,
    )
)
def test_areas_agree_with_the_general_engine(people):
    frame = {name: [row[j] for row in people] for j, name in enumerate(("sex", "race", "hisp"))}
    frame["block"] = ["A"] * len(people)
    found = reconstruct_exact(
        AreaTables.from_microdata(
            {**frame, "race": [*frame["race"]]}, "block", ["sex"], "race", "hisp", "y", frame["race"][0]
        )
    )
    first = frame["race"][0]
    of_reference = {k: [v for v, r in zip(values, frame["race"], strict=True) if r == first]
                    for k, values in frame.items()}  # fmt: skip
    domains = {"sex": sorted(set(frame["sex"])), "race": sorted(set(frame["race"])), "hisp": ["n", "y"]}
    out = Published.count(frame, [("sex", "race"), ("sex", "hisp"), ("race", "hisp")], domains=domains)
    known = Published.count(of_reference, [("sex", "hisp")], domains={**domains, "race": [first]})
    from dataclasses import replace

    here = np.array([0 if r == first else -1 for r in domains["race"]], np.int64)
    extra = known.margins[0]
    margin = replace(
        extra, name="reference", columns=(*extra.columns, "race"), groups=(*extra.groups, ("all",)),
        maps=(*extra.maps, here),
    )  # fmt: skip
    general = fit(replace(out, margins=(*out.margins, margin)))
    bounds = {
        row[:3]: row[3:5] for row in general.frame().select("sex", "race", "hisp", "low", "high").rows()
    }
    tables = found.tables
    for i, (sex,) in enumerate(tables.rows):
        for j, race in enumerate(tables.categories):
            expected = bounds.get((sex, race, "y"), (0, 0))
            assert (found.low[0, i, j], found.high[0, i, j]) == expected


def test_faults_name_area_and_table_and_no_count():
    with pytest.raises(TableError, match=r"area '3000': M exceeds N"):
        paper_block(others_by_category=[[378, 9, 1, 80, 0, 2, 8]])
    with pytest.raises(TableError, match=r"table T has a negative"):
        paper_block(total=[[[44, 0, 0, 5, 0, -1, 0]]])
    with pytest.raises(TableError, match="area '3000'") as caught:
        reconstruct_arithmetic(paper_block(split=[[9]]))
    assert "9" not in str(caught.value)


def test_name_matching_measures_coverage_and_errors_lower_it():
    people = blocks(3, 40)
    named = people.with_row_index("pid")
    facts = {"area": "block", "keys": ["sex", "age"], "attributes": ["race", "hisp"]}
    whole = reidentification(people, named, named, **facts)
    half = reidentification(people, named, named, coverage=0.5, **facts)
    wrong = reidentification(people, named, named, key_error_rate=0.5, **facts)
    assert whole.values["confirmed by name alone"] == 100
    assert half.values["putative links"] < whole.values["putative links"]
    assert wrong.values["confirmed, agency-style"] < whole.values["confirmed, agency-style"]
    assert whole.value == pytest.approx(
        whole.values["confirmed of the links"] - whole.values["modal guesser"], abs=1e-9
    )


def test_swapping_leaves_the_tables_rebuildable_but_lowers_agreement_with_the_original():
    people = blocks(5, 40)
    swapped = people.with_columns(pl.col("block").shuffle(seed=1))
    rates = []
    for truth in (swapped, people):
        tables = AreaTables.from_microdata(swapped, "block", ["sex", "age"], "race", "hisp", "1", "0")
        rebuilt = (
            reconstruct_exact(tables)
            .microdata("hisp", "1", "0", fill=True)
            .rename({"area": "block", "category": "race"})
        )
        rates.append(agreement(rebuilt, truth, ["sex", "age", "race", "hisp"], within="block")["exact"])
    assert rates[0] > 0.95 > rates[1]
    out = Published.count(swapped.select("block", "sex", "race"), [("block", "sex"), ("block", "race")])
    assert not verify(rebuilt.select("block", "sex", "race"), out).height
    assert verify(people.select("block", "sex", "race"), out).height
