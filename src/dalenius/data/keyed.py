"""Random numbers that only the holder of the data can draw again.

Noise, swaps and the order of rows in a masked file come from a seed, and seeds are guessed: most people leave the
default. Whoever can draw the same numbers takes the noise off again and puts the rows back in their old order. So the
numbers of a masked file depend on the seed and on the confidential rows themselves.
"""

from __future__ import annotations

import hashlib

import numpy as np

from dalenius.core.random import Seed, sequence
from dalenius.data.table import Table


def keyed(seed: Seed, table: Table) -> np.random.SeedSequence:
    """A seed that is repeatable for whoever has the table, and of no use to anybody else.

    Examples
    --------
    >>> some, other = Table.from_frame({"pay": [1, 2, 3]}), Table.from_frame({"pay": [1, 2, 4]})
    >>> keyed(0, some).entropy == keyed(0, some).entropy, keyed(0, some).entropy == keyed(0, other).entropy
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=32)
    for name, vector in table.vectors.items():
        digest.update(repr((name, vector.column.kind.value, vector.levels)).encode())
        digest.update(np.ascontiguousarray(vector.data).data)
        digest.update(b"" if vector.state is None else np.ascontiguousarray(vector.state).data)
    words = np.frombuffer(digest.digest(), "<u8")
    return sequence(seed, "keyed", *words.tolist())
