"""Outliers by gap, and heaping (Latner et al. 2024, section 3)."""

from __future__ import annotations

import numpy as np

from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.preparation.finding import Finding

GAP_RATIO = 1.0
SPIKE_SHARE, SPIKE_RATIO = 0.01, 3.0
NUMBERS = (Kind.INTEGER, Kind.CONTINUOUS, Kind.DATETIME)


def outliers(table: Table, skip: dict[str, set[float]]) -> list[Finding]:
    """Columns whose largest or smallest value stands alone; ``skip`` holds codes that were found already."""
    findings = []
    for name, vector in table.vectors.items():
        if vector.column.kind not in NUMBERS:
            continue
        values = _without(vector.values, skip.get(name, set()))
        distinct = np.unique(values).astype(np.float64)
        if len(distinct) < 5:
            continue
        middle = float(np.median(values))
        up = _ratio(distinct[-1] - distinct[-2], distinct[-2] - middle)
        down = _ratio(distinct[1] - distinct[0], middle - distinct[1])
        sides = (
            ("largest", up, distinct[-1], {"high": float(distinct[-2])}),
            ("smallest", down, distinct[0], {"low": float(distinct[1])}),
        )
        for side, ratio, extreme, limit in sides:
            if ratio > GAP_RATIO:
                rows = int(np.sum(values == extreme))
                text = f"the {side} value stands alone ({rows} rows, gap {ratio:.1f} times the rest of that side)"
                findings.append(
                    Finding(
                        "outlier",
                        (name,),
                        "warning",
                        text,
                        rows,
                        rows / max(len(values), 1),
                        "correct it, top-code it, or declare it as a missing code",
                        {"do": "limit-values", "column": name, **limit},
                    )
                )
    return findings


def _ratio(gap: float, rest: float) -> float:
    return gap / rest if rest > 0 else 0.0


def _without(values: AnyArray, codes: set[float]) -> AnyArray:
    return values[~np.isin(values, list(codes))] if codes else values


def spikes(values: AnyArray) -> AnyArray:
    """Whole numbers that are far more frequent than their neighbours.

    Examples
    --------
    >>> heaped = np.concatenate([np.arange(40).repeat(5), np.full(100, 20)])
    >>> spikes(heaped).tolist()
    [20]
    """
    if (
        len(values) == 0
        or not np.all(values == np.round(values))
        or float(values.max()) - float(values.min()) > 10**7
    ):
        return np.zeros(0)
    low = int(values.min())
    counts = np.bincount((values - low).astype(np.int64))
    if np.count_nonzero(counts) < 20:
        return np.zeros(0)
    padded = np.concatenate([[np.nan] * 2, counts.astype(np.float64), [np.nan] * 2])
    size = len(counts)
    near = np.stack([padded[i : i + size] for i in (0, 1, 3, 4)])
    spike = (counts >= SPIKE_SHARE * len(values)) & (
        counts >= SPIKE_RATIO * np.maximum(np.nanmedian(near, axis=0), 1e-9)
    )
    return np.flatnonzero(spike & (counts >= 5)) + low


def heaping(table: Table, skip: dict[str, set[float]]) -> list[Finding]:
    """Columns where many answers fall on a few round values."""
    findings = []
    for name, vector in table.vectors.items():
        if vector.column.kind not in (Kind.INTEGER, Kind.CONTINUOUS):
            continue
        values = _without(vector.values, skip.get(name, set()))
        heaps = spikes(values)
        if len(heaps):
            rows = int(np.isin(values, heaps).sum())
            share = rows / max(len(values), 1)
            shown = ", ".join(str(int(h)) for h in heaps[:6]) + (" …" if len(heaps) > 6 else "")
            findings.append(
                Finding(
                    "heaping",
                    (name,),
                    "info",
                    f"{100 * share:.0f} % of the rows sit on {len(heaps)} values ({shown})",
                    rows,
                    share,
                    "use a method that redraws observed values; smooth models flatten this",
                )
            )
    return findings
