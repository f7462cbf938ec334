"""Sequential synthesis against its peers: time, growth, memory and quality on Adult; rules on the example survey.

Run: python bench/sequential.py [folder with adult.data]. Without a folder the data come out of the wheel of
python-synthpop; peers run in this interpreter when they are installed, or in the one named by PEERS (a virtual
environment with python-synthpop and sdv).
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import psutil
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from _shared import adult_file
from dalenius.counts.pair import Pair
from dalenius.data import Table
from dalenius.data.examples import survey, survey_schema, violations
from dalenius.risk.attribution import disco
from dalenius.risk.identity import replicated_uniques
from dalenius.synth.sequential import CartSynthesizer, ParametricSynthesizer
from dalenius.utility.tables import two_way_utility

KEYS = ["age", "sex", "race", "marital.status", "native.country"]
R_SYNTHPOP = 27.5
"""CPU seconds of R synthpop 1.9-3 on the same table and kind of machine (measured apart, in R)."""

PEERS = {
    "python-synthpop": """
import numpy as np, pandas as pd
from synthpop.method import CARTMethod
def code(frame):
    return frame.apply(lambda c: c if c.dtype.kind in "if" else c.astype("category").cat.codes).astype(float)
coded = code(frame)
start = time.process_time()
meta = {c: ("numerical" if frame[c].dtype.kind in "if" else "categorical") for c in frame}
model = CARTMethod(meta, smoothing=False, proper=False, minibucket=5, random_state=1)
model.fit(coded)
model.sample(len(frame))
""",
    "sdv": """
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer
metadata = Metadata.detect_from_dataframes({"adult": frame})
start = time.process_time()
model = GaussianCopulaSynthesizer(metadata)
model.fit({"adult": frame})
model.sample(len(frame))
""",
}


def timed(table: Table, seed: int) -> tuple[float, Table]:
    start = time.process_time()
    made = CartSynthesizer(threads=1).fit(table, seed=seed).sample(seed=seed + 1000)
    return time.process_time() - start, made


def peak_ratio(table: Table) -> float:
    """Largest memory beyond the table itself while fitting and sampling, in sizes of the table.

    The table is the encoded one that synthesis works on (a byte for most categories, eight for a number): the smallest
    thing that may be called the table. What is counted holds the model, the synthetic table and all work space.
    """
    process = psutil.Process()
    gc.collect()
    before = process.memory_info().rss
    highest, done = [before], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            highest[0] = max(highest[0], process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    timed(table, 1)
    done.set()
    thread.join()
    return (highest[0] - before) / table.nbytes


def ordinal_trees(table: Table, seed: int) -> Table:
    """The same sequence with scikit-learn's trees, which know no categories: codes stand for numbers."""
    rng = np.random.default_rng(seed)
    vectors = list(table.vectors.values())
    real = np.column_stack([v.data for v in vectors]).astype(np.float64)
    drawn = np.zeros_like(real)
    drawn[:, 0] = rng.choice(real[:, 0], table.rows)
    for j in range(1, len(vectors)):
        kind = DecisionTreeRegressor if vectors[j].is_number else DecisionTreeClassifier
        tree = kind(min_samples_leaf=5, random_state=seed).fit(real[:, :j], real[:, j])
        order = np.argsort(tree.apply(real[:, :j]), kind="stable")
        leaves, first, size = np.unique(tree.apply(real[:, :j])[order], return_index=True, return_counts=True)
        mine = np.searchsorted(leaves, tree.apply(drawn[:, :j]))
        drawn[:, j] = real[order[first[mine] + (rng.random(table.rows) * size[mine]).astype(int)], j]
    made = [replace(v, data=drawn[:, j].astype(v.data.dtype)) for j, v in enumerate(vectors)]
    return Table.from_vectors(made, table.rows, table.origin, table.schema)


def quality(frame: pl.DataFrame, made: list[Table]) -> np.ndarray:
    """Two-way and marginal S_pMSE, repU and DiSCO of each synthetic table."""
    figures = []
    for table in made:
        pair = Pair(frame, table.to_frame(), keys=KEYS, targets=["occupation"])
        margins = [two_way_utility(pair, [name]).value for name in pair.columns]
        figures.append(
            [two_way_utility(pair).value, np.mean(margins), replicated_uniques(pair).value, disco(pair).value]
        )
    return np.array(figures)


def show(title: str, figures: np.ndarray) -> None:
    print(f"  {title}")
    names = ("two-way S_pMSE", "marginal S_pMSE", "repU %", "DiSCO %")
    for name, values in zip(names, figures.T, strict=True):
        print(f"    {name:16s} mean {values.mean():.3f}, from {values.min():.3f} to {values.max():.3f}")


def many_levels(frame: pl.DataFrame, made: Table) -> float:
    """Mean two-way S_pMSE of the pairs with the column of 42 countries."""
    found = two_way_utility(Pair(frame, made.to_frame())).table
    country = (pl.col("first") == "native.country") | (pl.col("second") == "native.country")
    return float(found.filter(country)["S_pMSE"].mean())


def fresh_sample(frame: pl.DataFrame) -> float:
    """Share of the unique records that a fresh sample of the same population repeats: one half against the other."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(5):
        halves = np.array_split(rng.permutation(frame.height), 2)
        single = [frame[half].group_by(KEYS).len().filter(pl.col("len") == 1).drop("len") for half in halves]
        shares.append(single[0].join(single[1], on=KEYS).height / single[0].height)
    return float(np.mean(shares))


def rules_kept() -> None:
    table = Table.from_frame(survey(4000, seed=1), survey_schema())
    for word, options in (("with the schema's rules", {}), ("without rules", {"rules": ()})):
        drawn = CartSynthesizer(threads=1, **options).fit(table, seed=1).sample(seed=2).to_frame()
        print(f"  example survey, 4,000 rows, {word}: {sum(violations(drawn).values()):,} violations")
    start = time.process_time()
    small = Table.from_frame(survey(2000, seed=1), survey_schema())
    ParametricSynthesizer(threads=1).fit(small, seed=1).sample(seed=2)
    print(f"  parametric, 2,000 rows, 25 columns: {time.process_time() - start:.1f} CPU s")


def peer_seconds(name: str, body: str, folder: Path) -> float | None:
    python = os.environ.get("PEERS", sys.executable)
    script = (
        "import time, warnings; warnings.simplefilter('ignore')\nimport pandas as pd\n"
        f"frame = pd.read_csv(r'{folder / 'adult.data'}').drop(columns='fnlwgt')\n{body}\n"
        "print('seconds', time.process_time() - start)\n"
    )
    ended = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("seconds")]
    if not lines:
        print(f"  {name}: not run (pip install {name}); {ended.stderr.strip().splitlines()[-1:] or ''}")
        return None
    return float(lines[-1].split()[1])


def main() -> None:
    path = adult_file(Path(sys.argv[1]) / "adult.data" if len(sys.argv) > 1 else None)
    if path is None:
        return
    folder = path.parent
    frame = pl.read_csv(path).drop("fnlwgt")
    table = Table.from_frame(frame)
    timed(table, 0)  # warm-up: Numba compiles once per machine
    runs = [timed(table, seed) for seed in range(1, 11)]
    ours = float(np.median([seconds for seconds, _ in runs]))
    print(
        f"Adult, {table.rows:,} rows, {len(table.names)} columns: {ours:.2f} CPU s (median of 10, one thread)"
    )
    print(f"  R synthpop cart {R_SYNTHPOP:.1f} CPU s (measured apart): {R_SYNTHPOP / ours:.0f} times ours")
    for name, body in PEERS.items():
        seconds = peer_seconds(name, body, folder)
        if seconds is not None:
            print(f"  {name}: {seconds:.1f} CPU s, {seconds / ours:.0f} times ours")
    show("cart", quality(frame, [made for _, made in runs]))
    detailed = [CartSynthesizer(evidence=0).fit(table, seed=s).sample(seed=s + 1000) for s in (1, 2, 3)]
    show("cart, evidence 0", quality(frame, detailed))
    start = time.process_time()
    plain = ordinal_trees(table, 1)
    show(f"scikit-learn trees on codes ({time.process_time() - start:.2f} CPU s)", quality(frame, [plain]))
    print(
        f"  pairs with the 42 countries: S_pMSE {many_levels(frame, plain):.2f} on codes, "
        f"{many_levels(frame, detailed[0]):.2f} with our splits, both grown alike"
    )
    print(f"  a fresh sample repeats {100 * fresh_sample(frame):.1f} % of the uniques")
    rng = np.random.default_rng(0)
    base = ours / (table.rows * np.log2(table.rows))
    for rows in (100_000, 1_000_000):
        large = table.take(rng.integers(0, table.rows, rows))
        seconds = timed(large, 1)[0]
        print(
            f"  {rows:,} rows: {seconds:.1f} CPU s, {seconds / (rows * np.log2(rows)) / base:.2f} times n log n"
        )
        if rows == 1_000_000:
            print(f"  memory beyond the table itself: {peak_ratio(large):.1f} times its size")
    rules_kept()


if __name__ == "__main__":
    main()
