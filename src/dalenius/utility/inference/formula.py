"""Formulas like ``income ~ sex * educ + log(age)``: read, and turned into a model matrix over a table.

The language is R's for everyday models: ``+``, ``:``, ``*``, ``- 1`` or ``+ 0`` for no intercept, and the
functions ``log``, ``sqrt``, ``exp`` and ``factor``. Categories enter by treatment coding with the first level
as reference; coefficient names are variable and level, as in R.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.data.schema import Level, Schema
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, Vector

Floats = npt.NDArray[np.float64]
INTERCEPT = "(Intercept)"
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"log": np.log, "sqrt": np.sqrt, "exp": np.exp}
_VARIABLE = re.compile(r"^(?:(log|sqrt|exp|factor)\(\s*(.+?)\s*\)|(.+))$")


@dataclass(frozen=True)
class Variable:
    """A column, perhaps under a function."""

    column: str
    function: str = ""

    @property
    def label(self) -> str:
        """How the variable is written in a coefficient's name."""
        return f"{self.function}({self.column})" if self.function else self.column

    @classmethod
    def parse(cls, text: str) -> Variable:
        """Read ``age``, ``log(age)`` or a name in back quotes."""
        match = _VARIABLE.match(text.strip())
        if match is None or not text.strip():
            raise OptionError("formula: a term is empty; write for example 'income ~ age + sex'")
        function, inner, plain = match.groups()
        return cls((inner or plain).strip().strip("`"), function or "")


@dataclass(frozen=True)
class Formula:
    """A response and the terms that explain it.

    Examples
    --------
    >>> formula = Formula.parse("y ~ a * b + log(c)")
    >>> [":".join(v.label for v in term) for term in formula.terms]
    ['a', 'b', 'log(c)', 'a:b']
    >>> formula.columns
    ('y', 'a', 'b', 'c')
    """

    response: Variable
    terms: tuple[tuple[Variable, ...], ...]
    intercept: bool = True

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula; main effects come first, then interactions, as in R."""
        sides = text.split("~")
        if len(sides) != 2:
            raise OptionError(
                "formula: write the response, '~' and the predictors, for example 'income ~ age + sex'"
            )
        intercept = True
        found: list[tuple[Variable, ...]] = []
        for sign, piece in re.findall(r"([+-]?)\s*((?:[^+\-(`]|\([^)]*\)|`[^`]*`)+)", sides[1].strip()):
            term = piece.strip()
            if term in ("0", "1"):
                intercept = (term == "1") != (sign == "-")
                continue
            if sign == "-":
                raise OptionError("formula: only '- 1' can be taken away (no intercept)")
            for chosen in _expanded(term):
                if not any(set(chosen) == set(other) for other in found):
                    found.append(chosen)
        found.sort(key=len)
        return cls(Variable.parse(sides[0]), tuple(found), intercept)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns the formula reads, the response first."""
        used = [self.response, *(v for term in self.terms for v in term)]
        return tuple(dict.fromkeys(v.column for v in used))

    def complete(self, table: Table) -> BoolArray:
        """Rows where all columns have a value; an infinity is none that a model could use."""
        absent = [name for name in self.columns if name not in table]
        if absent:
            raise DataError(f"formula: {no_column(absent, table.names)}")
        present = np.ones(table.rows, bool)
        for name in self.columns:
            present &= table[name].present
            if table[name].is_number:
                present &= np.isfinite(table[name].floats())
        return present

    def matrix(self, table: Table, schema: Schema | None = None) -> tuple[list[str], Floats]:
        """Names and columns of the model matrix; levels are those of ``schema``, so that all files share them."""
        labels: list[str] = [INTERCEPT] if self.intercept else []
        blocks: list[Floats] = [np.ones((table.rows, 1))] if self.intercept else []
        whole = not self.intercept  # without an intercept the first category keeps all its levels
        for term in self.terms:
            parts = []
            for variable in term:
                parts.append(_coded(variable, table, schema, whole and len(term) == 1))
                if parts[-1][2] and len(term) == 1:
                    whole = False
            term_labels, block = parts[0][0], parts[0][1]
            for more_labels, more, _ in parts[1:]:
                block = np.hstack([block * more[:, [j]] for j in range(more.shape[1])])
                term_labels = [f"{a}:{b}" for b in more_labels for a in term_labels]
            labels += term_labels
            blocks.append(block)
        return labels, np.hstack(blocks) if blocks else np.zeros((table.rows, 0))


def number(variable: Variable, vector: Vector) -> Floats:
    """Numbers of a variable, after its function."""
    values = vector.floats() if vector.is_number else vector.data.astype(np.float64)
    if variable.function in _FUNCTIONS:
        with np.errstate(all="ignore"):
            values = np.asarray(_FUNCTIONS[variable.function](values), np.float64)
        if not np.isfinite(values[vector.present]).all():
            raise DataError(
                f"formula: {variable.label} is not defined for every row of column {variable.column!r}"
            )
    return values


def levels_of(vector: Vector, schema: Schema | None) -> tuple[Level, ...]:
    """Levels in the order of the schema, then what only this table has; distinct numbers for ``factor`` of a number.

    A level that the schema does not know must not pass for the reference level.
    """
    if vector.is_number:
        return tuple(np.unique(vector.values).tolist())
    declared = schema[vector.column.name].levels if schema is not None else None
    if not declared:
        return vector.levels
    used = {vector.levels[code] for code in np.unique(vector.values).tolist()} - set(declared)
    return (*declared, *(level for level in vector.levels if level in used))


def codes_of(vector: Vector, levels: Sequence[Level]) -> npt.NDArray[np.int64]:
    """Rows as positions in a list of levels (-1 where there is none)."""
    if vector.is_number:
        return np.searchsorted(np.asarray(levels), vector.data)
    place = {level: i for i, level in enumerate(levels)}
    moved = np.array([place.get(level, -1) for level in vector.levels] or [-1])
    return moved[vector.data].astype(np.int64)


def _coded(
    variable: Variable, table: Table, schema: Schema | None, whole: bool
) -> tuple[list[str], Floats, bool]:
    vector = table[variable.column]
    if vector.is_number and variable.function != "factor":
        return [variable.label], number(variable, vector)[:, None], False
    levels = levels_of(vector, schema)
    codes = codes_of(vector, levels)
    kept = range(0 if whole else 1, len(levels))
    block = (codes[:, None] == np.array(list(kept), np.int64)[None, :]).astype(np.float64)
    return [f"{variable.label}{levels[i]}" for i in kept], block.reshape(table.rows, len(kept)), True


def _expanded(term: str) -> list[tuple[Variable, ...]]:
    """``a*b`` as a, b and a:b; ``a:b`` as itself."""
    factors = [tuple(Variable.parse(v) for v in part.split(":")) for part in term.split("*")]
    chosen = []
    for size in range(1, len(factors) + 1):
        for some in combinations(factors, size):
            chosen.append(tuple(dict.fromkeys(v for part in some for v in part)))
    return chosen
