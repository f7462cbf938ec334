"""What holders agree on before anybody looks at data: columns, ends, levels, class, depth, how much is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray


@dataclass(frozen=True)
class Attribute:
    """One column: ends of a number, or levels of a category. What is missing is a level of its own."""

    name: str
    bounds: tuple[float, float] | None = None
    levels: tuple[str, ...] | None = None

    @property
    def is_number(self) -> bool:
        """Whether it is binned."""
        return self.levels is None


@dataclass(frozen=True)
class Agreement:
    """The same for every holder and the server; plain data, so that it can be mailed.

    Attributes
    ----------
    holders
        Names of those who may vote, each once; empty for anybody.

    Examples
    --------
    >>> agreed = Agreement((Attribute("age", (0, 100)), Attribute("sex", levels=("f", "m"))), "ill", ("no", "yes"))
    >>> Agreement.from_json(agreed.to_json()) == agreed
    True
    """

    attributes: tuple[Attribute, ...]
    target: str
    classes: tuple[str, ...]
    depth: int = 3
    theta: float = 0.2
    smallest: int = 10
    protect_label: bool = False
    holders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.theta < 1:
            raise OptionError(f"theta is at least 0 and below 1, got {self.theta}")
        if self.depth < 1 or self.smallest < 1:
            raise OptionError("depth and smallest are whole numbers of 1 or more")
        if len(set(self.holders)) < len(self.holders):
            raise OptionError("two holders have the same name; name each once")
        if not self.attributes or len(self.classes) < 2:
            raise OptionError("an agreement needs a column to ask about and two classes")

    @classmethod
    def of(
        cls,
        schema: Schema,
        target: str,
        ends: Mapping[str, tuple[float, float]] | None = None,
        **options: Any,
    ) -> Agreement:
        """Out of a schema that declares ends of numbers and levels of categories; all that is lacking in one error.

        ``ends`` are those that holders found privately (`ends_of`) for numbers that are declared without bounds.
        """
        if target not in schema:
            raise DataError(f"there is no column {target!r}; there are {names(schema.names)}")
        lacking, made = [], []
        for column in schema.columns:
            if column.domain != "declared":
                lacking.append(f"{column.name!r} is not declared, what stands there was read off a file")
            elif column.kind.is_number:
                if column.bounds is None and column.name in (ends or {}):
                    made.append(Attribute(column.name, (ends or {})[column.name]))
                elif column.bounds is None or not np.isfinite(column.bounds).all():
                    lacking.append(f"{column.name!r} needs bounds")
                else:
                    made.append(Attribute(column.name, (float(column.bounds[0]), float(column.bounds[1]))))
            elif column.levels is None:
                lacking.append(f"{column.name!r} needs levels")
            elif column.name != target:
                made.append(Attribute(column.name, levels=tuple(str(x) for x in column.levels)))
        classes = schema[target].levels
        if classes is None or schema[target].kind.is_number:
            lacking.append(f"{target!r} is the class and needs levels")
        if lacking:
            raise DataError(
                "holders agree on ends and levels before anybody looks at data; declare them in the schema: "
                + "; ".join(lacking)
            )
        assert classes is not None
        return cls(tuple(made), target, tuple(str(x) for x in classes), **options)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        held = [{"name": a.name} | ({"bounds": list(a.bounds)} if a.bounds else {"levels": list(a.levels or ())})
                for a in self.attributes]  # fmt: skip
        return {"attributes": held, "target": self.target, "classes": list(self.classes), "depth": self.depth,
                "theta": self.theta, "smallest": self.smallest, "protect_label": self.protect_label,
                "holders": list(self.holders)}  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Agreement:
        """Read back what `to_json` wrote."""
        try:
            held = tuple(
                Attribute(str(a["name"]), (float(a["bounds"][0]), float(a["bounds"][1])) if "bounds" in a else None,
                          tuple(map(str, a["levels"])) if "levels" in a else None)
                for a in data["attributes"]
            )  # fmt: skip
            return cls(held, str(data["target"]), tuple(map(str, data["classes"])), int(data["depth"]),
                       float(data["theta"]), int(data["smallest"]), bool(data["protect_label"]),
                       tuple(map(str, data["holders"])))  # fmt: skip
        except (KeyError, TypeError, ValueError):
            raise DataError("this is no agreement; `dalenius models federate agree` writes one") from None

    def values(self, table: Table) -> AnyArray:
        """Columns as numbers: numbers as they are, categories by their place in the list, NaN for what is missing."""
        lacking = [a.name for a in self.attributes if a.name not in table]
        if lacking:
            raise DataError(
                f"column {names(lacking)}: agreed on and not in the file; holders need the same columns"
            )
        return np.column_stack([_placed(table, a) for a in self.attributes])

    def labels(self, table: Table) -> IntArray:
        """The class of every row."""
        if self.target not in table:
            raise DataError(f"column {self.target!r}, the class, is not in the file")
        held = _by_level(table, self.target, self.classes)
        if np.isnan(held).any():
            raise DataError(
                f"column {self.target!r}: {int(np.isnan(held).sum())} rows have no class; leave them out"
            )
        return held.astype(np.int64)


def _placed(table: Table, attribute: Attribute) -> AnyArray:
    if not attribute.is_number:
        return _by_level(table, attribute.name, attribute.levels or ())
    vector = table[attribute.name]
    return vector.floats() if vector.is_number else _as_numbers(table, attribute.name)


def _as_numbers(table: Table, name: str) -> AnyArray:
    """A column that looks like categories in one holder's file, because it has few different numbers there."""
    held, present = table[name].categories, np.asarray(table[name].present)
    try:
        used = {int(code) for code in np.unique(held.codes[present])}
        places = np.array([float(str(x)) if i in used else np.nan for i, x in enumerate(held.labels)])
    except ValueError:
        raise DataError(f"column {name!r} is agreed to be a number and holds something else") from None
    return np.where(present, places[held.codes] if len(places) else np.nan, np.nan)


def _by_level(table: Table, name: str, levels: Sequence[str]) -> AnyArray:
    """Places in a list of levels; a level that is not in it is an error, without naming it."""
    known = {level: i for i, level in enumerate(levels)}
    vector = table[name]
    held = vector.categories
    present = np.asarray(vector.present)
    places = np.array([known.get(str(label), -1) for label in held.labels], np.float64)
    found = np.where(present, places[held.codes] if len(places) else np.nan, np.nan)
    unknown = len({int(c) for c in held.codes[found == -1]})
    if unknown:
        raise DataError(
            f"column {name!r}: {unknown} of its levels are not agreed on; add them to the agreement or merge them"
        )
    return found
