"""Series of readings replaced by the mean of a group of homes in which no cell tells too much."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import counted, names, no_column
from dalenius.core.option import Option, unchecked
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.keyed import keyed
from dalenius.data.schema import Column, Kind
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector
from dalenius.mask.needs import number_faults
from dalenius.mask.neighbours import Floats
from dalenius.mask.series import (
    cell_sensitivity,
    from_long,
    group_means,
    group_series,
    long_faults,
    merge_until_safe,
    own_cluster,
    reading_faults,
)
from dalenius.tables.rules import PPercent

NUMBERS = re.compile(r"\d+")


@step
@dataclass(frozen=True)
class AverageSeries(Step):
    """Every home gets the mean readings of its group; groups are merged until all are safe.

    A file has one row a home and one column a slot, or one row a reading, with columns that say whose and when. The
    column that says whose gets new numbers: a meter's own leads to its home.

    Examples
    --------
    >>> from dalenius.mask.series import example_homes
    >>> x = example_homes(60)[:, :4].astype(float)
    >>> table = Table.from_frame({f"s{j}": x[:, j] for j in range(4)})
    >>> made = AverageSeries(tuple(table.names), k=5).apply(table)
    >>> made.figures["sensitive cells"], made.figures["smallest group"] >= 5
    (0.0, True)
    >>> long = {"who": np.repeat(range(60), 4), "at": [0, 1, 2, 3] * 60, "kwh": x.ravel()}
    >>> again = AverageSeries(("kwh",), k=5, home="who", time="at").apply(Table.from_frame(long))
    >>> bool((again.table["kwh"].data.reshape(60, 4)[:, 2] == made.table["s2"].data).all())
    True
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="average-series",
        title="Series averaged over groups",
        meaning="Replaces the readings of each home by the mean of a group, merged until no cell breaks the p % rule.",
        plain="Homes that use power alike are put together, and only what they use on average is shown.",
        guarantee="none",
        reference="Navarro-Arribas and Torra 2024",
        example_options={"variables": ["age", "weight"], "k": 5},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...], Option(title="Slots", meaning="columns of readings, in the order of time, or s*")
    ]
    k: Annotated[
        int,
        Option(
            at_least=2, title="Group size", meaning="fewest homes of a group: the more, the safer", knob=True
        ),
    ] = 5
    p: Annotated[
        float,
        Option(
            above=0, below=100, title="p %", meaning="how near a member may come to the largest of the others"
        ),
    ] = 66.0
    profile: Annotated[
        int | None, Option(at_least=1, title="Slots of a day", meaning="homes are compared by their mean day")
    ] = None
    merge: Annotated[bool, Option(title="Merge", meaning="groups until no cell is sensitive")] = True
    home: Annotated[str, Option(title="Home", meaning="column that says whose; homes are numbered anew")] = ""
    time: Annotated[
        str, Option(title="Time", meaning="column that says when, where readings have a row each")
    ] = ""

    def conflicts(self) -> list[str]:
        """Slots, each once; whose and when together, beside one column of readings."""
        wrong = [] if self.variables else ["variables names none; say which columns hold the readings"]
        wrong += ["a column is named twice"] if len(set(self.variables)) < len(self.variables) else []
        if self.time and not self.home:
            wrong.append("time needs home, the column that says whose; leave both out for one column a slot")
        elif self.time and (len(self.variables) != 1 or len({*self.variables, self.home, self.time}) < 3):
            wrong.append("with home and time, variables names the one other column that holds the readings")
        elif self.home in self.variables:
            wrong.append(f"{self.home!r} says whose the readings are; it is none of them")
        return wrong

    def faults(self, table: Table) -> list[str]:
        """Numbers of two homes or more, without gaps or negative ones, and no more in a group than there are."""
        spelt = self._spelt(table)
        return spelt._faults(table) + spelt._forgotten(table)

    def _spelt(self, table: Table) -> Self:
        """The step with the columns that a pattern such as ``s*`` stands for."""
        held = [
            each
            for name in self.variables
            for each in (fnmatch.filter(table.names, name) if "*" in name and name not in table else [name])
            or [name]
        ]
        made = unchecked(type(self), {**vars(self), "variables": tuple(dict.fromkeys(held))})
        assert made is not None
        return made

    def _forgotten(self, table: Table) -> list[str]:
        """Columns that are called like the readings, and would leave as they are."""
        stems = {NUMBERS.sub("#", name) for name in self.variables}
        if self.time or len(self.variables) < 2 or len(stems) > 1 or "#" not in min(stems):
            return []
        more = [
            n
            for n in table.names
            if n not in self.variables and NUMBERS.sub("#", n) in stems and table[n].is_number
        ]
        told = f"{names(more, 3)}: called like the readings, and would leave as they are; name them too, or drop them"
        return [told] if more else []

    def _faults(self, table: Table) -> list[str]:
        absent = [name for name in (self.home, self.time) if name and name not in table]
        wrong = Step.faults(self, table) + ([no_column(absent, table.names)] if absent else [])
        if self.time:
            return wrong + self._long_faults(table)
        if table.rows < 2 or table.rows < self.k:
            wrong.append(
                f"the file has {counted(table.rows, 'home')}, fewer than k = {max(self.k, 2)}; use a smaller k"
            )
        wrong += number_faults(table, self.variables)
        usable = [table[name].floats() for name in self.variables if name in table and table[name].is_number]
        return wrong + (reading_faults(np.column_stack(usable)) if usable else [])

    def _long_faults(self, table: Table) -> list[str]:
        """The same for one row a reading: gaps and hours that come twice among them."""
        wrong = number_faults(table, self.variables)
        named = [name for name in (self.home, self.time) if name in table]
        known = np.all([np.ones(table.rows, bool), *(table[name].present for name in named)], axis=0)
        for name in named:
            gaps = int(np.count_nonzero(~table[name].present))
            wrong += (
                [f"column {name!r} has {counted(gaps, 'row')} without a value; fill them"] if gaps else []
            )
        some = table.take(np.flatnonzero(known))
        if self.home in table:
            homes = len(np.unique(_ordered(some[self.home])))
            if 1 < homes < self.k:
                wrong.append(
                    f"the file has {counted(homes, 'home')}, fewer than k = {self.k}; use a smaller k"
                )
        if len(named) == 2:
            wrong += long_faults(*(_ordered(some[name]) for name in named))
        readings = [
            table[name].floats() for name in self.variables if name in table and table[name].is_number
        ]
        return wrong + (reading_faults(np.column_stack(readings)) if readings else [])

    def cost(self, shape: Shape) -> Cost:
        """Homes are compared with each other, slots looked at once."""
        cells = shape.rows * max(len(self.variables), 1)
        return Cost(0.05 + 2e-7 * cells + 1e-6 * shape.rows**1.25, 40.0 * cells)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        return self._spelt(table)._averaged(table, seed)

    def _averaged(self, table: Table, seed: Seed) -> Masked:
        if self.time:
            whose, when = _ordered(table[self.home]), _ordered(table[self.time])
            values = from_long(whose, when, table[self.variables[0]].floats())[0]
        else:
            values = np.column_stack([table[name].floats() for name in self.variables])
        rule = PPercent(self.p)
        labels = group_series(values, self.k, self.profile)
        before = int(cell_sensitivity(values, labels, {"p": rule}).marks["p"].sum())
        labels = merge_until_safe(values, labels, rule, self.profile) if self.merge else labels
        report = cell_sensitivity(values, labels, {"p": rule})
        means = group_means(values, labels)
        if self.time:
            row, slot = (np.unique(each, return_inverse=True)[1] for each in (whose, when))
            made = [_with(table[self.variables[0]], means[labels[row], slot])]
        else:
            made = [_with(table[name], means[labels, j]) for j, name in enumerate(self.variables)]
        found = own_cluster(values, labels)
        figures = {
            "groups": float(len(means)), "smallest group": float(report.sizes.min()),
            "sensitive cells before merging": float(before), "sensitive cells": float(report.marks["p"].sum()),
            "cells with nothing": float(report.zero.sum()), "own group found in %": found.value,
        }  # fmt: skip
        notes = [
            f"{counted(len(means), 'group')} of {int(report.sizes.min())} homes or more; "
            f"{counted(int(figures['sensitive cells']), 'cell')} of {report.zero.size:,} sensitive by {self.p:g} %.",
            found.sentence,
        ]
        if report.zero.any():
            notes.append(
                f"{counted(int(report.zero.sum()), 'cell')} where everybody has 0, which is told exactly."
            )
        if self.home:
            made.append(renumbered(table[self.home], keyed(seed, table)))
            notes.append(f"Homes are numbered anew: nothing of {self.home!r} is left.")
        after = table.with_vectors(*made)
        masked = Masked.of(table, after, perturbed=self.variables, notes=notes, figures=figures)
        gone = {self.home} if self.home else set()  # a new column under the old one's name
        return replace(masked, lens=replace(masked.lens, dropped=masked.lens.dropped | gone))


def renumbered(vector: Vector, seed: Seed) -> Vector:
    """A column of names or numbers in which each has another number, drawn at random, and nothing else is left.

    Examples
    --------
    >>> made = renumbered(Table.from_frame({"meter": [7101, 9304, 7101]})["meter"], 1)
    >>> sorted(set(made.data.tolist())), bool(made.data[0] == made.data[2])
    ([1, 2], True)
    """
    held, ids = np.unique(vector.categories.codes, return_inverse=True)
    column = Column(vector.column.name, Kind.INTEGER, vector.column.roles)
    return Vector(column, 1 + generator(seed, "numbers").permutation(len(held))[ids.ravel()])


def _ordered(vector: Vector) -> AnyArray:
    """Values that can be put in order: numbers and times as they are, others as texts."""
    if vector.is_number:
        return vector.floats()
    return np.array([str(level) for level in vector.levels])[vector.categories.codes]


def _with(vector: Vector, means: Floats) -> Vector:
    """A column of means; whole numbers stay whole."""
    column = replace(vector.column, bounds=None)
    if vector.data.dtype.kind == "f":
        return replace(vector, column=replace(column, decimals=None), data=means, state=None)
    return replace(vector, column=column, data=np.rint(means).astype(vector.data.dtype), state=None)
