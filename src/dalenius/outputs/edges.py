"""Edges of bins that are single people's values: bins laid by the data end where the smallest and the largest are.

The name of such a bin gives the end value away, whichever table it stands in. Edges are known by the call that laid
them, and as numbers in the names of bins, in whatever column or text they come again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.outputs.checks import CHECKS, Finding, finding
from dalenius.outputs.evidence import Evidence, collect
from dalenius.outputs.query import Query

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

NUMBER = r"(-?\d+(?:\.\d*)?(?:e[-+]?\d+)?)"
BIN = re.compile(rf"[\[(]{NUMBER}, {NUMBER}[\])]")
SHIFT, PRINTED = 1e-3, 6e-4
"""pandas moves the lowest edge down by this share of the range, or by this much; and prints three decimals."""
WORDS = "the outer edges of the bins are the smallest and the largest value, which few have; give edges of your own"


def bins_of(labels: Sequence[Any]) -> list[tuple[float, float]]:
    """Ends of bins by their names; nothing where a name is none of a bin.

    Examples
    --------
    >>> bins_of(["(1.5, 2.0]", "(2.0, 9507.0]"]), bins_of(["a", "(1, 2]"])
    ([(1.5, 2.0), (2.0, 9507.0)], [])
    """
    found = [BIN.fullmatch(str(label)) for label in labels if str(label) not in ("missing", "nan")]
    return [(float(m[1]), float(m[2])) for m in found if m] if all(found) else []


def laid(desk: Desk, query: Query, bins: Sequence[tuple[float, float]], by_data: bool) -> None:
    """Remember outer edges of bins of a column that few people have; edges given by hand only if they are its ends."""
    value = query.value
    if value is None or not bins or not (~np.isnan(value)).any():
        return
    low, high = min(a for a, _ in bins), max(b for _, b in bins)
    for side, edge, end in (("low", low, np.nanmin(value)), ("high", high, np.nanmax(value))):
        asked = Query(
            "min", rows=query.rows, value=value, unit=query.unit, ids=query.ids, facts={"ends": side}
        )
        told = CHECKS["endpoints"](collect(asked, 2, desk.policy.threshold), desk.policy)
        if told.verdict == "fail" and (by_data or (edge == end and not _by_hand(bins))):
            desk.edges.add(edge)


def telling_edges(desk: Desk, query: Query, evidence: Evidence) -> list[Finding]:
    """What the names of a table's bins tell."""
    if not desk.policy.endpoints:
        return []
    for dimension in query.dimensions:
        bins = bins_of(dimension.labels) if len(dimension.labels) < 1000 else []
        if bins and not _by_hand(bins) and _ends(desk, bins):
            return [finding("endpoints", evidence, np.ones(1, np.bool_), WORDS)]
    return []


def _by_hand(bins: Sequence[tuple[float, float]]) -> bool:
    """Whether all edges are numbers that people choose: two digits at most."""
    return all(float(f"{edge:.2g}") == edge for ends in bins for edge in ends)


def _ends(desk: Desk, bins: Sequence[tuple[float, float]]) -> bool:
    """Whether an edge was laid at somebody's value, or an outer one is an end of a column of the data."""
    if any(edge in desk.edges for ends in bins for edge in ends):
        return True
    low, high = min(a for a, _ in bins), max(b for _, b in bins)
    for base in desk.base:
        for column in base.columns.values():
            held = np.asarray(column)
            if held.dtype.kind not in "iuf" or not len(held) or not np.isfinite(held).all():
                continue
            least, most = float(held.min()), float(held.max())
            lowest = (least, least - SHIFT, least - SHIFT * (most - least))
            near = PRINTED + 1e-9 * max(abs(least), abs(most))
            one, two = any(abs(low - x) <= near for x in lowest), abs(high - most) <= near
            few = desk.policy.threshold
            if (one and int((held == least).sum()) < few) or (two and int((held == most).sum()) < few):
                return True
    return False
