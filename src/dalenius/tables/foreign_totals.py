"""Which code of a published table is the total: as somebody says, by its name, or by what it adds up to.

A total that is taken for one more category hides that a suppressed cell follows from it, so a column without any is
never passed over in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dalenius.published.totals import SURE, Totals, totals_of
from dalenius.tables.model import Floats

REMEDY = "say which with total= (--total COLUMN=CODE), or leave the code empty if there is none"


@dataclass(frozen=True)
class ForeignTotals:
    """Totals of a table somebody else made.

    Attributes
    ----------
    codes
        Column → code of its total; a column that is said to have none is missing.
    notes, faults
        What was taken for a total; columns in which none, or several, can be one.
    """

    codes: Mapping[str, str]
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def foreign_totals(
    flat: pl.DataFrame, cells: pl.DataFrame, amounts: Floats, given: str | Mapping[str, str] | None = None
) -> ForeignTotals:
    """Find the total of every column of ``flat``; all columns of the cells say which counts belong together.

    Examples
    --------
    >>> cells = pl.DataFrame({"region": ["Insgesamt", "N", "S"], "sex": ["m", "m", "m"]})
    >>> found = foreign_totals(cells, cells, np.array([9.0, 4.0, np.nan]), {"sex": ""})
    >>> dict(found.codes), found.notes
    ({'region': 'Insgesamt'}, ("Taken as totals: 'Insgesamt' of column 'region'.", "Said to have no total: 'sex'."))
    """
    seen = totals_of({name: cells[name].to_list() for name in cells.columns}, amounts, exact=_add_up(amounts))
    codes: dict[str, str] = {}
    none: list[str] = []
    faults: list[str] = []
    for name in flat.columns:
        there = cells[name].unique(maintain_order=True).to_list()
        told = given.get(name) if isinstance(given, Mapping) else given
        code, fault = _told(name, there, told) if told is not None else _seen(name, there, seen)
        faults += [fault] if fault else []
        if code:
            codes[name] = code
        elif not fault and told is not None:
            none.append(name)
    taken = ", ".join(f"{code!r} of column {name!r}" for name, code in codes.items())
    notes = [f"Taken as totals: {taken}."] if taken else []
    notes += [f"Said to have no total: {', '.join(map(repr, none))}."] if none else []
    unknown = [name for name in given if name not in cells.columns] if isinstance(given, Mapping) else []
    faults += [f"a total is given for {name!r}, which is no dimension" for name in unknown]
    return ForeignTotals(codes, tuple(notes), tuple(faults))


def _add_up(amounts: Floats) -> bool:
    """Whether sums can be told by their size: among negative values a total may be smaller than its parts."""
    return bool((np.nan_to_num(amounts) >= 0).all())


def _told(name: str, there: Sequence[str], code: str) -> tuple[str, str]:
    if code and code not in there:
        return "", f"column {name!r}: the total {code!r} is not among its codes"
    return code, ""


def _seen(name: str, there: Sequence[str], seen: Totals) -> tuple[str, str]:
    """The one code that is a total, or what is wrong."""
    found = [code for code in there if code in seen.labels]
    sure = [code for code in found if code.strip().lower() in SURE]
    found = sure if len(sure) == 1 else found
    if len(found) == 1:
        return found[0], ""
    if found:
        return "", f"column {name!r}: {', '.join(map(repr, found))} may be its total; {REMEDY}"
    if len(there) == 1:
        return "", ""
    maybe = [code for column, code in seen.unsure if column == name]
    hint = f" ({', '.join(map(repr, maybe))} may be one)" if maybe else ""
    return "", f"column {name!r}: no total was found{hint}; {REMEDY}"
