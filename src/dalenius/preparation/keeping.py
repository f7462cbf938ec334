"""`Kept`: what follows from other columns of a file is kept by construction, whatever the method.

A synthesizer that draws a body mass index beside weight and height, or a discharge beside an admission, breaks what
every row of the original keeps. So such columns are taken out, or put as a distance, before synthesis, and made again
afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from dalenius.data.derived import Derivation
from dalenius.data.exit import NEVER_RELEASED
from dalenius.data.places import place_columns
from dalenius.data.recipe import Recipe
from dalenius.data.rules import rules_for
from dalenius.data.schema import Column, Role, Schema
from dalenius.data.steps import (
    DropDerived,
    DropGrouping,
    DropLength,
    DropSettled,
    KeepGap,
    KeepOrder,
    KeepPlace,
    Step,
)
from dalenius.data.steps.reversible import KindWord
from dalenius.data.table import Table
from dalenius.preparation.derived import dependences, formulas, groupings
from dalenius.preparation.finding import Finding, Findings
from dalenius.preparation.lengths import date_lengths
from dalenius.preparation.orders import orders, unasked
from dalenius.preparation.places import places

NOTHING = "nothing: 'dalenius synth' keeps it"
FOLLOWING = ("derived-grouping", "derived-formula", "derived-length", "dependence")
UNTOUCHED = (*NEVER_RELEASED, Role.WEIGHT, Role.PSU, Role.FPC)
UNREAD = (*NEVER_RELEASED, Role.WEIGHT, Role.PSU, Role.FPC)
"""Roles of columns that nothing may be made from afterwards: they are not drawn, or not whatever the weighting."""


@dataclass(frozen=True)
class Kept:
    """Steps that were taken before synthesis, and the columns as they are to come back.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> start = rng.integers(0, 300, 400)
    >>> table = Table.from_frame({"start": start, "end": start + rng.integers(0, 20, 400), "twice": 2 * start})
    >>> kept = Kept.of(table)
    >>> print(kept)
    twice = 2 × start; end is never below start
    >>> kept.restore(kept.apply(table)).to_frame()["end"].tolist() == table.to_frame()["end"].tolist()
    True
    """

    recipe: Recipe = field(default_factory=lambda: Recipe(()))
    columns: tuple[Column, ...] = ()
    words: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, untouched: Collection[str] = (), *, blind: bool = False) -> Kept:
        """What to keep in a table.

        Parameters
        ----------
        untouched
            Columns that stay as they are: options speak of them.
        blind
            Look at the schema's rules only, never at the data (under a privacy budget).
        """
        ruled = Derivation.of(table)
        steps: list[Step] = [
            DropDerived(step.name, step.rule.text, cast(KindWord, str(column.kind)), column.decimals)
            for step, column in reversed(list(zip(ruled.steps, ruled.columns, strict=True)))
            if step.name not in untouched
        ]
        words = [f"{step.column}: {step.rule}" for step in steps if isinstance(step, DropDerived)]
        if not blind and table.rows:
            left = table.drop(step.named[0] for step in steps)
            closed = {*untouched, *_closed(table)}
            steps += (placed := _placed(left, untouched))
            words += map(_words, placed)
            gone = {name for role in UNREAD for name in table.schema.by_role(role)}
            for look in (_follow, orders, unasked):
                made = Recipe.of(
                    Findings(tuple(_open(look(left), closed, gone))), left, ("derived", "sequence", "gaps")
                )
                steps += made.steps
                words += [_words(step) for step in made.steps]
                left = left.drop(step.named[0] for step in made.steps if step.do.startswith("drop-"))
        changed = {name for step in steps for name in _made(step)}
        columns = tuple(_bare(c) for c in table.schema if c.name in changed)
        return cls(Recipe(tuple(steps), tuple(table.names)), columns, tuple(words))

    def __bool__(self) -> bool:
        return bool(self.recipe.steps)

    def __str__(self) -> str:
        return "; ".join(self.words)

    @property
    def told(self) -> str:
        """What is kept, as a note for people."""
        return f"kept by construction: {self}"

    def answered(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings, with nothing to be done about those that are answered here.

        Two columns that are kept together one way need not be dropped the other way.
        """
        answers = {(step.do, step.named[0]) for step in self.recipe.steps}
        together = {frozenset((step.named[0], *step.needs)) for step in self.recipe.steps}
        return [
            replace(f, severity="info", suggestion=NOTHING)
            if (f.remedy is not None and (f.remedy["do"], f.remedy["column"]) in answers)
            or (f.kind in FOLLOWING and frozenset(f.columns) in together)
            else f
            for f in findings
        ]

    def apply(self, table: Table) -> Table:
        """The table a method should see.

        A column that settles one before it takes its place, so that what was to be drawn given the one is drawn given
        the other.
        """
        place = {name: i for i, name in enumerate(table.names)}
        for step in self.recipe.steps:
            if isinstance(step, DropSettled | DropGrouping):
                place[step.source] = min(place[step.source], place[step.column])
        made = self.recipe.apply(table)
        return made.select(sorted(made.names, key=lambda name: place.get(name, len(place))))

    def apply_to_part(self, table: Table) -> Table:
        """The same for a table with some of the columns: what is made from absent ones is left out."""
        for step in self.recipe.steps:
            there = [name for name in _made(step) if name in table]
            if not there:
                continue
            whole = all(name in table for name in (*_made(step), *step.needs))
            one = Recipe((step,), tuple(table.names))
            table = one.apply(table) if whole and not step.do.startswith("drop-") else table.drop(there)
        return table

    @property
    def changed(self) -> set[str]:
        """Columns that are made, or made over, after drawing."""
        return {name for step in self.recipe.steps for name in _made(step)}

    def restore(self, table: Table) -> Table:
        """A drawn table with everything back, in the order of the original."""
        if not self:
            return table
        made = self.recipe.undo(table)
        again = [
            replace(made[c.name], column=replace(c, levels=made[c.name].column.levels))
            for c in self.columns
            if c.name in made
        ]
        return made.with_vectors(*again).select(made.names)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "recipe": self.recipe.to_dict(), "schema": Schema(self.columns).to_yaml(), "words": list(self.words),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Kept:
        """The same from plain data."""
        recipe = Recipe.from_dict(facts["recipe"])
        return cls(recipe, Schema.from_yaml(facts["schema"]).columns, tuple(facts["words"]))


def _made(step: Step) -> tuple[str, ...]:
    """Columns that a step makes again."""
    return step.named if isinstance(step, KeepPlace) else step.named[:1]


def _placed(table: Table, untouched: Collection[str]) -> list[Step]:
    """Coordinates within their area, unless rules or options speak of them."""
    ruled = {name for rule in rules_for(table.schema, table.names) for name in rule.columns}
    placed = places(table)
    return [placed] if placed is not None and not {*ruled, *untouched} & set(placed.named) else []


def _follow(table: Table) -> list[Finding]:
    """Columns that others give."""
    return [*groupings(table), *formulas(table), *date_lengths(table), *dependences(table)]


def _closed(table: Table) -> set[str]:
    """Columns that are not to be touched: rules and relations speak of them, or they say whose rows they are."""
    ruled = {name for rule in rules_for(table.schema, table.names) for name in rule.columns}
    related = {other for c in table.schema for other in (c.parent, c.partner) if other}
    own = {c.name for c in table.schema if c.parent or c.partner or any(c.has(role) for role in UNTOUCHED)}
    return ruled | related | own | set(place_columns(table.schema))


def _open(findings: list[Finding], closed: Collection[str], gone: Collection[str]) -> list[Finding]:
    """Findings whose remedy touches none of the closed columns (reading them is fine) and reads none that is gone."""
    return [
        f
        for f in findings
        if f.remedy is not None and f.remedy["column"] not in closed and not set(gone).intersection(f.columns)
    ]


def _bare(column: Column) -> Column:
    """A column without what was read off the data."""
    return column if column.domain == "declared" else replace(column, bounds=None, note="", levels=None)


def _words(step: Step) -> str:
    match step:
        case DropDerived():
            return step.rule.replace("`", "").replace(" == ", " = ").replace(" * ", " × ")
        case DropGrouping():
            return f"{step.column} groups {step.source}"
        case DropLength():
            return f"{step.column} = {step.words}"
        case DropSettled():
            return f"{step.column} follows from {step.source}"
        case KeepOrder():
            return f"{step.column} is never {'before' if step.kind == 'datetime' else 'below'} {step.after}"
        case KeepGap():
            gap = "empty" if step.code is None else step.code
            return f"{step.column} is {gap} where {step.where} is {' or '.join(map(str, step.levels))}"
        case KeepPlace():
            return f"{step.longitude} and {step.latitude} lie within their {step.area}"
    return f"{step.do} {step.named[0]}"
