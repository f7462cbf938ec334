"""Which files the default policy lets out: whole copies, a leak of 5 %, trees, noise, and independent columns.

``python bench/verdict.py [replicates] [rows] [candidates…]``: the example survey is drawn anew each time and split into
people in the data and people outside, 1:1, 4:1 and 1:4. Every candidate is judged by its figures alone, also the
bootstrap, which a release refuses unseen because it is a reference.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import polars as pl

from dalenius.data import Table, examples
from dalenius.evaluation import DEFAULT_POLICY, Rule, evaluate, refusals
from dalenius.synth import make_synthesizer

COLUMNS = [
    "region", "sex", "age", "marital", "education", "income", "health", "smoker", "diagnosis", "life_satisfaction",
]  # fmt: skip
KEYS, TARGETS = ["sex", "age", "region", "marital"], ["diagnosis", "income"]
RATIOS = {"1:1": 0.5, "4:1": 0.2, "1:4": 0.8}
CANDIDATES = {
    "bootstrap": ("bootstrap", {}), "5 % leak": ("independent", {}), "cart": ("cart", {}),
    "mst, ε = 5": ("mst", {"epsilon": 5.0, "domain": "from-data"}), "independent": ("independent", {}),
}  # fmt: skip
MUST_REFUSE, MUST_ADMIT = ("bootstrap", "5 % leak"), "mst, ε = 5"
LEAK = 0.05


def people(rows: int, seed: int, outside: float) -> tuple[Table, Table]:
    """People in the data, and people of the same population who are not."""
    schema = examples.survey_schema().select(COLUMNS).with_roles(keys=KEYS, targets=TARGETS)
    table = Table.from_frame(examples.survey(rows, seed=seed).select(COLUMNS), schema)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(rows)
    held = int(rows * outside)
    return table.take(np.sort(order[held:])), table.take(np.sort(order[:held]))


def made(name: str, data: Table, seed: int) -> Table:
    """One protected file."""
    method, options = CANDIDATES[name]
    table = make_synthesizer(method, **options).fit(data, seed=seed).sample(seed=seed)
    if name != "5 % leak":
        return table
    rows = np.random.Generator(np.random.PCG64(seed)).choice(
        data.rows, round(LEAK * data.rows), replace=False
    )
    frame = table.to_frame("polars")
    real = data.to_frame("polars").select(frame.columns)[rows].cast(dict(frame.schema))
    return Table.from_frame(pl.concat([frame[len(rows) :], real]), table.schema)


def missed(name: str, data: Table, outside: Table, seed: int) -> list[str]:
    """Lines of the default policy that a file does not meet."""
    measures = list(dict.fromkeys(Rule.parse(line).measure for line in DEFAULT_POLICY))
    found = evaluate(data, made(name, data, seed), None, KEYS, TARGETS, outside, measures=measures)
    return [f.rule.text for f in refusals(found.results, DEFAULT_POLICY)]


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    wanted = sys.argv[3:] or list(CANDIDATES)
    print(
        f"{replicates} draws of {rows:,} people\n\n| sizes | candidate | refused | lines it missed |\n|---|---|---|---|"
    )
    for ratio, outside in RATIOS.items():
        counts, lines = Counter[str](), {name: Counter[str]() for name in wanted}
        for seed in range(1, replicates + 1):
            data, others = people(rows, seed, outside)
            for name in wanted:
                found = missed(name, data, others, seed)
                counts[name] += bool(found)
                lines[name].update(found)
        for name in wanted:
            why = "; ".join(f"{line} ({times})" for line, times in lines[name].most_common())
            print(f"| {ratio} | {name} | {counts[name]} of {replicates} | {why or 'none'} |", flush=True)


if __name__ == "__main__":
    main()
