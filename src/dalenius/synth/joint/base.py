"""What all joint models share: codes, strata, structural zeros and the privacy budget."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np

from dalenius.core.errors import OptionError, names
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.data.declared import declared_origin
from dalenius.data.exit import releasable
from dalenius.data.frames import Origin
from dalenius.data.grouping import Method
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.data.vector import IntArray
from dalenius.dp.budget import Budget, Neighbours
from dalenius.dp.contributions import bound_units
from dalenius.dp.ledger import open_ledger
from dalenius.dp.repair import simplex
from dalenius.synth.base import Synthesizer, absent
from dalenius.synth.counted import StreamTable
from dalenius.synth.joint.coding import Coding, Groups, refuse_undeclared
from dalenius.synth.joint.model import Distribution, JointModel, Stratum
from dalenius.synth.joint.records import Coded, Records, Tallied
from dalenius.synth.joint.structure import Rule, Structure
from dalenius.synth.joint.task import Task

Domain = Literal["declared", "from-data"]
Total = Literal["public", "noised", "invariant"]
Drawing = Literal["independent", "even"]
Part: TypeAlias = tuple[tuple[int, ...], Records, int]
"""One stratum: codes of the stratifying columns, its rows in codes of the other columns, and how many there are."""
Prior = Annotated[
    float,
    Option(
        at_least=0,
        title="Weight of combinations nobody has",
        meaning="Adds made-up weight to combinations of answers that no real person gave. More: safer, further from "
        "the data.",
        knob=True,
    ),
]
PRIVATE = (
    "The method comes with a mathematical promise (differential privacy): whatever comes out would hardly change if "
    "any one person were not in the data. How strong it is stands in its privacy budget."
)
TOTAL_SHARE = 0.05
"""Share of the budget that a noised number of records costs."""
READ_OFF = 'the levels, bounds and breaks, which were read off the confidential data (domain="from-data")'
MOST_STRATA = 2**16
"""Combinations of strata, each of which is a model of its own."""


@dataclass(frozen=True)
class JointSynthesizer(Synthesizer):
    """Options of every joint model.

    Parameters
    ----------
    epsilon, delta
        Privacy budget. None: no differential privacy. δ = 0: discrete Laplace noise; δ > 0: discrete Gaussian noise,
        zero-concentrated accounting.
    neighbours
        "add-remove" protects whether a record is there, "replace" what it says (twice the noise scale). Default:
        "add-remove", or "replace" where the total is public.
    domain
        With a budget: "declared" refuses columns that are not declared in the schema, levels or bounds, kind and codes;
        "from-data" accepts the leak, and the notes say so.
    total
        With a budget: the number of records is "noised" (a twentieth of the budget; the default with add-remove), or
        "public" (the default with replace), or "invariant": kept exactly, and listed as not protected.
    groups, grouping, breaks, values
        How numbers are grouped, given breaks per column, and declared values that may be drawn within them.
    strata
        Columns whose combinations are synthesized apart. Under a budget the largest stratum counts, not the sum; the
        number of records of each is noised.
    drawing
        "independent": every row is a draw of its own. "even": each cell gets its expected number of rows, rounded up or
        down by chance, so that drawing adds hardly any error to that of the noise. It needs a budget (without one it
        would copy the data), and repeats more of the unique records than independent draws do.
    contribution
        With a budget, where a column has the role entity or household: the most records one unit may have. Further ones
        are left out, and the noise grows with the number, so that the whole unit is protected.
    invariants
        With a budget: tables (lists of columns) that are kept exactly because you say so. They are not protected, and
        the ledger lists them; so is the number of records, which they give away.
    ledger
        With a budget: the ledger of the data set (a `Budget`, or its file), out of which this fit is paid before it
        draws any noise.
    structural_zeros
        Impossible combinations, for example ``[{"age": (0, 16), "marital": ["married", "widowed"]}]``.
    """

    epsilon: Annotated[
        float | None,
        Option(
            title="Privacy budget (ε), or empty",
            meaning="Empty: no noise and no mathematical promise. A number adds noise: below 1 is strong, 1 to 10 is "
            "usual.",
            knob=True,
        ),
    ] = None
    delta: float = 0.0
    neighbours: Neighbours | None = None
    domain: Annotated[
        Domain,
        Option(
            title="Where the list of possible answers comes from",
            meaning="The mathematical promise holds only if the list of possible answers is public knowledge.",
            knob=True,
            choices={
                "declared": "it is public and written in the schema",
                "from-data": "read it off the data (weakens the promise)",
            },
        ),
    ] = "declared"
    total: Total | None = None
    groups: Annotated[
        int,
        Option(
            at_least=1,
            title="Groups of a number",
            meaning="Numbers such as age or income are put into this many groups first. Fewer: safer, coarser.",
            knob=True,
        ),
    ] = 5
    grouping: Method = "quantile"
    breaks: Mapping[str, Sequence[float]] | None = None
    values: Mapping[str, Sequence[float]] | None = None
    strata: Sequence[str] | str = ()
    drawing: Drawing = "independent"
    contribution: Annotated[int | None, Option(at_least=1)] = None
    invariants: Sequence[Sequence[str]] = ()
    ledger: str | Budget | None = None
    structural_zeros: Sequence[Rule] = ()

    uses_units = True
    reads_counts = True
    model: ClassVar[type[JointModel]]

    def conflicts(self) -> list[str]:
        """Options that need a budget, or do not go with it."""
        wrong = []
        if self.drawing == "even" and self.epsilon is None:
            wrong.append("even drawing copies the counts of the data; use it with epsilon only")
        if self.drawing == "even" and self._poisson():
            wrong.append("even drawing does not go with a random number of rows; leave out one of them")
        if self.epsilon is None and self.delta:
            wrong.append("delta is given without epsilon; give both, or neither")
        if self.epsilon is None and self.contribution is not None:
            wrong.append("contribution bounds the records of a unit under a budget; give epsilon too")
        if not self.private and self.ledger is not None:
            wrong.append("a ledger pays for a budget; give epsilon too")
        if self.epsilon is None and self.invariants:
            wrong.append("invariants are kept exactly under a budget; give epsilon too")
        if self._size == "public" and (self.protects == "add-remove" or (self.contribution or 1) > 1):
            wrong.append(
                "a public number of records tells whether a record (or how many of a unit) is there; use "
                'neighbours="replace" without contribution, total="noised", or total="invariant" to keep it unprotected'
            )
        for settled in (self._budget, lambda: self._groups):
            try:
                settled()
            except OptionError as error:
                wrong += error.faults
        return wrong

    def faults_for(self, table: Table) -> list[str]:
        """Columns that the options name and the table has not."""
        kept = releasable(table)
        named = {"strata": self._strata, "breaks": self.breaks or (), "values": self.values or ()}
        wrong = [fault for option, wanted in named.items() for fault in absent(option, wanted, kept)]
        return super().faults_for(table) or wrong

    @property
    def repeatable(self) -> bool:
        """Without a budget; the noise of a budget is drawn afresh."""
        return not self.private and self.info.seedable

    @property
    def promise(self) -> str:
        """With a budget, differential privacy."""
        return PRIVATE if self.private else self.info.promise

    @abstractmethod
    def _fit_task(self, task: Task) -> Distribution:
        """Distribution of one stratum."""

    @property
    def private(self) -> bool:
        """Whether a budget is promised, so that nothing may be read off the data without paying."""
        return self.epsilon is not None

    @property
    def _declared(self) -> bool:
        """Whether the schema is all that may be known beforehand."""
        return self.private and self.domain == "declared"

    @property
    def protects(self) -> Neighbours:
        """Who neighbours are, where it was not said."""
        return self.neighbours or ("replace" if self.total == "public" else "add-remove")

    @property
    def _size(self) -> Total:
        """What becomes of the number of records; an exact table would give it away anyway."""
        if self.invariants:
            return "invariant"
        known = self.protects == "replace" and (self.contribution or 1) == 1
        return self.total or ("public" if known else "noised")

    def _fit(self, table: Table, seed: Seed) -> JointModel:
        budget = self._budget()
        if budget is not None and self.contribution is not None:
            budget.unit = owner_column(table.schema) or "record"
        if self._declared:
            refuse_undeclared(table.schema, self._groups)
        bounded, said = (table, []) if budget is None else bound_units(table, self.contribution)
        kept = releasable(bounded)
        coding = self._coding(kept, budget)
        split = self._split(coding)
        parts = _parts(coding, coding.encode(kept), split, kept.rows)
        return self._fit_parts(kept, coding, budget, parts, seed, said, table.origin)

    def _fit_stream(self, stream: StreamTable, seed: Seed) -> JointModel:
        budget = self._budget()
        if self._declared:
            refuse_undeclared(stream.schema, self._groups)
            coding = Coding.declared(stream.empty, self._groups)
        else:
            if budget is not None:
                budget.assume(READ_OFF)
            known = stream.guarded(numbers_alone=True) if self.private else stream.guarded()
            coding = Coding.from_counted(known, self._groups, keep_values=not self.private)
        leaves = stream.guarded(budget=self.private)
        encoders = stream.encoders({c.column.name: c.encode for c in coding.columns}, budget=self.private)
        records = Tallied(coding.sizes, stream.counter(coding.names, encoders, coding.sizes))
        return self._fit_parts(
            stream, coding, budget, [((), records, stream.rows)], seed, [], stream.origin(leaves)
        )

    def stream_faults(self, schema: Schema) -> list[str]:
        """What cannot be done without rows."""
        named = {"strata": self._strata, "structural_zeros": self.structural_zeros}
        wrong = [
            f"{option} need rows in memory; leave them out, or read the file"
            for option, held in named.items()
            if held
        ]
        return [*super().stream_faults(schema), *wrong]

    def _fit_parts(
        self, kept: Table | StreamTable, coding: Coding, budget: Budget | None, parts: Sequence[Part], seed: Seed,
        said: Sequence[str], origin: Origin,
    ) -> JointModel:  # fmt: skip
        split = self._split(coding)
        inner = Coding(tuple(c for i, c in enumerate(coding.columns) if i not in split))
        structure = Structure.of(inner, self.structural_zeros)
        exact = self._exact(coding, split, inner.names)
        notes = [*(self._say_strata(parts) if split else ()), *said]
        stated = self._stated(budget)
        if stated is not None and self.ledger is not None:
            pays = self.ledger if isinstance(self.ledger, Budget) else open_ledger(self.ledger)
            pays.charge(stated, f"{self.info.name}: {', '.join(coding.names)}", "synthetic file")
        strata = []
        for place, records, rows in parts:
            task = Task(
                inner.names, inner.sizes, records, rows, float(rows), structure, budget,
                budget.total if budget else 0.0, ("strata", "/".join(map(str, place))) if split else None, seed, notes,
                exact, even=self.drawing == "even",
            )  # fmt: skip
            strata.append(self._fit_stratum(task, place))
        if budget is not None:
            strata = self._sized(strata, kept.rows)
            notes.append(f"number of records: {self._say_size(bool(split))}; {budget.protects}")
            notes.append(f"differential privacy: {budget.guarantee}, {budget.protects}")
        # The columns as the coding has them: under a declared domain they hold nothing that was read off the data.
        schema = kept.schema.replace_columns(*(c.column for c in coding.columns))
        return self.model(
            schema, self._rows(strata) if self.private else kept.rows, coding, strata, split=split,
            notes=[*notes, *(budget.assumptions if budget else [])], ledger=str(budget) if budget else "",
            origin=declared_origin(origin, schema) if self._declared else origin,
            poisson=self._poisson(), even=self.drawing == "even",
        )  # fmt: skip

    def _budget(self) -> Budget | None:
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, self.delta, self.protects, records=self.contribution or 1)

    def _stated(self, budget: Budget | None) -> Budget | None:
        """What a ledger pays."""
        return budget

    def _exact(self, coding: Coding, split: tuple[int, ...], inner: Sequence[str]) -> list[tuple[int, ...]]:
        """Tables that are kept exactly, as positions among the columns within a stratum."""
        strata = {coding.names[i] for i in split}
        result = []
        for table in self.invariants:
            absent = [name for name in table if name not in coding.names]
            if absent or not table:
                raise OptionError(f"invariants name {names(absent)}, which is not a column of the data")
            inside = tuple(sorted({inner.index(name) for name in table if name not in strata}))
            if inside and strata - set(table):
                raise OptionError(
                    f"invariant {' × '.join(table)}: with strata, an exact table has all of them; add "
                    f"{names(sorted(strata - set(table)))}, or leave strata out"
                )
            if inside:
                result.append(inside)
        return result

    @property
    def _exact_strata(self) -> bool:
        """Whether the sizes of the strata follow from a table that is kept exactly."""
        return any(set(self._strata) <= set(table) for table in self.invariants)

    @property
    def _strata(self) -> list[str]:
        return [self.strata] if isinstance(self.strata, str) else list(dict.fromkeys(self.strata))

    def _sized(self, strata: list[Stratum], rows: int) -> list[Stratum]:
        """Strata whose sizes add up to the number of records where that is public."""
        if self._size == "noised" or len(strata) == 1 or self._exact_strata:
            return strata
        noisy = np.array([stratum.rows for stratum in strata], dtype=np.float64)
        fair = simplex(noisy, float(rows))
        ends = np.floor(np.cumsum(fair) + 0.5).astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        return [replace(s, rows=int(n)) for s, n in zip(strata, sizes, strict=True)]

    def _rows(self, strata: list[Stratum]) -> int:
        """Rows to draw by default; noise below 0 must not be an error, which would tell of few records."""
        return sum(s.rows for s in strata) or int(self._size == "noised")

    def _say_size(self, split: bool) -> str:
        said = {
            "noised": "noised, part of the budget paid for it",
            "public": "public, the same for all neighbours",
            "invariant": "exact and not protected, as you asked for",
        }[self._size]
        return said + ("; that of each stratum is noised" if split and not self._exact_strata else "")

    def _say_strata(self, parts: Sequence[Part]) -> list[str]:
        """How many strata there are; which of them are empty is told only without a budget."""
        said = f"{len(parts)} strata, each fitted apart"
        empty = sum(1 for _, _, rows in parts if rows == 0)
        if empty and not self.private:
            said += f"; {empty} of them have no rows and get none"
        return [said]

    def _poisson(self) -> bool:
        return False

    @property
    def _groups(self) -> Groups:
        return Groups(self.groups, self.grouping, self.breaks, self.values)

    def _coding(self, table: Table, budget: Budget | None) -> Coding:
        if not self.private:
            return Coding.from_data(table, self._groups)
        if self._declared:
            return Coding.declared(table, self._groups)
        if budget is not None:
            budget.assume(READ_OFF)
        return Coding.from_data(table, self._groups, keep_values=False)

    def _split(self, coding: Coding) -> tuple[int, ...]:
        wanted = self._strata
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
        coded = task.records if isinstance(task.records, Coded) else None
        if not self.private and coded is not None:
            task.structure.refuse_contradiction(coded.codes)
        if task.budget is not None:
            self._know_size(task, task.budget)
        if task.structure.masks and self.private and coded is not None:
            # An error would tell that somebody is in an impossible cell: under a guarantee such records are left out.
            possible = task.structure.allows(coded.codes)
            task.records = coded.where(possible)
            task.rows = int(np.count_nonzero(possible))
        table = self._fit_task(task)  # may learn more about the total
        return Stratum(place, int(task.total), table)

    def _know_size(self, task: Task, budget: Budget) -> None:
        """The number of records the model may know: exact where that is public or not protected, noisy otherwise."""
        if self._size == "invariant" and (task.part is None or self._exact_strata):
            budget.expose("the number of records" + (" of every stratum" if task.part else ""))
        elif self._size == "public" and task.part is None:
            budget.assume("the number of records")
        else:
            price = TOTAL_SHARE * task.share
            noisy, task.unsure = task.measure("number of records", np.array([task.rows]), price)
            task.total = float(max(int(noisy[0]), 0))
            task.share -= price
        for table in task.exact:
            budget.expose(f"the exact table {' × '.join(task.names[v] for v in table)}")


def _parts(coding: Coding, codes: list[IntArray], split: tuple[int, ...], rows: int) -> list[Part]:
    """Rows of every combination of the strata, as codes of the other columns."""
    others = [codes[i] for i in range(len(codes)) if i not in split]
    inner = tuple(size for i, size in enumerate(coding.sizes) if i not in split)
    if not split:
        return [((), Coded(others, inner), rows)]
    sizes = [coding.sizes[i] for i in split]
    key = (
        np.ravel_multi_index(tuple(codes[i].astype(np.int64) for i in split), sizes)
        if rows
        else np.zeros(0, np.int64)
    )
    result: list[Part] = []
    for cell in range(int(np.prod(sizes))):
        inside = key == cell
        place = tuple(int(p) for p in np.unravel_index(cell, sizes))
        result.append((place, Coded([c[inside] for c in others], inner), int(np.count_nonzero(inside))))
    return result
