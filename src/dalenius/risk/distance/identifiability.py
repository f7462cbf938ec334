"""ε-identifiability and shared-neighbour identifiability (spec psd25; Miletic and Sariyar, PSD 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dalenius.core.errors import DataError
from dalenius.core.random import Seed
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.fellows import to_fellows
from dalenius.risk.distance.space import Index, Metric, Points, Space
from dalenius.risk.sampling import SEED
from dalenius.risk.units import Units


def inverse_entropy(pair: Pair, columns: Sequence[str]) -> dict[str, float]:
    """Weight of each column: one over the entropy of its distinct values in the original; constant columns get 0.

    Examples
    --------
    >>> inverse_entropy(Pair({"a": [1, 1, 2, 2]}, {"a": [1]}), ["a"])["a"].__round__(6)
    1.442695
    """
    weights, units = {}, Units.of(pair)
    for name in columns:
        found = pair.original[name].categories
        counts = units.owners(found.codes, len(found.labels))
        shares = counts[counts > 0] / counts.sum()
        entropy = float(-(shares * np.log(shares)).sum())
        weights[name] = 1 / entropy if entropy > 0 else 0.0
    return weights


@measure(
    MeasureInfo(
        name="epsilon-identifiability",
        title="ε-identifiability",
        family="risk",
        meaning="Share of original records whose closest protected record is closer than their closest fellow "
        "original; fresh draws from the same population give m / (m + n - 1).",
        better="lower",
        bounds=(0, 100),
        unit="%",
        reference="Yoon, Drumright and van der Schaar 2020 (ADS-GAN); Miletic and Sariyar 2024 (PSD)",
        default=False,
        random=True,
    )
)
def epsilon_identifiability(
    pair: Pair,
    metric: Metric = "gower",
    weights: Literal["inverse_entropy"] | None = "inverse_entropy",
    columns: Sequence[str] | None = None,
    most: int | None = 5000,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Share of originals that have a protected record nearer than any other original.

    ``metric="euclidean"`` with inverse-entropy weights is the paper's; "gower" is what we recommend, because it does
    not depend on units. Strictly nearer counts; originals that have a twin are counted as ties.

    Examples
    --------
    >>> data = {"x": [0.0, 1.0, 3.0, 7.0]}
    >>> result = epsilon_identifiability(Pair(data, data))
    >>> result.value, round(result.yardsticks["fresh draws"], 1)
    (100.0, 57.1)
    """
    used = list(columns) if columns is not None else pair.columns
    weight = inverse_entropy(pair, used) if weights is not None else None
    used = [name for name in used if weight is None or weight[name] > 0]
    if not used or pair.original.rows < 2:
        raise DataError("ε-identifiability needs two original rows and a column that is not constant")
    space, units = Space.of(pair, used, metric, weight), Units.of(pair)
    n, m = len(space.original), len(space.protected)
    rows = units.rows_of_some(most, seed, "identifiability")
    queries = space.original.take(rows)
    originals, protected = Index(space, space.original), Index(space, space.protected)
    r = to_fellows(originals, queries, units, rows)
    found = protected.search(queries).distance[:, 0]
    tried, flags = units.subset(rows), found < r
    value, null = tried.share(flags), 100 * m / (m + n - 1)
    yardsticks = {"fresh draws": null}
    if space.holdout is not None:
        outside = Units.of_holdout(pair)
        yardsticks["holdout"] = _outsiders(outside, space.holdout, originals, protected, most, seed)
    if units.codes is not None:  # records of one unit are no independent draws, so there is no closed form
        del yardsticks["fresh draws"]
    ties = int(np.count_nonzero((r == 0) & (found == 0)))
    return Result(
        name="epsilon-identifiability",
        value=value,
        unit="%",
        sentence=f"{figure(value, '%')} of the original {units.noun} have a protected record closer than any other "
        f"original{_beside(yardsticks)}.",
        interval=tried.interval(value),
        yardsticks=yardsticks,
        values={
            "above fresh draws": value - yardsticks.get("fresh draws", float("nan")),
            "ties": float(ties),
        },
        records=pl.DataFrame({"row": rows, "to_original": r, "to_protected": found, "identifiable": flags})
        if records
        else None,
    )


def _outsiders(
    units: Units, points: Points, originals: Index, protected: Index, most: int | None, seed: Seed
) -> float:
    """Per cent of outsiders with a protected record closer than any original."""
    rows = units.rows_of_some(most, seed, "outsiders")
    people = points.take(rows)
    nearer = protected.search(people).distance[:, 0] < originals.search(people).distance[:, 0]
    return units.subset(rows).share(nearer)


def _beside(yardsticks: Mapping[str, float]) -> str:
    words = {
        "fresh draws": "; fresh draws from the same population would give {}",
        "holdout": "; of people who are not in the data {} have one closer than any original",
    }
    return "".join(words[name].format(figure(value, "%")) for name, value in yardsticks.items())


@dataclass(frozen=True, eq=False)
class SharedNeighbours:
    """Clusters of records that share neighbours; ``label`` is -1 for noise, originals come before protected rows."""

    value: float
    label: AnyArray
    risky: AnyArray
    noise: float


def shared_neighbour_identifiability(
    pair: Pair,
    neighbours: int = 5,
    *,
    similarity: int = 3,
    min_points: int = 2,
    min_cluster: int = 5,
    metric: Metric = "gower",
    columns: Sequence[str] | None = None,
    mutual: bool = False,
) -> SharedNeighbours:
    """Share of protected records in small clusters that mix originals and protected records (SNI).

    It does **not** see copying: an exact copy of a file scores like an independent sample (measured in spec psd25). Use
    it beside identical matches and DCR, never alone; look at several numbers of neighbours, on which it depends much.

    Examples
    --------
    >>> near = {"x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.3], "y": [0.0, 0.1, 0.1, 9.0, 9.2, 9.1]}
    >>> shared_neighbour_identifiability(Pair(near, near), 4, metric="euclidean").value
    0.0
    """
    space = Space.of(pair, columns, metric)
    both: Points = space.original.join(space.protected)
    if len(both) < neighbours + 1:
        raise DataError(f"{neighbours} neighbours need more than {neighbours} records")
    near = space.nearest(both, both, neighbours, leave_out_self=True).row
    edges, weight = _shared(near, similarity, mutual)
    label = _clusters(edges, weight, len(both), min_points)
    n = len(space.original)
    size = np.bincount(label[label >= 0], minlength=label.max() + 1 if len(label) else 0)
    originals = np.bincount(label[:n][label[:n] >= 0], minlength=len(size))
    risky = (size < min_cluster) & (originals > 0) & (originals < size)
    flags = (label >= 0) & np.append(risky, False)[label]
    return SharedNeighbours(float(flags[n:].mean()), label, flags, float(np.mean(label < 0)))


def _shared(near: AnyArray, similarity: int, mutual: bool) -> tuple[AnyArray, AnyArray]:
    """Pairs of records that share at least so many neighbours, each pair once."""
    total, k = near.shape
    graph = coo_array(
        (np.ones(total * k, np.int32), (np.repeat(np.arange(total), k), near.ravel())), (total, total)
    ).tocsr()
    common = (graph @ graph.T).tocoo()
    keep = (common.row < common.col) & (common.data >= similarity)
    edges = np.column_stack([common.row[keep], common.col[keep]])
    if mutual and len(edges):
        dense = graph.astype(bool)
        both = (
            np.asarray(dense[edges[:, 0], edges[:, 1]]).ravel()
            & np.asarray(dense[edges[:, 1], edges[:, 0]]).ravel()
        )
        return edges[both], common.data[keep][both]
    return edges, common.data[keep]


def _clusters(edges: AnyArray, weight: AnyArray, total: int, min_points: int) -> AnyArray:
    """Core points joined by edges are a cluster; other points join their most similar core point, or are noise."""
    density = np.bincount(edges.ravel(), minlength=total) if len(edges) else np.zeros(total, np.int64)
    core = density >= min_points
    inner = edges[core[edges[:, 0]] & core[edges[:, 1]]] if len(edges) else edges
    graph = (
        coo_array((np.ones(len(inner)), (inner[:, 0], inner[:, 1])), (total, total)) if len(inner) else None
    )
    part = connected_components(graph, directed=False)[1] if graph is not None else np.arange(total)
    label = np.full(total, -1, np.int64)
    label[core] = np.unique(part[core], return_inverse=True)[1]
    both = np.concatenate([edges, edges[:, ::-1]]) if len(edges) else edges
    strength = np.concatenate([weight, weight]) if len(edges) else weight
    joins = ~core[both[:, 0]] & core[both[:, 1]] if len(edges) else np.zeros(0, bool)
    both, strength = both[joins], strength[joins]
    # most similar first, then the lowest number: the first entry of each point wins
    for place in np.lexsort((both[:, 1], -strength, both[:, 0])) if len(both) else ():
        point, centre = both[place]
        if label[point] < 0:
            label[point] = label[centre]
    return label
