"""Flow: what counts as smooth, what trees keep, that noise arrives on the curves, and what is said of heaps."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius.core.errors import MissingExtraError
from dalenius.data import Schema, Table
from dalenius.synth import METHODS, load_model, make_synthesizer, save_model
from dalenius.synth.flow import matching
from dalenius.synth.flow.matching import Boosting, learn_moves
from dalenius.synth.flow.smooth import Smooth, can_flow, ordinary

needs_boost = pytest.mark.skipif(
    not METHODS["flow"].info.installed, reason="the extra boost is not installed"
)
RNG = np.random.default_rng


def curved(rows: int, seed: int) -> pl.DataFrame:
    """Six columns on curves: a wave, two rings, a skew one and a product; the trial's."""
    rng = RNG(seed)
    a, ring, angle = rng.normal(size=rows), rng.choice([1, 2], rows), rng.uniform(0, 2 * np.pi, rows)
    far = ring + 0.1 * rng.normal(size=rows)
    wave = np.sin(2 * a) + 0.3 * rng.normal(size=rows)
    skew, product = np.exp(0.5 * a + 0.3 * rng.normal(size=rows)), a * wave + 0.2 * rng.normal(size=rows)
    columns = {"a": a, "b": wave, "x": far * np.cos(angle), "y": far * np.sin(angle), "e": skew, "f": product}
    return pl.DataFrame(columns).with_columns(pl.all().round(4))


def smooth_of(values, **codes) -> Smooth:
    schema = Schema.infer({"x": values})
    return Smooth.of(Table.from_frame({"x": values}, schema)["x"])


def test_spikes_stand_apart_and_heaps_are_known():
    smooth = smooth_of([0.0] * 400 + (RNG(1).lognormal(8, 1, 600).round(2)).tolist())
    assert smooth.spikes.tolist() == [0.0]
    assert len(smooth.values) == 600
    assert not smooth.heaped
    rounded = smooth_of((RNG(1).lognormal(8, 1, 3000) // 500 * 500).astype(int).tolist())
    assert rounded.heaped


def test_scores_are_normal_and_come_back_as_the_same_numbers():
    vector = Table.from_frame({"x": [None] * 50 + RNG(1).lognormal(3, 1, 450).round(3).tolist()})["x"]
    smooth = Smooth.of(vector)
    scores, here = smooth.scores(vector, RNG(2))
    assert here.sum() == 450
    assert scores[here].mean() == pytest.approx(0, abs=1e-9)
    assert scores[here].std() == pytest.approx(1, abs=0.02)
    assert np.array_equal(smooth.numbers(scores)[here], vector.data[here])
    assert np.array_equal(smooth.numbers(np.array([-9.0, 9.0])), smooth.values[[0, -1]])


def test_only_plain_numbers_flow():
    rows = 300
    frame = {
        "amount": RNG(1).normal(size=rows).round(3),
        "kind": ["a", "b", "c"] * 100,
        "day": pl.Series([17_000 + i for i in range(rows)]).cast(pl.Date),
    }
    table = Table.from_frame(pl.DataFrame(frame))
    assert [name for name in table.names if can_flow(table[name])] == ["amount"]
    assert not can_flow(table["amount"].take(np.arange(50)))
    assert (
        ordinary(table["amount"], table["amount"].data[:1]).sum()
        == (frame["amount"] != frame["amount"][0]).sum()
    )


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError, match=r"dalenius\[boost\]"):
        matching.boosting_package()


def test_faults_name_the_column():
    table = {"age": [30, 40] * 100, "job": ["a", "b"] * 100}
    with pytest.raises(dalenius.DaleniusError, match="no column 'nose'"):
        make_synthesizer("flow", smooth=["nose"]).fit(table)
    with pytest.raises(dalenius.DaleniusError, match="'job' cannot be drawn by a flow"):
        make_synthesizer("flow", smooth=["job"]).fit(table)


@needs_boost
def test_noise_is_carried_to_the_law_of_the_scores():
    two = np.where(RNG(1).random(2000) < 0.5, -1.5, 1.5)[:, None] + 0.2 * RNG(2).normal(size=(2000, 1))
    group = (two[:, :1] > 0).astype(np.float32)
    how = Boosting(steps=8, noises=3, trees=15, leaves=15)
    moves = learn_moves(two.astype(np.float32), group, [0], how, seed=1)
    noise = RNG(3).standard_normal((1000, 1)).astype(np.float32)
    right = moves.carried(noise, np.ones((1000, 1), np.float32))
    assert right.mean() == pytest.approx(1.5, abs=0.1)
    assert right.std() < 0.45
    again = learn_moves(two.astype(np.float32), group, [0], how, seed=1, threads=1)
    assert all(
        np.array_equal(x, y)
        for a, b in zip(moves.texts, again.texts, strict=True)
        for x, y in zip(a, b, strict=True)
    )


@needs_boost
def test_gaps_spikes_and_relations_of_smooth_numbers_stay(tmp_path):
    rows = 1500
    group = RNG(1).choice(["low", "high"], rows)
    size = RNG(2).normal(0, 1, rows).round(3)
    pay = np.where(group == "high", 3.0, 0.0) + size**2 + RNG(3).normal(0, 0.1, rows)
    pay = np.where(RNG(4).random(rows) < 0.2, 0.0, pay).round(3)
    frame = pl.DataFrame({"group": group, "size": size, "pay": pay}).with_columns(
        size=pl.when(pl.Series(RNG(5).random(rows) < 0.15)).then(None).otherwise("size")
    )
    model = make_synthesizer("flow", steps=8, noises=4, trees=20, leaves=15).fit(frame, seed=1)
    made = model.sample(seed=2).to_frame("polars")
    assert (made["pay"] == 0).mean() == pytest.approx(0.2, abs=0.04)
    assert made["size"].is_null().mean() == pytest.approx(0.15, abs=0.04)
    assert set(made["pay"]) <= set(model.smooth[1].values) | {0.0}
    paid = made.filter((pl.col("pay") != 0) & pl.col("size").is_not_null())
    shift = (
        paid.with_columns(rest=pl.col("pay") - pl.col("size") ** 2)
        .group_by("group")
        .agg(pl.col("rest").mean())
    )
    means = dict(shift.iter_rows())
    assert means["high"] - means["low"] == pytest.approx(3.0, abs=0.3)
    save_model(model, tmp_path / "flow.model")
    code = (
        "import sys; from dalenius.synth import load_model\n"
        "load_model(sys.argv[1]).sample(seed=2).to_frame('polars').write_parquet(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "flow.model", tmp_path / "a.parquet"], check=True)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(
        load_model(tmp_path / "flow.model").sample(seed=2).to_frame("polars")
    )
    assert pl.read_parquet(tmp_path / "a.parquet").equals(made)


@needs_boost
def test_heaped_numbers_are_left_to_trees_and_cart_is_advised():
    rows = 2000
    frame = {"hours": RNG(1).choice([20, 35, 40, 40, 40, 50], rows), "sex": RNG(2).choice(["f", "m"], rows)}
    model = make_synthesizer("flow").fit(frame, seed=1)
    assert model.smooth == []
    assert model.notes[-1].endswith("use cart")
    some = frame | {
        "weight": RNG(3).normal(70, 10, rows).round(2),
        "rent": RNG(4).choice([500, 600, 650], rows),
    }
    mixed = make_synthesizer("flow", steps=2, noises=1, trees=3).fit(some, seed=1)
    assert [each.name for each in mixed.smooth] == ["weight"]
    assert "cart is likely closer" not in mixed.notes[-1] or "'hours'" in mixed.notes[-1]


@needs_boost
@pytest.mark.slow
def test_six_curved_columns_are_hard_to_tell_from_a_fresh_sample():
    real, fresh = curved(5000, 1), curved(5000, 2)
    made = dalenius.synthesize(real, "flow", seed=1)
    found = dalenius.evaluate(real, made, holdout=fresh, measures=["detection-auc", "dcr"])
    assert found["detection-auc"].value <= 0.53
    by_trees = dalenius.evaluate(real, dalenius.synthesize(real, "cart", seed=1), measures=["detection-auc"])
    assert by_trees["detection-auc"].value > 0.6
