"""Formulas like ``income ~ sex * educ + I(age^2)``: read, and turned into a model matrix over a table.

The language is R's: ``+``, ``:``, ``*``, ``^``, brackets, ``- 1`` or ``+ 0`` for no intercept, ``.`` for all other
columns, ``- x`` to take a term away, ``I()``, ``poly()``, ``offset()``, ``factor()`` or ``C()``, ``Surv()`` on the
left, and functions such as ``log``. Categories enter by treatment coding with the first level as reference; coefficient
names are variable and level, as in R.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.data.schema import Kind, Level, Role, Schema
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, Vector
from dalenius.utility.inference.expressions import (
    FUNCTIONS,
    Basis,
    Floats,
    columns_of,
    evaluate,
    polynomial_basis,
    polynomials,
)

INTERCEPT = "(Intercept)"
FACTORS = ("factor", "C")
_CALL = re.compile(r"^([A-Za-z]\w*)\s*\((.*)\)$", re.S)
_NOT_ANSWERS = (
    Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD, Role.WEIGHT, Role.PSU, Role.FPC, Role.REPLICATE, Role.STRATUM,
)  # fmt: skip


@dataclass(frozen=True)
class Variable:
    """A column, perhaps under a function, or an expression of several.

    Attributes
    ----------
    column
        The column, where there is one.
    function
        ``log`` and the like, ``factor``, ``C``, ``I``, ``poly`` or ``Surv``; empty for the column itself.
    inside
        What stands in the brackets.
    basis
        Of a polynomial, what makes it the same in all files.
    """

    column: str
    function: str = ""
    inside: str = ""
    basis: Basis | None = None

    @property
    def label(self) -> str:
        """How the variable is written in a coefficient's name."""
        return f"{self.function}({self.inside or self.column})" if self.function else self.column

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it reads."""
        if self.function == "Surv":
            return tuple(_name(part) for part in self.inside.split(","))
        return columns_of(self.inside) if self.function == "I" else (self.column,)

    @property
    def degree(self) -> int:
        """Degree of a polynomial."""
        return int(self.inside.split(",")[1])

    @classmethod
    def parse(cls, text: str) -> Variable:
        """Read ``age``, ``log(age)``, ``I(age^2)`` or a name in back quotes."""
        word = text.strip()
        if not word:
            raise OptionError("formula: a term is empty; write for example 'income ~ age + sex'")
        call = _CALL.match(word)
        if call is None:
            return cls(_name(word))
        function, inside = call[1], call[2].strip()
        if function in FACTORS or (function in FUNCTIONS and _plain(inside)):
            return cls(_name(inside), function)
        if function == "I" or function in FUNCTIONS:
            whole = inside if function == "I" else word
            columns_of(whole)
            return cls("", "I", whole)
        parts = [part.strip() for part in inside.split(",")]
        if function == "poly" and len(parts) == 2 and parts[1].isdigit() and 1 <= int(parts[1]) <= 9:
            return cls(_name(parts[0]), "poly", f"{parts[0]}, {parts[1]}")
        if function == "Surv" and len(parts) == 2:
            return cls(_name(parts[0]), "Surv", ", ".join(parts))
        raise OptionError(
            f"formula: {word!r} is not known; there are {', '.join(FUNCTIONS)}, factor(), C(), I(), poly(x, 2), "
            "offset(), and Surv(time, event) on the left"
        )


Term = tuple[Variable, ...]


def _name(text: str) -> str:
    return text.strip().strip("`")


def _plain(text: str) -> bool:
    return re.fullmatch(r"`[^`]*`|[^\W\d][\w.]*", text.strip()) is not None


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
    terms: tuple[Term, ...]
    intercept: bool = True
    offsets: tuple[Variable, ...] = ()
    removed: tuple[Term, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula; main effects come first, then interactions, as in R."""
        sides = text.split("~")
        if len(sides) != 2:
            raise OptionError(
                "formula: write the response, '~' and the predictors, for example 'income ~ age + sex'"
            )
        terms, gone, offsets, intercept = _read_sum(sides[1])
        everything = (Variable("."),) in terms
        for term in gone:
            same = [other for other in terms if set(other) == set(term)]
            if not same and not everything:
                raise OptionError(
                    f"formula: {':'.join(v.label for v in term)!r} cannot be taken away, it is not there"
                )
            terms = [other for other in terms if other not in same]
        terms.sort(key=len)
        left = tuple(gone) if everything else ()
        return cls(Variable.parse(sides[0]), tuple(terms), intercept, tuple(offsets), left)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns the formula reads, the response first."""
        used = [self.response, *(v for term in self.terms for v in term), *self.offsets]
        return tuple(dict.fromkeys(name for v in used for name in v.columns))

    def settled(self, table: Table) -> Formula:
        """The formula with ``.`` written out, and polynomials made the same for all files by those of one.

        Examples
        --------
        >>> Formula.parse("y ~ . - b").settled(Table.from_frame({"y": [1.5], "a": [1], "b": [2], "c": [3]})).columns
        ('y', 'a', 'c')
        """
        terms: list[Term] = []
        for term in self.terms:
            terms += self._others(table) if term == (Variable("."),) else [term]
        kept = [t for i, t in enumerate(terms) if t not in terms[:i] and set(t) not in map(set, self.removed)]
        whole = replace(self, terms=tuple(sorted(kept, key=len)), removed=())
        present = whole.complete(table)
        return replace(whole, terms=tuple(tuple(_based(v, table, present) for v in t) for t in whole.terms))

    def _others(self, table: Table) -> list[Term]:
        """All columns that are answers and not the response."""
        used = {*self.response.columns, *(n for v in self.offsets for n in v.columns)}
        return [
            (Variable(name),)
            for name in table.names
            if name not in used
            and table[name].column.kind is not Kind.TEXT
            and not any(table[name].column.has(role) for role in _NOT_ANSWERS)
        ]

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

    def offset(self, table: Table) -> Floats | None:
        """Sum of the offsets in every row; None where there is none."""
        if not self.offsets:
            return None
        return np.sum([values(v, table) for v in self.offsets], axis=0)


def number(variable: Variable, vector: Vector) -> Floats:
    """Numbers of a variable of one column, after its function."""
    values = vector.floats() if vector.is_number else vector.data.astype(np.float64)
    if variable.function in FUNCTIONS:
        with np.errstate(all="ignore"):
            values = np.asarray(FUNCTIONS[variable.function](values), np.float64)
        if not np.isfinite(values[vector.present]).all():
            raise DataError(
                f"formula: {variable.label} is not defined for every row of column {variable.column!r}"
            )
    return values


def values(variable: Variable, table: Table) -> Floats:
    """Numbers of a variable in every row of a table."""
    if variable.function != "I":
        return number(variable, table[variable.column])
    words = [name for name in variable.columns if not table[name].is_number]
    if words:
        raise DataError(f"formula: {variable.label} computes with {words[0]!r}, which is no number")
    numbers = evaluate(variable.inside, {name: table[name].floats() for name in variable.columns})
    known = np.all([table[name].present for name in variable.columns], axis=0)
    if not np.isfinite(numbers[known]).all():
        raise DataError(f"formula: {variable.label} is not defined for every row")
    return numbers


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


def _based(variable: Variable, table: Table, present: BoolArray) -> Variable:
    if variable.function != "poly" or variable.basis is not None:
        return variable
    if not table[variable.column].is_number:
        raise DataError(f"formula: {variable.label} needs a number, {variable.column!r} is none")
    return replace(
        variable, basis=polynomial_basis(table[variable.column].floats()[present], variable.degree)
    )


def _coded(
    variable: Variable, table: Table, schema: Schema | None, whole: bool
) -> tuple[list[str], Floats, bool]:
    if variable.function == "I":
        return [variable.label], values(variable, table)[:, None], False
    vector = table[variable.column]
    if variable.function == "poly":
        settled = _based(variable, table, vector.present)
        assert settled.basis is not None
        block = polynomials(vector.floats(), settled.basis)
        return [f"{variable.label}{i + 1}" for i in range(block.shape[1])], block, False
    if vector.is_number and variable.function not in FACTORS:
        return [variable.label], number(variable, vector)[:, None], False
    levels = levels_of(vector, schema)
    codes = codes_of(vector, levels)
    kept = range(0 if whole else 1, len(levels))
    block = (codes[:, None] == np.array(list(kept), np.int64)[None, :]).astype(np.float64)
    return [f"{variable.label}{levels[i]}" for i in kept], block.reshape(table.rows, len(kept)), True


def _cut(text: str, marks: str) -> list[tuple[str, str]]:
    """Pieces between marks that stand outside brackets and back quotes, each with the mark before it."""
    pieces, depth, quoted, sign, held = [], 0, False, "", ""
    for letter in text:
        quoted ^= letter == "`"
        depth += (letter == "(") - (letter == ")")
        if letter in marks and not depth and not quoted:
            if held.strip() or sign:
                pieces.append((sign, held.strip()))
            sign, held = letter, ""
        else:
            held += letter
    if depth or quoted:
        raise OptionError("formula: a bracket or back quote is not closed")
    return [*pieces, (sign, held.strip())]


def _read_sum(text: str) -> tuple[list[Term], list[Term], list[Variable], bool]:
    """Terms, terms that are taken away, offsets, and whether there is an intercept."""
    terms: list[Term] = []
    gone: list[Term] = []
    offsets: list[Variable] = []
    intercept = True
    for sign, piece in _cut(text.strip(), "+-"):
        if piece in ("0", "1"):
            intercept = (piece == "1") != (sign == "-")
            continue
        call = _CALL.match(piece)
        if call is not None and call[1] == "offset":
            inside = call[2].strip()
            offsets.append(Variable(_name(inside)) if _plain(inside) else Variable("", "I", inside))
            continue
        for term in _read_product(piece):
            place = gone if sign == "-" else terms
            if not any(set(term) == set(other) for other in place):
                place.append(term)
    return terms, gone, offsets, intercept


def _read_product(text: str) -> list[Term]:
    """``a*b`` as a, b and a:b; ``a:b`` as itself; ``(a + b)^2`` as a, b and a:b."""
    factors = [part for _, part in _cut(text, "*")]
    if len(factors) > 1:
        return _crossed([_read_product(part) for part in factors], len(factors))
    parts = [part for _, part in _cut(text, ":")]
    if len(parts) > 1:
        several = [_read_product(part) for part in parts]
        joined: list[Term] = [()]
        for some in several:
            joined = [tuple(dict.fromkeys((*a, *b))) for a in joined for b in some]
        return joined
    raised = re.fullmatch(r"(\(.*\))\s*\^\s*([1-9])", text.strip(), re.S)
    inner = raised[1] if raised else text.strip()
    if not (inner.startswith("(") and inner.endswith(")")):
        return [(Variable.parse(text),)]
    terms, gone, offsets, _ = _read_sum(inner[1:-1])
    if gone or offsets:
        raise OptionError("formula: inside brackets there may be only sums of terms")
    return _crossed([[term] for term in terms], int(raised[2])) if raised else terms


def _crossed(factors: Sequence[Sequence[Term]], most: int) -> list[Term]:
    """All interactions of at most so many factors."""
    chosen: list[Term] = []
    for size in range(1, min(most, len(factors)) + 1):
        for some in combinations(factors, size):
            joined: list[Term] = [()]
            for terms in some:
                joined = [tuple(dict.fromkeys((*a, *b))) for a in joined for b in terms]
            chosen += [term for term in joined if term not in chosen]
    return chosen
