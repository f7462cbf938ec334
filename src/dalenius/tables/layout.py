"""What is to be published: columns to cross, margins of a formula, or several tables of either kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalenius.core.errors import OptionError
from dalenius.tables.formula import Term, terms_of

Layout = str | Sequence[str]


@dataclass(frozen=True)
class TableLayout:
    """One table: its margins, or all columns crossed."""

    terms: list[Term]
    crossed: bool


def layouts_of(
    by: Layout | None, formula: str | None, tables: Any, hierarchies: Any
) -> dict[str, TableLayout]:
    """The tables asked for, by name: columns to cross, a formula, or several tables."""
    given = sum(x is not None for x in (by, formula, tables))
    if given == 0 and hierarchies:
        by, given = list(hierarchies), 1
    if given != 1:
        raise OptionError("give one of by= (columns to cross), formula= or tables= (several linked tables)")
    if tables is not None:
        listed = tables if isinstance(tables, Mapping) else {f"table_{i}": t for i, t in enumerate(tables, 1)}
        if not listed:
            raise OptionError("tables= lists no table")
        return {str(name): _layout(spec) for name, spec in listed.items()}
    return {"": _layout(formula if by is None else ([by] if isinstance(by, str) and "~" not in by else by))}


def _layout(spec: Any) -> TableLayout:
    if isinstance(spec, str):
        return TableLayout(terms_of(spec), crossed=False)
    columns = tuple(str(name) for name in spec)
    if not columns:
        raise OptionError("a table needs at least one column")
    return TableLayout([columns], crossed=True)
