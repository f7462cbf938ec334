"""`Synthesizer` and `Model`: fit on a table, sample new rows, save and reopen.

A new synthesizer is one file: a dataclass of options with ``_fit`` and ``cost``, decorated with `register`, and a model
with ``_draw`` and its parts. The command line, the docs and the common checks find it by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError
from dalenius.core.option import check, declared, whole_number
from dalenius.core.random import Seed, sequence
from dalenius.core.registry import MethodInfo, Registry
from dalenius.data.frames import Origin
from dalenius.data.schema import Role, Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_columns

Arrays = Mapping[str, npt.NDArray[Any]]
NEVER_SYNTHESIZED = (Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD)


class Model(ABC):
    """What a synthesizer learnt; it can only sample (and be saved).

    Attributes
    ----------
    schema
        Columns of the rows it draws.
    rows
        Rows it was fitted on: the default size of a sample.
    """

    method: ClassVar[str]
    contents: ClassVar[str]
    """What a saved model holds, in plain words, for the person about to send it to somebody."""

    def __init__(self, schema: Schema, rows: int, origin: Origin | None = None) -> None:
        self.schema = schema
        self.rows = rows
        self.origin = origin or Origin()

    def sample(self, rows: int | None = None, *, seed: Seed = None) -> Table:
        """Draw rows (as many as were fitted, unless said)."""
        wanted = self.rows if rows is None else rows
        whole_number("rows to draw", wanted, 0)
        if wanted > 0 and self.rows == 0:
            raise DataError("the model was fitted on a table without rows, so it cannot draw any")
        return self._draw(int(wanted), seed)

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
        return self._fit(table if self.uses_units else kept, seed)

    @abstractmethod
    def _fit(self, table: Table, seed: Seed) -> Model: ...

    @abstractmethod
    def cost(self, shape: Shape) -> Cost:
        """Expected time and memory for a table of this shape."""


S = TypeVar("S", bound=type[Synthesizer])
SYNTHESIZERS: Registry[type[Synthesizer]] = Registry("synthesizer")


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


def option_names(kind: type[Synthesizer]) -> list[str]:
    """Names of a synthesizer's options.

    Examples
    --------
    >>> option_names(SYNTHESIZERS["bootstrap"])
    []
    """
    return list(declared(kind))


def releasable(table: Table) -> Table:
    """The table without identifiers and unit columns.

    Examples
    --------
    >>> schema = Schema.infer({"name": ["x"], "age": [3]}).with_roles(identifier="name")
    >>> releasable(Table.from_frame({"name": ["x"], "age": [3]}, schema)).names
    ['age']
    """
    dropped = [c.name for c in table.schema if any(c.has(role) for role in NEVER_SYNTHESIZED)]
    return table.drop(dropped) if dropped else table


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
    table = Table.from_frame(frame, schema)
    synthesizer = make_synthesizer(method, **options)
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
