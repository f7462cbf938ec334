"""`Synthesizer` and `Model`: fit on a table, sample new rows, save and reopen.

A new synthesizer is one file: a dataclass of options with ``_fit`` and ``cost``, decorated with `register`, and a model
with ``_draw`` and its parts. The command line, the docs and the common checks find it by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError
from dalenius.core.option import check, declared, whole_number
from dalenius.core.random import Seed, sequence
from dalenius.core.registry import MethodInfo, Registry
from dalenius.data.exit import guard, leave, releasable
from dalenius.data.frames import Origin
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_columns

Arrays = Mapping[str, npt.NDArray[Any]]


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
    """

    method: ClassVar[str]
    contents: ClassVar[str]
    """What a saved model holds, in plain words, for the person about to send it to somebody."""

    def __init__(self, schema: Schema, rows: int, origin: Origin | None = None) -> None:
        self.schema = schema
        self.rows = rows
        self.notes: list[str] = []
        self.origin = replace(origin or Origin(), index=None)

    def sample(self, rows: int | None = None, *, seed: Seed = None) -> Table:
        """Draw rows (as many as were fitted, unless said)."""
        wanted = self.rows if rows is None else rows
        whole_number("rows to draw", wanted, 0)
        if wanted > 0 and self.rows == 0:
            raise DataError("the model was fitted on a table without rows, so it cannot draw any")
        return leave(self._draw(int(wanted), seed))

    @abstractmethod
    def _draw(self, rows: int, seed: Seed) -> Table: ...

    @abstractmethod
    def parts(self) -> tuple[dict[str, Any], Arrays]:
        """Everything the model is, as JSON data and arrays (no pickle)."""

    @classmethod
    @abstractmethod
    def from_parts(cls, schema: Schema, rows: int, facts: Mapping[str, Any], arrays: Arrays) -> Model:
        """Rebuild the model from its parts."""


class Synthesizer(ABC):
    """A way of making synthetic rows. Options are dataclass fields of the subclass."""

    info: ClassVar[MethodInfo]
    model: ClassVar[type[Model]]
    uses_units: ClassVar[bool] = False
    """Whether ``_fit`` sees the unit columns too (to protect units with several rows); they are never drawn."""
    guards_itself: ClassVar[bool] = False
    """Whether the method itself gives no value out that few units hold: it then learns from the table as it is."""

    @property
    def private(self) -> bool:
        """Whether a privacy budget is promised: the data are then read by their declaration alone."""
        return False

    def fit(self, table: Table, *, seed: Seed = None) -> Model:
        """Learn from a table. Identifiers and unit columns are left out: they are never synthesized."""
        kept = releasable(table)
        if not kept.names:
            raise DataError(
                "the table has no columns to synthesize (identifiers and unit columns are left out)"
            )
        limit = self.info.max_columns
        if limit is not None and len(kept.names) > limit:
            raise DataError(
                f"{self.info.name} takes at most {limit} columns, the table has {len(kept.names)}; choose some"
            )
        if self.guards_itself:
            return self._fit(table if self.uses_units else kept, seed)
        held = guard(
            table, seed=seed, budget=self.private, as_is=self.as_is(table), numbers=not self.info.copies_rows
        )
        model = self._fit(held.table if self.uses_units else releasable(held.table), seed)
        if not self.rows_fixed and not self.private:  # under a budget the number is noised, or public
            model.rows = min(model.rows, held.rows)
        model.notes = [*model.notes, *held.notes]
        return model

    @property
    def rows_fixed(self) -> bool:
        """Whether a sample must have as many rows as the table."""
        return False

    def as_is(self, table: Table) -> Collection[str]:
        """Columns that the options ask to be released, or used, as they are."""
        return ()

    @abstractmethod
    def _fit(self, table: Table, seed: Seed) -> Model: ...

    @abstractmethod
    def cost(self, shape: Shape) -> Cost:
        """Expected time and memory for a table of this shape."""


S = TypeVar("S", bound=type[Synthesizer])
SYNTHESIZERS: Registry[type[Synthesizer]] = Registry("synthesizer", "methods")


def register(cls: S) -> S:
    """Make a synthesizer known by its name, for use as a class decorator.

    Examples
    --------
    >>> register(SYNTHESIZERS["bootstrap"])
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: synthesizer 'bootstrap' is registered twice
    """
    SYNTHESIZERS.add(cls)
    return cls


def make_synthesizer(method: str, **options: Any) -> Synthesizer:
    """Synthesizer by name with its options; unknown options are named with what there is.

    Examples
    --------
    >>> make_synthesizer("independent").info.title
    'Independent columns'
    >>> make_synthesizer("independent", epsilon=1)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: independent: no option 'epsilon'; it has none
    """
    kind = SYNTHESIZERS[method]
    check(method, kind, options)
    return kind(**options)


def is_private(method: str, options: Mapping[str, Any]) -> bool:
    """Whether a method with these options promises a privacy budget; see `Synthesizer.private`.

    Examples
    --------
    >>> is_private("independent", {}), is_private("loglinear", {"epsilon": 1.0})
    (False, True)
    """
    kind = SYNTHESIZERS[method]
    return kind.private is not Synthesizer.private and make_synthesizer(method, **options).private


def option_names(kind: type[Synthesizer]) -> list[str]:
    """Names of a synthesizer's options.

    Examples
    --------
    >>> option_names(SYNTHESIZERS["bootstrap"])
    []
    """
    return list(declared(kind))


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


def synthesize(
    frame: Any, method: str = "independent", *, rows: int | None = None, seed: Seed = None,
    schema: Schema | None = None, force: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """Synthetic version of a frame, as the same type of frame.

    Parameters
    ----------
    frame
        pandas, Polars, Arrow or DuckDB frame, dict of columns, or `Table`.
    method
        Name of a registered synthesizer (``dalenius methods`` lists them).
    rows
        How many rows to draw; as many as there are by default.
    force
        Run even when the forecast says that memory will not suffice.

    Examples
    --------
    >>> out = synthesize({"sex": ["f", "m", "f", "f"], "age": [31, 64, 12, 40]}, "bootstrap", seed=1)
    >>> len(out["sex"]), sorted(out)
    (4, ['age', 'sex'])
    """
    synthesizer = make_synthesizer(method, **options)
    table = Table.from_frame(frame, schema.blind() if schema is not None and synthesizer.private else schema)
    if not force:
        synthesizer.cost(table.shape).check(method)
    fit_seed, draw_seed = _root(seed).spawn(2)
    made = synthesizer.fit(table, seed=fit_seed).sample(rows, seed=draw_seed)
    return made if isinstance(frame, Table) else made.to_frame()


def _root(seed: Seed) -> np.random.SeedSequence:
    """A sequence of our own to spawn from: the caller's keeps its count, and its children stay different."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    return np.random.SeedSequence(seed) if seed is None or seed >= 0 else sequence(seed)
