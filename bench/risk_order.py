"""Which way every risk measure moves: the two tables of docs/risk.md.

Run as ``python bench/risk_order.py [people] [replicates] [replicates of rare events] [first replicate]``. Each
replicate draws other people of the example survey and makes the files anew; figures are means over replicates, with
their 95 % interval (Student's t). Replicates are kept in the temporary folder, so that two processes can share them.

*Level*: how much can be told at all, of people in the data. *Added*: by how much that exceeds people outside the data.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

import dalenius.risk  # noqa: F401 (its measures make themselves known)
from dalenius import Pair, Schema, Table, make_synthesizer
from dalenius.core.result import Result
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
WORDS = {"bootstrap": "bootstrap", "cart": "CART", "private": "DP", "independent": "independent"}
RARE = ("identical-matches", "new-rows", "outlier-linkage", "unique-matches")
"""Measures of rare events, cheap enough for many replicates."""
ALL_ATTACKED = ("singling-out", "linkability", "inference")
VARIANTS = {
    "membership-density (margins=1)": ("membership-density", {"margins": 1}),
    "membership-density (margins=3)": ("membership-density", {"margins": 3}),
}
"""Rows of the table that are a measure with options."""
LEVELS = {"dcr": "median to original", "adversarial-accuracy": "against original"}
"""Where the level is another figure than the value; it falls with the risk here, as for nndr."""
FALLING = (*LEVELS, "nndr")


def risk_measures() -> list[str]:
    """Names of the registered risk measures that tell people in the data from people outside."""
    found = [m for m in MEASURES.values() if m.info.family == "risk" and m.info.compares]
    return [m.info.name for m in found if m.function.__module__.startswith("dalenius.risk")]


def survey(people: int, replicate: int, which: str) -> pl.DataFrame:
    """People of one replicate: those in the data, outside it, and fresh ones."""
    place = ("inside", "outside", "fresh").index(which)
    return examples.survey(people, seed=10 * replicate + place).select(COLUMNS)


def made_file(original: pl.DataFrame, name: str, replicate: int) -> Any:
    """One protected file; the noise of the private one is fresh at every call."""
    table = Table.from_frame(original, Schema.infer(original).with_roles(keys=KEYS, targets=TARGETS))
    # the lists of categories of this invented country are public
    private = {"epsilon": 1.0, "domain": "from-data", "grouping": "equal-width", "margins": MARGINS}
    method, options = ("loglinear", private) if name == "private" else (name, {})
    return make_synthesizer(method, **options).fit(table, seed=replicate).sample(seed=replicate + 1)


def made_files(original: pl.DataFrame, fresh: pl.DataFrame, replicate: int) -> dict[str, Any]:
    """Four protected files, fresh people, and fresh people with 5 % of the originals among them."""
    files = {name: made_file(original, name, replicate) for name in METHODS}
    copied = original.height // 20
    mixed = fresh.sample(fraction=1, shuffle=True, seed=replicate)
    return files | {
        "fresh": fresh,
        "leak": pl.concat([mixed.head(fresh.height - copied), original.head(copied)]),
    }


def replicate_values(people: int, replicate: int, names: Sequence[str]) -> list[dict[str, Any]]:
    """Level and what is added, of every measure and file of one replicate."""
    inside, outside, fresh = (survey(people, replicate, which) for which in ("inside", "outside", "fresh"))
    files = made_files(inside, fresh, replicate)
    rows = []
    for which in FILES:
        pair = Pair(inside, files[which], outside, keys=KEYS, targets=TARGETS)
        for name in names:
            measure, options = VARIANTS.get(name, (name, {}))
            options = {"attacks": people} if name in ALL_ATTACKED else options
            found = figures(measure, MEASURES[measure](pair, **options))
            rows.append({"measure": name, "file": which, "replicate": replicate, **found})
    return rows


def figures(name: str, result: Result) -> dict[str, float | None]:
    """Level (None: there is none), what is added with its interval, members found at 1 % false accusations."""
    null = next(result.yardsticks[w] for w in ("holdout", "nothing learnt", "nothing copied", "coin")
                if w in result.yardsticks)  # fmt: skip
    assert result.interval is not None
    ends = [result.value - null, result.interval.low - null, result.interval.high - null]
    added, low, high = ends if MEASURES[name].info.better == "lower" else (-ends[0], -ends[2], -ends[1])
    return {
        "level": level(name, result),
        "added": added,
        "low": low,
        "high": high,
        "at 1 %": result.values.get("members found at 1 % false positives"),
    }


def level(name: str, result: Result) -> float | None:
    """How much can be told of people in the data: of several targets the mean; a membership has no level."""
    if name in LEVELS:
        return result.values[LEVELS[name]]
    if "members" in result.values:
        table = result.table
        several = table is not None and "members" in table.columns
        return float(np.mean(table["members"].to_numpy())) if several else result.values["members"]
    return None if "coin" in result.yardsticks else result.value


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Mean of replicates with Student's interval."""
    mean = float(values.mean())
    if len(values) < 2:
        return mean, mean, mean
    half = float(student.ppf(0.975, len(values) - 1)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def values_of(found: pl.DataFrame, name: str, file: str, figure: str) -> np.ndarray:
    """Replicates of one figure of one file."""
    part = found.filter((pl.col("measure") == name) & (pl.col("file") == file)).sort("replicate")
    return part[figure].to_numpy()


def order_words(found: pl.DataFrame, name: str, figure: str) -> str:
    """Say which neighbours the replicates tell apart: ``>`` where the paired difference lies above 0."""
    worse = -1.0 if figure == "level" and name in FALLING else 1.0
    words = [WORDS[METHODS[0]]]
    for first, second in pairwise(METHODS):
        gap = worse * (values_of(found, name, first, figure) - values_of(found, name, second, figure))
        _, low, high = mean_interval(gap)
        words += [">" if low > 0 else "<" if high < 0 else "≈", WORDS[second]]
    return " ".join(words)


def leak_words(found: pl.DataFrame, name: str) -> str:
    """Say whether the leak stands out from nothing and from fresh people, and in how many single files."""
    leak, fresh = (values_of(found, name, file, "added") for file in ("leak", "fresh"))
    seen = all(mean_interval(gap)[1] > 0 for gap in (leak, leak - fresh))
    lows = values_of(found, name, "leak", "low")
    return f"{'yes' if seen else 'no'} ({np.count_nonzero(lows > 0)} of {len(lows)} files)"


def print_table(found: pl.DataFrame, figure: str) -> None:
    """One table of the docs, in Markdown."""
    last = ["sees the leak"] if figure == "added" else []
    header = ["measure", *WORDS.values(), "order", "fresh", "leak 5 %", *last]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for name in found["measure"].unique(maintain_order=True):
        values = [values_of(found, name, which, figure) for which in FILES]
        if values[0].dtype == object or np.isnan(values[0]).any():
            continue
        cells = [shown(*mean_interval(each)) for each in values]
        cells.insert(len(METHODS), order_words(found, name, figure))
        words = [leak_words(found, name)] if last else []
        print(f"| {titled(name, figure)} | {' | '.join([*cells, *words])} |")


def shown(mean: float, low: float, high: float) -> str:
    """Mean and interval, to the digit that the interval leaves."""
    half = (high - low) / 2
    digits = min(max(-math.floor(math.log10(half)), 0), 5) if half > 0 else 0
    first, second, third = (f"{round(x, digits) + 0.0:.{digits}f}" for x in (mean, low, high))
    return f"{first} [{second}, {third}]"


def titled(name: str, figure: str) -> str:
    """Name of a row, with the unit; distances and accuracies have none."""
    unit = MEASURES[VARIANTS.get(name, (name,))[0]].info.unit
    if figure == "level" and name in LEVELS:
        return f"{name}, {LEVELS[name]}"
    return f"{name}, {unit}" if unit else name


def kept_values(people: int, numbers: range, names: Sequence[str], folder: Path) -> None:
    """Measure replicates that are not there yet."""
    folder.mkdir(exist_ok=True)
    for replicate in numbers:
        place = folder / f"{replicate}.parquet"
        if not place.exists():
            rows = pl.DataFrame(replicate_values(people, replicate, names), infer_schema_length=None)
            rows.write_parquet(place)


def main() -> None:
    given = [int(word) for word in sys.argv[1:5] if word.isdigit()]
    people, replicates, many, first = (*given, *(4000, 24, 400, 1)[len(given) :])
    common = [name for name in risk_measures() if name not in RARE]
    kept = Path(tempfile.gettempdir())
    parts = [
        (kept / f"risk-order-{people}-common", replicates, common),
        (kept / f"risk-order-{people}-margins", replicates, list(VARIANTS)),
        (kept / f"risk-order-{people}-rare", many, RARE),
    ]
    for folder, count, names in parts:
        kept_values(people, range(first, first + count), names, folder)
    frames = [pl.read_parquet(p) for folder, _, _ in parts for p in sorted(folder.glob("*.parquet"))]
    found = pl.concat(frames, how="vertical_relaxed")
    for figure in ("level", "added"):
        print_table(found, figure)
        print()


if __name__ == "__main__":
    main()
