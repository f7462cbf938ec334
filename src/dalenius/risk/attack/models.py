"""Attackers: a classifier trained on the protected file and tried on people in the data and outside it.

Everything is a category (numbers are grouped by the pair), as in Hittmeir, Mayer and Ekelhart (2020). Linear models and
k-NN see one-hot columns; naive Bayes, forests and boosted trees see codes. FR-NN is the nearest-keys attacker (GCAP).
The ensemble is a majority vote of naive Bayes, SVM, k-NN, forest, logistic regression and FR-NN.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.outcome import Outcome
from dalenius.risk.cap.gcap import cap_scores
from dalenius.risk.sampling import SEED, some_rows

ENSEMBLE = ("naive-bayes", "svm", "knn", "forest", "logistic", "fr-nn")
ATTACKERS = ("zero-rule", *ENSEMBLE, "boosted", "ensemble")


class Attack:
    """One scenario: keys, target, and the files as codes.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> k = rng.integers(0, 4, 200)
    >>> data = {"k": k.astype(str), "j": rng.integers(0, 3, 200).astype(str), "t": (k > 1).astype(str)}
    >>> attack = Attack(Pair(data, data), ["k", "j"], "t")
    >>> attack.accuracy("forest"), attack.zero_rule < 0.7
    (1.0, True)
    """

    def __init__(
        self, pair: Pair, keys: Sequence[str], target: str, *, most: int | None = 5000, seed: Seed = SEED
    ) -> None:
        if not keys or target in keys:
            raise OptionError("an attack needs keys, and a target that is not among them")
        self.pair, self.keys, self.target, self.seed = pair, list(keys), target, seed
        aligned = [pair.categories(name, grouped=True) for name in (*keys, target)]
        self.sizes = [len(a.original.labels) for a in aligned]
        stacked = [np.column_stack([getattr(a, which).codes.astype(np.int64) for a in aligned])
                   for which in ("protected", "original")]  # fmt: skip
        self.train = stacked[0][some_rows(pair.protected.rows, most, seed, "train")]
        self.member_rows = some_rows(pair.original.rows, most, seed, "members")
        self.members = stacked[1][self.member_rows]
        self.whole_original = stacked[1]
        self.outsiders: AnyArray | None = None
        if pair.holdout is not None:
            held = np.column_stack(
                [a.holdout.codes.astype(np.int64) for a in aligned if a.holdout is not None]
            )
            self.outsider_rows = some_rows(pair.holdout.rows, most, seed, "outsiders")
            self.outsiders = held[self.outsider_rows]
        self._guesses: dict[tuple[str, str], AnyArray] = {}

    @property
    def commonest(self) -> int:
        """Most frequent target value in the protected file: the zero rule's guess."""
        return int(np.argmax(np.bincount(self.train[:, -1])))

    @property
    def zero_rule(self) -> float:
        """Accuracy of always guessing the commonest value."""
        return float(np.mean(self.members[:, -1] == self.commonest))

    def guesses(self, attacker: str | Any, of: str = "members", train: str = "protected") -> AnyArray:
        """Target codes an attacker guesses for members or outsiders."""
        place = (str(attacker), of, train)
        held: Any = self._guesses
        if place not in held:
            held[place] = self._guess(attacker, of, train)
        found: AnyArray = held[place]
        return found

    def _guess(self, attacker: str | Any, of: str, train: str) -> AnyArray:
        records = self.members if of == "members" else self.outsiders
        if records is None:
            raise DataError("there is no holdout; give the people who are not in the data as holdout")
        source = self.train if train == "protected" else self.whole_original
        constant = len(np.unique(source[:, -1])) < 2
        if attacker == "zero-rule" or constant:
            return np.full(len(records), int(np.argmax(np.bincount(source[:, -1]))))
        if attacker == "fr-nn":
            return self._nearest(of)
        if attacker == "ensemble":
            votes = np.zeros((len(records), self.sizes[-1]), np.int64)
            for name in ENSEMBLE:
                votes[np.arange(len(records)), self.guesses(name, of, train)] += 1
            return np.argmax(
                votes + np.bincount(source[:, -1], minlength=self.sizes[-1]) / (2 * len(source)), axis=1
            )
        model, wide = _model(attacker, self.sizes, self.seed)
        x, y = source[:, :-1], records[:, :-1]
        if wide:
            x, y = one_hot(x, self.sizes[:-1]), one_hot(y, self.sizes[:-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solver that stops early is still an attacker
            return np.asarray(model.fit(x, source[:, -1]).predict(y), dtype=np.int64)

    def _nearest(self, of: str) -> AnyArray:
        scores = cap_scores(self.pair, self.keys, self.target, grouped=True, holdout=of == "outsiders")
        return scores.predicted[self.member_rows if of == "members" else self.outsider_rows]

    def accuracy(self, attacker: str | Any, of: str = "members", train: str = "protected") -> float:
        """Share of right guesses."""
        records = self.members if of == "members" else self.outsiders
        assert records is not None
        return float(np.mean(self.guesses(attacker, of, train) == records[:, -1]))

    def outcome(self, attacker: str | Any) -> Outcome:
        """Successes beside the zero rule and people outside the data."""
        n = len(self.members)
        hits = self.accuracy(attacker) * n
        if self.outsiders is None:
            return Outcome(hits, n, None, 0, self.zero_rule)
        others = len(self.outsiders)
        return Outcome(hits, n, self.accuracy(attacker, "outsiders") * others, others, self.zero_rule)


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


def _model(attacker: str | Any, sizes: Sequence[int], seed: Seed) -> tuple[Any, bool]:
    """Estimator, and whether it sees one-hot columns; scikit-learn's standard parameters."""
    if not isinstance(attacker, str):
        return attacker, True
    state = int(generator(seed, "model", attacker).integers(2**31))
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415
    from sklearn.svm import LinearSVC  # noqa: PLC0415

    models: dict[str, Callable[[], tuple[Any, bool]]] = {
        "naive-bayes": lambda: (CategoricalNB(min_categories=list(sizes[:-1])), False),
        "svm": lambda: (LinearSVC(random_state=state), True),
        "knn": lambda: (KNeighborsClassifier(), True),
        "forest": lambda: (RandomForestClassifier(n_estimators=50, random_state=state), False),
        "logistic": lambda: (LogisticRegression(max_iter=200), True),
        "boosted": lambda: (HistGradientBoostingClassifier(random_state=state), False),
    }
    if attacker not in models:
        raise OptionError(
            f"unknown attacker {attacker!r}; use one of {', '.join(ATTACKERS)}, or an estimator"
        )
    return models[attacker]()


@measure(
    MeasureInfo(
        name="attacker",
        title="Attribute inference by a trained attacker",
        family="risk",
        meaning="How much more often a classifier trained on the protected file guesses the target from the keys for "
        "people in the data than for people outside it (worst target).",
        better="lower",
        bounds=(-100, 100),
        unit="%",
        reference="Hittmeir, Mayer and Ekelhart 2020 (CODASPY); Slokom et al. 2024 (PSD)",
        needs=frozenset({"keys", "targets"}),
        default=False,
        random=True,
    )
)
def attacker(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    model: str | Any = "forest",
    most: int | None = 5000,
    seed: Seed = SEED,
) -> Result:
    """Attack every target with one model; the value is that of the worst target.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"k": rng.integers(0, 99, 200).astype(str), "t": rng.integers(0, 2, 200).astype(str)}
    >>> people = draw()
    >>> attacker(Pair(people, people, draw(), keys=["k"], targets=["t"]), model="fr-nn").value > 20
    True
    """
    known = list(keys) if keys is not None else pair.keys
    wanted = list(targets) if targets is not None else pair.targets
    outcomes = {t: Attack(pair, known, t, most=most, seed=seed).outcome(model) for t in wanted}
    rows = [
        {
            "target": t,
            "members": 100 * o.success,
            "outsiders": None if o.control is None else 100 * o.control,
            "zero rule": 100 * o.naive,
            "risk": 100 * o.risk,
        }
        for t, o in outcomes.items()
    ]
    table = pl.DataFrame(rows, schema_overrides={"outsiders": pl.Float64}).sort("risk", descending=True)
    worst = str(table["target"][0])
    return outcomes[worst].result("attacker", f"A {model} that guesses {worst!r} from the keys", table)


def attack_grid(
    pair: Pair,
    quasi_identifiers: Sequence[str],
    target: str,
    key_lengths: Sequence[int] = (3,),
    attackers: Sequence[str] = ("fr-nn", "ensemble"),
    *,
    most_subsets: int = 20,
    most: int | None = 3000,
    seed: Seed = SEED,
) -> pl.DataFrame:
    """Attack with every subset of the quasi-identifiers of some lengths: mean and spread of the accuracy.

    ``original`` is the same attacker trained on the original itself (upper reference), ``relative`` places the
    protected file between the zero rule (0) and that (1).

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "t": ["p", "q"] * 20}
    >>> attack_grid(Pair(data, data), ["a", "b"], "t", (1,), ("forest",)).select("key length", "subsets").rows()
    [(1, 2)]
    """
    rows = []
    for length in key_lengths:
        if not 1 <= length <= len(quasi_identifiers):
            raise OptionError(f"key length {length} does not fit {len(quasi_identifiers)} quasi-identifiers")
        subsets = list(combinations(quasi_identifiers, length))
        kept = some_rows(len(subsets), most_subsets, seed, "subsets", length)
        attacks = [Attack(pair, subsets[i], target, most=most, seed=seed) for i in kept]
        for name in attackers:
            mine = np.array([a.accuracy(name) for a in attacks])
            upper = np.array(
                [a.accuracy(name, train="original") if name != "fr-nn" else np.nan for a in attacks]
            )
            outside = [a.accuracy(name, "outsiders") for a in attacks if a.outsiders is not None]
            zero = float(np.mean([a.zero_rule for a in attacks]))
            top = float(np.mean(upper)) if not np.isnan(upper).any() else float("nan")
            rows.append(
                {
                    "key length": length,
                    "attacker": name,
                    "subsets": len(kept),
                    "accuracy": float(mine.mean()),
                    "sd": float(mine.std(ddof=1)) if len(mine) > 1 else 0.0,
                    "outsiders": float(np.mean(outside)) if outside else None,
                    "zero rule": zero,
                    "original": top,
                    "relative": (float(mine.mean()) - zero) / (top - zero) if top > zero else float("nan"),
                }
            )
    return pl.DataFrame(rows, schema_overrides={"outsiders": pl.Float64})


def scores(truth: AnyArray, guess: AnyArray) -> dict[str, float]:
    """Macro F1 (mean of the classes' F1, a class never met counts 0) and Matthews correlation.

    Examples
    --------
    >>> majority = scores(np.array([1] * 96 + [0] * 4), np.ones(100))
    >>> round(majority["macro F1"], 6), majority["MCC"]
    (0.489796, 0.0)
    """
    classes = np.unique(truth)
    parts = []
    for c in classes:
        both = float(np.sum((truth == c) & (guess == c)))
        total = float(np.sum(truth == c) + np.sum(guess == c))
        parts.append(2 * both / total if total else 0.0)
    every = np.unique(np.concatenate([truth, guess]))
    table = np.array([[float(np.sum((truth == a) & (guess == b))) for b in every] for a in every])
    n, right, t, g = table.sum(), np.trace(table), table.sum(axis=1), table.sum(axis=0)
    spread = np.sqrt((n**2 - (g**2).sum()) * (n**2 - (t**2).sum()))
    return {"macro F1": float(np.mean(parts)), "MCC": float((right * n - t @ g) / spread) if spread else 0.0}
