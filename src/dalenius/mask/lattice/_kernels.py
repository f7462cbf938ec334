"""Kernels of the lattice search: rows into groups, by hashing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True, nogil=True)
def add_codes(codes: Any, places: Any, keys: Any) -> None:
    """Add what each code of a column counts for to the rows' keys."""
    for i in range(len(codes)):
        keys[i] += places[codes[i]]


@njit(cache=True, nogil=True)
def hash_groups(keys: Any, weights: Any, table: Any, owner: Any, ids: Any, sizes: Any) -> int:
    """Number the groups of equal keys in the order they appear, and add up their weights; returns how many there are.

    ``table`` has a power of two of places, -1 where nobody is; ``owner`` is the first row of a group.
    """
    mask = np.uint64(len(table) - 1)
    groups = 0
    for i in range(len(keys)):
        key = keys[i]
        at = ((key * np.uint64(11400714819323198485)) >> np.uint64(20)) & mask
        while True:
            group = table[at]
            if group < 0:
                table[at] = groups
                owner[groups] = i
                ids[i] = groups
                sizes[groups] = weights[i]
                groups += 1
                break
            if keys[owner[group]] == key:
                ids[i] = group
                sizes[group] += weights[i]
                break
            at = (at + np.uint64(1)) & mask
    return groups
