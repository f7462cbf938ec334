"""`sample`: a column on its own, without predictors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.fitted import ColumnMethod, Job, column_method, smallest


@column_method
@dataclass(eq=False, repr=False)
class Sample(ColumnMethod):
    """Draw observed values with replacement, in proportion to the weights if there are any."""

    name = "sample"
    summary = "draws from the column itself, without predictors"

    donors: AnyArray
    mass: Floats

    @classmethod
    def fit(cls, job: Job) -> Sample:
        """Keep the values (a resample of them for a proper synthesis)."""
        chosen = job.proper()
        mass = np.zeros(0) if chosen.weights is None else np.cumsum(chosen.weights)
        return cls(smallest(chosen.values), mass)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Observed values at random."""
        chance = generator(seed, "donor").random(len(rows))
        if len(self.mass):
            place = np.searchsorted(self.mass, chance * self.mass[-1], side="right")
            return self.donors[np.minimum(place, len(self.donors) - 1)]
        return self.donors[(chance * len(self.donors)).astype(np.int64)]
