"""Join drawn clusters into one table of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.synth.syndiffix._kernels.stitching import stitch
from dalenius.synth.syndiffix.axis import Codes
from dalenius.synth.syndiffix.microdata import Tags

ROOF = 1 << 62


@dataclass(frozen=True, eq=False, repr=False)
class Drawn:
    """Drawn codes and tags of some columns."""

    codes: dict[int, Codes]
    tags: dict[int, Tags]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.codes.values())))

    def take(self, rows: Codes) -> Drawn:
        """Some rows, by position."""
        return Drawn({k: v[rows] for k, v in self.codes.items()}, {k: v[rows] for k, v in self.tags.items()})


def patch(left: Drawn, right: Drawn, rng: np.random.Generator) -> Drawn:
    """Put independent columns beside each other: right rows shuffled, surplus dropped, gaps filled by repeats.

    Examples
    --------
    >>> a = Drawn({0: np.arange(4)}, {0: np.zeros(4, int)})
    >>> b = Drawn({1: np.arange(2)}, {1: np.zeros(2, int)})
    >>> patch(a, b, np.random.default_rng(0)).rows
    4
    """
    rows = rng.permutation(right.rows)
    if len(rows) < left.rows:
        rows = np.concatenate([rows, rng.integers(0, right.rows, left.rows - len(rows))])
    other = right.take(rows[: left.rows])
    return Drawn({**left.codes, **other.codes}, {**left.tags, **other.tags})


def join(left: Drawn, right: Drawn, common: Sequence[int], shared: bool, rng: np.random.Generator) -> Drawn:
    """Stitch two tables on their common columns, given in the order of bisection.

    Values of the common columns come alternately from both (``shared``) or from the left table alone.

    Examples
    --------
    >>> one = Drawn({0: np.arange(10) << 40}, {0: np.zeros(10, int)})
    >>> two = Drawn({0: np.arange(10) << 40, 1: np.arange(10)}, {0: np.zeros(10, int), 1: np.zeros(10, int)})
    >>> joined = join(one, two, [0], True, np.random.default_rng(0))
    >>> bool(np.all(joined.codes[0] >> 40 == joined.codes[1]))
    True
    """
    if not common:
        return patch(left, right, rng)
    sides = [np.stack([side.codes[i] for i in common]) for side in (left, right)]
    pairs = np.empty((max(left.rows, right.rows) + 1, 2), np.int64)
    seed = rng.integers(0, 2**63, dtype=np.uint64)
    made = int(stitch(sides[0], sides[1], ROOF, shared, seed, pairs))
    from_left, from_right = left.take(pairs[:made, 0]), right.take(pairs[:made, 1])
    codes, tags = {**from_right.codes, **from_left.codes}, {**from_right.tags, **from_left.tags}
    if shared:
        odd = np.arange(made) % 2 == 1
        for i in common:
            codes[i] = np.where(odd, from_right.codes[i], from_left.codes[i])
            tags[i] = np.where(odd, from_right.tags[i], from_left.tags[i])
    return Drawn(codes, tags)
