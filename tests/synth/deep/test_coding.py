"""How tables are coded for networks, and how rules are kept by what knows none: none of it needs torch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dalenius.core.random import generator
from dalenius.data import Schema, Table
from dalenius.data.vector import states
from dalenius.synth.deep.coding import LEVELS, Coding, Part
from dalenius.synth.deep.kept_rules import with_rules_kept
from dalenius.synth.deep.scales import Mixture, Scores

RNG = np.random.default_rng


def mixed(rows: int = 900) -> Table:
    rng = RNG(1)
    pay = np.where(rng.random(rows) < 0.3, 0, rng.lognormal(7, 1, rows)).round(2)
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(16, 90, rows),
            "rooms": rng.integers(1, 7, rows),
            "pay": pay,
            "coded": np.where(rng.random(rows) < 0.2, -8, rng.integers(0, 400, rows)),
        }
    ).with_columns(pay=pl.when(pl.Series(rng.random(rows) < 0.1)).then(None).otherwise("pay"))
    return Table.from_frame(frame)


@pytest.mark.parametrize("scores", [False, True])
def test_rows_come_back_from_their_codes(scores):
    table = mixed()
    coding = Coding.fit(table, scores)
    codes, places = coding.coded(table, 1)
    assert (codes.max(axis=0) < coding.sizes).all()
    back = coding.drawn(codes, places, table.schema, 2)
    for name, vector in zip(table.names, back, strict=True):
        assert np.array_equal(states(vector), states(table[name])), name
        assert vector.data.dtype == table[name].data.dtype
        if table[name].is_number:
            span = np.ptp(table[name].values)
            away = np.abs(vector.values - table[name].values)  # of scores the ten largest meet at their mean
            assert np.quantile(away, 0.98) <= 0.05 * span, name
            assert vector.values.min() >= table[name].values.min()
        else:
            assert np.array_equal(vector.data, table[name].data)


def test_spikes_codes_and_gaps_are_entries_without_a_place():
    table = mixed()
    coding = Coding.fit(table)
    parts = {part.name: part for part in coding.parts}
    assert parts["pay"].values.tolist() == [0.0]
    assert parts["pay"].gaps.tolist() == [1]
    assert len(parts["coded"].gaps) == 1
    assert parts["rooms"].scale is None  # few numbers are entries each
    assert parts["rooms"].size == 6
    _, places = coding.coded(table, 1)
    at = coding.placed.index(table.names.index("pay"))
    spike = table["pay"].present & (table["pay"].data == 0)
    assert not places[spike | ~table["pay"].present, at].any()
    assert coding.carries()[:, at].sum() == parts["pay"].scale.size


def test_numbers_that_few_share_are_drawn_between_and_shared_ones_are_met():
    few = Part.fit(Table.from_frame({"x": RNG(1).normal(size=500).round(4)})["x"], scores=True)
    assert not len(few.finish.places)
    many = Part.fit(Table.from_frame({"x": RNG(1).choice(np.arange(50) * 7 + 100, 2000)})["x"], scores=False)
    drawn = many.drawn(
        np.full(200, many.first_mode), RNG(2).normal(size=200).astype(np.float32), None, RNG(3)
    )
    assert set(drawn.data % 7) == {2}


def test_rare_levels_share_an_entry_and_come_back_as_often():
    codes = np.concatenate([np.repeat(np.arange(300), 9), np.repeat([300, 301], [3, 9])])
    table = Table.from_frame({"code": [f"c{c:03d}" for c in codes]})
    part = Part.fit(table["code"], scores=False)
    assert part.size == LEVELS
    coded, _ = part.coded(table["code"], RNG(1))
    drawn = part.drawn(np.full(4000, LEVELS - 1), np.zeros(4000, np.float32), table["code"].column, RNG(2))
    assert set(drawn.data) == set(part.rare)
    assert (coded == LEVELS - 1).sum() == part.times.sum()
    shares = np.bincount(drawn.data, minlength=302)[part.rare] / 4000
    assert shares == pytest.approx(part.times / part.times.sum(), abs=0.02)


def test_modes_are_found_and_needless_ones_dropped():
    rng = RNG(1)
    values = np.concatenate([rng.normal(-50, 1, 400), rng.normal(60, 3, 600)])
    mixture = Mixture.fit(values)
    assert mixture.shares[mixture.means < 0].sum() == pytest.approx(0.4, abs=0.01)
    modes, places = mixture.placed(values, rng)
    assert np.abs(mixture.values(modes, places) - values).max() < 2
    assert Mixture.fit(np.array([3.0, 3.0])).size == 1


def test_scores_are_normal_ties_included():
    scores = Scores.fit(np.repeat(np.arange(5.0), 200), heaped=True)
    places = scores.placed(np.repeat(np.arange(5.0), 200), RNG(1))[1]
    assert places.std() == pytest.approx(1, abs=0.05)
    assert np.array_equal(scores.values(np.zeros(2, int), np.array([-9.0, 9.0])), [0.0, 4.0])


def ruled(draws: list[int]):
    frame = {
        "age": list(range(60)) * 3,
        "status": ["single", "married", "widowed"] * 60,
        "car": [1, 0, 2] * 60,
    }
    schema = replace(Schema.infer(frame), rules=("age < 16 -> status == 'single'", "age < 18 -> car == 0"))
    table = Table.from_frame(frame, schema)

    def draw(rows, seed):
        draws.append(rows)
        rng = generator(seed)
        return Table.from_vectors(
            [table[name].take(rng.integers(0, table.rows, rows)) for name in table.names], rows, schema=schema
        )

    return draw


def test_rules_are_kept_and_only_what_broke_one_is_drawn_again():
    draws: list[int] = []
    made = with_rules_kept(ruled(draws), 500, 1).to_frame()
    assert draws == [500]  # both rules fix a value: nothing is drawn again
    young = [s for a, s in zip(made["age"], made["status"], strict=True) if a < 16]
    assert set(young) == {"single"}
    assert all(c == 0 for a, c in zip(made["age"], made["car"], strict=True) if a < 18)


def test_what_no_draw_mends_is_stood_in_for():
    schema = replace(Schema.infer({"a": [1, 2], "b": [1, 2]}), rules=("a <= b",))
    calls = []

    def draw(rows, seed):
        calls.append(rows)
        good = np.arange(rows) % 2 == 0 if len(calls) == 1 else np.zeros(rows, bool)
        return Table.from_frame({"a": np.where(good, 1, 2).tolist(), "b": [1] * rows}, schema)

    made = with_rules_kept(draw, 100, 1)
    assert len(calls) == 11
    assert set(made.to_frame()["a"]) == {1}
