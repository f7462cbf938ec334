"""Codebook: what each released column is, its categories, and what was done to it. For the people who get the file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.core.registry import MethodInfo
from dalenius.data import Table
from dalenius.data.schema import Column, Kind
from dalenius.data.vector import Vector
from dalenius.synth import Method


def codebook(released: Table, method: MethodInfo, dropped: list[str]) -> dict[str, Any]:
    """Description of a released table; only what is in the released file itself.

    Examples
    --------
    >>> from dalenius.synth import Independent
    >>> codebook(Table.from_frame({"sex": ["f", "m"]}), Independent.info, ["pid"])["columns"][0]["categories"]
    ['f', 'm']
    """
    return {
        "records": released.rows,
        "made_by": method.title,
        "what_was_done": method.meaning,
        "left_out": dropped,
        "columns": [_entry(released, name) for name in released.names],
    }


def _entry(table: Table, name: str) -> dict[str, Any]:
    vector = table[name]
    column: Column = vector.column
    entry: dict[str, Any] = {"name": name, "kind": column.kind.value, "about": column.label}
    if vector.is_number:
        entry["decimals"] = column.decimals if column.kind is not Kind.DATETIME else None
        labelled = [_shown(v, column) for v in labels_used(vector) if v not in column.special]
        entry |= {"labels": labelled} if labelled else {}
    elif column.kind is not Kind.TEXT:
        # Only categories that occur in the released file: an unused one may be somebody's in the source.
        used = sorted(set(vector.values.tolist()))
        entry["categories"] = [_shown(vector.levels[i], column) for i in used if i >= 0]
    entry["not_applicable"] = [_shown(code, column) for code in column.not_applicable]
    entry["missing_codes"] = [_shown(code, column) for code in column.missing]
    entry["empty_cells"] = bool(vector.state is not None and (vector.state == 1).any())
    return entry


def labels_used(vector: Vector) -> dict[Any, str]:
    """Labels of the values that occur in a column, and of its codes: others may be somebody's in the source.

    Examples
    --------
    >>> from dalenius.data.schema import Schema
    >>> sex = Column("sex", Kind.CATEGORICAL, levels=(1, 2), value_labels={1: "man", 2: "woman", 9: "?"}, missing=(9,))
    >>> labels_used(Table.from_frame({"sex": [2, 2]}, Schema((sex,)))["sex"])
    {2: 'woman', 9: '?'}
    """
    values = np.unique(vector.values).tolist()
    used = {*(values if vector.is_number else (vector.levels[i] for i in values)), *vector.column.special}
    return {value: label for value, label in vector.column.value_labels.items() if value in used}


def outgoing(table: Table) -> Table:
    """A table as it is written: without the original's title, and with labels of what it holds alone.

    Formats of SPSS and Stata carry them, and nobody sees them among the cells.
    """
    columns = [replace(v.column, value_labels=labels_used(v)) for v in table.vectors.values()]
    return table.with_schema(replace(table.schema, title="", columns=tuple(columns)))


def _shown(level: Any, column: Column) -> str:
    label = column.value_labels.get(level)
    return f"{level} ({label})" if label else str(level)


def codebook_text(book: dict[str, Any], title: str) -> str:
    """The codebook as Markdown."""
    lines = [
        f"# Codebook: {title}",
        "",
        f"{book['records']:,} records, made by: {book['made_by']}.",
        "",
        book["what_was_done"],
    ]
    if book["left_out"]:
        lines += ["", f"Left out of the release: {', '.join(map(_line, book['left_out']))}."]
    for entry in book["columns"]:
        lines += ["", f"## {_line(entry['name'])}", "", f"- kind: {entry['kind']}"]
        lines += [f"- about: {_line(entry['about'])}"] if entry["about"] else []
        if "categories" in entry:
            shown = [_line(text) for text in entry["categories"][:200]]
            more = len(entry["categories"]) - len(shown)
            lines.append(f"- categories: {', '.join(shown)}" + (f" and {more} more" if more else ""))
        for part, words in (
            ("labels", "labels"),
            ("not_applicable", "code for not applicable"),
            ("missing_codes", "code for no answer"),
        ):
            lines += [f"- {words}: {', '.join(map(_line, entry[part]))}"] if entry.get(part) else []
        lines += ["- empty cells mean that there is no answer"] if entry["empty_cells"] else []
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """A name or category of the data as part of one line of Markdown: it cannot end the line or bring markup."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return re.sub(r"([\\`*\[\]])", r"\\\1", plain).replace("&", "&amp;").replace("<", "&lt;")


def limits_text(title: str, method: Method, uses: list[str], made_up: bool, kept: Sequence[str] = ()) -> str:
    """Statement of limits: what the file may be used for, and what not."""
    made = f"made after real data by a computer program ({method.info.title}) so that the whole looks like the original"
    said = (
        f"The records in this file are not real people. They were {made} while no record is meant to stand for anybody."
        if made_up
        else f"The records in this file were {made}. That some are real people was not ruled out."
    )
    if kept:
        said = (
            f"Each record in this file holds facts of a real person as they are: {', '.join(map(_line, kept))}. The "
            f"rest was made after real data by a computer program ({method.info.title})."
        )
    if method.info.masks:
        said = f"The records in this file are real people's. They were changed ({method.info.title})."
    lines = [
        f"# Before you use this file: {title}",
        "",
        said,
        "",
        f"- Do not try to find a person in it.{' A record that seems to fit somebody may fit by chance.' * made_up}",
        "- Results from this file are approximate. Intervals and tests computed from it as if it "
        "were a survey are too sure of "
        "themselves.",
        f"- {method.promise}",
        *(f"- {line}" for line in uses),
    ]
    return "\n".join([*lines, ""])
