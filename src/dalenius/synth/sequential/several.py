"""Several syntheses of one table, as inference needs them; and a synthesizer from a plan of options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, sequence
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.base import SYNTHESIZERS
from dalenius.synth.sequential.checks import value_faults
from dalenius.synth.sequential.planning import option_faults
from dalenius.synth.sequential.synthesizers import CartSynthesizer, Sequential


@dataclass(frozen=True)
class Syntheses:
    """m synthetic tables of one original, with what the combining rules must know about them.

    Attributes
    ----------
    tables
        The synthetic tables.
    rows
        Rows of the original.
    proper
        Whether the models' parameters were drawn anew for each table.
    kept
        Columns that are the original's own.
    """

    tables: tuple[Table, ...]
    rows: int
    proper: bool
    kept: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)


def syntheses(
    frame: Any, m: int = 5, synthesizer: Sequential | None = None, *, rows: int | None = None, seed: Seed = None,
    schema: Schema | None = None,
) -> Syntheses:  # fmt: skip
    """Make m synthetic tables; a proper synthesis is fitted anew for each.

    Examples
    --------
    >>> made = syntheses({"a": ["x", "y"] * 20, "b": list(range(40))}, m=3, seed=1)
    >>> len(made), made.rows, made.proper
    (3, 40, False)
    """
    if m < 1:
        raise OptionError(f"m must be at least 1, not {m}")
    table = Table.from_frame(frame, schema)
    method = synthesizer or CartSynthesizer()
    anew = method.proper or method.weighting == "population"
    model = None if anew else method.fit(table, seed=sequence(seed, "fit"))
    drawn: list[Table] = []
    for i in range(m):
        used = method.fit(table, seed=sequence(seed, "fit", i)) if model is None else model
        drawn.append(used.sample(rows, seed=sequence(seed, "draw", i)))
    return Syntheses(tuple(drawn), table.rows, anew, tuple(method.keep))


def from_mapping(options: Mapping[str, Any], method: str = "cart", table: Table | None = None) -> Sequential:
    """A sequential synthesizer from plain data (the content of ``plan.yaml``), with every fault named at once.

    Parameters
    ----------
    table
        What the plan is for: columns that it names and the table has not are then faults too.

    Examples
    --------
    >>> from_mapping({"visit": "dependence", "tuning": {"income": {"minbucket": 10}}}).visit
    'dependence'
    >>> people = Table.from_frame({"age": [3]})
    >>> from_mapping({"vist": "given", "minbucket": 0, "smoothing": "lots", "keep": ["sex"]}, table=people)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: cart: 4 faults: no option 'vist'; minbucket must be a whole number, at least 1;
    smoothing must be none, auto, density, spline, or columns, each with one of them; keep: no column 'sex'; there are
    'age'
    """
    kind = SYNTHESIZERS[method]
    if not issubclass(kind, Sequential):
        raise OptionError(f"{method} is not a sequential synthesizer")
    known = {option.name for option in fields(kind)} - {"progress"}
    given = {name: value for name, value in options.items() if name in known}
    wrong = value_faults(given)
    made = kind(**{name: value for name, value in given.items() if name not in wrong})
    faults = [f"no option {name!r}" for name in options if name not in known]
    faults += [fault for found in wrong.values() for fault in found]
    faults += [] if table is None else option_faults(made, table)
    if not faults:
        return made
    count = f"{len(faults)} faults: " if len(faults) > 1 else ""
    raise OptionError(f"{method}: {count}{'; '.join(faults)}")
