"""Everything that is wrong with several steps and with the file they are for, told at once.

A step that cannot be done does not keep the others from being looked at: they are held against the file without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalenius.core.errors import DaleniusError, DataError
from dalenius.core.option import declared, faults, lacking, unchecked
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.data.steps.step import Step, kind_from
from dalenius.data.table import Table


def faults_at_once(steps: Sequence[Mapping[str, Any]], table: Table, seed: Seed = DEFAULT_SEED) -> list[str]:
    """Faults of the options of all steps, and of each step beside the file that the steps before it leave.

    Steps are done for that, but for the last one and those that spend a privacy budget: ask only where something is
    known to be wrong. What is wrong with several steps is told once.

    Examples
    --------
    >>> steps = [{"do": "round", "column": "pay", "base": -5}, {"do": "limit-values", "column": "agee"}]
    >>> for fault in faults_at_once(steps, Table.from_frame({"age": [31, 38], "pay": [12, 18]})):
    ...     print(fault)
    step 1 (round): base is -5; use a number, above 0
    step 2 (limit-values, without step 1): no column 'agee'; did you mean 'age'? There are 'age', 'pay'
    """
    told: dict[str, str] = {}
    undone: list[str] = []
    for place, facts in enumerate(steps, 1):
        made, wrong = in_spite(facts)
        name = str(facts.get("do", "")) if len(steps) > 1 else ""
        without = f", without step {' and '.join(undone)}" if undone else ""
        after, found = (
            (None, []) if made is None else _held(made, table, seed, not wrong, place == len(steps))
        )
        for fault in wrong:
            told.setdefault(fault, f"step {place} ({name})")
        for fault in found:
            told.setdefault(fault, f"step {place} ({name}{without})")
        undone += [] if after is not None else [str(place)]
        table = table if after is None else after
    return [f"{where}: {fault}" if len(steps) > 1 else fault for fault, where in told.items()]


def _held(step: Step, table: Table, seed: Seed, sound: bool, last: bool) -> tuple[Table | None, list[str]]:
    """The file after a step, where it can be done, and what is wrong with the step beside the file."""
    try:
        found = step.faults(table)
    except Exception:  # options that contradict each other may keep a step from looking at a file
        if sound:
            raise
        found = []
    if found or not sound or step.pays or last:
        return None, found
    try:
        return step.apply(table, seed).table, []
    except DaleniusError as error:
        return None, list(error.faults)


def in_spite(facts: Mapping[str, Any]) -> tuple[Step | None, list[str]]:
    """A step to look at a file with, whatever is wrong with its options, and what that is.

    An option that is wrong is as it is by default; where it has no default there is no step.

    Examples
    --------
    >>> in_spite({"do": "recode", "column": "age", "wdth": 10})
    (Recode(column='age', cuts=(), labels=(), width=None, start=0), ["no option 'wdth'; did you mean 'width'?"])
    """
    try:
        kind, options = kind_from(facts)
    except DataError as error:
        return None, [fault.removeprefix("recipe: ") for fault in error.faults]
    known = declared(kind)
    wrong = [*faults(kind, options), *lacking(kind, options)]
    made = unchecked(kind, options)
    if made is None:
        return None, wrong
    meant = set(options) <= set(known)  # a name that was spelt wrong may be what the others lack
    return made, wrong + (made.conflicts() if meant else [])
