"""statsmodels, worn by a desk: every fit is checked by the form of its design (degrees of freedom, saturation)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.counts.saturation import distinct_patterns, is_saturated
from dalenius.outputs.checks import CHECKS, finding
from dalenius.outputs.evidence import Evidence, collect
from dalenius.outputs.judge import Judged, judge
from dalenius.outputs.output import Output
from dalenius.outputs.query import Dimension, Floats, Ints, Query
from dalenius.outputs.wraps.columns import units

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

NAMES = {
    "OLS": "ols", "WLS": "wls", "GLS": "gls", "GLM": "glm", "Logit": "logit", "Probit": "probit", "Poisson": "poisson",
    "NegativeBinomial": "negative binomial", "MNLogit": "multinomial logit", "MixedLM": "mixed model", "PHReg": "cox",
    "QuantReg": "quantile regression", "GEE": "generalised estimating equations", "OrderedModel": "ordered logit",
    "RLM": "linear regression",
}  # fmt: skip


class Models:
    """A module of statsmodels whose models are checked when they are fitted."""

    def __init__(self, desk: Desk, module: str) -> None:
        self._desk, self._module = desk, importlib.import_module(module)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if not callable(found) or name in ("add_constant", "families", "stats"):
            return found

        def made(*given: Any, **options: Any) -> Any:
            data = options.get(
                "data", given[1] if isinstance(given[0] if given else None, str) and len(given) > 1 else None
            )
            if isinstance(data, pl.DataFrame):
                data = data.to_pandas()
                options["data"] = data
                given = given[:1]
            elif isinstance(data, pd.DataFrame) and type(data) is not pd.DataFrame:
                options["data"] = plain = pd.DataFrame(data)
                given, data = given[:1], plain
            model = found(*given, **options)
            return Fitting(self._desk, model, data) if hasattr(model, "fit") else model

        return made


class Fitting:
    """A model whose fit is checked; everything else is the model's own."""

    def __init__(self, desk: Desk, model: Any, data: Any) -> None:
        self._desk, self._model, self._data = desk, model, data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def fit(self, *given: Any, **options: Any) -> Any:
        """Fit and check."""
        fitted = self._model.fit(*given, **options)
        model_output(self._desk, fitted, self._data)
        return fitted

    def fit_regularized(self, *given: Any, **options: Any) -> Any:
        """Fit and check."""
        fitted = self._model.fit_regularized(*given, **options)
        model_output(self._desk, fitted, self._data)
        return fitted


def model_output(desk: Desk, fitted: Any, data: Any) -> Output:
    """Check a fitted model: enough residual degrees of freedom, and no table in disguise."""
    model = getattr(fitted, "model", None)
    name = NAMES.get(type(model).__name__, "")
    formula = getattr(model, "formula", None)
    call = f"{name or 'model'}({formula or getattr(model, 'endog_names', '')})"
    design = (
        np.asarray(model.exog, np.float64)
        if model is not None and getattr(model, "exog", None) is not None
        else None
    )
    frame = _coefficients(fitted)
    if model is None or design is None or not name:
        return desk.declare(name or type(model).__name__, command=call)
    target = np.asarray(model.endog, np.float64)
    unit, ids = _units(desk, model, data, len(design))
    people = len(design) if unit is None else len(np.unique(unit))
    rank = int(np.linalg.matrix_rank(design))
    patterns, which = distinct_patterns(design)
    dof = float(people - rank)
    if (said := getattr(fitted, "df_resid", None)) is not None and np.isfinite(said):
        dof = min(dof, float(said))
    dof = min(dof, _carried(fitted, unit, people) - rank)
    facts: dict[str, Any] = {"dof": dof, "rank": rank, "patterns": patterns}
    query = Query(name, rows=0, facts=facts, command=call)
    if not is_saturated(rank, patterns) or which is None:
        judged = judge(query, desk.policy, _form(facts))
        weight = _weights(model)
        weighted = design if weight is None else design * np.sqrt(weight)[:, None]
        if own_parameter(design, unit, desk.policy.concentration_n, weighted):
            words = "a parameter belongs to one or two people or units: with it their own values follow"
            judged = judged.with_findings(
                finding("own_parameter", judged.evidence, np.ones(1, np.bool_), words)
            )
        return desk.take(query, judged=judged, frame=frame, shown=fitted)
    return _rerouted(desk, query, target, which, patterns, unit, ids, frame, fitted)


def _rerouted(
    desk: Desk, query: Query, target: Floats, which: Ints, patterns: int, unit: Any, ids: Any, frame: pl.DataFrame,
    fitted: Any,
) -> Output:  # fmt: skip
    """A saturated model is its table: means over the patterns of its regressors, or counts of a binary outcome."""
    groups = Dimension("pattern", which, tuple(f"pattern {i + 1}" for i in range(patterns)))
    facts = {**query.facts, "rerouted": True}
    binary = len(np.unique(target)) <= 2
    outcome = Dimension(
        "outcome", np.unique(target, return_inverse=True)[1], tuple(map(str, np.unique(target)))
    )
    table = Query(
        "saturated logistic model" if binary else "saturated regression", (groups, outcome) if binary else (groups,),
        len(target), None if binary else target, None if binary else str(query.command), unit, ids, facts=facts,
        command=query.command,
    )  # fmt: skip
    evidence = collect(table, max(desk.policy.nk_n, 2))
    found = judge(table, desk.policy, evidence)
    form = CHECKS["saturated"](_form(facts), desk.policy)
    judged = Judged(found.places, found.evidence, (form, *found.findings), (form.sentence,))
    return desk.take(table, judged=judged, frame=frame, shown=fitted, notes=(form.sentence,))


def _form(facts: dict[str, Any]) -> Evidence:
    return Evidence(pl.DataFrame({"cell": ["model"]}), (), {}, np.zeros((1, 2)), np.zeros(0, np.bool_), facts)


def _weights(model: Any) -> Floats | None:
    """What each record counts in a fit (weights of WLS, frequency and variance weights of GLM); None if all alike."""
    found = None
    for word in ("weights", "freq_weights", "var_weights"):
        said = getattr(model, word, None)
        if said is not None and np.shape(said) == (len(model.exog),):
            found = np.asarray(said, np.float64) if found is None else found * np.asarray(said, np.float64)
    return found


def _carried(fitted: Any, unit: Any, people: int) -> float:
    """How many people carry a fit: fewer where weights lie on few (Kish 1965), or few lie beyond a quantile."""
    share = getattr(fitted, "q", None) if type(fitted.model).__name__ == "QuantReg" else None
    beyond = float(people) if share is None else people * min(float(share), 1 - float(share))
    weight = _weights(fitted.model)
    if weight is None or not weight.any():
        return beyond
    own = weight if unit is None else np.bincount(np.unique(unit, return_inverse=True)[1], weight)
    own = own / own.max()
    return min(beyond, float(own.sum() ** 2 / (own**2).sum()))


def own_parameter(design: Floats, unit: Any, fewest: int, weighted: Floats | None = None) -> bool:
    """Whether fewer units than that have a parameter to themselves: a dummy of their own, or a leverage of one.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(50), rng.normal(size=50), np.arange(50) == 7])
    >>> own_parameter(design, None, 3), own_parameter(design[:, :2], None, 3)
    (True, False)
    """
    if not design.size:
        return False
    if own_column(design, unit, fewest):
        return True
    base, sizes, _ = np.linalg.svd(design if weighted is None else weighted, full_matrices=False)
    base = base[:, sizes > sizes[0] * 1e-10]
    return bool(((base**2).sum(axis=1) > 1 - 1e-9).any())


def own_column(columns: Floats, unit: Any, fewest: int) -> bool:
    """Whether a column is the same for all but fewer units than that (missing values apart)."""
    people = np.arange(len(columns)) if unit is None else np.asarray(unit)
    for column in columns.T:
        there = ~np.isnan(column)
        usual = np.median(column[there]) if there.any() else 0.0  # what most have, if most have the same
        few = there & (column != usual)
        if 2 * np.count_nonzero(few) < there.sum() and 0 < len(np.unique(people[few])) < fewest:
            return True
    return False


def _coefficients(fitted: Any) -> pl.DataFrame:
    """What a model tells: its coefficients with their errors and p values."""
    params = getattr(fitted, "params", None)
    if params is None:
        return pl.DataFrame({"term": [], "estimate": []})
    flat = pd.Series(np.asarray(params, np.float64).ravel())
    names = list(getattr(params, "index", [])) or list(getattr(fitted.model, "exog_names", []))
    columns: dict[str, Any] = {
        "term": [str(n) for n in names] if len(names) == len(flat) else [f"x{i}" for i in range(len(flat))],
        "estimate": flat.to_numpy(),
    }
    for word, title in (("bse", "standard error"), ("pvalues", "p value")):
        found = getattr(fitted, word, None)
        if found is not None and np.size(found) == len(flat):
            columns[title] = np.asarray(found, np.float64).ravel()
    return pl.DataFrame(columns)


def _units(desk: Desk, model: Any, data: Any, rows: int) -> tuple[Any, Any]:
    labels = getattr(model.data, "row_labels", None)
    if (
        isinstance(data, pd.DataFrame)
        and desk.unit in data.columns
        and labels is not None
        and data.index.is_unique
    ):
        return units(data.loc[labels, desk.unit])
    index = pd.Index(labels) if labels is not None else None
    return None, index if index is not None and len(index) == rows and index.is_unique else None


def correlations(desk: Desk, frame: pd.DataFrame, matrix: Any) -> Any:
    """A matrix of correlations: two parameters each, from the rows where both are there."""
    there = frame[list(matrix.columns)].notna().to_numpy()
    pairs = there.T.astype(np.int64) @ there
    fewest = int(pairs.min()) if pairs.size else 0
    if desk.unit in frame.columns:
        fewest = min(fewest, int(frame[desk.unit].nunique()))
    facts = {"dof": fewest - 2, "rank": 2, "patterns": 3}  # one number recasts no table
    query = Query("correlation", facts=facts, command=f"corr({', '.join(map(str, matrix.columns))})")
    told = pl.DataFrame(
        {"column": [str(c) for c in matrix.columns], **{str(c): matrix[c].to_numpy() for c in matrix.columns}}
    )
    judged = judge(query, desk.policy, _form(facts))
    unit = frame[desk.unit].to_numpy() if desk.unit in frame.columns else None
    if own_column(frame[list(matrix.columns)].to_numpy(np.float64), unit, desk.policy.concentration_n):
        words = "a column is about one or two people or units: with its correlations their own values follow"
        judged = judged.with_findings(finding("own_parameter", judged.evidence, np.ones(1, np.bool_), words))
    desk.take(query, judged=judged, frame=told, shown=matrix)
    return matrix
