"""Missing codes that look like numbers, and columns that are not what they seem (Latner et al. 2024, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalenius.core.errors import counted
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import SPECIAL, AnyArray, Vector
from dalenius.preparation.finding import Finding, Severity

USUAL_CODES = frozenset({-1, -2, -3, -4, -5, -6, -7, -8, -9, -99, -999})
CODE_GAP = 1.5
WORDS = frozenset({"", "na", "n/a", "null", "nan", ".", "none"})
MANY, VERY_MANY = 16, 20
RARE = 5
SEVERAL = 10
"""Levels that read as numbers, from which on a column is taken for one of numbers."""


def missing_codes(table: Table) -> list[Finding]:
    """Numbers that stand for "no answer" and would be synthesized as numbers."""
    findings = []
    for name, vector in table.vectors.items():
        findings += _guessed_codes(name, vector)
        if vector.column.kind in (Kind.INTEGER, Kind.CONTINUOUS):
            findings += _number_codes(name, vector)
        elif not vector.is_number:
            findings += _word_codes(name, vector)
    return findings


def _guessed_codes(name: str, vector: Vector) -> list[Finding]:
    """Codes that were guessed when the schema was inferred: somebody who knows must confirm them."""
    if vector.state is None or "looks like a code" not in vector.column.note:
        return []
    counts = [
        (code, int(np.sum(vector.state == SPECIAL + j))) for j, code in enumerate(vector.column.special)
    ]
    return [
        Finding(
            "missing-code",
            (name,),
            "warning",
            f"{code} in {count:,} rows, taken for a code when the schema was inferred",
            count,
            count / max(len(vector), 1),
            "confirm it in the schema, as missing or as not_applicable",
        )
        for code, count in counts
        if count
    ]


def _number_codes(name: str, vector: Vector) -> list[Finding]:
    values, counts = np.unique(vector.values, return_counts=True)
    if len(values) < 3:
        return []
    negative = values < 0
    findings = []
    # a number that few rows have is somebody's own, and would be told
    lone = negative.sum() == 1 and values[0] == np.round(values[0]) and counts[0] >= RARE
    listed = 0 < negative.sum() <= 3 and all(float(v) in USUAL_CODES for v in values[negative])
    if lone or listed:
        for value, count in zip(values[negative].tolist(), counts[negative].tolist(), strict=True):
            findings.append(_code(name, value, count, len(vector), "warning", "the only negative value"))
    top, second = float(values[-1]), float(values[-2])
    digits = str(int(top)) if top == np.round(top) and abs(top) < 1e15 else ""
    if len(digits) >= 2 and set(digits) in ({"9"}, {"8"}) and second > 0 and counts[-1] > 1:
        strong = top >= CODE_GAP * second
        why = "far above every other value" if strong else "the largest value"
        findings.append(_code(name, top, int(counts[-1]), len(vector), "warning" if strong else "info", why))
    return findings


def _code(name: str, value: float, count: int, rows: int, severity: str, why: str) -> Finding:
    shown = int(value) if value == np.round(value) else value
    return Finding(
        "missing-code",
        (name,),
        "warning" if severity == "warning" else "info",
        f"{shown} in {count:,} rows, {why}",
        count,
        count / max(rows, 1),
        f"if it is no amount, declare it: missing: [{shown}] or not_applicable: [{shown}]",
        {"do": "declare-codes", "column": name, "codes": (shown,)} if severity == "warning" else None,
    )


def _word_codes(name: str, vector: Vector) -> list[Finding]:
    hit = [
        i
        for i, level in enumerate(vector.levels)
        if isinstance(level, str) and level.strip().lower() in WORDS
    ]
    if not hit:
        return []
    count = int(np.isin(vector.data, hit).astype(bool)[vector.present].sum())
    # the words are on the list of those that mean no answer, nobody's own
    words = " or ".join(
        "empty text" if not (word := str(vector.levels[i])).strip() else f"'{word}'" for i in hit
    )
    return (
        []
        if count == 0
        else [
            Finding(
                "missing-word",
                (name,),
                "info",
                f"{words} in {count:,} rows",
                count,
                count / max(len(vector), 1),
                "an answer like any other; if it means that there is none, declare it in the schema as missing",
            )
        ]
    )


def level_problems(table: Table) -> list[Finding]:
    """Empty and constant columns, identifiers, too many or too rare levels, numbers stored as text."""
    findings = []
    for name, vector in table.vectors.items():
        values = vector.values
        if len(values) == 0:
            gone = {"do": "drop-column", "column": name}
            findings.append(
                _simple("empty", name, "error", "no value at all", len(vector), "drop the column", gone)
            )
            continue
        distinct = np.unique(values)
        if len(distinct) == 1 and len(values) == len(vector):
            value = values[0].item() if vector.is_number else vector.levels[int(values[0])]
            step = {"do": "drop-constant", "column": name, "value": value, "kind": str(vector.column.kind)}
            told = "drop it and add it back afterwards"
            findings.append(_simple("constant", name, "info", "one value only", 0, told, step))
        elif _is_identifier(vector, distinct):
            text = f"{len(distinct):,} different values in {len(values):,} rows"
            told = "give it the role identifier, or drop it"
            gone = {"do": "drop-column", "column": name}
            findings.append(_simple("identifier", name, "error", text, len(values), told, gone))
        elif not vector.is_number:
            findings += _levels(name, vector, values)
    return findings


def _simple(
    kind: str,
    name: str,
    severity: Severity,
    text: str,
    count: int,
    todo: str,
    remedy: Mapping[str, Any] | None = None,
) -> Finding:
    return Finding(kind, (name,), severity, text, count, 1.0 if count else 0.0, todo, remedy)


def _is_identifier(vector: Vector, distinct: AnyArray) -> bool:
    whole = vector.column.kind in (Kind.INTEGER, Kind.TEXT, Kind.CATEGORICAL)
    return whole and len(vector) >= 50 and len(distinct) >= 0.98 * len(vector)


def _levels(name: str, vector: Vector, values: AnyArray) -> list[Finding]:
    counts = np.bincount(values, minlength=len(vector.levels))
    used = int(np.count_nonzero(counts)) + (vector.state is not None and bool((vector.state > 0).any()))
    findings = []
    numeric = [str(level).strip().lstrip("+-").replace(".", "", 1).isdigit() for level in vector.levels]
    plain = [str(level) == str(level).lstrip("0") or len(str(level)) == 1 for level in vector.levels]
    words = int(counts[~np.array(numeric, bool)].sum())
    if len(numeric) > 30 and np.mean(numeric) >= 0.95 and all(plain):
        text, told = f"{used} levels that read as numbers", "give it kind integer or continuous"
        text += f", words in {words:,} rows" if words else ""
        step = {"do": "read-as-number", "column": name} if not words else None  # words would be lost
        findings.append(_simple("number-as-text", name, "warning", text, len(values), told, step))
    elif sum(numeric) >= SEVERAL and 0 < words < len(values) / 2:
        text = f"numbers, but words in {words:,} of {len(values):,} rows"
        told = "if the words mean no answer, declare them as missing codes and give it kind integer or continuous"
        findings.append(_simple("numbers-and-words", name, "warning", text, words, told))
    elif used >= MANY and vector.column.kind is not Kind.ORDERED:
        text = f"{used} unordered levels ({_splits(used)} to split them)"
        told = "synthesize it last, order it, or merge levels"
        severity: Severity = "warning" if used >= VERY_MANY else "info"
        step = {"do": "move-last", "column": name}
        findings.append(_simple("many-levels", name, severity, text, len(values), told, step))
    rare = (counts > 0) & (counts < RARE)
    if rare.any():
        findings.append(_rare(name, vector, counts, rare))
    return findings


def _splits(levels: int) -> str:
    """Ways to put levels on two sides, as a tree must look at them."""
    return f"{2 ** (levels - 1) - 1:,} ways" if levels <= 60 else "more than 10^18 ways"


def _rare(name: str, vector: Vector, counts: AnyArray, rare: AnyArray) -> Finding:
    rows = int(counts[rare].sum())
    levels = tuple(vector.levels[i] for i in np.flatnonzero(rare).tolist())
    return Finding(
        "rare-levels",
        (name,),
        "info",
        f"{counted(len(levels), 'level')} with fewer than {RARE} rows{' each' if len(levels) > 1 else ''}",
        rows,
        rows / max(len(vector), 1),
        "they vanish or identify somebody; merge them with a neighbour",
        {"do": "merge-levels", "column": name, "levels": levels},
    )
