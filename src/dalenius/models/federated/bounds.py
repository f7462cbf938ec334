"""Ends of a column that several holders share, without saying who holds them (Aggarwal, Mishra and Pinkas 2010).

A simulation of the protocol: who learns what is right, there is no cryptography on a wire. A maximum that was computed
in secret is still somebody's value (the top income), so bounds that are public, or private ones, come first.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.data.vector import AnyArray

PRIME = (1 << 61) - 1


class SecureSum(Protocol):
    """Adds one number a party; nobody learns more than the sum."""

    def total(self, numbers: Sequence[int]) -> int:
        """The sum."""
        ...


class PlainSum:
    """Adds in the open: for tests, and where all parties trust the server.

    Examples
    --------
    >>> PlainSum().total([1, 2])
    3
    """

    def total(self, numbers: Sequence[int]) -> int:
        """The sum."""
        return sum(numbers)


@dataclass
class SharedSum:
    """Additive secret sharing over a prime field: each party splits its number into random shares, one a party.

    ``seen`` is what each party received in the last sum: shares that are uniform, whatever the numbers are.

    Examples
    --------
    >>> SharedSum().total([1, 2, 40])
    43
    """

    seen: list[list[int]] = field(default_factory=list, repr=False)

    def total(self, numbers: Sequence[int]) -> int:
        """The sum; each party only ever publishes the sum of the shares it received."""
        if any(not 0 <= n < PRIME // len(numbers) for n in numbers):
            raise DataError("numbers to be added in secret are counts, 0 or more")
        parts = []
        for number in numbers:
            shares = [secrets.randbelow(PRIME) for _ in numbers[1:]]
            parts.append([*shares, (number - sum(shares)) % PRIME])
        self.seen = [[row[party] for row in parts] for party in range(len(numbers))]
        return sum(sum(column) % PRIME for column in self.seen) % PRIME


class _Party:
    """One holder's answers, and whether they can all be true of one set of numbers."""

    def __init__(self, values: AnyArray, party: int) -> None:
        self.values, self.party = np.sort(np.asarray(values, np.float64)), party
        self.told: list[tuple[float, int, int]] = []

    def answer(self, pivot: float) -> tuple[int, int]:
        """How many numbers lie below and above a pivot."""
        below = int(np.searchsorted(self.values, pivot, "left"))
        above = len(self.values) - int(np.searchsorted(self.values, pivot, "right"))
        return below, above

    def checked(self, pivot: float) -> tuple[int, int]:
        """An answer that agrees with all earlier ones; a party that contradicts itself ends the run."""
        below, above = self.answer(pivot)
        for at, low, high in self.told:
            lower, upper = ((below, above), (low, high)) if pivot < at else ((low, high), (below, above))
            if lower[0] > upper[0] or lower[1] < upper[1]:
                raise DataError(f"party {self.party + 1} contradicts what it said before; the run is ended")
        if below < 0 or above < 0 or below + above > len(self.values):
            raise DataError(f"party {self.party + 1} counts more numbers than it has; the run is ended")
        self.told.append((pivot, below, above))
        return below, above


def kth_ranked(
    parties: Sequence[AnyArray | _Party], k: int, domain: tuple[float, float], *, step: float = 1.0,
    secure_sum: SecureSum | None = None,
) -> float:  # fmt: skip
    """The k-th smallest number of all parties together, by questions about counts; 1 is the least of all.

    Parameters
    ----------
    domain, step
        Public range and grid on which the numbers lie; log2 of its size is the number of rounds.

    Examples
    --------
    >>> kth_ranked([[1, 4, 6, 7], [2, 3, 5, 8]], 4, (0, 100))
    4.0
    """
    held = [p if isinstance(p, _Party) else _Party(np.asarray(p), i) for i, p in enumerate(parties)]
    add = secure_sum or PlainSum()
    size = add.total([len(p.values) for p in held])
    if not 1 <= k <= size:
        raise OptionError(f"k is a rank between 1 and the {size} numbers there are, got {k}")
    low, high = 0, round((domain[1] - domain[0]) / step)
    while low <= high:
        middle = (low + high) // 2
        pivot = domain[0] + middle * step
        told = [party.checked(pivot) for party in held]
        below, above = add.total([t[0] for t in told]), add.total([t[1] for t in told])
        if below <= k - 1 and above <= size - k:
            return float(pivot)
        low, high = (low, middle - 1) if below >= k else (middle + 1, high)
    raise DataError(
        "the number lies between two points of the grid, or outside the domain; give a finer step or a wider domain"
    )


def two_party_median(first: AnyArray, second: AnyArray) -> tuple[float, list[tuple[float, float]]]:
    """The lower median of two parties' numbers, equally many each, and the medians they compared on the way.

    Who has the smaller median drops his numbers up to it, the other those above; ties go to the first party.

    Examples
    --------
    >>> two_party_median([1, 4, 6, 7], [2, 3, 5, 8])
    (4.0, [(4.0, 3.0), (1.0, 5.0)])
    """
    a, b = np.sort(np.asarray(first, np.float64)), np.sort(np.asarray(second, np.float64))
    if len(a) != len(b) or not len(a) or len(a) & (len(a) - 1):
        raise OptionError(
            "both parties hold equally many numbers, and a power of two of them; fill up with infinities"
        )
    compared = []
    while len(a) > 1:
        half = len(a) // 2
        mine, other = a[half - 1], b[half - 1]
        compared.append((float(mine), float(other)))
        a, b = (a[half:], b[:half]) if mine <= other else (a[:half], b[half:])
    return float(min(a[0], b[0])), compared
