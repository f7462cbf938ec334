"""Further figures for the risk page: second looks that explain a measure, or that cannot rank files by themselves.

They are no measures of `evaluate`, where a copy of the original must look worst and independent columns best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.pair import Pair
from dalenius.risk.apparent import apparent_matches
from dalenius.risk.attack.grid import attack_grid, attack_grid_chart
from dalenius.risk.attack.numbers import attack_number
from dalenius.risk.distance.shared import shared_neighbour_profile
from dalenius.risk.identity import unique_exact_matches
from dalenius.risk.isolation import ReferenceWeights, empirical_isolation_gain, record_predicates
from dalenius.risk.sample.anonymity import k_anonymity
from dalenius.risk.sample.suda import msu_overlap
from dalenius.risk.tables import group_disclosure
from dalenius.risk.tabular.expected import unexpected_disco
from dalenius.risk.tabular.scan import MOST_SETS, key_scan, number_of_sets

TABLES = (
    "attack-grid",
    "k-anonymity",
    "key-scan",
    "group-disclosure",
    "shared-neighbours",
    "apparent-matches",
)
"""Figures whose table says more than the figure itself, by the beginning of their names."""
GRID = ("fr-nn", "forest")
"""Attackers of the scenario grid on the page."""
MOST_PEOPLE = 3000
"""People attacked in the scenario grid."""
MOST_COLUMNS = 12
"""Keys and targets up to which minimal uniques of all of them are looked for."""


def further_looks(
    pair: Pair, grouped: bool = False, records: bool = False, attacks: bool = False
) -> dict[str, Callable[[], Result]]:
    """What this pair has the keys, targets and holdout for, by name; with ``attacks`` the scenario grid too.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40)), "ill": ["yes", "no", "no", "no"] * 10}
    >>> pair = Pair(data, data, keys=["sex", "age"], targets=["ill"])
    >>> [name for name in further_looks(pair) if "ill" in name]
    ['unexpected-disco of ill', 'key-scan of ill']
    """
    found = dict(_steps(pair, grouped, records))
    if attacks and pair.keys:
        found |= {f"attack-grid of {target}": partial(_grid, pair, target) for target in pair.targets}
    return found


def _steps(pair: Pair, grouped: bool, records: bool) -> Iterator[tuple[str, Callable[[], Result]]]:
    yield "unique-matches", partial(unique_exact_matches, pair, records=records)
    if pair.original.rows + pair.protected.rows > 10:
        yield "shared-neighbours", partial(shared_neighbour_profile, pair, records=records)
    if not pair.keys:
        return
    yield "k-anonymity", partial(_class_sizes, pair)
    if len(pair.keys) + len(pair.targets) <= MOST_COLUMNS:
        yield "msu-overlap", partial(msu_overlap, pair, records=records)
    if pair.holdout is not None:
        yield "isolation-gain", partial(isolation_gain_of, pair)
    if not pair.targets:
        return
    if len(pair.keys) > 1:
        yield "apparent-matches", partial(apparent_matches, pair, records=records)
    yield "group-disclosure", partial(group_disclosure, pair)
    for target in pair.targets:
        yield (
            f"unexpected-disco of {target}",
            partial(unexpected_disco, pair, target, grouped=grouped, records=records),
        )
        if number_of_sets(len(pair.keys)) <= MOST_SETS:
            yield f"key-scan of {target}", partial(_scan, pair, target, grouped)
        if pair.original[target].is_number:
            yield f"attack-number of {target}", partial(attack_number, pair, target, records=records)


def isolation_gain_of(pair: Pair) -> Result:
    """Isolation gain of the protected file: its records, described by the keys, beside chance (D'Acquisto et al. 2024).

    What an outsider knows about the population is read off the holdout.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"a": rng.integers(0, 40, 300).astype(str), "b": rng.integers(0, 40, 300).astype(str)}
    >>> people = draw()
    >>> isolation_gain_of(Pair(people, people, draw(), keys=["a", "b"])).value > 2
    True
    """
    return empirical_isolation_gain(
        lambda release: record_predicates(release, pair.keys),
        lambda table, seed: pair.protected,
        pair.original,
        ReferenceWeights.of(pair.holdout),
    ).result()


def _grid(pair: Pair, target: str) -> Result:
    """Attackers who know some of the keys only: every set of three of them (Hittmeir, Mayer and Ekelhart 2020)."""
    length = min(3, len(pair.keys))
    table = attack_grid(pair, pair.keys, target, (length,), GRID, most=MOST_PEOPLE)
    people = min(pair.units.count, MOST_PEOPLE)
    best = table.sort("accuracy", descending=True).row(0, named=True)
    names = ("zero rule", "outsiders", "original")
    yardsticks = {name: 100 * best[name] for name in names if best[name] is not None}
    value = 100 * best["accuracy"]
    return Result(
        name="attack-grid",
        value=value,
        unit="%",
        sentence=f"Knowing {length} of the keys (mean of {best['subsets']} sets), the better of {len(GRID)} attackers "
        f"({best['attacker']}) guesses {target!r} right for {figure(value, '%')} of people in the data; trained on "
        f"{pair.real} for {figure(yardsticks['original'], '%')}, and always guessing the commonest value for "
        f"{figure(yardsticks['zero rule'], '%')}"
        + (
            f"; for people who are not in the data it is {figure(yardsticks['outsiders'], '%')}."
            if "outsiders" in yardsticks
            else "; without a holdout it cannot be told how much of this is general knowledge."
        ),
        interval=wilson(best["accuracy"] * people, people, scale=100),
        yardsticks=yardsticks,
        values={"sd over sets": 100 * best["sd"], "people without a match": best["unmatched"]},
        table=table,
        counts=WHOLE,
        chart=lambda: attack_grid_chart(table),
        trusted="outsiders" in yardsticks and value > yardsticks["zero rule"],
    )


def _class_sizes(pair: Pair) -> Result:
    """k-anonymity of the protected file beside the original's (sdcMicro prints both, the original in brackets)."""
    mine, theirs = (k_anonymity(table, pair.keys) for table in (pair.protected, pair.original))
    assert mine.table is not None  # both always have one
    assert theirs.table is not None
    table = mine.table.select("k", pl.col("per cent").alias("protected, % below"))
    table = table.with_columns(theirs.table["per cent"].alias("original, % below"))
    two = table.row(0, named=True)
    return Result(
        name="k-anonymity",
        value=mine.value,
        sentence=f"The rarest combination of keys has {figure(mine.value)} protected records; "
        f"{figure(two['protected, % below'], '%')} of them are alone with their keys, "
        f"{figure(two['original, % below'], '%')} in the original. Nobody owns a synthetic record, so that alone is no "
        "risk there: it is one where records were masked.",
        yardsticks={"original": theirs.value},
        table=table,
        counts=WHOLE,
    )


def _scan(pair: Pair, target: str, grouped: bool) -> Result:
    """Keys that tell most when they are known together, as a result."""
    table = key_scan(pair, target, grouped=grouped)
    together = table.filter(pl.col("number") > 1) if len(pair.keys) > 1 else table
    most = together.sort("jump", descending=True, maintain_order=True).row(0, named=True)
    return Result(
        name="key-scan",
        value=most["DiSCO"],
        unit="%",
        sentence=f"Of {table.height:,} sets of keys, {most['keys']} gain most by being known together: DiSCO of "
        f"{target!r} is {figure(most['DiSCO'], '%')}, and {figure(most['DiSCO'] - most['jump'], '%')} with the worst "
        "part of them.",
        interval=pair.units.interval(most["DiSCO"]),
        yardsticks={"original": most["Dorig"]},
        values={"jump": most["jump"]},
        table=table.head(10),
        counts=WHOLE,
    )
