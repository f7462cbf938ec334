"""SACRO-ML's likelihood attack: the figure a checker may know, by its rule, beside ours.

It fits a normal law to the scores of each record alone, without drawing anything together, and by default asks only how
unusual the score would be if the person had not been there (``offline`` in sacroml.attacks.likelihood_attack).
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr

from dalenius.core.errors import OptionError, names
from dalenius.core.random import Seed
from dalenius.core.result import Result
from dalenius.data.vector import AnyArray
from dalenius.models.case import BARE, ModelCase
from dalenius.models.membership.refits import Refits, refit
from dalenius.models.membership.told import told

Mode = Literal["offline", "online-carlini"]


def sacro(
    case: ModelCase,
    runs: int = 16,
    mode: Mode = "offline",
    *,
    seed: Seed = 0,
    refits: Refits | None = None,
    doubt: str = "",
) -> Result:
    """Tell people the model was fitted on from strangers by SACRO-ML's rule.

    Parameters
    ----------
    mode
        As there: "offline" looks at refits without the person only, "online-carlini" at both kinds.
    refits
        Refits that are at hand; otherwise ``runs`` are made.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.normal(size=200), "y": rng.integers(0, 2, 200)} for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(people["a"][:, None], people["y"])
    >>> sacro(ModelCase.of(tree, people, others, target="y"), 8).value > 0.6
    True
    """
    if mode not in get_args(Mode):
        raise OptionError(f"unknown mode {mode!r}; there are {names(get_args(Mode))}")
    made = refit(case, runs, seed=seed) if refits is None else refits
    apart = _standing(made, False)
    scores = (
        ndtr(apart[0]) if mode == "offline" else _log_density(*_standing(made, True)) - _log_density(*apart)
    )
    members, strangers = made.by_unit(scores)
    by = f"SACRO-ML's likelihood ratio ({mode}) over {made.runs} refits"
    return told("model-membership-sacro", by, case, members, strangers, doubt)


def _standing(made: Refits, side: bool) -> tuple[AnyArray, AnyArray]:
    """Where each record's score stands among those of refits with, or without, it; and their spread."""
    there = made.included == side
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, made.bare, 0).sum(axis=0) / count
    spread = np.sqrt(np.where(there, (made.bare - mean) ** 2, 0).sum(axis=0) / count) + BARE
    return (made.observed_bare - mean) / spread, spread


def _log_density(standing: AnyArray, spread: AnyArray) -> AnyArray:
    density: AnyArray = -0.5 * standing**2 - np.log(spread)
    return density
