"""Which keys make the risk jump: identity and attribute disclosure for every set of keys up to a size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.option import at_least
from dalenius.counts.pair import Pair
from dalenius.risk.tabular.disclosure import disclosure

MOST_SETS = 2000


def number_of_sets(keys: int, most_keys: int = 4) -> int:
    """How many sets of at most so many keys there are.

    Examples
    --------
    >>> number_of_sets(5)
    30
    """
    return sum(comb(keys, size) for size in range(1, min(most_keys, keys) + 1))


def key_scan(
    pair: Pair, target: str, keys: Sequence[str] | None = None, *, most_keys: int = 4, grouped: bool = False
) -> pl.DataFrame:
    """Measure every set of at most so many keys; ``jump`` is what the set adds to the worst of its parts.

    Sets are sorted by DiSCO, the worst first. A set whose ``jump`` is large is worth a look: its keys are harmless
    apart and tell together.

    Examples
    --------
    >>> data = {"a": ["u", "u", "v", "v"], "b": ["p", "q", "p", "q"], "t": ["x", "y", "y", "x"]}
    >>> key_scan(Pair(data, data), "t", ["a", "b"]).select("keys", "DiSCO", "jump").rows()[0]
    ('a, b', 100.0, 100.0)
    """
    known = list(keys) if keys is not None else pair.keys
    at_least("most_keys", most_keys, 1)
    sizes = range(1, min(most_keys, len(known)) + 1)
    total = number_of_sets(len(known), most_keys)
    if not known or total > MOST_SETS:
        raise OptionError(
            f"{total:,} sets of keys cannot be scanned; name from 1 to a few keys, or fewer at once"
        )
    worst: dict[tuple[str, ...], float] = {}
    rows: list[dict[str, Any]] = []
    for chosen in (c for size in sizes for c in combinations(known, size)):
        found = disclosure(pair, target, chosen, grouped=grouped)
        value = found.attribute["DiSCO"]
        parts = [worst[part] for part in combinations(chosen, len(chosen) - 1) if part]
        worst[chosen] = max([value, *parts])
        rows.append(
            {
                "keys": ", ".join(chosen),
                "number": len(chosen),
                **{name: found.identity[name] for name in ("UiO", "repU")},
                "Dorig": found.attribute["Dorig"],
                "DiSCO": value,
                "jump": value - max(parts, default=0.0),
            }
        )
    return pl.DataFrame(rows).sort("DiSCO", descending=True, maintain_order=True)
