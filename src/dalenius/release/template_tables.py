"""A first plan for several tables: one intruder for each table, who knows the tables above it too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.data.exit import releasable
from dalenius.data.relations import Database
from dalenius.data.relations_view import chain
from dalenius.data.schema import Kind
from dalenius.release.plan import Scenario, database_policy
from dalenius.release.template import ACQUAINTANCE, MEASURED, Draft, roles
from dalenius.synth.relational.candidate import DatabaseCandidate

WAYS: Mapping[str, Mapping[str, Any]] = {
    "close": {"method": "conditional"},
    "smooth": {
        "method": "conditional", "minbucket": 20, "options": {"minbucket": 20, "smoothing": "density"},
    },
    "syndiffix": {"method": "conditional", "base": "syndiffix", "minbucket": 20},
    "joined": {"method": "join", "options": {"minbucket": 20, "smoothing": "density"}},
    "families": {"method": "flatten", "base": "syndiffix"},
}  # fmt: skip
"""From close to the data to far from it; those that fit the tables are proposed."""
ACROSS = ("parent-child", "siblings", "cardinality", "event-order")
MOST_KNOWN = 4


def database_template(data: Path, base: Database, schema: Path | None = None) -> str:
    """A commented plan for a folder or a database file.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> print(database_template(Path("clinic"), examples.visits(200)).splitlines()[4])
    input: "clinic"
    """
    return Draft(
        data, intruders(base), ways(base), schema, policy=database_policy(base), measures=(*MEASURED, *ACROSS)
    ).text()  # fmt: skip


def ways(base: Database) -> dict[str, dict[str, Any]]:
    """Candidates that fit the tables."""
    found = {}
    for name, facts in WAYS.items():
        (candidate,) = DatabaseCandidate.from_mapping(facts, name)
        if candidate.method == "flatten" and base.order:
            continue  # a family as one row does not know which event was first
        if not candidate.faults(base):
            found[name] = dict(facts)
    return found


def intruders(base: Database) -> list[Scenario]:
    """Somebody for each table, the lowest first, who knows a few columns of it and of those above."""
    found = []
    for name in reversed(base.sequence):
        own = _usable(base, name)
        keys, targets = roles(base.bare(name).select(own)) if own else ([], [])
        above = [
            f"{t}.{c}" for t in chain(base, name)[1:] for c in roles(base.bare(t))[0][:2] if _usable(base, t)
        ]
        if len(own) == 1:
            keys, targets = [], own
        known = [*(f"{name}.{c}" for c in keys), *above][:MOST_KNOWN]
        if known and targets:
            wanted = tuple(f"{name}.{c}" for c in targets)
            found.append(Scenario(f"acquaintance, {name}", tuple(known), wanted, ACQUAINTANCE))
    return found


def _usable(base: Database, name: str) -> list[str]:
    table = releasable(base.bare(name))
    return [n for n in table.names if table[n].column.kind is not Kind.TEXT]
