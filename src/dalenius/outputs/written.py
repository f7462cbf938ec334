"""Numbers that a researcher writes: in names of columns, in categories, edges of bins, formulas, and what a test asks.

Many people stand behind a table of which a category is called after what one of them has, and behind a t test against
that value. Numbers with more than two or three digits that one person or a few have are looked for; those that people
choose (round ones), that many have, or that are a usual quantile are nobody's. A person looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.outputs.borrowed import USUAL
from dalenius.outputs.checks import Finding, finding
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.made import MOST_COLUMNS, is_round
from dalenius.outputs.query import Query

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

DECIMAL = r"-?\d+\.\d+(?:e[-+]?\d+)?"
WHOLE = r"(?<![\d./:-])-?\d{3,}(?![\d/:-]|\.\d)"
NUMBER = re.compile(f"{DECIMAL}|{WHOLE}")
"""Numbers with decimals or without, also within words (pay_9395); a year in a date is no amount."""
MOST = 500
"""Labels of a table that are looked at, and numbers in them."""
WORDS = (
    "a number in a name, a category or the call is what one person or a few have in the data; choose another"
)


def telling_numbers(desk: Desk, query: Query, evidence: Evidence) -> list[Finding]:
    """Whether a number that was written is somebody's value, as a finding."""
    known = {name for base in desk.base for name in base.names}
    texts = [str(t) for t in (*query.names, query.variable or "") if t not in known]
    numbers = [float(x) for x in query.facts.get("given", ())]
    for dimension in query.dimensions:
        if len(dimension.labels) <= MOST:
            texts += [str(label) for label in dimension.labels if not _is_whole(label)]
    numbers += [float(m) for text in texts if text not in known for m in NUMBER.findall(text)]
    numbers += [-x for x in numbers if x < 0]  # a dash may be a sign or none
    if any(somebodys(desk, number) for number in list(dict.fromkeys(numbers))[:MOST]):
        return [finding("written", evidence, np.ones(1, np.bool_), WORDS, verdict="review")]
    return []


def somebodys(desk: Desk, number: float) -> bool:
    """Whether one person or a few have a number in the data, and it is no round number and no usual quantile."""
    if not np.isfinite(number) or is_round(number) or is_round(4 * number):
        return False
    few, found = desk.policy.threshold, False
    for column in _columns(desk):
        held = int((np.abs(column - number) <= 1e-9 * abs(number)).sum())
        if held >= few:
            return False
        if held and not np.isclose(np.nanquantile(column, USUAL), number, rtol=1e-6).any():
            found = True
    return found


def scalars(given: Iterable[Any]) -> Iterator[float]:
    """Single numbers among what a call was given, also in lists of a few."""
    for each in given:
        if isinstance(each, int | float | np.number) and not isinstance(each, bool | np.bool_):
            yield float(each)
        elif isinstance(each, list | tuple) and len(each) < 10:
            yield from scalars(each)


def _columns(desk: Desk) -> Iterator[Any]:
    for base in desk.base:
        for column in list(base.columns.values())[:MOST_COLUMNS]:
            if np.asarray(column).dtype.kind in "iuf":
                yield np.asarray(column, np.float64)


def _is_whole(label: Any) -> bool:
    """Whether a label is a whole number of a column of numbers: a year, a code."""
    return isinstance(label, int | np.integer) or (isinstance(label, float) and label.is_integer())
