"""Propensity scores by logistic regression, and their null by formula (Snoke, Raab et al. 2018).

Iteratively reweighted least squares started and stopped as R's ``glm`` does, so that the figures agree with synthpop's
``utility.gen`` also where the likelihood has no maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray, IntArray
from dalenius.utility.propensity import _kernels
from dalenius.utility.propensity.design import Design, build, predictors
from dalenius.utility.propensity.scores import Scores, summarise

TOLERANCE = 1e-8
ROUNDS = 200
ALIASED = 1e-9
"""A column is aliased when less than this share of its squares is left once the columns before it are taken out."""


@dataclass(frozen=True, eq=False)
class LogitFit:
    """A fitted propensity model.

    ``S_pMSE`` is pMSE divided by its expectation ``df c (1 − c)² / N`` for a correct model, ``z`` the same difference
    in standard deviations of the null.
    """

    scores: AnyArray = field(repr=False)
    figures: Scores
    df: int
    S_pMSE: float
    z: float
    rounds: int
    importance: dict[str, float]


def logit_propensity(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    order: int = 0,
    grouped: bool = False,
    random_size: bool = False,
    max_params: int = 400,
    max_levels: int | None = None,
    aggregated: bool = False,
) -> LogitFit:
    """Fit the probability that a row is protected by logistic regression.

    Parameters
    ----------
    columns
        Predictors; default: all that can be compared.
    order
        0 for main effects, 1 for all two-way interactions as well, and so on.
    grouped
        Numbers in the pair's groups instead of as they are.
    random_size
        The protected size was itself drawn (synthpop: ``k.syn``): c = ½ and one more degree of freedom.
    max_params
        Refuse larger models.
    max_levels
        Pool the rarest levels of columns with more levels.
    aggregated
        Start where R starts when equal rows are fitted as one weighted row (synthpop: ``aggregate``). The maximum is
        the same; the figures differ only where the likelihood has none.

    Examples
    --------
    >>> pair = Pair({"a": ["A"] * 30 + ["B"] * 70}, {"a": ["A"] * 50 + ["B"] * 50})
    >>> fit = logit_propensity(pair)
    >>> round(fit.figures.pMSE, 10), round(fit.S_pMSE, 4)
    (0.0104166667, 16.6667)
    """
    parts = predictors(pair, columns, grouped=grouped, max_levels=max_levels)
    n, k = pair.original.rows, pair.protected.rows
    t = np.zeros(n + k, dtype=bool)
    t[:k] = True
    if not parts:
        constant = np.full(n + k, k / (n + k))
        return LogitFit(constant, summarise(constant, t), 0, 0.0, 0.0, 0, {})
    design = build(parts, order, n + k, max_params)
    probability, beta, rank, rounds = fit(design, t, _alike(design, t) if aggregated else None)
    share = 0.5 if random_size else k / (n + k)
    df = rank if random_size else rank - 1
    figures = summarise(probability, t, share)
    null = share * (1 - share) ** 2 / (n + k)
    standardised = figures.pMSE / (df * null) if df else 0.0
    z = (figures.pMSE - df * null) / (np.sqrt(2 * df) * null) if df else 0.0
    return LogitFit(probability, figures, df, standardised, float(z), rounds, _importance(design, beta))


def fit(design: Design, t: AnyArray, alike: AnyArray | None = None) -> tuple[AnyArray, AnyArray, int, int]:
    """Fitted probabilities, coefficients, rank and rounds.

    ``alike`` says how many rows each row stands with in an aggregated fit, which decides where R starts: at
    (w y + ½) / (w + 1) with weight w.
    """
    y = t.astype(np.float64)
    w = np.ones(len(y)) if alike is None else alike
    mu = (w * y + 0.5) / (w + 1)
    eta = np.log(mu / (1 - mu))
    deviance = _deviance(y, mu)
    beta = np.zeros(design.size)
    free: IntArray | None = None
    rounds = 0
    for _ in range(ROUNDS):
        rounds += 1
        weight = np.maximum(mu * (1 - mu), np.finfo(np.float64).eps)
        gram, right = _kernels.normal_equations(
            design.columns, design.values, design.place, weight, eta + (y - mu) / weight, design.size
        )
        gram = gram + np.tril(gram, -1).T
        if free is None:  # the first weights lie close together, so this is the rank of the design itself
            free = independent(gram)
        beta[:] = 0.0
        beta[free] = _solve(gram[np.ix_(free, free)], right[free])
        eta = _kernels.linear_predictor(design.columns, design.values, design.place, beta)
        mu = _logistic(eta)
        new = _deviance(y, mu)
        done = abs(new - deviance) / (abs(new) + 0.1) < TOLERANCE
        deviance = new
        if done:
            break
    return mu, beta, 0 if free is None else len(free), rounds


def _alike(design: Design, t: AnyArray) -> AnyArray:
    """How many rows of the same file have the same predictors, for each row."""
    rows = np.column_stack([design.columns, design.values, t])
    _, place, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(count[place.ravel()].astype(np.float64))


def independent(gram: AnyArray) -> IntArray:
    """Columns that are not combinations of those before them (a Cholesky factor that skips).

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> independent(x.T @ x).tolist()
    [0, 1]
    """
    size = len(gram)
    factor = np.zeros((size, size))
    kept: list[int] = []
    for j in range(size):
        along = gram[j, kept]
        row = linalg.solve_triangular(factor[: len(kept), : len(kept)], along, lower=True) if kept else along
        left = gram[j, j] - float(row @ row)
        if gram[j, j] > 0 and left > ALIASED * gram[j, j]:
            factor[len(kept), : len(kept)] = row
            factor[len(kept), len(kept)] = np.sqrt(left)
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _solve(gram: AnyArray, right: AnyArray) -> AnyArray:
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    scaled = gram * scale[:, None] * scale
    try:
        solution = linalg.cho_solve(linalg.cho_factor(scaled, lower=True), right * scale)
    except linalg.LinAlgError:
        solution = linalg.lstsq(scaled, right * scale)[0]
    return np.asarray(solution * scale)


def _logistic(eta: AnyArray) -> AnyArray:
    limit = 30.0  # R's bound: beyond it a probability is 0 or 1 to machine precision
    return np.asarray(1 / (1 + np.exp(-np.clip(eta, -limit, limit))))


def _deviance(y: AnyArray, mu: AnyArray) -> float:
    return float(-2 * np.sum(np.log(np.where(y > 0, mu, 1 - mu))))


def _importance(design: Design, beta: AnyArray) -> dict[str, float]:
    """Share of the variance of the linear predictor that the terms of each column carry."""
    importance: dict[str, float] = {}
    for t in range(1, len(design.names)):
        column = design.columns[:, t]
        part = np.where(column >= 0, beta[np.maximum(column, 0)], 0.0)
        if design.place[t] >= 0:
            part = part * design.values[:, design.place[t]]
        for owner in design.owners[t]:
            importance[owner] = importance.get(owner, 0.0) + float(part.var()) / len(design.owners[t])
    total = sum(importance.values())
    return {name: value / total if total > 0 else 0.0 for name, value in importance.items()}
