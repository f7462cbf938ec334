"""`Design`: records as the numbers that are changed by attacks, and as what the model itself takes.

Attacks change single values of records (an explanation mixes two people, attribute inference tries every category), so
records are held as one array of floats: numbers as they are, categories of texts as codes. `Design.inputs` turns rows
of it back into what the model was fitted on, a frame with names or a plain array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Columns that go into a model, in its order.

    Attributes
    ----------
    levels
        Texts of a column that is coded; None for a column of numbers.
    named
        Whether the model takes a frame with column names.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m", "f"], "age": [31, 64, 40]})
    >>> design = Design.of(["age", "sex"], [table], named=True)
    >>> design.matrix(table).tolist()
    [[31.0, 0.0], [64.0, 1.0], [40.0, 0.0]]
    >>> design.inputs(design.matrix(table))["sex"].tolist()
    ['f', 'm', 'f']
    """

    features: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    named: bool

    @classmethod
    def of(cls, features: Sequence[str], tables: Sequence[Table], named: bool) -> Design:
        """Columns of tables; texts of any of them are levels."""
        faults, levels = [], []
        for name in features:
            vectors = [table[name] for table in tables]
            kinds = {_is_number(vector) for vector in vectors}
            if any(vector.column.kind is Kind.DATETIME for vector in vectors):
                faults.append(
                    f"column {name!r} holds dates; turn it into numbers as the model was given them"
                )
            elif len(kinds) > 1:
                faults.append(
                    f"column {name!r} holds numbers in one file and texts in the other; are columns swapped?"
                )
            elif False in kinds and not named:
                faults.append(
                    f"column {name!r} holds texts, and the model takes numbers only; give the file "
                    f"the model was fitted on"
                )
            texts = {str(label) for vector in vectors for label in vector.levels}
            levels.append(tuple(sorted(texts)) if False in kinds else None)
        if faults:
            raise DataError.from_faults("the files do not fit the model", faults)
        return cls(tuple(features), tuple(levels), named)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.features)

    @property
    def coded(self) -> list[int]:
        """Places of the columns that hold codes of texts."""
        return [place for place, held in enumerate(self.levels) if held is not None]

    def matrix(self, table: Table) -> AnyArray:
        """Records as floats; NaN where there is no value."""
        made = np.empty((table.rows, self.width), order="F")
        for place, (name, held) in enumerate(zip(self.features, self.levels, strict=True)):
            made[:, place] = numbers(table[name]) if held is None else _codes(table[name], held)
        return made

    def inputs(self, matrix: AnyArray) -> Any:
        """Records as the model takes them."""
        if not self.named:
            return np.ascontiguousarray(matrix)
        import pandas as pd  # noqa: PLC0415 (slow to load, and only models with named columns need it)

        columns: dict[str, Any] = {}
        for place, (name, held) in enumerate(zip(self.features, self.levels, strict=True)):
            values = matrix[:, place]
            columns[name] = values if held is None else _texts(values, held)
        return pd.DataFrame(columns, copy=False)


def numbers(vector: Vector) -> AnyArray:
    """A column as floats: numbers, yes and no, and categories that are numbers.

    Examples
    --------
    >>> numbers(Table.from_frame({"a": [True, False, None]})["a"]).tolist()
    [1.0, 0.0, nan]
    """
    if vector.is_number:
        return vector.floats()
    values = np.array([_number(level) for level in vector.levels] or [np.nan])
    made = np.full(len(vector), np.nan)
    made[vector.present] = values[vector.values]
    return made


def gaps(values: AnyArray) -> AnyArray:
    """Where an array has no value, in numbers and in objects.

    Examples
    --------
    >>> gaps(np.array(["a", None], object)).tolist()
    [False, True]
    """
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype != object:
        return np.zeros(values.shape, bool)
    return np.array([v is None or (isinstance(v, float) and np.isnan(v)) for v in values.ravel()]).reshape(
        values.shape
    )


def _number(level: Any) -> float:
    return float(level) if isinstance(level, bool) else float(str(level))


def _is_number(vector: Vector) -> bool:
    if vector.is_number:
        return True
    return all(isinstance(level, (bool, int, float)) for level in vector.levels)


def _codes(vector: Vector, held: tuple[str, ...]) -> AnyArray:
    place = {text: code for code, text in enumerate(held)}
    lookup = np.array([place.get(str(level), np.nan) for level in vector.levels] or [np.nan])
    made = np.full(len(vector), np.nan)
    made[vector.present] = lookup[vector.values]
    return made


def _texts(codes: AnyArray, held: tuple[str, ...]) -> AnyArray:
    texts = np.array([*held, np.nan], dtype=object)
    return texts[np.where(np.isnan(codes), len(held), codes).astype(np.int64)]


def spelled(faults: Sequence[str]) -> str:
    """Names for a message."""
    return names(list(faults))
