"""`Protection`: what a primary rule wants protected, in one type that every rule returns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DataError
from dalenius.tables.model import Bools, Floats, TableModel


@dataclass(frozen=True, eq=False)
class Protection:
    """What must not become known.

    Attributes
    ----------
    mask
        Cells that must not be published as they are.
    zeros
        Whether cells of 0 are among them: zeros then cannot protect each other, since nothing is below 0.
    upper
        How far above its value an intruder's upper bound of each cell must lie (0: any interval will do).
    differences
        Sums that must stay unknown besides (inner cells × sums), or None.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y"], "n": [5, 0]}, by="a", freq="n")
    >>> Protection.of(model, [False, False, True]).zeros
    True
    """

    mask: Bools
    zeros: bool
    upper: Floats
    differences: Any | None = None

    @classmethod
    def of(
        cls,
        model: TableModel,
        mask: Any,
        *,
        zeros: bool | None = None,
        upper: Any | None = None,
        differences: Any | None = None,
    ) -> Protection:
        """Fill in what a rule does not say: zeros are protected if a cell of 0 is in the mask."""
        cells = len(model.cells)
        marked = np.asarray(mask)
        if marked.shape != (cells,) or marked.dtype != np.bool_:
            raise DataError(f"a rule marks each of the {cells} cells as true or false")
        above = np.zeros(cells) if upper is None else np.asarray(upper, np.float64)
        if above.shape != (cells,) or not (above >= 0).all():
            raise DataError(f"protection levels are {cells} numbers of 0 or more, one a cell")
        if differences is not None and differences.shape[0] != len(model.counts):
            raise DataError(f"protected sums need a row for each of the {len(model.counts)} inner cells")
        if zeros is None:
            zeros = bool((marked & (model.amount == 0) & (model.sizes > 0)).any())
        return cls(marked, zeros, above, differences)


def joined(asked: Iterable[Protection]) -> Protection:
    """All that several protections ask for."""
    every = list(asked)
    return Protection(
        np.logical_or.reduce([each.mask for each in every]),
        any(each.zeros for each in every),
        np.maximum.reduce([each.upper for each in every]),
        joined_differences(every),
    )


class PrimaryRule(Protocol):
    """A rule says what it wants protected; ``name`` is what a reader may see.

    Examples
    --------
    Anything with these two will do:

    >>> from dalenius.tables import define, protect
    >>> class Capital:
    ...     name = "capital"
    ...     def protects(self, model):
    ...         return Protection.of(model, (model.cells["town"] == "Oslo").to_numpy())
    >>> towns = {"town": ["Oslo", "Bergen", "Tromsø"], "n": [40, 30, 20]}
    >>> rule: PrimaryRule = Capital()
    >>> print(protect(define(towns, by="town", freq="n"), rule))
    2 of 4 cells are suppressed: 1 because a rule asks for it (capital 1), 1 to protect it.
    """

    @property
    def name(self) -> str:
        """Short public name."""
        ...

    def protects(self, model: TableModel) -> Protection:
        """What must not become known of this table."""
        ...


def protection_of(rule: PrimaryRule, model: TableModel) -> Protection:
    """What a rule asks for; an answer of another type is refused."""
    asked = rule.protects(model)
    if not isinstance(asked, Protection):
        raise DataError(f"rule {rule.name!r} must return a Protection, made with Protection.of(model, mask)")
    return asked


def joined_differences(asked: Iterable[Protection]) -> Any | None:
    """All sums that must stay unknown (inner cells × sums), or None."""
    sums = [each.differences for each in asked if each.differences is not None]
    return sp.hstack(sums).tocsc() if sums else None
