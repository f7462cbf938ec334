"""Populations of households: totals as the weights say, no household of children alone, nobody's family cloned."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data import examples
from dalenius.data.table import Table
from dalenius.synth.population import HouseholdPopulation, SurveySpec, calibrate, draw_sample
from dalenius.synth.population.calibration import Margin
from dalenius.utility.households import household_counts

SPEC = SurveySpec("household_id", "region", "weight", "hsize", ("age", "sex"))


@pytest.fixture(scope="module")
def sample() -> pl.DataFrame:
    whole = examples.population(40_000, seed=3).rename({"household_id": "household"})
    drawn = draw_sample(whole, 900, "equal", seed=1).rename({"household": "household_id"})
    return drawn.with_columns(hsize=pl.len().over("household_id"))


@pytest.fixture(scope="module")
def people(sample) -> HouseholdPopulation:
    return (
        HouseholdPopulation.of(sample, SPEC, seed=1).structure().categorical(["marital"]).continuous("income")
    )


def _homes(frame: pl.DataFrame) -> pl.DataFrame:
    adult = pl.col("age") >= 16
    return frame.group_by("household").agg(
        adult.any().alias("adult"), (adult & (pl.col("sex") == "female")).any().alias("f"),
        (adult & (pl.col("sex") == "male")).any().alias("m"), pl.col("region").n_unique().alias("regions"), pl.len(),
    )  # fmt: skip


def test_every_cell_has_the_households_the_weights_say_for_any_seed(sample, people):
    heads = sample.group_by("household_id").agg(pl.first("region", "hsize", "weight"))
    wanted = heads.group_by("region", "hsize").agg(
        (pl.col("weight").sum() + 0.5).floor().cast(pl.Int64).alias("n")
    )
    for seed in (1, 2):
        made = people if seed == 1 else HouseholdPopulation.of(sample, SPEC, seed=seed).structure()
        frame = made.frame()
        found = frame.filter(pl.col("member") == 1).group_by(pl.col("region").cast(pl.String), "size").len()
        both = wanted.join(found, left_on=["region", "hsize"], right_on=["region", "size"], how="full")
        assert (both["n"] == both["len"]).all()
        assert made.households == wanted["n"].sum()


def test_households_are_like_households(sample, people):
    homes = _homes(people.frame())
    assert (~homes["adult"]).sum() == 0
    assert (homes["regions"] == 1).all()
    truth = household_counts(Table.from_frame(sample), "household_id", "age", "sex", "weight")
    mixed = int((homes["f"] & homes["m"]).sum())
    assert mixed == pytest.approx(truth.mixed_estimated, rel=0.025)


def test_values_follow_the_survey(sample, people):
    frame = people.frame()
    assert frame.filter(pl.col("age") < 16)["marital"].n_unique() == 1, "children are single"
    shares = sample.group_by("marital").agg(pl.col("weight").sum() / sample["weight"].sum())
    found = dict(frame["marital"].value_counts(normalize=True).iter_rows())
    for marital, share in shares.iter_rows():
        assert found[marital] == pytest.approx(share, abs=0.02)
    old, new = (f.filter(pl.col("income") > 0)["income"] for f in (sample, frame))
    assert new.median() == pytest.approx(old.median(), rel=0.2)
    assert new.max() <= old.max()


def test_rare_families_are_not_cloned(sample, people):
    def families(frame: pl.DataFrame, household: str) -> pl.Series:
        spelled = frame.with_columns(p=pl.concat_str("age", "sex", separator="/")).group_by(household)
        return spelled.agg(pl.col("p").sort().str.join(",").alias("all"), pl.len().alias("n")).filter(
            pl.col("n") >= 3
        )["all"]

    own = families(sample, "household_id")
    unique = own.filter(~own.is_duplicated())
    made = families(people.frame(), "household").unique()
    cloned = HouseholdPopulation.of(sample, SPEC, seed=1).structure(least=1).frame()
    again, before = (
        unique.is_in(made.implode()).mean(),
        unique.is_in(families(cloned, "household").unique().implode()).mean(),
    )
    assert before > 0.9
    assert again < before / 3


@pytest.mark.parametrize("method", ["multinom", "distribution"])
def test_other_structures_keep_strata_and_families(sample, method):
    made = HouseholdPopulation.of(sample, SPEC, seed=1).structure(method)
    direct = HouseholdPopulation.of(sample, SPEC, seed=1).structure()
    assert made.households == direct.households
    assert (~_homes(made.frame())["adult"]).sum() == 0


def test_components_add_up_in_the_shares_of_donors(sample):
    split = sample.with_columns(wage=pl.col("income") * 0.8, rent=pl.col("income") * 0.2)
    made = (
        HouseholdPopulation.of(split, SPEC, seed=1)
        .structure()
        .continuous("income", ["sex"], method="distribution")
    )
    frame = made.components("income", ["wage", "rent"], ["sex"]).frame().drop_nulls("income")
    assert (frame["wage"] + frame["rent"] - frame["income"].abs()).abs().mean() < 0.05 * frame[
        "income"
    ].mean()


def test_bad_surveys_are_told_all_at_once(sample):
    wrong = sample.with_columns(
        weight=pl.when(pl.int_range(pl.len()) == 3).then(-1.0).otherwise("weight"), hsize=pl.col("hsize") + 1,
        region=pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit("R1")).otherwise("region"),
    )  # fmt: skip
    with pytest.raises(DataError) as error:
        HouseholdPopulation.of(wrong, SPEC)
    assert len(error.value.faults) == 3
    with pytest.raises(DataError, match="column of ones"):
        HouseholdPopulation.of(sample.drop("weight"), SPEC)
    with pytest.raises(OptionError, match="structure first"):
        HouseholdPopulation.of(sample, SPEC).categorical(["marital"])


def test_calibration_meets_margins_of_both_levels(sample):
    truth = examples.population(40_000, seed=3)
    people = truth.group_by("region", "sex").len("total")
    ages = truth.group_by("marital").len("total")
    homes = (
        truth.with_columns(hsize=pl.len().over("household_id"))
        .group_by("household_id")
        .agg(pl.first("region", "hsize"))
    )
    sizes = homes.with_columns(hsize=pl.col("hsize").clip(upper_bound=5)).group_by("hsize").len("total")
    used = sample.with_columns(hsize=pl.col("hsize").clip(upper_bound=5))
    margins = [
        Margin(("region", "sex"), people), Margin(("marital",), ages), Margin(("hsize",), sizes, "households"),
    ]  # fmt: skip
    weights = calibrate(used, margins, household="household_id")
    held = used.with_columns(w=pl.Series(weights))
    assert (held.group_by("household_id").agg(pl.col("w").n_unique())["w"] == 1).all()
    for margin in margins:
        base = held if margin.level == "people" else held.unique("household_id")
        found = base.group_by(list(margin.columns)).agg(pl.col("w").sum())
        both = margin.totals.join(found, on=list(margin.columns))
        assert ((both["w"] / both["total"] - 1).abs() < 1e-6).all(), margin.name


def test_margins_that_conflict_are_named_and_give_no_weights():
    people = {
        "home": [1, 1, 2, 3],
        "sex": ["f", "m", "f", "m"],
        "area": ["n", "n", "s", "s"],
        "weight": [1.0] * 4,
    }
    with pytest.raises(DataError, match="different sums: sex"):
        calibrate(people, [Margin(("sex",), {"sex": ["f", "m"], "total": [10, 12]}),
                           Margin(("area",), {"area": ["n", "s"], "total": [10, 30]})], household="home")  # fmt: skip
    with pytest.raises(DataError, match="nobody in the sample is in 'x'"):
        calibrate(people, [Margin(("sex",), {"sex": ["f", "m", "x"], "total": [10, 12, 3]})])
    with pytest.raises(DataError, match="conflict, no weights"):
        calibrate(people, [Margin(("area",), {"area": ["n", "s"], "total": [20, 5]}),
                           Margin(("sex",), {"sex": ["f", "m"], "total": [20, 5]})], household="home")  # fmt: skip


def test_samples_by_design():
    people = examples.population(5000, seed=1).rename({"household_id": "household"})
    for allocation in ("prop", "equal"):
        drawn = draw_sample(people, 300, allocation, seed=1)
        heads = drawn.unique("household")
        assert heads["weight"].sum() == pytest.approx(people["household"].n_unique(), rel=1e-9)
        assert drawn.join(people, on="person_id").height == drawn.height
    assert np.ptp(heads.group_by("region").len()["len"].to_numpy()) <= 1
