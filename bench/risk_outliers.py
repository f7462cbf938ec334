"""Outliers of the public credit data: the counts of Trindade et al. 2024.

Run as ``python bench/risk_outliers.py credit_risk_dataset.csv`` (32,581 rows, 12 columns; see docs/risk-distances.md).
Prints what is found beside what is expected. The file belongs to others and is not shipped.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from dalenius import Table
from dalenius.risk import find_outliers, link_outliers

NUMBERS = ["person_age", "person_income"]
WIDTHS = {"person_age": 10.0, "person_income": 2000.0}
EXACT = ["person_home_ownership", "loan_intent"]


def outliers(frame: pd.DataFrame, columns: list[str]) -> np.ndarray:
    return find_outliers(Table.from_frame(frame), columns)


def line(what: str, found: object, expected: object) -> None:
    print(f"  {what:55s} {found!s:>22s}   expected {expected}")


def main() -> None:
    if len(sys.argv) < 2:
        print("the credit data are needed: python bench/risk_outliers.py credit_risk_dataset.csv")
        return
    data = pd.read_csv(sys.argv[1])
    complete = data.dropna()
    print("A3")
    line("rows, complete rows", (len(data), len(complete)), (32581, 28638))
    for name, frame, wanted in (("full", data, (776, 558, 233)), ("complete", complete, (675, 480, 209))):
        found = (outliers(frame, NUMBERS).sum(), *(outliers(frame, [n]).sum() for n in NUMBERS))
        line(f"outliers of the {name} file: any, age, income", tuple(map(int, found)), wanted)
    print("A4")
    sample = complete.sample(frac=0.8, random_state=1)
    rest = complete.drop(sample.index)
    line("rows, outliers", (len(sample), int(outliers(sample, NUMBERS).sum())), (22910, 617))
    print("A5")
    left, right = Table.from_frame(sample), Table.from_frame(rest)
    found = link_outliers(left, right, WIDTHS, EXACT, candidates="all")
    pairs = found.by_knowledge["pairs"].to_list()
    line("pairs with the rest: numbers, all", (pairs[0], pairs[-1]), (4548, 410))
    line("outliers with exactly one, at least one", (found.unique, found.linked), (127, 232))
    own = link_outliers(left, left, WIDTHS, EXACT)
    pairs = own.by_knowledge["pairs"].to_list()
    line("copy: pairs by numbers, all; exactly one", (pairs[0], pairs[-1], own.unique), (6769, 1211, 302))


if __name__ == "__main__":
    main()
