"""`Candidate`: one way to make a protected file, the same in Python, on the command line, in plans and on the page.

The same method, options and whole-number seed give the same bytes wherever they are said. Copy r of a candidate is the
r-th file of ``synth --copies``, the r-th replicate of a plan and of a benchmark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from dalenius.core.cost import Cost
from dalenius.core.errors import DaleniusError, OptionError, names, no_column
from dalenius.core.option import Option, declared, faults, grid, lacking, need, parse, refuse
from dalenius.core.progress import telling
from dalenius.core.random import DEFAULT_SEED, Seed, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.exit import releasable
from dalenius.data.relations import Database
from dalenius.data.schema import Role, Schema
from dalenius.data.table import Table
from dalenius.dp.ledger import ledger_beside
from dalenius.preparation.keeping import Kept
from dalenius.synth.base import METHODS, Method, Progress, choose_columns, make_method
from dalenius.synth.finish import finish, finish_faults
from dalenius.synth.made import Made

DEFAULT_METHOD = "cart"


@dataclass(frozen=True)
class Candidate:
    """One way to make a protected file.

    Attributes
    ----------
    method, options
        Name of a method (``dalenius methods`` lists them) and its options.
    columns
        Only these columns (and those that say whose rows they are).
    entity
        Column that says whose rows they are, if the schema does not.
    prepare
        Keep by construction what follows from other columns: what rules define (``total == a + b``) and, without a
        privacy budget, what holds in the data (formulas, groups of a number, a column another one settles, an end that
        is never before its start, questions not asked of some). See `Kept`.
    rows
        Rows to draw; default: as many as there are.
    name
        What to call it where there are several; default: the method.
    then
        Steps done to every made file (see `finish`): ``[{"do": "remove-uniques"}, {"do": "label"}]``.

    Examples
    --------
    >>> people = {"sex": ["f", "m"] * 20, "age": [20, 30, 40, 50] * 10}
    >>> made = Candidate("cart", {"minbucket": 10}).make(people, copies=2, seed=1)
    >>> len(made), made.tables[0].names
    (2, ['sex', 'age'])
    """

    method: str = DEFAULT_METHOD
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    entity: str | None = None
    prepare: bool = True
    rows: Annotated[int | None, Option(at_least=0)] = None
    name: str = ""
    then: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        METHODS[self.method]  # a wrong name is told at once
        object.__setattr__(self, "name", self.name or self.method)

    @classmethod
    def parse(
        cls, method: str = DEFAULT_METHOD, texts: Iterable[str] | None = None, **facts: Any
    ) -> Candidate:
        """A candidate from ``option=value`` or ``method.option=value`` texts, as the command line has them.

        Examples
        --------
        >>> Candidate.parse("cart", ["cart.minbucket=10", "visit=age,sex"]).options
        {'minbucket': 10, 'visit': ['age', 'sex']}
        """
        given = parse(
            texts, {method: METHODS[method]}, lenient=True
        )  # `check` tells wrong ones with all else
        return cls(method, given.get(method, {}), **facts)

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any], name: str = "") -> list[Candidate]:
        """Candidates from an entry of a plan: the method, its options and whatever else there is, side by side.

        One candidate, or one for each combination of the values under ``each``.

        Examples
        --------
        >>> [c.name for c in Candidate.from_mapping({"minbucket": {"each": [5, 20]}, "columns": ["sex"]}, "cart")]
        ['cart minbucket=5', 'cart minbucket=20']
        """
        own = set(declared(cls)) - {"method", "options", "name"}
        method = str(facts.get("method") or name or DEFAULT_METHOD)
        kept = {part: _fixed(part, facts[part]) for part in facts if part in own}
        options = {str(part): value for part, value in facts.items() if part not in own and part != "method"}
        return [
            cls(method, chosen, **kept, name=" ".join(filter(None, (name or method, label))))
            for label, chosen in grid(options)
        ]

    def build(self) -> Method:
        """The method with its options."""
        return make_method(self.method, **self.options)

    @property
    def info(self) -> MethodInfo:
        """What is known about the method."""
        return METHODS[self.method].info

    @property
    def private(self) -> bool:
        """Whether a privacy budget is promised: the data are then read by their declaration alone."""
        return self.build().private

    def paid_beside(self, data: str | Path) -> Candidate:
        """The candidate, paid out of the ledger beside a data file: where there is one, a budget, and no other word.

        Examples
        --------
        >>> Candidate("mst").paid_beside("nowhere.csv").options
        {}
        """
        method = self.build()
        if method.paid_by("", self.options) == dict(self.options):  # nothing to pay, or another ledger pays
            return self
        beside = ledger_beside(data)
        return self if beside is None else replace(self, options=method.paid_by(str(beside), self.options))

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are taken over from the real people row by row: every record then holds facts of somebody.

        Examples
        --------
        >>> Candidate("cart", {"keep": ["sex"]}).kept, Candidate("mst").kept
        (('sex',), ())
        """
        return tuple(getattr(self.build(), "keep", ()))

    @property
    def told(self) -> str:
        """How the file is made and what that promises, in plain sentences, with the privacy budget where there is one.

        Examples
        --------
        >>> print(Candidate("mst", {"epsilon": 1.0}).told.rpartition(". ")[2])
        Privacy budget: ε = 1.
        """
        method = self.build()
        said = [method.info.plain or method.info.meaning, method.promise]
        budget = getattr(method, "epsilon", None)
        if self.private and isinstance(budget, (int, float)):
            said.append(f"Privacy budget: ε = {budget:g}")
        elif not self.private:
            said.append("No privacy budget (ε): there is no mathematical promise")
        return " ".join(f"{line.strip().rstrip('.')}." for line in said if line)

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same file; not where fresh noise is part of the guarantee."""
        return self.build().repeatable

    def faults(self, table: Table | None = None) -> list[str]:
        """Everything wrong with the candidate by itself, and beside a table if there is one.

        Examples
        --------
        >>> wrong = Candidate("cart", {"vist": "given", "minbucket": 0, "keep": ["sex"]})
        >>> wrong.faults(Table.from_frame({"age": [3]}))
        ["no option 'vist'; did you mean 'visit'?", 'minbucket is 0; use a whole number, 1 or more', "keep: no column
        'sex'; there are 'age'"]
        """
        kind = METHODS[self.method]
        own = {part: getattr(self, part) for part in ("columns", "entity", "prepare", "rows", "then")}
        wrong = [*faults(type(self), own), *faults(kind, self.options), *finish_faults(self.then)]
        if self.then and kind.info.masks:
            wrong.append("then: a masker changes records by steps of its own; put them into its recipe")
        if self.rows is not None and kind.info.masks:
            wrong.append("rows: a masker changes the records there are and makes no others; leave it out")
        named = (*(self.columns or ()), *([self.entity] if self.entity else []))
        gone = [] if table is None else [n for n in named if n not in table]
        if table is not None and gone:
            wrong.append(no_column(gone, table.names))
        known = declared(kind)
        absent = lacking(kind, self.options)
        if absent:
            return [*wrong, *absent]
        fine = {n: value for n, value in self.options.items() if n in known and not known[n].fault(value)}
        try:
            method = kind(**fine)
        except OptionError as error:
            if table is None or gone:
                return [*wrong, *error.faults]
            return [*wrong, *(kind.faults_in_spite(fine, self._chosen(table), error.faults) or error.faults)]
        if table is None or gone:
            return wrong
        try:
            return [*wrong, *method.faults_for(self._prepared(table, method, blind=True)[0])]
        except DaleniusError as error:
            return [*wrong, *error.faults]

    def check(self, table: Table | None = None) -> None:
        """Raise one error with every fault."""
        refuse(self.name, self.faults(table))

    def cost(self, table: Table) -> Cost:
        """Expected time and memory of one copy."""
        method = self.build()
        return method.cost(releasable(self._prepared(table, method, blind=True)[0]).shape)

    def make(
        self, table: Any, copies: int = 1, *, seed: Seed = DEFAULT_SEED, first: int = 0,
        progress: Progress | None = None, force: bool = False,
    ) -> Made:  # fmt: skip
        """Protected versions of a table.

        A model is fitted once; where its parameters are drawn too (``proper``, ``weighting="population"``), once for
        each copy.

        Parameters
        ----------
        table
            A `Table`, or a frame of any supported type.
        copies, first
            How many files, and the number of the first: ``first=2`` begins with what would be the third of several.
        seed
            The same whole number gives the same files; None draws afresh.
        force
            Run even when the forecast says that memory will not suffice.
        """
        need("copies", copies, Annotated[int, Option(at_least=1)])
        if not isinstance(seed, np.random.SeedSequence):
            need("seed", seed, Annotated[int | None, Option(at_least=0)])
        data = Table.from_frame(table)
        self.check(data)
        if not force:
            self.cost(data).check(self.method)
        method = self.build()
        prepared, kept, notes = self._prepared(data, method)
        made = method.make(prepared, copies, rows=self.rows, seed=seed, first=first, progress=progress)
        if made.model is not None:
            made.model.preparation = kept
        done = [self._finished(kept.restore(t), data, seed, first + i) for i, t in enumerate(made.tables)]
        return replace(made, tables=tuple(t for t, _ in done), notes=(*notes, *made.notes, *done[0][1]))

    def owned(self, table: Table) -> Table:
        """The table with the candidate's word on whose rows they are."""
        return (
            table if self.entity is None else table.with_schema(table.schema.with_roles(entity=self.entity))
        )

    def _chosen(self, table: Table) -> Table:
        """The columns to protect, with whose rows they are."""
        table = self.owned(table)
        return table if self.columns is None else choose_columns(table, self.columns)

    def _finished(self, made: Table, original: Table, seed: Seed, copy: int) -> tuple[Table, list[str]]:
        if not self.then:
            return made, []
        return finish(made, original, self.then, sequence(seed, "finish", copy))

    def __call__(self, table: Table, seed: Seed = DEFAULT_SEED) -> Table:
        """One protected version of a table."""
        return self.make(table, seed=seed).table

    def _prepared(
        self, table: Table, method: Method, *, blind: bool = False
    ) -> tuple[Table, Kept, list[str]]:
        """The columns to protect, with whose rows they are; what is made again afterwards; notes.

        ``blind`` looks at rules alone, as under a budget: where a forecast is all that is asked for.
        """
        chosen = self._chosen(table)
        notes = _loose(table, chosen)
        kept = method.keeping(chosen, blind=blind) if self.prepare else Kept()
        if kept:
            notes.append(kept.told)
        chosen = kept.apply(chosen)
        left_out = [name for name in chosen.names if name not in releasable(chosen).names]
        if left_out:
            notes.append(f"left out of the file: {', '.join(left_out)}")
        if not (blind or method.private or method.info.copies_rows or method.info.masks):
            notes += _apart(chosen)
        return chosen, kept, notes


def _apart(table: Table) -> list[str]:
    """That rows of one person are drawn apart, and what keeps them together."""
    owners = [name for name in table.schema.by_role(Role.ENTITY) if name in table]
    shared = [name for name in owners if len(np.unique(table[name].data)) < table.rows]
    return [
        f"several rows have the same {name!r} and are drawn one by one: --panel {name}:WAVE keeps them together"
        for name in shared
    ]


def _fixed(part: str, value: Any) -> Any:
    """A list of columns as a candidate holds it; one column may be named without a list."""
    if part != "columns" or value is None:
        return value
    return tuple(value.split(",")) if isinstance(value, str) else tuple(value)


def _loose(table: Table, chosen: Table) -> list[str]:
    """Columns whose parent is left out, so that they are no longer drawn within it."""
    lost = [c.name for c in chosen.schema if c.parent is None and table.schema[c.name].parent is not None]
    return [f"{names(lost)}: drawn without the column it lies within, which is left out"] if lost else []


def synthesize(
    frame: Any, method: str | None = None, *, columns: Iterable[str] | None = None, entity: str | None = None,
    prepare: bool = True, rows: int | None = None, seed: Seed = DEFAULT_SEED, schema: Schema | None = None,
    force: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """Synthetic version of a frame, as the same type of frame.

    Parameters
    ----------
    frame
        pandas, Polars, Arrow or DuckDB frame, dict of columns, `Table`; or a `Database`, which comes back as one.
    method, options
        Name of a registered method (``dalenius methods`` lists them), and its options; default: cart, and conditional
        for a `Database`.
    columns, entity, prepare, rows
        See `Candidate`.
    seed
        The same whole number gives the same rows, here, on the command line, in a plan and on the page; None draws
        afresh.
    force
        Run even when the forecast says that memory will not suffice.

    Examples
    --------
    >>> out = synthesize({"sex": ["f", "m", "f", "f"], "age": [31, 64, 12, 40]}, "bootstrap", seed=1)
    >>> len(out["sex"]), sorted(out)
    (4, ['age', 'sex'])
    """
    if isinstance(frame, Database):
        from dalenius.synth.relational.method import DEFAULT, synthesize_database  # noqa: PLC0415 (it needs Candidate)

        if any(part is not None for part in (columns, entity, rows, schema)):
            raise OptionError("columns, entity, rows and schema are for one table; a database has its own")
        return synthesize_database(frame, method or DEFAULT, seed=seed, **options)
    method = method or DEFAULT_METHOD
    chosen = _fixed("columns", columns)
    candidate = Candidate(method, options, chosen, entity, prepare, rows)
    table = Table.from_frame(frame, schema.blind() if schema is not None and candidate.private else schema)
    with telling(None, f"making {METHODS[method].info.title}") as tell:
        made = candidate.make(table, seed=seed, progress=tell, force=force).table
    return made if isinstance(frame, Table) else made.to_frame()
