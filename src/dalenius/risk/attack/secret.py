"""Inference: everything but one secret is known, and the nearest protected record is believed.

The intruder knows every column of a person but the secret, finds the protected record nearest on them, and takes its
secret for the person's, when he is sure (see `sure`). A category must be met exactly, a number within a tolerance.
Naive is the commonest value (for numbers: the interval of that width that holds most people) for as many guesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.result import Result
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.outcome import CONTROLS, Outcome, outcome_table
from dalenius.risk.attack.sure import SURE, sure_distance
from dalenius.risk.distance.space import Index, Points, Space
from dalenius.risk.needs import chosen_targets
from dalenius.risk.sampling import SEED
from dalenius.risk.within import within


@measure(
    name="inference",
    covered=True,
    title="Inference of a secret",
    family="risk",
    dimension="attribution",
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
def inference(
    pair: Pair,
    targets: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    attacks: int = 2000,
    tolerance: Annotated[float, Option(at_least=0, below=1)] = 0.05,
    sure: Annotated[float, Option(above=0, at_most=1)] = SURE,
    seed: Seed = SEED,
    records: bool = False,
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
    sure
        The intruder believes a protected record as near as this share of protected records are to a fellow; 1 makes
        him always guess.
    records
        Give one row per person attacked too (confidential).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"a": rng.normal(size=300), "b": rng.normal(size=300), "s": rng.integers(0, 5, 300).astype(str)}
    >>> people = draw()
    >>> inference(Pair(people, people, draw(), targets=["s"])).value > 90
    True
    """
    wanted = chosen_targets(pair, targets)
    if known is not None and set(known) & set(wanted):
        raise OptionError(
            "a target is among the known columns; an intruder cannot already know what is to be learnt"
        )
    outcomes = {t: _attack(pair, t, known, attacks, tolerance, sure, seed) for t in wanted}
    table = outcome_table([o.row(secret=name) for name, (o, _) in outcomes.items()])
    worst = str(table["secret"][0])
    outcome, told = outcomes[worst]
    return outcome.result(
        "inference",
        f"Inferring {worst!r} from everything else",
        table,
        len(wanted),
        told if records else None,
    )


def _attack(
    pair: Pair,
    target: str,
    known: Sequence[str] | None,
    attacks: int,
    tolerance: float,
    sure: float,
    seed: Seed,
) -> tuple[Outcome, pl.DataFrame]:
    used = list(known) if known is not None else [n for n in pair.columns if n != target]
    space = Space.of(pair, used)
    index = Index(space, space.protected)
    limit = sure_distance(index, space.protected, sure, seed)

    def tries(points: Points, table: Table, units: Units, most: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        rows = units.one_row_each(most, seed, "inference", target)
        found = index.search(points.take(rows))
        guesses = found.distance[:, 0] <= limit
        right = met(pair, target, table, rows, found.row[:, 0], tolerance) & guesses
        return right * 1.0, guesses, rows

    members, guesses, rows = tries(space.original, pair.original, pair.units, attacks)
    control = None
    if space.holdout is not None and pair.holdout is not None:
        control = tries(space.holdout, pair.holdout, pair.holdout_units, CONTROLS * attacks)[0]
    naive = naive_success(pair, target, tolerance) * float(guesses.mean())
    told = pl.DataFrame({"row": rows, "guessed": guesses, "right": members == 1})
    return Outcome.of(members, control, naive), told


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
    return np.asarray(within(np.abs(x - y), tolerance * np.abs(x)) | same_gap)


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
