"""What a kept column tells of a masked number beside its size: remainders, digits, week days.

A rounded 12,000 with a kept remainder by 1,300 is one amount again, whatever the rounding was to. Two attacks: the
modulus that fits a kept number is found by Euclid's algorithm on differences of what both leave; and for any kept
column it is asked whether it settles a digit, a remainder by one of the usual moduli, or a part of a date. Whoever
knows the number looks for its remainder too: what counts is how many times it narrows, not how near it comes.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.random import generator
from dalenius.data.vector import IntArray
from dalenius.mask.neighbours import Floats

FEWER = 4
"""A kept column may not leave so many times fewer values than the mask alone does."""
RIGHT = 0.5
"""Share of the rows, beyond chance, in which a remainder must be right to count."""
PAIRS, TRIED, FINEST = 200, 6, 1e-6
"""Pairs of differences whose modulus is sought, moduli tried, and the finest step by what the mask left open."""
DECIMALS = 6
USUAL = (4, 5, 6, 7, 8, 9, 10, 12, 20, 24, 25, 30, 50, 60, 100)
"""Moduli that digits, weeks and clocks go by; those below `FEWER` could not tell too much."""
DAY = 86_400_000_000
"""Microseconds: dates are held in them."""


def told_by_remainder(
    values: Floats, amounts: Floats | None, codes: IntArray, room: float, dates: int = 0
) -> float:
    """How much a kept column tells of numbers beside their size: 1 and more is too much.

    Parameters
    ----------
    values
        The masked numbers as they were.
    amounts, codes
        The kept column: as numbers where it has them, and numbered from 0.
    room
        Width of what the mask left open.
    dates
        How many units of the values a microsecond has, where they are dates.

    Examples
    --------
    >>> pay = np.random.default_rng(1).lognormal(10, 0.6, 300).round(2)
    >>> told_by_remainder(pay, (pay % 1300).round(2), np.arange(300), 1000) >= 1
    True
    >>> told_by_remainder(pay, pay[::-1] % 1300, np.arange(300), 1000)
    0.0
    """
    unit = max(step_of(values), FINEST * room)
    if not room > unit * FEWER:
        return 0.0
    told = 0.0
    if amounts is not None:
        coarse = step_of(amounts)  # a whole remainder of an amount with cents
        for step in {unit, coarse} if unit < coarse < room else {unit}:
            cut = values if step == unit else np.floor(values / step) * step
            for modulus, right in moduli(cut, amounts, step):
                told = max(told, right * _narrower(modulus / step, room / step))
    if int(codes.max(initial=0)) < len(codes) / 3:
        for places, times in _parts(values, unit, room, dates):
            right = _settled(codes, places)
            told = max(told, right * _narrower(times, room / unit) if right >= RIGHT else 0.0)
    return told


def step_of(values: Floats) -> float:
    """The step in which numbers are given: one unit in the last decimal, or more where all differ by multiples of it.

    Examples
    --------
    >>> step_of(np.array([1.25, 1.5, 3.0])), step_of(np.array([1000.0, 3000.0]))
    (0.01, 2000.0)
    """
    for decimals in range(DECIMALS + 1):
        scaled = values * 10.0**decimals
        whole = np.round(scaled)
        if np.all(np.abs(scaled - whole) <= 1e-6 + 1e-12 * np.abs(scaled)) and np.abs(whole).max() < 2**62:
            steps = np.gcd.reduce(np.abs(np.diff(whole.astype(np.int64))))
            return float(max(steps if decimals == 0 else 1, 1)) / 10.0**decimals
    return 0.0


def moduli(values: Floats, amounts: Floats, unit: float) -> list[tuple[float, float]]:
    """Moduli by which a kept number (in any power of ten of its unit, up or down) is the remainder of another.

    With each goes the share of the rows in which it is right, beyond chance; those right in few are left out.

    Examples
    --------
    >>> x = np.random.default_rng(1).integers(0, 100_000, 200).astype(float)
    >>> max(m for m, right in moduli(x, 5000 - 10 * (x % 700), 1.0) if right == 1)
    700.0
    """
    rng = generator(0, "moduli")
    turned = rng.permutation(amounts)
    some = rng.integers(0, len(values), (4, PAIRS))
    widest = float(np.ptp(values))
    found: dict[float, float] = {}
    for power in range(-3, 4):
        factor = 10.0**power
        if not unit <= factor * np.ptp(amounts) <= widest:
            continue
        for left, other in (
            (values - factor * amounts, values - factor * turned), (values + factor * amounts, values + factor * turned)
        ):  # fmt: skip
            first, second = np.abs(left[some[0]] - left[some[1]]), np.abs(left[some[2]] - left[some[3]])
            for modulus in _common(first, second, unit, widest):
                chance = _in_phase(other, modulus, unit)
                right = (_in_phase(left, modulus, unit) - chance) / (1 - chance) if chance < 1 else 0.0
                if right >= RIGHT:
                    found[modulus] = max(found.get(modulus, 0.0), right)
    return list(found.items())


def _common(first: Floats, second: Floats, unit: float, widest: float) -> list[float]:
    """The commonest common measures of pairs of numbers, by Euclid's algorithm with the nearest remainder."""
    a, b = np.maximum(first, second), np.minimum(first, second)
    least = unit / 2
    for _ in range(60):
        going = b > least
        if not going.any():
            break
        safe = np.where(going, b, 1.0)
        rest = np.abs(a - np.round(a / safe) * safe)
        a, b = np.where(going, b, a), np.where(going, rest, b)
    a = a[(a >= 1.5 * unit) & (a <= widest)]
    digits = 10.0 ** (5 - np.floor(np.log10(a)))
    measures, count = np.unique(np.round(a * digits) / digits, return_counts=True)
    ranked = np.argsort(-count, kind="stable")[:TRIED]
    return [float(measures[i]) for i in ranked if count[i] >= max(PAIRS // 40, 2)]


def _in_phase(left: Floats, modulus: float, unit: float) -> float:
    """Share of the rows that are a multiple of the modulus away from one common place."""
    steps = max(min(round(modulus / unit), 100_000), 2)
    place = np.round((left % modulus) / modulus * steps).astype(np.int64) % steps
    return float(np.bincount(place).max() / len(left))


def _parts(values: Floats, unit: float, room: float, dates: int) -> list[tuple[IntArray, float]]:
    """Remainders of the values by usual moduli and parts of dates, each with how many times it narrows."""
    made: list[tuple[IntArray, float, float]] = []
    step = unit
    while step < room and step <= 1e6 * unit:
        whole = np.floor(values / step + 1e-6)
        made += [((whole % m).astype(np.int64), m, step) for m in USUAL]
        step *= 10
    if dates:
        day = np.floor(values / (dates * DAY)).astype(np.int64)
        month = day.astype("datetime64[D]").astype("datetime64[M]")
        hour = np.floor(values / (dates * DAY / 24)).astype(np.int64) % 24
        within = day - month.astype("datetime64[D]").astype(np.int64)
        one = float(dates * DAY)
        made += [
            (day % 7, 7, one),
            (within, 30, one),
            (month.astype(np.int64) % 12, 12, 30 * one),
            (hour, 24, one / 24),
        ]
    # what is wider than the mask's own groups is no news
    return [(places, min(m, room / step)) for places, m, step in made if min(m, room / step) >= FEWER]


def _settled(codes: IntArray, places: IntArray) -> float:
    """Share of the rows whose place others with the same code guess right, beyond those that all guess right."""
    size = int(places.max()) + 1
    if 2 * (int(codes.max()) + 1) < len(np.unique(places)):
        return 0.0  # so few codes cannot settle so many places
    counts = np.bincount(codes * size + places, minlength=(int(codes.max()) + 1) * size).reshape(-1, size)
    alone = float(np.bincount(places).max() / len(places))
    rest = counts[codes].astype(np.int64)
    rest[np.arange(len(codes)), places] -= 1
    own = rest[np.arange(len(codes)), places]
    best = rest.max(axis=1)
    right = float(((own == best) & (own > 0)).mean())
    return (right - alone) / (1 - alone) if alone < 1 else 0.0


def _narrower(times: float, most: float) -> float:
    return float(np.log(max(min(times, most), 1.0)) / np.log(FEWER))
