"""What holds in and between columns, as typed on the set-up page: codes, rules, computed columns, hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dalenius.core.errors import DaleniusError, OptionError
from dalenius.data.derived import Derived
from dalenius.data.rules import Rule
from dalenius.data.schema import Column, Level, Schema, typed
from dalenius.tables import Hierarchy
from dalenius.tables.hierarchy import TOTAL
from dalenius.web.recipe_form import MOST, read_groups

MOST_TREES = 12
"""Hierarchies that are read of one form."""


@dataclass
class StructureForm:
    """The structure of a file as typed.

    Attributes
    ----------
    missing, unasked
        For each column the codes that stand for no answer, and for a question that was not asked, with commas.
    rules, derived
        Lines that hold in every row (``start <= end``), and lines that say how a column is computed
        (``bmi = weight / (height / 100) ** 2``).
    trees
        Columns with their hierarchy, one group a line: ``North: Oslo, Bergen``.
    keep
        Whether what follows from other columns is found and kept by construction.

    Examples
    --------
    >>> form = StructureForm(missing={"age": "99"}, derived="both = a + b")
    >>> schema = Schema.infer({"age": [30, 41, 99] * 9, "a": [1, 2, 3] * 9, "b": [3, 5, 7] * 9, "both": [4, 7, 10] * 9})
    >>> made = form.applied(schema)
    >>> made["age"].missing, made.rules
    ((99,), ('both == a + b',))
    """

    missing: dict[str, str] = field(default_factory=dict)
    unasked: dict[str, str] = field(default_factory=dict)
    rules: str = ""
    derived: str = ""
    trees: list[tuple[str, str]] = field(default_factory=list)
    keep: bool = True

    @classmethod
    def of(cls, schema: Schema) -> StructureForm:
        """What the schema says already."""
        codes = {
            side: {c.name: _joined(getattr(c, side)) for c in schema if getattr(c, side)}
            for side in ("missing", "not_applicable")
        }
        return cls(codes["missing"], codes["not_applicable"], "\n".join(schema.rules))

    @classmethod
    def from_form(cls, form: Any, columns: Sequence[str]) -> StructureForm:
        """Read a sent form; columns are named by number."""
        missing, unasked = (_by_column(form, word, columns) for word in ("missing", "unasked"))
        known = {str(n): name for n, name in enumerate(columns)}
        trees = []
        for k in range(MOST_TREES):
            lines = str(form.get(f"h-{k}-lines", "")).strip()[:MOST]
            if lines and str(form.get(f"h-{k}-column", "")) in known:
                trees.append((known[str(form.get(f"h-{k}-column"))], lines))
        rules, derived = (str(form.get(f"x-{part}", "")).strip()[:MOST] for part in ("rules", "derived"))
        # a box that is not ticked is not sent: only a form that has the box says no by leaving it out
        keep = "x-keep" in form or "x-box" not in form
        return cls(missing, unasked, rules, derived, trees, keep)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> StructureForm:
        """Read back plain data."""
        return cls(**{**facts, "trees": [(column, lines) for column, lines in facts["trees"]]})

    def applied(self, schema: Schema) -> Schema:
        """The schema with what was typed; every fault is told at once."""
        columns = [
            coded(
                column,
                self.missing.get(column.name, _joined(column.missing)),
                self.unasked.get(column.name, _joined(column.not_applicable)),
            )
            for column in schema
        ]
        wrong = [f"rule {fault}" for fault in _faults(self._rules(), schema)]
        computed = []
        for line in _listed(self.derived):
            name, equals, worth = line.partition("=")
            name = name.strip().strip("`")
            if not equals or name not in schema or not worth.strip("= "):
                wrong.append(f"computed column {line!r}: write COLUMN = EXPRESSION with a column of the file")
                continue
            try:
                computed.append(Derived.parse(name, worth.strip("= "), schema).rule.text.replace("`", ""))
            except DaleniusError as error:
                wrong.append(f"computed column {name!r}: {error}")
        if wrong:
            raise OptionError.from_faults("what holds between columns", wrong)
        return replace(
            schema, columns=tuple(columns), rules=tuple(dict.fromkeys([*self._rules(), *computed]))
        )

    def _rules(self) -> list[str]:
        return _listed(self.rules)

    def levels(self) -> dict[str, str]:
        """Hierarchies by column, as typed."""
        return dict(self.trees)

    def hierarchies(self, codes: Mapping[str, Sequence[str]]) -> dict[str, Hierarchy]:
        """Hierarchies of columns whose codes are given; codes that are in no group stand beside the groups."""
        made = {}
        for name, lines in self.trees:
            if name not in codes:
                continue
            pairs = [(code, group) for group, inside in read_groups(lines).items() for code in inside]
            placed = {code for code, _ in pairs}
            groups = [group for group in dict.fromkeys(g for _, g in pairs) if group not in placed]
            loose = [code for code in codes[name] if code not in placed and code not in groups]
            made[name] = Hierarchy.from_pairs([*pairs, *((c, TOTAL) for c in [*groups, *loose])], TOTAL)
        return made


def _by_column(form: Any, word: str, columns: Sequence[str]) -> dict[str, str]:
    """What was typed for each column; a field that was not sent is not in it, an empty one is."""
    sent = {name: form.get(f"{word}-{n}") for n, name in enumerate(columns)}
    return {name: str(text).strip()[:MOST] for name, text in sent.items() if text is not None}


def _joined(codes: Sequence[Level]) -> str:
    return ", ".join(map(str, codes))


def coded(column: Column, missing: str, unasked: str) -> Column:
    """A column with codes as typed: numbers among numbers, words elsewhere; a code is no ordinary value any more.

    Examples
    --------
    >>> from dalenius.data.schema import Kind
    >>> coded(Column("job", Kind.CATEGORICAL, levels=("clerk", "none")), "none", "").levels
    ('clerk',)
    """
    sides = [
        tuple(_code(word, column) for word in text.split(",") if word.strip()) for text in (missing, unasked)
    ]
    if sides == [column.missing, column.not_applicable]:
        return column
    special = {typed(code) for side in sides for code in side}
    levels = None if column.levels is None else tuple(v for v in column.levels if typed(v) not in special)
    bounds = None if column.domain != "declared" else column.bounds
    return replace(column, missing=sides[0], not_applicable=sides[1], levels=levels, bounds=bounds)


def _code(word: str, column: Column) -> Level:
    text = word.strip()
    known = {str(value): value for value in (*(column.levels or ()), *column.special)}
    if text in known:
        return known[text]
    if column.kind.is_number:
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text


def _listed(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _faults(rules: Sequence[str], schema: Schema) -> list[str]:
    found = []
    for line in rules:
        try:
            Rule.parse(line, schema)
        except DaleniusError as error:
            found.append(f"{line!r}: {error}")
    return found
