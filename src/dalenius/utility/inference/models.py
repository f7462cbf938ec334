"""The models of analysts: linear, logistic, Poisson, multinomial and ordinal; estimates with their covariance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, xlogy

from dalenius.core.errors import DataError, OptionError
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.utility.inference.formula import Floats, Formula, codes_of, levels_of, number

Family = Literal["gaussian", "binomial", "poisson", "multinomial", "ordinal"]
STEPS = 60
FEW_WITH_LEVEL, FEW_WITH_NUMBER = 10, 3


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates of one model on one table.

    Examples
    --------
    >>> fit = fit_model("y ~ x", {"x": [1, 2, 3, 4], "y": [2.5, 3, 5, 4.5]})
    >>> fit.names, fit.estimates.round(3).tolist()
    (['(Intercept)', 'x'], [1.75, 0.8])
    """

    names: list[str]
    estimates: Floats
    covariance: Floats
    rows: int

    @property
    def variances(self) -> Floats:
        """Squared standard errors."""
        return np.diag(self.covariance)


def fit_model(
    formula: Formula | str, frame: object, family: Family = "gaussian", schema: Schema | None = None
) -> Fit:
    """Fit a model to the complete rows of a table.

    Parameters
    ----------
    formula
        Response and predictors, for example ``"smoker ~ sex + age"``.
    family
        "gaussian" (least squares), "binomial" (logistic; the first level of a category is 0), "poisson" (log link),
        "multinomial" (against the first level) or "ordinal" (proportional odds).
    schema
        Order of the levels; default: the table's own.
    """
    if family not in get_args(Family):
        raise OptionError(f"no family {family!r}; there are {', '.join(get_args(Family))}")
    model = Formula.parse(formula) if isinstance(formula, str) else formula
    table = Table.from_frame(frame)
    used = table.take(np.flatnonzero(model.complete(table)))
    names, x = model.matrix(used, schema)
    # a level without rows has no coefficient
    there = np.flatnonzero(x.any(axis=0))
    names, x = [names[i] for i in there], x[:, there]
    if len(x) <= len(names):
        raise DataError(f"formula: {len(x)} complete rows are too few for {len(names)} coefficients")
    vector = used[model.response.column]
    if family in ("gaussian", "poisson"):
        y = number(model.response, vector)
        return linear(names, x, y) if family == "gaussian" else likelihood(names, x, y, family)
    levels = levels_of(vector, schema)
    y = codes_of(vector, levels).astype(np.float64)
    if family == "binomial":
        return likelihood(names, x, (y > 0).astype(np.float64), family)
    return _several_classes(names, x, y.astype(np.int64), [str(level) for level in levels], family)


def rests_on_few(formula: str, table: Table, fit: Fit, schema: Schema | None = None) -> list[bool]:
    """Whether a coefficient of a fit tells the answers of a few rows.

    A coefficient of least squares is a weighted sum of the responses with weights c, and (Σ c²)² / Σ c⁴ the number of
    rows that would share it evenly: 1 where one person alone has the reference level. A level needs `FEW_WITH_LEVEL`
    rows, a number, whose tail weighs more, `FEW_WITH_NUMBER`.

    Examples
    --------
    >>> data = Table.from_frame({"y": [*range(40), 90], "g": ["a", "b"] * 20 + ["c"]})
    >>> rests_on_few("y ~ g", data, fit_model("y ~ g", data))
    [False, False, True]
    """
    model = Formula.parse(formula)
    names, x = model.matrix(table.take(np.flatnonzero(model.complete(table))), schema)
    inverse = np.linalg.pinv(x.T @ x)
    few = {}
    for i, name in enumerate(names):
        squares = (x @ inverse[i]) ** 2
        shared = float(np.sum(squares)) ** 2 / max(float(np.sum(squares**2)), 1e-300)
        level = bool(np.all((x[:, i] == 0) | (x[:, i] == 1)))
        rows = min(shared, int(np.count_nonzero(x[:, i])))
        few[name] = rows < FEW_WITH_LEVEL if level else shared < FEW_WITH_NUMBER
    # a multinomial coefficient is called "level:name"; cut points have names of their own
    return [few.get(name, few.get(name.partition(":")[2], any(few.values()))) for name in fit.names]


def linear(names: list[str], x: Floats, y: Floats) -> Fit:
    """Least squares by QR."""
    q, r = np.linalg.qr(x)
    _full_rank(r)
    beta = np.linalg.solve(r, q.T @ y)
    rss = float(np.sum((y - x @ beta) ** 2))
    root = np.linalg.inv(r)
    return Fit(names, beta, root @ root.T * (rss / (len(y) - x.shape[1])), len(y))


def likelihood(names: list[str], x: Floats, y: Floats, family: Family) -> Fit:
    """Maximum likelihood of a logistic or Poisson model by iterated weighted least squares.

    Starts and stops where R's ``glm`` does (deviance changes by less than 1e-8 of itself), so that figures agree with
    R to the last digits.
    """
    _full_rank(np.linalg.qr(x)[1])
    mean = (y + 0.5) / 2 if family == "binomial" else y + 0.1
    eta = np.log(mean / (1 - mean)) if family == "binomial" else np.log(mean)
    beta = np.zeros(x.shape[1])
    inverse: Floats = np.eye(x.shape[1])
    before = np.inf
    for _ in range(STEPS):
        weight = np.maximum(mean * (1 - mean) if family == "binomial" else mean, 1e-12)
        inverse = np.asarray(np.linalg.inv(x.T @ (x * weight[:, None])), np.float64)
        beta = inverse @ (x.T @ (weight * eta + (y - mean)))
        eta = np.clip(x @ beta, -30, 30)
        mean = expit(eta) if family == "binomial" else np.exp(eta)
        now = _deviance(y, mean, family)
        if abs(now - before) < 1e-8 * (abs(now) + 0.1):
            break
        before = now
    return Fit(names, beta, inverse, len(y))


def _deviance(y: Floats, mean: Floats, family: Family) -> float:
    if family == "binomial":
        return float(-2 * np.sum(xlogy(y, mean) + xlogy(1 - y, 1 - mean)))
    return float(2 * np.sum(xlogy(y, y) - xlogy(y, mean) - (y - mean)))


def _several_classes(names: list[str], x: Floats, y: Floats, levels: list[str], family: Family) -> Fit:
    with warnings.catch_warnings():  # statsmodels warns on import and when a start value is far off
        warnings.simplefilter("ignore")
        if family == "multinomial":
            from statsmodels.discrete.discrete_model import MNLogit  # noqa: PLC0415

            found = MNLogit(y, x).fit(disp=0, method="newton", maxiter=100)
            labels = [f"{level}:{name}" for level in levels[1:] for name in names]
            return Fit(labels, found.params.ravel(order="F"), np.asarray(found.cov_params()), len(y))
        from statsmodels.miscmodels.ordinal_model import OrderedModel  # noqa: PLC0415

        found = OrderedModel(y, x[:, 1:], distr="logit").fit(method="bfgs", disp=0, maxiter=500)
    slopes = x.shape[1] - 1
    estimate = np.asarray(found.params)
    steps = np.exp(estimate[slopes + 1 :])
    cuts = np.concatenate([[estimate[slopes]], estimate[slopes] + np.cumsum(steps)])
    # Cut points are sums of exponentials of the fitted parameters: the delta method carries the covariance over.
    jacobian = np.eye(len(estimate))
    for i in range(len(steps)):
        jacobian[slopes + 1 + i, slopes] = 1.0
        jacobian[slopes + 1 + i, slopes + 1 : slopes + 2 + i] = steps[: i + 1]
    covariance = jacobian @ np.asarray(found.cov_params()) @ jacobian.T
    labels = names[1:] + [f"{a}|{b}" for a, b in pairwise(levels)]
    return Fit(labels, np.concatenate([estimate[:slopes], cuts]), covariance, len(y))


def _full_rank(r: Floats) -> None:
    diagonal = np.abs(np.diag(r))
    if diagonal.size and diagonal.min() <= 1e-10 * diagonal.max():
        raise DataError(
            "formula: some coefficients cannot be told apart (a level without rows, or a column twice)"
        )
