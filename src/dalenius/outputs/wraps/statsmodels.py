"""statsmodels, worn by a desk: every fit is checked by the form of its design (degrees of freedom, saturation)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.core.errors import DataError
from dalenius.counts.saturation import distinct_patterns, is_saturated
from dalenius.outputs.checks import CHECKS, Finding, finding
from dalenius.outputs.design import Design, marks
from dalenius.outputs.evidence import Evidence, collect
from dalenius.outputs.judge import Judged, judge
from dalenius.outputs.made import MOST_COLUMNS, exact_but_few
from dalenius.outputs.output import Output
from dalenius.outputs.query import Dimension, Floats, Ints, Query
from dalenius.outputs.wraps.columns import units
from dalenius.outputs.wraps.fitted_to import FittedTo, fitted_to, rests_on_few
from dalenius.outputs.wraps.frames import CheckedFrame, CheckedSeries, frame_class
from dalenius.outputs.wraps.sources import index_names, noted, retold, units_of

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

NAMES = {
    "OLS": "ols", "WLS": "wls", "GLS": "gls", "GLM": "glm", "Logit": "logit", "Probit": "probit", "Poisson": "poisson",
    "NegativeBinomial": "negative binomial", "MNLogit": "multinomial logit", "MixedLM": "mixed model", "PHReg": "cox",
    "QuantReg": "quantile regression", "GEE": "generalised estimating equations", "OrderedModel": "ordered logit",
    "RLM": "linear regression",
}  # fmt: skip


FITS = ("fit", "fit_regularized")
"""Fits that are of the model as its columns tell it."""


class Models:
    """A module of statsmodels whose models are checked when they are fitted."""

    def __init__(self, desk: Desk, module: str) -> None:
        self._desk, self._module = desk, importlib.import_module(module)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name == "add_constant":
            return self._with_constant
        if not callable(found):
            return found
        made = self._made(found)
        if hasattr(found, "from_formula"):
            setattr(made, "from_formula", self._made(found.from_formula))  # noqa: B010 (as a class has it)
        return made

    def _with_constant(self, data: Any, *given: Any, **options: Any) -> Any:
        """``add_constant``: its own look at the columns is no output, and the frame it makes is one of the desk's."""
        made = self._module.add_constant(_bare(data), *given, **options)
        if not isinstance(data, CheckedFrame | CheckedSeries) or not isinstance(made, pd.DataFrame):
            return made
        return frame_class(self._desk)(made).__finalize__(data)

    def _made(self, found: Any) -> Any:
        """A model, or what makes one, whose fits are checked."""

        def made(*given: Any, **options: Any) -> Any:
            options, given = _named(found, given, options)
            data = options.get("data")
            if isinstance(data, pl.DataFrame):
                data = data.to_pandas()
                options["data"] = data
            elif isinstance(data, pd.DataFrame) and type(data) is not pd.DataFrame:
                options["data"] = pd.DataFrame(data)
            elif data is None and given and isinstance(given[0], pd.Series):
                data = given[0]  # the outcome knows the frame it comes from
                given = tuple(map(_bare, given))
            elif data is None and isinstance(options.get("endog"), pd.Series):
                data = options["endog"]
            _need_weights(options)
            model = found(*given, **{name: _bare(option) for name, option in options.items()})
            return Fitting(self._desk, model, data) if hasattr(model, "fit") else model

        return made


def _named(
    found: Any, given: tuple[Any, ...], options: dict[str, Any]
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """What follows a formula by its names: data stand second in most models, third in one with groups."""
    if len(given) < 2 or not isinstance(given[0], str):
        return options, given
    names = [*inspect.signature(found).parameters][1 : len(given)]
    if len(names) < len(given) - 1 or "data" not in names:
        return {"data": given[1], **options}, given[:1]
    return dict(zip(names, given[1:], strict=True)) | options, given[:1]


def _need_weights(options: dict[str, Any]) -> None:
    """Refuse weights that are no weights, before statsmodels fails on them."""
    for name in ("weights", "freq_weights", "var_weights"):
        given = options.get(name)
        if given is not None and not (np.asarray(given, np.float64) >= 0).all():
            raise DataError(
                f"{name}: weights are numbers of 0 or more; leave other records out, or correct them"
            )


def _bare(given: Any) -> Any:
    """A checked frame or column as plain pandas."""
    if isinstance(given, pd.DataFrame):
        return pd.DataFrame(given)
    return pd.Series(given) if isinstance(given, pd.Series) else given


class Fitting:
    """A model whose fits are checked; everything else is the model's own."""

    def __init__(self, desk: Desk, model: Any, data: Any) -> None:
        self._desk, self._model, self._data = desk, model, data

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if not name.startswith("fit") or not callable(found):
            return found

        def fit(*given: Any, **options: Any) -> Any:
            fitted = found(*given, **options)
            model_output(self._desk, fitted, self._data, bound=name not in FITS)
            return fitted

        return fit


def model_output(desk: Desk, fitted: Any, data: Any, bound: bool = False) -> Output:
    """Check a fitted model: enough residual degrees of freedom, and no table in disguise.

    A fit that is bound by further conditions is another model than its columns tell: a person looks.
    """
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
    held = fitted_to(fitted)
    target = held.target
    unit, ids, notes = _units(desk, model, data, len(design))
    looked = Design(design, unit, held.weight)
    patterns, which = distinct_patterns(design)
    dof = float(looked.people - looked.rank)
    if (said := getattr(fitted, "df_resid", None)) is not None and np.isfinite(said):
        dof = min(dof, float(said))
    dof = min(dof, _carried(fitted, held.weight, unit, looked.people) - looked.rank)
    facts: dict[str, Any] = {"dof": dof, "rank": looked.rank, "patterns": patterns}
    variable = " + ".join(map(str, [getattr(model, "endog_names", "y"), *getattr(model, "exog_names", ())]))
    weight = np.ones(len(design)) if looked.weight is None else looked.weight
    value = np.where(held.counts, marks(np.column_stack([target, design, weight, held.more])), np.nan)
    query = Query(
        name, rows=len(design), value=value, variable=variable, unit=unit, ids=ids, facts=facts, command=call,
    )  # fmt: skip
    about = rests_on_few(desk, fitted, held, unit, _form(facts))
    if bound:
        words = "it was fitted under conditions of its own, which are not looked into"
        about.append(finding("constraints", _form(facts), np.ones(1, np.bool_), words, verdict="review"))
    if is_saturated(looked.rank, patterns) and which is not None:
        return _rerouted(desk, query, held, which, patterns, frame, fitted, about)
    facts |= _people(looked, target, desk)
    judged = judge(query, desk.policy, _form(facts)).with_findings(*noted(notes, _form(facts)), *about)
    counted = np.where(held.counts, target, np.nan) if target.ndim == 1 else target
    judged = judged.with_findings(*made_of_few(desk, [("the outcome", counted)], unit))
    if name == "quantile regression":  # as a quantile it says how many lie on either side
        facts["parts"] = (
            (target - design @ np.asarray(fitted.params) > 1e-9 * np.ptp(target)).astype(np.int64),
            2,
        )
    columns = np.column_stack(
        [
            target,
            design,
            *([] if looked.weight is None else [looked.weight]),
            held.more[:, held.more.any(axis=0)],
        ]
    )
    query = replace(
        query, facts={**facts, "outcome": target, "columns": columns if target.ndim == 1 else None}
    )
    return desk.take(query, judged=judged, frame=frame, shown=fitted)


def _people(looked: Design, target: Floats, desk: Desk) -> dict[str, Any]:
    """How many people parameters rest on, and the smallest cell of a table in disguise."""
    found: dict[str, Any] = {"people_of_a_parameter": looked.owners(desk.policy.threshold)}
    disguised = looked.disguised(target) if target.ndim == 1 and np.isfinite(target).all() else None
    return found if disguised is None else {**found, "cell_people": disguised[2]}


def made_of_few(desk: Desk, columns: Sequence[tuple[str, Floats]], whose: Any) -> list[Finding]:
    """What is found where a column of a model or correlation is about few people."""
    found: list[Finding] = []
    for name, given in columns:
        values, unit = given, whose
        if values.ndim != 1:
            continue
        there = np.isfinite(values)
        values, unit = values[there], None if whose is None else np.asarray(whose)[there]
        query = Query("std", rows=len(values), value=values, unit=unit, ids=range(0), facts={"power": 2})
        evidence = collect(query, max(desk.policy.nk_n, 2), desk.policy.threshold)
        told = CHECKS["deviation"](evidence, desk.policy)
        few = Design(values[:, None], unit).apart(values)
        if told.verdict != "pass" and (few == 0 or few >= desk.policy.concentration_n):
            words = f"of {name} {told.sentence[0].lower()}{told.sentence[1:].rstrip('.')}"
            found.append(finding("deviation", evidence, told.flagged, words, verdict="review"))
        elif told.verdict != "pass":
            words = f"{name} is about one or two people or units: with it their own values follow"
            found.append(finding("deviation", evidence, told.flagged, words))
    return sorted(found, key=lambda f: f.verdict)[:1]


def _rerouted(
    desk: Desk, query: Query, held: FittedTo, which: Ints, patterns: int, frame: pl.DataFrame, fitted: Any,
    about: Sequence[Finding],
) -> Output:  # fmt: skip
    """A saturated model is its table: means over the patterns of its regressors, or counts of a binary outcome."""
    groups = Dimension("pattern", which, tuple(f"pattern {i + 1}" for i in range(patterns)))
    facts, target = {**query.facts, "rerouted": True}, held.target
    binary = len(np.unique(target)) <= 2
    outcome = Dimension(
        "outcome", np.unique(target, return_inverse=True)[1], tuple(map(str, np.unique(target)))
    )
    table = Query(
        "saturated logistic model" if binary else "saturated regression", (groups, outcome) if binary else (groups,),
        len(target), None if binary else target, None if binary else str(query.command), query.unit, query.ids,
        facts=facts, command=query.command,
    )  # fmt: skip
    share = getattr(fitted, "q", None) if type(fitted.model).__name__ == "QuantReg" else None
    if share is not None:  # the quantiles of its cells, not their means
        table = replace(
            table, statistic="percentile", dimensions=(groups,), value=target, variable=str(query.command),
            facts={**facts, "quantiles": [float(share)]},
        )  # fmt: skip
    evidence = collect(table, max(desk.policy.nk_n, 2), desk.policy.threshold)
    found = judge(table, desk.policy, evidence).with_findings(*_weighted(desk, table, held), *about)
    form = CHECKS["saturated"](_form(facts), desk.policy)
    judged = Judged(found.places, found.evidence, (form, *found.findings), (form.sentence,))
    return desk.take(table, judged=judged, frame=frame, shown=fitted, notes=(form.sentence,))


def _weighted(desk: Desk, table: Query, held: FittedTo) -> list[Finding]:
    """Where records have weights few may carry the means of a table: by their weights, or by what they contribute."""
    weight, target = held.weight, held.target
    if weight is None or np.ptp(weight) == 0:
        return []
    places = replace(table, dimensions=table.dimensions[:1])
    for value in (np.abs(weight), np.abs(weight * target)):
        evidence = collect(replace(places, value=value), max(desk.policy.nk_n, 2), desk.policy.threshold)
        for name in ("nk", "p_percent"):
            told = CHECKS[name](evidence, desk.policy)
            if told.verdict == "fail":
                words = "by its weights a few units make up almost all of a figure"
                return [finding("weights", evidence, told.flagged, words)]
    return []


def _form(facts: dict[str, Any]) -> Evidence:
    return Evidence(pl.DataFrame({"cell": ["model"]}), (), {}, np.zeros((1, 2)), np.zeros(0, np.bool_), facts)


def _carried(fitted: Any, weight: Floats | None, unit: Any, people: int) -> float:
    """How many people carry a fit: fewer where weights lie on few (Kish 1965), or few lie beyond a quantile."""
    share = getattr(fitted, "q", None) if type(fitted.model).__name__ == "QuantReg" else None
    beyond = float(people) if share is None else people * min(float(share), 1 - float(share))
    if weight is None or not weight.any():
        return beyond
    own = weight if unit is None else np.bincount(np.unique(unit, return_inverse=True)[1], weight)
    own = own / own.max()
    return min(beyond, float(own.sum() ** 2 / (own**2).sum()))


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


def _units(desk: Desk, model: Any, data: Any, rows: int) -> tuple[Any, Any, tuple[str, ...]]:
    """Unit of each record of a fit: by the column of the data, or by where its columns come from."""
    labels = getattr(model.data, "row_labels", None)
    index = pd.Index(labels) if labels is not None and len(labels) == rows else None
    if (
        isinstance(data, pd.DataFrame)
        and desk.unit in data.columns
        and index is not None
        and data.index.is_unique
    ):
        return *units(data.loc[index, desk.unit]), retold(desk, data)
    names = index_names(desk, data.index) if isinstance(data, pd.DataFrame | pd.Series) else None
    if names is not None and index is not None and data.index.is_unique and index.isin(data.index).all():
        return *units(names.iloc[data.index.get_indexer(index)]), ()
    if (
        isinstance(data, pd.Series)
        and index is not None
        and data.index.is_unique
        and index.isin(data.index).all()
    ):
        (unit, ids), notes = units_of(desk, data)
        if unit is not None:
            return unit[data.index.get_indexer(index)], ids, notes
    told = (
        ()
        if desk.unit is None
        else (f"the column {desk.unit!r} of the unit was not found: rows were counted",)
    )
    known = index is not None and index.is_unique
    return None, index if known else range(rows), told


def correlations(desk: Desk, frame: pd.DataFrame, matrix: Any, statistic: str = "correlation") -> Any:
    """A matrix of correlations: two parameters each, from the rows where both are there."""
    names = list(matrix.columns)
    told = pl.DataFrame({"column": [str(c) for c in names], **{str(c): matrix[c].to_numpy() for c in names}})
    (unit, ids), notes = units_of(desk, frame)
    together(desk, statistic, frame[names], unit, ids, told, matrix, notes)
    return matrix


def together(
    desk: Desk, statistic: str, columns: pd.DataFrame, unit: Any, ids: Any, told: pl.DataFrame, shown: Any,
    notes: Sequence[str] = (), call: str = "corr",
) -> Output:  # fmt: skip
    """Check what columns tell together, two by two: enough people in each pair, and no column about few."""
    values = columns.to_numpy(np.float64)
    there = ~np.isnan(values)
    who = np.arange(len(values)) if unit is None else np.asarray(unit)
    fewest = min(
        (len(np.unique(who[there[:, i] & there[:, j]])) for i in range(there.shape[1]) for j in range(i + 1)),
        default=0,
    )
    rows = np.bincount(np.unique(who, return_inverse=True)[1].ravel()).astype(np.float64)
    fewest = min(
        fewest, int(rows.sum() ** 2 / max(float((rows**2).sum()), 1.0))
    )  # rows of one are one (Kish 1965)
    facts = {"dof": fewest - 2, "rank": 2, "patterns": 3}  # one number recasts no table
    names = [str(c) for c in columns.columns]
    complete = there.all(axis=1)
    query = Query(
        statistic, rows=len(values), value=np.where(complete, marks(np.nan_to_num(values)), np.nan),
        variable=" + ".join(names), unit=unit, ids=ids, facts=facts, command=f"{call}({', '.join(names)})",
    )  # fmt: skip
    judged = judge(query, desk.policy, _form(facts)).with_findings(*noted(notes, _form(facts)))
    found = made_of_few(desk, [(f"column {n!r}", values[:, i]) for i, n in enumerate(names)], unit)
    found += one_but_few(desk, values, unit, _form(facts))
    query = replace(query, facts={**facts, "columns": np.where(complete[:, None], values, np.nan)})
    return desk.take(query, judged=judged.with_findings(*found), frame=told, shown=shown)


def one_but_few(desk: Desk, values: Floats, whose: Any, evidence: Evidence) -> list[Finding]:
    """Where a column is another, multiplied or moved, but for few people, what they tell together is about these."""
    people = len(values) if whose is None else len(np.unique(whose))
    few = -(-desk.policy.threshold * len(values) // max(people, 1))
    for one, two in combinations(range(min(values.shape[1], MOST_COLUMNS)), 2):
        left, right = _filled(values[:, one], values[:, two]), _filled(values[:, two], values[:, one])
        if exact_but_few(left, right[:, None], few):
            words = f"a column is another but for fewer than {desk.policy.threshold} people or units"
            return [finding("residuals", evidence, np.ones(1, np.bool_), words)]
    return []


def _filled(values: Floats, other: Floats) -> Floats:
    """A column with a number far from all where only the other has a value: there the two differ."""
    gone = np.isnan(values) & ~np.isnan(other)
    return np.where(gone, 3 * np.nanmax(np.abs(values), initial=0.0) + 1, values)
