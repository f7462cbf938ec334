"""Which values a report may name: nobody gets a small one by subtraction, from one column or from several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dalenius.core.subtraction import Sum, withheld
from dalenius.counts.pair import Pair

Mask = npt.NDArray[np.bool_]


def withheld_values(pair: Pair, columns: Sequence[str]) -> Mapping[str, Mask]:
    """Values of each column that must not be shown, by place among the column's categories.

    The number of records is public. Where a value of one column is a union of values of another (a region of its
    districts, "no job" of the reasons for it), that is taken as known too.

    Examples
    --------
    >>> data = {"town": ["Aa"] * 40 + ["Bo"] * 30 + ["Cy"] * 15 + ["Di"] * 6, "land": ["N"] * 70 + ["S"] * 21}
    >>> hidden = withheld_values(Pair(data, data), ["town", "land"])
    >>> hidden["town"].tolist(), hidden["land"].tolist()
    ([False, False, True, True], [False, False])
    """
    codes, sizes = {}, {}
    for name in columns:
        held = pair.categories(name).original
        codes[name], sizes[name] = held.codes.astype(np.int64), len(held.labels)
    return withheld_codes(pair, codes, sizes)


def withheld_codes(
    pair: Pair, codes: Mapping[str, npt.NDArray[np.int64]], sizes: Mapping[str, int]
) -> Mapping[str, Mask]:  # fmt: skip
    """The same for any coding of the original's records, such as bins of numbers; see `withheld_values`."""
    columns = list(codes)
    starts = dict(zip(columns, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    counts = np.concatenate([np.bincount(codes[name], minlength=sizes[name]) for name in columns])
    sums = [Sum(starts[name] + np.arange(sizes[name])) for name in columns]
    for first in columns:
        for second in columns:
            if first != second:
                sums += _unions(
                    codes[first], codes[second], sizes[first], starts[first], starts[second], pair.threshold
                )
    owners = np.concatenate([pair.units.owners(codes[name], sizes[name]) for name in columns])
    hidden = withheld(counts, sums, pair.threshold, owners)
    return {name: hidden[starts[name] : starts[name] + sizes[name]] for name in columns}


def _unions(
    wholes: npt.NDArray[np.int64],
    parts: npt.NDArray[np.int64],
    size: int,
    start: int,
    other: int,
    threshold: int,
) -> list[Sum]:
    """Values of one column that are unions of values of another; small ones are withheld anyway."""
    pairs = np.unique(parts * size + wholes)
    part, whole = pairs // size, pairs % size
    together = np.bincount(part)[part] == 1  # a part that lies in one whole only
    broken = np.bincount(whole, ~together, minlength=size) > 0
    large = np.bincount(wholes, minlength=size) >= threshold
    chosen = np.flatnonzero(~broken & large & (np.bincount(whole, minlength=size) > 0))
    return [Sum(other + part[whole == i], start + int(i)) for i in chosen]
