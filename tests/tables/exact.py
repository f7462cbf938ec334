"""Independent checks in plain Python: exact rank and enumeration, nothing shared with the library."""

from __future__ import annotations

from itertools import product

import numpy as np

PRIME = 2**31 - 1


class Span:
    """Span of integer vectors in echelon form, modulo a prime.

    A sum of cells that holds over the rationals holds here; one that holds here alone would need a minor of these
    matrices of zeros and ones that the prime divides.
    """

    def __init__(self, vectors=()):
        self.rows = {}
        for vector in vectors:
            self.add(vector)

    def reduce(self, vector):
        rest = np.asarray(vector, np.int64) % PRIME
        for lead in sorted(self.rows):
            if rest[lead]:
                rest = (rest - rest[lead] * self.rows[lead]) % PRIME
        return rest

    def add(self, vector):
        rest = self.reduce(vector)
        leads = np.flatnonzero(rest)
        if len(leads):
            self.rows[int(leads[0])] = rest * pow(int(rest[leads[0]]), -1, PRIME) % PRIME

    def __contains__(self, vector):
        return not self.reduce(vector).any()


def computable(matrix, known, targets, extra_rows=()):
    """Which target columns lie in the span of the known columns and the given inner cells."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    span = Span(dense[:, j] for j in range(dense.shape[1]) if known[j])
    for row in extra_rows:
        span.add([int(i == row) for i in range(dense.shape[0])])
    return [j for j in targets if dense[:, j] in span]


def brute_force(matrix, inner, known, targets):
    """Bounds of the targets over all non-negative whole inner cells that fit the known cells."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    sums = dense.T @ inner
    columns = [j for j in range(dense.shape[1]) if known[j]]
    ceiling = [min((int(sums[j]) for j in columns if dense[i, j]), default=None) for i in range(len(inner))]
    assert None not in ceiling, "every inner cell must be below a known total"
    low, high = {}, {}
    for point in product(*(range(c + 1) for c in ceiling)):
        if all(sum(dense[i, j] * v for i, v in enumerate(point) if dense[i, j]) == sums[j] for j in columns):
            for j in targets:
                value = sum(dense[i, j] * v for i, v in enumerate(point))
                low[j], high[j] = min(low.get(j, value), value), max(high.get(j, value), value)
    return low, high
