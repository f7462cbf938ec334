"""What all joint models share: codes, strata, structural zeros and the privacy budget."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.random import Seed
from dalenius.data.grouping import Method
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.dp.budget import Budget, Neighbours
from dalenius.dp.noise import add_gaussian, add_laplace
from dalenius.synth.base import Synthesizer
from dalenius.synth.joint.coding import Coding, Groups
from dalenius.synth.joint.model import Distribution, JointModel, Stratum
from dalenius.synth.joint.structure import Rule, Structure

LOG = logging.getLogger("dalenius")
Domain = Literal["declared", "from-data"]
Total = Literal["public", "noised"]
TOTAL_SHARE = 0.05
"""Share of the budget that a noised number of records costs."""


@dataclass
class Task:
    """One stratum to be fitted.

    Attributes
    ----------
    names, sizes, codes
        Columns, their numbers of codes, and the codes of the rows.
    rows
        Rows there are (confidential when the total is noised).
    total
        Number of records the model may know: the public one, or a noisy one.
    structure
        Impossible cells.
    budget, share, part
        The privacy budget, how much of it this fit may spend (in the budget's unit), and which stratum to write
        in the ledger.
    notes
        Lines for the reader; the fit adds its own.
    seed
        For what needs chance but no secrecy.
    """

    names: list[str]
    sizes: tuple[int, ...]
    codes: list[IntArray]
    rows: int
    total: float
    structure: Structure
    budget: Budget | None
    share: float
    part: tuple[str, str] | None
    seed: Seed
    notes: list[str] = field(default_factory=list)

    def note(self, text: str, warn: bool = False) -> None:
        """Tell the reader, once; a warning is logged too."""
        if text not in self.notes:
            self.notes.append(text)
            if warn:
                LOG.warning(text)

    def measure(self, what: str, table: IntArray, price: float) -> tuple[IntArray, float]:
        """A table of counts with noise for ``price`` (ε, or ρ under zCDP), and the variance of the noise."""
        if self.budget is None:
            raise OptionError("there is no privacy budget to spend")
        factor = self.budget.factor
        if self.budget.accounting == "zcdp":
            # One record changes ``factor`` cells by one: L2 sensitivity is its root, and ρ = factor / (2 σ²).
            sigma = float(np.sqrt(factor / (2 * price)))
            self.budget.spend(what, rho=price, noise=f"discrete Gaussian, scale {sigma:.4g}", part=self.part)
            return add_gaussian(table, sigma), sigma**2
        scale = factor / price
        self.budget.spend(what, epsilon=price, noise=f"discrete Laplace, scale {scale:.4g}", part=self.part)
        return add_laplace(table, scale), laplace_variance(scale)


def laplace_variance(scale: float) -> float:
    """Variance of discrete Laplace noise.

    Examples
    --------
    >>> round(laplace_variance(10.0) / (2 * 10.0**2), 2)
    1.0
    """
    p = float(np.exp(-1 / scale))
    return 2 * p / (1 - p) ** 2


@dataclass(frozen=True)
class JointSynthesizer(Synthesizer):
    """Options of every joint model.

    Parameters
    ----------
    epsilon, delta
        Privacy budget. None: no differential privacy. δ = 0: discrete Laplace noise; δ > 0: discrete Gaussian noise,
        zero-concentrated accounting.
    neighbours
        "add-remove" protects whether a record is there, "replace" what it says (twice the noise scale).
    domain
        With a budget: "declared" refuses columns whose levels or bounds were read off the data; "from-data" accepts
        the leak, and the notes say so.
    total
        With a budget: the number of records is "public", or "noised" as one more query.
    groups, grouping, breaks, values
        How numbers are grouped, given breaks per column, and declared values that may be drawn within them.
    strata
        Columns whose combinations are synthesized apart. Under a budget the largest stratum counts, not the sum.
    structural_zeros
        Impossible combinations, for example ``[{"age": (0, 16), "marital": ["married", "widowed"]}]``.
    """

    epsilon: float | None = None
    delta: float = 0.0
    neighbours: Neighbours = "add-remove"
    domain: Domain = "declared"
    total: Total = "public"
    groups: int = 5
    grouping: Method = "quantile"
    breaks: Mapping[str, Sequence[float]] | None = None
    values: Mapping[str, Sequence[float]] | None = None
    strata: Sequence[str] = ()
    structural_zeros: Sequence[Rule] = ()

    model: ClassVar[type[JointModel]]

    def __post_init__(self) -> None:
        _one_of("domain", self.domain, get_args(Domain))
        _one_of("total", self.total, get_args(Total))
        if self.epsilon is None and self.delta:
            raise OptionError("delta is given without epsilon; give both, or neither")
        if self.epsilon is not None:
            Budget(self.epsilon, self.delta, self.neighbours)
        Groups(self.groups, self.grouping, self.breaks, self.values)

    @abstractmethod
    def _fit_task(self, task: Task) -> Distribution:
        """Distribution of one stratum."""

    def _fit(self, table: Table, seed: Seed) -> JointModel:
        budget = None if self.epsilon is None else Budget(self.epsilon, self.delta, self.neighbours)
        coding = self._coding(table, budget)
        split = self._split(coding)
        parts = _parts(coding, coding.encode(table), split, table.rows)
        inner = Coding(tuple(c for i, c in enumerate(coding.columns) if i not in split))
        structure = Structure.of(inner, self.structural_zeros)
        notes: list[str] = []
        if len(parts) > 1 or split:
            empty = sum(1 for _, codes, rows in parts if rows == 0)
            notes.append(
                f"{len(parts)} strata, each fitted apart"
                + (f"; {empty} of them have no rows and get none" if empty else "")
            )
        strata = []
        for place, codes, rows in parts:
            task = Task(
                inner.names, inner.sizes, codes, rows, float(rows), structure, budget, budget.total if budget else 0.0,
                ("strata", "/".join(map(str, place))) if split else None, seed, notes,
            )  # fmt: skip
            strata.append(self._fit_stratum(task, place))
        if budget is not None:
            notes.append(f"differential privacy: {budget.guarantee}, {budget.neighbours} neighbours")
        rows = table.rows if budget is None or self.total == "public" else sum(s.rows for s in strata)
        return self.model(
            table.schema, rows, coding, strata, split=split, notes=[*notes, *(budget.assumptions if budget else [])],
            ledger=str(budget) if budget else "", origin=table.origin, poisson=self._poisson(),
        )  # fmt: skip

    def _poisson(self) -> bool:
        return False

    def _coding(self, table: Table, budget: Budget | None) -> Coding:
        groups = Groups(self.groups, self.grouping, self.breaks, self.values)
        if budget is None:
            return Coding.from_data(table, groups)
        if self.domain == "declared":
            return Coding.declared(table, groups)
        budget.assume(
            "the levels, bounds and breaks of the columns, which were read off the confidential data "
            '(domain="from-data")'
        )
        return Coding.from_data(table, groups, keep_values=False)

    def _split(self, coding: Coding) -> tuple[int, ...]:
        wanted = [self.strata] if isinstance(self.strata, str) else list(self.strata)
        absent = [name for name in wanted if name not in coding.names]
        if absent:
            raise DataError(
                f"strata {names(absent)} are not columns of the data; there are {names(coding.names)}"
            )
        if wanted and len(wanted) == len(coding.names):
            raise OptionError(
                "every column is a stratum, so nothing is left to synthesize; name fewer strata"
            )
        for number, rule in enumerate(self.structural_zeros, start=1):
            if set(rule) & set(wanted):
                raise OptionError(
                    f"structural zero {number} names a stratum; strata are kept as they are, so leave it out"
                )
        return tuple(coding.names.index(name) for name in wanted)

    def _fit_stratum(self, task: Task, place: tuple[int, ...]) -> Stratum:
        if task.budget is None:
            task.structure.refuse_contradiction(task.codes)
        elif self.total == "noised" and task.budget.neighbours == "add-remove":
            price = TOTAL_SHARE * task.share
            noisy, _ = task.measure("number of records", np.array([task.rows]), price)
            task.total = float(max(int(noisy[0]), 0))
            task.share -= price
        else:
            task.budget.assume("the number of records" + (" of every stratum" if task.part else ""))
        if task.structure.masks and task.budget is not None:
            # An error would tell that somebody is in an impossible cell: under a guarantee such records are left out.
            possible = task.structure.allows(task.codes)
            task.codes = [codes[possible] for codes in task.codes]
            task.rows = int(np.count_nonzero(possible))
        return Stratum(place, int(task.total), self._fit_task(task))


def _parts(
    coding: Coding, codes: list[IntArray], split: tuple[int, ...], rows: int
) -> list[tuple[tuple[int, ...], list[IntArray], int]]:
    """Rows of every combination of the strata, as codes of the other columns."""
    others = [codes[i] for i in range(len(codes)) if i not in split]
    if not split:
        return [((), others, rows)]
    sizes = [coding.sizes[i] for i in split]
    key = (
        np.ravel_multi_index(tuple(codes[i].astype(np.int64) for i in split), sizes)
        if rows
        else np.zeros(0, np.int64)
    )
    result = []
    for cell in range(int(np.prod(sizes))):
        inside = key == cell
        place = tuple(int(p) for p in np.unravel_index(cell, sizes))
        result.append((place, [c[inside] for c in others], int(np.count_nonzero(inside))))
    return result


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise OptionError(f"unknown {name} {value!r}; use one of {', '.join(allowed)}")
