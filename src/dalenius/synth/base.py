"""`Method` and `METHODS`: ways to protect a file; `Synthesizer` and `Model`: fit on a table, sample new rows.

A new synthesizer is one file: a dataclass of options with ``_fit`` and ``cost``, decorated with `register`, and a model
with ``_draw`` and its parts. The command line, the docs and the common checks find it by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from time import perf_counter
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, OptionError, names, no_column
from dalenius.core.option import check_fields, declared, faults, lacking, refuse, whole_number
from dalenius.core.random import DEFAULT_SEED, Seed, sequence
from dalenius.core.registry import MethodInfo, Registry
from dalenius.data.exit import guard, leave, releasable
from dalenius.data.frames import Origin
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_columns
from dalenius.preparation.keeping import Kept
from dalenius.synth._store import put_together, take_apart
from dalenius.synth.conditional import Condition, Conditioned, Given, draw_given
from dalenius.synth.counted import StreamTable
from dalenius.synth.filling import draw_like
from dalenius.synth.made import Made

Arrays = Mapping[str, npt.NDArray[Any]]
Progress: TypeAlias = Callable[[str], None]
"""Called with a few words on how far something is."""


class Model(ABC):
    """What a synthesizer learnt; it can only sample (and be saved).

    Attributes
    ----------
    schema
        Columns of the rows it draws.
    rows
        The default size of a sample: the rows it was fitted on, units that own very many counted like the next ones.
    notes
        What a person should know about the model, in plain sentences.
    preparation
        What follows from the columns it draws and is made from them.
    """

    method: ClassVar[str]
    contents: ClassVar[str]
    """What a saved model holds, in plain words, for the person about to send it to somebody."""
    keeps: ClassVar[tuple[str, ...]]
    """Attributes that are saved, beside the schema and the number of rows."""

    def __init__(self, schema: Schema, rows: int, origin: Origin | None = None) -> None:
        self.schema = schema
        self.rows = rows
        self.notes: list[str] = []
        self.origin = replace(origin or Origin(), index=None)
        self.preparation = Kept()

    def __repr__(self) -> str:
        """What was learnt, for a notebook: nothing of the data but how many rows and which columns."""
        columns = self.schema.names
        head = f"{type(self).__name__}({self.rows:,} rows, {len(columns)} columns: {names(columns, 8)})"
        return f"{head}; draw with .sample(n)"

    def sample(
        self, rows: int | None = None, *, n: int | None = None, given: Given | None = None, like: Any = None,
        seed: Seed = None,
    ) -> Table:  # fmt: skip
        """Draw rows (as many as were fitted, unless said).

        Parameters
        ----------
        n
            The same as ``rows``, as other libraries call it.
        given
            Conditions that every row meets: ``{"sex": "f", "age": (60, 75), "region": ["north", "south"]}``, or rules
            as text. What the condition leaves open has its conditional distribution; see `draw_given`.
        like
            A frame: one row for each of its rows, with its cells, and gaps and further columns drawn given them; see
            `draw_like`.
        """
        if n is not None:
            if rows is not None:
                raise OptionError("rows and n are the same; give one of them")
            rows = n
        if given is not None or like is not None:
            return self.conditioned(rows, given=given, like=like, seed=seed).table
        wanted = self.rows if rows is None else rows
        whole_number("rows to draw", wanted, 0)
        if wanted > 0 and self.rows == 0:
            raise DataError("the model was fitted on a table without rows, so it cannot draw any")
        return leave(self.preparation.restore(self._draw(int(wanted), seed)))

    @property
    def divisible(self) -> bool:
        """Whether rows drawn in several parts are as good as rows drawn at once."""
        return True

    def blocks(self, rows: int | None = None, *, seed: Seed = None, size: int = 1 << 20) -> Iterator[Table]:
        """Rows in parts of at most ``size``, each with a seed of its own; up to ``size`` rows, those of `sample`."""
        wanted = self.rows if rows is None else rows
        whole_number("rows to draw", wanted, 0)
        if wanted <= size or not self.divisible:
            yield self.sample(wanted, seed=seed)
            return
        for i, begin in enumerate(range(0, wanted, size)):
            yield self.sample(min(size, wanted - begin), seed=sequence(seed, "block", i))

    def conditioned(
        self, rows: int | None = None, *, given: Given | None = None, like: Any = None, seed: Seed = None
    ) -> Conditioned:  # fmt: skip
        """Rows that meet a condition or complete others, with how many draws they rest on; see `sample`."""
        if (given is None) == (like is None):
            raise OptionError("give conditions (given) or rows to complete (like), one of them")
        if self.rows == 0:
            raise DataError("the model was fitted on a table without rows, so it cannot draw any")
        if like is not None:
            if rows is not None:
                raise OptionError("like: its rows say how many are drawn; leave the number of rows out")
            return draw_like(self, like, seed)
        wanted = self.rows if rows is None else rows
        whole_number("rows to draw", wanted, 0)
        assert given is not None
        return draw_given(self, given, int(wanted), seed)

    def draw_block(self, rows: int, seed: Seed, conditions: Sequence[Condition] = ()) -> Table:
        """Rows as the model draws them, before anything is made from them; may leave out what breaks a condition."""
        return self._draw(rows, seed)

    @abstractmethod
    def _draw(self, rows: int, seed: Seed) -> Table: ...

    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Everything the model keeps, as JSON data and arrays (no pickle)."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        return {name: take_apart(getattr(self, name), name, arrays) for name in self.keeps}, arrays

    @classmethod
    def from_parts(cls, schema: Schema, rows: int, facts: Mapping[str, Any], arrays: Arrays) -> Self:
        """Rebuild the model from its parts."""
        model = cls.__new__(cls)
        Model.__init__(model, schema, rows)
        for name in cls.keeps:
            setattr(model, name, put_together(facts[name], arrays, schema))
        return model


class Method(ABC):
    """A way to protect a file: a synthesizer, a masking method, an adapter.

    Options are dataclass fields of the subclass. Everything there is to know about a method is in its class: ``info``,
    the options with their `Option`, ``cost``.

    Examples
    --------
    >>> from dalenius.synth import METHODS
    >>> METHODS["cart"]().make(Table.from_frame({"sex": ["f", "m"] * 20}), copies=2, rows=5).tables[1].rows
    5
    """

    info: ClassVar[MethodInfo]

    def __post_init__(self) -> None:
        check_fields(self.info.name, self)
        refuse(self.info.name, self.conflicts())

    def conflicts(self) -> list[str]:
        """Faults of options that are fine each on its own and do not go together."""
        return []

    def faults_for(self, table: Table) -> list[str]:
        """Faults of the options that show only beside a table, and what the method cannot do with it."""
        limit, columns = self.info.max_columns, len(releasable(table).names)
        if not columns:
            return ["the table has no columns to synthesize (identifiers and unit columns are left out)"]
        if limit is not None and columns > limit:
            return [f"it takes at most {limit} columns, the table has {columns}; choose some"]
        return []

    @classmethod
    def faults_in_spite(cls, options: Mapping[str, Any], table: Table, wrong: Sequence[str]) -> list[str]:
        """What is ``wrong`` with options that keep it from being built; with the table too, where that can be told."""
        return list(wrong)

    @classmethod
    def suits(cls, shape: Shape) -> bool:
        """Whether the method is worth suggesting for a table of this shape; asked for by name it is made anyway."""
        return True

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same file; not where fresh noise is part of the guarantee."""
        return self.info.seedable

    @property
    def private(self) -> bool:
        """Whether a privacy budget is promised: the data are then read by their declaration alone."""
        return False

    def paid_by(self, ledger: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with the ledger of the data set, where the method spends a budget and names no other one."""
        pays = self.private and "ledger" in declared(type(self))
        return {"ledger": ledger, **options} if pays else dict(options)

    @property
    def promise(self) -> str:
        """What the method itself promises, before anything is measured, for people who get a file."""
        return self.info.promise

    def keeping(self, table: Table, *, blind: bool = False) -> Kept:
        """What follows from other columns and is to be made from them afterwards; ``blind`` looks at rules alone."""
        if self.info.copies_rows or self.info.masks:  # whole rows keep everything by themselves
            return Kept()
        return Kept.of(table, self.untouched(table), blind=blind or self.private)

    def untouched(self, table: Table) -> set[str]:
        """Columns that are drawn even if they follow from others: options name them."""
        return _texts(_changed_options(self))

    @abstractmethod
    def make(
        self, table: Table, copies: int = 1, *, rows: int | None = None, seed: Seed = DEFAULT_SEED, first: int = 0,
        progress: Progress | None = None,
    ) -> Made:  # fmt: skip
        """Protected versions of a table: ``copies`` of them, numbered from ``first``; see `Candidate.make`."""

    def __call__(self, table: Table, seed: Seed = DEFAULT_SEED) -> Table:
        """One protected version of a table."""
        return self.make(table, seed=seed).table

    @abstractmethod
    def cost(self, shape: Shape) -> Cost:
        """Expected time and memory for a table of this shape."""


STREAM_CELL, STREAM_PAIR, STREAM_DRAW, STREAM_BYTES = 4e-8, 1.5e-9, 1.2e-7, 4e8
"""CPU seconds to read and code a cell, to count a cell of a pair, to draw and write one; bytes at least."""


class Synthesizer(Method):
    """A way of making synthetic rows."""

    model: ClassVar[type[Model]]
    uses_units: ClassVar[bool] = False
    """Whether ``_fit`` sees the unit columns too (to protect units with several rows); they are never drawn."""
    reads_counts: ClassVar[bool] = False
    """Whether counts are all that ``_fit_stream`` needs, so that a file may be larger than memory."""
    guards_itself: ClassVar[bool] = False
    """Whether the method itself gives no value out that few units hold: it then learns from the table as it is."""

    @property
    def draws_parameters(self) -> bool:
        """Whether a fit draws the model's parameters too, so that each copy needs a fit of its own."""
        return False

    def fit(self, table: Any, *, seed: Seed = None, prepare: bool = True) -> Model:
        """Learn from a `Table`, or any frame. Identifiers and unit columns are never synthesized, and left out.

        Parameters
        ----------
        prepare
            Keep by construction what follows from other columns, as `synthesize` does; see `Candidate`.

        Examples
        --------
        >>> from dalenius.synth import make_synthesizer
        >>> pay = {"net": [900 + i % 170 for i in range(400)], "tax": [100 + i % 37 for i in range(400)]}
        >>> pay["gross"] = [a + b for a, b in zip(pay["net"], pay["tax"])]
        >>> made = make_synthesizer("independent").fit(pay, seed=1).sample(50, seed=1).to_frame()
        >>> all(made["net"][i] + made["tax"][i] == made["gross"][i] for i in range(50))
        True
        """
        table = Table.from_frame(table)
        kept = self.keeping(table) if prepare else Kept()
        model = self.learn(kept.apply(table), seed)
        model.preparation = kept
        model.notes = [*([kept.told] if kept else []), *model.notes]
        return model

    def learn(self, table: Table, seed: Seed) -> Model:
        """Learn from a table that is prepared already, or is to be learnt from as it stands."""
        wrong = self.faults_for(table)
        if wrong:
            raise DataError.from_faults(self.info.name, wrong)
        if self.guards_itself:
            return self._fit(table if self.uses_units else releasable(table), seed)
        held = guard(
            table, seed=seed, budget=self.private, as_is=self.as_is(table), numbers=not self.info.copies_rows
        )
        model = self._fit(held.table if self.uses_units else releasable(held.table), seed)
        if not self.rows_fixed and not self.private:  # under a budget the number is noised, or public
            model.rows = min(model.rows, held.rows)
        model.notes = [*model.notes, *held.notes]
        return model

    @property
    def draws_design(self) -> bool:
        """Whether each copy is made from other replicate weights of a survey."""
        return False

    @property
    def rows_fixed(self) -> bool:
        """Whether a sample must have as many rows as the table."""
        return False

    def as_is(self, table: Table) -> Collection[str]:
        """Columns that the options ask to be released, or used, as they are."""
        return ()

    @abstractmethod
    def _fit(self, table: Table, seed: Seed) -> Model: ...

    def _fit_stream(self, stream: StreamTable, seed: Seed) -> Model:
        """Learn from the counts of a file that streams by; where ``reads_counts`` is true."""
        raise NotImplementedError

    def stream_cost(self, shape: Shape) -> Cost:
        """Expected time and memory where rows stream by and are written in parts (levels are those of a part)."""
        cells = shape.rows * shape.columns
        pairs = shape.columns * (shape.columns - 1) / 2
        return Cost(
            seconds=1.0 + STREAM_CELL * cells + STREAM_PAIR * shape.rows * pairs + STREAM_DRAW * cells,
            bytes=STREAM_BYTES + 4e7 * shape.columns,
        )

    def stream_faults(self, schema: Schema) -> list[str]:
        """What the options ask for and cannot be done without rows in memory."""
        return []

    def telling(self, progress: Progress) -> Synthesizer:
        """The same method, telling how far it is, where it can."""
        return self

    def make(
        self, table: Table, copies: int = 1, *, rows: int | None = None, seed: Seed = DEFAULT_SEED, first: int = 0,
        progress: Progress | None = None,
    ) -> Made:  # fmt: skip
        """Fit once (for each copy where parameters are drawn too), and draw each copy with a seed of its own.

        Copy r has the seeds (seed, "fit", r or 0) and (seed, "draw", r), whoever asks for it.
        """
        root = sequence(seed)
        method = self if progress is None else self.telling(progress)
        models: list[Model] = []
        tables = []
        fitting, began = 0.0, perf_counter()
        for copy in range(first, first + copies):
            if not models or self.draws_parameters:
                start = perf_counter()
                own = copy if self.draws_parameters else 0
                models.append(method.learn(table, sequence(root, "fit", own)))
                fitting += perf_counter() - start
            tables.append(draw(models[-1], rows, root, copy))
        model = models[0]
        return Made(
            tuple(tables), table.rows, model, tuple(model.notes), str(getattr(model, "ledger", "")),
            self.draws_parameters, tuple(getattr(self, "keep", ())), fitting, perf_counter() - began - fitting,
            replicated=self.draws_design,
        )  # fmt: skip


def draw(model: Model, rows: int | None = None, seed: Seed = DEFAULT_SEED, copy: int = 0) -> Table:
    """One copy drawn from a fitted model: the same rows from a model just fitted and from one saved and reopened.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> model = make_synthesizer("bootstrap").fit(Table.from_frame({"a": [1, 2, 3]}))
    >>> draw(model, 2, seed=1).rows
    2
    """
    return model.sample(rows, seed=sequence(seed, "draw", copy))


M = TypeVar("M", bound=type[Method])
METHODS: Registry[type[Method]] = Registry("method", "methods", rooms=("dalenius.mask",))


def register(cls: M) -> M:
    """Make a method known by its name, for use as a class decorator.

    Examples
    --------
    >>> from dalenius.synth import METHODS
    >>> register(METHODS["bootstrap"]).info.copies_rows
    True
    """
    METHODS.add(cls)
    return cls


def make_method(method: str, **options: Any) -> Method:
    """A method by name with its options, every fault of which is told at once."""
    kind = METHODS[method]
    refuse(method, [*faults(kind, options), *lacking(kind, options)])
    return kind(**options)


def make_synthesizer(method: str, **options: Any) -> Synthesizer:
    """Synthesizer by name with its options, for those who want to ``fit`` and ``sample`` apart.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> make_synthesizer("independent").info.title
    'Independent columns'
    >>> make_synthesizer("independent", epsilon=1)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: independent: no option 'epsilon'; it has none
    """
    made = make_method(method, **options)
    if not isinstance(made, Synthesizer):
        raise OptionError(f"{method} makes a file at once and fits no model; use synthesize or Candidate")
    return made


def _changed_options(method: Method) -> list[Any]:
    """Values of the options that may name columns and are not their defaults."""
    return [
        value
        for option in fields(method)  # type: ignore[arg-type]  # every method is a dataclass
        for value in [getattr(method, option.name)]
        if isinstance(value, (str, Mapping, list, tuple, set))
        and value != (option.default if option.default_factory is MISSING else option.default_factory())
    ]


def _texts(options: Any) -> set[str]:
    """Every text in the options: columns that they name stay as they are."""
    if isinstance(options, str):
        return {options, *options.split(",")}
    if isinstance(options, Mapping):
        return {text for pair in options.items() for part in pair for text in _texts(part)}
    return (
        {text for part in options for text in _texts(part)}
        if isinstance(options, (list, tuple, set))
        else set()
    )


def absent(option: str, wanted: Iterable[str], table: Table) -> list[str]:
    """The fault of an option that names columns a table has not.

    Examples
    --------
    >>> absent("keep", ["sex", "nose"], Table.from_frame({"sex": ["f"]}))
    ["keep: no column 'nose'; there are 'sex'"]
    """
    gone = [name for name in wanted if name not in table]
    return [f"{option}: {no_column(gone, table.names)}"] if gone else []


def choose_columns(table: Table, wanted: Sequence[str]) -> Table:
    """The wanted columns, and those that say whose rows they are: without them nobody's rows could be protected.

    Examples
    --------
    >>> schema = Schema.infer({"who": ["x"], "age": [3], "sex": ["f"]}).with_roles(entity="who")
    >>> choose_columns(Table.from_frame({"who": ["x"], "age": [3], "sex": ["f"]}, schema), ["sex"]).names
    ['who', 'sex']
    """
    owners = owner_columns(table.schema)
    return table.select([*(name for name in owners if name not in wanted), *wanted])
