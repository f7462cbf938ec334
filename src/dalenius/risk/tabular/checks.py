"""Checks for disclosures that carry no news: a common target level, or a pair everybody could have guessed.

Raab 2024, section 4. Both look at the cells behind DiSCO, after exclusions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from dalenius.risk.tabular.cells import Cells
from dalenius.risk.tabular.exclusions import Exclusions
from dalenius.risk.tabular.figures import NONE


def one_way_check(
    cells: Cells, exclusions: Exclusions = NONE, thresholds: tuple[float, float] = (50, 90)
) -> dict[str, Any] | None:
    """Find the one target level that makes up most of DiSCO, if it exceeds both thresholds (count, per cent)."""
    keep = exclusions.reason(cells, cells.d) == 0
    behind = np.bincount(cells.level, cells.d * (cells.pure_s & keep), minlength=len(cells.labels))
    total = float(behind.sum())
    if total == 0:
        return None
    top = int(np.argmax(behind))
    if not (behind[top] > thresholds[0] and 100 * behind[top] / total > thresholds[1]):
        return None
    everybody = np.bincount(cells.level, cells.d * keep, minlength=len(cells.labels))
    return {
        "level": cells.labels[top],
        "records": int(everybody.sum()),
        "level_share": 100 * float(everybody[top] / everybody.sum()),
        "disclosive": int(total),
        "disclosive_at_level": int(behind[top]),
        "level_share_of_disclosive": 100 * float(behind[top]) / total,
    }


def two_way_check(
    cells: Cells, exclusions: Exclusions = NONE, thresholds: tuple[float, float] = (4, 80)
) -> pl.DataFrame:
    """List pairs (key level, target level) that predict each other in the original and make up disclosive cells.

    ``npairs`` adds up the cells larger than the first threshold; pairs are kept when the target level's share within
    the key level exceeds the second.
    """
    keep = exclusions.reason(cells, cells.d) == 0
    large = np.flatnonzero(cells.pure_s & keep & (cells.d > thresholds[0]))
    rows: list[dict[str, Any]] = []
    levels = len(cells.labels)
    in_group = cells.sums(cells.d) if len(large) else np.zeros(0)
    for at, key in enumerate(cells.keys if len(large) else ()):
        of_group = cells.groups.codes(key)
        key_total = np.bincount(of_group, in_group, minlength=len(cells.key_labels[at]))
        pair_of_cell = of_group[cells.group] * levels + cells.level
        wanted = np.unique(pair_of_cell[large])
        place = np.searchsorted(wanted, pair_of_cell).clip(0, len(wanted) - 1)
        hit = wanted[place] == pair_of_cell
        both = np.bincount(place[hit], cells.d[hit], minlength=len(wanted))
        disclosed = np.bincount(place[large], cells.d[large], minlength=len(wanted))
        for i, pair in enumerate(wanted.tolist()):
            total = key_total[pair // levels]
            if 100 * both[i] / total > thresholds[1]:
                rows.append(
                    {
                        "target_level": str(cells.labels[pair % levels]),
                        "key": key,
                        "key_level": str(cells.key_labels[at][pair // levels]),
                        "npairs": int(disclosed[i]),
                        "key_target_total": int(both[i]),
                        "key_total": int(total),
                        "per_cent": float(100 * both[i] / total),
                    }
                )
    schema = {
        "target_level": pl.String, "key": pl.String, "key_level": pl.String, "npairs": pl.Int64,
        "key_target_total": pl.Int64, "key_total": pl.Int64, "per_cent": pl.Float64,
    }  # fmt: skip
    order = ["npairs", "target_level", "key_level"]
    return pl.DataFrame(rows, schema=schema).sort(order, descending=[True, False, False])
