"""How different are two contingency tables? All the field's answers from one pair of counts.

With original counts d and synthetic counts s over the cells where either is positive, n = Σd, k = Σs, N = n + k,
c = k / N, e = (d + s) c and δ = s − d c / (1 − c) (Raab, Nowok, Dibben 2021; the names are synthpop's):

========= ==================================================================================================
VW        Voas–Williamson Σ δ² / e; pMSE = VW c (1 − c)² / N; S_pMSE = VW / df, 1 for a correct model
FT        Freeman–Tukey 4 Σ (√s − √(d c / (1 − c)))²
JSD       Jensen–Shannon divergence of the proportions, base 2
G         likelihood ratio over cells positive in both
SPECKS    Kolmogorov–Smirnov distance between the files' scores s / (s + d); U their Mann–Whitney statistic
PO50      per cent of records put into the right file by their cell, minus 50
MabsDD    mean absolute difference of counts; WMabsDD weighted by 1 / √e
dBhatt    Bhattacharyya distance √(1 − Σ√(p q)), which is also the Hellinger distance; TVD Σ|p − q| / 2
========= ==================================================================================================
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.counts.counts import Counts, align
from dalenius.data.vector import AnyArray
from dalenius.utility import _kernels

STATISTICS = (
    "VW", "FT", "JSD", "SPECKS", "WMabsDD", "U", "G", "pMSE", "PO50", "MabsDD", "dBhatt", "TVD", "Hellinger",
    "S_VW", "S_FT", "S_JSD", "S_WMabsDD", "S_G", "S_pMSE", "df", "dfG",
)  # fmt: skip
"""Names of all statistics of a table, in the order they are listed."""
RANKED = ("SPECKS", "U")
"""The two that need the cells sorted, and so cost more."""
OFF_BY, BEYOND_CHANCE = 1 / 3, 5.0
"""A cell is off when it lost or won more than a third, and chance alone would not do that: five standard errors."""


def paired(original: Counts, protected: Counts) -> tuple[AnyArray, AnyArray]:
    """Counts of both files over the cells that occur in either.

    Examples
    --------
    >>> a = Counts.from_cells([[0], [1]], [3, 5], ["size"], [range(3)])
    >>> b = Counts.from_cells([[1], [2]], [4, 1], ["size"], [range(3)])
    >>> paired(a, b)[1].tolist()
    [0.0, 4.0, 1.0]
    """
    if original.keys.ndim == 1:
        first, second = original.counts, protected.counts
        if first.dtype != second.dtype:  # one file has weights, the other has none
            first, second = first.astype(np.float64), second.astype(np.float64)
        merged: tuple[AnyArray, AnyArray] = _kernels.merge(original.keys, first, protected.keys, second)
        return merged
    _, (d, s) = align(original, protected)
    return d.astype(np.float64), s.astype(np.float64)


def table_statistics(
    d: AnyArray, s: AnyArray, *, random_size: bool = False, ranked: bool = True, effect: float = 1.0
) -> dict[str, float]:
    """All statistics of one table.

    Parameters
    ----------
    d, s
        Original and synthetic counts, cell by cell.
    random_size
        The synthetic size was itself drawn (synthpop: ``k.syn``): one more degree of freedom.
    ranked
        Whether to compute SPECKS and U, which need a sort.
    effect
        Mean design effect of the synthetic cells, where counts are weights: what is 1 for a correct model is divided by
        it (Rao, Scott 1981).

    Examples
    --------
    >>> found = table_statistics(np.array([30, 20, 25, 25]), np.array([28, 22, 30, 20]))
    >>> round(found["S_pMSE"], 10), found["PO50"], round(found["G"], 10)
    (0.7828697484, 3.5, 2.3435984632)
    """
    d, s = np.asarray(d, dtype=np.float64), np.asarray(s, dtype=np.float64)
    keep = d + s > 0
    if not keep.all():
        d, s = d[keep], s[keep]
    if not d.sum() > 0 or not s.sum() > 0:
        return dict.fromkeys(STATISTICS, math.nan)  # a file without a row in the table
    sums = _kernels.cell_sums(d, s)
    n, k, cells, common = (float(x) for x in sums[:4])
    total, share = n + k, k / (n + k)
    df, df_g = (cells, common) if random_size else (cells - 1, common - 1)
    vw, ft, jsd, g = float(sums[4]), float(sums[5]), max(float(sums[6]), 0.0) / math.log(2), float(sums[7])
    weighted = float(sums[9]) / math.sqrt(2 / math.pi)
    distance, u = _kernels.score_ranks(d, s) if ranked else (math.nan, math.nan)
    bhattacharyya = math.sqrt(max(0.0, 1 - float(sums[10])))
    return {
        "VW": vw, "FT": ft, "JSD": jsd, "SPECKS": float(distance), "WMabsDD": weighted, "U": float(u), "G": g,
        "pMSE": vw * share * (1 - share) ** 2 / total, "PO50": float(sums[11]), "MabsDD": float(sums[8]) / k,
        "dBhatt": bhattacharyya, "TVD": float(sums[12]), "Hellinger": bhattacharyya,
        "S_VW": _per(vw, df * effect), "S_FT": _per(ft, df * effect),
        "S_JSD": _per(jsd * 2 * total / math.log(2), df * effect),
        "S_WMabsDD": _per(weighted, df * math.sqrt(effect)), "S_G": _per(g, df_g * effect),
        "S_pMSE": _per(vw, df * effect),
        "df": df, "dfG": df_g,
    }  # fmt: skip


def _per(value: float, df: float) -> float:
    """Per degree of freedom; a table with one cell differs in nothing, so 0."""
    return value / df if df > 0 else 0.0


def cell_differences(d: AnyArray, s: AnyArray) -> AnyArray:
    """Standardised difference δ / √e of each cell: positive where the synthetic file has too many.

    Examples
    --------
    >>> cell_differences(np.array([30, 70]), np.array([50, 50])).round(4).tolist()
    [3.1623, -2.582]
    """
    d, s = np.asarray(d, dtype=np.float64), np.asarray(s, dtype=np.float64)
    share = s.sum() / (d.sum() + s.sum())
    expected = (d + s) * share
    return np.asarray((s - d * share / (1 - share)) / np.sqrt(np.where(expected > 0, expected, 1.0)))


def cells_off(d: AnyArray, s: AnyArray) -> int:
    """Cells that lost or won more than a third, beyond chance; a mean over many cells hides them.

    Examples
    --------
    >>> cells_off(np.array([131, 120, 120, 120]), np.array([76, 138, 138, 139]))
    1
    """
    scaled = np.asarray(s, dtype=np.float64) * (np.sum(d) / max(float(np.sum(s)), 1.0))
    far = np.abs(scaled - d) > OFF_BY * np.maximum(d, scaled)
    return int(np.count_nonzero(far & (np.abs(cell_differences(d, s)) > BEYOND_CHANCE)))
