"""`RecordReconstruction`: the whole attack, from queries to records beside the truth.

Records are scaled by the queries alone, texts become one column a level; the attacker learns, and what he says is
scaled back, rounded to values that exist and decoded (Toma and Kikuchi 2024, sections 3 and 4).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed
from dalenius.data.vector import AnyArray
from dalenius.models.explanations.attacks import (
    Attacker,
    ColumnAttack,
    LinearAttack,
    NearestQueries,
    RandomGuess,
    TreeAttack,
)
from dalenius.models.explanations.explain import Explanations
from dalenius.models.explanations.network import NNAttack

AttackName = Literal["linear", "columns", "tree", "nn", "guess", "queries"]
FEW_VALUES = 20
"""Whole numbers with so few different values are told exactly or not at all."""


class RankWarning(UserWarning):
    """There are too few queries for an exact answer."""


@dataclass(frozen=True, eq=False, repr=False)
class Coding:
    """Records as numbers between 0 and 1, and back.

    Examples
    --------
    >>> coding = Coding.of(np.array([[10.5, 0.0], [20.5, 1.0]]), [None, ("f", "m")])
    >>> coding.inside(np.array([[16.0, 1.0]])).tolist()
    [[0.55, 0.0, 1.0]]
    >>> coding.outside(np.array([[0.55, 0.2, 0.7]])).tolist()
    [[16.0, 1.0]]
    """

    low: AnyArray
    high: AnyArray
    levels: tuple[int, ...]
    values: tuple[AnyArray | None, ...]

    @classmethod
    def of(cls, records: AnyArray, levels: Sequence[Any] | None = None) -> Coding:
        """Scales and values of the queries."""
        texts = [None] * records.shape[1] if levels is None else list(levels)
        counts = tuple(0 if held is None else len(held) for held in texts)
        values = tuple(
            np.unique(column) if not coded and _few(column) else None
            for column, coded in zip(records.T, counts, strict=True)
        )
        return cls(records.min(axis=0), records.max(axis=0), counts, values)

    @property
    def range(self) -> AnyArray:
        """Width of each column, 1 where it is constant."""
        wide = self.high - self.low
        return np.where(wide > 0, wide, 1.0)

    @property
    def discrete(self) -> AnyArray:
        """Columns that are right or wrong, and nothing between."""
        return np.array([bool(c) or v is not None for c, v in zip(self.levels, self.values, strict=True)])

    def inside(self, records: AnyArray) -> AnyArray:
        """As the attacker learns them."""
        parts = []
        for place, count in enumerate(self.levels):
            column = records[:, place]
            if count:
                parts.append((column[:, None] == np.arange(count)) * 1.0)
            else:
                parts.append(((column - self.low[place]) / self.range[place])[:, None])
        return np.concatenate(parts, axis=1)

    def outside(self, coded: AnyArray) -> AnyArray:
        """Back to records: nearest values, likeliest levels."""
        made, at = np.empty((len(coded), len(self.levels))), 0
        for place, count in enumerate(self.levels):
            if count:
                made[:, place] = coded[:, at : at + count].argmax(axis=1)
            else:
                column = coded[:, at] * self.range[place] + self.low[place]
                legal = self.values[place]
                made[:, place] = (
                    column if legal is None else legal[np.abs(column[:, None] - legal).argmin(axis=1)]
                )
            at += max(count, 1)
        return made


def _few(column: AnyArray) -> bool:
    distinct = np.unique(column)
    return len(distinct) <= FEW_VALUES and bool(np.all(distinct == np.round(distinct)))


@dataclass(frozen=True, eq=False, repr=False)
class Rebuilt:
    """Records that were rebuilt, beside the truth.

    Attributes
    ----------
    mae, null_mae
        Mean absolute error over all cells on the scale from 0 to 1, and that of guesses from the columns.
    success, record_success
        Share of cells that are right (numbers: within ``tau`` of the range), and of records with all cells right.
    per_feature
        One line a column; its error in its own unit too.
    error_se
        Standard error of ``mae`` over the people who were rebuilt.
    """

    mae: float
    null_mae: float
    success: float
    record_success: float
    null_success: float
    per_feature: pl.DataFrame
    queries: int
    rank: int | None
    hits: AnyArray = field(repr=False)
    error_se: float = 0.0

    @property
    def skill(self) -> float:
        """By how much the attacker errs less than one who guesses; 1 is exact, 0 is a guess."""
        return 1 - self.mae / self.null_mae if self.null_mae > 0 else 0.0


@dataclass
class RecordReconstruction:
    """An attack by name, or by an object that can ``fit`` and ``predict``.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> records = rng.normal(size=(50, 2))
    >>> known = Explanations(records * [2.0, -1.0], records, ("a", "b"))
    >>> rebuilt = RecordReconstruction("linear").fit(known.take(np.arange(10))).evaluate(known.take(np.arange(10, 50)))
    >>> rebuilt.mae < 1e-9, rebuilt.record_success
    (True, 1.0)
    """

    attack: AttackName | Attacker = "linear"
    levels: Sequence[Any] | None = None
    seed: Seed = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    coding: Any = field(default=None, repr=False)
    known: Any = field(default=None, repr=False)

    def fit(self, queries: Explanations) -> RecordReconstruction:
        """Learn from records of one's own and their explanations."""
        self.coding = Coding.of(queries.records, self.levels)
        self.known, self._attacker = queries, self._named()
        self._attacker.fit(queries.values, self.coding.inside(queries.records))
        rank, width = getattr(self._attacker, "rank", None), queries.values.shape[1]
        if rank is not None and len(queries.values) <= width:
            warnings.warn(
                f"{len(queries.values)} queries of {width} columns have rank {rank}: an exact answer is not guaranteed",
                RankWarning, stacklevel=2,
            )  # fmt: skip
        return self

    def rebuild(self, stolen: AnyArray) -> AnyArray:
        """Records that belong to explanations of other people."""
        if stolen.shape[1] != self.known.values.shape[1]:
            raise DataError(
                f"explanations have {stolen.shape[1]} columns, those the attacker learnt from "
                f"{self.known.values.shape[1]}"
            )
        return np.asarray(self.coding.outside(self._attacker.predict(stolen)))

    def evaluate(self, stolen: Explanations, *, tau: float | Mapping[str, float] = 0.05) -> Rebuilt:
        """Rebuild records of other people and hold them against the truth."""
        coding: Coding = self.coding
        found = self.rebuild(stolen.values)
        guess = RandomGuess(seed=self.seed).fit(self.known.values, self.known.records).predict(stolen.values)
        error, null = (self._errors(made, stolen.records) for made in (found, guess))
        near = np.array([tau.get(n, 0.05) if isinstance(tau, Mapping) else tau for n in stolen.features])
        hits, lucky = (np.where(coding.discrete, e == 0, e < near) for e in (error, null))
        table = pl.DataFrame(
            {
                "column": list(stolen.features),
                "mae": error.mean(axis=0),
                "mae of a guess": null.mean(axis=0),
                "mae in its unit": np.abs(found - stolen.records).mean(axis=0),
                "right %": 100 * hits.mean(axis=0),
                "constant": (coding.high == coding.low).tolist(),
            }
        )
        return Rebuilt(
            float(error.mean()), float(null.mean()), float(hits.mean()), float(hits.all(axis=1).mean()),
            float(lucky.mean()), table, len(self.known.values), getattr(self._attacker, "rank", None), hits,
            float(error.mean(axis=1).std() / np.sqrt(max(len(error), 1))),
        )  # fmt: skip

    def _errors(self, made: AnyArray, truth: AnyArray) -> AnyArray:
        """Errors on the scale from 0 to 1; a wrong level is an error of 1."""
        coding: Coding = self.coding
        wide = np.abs(made - truth) / coding.range
        return np.where(np.array(coding.levels) > 0, (made != truth) * 1.0, wide)

    def _named(self) -> Attacker:
        if not isinstance(self.attack, str):
            return self.attack
        made: dict[str, Any] = {
            "linear": lambda: LinearAttack(**self.options),
            "columns": lambda: ColumnAttack(tuple(max(c, 1) for c in self.coding.levels), **self.options),
            "tree": lambda: TreeAttack(seed=self.seed, **self.options),
            "nn": lambda: NNAttack(seed=self.seed, **self.options),
            "guess": lambda: RandomGuess(seed=self.seed, **self.options),
            "queries": lambda: NearestQueries(**self.options),
        }
        if self.attack not in made:
            raise OptionError(f"unknown attack {self.attack!r}; there are {', '.join(get_args(AttackName))}")
        named: Attacker = made[self.attack]()
        return named
