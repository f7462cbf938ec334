"""A target finds the amount: of an option's values, from weak to strong, the first with which a recipe keeps it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.mask.lattice.criteria import Criterion, Groups, coded
from dalenius.risk.sample.individual import sample_risk
from dalenius.risk.sample.keys import KeyCodes, column_values

AMOUNT = "amount"
_EXPECTED = re.compile(r"expected re-?identifications\s*<=\s*([\d.]+)\s*(%?)")


@dataclass(frozen=True)
class Target:
    """What a masked file must keep: expected re-identifications, or a criterion of every group.

    Examples
    --------
    >>> table = Table.from_frame({"age": [20, 20, 30, 30], "ill": ["y", "n", "n", "n"]})
    >>> [Target.parse(line).met(table, ["age"]) for line in ("expected re-identifications <= 2", "l(ill) >= 2")]
    [True, False]
    """

    text: str
    expected: float | None = None
    share: bool = False
    criterion: Criterion | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read ``expected re-identifications <= 10`` (or ``<= 1 %``), ``k >= 5``, ``l(diagnosis) >= 3`` …."""
        found = _EXPECTED.fullmatch(text.strip())
        if found is not None:
            return cls(text.strip(), float(found[1]), found[2] == "%")
        return cls(text.strip(), criterion=Criterion.parse(text))

    def met(self, table: Table, keys: Sequence[str]) -> bool:
        """Whether a file keeps the target, read as `Generalise` reads it; gaps are values of their own."""
        there = [name for name in keys if name in table]
        if not there:
            return True
        if self.expected is not None:
            allowed = self.expected * (table.rows / 100 if self.share else 1)
            return sample_risk(table, there, alpha=None).expected <= allowed + 1e-9
        assert self.criterion is not None
        criterion = self.criterion.read_in(table)
        codes = KeyCodes.of(table, there)
        ids, size = codes.groups()
        groups = Groups(
            ids.astype(np.int32), np.ones(table.rows, np.int64), codes.units.owners(ids, size).astype(np.int64),
            column_values(table, None, Role.WEIGHT),
            {criterion.target: coded(table[criterion.target])} if criterion.target else {},
        )  # fmt: skip
        return bool(np.all(criterion.keeps(groups)))


def amounts(steps: Sequence[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The steps with each value of the option that is written ``{"amount": [weak, …, strong]}``.

    Examples
    --------
    >>> [s[0]["width"] for s in amounts([{"do": "recode", "column": "age", "width": {"amount": [5, 10]}}])]
    [5, 10]
    """
    places = [(i, name) for i, step in enumerate(steps) for name, value in step.items() if _is_amount(value)]
    if not places:
        yield [dict(step) for step in steps]
        return
    lists = [steps[i][name][AMOUNT] for i, name in places]
    if any(not isinstance(values, (list, tuple)) or not values for values in lists):
        raise OptionError("amount: list the values to try, from weak to strong")
    longest = max(len(values) for values in lists)
    for turn in range(longest):
        made = [dict(step) for step in steps]
        for (i, name), values in zip(places, lists, strict=True):
            made[i][name] = values[min(turn * len(values) // longest, len(values) - 1)]
        yield made


def has_amount(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an option of the steps is to be found."""
    return any(map(_is_amount, itertools.chain.from_iterable(step.values() for step in steps)))


def _is_amount(value: Any) -> bool:
    return isinstance(value, Mapping) and list(value) == [AMOUNT]
