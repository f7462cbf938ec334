"""Models an attacker may train, with scikit-learn's standard parameters, and what they see.

Linear models and k-NN see one-hot columns; naive Bayes, trees, forests and boosted trees see codes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray

CLASSIFIERS = ("naive-bayes", "svm", "knn", "tree", "forest", "logistic", "boosted")
WIDE = ("svm", "knn", "logistic", "linear")
"""Models that see one-hot columns."""


def fit_and_predict(
    model: Any,
    x: AnyArray,
    y: AnyArray,
    wanted: AnyArray,
    sizes: Sequence[int],
    seed: Seed,
    *,
    numbers: bool = False,
) -> AnyArray:
    """Train a model, by name or your own estimator, on codes ``x`` and say what it predicts for other codes.

    Parameters
    ----------
    sizes
        Number of levels of each column of codes.
    numbers
        Predict numbers instead of classes.

    Examples
    --------
    >>> x = np.array([[0], [1], [0], [1]])
    >>> fit_and_predict("tree", x, np.array([5, 7, 5, 7]), np.array([[1]]), [2], 1).tolist()
    [7]
    """
    estimator = _estimator(model, sizes, seed, numbers) if isinstance(model, str) else model
    if not isinstance(model, str) or model in WIDE:
        x, wanted = one_hot(x, sizes), one_hot(wanted, sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver that stops early is still an attacker
        return np.asarray(estimator.fit(x, y).predict(wanted), dtype=np.float64 if numbers else np.int64)


def one_hot(codes: AnyArray, sizes: Sequence[int]) -> Any:
    """Codes as a sparse matrix with one column per level.

    Examples
    --------
    >>> one_hot(np.array([[0, 1]]), [2, 2]).toarray().tolist()
    [[1.0, 0.0, 0.0, 1.0]]
    """
    from scipy.sparse import csr_array  # noqa: PLC0415

    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows = np.repeat(np.arange(len(codes), dtype=np.int32), codes.shape[1])
    shape = (len(codes), int(sum(sizes)))
    return csr_array((np.ones(codes.size), (rows, (codes + offset).ravel().astype(np.int32))), shape=shape)


def _estimator(name: str, sizes: Sequence[int], seed: Seed, numbers: bool) -> Any:
    state = int(generator(seed, "model", name).integers(2**31))
    models = _regressors(state) if numbers else _classifiers(sizes, state)
    if name not in models:
        kind = "a model for numbers" if numbers else "an attacker"
        raise OptionError(f"{name!r} is not {kind}; use one of {', '.join(models)}, or an estimator")
    return models[name]()


def _classifiers(sizes: Sequence[int], state: int) -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415
    from sklearn.svm import LinearSVC  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    return {
        "naive-bayes": lambda: CategoricalNB(min_categories=list(sizes)),
        "svm": lambda: LinearSVC(random_state=state),
        "knn": KNeighborsClassifier,
        "tree": lambda: DecisionTreeClassifier(random_state=state),
        "forest": lambda: RandomForestClassifier(n_estimators=50, random_state=state),
        "logistic": lambda: LogisticRegression(max_iter=200),
        "boosted": lambda: HistGradientBoostingClassifier(random_state=state),
    }


def _regressors(state: int) -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor  # noqa: PLC0415
    from sklearn.linear_model import Ridge  # noqa: PLC0415
    from sklearn.neighbors import KNeighborsRegressor  # noqa: PLC0415
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    return {
        "linear": Ridge,
        "knn": KNeighborsRegressor,
        "tree": lambda: DecisionTreeRegressor(random_state=state),
        "forest": lambda: RandomForestRegressor(n_estimators=50, random_state=state),
        "boosted": lambda: HistGradientBoostingRegressor(random_state=state),
    }
