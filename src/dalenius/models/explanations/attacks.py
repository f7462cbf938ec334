"""Attackers who turn explanations back into records: they learn from queries of their own, or guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.vector import AnyArray


class Attacker(Protocol):
    """Whoever learns records from explanations."""

    def fit(self, explanations: AnyArray, records: AnyArray) -> Self:
        """Learn from queries of one's own."""
        ...

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Records that belong to explanations."""
        ...


@dataclass
class LinearAttack:
    """Least squares with an intercept, of smallest norm where queries do not decide; ``rank`` says how many do.

    Examples
    --------
    >>> attack = LinearAttack().fit(np.array([[0.0], [1.0]]), np.array([[3.0], [5.0]]))
    >>> attack.predict(np.array([[2.0]])).round(9).tolist(), attack.rank
    ([[7.0]], 2)
    """

    rank: int = 0
    coefficients: Any = field(default=None, repr=False)
    intercept: Any = field(default=None, repr=False)

    def fit(self, explanations: AnyArray, records: AnyArray) -> LinearAttack:
        """Learn from queries of one's own."""
        middle, centre = explanations.mean(axis=0), records.mean(axis=0)
        found, _, rank, _ = np.linalg.lstsq(explanations - middle, records - centre, rcond=None)
        self.rank = int(rank) + 1
        self.coefficients, self.intercept = found, centre - middle @ found
        return self

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Records that belong to explanations."""
        return np.asarray(explanations @ self.coefficients + self.intercept)


@dataclass
class TreeAttack:
    """One tree for all columns.

    Examples
    --------
    >>> TreeAttack().fit(np.array([[0.0], [1.0]]), np.array([[3.0], [5.0]])).predict(np.array([[1.2]])).tolist()
    [[5.0]]
    """

    seed: Seed = 0
    tree: Any = field(default=None, repr=False)

    def fit(self, explanations: AnyArray, records: AnyArray) -> TreeAttack:
        """Learn from queries of one's own."""
        from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 (slow to load)

        number = int(sequence(self.seed, "tree").generate_state(1)[0] >> 1)
        self.tree = DecisionTreeRegressor(random_state=number).fit(explanations, records)
        return self

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Records that belong to explanations."""
        return np.asarray(self.tree.predict(explanations)).reshape(len(explanations), -1)


@dataclass
class ColumnAttack:
    """Each column off its own explanation: on the line between the two queries next to it, beyond them on their trend.

    Exact where a model adds up lines and levels: a category of three levels is no linear function of its explanation,
    and yet each level has an explanation of its own. ``widths`` says how many numbers hold each column of a record.

    Examples
    --------
    >>> level = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> attack = ColumnAttack((3,)).fit(np.array([[0.4], [-0.1], [0.2]]), level)
    >>> attack.predict(np.array([[0.2], [0.4]])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    widths: Sequence[int] = ()
    held: Any = field(default=None, repr=False)

    def fit(self, explanations: AnyArray, records: AnyArray) -> ColumnAttack:
        """Keep the queries, one explanation of a column once."""
        widths = list(self.widths) or [1] * records.shape[1]
        if explanations.shape[1] != len(widths):
            raise OptionError("an attacker who reads column by column needs one explanation a column")
        parts = np.split(records, np.cumsum(widths)[:-1], axis=1)
        self.held = []
        for shown, part in zip(explanations.T, parts, strict=True):
            at, place, count = np.unique(shown, return_inverse=True, return_counts=True)
            means = np.zeros((len(at), part.shape[1]))
            np.add.at(means, place, part)
            away, spread = shown - shown.mean(), float(np.var(shown)) * len(shown)
            slope = float(away @ part[:, 0]) / spread if spread > 0 and part.shape[1] == 1 else 0.0
            self.held.append((at, means / count[:, None], slope))
        return self

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Records that belong to explanations."""
        made = []
        for shown, (at, means, slope) in zip(explanations.T, self.held, strict=True):
            beyond = slope * (shown - np.clip(shown, at[0], at[-1]))
            made += [np.interp(shown, at, column) + beyond for column in means.T]
        return np.column_stack(made)


@dataclass
class RandomGuess:
    """The null: values drawn from each column of the queries' records, or the means of the columns.

    Examples
    --------
    >>> RandomGuess("mean").fit(np.zeros((2, 1)), np.array([[3.0], [5.0]])).predict(np.zeros((1, 1))).tolist()
    [[4.0]]
    """

    kind: Literal["empirical", "mean"] = "empirical"
    seed: Seed = 0
    records: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in ("empirical", "mean"):
            raise OptionError(f"a guess is 'empirical' or 'mean', not {self.kind!r}")

    def fit(self, explanations: AnyArray, records: AnyArray) -> RandomGuess:
        """Look at the records alone."""
        self.records = records
        return self

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Guesses, whatever the explanations say."""
        rows, width = len(explanations), self.records.shape[1]
        if self.kind == "mean":
            return np.tile(self.records.mean(axis=0), (rows, 1))
        drawn = generator(self.seed, "guess").integers(0, len(self.records), (rows, width))
        return np.asarray(self.records[drawn, np.arange(width)])


@dataclass
class NearestQueries:
    """An attacker without data of his own: random queries, and for each column those whose explanation is nearest.

    The second attack of Luo, Jiang and Xiao 2022: a column's value is read off between the queries whose explanation of
    that column is closest.

    Examples
    --------
    >>> queries = np.linspace(0, 1, 11)[:, None]
    >>> NearestQueries(2).fit(2 * queries, queries).predict(np.array([[0.5]])).round(3).tolist()
    [[0.25]]
    """

    neighbours: int = 5
    explanations: Any = field(default=None, repr=False)
    records: Any = field(default=None, repr=False)

    def fit(self, explanations: AnyArray, records: AnyArray) -> NearestQueries:
        """Keep the queries."""
        if explanations.shape[1] != records.shape[1]:
            raise OptionError(
                "an attacker without data reads column by column; explanations must have one a column"
            )
        self.explanations, self.records = explanations, records
        return self

    def predict(self, explanations: AnyArray) -> AnyArray:
        """Means over the nearest queries, column by column."""
        k = min(self.neighbours, len(self.records))
        made = np.empty((len(explanations), self.records.shape[1]))
        for column in range(made.shape[1]):
            order = np.argsort(self.explanations[:, column], kind="stable")
            held, truth = self.explanations[order, column], self.records[order, column]
            at = np.clip(np.searchsorted(held, explanations[:, column]) - k // 2, 0, len(held) - k)
            made[:, column] = truth[at[:, None] + np.arange(k)].mean(axis=1)
        return made
