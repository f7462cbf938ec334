"""`HouseholdPopulation`: a whole population of households from a survey, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.random import DEFAULT_SEED, Seed, generator, sequence
from dalenius.data.exit import guard
from dalenius.data.schema import MIN_UNITS, Column, Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, AnyArray, IntArray, Vector, compact, emptied
from dalenius.synth.population.structure import (
    Structure,
    ages_anew,
    cells,
    draw_households,
    rare_compositions,
)
from dalenius.synth.population.survey import Survey, SurveySpec
from dalenius.synth.population.values import Bands, Classes, Task, draw_classes

AGES = np.array([16, 20, *range(25, 85, 5)])
"""Ends of the groups in which ages predict: children are one group, from 16 on five years each."""
LARGEST = 6
"""Sizes from here on predict alike."""
HOUSEHOLD, MEMBER, SIZE = "household", "member", "size"


@dataclass(frozen=True, eq=False)
class HouseholdPopulation:
    """A population of households; each step gives a new one with more columns.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> sample = examples.population(600).with_columns(weight=pl.lit(20.5))
    >>> spec = SurveySpec("household_id", "region", "weight")
    >>> people = HouseholdPopulation.of(sample, spec, seed=1).structure().categorical(["marital"])
    >>> people.frame().columns
    ['household', 'member', 'size', 'region', 'age', 'sex', 'marital']
    """

    survey: Survey
    seed: Seed
    columns: Mapping[str, Vector] = field(default_factory=dict)
    household: IntArray | None = None
    strata: IntArray | None = None
    sizes: IntArray | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, sample: Any, spec: SurveySpec, seed: Seed = DEFAULT_SEED) -> HouseholdPopulation:
        """The survey, checked, without what no method may learn: values that fewer than three households hold."""
        table = Table.from_frame(sample)
        if spec.household_id not in table:
            raise DataError(f"survey: {no_column([spec.household_id], table.names)}")
        roles = table.with_schema(table.schema.with_roles(household=spec.household_id, entity=[]))
        kept = [spec.weight, spec.strata, *([spec.household_size] if spec.household_size else [])]
        held = guard(roles, seed=seed, as_is=[n for n in kept if n in roles])
        survey = Survey.of(held.table, spec)
        return cls(survey, seed, notes=(*survey.notes, *held.notes))

    @property
    def cells(self) -> pl.DataFrame:
        """Households by stratum and size, as the survey's weights say."""
        counted = cells(self.survey)
        named = {str(label): counted[i] for i, label in enumerate(self.survey.labels)}
        return pl.DataFrame({SIZE: np.arange(1, counted.shape[1] + 1), **named})

    def structure(self, method: Structure = "direct", least: int = MIN_UNITS) -> HouseholdPopulation:
        """Draw the households with the basic columns of their members.

        Parameters
        ----------
        method
            See `draw_households`.
        least
            Households whose members fewer than so many others are like get ages drawn anew within their bands.
        """
        survey, spec = self.survey, self.survey.spec
        drawn = draw_households(survey, method, self.seed)
        order = np.argsort(drawn.strata, kind="stable")
        donor = drawn.donor[order]
        sizes = survey.sizes[donor].astype(np.int16)
        household = np.repeat(np.arange(1, len(donor) + 1, dtype=np.int32), sizes)
        first = np.cumsum(sizes, dtype=np.int64) - sizes
        member = (np.arange(len(household)) - np.repeat(first, sizes)).astype(np.int16)
        row = (survey.starts[donor].astype(np.int32)[household - 1] + member).astype(np.int32)
        columns = {name: survey.table[name].take(row) for name in spec.basic_vars}
        columns |= self._rare_ages(columns, row, least)
        strata = drawn.strata[order][household - 1]
        return replace(self, columns=columns, household=household, strata=strata, sizes=sizes[household - 1])

    def _rare_ages(self, columns: Mapping[str, Vector], row: IntArray, least: int) -> dict[str, Vector]:
        survey, spec = self.survey, self.survey.spec
        if spec.age is None or spec.age not in columns or not columns[spec.age].is_number:
            return {}
        basics = [survey.table[name].floats() for name in spec.basic_vars]
        rare = survey.people(rare_compositions(survey, basics, least))[row]
        others = [survey.table[n].categories for n in spec.basic_vars if n != spec.age]
        code = np.zeros(survey.table.rows, np.int64)
        for one in others:
            code = code * one.size + one.codes
        age = columns[spec.age]
        change = np.flatnonzero(rare & age.present)
        pool = survey.table[spec.age]
        known = pool.present
        drawn = ages_anew(
            age.data[change], code[row[change]], pool.data[known], code[known], generator(self.seed, "ages")
        )
        data = age.data.copy()
        data[change] = drawn
        return {spec.age: replace(age, data=data)}

    def _task(self, predictors: Sequence[str]) -> Task:
        survey = self.survey
        if self.household is None or self.strata is None or self.sizes is None:
            raise OptionError("draw the structure first: .structure()")
        own, other, counts = [], [], []
        for name in predictors:
            if name == SIZE:
                own.append(np.minimum(survey.people(survey.sizes), LARGEST).astype(np.int64))
                other.append(np.minimum(self.sizes, LARGEST))
                counts.append(LARGEST + 1)
                continue
            first, second = survey.table[name], self.columns[name]
            if first.is_number:
                cuts = AGES if name == survey.spec.age else _cuts(first)
                pair: list[AnyArray] = [np.searchsorted(cuts, v.floats(), "right") for v in (first, second)]
                size = int(max(p.max(initial=0) for p in pair)) + 1
            else:
                pair = [v.categories.codes for v in (first, second)]
                size = max(first.categories.size, second.categories.size)
            own.append(pair[0].astype(np.int64))
            other.append(pair[1].astype(np.int16))
            counts.append(size)
        weights = survey.people(survey.weights)
        return Task(own, other, counts, survey.people(survey.strata), self.strata, weights)

    def _predictors(self, predictors: Sequence[str] | None) -> list[str]:
        if predictors is None:
            return [SIZE, *self.columns]
        absent = [n for n in predictors if n != SIZE and n not in self.columns]
        if absent:
            raise OptionError(f"predictors: {no_column(absent, [SIZE, *self.columns])}")
        return list(predictors)

    def categorical(
        self, names: Sequence[str], predictors: Sequence[str] | None = None, method: Classes = "multinom",
        allowed: Mapping[str, Mapping[Any, Sequence[Any]]] | None = None, eps: float | None = None,
    ) -> HouseholdPopulation:  # fmt: skip
        """Draw categories one after the other, each given household size, basic columns and those before.

        Parameters
        ----------
        allowed
            Structural zeros: for a predictor's level the classes that are possible,
            ``{"sex": {"male": ["worker", "retired"]}}``.
        eps
            Chances below it count as 0.
        """
        made = self
        for name in names:
            vector = self.survey.table[name]
            if vector.is_number:
                raise OptionError(f"{name!r} is a number; use continuous")
            held = vector.categories
            use = made._predictors(predictors)
            task = made._task(use)
            limits = {
                use.index(p): made._limits(p, table, held.labels) for p, table in (allowed or {}).items()
            }
            codes = draw_classes(
                task, held.codes.astype(np.int64), held.size, method, sequence(self.seed, name), limits, eps
            )
            made = replace(made, columns={**made.columns, name: _category(vector, codes)})
        return made

    def _limits(self, predictor: str, table: Mapping[Any, Sequence[Any]], labels: Sequence[Any]) -> AnyArray:
        levels = list(self.survey.table[predictor].categories.labels)
        allowed = np.ones((len(levels), len(labels)))
        for level, classes in table.items():
            allowed[levels.index(level)] = [label in classes for label in labels]
        return allowed

    def continuous(
        self, name: str, predictors: Sequence[str] | None = None, *, zeros: bool = True, equidist: bool = False,
        gpd: bool = True, upper: float | None = None, method: Classes = "multinom",
    ) -> HouseholdPopulation:  # fmt: skip
        """Draw a (semi-)continuous column: its class by a multinomial model, then a number within the class."""
        vector = self.survey.table[name]
        values = vector.amounts()
        weights = self.survey.people(self.survey.weights)
        bands = Bands.of(values, weights, zeros, equidist, upper)
        task = self._task(self._predictors(predictors))
        codes = draw_classes(task, bands.codes(values), bands.count, method, sequence(self.seed, name))
        numbers = bands.numbers(codes.astype(np.int64), generator(self.seed, name, "number"), gpd)
        gone = np.isnan(numbers)
        whole = vector.column.kind is Kind.INTEGER
        decimals = vector.column.decimals
        data = np.where(gone, 0, numbers)
        data = (
            np.round(data).astype(np.int64) if whole else np.round(data, 2 if decimals is None else decimals)
        )
        column = Column(name, Kind.INTEGER if whole else Kind.CONTINUOUS, decimals=decimals)
        return replace(self, columns={**self.columns, name: emptied(Vector(column, data), gone)})

    def components(self, total: str, parts: Sequence[str], given: Sequence[str]) -> HouseholdPopulation:
        """Split a drawn total into parts as a person of the survey of the same kind does, drawn by weight."""
        if len(parts) < 2:
            raise OptionError("components: name at least two parts")
        survey = self.survey
        whole = survey.table[total].amounts()
        rows = np.flatnonzero(~np.isnan(whole) & (whole != 0))
        task = self._task(given)
        own = [c[rows] for c in task.survey]
        donor = _donors(
            own, list(task.population), task.sizes, task.weights[rows], generator(self.seed, total, "parts")
        )
        mine = self.columns[total]
        amount = np.abs(mine.floats())
        made = {}
        for part in parts:
            share = np.nan_to_num(survey.table[part].amounts()[rows]) / np.abs(whole[rows])
            values = np.round(share[donor] * np.nan_to_num(amount), 2)
            made[part] = emptied(Vector(Column(part, Kind.CONTINUOUS, decimals=2), values), ~mine.present)
        return replace(self, columns={**self.columns, **made})

    @property
    def people(self) -> int:
        """People of the population."""
        return 0 if self.household is None else len(self.household)

    @property
    def households(self) -> int:
        """Households of the population."""
        return 0 if self.household is None else int(self.household[-1]) if len(self.household) else 0

    def frame(self) -> pl.DataFrame:
        """The population as a Polars frame: one row a person, new numbers of households."""
        if self.household is None or self.strata is None:
            raise OptionError("draw the structure first: .structure()")
        region = pl.Series([str(label) for label in self.survey.labels], dtype=pl.String)
        own = Table.from_vectors(list(self.columns.values()), self.people).to_frame("polars")
        starts = np.append(True, self.household[1:] != self.household[:-1])
        first = np.flatnonzero(starts)
        member = np.arange(self.people) - np.repeat(first, np.diff(np.append(first, self.people))) + 1
        return pl.DataFrame(
            {
                HOUSEHOLD: self.household, MEMBER: member.astype(np.int16), SIZE: self.sizes,
                self.survey.spec.strata: region.cast(pl.Categorical).gather(self.strata),
            }
        ).hstack(own)  # fmt: skip


def _category(vector: Vector, codes: IntArray) -> Vector:
    """Cells of a category from the classes of its levels, special codes and gaps."""
    levels = len(vector.levels)
    special = len(vector.column.special)
    state = np.zeros(len(codes), np.uint8)
    gap = codes >= levels
    state[gap] = np.where(codes[gap] < levels + special, 3 + codes[gap] - levels, MISSING)
    column = replace(vector.column, roles=tuple(r for r in vector.column.roles if r is not Role.STRATUM))
    return Vector(column, compact(np.where(gap, 0, codes), max(levels, 1)), state).tidy()


def _cuts(vector: Vector) -> AnyArray:
    values = vector.values
    return np.unique(np.quantile(values, np.arange(1, 6) / 6)) if len(values) else np.zeros(1)


def _donors(
    own: Sequence[IntArray],
    other: Sequence[IntArray],
    sizes: Sequence[int],
    weights: AnyArray,
    rng: np.random.Generator,
) -> IntArray:
    """A person of the survey of the same kind for each, drawn by weight; the nearest kind where there is none."""
    kinds = [np.zeros(len(own[0]), np.int64), np.zeros(len(other[0]), np.int64)]
    for mine, theirs, size in zip(own, other, sizes, strict=True):
        kinds = [kinds[0] * size + mine, kinds[1] * size + theirs]
    there, wanted = np.unique(kinds[0]), np.unique(kinds[1])
    near = {}
    parts = np.array(np.unravel_index(there, list(sizes)))
    for kind in wanted:
        place = np.array(np.unravel_index(kind, list(sizes)))[:, None]
        near[int(kind)] = int(there[np.argmin(np.abs(parts - place).sum(axis=0))])
    target = np.array([near[int(kind)] for kind in wanted])[np.searchsorted(wanted, kinds[1])]
    order = np.argsort(kinds[0], kind="stable")
    ends = np.append(0.0, np.cumsum(weights[order]))
    low = np.searchsorted(kinds[0][order], target, "left")
    high = np.searchsorted(kinds[0][order], target, "right")
    at = (
        np.searchsorted(ends, ends[low] + rng.random(len(target)) * (ends[high] - ends[low]), side="right")
        - 1
    )
    return order[np.clip(at, low, high - 1)]
