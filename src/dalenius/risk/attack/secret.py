"""Inference: everything but one secret is known, and the nearest protected record is believed.

The intruder knows every column of a person but the secret, finds the protected record nearest on them, and takes its
secret for the person's. A category must be met exactly, a number within a tolerance. Naive is the commonest value (for
numbers: the interval of that width that holds most people).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.random import Seed
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.outcome import Outcome
from dalenius.risk.distance.space import Index, Points, Space
from dalenius.risk.sampling import SEED, some_rows


@measure(
    MeasureInfo(
        name="inference",
        title="Inference of a secret",
        family="risk",
        meaning="How much more often a secret is inferred from everything else for people in the data than for people "
        "outside it (worst secret).",
        better="lower",
        bounds=(-100, 100),
        unit="%",
        reference="Article 29 WP216; attack of our own",
        needs=frozenset({"targets"}),
        default=False,
        random=True,
    )
)
def inference(
    pair: Pair,
    targets: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    attacks: int = 2000,
    tolerance: float = 0.05,
    seed: Seed = SEED,
) -> Result:
    """Inference attack on every secret; the value is that of the worst one.

    Parameters
    ----------
    targets
        Secrets; default: the pair's targets.
    known
        What the intruder knows; default: every other column.
    tolerance
        A number is inferred when it is met within this share of itself.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"a": rng.normal(size=300), "b": rng.normal(size=300), "s": rng.integers(0, 5, 300).astype(str)}
    >>> people = draw()
    >>> inference(Pair(people, people, draw(), targets=["s"])).value > 90
    True
    """
    wanted = list(targets) if targets is not None else pair.targets
    outcomes = {t: _attack(pair, t, known, attacks, tolerance, seed) for t in wanted}
    table = pl.DataFrame(
        [
            {
                "secret": name,
                "members": 100 * o.success,
                "outsiders": None if o.control is None else 100 * o.control,
                "naive": 100 * o.naive,
                "risk": 100 * o.risk,
            }
            for name, o in outcomes.items()
        ],
        schema_overrides={"outsiders": pl.Float64},
    ).sort("risk", descending=True)
    worst = str(table["secret"][0])
    return outcomes[worst].result("inference", f"Inferring {worst!r} from everything else", table)


def _attack(
    pair: Pair, target: str, known: Sequence[str] | None, attacks: int, tolerance: float, seed: Seed
) -> Outcome:
    used = list(known) if known is not None else [n for n in pair.columns if n != target]
    space = Space.of(pair, used)
    index = Index(space, space.protected)
    hits = _tries(pair, index, space.original, pair.original, target, attacks, tolerance, seed)
    control = None
    if space.holdout is not None and pair.holdout is not None:
        control = _tries(pair, index, space.holdout, pair.holdout, target, attacks, tolerance, seed)
    return Outcome(
        float(hits.sum()), len(hits), None if control is None else float(control.sum()),
        0 if control is None else len(control), naive_success(pair, target, tolerance),
    )  # fmt: skip


def _tries(
    pair: Pair,
    index: Index,
    points: Points,
    table: Table,
    target: str,
    attacks: int,
    tolerance: float,
    seed: Seed,
) -> AnyArray:
    rows = some_rows(table.rows, attacks, seed, "inference", target)
    found = index.search(points.take(rows)).row[:, 0]
    return met(pair, target, table, rows, found, tolerance)


def met(pair: Pair, target: str, table: Table, rows: AnyArray, found: AnyArray, tolerance: float) -> AnyArray:
    """Say for some rows of a table whether the target of the protected rows found for them is right."""
    if not pair.original[target].is_number:
        aligned = pair.categories(target, grouped=False)
        codes = aligned.original if table is pair.original else aligned.holdout
        assert codes is not None
        return np.asarray(codes.codes[rows] == aligned.protected.codes[found])
    mine, theirs = table[target], pair.protected[target]
    x, y = mine.floats()[rows], theirs.floats()[found]
    gaps = [np.zeros(v.data.shape, np.uint8) if v.state is None else v.state for v in (mine, theirs)]
    same_gap = (gaps[0][rows] == gaps[1][found]) & (gaps[0][rows] > 0)
    return np.asarray((np.abs(x - y) <= tolerance * np.abs(x)) | same_gap)


def naive_success(pair: Pair, target: str, tolerance: float) -> float:
    """Success of always guessing the best single value."""
    if not pair.original[target].is_number:
        codes = pair.categories(target, grouped=False).original.codes
        return float(np.bincount(codes).max() / len(codes))
    vector = pair.original[target]
    values = np.sort(vector.values.astype(float))
    gaps = 0 if vector.state is None else int(np.bincount(vector.state)[1:].max(initial=0))
    if not len(values):
        return gaps / len(vector)
    # a guess g is right for x with |x - g| <= t |x|; windows start at each value
    end = np.searchsorted(
        values, np.where(values > 0, values * (1 + tolerance) / (1 - tolerance), values), side="right"
    )
    return float(max(np.max(end - np.arange(len(values))), gaps) / len(vector))
