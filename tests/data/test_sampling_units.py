"""The design of a survey beside what is kept by construction, and numbers of sampling units on their way out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.test_commands import runner

from dalenius import Candidate, Schema, Table
from dalenius.cli import app
from dalenius.data.exit import releasable
from dalenius.data.schema import Role


def households() -> pl.DataFrame:
    """Units numbered stratum by stratum, as in nearly every survey file, so that the number tells the stratum."""
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(300), 3)
    return pl.DataFrame(
        {
            "home": 1000 + 7 * units, "land": np.array(["AT11", "AT12", "AT13"])[units // 100],
            "sex": rng.choice(["f", "m"], 900), "age": rng.integers(16, 90, 900),
            "w": np.round(rng.uniform(100, 900, 300), 2)[units],
        }
    )  # fmt: skip


def schema() -> Schema:
    return Schema.infer(households()).with_roles(psu="home", stratum="land", weight="w")


@pytest.mark.parametrize("options", [{}, {"weighting": "pseudo"}, {"weighting": "pseudo", "proper": True}])
def test_the_design_does_not_enter_what_is_kept(options: dict[str, object]) -> None:
    made = Candidate("cart", options).make(Table.from_frame(households(), schema()), seed=1).table
    assert {"land", "sex", "age"} <= set(made.names) <= {"land", "sex", "age", "w"}
    assert made["land"].levels == ("AT11", "AT12", "AT13")


def test_numbers_of_units_stay_unless_set_free(tmp_path: Path) -> None:
    households().write_csv(tmp_path / "in.csv")
    (tmp_path / "schema.yaml").write_text(schema().to_yaml())
    words = ["synth", str(tmp_path / "in.csv"), "--schema", str(tmp_path / "schema.yaml"), "-o"]
    done = runner.invoke(app, [*words, str(tmp_path / "out.csv")])
    assert done.exit_code == 0, done.output
    assert "left out of the file: home" in " ".join(done.output.split())
    assert "home" not in pl.read_csv(tmp_path / "out.csv").columns
    masked = ["mask", *words[1:], str(tmp_path / "masked.csv"), "--step", "round column=age base=5"]
    assert runner.invoke(app, masked).exit_code == 0
    assert "home" not in pl.read_csv(tmp_path / "masked.csv").columns
    free = schema().replace_columns(replace(schema()["home"], release="as-is", roles=(Role.PSU,)))
    assert "home" in releasable(Table.from_frame(households(), free)).names
