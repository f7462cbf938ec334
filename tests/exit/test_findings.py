"""What once came out by accident, through the door users take: public functions and the command line, by default."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth import METHODS, make_synthesizer, save_model

MADE = [name for name in METHODS if not METHODS[name].info.masks]
NAMES = [name for name in MADE if not METHODS[name].info.copies_rows]
SALT = "a long secret"


def options(name: str) -> dict[str, object]:
    salted = {"salt": SALT} if name == "syndiffix" else {}
    return salted | dict(METHODS[name].info.example_options)


def people(rows: int = 320, seed: int = 3) -> pl.DataFrame:
    """Remarks that nearly everybody words differently, birth dates and time stamps that hardly anybody shares."""
    rng = np.random.default_rng(seed)
    words = np.array(
        ["anna", "bo", "was", "seen", "late", "asked", "for", "help", "and", "left", "again", "soon"]
    )
    remarks = [" ".join(rng.choice(words, 6)) + f" {i}" for i in range(rows)]
    for i in range(0, 24):
        remarks[i] = "nothing to report"
    day, moment = dt.date(1940, 1, 1), dt.datetime(2024, 3, 1)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "remark": remarks,
            "born": [day + dt.timedelta(days=int(d)) for d in rng.integers(0, 25_000, rows)],
            "seen": [moment + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 20_000_000, rows)],
            "income": np.round(rng.lognormal(7, 0.6, rows), 2),
        }
    )


def held_by_one(values: pl.Series, made: pl.Series) -> float:
    """Share of the made cells that carry a value one person has."""
    once = values.value_counts().filter(pl.col("count") == 1)[values.name]
    return made.cast(values.dtype).is_in(once.implode()).fill_null(False).mean()


@pytest.mark.parametrize("name", MADE)
def test_index_of_personal_numbers_stays(name):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "age": rng.integers(18, 90, 200)})
    frame.index = pd.Index([f"19{i:06d}-1234" for i in range(200)], name="personal number")
    out = dalenius.synthesize(frame, name, seed=1, **options(name))
    assert out.index.equals(pd.RangeIndex(200))
    assert out.index.name is None


@pytest.mark.parametrize("name", NAMES)
def test_no_text_that_one_person_wrote(name, tmp_path: Path):
    frame = people()
    schema = Schema.infer(frame).replace_columns(Column("remark", Kind.TEXT))
    out = dalenius.synthesize(frame, name, seed=1, schema=schema, **options(name))
    assert held_by_one(frame["remark"], out["remark"]) == 0
    model = make_synthesizer(name, **options(name)).fit(Table.from_frame(frame, schema), seed=1)
    save_model(model, tmp_path / "model")
    head = _unpacked(tmp_path / "model")
    assert not [text for text in frame["remark"].to_list()[24:] if text.encode() in head]


@pytest.mark.parametrize("name", NAMES)
def test_dates_and_time_stamps_of_one_person(name):
    frame = people(2000).drop("remark")
    out = dalenius.synthesize(frame, name, seed=1, **options(name))
    days = frame["born"].n_unique() / 25_000  # what a date drawn at random would hit
    assert held_by_one(frame["born"], out["born"]) <= 2 * days
    assert held_by_one(frame["seen"], out["seen"]) <= 0.01
    assert held_by_one(frame["income"], out["income"]) <= 0.02


def test_dates_of_one_person_on_the_command_line(tmp_path: Path):
    frame = people(1200).with_columns(pl.col("seen").dt.strftime("%Y-%m-%d %H:%M:%S"))
    frame.write_csv(tmp_path / "people.csv")
    done = CliRunner().invoke(
        app,
        ["synth", str(tmp_path / "people.csv"), "-m", "cart", "--seed", "1", "-o", str(tmp_path / "out.csv")],
    )
    assert done.exit_code == 0, done.output
    out = pl.read_csv(tmp_path / "out.csv").with_columns(pl.col("born").str.to_date())
    assert held_by_one(frame["born"], out["born"]) <= 0.05
    assert held_by_one(frame["seen"], out["seen"]) == 0
    assert held_by_one(frame["remark"], out["remark"].cast(pl.String)) == 0


LEVELS = ["low", "mid", "high", "somebody's", "nobody's"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("name", NAMES)
def test_unused_categories_stay(name, kind):
    rng = np.random.default_rng(2)
    values = rng.choice(LEVELS[:3], 400).tolist()
    frame = pl.DataFrame({"grade": pl.Series(values, dtype=pl.Enum(LEVELS)), "x": rng.integers(0, 9, 400)})
    if kind == "pandas":
        held = pd.DataFrame({"grade": pd.Categorical(values, LEVELS), "x": frame["x"].to_numpy()})
        out = dalenius.synthesize(held, name, seed=1, **options(name))
        shown = list(out["grade"].cat.categories)
    elif kind == "polars":
        out = dalenius.synthesize(frame, name, seed=1, **options(name))
        shown = out["grade"].dtype.categories.to_list()
    else:
        codes = [LEVELS.index(value) for value in values]
        column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(LEVELS))
        out = dalenius.synthesize(
            pa.table({"grade": column, "x": frame["x"].to_list()}), name, seed=1, **options(name)
        )
        shown = out["grade"].combine_chunks().dictionary.to_pylist()
    assert sorted(shown) == sorted(LEVELS[:3])


@pytest.mark.parametrize("name", ["cart", "syndiffix", "independent", "loglinear"])
def test_one_entity_does_not_show_in_the_number_of_rows(name):
    """A firm with 5,000 of 7,000 rows: the number of rows is what it would be if it were like the next largest."""
    rng = np.random.default_rng(4)
    firms = np.concatenate([np.zeros(5000, int), 1 + np.arange(2000) % 400])
    frame = pl.DataFrame(
        {"firm": firms, "size": rng.choice(["s", "m", "l"], 7000), "x": rng.integers(0, 50, 7000)}
    )
    schema = Schema.infer(frame).with_roles(entity="firm")
    given = {"salt": SALT} if name == "syndiffix" else {}
    out = dalenius.synthesize(frame, name, schema=schema, seed=1, **given)
    assert 1900 < out.height < 2100


def _unpacked(path: Path) -> bytes:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(entry) for entry in archive.namelist())


@pytest.mark.parametrize("name", ["independent", "cart"])
def test_a_small_file_does_not_show_which_ages_nobody_has(name):
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 81, 60)
    frame = pl.DataFrame({"sex": rng.choice(["f", "m"], 60), "age": ages})
    nobody = np.setdiff1d(np.arange(20, 81), ages)
    drawn = np.concatenate(
        [dalenius.synthesize(frame, name, seed=seed, rows=600)["age"].to_numpy() for seed in range(4)]
    )
    share, places = np.isin(drawn, nobody).mean(), len(nobody) / 61
    assert 0 < share < 1.3 * places, (
        "values nobody has are drawn no more often than their share of the places"
    )


@pytest.mark.parametrize("name", ["cart", "independent"])
def test_what_is_true_of_one_person_alone_stays(name):
    """A column of true and false keeps to the rule of three units like one of yes and no."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"sex": rng.choice(["f", "m"], 600), "hiv": [True] + [False] * 599})
    for seed in range(4):
        assert not dalenius.synthesize(frame, name, seed=seed)["hiv"].any()
