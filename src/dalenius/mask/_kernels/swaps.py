"""Loops of swapping: partners in a window of ranks, and partners among households."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.kernels import njit

TRIES = 20


@njit(cache=True, nogil=True)
def rank_partners(rows: int, window: int, draws: Any) -> Any:
    """A partner for each rank, at most ``window`` away; the last one may stay alone."""
    partner, at = np.full(rows, -1), 0
    for i in range(rows):
        if partner[i] >= 0:
            continue
        wide = min(window, rows - 1 - i)
        found = -1
        for _ in range(TRIES):
            if wide == 0:
                break
            j = i + 1 + int(draws[at % draws.shape[0]] * wide)
            at += 1
            if partner[j] < 0:
                found = j
                break
        if found < 0:  # nearly all are taken: the farthest that is free
            for j in range(i + wide, i, -1):
                if partner[j] < 0:
                    found = j
                    break
        if found >= 0:
            partner[i], partner[found] = found, i
        else:
            partner[i] = i
    return partner


@njit(cache=True, nogil=True)
def pair_up(wanted: Any, pool: Any, begins: Any, members: Any, areas: Any, partner: Any) -> int:
    """Give each wanted household a free one of its pool that lives elsewhere; gives how many found one."""
    heads, found = begins[:-1].copy(), 0
    for t in range(wanted.shape[0]):
        one = wanted[t]
        if partner[one] >= 0:
            continue
        group = pool[one]
        while heads[group] < begins[group + 1] and partner[members[heads[group]]] >= 0:
            heads[group] += 1
        for at in range(heads[group], begins[group + 1]):
            two = members[at]
            if partner[two] < 0 and areas[two] != areas[one]:
                partner[one], partner[two] = two, one
                found += 1
                break
    return found
