"""The grammar of rules: text to a checked Python expression tree, never to running code.

A rule is read with Python's own ``ast`` in expression mode. Only the node types listed here are let through, every
name must be a column, and every function one of a short list. All faults of a rule are found in one reading.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from dataclasses import dataclass, field

from dalenius.data.schema import Kind, Schema

FUNCTIONS = {
    "is_missing": 1, "is_not_applicable": 1, "year": 1, "month": 1, "day": 1,
    "prefix": 2, "length": 1, "abs": 1,
}  # fmt: skip
"""Functions a rule may call, with the number of arguments; ``min`` and ``max`` take two or more."""
AGGREGATES = ("max", "min", "sum", "mean", "count")
"""What can be taken ``over`` a column that groups rows."""

_OPERATORS = (
    ast.And,
    ast.Or,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Mod,
    ast.FloorDiv,
)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_NODES = (
    ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.Name, ast.Load, ast.Constant, ast.List, ast.Tuple,
    ast.Attribute, *_OPERATORS, *_COMPARISONS,
)  # fmt: skip
_PIECES = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|->""")
_OVER = re.compile(rf"\b({'|'.join(AGGREGATES)})\(\s*(\w+)\s*\)\s+over\s+(\w+)")
_DETERMINES = re.compile(r"^(.+?)\s+determines?\s+(.+)$", re.DOTALL)
_ONE_PER = re.compile(r"^one\s+(\S+)\s+per\s+(\S+)$")


@dataclass(frozen=True)
class Sentence:
    """A rule that has been read: an implication, or a statement that one set of columns determines another."""

    condition: ast.expr | None
    conclusion: ast.expr | None
    determinants: tuple[str, ...] = ()
    determined: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict)

    def column(self, name: str) -> str:
        """The column a name stands for (quoted names are kept under a placeholder)."""
        return self.aliases.get(name, name)


def read(text: str, schema: Schema | None) -> tuple[Sentence | None, list[str]]:
    """Read one rule; returns the sentence (None when it cannot be read) and every fault found.

    Examples
    --------
    >>> read("age = 3", None)[1]
    ["rule 'age = 3': cannot be read near character 5; write == to compare"]
    """
    where = f"rule {text!r}"
    plain, aliases = _without_quotes(text)
    dependence = _dependence(plain)
    if dependence is not None:
        sides = tuple(tuple(_original(name, aliases, schema) for name in side) for side in dependence)
        faults = [
            f"{where}: no column {n!r}"
            for side in sides
            for n in side
            if schema is not None and n not in schema
        ]
        return Sentence(None, None, sides[0], sides[1], aliases), faults
    parts = _split(plain)
    if len(parts) > 2:
        return None, [f"{where}: has {len(parts) - 1} arrows; one rule has at most one '->'"]
    faults = []
    trees: list[ast.expr] = []
    for part in parts:
        tree, fault = _tree(_OVER.sub(r"_over('\1', \2, \3)", part.strip()))
        if tree is None:
            faults.append(f"{where}: {fault}")
        else:
            checker = _Checker(schema, aliases)
            checker.visit(tree)
            faults += [f"{where}: {fault}" for fault in checker.faults]
            trees.append(tree)
    if len(trees) < len(parts):
        return None, faults
    return Sentence(trees[0] if len(trees) == 2 else None, trees[-1], (), (), aliases), faults


def _without_quotes(text: str) -> tuple[str, dict[str, str]]:
    """Put a placeholder where a column name is written in back quotes, and mark the arrow outside strings."""
    aliases: dict[str, str] = {}

    def swap(match: re.Match[str]) -> str:
        piece = match.group()
        if piece == "->":
            return "\x00"
        if piece[0] != "`":
            return piece
        aliases[f"_quoted_{len(aliases)}"] = piece[1:-1]
        return f"_quoted_{len(aliases) - 1}"

    return _PIECES.sub(swap, text), aliases


def _split(plain: str) -> list[str]:
    return plain.split("\x00")


def _dependence(plain: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    one = _ONE_PER.match(plain.strip())
    if one:
        return (one.group(2),), (one.group(1),)
    match = _DETERMINES.match(plain.strip())
    if match is None or "'" in plain or '"' in plain or "\x00" in plain:
        return None
    left, right = (tuple(name.strip() for name in side.split(",")) for side in match.groups())
    return left, right


def _original(name: str, aliases: dict[str, str], schema: Schema | None) -> str:
    """The column a word means. Python reads names in normal form (NFKC), so a column may be spelled otherwise."""
    if name in aliases:
        return aliases[name]
    if schema is not None and name not in schema:
        for column in schema.names:
            if unicodedata.normalize("NFKC", column) == name:
                aliases[name] = column
                return column
    return name


def _tree(text: str) -> tuple[ast.expr | None, str]:
    try:
        return ast.parse(text, mode="eval").body, ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = "; write == to compare" if re.search(r"[^=!<>]=[^=]", text) else ""
        place = getattr(error, "offset", None) or 0
        return None, f"cannot be read near character {place}{hint}"


class _Checker(ast.NodeVisitor):
    """Walks an expression once and notes everything that a rule may not say."""

    def __init__(self, schema: Schema | None, aliases: dict[str, str]) -> None:
        self.schema = schema
        self.aliases = aliases
        self.faults: list[str] = []

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, _NODES):
            self.faults.append(f"{type(node).__name__} is not part of the rule language")
            return
        super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        name = _original(node.id, self.aliases, self.schema)
        if self.schema is not None and name not in self.schema:
            self.faults.append(f"no column {name!r}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.faults.append("a column of another table can only stand after 'in'")

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, (str, int, float, bool)):
            self.faults.append(
                f"{type(node.value).__name__} is not a value a column can have; use is_missing(column)"
            )

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else "?"
        if node.keywords:
            self.faults.append(f"{name} takes no named arguments")
        if name == "_over":
            for argument in node.args[1:]:
                self.visit(argument)
            return
        if name in ("min", "max"):
            if len(node.args) < 2:
                self.faults.append(
                    f"{name} compares two or more columns, or write '{name}(column) over group'"
                )
        elif name not in FUNCTIONS:
            self.faults.append(f"no function {name!r}; there are {', '.join([*FUNCTIONS, 'min', 'max'])}")
            return
        elif len(node.args) != FUNCTIONS[name]:
            self.faults.append(f"{name} takes {FUNCTIONS[name]} arguments, {len(node.args)} are given")
        if name.startswith("is_") and not all(isinstance(argument, ast.Name) for argument in node.args):
            self.faults.append(f"{name} takes a column")
        for argument in node.args:
            self.visit(argument)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            self.visit(operator)
            if isinstance(operator, (ast.In, ast.NotIn)):
                self._membership(left, right)
            else:
                self._types(operator, left, right)
        members = {
            id(s) for o, s in zip(node.ops, sides[1:], strict=True) if isinstance(o, (ast.In, ast.NotIn))
        }
        for side in sides:
            if not (id(side) in members and isinstance(side, ast.Attribute)):
                self.visit(side)

    def _membership(self, left: ast.expr, right: ast.expr) -> None:
        if isinstance(right, (ast.List, ast.Tuple)):
            for item in right.elts:
                self._types(ast.Eq(), left, item)
        elif not (isinstance(right, ast.Attribute) and isinstance(right.value, ast.Name)):
            self.faults.append("after 'in' comes a list of values, or table.column")

    def _types(self, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> None:
        """Find a column that is compared with a value it can never have."""
        if isinstance(left, ast.Constant):
            left, right = right, left
        value = constant(right)
        if value is None or not isinstance(left, ast.Name) or self.schema is None:
            return
        name = _original(left.id, self.aliases, self.schema)
        if name not in self.schema:
            return
        column = self.schema[name]
        equality = isinstance(operator, (ast.Eq, ast.NotEq))
        if any(type(code) is type(value) and code == value for code in column.special):
            return
        text = isinstance(value, str)
        if column.kind.is_number:
            if text and column.kind is not Kind.DATETIME:
                self.faults.append(f"column {name!r} holds numbers and is compared with text")
            if not text and column.kind is Kind.DATETIME:
                self.faults.append(f"column {name!r} holds dates; compare with text such as '2024-12-31'")
            return
        if (
            column.levels is not None
            and column.levels
            and all(isinstance(level, str) != text for level in column.levels)
        ):
            held = "numbers" if text else "text"
            self.faults.append(
                f"column {name!r} holds {held} and is compared with {'text' if text else 'a number'}"
            )
            return
        if not equality and column.kind is not Kind.ORDERED and text:
            self.faults.append(
                f"column {name!r} is {column.kind} and has no order; make it ordered in the schema"
            )
        if column.levels is not None and column.domain == "declared" and value not in column.levels:
            self.faults.append(f"column {name!r} has no level {value!r}")


def constant(node: ast.expr) -> str | int | float | bool | None:
    """The value of a constant, also a negative number; None when the node is something else.

    Examples
    --------
    >>> constant(ast.parse("-8", mode="eval").body)
    -8
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return -inner if isinstance(inner, (int, float)) and not isinstance(inner, bool) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool)):
        return node.value
    return None
