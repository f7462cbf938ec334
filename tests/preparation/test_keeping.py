"""What follows from other columns holds in every synthetic row, by default, whatever the door and the method."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.test_commands import run, runner

import dalenius
from dalenius.cli import app
from dalenius.preparation.keeping import Kept
from dalenius.synth import METHODS, Candidate, load_model, make_synthesizer, save_model


def clinic(rows: int = 1200, seed: int = 5) -> pl.DataFrame:
    """A file as a hospital has it: nothing in it is declared."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 700, rows)
    height, weight = rng.normal(170, 9, rows).round(), rng.normal(75, 12, rows).round(1)
    smoker = rng.choice(["no", "yes"], rows, p=[0.7, 0.3])
    age = rng.integers(18, 95, rows)
    town = rng.choice(["Aa", "Bo", "Cy", "Du", "El"], rows)
    day = dt.date(2020, 1, 1)
    return pl.DataFrame(
        {
            "age": age,
            "agegroup": np.array(["18-39", "40-64", "65+"])[np.searchsorted([40, 65], age, side="right")],
            "town": town,
            "county": np.where(np.isin(town, ["Aa", "Bo"]), "North", "South"),
            "admitted": [day + dt.timedelta(int(d)) for d in start],
            "discharged": [day + dt.timedelta(int(d)) for d in start + rng.poisson(4, rows)],
            "height": height,
            "weight": weight,
            "bmi": (weight / (height / 100) ** 2).round(1),
            "smoker": smoker,
            "cigarettes": np.where(smoker == "no", -8, rng.integers(1, 40, rows)),
            "net": (net := rng.gamma(3, 500, rows).round(2)),
            "tax": (tax := (net * rng.uniform(0.1, 0.3, rows)).round(2)),
            "gross": (net + tax).round(2),
        }
    )


def broken(frame: pl.DataFrame) -> dict[str, int]:
    """Rows that break what every row of the original keeps."""
    group = pl.Series(
        np.array(["18-39", "40-64", "65+"])[np.searchsorted([40, 65], frame["age"], side="right")]
    )
    county = frame["town"].replace_strict({"Aa": "North", "Bo": "North"}, default="South")
    bmi = frame["weight"] / (frame["height"] / 100) ** 2
    quiet = frame["smoker"] == "no"
    wrong = {
        "group": frame["agegroup"] != group,
        "county": frame["county"] != county,
        "order": frame["discharged"] < frame["admitted"],
        "bmi": (frame["bmi"] - bmi).abs() > 0.05 + 1e-9,
        "asked": quiet != (frame["cigarettes"] == -8),
        "sum": (frame["net"] + frame["tax"] - frame["gross"]).abs() > 0.006,
    }
    return {name: int(rows.sum()) for name, rows in wrong.items() if rows.sum()}


def test_the_file_itself_keeps_everything() -> None:
    assert broken(clinic()) == {}


@pytest.mark.parametrize("method", ["cart", "independent", "syndiffix", "parametric"])
def test_by_default_every_row_keeps_what_the_original_keeps(method: str) -> None:
    assert broken(dalenius.synthesize(clinic(), method, seed=3)) == {}


def test_fitting_a_frame_keeps_the_same_as_making_one(tmp_path: Path) -> None:
    model = make_synthesizer("cart").fit(clinic(), seed=3)
    assert broken(model.sample(seed=3).to_frame()) == {}
    assert any(note.startswith("kept by construction: ") and "bmi" in note for note in model.notes)
    save_model(model, tmp_path / "a.model")
    assert broken(load_model(tmp_path / "a.model").sample(300, seed=4).to_frame()) == {}
    assert {"order", "bmi"} <= set(
        broken(make_synthesizer("cart").fit(clinic(), seed=3, prepare=False).sample(seed=3).to_frame())
    )


def test_fitting_leaves_a_column_that_an_option_names() -> None:
    """``keep`` takes the body mass index over as it is: it is not computed from drawn weights."""
    frame = clinic(600)
    made = make_synthesizer("cart", keep=["bmi"]).fit(frame, seed=1).sample(seed=1).to_frame()
    assert sorted(made["bmi"]) == sorted(frame["bmi"])


@pytest.mark.parametrize(
    ("unit", "more", "words"),
    [("days", 0, "days from admitted to discharged"), ("days", 1, "1 + days from admitted to discharged"),
     ("years", 0, "years from born to admitted"), ("hours", 0, "hours from admitted to discharged")],
)  # fmt: skip
def test_time_between_two_dates_is_counted_again(unit: str, more: int, words: str) -> None:
    frame = _stays(unit, more)
    assert words in str(Kept.of(dalenius.Table.from_frame(frame)))
    made = dalenius.synthesize(frame, "independent", seed=2)
    assert made["long"].to_list() == _long(made, unit, more)
    assert made["long"].n_unique() > 3


def test_a_few_slips_do_not_turn_an_order_off() -> None:
    frame = _stays("days", 0).drop("long")
    dirty, more = (
        frame.with_columns(
            discharged=pl.when(pl.int_range(pl.len()) < slips)
            .then(pl.col("admitted") - dt.timedelta(days=3))
            .otherwise("discharged")
        )
        for slips in (2, 30)
    )
    (order,) = [f for f in dalenius.check(dirty).findings if f.columns == ("discharged", "admitted")]
    assert "but for 2 rows" in order.evidence
    made = dalenius.synthesize(dirty, "cart", seed=2)
    assert (made["discharged"] >= made["admitted"]).all()
    assert "discharged" not in Kept.of(dalenius.Table.from_frame(more)).changed


def test_two_columns_kept_together_one_way_are_not_to_be_dropped_the_other() -> None:
    """Months abroad are -8 for those who were never abroad; nobody is asked to drop the question whether they were."""
    rng = np.random.default_rng(4)
    abroad = rng.choice(["no", "yes"], 600, p=[0.8, 0.2])
    months = np.where(abroad == "no", -8, rng.integers(1, 30, 600))
    months[np.flatnonzero(abroad == "no")[0]] = (
        0  # one went home at once: the answer looks like a group of the months
    )
    findings = dalenius.check({"abroad": abroad, "months": months}).findings
    both = {f.kind: f.suggestion for f in findings if set(f.columns) == {"abroad", "months"}}
    assert set(both) == {"derived-grouping", "unasked"}
    assert all(said.startswith("nothing") for said in both.values())


def _stays(unit: str, more: int, rows: int = 800) -> pl.DataFrame:
    rng = np.random.default_rng(9)
    came, born = rng.integers(0, 700, rows), rng.integers(0, 30_000, rows)
    day = dt.date(2020, 1, 1)
    frame = pl.DataFrame(
        {
            "born": [dt.date(1935, 1, 1) + dt.timedelta(int(d)) for d in born],
            "admitted": [day + dt.timedelta(int(d)) for d in came],
            "discharged": [day + dt.timedelta(int(d)) for d in came + rng.poisson(4, rows)],
        }
    )
    return frame.with_columns(long=pl.Series(_long(frame, unit, more)))


def _long(frame: pl.DataFrame, unit: str, more: int) -> list[int]:
    if unit == "years":
        return [
            b.year - a.year - ((b.month, b.day) < (a.month, a.day))
            for a, b in zip(frame["born"], frame["admitted"], strict=True)
        ]
    each = {"days": 1, "hours": 24}[unit]
    stays = zip(frame["admitted"], frame["discharged"], strict=True)
    return [more + each * (b - a).days for a, b in stays]


def test_without_it_rows_break() -> None:
    made = dalenius.synthesize(clinic(), "cart", prepare=False, seed=3)
    assert {"order", "bmi", "sum"} <= set(broken(made))


def test_one_line_says_what_is_kept() -> None:
    notes = Candidate("independent").make(clinic()).notes
    line = next(note for note in notes if note.startswith("kept by construction"))
    for words in ("agegroup groups age", "discharged is never before admitted", "county follows from town",
                  "cigarettes is -8 where smoker is no", "bmi = 10000 × weight / height / height"):  # fmt: skip
        assert words in line
    assert "gross = net + tax" in line


def test_command_line_saved_model_and_python_give_the_same_rows(tmp_path) -> None:
    clinic().write_csv(tmp_path / "clinic.csv")
    out, again, model = (tmp_path / name for name in ("out.csv", "again.csv", "m.model"))
    words = ["synth", tmp_path / "clinic.csv", "-o", out, "--save-model", model, "--seed", 3]
    told = runner.invoke(app, [str(word) for word in words])
    assert "kept by construction" in told.stderr
    run("sample", model, "-o", again, "--seed", 3)
    assert out.read_bytes() == again.read_bytes()
    read = dalenius.read(tmp_path / "clinic.csv")
    python = dalenius.synthesize(read, seed=3)
    assert dalenius.read(out, read.schema).to_frame("dict") == python.to_frame("dict")
    assert broken(pl.read_csv(out, try_parse_dates=True)) == {}
    bare = tmp_path / "bare.csv"
    run("synth", tmp_path / "clinic.csv", "-o", bare, "--no-prepare", "--seed", 3)
    assert broken(pl.read_csv(bare, try_parse_dates=True))


def test_names_in_options_stay_columns() -> None:
    made = Candidate("cart", {"visit": ["bmi", "age"]}).make(clinic(300))
    assert "bmi" in made.model.schema.names


def test_types_and_order_of_columns_come_back() -> None:
    frame = clinic()
    made = dalenius.synthesize(frame, "independent", seed=1)
    assert made.schema == frame.schema


def test_levels_of_few_people_are_not_in_the_model(tmp_path) -> None:
    frame = clinic().to_dict(as_series=False)
    frame["town"][7], frame["county"][7] = "Ithaca", "Odysseus"
    kept = Kept.of(dalenius.Table.from_frame(frame))
    assert "county follows from town" in kept.words
    made = Candidate("cart").make(frame, seed=1)
    save_model(made.model, tmp_path / "m.model")
    text = str(load_model(tmp_path / "m.model").preparation.to_dict())
    assert "Ithaca" not in text
    assert "Odysseus" not in text
    assert "Odysseus" not in made.table.to_frame()["county"]


def test_a_cut_beside_a_level_of_one_person_is_not_kept() -> None:
    frame = clinic().to_dict(as_series=False)
    frame["age"][3], frame["agegroup"][3] = 107, "oldest"
    assert not any("agegroup" in words for words in Kept.of(dalenius.Table.from_frame(frame)).words)


def test_chains_of_moments() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 900, 600)
    b = a + rng.poisson(20, 600)
    c = b + rng.poisson(30, 600)
    made = dalenius.synthesize({"c": c, "a": a, "b": b}, "independent", seed=2)
    a, b, c = (np.array(made[name]) for name in "abc")
    assert np.all(a <= b)
    assert np.all(b <= c)


def test_rules_of_the_schema_are_left_to_the_method() -> None:
    table = dalenius.Table.from_frame(clinic())
    ruled = table.with_schema(replace(table.schema, rules=("discharged >= admitted",)))
    assert not any("discharged" in words for words in Kept.of(ruled).words)


def test_under_a_budget_only_the_rules_count() -> None:
    table = dalenius.Table.from_frame(clinic())
    assert not Kept.of(table, blind=True)
    ruled = table.with_schema(replace(table.schema, rules=("gross == net + tax",)))
    assert Kept.of(ruled, blind=True).words == ("gross: gross == net + tax",)


@pytest.mark.parametrize("rows", [0, 1, 3, 49])
def test_small_files_have_nothing_to_keep(rows: int) -> None:
    assert not Kept.of(dalenius.Table.from_frame(clinic().head(rows))) or rows >= 20


@pytest.mark.parametrize("method", [m for m in METHODS if METHODS[m].info.copies_rows])
def test_copied_rows_keep_everything_by_themselves(method: str) -> None:
    assert "kept by construction" not in "".join(Candidate(method).make(clinic(200)).notes)


def test_nothing_is_read_off_a_column_that_never_leaves() -> None:
    frame = {"home": [f"h{i % 90}" for i in range(900)], "village": [f"v{i % 9}" for i in range(900)]}
    table = dalenius.Table.from_frame(frame)
    owned = table.with_schema(table.schema.with_roles(household="home"))
    assert not Kept.of(owned)
    assert set(Candidate("cart").make(owned).table.names) == {"village"}


def test_what_settles_an_earlier_column_is_drawn_in_its_place() -> None:
    """A region that follows from the stratum at the end of the file was otherwise unknown to all between."""
    rng = np.random.default_rng(7)
    stratum = rng.integers(0, 24, 900)
    region = stratum // 4
    data = {
        "region": [f"R{r}" for r in region],
        "income": rng.normal(100 * region, 60).round(1).tolist(),
        "stratum": [f"R{r}-{s}" for r, s in zip(region, stratum, strict=True)],
    }
    table = dalenius.Table.from_frame(data)
    kept = Kept.of(table)
    assert str(kept) == "region follows from stratum"
    assert kept.apply(table).names == ["stratum", "income"]
    made = dalenius.synthesize(pl.DataFrame(data), seed=1)
    assert made.columns == list(data)
    means = made.group_by("region").agg(pl.col("income").mean()).sort("region")["income"]
    assert np.abs(means.to_numpy() - 100 * np.arange(6)).max() < 40
