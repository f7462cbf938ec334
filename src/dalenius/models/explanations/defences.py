"""What may be done to explanations before they are handed out, each beside what it does to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from dalenius.core.errors import OptionError, counted
from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray
from dalenius.models.explanations.explain import Explanations

GRID = 1024
"""Noise with a promise is drawn on a grid of so many steps a scale."""


class Defence(Protocol):
    """A change of explanations."""

    @property
    def words(self) -> str:
        """What it does, in words."""
        ...

    def apply(self, values: AnyArray, seed: Seed = 0) -> AnyArray:
        """Changed explanations."""
        ...


@dataclass(frozen=True)
class Quantize:
    """Round to decimals, or to multiples of a step.

    Examples
    --------
    >>> Quantize(1).apply(np.array([[0.123, -0.17]])).tolist()
    [[0.1, -0.2]]
    """

    decimals: int | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if (self.decimals is None) == (self.step is None) or (self.step is not None and not self.step > 0):
            raise OptionError("round to decimals or to a step above 0, one of the two")

    @property
    def words(self) -> str:
        """What it does."""
        return counted(self.decimals or 0, "decimal") if self.step is None else f"steps of {self.step:g}"

    def apply(self, values: AnyArray, seed: Seed = 0) -> AnyArray:
        """Changed explanations."""
        if self.step is not None:
            return np.round(values / self.step) * self.step + 0.0
        return np.round(values, self.decimals or 0) + 0.0


@dataclass(frozen=True)
class TopK:
    """Show the k largest of a record, in size, and nothing of the others.

    Examples
    --------
    >>> TopK(1).apply(np.array([[0.1, -0.2]])).tolist()
    [[0.0, -0.2]]
    """

    k: int

    @property
    def words(self) -> str:
        """What it does."""
        return f"the {self.k} largest"

    def apply(self, values: AnyArray, seed: Seed = 0) -> AnyArray:
        """Changed explanations."""
        if self.k < 1:
            raise OptionError("show at least 1 value")
        ranks = np.argsort(np.argsort(-np.abs(values), axis=1, kind="stable"), axis=1)
        return np.where(ranks < self.k, values, 0.0)


@dataclass(frozen=True)
class Clip:
    """Cut values at a size.

    Examples
    --------
    >>> Clip(0.15).apply(np.array([[0.1, -0.2]])).tolist()
    [[0.1, -0.15]]
    """

    size: float

    @property
    def words(self) -> str:
        """What it does."""
        return f"cut at {self.size:g}"

    def apply(self, values: AnyArray, seed: Seed = 0) -> AnyArray:
        """Changed explanations."""
        if not self.size > 0:
            raise OptionError("cut at a size above 0")
        return np.clip(values, -self.size, self.size)


@dataclass(frozen=True)
class Noise:
    """Add noise of a scale; a promise goes with it only where the caller says how far one person can move a value.

    With a ``sensitivity`` Laplace noise comes from OpenDP and is not repeated by a seed.

    Examples
    --------
    >>> Noise(0.1).promise, Noise(0.5, sensitivity=1.0).promise
    ('noise, no formal guarantee', 'ε = 2 for each value that is handed out')
    """

    scale: float
    mechanism: Literal["laplace", "gaussian"] = "laplace"
    sensitivity: float | None = None

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise OptionError("noise needs a scale above 0")
        if self.sensitivity is not None and (self.mechanism != "laplace" or not self.sensitivity > 0):
            raise OptionError("a promise goes with Laplace noise and a sensitivity above 0")

    @property
    def promise(self) -> str:
        """What the noise promises."""
        if self.sensitivity is None:
            return "noise, no formal guarantee"
        return f"ε = {self.sensitivity / self.scale + 1 / GRID:.3g} for each value that is handed out"

    @property
    def words(self) -> str:
        """What it does."""
        return f"{self.mechanism} noise of scale {self.scale:g} ({self.promise})"

    def apply(self, values: AnyArray, seed: Seed = 0) -> AnyArray:
        """Changed explanations."""
        if self.sensitivity is not None:
            from dalenius.dp.noise import add_laplace  # noqa: PLC0415 (OpenDP is slow to load)

            # on a grid so fine that rounding to it moves nobody by more than a thousandth of the noise
            grid = self.scale / GRID
            return add_laplace(np.round(values / grid).astype(np.int64), float(GRID)) * grid
        rng = generator(seed, "noise")
        drawn = (
            rng.laplace(size=values.shape) if self.mechanism == "laplace" else rng.normal(size=values.shape)
        )
        return np.asarray(values + self.scale * drawn)


@dataclass(frozen=True)
class Agreement:
    """What a defence did to explanations.

    Attributes
    ----------
    change
        Mean absolute change.
    ranks
        Mean Spearman correlation of a record's columns before and after.
    top
        Share of records whose largest column is the same.
    """

    change: float
    ranks: float
    top: float


def agreement(before: AnyArray, after: AnyArray) -> Agreement:
    """Compare explanations before and after.

    Examples
    --------
    >>> agreement(np.array([[1.0, 3.0, 2.0]]), np.array([[1.0, 2.0, 1.5]])).ranks
    1.0
    """
    from dalenius.core.later import stats  # noqa: PLC0415

    first, second = (stats.rankdata(np.abs(held), axis=1) for held in (before, after))
    first, second = (held - held.mean(axis=1, keepdims=True) for held in (first, second))
    size = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    ranks = np.where(size > 0, (first * second).sum(axis=1) / np.where(size > 0, size, 1), 0.0)
    top = np.abs(before).argmax(axis=1) == np.abs(after).argmax(axis=1)
    return Agreement(float(np.abs(before - after).mean()), float(ranks.mean()), float(top.mean()))


def defended(explanations: Explanations, defence: Defence | None, seed: Seed = 0) -> Explanations:
    """Explanations after a defence; as they are without one."""
    if defence is None:
        return explanations
    return explanations.changed(defence.apply(explanations.values, seed))
