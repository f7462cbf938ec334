"""`Flow`: a file whose categories come from trees, one after the other, and whose smooth numbers come together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import names
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.rules import rules_for
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import Vector, states
from dalenius.synth.base import Progress, Synthesizer, absent, register
from dalenius.synth.conditional import Condition
from dalenius.synth.flow.matching import Boosting, Floats, Moves, learn_moves
from dalenius.synth.flow.smooth import Smooth, can_flow, ordinary
from dalenius.synth.sequential.engine import fit_sequence
from dalenius.synth.sequential.fitted import Positive
from dalenius.synth.sequential.model import SequentialModel
from dalenius.synth.sequential.planning import make_plan
from dalenius.synth.sequential.synthesizers import CartSynthesizer


class FlowModel(SequentialModel):
    """Trees for every column, and a stream that draws the smooth numbers anew, given all else.

    Attributes
    ----------
    smooth
        Columns whose numbers the stream draws; their gaps, special codes and spikes come from the trees.
    beside
        What the stream is given: columns drawn by trees, and the state of each smooth column that has several.
    """

    method = "flow"
    contents = SequentialModel.contents + "; of smooth columns every number, in order"
    keeps: ClassVar[tuple[str, ...]] = (*SequentialModel.keeps, "smooth", "beside", "moves")  # type: ignore[assignment]
    smooth: list[Smooth]
    beside: list[str]
    moves: Moves | None

    def given(self, vectors: dict[str, Vector]) -> tuple[Floats, list[int]]:
        """What the stream is given, as numbers, and which of them are codes without order."""
        blocks: list[Floats] = []
        unordered: list[int] = []
        for name in self.beside:
            vector = vectors[name]
            if not vector.is_number and vector.column.kind is not Kind.ORDERED:
                unordered.append(len(blocks))
            blocks.append(np.where(vector.present, vector.data, -1).astype(np.float32))
        for each in self.smooth:
            unordered.append(len(blocks))
            blocks.append(_mark(vectors[each.name], each))
        rows = len(next(iter(vectors.values())))
        return np.column_stack(blocks) if blocks else np.zeros((rows, 0), np.float32), unordered

    def _draw(self, rows: int, seed: Seed) -> Table:
        table = super()._draw(rows, seed)
        if self.moves is None or not rows:
            return table
        noise = generator(seed, "flow").standard_normal((rows, len(self.smooth))).astype(np.float32)
        scores = self.moves.carried(noise, self.given(dict(table.vectors))[0])
        drawn = []
        for place, each in enumerate(self.smooth):
            vector = table[each.name]
            here = ordinary(vector, each.spikes)
            data = vector.data.copy()
            data[here] = each.numbers(scores[:, place].astype(np.float64))[here]
            drawn.append(replace(vector, data=data))
        return table.with_vectors(*drawn)

    def draw_block(self, rows: int, seed: Seed, conditions: Sequence[Condition] = ()) -> Table:
        """Whole rows: what meets a condition is known only when the numbers are there."""
        return self._draw(rows, seed)


def _mark(vector: Vector, each: Smooth) -> Floats:
    """Which of its spikes or gaps a cell holds; 0 for a number."""
    marks = states(vector).astype(np.float32)
    for place, spike in enumerate(each.spikes):
        marks[vector.present & (vector.data == spike)] = 256 + place
    return marks


@register
@dataclass(frozen=True)
class Flow(Synthesizer):
    """Draw categories, spikes and heaped numbers by trees, and smooth numbers together, as carried from noise.

    For tables of measurements, whose numbers lie on curves that trees cut into steps. Where numbers are heaped (ages,
    rounded incomes, hours) `cart` is closer and a hundred times faster; a note then says so.

    Parameters
    ----------
    smooth
        Columns whose numbers are drawn by the flow; default: those that are not heaped.
    steps
        Stages on the way from noise to numbers.
    noises
        Noises that each real row is met with at each stage.
    trees, leaves
        Boosted trees for the move of each number at each stage, and their largest number of leaves.
    minbucket
        Fewest real people in a leaf of the trees that draw categories.
    threads
        Threads used to fit; the result does not depend on it.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> make_synthesizer("flow", steps=0)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: flow: steps is 0; use a whole number, 1 or more
    """

    smooth: Sequence[str] | None = None
    steps: Positive = 20
    noises: Positive = 10
    trees: Positive = 40
    leaves: Annotated[int, Option(at_least=2)] = 47
    minbucket: Positive = 5
    threads: Annotated[int | None, Option(at_least=1)] = None
    progress: Progress | None = field(default=None, repr=False, compare=False)

    info = MethodInfo(
        name="flow",
        title="Trees and a flow",
        meaning="Smooth numbers drawn together, as carried from noise by boosted trees, given categories drawn by "
        "trees: closest where measurements lie on curves; heaped numbers are left to trees.",
        guarantee="none: categories and numbers are values of original records, numbers each from another one",
        plain="The program learns which answers go together, and for measured numbers how pure chance must be bent to "
        "look like them; then it makes up new people.",
        reference="Lipman et al. 2023; Jolicoeur-Martineau, Fatras and Kachman 2024",
        packages=("lightgbm",),
        example_options={"steps": 3, "noises": 2, "trees": 5},
    )
    model = FlowModel

    def telling(self, progress: Progress) -> Synthesizer:
        """The same method, telling of each stage."""
        return replace(self, progress=progress)

    def untouched(self, table: Table) -> set[str]:
        """Columns that the option names are drawn, also where they follow from others."""
        return set(self.smooth or ())

    def faults_for(self, table: Table) -> list[str]:
        """Columns that are named and are not there, or hold no numbers to be drawn so."""
        wanted = self.smooth or ()
        unfit = [n for n in wanted if n in table and not can_flow(table[n])]
        wrong = (
            [f"smooth: {names(unfit)} cannot be drawn by a flow (too few numbers, or none)"] if unfit else []
        )
        return [*super().faults_for(table), *absent("smooth", wanted, table), *wrong]

    def _fit(self, table: Table, seed: Seed) -> FlowModel:
        smooth, heaped = self._smooth(table)
        own = {each.name for each in smooth}
        rest = [name for name in table.names if name not in own]
        trees = CartSynthesizer(visit=[*rest, *own], minbucket=self.minbucket, threads=self.threads)
        model = fit_sequence(table, make_plan(trees, table), seed, FlowModel, threads=self.threads)
        assert isinstance(model, FlowModel)
        model.smooth, model.beside, model.moves = smooth, rest, None
        model.notes += _advice([each.name for each in smooth], heaped)
        if smooth and table.rows:
            given, unordered = model.given(dict(table.vectors))
            rng = generator(seed, "ties")
            scores = np.column_stack([each.scores(table[each.name], rng)[0] for each in smooth]).astype(
                np.float32
            )
            how = Boosting(self.steps, self.noises, self.trees, self.leaves)
            model.moves = learn_moves(
                scores, given, unordered, how, sequence(seed, "flow"), self.threads, self._told()
            )
        return model

    def _smooth(self, table: Table) -> tuple[list[Smooth], list[str]]:
        """Columns that the stream draws, and numbers that are heaped; those that a rule names stay with the trees."""
        fit = [Smooth.of(table[n]) for n in table.names if can_flow(table[n])]
        if self.smooth is not None:
            return [each for each in fit if each.name in self.smooth], []
        ruled = {name for rule in rules_for(table.schema, table.names) for name in rule.columns}
        free = [each for each in fit if each.name not in ruled and len(each.values)]
        return [each for each in free if not each.heaped], [each.name for each in free if each.heaped]

    def _told(self) -> Callable[[int], None] | None:
        progress = self.progress
        return None if progress is None else lambda step: progress(f"stage {step} of {self.steps}")

    def cost(self, shape: Shape) -> Cost:
        """Trees for each number and stage; every column might be smooth."""
        met = shape.rows * self.noises
        learnt = self.steps * self.trees * shape.columns * (met * (2e-8 + 4e-9 * shape.columns) + 1e-3)
        return Cost(seconds=0.5 + learnt, bytes=3e8 + 24.0 * met * shape.columns)


def _advice(smooth: Sequence[str], heaped: Sequence[str]) -> list[str]:
    """When another method would do better."""
    if not smooth:
        return ["no column of smooth numbers: trees drew all of it, as cart does in less time; use cart"]
    if len(heaped) >= len(smooth):
        return [
            f"numbers of {names(heaped)} are heaped and were drawn by trees; cart is likely closer, and faster"
        ]
    return []
