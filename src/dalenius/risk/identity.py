"""Identity disclosure: who can be singled out on the keys, and is he still single in the protected file?

*Keys* are columns an intruder may know about a person. A record is *unique* when nobody shares its combination of keys.
Definitions: spec psd17, section 2.3 (Raab, PSD 2024, with its misprints corrected); all in per cent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result, figure
from dalenius.counts.counts import Counts, align
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair


def uniques(original: Counts, protected: Counts) -> dict[str, float]:
    """UiO, UiS, UiOiS and repU of one contingency table over the keys.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]})
    >>> counted = pair.counts(["a"])
    >>> {k: round(v, 1) for k, v in uniques(counted.original, counted.protected).items()}
    {'UiO': 33.3, 'UiS': 100.0, 'UiOiS': 33.3, 'repU': 33.3}
    """
    _, (d, s) = align(original, protected)
    alone = d == 1
    return {
        "UiO": 100 * float(np.count_nonzero(alone)) / float(d.sum()),
        "UiS": 100 * float(np.count_nonzero(s == 1)) / float(s.sum()),
        "UiOiS": 100 * float(np.count_nonzero(alone & (s > 0))) / float(d.sum()),
        "repU": 100 * float(np.count_nonzero(alone & (s == 1))) / float(d.sum()),
    }


@measure(
    MeasureInfo(
        name="replicated-uniques",
        title="Replicated uniques (repU)",
        family="risk",
        meaning="Share of original records that are unique on the keys and meet exactly one protected record with those keys.",
        better="lower",
        bounds=(0, 100),
        unit="%",
        reference="Raab 2024 (PSD), section 3; synthpop: disclosure",
        needs=frozenset({"keys"}),
    )
)
def replicated_uniques(pair: Pair, keys: Sequence[str] | None = None, grouped: bool = False) -> Result:
    """Share of original records unique on the keys in both files.

    Parameters
    ----------
    keys
        Columns the intruder knows; default: the pair's keys.
    grouped
        Group numeric keys by the pair's grouping; otherwise every value is a category.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y", "y"]}, {"a": ["x", "y", "z"]}, keys=["a"])
    >>> print(replicated_uniques(pair))
    replicated-uniques = 33.3 % [6.15, 79.2] (original 33.3 %): 33.3 % of the original records are unique on 1 key
    (a), and 33.3 % are still matched by exactly one protected record: an intruder who finds them may believe he has
    found the person.
    """
    used = list(keys) if keys is not None else pair.keys
    counted = pair.counts(used, grouped)
    found = uniques(counted.original, counted.protected)
    yardsticks = {"original": found["UiO"]}
    if counted.holdout is not None:
        yardsticks["holdout"] = uniques(counted.holdout, counted.protected)["repU"]
    rows = pair.original.rows
    shown = ", ".join(used)
    sentence = (
        f"{figure(found['UiO'], '%')} of the original records are unique on {len(used)} {'key' if len(used) == 1 else 'keys'} "
        f"({shown}), and {figure(found['repU'], '%')} are still matched by exactly one protected record: "
        "an intruder who finds them may believe he has found the person."
    )
    return Result(
        name="replicated-uniques",
        value=found["repU"],
        unit="%",
        sentence=sentence,
        interval=wilson(found["repU"] * rows / 100, rows, scale=100),
        yardsticks=yardsticks,
        values=found,
        table=pl.DataFrame({"figure": list(found), "per cent": list(found.values())}),
    )
