"""Propensity by ensembles of trees, cross-validated: how well a strong learner tells the files apart.

In-sample scores of a forest say nothing (it can remember every row), so rows are scored by models that did not see
them. An area under the curve of 0.5 means the files cannot be told apart; clearly below 0.5 means that protected rows
are copies of original ones, which the learner then finds in the wrong class (Fössing and Drechsler 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.option import at_least
from dalenius.core.random import Seed, generator
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray, BoolArray
from dalenius.utility.propensity.design import predictors
from dalenius.utility.propensity.scores import Scores, summarise
from dalenius.utility.propensity.tree.grow import Stacked
from dalenius.utility.propensity.tree.redraw import Redrawing

Learner = Literal["boosting", "forest"]
IMPORTANCE_ROWS = 1000
"""Rows per fold on which columns are shuffled to see what they are worth."""


@dataclass(frozen=True, eq=False)
class LearnerFit:
    """Out-of-fold scores of a learner; ``importance`` is the loss of AUC when a column is shuffled.

    ``S_pMSE`` is pMSE divided by ``null``, its mean over simulated files of a correct model (NaN without any).
    """

    scores: AnyArray = field(repr=False)
    figures: Scores
    fold_auc: tuple[float, ...]
    importance: dict[str, float]
    S_pMSE: float = float("nan")
    null: float = float("nan")


def learner_propensity(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    learner: Learner = "boosting",
    folds: int = 3,
    max_rows: int = 20_000,
    repeats: int = 0,
    seed: Seed = 0,
) -> LearnerFit:
    """Score every row by a gradient-boosted or random forest that was fitted on the other folds.

    Files longer than ``max_rows`` are sampled, to bound the time. With ``repeats`` the null is simulated: rows of the
    original drawn again stand in for the protected file. (Permuted labels would not do: on rows a learner has not seen
    there is no fit to the noise that could be halved; trials gave a mean of 1.35 for a correct model.)

    Examples
    --------
    >>> pair = Pair({"a": [i % 50 for i in range(200)]}, {"a": [100 + i % 50 for i in range(200)]})
    >>> learner_propensity(pair).figures.AUC > 0.95
    True
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 (loaded when asked for)

    if learner not in get_args(Learner):
        raise OptionError(f"unknown learner {learner!r}; use one of {', '.join(get_args(Learner))}")
    for name, value, least in (("folds", folds, 2), ("max_rows", max_rows, 1), ("repeats", repeats, 0)):
        at_least(name, value, least)
    data, t = _stacked(pair, columns, max_rows, seed)
    if data is None or min(t.sum(), (~t).sum()) < folds:
        constant = np.full(len(t), float(t.mean()))
        return LearnerFit(constant, summarise(constant, t), (), {})
    trial = _Trial(learner, folds, int(generator(seed, "propensity-folds").integers(0, 2**31)), seed)
    with threadpool_limits(1):  # one thread: the same figures everywhere, and no spinning on busy machines
        names = list(dict.fromkeys(data.owners))
        scores, areas, losses = trial.run(data, t, names)
        nulls = [trial.null(data, t, i) for i in range(repeats)]
    figures = summarise(scores, t)
    expected = float(np.mean(nulls)) if nulls else float("nan")
    importance = dict(zip(names, losses.tolist(), strict=True))
    standardised = figures.pMSE / expected if expected > 0 else float("nan")
    return LearnerFit(scores, figures, tuple(areas), importance, standardised, expected)


@dataclass(frozen=True)
class _Trial:
    """One learner, cross-validated."""

    learner: Learner
    folds: int
    number: int
    seed: Seed

    def run(
        self, data: Stacked, t: BoolArray, names: Sequence[str] = ()
    ) -> tuple[AnyArray, list[float], AnyArray]:
        """Out-of-fold scores, the area of each fold, and what each named column is worth."""
        from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

        x = data.numbers()
        scores, areas, losses = np.zeros(len(t)), [], np.zeros(len(names))
        splits = StratifiedKFold(self.folds, shuffle=True, random_state=self.number).split(x, t)
        for fold, (train, test) in enumerate(splits):
            model = _model(self.learner, self.number + fold)
            model.fit(x[train], t[train])
            scores[test] = model.predict_proba(x[test])[:, 1]
            areas.append(summarise(scores[test], t[test]).AUC)
            some = test[:: max(1, len(test) // IMPORTANCE_ROWS)]
            base = summarise(scores[some], t[some]).AUC if names else 0.0
            for i, name in enumerate(names):
                mine = [j for j, owner in enumerate(data.owners) if owner == name]
                shuffled = x[some].copy()
                order = generator(self.seed, "shuffle", fold, i).permutation(len(some))
                shuffled[:, mine] = shuffled[order][:, mine]
                lost = base - summarise(model.predict_proba(shuffled)[:, 1], t[some]).AUC
                losses[i] += lost / self.folds
        return scores, areas, losses

    def null(self, data: Stacked, t: BoolArray, i: int) -> float:
        """Figure pMSE of one simulated file of a correct model."""
        k = int(t.sum())
        drawn = Redrawing.of(data, k).draw(k, generator(self.seed, "propensity-learner", i))
        scores, _, _ = self.run(drawn.stacked(len(t) - k), t)
        return float(np.mean((scores - k / len(t)) ** 2))


def _stacked(
    pair: Pair, columns: Sequence[str] | None, max_rows: int, seed: Seed
) -> tuple[Stacked | None, BoolArray]:
    """Predictors of some rows of both files, protected first, and which rows are protected."""
    parts = predictors(pair, columns)
    n, k = pair.original.rows, pair.protected.rows
    rows = [
        np.sort(generator(seed, "rows", side).permutation(size)[:max_rows]) + offset
        for side, size, offset in (("protected", k, 0), ("original", n, k))
    ]
    chosen = np.concatenate(rows)
    t = chosen < k
    return (Stacked.of([p.some(chosen) for p in parts]) if parts else None), t


def _model(learner: Learner, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415

    if learner == "forest":
        return RandomForestClassifier(100, min_samples_leaf=5, random_state=seed, n_jobs=1)
    return HistGradientBoostingClassifier(max_iter=50, max_depth=6, learning_rate=0.3, random_state=seed)
