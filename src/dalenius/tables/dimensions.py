"""Dimensions of a table: which columns describe the same thing at different levels.

Column ``county`` is coarser than column ``region`` if every region lies in one county. Both then share one dimension,
named after the finest column, with the codes of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import TableError
from dalenius.tables.hierarchy import Hierarchy

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column as codes 0 … over sorted text labels.

    Examples
    --------
    >>> Coded(np.array([1, 0]), ("a", "b")).texts
    ['b', 'a']
    """

    codes: Ints
    labels: tuple[str, ...]

    @property
    def texts(self) -> list[str]:
        """The labels row by row."""
        return [self.labels[code] for code in self.codes]


@dataclass(frozen=True, eq=False)
class Dimension:
    """One dimension of a table.

    Attributes
    ----------
    name
        Name of the finest column; the dimension's column in the output.
    hierarchy
        Its codes.
    columns
        The data columns it was made of, with the codes each of them contributes.

    Examples
    --------
    >>> Dimension("sex", Hierarchy.flat(["f", "m"]), {"sex": ("f", "m")}).hierarchy.codes
    ('Total', 'f', 'm')
    """

    name: str
    hierarchy: Hierarchy
    columns: Mapping[str, tuple[str, ...]]


def find_dimensions(data: Mapping[str, Coded], total: str) -> list[Dimension]:
    """Group columns that determine each other and build the hierarchy of each group.

    Examples
    --------
    >>> region = Coded(np.array([0, 1, 2]), ("m1", "m2", "m3"))
    >>> county = Coded(np.array([0, 0, 1]), ("c1", "c2"))
    >>> sex = Coded(np.array([0, 1, 0]), ("f", "m"))
    >>> rows = np.array([0, 1, 2, 0, 1, 2])
    >>> data = {n: Coded(c.codes[rows], c.labels) for n, c in {"region": region, "county": county}.items()}
    >>> data["sex"] = Coded(np.array([0, 0, 0, 1, 1, 1]), ("f", "m"))
    >>> [(d.name, d.hierarchy.codes) for d in find_dimensions(data, "Total")]
    [('region', ('Total', 'c1', 'c2', 'm1', 'm2', 'm3')), ('sex', ('Total', 'f', 'm'))]
    """
    columns = list(data)
    coarser = {
        fine: [u for u in columns if u != fine and _determines(data[fine], data[u])] for fine in columns
    }
    # Two columns that determine each other say the same; the one named first leads.
    for i, name in enumerate(columns):
        coarser[name] = [u for u in coarser[name] if name not in coarser[u] or i < columns.index(u)]
    taken: set[str] = set()
    result = []
    for name in columns:
        if name in taken or any(name in above for above in coarser.values()):
            continue
        above = [u for u in coarser[name] if u not in taken and len(data[u].labels) > 1]
        taken |= {name, *above}
        result.append(_dimension(name, above, data, total))
    left = [name for name in columns if name not in taken]
    return sorted(
        result + [_dimension(name, [], data, total) for name in left], key=lambda d: columns.index(d.name)
    )


def _determines(fine: Coded, coarse: Coded) -> bool:
    if len(coarse.labels) > len(fine.labels):
        return False
    pairs = np.unique(fine.codes * len(coarse.labels) + coarse.codes)
    return len(pairs) == len(np.unique(fine.codes))


def _dimension(name: str, above: Sequence[str], data: Mapping[str, Coded], total: str) -> Dimension:
    levels = sorted(above, key=lambda u: (len(data[u].labels), u), reverse=True)
    fine = data[name]
    first = np.zeros(len(fine.labels), np.int64)
    first[fine.codes[::-1]] = np.arange(len(fine.codes))[::-1]
    hierarchy = Hierarchy.flat(fine.labels, total)
    faults: list[str] = []
    remaining = list(levels)
    while remaining:
        chain = [remaining.pop(0)]
        chain += [u for u in remaining if _determines(data[chain[0]], data[u])]
        chain = _nested(chain, data)
        remaining = [u for u in remaining if u not in chain]
        parts = [[data[u].labels[c] for c in data[u].codes[first]] for u in chain]
        try:
            hierarchy = hierarchy.combine(Hierarchy.from_columns([list(fine.labels), *parts], total))
        except TableError as error:
            faults += [
                f"columns {name!r} and {', '.join(map(repr, chain))}: {fault}" for fault in error.faults
            ]
    if faults:
        raise TableError("codes", [f"{fault}; rename the codes of one column" for fault in faults])
    return Dimension(name, hierarchy, {u: data[u].labels for u in (name, *above)})


def _nested(chain: Sequence[str], data: Mapping[str, Coded]) -> list[str]:
    """The longest run from the first column on in which each column determines the next."""
    kept = [chain[0]]
    for u in chain[1:]:
        if _determines(data[kept[-1]], data[u]):
            kept.append(u)
    return kept
