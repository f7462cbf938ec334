"""The figures of the table of keys by target, counted by units (persons, households, firms) instead of rows.

A unit counts when any of its rows does; where a row has a chance rather than a yes or no, a unit has the largest chance
of its rows. Shares within a cell are shares of different owners, so that owning many rows does not make a value common.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.tabular.cells import Cells
from dalenius.risk.tabular.exclusions import Exclusions
from dalenius.risk.tabular.figures import NONE, ratio, scaled


def attribute_by_unit(
    cells: Cells, units: Units, exclusions: Exclusions = NONE, at: IntArray | None = None
) -> dict[str, float]:
    """Dorig, iS, DiS, DiSCO and DiSDiO as shares of units; ``at`` is the cell of each row (default: the original's)."""
    place = cells.cell_of_row if at is None else at
    keep = exclusions.reason(cells, cells.d) == 0
    flags = {
        "Dorig": cells.pure_d,
        "iS": cells.s_q > 0,
        "DiS": cells.believed,
        "DiSCO": cells.pure_s,
        "DiSDiO": cells.pure_s & cells.pure_d,
    }
    return {name: units.share((flag & keep)[place]) for name, flag in flags.items()}


def caps_by_unit(
    cells: Cells, units: Units, exclusions: Exclusions = NONE, at: IntArray | None = None
) -> dict[str, float]:
    """The CAP family by units; proportions come from before exclusion, as for rows."""
    place = cells.cell_of_row if at is None else at
    keep = (exclusions.reason(cells, cells.d) == 0)[place]
    owners = units.owners(place, len(cells.d))
    owners_q = cells.sums(owners)[cells.group]
    share_d = _mean_chance(units, ratio(owners, owners_q)[place] * keep)
    share_s = _mean_chance(units, ratio(cells.s, cells.s_q)[place] * keep)
    figures = attribute_by_unit(cells, units, exclusions, place)
    margin = np.bincount(cells.level, owners) / owners.sum()
    base = float((margin**2).sum())
    return {
        "baseCAPd": 100 * base,
        "CAPd": 100 * share_d,
        "dcap": 100 * share_s,
        "dcap_found": _per_cent(share_s, figures["iS"] / 100),
        "tcap_found": _per_cent(figures["DiSCO"], figures["iS"]),
        "tcap_disclosive": _per_cent(figures["DiSCO"], figures["DiS"]),
        "scaled_dcap": scaled(share_s, base),
    }


def holdout_cells(pair: Pair, cells: Cells) -> IntArray:
    """Cell of each row of the holdout."""
    held = pair.categories(cells.target, cells.grouped).holdout
    assert held is not None  # a pair with a holdout has both
    assert cells.groups.holdout is not None
    return cells.locate(cells.groups.holdout, held.codes)


def _mean_chance(units: Units, chances: AnyArray) -> float:
    return float(units.most(chances).mean())


def _per_cent(part: float, whole: float) -> float:
    return 100 * part / whole if whole > 0 else math.nan
