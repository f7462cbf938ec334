"""`survtree`: a time until an event, some of them cut off before it happened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray, BoolArray, Vector
from dalenius.synth.sequential.cart import Cart
from dalenius.synth.sequential.fitted import Job, column_method
from dalenius.synth.sequential.trees import Tree


@column_method
class SurvivalTree(Cart):
    """A tree that splits where the hazard differs, with the observed times of a leaf as donors.

    The response is the martingale residual of each row under no predictors, event minus cumulative hazard, which turns
    survival data into a regression (Therneau, Grambsch, Fleming 1990; LeBlanc, Crowley 1992). A donor brings its
    time together with what happened then, so that in every leaf the synthetic pairs have the leaf's own hazard.
    """

    name = "survtree"
    takes = "number"
    summary = "survival tree for a time and its event, drawn together (option event names the event column)"

    @classmethod
    def fit(cls, job: Job) -> SurvivalTree:
        """Grow on martingale residuals."""
        target = job.target
        if target.event is None:
            raise OptionError("survtree needs to know the event column; name it in the option event")
        residual = np.zeros(len(target.values))
        residual[job.rows] = martingale(job.values.astype(np.float64), target.event[job.rows])
        tree, order = Tree.grow(replace(job, target=replace(target, values=residual)).proper())
        times = target.values[order]
        return cls(tree, times if target.beside is None else paired(times, target.beside.take(order)))


def paired(time: AnyArray, event: Vector) -> AnyArray:
    """Times and cells of the event column as one array of pairs.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> paired(np.array([2.5, 1.5]), Table.from_frame({"dead": ["no", "yes"]})["dead"]).tolist()
    [(2.5, 0, 0), (1.5, 1, 0)]
    """
    return _pairs(time, event.data, np.zeros(len(time), np.uint8) if event.state is None else event.state)


def _pairs(time: AnyArray, data: AnyArray, state: AnyArray) -> AnyArray:
    pairs = np.zeros(len(time), [("time", time.dtype), ("data", data.dtype), ("state", np.uint8)])
    pairs["time"], pairs["data"], pairs["state"] = time, data, state
    return pairs


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
