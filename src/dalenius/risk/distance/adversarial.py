"""Nearest-neighbour adversarial accuracy: whether nearness tells original from protected records.

AA(A, B) is the accuracy of a guess by nearest neighbour whether a record is of A or of B: 1 when the files are far
apart, 1/2 when they are alike, 0 when each is a copy of the other. The privacy loss compares the file the protected
records were made from with one they were not (Yale et al. 2020).
"""

from __future__ import annotations

import numpy as np

from dalenius.core.random import Seed
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Interval, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.space import Index, Metric, Points, Space
from dalenius.risk.sampling import SEED, some_rows


def adversarial_accuracy(space: Space, a: Points, b: Points, rows: AnyArray) -> AnyArray:
    """Say for some rows of A and of B (two columns) whether a fellow of its own file is the nearest."""
    in_a, in_b = Index(space, a), Index(space, b)
    columns = []
    for mine, own, other in ((a, in_a, in_b), (b, in_b, in_a)):
        queries = mine.take(rows)
        fellows = own.search(queries, 2)
        near = np.where(fellows.row[:, 0] == rows, fellows.distance[:, 1], fellows.distance[:, 0])
        far = other.search(queries).distance[:, 0]
        # equally near counts half, so that duplicates do not look safe
        columns.append((far > near) + 0.5 * (far == near))
    return np.column_stack(columns)


@measure(
    MeasureInfo(
        name="adversarial-accuracy",
        title="Nearest-neighbour adversarial accuracy, privacy loss",
        family="risk",
        meaning="How much better nearness tells protected records from outsiders than from the originals: 0 when "
        "nothing is copied, 1/2 for a copy.",
        better="lower",
        bounds=(-1, 1),
        reference="Yale et al. 2020 (Neurocomputing)",
        needs=frozenset({"holdout"}),
        default=False,
        random=True,
    )
)
def adversarial(pair: Pair, metric: Metric = "gower", most: int = 2000, seed: Seed = SEED) -> Result:
    """Privacy loss: adversarial accuracy against outsiders minus that against the originals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, others = {"x": rng.normal(size=300)}, {"x": rng.normal(size=300)}
    >>> 0.4 < adversarial(Pair(people, people, others)).value < 0.6
    True
    """
    space = Space.of(pair, metric=metric)
    assert space.holdout is not None  # the registry asks for a holdout
    size = min(len(space.original), len(space.protected), len(space.holdout))
    rows = some_rows(size, most, seed, "queries")
    protected = _drawn(space.protected, size, seed, "protected")
    train = adversarial_accuracy(space, _drawn(space.original, size, seed, "original"), protected, rows)
    test = adversarial_accuracy(space, _drawn(space.holdout, size, seed, "holdout"), protected, rows)
    value = float(test.mean() - train.mean())
    half = 1.96 * float(np.sqrt(train.mean(axis=1).var() / len(rows) + test.mean(axis=1).var() / len(rows)))
    return Result(
        name="adversarial-accuracy",
        value=value,
        sentence=f"Nearness tells protected records from originals with accuracy {figure(float(train.mean()))}, from "
        f"people who are not in the data with {figure(float(test.mean()))}; the difference {figure(value)} is what "
        "being in the data costs (0: nothing; 0.5: the protected file is a copy).",
        interval=Interval(value - half, value + half),
        yardsticks={"nothing copied": 0.0},
        values={"against original": float(train.mean()), "against holdout": float(test.mean())},
    )


def _drawn(points: Points, size: int, seed: Seed, name: str) -> Points:
    return points.take(some_rows(len(points), size, seed, name))
