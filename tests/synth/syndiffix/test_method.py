"""Harvest, privacy, stickiness, determinism, entities, stores and table sets of SynDiffix."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, FileError, OptionError
from dalenius.data import Column, Kind, Role, Schema, Table
from dalenius.synth import synthesize
from dalenius.synth.syndiffix import (
    Anonymity,
    BucketStore,
    Ground,
    Method,
    SynDiffix,
    TableSet,
    ground_from_duckdb,
    plan_tables,
)
from dalenius.synth.syndiffix.buckets import buckets_of
from dalenius.synth.syndiffix.salt import SALT_FILE, resolve_salt

from .people import mixed, with_entity

OFF = Anonymity.off()
QUIET = Method(anonymity=OFF, rake=False, threads=1)


def ground(frame, method=QUIET, schema=None, salt=b"test-test-salt"):
    return Ground.of(Table.from_frame(frame, schema), salt, method)


def ranges(frame, schema=None):
    """Buckets as (bounds per column…, weight), noise off."""
    held = ground(frame, schema=schema)
    buckets = buckets_of(held.forest, tuple(range(len(held.names)))).merged()
    out = []
    for low, high, weight in zip(buckets.low, buckets.high, buckets.weight, strict=True):
        sides = [
            (float(a.reals(np.array([lo]))[0]), float(a.reals(np.array([hi]))[0]))
            for a, lo, hi in zip(held.forest.axes, low, high, strict=True)
        ]
        out.append((*sides, round(float(weight), 6)))
    return out


def test_buckets_of_one_column():
    whole = Schema((Column("x", Kind.INTEGER),))
    assert ranges({"x": [1] * 12}, whole) == [((1, 1), 12)]
    assert ranges({"x": list(range(12))}, whole) == [((0, 4), 4), ((4, 8), 4), ((8, 12), 4)]


def test_refinement_finds_all_pairs():
    frame = {"x": list(range(12)) * 5, "y": [1, 2, 3] * 20}
    out = synthesize(frame, "syndiffix", seed=0, salt="t-test-salt", anonymity=OFF, rake=False)
    pairs = pl.DataFrame(out).group_by("x", "y").len()
    assert pairs.height == 12
    assert set(pairs["len"]) == {5}


def test_value_counts_are_kept_without_noise():
    frame = pl.DataFrame({"a": ["x", "x", "y"] * 15, "b": [True, False, True] * 15})
    out = synthesize(frame, "syndiffix", seed=0, salt="t-test-salt", anonymity=OFF)
    assert out.group_by("a", "b").len().sort("a", "b").equals(frame.group_by("a", "b").len().sort("a", "b"))


def test_equal_columns_stay_equal():
    letters = ["a", "b", "c"] * 10
    out = synthesize({"c1": letters, "c2": letters}, "syndiffix", seed=0, salt="t-test-salt")
    assert out["c1"] == out["c2"]


def test_counts_do_not_drift():
    frame = {"x": [0] * 100 + [1] * 100 + [10_000_000] * 30}
    sums = np.zeros(3)
    for salt in range(60):
        held = ground(frame, Method(threads=1, rake=False), salt=str(salt).encode())
        weights = buckets_of(held.forest, (0,)).merged().weight
        sums += weights if len(weights) == 3 else [100, 100, 30]
    assert np.all(np.abs(sums / 60 - [100, 100, 30]) < 3 * 1.5 * 1.41 / np.sqrt(60))


def test_public_columns_come_out_as_they_are():
    frame = pl.DataFrame({"x": [i * 7 for i in range(60)] * 3, "s": [f"u{i}" for i in range(60)] * 3})
    for salt in ("one test salt", "two test salts", "three test salts"):
        out = synthesize(frame, "syndiffix", seed=0, salt=salt, safe=["x", "s"])
        assert set(out["x"]) <= set(frame["x"])
        assert set(out["s"]) <= set(frame["s"])


def test_precision_is_snapped():
    frame = pl.DataFrame({"x": np.random.default_rng(0).normal(size=3000)})
    model = SynDiffix(salt="t-test-salt", precision={"x": 0.3}).fit(Table.from_frame(frame))
    held = model.buckets[0]
    values = model.outlooks[0].axis.reals(held.low[:, 0])
    assert np.all(values % 0.25 == 0)


def drawn(table, threads=1, **options):
    model = SynDiffix(salt="a common secret", threads=threads, **options).fit(table)
    return model.sample(seed=3).to_frame("polars")


def test_threads_and_row_order_do_not_matter():
    frame = mixed()
    first = drawn(with_entity(frame))
    assert "id" not in first.columns
    for threads in (2, 8):
        assert drawn(with_entity(frame), threads).equals(first)
    assert drawn(with_entity(frame.sample(fraction=1, shuffle=True, seed=5))).equals(first)


@pytest.mark.slow
def test_processes_agree(tmp_path: Path):
    frame = mixed(400)
    frame.write_parquet(tmp_path / "in.parquet")
    code = (
        "import polars as pl\nfrom dalenius.synth import synthesize\n"
        "out = synthesize(pl.read_parquet('in.parquet').drop('id'), 'syndiffix', seed=1, salt='s-test-salt')\n"
        "out.write_parquet('out.parquet')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True)
    here = synthesize(frame.drop("id"), "syndiffix", seed=1, salt="s-test-salt")
    assert here.equals(pl.read_parquet(tmp_path / "out.parquet"))


def test_one_busy_entity_does_not_show():
    rng = np.random.default_rng(1)
    pid = np.concatenate([np.zeros(5000, int), np.repeat(np.arange(1, 1001), 2)])
    value = np.concatenate([np.full(5000, "busy"), rng.choice(["x", "y"], 2000)])
    frame = pl.DataFrame({"pid": pid, "v": value})
    out = synthesize(frame, "syndiffix", seed=0, salt="t-test-salt", entity="pid", rows=2000)
    assert "busy" not in set(out["v"].drop_nulls())
    # The same person inside a common value is cut down to what others contribute.
    frame = frame.with_columns(
        pl.when(pl.col("v") == "busy").then(pl.lit("x")).otherwise(pl.col("v")).alias("v")
    )
    table = Table.from_frame(frame, Schema.infer(frame).with_roles(entity="pid"))
    model = SynDiffix(salt="t-test-salt", noisy_rows=True).fit(table)
    assert model.rows == pytest.approx(2000, abs=60)
    share = float((pl.Series(model.sample(seed=1).to_frame("polars")["v"]) == "x").mean())
    assert share == pytest.approx(0.5, abs=0.06)


def test_entities_with_few_rows_are_counted():
    frame = pl.DataFrame({"pid": np.repeat(np.arange(300), 3), "v": ["a", "b", "c"] * 300})
    table = Table.from_frame(frame, Schema.infer(frame).with_roles(entity="pid"))
    model = SynDiffix(salt="t-test-salt", noisy_rows=True).fit(table)
    out = pl.Series(model.sample(seed=1).to_frame("polars")["v"]).value_counts()
    assert all(290 <= n <= 310 for n in out["count"])


def test_two_entity_columns_protect_both():
    frame = pl.DataFrame(
        {
            "p": range(300),
            "h": [0] * 100 + list(range(1, 201)),
            "v": ["only one household"] * 100 + ["b"] * 200,
        }
    )
    schema = Schema.infer(frame).with_roles(entity=["p"], household="h")
    out = synthesize(frame, "syndiffix", seed=0, salt="t-test-salt", schema=schema)
    assert "only one household" not in set(out["v"].drop_nulls())


def test_wide_tables_are_clustered_and_say_so():
    rng = np.random.default_rng(0)
    base = rng.integers(0, 6, 3000)
    frame = {f"c{i}": (base + rng.integers(0, 2, 3000) * (i % 3)).tolist() for i in range(10)}
    model = SynDiffix(salt="t-test-salt").fit(Table.from_frame(frame), prepare=False)
    assert len(model.clusters) > 1
    assert any("columns in one table" in note for note in model.notes)
    out = model.sample(seed=1)
    assert out.rows == 3000
    real = np.corrcoef(frame["c0"], frame["c3"])[0, 1]
    made = np.corrcoef(
        np.array(out.to_frame("dict")["c0"], float), np.array(out.to_frame("dict")["c3"], float)
    )[0, 1]
    assert made == pytest.approx(real, abs=0.05)


def test_target_mode_keeps_features_with_the_target():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 8, 1500)
    frame = {"y": np.where(x > 3, "hi", "lo").tolist(), "x": x.tolist()} | {
        f"z{i}": rng.integers(0, 5, 1500).tolist() for i in range(4)
    }
    model = SynDiffix(salt="t-test-salt", target="y").fit(Table.from_frame(frame))
    assert {"x", "y"} <= set(model.clusters[0])
    assert all("y" in cluster for cluster in model.clusters)


def test_table_sets():
    table = with_entity(mixed(800))
    names = ["x", "n", "s", "g"]
    plan = plan_tables(names, also=[("x", "n", "s")])
    assert [len(key) for key in plan].count(2) == 6
    tables = TableSet.build(table, plan, salt="s-test-salt", seed=1)
    assert tables.get(["s", "x"]).names == ["x", "s"]
    assert tables.narrowest(["x", "n", "s"]) == ("n", "s", "x")
    assert tables.asked == [("s", "x")]
    assert tables.discrepancy("g") < 0.03
    with pytest.raises(DataError):
        tables.get(names)
    with pytest.raises(OptionError, match="salts"):
        tables.joined(TableSet.build(table, [("x",)], salt="other-test-salt", seed=1))
    assert TableSet.of(tables.tables["g",]).storage_ratio == 1


def test_a_plan_of_singles_and_listed_pairs_holds_each_once():
    names = [f"v{i}" for i in range(24)]
    pairs = plan_tables(names, width=1, also=list(combinations(names[:19], 2)))
    assert len(pairs) == 24 + 171


def test_store_round_trip(tmp_path: Path):
    table = with_entity(mixed(800))
    store = BucketStore.build(table, width=2, salt="s-test-salt")
    store.save(tmp_path / "a.buckets")
    store.save(tmp_path / "b.buckets")
    assert (tmp_path / "a.buckets").read_bytes() == (tmp_path / "b.buckets").read_bytes()
    opened = BucketStore.open(tmp_path / "a.buckets")
    assert opened.contents == store.contents
    for names in (["s"], ["x", "g"], ["x", "n", "s", "g", "h"]):
        first, second = (each.draw(names, seed=4).to_frame("polars") for each in (store, opened))
        assert first.equals(second)
        assert set(first.columns) == set(names)
    (tmp_path / "bad").write_bytes(b"no zip")
    with pytest.raises(FileError, match="damaged"):
        BucketStore.open(tmp_path / "bad")


def assert_same(memory, pushed):
    """The grounds of two sources have the same trees and give the same people."""
    for combination, tree in memory.forest.trees.items():
        other = pushed.forest.trees[combination]
        assert tree.node_set() == other.node_set(), combination
        assert np.array_equal(np.sort(tree.noisy), np.sort(other.noisy))
    one, two = (held.model().sample(seed=1).to_frame("polars") for held in (memory, pushed))
    assert one.equals(two)


@pytest.mark.parametrize("precision", [{}, {"x": 0.25}])
def test_a_group_by_in_duckdb_gives_the_same_forest(precision):
    frame = mixed(2000)
    names = ["x", "n", "s", "g"]
    schema = Schema.infer(frame).with_roles(entity="id")
    method = Method(precision=precision, threads=1)
    memory = Ground.of(Table.from_frame(frame, schema), b"s-test-salt", method, names)
    pushed = ground_from_duckdb(
        duckdb.from_arrow(frame.to_arrow()), names, "id", salt=b"s-test-salt", method=method, schema=schema
    )
    for held in (memory, pushed):
        held.forest.build([(0, 1, 2, 3)])
    assert_same(memory, pushed)


def test_a_group_by_in_duckdb_knows_several_rows_per_entity():
    rng = np.random.default_rng(3)
    owner = np.where(rng.random(3000) < 0.02, -1, rng.integers(0, 700, 3000))
    frame = pl.DataFrame(
        {"id": owner, "x": rng.integers(0, 60, 3000), "s": rng.choice(list("abcd"), 3000)}
    ).with_columns(pl.when(pl.col("id") < 0).then(None).otherwise(pl.col("id")).alias("id"))
    schema = Schema.infer(frame).with_roles(entity="id")
    method = Method(threads=1)
    memory = Ground.of(Table.from_frame(frame, schema), b"s-test-salt", method, ["x", "s"])
    relation = duckdb.from_arrow(frame.to_arrow())
    pushed = ground_from_duckdb(relation, ["x", "s"], "id", salt=b"s-test-salt", method=method, schema=schema)
    assert not pushed.units.is_single
    memory.forest.build([(0, 1)])
    pushed.forest.build([(0, 1)])
    assert_same(memory, pushed)


def test_the_salt_is_made_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv(SALT_FILE, str(tmp_path / "deep" / "salt"))
    first = resolve_salt(None)
    assert len(first) == 16
    assert resolve_salt(None) == first
    assert (tmp_path / "deep" / "salt").stat().st_mode & 0o077 == 0
    for short in ("", "a", "seven b", b"1234567"):
        with pytest.raises(OptionError, match="at least 8 bytes"):
            resolve_salt(short)
    assert resolve_salt("eight by") == b"eight by"


def test_options_are_checked():
    with pytest.raises(OptionError, match="snapping"):
        SynDiffix(snapping="other")
    with pytest.raises(OptionError, match="low is 1; use a whole number, 2 or more"):
        Anonymity(low=1)
    with pytest.raises(DataError, match="no column"):
        SynDiffix(salt="t-test-salt", safe=["nope"]).fit(Table.from_frame({"a": [1, 2]}))
    assert Role.ENTITY.value == "entity"
