"""Machine learning: train on the protected file, test on real rows, and see who pays for the loss.

Real test rows are the holdout when there is one, otherwise a part of the original, which flatters a file made from all
of it (said in the sentence). The penalty is (real score − protected score) / real score, never below 0 (as in the
SynDiffix paper).
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.option import one_of
from dalenius.core.random import Seed, generator
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.utility.charts import two_files
from dalenius.utility.conditionals import FEWEST

Learner = Literal["linear", "tree", "boosting"]
LEARNERS: tuple[Learner, ...] = ("linear", "tree", "boosting")
TARGETS = 3
ROWS = 10_000
FEW_LEVELS = 12
KEPT = 64
"""Predictions that are kept: those of the original are needed again for the next file."""


def learning_table(
    pair: Pair,
    targets: Sequence[str] | None = None,
    *,
    learners: Sequence[Learner] = LEARNERS,
    subgroup: str | None = None,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Scores of learners trained on original and on protected rows, both tested on the same real rows.

    Categories are scored by macro F1 of classifiers, numbers by R² of regressions (below 0 counts as 0). With a
    subgroup column the scores are also given for each of its levels with ten or more test rows: who bears the loss.
    A protected file that there is nothing to learn from is scored by always guessing its mean or commonest category.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 100, "b": ["u", "v"] * 100}
    >>> learning_table(Pair(data, data), ["b"], learners=["tree"])["penalty"].to_list()
    [0.0]
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 (loaded when asked for)

    for learner in learners:
        one_of("learner", learner, LEARNERS)
    train, test = real_rows(pair, seed)
    other = at_most(pair.protected, ROWS, seed, "protected")
    rows = []
    with threadpool_limits(1):
        for target in targets if targets is not None else default_targets(pair):
            for learner in learners:
                rows += _scores(pair, (train, other, test), target, learner, subgroup)
    schema = {"target": pl.String, "learner": pl.String, "group": pl.String, "rows": pl.Int64}
    return pl.DataFrame(
        rows, schema=schema | {"original": pl.Float64, "protected": pl.Float64, "penalty": pl.Float64}
    )


def _scores(
    pair: Pair, files: tuple[Table, Table, Table], target: str, learner: Learner, subgroup: str | None
) -> list[dict[str, Any]]:
    """Scores of one learner on one target, overall and by group; none where the original tells nothing."""
    train, other, test = files
    others = sorted(name for name in pair.columns if name != target)
    real = _predict(pair, train, test, target, others, learner)
    if real is None:
        return []
    made = _predict(pair, other, test, target, others, learner)
    number = pair.original[target].is_number
    truth = response_of(pair, test, target)
    guesses = (real, _guess(pair, other, test, target) if made is None else made)
    rows = []
    for group, chosen in _groups(test, subgroup):
        scores = [_score(truth[chosen], one[chosen], number) for one in guesses]
        rows.append(
            {"target": target, "learner": learner, "group": group, "rows": int(chosen.sum()),
             "original": scores[0], "protected": scores[1], "penalty": _penalty(*scores)}
        )  # fmt: skip
    return rows


def default_targets(pair: Pair) -> list[str]:
    """Columns worth predicting: the targets of the schema, then categories with few levels, then numbers."""

    def varies(name: str) -> bool:
        size = len(np.unique(pair.original[name].values))
        return size > 1 and (pair.original[name].is_number or size <= FEW_LEVELS)

    usable = [name for name in pair.columns if varies(name)]
    usable.sort(key=lambda name: (name not in pair.targets, pair.original[name].is_number, name))
    return usable[:TARGETS]


def real_rows(pair: Pair, seed: Seed) -> tuple[Table, Table]:
    """Original rows to train on and real rows to test on: the holdout, or three tenths of the original.

    Examples
    --------
    >>> train, test = real_rows(Pair({"a": list(range(100))}, {"a": [1]}), 0)
    >>> train.rows, test.rows
    (70, 30)
    """
    if pair.holdout is not None and pair.holdout.rows >= 50:
        return at_most(pair.original, ROWS, seed, "train"), at_most(pair.holdout, ROWS, seed, "test")
    order = generator(seed, "split").permutation(pair.original.rows)
    cut = max(1, int(0.7 * len(order)))
    train, test = np.sort(order[:cut][:ROWS]), np.sort(order[cut:][:ROWS])
    return pair.original.take(train), pair.original.take(test if len(test) else train)


def at_most(table: Table, rows: int, seed: Seed, name: str) -> Table:
    """The table, or so many of its rows drawn at random.

    Examples
    --------
    >>> at_most(Table.from_frame({"a": list(range(100))}), 20, 1, "train").rows
    20
    """
    if table.rows <= rows:
        return table
    return table.take(np.sort(generator(seed, "sample", name).permutation(table.rows)[:rows]))


def feature_matrix(pair: Pair, table: Table, columns: Sequence[str]) -> AnyArray:
    """Numbers as they are (gaps by the original's median and a flag), categories one by one or, when many, as codes.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "x"]}, {"a": ["x"]})
    >>> feature_matrix(pair, pair.original, ["a"]).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    parts: list[AnyArray] = []
    for name in columns:
        vector = table[name]
        if vector.is_number:
            own = pair.original[name].floats()
            own = own[np.isfinite(own)]
            middle, spread = (float(np.median(own)), float(np.std(own))) if len(own) else (0.0, 1.0)
            floats = vector.floats()
            gap = ~np.isfinite(floats)
            parts += [(np.where(gap, middle, floats) - middle) / (spread or 1.0), gap.astype(np.float64)]
        else:
            code = {level: i for i, level in enumerate(pair.original[name].levels)}
            lookup = np.array([code.get(level, -1) for level in vector.levels] or [-1])
            codes = np.where(vector.present, lookup[vector.data], -1)
            if len(code) <= FEW_LEVELS:
                parts += [(codes == i).astype(np.float64) for i in range(len(code))]
            else:
                parts.append(codes / len(code))
    return np.stack(parts, axis=1) if parts else np.zeros((table.rows, 1))


def _predict(
    pair: Pair, train: Table, test: Table, target: str, others: Sequence[str], learner: Learner
) -> AnyArray | None:
    """Prediction for the test rows; None where there is nothing to learn."""
    number = pair.original[target].is_number
    y = response_of(pair, train, target)
    known = np.isfinite(y) if number else y >= 0
    if known.sum() < 10 or len(np.unique(y[known])) < 2:
        return None
    return _learnt(
        learner,
        number,
        feature_matrix(pair, train, others)[known],
        y[known],
        feature_matrix(pair, test, others),
    )


_KEPT: OrderedDict[bytes, AnyArray] = OrderedDict()


def _learnt(learner: Learner, number: bool, x: AnyArray, y: AnyArray, test: AnyArray) -> AnyArray:
    """What a learner says of the test rows; kept, because files that are compared have the same original."""
    shape = f"{learner} {number} {x.shape} {y.dtype}".encode()
    parts = (shape, *(np.ascontiguousarray(array).tobytes() for array in (x, y, test)))
    key = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()
    if key not in _KEPT:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a learner that stopped early is still a learner
            _KEPT[key] = np.asarray(_model(learner, number).fit(x, y).predict(test))
        while len(_KEPT) > KEPT:
            _KEPT.popitem(last=False)
    return _KEPT[key]


def _guess(pair: Pair, train: Table, test: Table, target: str) -> AnyArray:
    """The same for every test row: the mean, or the commonest category, of what the file has."""
    y = response_of(pair, train, target)
    if pair.original[target].is_number:
        known = y[np.isfinite(y)]
        return np.full(test.rows, known.mean() if len(known) else 0.0)
    known = y[y >= 0]
    return np.full(test.rows, np.bincount(known).argmax() if len(known) else -1)


def response_of(pair: Pair, table: Table, target: str) -> AnyArray:
    """Values of the target, NaN or −1 where there is none.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", None]}, {"a": ["x"]})
    >>> response_of(pair, pair.original, "a").tolist()
    [0, 1, -1]
    """
    vector = table[target]
    if vector.is_number:
        return vector.floats()
    code = {level: i for i, level in enumerate(pair.original[target].levels)}
    lookup = np.array([code.get(level, -1) for level in vector.levels] or [-1])
    return np.where(vector.present, lookup[vector.data], -1)


def _model(learner: Learner, number: bool) -> Any:
    from sklearn import ensemble, linear_model, tree  # noqa: PLC0415

    if learner == "linear":
        return linear_model.Ridge(1.0) if number else linear_model.LogisticRegression(max_iter=300, tol=1e-3)
    if learner == "tree":
        return (tree.DecisionTreeRegressor if number else tree.DecisionTreeClassifier)(
            max_depth=6, min_samples_leaf=5, random_state=0
        )
    kind = ensemble.HistGradientBoostingRegressor if number else ensemble.HistGradientBoostingClassifier
    return kind(max_iter=40, max_depth=4, random_state=0)


def _groups(test: Table, subgroup: str | None) -> list[tuple[str, AnyArray]]:
    everybody = np.ones(test.rows, dtype=bool)
    if subgroup is None:
        return [("all", everybody)]
    categories = test[subgroup].categories
    return [("all", everybody)] + [
        (str(label), categories.codes == i)
        for i, label in enumerate(categories.labels)
        if np.count_nonzero(categories.codes == i) >= FEWEST
    ]


def _score(truth: AnyArray, predicted: AnyArray, number: bool) -> float:
    known = np.isfinite(truth) if number else truth >= 0
    truth, predicted = truth[known], predicted[known]
    if len(truth) == 0:
        return float("nan")
    if number:
        total = float(np.sum((truth - truth.mean()) ** 2))
        return max(0.0, 1 - float(np.sum((truth - predicted) ** 2)) / total) if total > 0 else 0.0
    scores = []
    for label in np.unique(truth):
        hit = float(np.sum((truth == label) & (predicted == label)))
        scores.append(2 * hit / float(np.sum(truth == label) + np.sum(predicted == label)))
    return float(np.mean(scores))


def _penalty(original: float, protected: float) -> float:
    if not np.isfinite(original) or original <= 0:
        return 0.0
    return max(0.0, (original - protected) / original)


@measure(
    name="learning-penalty",
    title="Machine-learning penalty",
    family="utility",
    meaning="Share of predictive score lost when a model is trained on the protected instead of the original file "
    "and tested on real rows: 0 is no loss.",
    better="lower",
    bounds=(0, 1),
    reference="train on synthetic, test on real (Esteban et al. 2017); penalty as in the SynDiffix paper",
    default=False,
    random=True,
)
def train_on_protected(
    pair: Pair, targets: Sequence[str] | None = None, subgroup: str | None = None, seed: Seed = 0
) -> Result:
    """Mean penalty over targets and learners.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 100, "b": ["u", "v"] * 100}
    >>> train_on_protected(Pair(data, data)).value
    0.0
    """
    table = learning_table(pair, targets, subgroup=subgroup, seed=seed)
    overall = table.filter(pl.col("group") == "all")
    value = float(overall["penalty"].mean()) if len(overall) else float("nan")  # type: ignore[arg-type]
    text = "No column could be predicted from the others."
    if len(overall):
        text = f"Models trained on the protected file lose {figure(100 * value, '%')} of their score on real rows."
        if pair.holdout is None:
            text += " Without a holdout the test rows were also used to make the file, which flatters it."
    gap = _fairness(table)
    drawn = overall.with_columns(pl.format("{} by {}", "target", "learner").alias("task"))
    return Result(
        name="learning-penalty",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 0.0},
        values={"worst": float(overall["penalty"].max()) if len(overall) else 0.0, **gap},  # type: ignore[arg-type]
        table=table,
        counts=("rows",),
        chart=lambda: two_files(drawn, "task", "score on real rows"),
    )


def _fairness(table: pl.DataFrame) -> dict[str, float]:
    """Difference between the subgroup that loses most and the one that loses least."""
    groups = table.filter(pl.col("group") != "all")
    if not len(groups):
        return {}
    means = groups.group_by("group").agg(pl.col("penalty").mean())["penalty"]
    return {"gap between subgroups": float(means.max() - means.min())}  # type: ignore[operator,arg-type]
