"""`Ground`: a table put on the grid once, from which models of any of its columns are built with one shared forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError
from dalenius.data.exit import like_the_next, releasable
from dalenius.data.frames import Origin
from dalenius.data.schema import MIN_UNITS, Column, Schema, unrelated
from dalenius.data.table import Table
from dalenius.data.units import owner_columns
from dalenius.synth.syndiffix.axis import TOP, Axis, Codes
from dalenius.synth.syndiffix.buckets import Buckets, buckets_of
from dalenius.synth.syndiffix.casting import Casting, Snapping
from dalenius.synth.syndiffix.clusters import (
    ClusterOptions,
    Plan,
    alone,
    plan_for_target,
    solve,
    weights_of,
)
from dalenius.synth.syndiffix.dependence import (
    Matrix,
    dependence_matrix,
    entropies,
    sample_forest,
    worth_sampling,
)
from dalenius.synth.syndiffix.forest import MOST_DIMENSIONS, Combination, Forest, Settings
from dalenius.synth.syndiffix.model import SynDiffixModel
from dalenius.synth.syndiffix.noise import fingerprint
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.outlook import Outlook, Rare, look
from dalenius.synth.syndiffix.raking import rake
from dalenius.synth.syndiffix.units import Units

Clustering = Literal["auto", "single", "none"]
ONE_CLUSTER = 4
"""Tables of at most this many columns are always one cluster."""


@dataclass(frozen=True)
class Method:
    """All options of the method but the salt and the choice of columns.

    Examples
    --------
    >>> Method().snapping
    'data'
    """

    snapping: Snapping = "data"
    precision: Mapping[str, float] = field(default_factory=dict)
    safe: frozenset[str] = frozenset()
    rare: Rare = "auto"
    known_values: bool = False
    rake: bool = True
    anonymity: Anonymity = field(default_factory=Anonymity)
    growth: Growth = field(default_factory=Growth)
    clusters: ClusterOptions = field(default_factory=ClusterOptions)
    threads: int | None = None


class Ground:
    """A table on the grid.

    Examples
    --------
    >>> table = Table.from_frame({"a": ["x", "y"] * 50, "b": list(range(100))})
    >>> Ground.of(table, b"secret", Method()).model(["a"]).sample(3, seed=1).rows
    3
    """

    def __init__(
        self, originals: Sequence[Column], cast: Sequence[tuple[Axis, Codes]], units: Units, salt: bytes,
        method: Method, rows: npt.NDArray[np.int64] | None = None, origin: Origin | None = None,
    ) -> None:  # fmt: skip
        self.originals = list(originals)
        self.cast = list(cast)
        self.units = units
        self.method = method
        self.origin = origin
        self.names = [column.name for column in originals]
        self.settings = Settings(salt, method.anonymity, method.growth, method.safe, method.threads)
        self.weights = rows

    @classmethod
    def of(cls, table: Table, salt: bytes, method: Method, columns: Sequence[str] | None = None) -> Ground:
        """Put a table on the grid; its unit columns (entity, household) say who is protected."""
        kept = releasable(table)
        chosen = list(columns) if columns else kept.names
        for name in chosen:
            if name not in kept:
                raise DataError(
                    f"no column {name!r} to synthesize; there are {', '.join(map(repr, kept.names))}"
                )
        unknown = [name for name in (*method.safe, *method.precision) if name not in kept]
        if unknown:
            raise OptionError(f"options name the column {unknown[0]!r}, which is not in the table")
        useless = [name for name in method.precision if not kept[name].is_number]
        if useless:
            raise OptionError(f"precision is a width of numbers; column {useless[0]!r} holds none")
        method = as_the_schema_says(method, kept.schema)
        casting = Casting(method.snapping, method.precision)
        cast = [casting.cast(kept[name]) for name in chosen]
        vectors = [kept[name] for name in chosen]
        units = units_of(table, salt)
        return cls([v.column for v in vectors], cast, units, salt, method, origin=table.origin)

    @cached_property
    def forest(self) -> Forest:
        """The forest of all columns; trees of more than one column are built when asked for."""
        return Forest(
            [a for a, _ in self.cast], [c for _, c in self.cast], self.units, self.settings, self.weights
        )

    @cached_property
    def rows(self) -> int:
        """Rows to draw: those there are, or their noisy count where a unit owns so many that it would show."""
        each = np.ones(len(self.units.counts), np.int64) if self.weights is None else self.weights
        owned = [np.bincount(codes[codes >= 0], each[codes >= 0]) for codes in self.units.codes]
        uneven = any(like_the_next(rows, MIN_UNITS) < rows.sum() for rows in owned)
        return round(self.margins[0].rows) if uneven else int(each.sum())

    @cached_property
    def margins(self) -> list[Buckets]:
        """Buckets of each column alone, ascending."""
        return [buckets_of(self.forest, (i,)).merged() for i in range(len(self.names))]

    @cached_property
    def entropies(self) -> Matrix:
        """Noisy entropy of each column."""
        return entropies(self.forest)

    def dependences(self, positions: Sequence[int]) -> Matrix:
        """Dependence of some columns, measured on a sample of rows where that saves work."""
        size = self.method.clusters.sample
        if not worth_sampling(len(self.units.counts), len(positions), size):
            forest = self.forest
            if len(positions) == len(self.names):
                return dependence_matrix(forest)
            axes, codes = [self.cast[i][0] for i in positions], [self.cast[i][1] for i in positions]
            small = Forest(axes, codes, self.units, self.settings, self.weights, harvested=False)
            return dependence_matrix(small)
        axes, codes = [self.cast[i][0] for i in positions], [self.cast[i][1] for i in positions]
        return dependence_matrix(sample_forest(axes, codes, self.units, self.settings, size))

    def positions(self, names: Sequence[str]) -> list[int]:
        """Places of columns, in table order."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise DataError(f"no column {missing[0]!r}; there are {', '.join(map(repr, self.names))}")
        return sorted({self.names.index(name) for name in names})

    def plan(
        self, positions: Sequence[int], clustering: Clustering = "auto", target: int | None = None,
        features: Sequence[int] = (),
    ) -> Plan:  # fmt: skip
        """Clusters for some columns, in positions of the whole table."""
        count = len(positions)
        if target is not None:
            local = [positions.index(f) for f in features]
            weights = weights_of(self.entropies[list(positions)])
            plan = plan_for_target(positions.index(target), local, count, weights, self.method.clusters.most)
        elif clustering == "none":
            plan = alone(count)
        elif clustering == "single" or count <= ONE_CLUSTER:
            if count > MOST_DIMENSIONS:
                raise OptionError(
                    f"one cluster holds at most {MOST_DIMENSIONS} columns; use clustering 'auto'"
                )
            plan = Plan(tuple(range(count)))
        else:
            plan = solve(self.dependences(positions), self.entropies[list(positions)], self.method.clusters)
        return plan

    def model(
        self, names: Sequence[str] | None = None, clustering: Clustering = "auto", target: str | None = None,
        features: Sequence[str] = (),
    ) -> SynDiffixModel:  # fmt: skip
        """A model of some columns."""
        places = self.positions(self.names if names is None else names)
        goal = None if target is None else self.positions([target])[0]
        plan = self.plan(places, clustering, goal, [self.names.index(f) for f in features])
        combinations = [tuple(places[i] for i in c) for c in plan.combinations]
        self.forest.build(combinations)
        return self.assemble(places, plan, self.forest.each(self.buckets, combinations))

    def buckets(self, combination: Combination) -> Buckets:
        """Buckets of a combination of columns, raked to the columns' own margins if asked for."""
        held = buckets_of(self.forest, combination)
        if not self.method.rake:
            return held
        return rake(held, [self.margins[i] for i in combination], [self.forest.axes[i] for i in combination])

    def assemble(self, places: Sequence[int], plan: Plan, sets: Sequence[Buckets]) -> SynDiffixModel:
        """Turn bucket sets (in positions of the whole table) into a model of some columns."""
        outlooks = [self.outlook(i, sets) for i in places]
        schema = Schema(unrelated(outlook.axis.column for outlook in outlooks))
        local = [Buckets(c, b.low, b.high, b.weight) for c, b in zip(plan.combinations, sets, strict=True)]
        entropies = [float(self.entropies[i]) for i in places]
        mark = fingerprint(self.settings.salt)
        return SynDiffixModel(schema, self.rows, outlooks, plan, local, entropies, mark, self.origin)

    def outlook(self, i: int, sets: Sequence[Buckets]) -> Outlook:
        """How codes of a column become values."""
        here = [(held, held.columns.index(i)) for held in sets if i in held.columns]
        public = self.names[i] in self.method.safe
        forest = self.forest
        made = look(
            forest.axes[i], self.originals[i], forest.trees[(i,)], [*here, (self.margins[i], 0)], public,
            self.method.rare, self.method.known_values,
        )  # fmt: skip
        if not public or made.axis.kind == "levels":
            return made
        # The tree stops above values that few share, and outliers are cut off: not where everybody knows the values.
        codes = self.cast[i][1]
        return replace(made, edges=None, known=np.unique(codes[codes < TOP]))


def as_the_schema_says(method: Method, schema: Schema) -> Method:
    """Columns whose values may leave are public; a value needs as many units as the schema asks for."""
    public = {column.name for column in schema if column.release == "as-is"}
    anonymity = method.anonymity
    if schema.min_units > MIN_UNITS:
        anonymity = replace(anonymity, low=max(anonymity.low, schema.min_units))
    return replace(method, safe=method.safe | public, anonymity=anonymity)


def units_of(table: Table, salt: bytes) -> Units:
    """Units of protection of a table: its entity and household columns, or each row on its own."""
    named = owner_columns(table.schema)
    if not named or not table.rows:
        return Units.of_rows(table.rows, salt)
    return Units.of_columns([table[name] for name in named], salt)
