"""The first columns of a sequence drawn at once from a table of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.data import Schema, Table
from dalenius.synth import make_synthesizer
from dalenius.synth.model_file import load_model, save_model
from dalenius.synth.sequential.block import Block


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, 4000), rng.integers(0, 3, 4000)
    c = np.where(
        rng.random(4000) < 0.8, (a + b) % 2, rng.integers(0, 2, 4000)
    )  # known by a and b together only
    d = np.where(rng.random(4000) < 0.7, c, rng.integers(0, 2, 4000))
    frame = {name: np.array(list("xyz"))[codes] for name, codes in zip("abcd", (a, b, c, d), strict=True)}
    return Table.from_frame(frame)


def shares(table: Table, names: str) -> np.ndarray:
    sizes = [len(table[n].levels) for n in names]
    place = np.ravel_multi_index([table[n].data.astype(int) for n in names], sizes)
    return np.bincount(place, minlength=int(np.prod(sizes))).reshape(sizes) / table.rows


def drawn(table: Table, **options: object) -> Table:
    return make_synthesizer("cart", **options).fit(table, seed=1).sample(40_000, seed=2)


def test_a_saturated_block_has_all_three_ways_and_a_loglinear_one_all_pairs_only(table):
    whole = drawn(table, block=["a", "b", "c"], block_method="saturated")
    pairs = drawn(table, block=["a", "b", "c"])
    for two in ("ab", "ac", "bc"):
        assert np.abs(shares(pairs, two) - shares(table, two)).max() < 0.01
    assert np.abs(shares(whole, "abc") - shares(table, "abc")).max() < 0.01
    assert np.abs(shares(pairs, "abc") - shares(table, "abc")).max() > 0.03  # the third way is no pair


def test_what_follows_is_drawn_given_the_block(table):
    made = drawn(table, block=["a", "b", "c"], block_method="saturated")
    assert np.abs(shares(made, "cd") - shares(table, "cd")).max() < 0.012
    assert made.names == table.names


def test_rules_within_the_block_and_beyond_it_are_kept():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 90, 3000)
    job = np.where(age < 16, "none", rng.choice(["none", "a", "b"], 3000))
    frame = {"age": age, "job": job, "hours": np.where(job == "none", 0, rng.integers(1, 60, 3000))}
    schema = replace(Schema.infer(frame), rules=("age < 16 -> job == 'none'", "job == 'none' -> hours == 0"))
    made = drawn(Table.from_frame(frame, schema), block=["age", "job"])
    got = made.to_frame("polars")
    assert not got.filter((got["age"] < 16) & (got["job"] != "none")).height
    assert not got.filter((got["job"] == "none") & (got["hours"] != 0)).height


def test_a_saved_model_draws_the_same_rows(table, tmp_path):
    model = make_synthesizer("cart", block=["b", "a"]).fit(table, seed=1)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    first, second = (one.sample(500, seed=3).to_frame("polars") for one in (model, again))
    assert first.equals(second)
    assert any(note.startswith("first 2 columns drawn together") for note in again.notes)


def test_a_proper_block_is_fitted_to_rows_drawn_again(table):
    def chances(proper: bool, seed: int) -> np.ndarray:
        block, _ = Block.fit(table, ["a", "b"], "saturated", proper, seed)
        drawn = Table.from_vectors(list(block.draw(200_000, 9, ()).values()), 200_000)
        return shares(drawn, "ab")

    assert (chances(False, 1) == chances(False, 2)).all()
    assert np.abs(chances(True, 1) - chances(True, 2)).max() > 0.002  # of 4,000 rows: one error is 0.006


def test_conditions_are_met_and_rows_are_not_filled(table):
    model = make_synthesizer("cart", block=["a", "b"]).fit(table, seed=1)
    assert set(model.sample(50, given={"b": "z"}, seed=1).to_frame("polars")["b"]) == {"z"}
    with pytest.raises(OptionError, match=r"drawn together \(block\)"):
        model.sample(like={"a": ["x"], "b": [None]}, seed=1)


def test_every_fault_of_a_block_is_told_at_once(table):
    with pytest.raises(OptionError) as told:
        make_synthesizer("cart", block=["a"], keep=["b"], methods={"a": "cart"}, weighting="pseudo")
    for words in ("fewer than two", "does not go with keep", "weighting='pseudo'", "methods of 'a'"):
        assert words in str(told.value)
    with pytest.raises(DataError, match="block: no column 'nose'"):
        make_synthesizer("cart", block=["a", "nose"]).fit(table)
    with pytest.raises(OptionError, match="block_method has no effect"):
        make_synthesizer("cart", block_method="saturated")
