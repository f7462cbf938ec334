"""Text: what is shared by enough people comes out, the rest as a common beginning with a number."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth import synthesize
from dalenius.synth.syndiffix import Anonymity, SynDiffix
from dalenius.synth.syndiffix.axis import Axis
from dalenius.synth.syndiffix.microdata import decode, draw_codes
from dalenius.synth.syndiffix.outlook import Outlook

OFF = Anonymity.off()


def test_ranges_of_ranks_become_beginnings():
    column = Column("t", Kind.TEXT, levels=("c",))
    axis = Axis(column, "levels", 0, 3, step=1.0)
    outlook = Outlook(axis, None, np.array([4]), prefixes={(0, 3): "a"})
    low, high = axis.encode(np.array([0] * 60 + [4])), axis.encode(np.array([3] * 60 + [4]))
    made = decode(outlook, *draw_codes(outlook, low, high, np.random.default_rng(0)))
    texts = [made.levels[i] for i in made.data.tolist()]
    assert set(texts[:60]) == {"a*0", "a*1", "a*2"}
    assert texts[60] == "c"


def test_streets():
    streets = {"Gerichtstraße": 10, "Leopoldstraße": 8, "Spandauer Str.": 8, "Torstraße": 6}
    numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, "alt"]
    addresses = [f"{street} {number}" for street, count in streets.items() for number in numbers[:count]]
    assert len(addresses) == 32
    frame = pl.DataFrame({"address": addresses})
    table = Table.from_frame(frame, Schema((Column("address", Kind.TEXT),)))
    model = SynDiffix(salt="t-test-salt", anonymity=OFF, rare="prefix", rake=False).fit(table)
    made = model.sample(500, seed=1).to_frame("polars")["address"]
    beginnings = {value.split("*")[0] for value in made}
    assert {"Leopoldstraße ", "Spandauer Str. ", "Gerichtstraße ", ""} <= beginnings
    assert not set(made) & set(addresses)


def test_common_texts_have_no_star_and_rare_ones_do():
    rng = np.random.default_rng(5)
    common = {name: rng.permutation([f"{name}{i:02d}" for i in range(30)] * 10) for name in "abc"}
    out = synthesize(pl.DataFrame(common), "syndiffix", seed=0, salt="t-test-salt", rare="prefix")
    assert not any("*" in value for name in "abc" for value in out[name])
    rare = {}
    for name, values in common.items():
        held = values.astype(object)
        held[np.isin(held, [f"{name}{i:02d}" for i in range(7)])] = [f"{name}r{i}" for i in range(70)]
        rare[name] = held.tolist()
    out = synthesize(pl.DataFrame(rare), "syndiffix", seed=0, salt="t-test-salt", rare="prefix")
    for name in "abc":
        assert any("*" in value for value in out[name])
        assert not any(value.startswith(f"{name}r") and "*" not in value for value in out[name])


def test_three_values_stay_three_values():
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "r": rng.choice([0.5, 1.25, 7.0], 500),
            "i": rng.choice([3, 40, 500], 500),
            "s": rng.choice(["x", "y", "z"], 500),
        }
    )
    first, second = (synthesize(frame, "syndiffix", seed=0, salt="t-test-salt") for _ in range(2))
    assert first.equals(second)
    for name in frame.columns:
        assert set(first[name]) == set(frame[name])
