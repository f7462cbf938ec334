"""`RelationalMethod` and `RELATIONAL`: ways to make a database like another; `MadeDatabase`: what came out.

A method makes the tables without keys (`Parts`): for each table the rows, and for each link the row of the parent that
a row belongs to. What is done here is the same for all: keys are made anew, every table passes the exit, and rules
across tables are looked after.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, TypeVar

from dalenius.core.errors import DataError, OptionError
from dalenius.core.option import check_fields, faults, refuse
from dalenius.core.random import DEFAULT_SEED, Seed, sequence
from dalenius.core.registry import MethodInfo, Registry
from dalenius.data.exit import leave
from dalenius.data.relations import Database, Link
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.synth.base import Method, make_method
from dalenius.synth.relational.crossing import computed, repaired, totals
from dalenius.synth.relational.surrogate import Pattern, with_keys

Progress = Callable[[str], None]
DEFAULT = "conditional"


@dataclass(frozen=True, eq=False)
class Parts:
    """Tables without keys, and who belongs to whom by row.

    Attributes
    ----------
    tables
        Rows of each table, without keys.
    places
        For each link, the parent's row of every child row; -1 where there is none.
    """

    tables: Mapping[str, Table]
    places: Mapping[Link, IntArray]
    notes: tuple[str, ...] = ()


class DatabaseModel(ABC):
    """What a relational method learnt; it can only draw."""

    def __init__(self, base: Database, notes: tuple[str, ...] = ()) -> None:
        self.links = base.links
        self.frame = replace(base, tables={})
        self.patterns = {name: Pattern.of(base[name][key]) for name, key in base.keys.items()}
        self.columns = {name: base[name].names for name in base.tables}
        self.origins = {name: replace(table.origin, index=None) for name, table in base.tables.items()}
        self.rules = base.rules
        self.notes = notes
        self.told: tuple[str, ...] = ()

    def sample(self, seed: Seed = None) -> Database:
        """Draw a database with keys of its own."""
        parts = repaired(self.draw(seed), self.rules)
        made = {
            name: leave(table) for name, table in computed(parts.tables, parts.places, self.rules).items()
        }
        self.told = parts.notes
        return with_keys(self.frame, made, parts.places, self.patterns, self.columns, seed, self.origins)

    def save(self, path: str | Path) -> None:
        """Save it to one file without pickle; `load_database_model` opens it."""
        from dalenius.synth.relational.model_file import save_database_model  # noqa: PLC0415 (it needs all methods)

        save_database_model(self, path)

    @abstractmethod
    def draw(self, seed: Seed) -> Parts:
        """Tables without keys, and who belongs to whom."""


@dataclass(frozen=True)
class MadeDatabase:
    """Synthetic databases of one original; iterating gives the databases.

    Attributes
    ----------
    databases
        One for each copy.
    notes
        What a person should know, in plain sentences.
    fit_seconds, draw_seconds
        Wall-clock time of fitting and of drawing.
    """

    databases: tuple[Database, ...]
    model: DatabaseModel = field(repr=False)
    notes: tuple[str, ...] = ()
    fit_seconds: float = 0.0
    draw_seconds: float = 0.0

    def __iter__(self) -> Iterator[Database]:
        return iter(self.databases)

    @property
    def database(self) -> Database:
        """The database, where one was made."""
        if len(self.databases) != 1:
            raise OptionError(f"{len(self.databases)} databases were made; take one of 'databases'")
        return self.databases[0]


class RelationalMethod(ABC):
    """A way to make a synthetic database. Options are dataclass fields of the subclass.

    Examples
    --------
    >>> homes = {"id": list(range(40)), "area": ["n", "s"] * 20}
    >>> people = {"home_id": [i // 2 for i in range(80)], "age": [40, 9, 70, 30] * 20}
    >>> made = RELATIONAL["conditional"]().make(Database.of({"homes": homes, "people": people}), seed=1)
    >>> made.database.links[0].child, made.database["homes"].rows
    ('people', 40)
    """

    info: ClassVar[MethodInfo]

    def __post_init__(self) -> None:
        check_fields(self.info.name, self)

    def faults_for(self, base: Database) -> list[str]:
        """What the method cannot do with a database."""
        return []

    @property
    def inner(self) -> Method | None:
        """The method of single tables that it uses; None where it uses none of choice."""
        name = getattr(self, "base", None)
        return None if name is None else make_method(name, **getattr(self, "options", {}))

    @property
    def private(self) -> bool:
        """Whether a privacy budget is promised."""
        return self.inner is not None and self.inner.private

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same database."""
        return self.inner is None or self.inner.repeatable

    @property
    def promise(self) -> str:
        """What the method itself promises, before anything is measured, for people who get the tables."""
        return self.info.promise

    @abstractmethod
    def _fit(self, base: Database, seed: Seed) -> DatabaseModel: ...

    def fit(self, base: Database, *, seed: Seed = None) -> DatabaseModel:
        """Learn from a database; columns that rules define as totals of children are made after them."""
        wrong = self.faults_for(base)
        if wrong:
            raise DataError.from_faults(self.info.name, wrong)
        model = self._fit(totals(base), seed)
        model.columns = {name: base[name].names for name in base.tables}
        model.origins = {name: replace(table.origin, index=None) for name, table in base.tables.items()}
        return model

    def make(
        self, base: Database, copies: int = 1, *, seed: Seed = DEFAULT_SEED, first: int = 0,
        progress: Progress | None = None,
    ) -> MadeDatabase:  # fmt: skip
        """Synthetic databases: one fit, and each copy drawn with a seed of its own; ``first`` is the first's number."""
        root = sequence(seed)
        start = perf_counter()
        model = self.fit(base, seed=sequence(root, "fit", 0))
        fitted = perf_counter()
        made: list[Database] = []
        told: list[str] = []
        for copy in range(first, first + copies):
            if progress is not None:
                progress(f"copy {copy - first + 1} of {copies}")
            made.append(model.sample(sequence(root, "draw", copy)))
            told += model.told
        notes = tuple(dict.fromkeys((*model.notes, *told)))
        return MadeDatabase(tuple(made), model, notes, fitted - start, perf_counter() - fitted)


R = TypeVar("R", bound=type[RelationalMethod])
RELATIONAL: Registry[type[RelationalMethod]] = Registry("method of several tables")


def register_relational(cls: R) -> R:
    """Make a method of several tables known by its name, for use as a class decorator.

    Examples
    --------
    >>> register_relational(RELATIONAL["join"]).info.name
    'join'
    """
    RELATIONAL.add(cls)
    return cls


def make_relational(method: str, /, **options: Any) -> RelationalMethod:
    """A method of several tables by name, every fault of its options told at once.

    Examples
    --------
    >>> make_relational("conditional", minbucket=0)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: conditional: minbucket is 0; use a whole number, 1 or more
    """
    kind = RELATIONAL[method]
    refuse(method, faults(kind, options))
    return kind(**options)


def synthesize_database(
    database: Database, method: str = DEFAULT, /, *, seed: Seed = DEFAULT_SEED, **options: Any
) -> Database:
    """Synthetic version of a database, with keys of its own.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> made = synthesize_database(examples.benefit_registers(300), "join", seed=1)
    >>> made["gba"].rows, [str(link) for link in made.links]
    (300, ['bij.id -> gba.id (1-1)'])
    """
    return make_relational(method, **options).make(database, seed=seed).database
