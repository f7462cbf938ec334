"""Long tails: what stands for the outermost units of a column of amounts.

Their own values stay. A generalised Pareto tail is fitted to the values before theirs (Pickands 1975), of theirs it is
known only that they lie beyond, and values for them are drawn from it. A column whose tail is no longer than an
exponential one, as that of ages or scores, is left alone: it often ends where it must, and loses little with its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
FEWEST = 200
"""Values of a column whose tail is fitted."""
LEAST, MOST = 50, 5000
"""Values the tail is fitted to: of n, n to the power of 2/3, within these bounds."""
UNITS = 25
"""Units that must hold these values."""
LONGER = 0.5
"""Log-likelihood that it must gain over an exponential tail: one standard error."""
LONGEST = 0.4
"""Largest shape: estimates of more are mostly chance, and a mean would hang on one draw."""
FARTHEST = 0.1
"""Share of the outermost value's part of the tail that is left out: one draw must not outweigh the file."""
RATES = np.geomspace(0.01, 30, 80)
"""Shape over scale, in units of the mean, among which the best is looked for."""


TRIES = 20
"""Draws that may fall on a rare value before it is left at that."""
CROWDED = 4
"""Rare values are avoided where their stretch has more than so many places for each of them."""


def far_out(
    values: FloatArray,
    owners: IntArray,
    count: int,
    start: float,
    end: float,
    step: float,
    rng: np.random.Generator,
) -> FloatArray | None:
    """Values to stand for the last of a column, if its tail is long and has many places for them.

    Parameters
    ----------
    values, owners
        All values, ascending, and whose they are.
    count, start
        How many stand beyond which point. Of them nothing else is read, but that theirs are not drawn.
    end
        What no value can be beyond.
    step
        Between two places; 0 if there are any number of them.

    Examples
    --------
    >>> from scipy import stats
    >>> values = stats.pareto(2.5).ppf((np.arange(1000) + 0.5) / 1000)
    >>> made = far_out(values, np.arange(1000), 3, values[996], np.inf, 0.01, np.random.default_rng(1))
    >>> bool(made.min() > values[996]), bool(made.max() > values[998])
    (True, True)
    >>> far_out(values, np.arange(1000), 3, values[996], np.inf, 1.0, np.random.default_rng(1)) is None
    True
    """
    tail = long_tail(values[: len(values) - count], owners, start, count) if count else None
    if tail is None or tail.scale <= CROWDED * count * step:
        return None
    for _ in range(TRIES):
        made: FloatArray = np.maximum(tail.draw(count, end, rng), start)
        if step >= 1:
            made = np.round(made / step) * step
        elif step > 0:
            made = np.round(made, round(-np.log10(step)))
        if not np.isin(made, values[len(values) - count :]).any():
            return made
    return None


@dataclass(frozen=True)
class Tail:
    """A generalised Pareto tail beyond a point."""

    start: float
    shape: float
    scale: float

    def beyond(self, value: float) -> float:
        """Share of the tail that lies beyond a value."""
        return float((1 + self.shape * (value - self.start) / self.scale) ** (-1 / self.shape))

    def draw(self, count: int, end: float, rng: np.random.Generator) -> FloatArray:
        """A value of each of ``count`` equally likely parts of the tail before an end, in random order."""
        part = (rng.permutation(count) + FARTHEST + (1 - FARTHEST) * rng.random(count)) / count
        left = self.beyond(end) + (1 - self.beyond(end)) * part
        drawn: FloatArray = self.start + self.scale / self.shape * (left**-self.shape - 1)
        return drawn


def long_tail(values: FloatArray, owners: IntArray, start: float, count: int) -> Tail | None:
    """The tail beyond a point, if it is a long one.

    Parameters
    ----------
    values, owners
        The values that lie before the point, ascending, and whose they are.
    count
        How many lie beyond; no more is known of them.

    Examples
    --------
    >>> from scipy import stats
    >>> values = stats.pareto(2.5).ppf((np.arange(1000) + 0.5) / 1000)
    >>> tail = long_tail(values[:-3], np.arange(997), float(values[-3]), 3)
    >>> tail is not None and 0.2 < tail.shape <= 0.5
    True
    >>> long_tail(np.linspace(0, 1, 997), np.arange(997), 1, 3) is None
    True
    """
    size = len(values) + count
    used = min(max(LEAST, int(size ** (2 / 3))), MOST)
    if size < FEWEST or used > len(values) or len(np.unique(owners[-used:])) < UNITS:
        return None
    over, last = values[-used:] - values[-used], start - values[-used]
    mean = (over.sum() + count * last) / used
    if mean <= 0:
        return None
    rates = RATES / mean
    logs = np.log1p(np.multiply.outer(rates, over)).sum(axis=1) / used
    shapes = (
        logs + count * np.log1p(rates * last) / used
    )  # the best for each rate, those beyond being censored
    gained = used * (np.log(mean * rates / shapes) - logs)
    best = int(gained.argmax())
    if gained[best] <= LONGER:
        return None
    shape = min(float(shapes[best]), LONGEST)
    return Tail(start, shape, float(shapes[best] / rates[best]) + shape * last)
