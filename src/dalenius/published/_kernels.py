"""Loops over published sums and over records (Numba)."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True)
def propagate(row_start, row_cells, cell_start, cell_rows, low, high, cells, limit):
    """Bounds of cells by single sums until nothing changes; the first sum that cannot be met, or -1."""
    lo = np.zeros(cells, np.int64)
    hi = np.full(cells, limit, np.int64)
    rows = len(low)
    waiting = np.arange(rows)
    queued = np.ones(rows, np.bool_)
    head, size = 0, rows
    while size > 0:
        r = waiting[head]
        head = (head + 1) % rows
        size -= 1
        queued[r] = False
        least, most = 0, 0
        for k in range(row_start[r], row_start[r + 1]):
            least += lo[row_cells[k]]
            most += hi[row_cells[k]]
        if least > high[r] or most < low[r]:
            return lo, hi, r
        for k in range(row_start[r], row_start[r + 1]):
            c = row_cells[k]
            bottom = max(lo[c], low[r] - (most - hi[c]))
            top = min(hi[c], high[r] - (least - lo[c]))
            if bottom > lo[c] or top < hi[c]:
                least += bottom - lo[c]
                most += top - hi[c]
                lo[c], hi[c] = bottom, top
                for j in range(cell_start[c], cell_start[c + 1]):
                    other = cell_rows[j]
                    if other != r and not queued[other]:
                        queued[other] = True
                        waiting[(head + size) % rows] = other
                        size += 1
    return lo, hi, -1


@njit(cache=True)
def walk_cells(codes, cell_of, radix, maps, most, proposals, rng, counts, low, high):
    """Move people between the corners of boxes wherever every table stays as it is; widen the bounds of cells seen.

    A box is two cells and a division of the columns they differ in into blocks. Its corners take each block from one of
    the two; people move from the corners with an even number of blocks of the second cell to those with an odd number.
    A table stays as it is if it cannot tell the two cells apart in at least one block. With two blocks that is a swap
    between two records. ``maps[t, a]`` gives the category of every value of column a in table t, ``cell_of`` finds a
    possible cell by the number of its codes.
    """
    size, columns = codes.shape
    block, shift = np.zeros(columns, np.int64), np.zeros(most, np.int64)
    corner = np.zeros(1 << most, np.int64)
    moved = 0
    for _ in range(proposals):
        first, second = rng.integers(0, size), rng.integers(0, size)
        if counts[first] == 0:
            continue
        blocks = rng.integers(2, most + 1)
        draw = rng.integers(0, 1 << 60)
        at = _divided(codes[first], codes[second], radix, blocks, draw, block, shift)
        if at < 0 or not _corners(at, shift, blocks, cell_of, counts, corner):
            continue
        if not _unseen(codes[first], codes[second], maps, block, blocks):
            continue
        moved += 1
        for mask in range(1 << blocks):
            c = corner[mask]
            counts[c] += 1 if _odd(mask) else -1
            low[c] = min(low[c], counts[c])
            high[c] = max(high[c], counts[c])
    return moved


@njit(cache=True)
def _divided(first, second, radix, blocks, draw, block, shift):
    """Put every column in which two cells differ into a block; the number of the first cell, -1 if a block is empty."""
    shift[:blocks] = 0
    number, used = 0, 0
    for a in range(len(first)):
        number += first[a] * radix[a]
        block[a] = -1
        if first[a] != second[a]:
            block[a] = draw % blocks
            draw //= blocks
            shift[block[a]] += (second[a] - first[a]) * radix[a]
            used |= 1 << block[a]
    return number if used == (1 << blocks) - 1 else -1


@njit(cache=True)
def _corners(number, shift, blocks, cell_of, counts, corner):
    """Find the corners of a box; whether all are possible and somebody is in each who can leave."""
    for mask in range(1 << blocks):
        key = number
        for b in range(blocks):
            if (mask >> b) & 1:
                key += shift[b]
        c = cell_of[key]
        if c < 0 or (counts[c] == 0 and not _odd(mask)):
            return False
        corner[mask] = c
    return True


@njit(cache=True)
def _unseen(first, second, maps, block, blocks):
    """Whether every table misses the difference in at least one block."""
    every = (1 << blocks) - 1
    for t in range(maps.shape[0]):
        told = 0
        for a in range(len(first)):
            if block[a] >= 0 and maps[t, a, first[a]] != maps[t, a, second[a]]:
                told |= 1 << block[a]
        if told == every:
            return False
    return True


@njit(cache=True)
def _odd(mask):
    odd = False
    while mask:
        odd = not odd
        mask &= mask - 1
    return odd


@njit(cache=True)
def walk_moves(start, cells, change, proposals, rng, least, most, counts, low, high):
    """Make known moves, forwards or back, wherever no cell leaves its bounds; widen the bounds of the cells seen."""
    moved = 0
    for _ in range(proposals):
        i = rng.integers(0, len(start) - 1)
        sign = 1 - 2 * rng.integers(0, 2)
        fits = True
        for k in range(start[i], start[i + 1]):
            after = counts[cells[k]] + sign * change[k]
            if after < least[cells[k]] or after > most[cells[k]]:
                fits = False
                break
        if not fits:
            continue
        moved += 1
        for k in range(start[i], start[i + 1]):
            c = cells[k]
            counts[c] += sign * change[k]
            low[c] = min(low[c], counts[c])
            high[c] = max(high[c], counts[c])
    return moved
