"""Propensity by ensembles of trees, cross-validated: how well a strong learner tells the files apart.

In-sample scores of a forest say nothing (it can remember every row), so rows are scored by models that did not see
them. An area under the curve of 0.5 means the files cannot be told apart; clearly below 0.5 means that protected rows
are copies of original ones, which the learner then finds in the wrong class (spec psd12, 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.utility.propensity.design import predictors
from dalenius.utility.propensity.scores import Scores, summarise

Learner = Literal["boosting", "forest"]
IMPORTANCE_ROWS = 1000
"""Rows per fold on which columns are shuffled to see what they are worth."""


@dataclass(frozen=True, eq=False)
class LearnerFit:
    """Out-of-fold scores of a learner; ``importance`` is the loss of AUC when a column is shuffled."""

    scores: AnyArray
    figures: Scores
    fold_auc: tuple[float, ...]
    importance: dict[str, float]


def learner_propensity(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    learner: Learner = "boosting",
    folds: int = 3,
    max_rows: int = 20_000,
    seed: Seed = 0,
) -> LearnerFit:
    """Score every row by a gradient-boosted or random forest that was fitted on the other folds.

    Files longer than ``max_rows`` are sampled, to bound the time.

    Examples
    --------
    >>> pair = Pair({"a": [i % 50 for i in range(200)]}, {"a": [100 + i % 50 for i in range(200)]})
    >>> learner_propensity(pair).figures.AUC > 0.95
    True
    """
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415 (loaded when asked for)
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    if learner not in get_args(Learner):
        raise OptionError(f"unknown learner {learner!r}; use one of {', '.join(get_args(Learner))}")
    x, t, owners = _matrix(pair, columns, max_rows, seed)
    if x.shape[1] == 0 or min(t.sum(), (~t).sum()) < folds:
        constant = np.full(len(t), float(t.mean()))
        return LearnerFit(constant, summarise(constant, t), (), {})
    scores = np.zeros(len(t))
    areas: list[float] = []
    losses = np.zeros(len(set(owners)))
    names = list(dict.fromkeys(owners))
    number = int(generator(seed, "propensity-folds").integers(0, 2**31))
    splits = StratifiedKFold(folds, shuffle=True, random_state=number).split(x, t)
    with threadpool_limits(1):  # one thread: the same figures everywhere, and no spinning on busy machines
        for fold, (train, test) in enumerate(splits):
            model = _model(learner, number + fold)
            model.fit(x[train], t[train])
            scores[test] = model.predict_proba(x[test])[:, 1]
            area = summarise(scores[test], t[test]).AUC
            areas.append(area)
            some = test[:: max(1, len(test) // IMPORTANCE_ROWS)]
            base = summarise(scores[some], t[some]).AUC
            for i, name in enumerate(names):
                shuffled = x[some].copy()
                mine = [j for j, owner in enumerate(owners) if owner == name]
                order = generator(seed, "shuffle", fold, i).permutation(len(some))
                shuffled[:, mine] = shuffled[order][:, mine]
                losses[i] += (base - summarise(model.predict_proba(shuffled)[:, 1], t[some]).AUC) / folds
    return LearnerFit(
        scores, summarise(scores, t), tuple(areas), dict(zip(names, losses.tolist(), strict=True))
    )


def _matrix(
    pair: Pair, columns: Sequence[str] | None, max_rows: int, seed: Seed
) -> tuple[AnyArray, AnyArray, list[str]]:
    parts = predictors(pair, columns)
    n, k = pair.original.rows, pair.protected.rows
    t = np.zeros(n + k, dtype=bool)
    t[:k] = True
    rows = [
        np.sort(generator(seed, "rows", side).permutation(size)[:max_rows]) + offset
        for side, size, offset in (("protected", k, 0), ("original", n, k))
    ]
    chosen = np.concatenate(rows)
    x = np.column_stack([p.values[chosen] for p in parts]) if parts else np.zeros((len(chosen), 0))
    return x.astype(np.float64), t[chosen], [p.column for p in parts]


def _model(learner: Learner, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415

    if learner == "forest":
        return RandomForestClassifier(100, min_samples_leaf=5, random_state=seed, n_jobs=1)
    return HistGradientBoostingClassifier(max_iter=50, max_depth=6, learning_rate=0.3, random_state=seed)
