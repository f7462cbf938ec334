"""`check`: what will go wrong before synthesizing, in one list (Latner et al. 2024, section 3)."""

from __future__ import annotations

from typing import Any

from dalenius.data.exit import releasable, stays
from dalenius.data.rules import rules_for
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.preparation.codes import level_problems, missing_codes
from dalenius.preparation.derived import dependences, formulas, groupings
from dalenius.preparation.finding import Finding, Findings
from dalenius.preparation.keeping import Kept
from dalenius.preparation.lengths import date_lengths
from dalenius.preparation.orders import orders, unasked
from dalenius.preparation.shapes import heaping, outliers

_ORDER = {"error": 0, "warning": 1, "info": 2}


def check(data: Any, schema: Schema | None = None) -> Findings:
    """Look for what synthesizers stumble over: codes, derived columns, outliers, heaping, identifiers, rare levels.

    Parameters
    ----------
    data
        A frame of any supported type, or a table.
    schema
        Inferred when absent. Declared missing codes are not reported again; rules that the data break are.

    What `synthesize` keeps by construction is listed too, as something nobody has to do anything about.

    Examples
    --------
    >>> found = check({"income": [*range(100, 900, 10), *[-8] * 40], "sex": ["f", "m", "f"] * 40})
    >>> [finding.evidence for finding in found.of("missing-code")]
    ['-8 in 40 rows, taken for a code when the schema was inferred']
    """
    table = Table.from_frame(data, schema)
    if table.rows == 0:
        return Findings((Finding("no-rows", (), "error", "the file has no rows", 0, 0.0, "give some data"),))
    whole, table = table, releasable(table)  # what never leaves is never synthesized either
    codes = missing_codes(table)
    skip: dict[str, set[float]] = {}
    for finding in codes:
        if (
            finding.kind == "missing-code"
            and finding.severity == "warning"
            and "inferred" not in finding.evidence
        ):
            skip.setdefault(finding.columns[0], set()).add(float(finding.evidence.split(" ", 1)[0]))
    findings = [
        *left_out(whole),
        *level_problems(table),
        *codes,
        *groupings(table),
        *formulas(table),
        *date_lengths(table),
        *dependences(table),
        *orders(table),
        *unasked(table),
        *outliers(table, skip),
        *heaping(table, skip),
        *broken_rules(whole),
    ]
    told = Kept.of(whole).answered(findings)
    return Findings(tuple(sorted(told, key=lambda f: _ORDER[f.severity])))


def left_out(table: Table) -> list[Finding]:
    """Columns that say who somebody is: they are not synthesized, and a wrong guess must be seen."""
    todo = "left out of every file; give it another role in the schema if that is wrong"
    return [
        Finding(
            "left-out", (c.name,), "info", f"{c.roles[0]}: {c.note or 'by the schema'}", table.rows, 1.0, todo
        )
        for c in table.schema
        if stays(c)
    ]


def broken_rules(table: Table, todo: str = "correct the data or the rule") -> list[Finding]:
    """Rules of the schema that rows of the table break."""
    findings = []
    for rule in rules_for(table.schema, table.names):
        rows = int(rule.violations(table).sum())
        if rows:
            text, share = f"{rows:,} rows break: {rule.text}", rows / table.rows
            findings.append(Finding("broken-rule", rule.columns, "warning", text, rows, share, todo))
    return findings
