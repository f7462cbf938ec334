"""Primary rules of several linked tables: how one table of them sees cells named by hand, and what they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalenius.tables.model import Bools, TableModel
from dalenius.tables.protection import PrimaryRule, Protection, protection_of
from dalenius.tables.rules import Except, Manual, cell_mask


def rules_within(model: TableModel, rules: Sequence[PrimaryRule], mask: Bools) -> tuple[PrimaryRule, ...]:
    """The rules for some of a model's cells; a place, a mask or a frame names cells of the whole model.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"sex": ["f", "m"], "job": ["a", "b"]}, tables={"sexes": ["sex"], "jobs": ["job"]}, nested=False)
    >>> rule, = rules_within(model, [Manual([3])], model.tables["jobs"])
    >>> model.cells.filter(model.tables["jobs"]).filter(rule.cells)["job"].to_list()
    ['a']
    """
    return tuple(_within(model, rule, mask) for rule in rules)


def _within(model: TableModel, rule: PrimaryRule, mask: Bools) -> PrimaryRule:
    if isinstance(rule, Manual):
        return replace(rule, cells=cell_mask(model, rule.cells)[mask])
    if isinstance(rule, Except):
        return Except(_within(model, rule.rule, mask), cell_mask(model, rule.cells)[mask])
    return rule


def labels_of(rules: Sequence[PrimaryRule]) -> list[str]:
    """A label for every rule: its name, with its place where several have the same name.

    Examples
    --------
    >>> labels_of([Manual([1]), Manual([2], "earlier"), Manual([3])])
    ['manual 1', 'earlier', 'manual 3']
    """
    names = [rule.name for rule in rules]
    return [name if names.count(name) == 1 else f"{name} {place}" for place, name in enumerate(names, 1)]


def protections_of(model: TableModel, rules: Sequence[PrimaryRule]) -> dict[str, Protection]:
    """What every rule asks for, under its label."""
    return {label: protection_of(rule, model) for label, rule in zip(labels_of(rules), rules, strict=True)}
