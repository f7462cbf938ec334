"""The loss threshold: whom a model knows too well it was probably fitted on (Yeom et al. 2018)."""

from __future__ import annotations

from dalenius.core.errors import OptionError
from dalenius.core.result import Result
from dalenius.models.case import ModelCase
from dalenius.models.membership.told import told


def loss_attack(case: ModelCase, *, doubt: str = "") -> Result:
    """Tell people the model was fitted on from strangers by how well it knows their outcome.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(1)
    >>> people, others = ({"a": rng.normal(size=200), "y": rng.integers(0, 2, 200)} for _ in range(2))
    >>> tree = DecisionTreeClassifier(random_state=1).fit(people["a"][:, None], people["y"])
    >>> loss_attack(ModelCase.of(tree, people, others, target="y")).value > 0.7
    True
    """
    if case.holdout is None:
        raise OptionError(
            "people whom the model never saw are needed to tell who it was fitted on; give a holdout"
        )
    members = case.units.mean(case.scores(case.train))
    strangers = case.holdout.units.mean(case.scores(case.holdout))
    return told(
        "model-membership-loss", "how well the model knows the outcome", case, members, strangers, doubt
    )
