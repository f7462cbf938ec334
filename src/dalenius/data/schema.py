"""`Schema` and `Column`: what each column is, what it is for, and which values it may take.

A schema is inferred from a file, then read and edited by a person as YAML. Everything after it (synthesis, masking,
risk, utility) asks the schema, never the data, what a column means.
"""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dalenius.core.errors import DataError, SchemaError, no_column
from dalenius.data.sampling import UNKNOWN, Sampling

if TYPE_CHECKING:
    from dalenius.data.table import Table

Level: TypeAlias = str | int | float | bool | dt.date | Decimal
Domain = Literal["from-data", "declared"]
Leaving = Literal["guarded", "as-is"]
MIN_UNITS = 3
"""Units that must hold a value before it may leave."""


class Kind(StrEnum):
    """What a column is: the word a schema uses for it."""

    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    INTEGER = "integer"
    CONTINUOUS = "continuous"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    TEXT = "text"
    POINT = "point"

    @property
    def is_number(self) -> bool:
        """Held as numbers (a point is one coordinate of a location, a datetime a count since 1970)."""
        return self in (Kind.INTEGER, Kind.CONTINUOUS, Kind.DATETIME, Kind.POINT)


class Role(StrEnum):
    """What a column is for."""

    KEY = "key"  # an intruder may know it (quasi-identifier)
    TARGET = "target"  # it would hurt if learnt (sensitive)
    IDENTIFIER = "identifier"  # names a person directly: never synthesized, never released
    ENTITY = "entity"  # the unit of protection: one person or firm may own many rows
    HOUSEHOLD = "household"
    WEIGHT = "weight"
    STRATUM = "stratum"  # sampling stratum
    PSU = "psu"  # primary sampling unit: what was drawn first, such as a district
    FPC = "fpc"  # how many units the stratum has in the population, or the share of them that was drawn
    REPLICATE = "replicate"  # replicate weights
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    GEOMETRY = "geometry"  # an outline, as text: tells a place exactly, so it never leaves


OWNERS = (Role.ENTITY, Role.HOUSEHOLD)
"""Roles of columns that say whose rows they are."""


@dataclass(frozen=True)
class Column:
    """One column of a schema.

    Attributes
    ----------
    name, kind, roles
        What it is called, what it is and what it is for.
    levels
        Values in order, for categorical, ordered and boolean columns; None means "whatever the data hold".
    bounds
        Smallest and largest value of a number (ISO text for datetimes).
    domain
        "declared" when levels or bounds are public knowledge, "from-data" when they were read off the confidential
        file (methods with a privacy guarantee refuse the latter).
    missing, not_applicable
        Codes that stand for "no answer" and "question does not apply" (for example -8). They are kept apart from
        ordinary values and from empty cells, and come back as they went in.
    decimals, format
        Decimal places of a number; strptime format of a datetime kept as text.
    label, value_labels
        Wording for people, for example from SPSS or Stata.
    parent
        Column this one is nested in (municipality within region).
    partner
        The other coordinate of a point.
    note
        Why the kind was chosen when it was inferred.
    release
        "as-is" lets values leave that few units hold (rare texts, exact dates and numbers): the steward's own decision.
        "guarded" keeps them in.
    outside
        What becomes of a value that is not in the declared domain: "nearest" (the nearest bound of a number),
        "missing", or one of the levels (such as "other"). None: it is an error.

    Examples
    --------
    >>> income = Column("income", Kind.INTEGER, roles=(Role.TARGET,), not_applicable=(-8,))
    >>> income.special
    (-8,)
    """

    name: str
    kind: Kind
    roles: tuple[Role, ...] = ()
    levels: tuple[Level, ...] | None = None
    bounds: tuple[float | str, float | str] | None = None
    domain: Domain = "from-data"
    missing: tuple[Level, ...] = ()
    not_applicable: tuple[Level, ...] = ()
    decimals: int | None = None
    format: str | None = None
    label: str = ""
    value_labels: Mapping[Level, str] = field(default_factory=dict)
    parent: str | None = None
    partner: str | None = None
    note: str = ""
    release: Leaving = "guarded"
    outside: Level | None = None

    @property
    def special(self) -> tuple[Level, ...]:
        """Codes that are not ordinary values: missing codes first, then not-applicable ones."""
        return self.missing + self.not_applicable

    def has(self, role: Role | str) -> bool:
        """Whether the column has this role."""
        return Role(role) in self.roles

    def faults(self) -> list[str]:
        """Everything wrong with this column on its own."""
        where = f"column {self.name!r}"
        faults = []
        if self.levels is not None and self.kind.is_number:
            faults.append(
                f"{where}: kind {self.kind} has no levels; use bounds, or kind categorical or ordered"
            )
        # The values of a text column are read off the data, never declared: there may be a million, all different.
        listed = (
            set(map(typed, self.levels)) if self.levels is not None and self.kind is not Kind.TEXT else set()
        )
        if self.levels is not None and self.kind is not Kind.TEXT and len(listed) < len(self.levels):
            faults.append(f"{where}: a level is listed twice")
        if listed and self.special and listed & set(map(typed, self.special)):
            faults.append(f"{where}: a missing or not-applicable code is also a level; list it once")
        if self.kind is Kind.BOOLEAN and self.levels is not None and len(self.levels) > 2:
            faults.append(f"{where}: a boolean column has at most two levels, {len(self.levels)} are listed")
        if self.bounds is not None and not self.kind.is_number:
            faults.append(f"{where}: bounds are for numbers; kind is {self.kind}")
        if self.bounds is not None and str(type(self.bounds[0])) == str(type(self.bounds[1])):
            low, high = self.bounds
            if low > high:  # type: ignore[operator]
                faults.append(f"{where}: lower bound is above upper bound")
        if self.outside not in (None, "missing"):
            fitting = ("nearest",) if self.kind.is_number else self.levels or ()
            rule = "nearest or missing" if self.kind.is_number else "missing, or one of its levels"
            if self.outside not in fitting:
                faults.append(f"{where}: outside must be {rule}")
        if self.decimals is not None and not 0 <= self.decimals <= 15:
            faults.append(f"{where}: decimals must be between 0 and 15")
        if set(map(typed, self.missing)) & set(map(typed, self.not_applicable)):
            faults.append(f"{where}: a code is both missing and not applicable")
        if self.release not in get_args(Leaving):
            faults.append(f"{where}: release must be 'guarded' or 'as-is'")
        return faults


def unrelated(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Columns without their relations (parent, partner) to columns that are not among them.

    Examples
    --------
    >>> unrelated([Column("district", Kind.CATEGORICAL, parent="region")])[0].parent is None
    True
    """
    held = list(columns)
    there = {column.name for column in held}
    return tuple(
        replace(
            c, parent=c.parent if c.parent in there else None, partner=c.partner if c.partner in there else None
        )
        if (c.parent or c.partner) and not {c.parent, c.partner} - {None} <= there
        else c
        for c in held
    )  # fmt: skip


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order, and the rules between them.

    Attributes
    ----------
    min_units
        Units that must hold a value before it may leave.
    sampling
        What is known of a survey beyond the roles of columns.

    Examples
    --------
    >>> schema = Schema((Column("sex", Kind.CATEGORICAL), Column("age", Kind.INTEGER)))
    >>> schema = schema.with_roles(keys=["sex", "age"])
    >>> schema.by_role("key")
    ['sex', 'age']
    >>> schema["age"].kind
    <Kind.INTEGER: 'integer'>
    """

    columns: tuple[Column, ...]
    rules: tuple[str, ...] = ()
    title: str = ""
    min_units: int = MIN_UNITS
    sampling: Sampling = UNKNOWN
    read_blind: bool = False
    """Whether files are read without an error that depends on what is in them; `blind` sets it."""

    def __str__(self) -> str:
        """One line a column; levels and bounds, which are read off the data, are not shown."""
        lines = [("column", "kind", "role", "about")]
        lines += [(c.name, c.kind.value, ", ".join(c.roles), c.label or c.note) for c in self.columns]
        widths = [max(len(line[i]) for line in lines) for i in range(3)]
        rows = ["  ".join([*map(str.ljust, line[:3], widths), line[3]]).rstrip() for line in lines]
        return "\n".join([*rows, *([f"rules: {'; '.join(self.rules)}"] if self.rules else [])])

    def _repr_html_(self) -> str:
        """The columns as a table for notebooks; levels and bounds, which are read off the data, are not shown."""
        import polars as pl  # noqa: PLC0415 (only when somebody looks)

        from dalenius.core.small_table import small_table  # noqa: PLC0415

        parts = {
            "column": [c.name for c in self.columns],
            "kind": [c.kind.value for c in self.columns],
            "role": [", ".join(c.roles) for c in self.columns],
            "codes": [", ".join(map(str, c.special)) for c in self.columns],
            "about": [c.label or c.note for c in self.columns],
        }
        rows = len(self.columns)
        text = small_table(pl.DataFrame(parts), most=rows) if rows else ""
        return f"{text}<p>Rules: {html.escape('; '.join(self.rules))}</p>" if self.rules else text

    def __post_init__(self) -> None:
        faults = self.faults()
        if faults:
            raise SchemaError.from_faults("schema", faults)

    def faults(self) -> list[str]:
        """Every fault of the schema at once."""
        faults = [fault for column in self.columns for fault in column.faults()]
        if not isinstance(self.min_units, int) or isinstance(self.min_units, bool) or self.min_units < 1:
            faults.append("min_units must be a whole number, at least 1")
        faults += self.sampling.faults()
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                faults.append(f"column {name!r}: named twice")
            seen.add(name)
        for column in self.columns:
            for relation in ("parent", "partner"):
                other = getattr(column, relation)
                if other is not None and (other not in seen or other == column.name):
                    faults.append(f"column {column.name!r}: {relation} {other!r} is not another column")
        return faults

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(no_column([name], self.names))

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def by_role(self, role: Role | str) -> list[str]:
        """Names of the columns that have a role."""
        return [column.name for column in self.columns if column.has(role)]

    def select(self, wanted: Iterable[str]) -> Schema:
        """The schema of some columns, in the order asked for, with the rules that speak of no other column."""
        loose = unrelated([self[name] for name in wanted])
        kept = {column.name for column in loose}
        gone = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in self.names if name not in kept]
        rules = tuple(rule for rule in self.rules if not any(name.search(rule) for name in gone))
        known = tuple(name for name in self.sampling.calibrated if name in kept)
        sampling = replace(self.sampling, calibrated=known)
        return replace(self, columns=loose, rules=rules, sampling=sampling)

    def replace_columns(self, *columns: Column) -> Schema:
        """The schema with these columns in place of those of the same name."""
        new = {column.name: column for column in columns}
        for name in new:
            self[name]
        return replace(self, columns=tuple(new.get(c.name, c) for c in self.columns))

    def declare(self, *columns: str) -> Schema:
        """The schema with levels and bounds of these columns (of all, if none is named) as public knowledge.

        Your word for it: nothing here can check that they were known before the data were seen.

        Examples
        --------
        >>> Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")),)).declare()["sex"].domain
        'declared'
        """
        chosen = [self[name] for name in columns or self.names]
        return self.replace_columns(*(replace(column, domain="declared", note="") for column in chosen))

    def blind(self) -> Schema:
        """The schema by which declared columns are read without an error that depends on the data.

        A column with no rule of its own for values outside its domain takes the nearest bound (numbers) or missing. Of
        a line with too few fields those that lack are empty; of one with too many the last are left out.

        Examples
        --------
        >>> Schema((Column("age", Kind.INTEGER, bounds=(0, 110), domain="declared"),)).blind()["age"].outside
        'nearest'
        """
        return replace(self, columns=tuple(_blind(column) for column in self.columns), read_blind=True)

    def with_roles(self, **roles: Sequence[str] | str | None) -> Schema:
        """Give roles to columns: ``with_roles(keys=[...], targets=[...], weight="w")``.

        A role that is named replaces who had it before; None leaves it as it is. The plural is accepted. A column that
        said whose rows they are and gives that role to another becomes an identifier: it numbers people or homes still,
        and does not leave.

        Examples
        --------
        >>> schema = Schema((Column("a", Kind.TEXT), Column("b", Kind.TEXT)))
        >>> schema.with_roles(entity="a").by_role("entity")
        ['a']
        >>> schema.with_roles(entity="a").with_roles(entity="b").by_role("identifier")
        ['a']
        """
        result = self
        listed = {s: [w] if isinstance(w, str) else list(w) for s, w in roles.items() if w is not None}
        absent = [name for chosen in listed.values() for name in chosen if name not in self]
        if absent:
            raise DataError(no_column(absent, self.names))
        for spelled, chosen in listed.items():
            role = Role(spelled.removesuffix("s") if spelled not in set(Role) else spelled)
            result = replace(
                result,
                columns=tuple(
                    _set_role(column, role, column.name in chosen, bool(chosen)) for column in result.columns
                ),
            )
        return result

    @classmethod
    def infer(cls, frame: Any, title: str = "") -> Schema:
        """Guess a schema from data, and say why for each column (``Column.note``).

        Examples
        --------
        >>> schema = Schema.infer({"code": ["01", "02", "01", "10"], "income": [1200.5, 8.25, 0.5, 99.75]})
        >>> schema["code"].kind, schema["income"].decimals
        (<Kind.CATEGORICAL: 'categorical'>, 2)
        >>> schema["code"].note
        'text of digits with leading zeros: a code, not a number; 3 distinct values'
        """
        from dalenius.data.infer import infer_schema  # noqa: PLC0415 (inference needs Table, which needs Schema)

        return infer_schema(frame, title)

    @classmethod
    def from_yaml(cls, source: str | Path) -> Schema:
        """Read a schema from a YAML file, reporting every fault at once."""
        from dalenius.data.schema_yaml import read_schema  # noqa: PLC0415

        return read_schema(source)

    def to_yaml(self, path: str | Path | None = None) -> str:
        """Write the schema as commented YAML, and return the text."""
        from dalenius.data.schema_yaml import write_schema  # noqa: PLC0415

        return write_schema(self, path)

    def check(self, table: Table) -> None:
        """Raise one error that lists every way in which a table does not follow this schema.

        Values are never quoted: the error says how many rows of which column are outside the domain.
        """
        from dalenius.data.conformity import faults_of  # noqa: PLC0415

        faults = faults_of(table, self)
        if faults:
            raise SchemaError.from_faults("data do not follow the schema", faults)


def typed(value: Level) -> tuple[str, Level]:
    """Key that keeps 1, 1.0, True and "1" apart.

    Examples
    --------
    >>> typed(1) == typed(True)
    False
    """
    return type(value).__name__, value


def _blind(column: Column) -> Column:
    listed = column.kind.is_number or column.kind is Kind.BOOLEAN or column.levels is not None
    if column.outside is not None or not listed:
        return column
    return replace(column, outside="nearest" if column.kind.is_number else "missing")


def _set_role(column: Column, role: Role, wanted: bool, given: bool) -> Column:
    """A column with or without a role; ``given``: to somebody."""
    others = tuple(r for r in column.roles if r is not role)
    if wanted:
        return replace(column, roles=(*others, role))
    if given and role in OWNERS and column.has(role) and not {*OWNERS, Role.IDENTIFIER} & {*others}:
        others = (*others, Role.IDENTIFIER)
    return replace(column, roles=others)
