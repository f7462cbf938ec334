"""Made-up people with the structure of the paper's census tables, and a second elimination in plain Python."""

from __future__ import annotations

from math import gcd

import numpy as np

AGES = "sex*(age_l+age_m+age_h)"
TABLES = {"t1": f"~ {AGES}*(lms_l+lms_h)", "t2": f"~ {AGES}*(hst_l+hst_m+hst_h)", "t3": f"~ {AGES}*(fst_l+fst_m+fst_h)",
          "t4": "~ sex*(lms_l+lms_h)*(hst_l+hst_m+hst_h)"}  # fmt: skip
LMS = {"DIV": "DIV", "MARO": "MAR", "MARS": "MAR", "SIN": "SIN", "WID": "WID"}
HST = {
    "11": ("FAM", "PRV"),
    "121": ("NFAM", "PRV"),
    "122": ("NFAM", "PRV"),
    "21": ("IST", "NPRV"),
    "22": ("NPRU", "NPRV"),
}
FST = {"CHC": ("CHC", "CH"), "CHP": ("CHP", "CH"), "CSU": ("CSU", "CPL"), "MO": ("MRP", "CPL"), "MS": ("MRP", "CPL"),
       "NAP": ("NAP", "NAP"), "PAR": ("PAR", "PAR")}  # fmt: skip


def people(size: int, ages: int, seed: int) -> dict[str, list]:
    """Sex, age, legal and family status and household, with their coarser levels; skewed, with many small cells."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, ages, size)
    legal = rng.choice(list(LMS), size, p=[0.1, 0.35, 0.01, 0.5, 0.04])
    house = rng.choice(list(HST), size, p=[0.7, 0.2, 0.06, 0.01, 0.03])
    family = rng.choice(list(FST), size, p=[0.3, 0.15, 0.1, 0.25, 0.01, 0.15, 0.04])
    return {
        "sex": [str(s) for s in rng.integers(1, 3, size)],
        "age_h": [f"{a:03d}" for a in age], "age_m": [f"m{a // 5:02d}" for a in age],
        "age_l": [f"l{a // 15:02d}" for a in age], "lms_h": legal.tolist(), "lms_l": [f"l{LMS[x]}" for x in legal],
        "hst_h": house.tolist(), "hst_m": [f"m{HST[x][0]}" for x in house], "hst_l": [f"l{HST[x][1]}" for x in house],
        "fst_h": family.tolist(), "fst_m": [f"m{FST[x][0]}" for x in family],
        "fst_l": [f"l{FST[x][1]}" for x in family],
    }  # fmt: skip


def eliminate(matrix, order, primary, small_rows, anysum: bool) -> set[int]:
    """Secondary cells by the paper's own words: dictionaries of Python integers, one candidate after the other."""
    rank = np.empty(matrix.shape[0], np.int64)
    rank[np.argsort(small_rows, kind="stable")] = np.arange(matrix.shape[0])
    bottom = matrix.shape[0] - int(small_rows.sum())
    columns = [
        {int(rank[i]): int(v) for i, v in zip(matrix.indices[a:b], matrix.data[a:b], strict=True)}
        for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    ]
    closed = set(np.flatnonzero(primary).tolist())
    guarded = [dict(columns[j]) for j in closed if not anysum or min(columns[j], default=bottom) < bottom]
    waiting = {j: dict(columns[j]) for j in order.tolist() if j not in closed}
    secondary, used = set(), set()
    for j in list(waiting):
        column = waiting.pop(j)
        if not column:
            continue
        if anysum and min(column) >= bottom:
            mixed = min(column.values()) < 0 < max(column.values())
            if not mixed or used & set(column):
                secondary.add(j)
                continue
            used |= set(column)
        if any(_alike(column, other) for other in guarded):
            secondary.add(j)
            continue
        pivot = min(column)
        for other in (*waiting.values(), *guarded):
            if pivot in other:
                _subtract(other, column, pivot)
    return secondary


def _alike(one, other) -> bool:
    if one.keys() != other.keys():
        return False
    first = next(iter(one))
    return all(one[k] * other[first] == other[k] * one[first] for k in one)


def _subtract(other, column, pivot) -> None:
    p, e = column[pivot], other[pivot]
    g = gcd(p, e)
    p, e = p // g, e // g
    for k in list(other):
        other[k] *= p
    for k, v in column.items():
        other[k] = other.get(k, 0) - e * v
        if other[k] == 0:
            del other[k]
    shared = 0
    for v in other.values():
        shared = gcd(shared, v)
    if shared > 1:
        for k in other:
            other[k] //= shared
