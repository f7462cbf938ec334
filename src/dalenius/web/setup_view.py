"""What the set-up page shows: columns with what is in them, warnings, methods and their knobs in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.option import knobs
from dalenius.core.result import figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.data.exit import NEVER_RELEASED
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.preparation.keeping import Kept
from dalenius.release.template import fitting_methods, sensible_methods
from dalenius.synth import METHODS
from dalenius.web.choices import LINES, MOST_INTRUDERS, Choices
from dalenius.web.planning import KINDS, ROLES
from dalenius.web.recipe_form import WAYS
from dalenius.web.structure_form import MOST_TREES
from dalenius.web.systems_form import system_facts

POLICY_WORDS = {
    "copies": ("Whole records that come out", "People all of whose facts are in one record of the file."),
    "near": (
        "Nearly whole records that come out",
        "People to whom a record of the file comes closer than half the way to anybody else in the data.",
    ),
    "parts": (
        "Records that come out in part",
        "People of whom a record of the file has answers together fifty times as rare as those anybody else shares.",
    ),
    "dcr": (
        "Records too close to real people (DCR)",
        "Records of the file that are closer to somebody in the data than to people kept out; 50 if nothing is copied.",
    ),
    "membership": (
        "Telling who took part (AUC)",
        "How often a person in the data looks more like having taken part than a person kept out; 0.5 is a coin.",
    ),
    "repU": (
        "Mistaken as found (repU)",
        "People who stand alone with what the intruder knows and meet exactly one record that looks like them.",
    ),
    "DiSCO": (
        "True answer read off (DiSCO)",
        "People about whom the file gives one answer, and the answer is right.",
    ),
    "S_pMSE": (
        "Distance from the original (S_pMSE)",
        "How far tables of two columns are from the original's. 1 is as close as chance allows, up to 10 is close "
        "enough for most uses.",
    ),
}
LOOKED_AT = 5000
PRESETS = (
    {"name": "neighbour", "about": "somebody next door, who knows household and habits", "share": "100"},
    {"name": "employer", "about": "somebody at work, who knows age, education and pay", "share": "100"},
    {"name": "stranger", "about": "somebody who does not know who took part in the survey", "share": "1"},
)


def setup_facts(table: Table, chosen: Choices) -> dict[str, Any]:
    """Everything the set-up page needs."""
    columns = [
        {
            "name": column.name,
            "number": number,
            "kind": chosen.kinds.get(column.name) or column.kind.value,
            "role": chosen.roles.get(column.name, ""),
            "note": column.note,
            "seen": seen(table[column.name]) if _shown(column, chosen) else "left out, so not shown",
            "missing": _missing(table[column.name]),
            "codes": (
                chosen.structure.missing.get(column.name, ""),
                chosen.structure.unasked.get(column.name, ""),
            ),
        }
        for number, column in enumerate(table.schema)
    ]
    return {
        "rows": table.rows,
        "columns": columns,
        "methods": _methods(table, chosen),
        "warnings": warnings(table),
        "kinds": KINDS,
        "roles": ROLES,
        "policy": [
            (n, *POLICY_WORDS[n], chosen.policy[n], by == "holdout") for n, (_, _, by) in LINES.items()
        ],
        "presets": PRESETS,
        "recipe": chosen.recipe,
        "structure": chosen.structure,
        "trees": [*chosen.structure.trees, ("", "")][:MOST_TREES],
        "follows": list(Kept.of(_sample(table)).words) if table.rows else [],
        "recipe_ways": WAYS,
        "systems": system_facts(table, chosen.systems, chosen.intruders[0].keys if chosen.intruders else []),
        "most_intruders": MOST_INTRUDERS,
    }


def _sample(table: Table) -> Table:
    """Enough records to see what follows from what."""
    step = -(-table.rows // LOOKED_AT)
    return table if step <= 1 else table.take(np.arange(0, table.rows, step))


def _shown(column: Column, chosen: Choices) -> bool:
    """Whether values may be shown: not of a column that says who somebody is, by its schema or on the page."""
    hidden = {str(role) for role in NEVER_RELEASED}
    return chosen.roles.get(column.name) not in hidden and not hidden & {str(role) for role in column.roles}


def seen(vector: Vector) -> str:
    """What is in a column, naming only values that several records share.

    Examples
    --------
    >>> seen(Table.from_frame({"a": ["x"] * 20 + ["y"] * 12 + ["rare"]})["a"])
    'x, y and 1 more'
    """
    if vector.is_number and vector.column.kind is not Kind.DATETIME:
        if len(vector.values) < THRESHOLD:
            return ""
        low, high = np.quantile(vector.values, [0.05, 0.95])
        return f"mostly {figure(float(low))} to {figure(float(high))}"
    categories = vector.categories
    counts = np.bincount(categories.codes.astype(np.int64), minlength=len(categories.labels))
    common = [int(i) for i in np.argsort(-counts, kind="stable")[:3] if counts[i] >= THRESHOLD]
    rest = int(np.count_nonzero(counts)) - len(common)
    shown = ", ".join(str(categories.labels[i]) for i in common)
    if not shown:
        return f"{rest:,} values, none frequent"
    return shown + (f" and {rest:,} more" if rest else "")


def _missing(vector: Vector) -> str:
    if vector.state is None:
        return ""
    share = 100 * float(np.mean(vector.state != 0))
    return "" if share == 0 else ("under 1 %" if share < 1 else f"{share:.0f} %")


def _methods(table: Table, chosen: Choices) -> list[dict[str, Any]]:
    """Methods that fit the table, suggested ones first, with their knobs as they were typed."""
    suggested = sensible_methods(table)
    fitting = fitting_methods(table)
    fitting.sort(key=lambda name: suggested.index(name) if name in suggested else len(suggested))
    return [
        {
            "name": name,
            "info": METHODS[name].info,
            "chosen": name in chosen.methods,
            "suggested": name in suggested,
            "knobs": [(k, _typed(name, k.name, k.shown, chosen)) for k in knobs(METHODS[name])],
        }
        for name in fitting
    ]


def _typed(method: str, knob: str, default: str, chosen: Choices) -> str:
    """What was typed before; else what the method needs for data whose list of answers nobody declared."""
    first = str(METHODS[method].info.example_options.get(knob, default))
    return chosen.typed.get(method, {}).get(knob, first)


def warnings(table: Table) -> list[str]:
    """What a steward should look at before a run.

    Examples
    --------
    >>> warnings(Table.from_frame({"a": ["x", "y"] * 5}))
    ['Only 10 records: figures will be rough, and small data are hard to protect.']
    """
    found = []
    if table.rows < 200:
        found.append(f"Only {table.rows} records: figures will be rough, and small data are hard to protect.")
    for name in table.names:
        vector = table[name]
        if vector.state is not None and float(np.mean(vector.state != 0)) > 0.5:
            found.append(f"More than half of '{name}' is empty or a special code.")
        if vector.column.kind is Kind.TEXT and not any(map(vector.column.has, NEVER_RELEASED)):
            found.append(f"'{name}' looks like free text: mark it as naming a person, or take it out.")
    return found
