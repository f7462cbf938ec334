"""From choices to a plan: first guesses for new data, and the schema and plan files a run is carried out by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dalenius.data.atomic import write_text
from dalenius.data.files import read
from dalenius.data.schema import Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.release.template import ACQUAINTANCE, Draft, roles, sensible_methods
from dalenius.web.choices import Choices, Intruder
from dalenius.web.structure_form import StructureForm
from dalenius.web.workspace import Run

ROLES = {
    "": "nothing special",
    "key": "an outsider may know it (key)",
    "target": "would hurt if learnt (target)",
    "identifier": "names a person (left out)",
    "entity": "says whose record it is (left out)",
    "weight": "survey weight",
    "household": "number of the household (left out)",
}
KINDS = {
    "categorical": "categories",
    "ordered": "categories in an order",
    "integer": "whole number",
    "continuous": "number",
    "boolean": "yes or no",
    "datetime": "date or time",
    "text": "free text",
}


def first_choices(run: Run) -> Choices:
    """First guesses for data that nobody has looked at yet."""
    table = run.table()
    keys, targets = roles(table)
    guessed = {}
    for column in table.schema:
        held = [str(role) for role in column.roles if str(role) in ROLES]
        guess = "key" if column.name in keys else ("target" if column.name in targets else "")
        guessed[column.name] = held[0] if held else guess
    return Choices(
        kinds={c.name: c.kind.value for c in table.schema},
        roles=guessed,
        intruders=[Intruder("acquaintance", ACQUAINTANCE, "100", keys, targets)],
        methods=sensible_methods(table),
        title=str(run.facts["title"]),
        structure=StructureForm.of(table.schema),
    )


def write_plan(run: Run, chosen: Choices, trial: bool = False) -> Path:
    """Schema and plan from what was chosen; a trial stands beside what a run was carried out by."""
    before = "trial-" if trial else ""
    schema = run.folder / f"{before}schema.yaml"
    replicates, share, seed = chosen.numbers()
    draft = Draft(
        data=Path(run.data.name),
        schema=Path(schema.name),
        scenarios=chosen.scenarios(),
        candidates=chosen.candidates(),
        policy=chosen.policy_lines(),
        title=chosen.title or str(run.facts["title"]),
        audience=chosen.audience,
        replicates=replicates,
        holdout_share=share,
        seed=seed,
    )
    corrected(run.schema, chosen).to_yaml(schema)
    plan = run.folder / f"{before}plan.yaml"
    write_text(plan, draft.text())
    if not trial:
        keep_choices(run, chosen)
    return plan


def keep_choices(run: Run, chosen: Choices) -> None:
    """Remember what was typed, without a run."""
    write_text(run.folder / "choices.json", json.dumps(chosen.to_dict()))


def as_chosen(run: Run, chosen: Choices | None = None) -> Table:
    """The data of a run, by the schema as it was corrected on the page."""
    held = chosen or run.choices
    return run.table() if held is None else read(run.data, schema=corrected(run.schema, held))


def corrected(schema: Schema, chosen: Choices) -> Schema:
    """The schema with kinds, roles, codes and rules as a person set them on the page."""
    columns = []
    for column in schema:
        role = chosen.roles.get(column.name, "")
        kind = chosen.kinds.get(column.name) or column.kind.value
        kept = tuple(r for r in column.roles if str(r) not in ROLES)
        changed = replace(column, roles=(*kept, *((Role(role),) if role in set(Role) else ())))
        if kind in KINDS and kind != column.kind.value:
            changed = replace(
                changed, kind=Kind(kind), levels=None, bounds=None, decimals=None, note="set on the page"
            )
        columns.append(changed)
    return chosen.structure.applied(replace(schema, columns=tuple(columns)))
