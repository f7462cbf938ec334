"""`Ladder`: how a column can be made coarser, level by level, from its exact values to one value for everybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DaleniusError, DataError
from dalenius.data.schema import Kind
from dalenius.data.steps.recoding import CoarsenDate, Collapse, Part, Recode, Recoding
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy

ALL = "all"
Rung = Recoding | None
PARTS = ("day", "week", "month", "quarter", "year", "decade")


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one column of one file.

    Attributes
    ----------
    rungs
        What makes each level out of the exact values; None for the exact values themselves.
    codes
        Exact value of each row, as a number.
    maps
        For each level, which group each exact value is in.

    Examples
    --------
    >>> table = Table.from_frame({"age": [*range(20, 60)]})
    >>> ladder = Ladder.of(table, "age", [10, 20, "all"])
    >>> ladder.height, [int(level.max()) + 1 for level in ladder.maps]
    (3, [40, 4, 2, 1])
    """

    column: str
    rungs: tuple[Rung, ...]
    codes: npt.NDArray[np.int32]
    maps: tuple[npt.NDArray[np.int32], ...]

    @classmethod
    def of(cls, table: Table, column: str, levels: Any = None) -> Ladder:
        """A column with its levels: widths of groups of numbers, parts of dates, a hierarchy, or exact and all.

        Parameters
        ----------
        levels
            A list (numbers are widths, texts parts of a date; ``"all"`` is one value), a hierarchy as a tree of groups
            (``{"North": ["N1", "N2"]}``) or a file with one, or nothing: exact values, then all.
        """
        vector = table[column]
        rungs = [None, *rungs_of(vector, levels)]
        used, first, codes = np.unique(vector.categories.codes, return_index=True, return_inverse=True)
        sample = table.take(first)
        exact = np.arange(len(used), dtype=np.int32)
        maps = [exact if rung is None else _grouped(rung, sample) for rung in rungs]
        for level in range(1, len(maps)):
            if not _within(maps[level - 1], maps[level]):
                raise DataError(
                    f"column {column!r}: level {level} of its hierarchy does not keep level {level - 1} together"
                )
        return cls(column, tuple(rungs), codes.astype(np.int32), tuple(maps))

    @property
    def height(self) -> int:
        """The coarsest level."""
        return len(self.rungs) - 1

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Groups at each level."""
        return tuple(int(level.max(initial=-1)) + 1 for level in self.maps)

    @cached_property
    def shares(self) -> tuple[npt.NDArray[np.float64], ...]:
        """For each level and exact value, how much of the domain its group covers: 0 alone, 1 with all others."""
        most = max(len(self.maps[0]) - 1, 1)
        return tuple((np.bincount(level)[level] - 1) / most for level in self.maps)


def rungs_of(vector: Vector, levels: Any) -> list[Recoding]:
    """The levels of a column above its exact values, as steps."""
    column = vector.column.name
    if levels is None:
        return [Collapse(column)]
    if isinstance(levels, (str, Path)) and levels != ALL:
        return _by_tree(vector, read_hierarchy(levels))
    if isinstance(levels, Mapping):
        return _by_tree(vector, tree(levels))
    made: list[Recoding] = []
    for level in [levels] if isinstance(levels, (str, int, float)) else levels:
        if level == ALL:
            made.append(Collapse(column))
        elif level in PARTS:
            made.append(CoarsenDate(column, cast(Part, level)))
        elif isinstance(level, (int, float)) and not isinstance(level, bool):
            made.append(Recode(column, width=float(level)))
        elif isinstance(level, Mapping):
            made.append(Recode(column, groups={str(a): str(b) for a, b in level.items()}))
        else:
            raise DataError(f"column {column!r}: a level is a width, a part of a date, groups, or 'all'")
    wrong = [fault for step in made for fault in _kind_fault(step, vector)]
    if wrong:
        raise DataError.from_faults("levels", list(dict.fromkeys(wrong)))
    return made


def _kind_fault(step: Recoding, vector: Vector) -> list[str]:
    kind, name = vector.column.kind, vector.column.name
    if isinstance(step, CoarsenDate) and kind is not Kind.DATETIME:
        return [f"column {name!r} is {kind}; parts of a date are for dates"]
    if (
        isinstance(step, Recode)
        and step.width is not None
        and (not vector.is_number or kind is Kind.DATETIME)
    ):
        return [f"column {name!r} is {kind}; widths are for numbers"]
    return (
        [f"column {name!r} is {kind}; groups are for categories"]
        if isinstance(step, Recode) and step.groups and vector.is_number
        else []
    )


def tree(groups: Mapping[str, Any], above: str = "Total") -> Hierarchy:
    """A hierarchy out of groups within groups.

    Examples
    --------
    >>> print(tree({"North": ["N1", "N2"], "South": {"S": ["S1"]}}))
    Total
      North
        N1
        N2
      South
        S
          S1
    """
    pairs: list[tuple[str, str]] = []

    def add(inside: Any, parent: str) -> None:
        for child in inside:
            pairs.append((str(child), parent))
            if isinstance(inside, Mapping) and inside[child]:
                add(inside[child] if not isinstance(inside[child], str) else [inside[child]], str(child))

    add(groups, above)
    return Hierarchy.from_pairs(pairs)


def _by_tree(vector: Vector, hierarchy: Hierarchy) -> list[Recoding]:
    """The levels of a hierarchy, finest first; a code that is not in it is an error that quotes none."""
    name = vector.column.name
    if vector.is_number:
        raise DataError(f"column {name!r} holds numbers; give widths, or make it categorical")
    texts = [str(level) for level in vector.levels]
    unknown = sum(text not in hierarchy.parents for text in texts)
    if unknown:
        raise DataError(f"column {name!r}: {unknown} of its {len(texts)} codes are not in the hierarchy")
    paths = {text: _path(text, hierarchy) for text in texts}
    depth = max((len(path) for path in paths.values()), default=1)
    steps: list[Recoding] = []
    for level in range(1, depth - 1):
        # a leaf that hangs higher than others stays itself until their level is reached
        groups = {text: path[max(0, level - (depth - len(path)))] for text, path in paths.items()}
        steps.append(Recode(name, groups=groups))
    return [*steps, Collapse(name)]


def _path(code: str, hierarchy: Hierarchy) -> list[str]:
    path = [code]
    while hierarchy.parents[path[-1]]:
        path.append(hierarchy.parents[path[-1]][0])
    return path


def _grouped(rung: Recoding, sample: Table) -> npt.NDArray[np.int32]:
    try:
        made = rung.see(sample)[rung.column].categories.codes
    except DaleniusError as error:
        raise DataError(f"column {rung.column!r}: {error}") from None
    return np.unique(made, return_inverse=True)[1].astype(np.int32)


def _within(fine: npt.NDArray[np.int32], coarse: npt.NDArray[np.int32]) -> bool:
    """Whether everything that is together at one level is together at the next."""
    pairs = np.unique(fine.astype(np.int64) * (int(coarse.max(initial=0)) + 1) + coarse)
    return len(pairs) == len(np.unique(fine))


def check_levels(levels: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Hierarchies of columns that are no keys."""
    odd = [name for name in levels if name not in keys]
    return [f"levels: {name!r} is not one of the keys" for name in odd]
