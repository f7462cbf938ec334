"""Households: whether a synthetic survey still consists of families (Thees et al. 2024).

A generator that draws rows one by one makes households of children only, or one household per person. A household is an
adult one when a member is of age; its weight is the mean of its members' weights, counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.units import owner_codes
from dalenius.data.vector import AnyArray, Vector
from dalenius.utility.charts import two_files
from dalenius.utility.distances import row_weights

ADULT = 16
"""Age from which a member is an adult; the paper does not say, 16 gives its figures (Thees et al. 2024)."""
LARGEST = 8
"""Households of this size and more are one class."""


@dataclass(frozen=True)
class Households:
    """Counts of one file: households in the file, and what they stand for with weights."""

    count: int
    estimated: float
    children_only: int
    children_only_estimated: float
    mixed: int
    mixed_estimated: float
    sizes: AnyArray


def household_counts(
    table: Table,
    household: str,
    age: str | None = None,
    sex: str | None = None,
    weight: str | None = None,
    *,
    adult: float = ADULT,
) -> Households:
    """Households, those of children only, and those with adults of both sexes.

    A row without a household is one of its own; unknown ages and sexes make nobody a child or of another sex.

    Examples
    --------
    >>> table = Table.from_frame({"hh": ["1", "1", "1", "2", "3"], "age": [40, 42, 5, 9, 70],
    ...     "sex": ["f", "m", "f", "m", "f"], "w": [100.5, 100.5, 100.5, 80.5, 120.5]})
    >>> found = household_counts(table, "hh", "age", "sex", "w")
    >>> found.count, found.estimated, found.children_only, found.children_only_estimated, found.mixed
    (3, 301.5, 1, 80.5, 1)
    """
    code = owner_codes(table[household]).astype(np.int64)
    size = int(code.max()) + 1 if len(code) else 0
    members = np.bincount(code, minlength=size)
    mean = np.bincount(code, row_weights(table, weight), minlength=size) / np.maximum(members, 1)
    years = np.full(table.rows, np.inf) if age is None else table[age].floats()
    children = np.bincount(code, years < adult, minlength=size) == members
    mixed = _kinds_of(table[sex], code, years >= adult, size) > 1 if sex is not None else np.zeros(size, bool)
    classes = np.minimum(members, LARGEST)
    return Households(
        size, float(mean.sum()), int(children.sum()), float(mean[children].sum()), int(mixed.sum()),
        float(mean[mixed].sum()), np.bincount(classes, mean, minlength=LARGEST + 1)[1:],
    )  # fmt: skip


def _kinds_of(sex: Vector, code: AnyArray, grown: AnyArray, size: int) -> AnyArray:
    """How many different sexes the adults of each household are known to have."""
    rows = grown & sex.present
    seen = np.unique(np.stack([code[rows], sex.categories.codes[rows].astype(np.int64)]), axis=1)
    return np.bincount(seen[0], minlength=size)


@measure(
    name="households",
    title="Households kept",
    family="utility",
    meaning="How far households differ, in per cent of the original's: their number, those of children only, those "
    "with adults of both sexes, and their sizes; 0 is the same.",
    better="lower",
    bounds=(0, float("inf")),
    reference="Thees, Novák, Templ 2024",
    unit="%",
    default=False,
    needs=frozenset({"households"}),
    sees_dependence=False,
)
def households_kept(
    pair: Pair,
    household: str | None = None,
    age: str = "age",
    sex: str = "sex",
    weight: str | None = None,
    adult: float = ADULT,
) -> Result:
    """Mean difference of four household figures; the household column is the one with that role unless named.

    Examples
    --------
    >>> data = {"hh": ["1", "1", "2", "3"], "age": [40, 12, 30, 9], "sex": ["f", "m", "m", "f"]}
    >>> households_kept(Pair(data, data), "hh").value
    0.0
    """
    columns = [household] if household is not None else pair.schema.by_role(Role.HOUSEHOLD)
    if household is not None and household not in pair.original:
        raise DataError(f"no column {household!r} that names households in both files")
    roles = [name for name in pair.schema.by_role(Role.WEIGHT) if name in pair.original]
    used = {
        "age": age if age in pair.original and pair.original[age].is_number else None,
        "sex": sex if sex in pair.original else None,
        "weight": weight or (roles[0] if roles else None),
    }
    # columns called age and sex are merely looked for; others were named by somebody
    for role, name in {"age": age, "sex": sex, "weight": weight}.items():
        if name not in (None, role) and (used[role] is None or name not in pair.original):
            raise DataError(
                f"column {name!r} cannot be used as {role}: it is not in both files, or not a number"
            )
    sides = [household_counts(t, columns[0], adult=adult, **used) for t in (pair.original, pair.protected)]
    table = _table(sides)
    value = float(table["difference"].mean())  # type: ignore[arg-type]
    text = (
        f"The protected file stands for {figure(sides[1].estimated)} households where the original stands for "
        f"{figure(sides[0].estimated)}; {figure(sides[1].children_only_estimated)} of them are children alone "
        f"(original {figure(sides[0].children_only_estimated)})."
    )
    shown = table.head(3)
    return Result(
        name="households",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 0.0},
        table=table,
        counts=("original",),
        chart=lambda: two_files(shown, "figure", "households"),
    )


def _table(sides: Sequence[Households]) -> pl.DataFrame:
    """Original and protected figures with their difference in per cent of the original's households."""
    whole = max(sides[0].estimated, 1e-12)
    pairs = {
        "households": [side.estimated for side in sides],
        "children only": [side.children_only_estimated for side in sides],
        "adults of both sexes": [side.mixed_estimated for side in sides],
    }
    rows = [
        {"figure": name, "original": a, "protected": b, "difference": 100 * abs(a - b) / whole}
        for name, (a, b) in pairs.items()
    ]
    shares = [side.sizes / max(float(side.sizes.sum()), 1e-12) for side in sides]
    means = [float(share @ np.arange(1, LARGEST + 1)) for share in shares]
    apart = 50 * float(np.abs(shares[0] - shares[1]).sum())
    rows.append({"figure": "mean size", "original": means[0], "protected": means[1], "difference": apart})
    return pl.DataFrame(rows)
