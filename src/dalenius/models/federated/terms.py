"""`Terms`: what a tree that is learnt together may ask and tell, and the figures that a limit can be set on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from dalenius.core.option import Option, check_fields
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.models.federated.federate import Federated
from dalenius.models.federated.trees import Vote
from dalenius.models.measures import MODEL_MEASURES


@dataclass(frozen=True)
class Terms:
    """Options of a tree that is learnt together, as plans name them.

    Examples
    --------
    >>> Terms(depth=2).agreed()
    {'depth': 2, 'theta': 0.2, 'smallest': 10, 'protect_label': False}
    """

    depth: Annotated[int, Option(at_least=1, title="Questions, one after another")] = 3
    theta: Annotated[float, Option(at_least=0, below=1, title="How much is changed at random")] = 0.2
    smallest: Annotated[int, Option(at_least=1, title="People in a leaf, at least")] = THRESHOLD
    protect_label: Annotated[bool, Option(title="Change the class at random too")] = False
    vote: Annotated[Vote, Option(title="Who votes")] = "tree"

    def __post_init__(self) -> None:
        check_fields("tree", self)

    def agreed(self) -> dict[str, Any]:
        """What becomes part of the agreement."""
        return {
            "depth": self.depth, "theta": self.theta, "smallest": self.smallest,
            "protect_label": self.protect_label,
        }  # fmt: skip


def tree_results(done: Federated) -> dict[str, Result]:
    """Figures of a merged tree, by name: what the changes cost, and how many people a leaf rests on."""
    least = done.agreement.smallest
    known = math.isfinite(done.total)
    cost = Result(
        "model-local-epsilon", done.total if known else math.nan,
        f"The local ε of a record is {figure(done.total)} over all columns." if known
        else "Nothing was changed at random, so there is no ε.",
        table=done.epsilon.rename({"ε": "epsilon"}), counts=WHOLE, trusted=known,
    )  # fmt: skip
    leaf = Result(
        "model-smallest-leaf",
        float(least),
        f"Every leaf rests on {least} people of its holder or more.",
        counts=WHOLE,
    )
    return {held.name: held.with_info(MODEL_MEASURES[held.name]) for held in (cost, leaf)}
