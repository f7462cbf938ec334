"""Sparse integer elimination, compiled.

All columns live in one arena (``rows``, ``vals``) and are sorted by row. Column ``c`` occupies ``start[c]`` …
``start[c] + length[c]``. A linked list per row names the columns that have, or once had, an entry there; readers
check. Values stay below ``LIMIT`` so that they fit in 32 bits and no product leaves 64; the caller goes on with
Python integers when they do not.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit

LIMIT = 2**30
MOST = END = 2**31 - 1


@njit(cache=True)
def gcd(a, b):
    """Greatest common divisor, never negative."""
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@njit(cache=True)
def locate(rows, begin, size, row):
    """Position of ``row`` in a column, or -1."""
    low, high = begin, begin + size
    while low < high:
        mid = (low + high) >> 1
        if rows[mid] < row:
            low = mid + 1
        else:
            high = mid
    return low if low < begin + size and rows[low] == row else -1


@njit(cache=True)
def link(start, length, rows, count, capacity):
    """Build the lists of columns per row from scratch."""
    head = np.full(count, -1, np.int32)
    after = np.empty(capacity, np.int32)
    member = np.empty(capacity, np.int32)
    degree = np.zeros(count, np.int64)
    used = 0
    for c in range(len(start)):
        for p in range(start[c], start[c] + length[c]):
            r = rows[p]
            after[used] = head[r]
            member[used] = c
            head[r] = used
            degree[r] += 1
            used += 1
    return head, after, member, degree, used


@njit(cache=True)
def rarest(rows, begin, size, free, degree):
    """Offset of the free row shared with the fewest columns; the first row when the column has no free row."""
    best, least = 0, np.int64(1) << 60
    for k in range(size):
        r = rows[begin + k]
        if r >= free:
            break
        if degree[r] < least:
            best, least = k, degree[r]
    return best


@njit(cache=True)
def touching(row, skip, head, after, member, start, length, rows, seen, stamp, out):
    """Columns other than ``skip`` with an entry in ``row``; also the sum of their lengths."""
    count, total = 0, 0
    p = head[row]
    while p >= 0:
        c = member[p]
        if c != skip and seen[c] != stamp and length[c] > 0 and locate(rows, start[c], length[c], row) >= 0:
            seen[c] = stamp
            out[count] = c
            count += 1
            total += length[c]
        p = after[p]
    return count, total


@njit(cache=True)
def proportional(begin, size, offset, near, count, first, start, length, rows, vals):
    """The first protected column that is a multiple of the given one, or -1."""
    row, a = rows[begin + offset], np.int64(vals[begin + offset])
    found = -1
    for t in range(count):
        c = near[t]
        if c < first or length[c] != size or (found >= 0 and c > found):
            continue
        other = start[c]
        if rows[other + offset] != row:
            continue
        b = np.int64(vals[other + offset])
        same = True
        for k in range(size):
            if rows[begin + k] != rows[other + k] or vals[begin + k] * b != vals[other + k] * a:
                same = False
                break
        if same:
            found = c
    return found


@njit(cache=True)
def subtract(begin, size, c, row, start, length, rows, vals, end):
    """Write column ``c`` minus the multiple of the pivot that clears ``row`` at ``end``; its length, or -1."""
    a = np.int64(vals[locate(rows, begin, size, row)])
    sc, lc = start[c], length[c]
    b = np.int64(vals[locate(rows, sc, lc, row)])
    g = gcd(a, b)
    fa, fb = a // g, b // g
    if fa < 0:
        fa, fb = -fa, -fb
    i, k, e, divisor, largest = begin, sc, end, np.int64(0), np.int64(0)
    while i < begin + size or k < sc + lc:
        ri = rows[i] if i < begin + size else END
        rk = rows[k] if k < sc + lc else END
        v = np.int64(0)
        if rk <= ri:
            v += fa * vals[k]
            k += 1
        if ri <= rk:
            v -= fb * vals[i]
            i += 1
        if v != 0:
            largest = max(largest, abs(v))
            if largest > MOST:
                return -1
            rows[e] = min(ri, rk)
            vals[e] = v
            e += 1
            if divisor != 1:
                divisor = gcd(divisor, v)
    if divisor > 1:
        largest //= divisor
        for p in range(end, e):
            vals[p] //= divisor
    return -1 if largest > LIMIT else e - end


@njit(cache=True)
def relink(c, old, old_size, new, new_size, rows, head, after, member, degree, used):
    """Tell the row lists and degrees how column ``c`` changed from one stretch of the arena to another."""
    i, k = old, new
    while i < old + old_size or k < new + new_size:
        ri = rows[i] if i < old + old_size else END
        rk = rows[k] if k < new + new_size else END
        if ri < rk:
            degree[ri] -= 1
        elif rk < ri:
            degree[rk] += 1
            after[used] = head[rk]
            member[used] = c
            head[rk] = used
            used += 1
        i += ri <= rk
        k += rk <= ri
    return used


@njit(cache=True)
def eliminate(begin, size, row, near, count, first, prefix, start, length, rows, vals, end, head, after, member,
              degree, used):  # fmt: skip
    """Clear ``row`` in the near columns; protected ones see only the first ``prefix`` entries of the pivot.

    Returns the new end of the arena, the new end of the lists, and -1 or the place where values grew too large.
    """
    for t in range(count):
        c = near[t]
        visible = prefix if c >= first else size
        fresh = subtract(begin, visible, c, row, start, length, rows, vals, end)
        if fresh < 0:
            return end, used, t
        sc, lc = start[c], length[c]
        used = relink(c, sc, lc, end, fresh, rows, head, after, member, degree, used)
        if fresh <= lc:
            for p in range(fresh):
                rows[sc + p] = rows[end + p]
                vals[sc + p] = vals[end + p]
        else:
            start[c] = end
            end += fresh
        length[c] = fresh
    return end, used, -1


@njit(cache=True)
def clear(c, start, length, rows, degree):
    """Empty a column."""
    for p in range(start[c], start[c] + length[c]):
        degree[rows[p]] -= 1
    length[c] = 0


@njit(cache=True)
def compact(start, length, rows, vals, new_rows, new_vals):
    """Copy the living columns into a fresh arena; returns its end."""
    end = 0
    for c in range(len(start)):
        s = start[c]
        for p in range(length[c]):
            new_rows[end + p] = rows[s + p]
            new_vals[end + p] = vals[s + p]
        start[c] = end
        end += length[c]
    return end


@njit(cache=True)
def remaining_owner(begin, size, c, row, start, length, rows, vals, owner):
    """Whose rows are left in ``c`` after its ``row`` is cleared: an owner, 0 several or nobody, -1 no row."""
    a = np.int64(vals[locate(rows, begin, size, row)])
    sc, lc = start[c], length[c]
    b = np.int64(vals[locate(rows, sc, lc, row)])
    i, k, who = begin, sc, -1
    while i < begin + size or k < sc + lc:
        ri = rows[i] if i < begin + size else END
        rk = rows[k] if k < sc + lc else END
        v = np.int64(0)
        if rk <= ri:
            v += a * vals[k]
            k += 1
        if ri <= rk:
            v -= b * vals[i]
            i += 1
        if v != 0:
            here = owner[min(ri, rk)]
            if here == 0 or (who >= 0 and here != who):
                return 0
            who = here
    return who


@njit(cache=True)
def revealed(begin, size, row, near, count, start, length, rows, vals, owner, guarded, holder):
    """The first guarded column that publishing the pivot would leave with rows of one other owner only, or -1."""
    for t in range(count):
        c = near[t]
        if guarded[c]:
            who = remaining_owner(begin, size, c, row, start, length, rows, vals, owner)
            if who > 0 and who != holder[c]:
                return c
    return -1


@njit(cache=True)
def inside(among, near, count, first, start, length, rows):
    """The first protected column whose rows all lie among the given (sorted) ones, or -1."""
    for t in range(count):
        c = near[t]
        if c < first or length[c] > len(among):
            continue
        within = True
        for p in range(start[c], start[c] + length[c]):
            if locate(among, 0, len(among), rows[p]) < 0:
                within = False
                break
        if within:
            return c
    return -1


@njit(cache=True)
def remove_rows(gone, near, count, start, length, rows, vals, degree):
    """Delete the marked rows from the near columns."""
    for t in range(count):
        c = near[t]
        s, kept = start[c], 0
        for p in range(length[c]):
            r = rows[s + p]
            if gone[r]:
                degree[r] -= 1
            else:
                rows[s + kept] = r
                vals[s + kept] = vals[s + p]
                kept += 1
        length[c] = kept
