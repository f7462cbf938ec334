"""Trees, snapping and moments: the structures the method's description states literally."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.data import Table
from dalenius.synth.syndiffix._kernels.noise import sip
from dalenius.synth.syndiffix.casting import Casting
from dalenius.synth.syndiffix.forest import Forest, Settings
from dalenius.synth.syndiffix.moments import from_natural, to_natural
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.snapping import snap
from dalenius.synth.syndiffix.units import Units

from .reference import ReferenceForest, null_value, plain_hash

OFF = Anonymity.off()
PEER = Path(os.environ.get("DALENIUS_SYNDIFFIX_PYTHON", "/tmp/venvs/syndiffix/bin/python"))
ADULT = Path(os.environ.get("DALENIUS_ADULT", "/tmp/adultd/datasets/adult/data/adult.data"))
needs_peer = pytest.mark.skipif(
    not PEER.exists(), reason="needs syndiffix==1.0.8 in /tmp/venvs/syndiffix (pip install syndiffix)"
)


def forest_of(frame, anonymity=OFF, salt=b"test", threads=1, units=None, **growth):
    table = Table.from_frame(frame)
    cast = [Casting().cast(table[name]) for name in table.names]
    units = units or Units.of_rows(table.rows, salt)
    settings = Settings(salt, anonymity, Growth(**growth), threads=threads)
    return Forest([a for a, _ in cast], [c for _, c in cast], units, settings)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((1, 2), (1, 2)), ((3, 7), (0, 8)), ((11, 21), (8, 24)), ((11, 14), (10, 14)), ((-1, 2), (-2, 2)),
        ((-5, -2), (-6, -2)), ((-6, 2), (-8, 8)), ((0, 0), (0, 1)), ((0.2, 0.4), (0, 0.5)), ((0.01, 0.1), (0, 0.125)),
        ((-1.4, -0.3), (-2, 0)), ((0.333, 0.78), (0, 1)), ((0.66, 0.9), (0.5, 1)), ((21, 23), (21, 23)),
        ((158.88434124351295, 158.94684124353768), (158.875, 159)), ((0, 1e-17), (0, 2.0**-56)),
        ((0, 2.0**-1073), (0, 2.0**-1073)), ((0, 2.0**-1073 + 2.0**-1074), (0, 2.0**-1072)),
    ],
)  # fmt: skip
def test_snapped_ranges(given, wanted):
    low, power = snap(*given)
    assert (low, low + 2.0**power) == wanted


def test_null_values():
    assert [null_value(*r) for r in ((1.2, 1.3), (-1, 3), (-4, -2.5), (-4, 0), (0, 0))] == [2.6, 6, -8, -8, 1]


def test_siphash_vector():
    words = [np.uint64(int.from_bytes(bytes(range(i, i + 8)), "little")) for i in (0, 8)]
    assert sip(words[0], words[1], words[0], np.uint64(0), 1) == 0x93F5F5799A932462


def tree_csv():
    a = np.tile(np.arange(8), 4)
    return pl.DataFrame({"a": a * 1.0, "b": (a % 4) * 1.0, "c": ["cat_1"] * 16 + ["cat_2"] * 16})


def scaled_tree_csv():
    frame = tree_csv()
    c = (frame["c"] == "cat_2").to_numpy() * 1.0
    columns = [frame["a"].to_numpy(), frame["b"].to_numpy(), c]
    return np.column_stack([v * (0.9999 / v.max()) for v in columns])


@pytest.mark.parametrize("prefix", [True, False])
def test_the_small_tree_literally(prefix):
    forest = ReferenceForest(scaled_tree_csv(), ["a", "b", "c"], b"", OFF, prefix=prefix)
    assert forest.roots == [(0.0, 0)] * 3
    a, b, c = (forest.tree((i,)) for i in range(3))
    assert np.bincount(a.depth).tolist() == [1, 2, 4, 8]
    assert sorted(set(a.rows.tolist())) == [4, 8, 16, 32]
    assert (len(b), len(c)) == (7, 3)
    ab = forest.tree((0, 1))
    assert np.bincount(ab.depth).tolist() == [1, 4, 8]
    assert ab.rows.tolist().count(8) == 4
    assert ab.rows.tolist().count(4) == 8
    abc = forest.tree((0, 1, 2))
    assert np.bincount(abc.depth).tolist() == [1, 8]
    assert abc.is_stub[1:].all()


def test_our_grid_gives_the_same_small_tree():
    forest = forest_of(tree_csv())
    assert [len(forest.tree((i,))) for i in range(3)] == [15, 7, 3]
    assert len(forest.tree((0, 1))) == 13
    assert len(forest.tree((0, 1, 2))) == 9


def test_depth_limit():
    values = {"x": [float(i) + 0.5 for i in range(10)]}
    assert not forest_of(values).tree((0,)).is_leaf[0]
    assert forest_of(values, depth=-1, row_fraction=1).tree((0,)).rows[0] == 10


def test_roots_are_pushed_down_and_outliers_stay():
    first = [0] * 10 + [1] * 10 + [-5]
    second = [1, 5, 2, 7, 21, 14, 21, 28, 19, 2, 1, 13, 25, 30, 6, 2, 15, 24, 9, 100, 1]
    reference = ReferenceForest(np.column_stack([first, second]).astype(float), ["a", "b"], b"", Anonymity())
    assert reference.roots == [(0.0, 1), (0.0, 5)]
    ours = forest_of({"b": second}, Anonymity())
    axis = ours.axes[0]
    assert axis.exponent + 1 - axis.level == 5
    assert ours.tree((0,)).rows[0] == 21
    assert ours.tree((0,)).units[0] == 20, "the unit of a row outside the root no longer counts"


def test_column_names_enter_the_seed():
    same = list(range(100))
    forest = forest_of({"a": same, "b": same}, Anonymity())
    assert not np.array_equal(forest.tree((0,)).noisy, forest.tree((1,)).noisy)


def test_plain_hashes():
    assert [plain_hash(x) for x in ("a", 1, 0, "")] == [3405396810240292928, 18232024504446223411, 0, 0]


def test_moments_lie_on_natural_boundaries():
    rng = np.random.default_rng(0)
    moments = rng.integers(-(10**15), 4 * 10**15, 5000)
    natural = to_natural(moments)
    assert np.array_equal(from_natural(natural), moments)
    assert np.array_equal(np.argsort(natural, kind="stable"), np.argsort(moments, kind="stable"))
    year = to_natural(np.array(["2024-01-01"], "datetime64[us]").astype(np.int64))[0]
    for month in range(12, 16):  # places no calendar has mean the next year
        assert from_natural(np.array([year | (month << 42)])).astype("datetime64[us]")[0] == np.datetime64(
            "2025-01-01"
        )


def random_table(seed: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows).round(2)
    return pl.DataFrame(
        {
            "x": x,
            "n": rng.poisson(np.exp(np.clip(x, -2, 2)) * 20),
            "s": rng.choice(["anna", "bert", "cleo", "dora", "emil"], rows, p=[0.4, 0.3, 0.2, 0.08, 0.02]),
            "l": np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(0, 1, rows).round(3)),
        }
    ).with_columns(pl.col("l").fill_nan(None))


COMBINATIONS = "0;1;2;3;0,1;1,2;0,3;0,1,2;1,2,3;0,1,2,3"


def adult(rows: int) -> pl.DataFrame:
    """Four columns of UCI Adult."""
    frame = pl.read_csv(ADULT, has_header=False, skip_rows=1, infer_schema=False, n_rows=rows)
    places = {"age": 0, "fnlwgt": 2, "education": 3, "hours": 12}
    frame = pl.DataFrame({name: frame.to_series(i).str.strip_chars() for name, i in places.items()})
    return frame.with_columns(pl.col("age", "fnlwgt", "hours").cast(pl.Int64))


def assert_trees_equal_the_reference(frame: pl.DataFrame, noise: str, folder: Path) -> None:
    frame.write_csv(folder / "in.csv")
    script = str(Path(__file__).parent / "peer.py")
    command = [str(PEER), script, "in.csv", "out.npz", "salty-salt", noise, COMBINATIONS]
    subprocess.run(command, check=True, cwd=folder, capture_output=True)
    with np.load(folder / "out.npz") as held:
        wanted = dict(held)
    anonymity = Anonymity() if noise == "on" else OFF
    forest = ReferenceForest(wanted["matrix"], frame.columns, b"salty-salt", anonymity)
    for text in COMBINATIONS.split(";"):
        tree = forest.tree(tuple(int(i) for i in text.split(",")))
        sides = [bound for j in range(len(tree.columns)) for bound in forest.intervals(tree, j)]
        mine = np.column_stack([tree.depth, tree.is_leaf, tree.units, tree.is_stub, tree.noisy, *sides])
        assert np.array_equal(ordered(mine), ordered(wanted[text])), text


@pytest.mark.slow
@needs_peer
@pytest.mark.parametrize(("seed", "noise"), [(1, "on"), (2, "off"), (3, "on")])
def test_node_sets_equal_the_reference(tmp_path, seed, noise):
    assert_trees_equal_the_reference(random_table(seed, 1200), noise, tmp_path)


@pytest.mark.slow
@needs_peer
@pytest.mark.skipif(not ADULT.exists(), reason="needs adult.data out of the wheel of python-synthpop")
def test_node_sets_equal_the_reference_on_adult(tmp_path):
    assert_trees_equal_the_reference(adult(3000), "on", tmp_path)


def ordered(table):
    return table[np.lexsort(table.T[::-1])]


def test_final_state_rule_is_the_prefix_rule_without_noise():
    values = random_table(5, 800).select("x", "n").to_numpy().astype(float)
    both = [ReferenceForest(values, ["x", "n"], b"", OFF, prefix=prefix) for prefix in (True, False)]
    for combination in ((0,), (1,), (0, 1)):
        assert both[0].tree(combination).node_set() == both[1].tree(combination).node_set()
