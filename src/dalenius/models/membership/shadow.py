"""The shadow classifier: refits teach a classifier how a model treats people it was fitted on (Shokri et al. 2017)."""

from __future__ import annotations

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, sequence, some_rows
from dalenius.core.result import Result
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.membership.refits import included, pooled_units, signs
from dalenius.models.membership.told import told

MOST = 40_000
"""Records of all refits together that teach the classifier: more do not make it better."""


def shadow_attack(case: ModelCase, shadows: int = 4, *, seed: Seed = 0, doubt: str = "") -> Result:
    """Tell people the model was fitted on from strangers by a classifier that was taught on refits.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.normal(size=200), "y": rng.integers(0, 2, 200)} for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(people["a"][:, None], people["y"])
    >>> shadow_attack(ModelCase.of(tree, people, others, target="y")).value > 0.7
    True
    """
    if case.holdout is None:
        raise OptionError("people whom the model never saw are needed to fit it again; give a holdout")
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 (slow to load)

    matrix = np.concatenate([case.matrix, case.design.matrix(case.holdout)])
    outcome = np.concatenate([case.outcome(case.train), case.outcome(case.holdout)])
    whole = case.design.inputs(matrix)
    chosen = included(pooled_units(case), case.units.count, shadows, sequence(seed, "shadow"))
    lessons: list[AnyArray] = []
    truths: list[AnyArray] = []
    for run in range(shadows):
        again = case.fit_again(
            case.design.inputs(matrix[chosen[run]]), outcome[chosen[run]], seed, "shadow", run
        )
        seen = signs(case, whole, outcome, again)
        some = some_rows(len(seen), max(MOST // shadows, 100), seed, "lesson", run)
        lessons.append(seen[some])
        truths.append(chosen[run][some])
    number = int(sequence(seed, "classifier").generate_state(1)[0] >> 1)
    pupil = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=number)
    pupil.fit(np.concatenate(lessons), np.concatenate(truths))
    found = pupil.decision_function(signs(case, whole, outcome))
    n = case.train.rows
    members, strangers = case.units.mean(found[:n]), case.holdout.units.mean(found[n:])
    by = f"a classifier that learnt from {shadows} refits"
    return told("model-membership-shadow", by, case, members, strangers, doubt)
