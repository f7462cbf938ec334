"""Speed of the utility measures, against R's synthpop (measured before) and SDMetrics (measured here).

Run: ``python bench/utility.py [adult.data] [synthpop sdmetrics growth million default]``. Without a file UCI Adult
comes out of the wheel of python-synthpop, or, where that cannot be fetched, invented data of the same shape are used.
CPU seconds throughout.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from _shared import adult_file, cpu
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data import examples
from dalenius.data.schema import Column, Kind, Schema
from dalenius.evaluation import evaluate
from dalenius.utility import diagnostic, statistic_similarity
from dalenius.utility.cells import STATISTICS
from dalenius.utility.propensity import logit_propensity, tree_propensity
from dalenius.utility.tables import table_utility
from dalenius.utility.trends import pair_trends

NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
R_SECONDS = {"two-way": 11.0, "three-way": 48.2, "logit": 7.0}
"""synthpop 1.9-3 on Adult, CPU seconds on the same machine (utility.tables, utility.gen)."""


def adult(path: Path | None) -> pl.DataFrame:
    if path is not None:
        frame = pl.read_csv(path, new_columns=NAMES).drop("fnlwgt")
        numbers = ["age", "education_num", "gain", "loss", "hours"]
        return frame.with_columns(pl.col(pl.String).str.strip_chars()).with_columns(
            pl.col(numbers).cast(pl.Int64)
        )
    people = examples.population(32_561, 1)
    far = ("person_id", "household_id", "longitude", "latitude", "birth_date", "municipality", "occupation")
    return people.drop(far)[:, :14]


def synthetic(frame: pl.DataFrame, rows: int, seed: int = 1, share: float = 0.1) -> pl.DataFrame:
    """Rows drawn again, a tenth of each column replaced by values of other rows."""
    rng = np.random.default_rng(seed)
    base = frame[rng.integers(0, frame.height, rows).tolist()]
    columns = []
    for name in frame.columns:
        other = frame[name].gather(rng.integers(0, frame.height, rows))
        mask = pl.Series(rng.random(rows) < share)
        columns.append(pl.select(pl.when(mask).then(other).otherwise(base[name]).alias(name)).to_series())
    return pl.DataFrame(columns)


def schema_of(frame: pl.DataFrame) -> Schema:
    numeric = {name for name, kind in frame.schema.items() if kind.is_numeric()}
    return Schema(
        tuple(Column(n, Kind.CONTINUOUS if n in numeric else Kind.CATEGORICAL) for n in frame.columns)
    )


def against_r(original: pl.DataFrame, protected: pl.DataFrame) -> None:
    schema = schema_of(original)

    def pair() -> Pair:
        return Pair(original, protected, schema=schema)

    works = {
        "two-way": lambda: table_utility(pair(), 2, statistics=STATISTICS),
        "three-way": lambda: table_utility(pair(), 3, statistics=STATISTICS),
        "logit": lambda: logit_propensity(pair()),
    }
    for name, work in works.items():
        seconds, _ = cpu(work, 3)
        print(
            f"{name:10s} {seconds:7.3f} s; synthpop {R_SECONDS[name]:5.1f} s; {R_SECONDS[name] / seconds:6.0f} times"
        )
    seconds, _ = cpu(lambda: tree_propensity(pair(), repeats=10), 1)
    print(f"{'tree':10s} {seconds:7.3f} s with ten trees of the null")


def against_sdmetrics(original: pl.DataFrame, protected: pl.DataFrame) -> None:
    """SDMetrics' quality and diagnostic report and its statistics, both programs in one run.

    Making the pair (encoding both files) is timed with the quality report; the others take a new pair that is ready, as
    `evaluate` hands it to them and as SDMetrics is handed ready frames.
    """
    schema = schema_of(original)

    def pair() -> Pair:
        return Pair(original, protected, schema=schema)

    fresh = [pair(), pair()]
    ours = {
        "quality": cpu(lambda: pair_trends(pair()).values["quality score"], 3),
        "diagnostic": cpu(lambda: diagnostic(fresh[0]).value),
        "statistics": cpu(lambda: statistic_similarity(fresh[1]).value),
    }
    try:
        from sdmetrics.reports.single_table import DiagnosticReport, QualityReport
        from sdmetrics.single_column import StatisticSimilarity
    except ImportError:
        for name, (seconds, score) in ours.items():
            print(f"{name:10s} {seconds:7.3f} s, score {score:.6f}; for the peer: pip install sdmetrics")
        return
    numeric = [name for name, kind in original.schema.items() if kind.is_numeric()]
    metadata = {
        "columns": {n: {"sdtype": "numerical" if n in numeric else "categorical"} for n in original.columns}
    }
    first, second = original.to_pandas(), protected.to_pandas()

    def report(kind: Any) -> float:
        made = kind()
        made.generate(first, second, metadata, verbose=False)
        return float(made.get_score())

    theirs = {
        "quality": lambda: report(QualityReport),
        "diagnostic": lambda: report(DiagnosticReport),
        "statistics": lambda: float(
            np.mean([StatisticSimilarity.compute(first[n], second[n]) for n in numeric])
        ),
    }
    for name, work in theirs.items():
        (mine, score), (peer, expected) = ours[name], cpu(work, 2)
        print(f"{name:10s} {mine:7.3f} s, score {score:.6f}; SDMetrics {peer:6.3f} s, {expected:.6f}; "
              f"{peer / mine:.1f} times")  # fmt: skip
        assert abs(score - expected) < 1e-6, name


def growth(original: pl.DataFrame) -> None:
    schema = schema_of(original)
    for factor in (1, 10, 31):
        rows = original.height * factor
        first, second = synthetic(original, rows, 2, 0.0), synthetic(original, rows, 3)
        pair = Pair(first, second, schema=schema)
        two, _ = cpu(lambda p=pair: table_utility(p, 2), 1)  # type: ignore[misc]
        logit, _ = cpu(lambda p=pair: logit_propensity(p), 1)  # type: ignore[misc]
        print(f"{rows:>9,} rows: two-way {two:.2f} s, logit {logit:.2f} s")


def a_million(original: pl.DataFrame) -> None:
    """All 455 three-way tables of 15 columns at a million rows."""
    wide = original.with_columns(pl.col(original.columns[0]).alias("again"))
    first, second = synthetic(wide, 1_000_000, 4, 0.0), synthetic(wide, 1_000_000, 5)
    pair = Pair(first, second, schema=schema_of(wide))
    del first, second
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds, found = cpu(lambda: table_utility(pair, 3), 1)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(found)} three-way tables of {len(wide.columns)} columns, 1,000,000 rows each: {seconds:.1f} s CPU, "
          f"peak memory {before:,.0f} MB before and {after:,.0f} MB after")  # fmt: skip


def default_set(original: pl.DataFrame, protected: pl.DataFrame) -> None:
    """Every measure of the default set that needs no intruder, and every utility measure at all."""
    schema = schema_of(original)
    names = {
        word: [
            m.info.name for m in MEASURES.values() if m.info.family == "utility" and (every or m.info.default)
        ]
        for word, every in (("default", False), ("all", True))
    }
    for word, chosen in names.items():

        def work(chosen: list[str] = chosen) -> Any:
            return evaluate(original, protected, schema, measures=chosen)

        seconds, _ = cpu(work, 2 if word == "default" else 1)
        print(f"{word:10s} {seconds:7.2f} s for {len(chosen)} utility measures")


def main() -> None:
    words = sys.argv[1:]
    path = adult_file(Path(words.pop(0)) if words and Path(words[0]).exists() else None)
    original = adult(path)
    protected = synthetic(original, original.height)
    warm = Pair(original.head(300), protected.head(300), schema=schema_of(original))
    table_utility(warm, 3, statistics=STATISTICS), logit_propensity(warm), tree_propensity(warm, repeats=1)
    print(
        f"{'Adult' if path else 'invented data'}: {original.height:,} rows, {len(original.columns)} columns"
    )
    parts: dict[str, Callable[[], None]] = {
        "synthpop": lambda: against_r(original, protected),
        "sdmetrics": lambda: against_sdmetrics(original, protected),
        "growth": lambda: growth(original),
        "million": lambda: a_million(original),
        "default": lambda: default_set(original, protected),
    }
    for name in words or parts:
        parts[name]()


if __name__ == "__main__":
    main()
