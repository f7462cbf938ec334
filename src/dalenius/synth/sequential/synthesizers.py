"""`Sequential` and its presets: the options of sequential synthesis, and the names they are registered under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DaleniusError
from dalenius.core.option import Option, faults
from dalenius.core.random import Seed, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.exit import releasable
from dalenius.data.schema import Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.synth.base import Progress, Synthesizer, register
from dalenius.synth.sequential.block import Block, BlockMethod
from dalenius.synth.sequential.design import MAX_DUMMIES
from dalenius.synth.sequential.engine import Fitting, fit_sequence
from dalenius.synth.sequential.finishing import Smoothing
from dalenius.synth.sequential.fitted import (
    COLUMN_METHODS,
    Diversity,
    Level,
    MinBucket,
    NotNegative,
    Positive,
    Tuning,
)
from dalenius.synth.sequential.model import SequentialModel
from dalenius.synth.sequential.planning import defined_by_rules, is_free_text, make_plan, option_faults
from dalenius.synth.sequential.surveys import weight_column, weighted
from dalenius.synth.sequential.weights import Weighting

MANY_LEVELS = 50
Visit = Literal["given", "cardinality", "dependence"]


@dataclass(frozen=True)
class Sequential(Synthesizer):
    """One column after another, each from a model of it given those before.

    Attributes
    ----------
    visit
        Order in which columns are drawn: "given" (as in the file), "cardinality" (few values first), "dependence"
        (related columns close together), or a list of names (the rest follows as given).
    predictors
        For some columns, the columns they may be predicted from; default: all drawn before.
    methods
        For some columns, another model than the preset's.
    minbucket, cp, depth
        Smallest leaf, least gain of a split as a share of the root's impurity, and deepest level of a tree.
    evidence
        What a split must earn: with 1, it must bring back at least one more row's own value for each rare level of the
        column (and a share of what chance brings for each other level), so that no small leaf fences in the few who
        hold it. 0 grows trees like synthpop's.
    diversity
        Fewest different values in a leaf. 2 or 3 for a sensitive column stops pure leaves from giving it away.
    smoothing
        Of numbers: "auto" (density smoothing where values are nearly unique), "none", "density", "spline"; or
        by column.
    proper
        Draw the models' parameters too (by resampling or from their posterior), for inference about the population.
    keep
        Columns that are not synthesized (partial synthesis).
    block, block_method
        Columns that are drawn first and together, from a table of them: "loglinear" has all their two-way tables
        (synthpop's ipf as a start), "saturated" all their combinations (catall). The rest follows given them.
    strata
        Columns within whose combinations everything is modelled apart.
    rules
        Rules that every row must keep; default: those of the schema.
    spikes
        Values of a number that a regression treats as categories, by column; default: any with 10 % of the rows.
    passive
        Columns that are computed from others, with their expressions in the language of the rules.
    nested
        For columns whose values lie within those of another (district in region), that other; default: the schema's
        parents. They are drawn within it.
    event
        For columns of times, the column that says whether the event happened (a number other than 0, or the last
        level); both are drawn together, from one leaf of a survival tree.
    weights, weighting
        Column of survey weights (default: the schema's), and what is done with it: "column" draws it like any other,
        last; "predictor" draws it first; "ignore" leaves it out; "pseudo" fits every model with it and leaves it out
        (the output is then like a simple random sample of the population); "population" does the same with one
        population drawn by the weighted Bayesian bootstrap.
    design_strata, psu
        Columns of the sampling design, for a proper synthesis with weights; default: those with the roles stratum and
        psu. Replicate weights of the schema (BRR, bootstrap) are used instead where there are some.
    trees, alpha, donors, ridge
        Trees of a forest; level of the tests of a conditional tree; donors of predictive mean matching; shrinkage of
        regressions.
    tuning
        For some columns, other values of minbucket, cp, evidence, depth, diversity, trees, alpha, donors or ridge.
    threads
        Threads used to fit; the result does not depend on it.
    """

    visit: Visit | Sequence[str] = "given"
    predictors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    minbucket: MinBucket = 5
    cp: NotNegative = 1e-8
    evidence: NotNegative = 1.0
    depth: Positive = 60
    diversity: Diversity = 1
    smoothing: Smoothing | Mapping[str, Smoothing] = "auto"
    proper: bool = False
    keep: Sequence[str] = ()
    block: Sequence[str] = ()
    block_method: BlockMethod = "loglinear"
    strata: Sequence[str] = ()
    rules: Sequence[str] | None = None
    spikes: Mapping[str, Sequence[float]] = field(default_factory=dict)
    passive: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, str] = field(default_factory=dict)
    event: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None
    weighting: Weighting = "column"
    design_strata: str | None = None
    psu: str | None = None
    trees: Positive = 10
    alpha: Level = 0.05
    donors: Positive = 5
    ridge: NotNegative = 1e-5
    tuning: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    threads: Annotated[int | None, Option(at_least=1)] = None
    progress: Fitting | None = field(default=None, repr=False, compare=False)

    model: ClassVar[type[SequentialModel]] = SequentialModel

    def method_for(self, vector: Vector) -> str:
        """The preset's model for a column."""
        return "sample" if is_free_text(vector) else "cart"

    @property
    def draws_parameters(self) -> bool:
        """A proper synthesis, and one of a drawn population, is fitted anew for each copy."""
        return self.proper or self.weighting == "population"

    @property
    def draws_design(self) -> bool:
        """Each copy of a proper weighted synthesis, or of a drawn population, has replicate weights of its own."""
        return self.weighting == "population" or (self.proper and self.weighting == "pseudo")

    def conflicts(self) -> list[str]:
        """Settings of single columns that there are not."""
        there = ", ".join(sorted(COLUMN_METHODS))
        unknown = [m for m in dict.fromkeys(self.methods.values()) if m not in COLUMN_METHODS]
        wrong = [f"methods: no model {method!r} of a column; there are {there}" for method in unknown]
        for column, settings in self.tuning.items():
            wrong += [f"tuning of {column!r}: {fault}" for fault in faults(Tuning, settings)]
            wrong += (
                [f"tuning of {column!r}: proper is for all columns or none"] if "proper" in settings else []
            )
        return wrong + self._block_conflicts()

    def _block_conflicts(self) -> list[str]:
        """Options that a block of first columns does not go with."""
        if not self.block:
            idle = self.block_method != "loglinear"
            return ["block_method has no effect without a block; name its columns (block)"] if idle else []
        weighed = self.weighting in ("pseudo", "population")
        beside = {"keep": self.keep, "strata": self.strata, f"weighting={self.weighting!r}": weighed}
        wrong = [
            f"block does not go with {name}; leave out one of them" for name, there in beside.items() if there
        ]
        if len(set(self.block)) < 2:
            wrong.append("block names fewer than two columns; name those that are to be drawn together")
        for option in ("methods", "predictors", "tuning", "passive", "nested", "event"):
            held = [name for name in self.block if name in getattr(self, option)]
            wrong += (
                [f"{option} of {held[0]!r}: the column is drawn with the block; take it out of one of them"]
                if held
                else []
            )
        return wrong

    def faults_for(self, table: Table) -> list[str]:
        """Columns that the options name and the table has not, models that do not suit their column."""
        return super().faults_for(table) or option_faults(self, releasable(table))

    def telling(self, progress: Progress) -> Sequential:
        """The same method, telling of each column."""
        return replace(self, progress=lambda name, done, of: progress(f"{name}, {done} of {of} columns done"))

    def untouched(self, table: Table) -> set[str]:
        """Those that options name, strata that are read, and those that other rules need on the way."""
        named = super().untouched(table)
        if self.uses_units:
            named |= set(table.schema.by_role(Role.STRATUM))
        try:
            return named | set(defined_by_rules(self, table))
        except DaleniusError:  # a rule that cannot be read is told with all other faults
            return named

    def as_is(self, table: Table) -> list[str]:
        """Kept columns, and those of the sampling design where they are used but not drawn."""
        weight = None if self.weighting in ("column", "predictor") else weight_column(self, table)
        design = (
            [] if weight is None else [n for role in (Role.PSU, Role.FPC) for n in table.schema.by_role(role)]
        )
        named = (n for n in (self.design_strata, self.psu, weight) if n is not None)
        return list(dict.fromkeys([*self.keep, *named, *design]))

    @property
    def rows_fixed(self) -> bool:
        """Kept columns have as many rows as the original."""
        return bool(self.keep)

    @property
    def uses_units(self) -> bool:  # type: ignore[override]
        """Replicate weights and sampling units are read, though they never leave."""
        return self.proper and self.weighting == "pseudo"

    def _fit(self, table: Table, seed: Seed) -> SequentialModel:
        ready = weighted(self, table, seed)
        ready = replace(ready, table=releasable(ready.table))
        first = tuple(dict.fromkeys(self.block))
        # to the columns after it a block is what kept columns are: there already
        plan = make_plan(
            replace(ready.options, block=(), block_method="loglinear", keep=first or self.keep), ready.table
        )
        plan = replace(
            plan, weights=ready.weights, expansion=ready.expansion, notes=(*ready.notes, *plan.notes)
        )
        model = fit_sequence(
            ready.table, plan, seed, self.model, threads=self.threads, progress=self.progress
        )
        if first:
            model.kept = {}
            model.block, said = Block.fit(
                ready.table, first, self.block_method, self.proper, sequence(seed, "block")
            )
            model.notes = [*model.notes, *said]
        return model

    def cost(self, shape: Shape) -> Cost:
        """Every column against all before it, some fifteen levels deep."""
        pairs = shape.columns * (shape.columns - 1) / 2
        cells = shape.rows * shape.columns
        return Cost(
            seconds=0.05 + 1e-7 * shape.rows * (pairs + shape.columns),
            bytes=15.0 * cells + 60.0 * shape.rows,
        )


class CartModel(SequentialModel):
    """Columns drawn from trees."""

    method = "cart"


@register
@dataclass(frozen=True)
class CartSynthesizer(Sequential):
    """Sequential synthesis with trees: the sound first choice for almost any table.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 50, "age": [20, 30, 40, 50] * 25, "job": ["a", "b"] * 50})
    >>> out = CartSynthesizer().fit(table, seed=1).sample(60, seed=2)
    >>> out.rows, out.names
    (60, ['sex', 'age', 'job'])
    """

    info = MethodInfo(
        name="cart",
        title="Sequential trees (CART)",
        meaning="Columns drawn one after the other from leaves of trees on those before: close to the original in "
        "most tables, good with mixed kinds, missing values and special codes.",
        guarantee="none: categories and heaped numbers are values of original records; rules are kept",
        plain="The program learns which answers go together and makes up new people answer by answer, each answer "
        "drawn from a small group of similar real people.",
        reference="Reiter 2005; Nowok, Raab, Dibben 2016 (synthpop)",
    )
    model = CartModel


@register
@dataclass(frozen=True)
class ConditionalTreeSynthesizer(Sequential):
    """Sequential synthesis with conditional inference trees.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 50, "job": ["a", "b"] * 50})
    >>> ConditionalTreeSynthesizer().fit(table, seed=1).sample(5, seed=2).rows
    5
    """

    alpha: Annotated[
        float,
        Option(
            above=0,
            at_most=1,
            title="How sure before splitting",
            meaning="A group is split only if chance alone would give such a difference less often than this. Less: "
            "coarser.",
            knob=True,
        ),
    ] = 0.05

    info = MethodInfo(
        name="ctree",
        title="Sequential conditional inference trees",
        meaning="Like cart, but a split needs a significant test: smaller trees, less copied detail.",
        guarantee="none: values come from original records; rules are kept",
        plain="The program learns which answers clearly go together and makes up new people answer by answer, each "
        "answer drawn from a group of similar real people.",
        reference="Hothorn, Hornik, Zeileis 2006; synthpop: ctree",
    )

    class _Model(SequentialModel):
        method = "ctree"

    model = _Model

    def method_for(self, vector: Vector) -> str:
        """Tested trees for everything but free text."""
        return "sample" if is_free_text(vector) else "ctree"


@register
@dataclass(frozen=True)
class ForestSynthesizer(Sequential):
    """Sequential synthesis with random forests.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 50, "job": ["a", "b"] * 50})
    >>> ForestSynthesizer(trees=3).fit(table, seed=1).sample(5, seed=2).rows
    5
    """

    trees: Annotated[
        int,
        Option(
            at_least=1,
            title="Trees",
            meaning="Trees grown for each column. More: smoother, slower.",
            knob=True,
        ),
    ] = 10

    info = MethodInfo(
        name="forest",
        title="Sequential random forests",
        meaning="Like cart with a random tree of a forest for each row: smoother, and ten times slower.",
        guarantee="none: values come from original records; rules are kept",
        plain="The program learns many times over which answers go together and makes up new people answer by answer.",
        reference="Breiman 2001; Caiola, Reiter 2010; synthpop: rf",
    )

    class _Model(SequentialModel):
        method = "forest"

    model = _Model

    def method_for(self, vector: Vector) -> str:
        """Forests for everything but free text."""
        return "sample" if is_free_text(vector) else "rf"


@register
@dataclass(frozen=True)
class ParametricSynthesizer(Sequential):
    """Sequential synthesis with regressions: normal scores of ranks, logistic, multinomial, proportional odds.

    Columns with more than 50 levels take a tree: a multinomial model of them would not end.

    Examples
    --------
    >>> table = Table.from_frame({"age": [20, 30, 40, 50] * 25, "job": ["a", "b", "c", "d"] * 25})
    >>> ParametricSynthesizer().fit(table, seed=1).sample(5, seed=2).rows
    5
    """

    minbucket: Positive = 5  # no knobs here: trees are drawn for few columns
    diversity: Positive = 1

    info = MethodInfo(
        name="parametric",
        title="Sequential regressions",
        meaning="Columns drawn one after the other from regressions on those before: smooth models whose "
        "parameters can be printed; relations they do not contain (interactions, curves) are lost.",
        guarantee="none: numbers keep the column's own values; rules are kept",
        plain="The program writes each answer as a formula of the answers before it, with some chance, and makes up "
        "new people by these formulas.",
        reference="Raghunathan, Reiter, Rubin 2003; synthpop: parametric",
    )

    class _Model(SequentialModel):
        method = "parametric"
        contents = "coefficients of regressions, and the distinct values of each column of numbers"

    model = _Model

    def method_for(self, vector: Vector) -> str:
        """The regression that suits the column, as synthpop's ``method = "parametric"`` chooses."""
        if vector.is_number:
            return "normrank"
        if is_free_text(vector):
            return "sample"
        if len(vector.levels) > MANY_LEVELS:
            return "cart"
        return "polr" if vector.column.kind is Kind.ORDERED and vector.state is None else "polyreg"

    def cost(self, shape: Shape) -> Cost:
        """A multinomial model costs predictors times levels, a linear one the square of its width."""
        seconds, width = 0.05, 1
        for place, levels in enumerate(shape.levels):
            if levels <= MANY_LEVELS:
                seconds += 3e-7 * shape.rows * (place + 2) * levels
            else:
                seconds += 5e-10 * shape.rows * width**2
            width += min(levels, MAX_DUMMIES)
        return Cost(seconds=seconds, bytes=24.0 * shape.rows * width)
