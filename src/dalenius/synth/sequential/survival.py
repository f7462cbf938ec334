"""`survtree`: a time until an event, some of them cut off before it happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.synth.sequential.cart import Cart
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import Target, Tuning, column_method, resampled
from dalenius.synth.sequential.trees import Tree


@column_method
class SurvivalTree(Cart):
    """A tree that splits where the hazard differs, with the observed times of a leaf as donors.

    The response is the martingale residual of each row under no predictors, event minus cumulative hazard, which turns
    survival data into a regression (Therneau, Grambsch, Fleming 1990; LeBlanc, Crowley 1992). The event column
    itself is drawn after the time, given it.
    """

    name = "survtree"
    takes = "number"
    summary = "survival tree for a time to an event (option event names the event column)"

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> SurvivalTree:
        """Grow on martingale residuals."""
        if target.event is None:
            raise OptionError("survtree needs to know the event column; name it in the option event")
        chosen = resampled(rows, target.weights, generator(seed, "rows")) if tuning.proper else rows
        residual = np.zeros(len(target.values))
        residual[rows] = martingale(target.values[rows].astype(np.float64), target.event[rows])
        tree, order = Tree.grow(replace(target, values=residual), design, use, chosen, tuning)
        return cls(tree, target.values[order])


def martingale(time: AnyArray, event: BoolArray) -> npt.NDArray[np.float64]:
    """Event minus Nelson-Aalen cumulative hazard at each time.

    Examples
    --------
    >>> martingale(np.array([1.0, 2.0, 3.0]), np.array([True, False, True])).round(3).tolist()
    [0.667, -0.333, -0.333]
    """
    inverse = np.unique(time, return_inverse=True)[1]
    events = np.bincount(inverse, weights=event.astype(np.float64))
    at_risk = len(time) - np.concatenate([[0], np.cumsum(np.bincount(inverse))[:-1]])
    hazard = np.cumsum(events / at_risk)
    return event.astype(np.float64) - hazard[inverse]
