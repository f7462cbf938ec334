"""Sparse integer elimination, compiled.

All columns live in one arena (``rows``, ``vals``) and are sorted by row. Column ``c`` occupies ``start[c]`` …
``start[c] + length[c]`` and may grow up to ``room[c]`` entries where it stands. A linked list per row names the columns
that have, or once had, an entry there; readers check. Rows from ``len(head)`` on have no list: they are seldom asked
for, and hold most of the entries. Values stay below ``LIMIT`` so that they fit in 32 bits and no product leaves 64; the
caller goes on with Python integers when they do not.
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
def link(start, length, rows, head, after, member, degree):
    """Build the lists of columns per row from scratch; returns their end."""
    head[:] = -1
    degree[:] = 0
    used = 0
    for c in range(len(start)):
        for p in range(start[c], start[c] + length[c]):
            r = rows[p]
            if r >= len(head):
                break
            after[used] = head[r]
            member[used] = c
            head[r] = used
            degree[r] += 1
            used += 1
    return used


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
    """Columns other than ``skip`` with an entry in ``row``; returns their number."""
    count = 0
    p = head[row]
    while p >= 0:
        c = member[p]
        if c != skip and seen[c] != stamp and length[c] > 0 and locate(rows, start[c], length[c], row) >= 0:
            seen[c] = stamp
            out[count] = c
            count += 1
        p = after[p]
    return count


@njit(cache=True)
def crossing(row, skip, start, length, rows, out):
    """The same for a row without a list: all columns are looked through."""
    count = 0
    for c in range(len(start)):
        if c == skip or length[c] == 0 or rows[start[c] + length[c] - 1] < row:
            continue
        if locate(rows, start[c], length[c], row) >= 0:
            out[count] = c
            count += 1
    return count


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
def divided(begin, end, vals, largest):
    """Divide a stretch by the greatest common divisor of its values; returns the largest of them."""
    divisor = np.int64(0)
    for p in range(begin, end):
        divisor = gcd(divisor, np.int64(vals[p]))
        if divisor == 1:
            return largest
    for p in range(begin, end):
        vals[p] //= divisor
    return largest // divisor if end > begin else largest


@njit(cache=True)
def subtract(begin, size, c, row, start, length, rows, vals, end, head, after, member, degree, used):
    """Write column ``c`` minus the multiple of the pivot that clears ``row`` at ``end``.

    The lists of rows and their degrees are told of entries that come and go. Returns the new length, or -1 where values
    grew too large, and the new end of the lists.
    """
    a = np.int64(vals[locate(rows, begin, size, row)])
    k, last, listed = start[c], start[c] + length[c], len(head)
    b = np.int64(vals[locate(rows, k, length[c], row)])
    g = gcd(a, b)
    fa, fb = a // g, b // g
    if fa < 0:
        fa, fb = -fa, -fb
    i, stop, e, largest = begin, begin + size, end, np.int64(0)
    while i < stop:
        ri = rows[i]
        while k < last and rows[k] < ri:
            v = fa * vals[k]
            largest = max(largest, abs(v))
            rows[e] = rows[k]
            vals[e] = v
            k += 1
            e += 1
        v = -fb * vals[i]
        i += 1
        if k < last and rows[k] == ri:
            v += fa * vals[k]
            k += 1
            if v == 0:
                if ri < listed:
                    degree[ri] -= 1
                continue
        elif ri < listed:
            degree[ri] += 1
            after[used] = head[ri]
            member[used] = c
            head[ri] = used
            used += 1
        largest = max(largest, abs(v))
        rows[e] = ri
        vals[e] = v
        e += 1
    while k < last:
        v = fa * vals[k]
        largest = max(largest, abs(v))
        rows[e] = rows[k]
        vals[e] = v
        k += 1
        e += 1
    if largest > MOST or divided(end, e, vals, largest) > LIMIT:
        return -1, used
    return e - end, used


@njit(cache=True)
def enlist(c, begin, size, rows, head, after, member, degree, used):
    """Tell the row lists and degrees of a new column."""
    for p in range(begin, begin + size):
        r = rows[p]
        if r >= len(head):
            break
        degree[r] += 1
        after[used] = head[r]
        member[used] = c
        head[r] = used
        used += 1
    return used


@njit(cache=True)
def eliminate(begin, size, row, near, done, count, first, prefix, start, length, room, rows, vals, end, head, after,
              member, degree, used):  # fmt: skip
    """Clear ``row`` in the near columns from ``done`` on; protected ones see the first ``prefix`` pivot entries only.

    Returns the new end of the arena, the new end of the lists, how many columns are done, and whether it stopped
    because values grew too large; otherwise, if some are left, the arena or the lists are full.
    """
    for t in range(done, count):
        c = near[t]
        visible = prefix if c >= first else size
        most = length[c] + visible
        if end + most + most // 4 > len(rows) or used + visible > len(after):
            return end, used, t, False
        fresh, used = subtract(
            begin, visible, c, row, start, length, rows, vals, end, head, after, member, degree, used
        )
        if fresh < 0:
            return end, used, t, True
        s = start[c]
        if fresh <= room[c]:
            for p in range(fresh):
                rows[s + p] = rows[end + p]
                vals[s + p] = vals[end + p]
        else:
            start[c], room[c] = end, fresh + fresh // 4
            end += room[c]
        length[c] = fresh
    return end, used, count, False


@njit(cache=True)
def clear(c, start, length, rows, degree):
    """Empty a column."""
    for p in range(start[c], start[c] + length[c]):
        if rows[p] >= len(degree):
            break
        degree[rows[p]] -= 1
    length[c] = 0


@njit(cache=True)
def move(order, start, fresh, length, old, new):
    """Copy the columns to their fresh starts, in an order in which the old and the new arena may be the same."""
    for t in range(len(order)):
        c = order[t]
        for p in range(length[c]):
            new[fresh[c] + p] = old[start[c] + p]


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
                if r < len(degree):
                    degree[r] -= 1
            else:
                rows[s + kept] = r
                vals[s + kept] = vals[s + p]
                kept += 1
        length[c] = kept
