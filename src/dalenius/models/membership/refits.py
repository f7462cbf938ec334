"""Refits: the same model fitted again and again, with and without each person; what attacks by comparison live on.

The people of the training file and the strangers are put together, and every refit leaves others out, as many as there
are strangers, so that each is as large as the model itself. A refit that is finished is kept, so that a run that was
killed goes on to the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.atomic import private_folder, replacing
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, BoolArray
from dalenius.models.case import ModelCase
from dalenius.models.fitted import Fitted

SIGNS = 3
"""Largest probabilities that a shadow classifier sees beside the score."""


@dataclass(frozen=True, eq=False, repr=False)
class Refits:
    """What refits say of everybody.

    Attributes
    ----------
    bare
        Score of every record (of the training file, then of the holdout) by every refit, as far out as numbers go.
    included
        Which record each refit was fitted on.
    """

    case: ModelCase
    bare: AnyArray
    included: BoolArray
    runs: int

    @cached_property
    def scores(self) -> AnyArray:
        """Scores by the refits, kept from the far ends."""
        return self.case.kept(self.bare)

    @cached_property
    def observed(self) -> AnyArray:
        """Scores by the model itself, kept from the far ends."""
        return self.case.kept(self.observed_bare)

    @cached_property
    def observed_bare(self) -> AnyArray:
        """Scores by the model itself."""
        case = self.case
        assert case.holdout is not None
        return np.concatenate([case.scores(t, bare=True) for t in (case.train, case.holdout)])

    def by_unit(self, rows: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Figures of records as figures of units: of the training file, and of strangers."""
        case = self.case
        assert case.holdout is not None
        n = case.train.rows
        return case.units.mean(rows[:n]), case.holdout.units.mean(rows[n:])


def refit(
    case: ModelCase,
    runs: int = 16,
    *,
    seed: Seed = 0,
    keep: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Refits:
    """Fit a model again on other people, ``runs`` times.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.normal(size=50), "y": rng.integers(0, 2, 50)} for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(people["a"][:, None], people["y"])
    >>> found = refit(ModelCase.of(tree, people, others, target="y"), 4)
    >>> found.scores.shape, found.included.sum(axis=0).tolist() == [2] * 100
    ((4, 100), True)
    """
    if runs < 4:
        raise OptionError("a likelihood ratio needs at least 4 refits")
    if case.holdout is None:
        raise OptionError("people whom the model never saw are needed to fit it again; give a holdout")
    matrix = np.concatenate([case.matrix, case.design.matrix(case.holdout)])
    outcome = np.concatenate([case.outcome(case.train), case.outcome(case.holdout)])
    owners = pooled_units(case)
    chosen = included(owners, case.units.count, runs, seed)
    folder = None if keep is None else private_folder(keep)
    mark = _mark(case, matrix, outcome, runs, seed) if folder is not None else ""
    whole = case.design.inputs(matrix)
    scores = np.empty((runs, len(outcome)))
    for run in range(runs):
        path = None if folder is None else folder / f"refit-{mark}-{run:03}.npy"
        scores[run] = (
            _kept(path, len(outcome))
            if path is not None and path.is_file()
            else _scored(case, whole, matrix, outcome, chosen[run], seed, run)
        )
        if path is not None and not path.is_file():
            with replacing(path) as temporary, temporary.open("wb") as stream:
                np.save(stream, scores[run])
        if progress is not None:
            progress(run + 1, runs)
    return Refits(case, scores, chosen, runs)


def _scored(
    case: ModelCase, whole: Any, matrix: AnyArray, outcome: AnyArray, inside: BoolArray, seed: Seed, run: int
) -> AnyArray:
    again = case.fit_again(case.design.inputs(matrix[inside]), outcome[inside], seed, "refit", run)
    return case.scores_of(whole, outcome, again, bare=True)


def _kept(path: Path, size: int) -> AnyArray:
    held = np.load(path, allow_pickle=False)
    if held.shape != (size,):
        raise OptionError(f"{path}: kept refits of another case; choose an empty folder")
    return np.asarray(held)


def pooled_units(case: ModelCase) -> Units:
    """Owners of the records of training file and holdout, put together."""
    assert case.holdout is not None
    inside, outside = case.units, case.holdout.units
    codes = np.concatenate([inside.owners_of_rows, inside.count + outside.owners_of_rows])
    return Units(codes, inside.count + outside.count, inside.column)


def included(owners: Units, members: int, runs: int, seed: Seed) -> BoolArray:
    """Which record each refit sees: everybody is in some and out of others, equally often as far as that goes."""
    strangers = owners.count - members
    few = min(strangers, members)
    # one order of the units serves as many refits as it has parts of the smaller size; each sets another part apart
    parts = int(np.clip(owners.count // max(few, 1), 2, max(runs // 2, 2)))
    made = np.zeros((runs, owners.count), bool)
    for run in range(runs):
        order = generator(seed, "order", run // parts).permutation(owners.count)
        apart = (order * parts) // owners.count == run % parts
        made[run] = ~apart if strangers <= members else apart
    return made[:, owners.owners_of_rows]


def _mark(case: ModelCase, matrix: AnyArray, outcome: AnyArray, runs: int, seed: Seed) -> str:
    """Fingerprint of everything that decides the refits."""
    model = case.fitted.model
    params = (
        model.get_params()
        if hasattr(model, "get_params")
        else {"terms": list(getattr(model, "coefficients", ()))}
    )
    facts = {
        "kind": case.fitted.kind, "params": {k: repr(v) for k, v in params.items()}, "runs": runs,
        "seed": [int(word) for word in sequence(seed, "mark").generate_state(4)], "features": list(case.features),
        "members": case.train.rows, "scores": "bare",
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for part in (np.ascontiguousarray(matrix), np.ascontiguousarray(outcome)):
        digest.update(part.tobytes())
    return digest.hexdigest()[:16]


def signs(case: ModelCase, inputs: Any, outcome: AnyArray, model: Fitted | None = None) -> AnyArray:
    """What a shadow classifier looks at: the score, the largest probabilities, and the true class."""
    fitted = case.fitted if model is None else model
    score = case.scores_of(inputs, outcome, model)
    chances = fitted.probabilities(inputs)
    if chances is None:
        return np.column_stack([score, fitted.predictions(inputs)])
    top = -np.sort(-chances, axis=1)[:, :SIGNS]
    spare = np.zeros((len(top), SIGNS - top.shape[1]))
    return np.column_stack([score, top, spare, outcome])
