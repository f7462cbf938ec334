"""Whose each record is, by how much likelier its values are of him than of anybody."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit


@njit(cache=True, parallel=True)
def attributed(
    tables: Any, begins: Any, sizes: Any, people: Any, records: Any, odds: float, most: int
) -> Any:
    """The likeliest people of each record and how likely they are, where nobody of them is an answer too.

    Parameters
    ----------
    tables
        Of each column, how much likelier (log) each value of a record is of each value of its person.
    people
        Codes by column and person.
    odds
        Of a record being of one of the people rather than of nobody, for each of them.
    most
        People told of each record.
    """
    columns, n, m = len(sizes), people.shape[1], len(records)
    who, sure = np.full((m, most), -1, np.int64), np.zeros((m, most))
    for place in prange(m):
        record = np.int64(place)
        score = np.zeros(n, np.float32)
        for j in range(columns):
            start = begins[j] + records[record, j] * sizes[j]
            for i in range(n):
                score[i] += tables[start + people[j, i]]
        highest = score.max()
        total = np.exp(-highest) / odds
        for i in range(n):
            total += np.exp(score[i] - highest)
        least = score.dtype.type(-np.inf)
        for i in range(n):
            if score[i] <= least:
                continue
            at = most - 1
            while at > 0 and (who[record, at - 1] < 0 or score[who[record, at - 1]] < score[i]):
                who[record, at] = who[record, at - 1]
                at -= 1
            who[record, at] = i
            if who[record, most - 1] >= 0:
                least = score[who[record, most - 1]]
        for at in range(most):
            if who[record, at] >= 0:
                sure[record, at] = np.exp(score[who[record, at]] - highest) / total
    return who, sure
