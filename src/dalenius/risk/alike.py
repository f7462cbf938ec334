"""How many records of a file look alike on the keys, and how many values of a target they have.

What offices ask of masked files (``k >= 5``, ``l(diagnosis) >= 3``, ``expected re-identifications <= 10``), as measures
of a pair. Gaps are values of their own: a suppressed cell protects its own record and nobody else's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.risk.sample.fitting import rows_that_fit


@measure(
    name="k-anonymity",
    title="Smallest group of records that look alike (k)",
    family="risk",
    dimension="singling out",
    meaning="Fewest records of the protected file that share a combination of keys; people, where it is known whose "
    "records they are.",
    better="higher",
    bounds=(1, np.inf),
    reference="Samarati and Sweeney 1998",
    needs=frozenset({"keys"}),
    default=False,
    compares=False,
    sees_copy=False,
    sees_dependence=False,
    sees_spread=False,
)
def smallest_group(pair: Pair) -> Result:
    """Fewest protected records that share a combination of keys.

    Examples
    --------
    >>> print(smallest_group(Pair({"a": ["x", "x", "y"]}, {"a": ["x", "x", "x"]}, keys=["a"])))
    k-anonymity = 3 (original 1): The rarest combination of keys (a) is shared by 3 records of the protected file, in
    the original by 1.
    """
    groups = pair.groups(pair.keys, grouped=False)
    owners, noun = pair.units.codes, "records"
    now = np.bincount(groups.protected, minlength=len(groups))
    before = _owners(groups.original, owners, len(groups))
    links = None if pair.lens is None else pair.lens.links
    if links is not None and owners is not None:
        now, noun = _owners(groups.protected, owners[links], len(groups)), pair.units.noun
    least, had = int(now[now > 0].min()), int(before[before > 0].min())
    values = {"unique records": float(np.count_nonzero(now == 1)), "groups": float(np.count_nonzero(now))}
    if (
        pair.lens is not None
        and set(pair.lens.gaps) & set(pair.keys)
        and not pair.lens.perturbed & set(pair.keys)
    ):
        fit = rows_that_fit(pair.lens.see(pair.unmasked, drop=False), pair.protected, pair.keys)
        values["fewest records that fit a person's keys"] = float(
            (fit if links is None else fit[links]).min()
        )
    return Result(
        name="k-anonymity",
        value=float(least),
        sentence=f"The rarest combination of keys ({', '.join(pair.keys)}) is shared by {least:,} {noun} of the "
        f"protected file, in the original by {had:,}.",
        yardsticks={"original": float(had)},
        values=values,
        counts=WHOLE,
    )


def _owners(ids: npt.NDArray[Any], owners: npt.NDArray[Any] | None, size: int) -> npt.NDArray[Any]:
    """Owners in each group: a person counts once, however many rows she has in it."""
    if owners is None:
        return np.bincount(ids, minlength=size)
    each = np.unique(ids.astype(np.int64) * (int(owners.max()) + 1) + owners)
    return np.bincount(each // (int(owners.max()) + 1), minlength=size)


@measure(
    name="l-diversity",
    title="Fewest values of a target in a group (l)",
    family="risk",
    dimension="attribution",
    meaning="Fewest different values of a target among records of the protected file that look alike on the keys; "
    "missing ones are no values.",
    better="higher",
    bounds=(0, np.inf),
    reference="Machanavajjhala et al. 2007",
    needs=frozenset({"keys", "targets"}),
    default=False,
    compares=False,
    sees_copy=False,
    sees_dependence=False,
    sees_spread=False,
)
def fewest_values(pair: Pair) -> Result:
    """Fewest different values of a target among protected records with the same keys; each target's in ``values``.

    Examples
    --------
    >>> data = {"a": ["x", "x", "y"], "b": [1, 2, 1]}
    >>> fewest_values(Pair(data, data, keys=["a"], targets=["b"])).values
    {'b': 1.0}
    """
    groups = pair.groups(pair.keys, grouped=False)
    fewest = {}
    for target in pair.targets:
        codes, known = pair.categories(target, grouped=False).protected, pair.protected[target].present
        cells = np.unique((groups.protected.astype(np.int64) * codes.size + codes.codes)[known])
        different = np.bincount(cells // codes.size, minlength=len(groups))
        fewest[target] = float(different[groups.protected].min())
    worst = min(fewest, key=lambda name: fewest[name])
    return Result(
        name="l-diversity",
        value=fewest[worst],
        sentence=f"Records that look alike on the keys ({', '.join(pair.keys)}) have at least {figure(fewest[worst])} "
        f"different values of {worst}.",
        values=fewest,
        counts=WHOLE,
    )


@measure(
    name="re-identifications",
    title="Expected re-identifications",
    family="risk",
    dimension="singling out",
    meaning="People whom somebody who knows their keys finds by picking one of the records that fit; through the mask "
    "where there is one, and else as if every record that fits were a real one.",
    better="lower",
    bounds=(0, np.inf),
    reference="Hundepool et al. 2012, section 3.3",
    needs=frozenset({"keys"}),
    default=False,
    compares=False,
)
def reidentifications(pair: Pair) -> Result:
    """Expected number of people found by their keys.

    Examples
    --------
    >>> reidentifications(Pair({"a": ["x", "x", "y"]}, {"a": ["x", "x", "y"]}, keys=["a"])).value
    2.0
    """
    match = pair.match(pair.keys)
    ids = match.groups.original
    fitting = match.protected[ids]
    chance = np.where(fitting > 0, 1 / np.maximum(fitting, 1), 0.0)
    links = None if pair.lens is None else pair.lens.links
    if pair.lens is not None:
        own = np.arange(len(match.groups.protected)) if links is None else links
        among = np.zeros(len(ids), bool)  # whether the record that fits best is among those that fit
        among[own] = match.groups.protected == ids[own]
        chance = np.where(among, chance, 0.0)
    expected = float(pair.units.most(chance).sum())
    alone = 1 / np.maximum(match.original[ids], 1)
    had = float(pair.units.most(alone).sum())
    share = figure(100 * expected / max(pair.units.count, 1), "%")
    return Result(
        name="re-identifications",
        value=expected,
        sentence=f"Somebody who knows {', '.join(pair.keys)} of everybody and picks one of the records that fit finds "
        f"{figure(expected)} of {pair.units.count:,} {pair.units.noun} ({share}); in the original {figure(had)}.",
        yardsticks={"original": had},
        values={"per cent": 100 * expected / max(pair.units.count, 1)},
        counts=WHOLE,
    )
