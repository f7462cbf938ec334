"""What explanations give away before any attack: linear models are read off exactly, additive ones up to a curve.

A linear output has explanations weight x (value - mean of the references), so that one query more than there are
weights turns explanations of everybody back into records (Toma and Kikuchi 2024, proposition 1; n + 1 queries in
general position are enough). A logistic model explained in log-odds is the same case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import counted, names
from dalenius.core.result import WHOLE, Result
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.explanations.explain import Output, explain
from dalenius.models.linear import LinearPart, linear_part
from dalenius.models.measures import MODEL_MEASURES

BINS = 20
TINY = 1e-10


@dataclass(frozen=True)
class LeakVerdict:
    """What follows from the form of a model alone.

    Attributes
    ----------
    perfect
        Whether every column of every record follows exactly from its explanation.
    recoverable, protected, partly
        Columns that follow; that do not, as the model does not use them; categories of which some share a weight.
    rank
        Rank of the queries that were at hand; -1 where none were.
    queries_needed
        Fewest queries of one's own that are enough.
    """

    perfect: bool
    recoverable: tuple[str, ...]
    protected: tuple[str, ...]
    partly: tuple[str, ...] = ()
    rank: int = -1
    queries_needed: int = 0

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if not self.recoverable and not self.partly:
            return "The explained output is not linear in the columns: nothing follows from the model's form alone."
        follow = (
            "Every column"
            if self.perfect
            else f"Column {names(self.recoverable)}"
            if self.recoverable
            else "Nothing"
        )
        text = (
            f"{follow} of a record follows exactly from its explanation: "
            f"{counted(self.queries_needed, 'query')} of one's own "
            "are enough to turn everybody's explanations back."
        ).replace("querys", "queries")
        if self.partly:
            text += f" Of {names(self.partly)} it follows up to categories with the same weight."
        if self.protected:
            text += f" The model does not use {names(self.protected)}, which is safe from this."
        return text

    def result(self) -> Result:
        """The verdict as a figure: the share of columns that follow."""
        known = len(self.recoverable) + 0.5 * len(self.partly)
        every = len(self.recoverable) + len(self.partly) + len(self.protected)
        share = 100 * known / every if every else 0.0
        return Result(
            "model-explanations", share, self.sentence, "%", yardsticks={"nothing follows": 0.0}, counts=WHOLE,
            values={"queries needed": float(self.queries_needed)},
        ).with_info(MODEL_MEASURES["model-explanations"])  # fmt: skip


def linear_leak_check(
    case: ModelCase, queries: AnyArray | None = None, *, output: Output = "logit", tolerance: float = TINY
) -> LeakVerdict:
    """Say, without an attack, which columns follow exactly from explanations.

    Parameters
    ----------
    queries
        Records an attacker can have explained; their rank says whether they are enough.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> people = {"a": [1.0, 2.0, 4.0, 5.5], "b": [0.0, 1.0, 5.0, 3.5], "y": [1.0, 3.0, 9.5, 2.0]}
    >>> model = LinearRegression().fit(np.column_stack([people["a"], people["b"]]), people["y"])
    >>> verdict = linear_leak_check(ModelCase.of(model, people, target="y"))
    >>> verdict.perfect, verdict.queries_needed
    (True, 3)
    """
    part = linear_part(case)
    if part is None or (case.task == "classification" and output == "probability"):
        return LeakVerdict(False, (), ())
    found, lost, partly, needed = [], [], [], 1
    for name, held in zip(case.features, part.weights, strict=True):
        spread = float(np.ptp(held)) if len(held) > 1 else float(np.abs(held[0]))
        if spread <= tolerance:
            lost.append(name)
        elif len(held) > 1 and np.diff(np.sort(held)).min() <= tolerance:
            partly.append(name)
            needed += len(np.unique(held)) - 1
        else:
            found.append(name)
            needed += max(len(held) - 1, 1)
    rank = -1 if queries is None else _rank(part, queries)
    enough = queries is None or rank >= 1 + len(found)
    return LeakVerdict(
        not lost and not partly and enough, tuple(found), tuple(lost), tuple(partly), rank, needed
    )


def _rank(part: LinearPart, queries: AnyArray) -> int:
    effects = part.effects(queries)
    scaled = effects / np.maximum(np.abs(effects).max(axis=0), TINY)
    return int(np.linalg.matrix_rank(np.column_stack([np.ones(len(scaled)), scaled])))


def additivity_index(
    case: ModelCase,
    records: AnyArray | None = None,
    *,
    output: Output = "probability",
    most: int = 500,
    seed: int = 0,
) -> float:
    """Share of the explanations' variance that the column alone does not account for: 0 is additive, so leaky.

    Every column's explanation is fitted by straight pieces over twenty groups of the column's values; what is left is
    averaged over the columns that are explained at all.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(1)
    >>> people = {"a": rng.normal(size=300), "b": rng.normal(size=300), "y": rng.normal(size=300)}
    >>> model = LinearRegression().fit(np.column_stack([people["a"], people["b"]]), people["y"])
    >>> additivity_index(ModelCase.of(model, people, target="y")) < 1e-9
    True
    """
    some = (case.matrix if records is None else records)[:most]
    found = explain(case, some, output=output, seed=seed)
    left = []
    for values, column in zip(found.values.T, found.records.T, strict=True):
        spread = float(np.var(values))
        if spread > TINY**2:
            left.append(float(np.mean(_residuals(column, values) ** 2)) / spread)
    return float(np.mean(left)) if left else 0.0


def _residuals(column: AnyArray, values: AnyArray) -> AnyArray:
    """What is left of values after a line in each group of the column."""
    cuts = np.unique(np.quantile(column, np.arange(1, BINS) / BINS))
    groups = np.searchsorted(cuts, column, side="right")
    count = np.maximum(np.bincount(groups), 1)
    mean_x, mean_y = (np.bincount(groups, held) / count for held in (column, values))
    x, y = column - mean_x[groups], values - mean_y[groups]
    top, bottom = np.bincount(groups, x * y), np.bincount(groups, x * x)
    slope = np.where((bottom > 0) & (count > 3), top / np.where(bottom > 0, bottom, 1), 0.0)
    return np.asarray(y - slope[groups] * x)
