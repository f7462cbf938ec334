"""Polya's urn, draw by draw."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True, nogil=True)
def polya(start, chance, gain):
    """Urn draws with a Fenwick tree, so that a draw costs log n."""
    n = len(start)
    tree = np.zeros(n + 1)
    for i in range(n):
        j = i + 1
        while j <= n:
            tree[j] += start[i]
            j += j & -j
    counts = np.ones(n)
    total = start.sum()
    top = 1
    while 2 * top <= n:
        top *= 2
    for k in range(len(chance)):
        wanted = chance[k] * total
        place = 0
        step = top
        while step > 0:
            if place + step <= n and tree[place + step] < wanted:
                place += step
                wanted -= tree[place]
            step //= 2
        place = min(place, n - 1)
        counts[place] += 1.0
        total += gain
        j = place + 1
        while j <= n:
            tree[j] += gain
            j += j & -j
    return counts
