"""Values of people written otherwise: in capitals, cut, turned round, with a letter before them, in decimals.

Whoever takes out what stands in the data letter by letter leaves what a moment's work turns back. What is written quite
differently, as by a hash, cannot be told from what is made up: `differs_everywhere` finds columns that may hold such.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.data.vector import AnyArray, Vector

MOST = 0.5
"""Share of the different values of a column that must be people's before one is said to hold them."""
LONG = 8
"""Letters and digits from which on a text is the same in other spelling by more than chance."""
SEVERAL = 3
"""Words from which on their set names a text."""
SHORTEST = 5
"""Letters and digits of what one text begins or ends with, where another one is that and no more."""
DIGITS = 4
"""Digits from which on numbers stand for people."""
PROBED = 20_000
"""Texts that are looked up; of more some, evenly spread."""
DIFFERENT = 0.9
"""Share of the filled rows with a value of their own from which on a column is different nearly everywhere."""
FEWEST = 20
"""Rows below which nothing is said."""


def respelt(there: list[str], values: list[str]) -> bool:
    """Whether some texts are others in another spelling, or most of them are the others cut, turned round or added to.

    Examples
    --------
    >>> ids = [f"AB-{i * 7919 % 90000:05d}" for i in range(40)]
    >>> [respelt([change(v) for v in ids], ids) for change in (str.lower, lambda v: v[::-1], lambda v: f"P/{v}")]
    [True, True, True]
    >>> respelt([f"AC-{i:05d}" for i in range(40)], ids)
    False
    """
    if not there or not values:
        return False
    mine, theirs = _plain(values), _plain(there)
    if _shares(theirs, mine, LONG) or _shares(_words(there), _words(values), 2 * SEVERAL):
        return True
    step = max(len(theirs) // PROBED, 1)
    probes = theirs.gather_every(step)
    probes = probes.filter(probes.str.len_chars() >= SHORTEST)
    if len(probes) < max(MOST * len(theirs) / step, 2):
        return False
    sides = [(probes, mine), (probes.str.reverse(), mine.str.reverse()), (probes.str.reverse(), mine)]
    return any(_beginnings(some, all_of_them) >= MOST for some, all_of_them in sides)


def numbers_of(values: list[str]) -> AnyArray:
    """The numbers in texts that name people, where each has one of several digits; none otherwise.

    Examples
    --------
    >>> numbers_of(["AB-01234", "AB-00077"]).tolist(), numbers_of(["Ann", "Bea"]).tolist()
    ([77.0, 1234.0], [])
    """
    digits = pl.Series(values, dtype=pl.String).str.replace_all(r"\D", "")
    digits = digits.filter(digits.str.len_chars().is_between(1, 15))
    held: AnyArray = np.unique(digits.cast(pl.Float64).to_numpy())
    enough = len(digits) >= MOST * len(values) and len(held) and held[-1] >= 10 ** (DIGITS - 1)
    return held if enough else np.array([], float)


def hidden(numbers: AnyArray, values: AnyArray) -> bool:
    """Whether the decimals of numbers, or their last digits, are most of the time the numbers of people.

    Examples
    --------
    >>> ids = np.arange(40) * 7919.0 % 90000
    >>> hidden(2500 + ids / 1e5, ids), hidden(np.arange(40) / 7, ids)
    (True, False)
    """
    numbers, values = np.unique(numbers[np.isfinite(numbers)]), np.unique(values)
    if (
        len(numbers) < FEWEST
        or len(values) < FEWEST
        or (values < 0).any()
        or (values != np.rint(values)).any()
    ):
        return False
    width = len(f"{values[-1]:.0f}")
    chance = len(values) / 10.0**width
    if not DIGITS <= width <= 9 or chance >= MOST / 2:
        return False
    unit = 10.0**width
    decimals = np.rint(np.abs(numbers) % 1 * unit)
    last = np.rint(np.abs(numbers)) % unit
    parts = [np.unique(p[big]) for p, big in ((decimals, decimals > 0), (last, np.abs(numbers) >= unit))]
    return any(len(p) >= MOST * len(numbers) and np.isin(p, values).mean() >= MOST for p in parts)


def differs_everywhere(vector: Vector) -> bool:
    """Whether a column has a value of its own in nearly every row that is filled.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"a": [f"x{i}" for i in range(40)], "b": ["u", "v"] * 20})
    >>> differs_everywhere(table["a"]), differs_everywhere(table["b"])
    (True, False)
    """
    values = vector.values
    return len(values) >= FEWEST and len(np.unique(values)) >= DIFFERENT * len(values)


def numbered_anew(vector: Vector) -> bool:
    """Whether values only count the rows or units, in the order in which they come: 1, 2, 3 or P001, P002, P003.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"a": ["P1", "P2", "P2", "P3"], "b": [3, 1, 2, 4]})
    >>> numbered_anew(table["a"]), numbered_anew(table["b"])
    (True, False)
    """
    values = vector.values
    if not vector.is_number:
        used, values = np.unique(values, return_inverse=True)
        texts = pl.Series([str(vector.levels[i]) for i in used], dtype=pl.String)
        if texts.str.replace(r"\d{1,15}$", "").n_unique() > 1:
            return False
        counted = texts.str.extract(r"(\d{1,15})$").cast(pl.Float64).fill_null(np.nan).to_numpy()
        values = counted[values]
    if not len(values):
        return True
    kinds, first = np.unique(values, return_index=True)
    steps = bool((np.diff(first) > 0).all())
    return kinds[0] in (0, 1) and bool(np.array_equal(kinds, kinds[0] + np.arange(len(kinds)))) and steps


def _plain(texts: list[str]) -> pl.Series:
    """Letters and digits alone, small, each text once."""
    said = pl.Series(texts, dtype=pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return said.unique().sort()


def _words(texts: list[str]) -> pl.Series:
    """The words of texts that have several, in the order of the alphabet."""
    found = pl.Series(texts, dtype=pl.String).str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
    several = found.filter(found.list.len() >= SEVERAL)
    return several.list.sort().list.join(" ").unique()


def _shares(some: pl.Series, others: pl.Series, least: int) -> bool:
    """Whether two lists have a text in common that is long enough."""
    long = some.filter(some.str.len_chars() >= least)
    return bool(long.is_in(others.implode()).any()) if len(long) else False


def _beginnings(some: pl.Series, others: pl.Series) -> float:
    """Share of texts that begin one of the others, or that one of the others begins."""
    held = others.filter(others.str.len_chars() >= SHORTEST).sort().to_numpy()
    if not len(held):
        return 0.0
    texts = some.to_list()
    at = np.searchsorted(held, some.to_numpy())
    after, before = (held[np.clip(place, 0, len(held) - 1)] for place in (at, at - 1))
    pairs = zip(texts, after, before, strict=True)
    return float(np.mean([a.startswith(t) or t.startswith(b) for t, a, b in pairs]))
