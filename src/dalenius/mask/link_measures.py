"""Figures that need to know whose row each masked row is, as measures: `evaluate` adds them where a file was masked.

They read the numbers of the original as they were before the mask (`Pair.unmasked`): who looks for somebody knows the
value, not what the mask made of it. Without a mask there is nothing to follow, and they are not measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.mask.links import interval_disclosure, own_row_found, value_loss

ALSO_PAIRED = 1000
"""Up to so many rows are also assigned one to one, unasked."""
Figure = Callable[[Table, Table, Sequence[str] | None, IntArray | None], Result]


@measure(
    name="own-row-found",
    title="Own row found",
    family="risk",
    dimension="singling out",
    meaning="Share of people whose own masked row is the nearest to the numbers they are known by.",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Domingo-Ferrer and Torra 2003",
    needs=frozenset({"links"}),
    default=False,
    compares=False,
)
def own_row(pair: Pair, columns: Sequence[str] | None = None, one_to_one: bool = False) -> Result:
    """Share of people found by their numbers; up to a thousand rows also by assigning all rows at once.

    Examples
    --------
    >>> from dalenius.mask.noise import AddNoise
    >>> table = Table.from_frame({"pay": [1.5, 2.5, 9.5, 10.5, 30.5]})
    >>> made = AddNoise(("pay",)).apply(table, 1)
    >>> own_row(Pair(table, made.table, lens=made.lens)).unit
    '%'
    """

    def found(original: Table, masked: Table, names: Sequence[str] | None, links: IntArray | None) -> Result:
        near = own_row_found(original, masked, names, links=links, one_to_one=one_to_one)
        if masked.rows > ALSO_PAIRED or one_to_one:
            return near
        best = own_row_found(original, masked, names, links=links, one_to_one=True)
        return replace(near, values={"assigning all rows at once": best.value})

    return _followed("own-row-found", pair, columns, found)


@measure(
    name="interval-disclosure",
    title="Numbers told within an interval",
    family="risk",
    dimension="attribution",
    meaning="Share of rows whose every number lies within some standard deviations of the masked one (dRisk).",
    better="lower",
    bounds=(0, 100),
    unit="%",
    reference="Templ, Kowarik and Meindl 2015",
    needs=frozenset({"links"}),
    default=False,
    compares=False,
)
def told_within(pair: Pair, columns: Sequence[str] | None = None, width: float = 0.05) -> Result:
    """Share of rows whose numbers are told to within ``width`` standard deviations.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> table = Table.from_frame({"pay": [10.0, 21.0, 30.0]})
    >>> made = Round("pay", 10).apply(table)
    >>> round(told_within(Pair(table, made.table, lens=made.lens)).value, 1)
    66.7
    """
    return _followed("interval-disclosure", pair, columns,
                     lambda a, b, names, links: interval_disclosure(a, b, names, width=width, links=links))  # fmt: skip


@measure(
    name="value-loss",
    title="Distance of masked numbers",
    family="utility",
    meaning="Mean distance of masked numbers from the original ones, in standard deviations by √2 (IL1s, dUtility).",
    better="lower",
    bounds=(0, np.inf),
    reference="Templ, Kowarik and Meindl 2015; Młodak 2020",
    needs=frozenset({"links"}),
    default=False,
    sees_spread=False,
    sees_dependence=False,
)
def numbers_moved(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """How far numbers were moved; IL1, IL1s, eigenvalues, IL_correl and IL_variables in ``values``.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> table = Table.from_frame({"pay": [10.0, 20.0, 30.0]})
    >>> made = Round("pay", 10).apply(table)
    >>> numbers_moved(Pair(table, made.table, lens=made.lens)).value
    0.0
    """
    return _followed("value-loss", pair, columns,
                     lambda a, b, names, links: value_loss(a, b, names, links=links))  # fmt: skip


def _followed(name: str, pair: Pair, columns: Sequence[str] | None, function: Figure) -> Result:
    """A figure of the numbers that both files tell; none, and why, where there are none."""
    links = None if pair.lens is None else pair.lens.links
    names = columns
    if names is None:
        both = [n for n in pair.columns if pair.unmasked[n].is_number and pair.protected[n].is_number]
        names = [n for n in both if pair.unmasked[n].present.any() and pair.protected[n].present.any()]
    try:
        with warnings.catch_warnings():  # of one row there is no spread
            warnings.simplefilter("ignore", RuntimeWarning)
            return function(pair.unmasked, pair.protected, names, links)
    except DataError as error:
        if columns is not None:
            raise
        return Result(name, math.nan, f"This could not be measured: {error}.")
