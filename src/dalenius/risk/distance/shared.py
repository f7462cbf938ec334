"""Shared-neighbour identifiability (Miletic and Sariyar 2024).

Records that share many of their nearest neighbours form clusters; protected records in small clusters that mix them
with originals are said to be at risk. The figure depends much on the number of neighbours, and does not see copying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dalenius.core.errors import DataError, OptionError
from dalenius.core.intervals import wilson
from dalenius.core.random import Seed, some_rows
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.distance.space import Metric, Points, Space
from dalenius.risk.sampling import SEED

NEIGHBOURS = (4, 5, 6, 7, 10)
"""Numbers of neighbours of the profile; the paper does not say which it used, 5 comes nearest."""


@dataclass(frozen=True, eq=False, repr=False)
class SharedNeighbours:
    """Clusters of records that share neighbours; ``label`` is -1 for noise, originals come before protected rows."""

    value: float
    label: AnyArray
    risky: AnyArray
    noise: float


@dataclass(frozen=True)
class _Rule:
    """When records share enough, and which clusters are at risk."""

    similarity: int
    min_points: int
    min_cluster: int
    mutual: bool
    noise_at_risk: bool


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
    noise_at_risk: bool = False,
) -> SharedNeighbours:
    """Share of protected records in small clusters that mix originals and protected records (SNI).

    It does **not** see copying: an exact copy of a file scores like an independent sample. Use
    it beside identical matches and DCR, never alone; `shared_neighbour_profile` shows several numbers of neighbours, on
    which it depends much.

    Parameters
    ----------
    similarity
        Neighbours that two records must share to be joined.
    mutual
        Join only records that are neighbours of each other (the original definition of shared neighbours).
    noise_at_risk
        Count protected records of no cluster as at risk too; the paper discards them.

    Examples
    --------
    >>> near = {"x": [0.0, 0.1, 0.2, 9.0, 9.1, 9.3], "y": [0.0, 0.1, 0.1, 9.0, 9.2, 9.1]}
    >>> shared_neighbour_identifiability(Pair(near, near), 4, metric="euclidean").value
    0.0
    """
    space = Space.of(pair, columns, metric)
    rule = _Rule(similarity, min_points, min_cluster, mutual, noise_at_risk)
    return _found(space, space.original, space.protected, neighbours, rule)


def shared_neighbour_profile(
    pair: Pair,
    neighbours: Sequence[int] = NEIGHBOURS,
    *,
    metric: Metric = "gower",
    noise_at_risk: bool = False,
    most: int = 5000,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """SNI for several numbers of neighbours, beside the same for people who are not in the data.

    Parameters
    ----------
    neighbours
        Numbers of neighbours; the value is that of 5 (of the first, when 5 is not among them).
    most
        Records of each file that are looked at.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people, made, others = ({"x": rng.normal(size=150), "y": rng.normal(size=150)} for _ in range(3))
    >>> found = shared_neighbour_profile(Pair(people, made, others), (5, 7))
    >>> found.table.columns, found.value < 30
    (['neighbours', 'protected', 'holdout', 'noise'], True)
    """
    if not neighbours:
        raise OptionError("no number of neighbours is named; the usual ones are 4, 5, 6, 7 and 10")
    space, rule = Space.of(pair, metric=metric), _Rule(3, 2, 5, False, noise_at_risk)
    files = {"original": space.original, "protected": space.protected, "holdout": space.holdout}
    drawn = {n: some_rows(len(f), most, seed, n) for n, f in files.items() if f is not None}
    points = {name: f.take(drawn[name]) for name, f in files.items() if f is not None}
    shares = {k: _found(space, points["original"], points["protected"], k, rule) for k in neighbours}
    outside = {}
    if "holdout" in points:
        outside = {k: _found(space, points["original"], points["holdout"], k, rule).value for k in neighbours}
    shown = 5 if 5 in shares else neighbours[0]
    value, rows = 100 * shares[shown].value, drawn["protected"]
    yardsticks = {"holdout": 100 * outside[shown]} if outside else {}
    table = pl.DataFrame(
        {
            "neighbours": list(neighbours),
            "protected": [100 * shares[k].value for k in neighbours],
            **({"holdout": [100 * outside[k] for k in neighbours]} if outside else {}),
            "noise": [100 * shares[k].noise for k in neighbours],
        }
    )
    flags = shares[shown].risky[len(points["original"]) :]
    return Result(
        name="shared-neighbours",
        value=value,
        unit="%",
        sentence=f"{figure(value, '%')} of the protected records are in small clusters with originals ({shown} "
        f"neighbours){_beside(yardsticks)}. The figure depends on the number of neighbours and does not see copying: "
        "never read it alone.",
        interval=wilson(float(flags.sum()), len(rows), scale=100),
        yardsticks=yardsticks,
        table=table,
        counts=WHOLE,
        trusted=bool(yardsticks),
        records=pl.DataFrame({"protected_row": rows, "at_risk": flags}) if records else None,
    )


def _beside(yardsticks: dict[str, float]) -> str:
    if not yardsticks:
        return "; without a holdout this cannot be interpreted"
    return f"; of people who are not in the data {figure(yardsticks['holdout'], '%')} are"


def _found(
    space: Space, originals: Points, protected: Points, neighbours: int, rule: _Rule
) -> SharedNeighbours:
    both: Points = originals.join(protected)
    if len(both) < neighbours + 1:
        raise DataError(f"{neighbours} neighbours need more than {neighbours} records")
    near = space.nearest(both, both, neighbours, leave_out_self=True).row
    edges, weight = _shared(near, rule.similarity, rule.mutual)
    label = _clusters(edges, weight, len(both), rule.min_points)
    n = len(originals)
    size = np.bincount(label[label >= 0], minlength=label.max() + 1 if len(label) else 0)
    mixed = np.bincount(label[:n][label[:n] >= 0], minlength=len(size))
    risky = (size < rule.min_cluster) & (mixed > 0) & (mixed < size)
    flags = np.append(risky, rule.noise_at_risk)[label]  # noise has the label -1: the last
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
