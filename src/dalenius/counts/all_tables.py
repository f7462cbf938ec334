"""Every table that could be made of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from dalenius.core.errors import OptionError


def all_tables(
    fixed: Sequence[str],
    synthetic: Sequence[str],
    sizes: Sequence[int] = (2, 3, 4, 5),
    area: str | None = None,
) -> list[tuple[str, ...]]:
    """Every cross-tabulation of some sizes with at least one synthetic column, crossed with an area when given.

    Examples
    --------
    >>> [len(all_tables("abc", "xyz", [d])) for d in (2, 3, 4, 5)]
    [12, 19, 15, 6]
    """
    columns = [*fixed, *synthetic]
    if len(set(columns)) < len(columns):
        raise OptionError("a column is both fixed and synthetic; name it once")
    chosen = [t for d in sizes for t in combinations(columns, d) if set(t) & set(synthetic)]
    return chosen if area is None else [(area, *table) for table in chosen]
