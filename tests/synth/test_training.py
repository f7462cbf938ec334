"""Training with early stopping, and the guard against memorising, with a learner that learns by heart on purpose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dalenius.core.cost import Cost
from dalenius.core.errors import DataError
from dalenius.core.random import generator
from dalenius.core.registry import MethodInfo
from dalenius.data import Schema, Table
from dalenius.synth import METHODS, load_model, make_synthesizer, save_model
from dalenius.synth.iterative import Iterative, IterativeModel, hold_out
from dalenius.synth.memorising import Guard
from dalenius.synth.training import Curve, train

SPEED = 0.002
"""Share of rows that the parrot knows by heart after each further epoch."""


class ParrotModel(IterativeModel):
    method = "parrot"
    keeps = ("table", "heart", "curve")
    contents = "the table"

    def __init__(self, table: Table, heart: float) -> None:
        super().__init__(table)
        self.table, self.heart = table, heart

    def _draw(self, rows, seed):
        rng = generator(seed, "parrot")
        whole = rng.integers(0, self.table.rows, rows)
        known = rng.random(rows) < self.heart
        vectors = [
            self.table[name].take(np.where(known, whole, rng.integers(0, self.table.rows, rows)))
            for name in self.table.names
        ]
        return Table.from_vectors(vectors, rows, self.origin, self.schema)


@dataclass
class ParrotLearner:
    table: Table
    heart: float = 0.0

    def epoch(self):
        self.heart = min(self.heart + SPEED, 1.0)
        return 1 - self.heart

    def held_out(self):
        return float("nan")

    def state(self):
        return {"heart": np.array(self.heart)}

    def restore(self, state):
        self.heart = float(state["heart"])

    def model(self):
        return ParrotModel(self.table, self.heart)


@dataclass(frozen=True)
class Parrot(Iterative):
    """Learns rows by heart."""

    info = MethodInfo("parrot", "Parrot", "Repeats rows.", "none", "folklore")
    model = ParrotModel

    def _learner(self, table, held, seed):
        return ParrotLearner(table)

    def cost(self, shape):
        return Cost(1.0, 1.0)


@pytest.fixture
def parrot():
    METHODS.add(Parrot)
    yield "parrot"
    METHODS.remove("parrot")


def people(rows: int = 300) -> Table:
    rng = np.random.default_rng(3)
    return Table.from_frame({name: np.round(rng.normal(50, 9, rows)) for name in "abcde"})


def test_what_is_learnt_by_heart_is_noticed_on_the_way_and_forgotten(parrot):
    model = make_synthesizer(parrot, epochs=60).fit(people(), seed=1)
    curve = model.curve
    assert curve.stopped == "copies"
    assert len(curve.training) < 60
    last = curve.looks[-1]
    assert last.copies <= last.holdout + 1
    assert last.epsilon <= last.null
    assert "gone back to epoch" in model.notes[0]


def test_without_early_stopping_it_is_refused_unless_allowed(parrot):
    table = people()
    with pytest.raises(DataError, match=r"parrot: the model has memorised people: \d.*allow_copies=True"):
        make_synthesizer(parrot, epochs=100, patience=None).fit(table, seed=1)
    model = make_synthesizer(parrot, epochs=100, patience=None, allow_copies=True).fit(table, seed=1)
    assert model.curve.looks[-1].copies == pytest.approx(100 * 100 * SPEED, abs=8)
    assert any(note.startswith("the model has memorised people") for note in model.notes)


def test_a_saved_model_says_what_was_found(parrot, tmp_path):
    model = make_synthesizer(parrot, epochs=10).fit(people(), seed=1)
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").curve == model.curve
    assert model.curve.chart().to_dict()["vconcat"]


def test_whole_units_are_held_out():
    rng = np.random.default_rng(1)
    data = {"who": rng.integers(0, 100, 400), "a": rng.normal(size=400)}
    table = Table.from_frame(data, Schema.infer(data).with_roles(entity="who"))
    inside, outside = hold_out(table.units, 0.1, 5)
    owners = table.units.owners_of_rows
    assert len(set(owners[outside])) == 10
    assert not set(owners[inside]) & set(owners[outside])
    assert sorted([*inside, *outside]) == list(range(400))


def test_chance_is_what_fresh_draws_give():
    rng = np.random.default_rng(8)
    everybody = Table.from_frame({name: rng.integers(0, 6, 4000) for name in "abcd"})
    parts = [everybody.take(np.arange(*ends)) for ends in ((0, 1500), (1500, 2000), (2000, 4000))]
    look = Guard(parts[0], parts[1], 1).look(parts[2])
    assert look.chance > 20
    assert look.copies == pytest.approx(look.chance, abs=4 * look.error)
    assert look.holdout == pytest.approx(look.chance, abs=5)
    assert look.clean


def test_what_many_people_have_is_no_copy():
    table = Table.from_frame({"sex": ["f", "m"] * 50})
    look = Guard(table.take(np.arange(80)), table.take(np.arange(80, 100)), 1).look(table)
    assert (look.copies, look.holdout) == (0, 0)


def test_too_few_people_are_trained_on_once_and_an_empty_table_not_at_all(parrot):
    few = make_synthesizer(parrot, epochs=30, patience=None).fit(people(10), seed=1)
    assert len(few.curve.training) == 1
    assert "one epoch only" in few.notes[0]
    assert make_synthesizer(parrot).fit(people(0), seed=1).curve == Curve()


def test_a_loss_that_is_no_number_ends_training():
    class Lost(ParrotLearner):
        def epoch(self):
            return float("inf")

    with pytest.raises(DataError, match="out of hand at epoch 1"):
        train(Lost(people()), 5)
