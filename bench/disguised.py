"""Real people in disguise, and files of honest methods: how many people a line is surely linked to, and who is refused.

``python bench/disguised.py [sd2011.csv]``: 2,000 people and 500 outside, means of three draws. Cells are exchanged
between people, words renamed in pairs of values that are nearly as frequent, numbers moved by a twentieth of their
spread; the other lines of a file are columns drawn one by one. The last columns count files that are kept out for these
links, and files with as many that the limits on copying refuse already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from dalenius import Pair, Table
from dalenius.core.random import generator
from dalenius.counts.renaming import turned_back
from dalenius.evaluation.disguised import SURELY, people_disguised
from dalenius.risk.distance.linked import Linked, as_they_are, linked
from dalenius.synth import Candidate
from exchanged import OUTSIDE, PEOPLE, exchanged, populations

DRAWS = 3
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "trees": ("cart", {}),
    "trees with leaves of one": ("cart", {"minbucket": 1}),
    "conditional trees": ("ctree", {}),
    "log-linear": ("loglinear", {}),
    "regressions": ("parametric", {}),
    "SynDiffix": ("syndiffix", {}),
    "random forest (arf)": ("arf", {}),
    "copula": ("copula", {}),
    "MST, ε 5": ("mst", {"epsilon": 5.0, "domain": "from-data"}),
    "columns one by one": ("independent", {}),
}


def moved(people: pl.DataFrame, seed: int) -> pl.DataFrame:
    """All numbers moved a little."""
    rng = np.random.default_rng(seed)
    return people.with_columns(
        (column + pl.Series(rng.normal(0, 0.05 * (column.std() or 0.0), len(column)))).cast(column.dtype)
        for column in people
        if column.dtype.is_numeric()
    )


def income_moved(people: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Incomes moved by two per cent."""
    factors = 1 + 0.02 * np.random.default_rng(seed).normal(size=len(people))
    return people.with_columns((pl.col("income") * pl.Series(factors)).round().cast(people["income"].dtype))


def renamed(people: pl.DataFrame, columns: int, at_random: bool, seed: int) -> pl.DataFrame:
    """Values of so many columns of words exchanged one for one; at random those of all columns."""
    rng = np.random.default_rng(seed)
    words = [name for name in people.columns if at_random or not people[name].dtype.is_numeric()]
    made = []
    for name in words[:columns]:
        often = people[name].value_counts(sort=True)[name].drop_nulls().to_list()
        pairs = [often[i ^ 1] if i ^ 1 < len(often) else often[i] for i in range(len(often))]
        other = rng.permutation(np.array(often, object)).tolist() if at_random else pairs
        made.append(people[name].replace_strict(often, other, default=None, return_dtype=people[name].dtype))
    return people.with_columns(made)


def among(people: pl.DataFrame, share: float, seed: int) -> pl.DataFrame:
    """Some people with three columns renamed and numbers moved, among lines whose columns were drawn one by one."""
    rng, real = np.random.default_rng(seed), round(share * len(people))
    rest = len(people) - real
    made = {name: people[name].gather(rng.integers(0, len(people), rest)) for name in people.columns}
    return pl.concat([moved(renamed(people[:real], 3, False, seed), seed), pl.DataFrame(made)])


def by_method(people: pl.DataFrame, seed: int, method: str, options: dict[str, Any]) -> pl.DataFrame:
    """A file of a method, as it comes."""
    table = Table.from_frame(people)
    return Candidate(method, options).make(table, seed=seed, force=True).table.to_frame()


def files() -> dict[str, Callable[[pl.DataFrame, int], pl.DataFrame]]:
    """How each file is made."""
    disguises: dict[str, Callable[[pl.DataFrame, int], pl.DataFrame]] = {
        f"{cells} cells exchanged": partial(lambda p, seed, cells: exchanged(p, cells, seed), cells=cells)
        for cells in (4, 6, 7)
    }
    disguises["4 cells exchanged, incomes moved by 2 %"] = lambda p, seed: (
        income_moved(exchanged(p, 4, seed), seed) if "income" in p.columns else p[:0]
    )
    disguises |= {
        f"{cells} cells exchanged, numbers moved": partial(
            lambda p, seed, cells: moved(exchanged(p, cells, seed), seed), cells=cells
        )
        for cells in (3, 4, 5)
    }
    disguises |= {
        f"3 columns renamed, numbers moved, {share:.0%} of the lines": partial(
            lambda p, seed, share: among(p, share, seed), share=share
        )
        for share in (0.4, 0.1, 0.05)
    }
    disguises["all columns renamed at random"] = lambda p, seed: renamed(p, len(p.columns), True, seed)
    return disguises | {
        name: partial(by_method, method=method, options=options)
        for name, (method, options) in METHODS.items()
    }


def links(pair: Pair) -> Linked:
    """Of values as they are and turned back, what adds more."""
    learnt = generator(0, "half").permutation(pair.original.rows) < pair.original.rows / 2
    read = [as_they_are(pair), turned_back(pair, learnt)]
    return max(
        (linked(pair, columns, learnt) for columns in read if columns), key=lambda found: found.added.low
    )


def main() -> None:
    print(
        "| people | file | linked | of strangers | refused for it | refused as copies |\n|---|---|---|---|---|---|"
    )
    for name, draws in populations(sys.argv[1] if len(sys.argv) > 1 else None):
        for file, make in files().items():
            found = []
            for seed, people in enumerate(draws[:DRAWS]):
                inside, outside = people[:PEOPLE], people[PEOPLE : PEOPLE + OUTSIDE]
                made = make(inside, seed)
                if made.is_empty():  # a column it takes is not there
                    continue
                pair = Pair(Table.from_frame(inside), made, outside)
                told = links(pair)
                many, out = told.added.low > SURELY, bool(people_disguised(pair))
                found.append((told.value, told.outside, out, many and not out))
            if not found:
                continue
            mine, strange, out, copies = np.array(found, float).T
            print(
                f"| {name} | {file} | {mine.mean():.1f} % | {strange.mean():.1f} % | {out.sum():.0f} of {DRAWS} | "
                f"{copies.sum():.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
