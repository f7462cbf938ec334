"""Table formulas such as ``~ age * geo + eu:year - 1``: which margins are published."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dalenius.core.errors import OptionError

Term = tuple[str, ...]

_TOKEN = re.compile(r"\s*(?:(~|\+|-|\*|:|\(|\))|([A-Za-z_.][\w.]*|`[^`]+`)|(\d+))")


def terms_of(formula: str) -> list[Term]:
    """The margins of a formula: tuples of variables; the empty tuple is the grand total.

    ``a:b`` is the cross table alone, ``a*b`` also its margins, ``+`` joins, ``- 1`` or ``+ 0`` drops the grand total
    and ``- a`` a margin. Fewer variables come first, otherwise the order of writing is kept (as in R).

    Examples
    --------
    >>> terms_of("~ age * geo")
    [(), ('age',), ('geo',), ('age', 'geo')]
    >>> terms_of("(a + b) : c - 1")
    [('a', 'c'), ('b', 'c')]
    """
    parser = _Parser(formula)
    terms = parser.sum()
    parser.expect_end()
    ordered = sorted(dict.fromkeys(terms), key=len)
    if not ordered:
        raise OptionError(f"formula {formula!r} publishes nothing")
    return ordered


class _Parser:
    """Recursive descent; a term keeps its variables in the order they were first written."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        text = formula.strip()
        self.tokens: list[str] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.end() == place:
                raise OptionError(f"formula {formula!r}: cannot read {text[place:].strip()!r}")
            self.tokens.append(match.group().strip())
            place = match.end()
        if self.tokens[:1] == ["~"]:
            self.tokens.pop(0)
        self.place = 0

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.place += 1
        return token

    def expect_end(self) -> None:
        if self.peek():
            raise OptionError(f"formula {self.formula!r}: {self.peek()!r} is not expected there")

    def sum(self, total: bool = True) -> list[Term]:
        terms: list[Term] = [()] if total else []
        sign = "+"
        while True:
            if self.peek() in ("+", "-"):
                sign = self.next()
            part = self.product()
            if part in ([("1",)], [("0",)]):
                drop = (part == [("1",)]) == (sign == "-")
                part, sign = [()], "-" if drop else "+"
            if sign == "+":
                terms += [term for term in part if term not in terms]
            else:
                terms = [term for term in terms if set(term) not in [set(p) for p in part]]
            if self.peek() not in ("+", "-"):
                return terms
            sign = self.next()

    def product(self) -> list[Term]:
        left = self.crossing()
        while self.peek() == "*":
            self.next()
            right = self.crossing()
            left = _union([*left, *right, *_cross(left, right)])
        return left

    def crossing(self) -> list[Term]:
        left = self.atom()
        while self.peek() == ":":
            self.next()
            left = _cross(left, self.atom())
        return left

    def atom(self) -> list[Term]:
        token = self.next()
        if token == "(":
            inner = self.sum(total=False)
            if self.next() != ")":
                raise OptionError(f"formula {self.formula!r}: a closing bracket is missing")
            return inner
        if not token or token in "+-*:)~":
            raise OptionError(
                f"formula {self.formula!r}: a variable is missing {f'before {token!r}' if token else 'at the end'}"
            )
        return [(token.strip("`"),)]


def _cross(left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
    return _union([tuple(dict.fromkeys((*a, *b))) for a in left for b in right])


def _union(terms: Sequence[Term]) -> list[Term]:
    kept: dict[frozenset[str], Term] = {}
    for term in terms:
        kept.setdefault(frozenset(term), term)
    return list(kept.values())
