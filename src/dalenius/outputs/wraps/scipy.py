"""SciPy's tests, worn by a desk: each is written down with its degrees of freedom; others are for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import scipy.stats

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

ONE = {
    "ttest_1samp": 1,
    "shapiro": 1,
    "kstest": 1,
    "wilcoxon": 1,
    "normaltest": 1,
    "anderson": 1,
    "skewtest": 1,
    "kurtosistest": 1,
}
TWO = {
    "ttest_ind": 2,
    "ttest_rel": 1,
    "mannwhitneyu": 2,
    "ks_2samp": 2,
    "pearsonr": 2,
    "spearmanr": 2,
    "kendalltau": 2,
    "linregress": 2,
    "ranksums": 2,
}
MANY = ("f_oneway", "kruskal", "levene", "bartlett", "friedmanchisquare", "fligner", "alexandergovern")
NAMES = {
    "pearsonr": "pearson r",
    "spearmanr": "spearman",
    "kendalltau": "kendall tau",
    "linregress": "linear regression",
}
PAIRED = ("ttest_rel", "wilcoxon", "pearsonr", "spearmanr", "kendalltau", "linregress")


class Tests:
    """``scipy.stats`` with its tests checked; everything else is SciPy itself."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __getattr__(self, name: str) -> Any:
        found = getattr(scipy.stats, name)
        known = name in ONE or name in TWO or name in MANY or name in ("chi2_contingency", "fisher_exact")
        if not known:
            return found

        def asked(*given: Any, **options: Any) -> Any:
            result = found(*given, **options)
            self._write(name, result, _facts(name, given, result))
            return result

        return asked

    def _write(self, name: str, result: Any, facts: dict[str, Any]) -> None:
        told = NAMES.get(name, "hypothesis test")
        if told == "linear regression" or told in NAMES.values():
            facts = {"rank": 2, "patterns": 3, **facts}
        figures = {k: getattr(result, k) for k in ("statistic", "pvalue") if hasattr(result, k)}
        out = self._desk.declare(told, command=f"{name}()", **facts)
        out.frame = pl.DataFrame(
            {"test": [name], **{k: [float(np.asarray(v).ravel()[0])] for k, v in figures.items()}}
        )


def _facts(name: str, given: tuple[Any, ...], result: Any) -> dict[str, Any]:
    """Degrees of freedom: records of the samples less what is estimated."""
    if name in ("chi2_contingency", "fisher_exact"):
        table = np.asarray(given[0], np.float64)
        return {"dof": float(table.sum()) - table.size, "has_table": True}
    sizes = [int(np.isfinite(np.asarray(x, np.float64)).sum()) for x in given if np.ndim(x) == 1]
    if not sizes:
        return {"dof": None}
    if name in PAIRED:
        return {"dof": min(sizes) - TWO.get(name, 1)}
    return {"dof": sum(sizes) - len(sizes)}
