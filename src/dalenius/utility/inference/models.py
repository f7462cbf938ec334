"""The models of analysts: estimates with their covariance, from the model or from the sampling design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.later import stats
from dalenius.data.design import Design
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.utility.inference.classes import Multinomial, NegativeBinomial, Ordinal
from dalenius.utility.inference.cox import solve_cox
from dalenius.utility.inference.equations import Solved
from dalenius.utility.inference.expressions import Floats
from dalenius.utility.inference.formula import INTERCEPT, Formula, codes_of, levels_of, values
from dalenius.utility.inference.glm import Link, full_rank, solve_glm

Family = Literal[
    "gaussian", "binomial", "poisson", "gamma", "quasibinomial", "quasipoisson", "negative-binomial", "multinomial",
    "ordinal", "cox",
]  # fmt: skip
CLASSES = ("binomial", "quasibinomial", "multinomial", "ordinal")
"""Families whose response is a category."""
FEW_WITH_LEVEL, FEW_WITH_NUMBER = 10, 3
Solver = Callable[[Floats | None], Solved]
"""From weights (None: all alike) to a solved model."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates of one model on one table.

    Attributes
    ----------
    rows
        Complete rows that it was fitted to.
    df
        Degrees of freedom that a sampling design leaves; infinite without one.
    design
        Whether the covariance is that of a sampling design.

    Examples
    --------
    >>> fit = fit_model("y ~ x", {"x": [1, 2, 3, 4], "y": [2.5, 3, 5, 4.5]})
    >>> fit.names, fit.estimates.round(3).tolist()
    (['(Intercept)', 'x'], [1.75, 0.8])
    >>> fit
    4 rows, every row alike
    (Intercept)  1.75 (standard error 0.887), 95 %: 0.0107 to 3.49
    x            0.8 (standard error 0.324), 95 %: 0.165 to 1.44
    """

    names: list[str]
    estimates: Floats
    covariance: Floats
    rows: int
    df: float = float("inf")
    design: bool = False

    @property
    def variances(self) -> Floats:
        """Squared standard errors."""
        return np.diag(self.covariance)

    @property
    def errors(self) -> Floats:
        """Standard errors."""
        return np.sqrt(self.variances)

    def __repr__(self) -> str:
        drawn = "errors of the design" if self.design else "every row alike"
        lines = lines_of(self.names, self.estimates, self.errors, self.interval())
        return "\n".join([f"{counted(self.rows, 'row')}, {drawn}", *lines])

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends."""
        reach = stats.t.ppf(0.5 + level / 2, self.df) * self.errors
        return self.estimates - reach, self.estimates + reach


def lines_of(names: list[str], estimates: Floats, errors: Floats, ends: tuple[Floats, Floats]) -> list[str]:
    """A line for each coefficient, as fits show themselves.

    Examples
    --------
    >>> lines_of(["x"], np.array([0.8]), np.array([0.1]), (np.array([0.6]), np.array([1.0])))
    ['x  0.8 (standard error 0.1), 95 %: 0.6 to 1']
    """
    wide = max(map(len, names), default=0)
    return [
        f"{name:<{wide}}  {value:.4g} (standard error {error:.3g}), 95 %: {low:.3g} to {high:.3g}"
        for name, value, error, low, high in zip(names, estimates, errors, *ends, strict=True)
    ]


def fit_model(
    formula: Formula | str, frame: Any, family: Family = "gaussian", schema: Schema | None = None, *,
    link: Link | None = None, design: Design | Literal["schema"] | None = "schema",
) -> Fit:  # fmt: skip
    """Fit a model to the complete rows of a table.

    Parameters
    ----------
    formula
        Response and predictors, for example ``"smoker ~ sex + age"``; ``Surv(time, event)`` on the left for cox.
    family
        "gaussian", "binomial" (the first level of a category is 0), "poisson", "gamma", "quasibinomial",
        "quasipoisson", "negative-binomial", "multinomial" (against the first level), "ordinal" (proportional odds) or
        "cox".
    schema
        Order of the levels; default: the table's own.
    link
        "identity", "log", "logit", "probit", "cloglog" or "inverse"; default: the family's usual one, as in R.
    design
        How the rows were drawn; default: what the roles of the table's schema say. Then rows count with their weights,
        and standard errors are those of the design. None: all rows alike.
    """
    if family not in get_args(Family):
        raise OptionError(f"no family {family!r}; there are {', '.join(get_args(Family))}")
    table = Table.from_frame(frame)
    model = (Formula.parse(formula) if isinstance(formula, str) else formula).settled(table)
    drawn = Design.of(table) if design == "schema" else design
    complete = model.complete(table)
    used = table.take(np.flatnonzero(complete))
    names, x = model.matrix(used, schema)
    # a level without rows has no coefficient
    there = np.flatnonzero(x.any(axis=0))
    names, x = [names[i] for i in there], x[:, there]
    if len(x) <= len(names):
        raise DataError(f"formula: {len(x)} complete rows are too few for {len(names)} coefficients")
    labels, solver = _solver(model, used, schema, family, link, names, x)
    if drawn is not None:
        return _designed(labels, solver, drawn, complete)
    if family == "gaussian" and link in (None, "identity") and not model.offsets:
        return linear(names, x, values(model.response, used))
    solved = solver(None)
    return Fit(labels, solved.estimates, solved.inverse * solved.dispersion, len(x))


def _designed(labels: list[str], solver: Solver, design: Design, complete: Any) -> Fit:
    """Weighted estimates, and their covariance by linearisation or by replicate weights.

    Rows that are not complete stay in the design and contribute nothing: the units are still those that were drawn.
    """
    rows = np.flatnonzero(complete)
    scale = len(rows) / max(float(design.weights[rows].sum()), 1e-300)
    solved = solver(design.weights[rows] * scale)
    scores = np.zeros((design.rows, len(labels)))
    scores[rows] = (design.weights[rows] * scale)[:, None] * solved.influence

    def estimate(weights: Floats) -> Floats:
        total = float(weights[rows].sum())
        return solver(weights[rows] * (len(rows) / max(total, 1e-300))).estimates

    covariance = design.covariance(scores, estimate)
    df = max(design.df - len(labels) + 1, 1.0)
    return Fit(labels, solved.estimates, covariance, len(rows), df, design=True)


def _solver(
    model: Formula, used: Table, schema: Schema | None, family: Family, link: Link | None, names: list[str], x: Floats
) -> tuple[list[str], Solver]:  # fmt: skip
    """Names of the parameters, and how they are found with some weights."""
    ones, offset = np.ones(len(x)), model.offset(used)
    if family in ("multinomial", "ordinal", "cox") and offset is not None:
        raise OptionError(f"family {family} takes no offset")
    if family == "cox":
        return _cox(model, used, names, x)
    if family in CLASSES:
        vector = used[model.response.column]
        levels = levels_of(vector, schema)
        y = codes_of(vector, levels)
        if family in ("binomial", "quasibinomial"):
            success = (y > 0).astype(np.float64)
            return names, lambda w: solve_glm(x, success, family, link, w, offset)
        words = [str(level) for level in levels]
        if family == "multinomial":
            several = Multinomial(x, y, len(levels))
            labels = [f"{level}:{name}" for level in words[1:] for name in names]
            return labels, lambda w: several.solve(ones if w is None else w)
        slopes = [i for i, name in enumerate(names) if name != INTERCEPT]
        odds = Ordinal(x[:, slopes], y, len(levels))
        labels = [names[i] for i in slopes] + [f"{a}|{b}" for a, b in pairwise(words)]
        return labels, lambda w: odds.solve(ones if w is None else w)
    amounts = values(model.response, used)
    if family == "negative-binomial":
        counts = NegativeBinomial(x, amounts, np.zeros(len(x)) if offset is None else offset)
        return [*names, "alpha"], lambda w: counts.solve(ones if w is None else w)
    return names, lambda w: solve_glm(x, amounts, family, link, w, offset)


def _cox(model: Formula, used: Table, names: list[str], x: Floats) -> tuple[list[str], Solver]:
    if model.response.function != "Surv":
        raise OptionError("family cox: write the times as 'Surv(time, event) ~ …'")
    time, event = (used[name] for name in model.response.columns)
    happened = (event.floats() if event.is_number else event.data.astype(np.float64)) > 0
    kept = [i for i, name in enumerate(names) if name != INTERCEPT]
    own = x[:, kept]
    return [names[i] for i in kept], lambda w: solve_cox(own, time.floats(), happened, w)


def rests_on_few(formula: str | Formula, table: Table, fit: Fit, schema: Schema | None = None) -> list[bool]:
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
    model = (Formula.parse(formula) if isinstance(formula, str) else formula).settled(table)
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
    full_rank(r)
    beta = np.linalg.solve(r, q.T @ y)
    rss = float(np.sum((y - x @ beta) ** 2))
    root = np.linalg.inv(r)
    return Fit(names, beta, root @ root.T * (rss / (len(y) - x.shape[1])), len(y))
