"""What all joint models share: codes, strata, structural zeros and the privacy budget."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import one_of, whole_number
from dalenius.core.random import Seed
from dalenius.data.exit import releasable
from dalenius.data.grouping import Method
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.dp.budget import Budget, Neighbours
from dalenius.dp.noise import add_gaussian, add_laplace
from dalenius.synth.base import Synthesizer
from dalenius.synth.joint.coding import Coding, Groups
from dalenius.synth.joint.model import Distribution, JointModel, Stratum
from dalenius.synth.joint.structure import Rule, Structure
from dalenius.synth.joint.units import bound_units

LOG = logging.getLogger("dalenius")
Domain = Literal["declared", "from-data"]
Total = Literal["public", "noised"]
Drawing = Literal["independent", "even"]
Part: TypeAlias = tuple[tuple[int, ...], list[IntArray], int]
"""One stratum: codes of the stratifying columns, codes of the other columns, and its number of rows."""
TOTAL_SHARE = 0.05
"""Share of the budget that a noised number of records costs."""
MOST_STRATA = 2**16
"""Combinations of strata, each of which is a model of its own."""


@dataclass(repr=False)
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

    def spend(self, what: str, price: float, noise: str) -> Budget:
        """Write a spend (ε, or ρ under zCDP) into the ledger, before anything is drawn for it."""
        if self.budget is None:
            raise OptionError("there is no privacy budget to spend")
        unit = "rho" if self.budget.accounting == "zcdp" else "epsilon"
        self.budget.spend(what, **{unit: price}, noise=noise, part=self.part)
        return self.budget

    def deviation(self, price: float) -> float:
        """Standard deviation of the noise on a table that is measured for ``price``."""
        scale, gaussian = self._noise(price)
        return scale if gaussian else float(np.sqrt(laplace_variance(scale)))

    def measure(self, what: str, table: IntArray, price: float) -> tuple[IntArray, float]:
        """A table of counts with noise for ``price`` (ε, or ρ under zCDP), and the variance of the noise."""
        scale, gaussian = self._noise(price)
        self.spend(what, price, f"discrete {'Gaussian' if gaussian else 'Laplace'}, scale {scale:.4g}")
        noisy = add_gaussian(table, scale) if gaussian else add_laplace(table, scale)
        return noisy, self.deviation(price) ** 2

    def _noise(self, price: float) -> tuple[float, bool]:
        """Scale of the noise, and whether it is Gaussian: ρ = s² / (2 σ²) for an L2 sensitivity of s; ε = s / scale."""
        if self.budget is None:
            raise OptionError("there is no privacy budget to spend")
        if self.budget.accounting == "zcdp":
            return float(np.sqrt(self.budget.squared_sensitivity / (2 * price))), True
        return self.budget.sensitivity / price, False


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
    drawing
        "independent": every row is a draw of its own. "even": each cell gets its expected number of rows, rounded up or
        down by chance, so that drawing adds hardly any error to that of the noise. It needs a budget (without one it
        would copy the data), and repeats more of the unique records than independent draws do.
    contribution
        With a budget, where a column has the role entity or household: the most records one unit may have. Further ones
        are left out, and the noise grows with the number, so that the whole unit is protected.
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
    drawing: Drawing = "independent"
    contribution: int | None = None
    structural_zeros: Sequence[Rule] = ()

    uses_units = True
    model: ClassVar[type[JointModel]]

    def __post_init__(self) -> None:
        one_of("domain", self.domain, get_args(Domain))
        one_of("total", self.total, get_args(Total))
        one_of("drawing", self.drawing, get_args(Drawing))
        one_of("neighbours", self.neighbours, get_args(Neighbours))
        if self.contribution is not None:
            whole_number("contribution", self.contribution, 1)
        if self.drawing == "even" and self.epsilon is None:
            raise OptionError("even drawing copies the counts of the data; use it with epsilon only")
        if self.drawing == "even" and self._poisson():
            raise OptionError("even drawing does not go with a random number of rows; leave out one of them")
        if self.epsilon is None and self.delta:
            raise OptionError("delta is given without epsilon; give both, or neither")
        if self.epsilon is None and self.contribution is not None:
            raise OptionError("contribution bounds the records of a unit under a budget; give epsilon too")
        self._budget()
        Groups(self.groups, self.grouping, self.breaks, self.values)

    @abstractmethod
    def _fit_task(self, task: Task) -> Distribution:
        """Distribution of one stratum."""

    def _fit(self, table: Table, seed: Seed) -> JointModel:
        budget = self._budget()
        bounded, said = (table, []) if budget is None else bound_units(table, self.contribution)
        kept = releasable(bounded)
        coding = self._coding(kept, budget)
        split = self._split(coding)
        parts = _parts(coding, coding.encode(kept), split, kept.rows)
        inner = Coding(tuple(c for i, c in enumerate(coding.columns) if i not in split))
        structure = Structure.of(inner, self.structural_zeros)
        notes = [*(self._say_strata(parts) if split else ()), *said]
        strata = []
        for place, codes, rows in parts:
            task = Task(
                inner.names, inner.sizes, codes, rows, float(rows), structure, budget, budget.total if budget else 0.0,
                ("strata", "/".join(map(str, place))) if split else None, seed, notes,
            )  # fmt: skip
            strata.append(self._fit_stratum(task, place))
        if budget is not None:
            notes.append(f"differential privacy: {budget.guarantee}, {budget.protects}")
        rows = kept.rows if budget is None or self.total == "public" else sum(s.rows for s in strata)
        # The columns as the coding has them: under a declared domain they hold nothing that was read off the data.
        schema = kept.schema.replace_columns(*(c.column for c in coding.columns))
        return self.model(
            schema, rows, coding, strata, split=split, notes=[*notes, *(budget.assumptions if budget else [])],
            ledger=str(budget) if budget else "", origin=table.origin, poisson=self._poisson(),
            even=self.drawing == "even",
        )  # fmt: skip

    def _budget(self) -> Budget | None:
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, self.delta, self.neighbours, records=self.contribution or 1)

    def _say_strata(self, parts: Sequence[Part]) -> list[str]:
        """How many strata there are; which of them are empty is told only where their sizes are public."""
        said = f"{len(parts)} strata, each fitted apart"
        empty = sum(1 for _, _, rows in parts if rows == 0)
        if empty and (self.epsilon is None or self.total == "public"):
            said += f"; {empty} of them have no rows and get none"
        return [said]

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
        wanted = [self.strata] if isinstance(self.strata, str) else list(dict.fromkeys(self.strata))
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
        cells = math.prod(coding.columns[coding.names.index(name)].size for name in wanted)
        if cells > MOST_STRATA:
            raise OptionError(
                f"strata {names(wanted)} have {cells:,} combinations, each to be fitted apart; name fewer "
                f"(at most {MOST_STRATA:,} combinations)"
            )
        return tuple(coding.names.index(name) for name in wanted)

    def _fit_stratum(self, task: Task, place: tuple[int, ...]) -> Stratum:
        if task.budget is None:
            task.structure.refuse_contradiction(task.codes)
        elif self.total == "noised" and not (_same_size(task.budget) and task.part is None):
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


def _same_size(budget: Budget) -> bool:
    """Whether neighbouring tables have the same number of records."""
    return budget.neighbours == "replace" and budget.records == 1


def _parts(coding: Coding, codes: list[IntArray], split: tuple[int, ...], rows: int) -> list[Part]:
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
