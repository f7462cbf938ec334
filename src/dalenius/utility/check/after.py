"""`check_protected`: what went wrong after synthesis (spec psd08, 2.5)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dalenius.counts.pair import Pair
from dalenius.data.rules import rules_for
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray
from dalenius.utility.check.audit import Audit
from dalenius.utility.check.derived import groupings
from dalenius.utility.check.finding import Finding
from dalenius.utility.check.shapes import spikes

GAP = 0.2
"""A stretch of the original's range without any value counts as impossible when it is longer than this share."""
FIDELITY = 0.8


def check_protected(pair: Pair) -> Audit:
    """Values where there can be none, lost heaps, new or lost categories, contradictions, broken rules.

    Examples
    --------
    >>> pair = Pair({"a": [*range(60), 300] * 2}, {"a": [*range(60), 150] * 2})
    >>> [str(finding.kind) for finding in check_protected(pair).findings]
    ['impossible-values']
    """
    found: list[Finding] = []
    for name in pair.columns:
        original, protected = pair.original[name], pair.protected[name]
        if original.column.kind in (Kind.INTEGER, Kind.CONTINUOUS):
            found += _numbers(name, original.values, protected.values)
        elif not original.is_number:
            found += _categories(pair, name)
    for finding in groupings(pair.original):
        if set(finding.columns) <= set(pair.protected.names) and not _agrees(pair, *finding.columns[:2]):
            found.append(
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
    for rule in rules_for(pair.schema, pair.protected.names):
        rows = int(rule.violations(pair.protected).sum())
        if rows:
            found.append(
                Finding(
                    "broken-rule",
                    rule.columns,
                    "warning",
                    f"{rows:,} rows break: {rule.text}",
                    rows,
                    rows / pair.protected.rows,
                    "give the rule to the synthesizer",
                )
            )
    return Audit(tuple(found))


def _numbers(name: str, first: AnyArray, second: AnyArray) -> list[Finding]:
    found: list[Finding] = []
    if len(first) == 0 or len(second) == 0:
        return found
    distinct = np.unique(first).astype(np.float64)
    spread = float(distinct[-1] - distinct[0])
    inside = 0
    for low, high in pairwise(distinct.tolist()):
        if spread > 0 and high - low > GAP * spread and high - low > 1:
            inside += int(np.sum((second > low) & (second < high)))
    if inside:
        found.append(
            Finding(
                "impossible-values",
                (name,),
                "warning",
                f"{inside:,} rows in a range where the original has nothing",
                inside,
                inside / len(second),
                "declare codes and outliers first",
            )
        )
    outside = int(np.sum((second < distinct[0]) | (second > distinct[-1])))
    if outside:
        found.append(
            Finding(
                "out-of-range",
                (name,),
                "info",
                f"{outside:,} rows outside the original's range",
                outside,
                outside / len(second),
                "give bounds in the schema",
            )
        )
    whole = np.all(first == np.round(first))
    fractions = int(np.sum(second != np.round(second))) if whole else 0
    if fractions:
        found.append(
            Finding(
                "fractions",
                (name,),
                "warning",
                f"{fractions:,} rows with fractions in a column of whole numbers",
                fractions,
                fractions / len(second),
                "give it kind integer",
            )
        )
    heaps = spikes(first)
    if len(heaps):
        ratio = float(np.isin(second, heaps).mean() / np.isin(first, heaps).mean())
        if ratio < FIDELITY:
            found.append(
                Finding(
                    "flattened-heaps",
                    (name,),
                    "warning",
                    f"round values keep {100 * ratio:.0f} % of their mass",
                    0,
                    ratio,
                    "use a method that redraws observed values",
                )
            )
    return found


def _categories(pair: Pair, name: str) -> list[Finding]:
    aligned = pair.categories(name, grouped=False)
    d, s = (
        np.bincount(c.codes, minlength=aligned.original.size) for c in (aligned.original, aligned.protected)
    )
    found = []
    lost, new = (d > 0) & (s == 0), (d == 0) & (s > 0)
    if lost.any():
        rows = int(d[lost].sum())
        found.append(
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
        found.append(
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
    return found


def _agrees(pair: Pair, grouped: str, number: str) -> bool:
    """Whether the derived column still cuts its source into intervals."""
    return any(
        f.columns[:2] == (grouped, number) for f in groupings(pair.protected.select([grouped, number]))
    )
