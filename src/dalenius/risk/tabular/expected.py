"""Expected and unexpected disclosures: what a margin or one single key already tells (Raab 2024, section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.tabular.by_unit import holdout_cells
from dalenius.risk.tabular.cells import Cells
from dalenius.risk.tabular.disclosure import disclosure
from dalenius.risk.tabular.exclusions import Exclusions
from dalenius.risk.tabular.figures import NONE


def unexpected_disco(
    pair: Pair,
    target: str,
    keys: Sequence[str] | None = None,
    *,
    margin: float = 90,
    single_key: float = 80,
    exclusions: Exclusions = NONE,
    grouped: bool = False,
    records: bool = False,
) -> Result:
    """Divide DiSCO into records whose value anybody would have guessed, and the rest.

    A value is expected when at least ``margin`` per cent of everybody have it, or at least ``single_key`` per cent of
    the people who share one of the record's keys. "Everybody" is the holdout where there is one (what is known about
    people in general), the original otherwise. The value is the unexpected part of DiSCO.

    Examples
    --------
    >>> data = {"k": list("aaab"), "j": list("uvwu"), "t": list("xxxy")}
    >>> found = unexpected_disco(Pair(data, data), "t", ["k", "j"])
    >>> found.value, found.values["expected from one key"]
    (0.0, 100.0)
    """
    if not 0 < margin <= 100 or not 0 < single_key <= 100:
        raise OptionError("both limits are per cents above 0 and at most 100")
    found = disclosure(pair, target, keys, exclusions=exclusions, grouped=grouped)
    cells, units = found.cells, pair.units
    owners, at = (
        (pair.holdout_units, holdout_cells(pair, cells)) if cells.has_holdout else (units, cells.cell_of_row)
    )
    everybody = owners.owners(at, len(cells.group))
    common = _share_in(cells, everybody, np.zeros(len(cells.group), np.int64)) >= margin / 100
    told = np.zeros(len(cells.group), bool)
    for key in cells.keys:
        told |= _share_in(cells, everybody, cells.groups.codes(key)[cells.group]) >= single_key / 100
    behind = cells.pure_s & (exclusions.reason(cells, cells.d) == 0)
    told &= ~common
    parts = {
        "DiSCO": behind,
        "expected from the margin": behind & common,
        "expected from one key": behind & told,
    }
    parts["unexpected"] = behind & ~common & ~told
    values = {name: units.share(flags[cells.cell_of_row]) for name, flags in parts.items()}
    value = values["unexpected"]
    whom = "people who are not in the data" if cells.has_holdout else "the original itself"
    return Result(
        name="unexpected-disco",
        value=value,
        unit="%",
        sentence=f"Of the {figure(values['DiSCO'], '%')} of original {units.noun} whose {target!r} can be read off, "
        f"{figure(values['expected from the margin'], '%')} have a value that nearly everybody has and "
        f"{figure(values['expected from one key'], '%')} one that a single key tells (judged by {whom}); "
        f"{figure(value, '%')} are news.",
        interval=units.interval(value),
        yardsticks={"DiSCO": values["DiSCO"]},
        values=values,
        records=_records(cells, parts) if records else None,
    )


def _records(cells: Cells, parts: Mapping[str, AnyArray]) -> pl.DataFrame:
    """Which part each original record belongs to; confidential."""
    at = cells.cell_of_row
    return pl.DataFrame({"row": np.arange(len(at))} | {name: flags[at] for name, flags in parts.items()})


def _share_in(cells: Cells, counts: AnyArray, within: AnyArray) -> AnyArray:
    """Share of each cell's target level among the people of the same part."""
    levels = len(cells.labels)
    total = np.bincount(within, counts)
    both = within * levels + cells.level
    place, inverse = np.unique(both, return_inverse=True)
    there = np.bincount(inverse, counts, minlength=len(place))
    whole = total[within]
    return np.divide(there[inverse], whole, out=np.zeros(len(whole)), where=whole > 0)
