"""A priori files of τ-ARGUS (``.hst``): statuses, costs and protection levels that the office sets by hand.

One line a cell: a code for every dimension, then ``u`` (unsafe), ``s`` (safe), ``p`` (must be published), ``c`` and the
cost of suppressing it, or ``pl`` and how far below and above its value an intruder's bounds must lie.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalenius.core.errors import TableError
from dalenius.data.files.access import text_of
from dalenius.tables.model import Bools, Floats, TableModel
from dalenius.tables.protection import PrimaryRule, Protection
from dalenius.tables.rules import Except

MOST_FAULTS = 20
NUMBERS = {"u": (0,), "s": (0,), "p": (0,), "c": (1,), "pl": (1, 2)}
"""What may be said of a cell, and how many numbers follow."""


@dataclass(frozen=True, eq=False)
class Apriori:
    """What is known beforehand of the cells of a table.

    Attributes
    ----------
    unsafe, safe, forced
        Cells to protect, cells no rule may mark, cells to publish.
    upper
        How far above the value of an unsafe cell an intruder's bound must lie; 0 where nothing is said.
    usefulness
        For `protect`: the cost of suppressing a cell in place of its size, where one is given.
    name
        What readers see as the reason.
    """

    unsafe: Bools
    safe: Bools
    forced: Bools
    upper: Floats
    usefulness: Floats
    name: str = "a priori"

    def protects(self, model: TableModel) -> Protection:
        """The unsafe cells with their levels: itself a rule."""
        return Protection.of(model, self.unsafe, upper=np.where(self.unsafe, self.upper, 0.0))

    def rules(self, *rules: PrimaryRule) -> tuple[PrimaryRule, ...]:
        """These rules without the safe cells, and the unsafe ones."""
        return (*(Except(rule, self.safe) if self.safe.any() else rule for rule in rules), self)


def read_apriori(path: str | Path, model: TableModel, *, separator: str | None = None) -> Apriori:
    r"""Read an a priori file for a table. Commas, semicolons and tabs are recognised if ``separator`` names none.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z", "w"], "n": [1, 7, 9, 8]}, by="a", freq="n")
    >>> file = Path(tempfile.mkdtemp()) / "known.hst"
    >>> _ = file.write_text("x,s\ny,u\ny,pl,2,3\nTotal,p\n")
    >>> known = read_apriori(file, model)
    >>> result = protect(model, *known.rules(SmallCount(3)), forced=known.forced, usefulness=known.usefulness)
    >>> result.model.cells["a"].filter(result.primary).to_list()
    ['y']
    """
    text = text_of(path)
    mark = separator or max(",;\t", key=text.count)
    size, cells = len(model.names), len(model.cells)
    at = {row: place for place, row in enumerate(model.cells.select(model.names).iter_rows())}
    masks = {word: np.zeros(cells, np.bool_) for word in ("u", "s", "p")}
    upper, cost = np.zeros(cells), np.full(cells, np.nan)
    faults: list[str] = []
    for line, row in enumerate(csv.reader(text.splitlines(), delimiter=mark, skipinitialspace=True), 1):
        parts = [part.strip() for part in row]
        if not any(parts):
            continue
        place, word = at.get(tuple(parts[:size])), parts[size].lower() if len(parts) > size else ""
        numbers = _numbers(parts[size + 1 :])
        wrong = _fault(place, word, numbers)
        if wrong or place is None or numbers is None:
            faults.append(f"line {line}: {wrong}")
        elif word in masks:
            masks[word][place] = True
        elif word == "c":
            cost[place] = numbers[0]
        else:
            upper[place] = max(numbers)
    if faults:
        more = [f"and {len(faults) - MOST_FAULTS:,} more"] if len(faults) > MOST_FAULTS else []
        raise TableError(Path(path).name, [*faults[:MOST_FAULTS], *more])
    return Apriori(masks["u"], masks["s"], masks["p"], upper, _usefulness(model, cost))


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """Numbers of 0 or more, or None if there is something else."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return numbers if all(0 <= n < math.inf for n in numbers) else None


def _fault(place: int | None, word: str, numbers: list[float] | None) -> str:
    if place is None:
        return "no cell of the table has these codes"
    if word not in NUMBERS:
        return f"after the codes comes one of {', '.join(NUMBERS)}"
    if numbers is None or len(numbers) not in NUMBERS[word]:
        return f"{word} is followed by {' or '.join(map(str, NUMBERS[word]))} numbers of 0 or more"
    return ""


def _usefulness(model: TableModel, cost: Floats) -> Floats:
    """Factors that make the size of a cell its cost, where one is given."""
    size = np.abs(model.unweighted) if model.is_magnitude else model.frequency + 1.0
    return np.where(np.isnan(cost), 1.0, cost / np.where(size > 0, size, 1.0))
