"""A panel: trees over waves beside trees over rows and, where there is one, SDV's PAR; time, and what follows what.

``python bench/panel.py [people] [PEER_PYTHON] [epochs]``; with the Python of an environment that has SDV, its PAR is
fitted to 300 people beside ours, for as many epochs (128, its default, unless told otherwise). 0 people: only these.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import dalenius
from dalenius import Pair, Schema, Table, join_panel, split_panel
from dalenius.counts.database_pair import DatabasePair
from dalenius.data import examples
from dalenius.risk import disco
from dalenius.utility.panels import spell_lengths, transitions, within_person

KEYS, TARGET = ["sex", "born", "education"], "state"
PAR = """
import sys, time, json, warnings
import pandas as pd
warnings.filterwarnings("ignore")
from sdv.metadata import Metadata
from sdv.sequential import PARSynthesizer
frame = pd.read_csv(sys.argv[1])
metadata = Metadata.detect_from_dataframes({"panel": frame})
metadata.update_column("person", sdtype="id")
for name in ("year", "born", "pay", "satisfaction"):
    metadata.update_column(name, sdtype="numerical")
for name in ("sex", "education", "state"):  # "state" is taken for a state of America otherwise
    metadata.update_column(name, sdtype="categorical")
metadata.set_sequence_key("person")
metadata.set_sequence_index("year")
start = time.process_time()
model = PARSynthesizer(metadata, context_columns=["sex", "born", "education"], epochs=int(sys.argv[3]))
model.fit({"panel": frame})
fitted = time.process_time()
made = model.sample_sequences(frame["person"].nunique())
(made["panel"] if isinstance(made, dict) else made).to_csv(sys.argv[2], index=False)
print(json.dumps({"fit": fitted - start, "sample": time.process_time() - fitted}))
"""


def by_rows(panel: pl.DataFrame) -> pl.DataFrame:
    """Rows by a method that knows no persons, dealt out to as many people: one row of a wave each."""
    rows = dalenius.synthesize(panel.drop("person"), "cart", seed=1)
    people = panel["person"].n_unique()
    dealt = rows.with_columns(person=pl.Series(np.arange(rows.height) % people))
    return dealt.unique(["person", "year"], keep="first", maintain_order=True)


def shown(name: str, frames: list[pl.DataFrame], seconds: float) -> None:
    """One line of figures of a panel (the second) beside the original and other people."""
    pair = DatabasePair(*(split_panel(frame, "person", "year") for frame in frames))
    values = [f"{measure(pair).value:.3f}" for measure in (transitions, spell_lengths, within_person)]
    schema = Schema.infer(frames[0]).with_roles(entity="person")
    rows = Pair(*(Table.from_frame(frame, schema if i == 0 else None) for i, frame in enumerate(frames)))
    risk = disco(rows, keys=KEYS, targets=[TARGET])
    print(
        f"| {name} | {' | '.join(values)} | {risk.value:.1f} % (outside {risk.outside:.1f}) | {seconds:.2f} |"
    )


def main() -> None:
    """Print the table of the docs."""
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    dalenius.synthesize(
        split_panel(examples.panel(50), "person", "year"), seed=0
    )  # compiled code is loaded once
    if people:
        compared(people, None)
    if len(sys.argv) > 2:
        compared(300, sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 128)
    for size in (people, 10 * people, 100 * people) if people else ():
        base = split_panel(examples.panel(size, seed=1), "person", "year")
        start = time.process_time()
        dalenius.synthesize(base, seed=1)
        print(f"{size:,} people, {base['waves'].rows:,} rows: {time.process_time() - start:.1f} CPU s")


def compared(people: int, python: str | None, epochs: int = 128) -> None:
    """Each way on the same panel."""
    panel, others = examples.panel(people, seed=1), examples.panel(people, seed=2)
    print(f"\n{people:,} people\n")
    print(
        "| | transitions (S_pMSE) | spells | within person | DiSCO of people | CPU s |\n|---|---|---|---|---|---|"
    )
    start = time.process_time()
    made = dalenius.synthesize(split_panel(panel, "person", "year"), seed=1)
    took = time.process_time() - start
    shown("trees over waves", [panel, join_panel(made, panel.columns).to_frame("polars"), others], took)
    start = time.process_time()
    rows = by_rows(panel)
    shown("trees over rows, dealt out", [panel, rows, others], time.process_time() - start)
    if python is not None:
        peer = by_par(panel, python, epochs)
        if peer is not None:
            shown(f"SDV PAR, {epochs} epochs", [panel, peer[0], others], peer[1])
    shown("other people", [panel, others, others], 0.0)


def by_par(panel: pl.DataFrame, python: str, epochs: int) -> tuple[pl.DataFrame, float] | None:
    """The panel by SDV's PAR, one row of a wave each, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place) / "in.csv", Path(place) / "out.csv"
        panel.write_csv(source)
        command = [python, "-c", PAR, str(source), str(out), str(epochs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print("SDV PAR did not run:", done.stderr.strip().splitlines()[-1:])
            return None
        took = json.loads(done.stdout.strip().splitlines()[-1])
        drawn = pl.read_csv(out, infer_schema_length=None).with_columns(pl.col("year").round().cast(pl.Int64))
    drawn = drawn.unique(["person", "year"], keep="first", maintain_order=True).select(panel.columns)
    print(f"PAR: {took['fit'] / epochs:.2f} CPU s an epoch, {took['sample']:.1f} to draw")
    return drawn, took["fit"] + took["sample"]


if __name__ == "__main__":
    main()
