"""`Coded`: the files of a pair by their values, and how much it weighs that two records share one.

A value that a share p of the people in the data has weighs -log p (agreement weights: Fellegi and Sunter 1969): equal
sex says little, equal income much. What records share is the sum over the columns in which they are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dalenius.counts.pair import Pair
from dalenius.counts.rounded import alike_codes
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, IntArray
from dalenius.risk.distance._kernels import part_copies as kernels
from dalenius.risk.distance.near_copies import numbers_rows


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """Original, protected file and holdout as codes, numbers alike but for their last digits.

    Examples
    --------
    >>> coded = Coded.of(Pair({"a": [1, 1, 1, 2], "b": list("xyxy")}, {"a": [2], "b": ["x"]}))
    >>> codes, weights = coded.asked(0, np.array([0, 3]))
    >>> np.exp(-weights).tolist()
    [[0.75, 0.5], [0.25, 0.5]]
    """

    files: Sequence[AnyArray]
    counts: Sequence[IntArray]
    units: Units
    held: dict[int, tuple[AnyArray, AnyArray]] = field(default_factory=dict)

    @classmethod
    def of(cls, pair: Pair) -> Coded:
        """The columns of a pair that say something about people; made once."""
        if "coded" not in pair.remembered:
            names = [name for name in pair.columns if not numbers_rows(pair, name)] or pair.columns
            each = [alike_codes(pair, name) for name in names]
            files = [
                np.ascontiguousarray(np.column_stack([codes[f].codes for codes in each]), np.int32)
                for f in range(len(each[0]))
            ]
            counts = [
                pair.units.owners(codes[0].codes.astype(np.int64), len(codes[0].labels)) for codes in each
            ]
            pair.remembered["coded"] = cls(files, counts, pair.units)
        found: Coded = pair.remembered["coded"]
        return found

    @property
    def offset(self) -> IntArray:
        """Where the values of each column begin among those of all."""
        return np.cumsum([0, *(len(values) for values in self.counts[:-1])])

    def asked(self, file: int, rows: IntArray) -> tuple[AnyArray, AnyArray]:
        """Some rows of a file and what their values weigh; a stranger's as if he were in the data."""
        codes, stranger = self.files[file][rows], int(file > 0)
        people = self.units.count + stranger
        shares = [(held[own] + stranger) / people for held, own in zip(self.counts, codes.T, strict=True)]
        return codes, -np.log(np.minimum(np.column_stack(shares), 1.0))

    def listed(self, file: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """A file, its rows by value, and where the rows of each value begin."""
        if file not in self.held:
            sizes = np.array([len(values) for values in self.counts])
            self.held[file] = kernels.lists(self.files[file], sizes)
        return (self.files[file], *self.held[file])
