"""`fit`: everything that follows for certain from what is published, cell by cell.

Three steps, each only for what the one before left open: bounds by single sums, over all areas at once; linear
programs, each started where the last one ended; and, where a linear program ends between whole numbers, integer
programs. A bound is only ever called exact when a table of whole numbers attains it, and a cell is only called proved
when no table with another count exists. Where an integer program was cut off, the (wider) linear bound stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError, TableError
from dalenius.published.arrays import Bools, Ints
from dalenius.published.cells import MOST_CELLS
from dalenius.published.ends import Ends, Progress
from dalenius.published.figures import Published
from dalenius.published.joint import held_together
from dalenius.published.keeping import Kept, fingerprint
from dalenius.published.margin import NO_LIMIT
from dalenius.published.relaxing import named_conflicts, relaxed
from dalenius.published.system import System


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """What every table that fits the published figures has in common.

    Attributes
    ----------
    system
        The possible cells and the published sums.
    low, high
        Bounds of the count in each possible cell; all other cells are empty.
    exact
        Whether each cell's bounds are attained by tables of whole numbers; otherwise they are only outer bounds.
    solution
        One table of whole numbers that fits, if one was looked for and found.
    slack
        Published sums that had to be changed to make the figures agree, and by how much; empty if they agree. Nothing
        is proved then.
    undecided
        Cells of which it is not known whether they are proved, because a solver was cut off.
    """

    system: System
    low: Ints
    high: Ints
    exact: Bools
    solution: Ints | None
    slack: pl.DataFrame
    undecided: Bools
    programs: int = 0

    def __repr__(self) -> str:
        cells, people = len(self.low), self.people
        return (
            f"Fit({int(self.proved.sum()):,} of {cells:,} possible cells are proved, with {self.people_proved:,} of "
            f"{people:,} people)"
        )

    @property
    def published(self) -> Published:
        """What was attacked."""
        return self.system.published

    @cached_property
    def proved(self) -> Bools:
        """Cells whose count is the same in every table that fits."""
        return (self.low == self.high) & (not len(self.slack))

    @property
    def alone(self) -> int:
        """How many people are proved to be the only one in their cell."""
        return int((self.proved & (self.low == 1)).sum())

    @property
    def trusted(self) -> bool:
        """Whether what is not proved may be called open: the figures agree, and every solver came to an end."""
        return not len(self.slack) and not bool(np.any(self.undecided))

    @property
    def people(self) -> int:
        """How many people there are, as far as the figures say (at most)."""
        return int(self.solution.sum()) if self.solution is not None else int(self.high.sum())

    @cached_property
    def people_range(self) -> tuple[int, int]:
        """Between which numbers all people together certainly lie, as far as single tables and cells say.

        Examples
        --------
        >>> fit(Published.from_tables({"t": {"sex": ["f", "m"], "n": ["3", "4"]}})).people_range
        (7, 7)
        >>> low, high = fit(Published.from_tables({"t": {"sex": ["f", "m"], "n": ["3", ":c"]}})).people_range
        >>> low, high >= 2**40
        (3, True)
        """
        low, high = int(self.low.sum()), min(int(self.high.sum()), NO_LIMIT)
        for number in np.unique(self.system.origin[:, 0]).tolist():
            rows = np.flatnonzero(self.system.origin[:, 0] == number)
            times = np.asarray(self.system.rows[rows].sum(axis=0)).ravel()
            if (times == 1).all():  # everybody stands in one of its cells
                low = max(low, int(self.system.low[rows].sum()))
                high = min(high, int(self.system.high[rows].sum()))
        return low, max(low, high)

    def people_among(self, inside: Bools) -> tuple[int, int]:
        """Between which numbers the people of some cells together certainly lie.

        Examples
        --------
        >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}
        >>> found = fit(Published.count(people, [["sex"], ["town"]]))
        >>> int(found.high.sum()), found.people_among(found.high > 0)
        (5, (3, 3))
        """
        return held_together(self.system, self.low, self.high, inside)

    @property
    def people_proved(self) -> int:
        """How many people are in cells whose count is proved."""
        return int(self.low[self.proved].sum())

    @property
    def people_printed(self) -> int:
        """How many of them are in cells that a table prints as they are, so that nothing has to follow.

        Examples
        --------
        >>> sexes = {"sex": ["f", "m", "Total"], "n": ["3", ":c", "4"]}
        >>> found = fit(Published.from_tables({"sexes": sexes}))
        >>> found.people_proved, found.people_printed
        (4, 3)
        """
        rows, whole = self.system.rows, len(self.published.columns)
        finest = np.array([len(margin.columns) == whole for margin in self.published.margins], bool)
        single = (np.diff(rows.indptr) == 1) & (self.system.low == self.system.high)
        printed = np.zeros(len(self.low), bool)
        printed[rows[single & finest[self.system.origin[:, 0]]].indices] = True
        return int(self.low[self.proved & printed].sum())

    @property
    def present(self) -> Bools:
        """Cells that are certainly not empty."""
        return (self.low > 0) & (not len(self.slack))

    def frame(self) -> pl.DataFrame:
        """The possible cells in words, with their bounds; confidential, as it points at people.

        Examples
        --------
        >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}
        >>> fit(Published.count(people, [["sex"], ["town"]])).frame().rows()
        [('f', 'A', 0, 1, False), ('f', 'B', 1, 2, False), ('m', 'A', 0, 1, False), ('m', 'B', 0, 1, False)]
        """
        columns = {
            name: pl.Series(name, [values[c] for c in self.system.cells[:, j].tolist()], pl.String)
            for j, (name, values) in enumerate(self.published.domains.items())
        }
        return pl.DataFrame({**columns, "low": self.low, "high": self.high, "proved": self.proved})


def fit(
    published: Published,
    *,
    bounds: bool = True,
    relax: bool = False,
    most: int = MOST_CELLS,
    nodes: int = 2000,
    seed: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Fit:
    """What follows for certain from published tables.

    Parameters
    ----------
    bounds
        Find the exact bounds of every cell; otherwise only which cells are proved, which is faster.
    relax
        Change figures that contradict each other as little as possible, instead of stopping; nothing is proved then.
    most
        Possible cells beyond which the attack is refused.
    nodes
        Steps after which an integer program is cut off (a count, so that every run finds the same).
    keep
        A file in a private folder where the state is kept: a search that was killed goes on from it, to the same bytes.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "f"], "town": ["A", "B", "A"]}
    >>> fit(Published.count(people, [["sex"], ["town"], ["sex", "town"]]))
    Fit(2 of 2 possible cells are proved, with 3 of 3 people)
    """
    if nodes < 1:
        raise OptionError("nodes must be at least 1")
    system = System.of(published, most)
    slack = pl.DataFrame(schema={"sum": pl.String, "slack": pl.Int64})
    mark = fingerprint(published, bounds=bounds, relax=relax, nodes=nodes, seed=seed) if keep else ""
    kept = Kept(keep, mark) if keep else None
    try:
        ends = Ends.of(system, *system.bounds(), nodes, seed, kept=kept)
    except TableError:
        if not relax:
            raise named_conflicts(system) from None
        system, slack = relaxed(system)
        ends = Ends.of(system, *system.bounds(), nodes, seed, kept=kept)
    try:
        ends.search(bounds, progress, kept)
    finally:
        ends.whole.close()
    if kept is not None:
        kept.drop()
    return Fit(
        system, ends.low, ends.high, ends.exact, ends.solution, slack, ends.undecided, ends.programs
    )  # fmt: skip
