"""`Iterative`: synthesizers that learn epoch by epoch. Whoever is one is watched while learning, without further ado.

A tenth of the people (whole units) is held out: training ends when they are fitted no better, and rows drawn on the
way are held against theirs. Under a privacy budget nobody is held out and nothing is looked at: the budget is the
guarantee, and a look would cost some of it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from dalenius.core.option import Option
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.exit import releasable
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import IntArray
from dalenius.synth.base import Model, Progress, Synthesizer
from dalenius.synth.memorising import Guard, Look
from dalenius.synth.training import Curve, Learner, train

FEWEST = 20
"""People below which none are held out; then one epoch is all, for nobody could tell memory from knowledge."""
FEW_DRAWN, DRAWN = 500, 2000
"""Fewest and most rows that are drawn for a look; between them, as many as are trained on."""
LOOKS = 20
"""Looks on the way, at most one every five epochs."""

Epochs = Annotated[
    int,
    Option(
        at_least=1, title="Most rounds of learning", meaning="More: closer to the data, slower.", knob=True
    ),
]


class IterativeModel(Model):
    """A model that keeps how its training went; subclasses add "curve" to what they keep."""

    curve: Curve

    def __init__(self, table: Table) -> None:
        super().__init__(table.schema, table.rows, table.origin)
        self.curve = Curve()


@dataclass(frozen=True)
class Iterative(Synthesizer):
    """Options of every method that learns epoch by epoch, and the watch over it.

    Parameters
    ----------
    epochs
        Most times the data are gone through.
    patience
        Epochs without a better fit of people held out after which training ends; None: no early stopping at all.
    validation
        Share of the people that is held out of training.
    allow_copies
        Keep a model that has memorised people, for those who want to see one.
    """

    epochs: Epochs = 100
    patience: Annotated[int | None, Option(at_least=1)] = 10
    validation: Annotated[float, Option(above=0, at_most=0.5)] = 0.1
    allow_copies: bool = False
    progress: Progress | None = field(default=None, repr=False, compare=False)

    uses_units = True

    @abstractmethod
    def _learner(self, table: Table, held: Table | None, seed: Seed) -> Learner[IterativeModel]:
        """What learns from these rows; ``held`` are rows of people it is not trained on, None where there are none."""

    def telling(self, progress: Progress) -> Synthesizer:
        """The same method, telling of each epoch."""
        return replace(self, progress=progress)

    def _fit(self, table: Table, seed: Seed) -> Model:
        inside, outside = hold_out(table.units, 0.0 if self.private else self.validation, seed)
        whole = releasable(table)
        # roles stay for the units, which the guard counts
        train_on, held = table.take(inside), (table.take(outside) if len(outside) else None)
        learner = self._learner(
            whole.take(inside), whole.take(outside) if len(outside) else None, sequence(seed, "learner")
        )
        curve = self._trained(learner, table, train_on, held, seed)
        model = learner.model()
        model.rows, model.origin, model.curve = table.rows, replace(whole.origin, index=None), curve
        model.notes = [*model.notes, *self._notes(curve, held is not None)]
        if curve.looks:
            curve.looks[-1].judge(self.info.name, self.allow_copies)
        return model

    def _trained(
        self, learner: Learner[Any], table: Table, train_on: Table, held: Table | None, seed: Seed
    ) -> Curve:
        """Train, with a look at what is drawn every few epochs."""
        if not table.rows:
            return Curve()
        if self.private:
            return train(learner, self.epochs, progress=self.progress)
        if held is None:
            return train(learner, 1, progress=self.progress)
        guard = Guard(train_on, held, sequence(seed, "guard"))

        def look(epoch: int) -> Look:
            rows = min(max(train_on.rows, FEW_DRAWN), DRAWN)
            return guard.look(learner.model().draw_block(rows, sequence(seed, "look", epoch)), epoch)

        every = max(5, self.epochs // LOOKS)
        return train(learner, self.epochs, self.patience, look=look, every=every, progress=self.progress)

    def _notes(self, curve: Curve, held: bool) -> list[str]:
        if self.private or not curve.training:
            return []
        if not held:
            return ["too few people to hold any out: trained for one epoch only"]
        return [curve.told, curve.looks[-1].told]


def hold_out(units: Units, share: float, seed: Seed) -> tuple[IntArray, IntArray]:
    """Rows of the people who are trained on, and of those who are held out; whole units.

    Examples
    --------
    >>> inside, outside = hold_out(Units(np.arange(60) // 2, 30), 0.1, 1)
    >>> len(outside), set(inside // 2) & set(outside // 2)
    (6, set())
    """
    rows = np.arange(len(units.owners_of_rows))
    if units.count < FEWEST or not share:
        return rows, rows[:0]
    chosen = generator(seed, "held out").permutation(units.count)[: max(round(share * units.count), 1)]
    held = np.isin(units.owners_of_rows, chosen)
    return rows[~held], rows[held]
