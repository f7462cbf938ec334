"""Compiled counts: the seed of a cell, and the noisy number of rows of a node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dalenius.core.kernels import njit
from dalenius.synth.syndiffix._kernels.noise import (
    CELL,
    CELL_NOISE,
    OUTLIER,
    TOP,
    UNIT_NOISE,
    keyed,
    keyed_pair,
    normal,
    sip,
)
from dalenius.synth.syndiffix._kernels.trees import DEPTH, END, LEVELS, ROWS, START, UNITS

NO_COUNT = -1.0


class Frame(NamedTuple):
    """Where the dimensions of a tree lie on the absolute grid.

    ``level`` and ``offset`` place the root of the tree in the frame of its column; values fill the lower half of that
    frame, gaps the upper one. The value half starts at ``base`` times half its size, 2 ** ``exponent``.
    """

    names: npt.NDArray[np.uint64]
    level: npt.NDArray[np.int64]
    offset: npt.NDArray[np.int64]
    exponent: npt.NDArray[np.int64]
    base: npt.NDArray[np.int64]


class Flat(NamedTuple):
    """Bounds for how many of the largest contributors are flattened, and to how many next ones."""

    outlier_low: int
    outlier_high: int
    top_low: int
    top_high: int


@njit(cache=True, nogil=True, inline="always")
def _label(noise, frame, j, depth, cell, low, high):
    """Hash of one side of a cell: column, width and position, in absolute units; of the value itself if it is alone.

    The same cell has the same label in every tree, and (for numbers) in every table with the same column.
    """
    level = frame.level[j] + depth
    if low == high:
        whole = (
            (frame.base[j] << 60) + (low >> frame.level[j]) + (frame.offset[j] << (LEVELS - frame.level[j]))
        )
        power = frame.exponent[j] - (LEVELS - 1)
        while whole != 0 and whole & 1 == 0:
            whole >>= 1
            power += 1
        kind, position = (20000 + power if whole != 0 else 30000), whole
    else:
        index = (frame.offset[j] << depth) + cell
        if level == 0:
            kind, position = 9000, np.int64(0)
        elif index >> (level - 1) & 1:
            kind, position = 5000 + level, index
        else:
            power = frame.exponent[j] + 1 - level
            position = 2 * index + (frame.base[j] << (level - 1) if level - 1 < 62 else np.int64(0))
            kind = power
    return keyed_pair(
        noise, CELL, frame.names[j] + np.uint64(kind + 100000) * np.uint64(0x9E3779B97F4A7C15), position
    )


@njit(cache=True, nogil=True)
def cell_seeds(noise, frame, ints, wide):
    """Seed of every node's cell: labels of its sides combined, blind to the order of the columns."""
    d = len(frame.names)
    end = wide.shape[1] - 3 * d
    seeds = np.zeros(len(ints), np.uint64)
    for v in range(len(ints)):
        for j in range(d):
            low, high = wide[v, end + d + j], wide[v, end + 2 * d + j]
            seeds[v] ^= _label(noise, frame, j, ints[v, DEPTH], wide[v, end + j], low, high)
    return seeds


@njit(cache=True, nogil=True)
def count_single(noise, wide, seeds):
    """Noisy counts where every unit has one row: two layers of noise, at least 1."""
    noisy = np.empty(len(wide))
    for v in range(len(wide)):
        extra = 0.0
        if noise.layer > 0.0:
            extra = normal(noise, CELL_NOISE, seeds[v]) + normal(noise, UNIT_NOISE, wide[v, UNITS + 1])
        noisy[v] = max(1.0, np.rint(wide[v, ROWS] + noise.layer * extra))
    return noisy


@njit(cache=True, nogil=True)
def _compact(flat, units):
    """Shrink both intervals until the largest contributors asked for are there; False where they cannot be."""
    outlier, top = flat.outlier_high, flat.top_high
    if units < flat.outlier_low + flat.top_low:
        return False, outlier, top
    excess = max(outlier + top - units, 0)
    room_outlier, room_top = outlier - flat.outlier_low, top - flat.top_low
    take = min(excess // 2, room_outlier)
    rest = min(excess - take, room_top)
    take = excess - rest
    return True, outlier - take, top - rest


@njit(cache=True, nogil=True)
def flatten(noise, flat, contributions, hashes, missing, seed):
    """Row count of one unit column: (count, flattening, noise, noise spread), or NO_COUNT in front.

    The largest contributors are cut down to the average of the next ones; noise is proportional to what a typical
    unit contributes.
    """
    units = len(contributions)
    enough, outlier_high, top_high = _compact(flat, units)
    if not enough:
        return NO_COUNT, 0.0, 0.0, 0.0
    wanted = outlier_high + top_high
    largest = np.empty(wanted, np.int64)
    count = 0
    total, everyone = 0, np.int64(0)
    for u in range(units):
        total += contributions[u]
        everyone ^= hashes[u]
        i = count
        while i > 0 and (
            contributions[u] > contributions[largest[i - 1]]
            or (
                contributions[u] == contributions[largest[i - 1]]
                and np.uint64(hashes[u]) > np.uint64(hashes[largest[i - 1]])
            )
        ):
            i -= 1
        if i < wanted:
            for k in range(min(count, wanted - 1), i, -1):
                largest[k] = largest[k - 1]
            largest[i] = u
            count = min(count + 1, wanted)
    group = np.int64(0)
    for i in range(wanted):
        group ^= hashes[largest[i]]
    outliers = flat.outlier_low + int(
        keyed(noise, OUTLIER, group) % np.uint64(outlier_high - flat.outlier_low + 1)
    )
    tops = flat.top_low + int(keyed(noise, TOP, group) % np.uint64(top_high - flat.top_low + 1))
    typical = 0.0
    for i in range(outliers, outliers + tops):
        typical += contributions[largest[i]]
    typical /= tops
    cut = 0.0
    for i in range(outliers):
        cut += max(contributions[largest[i]] - typical, 0.0)
    spread = noise.layer * max((total - cut) / units, typical / 2)
    extra = 0.0
    if spread > 0.0:
        extra = spread * (normal(noise, CELL_NOISE, seed) + normal(noise, UNIT_NOISE, everyone))
    return total - cut + max(missing - cut, 0.0), cut, extra, spread


@njit(cache=True, nogil=True)
def count_units(noise, flat, ints, perm, rows, units, unit_hashes, seeds):
    """Noisy counts where a unit may have many rows, for one or several unit columns."""
    noisy = np.empty(len(ints))
    columns, largest = unit_hashes.shape
    sums = np.zeros(largest, np.int64)
    touched = np.empty(largest, np.int64)
    for v in range(len(ints)):
        count, cut, extra, spread = 0.0, -1.0, 0.0, -1.0
        for k in range(columns):
            seen, missing = 0, 0
            for i in range(ints[v, START], ints[v, END]):
                r = perm[i]
                unit = units[k, r]
                if unit < 0:
                    missing += rows[r]
                    continue
                if sums[unit] == 0:
                    touched[seen] = unit
                    seen += 1
                sums[unit] += rows[r]
            shares, hashes = np.empty(seen, np.int64), np.empty(seen, np.int64)
            for i in range(seen):
                shares[i], hashes[i] = sums[touched[i]], unit_hashes[k, touched[i]]
                sums[touched[i]] = 0
            one, one_cut, one_extra, one_spread = flatten(noise, flat, shares, hashes, missing, seeds[v])
            if one == NO_COUNT:
                count, extra = 0.0, 0.0
                break
            if one_cut > cut or (one_cut == cut and one > count):
                count, cut = one, one_cut
            if one_spread > spread or (one_spread == spread and abs(one_extra) > abs(extra)):
                extra, spread = one_extra, one_spread
        noisy[v] = max(1.0, np.rint(count + extra))
    return noisy


@njit(cache=True, nogil=True)
def hash_numbers(key, first, count):
    """Keyed hashes of ``count`` numbers from ``first`` on."""
    hashes = np.empty(count, np.int64)
    for i in range(count):
        hashes[i] = np.int64(sip(key[0], key[1], np.uint64(first + i), np.uint64(0), 1))
    return hashes
