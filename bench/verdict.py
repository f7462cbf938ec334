"""Which files the default policy lets out: whole copies, a leak of 5 %, trees, noise, and independent columns.

``python bench/verdict.py [replicates] [rows]``: one plan of six candidates is released again and again; the
example survey is drawn anew each time, and the plan sets people aside so that those in the data and those outside are
as 1:1, 4:1 and 1:4. The bootstrap, which a release refuses unseen because it is a reference, is judged by its figures
too. Outcomes are kept in the temporary folder, so that work can be taken up again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.core.result import Result
from dalenius.data import Table, examples
from dalenius.release import Release, jobs, read_plan, run_plan
from dalenius.synth import Synthesizer, register
from dalenius.synth.kept import KeptTable

COLUMNS = ["region", "sex", "age", "marital", "income", "health", "diagnosis"]
RATIOS = {"1:1": 0.5, "4:1": 0.2, "1:4": 0.8}
MUST_REFUSE, MUST_ADMIT = ("bootstrap", "leak"), "noise"
LEAK = 0.05
PLAN = """\
title: Six ways to make one file
input: people.csv
schema: schema.yaml
holdout_share: {outside}
seed: {seed}
scenarios: {{neighbour: {{keys: [sex, age, region, marital], targets: [diagnosis, income]}}}}
candidates:
  bootstrap: {{}}
  leak: {{}}
  cart: {{}}
  careful: {{method: cart, minbucket: 20}}
  noise: {{method: mst, epsilon: 5, domain: from-data}}
  independent: {{}}
measures: [two-way-utility]
output: out
"""


class LeakModel(KeptTable):
    """Columns drawn one by one, but for some rows."""

    method = "leak"
    contents = "every original row"

    def _draw(self, rows: int, seed: Seed) -> Table:
        rng, copied = generator(seed, "rows"), round(LEAK * rows)
        whole = rng.choice(self.table.rows, copied, replace=False)
        vectors = [
            self.table[name].take(np.concatenate([whole, rng.integers(0, self.table.rows, rows - copied)]))
            for name in self.table.names
        ]
        return Table.from_vectors(vectors, rows, self.table.origin, self.table.schema)


@register
@dataclass(frozen=True)
class Leak(Synthesizer):
    """A synthesizer with a fault: a twentieth of its rows are real people, whole."""

    info = MethodInfo(
        "leak",
        "Columns one by one, with a leak",
        "Columns drawn one by one; 5 % of the rows are real.",
        "none",
        "none",
    )
    model = LeakModel
    guards_itself = True

    def _fit(self, table: Table, seed: Seed) -> LeakModel:
        return LeakModel(table)

    def cost(self, shape: Shape) -> Cost:
        """Next to nothing."""
        return Cost(seconds=0.01, bytes=9.0 * shape.rows * shape.columns)


def plan_file(folder: Path, ratio: str, rows: int, seed: int) -> Path:
    """Data, schema and plan of one release."""
    examples.survey(rows, seed=seed).select(COLUMNS).write_csv(folder / "people.csv")
    examples.survey_schema().select(COLUMNS).to_yaml(folder / "schema.yaml")
    path = folder / "plan.yaml"
    path.write_text(PLAN.format(outside=RATIOS[ratio], seed=seed), encoding="utf-8")
    return path


def missed(release: Release) -> dict[str, list[str]]:
    """Lines of the default policy that each candidate does not meet, by its figures."""
    return {
        judged.candidate.name: [f.rule.text for f in judged.findings if not f.met]
        for judged in release.judged
    }


def released(ratio: str, rows: int, seed: int) -> dict[str, Any]:
    """What one release came to."""
    with tempfile.TemporaryDirectory() as folder:
        release = run_plan(read_plan(plan_file(Path(folder), ratio, rows, seed)), workers=1)
        safe = [judged.candidate.name for judged in release.judged if judged.safe]
        chosen = release.chosen.candidate.name if release.chosen else None
        return {"missed": missed(release), "safe": safe, "chosen": chosen}


def undrawn(result: Result) -> dict[str, Any]:
    """A result as a job keeps it, without the chart: nobody looks at the charts of a hundred and fifty releases."""
    return {**result.to_dict(whole=True), "chart": None}


def kept(ratio: str, rows: int, seed: int) -> dict[str, Any]:
    """What one release came to, from the temporary folder if it was made before."""
    path = Path(tempfile.gettempdir()) / "dalenius-verdict" / f"{ratio.replace(':', '-')}-{rows}-{seed}.json"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text(json.dumps(released(ratio, rows, seed)))
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def main() -> None:
    jobs._stored = undrawn
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    outcomes = {(r, seed): kept(r, rows, seed) for seed in range(1, replicates + 1) for r in RATIOS}
    print(f"{replicates} draws of {rows:,} people\n")
    print("| sizes | candidate | refused | by its figures | lines it missed |\n|---|---|---|---|---|")
    for ratio in RATIOS:
        these = [outcome for (r, _), outcome in outcomes.items() if r == ratio]
        for name in these[0]["missed"]:
            lines = Counter(line for outcome in these for line in outcome["missed"][name])
            refused = sum(name not in outcome["safe"] for outcome in these)
            figures = sum(bool(outcome["missed"][name]) for outcome in these)
            why = "; ".join(f"{line} ({times})" for line, times in lines.most_common())
            print(f"| {ratio} | {name} | {refused} of {replicates} | {figures} | {why or 'none'} |")


if __name__ == "__main__":
    main()
