"""Arithmetic in formulas, ``I(age^2)`` or ``offset(log(exposure))``, and orthogonal polynomials."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError

Floats = npt.NDArray[np.float64]
FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "log": np.log, "sqrt": np.sqrt, "exp": np.exp, "abs": np.abs, "log10": np.log10, "log2": np.log2,
}  # fmt: skip
_OPERATIONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power,
    ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Lt: np.less, ast.LtE: np.less_equal, ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}  # fmt: skip
_QUOTED = re.compile(r"`([^`]*)`")


def read_expression(text: str) -> tuple[ast.expr, dict[str, str]]:
    """An expression as a tree, and what its names stand for (names in back quotes may be any text)."""
    names: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        word = f"_quoted{len(names)}"
        names[word] = match[1]
        return word

    spelled = _QUOTED.sub(plain, text).replace("^", "**").strip()
    try:
        tree = ast.parse(spelled, mode="eval").body
    except (SyntaxError, ValueError):
        raise OptionError(
            f"formula: {text.strip()!r} is not an expression; write for example 'I(age^2)'"
        ) from None
    _check(tree, text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in FUNCTIONS:
            names.setdefault(node.id, node.id)
    return tree, names


def _check(tree: ast.expr, text: str) -> None:
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or len(node.args) != 1
        )
        known = (
            ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.USub, ast.UAdd, ast.Call, ast.Compare,
            *_OPERATIONS,
        )  # fmt: skip
        text_inside = isinstance(node, ast.Constant) and not isinstance(node.value, (int, float))
        if called or text_inside or not isinstance(node, known):
            raise OptionError(
                f"formula: {text.strip()!r} may hold columns, numbers, + - * / ^, comparisons and the functions "
                f"{', '.join(FUNCTIONS)}"
            )


def columns_of(text: str) -> tuple[str, ...]:
    """Columns that an expression reads.

    Examples
    --------
    >>> sorted(columns_of("age^2 + log(`net pay`)"))
    ['age', 'net pay']
    """
    return tuple(dict.fromkeys(read_expression(text)[1].values()))


def evaluate(text: str, values: Mapping[str, Floats]) -> Floats:
    """The value of an expression in every row.

    Examples
    --------
    >>> evaluate("(age - 1)^2 > 3", {"age": np.array([1.0, 4.0])}).tolist()
    [0.0, 1.0]
    """
    tree, names = read_expression(text)

    def worth(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return values[names[node.id]]
        if isinstance(node, ast.UnaryOp):
            return -worth(node.operand) if isinstance(node.op, ast.USub) else worth(node.operand)
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](worth(node.args[0]))  # type: ignore[attr-defined]
        if isinstance(node, ast.Compare):
            return _OPERATIONS[type(node.ops[0])](worth(node.left), worth(node.comparators[0]))
        assert isinstance(node, ast.BinOp)
        return _OPERATIONS[type(node.op)](worth(node.left), worth(node.right))

    rows = len(next(iter(values.values()))) if values else 0
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(worth(tree), np.float64), (rows,)).astype(np.float64)


Basis = tuple[tuple[float, ...], tuple[float, ...]]
"""Centres and squared norms of orthogonal polynomials: with them other files get the same polynomials."""


def polynomial_basis(x: Floats, degree: int) -> Basis:
    """Orthogonal polynomials over some values, by their three-term recurrence (Kennedy, Gentle 1980; R's ``poly``).

    Examples
    --------
    >>> basis = polynomial_basis(np.array([1.0, 2.0, 3.0]), 1)
    >>> polynomials(np.array([1.0, 2.0, 3.0]), basis).ravel().round(4).tolist()
    [-0.7071, 0.0, 0.7071]
    """
    if len(np.unique(x)) <= degree:
        raise OptionError(f"formula: poly of degree {degree} needs more than {degree} different values")
    middle = float(x.mean())
    q, r = np.linalg.qr(np.vander(x - middle, degree + 1, increasing=True))
    raw = q * np.diag(r)
    norms = (raw**2).sum(axis=0)
    centres = ((x - middle) @ raw**2)[:degree] / norms[:degree] + middle
    return tuple(centres.tolist()), tuple(norms.tolist())


def polynomials(x: Floats, basis: Basis) -> Floats:
    """The polynomials of a basis, one column a degree."""
    centres, norms = basis
    columns = [np.ones_like(x), x - centres[0]]
    for i in range(1, len(centres)):
        columns.append((x - centres[i]) * columns[i] - norms[i] / norms[i - 1] * columns[i - 1])
    return np.stack([p / np.sqrt(n) for p, n in zip(columns[1:], norms[1:], strict=True)], axis=1)
