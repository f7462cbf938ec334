"""Keys of one table as codes, with gaps told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.counts.keys import distinct, ravel
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.units import Units, owner_codes, units_of
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.tabular.cells import gap_codes


@dataclass(frozen=True, eq=False, repr=False)
class KeyCodes:
    """Codes of the keys, one column each; -1 never occurs, gaps have a code of their own; and who owns each row.

    Examples
    --------
    >>> KeyCodes.of({"a": ["x", None, "x"]}, ["a"]).missing.tolist()
    [[False], [True], [False]]
    """

    names: tuple[str, ...]
    codes: IntArray
    labels: tuple[Sequence[Any], ...]
    missing: AnyArray
    units: Units

    @classmethod
    def of(cls, data: Any, keys: Sequence[str] | None) -> KeyCodes:
        """Read the keys off a table or frame."""
        table = Table.from_frame(data)
        wanted = list(keys) if keys is not None else table.schema.by_role(Role.KEY)
        if not wanted:
            raise OptionError(
                "no keys are named; say which columns an intruder may know, for example keys=['sex']"
            )
        if len(set(wanted)) < len(wanted):
            raise OptionError("a key is named twice; name each key once")
        absent = [name for name in wanted if name not in table]
        if absent:
            raise DataError(no_column(absent, table.names))
        if not table.rows:
            raise DataError("the file has no rows; there is nothing to measure")
        columns = [table[name].categories for name in wanted]
        codes = np.column_stack([c.codes.astype(np.int64) for c in columns])
        missing = np.column_stack([np.isin(c.codes, gap_codes(c.labels)) for c in columns])
        # the risk of a sample is of persons: people who share a home count one by one, and homes have their own figure
        units = units_of(table, None if table.schema.by_role(Role.ENTITY) else "record")
        return cls(tuple(wanted), codes, tuple(c.labels for c in columns), missing, units)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each key."""
        return tuple(len(each) for each in self.labels)

    def groups(self, columns: Sequence[int] | None = None) -> tuple[IntArray, int]:
        """Number the rows by their combination of some keys (a gap is a level), and count the combinations."""
        used = list(range(len(self.names))) if columns is None else list(columns)
        sizes = [self.sizes[i] for i in used]
        values, ids = distinct(ravel([self.codes[:, i] for i in used], sizes, len(self)), sizes)
        return ids, len(values)

    @cached_property
    def complete(self) -> AnyArray:
        """Rows without a gap in the keys."""
        whole: AnyArray = ~np.any(self.missing, axis=1)
        return whole


def column_values(data: Any, name: str | None, role: Role) -> AnyArray | None:
    """Numbers of a weight column, or owners of a household column, by name or by role; None when there is none."""
    table = Table.from_frame(data)
    found = [name] if name is not None else table.schema.by_role(role)
    if not found:
        return None
    if role is not Role.WEIGHT:
        return owner_codes(table[found[0]])
    values = table[found[0]].amounts()
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise DataError(
            f"weight column {found[0]!r} has empty, zero or negative weights; give every row a weight above 0"
        )
    return values


def check_population(population: float, units: int) -> None:
    """Raise when a population is smaller than the sample drawn from it.

    Examples
    --------
    >>> check_population(1000, 100)
    """
    if not population >= units:
        raise OptionError(
            f"a population of {population:,.0f} is smaller than the sample of {units:,}; say how many people the "
            "sample was drawn from"
        )
