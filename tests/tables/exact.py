"""Independent checks in plain Python: rational rank and enumeration, nothing shared with the library."""

from __future__ import annotations

from fractions import Fraction
from itertools import product


class Span:
    """Rational span of integer vectors, kept in echelon form."""

    def __init__(self, vectors=()):
        self.rows = {}
        for vector in vectors:
            self.add(vector)

    def reduce(self, vector):
        rest = [Fraction(int(v)) for v in vector]
        for lead in sorted(self.rows):
            if rest[lead]:
                factor = rest[lead]
                rest = [a - factor * b for a, b in zip(rest, self.rows[lead], strict=True)]
        return rest

    def add(self, vector):
        rest = self.reduce(vector)
        lead = next((i for i, v in enumerate(rest) if v), None)
        if lead is not None:
            self.rows[lead] = [v / rest[lead] for v in rest]

    def __contains__(self, vector):
        return not any(self.reduce(vector))


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
