"""The example data keep their promises: rules, dependence, missingness, weights, determinism."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import OptionError
from dalenius.data import examples
from dalenius.data.examples.population import CHUNK_HOUSEHOLDS

c = pl.col


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return examples.population(60_000, seed=5)


@pytest.fixture(scope="module")
def adults(people: pl.DataFrame) -> pl.DataFrame:
    return people.filter(c("age") >= 16)


def rank(name: str) -> pl.Expr:
    return c(name).to_physical().cast(pl.Float64)


def correlation(frame: pl.DataFrame, one: pl.Expr, other: pl.Expr) -> float:
    both = frame.select(one.cast(pl.Float64).alias("a"), other.cast(pl.Float64).alias("b")).drop_nulls()
    return float(both.select(pl.corr("a", "b", method="spearman")).item())


def share(frame: pl.DataFrame, what: pl.Expr) -> float:
    return float(frame.select(what.mean()).item())


def content(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.rechunk().write_ipc(buffer)
    return buffer.getvalue()


class TestShape:
    @pytest.mark.parametrize("n", [0, 1, 2, 100, 5000, 20_000])
    def test_rows_schema_and_rules(self, n: int) -> None:
        for seed in (0, 7):
            frame = examples.population(n, seed)
            assert frame.height == n
            assert frame.schema == examples.population(3).schema
            assert not any(examples.violations(frame, households=True).values())

    @settings(max_examples=25, deadline=None)
    @given(n=st.integers(0, 40_000), seed=st.integers(0, 2**63))
    def test_rules_hold_for_any_size_and_seed(self, n: int, seed: int) -> None:
        frame = examples.population(n, seed)
        assert frame.height == n
        assert frame["person_id"].n_unique() == n
        assert not any(examples.violations(frame, households=True).values())

    @pytest.mark.parametrize("make", [examples.population, examples.survey, examples.companies])
    def test_same_seed_same_bytes_other_seed_other_data(self, make) -> None:
        assert content(make(1500, seed=3)) == content(make(1500, seed=3))
        assert content(make(1500, seed=3)) != content(make(1500, seed=4))

    def test_global_random_state_is_neither_used_nor_touched(self) -> None:
        np.random.seed(1)  # noqa: NPY002 (the global state is what is under test)
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        examples.population(10)
        examples.companies(10)
        assert (np.random.get_state()[1] == before).all()  # noqa: NPY002

    @pytest.mark.parametrize("make", [examples.population, examples.survey, examples.companies])
    def test_negative_size_is_refused(self, make) -> None:
        with pytest.raises(OptionError, match="zero or more"):
            make(-1)


class TestChunks:
    def test_concatenation_is_the_population_whatever_the_chunk(self) -> None:
        whole = examples.population(45_000, seed=2)
        for rows in (None, 1_000, 17_001, 100_000):
            frames = list(examples.population_chunks(45_000, 2, chunk_rows=rows))
            assert pl.concat(frames).equals(whole)
            if rows is not None:
                assert all(frame.height == rows for frame in frames[:-1])
                assert 0 < frames[-1].height <= rows

    def test_smaller_population_begins_the_larger(self) -> None:
        assert examples.population(30_000, 1).head(500).equals(examples.population(500, 1))

    def test_frames_are_bounded_and_lazy(self) -> None:
        # A hundred million people are asked for, and only what is read is made.
        frames = examples.population_chunks(10**8)
        for _ in range(3):
            assert CHUNK_HOUSEHOLDS <= next(frames).height <= 9 * CHUNK_HOUSEHOLDS
        assert next(examples.population_chunks(10**8, chunk_rows=100)).height == 100

    def test_no_people_no_frames(self) -> None:
        assert list(examples.population_chunks(0)) == []
        assert list(examples.population_chunks(0, chunk_rows=5)) == []

    def test_chunk_rows_must_be_positive(self) -> None:
        with pytest.raises(OptionError, match="chunk_rows"):
            examples.population_chunks(10, chunk_rows=0)

    @pytest.mark.slow
    def test_a_million_people_follow_the_rules(self) -> None:
        seen = 0
        for frame in examples.population_chunks(1_000_000, seed=9):
            assert not any(examples.violations(frame, households=True).values())
            seen += frame.height
        assert seen == 1_000_000


class TestRules:
    def test_every_rule_can_be_broken(self, people: pl.DataFrame) -> None:
        rng = np.random.default_rng(0)
        shuffled = people.select(
            people[name].gather(rng.permutation(people.height)) for name in people.columns
        )
        counts = examples.violations(shuffled, households=True)
        assert tuple(counts) == examples.POPULATION_RULES + examples.HOUSEHOLD_RULES
        assert all(count > 0 for count in counts.values()), counts

    def test_missing_values_break_nothing(self, people: pl.DataFrame) -> None:
        empty = people.head(50).with_columns(
            pl.lit(None, dtype=kind).alias(n) for n, kind in people.schema.items()
        )
        assert not any(examples.violations(empty).values())

    def test_rules_on_absent_columns_are_left_out(self, people: pl.DataFrame) -> None:
        assert list(examples.violations(people.select("age", "marital"))) == [
            "age < 18 -> marital == 'single'"
        ]
        assert examples.violations(people.select("visits")) == {}

    def test_text_instead_of_enum_is_read(self, people: pl.DataFrame) -> None:
        as_text = people.head(2000).with_columns(c("education").cast(pl.String))
        assert not any(examples.violations(as_text).values())


class TestGroundTruth:
    def test_columns_kinds_and_levels(self, people: pl.DataFrame) -> None:
        assert list(examples.POPULATION_COLUMNS) == people.columns
        for name, truth in examples.POPULATION_COLUMNS.items():
            series = people[name].drop_nulls()
            assert (truth["kind"] == "ordered") == isinstance(people.schema[name], pl.Enum), name
            if truth["levels"] is not None:
                known = {*truth["levels"], *truth["not_applicable"]}
                assert set(series.cast(pl.String).unique()) <= known, name
            elif truth["not_applicable"]:
                assert series.is_in(truth["not_applicable"]).any(), name
            if isinstance(people.schema[name], pl.Enum):
                assert tuple(people.schema[name].categories) == truth["levels"]

    def test_missing_rates(self, people: pl.DataFrame) -> None:
        for name, truth in examples.POPULATION_COLUMNS.items():
            rate = people[name].null_count() / people.height
            if truth["missing_rate"] == 0:
                assert rate == 0, name
            else:
                assert rate == pytest.approx(truth["missing_rate"], abs=0.004), name

    def test_company_columns(self) -> None:
        firms = examples.companies(20_000)
        assert list(examples.COMPANY_COLUMNS) == firms.columns
        for name, truth in examples.COMPANY_COLUMNS.items():
            assert firms[name].null_count() / firms.height == pytest.approx(truth["missing_rate"], abs=0.01)


class TestHouseholds:
    def test_spouses_are_close_in_age(self, people: pl.DataFrame) -> None:
        married = people.filter(c("marital") == "married")
        pairs = married.group_by("household_id").agg(
            c("age").first().alias("a"), c("age").last().alias("b"), pl.len().alias("size")
        )
        # The very last household may be cut between the two.
        assert pairs.filter(c("size") != 2).height <= 1
        assert correlation(pairs, c("a"), c("b")) > 0.9
        assert share(pairs, (c("a") - c("b")).abs()) < 5

    def test_husbands_are_older_and_spouses_alike_in_schooling(self, people: pl.DataFrame) -> None:
        married = people.filter(c("marital") == "married").with_columns(level=rank("education"))
        wives = married.filter(c("sex") == "female")
        couples = wives.join(married.filter(c("sex") == "male"), on="household_id")
        assert 1 < share(couples, c("age_right") - c("age")) < 3
        assert correlation(couples, c("level"), c("level_right")) > 0.3

    def test_children_live_with_someone_a_generation_older(self, people: pl.DataFrame) -> None:
        oldest = people.with_columns(oldest=c("age").max().over("household_id")).filter(c("age") < 16)
        assert oldest.height > 5000
        assert (oldest["oldest"] - oldest["age"]).min() >= 18

    def test_one_home_near_its_municipality(self, people: pl.DataFrame) -> None:
        spread = people.group_by("municipality").agg(c("longitude").std()).drop_nulls()["longitude"]
        assert spread.max() < 0.1
        assert people["longitude"].std() > 0.5

    def test_municipalities_are_very_unequal(self, people: pl.DataFrame) -> None:
        sizes = people["municipality"].value_counts()["count"]
        assert sizes.max() > 30 * sizes.median()


class TestDependence:
    def test_money(self, adults: pl.DataFrame) -> None:
        employed = adults.filter(c("employment") == "employed")
        assert correlation(employed, rank("education"), c("income")) > 0.2
        assert correlation(employed, c("hours"), c("income")) > 0.2
        assert correlation(adults, c("age"), c("wealth")) > 0.3
        medians = employed.group_by("region").agg(c("income").median()).sort("region")["income"].to_list()
        assert medians[0] > 1.1 * medians[3]

    def test_health(self, adults: pl.DataFrame) -> None:
        assert correlation(adults, c("age"), rank("health")) < -0.3
        assert correlation(adults, rank("health"), c("visits")) < -0.1
        assert correlation(adults, rank("health"), rank("life_satisfaction")) > 0.2
        assert correlation(adults.filter(c("age") < 60), c("age"), c("bmi")) > 0.1
        ill = c("diagnosis") != "none"
        assert share(adults.filter(c("health") == "bad"), ill) > 2 * share(
            adults.filter(c("health") == "good"), ill
        )
        lungs = c("diagnosis").is_in(["J44", "C34"])
        assert share(adults.filter(c("smoker") == "yes"), lungs) > 2 * share(adults, lungs)

    def test_smoking(self, adults: pl.DataFrame) -> None:
        smokes = c("smoker") == "yes"
        assert correlation(adults.filter(c("age") > 30), rank("education"), smokes) < -0.05
        assert share(adults.filter(c("region") == "R4"), smokes) > 1.3 * share(
            adults.filter(c("region") == "R1"), smokes
        )

    def test_life_course(self, adults: pl.DataFrame) -> None:
        by_age = {
            status: adults.filter(c("marital") == status)["age"].mean()
            for status in adults["marital"].unique()
        }
        assert by_age["single"] < by_age["married"] < by_age["widowed"]
        retired = adults.filter(c("employment") == "retired")
        assert share(retired, c("age") >= 60) > 0.9

    def test_work(self, adults: pl.DataFrame) -> None:
        works = adults.filter(c("hours") > 0)
        farm = c("industry").str.starts_with("A")
        assert share(works.filter(c("region") == "R3"), farm) > 2 * share(
            works.filter(c("region") == "R1"), farm
        )
        professional = c("occupation").str.starts_with("2")
        assert share(works.filter(c("education") >= "master"), professional) > 0.3
        assert share(works.filter(c("education") <= "lower secondary"), professional) < 0.1


class TestDistributions:
    def test_income_is_skewed_and_heaped(self, adults: pl.DataFrame) -> None:
        income = adults["income"].drop_nulls()
        assert income.skew() > 2
        positive = income.filter(income > 0)
        assert (positive % 1000 == 0).mean() > 0.3
        assert (positive % 10 != 0).mean() > 0.1

    def test_wealth_is_skewed_with_negatives(self, adults: pl.DataFrame) -> None:
        wealth = adults["wealth"].drop_nulls()
        assert wealth.skew() > 2
        assert 0.05 < (wealth < 0).mean() < 0.25
        assert (wealth % 100 == 0).all()

    def test_visits_have_excess_zeros(self, people: pl.DataFrame) -> None:
        visits = people["visits"].drop_nulls()
        assert (visits == 0).mean() > 2 * np.exp(-visits.mean())

    def test_codes_have_leading_zeros_and_long_tails(self, people: pl.DataFrame) -> None:
        codes = people["occupation"].drop_nulls().unique()
        assert codes.str.starts_with("0").any()
        assert codes.filter(codes != "-8").str.len_chars().unique().to_list() == [4]
        counts = people["diagnosis"].value_counts(sort=True)
        assert counts["diagnosis"][0] == "none"
        assert counts["count"][0] > 0.7 * people.height
        assert (counts["count"] < 10).sum() >= 5

    def test_bmi_has_one_decimal(self, people: pl.DataFrame) -> None:
        bmi = people["bmi"].drop_nulls()
        assert (bmi == bmi.round(1)).all()
        assert 11 <= bmi.min() < bmi.max() <= 60


class TestMissingness:
    def test_who_does_not_answer(self, people: pl.DataFrame, adults: pl.DataFrame) -> None:
        no_income = c("income").is_null()
        assert share(adults.filter(c("education") >= "master"), no_income) > 1.1 * share(adults, no_income)
        # Half of the missing wealth belongs to people whose income is missing too.
        assert share(adults.filter(no_income), c("wealth").is_null()) > 0.5
        no_bmi = c("bmi").is_null()
        assert share(people.filter(c("age") > 70), no_bmi) > 2 * share(people.filter(c("age") < 30), no_bmi)
        assert adults.filter(c("smoker").is_null())["cigarettes"].null_count() > 0
        assert adults.filter(c("smoker").is_null())["cigarettes"].is_null().all()

    def test_what_does_not_apply_is_not_missing(self, people: pl.DataFrame) -> None:
        children = people.filter(c("age") < 16)
        for name in ("income", "wealth", "hours", "occupation", "industry", "smoker", "cigarettes"):
            assert children[name].null_count() == 0


class TestSurvey:
    @pytest.mark.parametrize("n", [0, 1, 7, 60, 100, 3000])
    def test_size_and_rules(self, n: int) -> None:
        sample = examples.survey(n, seed=1)
        assert sample.height == n
        assert sample.schema == examples.survey(100).schema
        assert sample["person_id"].is_unique().all()
        assert not any(examples.violations(sample).values())

    @pytest.mark.parametrize(("n", "size"), [(100, None), (2000, None), (1000, 1200), (500, 60_000)])
    def test_weights_sum_to_the_population(self, n: int, size: int | None) -> None:
        sample = examples.survey(n, seed=2, population_size=size)
        assert sample.height == n
        assert sample["weight"].sum() == pytest.approx(size or max(10 * n, 10_000))
        assert sample["weight"].min() >= 1

    def test_sample_of_the_population_with_inverse_chances(self) -> None:
        whole = examples.population(50_000, seed=4)
        sample = examples.survey(2500, seed=4, population_size=50_000)
        assert sample.join(whole, on="person_id", how="semi").height == 2500
        assert sample.drop("stratum", "weight").equals(whole.join(sample, on="person_id", how="semi"))
        for key, group in sample.group_by("stratum"):
            region, band = key[0].split(":")
            low, high = [*band.rstrip("+").split("-"), "200"][:2]
            inside = whole.filter((c("region") == region) & c("age").is_between(int(low), int(high)))
            assert group["weight"].unique().to_list() == [pytest.approx(inside.height / group.height)]

    def test_weights_repair_what_oversampling_bends(self) -> None:
        whole = examples.population(50_000, seed=6)["age"].mean()
        sample = examples.survey(5000, seed=6)
        weighted = (sample["age"] * sample["weight"]).sum() / sample["weight"].sum()
        assert abs(weighted - whole) < 0.5 < abs(sample["age"].mean() - whole)
        fractions = sample.group_by("stratum").agg(c("weight").first())["weight"]
        assert fractions.max() > 5 * fractions.min()

    def test_population_must_hold_the_sample(self) -> None:
        with pytest.raises(OptionError, match="population_size"):
            examples.survey(100, population_size=99)
        assert examples.survey(99, population_size=99)["weight"].unique().to_list() == [1.0]


class TestCompanies:
    @pytest.mark.parametrize("n", [0, 1, 2, 50, 5000])
    def test_sizes_and_consistency(self, n: int) -> None:
        firms = examples.companies(n, seed=1)
        assert firms.height == n
        assert firms.schema == examples.companies(10).schema
        assert (firms["district"].str.head(2) == firms["region"]).all()
        assert (firms["exports"] <= firms["turnover"]).all()
        assert (firms["investment"] >= 0).all()
        assert (firms["weight"] >= 1).all()
        assert firms["industry"].is_in(examples.INDUSTRIES).all()

    def test_size_class_follows_employees(self) -> None:
        firms = examples.companies(20_000)
        bounds = firms.group_by("size_class").agg(
            c("employees").min().alias("a"), c("employees").max().alias("b")
        )
        rows = bounds.sort("size_class").rows()
        assert [row[1] for row in rows] == [0, 10, 50, 250]
        assert all(low[2] < high[1] for low, high in pairwise(rows))

    def test_few_dominate(self) -> None:
        firms = examples.companies(20_000)
        assert firms["turnover"].skew() > 10
        cells = firms.group_by("industry", "region").agg(
            (c("turnover").max() / c("turnover").sum()).alias("top")
        )
        assert (cells["top"] > 0.5).mean() > 0.2

    def test_zeros_and_corrections(self) -> None:
        firms = examples.companies(20_000)
        assert 0.3 < (firms["investment"] == 0).mean() < 0.8
        assert 0 < (firms["exports"] < 0).mean() < 0.02

    def test_holdings_own_several_firms(self) -> None:
        owned = examples.companies(20_000)["holding"].drop_nulls().value_counts()["count"]
        assert owned.min() >= 2
        assert owned.max() < 100


def test_the_documentation_names_every_column() -> None:
    text = (Path(__file__).parents[2] / "docs" / "examples.md").read_text(encoding="utf-8")
    for name in (*examples.POPULATION_COLUMNS, *examples.COMPANY_COLUMNS, "stratum"):
        assert f"| `{name}` |" in text, name
    for rule in (*examples.POPULATION_RULES, *examples.HOUSEHOLD_RULES):
        assert f"    {rule}\n" in text, rule
