"""Attackers: a classifier trained on the protected file and tried on people in the data and outside it.

Everything is a category (numbers are grouped by the pair), as in Hittmeir, Mayer and Ekelhart (2020). FR-NN is the
nearest-keys attacker (GCAP). The ensemble is a majority vote of naive Bayes, SVM, k-NN, forest, logistic regression and
FR-NN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, some_rows
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.models import CLASSIFIERS, fit_and_predict
from dalenius.risk.attack.outcome import Outcome, outcome_table
from dalenius.risk.cap.gcap import cap_scores
from dalenius.risk.needs import chosen_targets
from dalenius.risk.sampling import SEED

ENSEMBLE = ("naive-bayes", "svm", "knn", "forest", "logistic", "fr-nn")
ATTACKERS = ("zero-rule", *CLASSIFIERS, "fr-nn", "ensemble")


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
        self.member_rows = pair.units.one_row_each(most, seed, "members")
        self.members = stacked[1][self.member_rows]
        self.whole_original = stacked[1]
        self.outsiders: AnyArray | None = None
        if pair.holdout is not None:
            held = np.column_stack(
                [a.holdout.codes.astype(np.int64) for a in aligned if a.holdout is not None]
            )
            self.outsider_rows = pair.holdout_units.one_row_each(most, seed, "outsiders")
            self.outsiders = held[self.outsider_rows]
        self._guesses: dict[tuple[str, str, str], AnyArray] = {}

    @property
    def commonest(self) -> int:
        """Most frequent target value in the protected file: the zero rule's guess."""
        return int(np.argmax(np.bincount(self.train[:, -1])))

    @property
    def zero_rule(self) -> float:
        """Accuracy of always guessing the commonest value."""
        return float(np.mean(self.members[:, -1] == self.commonest))

    @property
    def unmatched(self) -> int:
        """Members whose keys occur nowhere in the protected file."""
        groups = self.pair.groups(self.keys, grouped=True)
        there = np.bincount(groups.protected, minlength=len(groups)) > 0
        return int(np.count_nonzero(~there[groups.original[self.member_rows]]))

    def guesses(self, attacker: str | Any, of: str = "members", train: str = "protected") -> AnyArray:
        """Target codes an attacker guesses for members or outsiders."""
        place = (str(attacker), of, train)
        if place not in self._guesses:
            self._guesses[place] = self._guess(attacker, of, train)
        return self._guesses[place]

    def _guess(self, attacker: str | Any, of: str, train: str) -> AnyArray:
        records = self.members if of == "members" else self.outsiders
        if records is None:
            raise DataError("there is no holdout; give the people who are not in the data as holdout")
        source = self.train if train == "protected" else self.whole_original
        constant = len(np.unique(source[:, -1])) < 2
        if attacker == "zero-rule" or constant:
            return np.full(len(records), int(np.argmax(np.bincount(source[:, -1]))))
        if attacker == "fr-nn":
            return self._nearest(of, train)
        if attacker == "ensemble":
            votes = np.zeros((len(records), self.sizes[-1]), np.int64)
            for name in ENSEMBLE:
                votes[np.arange(len(records)), self.guesses(name, of, train)] += 1
            return np.argmax(
                votes + np.bincount(source[:, -1], minlength=self.sizes[-1]) / (2 * len(source)), axis=1
            )
        return fit_and_predict(
            attacker, source[:, :-1], source[:, -1], records[:, :-1], self.sizes[:-1], self.seed
        )

    def _nearest(self, of: str, train: str) -> AnyArray:
        pair = self.pair if train == "protected" else self.pair.swap_in(self.pair.original)
        scores = cap_scores(pair, self.keys, self.target, grouped=True, holdout=of == "outsiders")
        return scores.predicted[self.member_rows if of == "members" else self.outsider_rows]

    def accuracy(self, attacker: str | Any, of: str = "members", train: str = "protected") -> float:
        """Share of right guesses."""
        records = self.members if of == "members" else self.outsiders
        assert records is not None
        return float(np.mean(self.guesses(attacker, of, train) == records[:, -1]))

    def records(self, attacker: str | Any) -> pl.DataFrame:
        """One row per person attacked: whether the guess is right (confidential)."""
        return pl.DataFrame({"row": self.member_rows, "right": self.guesses(attacker) == self.members[:, -1]})

    def outcome(self, attacker: str | Any) -> Outcome:
        """Successes beside the zero rule and people outside the data."""
        n = len(self.members)
        hits = self.accuracy(attacker) * n
        if self.outsiders is None:
            return Outcome(hits, n, None, 0, self.zero_rule)
        others = len(self.outsiders)
        return Outcome(hits, n, self.accuracy(attacker, "outsiders") * others, others, self.zero_rule)


@measure(
    name="attacker",
    covered=True,
    title="Attribute inference by a trained attacker",
    family="risk",
    dimension="attribution",
    meaning="How much more often a classifier trained on the protected file guesses the target from the keys for "
    "people in the data than for people outside it (worst target).",
    better="lower",
    bounds=(-100, 100),
    unit="%",
    reference="Hittmeir, Mayer and Ekelhart 2020 (CODASPY); Slokom et al. 2024",
    needs=frozenset({"keys", "targets"}),
    default=False,
    random=True,
)
def attacker(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    model: str | Any = "forest",
    most: int | None = 5000,
    seed: Seed = SEED,
    records: bool = False,
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
    wanted = chosen_targets(pair, targets)
    attacks = {t: Attack(pair, known, t, most=most, seed=seed) for t in wanted}
    outcomes = {t: attack.outcome(model) for t, attack in attacks.items()}
    table = outcome_table([o.row(target=t) for t, o in outcomes.items()])
    worst = str(table["target"][0])
    doing = f"A {model} that guesses {worst!r} from the keys"
    told = attacks[worst].records(model) if records else None
    return outcomes[worst].result("attacker", doing, table, len(wanted), told)
