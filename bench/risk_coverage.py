"""Are ranges and yardsticks of risk measures what they say? The tables of docs/risk.md under "Calibration".

Run as ``python bench/risk_coverage.py coverage [replicates [measure …]]``, or with ``few-columns`` or ``calibration``;
with ``tables`` it prints all tables. Replicates are kept in the temporary folder, so that work can be taken up again.

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
FEW_COLUMNS = ["region", "sex", "age", "marital", "income", "health", "diagnosis"]
WHOLE_ROWS = ("identical-matches", "unique-matches", "new-rows", "near-copies", "part-copies")
"""Figures of whole rows, which hardly ever match by chance where columns are many: also looked at in few columns."""
KEYS, TARGET = ["region", "sex", "age", "marital"], ["health"]
PEOPLE = 200
SIZES = {"1:1": (250, 250), "4:1": (400, 100), "1:4": (100, 400)}
FEW = 10
"""Replicates that tell a direction."""
NEEDS = {"keys", "targets", "holdout"}
FRESH = ("holdout", "a fresh sample", "cannot be told apart")
"""Yardsticks of utility that fresh people should meet."""
STORE = Path(tempfile.gettempdir()) / "dalenius-risk-coverage"


def names(family: str = "risk") -> list[str]:
    """Registered measures of these columns."""
    return [
        m.info.name
        for m in MEASURES.values()
        if m.info.family == family
        and m.info.compares
        and not m.info.needs & {"households", "identifiers", "rules"}
    ]


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
        "yardstick": next((result.yardsticks[w] for w in FRESH if w in result.yardsticks), None),
    }


def few_columns_replicate(replicate: int, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """The same with twice as many people and few columns, of the figures of whole rows."""
    groups = [group.select(FEW_COLUMNS) for group in people(replicate, 2 * PEOPLE, 2 * PEOPLE)]
    return covered(*groups, replicate, [name for name in wanted if name in WHOLE_ROWS])


def coverage_replicate(replicate: int, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """People, people outside and a file by CART, all drawn anew."""
    return covered(*people(replicate, PEOPLE, PEOPLE), replicate, wanted)


def covered(
    inside: pl.DataFrame, outside: pl.DataFrame, replicate: int, wanted: Sequence[str]
) -> list[dict[str, Any]]:
    """Figures of a file by CART with their ranges."""
    table = Table.from_frame(inside)
    made = make_synthesizer("cart").fit(table, seed=replicate).sample(seed=replicate + 1)
    pair = Pair(table, made, outside, keys=KEYS, targets=TARGET)
    return [{"measure": name, **told(MEASURES[name](pair))} for name in wanted]


def calibration_replicate(replicate: int, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """Fresh people, a leak, a copy and one row again and again, at every ratio of sizes."""
    rows = []
    for ratio, (n, m) in SIZES.items():
        inside, outside, fresh = people(10_000 + replicate, n, m, n)
        copied = n // 20
        files = {
            "fresh": fresh,
            "leak": pl.concat([fresh[: n - copied], inside[:copied]]),
            "copy": inside,
            "constant": pl.concat([inside.select(pl.all().mode().first())] * n),
        }
        for file, made in files.items():
            pair = Pair(inside, made, outside, keys=KEYS, targets=TARGET)
            for name in wanted:
                if asked(name, file, replicate):
                    rows.append({"measure": name, "ratio": ratio, "file": file, **told(MEASURES[name](pair))})
    return rows


def asked(name: str, file: str, replicate: int) -> bool:
    """What one row repeated looks like is plain after a few replicates; of utility, fresh people are the question."""
    if MEASURES[name].info.family == "utility":
        return file == "fresh"
    return file != "constant" or replicate < FEW


def run(mode: str, replicates: int, wanted: Sequence[str]) -> None:
    """Measure what is not there yet, replicate by replicate."""
    STORE.mkdir(exist_ok=True)
    make = MODES[mode]
    for replicate in range(replicates):
        path = STORE / f"{mode}-{replicate}.json"
        rows = json.loads(path.read_text()) if path.exists() else []
        there = {row["measure"] for row in rows}
        missing = [name for name in wanted if name not in there]
        if missing:
            path.write_text(json.dumps(rows + make(replicate, missing), default=float))


MODES = {
    "coverage": coverage_replicate,
    "few-columns": few_columns_replicate,
    "calibration": calibration_replicate,
}


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


def calibration_table(found: pl.DataFrame) -> list[str]:
    """What each file adds at each ratio of sizes, with two standard errors; of a leak, what it adds to fresh people."""
    lines = [
        "| measure | sizes | fresh people | 5 % leak, beyond that | copy | one row repeated |",
        "|---|" + "---|" * 5,
    ]
    there = set(found["measure"])
    for name in (name for name in names() if name in there):
        for ratio in SIZES:
            part = found.filter((pl.col("measure") == name) & (pl.col("ratio") == ratio))
            files = {
                file: part.filter(pl.col("file") == file).sort("replicate")
                for file in ("fresh", "leak", "copy", "constant")
            }
            added = {file: held["added"].to_numpy() for file, held in files.items()}
            added["leak"] = added["leak"] - added["fresh"]
            lines.append(f"| {name} | {ratio} | {' | '.join(map(mean_words, added.values()))} |")
    return lines


def yardstick_table(found: pl.DataFrame) -> list[str]:
    """Figures of utility for fresh people beside the yardstick they should meet."""
    lines = ["| measure | sizes | fresh people | yardstick | difference |", "|---|---|---|---|---|"]
    fresh = found.filter(pl.col("file") == "fresh").drop_nulls("yardstick")
    for name in names("utility"):
        for ratio in SIZES:
            part = fresh.filter((pl.col("measure") == name) & (pl.col("ratio") == ratio))
            if len(part):
                value, beside = part["value"].to_numpy(), part["yardstick"].to_numpy()
                cells = map(mean_words, (value, beside, value - beside))
                lines.append(f"| {name} | {ratio} | {' | '.join(cells)} |")
    return lines


def mean_words(values: np.ndarray) -> str:
    """Mean and two standard errors of what could be measured; a single value has none."""
    known = values[~np.isnan(values.astype(float))].astype(float)
    if len(known) < 2:
        return f"{known.mean():.3g}" if len(known) else "–"
    return f"{known.mean():.3g} ± {2 * known.std(ddof=1) / len(known) ** 0.5:.2g}"


def tables() -> str:
    """All tables as Markdown."""
    lines = ["| measure | level | what is added | replicates |", "|---|---|---|---|"]
    for mode, where in (("coverage", ""), ("few-columns", ", few columns")):
        if not any(STORE.glob(f"{mode}-*.json")):
            continue  # of a new measure only its calibration may have been measured
        made = coverage_table(kept(mode)).select("measure", "replicates", "value", "added")
        for name, count, value, added in made.iter_rows():
            cells = ["–" if x is None else f"{x:.0f} %" for x in (value, added)]
            lines.append(f"| {name}{where} | {' | '.join(cells)} | {count} |")
    found = kept("calibration")
    return "\n".join([*lines, "", *calibration_table(found), "", *yardstick_table(found)])


if __name__ == "__main__":
    if sys.argv[1] == "tables":
        print(tables())
    else:
        count, *chosen = sys.argv[2:] or ["200"]
        run(sys.argv[1], int(count), chosen or names())
