"""Whole numbers that say whose rows they are: found by what stands beside them, not where they are something else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius import Schema, examples
from dalenius.data.schema import Kind, Role


def households(homes: int = 200, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, homes)
    number = np.sort(rng.choice(90_000, homes, replace=False))
    rows = int(size.sum())
    return pl.DataFrame({
        "db030": np.repeat(number, size), "region": np.repeat(rng.choice(list("ABC"), homes), size),
        "age": rng.integers(0, 90, rows), "income": rng.integers(0, 90_000, rows),
    })  # fmt: skip


def roles(frame: pl.DataFrame) -> dict[str, tuple[Role, ...]]:
    return {c.name: c.roles for c in Schema.infer(frame) if c.roles}


def test_numbers_of_households_without_a_telling_name():
    assert roles(households()) == {"db030": (Role.ENTITY,)}
    assert roles(households().rename({"db030": "hh_key2"})) == {"hh_key2": (Role.HOUSEHOLD,)}
    assert "please check" in Schema.infer(households())["db030"].note


def test_persons_of_the_example_panel():
    panel = examples.panel(150, seed=3)
    assert roles(panel)["person"] == (Role.ENTITY,)
    assert roles(panel.rename({"person": "who"}))["who"] == (Role.ENTITY,)


@pytest.mark.parametrize(
    "frame",
    [
        households().sort("age").drop("db030").with_columns(band=pl.col("age") // 10),
        households().sort("income").drop("db030"),
        households().sample(fraction=1, shuffle=True, seed=4),
        households().drop("region"),
        pl.DataFrame(
            {"year": np.repeat(np.arange(1990, 2020), 3), "rate": np.repeat(np.arange(30) * 7 % 11, 3)}
        ),
        pl.DataFrame({"code": [7 * i for i in range(60)] * 3, "name": [f"u{i}" for i in range(60)] * 3}),
    ],
    ids=[
        "sorted by age",
        "sorted by income",
        "in any order",
        "nothing shared",
        "years",
        "a code and its name",
    ],
)
def test_other_numbers_stay_numbers(frame):
    assert not any(Role.ENTITY in given or Role.HOUSEHOLD in given for given in roles(frame).values())


def test_where_somebody_is_known_to_own_the_rows_nothing_is_looked_for():
    frame = households().with_columns(
        person_id=pl.Series([f"P{i // 2:05d}" for i in range(households().height)])
    )
    assert "db030" not in roles(frame) or "person_id" not in roles(frame)


def test_a_file_of_households_leaves_their_numbers_out(tmp_path):
    from typer.testing import CliRunner

    from dalenius.cli import app

    households().write_csv(tmp_path / "silc.csv")
    done = CliRunner().invoke(
        app, ["synth", str(tmp_path / "silc.csv"), "-o", str(tmp_path / "made.csv"), "--seed", "1"]
    )
    assert done.exit_code == 0, done.output
    assert pl.read_csv(tmp_path / "made.csv").columns == ["region", "age", "income"]
    assert "left out of the file: db030" in done.output
    assert "--panel db030:WAVE keeps them together" in " ".join(done.output.split())
    assert Schema.infer(households())["db030"].kind is Kind.INTEGER
