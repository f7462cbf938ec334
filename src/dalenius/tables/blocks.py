"""Linked tables side by side in one matrix, each with inner cells of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.tables.model import Ints, TableModel
from dalenius.tables.protected import first_of_kind, signatures


@dataclass(frozen=True, eq=False)
class Blocks:
    """All tables side by side in one matrix, each with inner cells of its own (block-diagonal).

    Attributes
    ----------
    matrix
        Inner cells of all tables × copies of cells.
    cell
        The cell of the model each copy is.
    common
        The same number for copies of the same sum of inner cells, whatever it is called in its table.
    places
        Table → its copies.
    """

    matrix: Any
    cell: Ints
    common: Ints
    places: Mapping[str, slice]

    @classmethod
    def of(cls, model: TableModel, parts: Mapping[str, TableModel]) -> Blocks:
        """Put the tables of a model side by side."""
        cells = [np.flatnonzero(model.tables[name]) for name in parts]
        edges = np.cumsum([0, *(len(own) for own in cells)]).tolist()
        places = {name: slice(*edge) for name, edge in zip(parts, pairwise(edges), strict=True)}
        matrix = sp.block_diag([part.matrix for part in parts.values()], format="csc")
        cell = np.concatenate(cells)
        return cls(matrix, cell, first_of_kind(signatures(model.matrix))[cell], places)

    @property
    def differences(self) -> Any:
        """Copy minus first copy of every common cell: everybody knows that these are 0."""
        _, first, group = np.unique(self.common, return_index=True, return_inverse=True)
        later = np.flatnonzero(first[group] != np.arange(len(self.common)))
        return self.matrix[:, later] - self.matrix[:, first[group[later]]]


def side_by_side(columns: Iterable[Any | None]) -> Any | None:
    """Further columns of every table in the rows of its block; None if the tables have none."""
    own = [part for part in columns if part is not None]
    return sp.block_diag(own, format="csc") if own else None
