"""Are ranges and yardsticks of risk measures what they say? The tables of docs/risk.md under "Calibration".

Run as ``python bench/risk_coverage.py coverage [replicates [measure …]]`` or with ``calibration``; with ``tables`` it
prints both tables. Replicates are kept in the temporary folder, so that work can be taken up again.

*Coverage*: every replicate draws other people, in the data and outside it, and a model of them makes another file. The
share of replicates whose range holds the mean over all replicates should be the 95 % it is called by.

*Calibration*: people in the data to people outside as 1:1, 4:1 and 1:4. Of fresh people the file gives away nothing; of
a copy everything; and of a file with 5 % of the originals among fresh people something.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius import Pair, Table, make_synthesizer
from dalenius.core.result import Result
from dalenius.counts.measure import MEASURES
from dalenius.data import examples

COLUMNS = ["region", "sex", "age", "marital", "education", "income", "health", "smoker", "bmi", "diagnosis"]
KEYS, TARGET = ["region", "sex", "age", "marital"], ["health"]
PEOPLE = 200
SIZES = {"1:1": (200, 200), "4:1": (400, 100), "1:4": (100, 400)}
FILES = ("fresh", "copy", "leak")
STORE = Path(tempfile.gettempdir()) / "dalenius-risk-coverage"


def names() -> list[str]:
    """Names of the registered risk measures."""
    return [m.info.name for m in MEASURES.values() if m.info.family == "risk"]


@cache
def population() -> pl.DataFrame:
    """Everybody there is."""
    return examples.survey(40_000, seed=1).select(COLUMNS)


def people(replicate: int, *sizes: int) -> list[pl.DataFrame]:
    """Disjoint groups of people, others in every replicate."""
    drawn = population().sample(sum(sizes), seed=replicate, shuffle=True)
    ends = np.cumsum([0, *sizes])
    return [drawn[int(a) : int(b)] for a, b in pairwise(ends)]


def told(result: Result) -> dict[str, Any]:
    """What is kept of a result."""
    spread, added = result.interval, result.added_interval
    return {
        "value": result.value,
        "low": spread.low if spread else None,
        "high": spread.high if spread else None,
        "added": result.added,
        "added low": added.low if added else None,
        "added high": added.high if added else None,
    }


def coverage_replicate(replicate: int, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """People, people outside and a file by CART, all drawn anew."""
    inside, outside = people(replicate, PEOPLE, PEOPLE)
    table = Table.from_frame(inside)
    made = make_synthesizer("cart").fit(table, seed=replicate).sample(seed=replicate + 1)
    pair = Pair(table, made, outside, keys=KEYS, targets=TARGET)
    return [{"measure": name, **told(MEASURES[name](pair))} for name in wanted]


def calibration_replicate(replicate: int, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """Fresh people, a copy and a leak at every ratio of sizes."""
    rows = []
    for ratio, (n, m) in SIZES.items():
        inside, outside, fresh = people(10_000 + replicate, n, m, n)
        copied = n // 20
        files = {"fresh": fresh, "copy": inside, "leak": pl.concat([fresh[: n - copied], inside[:copied]])}
        for file, made in files.items():
            pair = Pair(inside, made, outside, keys=KEYS, targets=TARGET)
            for name in wanted:
                rows.append({"measure": name, "ratio": ratio, "file": file, **told(MEASURES[name](pair))})
    return rows


def run(mode: str, replicates: int, wanted: Sequence[str]) -> None:
    """Measure what is not there yet, replicate by replicate."""
    STORE.mkdir(exist_ok=True)
    make = coverage_replicate if mode == "coverage" else calibration_replicate
    for replicate in range(replicates):
        path = STORE / f"{mode}-{replicate}.json"
        rows = json.loads(path.read_text()) if path.exists() else []
        there = {row["measure"] for row in rows}
        missing = [name for name in wanted if name not in there]
        if missing:
            path.write_text(json.dumps(rows + make(replicate, missing), default=float))


def kept(mode: str) -> pl.DataFrame:
    """All replicates of one kind."""
    rows = [
        {"replicate": i, **row}
        for i, path in enumerate(sorted(STORE.glob(f"{mode}-*.json")))
        for row in json.loads(path.read_text())
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def coverage_table(found: pl.DataFrame) -> pl.DataFrame:
    """Share of replicates whose range holds the mean, of the level and of what is added."""
    rows = []
    for (name,), part in found.group_by("measure", maintain_order=True):
        row: dict[str, Any] = {"measure": name, "replicates": len(part)}
        for figure, low, high in (("value", "low", "high"), ("added", "added low", "added high")):
            known = part.drop_nulls([figure, low])
            mean = known[figure].mean()
            held = known.select((pl.col(low) <= mean) & (pl.col(high) >= mean)).to_series()
            row[figure] = None if not len(known) else 100 * float(held.mean())  # type: ignore[arg-type]
        rows.append(row)
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64, "added": pl.Float64})


def calibration_table(found: pl.DataFrame) -> pl.DataFrame:
    """Mean of what is added with its standard error, by file and ratio of sizes."""
    return (
        found.drop_nulls("added")
        .group_by("measure", "ratio", "file", maintain_order=True)
        .agg(
            pl.col("added").mean().alias("mean"),
            (pl.col("added").std() / pl.len().sqrt()).alias("error"),
            pl.len().alias("replicates"),
        )
    )


def tables() -> str:
    """Both tables as Markdown."""
    lines = ["| measure | level | what is added | replicates |", "|---|---|---|---|"]
    for name, count, value, added in (
        coverage_table(kept("coverage")).select("measure", "replicates", "value", "added").iter_rows()
    ):
        cells = ["–" if x is None else f"{x:.0f} %" for x in (value, added)]
        lines.append(f"| {name} | {' | '.join(cells)} | {count} |")
    found = calibration_table(kept("calibration"))
    heads = [f"{file} {ratio}" for file in FILES for ratio in SIZES]
    lines += ["", f"| measure | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for (name,), part in found.group_by("measure", maintain_order=True):
        cells = {(f, r): f"{mean:.3g} ± {2 * error:.2g}" for _, r, f, mean, error, _ in part.iter_rows()}
        lines.append(f"| {name} | " + " | ".join(cells[f, r] for f in FILES for r in SIZES) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1] == "tables":
        print(tables())
    else:
        count, *chosen = sys.argv[2:] or ["200"]
        run(sys.argv[1], int(count), chosen or names())
