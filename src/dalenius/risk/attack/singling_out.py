"""Singling out: descriptions that are unique in the protected file, tried on the original.

The intruder sees a protected record that is alone with some of its values, and bets that exactly one person in the
data has these values too. By chance such a bet is won as often on any file of the same size from the same population,
which is what the holdout shows; the probability that a description of weight w isolates one of n people,
n w (1 - w)^(n-1), is the naive guesser (D'Acquisto et al., PSD 2024, eq. 1).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import Seed, generator
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result
from dalenius.counts.groups import PairGroups
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.outcome import Outcome
from dalenius.risk.isolation import isolation_probability
from dalenius.risk.sampling import SEED, some_rows
from dalenius.risk.units import Units


@measure(
    MeasureInfo(
        name="singling-out",
        title="Singling out",
        family="risk",
        meaning="How much more often a description that fits one protected record fits exactly one person in the data "
        "than exactly one person outside it.",
        better="lower",
        bounds=(-100, 100),
        unit="%",
        reference="Article 29 WP216; D'Acquisto, Cohen, Naldi and Nissim 2024 (PSD) for the baseline",
        default=False,
        random=True,
    )
)
def singling_out(
    pair: Pair, attacks: int = 5000, columns: int = 4, descriptions: int = 100, seed: Seed = SEED
) -> Result:
    """Singling-out attack.

    Parameters
    ----------
    attacks
        Bets placed, spread over the descriptions.
    columns
        Columns in a description (numbers in groups).
    descriptions
        Different random sets of columns.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {c: rng.integers(0, 30, 300).astype(str) for c in "abcd"}
    >>> people = draw()
    >>> singling_out(Pair(people, people, draw()), columns=2).value > 50
    True
    """
    rng = generator(seed, "singling-out")
    names = pair.columns
    width = min(columns, len(names))
    hits = controls = control_hits = total = 0
    naive = 0.0
    held = pair.holdout.rows if pair.holdout is not None else 0
    size = min(pair.original.rows, held) if held else pair.original.rows
    mine = some_rows(pair.original.rows, size, seed, "members")
    others = some_rows(held, size, seed, "outsiders")
    tries, seen = max(1, attacks // descriptions), set()
    for _ in range(descriptions):
        chosen = tuple(sorted(rng.choice(len(names), width, replace=False).tolist()))
        if chosen in seen:
            continue
        seen.add(chosen)
        used = [names[i] for i in chosen]
        groups = pair.groups(used, grouped=True, keep=False)
        alone = np.flatnonzero(np.bincount(groups.protected, minlength=len(groups)) == 1)
        bets = alone if len(alone) <= tries else rng.choice(alone, tries, replace=False)
        d = _owners(pair, groups.original, mine, len(groups))
        hits += int(np.count_nonzero(d[bets] == 1))
        total += len(bets)
        if groups.holdout is not None:
            h = np.bincount(groups.holdout[others], minlength=len(groups))
            control_hits += int(np.count_nonzero(h[bets] == 1))
            controls += len(bets)
        naive += float(isolation_probability(_weights(pair, used, groups)[bets], size).sum())
    outcome = Outcome(hits, total, control_hits if held else None, controls, naive / total if total else 0.0)
    if total == 0:
        return Result(
            "singling-out", 0.0, "No description is unique in the protected file, so there is no bet: not trusted.",
            unit="%", trusted=False,
        )  # fmt: skip
    table = pl.DataFrame({"columns in a description": [width], "descriptions": [len(seen)], "bets": [total]})
    return outcome.result("singling-out", "A description that fits exactly one protected record", table)


def _owners(pair: Pair, groups: AnyArray, rows: AnyArray, size: int) -> AnyArray:
    """Different units among some of the original's rows, by group."""
    units = Units.of(pair)
    codes = None if units.codes is None else units.codes[rows]
    return Units(codes, units.count, units.column).owners(groups[rows], size)


def _weights(pair: Pair, used: list[str], groups: PairGroups) -> AnyArray:
    """Share of people whom a description fits if columns were independent: all that margins tell a naive guesser."""
    weights = np.ones(len(groups))
    for name in used:
        codes = pair.categories(name, grouped=True).protected.codes
        shares = np.bincount(codes, minlength=max(groups.sizes)) / len(codes)
        weights *= shares[groups.codes(name)]
    return weights
