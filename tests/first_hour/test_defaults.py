"""One default method and seed wherever one begins; what a file keeps in every row is kept without asking."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl

import dalenius
from dalenius.data import read
from dalenius.release import read_plan
from dalenius.synth import METHODS, make_synthesizer
from tests.first_hour.conftest import Newcomer, survey


def test_python_and_the_command_line_make_the_same_file_by_default(newcomer: Newcomer) -> None:
    path = newcomer.folder / "people.csv"
    survey(300).select("sex", "age", "smoke").write_csv(path)
    newcomer.types("synth", path, "-o", newcomer.folder / "out.csv")
    typed = pl.read_csv(newcomer.folder / "out.csv")
    assert dalenius.synthesize(pl.read_csv(path)).rows() == typed.rows()
    assert dalenius.synthesize(pl.read_csv(path), "cart").rows() == typed.rows()


def test_the_plan_offers_no_saturated_table_that_the_file_cannot_carry(newcomer: Newcomer) -> None:
    rng = np.random.default_rng(1)
    path = newcomer.folder / "wide.csv"
    pl.DataFrame({f"q{i}": rng.integers(0, 5, 400) for i in range(35)}).write_csv(path)
    newcomer.types("plan", path, "-o", newcomer.folder / "plan.yaml")
    offered = {c.method for c in read_plan(newcomer.folder / "plan.yaml").candidates}
    assert "cart" in offered
    assert not offered & {"saturated", "bootstrap"}
    assert not any(METHODS[name].info.copies_rows for name in offered)


def test_ids_in_a_file_with_repeated_rows_never_leave(newcomer: Newcomer) -> None:
    rng = np.random.default_rng(2)
    stay = pl.DataFrame(
        {
            "patient": [f"P{i:05d}" for i in rng.permutation(500)],
            "number": rng.permutation(500) + 7000,
            "ward": rng.choice(["a", "b"], 500),
        }
    )
    path = newcomer.folder / "stays.csv"
    pl.concat([stay, stay.head(30)]).write_csv(path)
    seen = newcomer.types("synth", path, "-o", newcomer.folder / "out.csv")
    assert "left out of the file: patient, number" in seen
    assert read(newcomer.folder / "out.csv").names == ["ward"]
    assert "whose rows they are" in " ".join(newcomer.types("schema", path).split())


def test_a_discharge_never_precedes_its_admission(newcomer: Newcomer) -> None:
    rng = np.random.default_rng(3)
    begin = [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 700, 800)]
    end = [b + dt.timedelta(int(d)) for b, d in zip(begin, rng.integers(0, 30, 800), strict=True)]
    path = newcomer.folder / "stays.csv"
    pl.DataFrame({"admission": begin, "discharge": end, "ward": rng.choice(["a", "b"], 800)}).write_csv(path)
    assert "discharge is never before admission" in newcomer.types(
        "synth", path, "-o", newcomer.folder / "o.csv"
    )
    made = pl.read_csv(newcomer.folder / "o.csv", try_parse_dates=True)
    assert (made["discharge"] >= made["admission"]).all()


def test_a_declared_sum_holds_in_every_row(newcomer: Newcomer) -> None:
    rng = np.random.default_rng(4)
    net = rng.lognormal(7, 1, 900).round(2)
    tax = (net * rng.choice([0.07, 0.19], 900)).round(2)
    path = newcomer.folder / "firms.csv"
    pl.DataFrame({"net": net, "tax": tax, "gross": (net + tax).round(2)}).write_csv(path)
    newcomer.types("schema", path, "-o", newcomer.folder / "schema.yaml")
    declared = dalenius.Schema.from_yaml(newcomer.folder / "schema.yaml")
    dalenius.Schema(declared.columns, rules=("net + tax == gross",)).to_yaml(newcomer.folder / "schema.yaml")
    for more in ([], ["--schema", newcomer.folder / "schema.yaml"]):
        newcomer.types("synth", path, "-o", newcomer.folder / "out.csv", *more)
        made = pl.read_csv(newcomer.folder / "out.csv")
        assert ((made["net"] + made["tax"] - made["gross"]).abs() < 0.006).all()


def test_a_survey_keeps_what_follows_in_every_row_and_says_so_in_one_line(newcomer: Newcomer) -> None:
    path = newcomer.folder / "survey.csv"
    survey().write_csv(path, null_value="NA")
    seen = newcomer.types("synth", path, "-o", newcomer.folder / "out.csv")
    assert "'NA' read as missing in 4 columns" in seen
    (line,) = [line for line in seen.splitlines() if line.startswith("kept by construction")]
    for part in (
        "agegr groups age",
        "bmi = 10000 × weight / height / height",
        "nociga is -8 where smoke is NO",
    ):
        assert part in line
    made = read(newcomer.folder / "out.csv").to_frame("polars")
    whole = made.drop_nulls(["height", "weight"])
    assert (whole["bmi"] - whole["weight"] / (whole["height"] / 100) ** 2).abs().max() < 1e-9
    assert made["bmi"].is_null().sum() == made.height - whole.height
    assert ((made["smoke"] == "NO") == (made["nociga"] == -8)).all()
    groups = (
        made.group_by("agegr")
        .agg(pl.col("age").min().alias("low"), pl.col("age").max().alias("high"))
        .sort("low")
    )
    assert (groups["low"][1:] > groups["high"][:-1]).all()
    advice = " ".join(newcomer.types("check", path).split())
    assert "'dalenius synth' keeps: agegr groups age" in advice
    assert "drop 'agegr'" not in advice, "the table does not ask for what the last line says is done"
    switched = newcomer.types("synth", path, "-o", newcomer.folder / "plain.csv", "--no-prepare")
    assert "kept by construction" not in switched


def test_fit_takes_any_frame() -> None:
    pandas = survey(200).select("sex", "age", "income").to_pandas()
    made = make_synthesizer("cart").fit(pandas, seed=1).sample(50, seed=2).to_frame()
    assert type(made) is type(pandas)
    assert len(made) == 50


def test_categories_that_a_rule_derives_come_back_in_a_chain() -> None:
    rng = np.random.default_rng(6)
    town = [
        f"R{r}-{d:02d}-{t}" for r, d, t in zip(*(rng.integers(1, n, 600) for n in (3, 4, 5)), strict=True)
    ]
    data = {"region": [t[:2] for t in town], "district": [t[:5] for t in town], "town": town}
    rules = ("region == prefix(district, 2)", "district == prefix(town, 5)")
    schema = dalenius.Schema(dalenius.Schema.infer(data).columns, rules=rules)
    made = dalenius.synthesize(dalenius.Table.from_frame(data, schema)).to_frame("polars")
    assert made.null_count().row(0) == (0, 0, 0)
    assert (made["town"].str.slice(0, 5) == made["district"]).all()
    assert (made["district"].str.slice(0, 2) == made["region"]).all()
