"""`Masker`: a step that stands alone, as a method beside the synthesizers.

Every step with an ``info`` is offered under its name in `METHODS`, with the step's own options, so that it can be
asked for, tried with several values and compared like any other way to protect a file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields, make_dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, cast, get_type_hints

from dalenius.core import plugins
from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED, Seed, generator, sequence
from dalenius.data.exit import occurring, releasable
from dalenius.data.keyed import keyed
from dalenius.data.recipe import Recipe
from dalenius.data.steps.at_once import faults_at_once
from dalenius.data.steps.step import FOLLOWERS, STEPS, Masked, Step, step
from dalenius.data.table import Table
from dalenius.mask.few import without_own_texts
from dalenius.mask.ghosts import without_ghosts
from dalenius.synth.base import METHODS, Method, Progress
from dalenius.synth.made import Made


class Masker(Method):
    """A way to protect a file that changes the rows it is given, by a recipe.

    The rows leave in an order drawn at random: else whoever has the original could tell by its place whose row it is.
    What is drawn depends on the seed and on the data (see `keyed`): nobody without the data can draw it again.
    Identifiers, unit columns and texts that few wrote never leave; other values that few hold do, a note names the
    columns, and the figures judge them.

    Examples
    --------
    >>> made = METHODS["round"](column="pay", base=100).make(Table.from_frame({"pay": [120, 180, 250]}))
    >>> sorted(made.table.to_frame()["pay"]), print(made.lens())
    pay recoded
    ([100, 200, 300], None)
    """

    @abstractmethod
    def recipe(self, table: Table) -> Recipe:
        """The steps."""

    def faults_for(self, table: Table) -> list[str]:
        """Faults of the steps that show beside a table; later steps see what earlier ones leave."""
        steps = self.recipe(table).steps
        return [*super().faults_for(table), *(steps[0].faults(table) if steps else [])]

    def cost(self, shape: Shape) -> Cost:
        """Of all steps."""
        table = Table.from_vectors([], 0)
        return Cost(0.02, 9.0 * shape.rows * shape.columns) + self.recipe(table).cost(shape)

    def make(
        self, table: Table, copies: int = 1, *, rows: int | None = None, seed: Seed = DEFAULT_SEED, first: int = 0,
        progress: Progress | None = None,
    ) -> Made:  # fmt: skip
        """Masked versions of a table: copy r has the seed (seed, "mask", r), whoever asks for it."""
        began = perf_counter()
        root = sequence(seed)
        recipe = self.recipe(table)
        ghosts = not any(each.whole for each in recipe.steps)
        made = [leaving(table, recipe.mask(table, sequence(root, "mask", copy)), sequence(root, "order", copy), ghosts)
                for copy in range(first, first + copies)]  # fmt: skip
        lens = made[0].lens
        changed = [name for name in table.names if name in {*lens.mapped, *lens.perturbed, *lens.gaps}]
        return Made(
            tuple(each.table for each in made), table.rows, notes=made[0].notes, draw_seconds=perf_counter() - began,
            lenses=tuple(each.lens for each in made), steps=made[0].notes,
            outline=tuple(f"{each.do} of {', '.join(each.named or changed) or 'the keys'}" for each in recipe.steps),
            ledger="\n".join(each.ledger for each in made if each.ledger),
        )  # fmt: skip


def leaving(table: Table, masked: Masked, seed: Seed, ghosts: bool = True) -> Masked:
    """A masked table on its way out: without ghost columns, in an order of its own, with identifiers told as dropped.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> table = Table.from_frame({"age": [*range(20, 60)] * 2, "born": [*range(1990, 1950, -1)] * 2})
    >>> leaving(table, Recode("age", width=10).apply(table), 1).notes
    ("'born' was dropped: it gives 'age' back; mask it too, or keep ghosts",)
    """
    gone = without_ghosts(table, masked) if ghosts else masked
    left_out = frozenset(name for name in table.names if name not in releasable(table).names)
    gone = replace(gone, lens=replace(gone.lens, dropped=gone.lens.dropped | left_out))
    made = shuffled(without_own_texts(table, gone), keyed(seed, table))
    return replace(made, table=occurring(made.table))


def shuffled(masked: Masked, seed: Seed) -> Masked:
    """The rows in an order drawn at random, and the lens with them.

    Examples
    --------
    >>> made = shuffled(Masked(Table.from_frame({"a": [1, 2, 3]})), 1)
    >>> made.table["a"].data[made.lens.links.argsort()].tolist()
    [1, 2, 3]
    """
    order = generator(seed).permutation(masked.table.rows)
    return replace(masked, table=masked.table.take(order), lens=masked.lens.take(order, masked.table.rows))


class StepMasker(Masker):
    """A step as a method: the same options under the same name."""

    step: ClassVar[type[Step]]

    def recipe(self, table: Table) -> Recipe:
        """The step alone."""
        return Recipe((self._built,), tuple(table.names))

    @classmethod
    def faults_in_spite(cls, options: Mapping[str, Any], table: Table, wrong: Sequence[str]) -> list[str]:
        """Those of the options and those of the file at once."""
        return faults_at_once([{"do": cls.step.do, **options}], table)

    @property
    def _built(self) -> Step:
        return self.step(**{each.name: getattr(self, each.name) for each in fields(self.step)})

    def paid_by(self, ledger: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with a ledger, where the step spends a budget."""
        return {"ledger": ledger, **options} if self.step.pays else dict(options)

    def conflicts(self) -> list[str]:
        """Those of the step."""
        try:
            self._built.conflicts()
        except OptionError as error:
            return list(error.faults)
        return []


def offer(kind: type[Step]) -> type[Method]:
    """Register a step as a method under its name, with its options.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> offer(Round).info.title
    'Rounding'
    """
    hints = get_type_hints(kind, include_extras=True)
    own = [(each.name, hints[each.name], _again(each)) for each in fields(kind)]
    info = None if kind.info is None else replace(kind.info, masks=True)
    facts = {"info": info, "step": kind, "__doc__": kind.__doc__, "__module__": kind.__module__}
    made: Any = make_dataclass(kind.__name__, own, bases=(StepMasker,), namespace=facts, frozen=True)
    made.__module__ = kind.__module__
    METHODS.add(made)
    return cast(type[Method], made)


def _again(each: Field[Any]) -> Any:
    """The field of a dataclass for another one."""
    return field(default=each.default, default_factory=each.default_factory, repr=each.repr, hash=each.hash)


def offer_all() -> None:
    """Register every step that says what a steward must know about it, of this house and of others, and those to come.

    Examples
    --------
    >>> offer_all()
    >>> METHODS["round"].info.masks
    True
    """
    for entry, kind in plugins.loaded("steps"):  # most have registered themselves while they were loaded
        plugins.attempt(entry, partial(step, kind))
    for kind in list(STEPS.values()):
        _offered(kind)
    if _offered not in FOLLOWERS:
        FOLLOWERS.append(_offered)


def _offered(kind: type[Step]) -> None:
    if kind.info is not None:
        offer(kind)
