"""Reading the columns of a table definition; everything that is wrong is collected, no value of the data is quoted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, TableError
from dalenius.data import Table
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL, Vector
from dalenius.tables.dimensions import Coded
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.model import Floats, Ints

LARGEST = 2.0**53
"""Whole numbers from here on are no longer exact."""


class Reader:
    """Reads columns and collects what is wrong with them; messages never quote a value of the data."""

    def __init__(self, table: Table, total: str, missing: str | None = None) -> None:
        self.table, self.total, self.missing = table, total, missing
        self.faults: list[str] = []

    def need(self, columns: Sequence[str]) -> None:
        """Note missing columns; data without rows are refused at once."""
        missing = [name for name in dict.fromkeys(columns) if name not in self.table]
        self.faults += [f"no column {name!r}" for name in missing]
        if self.table.rows == 0:
            raise DataError("the data have no rows")

    def codes(self, name: str, tree: Hierarchy | None, dimension: bool = True) -> Coded:
        """The codes of a column, checked against its hierarchy."""
        vector = self.table[name]
        gaps = int((~vector.present).sum())
        if gaps and self.missing is None:
            self.faults.append(
                f"column {name!r}: {gaps} rows have no code; drop them, or give them one (missing=, or --missing)"
            )
        groups = vector.categories
        texts = [_text(label) for label in groups.labels]
        if gaps and self.missing is not None:
            gap = [label in (MISSING_LABEL, NAN_LABEL) for label in groups.labels]
            if self.missing in (text for text, empty in zip(texts, gap, strict=True) if not empty):
                self.faults.append(
                    f"column {name!r}: {self.missing!r} is also a code of the data; choose another"
                )
            texts = [self.missing if empty else text for text, empty in zip(texts, gap, strict=True)]
        doubled = len(set(texts)) - len({text.strip() for text in texts})
        if doubled and (tree is None or not dimension):
            self.faults.append(
                f"column {name!r}: {doubled} codes differ from others only by white space around them, so that one "
                "would count as two; take it off"
            )
        labels, place = np.unique(np.array(texts, dtype=object).astype(str), return_inverse=True)
        codes = place[np.asarray(groups.codes, np.int64)].astype(np.int64)
        if dimension:
            self._check(name, labels, codes, tree)
        used = np.unique(codes)
        kept = tuple(str(labels[i]) for i in used)
        return Coded(np.searchsorted(used, codes).astype(np.int64), kept)

    def _check(self, name: str, labels: npt.NDArray[Any], codes: Ints, tree: Hierarchy | None) -> None:
        if tree is None:
            if self.total in set(labels[np.unique(codes)].tolist()):
                self.faults.append(f"column {name!r}: the total's code {self.total!r} is also a code of the data; "
                                   "drop the rows of totals, or choose another with total=")  # fmt: skip
            return
        known = set(tree.leaves)
        bad = np.array([label not in known for label in labels.tolist()], np.bool_)[codes]
        if bad.any():
            upper = np.array(
                [label in tree.parents and label not in known for label in labels.tolist()], np.bool_
            )[codes]
            rows = ", ".join(str(i + 1) for i in np.flatnonzero(bad)[:3])
            what = "groups of the hierarchy, not leaves" if upper.any() else "not in the hierarchy"
            self.faults.append(f"column {name!r}: {int(bad.sum())} rows hold {len(np.unique(codes[bad]))} codes "
                               f"that are {what} (first at rows {rows})")  # fmt: skip

    def counts(self, name: str | None) -> Ints:
        """Frequencies: whole numbers of 0 or more; 1 for every row without a column."""
        if name is None:
            return np.ones(self.table.rows, np.int64)
        numbers = self.numbers(name)
        if (numbers < 0).any():
            self.faults.append(f"column {name!r}: {int((numbers < 0).sum())} frequencies are negative")
        if not np.array_equal(numbers, np.rint(numbers)):
            self.faults.append(f"column {name!r}: {int((numbers != np.rint(numbers)).sum())} frequencies are not whole "
                               "numbers; a weighted count is a value=, with the unweighted count as freq=")  # fmt: skip
        if numbers.sum() >= LARGEST:
            self.faults.append(
                f"column {name!r}: the frequencies add up to 2⁵³ or more, too much to be counted exactly"
            )
            return np.zeros(len(numbers), np.int64)
        return np.rint(numbers).astype(np.int64)

    def need_finite(self, name: str, amounts: Floats | None, weights: Floats | None) -> None:
        """Note values whose sums a float cannot hold."""
        with np.errstate(over="ignore"):
            largest = (
                0.0 if amounts is None else np.abs(amounts * (1.0 if weights is None else weights)).sum()
            )
        if not np.isfinite(largest):
            self.faults.append(f"column {name!r}: the values are too large to be added up; use a larger unit")

    def numbers(self, name: str, positive: bool = False) -> Floats:
        """Numbers without gaps."""
        numbers = _as_numbers(self.table[name])
        if numbers is None:
            self.faults.append(f"column {name!r}: does not hold numbers")
            return np.zeros(self.table.rows)
        gaps = ~np.isfinite(numbers)
        if gaps.any():
            self.faults.append(
                f"column {name!r}: {int(gaps.sum())} rows have no number; drop them or set them to 0"
            )
        numbers = np.where(gaps, 0.0, numbers)
        if positive and (numbers <= 0).any() and not gaps.any():
            self.faults.append(f"column {name!r}: {int((numbers <= 0).sum())} weights are not positive")
        return numbers

    def requests(self, name: str) -> Ints:
        """Who asked for protection: 1 or 2; 0, "no", false or nothing for the others."""
        groups = self.table[name].categories
        kinds = {"1": 1, "true": 1, "yes": 1, "y": 1, "2": 2, "0": 0, "false": 0, "no": 0, "n": 0, "": 0}
        present = self.table[name].present
        known = [kinds.get(_text(label).strip().lower(), -1) for label in groups.labels]
        asked = np.where(present, np.array([*known, 0], np.int64)[np.asarray(groups.codes, np.int64)], 0)
        odd = int((asked < 0).sum())
        if odd:
            self.faults.append(f"column {name!r}: {odd} rows are neither 0 (no request), 1 nor 2")
        return np.maximum(asked, 0)

    def raise_faults(self) -> None:
        """One error with everything found."""
        if self.faults:
            raise TableError("data", self.faults)


def _as_numbers(vector: Vector) -> Floats | None:
    """Numbers of a column, also of one whose few numbers were taken for categories or special codes."""
    if vector.is_number and not vector.column.special:
        return vector.floats()
    groups = vector.categories
    numeric = [isinstance(label, int | float) for label in groups.labels]
    if not any(numeric) or any(isinstance(label, str) for label in groups.labels):
        return None
    levels = np.array(
        [float(label) if ok else np.nan for label, ok in zip(groups.labels, numeric, strict=True)]
    )
    return np.asarray(levels[np.asarray(groups.codes, np.int64)])


def _text(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
