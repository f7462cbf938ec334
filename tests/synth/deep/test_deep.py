"""What every method that learns with torch must do: learn relations, keep rules, draw alike anywhere, watch itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import MissingExtraError
from dalenius.data import Schema, Table
from dalenius.synth import METHODS, load_model, make_synthesizer, save_model

RNG = np.random.default_rng
DEEP = {
    "ctgan": {"epochs": 150, "batch": 40},
    "tvae": {"epochs": 60, "batch": 50},
    "ddpm": {"epochs": 40, "batch": 50, "steps": 15},
}
"""Options with which a method learns one strong relation in a few seconds."""


def pairs(rows: int = 600) -> pl.DataFrame:
    """A category that goes with another, a number that goes with both."""
    a = RNG(1).choice(["x", "y"], rows, p=[0.6, 0.4])
    b = np.where(RNG(2).random(rows) < 0.9, np.where(a == "x", "p", "q"), "r")
    size = (np.where(a == "x", 20, 70) + RNG(3).normal(0, 15, rows)).round()
    return pl.DataFrame({"a": a, "b": b, "size": size})


def some(name: str):
    return make_synthesizer(name, **METHODS[name].info.example_options)


@pytest.mark.parametrize("name", DEEP)
def test_relations_are_learnt(name):
    made = make_synthesizer(name, **DEEP[name]).fit(pairs(), seed=1).sample(2000, seed=2).to_frame("polars")
    share = (
        made.filter(pl.col("b") != "r").select(((pl.col("a") == "x") == (pl.col("b") == "p")).mean()).item()
    )
    assert share > 0.75  # by chance 0.52
    means = dict(made.group_by("a").agg(pl.col("size").mean()).iter_rows())
    assert means["y"] - means["x"] > 15  # 50 in the data


@pytest.mark.parametrize("name", DEEP)
def test_rules_are_kept(name):
    rows = 400
    age = RNG(1).integers(0, 80, rows)
    frame = {"age": age, "status": np.where(age < 16, "single", RNG(2).choice(["single", "married"], rows))}
    low = RNG(3).integers(0, 50, rows)
    frame |= {"low": low, "high": low + RNG(4).integers(0, 50, rows)}
    schema = replace(Schema.infer(frame), rules=("age < 16 -> status == 'single'", "low <= high"))
    model = some(name).fit(Table.from_frame(frame, schema), seed=1, prepare=False)
    made = model.sample(1000, seed=1).to_frame("polars")
    assert made.filter((pl.col("age") < 16) & (pl.col("status") != "single")).is_empty()
    assert made.filter(pl.col("low") > pl.col("high")).is_empty()


@pytest.mark.parametrize("name", DEEP)
def test_the_same_file_on_any_number_of_threads_and_in_another_process(name, tmp_path):
    import torch

    threads = torch.get_num_threads()
    made = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            torch.manual_seed(count)  # torch's own stream is not drawn from
            state = torch.get_rng_state()
            model = some(name).fit(pairs(), seed=4)
            made.append(model.sample(seed=5).to_frame("polars"))
            assert torch.get_num_threads() == count
            assert torch.equal(torch.get_rng_state(), state)
    finally:
        torch.set_num_threads(threads)
    assert made[0].equals(made[1])
    save_model(model, tmp_path / "a.model")
    code = (
        "import sys; from dalenius.synth import load_model\n"
        "load_model(sys.argv[1]).sample(seed=5).to_frame('polars').write_parquet(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "a.model", tmp_path / "a.parquet"], check=True)
    assert pl.read_parquet(tmp_path / "a.parquet").equals(made[0])


@pytest.mark.parametrize("name", DEEP)
def test_training_is_watched_and_the_model_says_what_was_seen(name, tmp_path):
    model = make_synthesizer(name, **(METHODS[name].info.example_options | {"epochs": 6})).fit(
        pairs(), seed=1
    )
    looks = model.curve.looks
    assert [look.epoch for look in looks][:2] == [1, 5]
    assert looks[-1].epoch == model.curve.kept
    assert looks[-1].told in model.notes
    save_model(model, tmp_path / "a.model")
    assert load_model(tmp_path / "a.model").curve == model.curve


@pytest.mark.parametrize("name", DEEP)
def test_margins_are_those_of_the_data_after_one_epoch(name):
    options = METHODS[name].info.example_options | {"epochs": 1}
    made = make_synthesizer(name, **options).fit(pairs(2000), seed=1).sample(4000, seed=1).to_frame("polars")
    for column in ("a", "b"):
        shares = dict(made[column].value_counts(normalize=True).iter_rows())
        for value, share in pairs(2000)[column].value_counts(normalize=True).iter_rows():
            assert shares[value] == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("name", DEEP)
def test_without_torch_the_error_names_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"dalenius\[deep\]"):
        make_synthesizer(name).fit(pairs(), seed=1)
