"""Which way every risk measure moves: the table of docs/risk.md.

Run as ``python bench/risk_order.py [people] [replicates] [first replicate]``. Each replicate draws other people of the
example survey and makes the files anew; figures are means over replicates, with their 95 % interval (Student's t).
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

from dalenius import Pair, Schema, Table, make_synthesizer
from dalenius.counts.measure import MEASURES
from dalenius.data import examples

COLUMNS = ["region", "sex", "age", "marital", "education", "employment", "income", "health", "smoker", "bmi",
           "diagnosis", "visits"]  # fmt: skip
KEYS, TARGETS = ["region", "sex", "age", "marital", "education"], ["health", "diagnosis", "income"]
MARGINS = [("region", "age"), ("age", "employment"), ("age", "health"), ("sex", "smoker"), ("health", "diagnosis"),
           ("employment", "income"), ("education", "income"), ("age", "marital"), ("health", "bmi"),
           ("health", "visits"), ("sex", "employment")]  # fmt: skip
METHODS = ("bootstrap", "cart", "private", "independent")
FILES = (*METHODS, "fresh", "leak")


def risk_measures() -> list[str]:
    """Names of the registered risk measures."""
    return [
        m.info.name
        for m in MEASURES.values()
        if m.info.family == "risk" and m.function.__module__.startswith("dalenius.risk")
    ]


def survey(people: int, replicate: int, which: str) -> pl.DataFrame:
    """People of one replicate: those in the data, outside it, and fresh ones."""
    place = ("inside", "outside", "fresh").index(which)
    return examples.survey(people, seed=10 * replicate + place).select(COLUMNS)


def made_files(original: pl.DataFrame, fresh: pl.DataFrame, replicate: int) -> dict[str, Any]:
    """Four protected files, fresh people, and fresh people with 5 % of the originals among them."""
    table = Table.from_frame(original, Schema.infer(original).with_roles(keys=KEYS, targets=TARGETS))
    options: dict[str, dict[str, Any]] = {name: {} for name in METHODS}
    # the lists of categories of this invented country are public
    private = {"epsilon": 1.0, "domain": "from-data", "grouping": "equal-width", "margins": MARGINS}
    options["private"] = private
    files: dict[str, Any] = {}
    for name in METHODS:
        method = "loglinear" if name == "private" else name
        fitted = make_synthesizer(method, **options[name]).fit(table, seed=replicate)
        files[name] = fitted.sample(seed=replicate + 1)
    copied = original.height // 20
    mixed = fresh.sample(fraction=1, shuffle=True, seed=replicate)
    return files | {
        "fresh": fresh,
        "leak": pl.concat([mixed.head(fresh.height - copied), original.head(copied)]),
    }


def replicate_values(people: int, replicate: int, names: list[str]) -> list[dict[str, Any]]:
    """Every measure of every file of one replicate."""
    inside, outside, fresh = (survey(people, replicate, which) for which in ("inside", "outside", "fresh"))
    files = made_files(inside, fresh, replicate)
    rows = []
    for which in FILES:
        pair = Pair(inside, files[which], outside, keys=KEYS, targets=TARGETS)
        for name in names:
            result = MEASURES[name](pair)
            yardstick = next((result.yardsticks[w] for w in ("holdout", "nothing learnt", "nothing copied", "coin")
                              if w in result.yardsticks), None)  # fmt: skip
            assert result.interval is not None
            rows.append(
                {
                    "measure": name,
                    "file": which,
                    "replicate": replicate,
                    "value": result.value,
                    "low": result.interval.low,
                    "high": result.interval.high,
                    "null": yardstick,
                    "at 1 %": result.values.get("members found at 1 % false positives"),
                }
            )
    return rows


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of replicates with Student's interval."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, mean, mean
    half = float(student.ppf(0.975, len(values) - 1)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def order_words(found: pl.DataFrame, name: str) -> str:
    """Say which neighbours the replicates tell apart: ``>`` where the paired difference lies above 0."""
    worse = 1.0 if MEASURES[name].info.better == "lower" else -1.0
    words = [METHODS[0]]
    for first, second in pairwise(METHODS):
        gap = worse * (_values(found, name, first) - _values(found, name, second))
        _, low, high = mean_interval(gap)
        words += [">" if low > 0 else "<" if high < 0 else "≈", second]
    return " ".join(words)


def _values(found: pl.DataFrame, name: str, file: str) -> np.ndarray:
    part = found.filter((pl.col("measure") == name) & (pl.col("file") == file)).sort("replicate")
    return part["value"].to_numpy()


def leak_words(found: pl.DataFrame, name: str) -> str:
    """Say whether the leak stands out from its yardstick and from fresh people, and in how many single files."""
    worse = 1.0 if MEASURES[name].info.better == "lower" else -1.0
    part = found.filter((pl.col("measure") == name) & (pl.col("file") == "leak")).sort("replicate")
    value, null = part["value"].to_numpy(), part["null"].to_numpy()
    seen = all(
        mean_interval(worse * gap)[1] > 0 for gap in (value - null, value - _values(found, name, "fresh"))
    )
    near = part["low" if worse > 0 else "high"].to_numpy()
    single = int(np.count_nonzero(worse * near > worse * null))
    return f"{'yes' if seen else 'no'} ({single} of {len(part)} files)"


def print_table(found: pl.DataFrame) -> None:
    """The table of the docs, in Markdown."""
    print(f"| measure | {' | '.join(FILES)} | order | sees the leak |")
    print("|---|" + "---|" * (len(FILES) + 2))
    for name in found["measure"].unique(maintain_order=True):
        cells = []
        for which in FILES:
            mean, low, high = mean_interval(_values(found, name, which))
            cells.append(f"{mean:.3g} [{low:.3g}, {high:.3g}]")
        print(f"| {name} | {' | '.join(cells)} | {order_words(found, name)} | {leak_words(found, name)} |")


def main() -> None:
    given = [int(word) for word in sys.argv[1:4] if word.isdigit()]
    people, replicates, first = (*given, *(4000, 5, 1)[len(given) :])
    kept = Path(f"/tmp/risk-order-{people}")
    kept.mkdir(exist_ok=True)
    for replicate in range(first, first + replicates):
        place = kept / f"{replicate}.parquet"
        if not place.exists():
            pl.DataFrame(
                replicate_values(people, replicate, risk_measures()), infer_schema_length=None
            ).write_parquet(place)
    print_table(pl.concat([pl.read_parquet(p) for p in sorted(kept.glob("*.parquet"))]))


if __name__ == "__main__":
    main()
