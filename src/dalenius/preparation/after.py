"""`check_protected`: what went wrong after synthesis (Latner et al. 2024, section 4)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray
from dalenius.preparation.checking import broken_rules
from dalenius.preparation.derived import groupings
from dalenius.preparation.finding import Finding, Findings, Severity
from dalenius.preparation.shapes import spikes

GAP = 0.2
"""A stretch of the original's range without any value counts as impossible when it is longer than this share."""
FIDELITY = 0.8


def check_protected(pair: Pair) -> Findings:
    """Values where there can be none, lost heaps, new or lost categories, contradictions, broken rules.

    Examples
    --------
    >>> pair = Pair({"a": [*range(60), 300] * 2}, {"a": [*range(60), 150] * 2})
    >>> [str(finding.kind) for finding in check_protected(pair).findings]
    ['impossible-values']
    """
    findings: list[Finding] = []
    for name in pair.columns:
        original, protected = pair.original[name], pair.protected[name]
        if original.column.kind in (Kind.INTEGER, Kind.CONTINUOUS):
            findings += _numbers(name, original.values, protected.values)
        elif not original.is_number:
            findings += _categories(pair, name)
    for finding in groupings(pair.original):
        if set(finding.columns) <= set(pair.protected.names) and not _agrees(pair, *finding.columns[:2]):
            findings.append(
                Finding(
                    "contradiction",
                    finding.columns,
                    "warning",
                    "a derived column does not follow from its source in the protected file",
                    0,
                    0.0,
                    finding.suggestion,
                )
            )
    ruled = pair.protected.with_schema(replace(pair.protected.schema, rules=pair.schema.rules))
    findings += broken_rules(ruled, "give the rule to the synthesizer")
    return Findings(tuple(findings))


def _numbers(name: str, first: AnyArray, second: AnyArray) -> list[Finding]:
    if len(first) == 0 or len(second) == 0:
        return []
    distinct = np.unique(first).astype(np.float64)
    outside = int(np.sum((second < distinct[0]) | (second > distinct[-1])))
    fractions = int(np.sum(second != np.round(second))) if np.all(first == np.round(first)) else 0
    counted: tuple[tuple[str, Severity, int, str, str], ...] = (
        ("impossible-values", "warning", _inside_gaps(distinct, second),
         "in a range where the original has nothing", "declare codes and outliers first"),
        ("out-of-range", "info", outside, "outside the original's range", "give bounds in the schema"),
        ("fractions", "warning", fractions, "with fractions in a column of whole numbers", "give it kind integer"),
    )  # fmt: skip
    findings = [
        Finding(kind, (name,), severity, f"{rows:,} rows {what}", rows, rows / len(second), todo)
        for kind, severity, rows, what, todo in counted
        if rows
    ]
    heaps = spikes(first)
    ratio = float(np.isin(second, heaps).mean() / np.isin(first, heaps).mean()) if len(heaps) else 1.0
    if ratio < FIDELITY:
        text = f"round values keep {100 * ratio:.0f} % of their mass"
        todo = "use a method that redraws observed values"
        findings.append(Finding("flattened-heaps", (name,), "warning", text, 0, ratio, todo))
    return findings


def _inside_gaps(distinct: AnyArray, second: AnyArray) -> int:
    """Rows in long stretches between two neighbouring values of the original."""
    spread = float(distinct[-1] - distinct[0])
    inside = 0
    for low, high in pairwise(distinct.tolist()):
        if spread > 0 and high - low > GAP * spread and high - low > 1:
            inside += int(np.sum((second > low) & (second < high)))
    return inside


def _categories(pair: Pair, name: str) -> list[Finding]:
    aligned = pair.categories(name, grouped=False)
    d, s = (
        np.bincount(c.codes, minlength=aligned.original.size) for c in (aligned.original, aligned.protected)
    )
    findings = []
    lost, new = (d > 0) & (s == 0), (d == 0) & (s > 0)
    if lost.any():
        rows = int(d[lost].sum())
        findings.append(
            Finding(
                "vanished",
                (name,),
                "warning" if rows > 0.01 * d.sum() else "info",
                f"{int(lost.sum())} categories with {rows:,} original rows are gone",
                rows,
                rows / max(int(d.sum()), 1),
                "merge rare categories before synthesis",
            )
        )
    if new.any():
        rows = int(s[new].sum())
        findings.append(
            Finding(
                "novel",
                (name,),
                "warning",
                f"{rows:,} rows with a category the original does not have",
                rows,
                rows / max(int(s.sum()), 1),
                "check the method's domain",
            )
        )
    return findings


def _agrees(pair: Pair, grouped: str, number: str) -> bool:
    """Whether the derived column still cuts its source into intervals."""
    return any(
        f.columns[:2] == (grouped, number) for f in groupings(pair.protected.select([grouped, number]))
    )
