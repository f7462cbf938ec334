"""`regress`: a private regression from a formula: quantiles, means, or a yes or no."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.later import altair as alt
from dalenius.core.result import WHOLE, Result
from dalenius.data.schema import Schema
from dalenius.dp.budget import Accounting, Budget, Neighbours
from dalenius.dp.noise import FloatArray
from dalenius.dp.queries import Query
from dalenius.dp.regression import intervals
from dalenius.dp.regression.bounds import Reach
from dalenius.dp.regression.descents import adaptive_fit, stochastic_fit
from dalenius.dp.regression.design import Design, design_of, parse
from dalenius.dp.regression.gradient_norm import Box, drawn_fit
from dalenius.dp.regression.lines import drawn_lines
from dalenius.dp.regression.perturbed import noise_scale, perturbed_fit, ridge_needed
from dalenius.dp.regression.smoothing import KERNELS, Check, KernelName, LogLoss, Loss

if TYPE_CHECKING:
    import altair

Coefficients = tuple[FloatArray, FloatArray | None]
"""Coefficients in the data's units, and simulated ones around them."""
Family = Literal["quantile", "linear", "logistic"]
Mechanism = Literal["opm", "kng", "agd", "sgd"]
BANDWIDTH = 0.04
"""Bandwidth by default, in halves of the declared range of the response: a fiftieth of the range."""
FINEST = 1e-4
"""Smallest bandwidth, as a share of the declared range of the response."""
INTERVAL_SHARE = 0.3
"""Share of the budget that intervals cost."""
MOST_DELTA = 1e-3
"""Largest δ: with that chance a promise may not hold at all."""
MIDDLE = 0.1
TAILS = (
    "Away from the median the smoothing of the loss moves the fit, the intercept most of all: there the intervals hold "
    "the truth in fewer than 92 of 100 draws."
)
"""Said of quantiles further than this from the median; docs/private-fits.md has the simulation."""
WEAK = (
    "At this ε and number of records hardly anything is known of how sure the fit is: the intervals may hold the truth "
    "in fewer than 92 of 100 draws."
)
"""Said of quantiles whose released curvature does not stand out of its noise."""


@dataclass(frozen=True)
class Regression(Result):
    """A private regression: a result whose ``lines`` say what it predicts along each predictor, with bands."""

    lines: pl.DataFrame | None = field(default=None, repr=False)


def accounting_of(family: str, mechanism: str, delta: float) -> Accounting | None:
    """How a fit is accounted for.

    Examples
    --------
    >>> accounting_of("quantile", "opm", 0.0), accounting_of("quantile", "agd", 1e-6)
    (None, 'zcdp')
    """
    if (family == "linear" and delta > 0) or mechanism == "agd":
        return "zcdp"
    return None if delta == 0 else "approximate"


def regress(
    frame: Any, formula: str, *, epsilon: float, family: Family = "quantile", taus: Sequence[float] = (0.5,),
    delta: float = 0.0, mechanism: Mechanism = "opm", bandwidth: float | None = None,
    kernel: KernelName = "logistic", with_intervals: bool = True, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", contribution: int | None = None, ledger: str | Budget | None = None,
    output: str = "",
) -> Regression:  # fmt: skip
    """Coefficients of a regression, differentially private.

    Parameters
    ----------
    formula
        ``"income ~ age + sex"``: all columns declared in the schema, numbers with their bounds. The first level of a
        category is what its others are compared with.
    family
        "quantile" (one fit for each of ``taus``; the budget is shared equally), "linear" or "logistic".
    delta
        Above 0: Gaussian noise, and (ε, δ). Needed by "agd" and "sgd".
    mechanism
        "opm" (objective perturbation), "kng" (K-norm gradient on a grid, up to three coefficients), "agd" (adaptive
        descent, zCDP) or "sgd" (stochastic descent). A linear fit rests on noisy sums of products instead.
    bandwidth
        How far the loss of a quantile is rounded off, in the response's unit; default a fiftieth of its declared range.
    with_intervals
        Spend three tenths of the budget on 95 % intervals ("opm" and linear fits only); they are made from what is
        released, and nothing else.
    neighbours, contribution, schema, ledger, output
        As for `mean`.

    Returns
    -------
    A table with a row for each quantile and term: estimate, and the ends of its interval; and ``lines``, what the fit
    predicts along each predictor (numbers at 21 places between their bounds, the other predictors in the middle of
    theirs, categories at their first level).

    Examples
    --------
    >>> from dalenius.data import Column, Kind
    >>> schema = Schema((Column("age", Kind.INTEGER, bounds=(0, 100)),
    ...                  Column("pay", Kind.CONTINUOUS, bounds=(0, 1000)))).declare()
    >>> data = {"age": list(range(100)) * 200, "pay": [5.0 * age for age in range(100)] * 200}
    >>> fit = regress(data, "pay ~ age", epsilon=5.0, schema=schema)
    >>> fit.table["term"].to_list(), abs(fit.table["estimate"][1] - 5) < 1
    (['intercept', 'age'], True)
    """
    check_options(family, mechanism, delta, neighbours, taus, bandwidth, kernel)
    response, predictors = parse(formula)
    asked = Query.of(
        f"{family} regression of {response} on {', '.join(predictors) or 'nothing'}", frame,
        [response, *predictors], schema, epsilon, delta, neighbours, contribution, ledger, output,
        accounting_of(family, mechanism, delta),
    )  # fmt: skip
    design = design_of(asked.table, formula, yes_or_no=family == "logistic")
    if neighbours == "replace" and asked.table.rows < len(design.terms):
        raise DataError(
            f"{counted(asked.table.rows, 'record')} cannot carry {len(design.terms)} coefficients; use fewer predictors"
        )
    if mechanism == "sgd" and asked.budget.records != 1:
        raise OptionError("contribution is above 1; sgd is accounted for one record of a unit")
    if family == "quantile":
        check_bandwidth(bandwidth, 2 * design.reach)
    reach = Reach(design.row, 1.0, neighbours, asked.budget.records)
    asked.pay()
    ranged = with_intervals and (family == "linear" or mechanism == "opm")
    weak = False
    if family == "linear":
        fits = [_linear(asked, design, reach, ranged)]
    else:
        h = BANDWIDTH if bandwidth is None else bandwidth / design.reach
        losses: list[Loss] = [LogLoss()] if family == "logistic" else [Check(tau, h, kernel) for tau in taus]
        fits, weak = _fitted(asked, design, reach, losses, mechanism, ranged)
    levels: list[float | None] = [*taus] if family == "quantile" else [None]
    lines = drawn_lines(asked.table, formula, design, fits, levels, yes_or_no=family == "logistic")
    return _result(asked, [_table(design, *fit) for fit in fits], levels, mechanism, family, lines, weak)


def check_options(
    family: str, mechanism: str, delta: float, neighbours: str, taus: Sequence[float],
    bandwidth: float | None = None, kernel: str = "logistic",
) -> None:  # fmt: skip
    """All faults of the options at once."""
    faults = []
    if family not in ("quantile", "linear", "logistic"):
        faults.append(f"family is {family!r}; use quantile, linear or logistic")
    if mechanism not in ("opm", "kng", "agd", "sgd"):
        faults.append(f"mechanism is {mechanism!r}; use opm, kng, agd or sgd")
    if mechanism in ("agd", "sgd") and not delta > 0:
        faults.append(f"delta is {delta:g}; {mechanism} needs one above 0")
    if not 0 <= delta <= MOST_DELTA:
        faults.append(
            f"delta is {delta:g}; with that chance nothing is promised: use at most {MOST_DELTA:g} (1e-06 is usual)"
        )
    if mechanism == "kng" and delta > 0:
        faults.append(f"delta is {delta:g}; kng needs none: leave it out")
    if mechanism == "sgd" and neighbours != "replace":
        faults.append("neighbours is 'add-remove'; sgd is accounted for 'replace' only")
    if family == "quantile" and not taus:
        faults.append("taus is empty; name at least one quantile, such as 0.5")
    faults += [f"tau is {tau}; use a number above 0 and below 1" for tau in taus if not 0 < tau < 1]
    faults += [f"tau {tau} is named twice" for tau in dict.fromkeys(taus) if list(taus).count(tau) > 1]
    if bandwidth is not None and not 0 < bandwidth < math.inf:
        faults.append(f"bandwidth is {bandwidth:g}; use a number above 0")
    if kernel not in KERNELS:
        faults.append(f"kernel is {kernel!r}; use one of {', '.join(KERNELS)}")
    elif family == "quantile" and mechanism == "opm" and not Check(kernel=cast("KernelName", kernel)).smooth:
        faults.append(f"kernel is {kernel!r}; opm needs a smoother one: use logistic or gaussian")
    if faults:
        raise OptionError("; ".join(faults))


def check_bandwidth(bandwidth: float | None, whole: float) -> None:
    """Refuse a bandwidth that does not suit the declared range of the response: to be called before anything is paid.

    Examples
    --------
    >>> check_bandwidth(1e9, 100.0)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: bandwidth is 1e+09; the response's declared range is 100: use 0.01 to 100
    """
    if bandwidth is not None and not FINEST * whole <= bandwidth <= whole:
        raise OptionError(
            f"bandwidth is {bandwidth:g}; the response's declared range is {whole:g}: "
            f"use {FINEST * whole:g} to {whole:g}"
        )


def _linear(asked: Query, design: Design, reach: Reach, ranged: bool) -> Coefficients:
    """A fit from noisy sums of products of all columns."""
    released = intervals.release_moments(asked, np.column_stack([design.x, design.y]), reach, asked.whole)
    theta = intervals.linear_coefficients(released)
    draws = intervals.linear_draws(released, theta) if ranged else None
    return _back(design, theta, draws)


def _fitted(
    asked: Query, design: Design, reach: Reach, losses: Sequence[Loss], mechanism: str, ranged: bool
) -> tuple[list[Coefficients], bool]:
    """One fit for each loss and what its interval needs, at equal shares of the budget; whether that says little."""
    weak = False
    fits = (1 - INTERVAL_SHARE if ranged else 1.0) / len(losses)
    made = []
    for loss in losses:
        price, lost = fits * asked.whole, asked.budget.delta / len(losses)  # intervals need no δ
        theta = _theta(asked, design, reach, loss, mechanism, price, lost)
        draws = None
        if ranged:
            share = INTERVAL_SHARE / len(losses)
            curve, spread, wide = intervals.release_curvature(
                asked, design, reach, loss, theta, share * asked.whole
            )
            ridge, scale = ridge_needed(loss, reach, price), noise_scale(loss, reach, price, lost)
            law = asked.budget.accounting == "zcdp"
            least = float(np.linalg.eigvalsh(curve)[0])
            weak |= isinstance(loss, Check) and least < intervals.KNOWN * wide
            draws = intervals.perturbed_draws(
                theta, (curve, wide, law), spread, ridge, scale, gaussian=lost > 0,
                box=intervals.BOX if isinstance(loss, Check) else intervals.CERTAIN,
            )  # fmt: skip
        made.append(_back(design, theta, draws))
    return made, weak


def _theta(
    asked: Query, design: Design, reach: Reach, loss: Loss, mechanism: str, price: float, delta: float
) -> FloatArray:
    """Pay for one fit, and make it."""
    x, y, what = design.x, design.y, asked.what + (f", τ = {loss.tau:g}" if isinstance(loss, Check) else "")
    if mechanism == "agd":
        asked.budget.spend(what, rho=price, noise="adaptive descent")
        return adaptive_fit(
            x,
            y,
            loss,
            reach,
            rho=price,
            clip_gradient=loss.steepest * reach.row,
            clip_objective=2.0,
            longest=1.0,
        )
    asked.budget.spend(what, epsilon=price, delta=delta, noise=mechanism)
    if mechanism == "kng":
        return drawn_fit(x, y, loss, reach, Box.of(-intervals.BOX, intervals.BOX, x.shape[1]), epsilon=price)
    if (
        mechanism == "sgd"
    ):  # how many records have no gap is not public: the others count, and have no gradient
        gaps = asked.table.rows - len(y)
        rows, held = np.vstack([x, np.zeros((gaps, x.shape[1]))]), np.append(y, np.zeros(gaps))
        return stochastic_fit(rows, held, loss, reach, epsilon=price, delta=delta)
    return perturbed_fit(x, y, loss, reach, epsilon=price, delta=delta)


def _back(design: Design, theta: FloatArray, draws: FloatArray | None) -> Coefficients:
    """Coefficients in the data's units, and the simulated ones."""
    estimate = np.asarray(design.scale @ theta + design.shift)
    return estimate, None if draws is None else np.asarray(draws @ design.scale.T + design.shift)


def _table(design: Design, estimate: FloatArray, draws: FloatArray | None) -> pl.DataFrame:
    """Coefficients with the range of 95 % of the simulated ones."""
    made = {"term": list(design.terms), "estimate": estimate}
    if draws is not None:
        made |= {"low": np.quantile(draws, 0.025, axis=0), "high": np.quantile(draws, 0.975, axis=0)}
    return pl.DataFrame(made)


def _result(
    asked: Query, tables: Sequence[pl.DataFrame], taus: Sequence[float | None], mechanism: str, family: str,
    lines: pl.DataFrame, weak: bool,
) -> Regression:  # fmt: skip
    coded = [
        table if tau is None else table.insert_column(0, pl.Series("tau", [float(tau)] * table.height))
        for tau, table in zip(taus, tables, strict=True)
    ]
    table = pl.concat(coded)
    ranged = "low" in table.columns
    how = "noisy sums of products" if family == "linear" else mechanism
    tails = ranged and any(tau is not None and abs(tau - 0.5) > MIDDLE for tau in taus)
    said = (
        f"A private {asked.what} ({how}): {counted(table.height, 'coefficient')}"
        + (", with 95 % intervals made from what is released. " if ranged else ", without intervals. ")
        + (f"{TAILS} " if tails else "")
        + (f"{WEAK} " if weak else "")
        + (_outside(table) if ranged else "")
        + asked.guarantee
    )
    return Regression(
        "regression", float("nan"), said, table=table, counts=WHOLE, chart=lambda: _chart(table), lines=lines
    )


def _outside(table: pl.DataFrame) -> str:
    """A sentence where estimates lie outside their own intervals."""
    off = table.filter(~pl.col("estimate").is_between("low", "high")).height
    if not off:
        return ""
    return (
        f"{off} of {table.height} estimates lie outside their own interval: the fit is pulled towards the middle of "
        "the declared bounds, and the interval makes up for that; go by the interval. "
    )


def _chart(table: pl.DataFrame) -> altair.TopLevelMixin:
    """Coefficients with their intervals, a panel for each term, since terms have units of their own."""
    shown = table if "tau" in table.columns else table.with_columns(tau=pl.lit("mean"))
    shown = shown.with_columns(pl.col("tau").cast(pl.String).alias("quantile"))
    base = alt.Chart(shown).encode(x=alt.X("quantile:N", title="quantile"))
    points = base.mark_point(filled=True, size=60).encode(
        y=alt.Y("estimate:Q", title="coefficient", scale=alt.Scale(zero=False))
    )
    layers = [points]
    if "low" in shown.columns:
        layers.insert(0, base.mark_rule().encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")))
    return alt.layer(*layers).properties(width=140, height=160).facet("term:N", columns=4).resolve_scale(
        y="independent"
    )  # fmt: skip
