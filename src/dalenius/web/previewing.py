"""Ten made-up rows on the set-up page: what codes, rules and computed columns do, before anything is run."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.random import DEFAULT_SEED, generator
from dalenius.data.rules import rules_for
from dalenius.data.table import Table
from dalenius.release.template import PREFERRED
from dalenius.synth import METHODS, Candidate
from dalenius.synth.candidate import DEFAULT_METHOD
from dalenius.web.choices import Choices

SHOWN = 10
TRIED = 2000
"""Records that the rows are learnt from: enough to see what holds, few enough to wait for."""
KEPT = "kept by construction: "


def preview(table: Table, chosen: Choices) -> dict[str, Any]:
    """Made-up rows with their columns, what holds in them by construction, and which rules hold.

    The rows come from a synthesizer and through the exit, as those of a run do; no record of the file is shown.
    """
    part = table
    if table.rows > TRIED:
        part = table.take(
            np.sort(generator(DEFAULT_SEED, "preview").choice(table.rows, TRIED, replace=False))
        )
    method = next((m for m in chosen.methods if m in PREFERRED), DEFAULT_METHOD)  # without a budget to spend
    made = Candidate(method, prepare=chosen.structure.keep, rows=SHOWN).make(part)
    cells = made.table.to_frame("dict")
    columns = list(cells)
    rows = [
        ["" if (v := cells[name][i]) is None else str(v) for name in columns] for i in range(made.table.rows)
    ]
    rules = rules_for(table.schema, made.table.names)
    held = [note.removeprefix(KEPT).split("; ") for note in made.notes if note.startswith(KEPT)]
    return {
        "columns": columns,
        "rows": rows,
        "method": METHODS[method].info.title,
        "kept": held[0] if held else [],
        "rules": [[rule.text, not rule.violations(made.table).any()] for rule in rules],
    }
