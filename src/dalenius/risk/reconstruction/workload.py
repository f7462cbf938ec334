"""`Workload`: published counts as questions to a file: which share of its rows has these values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.random import generator
from dalenius.data.table import Table
from dalenius.published import Published
from dalenius.published.reading import texts

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """Questions and their true answers.

    Attributes
    ----------
    domains
        Values of every column.
    members
        Questions × all values, column after column: which values a question counts; all of a column it does not ask.
    answers
        Share of the rows that each question counts.
    rows
        How many rows there are.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}
    >>> Workload.margins(people, ways=[2])
    Workload(4 questions about 3 rows, 4 combinations)
    """

    domains: Mapping[str, tuple[str, ...]]
    members: Bools
    answers: Floats
    rows: int

    def __post_init__(self) -> None:
        if ((self.answers < 0) | (self.answers > 1)).any():
            raise DataError("answers must be shares between 0 and 1: check the number of rows")

    def __repr__(self) -> str:
        combined = int(np.prod([float(len(v)) for v in self.domains.values()]))
        return (
            f"Workload({len(self.answers):,} questions about {self.rows:,} rows, {combined:,} combinations)"
        )

    @property
    def edges(self) -> Ints:
        """Where the values of each column begin."""
        return np.concatenate([[0], np.cumsum([len(v) for v in self.domains.values()])]).astype(np.int64)

    @property
    def asked(self) -> Bools:
        """Questions × columns: whether the question looks at the column."""
        edges = self.edges
        parts = [~self.members[:, a:b].all(axis=1) for a, b in pairwise(edges)]
        return np.column_stack(parts)

    @classmethod
    def margins(
        cls,
        data: Any,
        columns: Sequence[str] | None = None,
        *,
        ways: Sequence[int] | None = None,
        sets: Sequence[Sequence[str]] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
    ) -> Workload:
        """All cells of some margins: every set of ``ways`` columns, or the ``sets`` named."""
        table = Table.from_frame(data)
        names = list(columns or table.names)
        chosen = [tuple(s) for s in sets or ()] or [s for k in ways or (2,) for s in combinations(names, k)]
        codes, known = encoded(table, names, domains)
        questions = [q for chosen_set in chosen for q in _cells(chosen_set, known)]
        return cls.ask(codes, known, questions)

    @classmethod
    def ask(
        cls,
        codes: Ints,
        domains: Mapping[str, tuple[str, ...]],
        questions: Sequence[Mapping[str, Sequence[int]]],
    ) -> Workload:
        """Questions given as column → codes that count, answered by a file."""
        names = list(domains)
        size = sum(len(v) for v in domains.values())
        edges = np.concatenate([[0], np.cumsum([len(v) for v in domains.values()])])
        members = np.ones((len(questions), size), np.bool_)
        for row, question in enumerate(questions):
            for name, values in question.items():
                at = names.index(name)
                members[row, edges[at] : edges[at + 1]] = False
                members[row, edges[at] + np.asarray(values, np.int64)] = True
        members = np.unique(members, axis=0) if len(members) else members
        return cls(dict(domains), members, answer(codes, members, edges), len(codes))

    @classmethod
    def from_published(cls, published: Published, rows: int) -> Workload:
        """The exact cells of published tables as questions about so many people."""
        names = published.columns
        size = sum(len(v) for v in published.domains.values())
        edges = np.concatenate([[0], np.cumsum([len(v) for v in published.domains.values()])])
        members, answers = [], []
        for margin in published.margins:
            cells = np.column_stack(np.unravel_index(margin.keys, margin.shape)) if margin.columns else None
            for k in np.flatnonzero((margin.low == margin.high) & (cells is not None)):
                line = np.ones(size, np.bool_)
                for j, name in enumerate(margin.columns):
                    at = names.index(name)
                    assert cells is not None
                    line[edges[at] : edges[at + 1]] = margin.maps[j] == cells[k, j]
                members.append(line)
                answers.append(margin.low[k] / max(rows, 1))
        if not members:
            raise OptionError("no exact cells to rebuild a file from")
        unique, first = np.unique(np.array(members), axis=0, return_index=True)
        return cls(dict(published.domains), unique, np.array(answers)[first], rows)

    def sample(self, number: int, seed: int = 1) -> Workload:
        """Some of the questions, drawn at random."""
        drawn = generator(seed, "questions").permutation(len(self.answers))[:number]
        kept = np.sort(drawn)
        return Workload(self.domains, self.members[kept], self.answers[kept], self.rows)


def encoded(
    table: Table, names: Sequence[str], domains: Mapping[str, Sequence[Any]] | None = None
) -> tuple[Ints, dict[str, tuple[str, ...]]]:
    """Codes of some columns over their domains; a value outside them is an error that names the column alone."""
    missing = [name for name in names if name not in table]
    if missing:
        raise OptionError(no_column(missing, table.names))
    known, codes = {}, []
    for name in names:
        shown = texts(table, name)
        given = (domains or {}).get(name)
        known[name] = tuple(sorted(set(shown))) if given is None else tuple(map(str, given))
        at = {value: i for i, value in enumerate(known[name])}
        if not set(shown) <= set(at):
            raise DataError(f"column {name!r} has values outside its domain")
        codes.append([at[value] for value in shown])
    return np.array(codes, np.int64).T.reshape(table.rows, len(names)), known


def answer(codes: Ints, members: Bools, edges: Any) -> Floats:
    """Share of the rows that each question counts."""
    counted = np.zeros(len(members))
    for start in range(0, len(members), 256):
        part = members[start : start + 256]
        inside = np.ones((len(part), len(codes)), np.bool_)
        for a in range(codes.shape[1]):
            inside &= part[:, edges[a] + codes[:, a]]
        counted[start : start + 256] = inside.sum(axis=1)
    return counted / max(len(codes), 1)


def _cells(names: Sequence[str], domains: Mapping[str, tuple[str, ...]]) -> list[dict[str, list[int]]]:
    shape = [len(domains[name]) for name in names]
    return [{name: [int(c)] for name, c in zip(names, cell, strict=True)} for cell in np.ndindex(*shape)]
