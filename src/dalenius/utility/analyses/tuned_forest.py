"""Train on the protected file, test on real people, with a forest that was tuned on the real data.

Settings are chosen by cross-validation on the original, so that no file is judged by a learner that suits it best; a
forest with these settings learns from either file and is tried on the same real rows (Miletic and Sariyar 2024).
Categories are scored by the weighted F1 (each class by how many people it has), numbers by R².
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.later import ensemble
from dalenius.core.option import one_of
from dalenius.core.random import Seed, generator
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.utility.analyses.learning import (
    at_most,
    default_targets,
    feature_matrix,
    real_rows,
    response_of,
)
from dalenius.utility.charts import two_files

Settings = Mapping[str, Any]
Search = Literal["short", "paper"]
GRIDS: Mapping[Search, Mapping[str, Sequence[Any]]] = {
    "short": {"n_estimators": (30,), "max_depth": (None, 10), "min_samples_leaf": (1, 4)},
    "paper": {
        "n_estimators": (50, 100, 200), "max_depth": (None, 10, 20), "min_samples_split": (2, 5, 10),
        "min_samples_leaf": (1, 2, 4), "max_features": ("all", "sqrt"), "bootstrap": (True, False),
    },
}  # fmt: skip
"""What is tried: four settings, or the 324 of the paper's Table A4."""
FOLDS = 3
ROWS = 3000
"""Rows a search looks at; the forests that are scored learn from up to `learning.ROWS`."""
MEMORY = 16
_CHOSEN: dict[bytes, dict[str, Any]] = {}


def weighted_f1(truth: AnyArray, guessed: AnyArray) -> float:
    """Mean over the classes of F1, each with the share of true rows that it has.

    Examples
    --------
    >>> round(weighted_f1(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])), 4)
    0.7667
    """
    scores = [
        2 * np.sum((truth == c) & (guessed == c)) / (np.sum(truth == c) + np.sum(guessed == c))
        for c in np.unique(truth)
    ]
    return float(np.average(scores, weights=np.unique(truth, return_counts=True)[1]))


def r_squared(truth: AnyArray, guessed: AnyArray) -> float:
    """Share of the spread that is explained; below 0 counts as 0.

    Examples
    --------
    >>> r_squared(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    1.0
    """
    total = float(np.sum((truth - truth.mean()) ** 2))
    return max(0.0, 1 - float(np.sum((truth - guessed) ** 2)) / total) if total > 0 else 0.0


def _forest(number: bool, settings: Settings) -> Any:
    kind = ensemble.RandomForestRegressor if number else ensemble.RandomForestClassifier
    given = {**settings}
    if given.get("max_features", "all") == "all":  # what scikit-learn called "auto" in regressions
        given["max_features"] = 1.0 if number else "sqrt"
    return kind(random_state=0, n_jobs=1, **given)


def _score(number: bool, truth: AnyArray, guessed: AnyArray) -> float:
    return r_squared(truth, guessed) if number else weighted_f1(truth, guessed)


def _grid(search: Search) -> Iterator[dict[str, Any]]:
    names = list(GRIDS[search])
    for values in product(*GRIDS[search].values()):
        yield dict(zip(names, values, strict=True))


def tuned_settings(x: AnyArray, y: AnyArray, number: bool, search: Search = "short") -> dict[str, Any]:
    """Settings of the forest that predicts best in cross-validation; the first of equals.

    Examples
    --------
    >>> x = np.arange(60.0)[:, None]
    >>> tuned_settings(x, (x[:, 0] > 30).astype(int), number=False)["n_estimators"]
    30
    """
    one_of("search", search, tuple(GRIDS))
    key = b"|".join(
        [search.encode(), str(number).encode(), *(np.ascontiguousarray(a).tobytes() for a in (x, y))]
    )
    digest = _digest(key)
    if digest not in _CHOSEN:
        fold = generator(0, "folds").permutation(len(y)) % FOLDS
        best, chosen = -np.inf, {}
        for settings in _grid(search):
            scores = []
            for k in range(FOLDS):
                learn, test = fold != k, fold == k
                if len(np.unique(y[learn])) < 2 or not test.any():
                    continue
                guessed = _forest(number, settings).fit(x[learn], y[learn]).predict(x[test])
                scores.append(_score(number, y[test], guessed))
            if scores and np.mean(scores) > best + 1e-12:
                best, chosen = float(np.mean(scores)), settings
        _CHOSEN[digest] = chosen or next(_grid(search))
        while len(_CHOSEN) > MEMORY:
            _CHOSEN.pop(next(iter(_CHOSEN)))
    return _CHOSEN[digest]


def _digest(content: bytes) -> bytes:
    import hashlib  # noqa: PLC0415 (loaded when asked for)

    return hashlib.sha256(content).digest()


def tuned_forest_table(
    pair: Pair,
    targets: Sequence[str] | None = None,
    *,
    search: Search = "short",
    settings: Settings | None = None,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Scores of forests that learnt from the original and from the protected file, on the same real rows.

    Parameters
    ----------
    targets
        Columns to predict from all others; default: the first worth predicting (targets of the schema first).
    settings
        Options of scikit-learn's forests, instead of a search.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 100, "b": ["u", "v"] * 100}
    >>> tuned_forest_table(Pair(data, data), ["b"]).select("original", "protected").row(0)
    (1.0, 1.0)
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 (loaded when asked for)

    train, test = real_rows(pair, seed)
    made = (
        at_most(pair.protected, len(train[pair.columns[0]].data), seed, "protected")
        if pair.columns
        else train
    )
    rows = []
    with threadpool_limits(1):
        for target in default_targets(pair)[:1] if targets is None else targets:
            rows += _row(pair, (train, made, test), target, search, settings)
    schema = {"target": pl.String, "score": pl.String, "settings": pl.String, "rows": pl.Int64}
    return pl.DataFrame(rows, schema=schema | {"original": pl.Float64, "protected": pl.Float64})


def _row(
    pair: Pair, files: tuple[Table, Table, Table], target: str, search: Search, settings: Settings | None
) -> list[dict[str, Any]]:
    number = pair.original[target].is_number
    others = sorted(name for name in pair.columns if name != target)
    (x, y), (x_made, y_made), (x_test, truth) = (_known(pair, t, target, others) for t in files)
    if len(y) < 10 or len(np.unique(y)) < 2 or not len(truth):
        return []
    few = generator(0, "rows of a search").permutation(len(y))[:ROWS]
    chosen = tuned_settings(x[few], y[few], number, search) if settings is None else dict(settings)
    real = _score(number, truth, _forest(number, chosen).fit(x, y).predict(x_test))
    if len(y_made) >= 2 and len(np.unique(y_made)) > 1:
        guessed = _forest(number, chosen).fit(x_made, y_made).predict(x_test)
    else:  # nothing to learn: the one answer there is, or none
        guessed = np.full(len(truth), y_made[0] if len(y_made) else -1)
    told = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return [
        {"target": target, "score": "R²" if number else "weighted F1", "settings": told, "rows": len(truth),
         "original": real, "protected": _score(number, truth, guessed)}
    ]  # fmt: skip


def _known(pair: Pair, table: Table, target: str, others: Sequence[str]) -> tuple[AnyArray, AnyArray]:
    """Features and answers of the rows whose answer is known."""
    y = response_of(pair, table, target)
    there = np.isfinite(y) if pair.original[target].is_number else y >= 0
    return feature_matrix(pair, table, others)[there], y[there]


@measure(
    name="tuned-forest",
    title="Score lost by a tuned forest",
    family="utility",
    meaning="How much worse a random forest, tuned on the original, predicts real people when it learns from the "
    "protected file instead: 0 is no loss.",
    better="lower",
    bounds=(0, 1),
    reference="Miletic and Sariyar 2024; train on synthetic, test on real (Esteban et al. 2017)",
    default=False,
    random=True,
)
def tuned_forest(
    pair: Pair,
    targets: Sequence[str] | None = None,
    search: Search = "short",
    settings: Settings | None = None,
    seed: Seed = 0,
) -> Result:
    """Mean over targets of the score lost (weighted F1 or R²); ``search="paper"`` tries the paper's 324 settings.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 100, "b": ["u", "v"] * 100}
    >>> tuned_forest(Pair(data, data)).value
    0.0
    """
    table = tuned_forest_table(pair, targets, search=search, settings=settings, seed=seed)
    if not len(table):
        return Result("tuned-forest", float("nan"), "No column could be predicted from the others.")
    lost = (table["original"] - table["protected"]).clip(lower_bound=0.0)
    real, made = (float(table[side].mean()) for side in ("original", "protected"))  # type: ignore[arg-type]
    text = (
        f"A forest that learns from the protected file scores {figure(made)} on real people, one that learns from the "
        f"original {figure(real)} (1 is perfect)."
    )
    if pair.holdout is None:
        text += " Without a holdout the test rows were also used to make the file, which flatters it."
    return Result(
        name="tuned-forest",
        value=float(lost.mean()),  # type: ignore[arg-type]
        sentence=text,
        yardsticks={"the original itself": 0.0},
        values={"score of the original": real, "score of the protected file": made},
        table=table,
        counts=("rows",),
        chart=lambda: two_files(table, "target", "score on real people"),
    )
