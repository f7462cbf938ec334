"""`Candidate`: one way to make a protected file, the same in Python, on the command line, in plans and on the page.

The same method, options and whole-number seed give the same bytes wherever they are said. Copy r of a candidate is the
r-th file of ``synth --copies``, the r-th replicate of a plan and of a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from dalenius.core.cost import Cost
from dalenius.core.errors import DaleniusError, OptionError, names
from dalenius.core.option import Option, declared, faults, grid, need, parse, refuse
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.data.derived import Derivation
from dalenius.data.exit import releasable
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.base import METHODS, Method, Progress, choose_columns, make_method
from dalenius.synth.made import Made

DEFAULT_METHOD = "cart"
Finish = Callable[[Table], Table]


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
    derive
        Leave out what the schema's rules define (``total == a + b``), and compute it afterwards.
    rows
        Rows to draw; default: as many as there are.
    name
        What to call it where there are several; default: the method.

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
    derive: bool = False
    rows: Annotated[int | None, Option(at_least=0)] = None
    name: str = ""

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
        return cls(method, parse(texts, {method: METHODS[method]}).get(method, {}), **facts)

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
    def private(self) -> bool:
        """Whether a privacy budget is promised: the data are then read by their declaration alone."""
        return self.build().private

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
        own = {part: getattr(self, part) for part in ("columns", "entity", "derive", "rows")}
        wrong = [*faults(type(self), own), *faults(kind, self.options)]
        known = declared(kind)
        fine = {n: value for n, value in self.options.items() if n in known and not known[n].fault(value)}
        try:
            method = kind(**fine)
        except OptionError as error:
            return [*wrong, *error.faults]
        if table is None:
            return wrong
        absent = [
            n for n in (*(self.columns or ()), *([self.entity] if self.entity else [])) if n not in table
        ]
        if absent:
            return [*wrong, f"no column {names(absent)}; there are {names(table.names)}"]
        try:
            return [*wrong, *method.faults_for(self._prepared(table)[0])]
        except DaleniusError as error:
            return [*wrong, *error.faults]

    def check(self, table: Table | None = None) -> None:
        """Raise one error with every fault."""
        refuse(self.name, self.faults(table))

    def cost(self, table: Table) -> Cost:
        """Expected time and memory of one copy."""
        return self.build().cost(releasable(self._prepared(table)[0]).shape)

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
        data = Table.from_frame(table)
        self.check(data)
        if not force:
            self.cost(data).check(self.method)
        prepared, finish, notes = self._prepared(data)
        made = self.build().make(prepared, copies, rows=self.rows, seed=seed, first=first, progress=progress)
        return replace(made, tables=tuple(map(finish, made.tables)), notes=(*notes, *made.notes))

    def __call__(self, table: Table, seed: Seed = DEFAULT_SEED) -> Table:
        """One protected version of a table."""
        return self.make(table, seed=seed).table

    def _prepared(self, table: Table) -> tuple[Table, Finish, list[str]]:
        """The columns to protect, with whose rows they are; what makes the others afterwards; what was left out."""
        if self.entity is not None:
            table = table.with_schema(table.schema.with_roles(entity=self.entity))
        chosen = table if self.columns is None else choose_columns(table, self.columns)
        notes = _loose(table, chosen)
        finish: Finish = _as_it_is
        if self.derive:
            derivation = Derivation.of(chosen)
            chosen, finish = derivation.drop(chosen), derivation.restore
        left_out = [name for name in chosen.names if name not in releasable(chosen).names]
        if left_out:
            notes.append(f"left out, never synthesized: {', '.join(left_out)}")
        return chosen, finish, notes


def _as_it_is(table: Table) -> Table:
    return table


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
    frame: Any, method: str = DEFAULT_METHOD, *, columns: Iterable[str] | None = None, entity: str | None = None,
    derive: bool = False, rows: int | None = None, seed: Seed = DEFAULT_SEED, schema: Schema | None = None,
    force: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """Synthetic version of a frame, as the same type of frame.

    Parameters
    ----------
    frame
        pandas, Polars, Arrow or DuckDB frame, dict of columns, or `Table`.
    method, options
        Name of a registered method (``dalenius methods`` lists them), and its options.
    columns, entity, derive, rows
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
    chosen = None if columns is None else tuple(columns)
    candidate = Candidate(method, options, chosen, entity, derive, rows)
    table = Table.from_frame(frame, schema.blind() if schema is not None and candidate.private else schema)
    made = candidate.make(table, seed=seed, force=force).table
    return made if isinstance(frame, Table) else made.to_frame()
