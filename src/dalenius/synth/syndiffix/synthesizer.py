"""`syndiffix`: anonymised bucket trees with sticky noise, snapped ranges and suppression."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from dalenius.core.cost import Cost, Shape
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.exit import releasable
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth.base import Synthesizer, absent, register
from dalenius.synth.counted import StreamTable
from dalenius.synth.syndiffix.casting import Snapping
from dalenius.synth.syndiffix.clusters import ClusterOptions
from dalenius.synth.syndiffix.features import rank_features
from dalenius.synth.syndiffix.ground import Clustering, Ground, Method
from dalenius.synth.syndiffix.model import SynDiffixModel
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.outlook import Rare
from dalenius.synth.syndiffix.salt import resolve_salt
from dalenius.synth.syndiffix.streamed import ground_from_stream

MOST_STEPS = 2048
"""Steps of a number with too many values to list, after it was cut."""


@register
@dataclass(frozen=True)
class SynDiffix(Synthesizer):
    """Synthesize from anonymised buckets: the most accurate method for tables of a few columns.

    Rows are counted in the cells of a fixed grid over every combination of columns. A cell with too few units is never
    used, counts carry noise that is the same whenever the same cell is counted, and rows are drawn from what is left.
    Because the noise is sticky, any number of tables of the same data may be released: make one small table per
    question rather than one wide one.

    Parameters
    ----------
    salt
        Secret that makes the noise; without one, the user's own, made once and kept in a private file.
    target
        Column to be predicted: clusters are built around it from its best features.
    clustering
        "auto" groups dependent columns, "single" makes one cluster, "none" draws every column alone.
    snapping
        "data" (grid in units of the data) or "minmax" (between the extremes, as the reference does; comparisons only).
    precision
        Finest width of cells per column, snapped to a power of two.
    safe
        Columns whose values are publicly known: they come out as they are.
    rare
        What becomes of levels that too few units share: "neighbour" (the nearest level that may be shown), "prefix"
        (the common beginning of a range and a number) or "auto" (prefix for text, neighbour for categories).
    known_values
        Draw numbers from values that enough units share, where a cell holds one.
    rake
        Fit the weights of buckets to the noisy margins of the single columns (post-processing; costs no privacy).
    anonymity, growth, clusters
        All constants of the method.
    noisy_rows
        Draw as many rows as the noisy count says, rather than as many as there were.
    threads
        Threads to use; as many as there are processors by default. Results do not depend on it.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 100, "age": [20 + i % 50 for i in range(200)]})
    >>> model = SynDiffix(salt="a secret of mine").fit(table)
    >>> model.sample(5, seed=1).names
    ['sex', 'age']
    >>> model.clusters
    [['sex', 'age']]
    """

    salt: Annotated[str | bytes | None, Option(secret=True)] = field(default=None, repr=False)
    target: str | None = None
    clustering: Clustering = "auto"
    snapping: Snapping = "data"
    precision: Mapping[str, float] = field(default_factory=dict)
    safe: Sequence[str] = ()
    rare: Rare = "auto"
    known_values: bool = False
    rake: bool = True
    anonymity: Anonymity = field(default_factory=Anonymity)
    growth: Growth = field(default_factory=Growth)
    clusters: ClusterOptions = field(default_factory=ClusterOptions)
    noisy_rows: bool = False
    threads: Annotated[int | None, Option(at_least=1)] = None

    info = MethodInfo(
        name="syndiffix",
        title="SynDiffix",
        meaning=(
            "Rows drawn from anonymised buckets on a fixed grid, with sticky noise and suppression of small counts."
        ),
        guarantee=(
            "no value or range of fewer than 3 units comes out, and repeated releases do not average the noise away; "
            "not differential privacy"
        ),
        plain="The program blurs counts of groups of people, leaves out groups that are too small, and makes up new "
        "people from what remains.",
        promise="The method leaves out what fewer than a handful of people share. It is not a mathematical promise; "
        "how safe the file is was also measured.",
        reference="Francis, Berneanu, Gashi 2023; Francis 2024",
    )
    model = SynDiffixModel
    uses_units = True
    guards_itself = True
    reads_counts = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, kind in (("anonymity", Anonymity), ("growth", Growth), ("clusters", ClusterOptions)):
            object.__setattr__(self, name, _constants(getattr(self, name), kind))

    @property
    def settings(self) -> Method:
        """The options of the method itself."""
        return Method(
            self.snapping, dict(self.precision), frozenset(self.safe), self.rare, self.known_values,
            self.rake, self.anonymity, self.growth, self.clusters, self.threads,
        )  # fmt: skip

    def faults_for(self, table: Table) -> list[str]:
        """Columns that the options name and the table has not."""
        kept = releasable(table)
        target = [] if self.target is None else [self.target]
        named = {"target": target, "safe": self.safe, "precision": self.precision}
        wrong = [fault for option, wanted in named.items() for fault in absent(option, wanted, kept)]
        return super().faults_for(table) or wrong

    def _fit(self, table: Table, seed: Seed) -> SynDiffixModel:
        ground = Ground.of(table, resolve_salt(self.salt), self.settings)
        features: list[str] = []
        if self.target is not None:
            features = rank_features(table.select(ground.names), self.target)
        model = ground.model(None, self.clustering, self.target, features)
        if self.noisy_rows and model.buckets:
            model.rows = round(model.buckets[0].rows)
        return model

    def _fit_stream(self, stream: StreamTable, seed: Seed) -> SynDiffixModel:
        ground = ground_from_stream(stream, resolve_salt(self.salt), self.settings)
        model = ground.model(None, self.clustering)
        if self.noisy_rows and model.buckets:
            model.rows = round(model.buckets[0].rows)
        return model

    def stream_cost(self, shape: Shape) -> Cost:
        """Reading and hashing rows, and trees over the different rows there may be."""
        cells = shape.rows * shape.columns
        groups = min(float(shape.rows), math.prod(float(min(size, MOST_STEPS)) for size in shape.levels))
        return Cost(seconds=1.5 + 2e-7 * cells + 9e-6 * groups, bytes=5e8 + 1500.0 * groups)

    def stream_faults(self, schema: Schema) -> list[str]:
        """Features of a target are ranked by rows."""
        needs_rows = ["target needs rows in memory; leave it out, or read the file"] if self.target else []
        return [*super().stream_faults(schema), *needs_rows]

    def cost(self, shape: Shape) -> Cost:
        """Trees of a typical clustering: about 40 per column, each a few passes over the rows."""
        trees = 2.0**shape.columns if shape.columns <= 4 else 12.0 * shape.columns
        return Cost(seconds=0.05 + 8e-7 * shape.rows * trees, bytes=2e7 + 60.0 * shape.rows * min(trees, 64))


def _constants(given: Any, kind: type[Any]) -> Any:
    """Constants of the method, also from plain data: that is how the command line and a plan give them."""
    if isinstance(given, kind):
        return given
    return kind(**{word: tuple(v) if isinstance(v, list) else v for word, v in given.items()})
