"""Training and control: synthesize a part of the data and compare the risk of those inside with those outside.

Raab 2024: the original is split, only the training part is synthesized, and any measure is taken twice, with the
training part and with the control part as the people at risk. What both share is general knowledge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, sequence
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.units import deal
from dalenius.risk.membership.shadow import Release
from dalenius.risk.sampling import SEED
from dalenius.risk.tabular.disclosure import disclosure, specific_risk


def train_control_risk(
    data: Any,
    method: Release,
    keys: Sequence[str],
    targets: Sequence[str],
    *,
    control: float = 0.2,
    figures: Sequence[str] = ("DiSCO", "dcap"),
    seed: Seed = SEED,
) -> pl.DataFrame:
    """Risk of people whom the method saw, of people it did not see, and the part that comes from being seen.

    Parameters
    ----------
    method
        A method, a `Candidate`, or any callable (table, seed) -> table.
    control
        Share of the rows that is kept away from the method.
    figures
        Figures of `disclosure`: DiSCO, DiSDiO, dcap, tcap_found, …

    Examples
    --------
    >>> people = {"k": [str(i % 40) for i in range(200)], "t": [str(i % 3) for i in range(200)]}
    >>> found = train_control_risk(people, lambda table, seed: table, ["k"], ["t"], figures=["DiSCO"])
    >>> found.columns
    ['target', 'figure', 'inside', 'outside', 'specific']
    """
    if not 0 < control < 1:
        raise OptionError("the control part is a share of the rows between 0 and 1")
    if not targets:
        raise OptionError(
            "no targets are named; say which columns would hurt if learnt, as in targets=['ill']"
        )
    table = Table.from_frame(data)
    kept, held = deal(table, max(1, round(control * table.rows)), seed, "control")
    inside, outside = table.take(kept), table.take(held)
    made = method(inside, sequence(seed, "synthesis"))
    pairs = [Pair(people, made, keys=keys, targets=targets) for people in (inside, outside)]
    rows = []
    for target in targets:
        both = [disclosure(pair, target, keys) for pair in pairs]
        found = [{**d.identity, **d.attribute, **d.caps} for d in both]
        for name in figures:
            if name not in found[0]:
                raise OptionError(f"unknown figure {name!r}; use one of {', '.join(found[0])}")
            first, second = found[0][name], found[1][name]
            risk = 100 * specific_risk(first / 100, second / 100)
            rows.append(
                {"target": target, "figure": name, "inside": first, "outside": second, "specific": risk}
            )
    return pl.DataFrame(rows)
