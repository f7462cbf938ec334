"""The user's own regressions, fitted to each file and tried on real rows: ROC curves and errors of prediction.

Logistic models are judged by the area under the ROC curve (the chance that a real yes is ranked above a real no),
others by their R², root mean squared error and median absolute error (Slokom et al. 2024;
Aghaddar et al. 2024, section 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from scipy.special import expit

from dalenius.core.errors import DaleniusError
from dalenius.core.later import altair as alt
from dalenius.core.random import Seed
from dalenius.core.result import Result, figure
from dalenius.core.style import ORIGINAL, PROTECTED, QUIET
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray
from dalenius.utility.analyses.agreement import chosen_models
from dalenius.utility.analyses.learning import real_rows
from dalenius.utility.charts import two_files
from dalenius.utility.inference.formula import Formula, codes_of, levels_of, number
from dalenius.utility.inference.models import Family, fit_model
from dalenius.utility.propensity.scores import summarise

POINTS = 60
"""Points a curve is drawn with; no point stands for one person."""
_SCHEMA = {
    "model": pl.String, "figure": pl.String, "rows": pl.Int64, "original": pl.Float64, "protected": pl.Float64,
    "loss": pl.Float64, "problem": pl.String,
}  # fmt: skip


def prediction_table(
    pair: Pair, models: Mapping[str, Family] | Sequence[str] | None = None, seed: Seed = 0
) -> pl.DataFrame:
    """Figures of each model fitted to the original and to the protected file, on the same real rows.

    ``loss`` is the share of predictive worth that is lost: of 2 area − 1 for "ROC area", of R² for "R²"; errors have
    none. The real rows are the holdout's where there is one, otherwise 30 % of the original that its own fit has not
    seen.

    Examples
    --------
    >>> data = {"y": [1.5, 2.5, 2.5, 4.5, 5.5, 6.5] * 20, "x": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] * 20}
    >>> table = prediction_table(Pair(data, data), ["y ~ x"])
    >>> table["figure"].to_list(), round(table["original"][0], 2)
    (['R²', 'RMSE', 'median error'], 0.97)
    """
    train, test = real_rows(pair, seed)
    rows: list[dict[str, object]] = []
    for text, family in chosen_models(pair, models).items():
        own, problem = _attempt(pair, text, family, train, test)
        if own is None:
            rows.append({"model": text, "figure": "", "problem": problem})
            continue
        other, problem = _attempt(pair, text, family, pair.protected, test)
        if problem:
            problem = f"cannot be fitted to the protected file: {problem}"
        for name, a in own[0].items():
            b = None if other is None else other[0][name]
            rows.append(
                {"model": text, "figure": name, "rows": len(own[1]), "original": a, "protected": b,
                 "loss": _loss(name, a, b), "problem": problem}
            )  # fmt: skip
    return pl.DataFrame(rows, schema=_SCHEMA)


def _attempt(
    pair: Pair, text: str, family: Family, table: Table, test: Table
) -> tuple[tuple[dict[str, float], AnyArray, BoolArray] | None, str | None]:
    """What `_tried` gives, or the reason why it gives nothing."""
    try:
        return _tried(pair, text, family, table, test), None
    except (DaleniusError, np.linalg.LinAlgError) as error:
        return None, str(error)


def _tried(
    pair: Pair, text: str, family: Family, table: Table, test: Table
) -> tuple[dict[str, float], AnyArray, BoolArray]:
    """Figures of one fit on the test rows, its predictions and (for a logistic model) the truth."""
    schema = pair.original.schema
    fit = fit_model(text, table, family, schema)
    model = Formula.parse(text)
    used = test.take(np.flatnonzero(model.complete(test)))
    names, x = model.matrix(used, schema)
    worth = dict(zip(fit.names, fit.estimates.tolist(), strict=True))
    eta = x @ np.array([worth.get(name, 0.0) for name in names])
    if family == "binomial":
        truth = _yes(used, model, schema)
        return {"ROC area": summarise(eta, truth).AUC}, expit(eta), truth
    y = number(model.response, used[model.response.column])
    return _errors(y, np.exp(np.clip(eta, -30, 30)) if family == "poisson" else eta), eta, y > np.inf


def _yes(table: Table, model: Formula, schema: Schema) -> BoolArray:
    vector = table[model.response.column]
    return np.asarray(codes_of(vector, levels_of(vector, schema)) > 0)


def _errors(truth: AnyArray, predicted: AnyArray) -> dict[str, float]:
    total = float(np.sum((truth - truth.mean()) ** 2)) if len(truth) else 0.0
    squared = (truth - predicted) ** 2
    return {
        "R²": 1 - float(squared.sum()) / total if total > 0 else float("nan"),
        "RMSE": float(np.sqrt(squared.mean())) if len(truth) else float("nan"),
        "median error": float(np.median(np.abs(truth - predicted))) if len(truth) else float("nan"),
    }


def _loss(name: str, original: float, protected: float | None) -> float | None:
    """Share of the worth that is lost: all of it where the model cannot be had from the protected file."""
    if name not in ("ROC area", "R²"):
        return None
    if protected is None:
        return 1.0 if original > (0.505 if name == "ROC area" else 0.01) else None
    a, b = (2 * original - 1, 2 * protected - 1) if name == "ROC area" else (original, protected)
    return min(1.0, max(0.0, (a - b) / a)) if a > 0.01 else None


@measure(
    name="prediction",
    title="Prediction by regressions (loss)",
    family="utility",
    meaning="Share of predictive worth (of ROC areas above a coin toss, of R²) that regressions lose on real rows "
    "when they are fitted to the protected instead of the original file: 0 is no loss.",
    better="lower",
    bounds=(0, 1),
    reference="Slokom et al. 2024; Aghaddar et al. 2024",
    default=False,
    random=True,
)
def model_prediction(
    pair: Pair, models: Mapping[str, Family] | Sequence[str] | None = None, seed: Seed = 0
) -> Result:
    """Mean loss over regressions; the chart shows the ROC curves of the logistic ones.

    Examples
    --------
    >>> data = {"y": [1.5, 2.5, 2.5, 4.5, 5.5, 6.5] * 20, "x": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] * 20}
    >>> model_prediction(Pair(data, data), ["y ~ x"]).value < 0.01
    True
    """
    chosen = chosen_models(pair, models)
    table = prediction_table(pair, chosen, seed)
    losses = table["loss"].drop_nulls().drop_nans()
    if len(losses) == 0:
        why = "; ".join(p for p in table["problem"].drop_nulls().unique().sort().to_list() if p)
        return Result(
            "prediction",
            float("nan"),
            f"No regression predicts anything to lose{f' ({why})' if why else ''}.",
            table=table,
            counts=("rows",),
        )
    value = float(losses.mean())  # type: ignore[arg-type]
    worst = table.filter(pl.col("loss") == losses.max()).row(0, named=True)
    text = f"On real rows, regressions fitted to the protected file lose {figure(100 * value, '%')} of their worth."
    if worst["protected"] is None:
        text += f" Most: {worst['model']}, which {worst['problem']}."
    elif worst["loss"] > 0.02:
        text += (
            f" Most: {worst['model']} ({worst['figure']} {figure(worst['original'])} by the original, "
            f"{figure(worst['protected'])} by the protected file)."
        )
    areas = table.filter(pl.col("figure") == "ROC area")
    scores = table.drop_nulls("loss")
    return Result(
        name="prediction",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 0.0},
        values=_values(areas),
        table=table,
        counts=("rows",),
        chart=(lambda: roc_chart(pair, chosen, seed))
        if len(areas)
        else (lambda: two_files(scores, "model", "R² on real rows")),
    )


def _values(areas: pl.DataFrame) -> dict[str, float]:
    sides = {side: areas[side].drop_nulls().drop_nans() for side in ("original", "protected")}
    return {f"mean ROC area, {side}": float(each.mean()) for side, each in sides.items() if len(each)}  # type: ignore[arg-type]


def roc_points(scores: AnyArray, truth: BoolArray) -> tuple[AnyArray, AnyArray]:
    """False and true positive rates of a score, thinned to a few points.

    Examples
    --------
    >>> false, true = roc_points(np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, True, False, True]))
    >>> false.tolist(), true.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.diff(scores[order], append=-np.inf))  # equal scores make one step
    hits, misses = np.cumsum(truth[order])[last], np.cumsum(~truth[order])[last]
    true = np.concatenate([[0.0], hits / max(int(truth.sum()), 1)])
    false = np.concatenate([[0.0], misses / max(int((~truth).sum()), 1)])
    if len(true) <= POINTS:
        return false, true
    kept = np.unique(np.linspace(0, len(true) - 1, POINTS).round().astype(np.int64))
    return false[kept], true[kept]


def roc_chart(pair: Pair, models: Mapping[str, Family], seed: Seed = 0) -> alt.TopLevelMixin:
    """ROC curves of logistic models fitted to both files, on the same real rows."""
    train, test = real_rows(pair, seed)
    frames = []
    for text, family in models.items():
        if family != "binomial":
            continue
        for file, table in (("original", train), ("protected", pair.protected)):
            try:
                _, scores, truth = _tried(pair, text, family, table, test)
            except (DaleniusError, np.linalg.LinAlgError):
                break
            false, true = roc_points(scores, truth)
            part = {"false": false, "true": true, "order": np.arange(len(true))}
            frames.append(pl.DataFrame(part).with_columns(model=pl.lit(text), file=pl.lit(file)))
    if not frames:
        return alt.Chart(pl.DataFrame({"false": [0.0], "true": [0.0]}).to_arrow()).mark_point()
    data = pl.concat(frames)
    line = alt.Chart().mark_line().encode(
        x=alt.X("false:Q", title="false positives, share"), y=alt.Y("true:Q", title="true positives, share"),
        order=alt.Order("order:Q"),
        strokeDash=alt.StrokeDash(
            "file:N", title=None, scale=alt.Scale(domain=["original", "protected"], range=[[1, 0], [4, 2]])
        ),
        color=alt.Color(
            "file:N", title=None, scale=alt.Scale(domain=["original", "protected"], range=[ORIGINAL, PROTECTED])
        ),
    )  # fmt: skip
    coin = alt.Chart().mark_line(color=QUIET, size=1).encode(x=alt.X("false:Q"), y=alt.Y("false:Q"))
    return (
        alt.layer(coin, line, data=data.to_arrow())
        .properties(width=200, height=200)
        .facet(facet=alt.Facet("model:N", title=None, sort=None), columns=2)
    )
