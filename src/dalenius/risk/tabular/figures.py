"""Identity, attribute and CAP figures of one table of keys by target (Raab 2024, section 3), in per cent."""

from __future__ import annotations

import math

import numpy as np

from dalenius.data.vector import AnyArray
from dalenius.risk.tabular.cells import Cells
from dalenius.risk.tabular.exclusions import Exclusions

NONE = Exclusions()


def identity_figures(cells: Cells, exclusions: Exclusions = NONE, synthpop: bool = False) -> dict[str, float]:
    """UiO, UiS, UiOiS and repU.

    They come from the keys alone; only missing keys may be left out. synthpop computes them after all exclusions
    (``synthpop=True``), so that they change with the target.
    """
    keep_d = exclusions.reason(cells, cells.d, with_target=synthpop) == 0
    keep_s = exclusions.reason(cells, cells.s, with_target=synthpop) == 0
    d_q = cells.sums(cells.d * keep_d)
    s_q = cells.sums(cells.s * keep_s)
    alone = d_q == 1
    n_d, n_s = float(cells.d.sum()), float(cells.s.sum())
    return {
        "UiO": _share(np.count_nonzero(alone), n_d),
        "UiS": _share(np.count_nonzero(s_q == 1), n_s),
        # synthpop looks for the keys in the synthetic file before anything is left out of it
        "UiOiS": _share(np.count_nonzero(alone & ((cells.sums(cells.s) if synthpop else s_q) > 0)), n_d),
        "repU": _share(np.count_nonzero(alone & (s_q == 1)), n_d),
    }


def attribute_figures(
    cells: Cells, exclusions: Exclusions = NONE, denominator_basis: str = "original"
) -> dict[str, float]:
    """Dorig, Dsyn, iS, DiS, DiSCO and DiSDiO, and the sizes of the cells behind DiSCO."""
    keep_d = exclusions.reason(cells, cells.d) == 0
    keep_s = exclusions.reason(cells, cells.s) == 0
    d, n_d = cells.d, float(cells.d.sum())
    behind = cells.pure_s & keep_d & (d > 0)
    sizes = d[behind] if denominator_basis == "original" else cells.s[behind]
    return {
        "Dorig": _share(d[cells.pure_d & keep_d].sum(), n_d),
        "Dsyn": _share(cells.s[cells.pure_s & keep_s].sum(), float(cells.s.sum())),
        "iS": _share(d[(cells.s_q > 0) & keep_d].sum(), n_d),
        "DiS": _share(d[cells.believed & keep_d].sum(), n_d),
        "DiSCO": _share(d[behind].sum(), n_d),
        "DiSDiO": _share(d[behind & cells.pure_d].sum(), n_d),
        "max_denom": float(sizes.max()) if len(sizes) else math.nan,
        "mean_denom": float(sizes.mean()) if len(sizes) else math.nan,
    }


def cap_figures(cells: Cells, exclusions: Exclusions = NONE, synthpop: bool = False) -> dict[str, float]:
    """Correct attribution probabilities, each under a name that says its denominator.

    ``dcap`` counts absent keys as 0, ``dcap_found`` leaves them out; ``tcap_found`` and ``tcap_disclosive`` are DiSCO
    over original records whose keys are found, or are disclosive, in the protected file. ``TCAP`` is what synthpop
    calls so. Proportions come from before exclusion, as for DiSCO; ``synthpop=True`` recomputes them after it.
    """
    keep_d = exclusions.reason(cells, cells.d) == 0
    keep_s = exclusions.reason(cells, cells.s) == 0
    d, s = cells.d * keep_d, cells.s * keep_s
    d_q, s_q = (
        (cells.sums(d)[cells.group], cells.sums(s)[cells.group]) if synthpop else (cells.d_q, cells.s_q)
    )
    base_d, base_s = (d, s) if synthpop else (cells.d, cells.s)
    share_d, share_s = ratio(base_d, d_q), ratio(base_s, s_q)
    n_d, n_s = float(cells.d.sum()), float(cells.s.sum())
    margin = np.bincount(cells.level, cells.d) / n_d
    met = float((share_s * d).sum())
    disco = float(d[cells.pure_s].sum())
    found, believed = float(d[s_q > 0].sum()), float(d[cells.believed].sum())
    base = float((margin**2).sum())
    return {
        "baseCAPd": 100 * base,
        "CAPd": _share((share_d * d).sum(), n_d),
        "CAPs": _share((share_s * s).sum(), n_s),
        "dcap": _share(met, n_d),
        "dcap_found": _share(met, found),
        "tcap_found": _share(disco, found),
        "tcap_disclosive": _share(disco, believed),
        "scaled_dcap": scaled(met / n_d, base),
    }


def scaled(cap: float, base: float) -> float:
    """Place a correct attribution probability between its base (0) and certainty (1), both as proportions."""
    return (cap - base) / (1 - base) if base < 1 else math.nan


def _share(part: float | np.integer, whole: float) -> float:
    return 100 * float(part) / whole if whole > 0 else math.nan


def ratio(part: AnyArray, whole: AnyArray) -> AnyArray:
    """Divide counts by counts that hold them, with 0 where there is nothing to divide by."""
    shares: AnyArray = part / np.maximum(whole, 1)
    return shares
