"""Tables that are good at predicting a column, from a set and from a store; two tables stitched."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.data import Table
from dalenius.synth.syndiffix import BucketStore, TableSet, plan_tables, stitch_tables

SALT = "a secret of mine"


@pytest.fixture(scope="module")
def ruled() -> Table:
    """Eight columns of noise; y follows from three of them."""
    rng = np.random.default_rng(0)
    columns = {f"x{i}": rng.integers(0, 8, 4000) for i in range(8)}
    y = (columns["x1"] + columns["x5"] > 7) ^ (columns["x3"] > 5)
    return Table.from_frame({**columns, "y": np.array(["no", "yes"])[y.astype(int)]})


def agreement(table: Table) -> float:
    drawn = table.to_frame("polars")
    rule = (pl.col("x1") + pl.col("x5") > 7) ^ (pl.col("x3") > 5)
    return float(drawn.select((rule == (pl.col("y") == "yes")).mean()).item())


def test_a_store_keeps_what_a_target_needs_also_when_it_is_opened_again(ruled, tmp_path):
    store = BucketStore.build(ruled, width=2, targets=["y"], salt=SALT)
    assert agreement(store.draw(seed=1)) < 0.7
    assert agreement(store.draw(target="y", seed=1)) > 0.95
    store.save(tmp_path / "s.buckets")
    again = BucketStore.open(tmp_path / "s.buckets")
    assert (
        again.draw(target="y", seed=1)
        .to_frame("polars")
        .equals(store.draw(target="y", seed=1).to_frame("polars"))
    )
    with pytest.raises(DataError, match="not made to predict 'x1'; targets it was made for: 'y'"):
        store.draw(target="x1")
    with pytest.raises(OptionError, match="from all columns"):
        store.draw(["x1"], target="y")


def test_a_set_of_tables_has_one_for_a_target(ruled):
    tables = TableSet.build(ruled, plan_tables(ruled.names, width=1), targets=["y"], salt=SALT, seed=1)
    assert agreement(tables.get(target="y")) > 0.95
    assert tables.get(["x1", "y"], target="y").names == ["x1", "y"]
    assert tables.get(["x1"]).names == ["x1"]
    other = TableSet.build(ruled, [("x0",)], salt=SALT, seed=1)
    assert agreement(other.joined(tables).get(target="y")) > 0.95
    with pytest.raises(DataError, match="no table was made to predict 'x1'"):
        tables.get(target="x1")


def test_rows_of_a_store_may_be_the_anonymised_number(ruled):
    plain, noisy = (BucketStore.build(ruled, width=1, salt=SALT, noisy_rows=n) for n in (False, True))
    assert plain.rows == 4000
    assert noisy.rows != 4000
    assert abs(noisy.rows - 4000) < 40


def test_the_command_line_predicts(ruled, tmp_path, monkeypatch):
    monkeypatch.setenv("DALENIUS_SALT_FILE", str(tmp_path / "salt"))
    source, store, out = tmp_path / "a.parquet", tmp_path / "a.buckets", tmp_path / "out.csv"
    ruled.to_frame("polars").write_parquet(source)
    made = CliRunner().invoke(
        app, ["syndiffix", "build", str(source), "-o", str(store), "--width", "1", "--predict", "y"]
    )
    assert made.exit_code == 0, made.output
    drawn = CliRunner().invoke(app, ["syndiffix", "draw", str(store), "--predict", "y", "-o", str(out)])
    assert drawn.exit_code == 0, drawn.output
    assert agreement(Table.from_frame(pl.read_csv(out))) > 0.95


@pytest.mark.parametrize("shared", [True, False])
def test_two_tables_are_stitched_by_what_they_share(shared):
    """Two columns that depend on a third one only: what they say together is what follows from it."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(50, 10, 3000), rng.normal(50, 10, 3200)
    left = pl.DataFrame(
        {"age": a, "pay": 2 * a + rng.normal(0, 1, 3000), "town": rng.choice(["u", "v"], 3000)}
    )
    right = pl.DataFrame({"health": 100 - b + rng.normal(0, 1, 3200), "age": b})
    made = stitch_tables(left, right, shared=shared, seed=1).to_frame("polars")
    assert made.columns == ["age", "pay", "town", "health"]
    assert made.height == (3100 if shared else 3000)
    assert made.select(pl.corr("pay", "health")).item() < -0.97
    assert made.select(pl.corr("age", "health")).item() < -0.97
    taken = {name: set(frame["age"].to_list()) for name, frame in (("left", left), ("right", right))}
    share = np.mean([age in taken["right"] for age in made["age"].to_list()])
    assert abs(share - (0.5 if shared else 0.0)) < 0.01
    assert stitch_tables(left, right, shared=shared, seed=1).to_frame("polars").equals(made)


def test_what_cannot_be_stitched_is_told():
    with pytest.raises(DataError, match="no column in common"):
        stitch_tables({"a": [1]}, {"b": [1]})
    with pytest.raises(DataError, match="without rows"):
        stitch_tables({"a": [1]}, {"a": []})
    gaps = stitch_tables(
        {"a": [None, "x"] * 20, "b": [1, 2] * 20}, {"a": ["x", None] * 20, "c": [4, 3] * 20}, seed=1
    )
    assert gaps.to_frame("polars").select("b", "c").unique().sort("b").rows() == [(1, 3), (2, 4)]
