"""Propensity scores by one classification tree, and its null.

A tree finds interactions that a main-effects model cannot see. There is no formula for its null, so it is simulated:

``resample``
    rows drawn from the original with replacement stand in for the protected file: what a model that fits the original
    perfectly would give. Numbers that occur once are spread evenly up to half way to their neighbours, because a model
    does not repeat them. This is the default: it needs no halving and holds for files of any size.
``permutation``
    labels are permuted. That makes both files random where a synthesis makes only one, so the mean is multiplied by
    1 − c, which halves it at equal sizes (Raab 2022; synthpop does the same).
``pairs``
    with several protected files, each is told from each other; halved for the same reason (`pairs_null`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.option import at_least
from dalenius.core.random import Seed, generator
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray, BoolArray
from dalenius.utility.propensity.design import predictors
from dalenius.utility.propensity.scores import Scores, summarise
from dalenius.utility.propensity.tree.grow import (
    COMPLEXITY,
    LEAF,
    Growth,
    Rule,
    Stacked,
    grow,
    grow_to_depth,
    weighed,
)
from dalenius.utility.propensity.tree.redraw import Redrawing

Null = Literal["resample", "permutation"]
FEWEST, PRECISE = 5, 0.05
"""The null has been simulated often enough after five trees when its standard error is below 5 %."""


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A fitted propensity tree and its null.

    ``null`` is the expected pMSE of a correct model, ``null_error`` its standard error, ``unsplit`` how many trees
    of the null found nothing to split on.
    """

    scores: AnyArray = field(repr=False)
    figures: Scores
    leaves: int
    S_pMSE: float
    null: float
    null_error: float
    repeats: int
    unsplit: int
    importance: dict[str, float]


def tree_propensity(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    null: Null = "resample",
    repeats: int = 20,
    complexity: float = COMPLEXITY,
    minbucket: int = LEAF,
    growth: Growth = "balanced",
    depth: int | None = None,
    seed: Seed = 0,
) -> TreeFit:
    """Fit the probability that a row is protected by a classification tree.

    Parameters
    ----------
    columns
        Predictors; default: all that can be compared.
    null, repeats
        How the null is simulated (see the top of this file) and how often at most: it stops when its standard error is
        below 5 %; 0 leaves S_pMSE out.
    complexity, minbucket
        Share of the root's misclassified rows that a split must save (rpart's ``cp``), and rows of the smallest leaf;
        a node of fewer than three times as many is not split.
    growth
        ``rpart`` grows R's tree to the last digit: every row counts alike and a root that no column can split stays
        whole. ``balanced`` counts both files alike whatever their sizes and looks one step further at the root.
    depth
        Split wherever possible down to this depth instead, without pruning (NIST's benchmark: 6). Such a tree has no
        null here.

    Examples
    --------
    >>> pair = Pair({"a": ["A"] * 30 + ["B"] * 70}, {"a": ["A"] * 50 + ["B"] * 50})
    >>> round(tree_propensity(pair, repeats=0).figures.pMSE, 10)
    0.0104166667
    >>> tree_propensity(pair, depth=6).leaves
    2
    """
    at_least("repeats", repeats, 0)
    if depth is not None:
        at_least("depth", depth, 1)
    n, k = pair.original.rows, pair.protected.rows
    t = np.zeros(n + k, dtype=bool)
    t[:k] = True
    rule = Rule(complexity, minbucket, growth)
    parts = predictors(pair, columns)
    if not parts:
        constant = np.full(n + k, k / (n + k))
        return TreeFit(constant, summarise(constant, t), 1, 0.0, 0.0, 0.0, 0, 0, {})
    data = Stacked.of(parts)
    nulls: list[float] = []
    unsplit = 0
    if depth is not None:
        tree = grow_to_depth(data, t, depth)
    else:
        tree = grow(data, weighed(t), rule)
        nulls, unsplit = simulate_null(data, t, null, repeats, rule, seed)
    scores = tree.scores(n + k)
    figures = summarise(scores, t)
    expected = float(np.mean(nulls)) if nulls else float("nan")
    spread = float(np.std(nulls, ddof=1) / np.sqrt(len(nulls))) if len(nulls) > 1 else float("nan")
    return TreeFit(
        scores, figures, len(tree.leaves), _ratio(figures.pMSE, expected, n, k), expected, spread, len(nulls), unsplit,
        _shares(data.owners, tree.gains),
    )  # fmt: skip


def _shares(owners: Sequence[str], gains: AnyArray) -> dict[str, float]:
    """Each column's share of all Gini decrease."""
    shares: dict[str, float] = {}
    for owner, gain in zip(owners, gains, strict=True):
        shares[owner] = shares.get(owner, 0.0) + float(gain) / max(float(gains.sum()), 1e-300)
    return shares


def simulate_null(
    data: Stacked, t: BoolArray, null: Null, repeats: int, rule: Rule, seed: Seed
) -> tuple[list[float], int]:
    """Values of pMSE under the null, and how many of the trees did not split."""
    if null not in get_args(Null):
        raise OptionError(f"unknown null {null!r}; use one of {', '.join(get_args(Null))}")
    k = int(t.sum())
    n = len(t) - k
    again = Redrawing.of(data, k) if repeats and null == "resample" else None
    values, unsplit = [], 0
    for i in range(repeats):
        rng = generator(seed, "propensity-tree", null, i)
        if again is None:
            tree = grow(data, weighed(rng.permutation(t)), rule)
            factor = n / (n + k)
        else:
            drawn = again.draw(k, rng)
            tree = grow(drawn.data, drawn.weights(n), rule)
            factor = 1.0
        values.append(factor * tree.pmse(k / (n + k)))
        unsplit += len(tree.leaves) == 1
        if i + 1 >= FEWEST and np.std(values, ddof=1) < PRECISE * np.mean(values) * np.sqrt(i + 1):
            break
    return values, unsplit


def pairs_null(files: Sequence[Pair], complexity: float = COMPLEXITY) -> float:
    """Expected pMSE of a correct model from several protected files of one original: half the mean over pairs.

    Two protected files differ by two sampling errors, a protected file and the original by one.

    Examples
    --------
    >>> original = {"a": ["x", "y"] * 50}
    >>> files = [Pair(original, {"a": ["x"] * share + ["y"] * (100 - share)}) for share in (40, 50, 70)]
    >>> round(pairs_null(files), 6)
    0.005945
    """
    if len(files) < 2:
        raise OptionError("a null from pairs needs two or more protected files of one original")
    values = []
    for one, other in combinations(files, 2):
        both = Pair(one.protected, other.protected)
        values.append(tree_propensity(both, one.columns, repeats=0, complexity=complexity).figures.pMSE)
    return float(np.mean(values)) / 2


def _ratio(pmse: float, null: float, n: int, k: int) -> float:
    """PMSE over its null; when no tree of the null split, the null of a single split stands in."""
    if np.isnan(null):
        return float("nan")
    share = k / (n + k)
    floor = share * (1 - share) ** 2 / (n + k)
    return pmse / (null if null > 0 else floor)
