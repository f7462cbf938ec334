"""`sample`: a column on its own, without predictors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats
from dalenius.synth.sequential.fitted import ColumnMethod, Job, Parts, column_method, smallest


@column_method
class Sample(ColumnMethod):
    """Draw observed values with replacement, in proportion to the weights if there are any."""

    name = "sample"
    summary = "draws from the column itself, without predictors"

    def __init__(self, donors: AnyArray, mass: Floats) -> None:
        self.donors = donors
        self.mass = mass

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

    def parts(self) -> Parts:
        """Values and weights."""
        return {}, {"donors": self.donors, "mass": self.mass}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Sample:
        """Rebuild a saved column."""
        return cls(arrays["donors"], arrays["mass"])
