"""Design-based judging over many samples: coverage of intervals, which file the figures prefer, and S_pMSE's null.

Run: python bench/survey_design.py [draws]. Two-stage samples of the example population: municipalities drawn with
chances proportional to size within regions, then people, the old and the rich more often than others. Coverage is that
of 95 % intervals of ten synthetic files (weighted trees, other replicate weights for each file, rule "pseudo");
preference is how often the file that used the weights has the better mean S_pMSE of two-way tables than the one that
ignored them; the null is the mean S_pMSE of a file drawn from the weighted sample itself, with weights and without.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl

from dalenius.counts.pair import Pair
from dalenius.data import Role, Schema, Table, examples
from dalenius.data.exit import guard
from dalenius.data.grouping import Grouping
from dalenius.synth.sequential import CartSynthesizer
from dalenius.utility import column_shapes, one_way_utility, two_way_utility
from dalenius.utility.inference import combine, estimate

COLUMNS = ("sex", "age", "education", "income", "smoker")
ESTIMATES = ("mean(age)", "mean(income)", "share(smoker)")
PEOPLE, UNITS, TAKEN, FILES, FACTOR = 60_000, 8, 15, 10, 5
ROLES = {"weight": "w", "stratum": "region", "psu": "municipality"}


@dataclass(frozen=True, eq=False)
class Country:
    """The population, and what is drawn from it."""

    frame: pl.DataFrame
    table: Table
    region: np.ndarray
    unit: np.ndarray
    pull: np.ndarray

    @property
    def truth(self) -> np.ndarray:
        """What every estimate aims at."""
        return np.concatenate([estimate(text, self.table).estimates[-1:] for text in ESTIMATES])


@cache
def country(people: int = PEOPLE) -> Country:
    """Adults of the example population; how much each is of interest to whoever draws the sample."""
    whole = examples.population(people, seed=1).drop_nulls(list(COLUMNS))
    whole = whole.filter((pl.col("age") >= 16) & (pl.col("income") >= 0))
    frame = whole.select(*COLUMNS, "region", "municipality").with_columns(pl.col("income").cast(pl.Float64))
    table = Table.from_frame(frame, Schema.infer(frame))
    region = frame["region"].cast(pl.Categorical).to_physical().to_numpy()
    unit = frame["municipality"].cast(pl.Categorical).to_physical().to_numpy()
    rank = frame["income"].rank().to_numpy() / frame.height
    pull = 1 + 2 * rank + 1.5 * (frame["age"].to_numpy() > 60)
    return Country(frame, table, region, unit, pull)


def sample(land: Country, rng: np.random.Generator, release: str = "as-is") -> Table:
    """Units with replacement in each region, then people with unequal chances, and their weights."""
    rows, weights, drawn = [], [], []
    for h in np.unique(land.region):
        inside = np.flatnonzero(land.region == h)
        units, place = np.unique(land.unit[inside], return_inverse=True)
        size = np.bincount(place, land.pull[inside])
        for turn, j in enumerate(rng.choice(len(units), UNITS, p=size / size.sum())):
            there = inside[place == j]
            # people with replacement, so that the variance of units drawn with replacement is exact
            chance = land.pull[there] / land.pull[there].sum()
            chosen = rng.choice(len(there), TAKEN, p=chance)
            rows.append(there[chosen])
            weights.append(size.sum() / (UNITS * TAKEN * land.pull[there[chosen]]))
            drawn += [f"{h}-{turn}"] * TAKEN
    at = np.concatenate(rows)
    frame = land.frame[at].with_columns(w=pl.Series(np.concatenate(weights)), municipality=pl.Series(drawn))
    # as-is: rare incomes leave as they are, so that what the exit does to them is not what is asked
    known = Schema.infer(frame).with_roles(**ROLES)
    known = replace(known, columns=tuple(replace(column, release=release) for column in known))
    return Table.from_frame(frame, known)


def coverage(
    draws: int, files: int = FILES, factor: int = FACTOR, release: str = "as-is"
) -> tuple[np.ndarray, np.ndarray]:
    """How often the intervals of the synthetic files, and of the original, hold the truth."""
    land = country()
    truth = land.truth
    method = CartSynthesizer(weighting="pseudo", proper=True, threads=1, smoothing="none", evidence=0.0)
    hits, own = [], []
    for i in range(draws):
        table = sample(land, np.random.default_rng(i), release)
        direct = [estimate(text, table) for text in ESTIMATES]
        low, high = np.array([[e[-1] for e in fit.interval()] for fit in direct]).T
        own.append((low <= truth) & (truth <= high))
        made = method.make(table, files, rows=factor * table.rows, seed=i)
        found = [[estimate(text, one) for text in ESTIMATES] for one in made]
        q = np.array([[fit.estimates[-1] for fit in fits] for fits in found])
        v = np.array([[fit.variances[-1] for fit in fits] for fits in found])
        low, high = combine(q, v, n=table.rows, k=factor * table.rows, rule="pseudo").interval()
        hits.append((low <= truth) & (truth <= high))
    return np.mean(hits, axis=0), np.mean(own, axis=0)


def at_the_exit(draws: int) -> dict[str, float]:
    """What the exit alone does to the mean of income, nothing synthesized: in standard errors of the survey."""
    land, told = country(), []
    truth = land.truth[1]
    for i in range(draws):
        table = sample(land, np.random.default_rng(i), "guarded")
        kept = guard(table, seed=i).table
        before, after = (estimate("mean(income)", one) for one in (table, kept))
        error = float(np.sqrt(before.variances[-1]))
        old, new, weights = table["income"].floats(), kept["income"].floats(), table["w"].floats()
        moved = weights * (new - old) / weights.sum() / error
        low, high = (end[-1] for end in after.interval())
        told.append(
            (moved.sum(), moved[np.argmax(old)], np.sqrt(after.variances[-1]) / error, low <= truth <= high)
        )
    names = ("moved", "moved by the largest income alone", "standard error, of what it was", "coverage")
    return dict(zip(names, np.mean(told, axis=0).tolist(), strict=True))


def preference(draws: int) -> float:
    """Share of samples in which the file that used the weights has the better S_pMSE."""
    land, better = country(), []
    for i in range(draws):
        table = sample(land, np.random.default_rng(10_000 + i))
        scores = []
        for weighting in ("pseudo", "ignore"):
            method = CartSynthesizer(weighting=weighting, threads=1)
            pair = Pair(table, method.make(table, seed=i).table)
            scores.append(two_way_utility(pair, list(COLUMNS)).value)
        better.append(scores[0] < scores[1])
    return float(np.mean(better))


def null(draws: int) -> dict[str, float]:
    """Mean S_pMSE of files drawn from the weighted sample, and of fresh samples over their yardstick."""
    land = country()
    found: dict[str, list[float]] = {
        "without weights": [],
        "with weights": [],
        "fresh sample, of its yardstick": [],
    }
    for i in range(draws):
        rng = np.random.default_rng(20_000 + i)
        table = sample(land, rng)
        grouping, weights = Grouping.fit(table), table["w"].floats()
        plain = table.take(rng.choice(table.rows, table.rows, p=weights / weights.sum())).drop(["w"])
        heavy = table.take(rng.integers(0, table.rows, table.rows))
        for name, other in (("without weights", plain), ("with weights", heavy)):
            found[name].append(two_way_utility(Pair(table, other, grouping=grouping), list(COLUMNS)).value)
        result = two_way_utility(Pair(table, sample(land, rng), grouping=grouping), list(COLUMNS))
        found["fresh sample, of its yardstick"].append(result.value / result.yardsticks["a fresh sample"])
    return {name: float(np.mean(values)) for name, values in found.items()}


def cost(rows: int = 1_000_000) -> dict[str, tuple[float, float]]:
    """Seconds of measures without and with weights."""
    rng = np.random.default_rng(1)
    data = {f"c{i}": rng.integers(0, 4 + i, rows) for i in range(8)}
    data |= {"x": rng.normal(size=rows), "w": rng.uniform(1, 9, rows)}
    other = {name: values[rng.permutation(rows)] for name, values in data.items()}
    schema = Schema.infer(data).with_roles(weight="w")
    plain = schema.replace_columns(*(type(c)(c.name, c.kind) for c in schema if c.has(Role.WEIGHT)))
    found = {}
    for measure in (one_way_utility, two_way_utility, column_shapes):
        seconds = []
        for known in (plain, schema):
            tables = [Table.from_frame(d, known) for d in (data, other)]
            best = np.inf
            for _ in range(3):
                start = time.process_time()
                pair = Pair(*tables)  # as a measure is called: columns are aligned for it
                measure(pair, [n for n in pair.columns if n != "w"])
                best = min(best, time.process_time() - start)
            seconds.append(best)
        found[measure.info.name] = (seconds[0], seconds[1])
    return found


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    start = time.process_time()
    synthetic, original = coverage(draws)
    print(f"{draws} draws; coverage of {', '.join(ESTIMATES)}: synthetic {synthetic}, original {original}")
    held, _ = coverage(draws, release="guarded")
    print(f"where the exit redraws what few people have: synthetic {held}")
    for name, value in at_the_exit(draws).items():
        print(f"mean of income, the exit alone: {name} {value:.3f}")
    print(
        f"the file that used the weights is preferred in {100 * preference(draws):.1f} % of {draws} samples"
    )
    for name, value in null(draws).items():
        print(f"mean S_pMSE under the null, {name}: {value:.3f}")
    for name, (plain, weighted) in cost().items():
        print(
            f"{name} at 10^6 rows: {plain:.2f} s, with weights {weighted:.2f} s ({weighted / plain:.2f} times)"
        )
    print(f"{time.process_time() - start:.0f} CPU s")


if __name__ == "__main__":
    main()
