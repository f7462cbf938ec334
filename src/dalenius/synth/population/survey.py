"""`SurveySpec`: which columns of a household survey say who lives together, where, and for how many they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, counted, no_column
from dalenius.data.table import Table
from dalenius.data.units import owner_codes
from dalenius.data.vector import AnyArray, IntArray


@dataclass(frozen=True)
class SurveySpec:
    """Columns of a household survey.

    Attributes
    ----------
    household_id, strata, weight
        Who lives together, the stratum (region) of the household, and how many households it stands for.
    household_size
        Column with the number of members, if there is one; it is checked.
    basic_vars
        Columns of people that come with the household (age and sex).
    age
        The one of them that is an age in years; ages of rare households are drawn anew within their band.
    """

    household_id: str
    strata: str
    weight: str
    household_size: str | None = None
    basic_vars: tuple[str, ...] = ("age", "sex")
    age: str | None = "age"


@dataclass(frozen=True, eq=False)
class Survey:
    """A survey that was checked, one household after the other.

    Attributes
    ----------
    table
        People, sorted by household.
    starts, sizes
        First row and number of members of each household.
    strata, weights
        Stratum and weight of each household.
    notes
        What was put right, in plain sentences.
    """

    table: Table
    spec: SurveySpec
    starts: IntArray
    sizes: IntArray
    strata: IntArray
    weights: AnyArray
    labels: list[Any]
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, sample: Any, spec: SurveySpec) -> Survey:
        """Check a sample; every fault is told at once, with numbers of rows and no values.

        Examples
        --------
        >>> data = {"hh": [1, 1, 2], "region": ["n", "s", "n"], "w": [10.5, 10.5, None]}
        >>> data |= {"age": [40, 9, 70], "sex": [1, 2, 1]}
        >>> Survey.of(data, SurveySpec("hh", "region", "w"))
        Traceback (most recent call last):
        ...
        dalenius.core.errors.DataError: survey: 2 faults: column 'w': 1 row without a value; column 'region' differs ...
        """
        table = Table.from_frame(sample)
        named = [spec.household_id, spec.strata, spec.weight, *spec.basic_vars]
        named += [spec.household_size] if spec.household_size else []
        absent = [name for name in named if name not in table]
        if absent:
            hint = (
                "; pass a column of ones if every household stands for itself"
                if spec.weight in absent
                else ""
            )
            raise DataError(f"survey: {no_column(absent, table.names)}{hint}")
        wrong = []
        for name in (spec.household_id, spec.strata, spec.weight):
            gaps = int((~table[name].present).sum())
            if gaps:
                wrong.append(f"column {name!r}: {counted(gaps, 'row')} without a value")
        code = owner_codes(table[spec.household_id]).astype(np.int64)
        order = np.argsort(code, kind="stable")
        table, code = table.take(order), code[order]
        starts = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
        sizes = np.diff(np.append(starts, len(code)))
        region = table[spec.strata].categories
        wrong += _faults(table, spec, starts, sizes, region.codes.astype(np.int64))
        if wrong:
            raise DataError.from_faults("survey", wrong)
        weights, notes = _weights(table, spec, starts, sizes)
        return cls(
            table,
            spec,
            starts,
            sizes,
            region.codes[starts].astype(np.int64),
            weights,
            list(region.labels),
            notes,
        )

    def people(self, households: AnyArray) -> AnyArray:
        """A figure of households as one of their members."""
        return np.repeat(households, self.sizes)


def _faults(table: Table, spec: SurveySpec, starts: IntArray, sizes: IntArray, region: IntArray) -> list[str]:
    """What differs within households that must not, and numbers of members that are not those of the rows."""
    wrong = []
    differ = int((np.maximum.reduceat(region, starts) != np.minimum.reduceat(region, starts)).sum())
    if differ:
        wrong.append(f"column {spec.strata!r} differs within {counted(differ, 'household')}")
    if spec.household_size:
        said = table[spec.household_size].amounts()[starts]
        off = int((said != sizes).sum())
        if off:
            wrong.append(
                f"column {spec.household_size!r} is not the number of rows of {counted(off, 'household')}"
            )
    weight = table[spec.weight].amounts()
    bad = int((weight <= 0).sum())
    if bad:
        wrong.append(f"column {spec.weight!r}: {counted(bad, 'row')} not above 0")
    return wrong


def _weights(
    table: Table, spec: SurveySpec, starts: IntArray, sizes: IntArray
) -> tuple[AnyArray, tuple[str, ...]]:
    """One weight a household: its members' mean."""
    weight = table[spec.weight].amounts()
    mean = np.add.reduceat(weight, starts) / sizes
    differ = int(
        (np.maximum.reduceat(weight, starts) - np.minimum.reduceat(weight, starts) > 1e-9 * mean).sum()
    )
    note = f"weights differ within {counted(differ, 'household')}; their mean is used"
    return mean, (note,) if differ else ()
