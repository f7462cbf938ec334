"""The user's own models fitted to both files: overlap of intervals, standardised differences, sign and significance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist

import numpy as np
import polars as pl

from dalenius.core.errors import DaleniusError
from dalenius.core.later import altair as alt
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind
from dalenius.utility.inference.formula import Formula
from dalenius.utility.inference.models import Family, Fit, fit_model, rests_on_few
from dalenius.utility.inference.synthetic import ci_overlap

MODELS = 4
"""Models tried when the user names none."""
PREDICTORS = 4
FEW_LEVELS = 8


def model_table(pair: Pair, models: Mapping[str, Family], level: float = 0.95) -> pl.DataFrame:
    """Coefficients of each formula in both files, with the overlap of their intervals.

    ``overlap`` is the mean share of the two intervals that they have in common (Karr et al. 2006), negative when they
    are apart; ``difference`` is in standard errors of the original. A coefficient that one fit does not have (a level
    vanished) is listed without figures; a model that cannot be fitted to a file is listed with the reason. A
    coefficient that rests on the answers of a few original rows is counted, but neither named nor shown.

    Examples
    --------
    >>> data = {"y": [1.0, 2.1, 2.9, 4.2, 5.0, 6.1] * 5, "x": [1, 2, 3, 4, 5, 6] * 5}
    >>> model_table(Pair(data, data), {"y ~ x": "gaussian"})["overlap"].unique().to_list()
    [1.0]
    """
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rows: list[dict[str, object]] = []
    for formula, family in models.items():
        fits = []
        problem = ""
        for name, table in (("original", pair.original), ("protected", pair.protected)):
            try:
                model = Formula.parse(formula).settled(pair.original)
                design = getattr(pair.designs, name)
                fits.append(fit_model(model, table, family, pair.original.schema, design=design))
            except (DaleniusError, np.linalg.LinAlgError) as error:
                problem = f"cannot be fitted to the {name} file: {error}"
                break
        if problem:
            rows.append({"model": formula, "coefficient": "", "problem": problem})
            continue
        few = rests_on_few(formula, pair.original, fits[0], pair.original.schema)
        rows += [
            row | _UNNAMED if unnamed else row
            for row, unnamed in zip(_coefficient_rows(formula, fits[0], fits[1], z), few, strict=True)
        ]
    return pl.DataFrame(rows, schema=_SCHEMA)


def _coefficient_rows(formula: str, first: Fit, second: Fit, z: float) -> Iterator[dict[str, object]]:
    """Coefficients of the original with what the protected file says of them."""
    place = {name: i for i, name in enumerate(second.names)}
    for i, name in enumerate(first.names):
        row: dict[str, object] = {
            "model": formula,
            "coefficient": name,
            "original": float(first.estimates[i]),
            "original error": float(np.sqrt(first.variances[i])),
            "problem": "",
        }
        if name in place:
            j = place[name]
            row["protected"] = float(second.estimates[j])
            row["protected error"] = float(np.sqrt(second.variances[j]))
            row |= _agreement(row, z)
        else:
            row["problem"] = "has no coefficient in the protected file"
        yield row


_UNNAMED = {
    "coefficient": "(rests on few rows)", "original": None, "original error": None, "protected": None,
    "protected error": None,
}  # fmt: skip


_SCHEMA = {
    "model": pl.String, "coefficient": pl.String, "original": pl.Float64, "original error": pl.Float64,
    "protected": pl.Float64, "protected error": pl.Float64, "overlap": pl.Float64, "difference": pl.Float64,
    "same sign": pl.Boolean, "same significance": pl.Boolean, "problem": pl.String,
}  # fmt: skip


def _agreement(row: Mapping[str, object], z: float) -> dict[str, object]:
    a, sa = float(str(row["original"])), float(str(row["original error"]))
    b, sb = float(str(row["protected"])), float(str(row["protected error"]))
    if not (sa > 0 and sb > 0):
        return {}
    low, high = (np.array([x]) for x in (a - z * sa, a + z * sa))
    other = (np.array([x]) for x in (b - z * sb, b + z * sb))
    return {
        "overlap": float(ci_overlap(low, high, *other)[0]),
        "difference": (b - a) / sa,
        "same sign": bool((a > 0) == (b > 0)),
        "same significance": bool((abs(a) > z * sa) == (abs(b) > z * sb)),
    }


def chosen_models(
    pair: Pair, models: Mapping[str, Family] | Sequence[str] | None = None
) -> Mapping[str, Family]:
    """Formulas with their families: those given (a family that fits the response where none is), or a few defaults.

    Examples
    --------
    >>> data = {"y": [1.5, 2.5, 3.1, 4.0] * 10, "sex": ["f", "m"] * 20}
    >>> chosen_models(Pair(data, data), ["sex ~ y", "y ~ sex"])
    {'sex ~ y': 'binomial', 'y ~ sex': 'gaussian'}
    """
    if models is None:
        return default_models(pair)
    if isinstance(models, Mapping):
        return models
    families: dict[str, Family] = {}
    for text in [models] if isinstance(models, str) else models:
        response = Formula.parse(text).response.column
        number = response not in pair.original or pair.original[response].is_number
        families[text] = "gaussian" if number else "binomial"
    return families


def default_models(pair: Pair) -> dict[str, Family]:
    """A few regressions that anybody might run: numbers and yes/no columns on the columns that go with them.

    Examples
    --------
    >>> data = {"y": [1.5, 2.5, 3.1, 4.0] * 10, "sex": ["f", "m"] * 20}
    >>> default_models(Pair(data, data))
    {'`sex` ~ `y`': 'binomial', '`y` ~ `sex`': 'gaussian'}
    """
    usable = sorted(name for name in pair.columns if _size(pair, name) <= FEW_LEVELS)
    responses = [name for name in usable if pair.original[name].is_number or _size(pair, name) == 2]
    responses.sort(key=lambda name: (name not in pair.targets, name))
    models: dict[str, Family] = {}
    for response in responses[:MODELS]:
        others = [name for name in usable if name != response][:PREDICTORS]
        if others:
            text = f"`{response}` ~ {' + '.join(f'`{name}`' for name in others)}"
            models[text] = "gaussian" if pair.original[response].is_number else "binomial"
    return models


def _size(pair: Pair, name: str) -> int:
    """Levels of a category; 1 for a number that varies, many for a date or a constant."""
    vector = pair.original[name]
    if vector.column.kind is Kind.DATETIME or "`" in name:
        return FEW_LEVELS + 1
    values = vector.values
    if len(values) == 0 or np.all(values == values[0]):
        return FEW_LEVELS + 1
    return 1 if vector.is_number else len(np.unique(values))


@measure(
    name="model-agreement",
    title="Agreement of regressions",
    family="utility",
    meaning="Mean overlap of the confidence intervals of regression coefficients fitted to both files: 1 is the "
    "same, 0 or less has nothing in common.",
    better="higher",
    bounds=(0, 1),
    reference="Karr et al. 2006; Fössing, Drechsler 2024; synthpop: compare.fit.synds",
    default=False,
    sees_copy=True,
    weighs=True,
)
def model_agreement(pair: Pair, models: Mapping[str, Family] | Sequence[str] | None = None) -> Result:
    """Fit formulas to both files and compare the coefficients; intervals that are apart count as 0.

    Examples
    --------
    >>> data = {"y": [1.0, 2.1, 2.9, 4.2, 5.0, 6.1] * 5, "x": [1, 2, 3, 4, 5, 6] * 5}
    >>> model_agreement(Pair(data, data), ["y ~ x"]).value
    1.0
    """
    table = model_table(pair, chosen_models(pair, models))
    overlap = table["overlap"].drop_nulls().drop_nans()
    if len(overlap) == 0:
        why = table["problem"][0] if len(table) else "no column can be modelled"
        lost = table["problem"].str.contains("protected file").any()
        return Result(
            "model-agreement",
            0.0 if lost else float("nan"),
            f"No regression could be compared: {why}.",
            table=table,
            counts=WHOLE,
        )
    value = float(overlap.clip(0, None).mean())  # type: ignore[arg-type]
    signs = table["same sign"].drop_nulls()
    significance = table["same significance"].drop_nulls()
    apart = int((overlap <= 0).sum())
    return Result(
        name="model-agreement",
        value=value,
        sentence=f"Confidence intervals of {len(overlap)} coefficients overlap by {figure(100 * value, '%')} on "
        f"average; {apart} are apart, {int((~signs).sum())} change their sign, {int((~significance).sum())} their "
        "significance.",
        yardsticks={"the original itself": 1.0},
        values={
            "overlap, negatives kept": float(overlap.mean()),  # type: ignore[arg-type]
            "mean |difference| in standard errors": float(table["difference"].drop_nulls().abs().mean()),  # type: ignore[arg-type]
            "same sign": float(signs.mean()),  # type: ignore[arg-type]
            "same significance": float(significance.mean()),  # type: ignore[arg-type]
        },
        table=table,
        counts=WHOLE,
        chart=lambda: _coefficients(table),
    )


def _coefficients(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Estimates with intervals, in standard errors of the original around its estimate."""
    known = table.drop_nulls(["overlap", "original"]).with_columns(
        pl.format("{}: {}", "model", "coefficient").alias("name"),
        (pl.col("protected error") / pl.col("original error")).alias("ratio"),
    )
    middles = {
        "original": (pl.lit(0.0), pl.lit(1.96)),
        "protected": (pl.col("difference"), 1.96 * pl.col("ratio")),
    }
    parts = [
        known.select(
            "name",
            pl.lit(file).alias("file"),
            middle.alias("value"),
            (middle - half).alias("low"),
            (middle + half).alias("high"),
        )
        for file, (middle, half) in middles.items()
    ]
    colours = alt.Scale(domain=["original", "protected"], range=[ORIGINAL, PROTECTED])
    base = alt.Chart(pl.concat(parts).to_arrow()).encode(
        y=alt.Y("name:N", sort=None, title=None),
        color=alt.Color("file:N", title=None, scale=colours),
        yOffset=alt.YOffset("file:N"),
    )
    title = "difference from the original's estimate, in its standard errors"
    return alt.layer(
        base.mark_rule().encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q")),
        base.mark_point(filled=True, size=40).encode(x=alt.X("value:Q"), shape=alt.Shape("file:N")),
    ).properties(width=420)
