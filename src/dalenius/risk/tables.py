"""Group disclosure in tables made from microdata, and the microdata scores that stand for it (Kolb et al. 2024).

Kolb, Tang and Giessing (PSD 2024): a key combination discloses when all its records share one category. The risk of a
table is the share of its disclosive cells that are disclosive, with the same value, in the original's table too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.intervals import wilson
from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.pair import Pair
from dalenius.risk.tabular.cells import Cells, count_cells


@dataclass(frozen=True)
class TableRisk:
    """Disclosive cells of the protected and the original table, and those they share.

    Examples
    --------
    >>> gt = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 3, 4, 4, 9, 10]}
    >>> sd = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 5, 4, 4, 4, 10]}
    >>> table_risk(Pair(gt, sd), ["k1", "k2", "t"], ["t"], nu=None)
    TableRisk(common=1, protected=2, original=2)
    """

    common: int
    protected: int
    original: int

    @property
    def risk(self) -> float:
        """Share of the protected table's disclosures that are true; NaN when it has none."""
        return self.common / self.protected if self.protected else float("nan")

    @property
    def remaining(self) -> float:
        """Share of the original's disclosures that remain."""
        return self.common / self.original if self.original else float("nan")


def table_risk(
    pair: Pair, columns: Sequence[str], synthetic: Sequence[str], geo: str | None = None, nu: float | None = 0.9,
    grouped: bool = False,
) -> TableRisk:  # fmt: skip
    """Group disclosure of one table: each synthetic column in turn is what the others disclose.

    ``nu`` leaves out values that at least that share of all original records have: a naive guess would do.

    Examples
    --------
    >>> table_risk(Pair({"k": [1, 2], "t": [3, 4]}, {"k": [1, 2], "t": [3, 5]}), ["k", "t"], ["t"]).risk
    0.5
    """
    common = protected = original = 0
    for target in [name for name in columns if name in synthetic]:
        keys = [name for name in columns if name != target] + ([geo] if geo is not None else [])
        if not keys:
            continue
        cells = count_cells(pair, keys, target, grouped)
        told = _news(cells, nu)
        common += int(np.count_nonzero(cells.pure_s & cells.pure_d & told))
        protected += int(np.count_nonzero(cells.pure_s & told))
        original += int(np.count_nonzero(cells.pure_d & told))
    return TableRisk(common, protected, original)


def _news(cells: Cells, nu: float | None) -> np.ndarray:
    if nu is None:
        return np.ones(len(cells.level), bool)
    share = np.bincount(cells.level, cells.d, minlength=len(cells.labels)) / cells.d.sum()
    told: np.ndarray = share[cells.level] < nu
    return told


def tcap_ratio(
    pair: Pair, keys: Sequence[str], target: str, nu: float | None = None,
    unmatched: Literal["count", "drop"] = "count", grouped: bool = False,
) -> float:  # fmt: skip
    """Share of the protected file's disclosive key combinations that disclose the same in the original.

    Equals the `table_risk` of keys by target. ``unmatched="drop"`` leaves combinations that the original lacks out.

    Examples
    --------
    >>> gt = {"k": [1, 1, 4], "t": [3, 3, 4]}
    >>> tcap_ratio(Pair(gt, {"k": [1, 4, 9], "t": [3, 5, 7]}), ["k"], "t")
    0.3333333333333333
    """
    one_of("unmatched", unmatched, ("count", "drop"))
    cells = count_cells(pair, keys, target, grouped)
    pure = cells.pure_s & _news(cells, nu)
    if unmatched == "drop":
        pure &= cells.d_q > 0
    return (
        float(np.count_nonzero(pure & cells.pure_d) / np.count_nonzero(pure)) if pure.any() else float("nan")
    )


def weap(
    pair: Pair, keys: Sequence[str], target: str, grouped: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """WEAP of each protected record (share of its target among protected records with its keys), and TCAP.

    TCAP is the same share among original records, where WEAP is 1; NaN elsewhere and where the original has none.

    Examples
    --------
    >>> gt = {"k1": [1, 1, 4, 4, 4, 5], "t": [3, 3, 4, 4, 9, 10]}
    >>> sd = {"k1": [1, 1, 4, 4, 4, 5], "t": [3, 5, 4, 4, 4, 10]}
    >>> shares, found = weap(Pair(gt, sd), ["k1"], "t")
    >>> shares.tolist(), found.round(3).tolist()
    ([0.5, 0.5, 1.0, 1.0, 1.0, 1.0], [nan, nan, 0.667, 0.667, 0.667, 1.0])
    """
    cells = count_cells(pair, keys, target, grouped)
    at = cells.locate(cells.groups.protected, pair.categories(target, grouped).protected.codes)
    share = cells.s[at] / cells.s_q[at]
    known = (share == 1) & (cells.d_q[at] > 0)
    found = np.where(known, cells.d[at] / np.where(cells.d_q[at] > 0, cells.d_q[at], 1), np.nan)
    return share, found


def group_disclosure(
    pair: Pair,
    tables: Sequence[Sequence[str]] | None = None,
    synthetic: Sequence[str] | None = None,
    *,
    geo: str | None = None,
    nu: float | None = 0.9,
    grouped: bool = True,
) -> Result:
    """Group disclosure in the tables an office plans to publish from the protected file.

    Parameters
    ----------
    tables
        Columns of each table; default: all keys by each target. `all_tables` lists every cross-tabulation.
    synthetic
        Columns that were protected, and that a table may give away; default: the targets.
    geo
        Area that every table is made for.
    nu
        Values of at least this share of all original records are no news.

    Examples
    --------
    >>> gt = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 3, 4, 4, 9, 10]}
    >>> sd = {"k1": [1, 1, 4, 4, 4, 5], "k2": [2, 2, 12, 12, 12, 12], "t": [3, 5, 4, 4, 4, 10]}
    >>> found = group_disclosure(Pair(gt, sd), [["k1", "k2", "t"], ["k1", "t"]], ["t"], grouped=False)
    >>> found.value, found.table["table"].to_list()
    (50.0, ['k1 × k2 × t', 'k1 × t'])
    """
    wanted = list(synthetic) if synthetic is not None else pair.targets
    planned = [list(t) for t in tables] if tables is not None else [[*pair.keys, t] for t in wanted]
    if not any(set(columns) & set(wanted) for columns in planned):
        raise OptionError(
            "no table has a protected column; name tables, and which of their columns are protected"
        )
    found = [table_risk(pair, columns, wanted, geo, nu, grouped) for columns in planned]
    common, shown = sum(r.common for r in found), sum(r.protected for r in found)
    yardsticks, beside = {}, "without a holdout it cannot be told how many would by chance"
    if pair.holdout is not None:
        others = pair.swap_in(pair.holdout)
        fresh = [table_risk(others, columns, wanted, geo, nu, grouped) for columns in planned]
        cells = sum(r.protected for r in fresh)
        yardsticks["holdout"] = 100 * sum(r.common for r in fresh) / cells if cells else float("nan")
        beside = f"in tables of people who are not in the data it is {figure(yardsticks['holdout'], '%')}"
    rows = [
        {"table": " × ".join(columns), "protected": r.protected, "original": r.original, "common": r.common,
         "true, %": 100 * r.risk, "remaining, %": 100 * r.remaining}
        for columns, r in zip(planned, found, strict=True)
    ]  # fmt: skip
    return Result(
        name="group-disclosure",
        value=100 * common / shown if shown else float("nan"),
        unit="%",
        sentence=f"{len(planned)} {'table' if len(planned) == 1 else 'tables'} of the protected file have {shown:,} "
        f"groups of people who all share one protected value; for {common:,} of them it is so in the original too; "
        f"{beside}.",
        interval=wilson(common, shown, scale=100) if shown else None,
        yardsticks=yardsticks,
        table=pl.DataFrame(rows),
        counts=WHOLE,
        trusted=bool(yardsticks),
    )
