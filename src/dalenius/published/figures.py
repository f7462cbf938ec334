"""`Published`: every figure that is out in the world about some people, with its source, date and population."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import FileError, TableError, counted, names
from dalenius.data.files import read as read_file
from dalenius.data.table import Table
from dalenius.published.entry import Entry, entries_from_yaml
from dalenius.published.margin import Margin
from dalenius.published.reading import Domains, filled, margins_of, settled, widened, without_figures

NOT_ATTACKED = "Only counts are attacked; beside them these figures may give values away, by subtraction too:"


@dataclass(frozen=True)
class Statistic:
    """A published figure that is no count: a coefficient, mean or median.

    It is recorded, and aimed at by files made from outputs; it takes no part in proofs.
    """

    name: str
    kind: str
    about: str
    values: Mapping[str, float]
    source: str = ""
    date: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """What is out: tables of counts over common columns, and other figures.

    Attributes
    ----------
    domains
        The values each column can have, as far as anybody says.
    margins
        The tables, split by what they cross: totals inside a table are tables of their own.
    doubts
        Why more may be out than is known here; figures about it are not trusted then.
    remarks
        What was taken for what.
    declared
        Columns of which somebody said what values there are.

    Examples
    --------
    >>> sexes = {"sex": ["f", "m", "Total"], "n": [3, 4, 7]}
    >>> towns = {"town": ["A", "B"], "sex": ["f", "f"], "n": ["1", ":c"]}
    >>> Published.from_tables({"sexes": sexes, "towns": towns})
    Published(3 tables, 5 cells: 4 exact, 1 suppressed; sex 2 × town 2)
    """

    domains: Domains
    margins: tuple[Margin, ...]
    statistics: tuple[Statistic, ...] = ()
    doubts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        known = {"exact": 0, "interval": 0, "noisy": 0, "suppressed": 0}
        for margin in self.margins:
            noisy, nothing = margin.scale > 0, np.isnan(margin.value)
            exact = ~noisy & ~nothing & (margin.low == margin.high)
            known["noisy"] += int(noisy.sum())
            known["suppressed"] += int(nothing.sum())
            known["exact"] += int(exact.sum())
            known["interval"] += int((~noisy & ~nothing & ~exact).sum())
        said = ", ".join(f"{n:,} {kind}" for kind, n in known.items() if n)
        crossed = " × ".join(f"{name} {len(values)}" for name, values in self.domains.items())
        cells = counted(sum(len(m.keys) for m in self.margins), "cell")
        return f"Published({counted(len(self.margins), 'table')}, {cells}: {said or 'nothing'}; {crossed})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are crossed anywhere."""
        return tuple(self.domains)

    @property
    def combinations(self) -> int:
        """How many combinations of values there are, possible or not."""
        total = 1
        for values in self.domains.values():
            total *= len(values)
        return total

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, Any],
        *,
        value: str = "n",
        domains: Mapping[str, Sequence[Any]] | None = None,
        **facts: Any,
    ) -> Published:
        """From tidy tables, one row a cell: the columns it crosses, ``Total`` for all of a column, and its count.

        Parameters
        ----------
        tables
            Name → frame. A count may be empty or a mark such as ":c" where it is suppressed.
        value
            The column of the counts.
        domains
            Values of the columns, where the tables do not show them all.
        **facts
            What holds for all of them: see `Entry`.
        """
        return cls.from_entries(
            [Entry(name, Table.from_frame(frame), value=value, **facts) for name, frame in tables.items()],
            domains,
        )

    @classmethod
    def from_entries(
        cls, entries: Sequence[Entry], domains: Mapping[str, Sequence[Any]] | None = None
    ) -> Published:
        """From tables that each say how they were treated, when they came out and of whom they speak."""
        remarks: list[str] = []
        doubts: list[str] = []
        entries = [settled(entry, remarks, doubts) for entry in filled(entries, doubts)]
        known = widened({name: tuple(map(str, values)) for name, values in (domains or {}).items()}, entries)
        faults: list[str] = []
        margins = [margin for entry in entries for margin in margins_of(entry, known, faults)]
        if faults:
            raise TableError("published tables", faults)
        facts: dict[str, Any] = {"doubts": tuple(doubts), "remarks": tuple(remarks)}
        return cls(known, tuple(margins), declared=frozenset(domains or ()), **facts)

    @classmethod
    def from_yaml(cls, path: str | Path) -> Published:
        """From a file that lists tables and other figures; see docs/reconstruction.md."""
        entries, domains, statistics = entries_from_yaml(Path(path))
        made = cls.from_entries([without_figures(entry) for entry in entries], domains)
        told = (
            (f"{NOT_ATTACKED} {names([str(facts['name']) for facts in statistics])}.",) if statistics else ()
        )
        known = tuple(Statistic(**facts) for facts in statistics)
        return replace(made, statistics=known, doubts=(*made.doubts, *told))

    @classmethod
    def from_files(cls, paths: Iterable[str | Path], **facts: Any) -> Published:
        """From files of tidy tables (CSV, Parquet, Excel); the name of the file names the table."""
        files = [Path(path) for path in paths]
        if not files:
            raise FileError("no tables to attack: name files with one row a cell")
        return cls.from_entries([Entry(file.stem, read_file(file), **facts) for file in files])

    @classmethod
    def count(
        cls,
        data: Any,
        margins: Sequence[Sequence[str]],
        *,
        domains: Mapping[str, Sequence[Any]] | None = None,
    ) -> Published:
        """What an office would publish that prints these tables of a file exactly, with all their zeros.

        Examples
        --------
        >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "A"]}
        >>> Published.count(people, [["sex", "town"], []])
        Published(2 tables, 3 cells: 3 exact; sex 2 × town 2)
        """
        table = Table.from_frame(data)
        named = [tuple(margin) for margin in margins]
        wanted = list(dict.fromkeys(name for margin in named for name in margin))
        known = widened(
            {name: tuple(map(str, values)) for name, values in (domains or {}).items()},
            [Entry("data", table.select(wanted), value=None)] if wanted else [],
        )
        entries = [Entry(" × ".join(m) or "total", table, value=None, by=m, complete=True) for m in named]
        faults: list[str] = []
        made = tuple(margin for e in entries for margin in margins_of(e, known, faults))
        if faults:
            raise TableError("data", faults)
        return cls(known, made)

    def __or__(self, other: Published) -> Published:
        """Both together; columns of the same name are the same column."""
        doubts, remarks = ((*a, *(w for w in b if w not in a)) for a, b in
                           ((self.doubts, other.doubts), (self.remarks, other.remarks)))  # fmt: skip
        statistics, declared = self.statistics + other.statistics, self.declared | other.declared
        return Published(*_merged(self, other), statistics, doubts, remarks, declared)

    def without(self, name: str) -> Published:
        """The same without one table."""
        return replace(self, margins=tuple(m for m in self.margins if m.name != name))


def _merged(first: Published, second: Published) -> tuple[Domains, tuple[Margin, ...]]:
    domains = dict(first.domains)
    for name, values in second.domains.items():
        held = domains.get(name, ())
        domains[name] = (*held, *(v for v in values if v not in held))
    margins = []
    for side in (first, second):
        for margin in side.margins:
            maps = []
            for column, places in zip(margin.columns, margin.maps, strict=True):
                at = {v: i for i, v in enumerate(side.domains[column])}
                # A value nobody had named when the table was made is one the table does not speak of.
                maps.append(np.array([places[at[v]] if v in at else -1 for v in domains[column]], np.int64))
            margins.append(replace(margin, maps=tuple(maps)))
    return domains, tuple(margins)
