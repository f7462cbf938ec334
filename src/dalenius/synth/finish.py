"""Steps after synthesis: a plan, a candidate or a command can end in a recipe.

Most steps look at the made file alone (top-coding, rounding, a label); removing rows that repeat a unique original
looks at the original too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from dalenius.core.errors import DaleniusError, DataError, counted
from dalenius.core.option import Option
from dalenius.core.random import Seed, sequence
from dalenius.data.recipe import Recipe
from dalenius.data.steps.recoding import LABEL, labelled
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.synth.sdc import replicated_uniques


@step
@dataclass(frozen=True)
class Label(Step):
    """A first column says of every row what it is.

    Examples
    --------
    >>> Label("MADE UP").apply(Table.from_frame({"a": [1, 2]})).table.to_frame()
    {'label': ['MADE UP', 'MADE UP'], 'a': [1, 2]}
    """

    do: ClassVar[str] = "label"
    reversible: ClassVar[bool] = True
    text: str = LABEL
    name: str = "label"

    def faults(self, table: Table) -> list[str]:
        """No column of that name."""
        return [f"there is already a column {self.name!r}"] if self.name in table else []

    def _apply(self, table: Table, seed: Seed) -> Masked:
        return Masked(labelled(table, self.text, self.name))

    def undo(self, table: Table) -> Table:
        """Without the label."""
        return table.drop([self.name])


@step
@dataclass(frozen=True)
class RemoveUniques(Step):
    """Rows that are unique in the made file and repeat a unique original are removed, by all columns or by keys."""

    do: ClassVar[str] = "remove-uniques"
    reversible: ClassVar[bool] = False
    keys: Annotated[tuple[str, ...], Option(title="Keys", meaning="what an intruder may know")] = ()

    def _apply(self, table: Table, seed: Seed) -> Masked:
        raise DataError("remove-uniques compares with the original; put it under 'then' of a synthesizer")

    def against(self, table: Table, original: Table) -> Masked:
        """Remove the rows that repeat a unique original."""
        again = replicated_uniques(original, table, list(self.keys) or None)
        note = f"{counted(int(again.sum()), 'row')} that repeat a unique original removed"
        return Masked.of(table, table.take(~again), rows=np.flatnonzero(~again), notes=(note,))


def finish(
    table: Table, original: Table, steps: Sequence[Mapping[str, Any]], seed: Seed
) -> tuple[Table, list[str]]:
    """A made table after the steps that end a plan, and what to know about them.

    Examples
    --------
    >>> real = Table.from_frame({"age": [31, 64, 64, 12] * 2, "job": list("abbcabbd")})
    >>> made = Table.from_frame({"age": [31, 64, 64, 12], "job": list("abbc")})
    >>> steps = [{"do": "remove-uniques"}, {"do": "limit-values", "column": "age", "high": 50}, {"do": "label"}]
    >>> done, notes = finish(made, real, steps, 1)
    >>> done.to_frame()["age"], notes
    ([31, 50, 50], ['1 row that repeat a unique original removed'])
    """
    notes: list[str] = []
    for place, each in enumerate(Recipe.from_dict({"steps": list(steps)}).steps):
        own = sequence(seed, "then", place, each.do)
        made = each.against(table, original) if isinstance(each, RemoveUniques) else each.apply(table, own)
        table = made.table
        notes += made.notes
    return table, notes


def finish_faults(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with the steps that end a plan, before anything is made."""
    try:
        Recipe.from_dict({"steps": list(steps)})
    except DaleniusError as error:
        return [f"then: {fault}" for fault in error.faults]
    return []
