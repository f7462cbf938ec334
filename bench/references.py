"""References of Fössing and Drechsler (PSD 2024): what any useful method must beat, and what none may beat by much.

Run: ``python bench/references.py FOLDER``. The paper's file is not public; the stand-in are the adults in housing units
of NIST's ``national2019.csv`` (20,314 people, 9 columns). Values drawn evenly out of those that occur are the paper's
benchmark generator; independent margins and whole rows drawn again stand beside it. The figures expected are those of
one run with scikit-learn, XGBoost and statsmodels: order of magnitude, not digits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from _shared import cpu
from dalenius import benchmark
from dalenius.data.schema import Column, Kind, Schema

CATEGORIES = ("SEX", "RAC1P", "MSP", "EDU", "OWN_RENT")
NUMBERS = ("AGEP", "PINCP", "POVPIP", "WGTP")
MEASURES = ("propensity-logit", "propensity-tree", "detection-auc", "two-way-utility", "one-way-utility")
EXPECTED = {
    "cart": (1.79, 1.84, 0.463, 1.47),
    "independent": (1.16, 127.7, 0.909, 93.1),
    "values drawn evenly": (1956, 327.8, 0.995, 1056),
    "rows drawn again": (1.56, 0.85, 0.378, 1.15),
}


def adults(path: Path) -> pl.DataFrame:
    """Adults in housing units with a known poverty ratio."""
    frame = pl.read_csv(path, infer_schema_length=0)
    grown = pl.col("AGEP").cast(pl.Int64) >= 18
    chosen = frame.filter(grown & (pl.col("HOUSING_TYPE") == "1") & (pl.col("POVPIP") != "N"))
    return chosen.select(*CATEGORIES, *(pl.col(name).cast(pl.Float64) for name in NUMBERS))


def main() -> None:
    people = adults(Path(sys.argv[1]) / "national2019.csv")
    columns = [Column(n, Kind.CATEGORICAL) for n in CATEGORIES] + [
        Column(n, Kind.CONTINUOUS) for n in NUMBERS
    ]
    seconds, found = cpu(
        lambda: benchmark(
            people, ["cart", "independent"], Schema(tuple(columns)), replicates=1, measures=MEASURES
        )
    )
    print(f"{people.height:,} people, 4 candidates, one file each: {seconds:.0f} s CPU")
    for row in found.comparison.table.to_dicts():
        expected = EXPECTED[row["candidate"]]
        pairs = [f"{row[m]:9.3g} ({e:g})" for m, e in zip(MEASURES, expected, strict=False)]
        print(f"{row['candidate']:20s} {'  '.join(pairs)}  {row['one-way-utility']:9.3g}")
    places = {row["candidate"]: row for row in found.comparison.ranking.to_dicts()}
    last = [
        m for m in MEASURES if all(places["values drawn evenly"][m] >= place[m] for place in places.values())
    ]
    print(
        f"values drawn evenly come last by {len(last)} of {len(MEASURES)} measures; of no use: {found.of_no_use}"
    )
    assert len(last) == len(MEASURES), "a reference that something does not beat"


if __name__ == "__main__":
    main()
