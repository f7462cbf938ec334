"""Measures on a family of small tables instead of one wide one (Francis 2024).

Each figure is taken from the table that holds just the columns it needs, so a family of narrow tables and one wide
table can be scored side by side on the same questions. A family is anything that can be asked for columns: a
`TableSet` of SynDiffix, or a wide table wrapped as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
import polars as pl

from dalenius.core.later import stats
from dalenius.counts.pair import Pair
from dalenius.data.grouping import Grouping
from dalenius.data.table import Table
from dalenius.utility.components import coded
from dalenius.utility.marginals import k_marginal_score, margins
from dalenius.utility.nist import univariate_errors

PMSE_DEPTH = 6
"""Depth of the classification tree of the propensity score, as in the paper."""


class Family(Protocol):
    """Synthetic tables that can be asked for any set of columns they were made for."""

    def get(self, names: Iterable[str]) -> Table:
        """The columns asked for, out of one table."""


@dataclass(frozen=True)
class WideTable:
    """One wide table as a family: every question is answered by its columns.

    Examples
    --------
    >>> WideTable(Table.from_frame({"a": [1], "b": [2]})).get(["b"]).names
    ['b']
    """

    table: Table

    def get(self, names: Iterable[str]) -> Table:
        """The columns asked for."""
        return self.table.select(list(names))


def paired(original: Table, family: Family, names: Sequence[str], grouping: Grouping | None = None) -> Pair:
    """Some columns of the original against the family's table of these columns.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", "y"], "b": ["u", "v"]})
    >>> paired(table, WideTable(table), ["b"]).columns
    ['b']
    """
    wanted = list(names)
    return Pair(original.select(wanted), family.get(wanted), grouping=grouping)


def value_errors(
    original: Table,
    family: Family,
    columns: Sequence[str] | None = None,
    grouping: Grouping | None = None,
    *,
    rescale: bool = False,
) -> pl.DataFrame:
    """Error of the count of every value, each column from its own table (`univariate_errors`).

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x"] * 10 + ["y"] * 5})
    >>> value_errors(table, WideTable(table))["composite"].to_list()
    [0.0, 0.0]
    """
    names = list(columns) if columns is not None else original.names
    pairs = [paired(original, family, [name], grouping) for name in names]
    return pl.concat([univariate_errors(pair, rescale=rescale) for pair in pairs])


def correlation_errors(original: Table, family: Family, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Kendall's rank correlation (tau-b) of every pair of columns in both, categories in the order of their codes.

    Examples
    --------
    >>> table = Table.from_frame({"a": [1, 2, 3], "b": [1, 3, 2]})
    >>> correlation_errors(table, WideTable(table))["error"].to_list()
    [0.0]
    """
    names = list(columns) if columns is not None else original.names
    rows = []
    for a, b in combinations(names, 2):
        sides = coded(paired(original, family, [a, b]), [a, b])
        first, second = (
            float(stats.kendalltau(side[:, 0], side[:, 1]).statistic)
            if np.ptp(side, axis=0).min(initial=np.inf) > 0
            else float("nan")
            for side in sides
        )
        rows.append({"first": a, "second": b, "original": first, "protected": second})
    schema = {"first": pl.String, "second": pl.String, "original": pl.Float64, "protected": pl.Float64}
    errors = pl.DataFrame(rows, schema=schema).with_columns(
        (pl.col("protected") - pl.col("original")).abs().alias("error")
    )
    return errors.filter(pl.col("error").is_not_nan())


def family_k_marginal(
    original: Table,
    family: Family,
    columns: Sequence[str] | None = None,
    *,
    order: int = 2,
    by: str | None = None,
    grouping: Grouping | None = None,
) -> float:
    """SDNIST's k-marginal score with each margin from its own table.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["0", "0", "1", "1"], "b": ["0", "1", "0", "1"]})
    >>> family_k_marginal(table, WideTable(table))
    1000.0
    """
    wanted = margins(list(columns) if columns is not None else original.names, order, by)
    scores = [
        k_marginal_score(paired(original, family, names, grouping), order=len(names))[0] for names in wanted
    ]
    return float(np.mean(scores)) if scores else float("nan")


def family_pmse(original: Table, family: Family, sets: Iterable[Sequence[str]]) -> float:
    """Mean propensity score error over column sets: how well a classification tree tells both files apart.

    The same sets must be used for all families that are compared: the error grows with the number of columns.

    Examples
    --------
    >>> table = Table.from_frame({"a": [1, 2, 3], "b": [1, 3, 2]})
    >>> family_pmse(table, WideTable(table), [["a"], ["a", "b"]])
    0.0
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 (slow to import)

    values = []
    for names in sets:
        first, second = coded(paired(original, family, names), names)
        label = np.repeat([0, 1], [len(first), len(second)])
        data = np.concatenate([first, second])
        model = DecisionTreeClassifier(max_depth=PMSE_DEPTH, random_state=0).fit(data, label)
        share = len(second) / len(data)
        values.append(float(np.mean((model.predict_proba(data)[:, 1] - share) ** 2)))
    return float(np.mean(values)) if values else float("nan")
