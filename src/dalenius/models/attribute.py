"""Attribute inference: whoever knows a person's other values and outcome tries the rest and takes what the model likes.

The guess is the value with the largest product of its share in the population and the model's likelihood of the true
outcome (Fredrikson et al. 2014; Yeom et al. 2018, section 4). What counts is how much better it works for people the
model was fitted on than for strangers.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed
from dalenius.core.result import WHOLE, Result
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.case import ModelCase
from dalenius.models.measures import MODEL_MEASURES
from dalenius.risk.attack.outcome import Outcome, outcome_table

GROUPS = 5
"""Numbers of more different values are guessed as one of so many groups of equal size."""
MOST = 2000
"""People of each side who are attacked."""


def attribute_attack(
    case: ModelCase,
    *,
    columns: tuple[str, ...] | None = None,
    most: int = MOST,
    seed: Seed = 0,
    doubt: str = "",
) -> Result:
    """Guess each column of people from the model, their other columns and their outcome.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.integers(0, 5, 300), "b": rng.normal(size=300), "y": rng.integers(0, 2, 300)}
    ...                   for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(np.column_stack([people["a"], people["b"]]), people["y"])
    >>> found = attribute_attack(ModelCase.of(tree, people, others, target="y"))
    >>> found.value > 0, found.table.columns
    (True, ['column', 'members', 'outsiders', 'naive', 'risk'])
    """
    if case.holdout is None:
        raise OptionError(
            "people whom the model never saw are needed to tell what being in the data adds; give a holdout"
        )
    chosen = case.features if columns is None else columns
    sides = [
        _some(table, most, seed, word)
        for table, word in ((case.train, "members"), (case.holdout, "strangers"))
    ]
    outcomes: dict[str, Outcome] = {}
    for name in chosen:
        place = case.features.index(name)
        values, cuts = _guesses(case, place)
        if len(values) < 2:
            continue
        prior = np.bincount(_groups(case.matrix[:, place], values, cuts), minlength=len(values)) + 0.5
        hits = [_hits(case, table, place, values, cuts, prior / prior.sum()) for table in sides]
        outcomes[name] = Outcome.of(hits[0], hits[1], float(prior.max() / prior.sum()))
    info = MODEL_MEASURES["model-attribute"]
    if not outcomes:
        return Result(
            "model-attribute", 0.0, "No column has two values to guess.", "%", counts=WHOLE
        ).with_info(info)
    table = outcome_table([o.row(column=name) for name, o in outcomes.items()])
    worst = str(table["column"][0])
    result = outcomes[worst].result(
        "model-attribute",
        f"Guessing {worst!r} from the model, the other columns and the outcome",
        table,
        len(outcomes),
    )
    return _trusted(result, doubt).with_info(info)


def _trusted(result: Result, doubt: str) -> Result:
    """An attack that does not beat a naive guess read nothing off the model, for members or strangers alike."""
    from dataclasses import replace  # noqa: PLC0415

    text = result.sentence.replace(
        " The attack does not beat the naive guess, so its failure proves nothing: not trusted.",
        " The guess is no better than a naive one.",
    )
    return replace(result, sentence=text + doubt, trusted=not doubt)


def _some(table: Table, most: int, seed: Seed, word: str) -> Table:
    return table.take(table.units.one_row_each(most, seed, "attribute", word))


def _guesses(case: ModelCase, place: int) -> tuple[AnyArray, AnyArray | None]:
    """Values that are tried in a column, and the cuts between groups where they stand for groups."""
    held = case.matrix[:, place]
    held = held[~np.isnan(held)]
    if case.design.levels[place] is not None:
        return np.unique(held), None
    distinct = np.unique(held)
    if len(distinct) <= 2 * GROUPS:
        return distinct, None
    cuts = np.unique(np.quantile(held, np.arange(1, GROUPS) / GROUPS))
    groups = np.searchsorted(cuts, held, side="right")
    return np.array([np.median(held[groups == g]) for g in np.unique(groups)]), cuts


def _groups(held: AnyArray, values: AnyArray, cuts: AnyArray | None) -> IntArray:
    known = held[~np.isnan(held)]
    if cuts is not None:
        return np.minimum(np.searchsorted(cuts, known, side="right"), len(values) - 1)
    return np.minimum(np.searchsorted(values, known), len(values) - 1)


def _hits(
    case: ModelCase, table: Table, place: int, values: AnyArray, cuts: AnyArray | None, prior: AnyArray
) -> AnyArray:
    """Whether the guess is right, for everybody with a value."""
    matrix, outcome = case.design.matrix(table), case.outcome(table)
    there = ~np.isnan(matrix[:, place])
    matrix, outcome = matrix[there], outcome[there]
    truth = _groups(matrix[:, place], values, cuts)
    spread = _noise(case) if case.task == "regression" else 1.0
    liked = np.empty((len(matrix), len(values)))
    for guess, value in enumerate(values):
        tried = matrix.copy()
        tried[:, place] = value
        score = case.scores_of(case.design.inputs(tried), outcome)
        # log-likelihood of the true outcome: of a class by its log-odds, of a number by a normal error
        liked[:, guess] = (
            -np.logaddexp(0, -score) if case.task == "classification" else -0.5 * (score / spread) ** 2
        )
    guesses = np.argmax(liked + np.log(prior), axis=1)
    return (guesses == truth).astype(np.float64)


def _noise(case: ModelCase) -> float:
    assert case.holdout is not None
    return max(float(np.sqrt(np.mean(case.scores(case.holdout) ** 2))), 1e-9)


def columns_of(table: pl.DataFrame) -> list[str]:
    """Columns that were attacked, the most exposed first."""
    return [str(name) for name in table["column"]]
