"""Many small SynDiffix tables against one wide table, on the NIST excerpt of the American Community Survey 2019.

Run ``python bench/syndiffix_tables.py FOLDER`` with ``national2019.csv`` (27,253 people x 24 columns, repository
yoid2000/sdnist-summary) and any releases of it by others as further CSV files in the folder. Prints, for the family of
small tables, for one wide SynDiffix table and for each other file: the median composite error of counts, the median
error of Kendall's correlation, the 3-marginal score (area x all pairs) and the propensity error over the same column
sets (Francis 2024).
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.grouping import Grouping
from dalenius.synth.syndiffix import SynDiffix, TableSet
from dalenius.utility.marginals import percentile_grouping
from dalenius.utility.table_sets import (
    Family,
    WideTable,
    correlation_errors,
    family_k_marginal,
    family_pmse,
    value_errors,
)

NUMBERS = ["AGEP", "PINCP", "POVPIP", "PWGTP", "WGTP"]
AREA = "PUMA"
INDUSTRY = ["INDP_CAT", "INDP"]
CORRELATED = [
    "PUMA", "AGEP", "SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "HOUSING_TYPE", "OWN_RENT", "DENSITY",
    "INDP_CAT", "EDU", "PINCP_DECILE", "DVET", "DREM", "DPHY", "DEYE", "DEAR",
]  # fmt: skip
TOP_DENSITY = 53364.7
DENSITY = np.concatenate([[150.0], np.logspace(1, np.log10(TOP_DENSITY), 21)[8:-1]])
"""Inner edges of the benchmark's classes of population density."""
SALT = "bench-salt"


def prepared(path: Path) -> pl.DataFrame:
    """Codes as text of equal length (so that they sort like numbers), "N" as missing, density in classes.

    A column with a value that no code book has (such as "_RARE_") is left out, as in the benchmark.
    """
    frame = pl.read_csv(path, infer_schema=False, null_values=["N", ""])
    found = {}
    for name in frame.columns:
        if name == AREA:
            found[name] = frame[name]
            continue
        values = frame[name].cast(pl.Float64, strict=False)
        if values.null_count() > frame[name].null_count():
            continue
        if name == "DENSITY":
            place = np.searchsorted(DENSITY, values.to_numpy(), side="left")
            found[name] = pl.Series(name, [f"{i:02d}" for i in place])
        elif name in NUMBERS:
            found[name] = values.cast(pl.Int64)
        else:
            found[name] = values.cast(pl.Int64).cast(pl.String).str.zfill(4)
    return pl.DataFrame(found)


def table_of(frame: pl.DataFrame) -> Table:
    kinds = [Kind.INTEGER if name in NUMBERS else Kind.CATEGORICAL for name in frame.columns]
    columns = [Column(name, kind) for name, kind in zip(frame.columns, kinds, strict=True)]
    return Table.from_frame(frame, Schema(tuple(columns)))


def sets_of(names: list[str]) -> dict[str, list[tuple[str, ...]]]:
    """Column sets of the comparison: singles, pairs of correlations, area x all pairs."""
    features = sorted(name for name in names if name not in (AREA, "INDP"))
    return {
        "1": [(name,) for name in names],
        "2": list(combinations([name for name in CORRELATED if name in names], 2)),
        "3": [(AREA, *pair) for pair in combinations(features, 2)],
    }


def count_errors(original: Table, family: Family, names: list[str], grouping: Grouping) -> float:
    """Median composite error of counts; industries are counted within their group, where the original has them."""
    fewer = family.get([names[0]]).rows < original.rows / 2  # a subsample is scaled up, as in the benchmark
    plain = [name for name in names if name != "INDP"]
    errors = value_errors(original, family, plain, grouping, rescale=fewer)["composite"].to_list()
    if "INDP" in names:
        sides = [
            table.to_frame("polars").drop_nulls()
            for table in (original.select(INDUSTRY), family.get(INDUSTRY))
        ]
        counts = [side.group_by(INDUSTRY).len() for side in sides]
        both = counts[0].join(counts[1], on=INDUSTRY, how="left", suffix=" made").fill_null(0)
        scale = original.rows / family.get(INDUSTRY).rows if fewer else 1.0
        apart = (both["len"] - scale * both["len made"]).abs()
        errors += np.minimum(apart, 100 * apart / both["len"]).to_list()
    return float(np.median(errors))


def report(label: str, original: Table, family: Family, names: list[str]) -> None:
    """One line of figures; the sets are those whose columns the release has."""
    sets = sets_of(names)
    grouping = percentile_grouping(original, [n for n in NUMBERS if n in names])
    counts = count_errors(original, family, names, grouping)
    tau = correlation_errors(original, family, [n for n in CORRELATED if n in names])
    features = [n for n in names if n not in (AREA, "INDP")]
    score = family_k_marginal(original, family, features, by=AREA, grouping=grouping)
    pmse = [family_pmse(original, family, sets[width]) for width in "123"]
    print(
        f"{label:28s} {len(names):3d} columns  counts {counts:6.2f}  "
        f"correlation {tau['error'].median():.4f}  3-marginal {score:5.0f}  "
        f"pMSE {pmse[0]:.5f} / {pmse[1]:.5f} / {pmse[2]:.5f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    source = folder / "national2019.csv"
    if not source.exists():
        print(f"{source} is needed; it is in the repository yoid2000/sdnist-summary")
        return
    frame = prepared(source)
    original = table_of(frame)
    plan = [names for family in sets_of(frame.columns).values() for names in family] + [tuple(INDUSTRY)]
    begin = time.process_time()
    tables = TableSet.build(original, plan, salt=SALT, seed=1)
    print(f"{len(tables)} small tables in {time.process_time() - begin:.0f} CPU s", flush=True)
    report("SynDiffix, small tables", original, tables, frame.columns)
    begin = time.process_time()
    wide = SynDiffix(salt=SALT).fit(original).sample(seed=1)
    print(f"one wide table in {time.process_time() - begin:.1f} CPU s", flush=True)
    report("SynDiffix, one wide table", original, WideTable(wide), frame.columns)
    for path in sorted(folder.glob("*.csv")):
        if path != source:
            other = prepared(path)
            kept = [name for name in frame.columns if name in other.columns]
            report(path.stem, original, WideTable(table_of(other.select(kept))), kept)


if __name__ == "__main__":
    main()
