"""Propensity measures: figures, readings and importance charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.random import Seed
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.counts.measure import Registering, measure
from dalenius.counts.pair import Pair
from dalenius.utility.charts import plain_bars
from dalenius.utility.propensity.learners import Learner, learner_propensity
from dalenius.utility.propensity.logit import LogitFit, logit_propensity
from dalenius.utility.propensity.scores import Scores
from dalenius.utility.propensity.tree import Null, TreeFit, tree_propensity
from dalenius.utility.propensity.tree.grow import COMPLEXITY, LEAF, Growth

LEVELS = 30
"""Levels kept per column by the default logistic model; the rarest share one."""


def _propensity(name: str, model: str, sees: str, reference: str, *, dependence: bool) -> Registering:
    return measure(
        name=f"propensity-{name}",
        title=f"Propensity, {'logistic' if name == 'logit' else name} (S_pMSE)",
        family="utility",
        meaning=f"How well {model} tells protected rows from original ones, in units of what a correct model would "
        f"give (1). {sees}",
        better="lower",
        bounds=(0, float("inf")),
        reference=reference,
        sees_dependence=dependence,
        random=dependence,
    )


@_propensity(
    "logit",
    "a main-effects logistic model",
    "It sees each column's distribution, not the dependence between columns.",
    "Snoke, Raab, Nowok, Dibben, Slavković 2018; synthpop: utility.gen",
    dependence=False,
)
def propensity_logit(
    pair: Pair, columns: Sequence[str] | None = None, order: int = 0, max_levels: int | None = LEVELS
) -> Result:
    """Standardised pMSE of a logistic model.

    Examples
    --------
    >>> pair = Pair({"a": ["A"] * 30 + ["B"] * 70}, {"a": ["A"] * 50 + ["B"] * 50})
    >>> round(propensity_logit(pair).value, 4)
    16.6667
    """
    fit = logit_propensity(pair, columns, order=order, max_levels=max_levels, max_params=10_000)
    return _result(pair, "propensity-logit", "a logistic model", fit, {"df": float(fit.df), "z": fit.z})


@_propensity(
    "tree",
    "a classification tree",
    "It sees the dependence between columns.",
    "Snoke et al. 2018; Raab, Nowok, Dibben 2021; Latner et al. 2024; synthpop: utility.gen, method cart",
    dependence=True,
)
def propensity_tree(
    pair: Pair,
    columns: Sequence[str] | None = None,
    null: Null = "resample",
    repeats: int = 10,
    growth: Growth = "balanced",
    complexity: float = COMPLEXITY,
    minbucket: int = LEAF,
    seed: Seed = 0,
) -> Result:
    """Standardised pMSE of a classification tree, its null simulated; ``growth="rpart"`` is synthpop's tree.

    Examples
    --------
    >>> data = {"a": ["A"] * 30 + ["B"] * 70}
    >>> propensity_tree(Pair(data, data)).value
    0.0
    """
    fit = tree_propensity(
        pair,
        columns,
        null=null,
        repeats=repeats,
        complexity=complexity,
        minbucket=minbucket,
        growth=growth,
        seed=seed,
    )
    further = {
        "leaves": float(fit.leaves), "null pMSE": fit.null, "null standard error": fit.null_error,
        "null trees without split": float(fit.unsplit),
    }  # fmt: skip
    return _result(pair, "propensity-tree", "a classification tree", fit, further)


def _result(
    pair: Pair, name: str, model: str, fit: LogitFit | TreeFit, further: Mapping[str, float]
) -> Result:
    table = importance_table(fit.importance)
    return Result(
        name=name,
        value=fit.S_pMSE,
        sentence=_sentence(fit.S_pMSE, model, table),
        yardsticks={"a correct model": 1.0, **(_fresh(pair) if isinstance(fit, LogitFit) else {})},
        values={**_values(fit.figures), **further},
        table=table,
        counts=WHOLE,
        chart=lambda: importance_chart(table),
    )


@measure(
    name="detection-auc",
    title="Detection by boosted trees (AUC)",
    family="utility",
    meaning="Chance that boosted trees, on rows they have not seen, rank a protected row above an original one: "
    "0.5 is a coin toss, 1 perfect detection; below 0.5 protected rows are copies of original ones.",
    better="centre",
    centre=0.5,
    bounds=(0, 1),
    reference="Fössing, Drechsler 2024; synthcity: detection_xgb",
    default=False,
    random=True,
)
def detection_auc(
    pair: Pair,
    columns: Sequence[str] | None = None,
    learner: Learner = "boosting",
    repeats: int = 0,
    seed: Seed = 0,
) -> Result:
    """Cross-validated area under the curve of a strong learner; with ``repeats`` also its S_pMSE, the null simulated.

    Examples
    --------
    >>> pair = Pair({"a": [i % 50 for i in range(200)]}, {"a": [100 + i % 50 for i in range(200)]})
    >>> detection_auc(pair).value > 0.95
    True
    """
    fit = learner_propensity(pair, columns, learner=learner, repeats=repeats, seed=seed)
    table = importance_table({name: max(loss, 0.0) for name, loss in fit.importance.items()})
    area = float(np.mean(fit.fold_auc)) if fit.fold_auc else 0.5
    spread = float(np.std(fit.fold_auc, ddof=1)) if len(fit.fold_auc) > 1 else 0.0
    return Result(
        name="detection-auc",
        value=area,
        sentence=_detection_sentence(area, table),
        interval=Interval(max(0.0, area - 2 * spread), min(1.0, area + 2 * spread), kind="spread over folds"),
        yardsticks={"cannot be told apart": 0.5},
        values={
            **_values(fit.figures),
            **_copied(pair, columns),
            **({"S_pMSE": fit.S_pMSE, "null pMSE": fit.null} if repeats else {}),
        },
        table=table,
        counts=WHOLE,
        chart=lambda: importance_chart(table),
    )


def _copied(pair: Pair, columns: Sequence[str] | None) -> dict[str, float]:
    """Copies of original rows mislead a learner; how many there are must stand beside its figure."""
    used = list(columns) if columns is not None else pair.columns
    if not used:
        return {}
    match = pair.match(used)
    return {"copied rows": float(np.mean((match.original > 0)[match.groups.protected]))}


def importance_table(importance: Mapping[str, float]) -> pl.DataFrame:
    """Columns by how much they tell the files apart."""
    return pl.DataFrame(
        {"column": list(importance), "importance": list(importance.values())},
        schema={"column": pl.String, "importance": pl.Float64},
    ).sort("importance", descending=True, maintain_order=True)


def importance_chart(table: pl.DataFrame) -> alt.Chart:
    """Which columns tell the files apart."""
    return plain_bars(table, "column", "importance", "share in telling the files apart", limit=20)


def _values(figures: Scores) -> dict[str, float]:
    return {name: getattr(figures, name) for name in ("pMSE", "SPECKS", "PO50", "U", "AUC")}


def _fresh(pair: Pair) -> dict[str, float]:
    """Expectation for a fresh sample: it differs from the original by two sampling errors, a synthesis by one.

    Not so of a tree, which looks for differences: fresh samples were seen at 2.2 to 2.5 where this would say 2.
    """
    return {"a fresh sample": (pair.original.rows + pair.protected.rows) / pair.original.rows}


def _sentence(value: float, model: str, table: pl.DataFrame) -> str:
    if np.isnan(value):
        return "The score could not be standardised, because no null was simulated."
    word = (
        "hardly" if value < 3 else ("with effort" if value < 10 else ("clearly" if value < 100 else "easily"))
    )
    text = (
        f"{model.capitalize()} can {word} tell the protected file from the original (S_pMSE {figure(value)}, where 1 "
        "is what a correct model gives and below 10 is good)."
    )
    return text + _culprits(table) if value >= 3 else text


def _detection_sentence(area: float, table: pl.DataFrame) -> str:
    if area < 0.45:
        return (
            f"Boosted trees are systematically wrong (AUC {figure(area)}): protected rows are copies of original rows. "
            "Look at the disclosure risk."
        )
    word = "cannot" if area < 0.6 else ("can to some extent" if area < 0.8 else "can easily")
    text = f"Boosted trees {word} tell the protected file from the original (AUC {figure(area)}, 0.5 is a coin toss)."
    return text + _culprits(table) if area >= 0.6 else text


def _culprits(table: pl.DataFrame) -> str:
    guilty = table.filter(pl.col("importance") > 0.1).head(3)["column"].to_list()
    return f" What gives it away: {', '.join(repr(name) for name in guilty)}." if guilty else ""
