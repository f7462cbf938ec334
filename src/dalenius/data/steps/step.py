"""`Step`: one change of a file, as plain data a person can read, edit, undo and do again next year.

A step is a frozen dataclass of options with `_apply`, registered under a name by ``@step``. The name is its word in
recipes, plans and on the command line. `Masked` is what comes out: the table, its lens, and what was changed.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.option import REQUIRED, check_fields, declared, faults, lacking, refuse
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo, home
from dalenius.data.encode import level_key
from dalenius.data.lens import Lens, Map
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, BoolArray, IntArray, Vector, states

COLUMN_FIELDS = (
    "column",
    "columns",
    "variables",
    "keys",
    "targets",
    "strata",
    "weight",
    "household",
    "source",
)
"""Fields of a step that name columns."""


@dataclass(frozen=True, eq=False)
class Masked:
    """A table after a step.

    Attributes
    ----------
    table
        The new table.
    lens
        What the step did to each column: mapped, perturbed, dropped, cells suppressed; whose row each row is.
    notes
        What a person should know, in plain sentences without confidential values.
    changed
        Cells changed, by column.
    records
        Rows of the new table with a changed cell, and rows that are gone.
    figures
        What the step says of itself: within-group variance, rows left below a threshold, a gap to the optimum.
    ledger
        What a privacy budget was spent on; empty without one.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> masked = Round("age", 10).apply(Table.from_frame({"age": [31, 38, 60]}))
    >>> masked.changed, masked.records
    ({'age': 2}, 2)
    """

    table: Table
    lens: Lens = field(default_factory=Lens)
    notes: tuple[str, ...] = ()
    changed: Mapping[str, int] = field(default_factory=dict)
    records: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    ledger: str = ""

    @classmethod
    def of(
        cls, before: Table, after: Table, *, maps: Sequence[Map] = (), perturbed: Collection[str] = (),
        rows: IntArray | None = None, notes: Sequence[str] = (), figures: Mapping[str, float] | None = None,
    ) -> Self:  # fmt: skip
        """What a step made of a table, with changed and suppressed cells counted here.

        Parameters
        ----------
        maps, perturbed
            What the step did to columns (see `Lens`); columns that are gone and cells that are newly empty are found.
        rows
            For each row after the step the row before it, where rows were removed or moved.
        """
        common = [name for name in before.names if name in after]
        old = before if rows is None else before.take(rows)
        touched = {name: differs(old[name], after[name]) for name in common if old[name] is not after[name]}
        changed = {name: int(np.count_nonzero(where)) for name, where in touched.items() if where.any()}
        seen = old.select(common)
        for each in maps:
            seen = each.see(seen)
        gone = {name: (states(after[name]) == MISSING) & (states(seen[name]) != MISSING) for name in changed}
        gaps = {name: empty for name, empty in gone.items() if empty.any()}
        lost = frozenset(name for name in before.names if name not in after)
        any_cell = np.any(list(touched.values()), axis=0) if touched else np.zeros(after.rows, bool)
        removed = 0 if rows is None else before.rows - len(np.unique(rows))
        return cls(
            after, Lens(tuple(maps), frozenset(perturbed), lost, gaps, rows), tuple(notes), changed,
            int(np.count_nonzero(any_cell)) + removed, dict(figures or {}),
        )  # fmt: skip

    def then(self, later: Masked) -> Masked:
        """What both steps did, one after the other."""
        changed = {name: self.changed.get(name, 0) + count for name, count in later.changed.items()}
        return Masked(
            later.table, self.lens.then(later.lens), (*self.notes, *later.notes), {**self.changed, **changed},
            max(self.records, later.records), {**self.figures, **later.figures},
            "\n".join(filter(None, (self.ledger, later.ledger))),
        )  # fmt: skip


@dataclass(frozen=True)
class Step(ABC):
    """One change of a file.

    Attributes
    ----------
    do
        Its name in recipes. A step with ``info`` takes it from there.
    info
        What a steward must know about a step that masks; such a step can also stand alone, as a method.
    reversible
        Whether undoing it brings everything back.
    pays
        Whether it spends a privacy budget, out of the ledger that its option of that name gives.
    whole
        Whether its promise covers every column that leaves, so that none may be dropped afterwards by looking at the
        data.
    """

    do: ClassVar[str] = ""
    info: ClassVar[MethodInfo | None] = None
    reversible: ClassVar[bool] = True
    pays: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__dict__.get("info")
        if own is not None:
            cls.do = own.name

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, list):
                object.__setattr__(self, each.name, tuple(value))
        check_fields(self.do, self)
        refuse(self.do, self.conflicts())

    def conflicts(self) -> list[str]:
        """Faults of options that are fine each on its own and do not go together."""
        return []

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that must be there when the step is undone."""
        return ()

    @property
    def named(self) -> tuple[str, ...]:
        """Columns that the step names."""
        told: list[str] = []
        for name in COLUMN_FIELDS:
            value = getattr(self, name, None)
            told += [value] if isinstance(value, str) else list(value or ())
        return tuple(dict.fromkeys(told))

    def faults(self, table: Table) -> list[str]:
        """Everything wrong with the step beside a table; a subclass adds to it, and quotes no value."""
        absent = [name for name in self.named if name not in table]
        return [no_column(absent, table.names)] if absent else []

    def apply(self, table: Table, seed: Seed = None) -> Masked:
        """Do the step; the table given stays as it is."""
        wrong = self.faults(table)
        if wrong:
            raise DataError.from_faults(self.do, wrong)
        return self._apply(table, seed)

    @abstractmethod
    def _apply(self, table: Table, seed: Seed) -> Masked: ...

    def undo(self, table: Table) -> Table:
        """A file made after the step, with everything back that can come back."""
        return table

    def cost(self, shape: Shape) -> Cost:
        """Expected time and memory; the usual step looks at every cell once."""
        cells = shape.rows * max(shape.columns, 1)
        return Cost(seconds=0.005 + 5e-8 * cells, bytes=9.0 * cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, without options that are as they are by default; what people turn is always told."""
        usual = {
            name: each.default
            for name, each in declared(type(self)).items()
            if each.default is not REQUIRED and not (each.option.knob and each.default)
        }
        facts = {
            name: value for name, value in asdict(self).items() if name not in usual or usual[name] != value
        }
        return {"do": self.do, **facts}


@dataclass(frozen=True)
class ColumnStep(Step):
    """A step on one column that says how the table changes."""

    column: str

    def _apply(self, table: Table, seed: Seed) -> Masked:
        return Masked.of(table, self._change(table))

    @abstractmethod
    def _change(self, table: Table) -> Table: ...


S = TypeVar("S", bound=type[Step])
STEPS: dict[str, type[Step]] = {}
"""All steps by name."""
FOLLOWERS: list[Callable[[type[Step]], object]] = []
"""Called with every step that comes later: a higher room makes methods of those that mask."""


def step(cls: S) -> S:
    """Make a step known by its name, for use as a class decorator; a name is taken once.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> STEPS["round"] is Round
    True
    """
    if cls.do in STEPS and home(STEPS[cls.do]) != home(cls):
        raise OptionError(f"step {cls.do!r} is registered twice; give one of them another name")
    STEPS[cls.do] = cls
    for follow in FOLLOWERS:
        follow(cls)
    return cls


def step_from(facts: Mapping[str, Any]) -> Step:
    """Read a step back; every fault is told at once.

    Examples
    --------
    >>> from dalenius.data.steps import MoveLast
    >>> step_from({"do": "move-last", "column": "job"})
    MoveLast(column='job')
    >>> step_from({"do": "round", "column": "job", "bse": 5})
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: recipe: round: no option 'bse'; did you mean 'base'?
    """
    kind, options = kind_from(facts)
    wrong = faults(kind, options)
    wrong += lacking(kind, options)
    if wrong:
        raise DataError(f"recipe: {kind.do}: {'; '.join(wrong)}", [f"{kind.do}: {each}" for each in wrong])
    try:
        return kind(**options)
    except OptionError as error:
        raise DataError(f"recipe: {error}", error.faults) from None


def kind_from(facts: Mapping[str, Any]) -> tuple[type[Step], dict[str, Any]]:
    """The kind of a step that is written down, and its options as they are written.

    Examples
    --------
    >>> kind_from({"do": "move-last", "column": "job"})[1]
    {'column': 'job'}
    """
    name = str(facts.get("do", ""))
    if name not in STEPS:
        importlib.import_module("dalenius.mask")  # a higher room that brings more steps with it
    kind = STEPS.get(name)
    if kind is None:
        raise DataError(f"recipe: no step {facts.get('do')!r}; there are {', '.join(STEPS)}")
    return kind, {str(name): value for name, value in facts.items() if name != "do"}


def chosen(table: Table, wanted: Sequence[str], role: Role) -> list[str]:
    """The columns an option names; where it names none, those with a role.

    Examples
    --------
    >>> chosen(Table.from_frame({"a": [1]}), ["a"], Role.KEY)
    ['a']
    """
    return list(wanted) or table.schema.by_role(role)


def differs(old: Vector, new: Vector) -> BoolArray:
    """Rows in which two columns say different things.

    Examples
    --------
    >>> before, after = ({"a": ["x", "y"]}, {"a": ["y", "y"]})
    >>> differs(Table.from_frame(before)["a"], Table.from_frame(after)["a"]).tolist()
    [True, False]
    """
    if old.is_number != new.is_number:
        return old.present | new.present
    moved = states(old) != states(new)
    if old.is_number:
        return moved | (old.present & (old.data != new.data))
    if old.levels == new.levels:
        return moved | (old.present & (old.data != new.data))
    place = {level_key(level): i for i, level in enumerate(new.levels)}
    became = np.array([place.get(level_key(level), -1) for level in old.levels] or [-1])
    return moved | (old.present & (became[old.data] != new.data))
