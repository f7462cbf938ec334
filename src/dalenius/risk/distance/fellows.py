"""Nearest records of other owners: a person's own rows are neither his fellows nor his doubles."""

from __future__ import annotations

import numpy as np

from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.distance.space import Index, Neighbours, Points


def to_fellows(index: Index, queries: Points, units: Units, rows: IntArray) -> AnyArray:
    """Distance of some rows to the nearest row of another unit; the index holds all rows of the units.

    Examples
    --------
    >>> from dalenius import Pair
    >>> from dalenius.risk.distance.space import Space
    >>> space = Space.of(Pair({"x": [0.0, 1.0, 4.0, 10.0]}, {"x": [0.0]}))
    >>> owners = Units(np.array([0, 0, 1, 2]), 3)
    >>> to_fellows(Index(space, space.original), space.original, owners, np.arange(4)).round(6).tolist()
    [0.4, 0.3, 0.3, 0.6]
    """
    found = _enough(index, queries, units, 1)
    owners = units.owners_of_rows
    return _first(found, owners[found.row] != owners[rows][:, None])


def to_two_units(index: Index, queries: Points, units: Units) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Distances to the nearest unit and to the second nearest one, and who is nearest; the index holds all rows.

    Examples
    --------
    >>> from dalenius import Pair
    >>> from dalenius.risk.distance.space import Space
    >>> space = Space.of(Pair({"x": [0.0, 1.0, 4.0, 10.0]}, {"x": [0.0]}))
    >>> units = Units(np.array([0, 0, 1, 2]), 3)
    >>> near, far, who = to_two_units(Index(space, space.original), space.protected, units)
    >>> near.tolist(), far.tolist(), who.tolist()
    ([0.0], [0.4], [0])
    """
    found = _enough(index, queries, units, 1)
    owners = units.owners_of_rows[found.row]
    return found.distance[:, 0], _first(found, owners != owners[:, :1]), owners[:, 0]


def _enough(index: Index, queries: Points, units: Units, others: int) -> Neighbours:
    """As many neighbours as are needed so that one of another unit is among them."""
    return index.search(queries, min(units.most_rows + others, len(index.among)))


def _first(found: Neighbours, wanted: AnyArray) -> AnyArray:
    """Distance of the first wanted neighbour of each query; infinite when there is none."""
    at = np.argmax(wanted, axis=1)
    rows = np.arange(len(at))
    return np.where(wanted[rows, at], found.distance[rows, at], np.inf)
