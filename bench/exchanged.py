"""How many cells of real rows can be exchanged between people before the limits on copying see nothing.

``python bench/exchanged.py [sd2011.csv]``: in every row so many cells, other ones each time, are those of other people.
Means of five draws: people partly copied inside and outside, in how many draws a default limit on copying or membership
refuses the file, and in how many its records would be called made up. CART stands beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import polars as pl

import dalenius.risk  # noqa: F401 (its measures make themselves known)
from dalenius import Pair, Table, make_synthesizer
from dalenius.counts.measure import MEASURES
from dalenius.data import examples
from dalenius.evaluation.policy import NEARNESS, Rule, copies_nobody, refusals

SURVEY = ["region", "sex", "age", "marital", "education", "health", "diagnosis", "bmi", "income"]
SD2011 = ["sex", "age", "region", "edu", "socprof", "income", "marital", "ls", "sport"]
MORE = ["placesize", "depress", "trust", "nofriend", "smoke", "height", "weight"]
PEOPLE, OUTSIDE, DRAWS = 2000, 500, 5
CELLS = (2, 3, 4, 5, 6, 7)


def exchanged(rows: pl.DataFrame, cells: int, seed: int) -> pl.DataFrame:
    """Real rows, in each of which so many cells are somebody else's."""
    rng = np.random.default_rng(seed)
    taken = np.argsort(rng.random(rows.shape), axis=1) < cells
    made = {}
    for column, moved in zip(rows.columns, taken.T, strict=True):
        at = np.arange(len(rows))
        at[moved] = rng.permutation(at[moved])
        made[column] = rows[column].gather(at)
    return pl.DataFrame(made)


def populations(path: str | None) -> Iterator[tuple[str, list[pl.DataFrame]]]:
    """People of each draw, by name of the file."""
    size, draws = PEOPLE + OUTSIDE, range(1, DRAWS + 1)
    yield "example survey, 7 columns", [examples.survey(size, seed=s).select(SURVEY[:7]) for s in draws]
    yield "example survey, 9 columns", [examples.survey(size, seed=s).select(SURVEY) for s in draws]
    if path is not None:
        held = pl.read_csv(path, infer_schema_length=None, null_values=["NA", ""])
        for columns in (SD2011, [*SD2011, *MORE]):
            drawn = [held.select(columns).sample(size, seed=s, shuffle=True) for s in draws]
            yield f"SD2011, {len(columns)} columns", drawn


def judged(inside: Table, made: object, outside: pl.DataFrame) -> tuple[float, float, bool, bool]:
    """Partly copied inside and outside, whether refused, and whether called made up."""
    pair = Pair(inside, made, outside)
    results = {name: MEASURES[name](pair) for name in {Rule.parse(line).measure for line in NEARNESS}}
    part = results["part-copies"]
    return part.value, part.outside or 0.0, bool(refusals(results, NEARNESS)), copies_nobody(results)


def main() -> None:
    print("| people | file | in part | of strangers | refused | called made up |\n|---|---|---|---|---|---|")
    for name, draws in populations(sys.argv[1] if len(sys.argv) > 1 else None):
        for cells in (*CELLS, 0):
            found = []
            for seed, people in enumerate(draws):
                inside = Table.from_frame(people[:PEOPLE])
                cart = (
                    make_synthesizer("cart").fit(inside, seed=seed).sample(seed=seed + 1)
                    if not cells
                    else None
                )
                made = exchanged(people[:PEOPLE], cells, seed) if cells else cart
                found.append(judged(inside, made, people[PEOPLE:]))
            part, strange, refused, kind = np.array(found).T
            file = f"{cells} cells exchanged" if cells else "CART"
            print(
                f"| {name} | {file} | {part.mean():.1f} % | {strange.mean():.1f} % | {int(refused.sum())} of {DRAWS} | "
                f"{int(kind.sum())} of {DRAWS} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
