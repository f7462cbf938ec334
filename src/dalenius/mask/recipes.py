"""A recipe as a method: it stands on one map with synthesizers, and in one plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, ClassVar

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DaleniusError, DataError
from dalenius.core.option import Option, unchecked
from dalenius.core.random import DEFAULT_SEED, Seed, sequence
from dalenius.core.registry import MethodInfo
from dalenius.data.recipe import Recipe
from dalenius.data.schema import Role
from dalenius.data.steps.at_once import faults_at_once
from dalenius.data.steps.step import STEPS, Masked, Step
from dalenius.data.table import Table
from dalenius.mask.log import Logged, run
from dalenius.mask.masker import Masker, leaving
from dalenius.mask.target import Target, amounts, has_amount
from dalenius.synth.base import Method, Progress, register
from dalenius.synth.made import Made


@register
@dataclass(frozen=True)
class RecipeMasker(Masker):
    """Steps one after the other; a target finds the amount of an option that is written ``{"amount": [weak, …]}``.

    Examples
    --------
    >>> table = Table.from_frame({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    >>> steps = [{"do": "recode", "column": "age", "width": {"amount": [2, 5, 10, 20]}}]
    >>> made = RecipeMasker(steps, target="expected re-identifications <= 8", keys=["age", "sex"]).make(table)
    >>> print(made.steps[0])
    recode of age: 40 cells of 40 records changed, 62.4 % of what the columns told is gone; expected re-identifications
    40 → 8, smallest group 1 → 5
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="recipe",
        title="Recipe of masking steps",
        meaning="Changes the records by steps that are written down: recoding, suppression, swapping, noise.",
        plain="Changes real records, step by step, until they are hard to recognise.",
        guarantee="what its steps promise",
        reference="Hundepool et al. 2012",
        masks=True,
        example_options={"steps": [{"do": "recode", "column": "age", "width": 10}]},
    )
    steps: Annotated[
        Sequence[Mapping[str, Any]] | str,
        Option(
            title="Steps", meaning="the steps in order, each with 'do' and its options, or a file with them"
        ),
    ] = field(default=(), hash=False)
    target: Annotated[
        str,
        Option(
            title="Target", meaning="what the amounts are found by, such as expected re-identifications <= 10"
        ),
    ] = ""
    keys: Annotated[
        tuple[str, ...] | list[str], Option(title="Keys", meaning="what an intruder may know")
    ] = ()
    ghosts: Annotated[
        bool, Option(title="Drop ghosts", meaning="drop columns that give a masked one back", knob=False)
    ] = True

    def conflicts(self) -> list[str]:
        """Steps that can be read, a target for amounts, and amounts for a target."""
        try:
            steps = self._steps()
            for tried in amounts(steps):
                Recipe.from_dict({"steps": tried})
        except DaleniusError as error:
            return [*error.faults, *self._target_faults([])]
        return ([] if self.steps else ["steps: give at least one"]) + self._target_faults(steps)

    def _target_faults(self, steps: Sequence[Mapping[str, Any]]) -> list[str]:
        """A target that can be read; where the steps can be, amounts for it."""
        try:
            if self.target:
                Target.parse(self.target)
        except DaleniusError as error:
            return list(error.faults)
        if steps and bool(self.target) != has_amount(steps):
            return ["a target and an option written {amount: [weak, …, strong]} go together"]
        return []

    def _steps(self) -> list[Mapping[str, Any]]:
        if isinstance(self.steps, (str, Path)):
            return Recipe.written(self.steps)
        return list(self.steps)

    def recipe(self, table: Table) -> Recipe:
        """The steps, with the strongest amounts where a target finds them."""
        return Recipe.from_dict({"steps": list(amounts(self._steps()))[-1], "columns": list(table.names)})

    def paid_by(self, ledger: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options with a ledger in every step that spends a budget."""
        steps = [{"ledger": ledger, **s} if STEPS[s["do"]].pays else s for s in self._steps()]
        return {**options, "steps": steps} if any(STEPS[s["do"]].pays for s in steps) else dict(options)

    @property
    def repeatable(self) -> bool:
        """Unless a step draws fresh noise."""
        return not any(STEPS[each["do"]].pays for each in self._steps())

    def _keys(self, table: Table) -> list[str]:
        return list(self.keys) or table.schema.by_role(Role.KEY)

    def faults_for(self, table: Table) -> list[str]:
        """Keys that are there, and faults of the first step; where it has one, those of all steps."""
        told = self._told(table)
        wrong = [*self._key_faults(table), *Method.faults_for(self, told)]
        if not wrong and not self.recipe(told).steps[0].faults(told):
            return []
        return [*wrong, *faults_at_once(list(amounts(self._steps()))[-1], told)]

    @classmethod
    def faults_in_spite(cls, options: Mapping[str, Any], table: Table, wrong: Sequence[str]) -> list[str]:
        """Those of all steps, of their options and beside the file, and of the target."""
        made = unchecked(cls, options)
        assert made is not None  # every option of a recipe has a default
        try:
            steps = list(amounts(made._steps()))[-1]
        except DaleniusError:
            return list(wrong)
        return [
            *made._target_faults(steps),
            *made._key_faults(table),
            *faults_at_once(steps, made._told(table)),
        ]

    def _key_faults(self, table: Table) -> list[str]:
        wrong = [f"keys: no column {name!r}" for name in self.keys if name not in table]
        if self.target and not self._keys(table):
            wrong.append("a target needs keys; say which columns an intruder may know")
        return wrong

    def _told(self, table: Table) -> Table:
        """The table with the recipe's keys as its own, for steps that are not told others."""
        there = [name for name in self.keys if name in table]
        return table.with_schema(table.schema.with_roles(keys=there)) if there else table

    def _kept(self, step: Step) -> Mapping[str, Any]:
        """A step as it is written down: with the keys it was told, so that it can be done again by itself."""
        facts = step.to_dict()
        own = hasattr(step, "keys") and not step.keys and self.keys
        return {**facts, "keys": list(self.keys)} if own else facts

    def find(self, table: Table, seed: Seed) -> tuple[Recipe, Masked, list[Logged]]:
        """The recipe with the weakest amounts that keep the target, what it made, and its log."""
        target = Target.parse(self.target) if self.target else None
        table = self._told(table)
        keys = self._keys(table)
        for tried in amounts(self._steps()):
            recipe = Recipe.from_dict({"steps": tried, "columns": list(table.names)})
            try:
                made, log = run(recipe, table, seed, keys)
            except DataError as error:
                raise DataError.from_faults("recipe", with_others(error.faults, tried, table)) from None
            if target is None or target.met(made.table, keys):
                return recipe, made, log
        raise DataError(
            f"no amount keeps {self.target!r}, not even the strongest; add stronger ones, or another step"
        )

    def make(
        self, table: Table, copies: int = 1, *, rows: int | None = None, seed: Seed = DEFAULT_SEED, first: int = 0,
        progress: Progress | None = None,
    ) -> Made:  # fmt: skip
        """Masked versions of a table, with what each step did."""
        began, root = perf_counter(), sequence(seed)
        made: list[Masked] = []
        told: list[Logged] = []
        done: Recipe | None = None
        for copy in range(first, first + copies):
            recipe, masked, log = self.find(table, sequence(root, "mask", copy))
            ghosts = self.ghosts and not any(each.whole for each in recipe.steps)
            made.append(leaving(table, masked, sequence(root, "order", copy), ghosts))
            if copy == first:
                done, told = recipe, log
        return Made(
            tuple(each.table for each in made), table.rows, notes=made[0].notes, draw_seconds=perf_counter() - began,
            lenses=tuple(each.lens for each in made), steps=tuple(map(str, told)),
            outline=tuple(each.public for each in told),
            recipe=() if done is None else tuple(map(self._kept, done.steps)),
            ledger="\n".join(each.ledger for each in made if each.ledger),
        )  # fmt: skip

    def cost(self, shape: Shape) -> Cost:
        """Of all steps, as often as amounts are tried, and of the figures in the log."""
        tried = [Recipe.from_dict({"steps": steps}) for steps in amounts(self._steps())]
        total = sum((recipe.cost(shape) for recipe in tried), Cost(0.0, 0.0))
        return total + Cost(0.02 + 2e-6 * shape.rows * sum(len(r.steps) for r in tried), 30.0 * shape.rows)


def with_others(found: Sequence[str], steps: Sequence[Mapping[str, Any]], table: Table) -> list[str]:
    """What stopped a recipe, and what is wrong with the steps that come later.

    Examples
    --------
    >>> steps = [{"do": "recode", "column": "age", "width": 10}, {"do": "round", "column": "pay"}]
    >>> with_others(["no luck"], steps, Table.from_frame({"age": [31, 38]}))
    ["step 2 (round): no column 'pay'; there are 'age'", 'no luck']
    """
    known = faults_at_once(steps, table)
    return [*known, *(fault for fault in found if not any(each.endswith(fault) for each in known))]
