"""The likelihood ratio attack: is a score likelier with a person in the data, or without (Carlini et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dalenius.core.random import Seed
from dalenius.core.result import Result
from dalenius.models.case import ModelCase
from dalenius.models.membership.refits import Refits, refit
from dalenius.models.membership.told import told
from dalenius.risk.membership.shadow import likelihood_ratios


def lira(
    case: ModelCase,
    runs: int = 16,
    *,
    seed: Seed = 0,
    refits: Refits | None = None,
    keep: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    doubt: str = "",
) -> Result:
    """Tell people the model was fitted on from strangers by refits with and without each of them.

    Parameters
    ----------
    refits
        Refits that are at hand; otherwise ``runs`` are made, in folder ``keep`` if one is given.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.normal(size=200), "y": rng.integers(0, 2, 200)} for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(people["a"][:, None], people["y"])
    >>> lira(ModelCase.of(tree, people, others, target="y"), 8).value > 0.7
    True
    """
    made = refit(case, runs, seed=seed, keep=keep, progress=progress) if refits is None else refits
    ratios = likelihood_ratios(made.scores, made.included, made.observed)
    members, strangers = made.by_unit(ratios)
    by = f"the likelihood ratio over {made.runs} refits"
    return told("model-membership-lira", by, case, members, strangers, doubt)
