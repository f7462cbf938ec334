"""The propensity tree: rpart's figures on the files of Latner, Neunhoeffer, Drechsler (PSD 2024), and its speed.

Run: ``python bench/propensity.py [sd2011.csv FOLDER]``. The folder holds the authors' syntheses of SD2011 by
DataSynthesizer, ``ds_a_1.csv.gz`` and so on (``a``: raw data, ``c``: cleaned, without derived columns); neither is ours
to ship. The peer for speed is scikit-learn's tree on the same numbers, grown to the same leaves. CPU seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from _shared import cpu
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.utility.propensity import tree_propensity
from dalenius.utility.propensity.design import predictors
from dalenius.utility.propensity.tree.grow import Stacked

NUMBERS = (
    "age", "unempdur", "income", "mmarr", "ymarr", "msepdiv", "ysepdiv", "depress", "nofriend", "nociga", "wkabdur",
    "height", "weight", "bmi",
)  # fmt: skip
PUBLISHED = {"a": 0.204728546843924, "c": 0.0744398297249058}
"""Means over five files, from the authors' replication material (synthpop 1.8, utility.gen)."""


def read(path: Path, *, clean: bool) -> pl.DataFrame:
    frame = pl.read_csv(path, infer_schema_length=0)
    numbers = [pl.col(n).cast(pl.Float64, strict=False) for n in NUMBERS if n in frame.columns]
    frame = frame.with_columns(numbers)
    if not clean:
        return frame
    held = [pl.when(pl.col(n) >= 0).then(pl.col(n)).alias(n) for n in NUMBERS if n in frame.columns]
    return frame.with_columns(held)


def authors_files(original: Path, folder: Path) -> None:
    for version, printed in PUBLISHED.items():
        real = read(original, clean=version == "c")
        fits = []
        for path in sorted(folder.glob(f"ds_{version}_*.csv.gz")):
            made = read(path, clean=False)
            columns = [name for name in real.columns if name in made.columns]
            kinds = [Column(n, Kind.CONTINUOUS if n in NUMBERS else Kind.CATEGORICAL) for n in columns]
            pair = Pair(real.select(columns), made.select(columns), schema=Schema(tuple(kinds)))
            fits.append(tree_propensity(pair, columns, repeats=0, growth="rpart"))
        mean = float(np.mean([fit.figures.pMSE for fit in fits]))
        each = ", ".join(f"{fit.figures.pMSE:.4f} ({fit.leaves})" for fit in fits)
        print(
            f"version {version}: mean pMSE {mean:.15f}, published {printed:.15f}, off by {abs(mean - printed):.0e}"
        )
        print(f"  pMSE (leaves): {each}")
        assert abs(mean - printed) < 1e-13, "no longer rpart's tree"


def made_files(rows: int, columns: int, seed: int = 1) -> Pair:
    """Half numbers, half categories, hung together by one hidden cause; the second file follows it less well."""
    frames = []
    for number, loyal in enumerate((0.6, 0.5)):
        rng = np.random.default_rng(seed + number)
        cause = rng.normal(size=rows)
        frame = {}
        for i in range(columns):
            mixed = loyal * cause + np.sqrt(1 - loyal**2) * rng.normal(size=rows)
            frame[f"c{i}"] = (
                np.round(10 * mixed).astype(np.int64) if i % 2 else np.digitize(mixed, np.linspace(-2, 2, 8))
            )
        frames.append(pl.DataFrame(frame))
    kinds = [Column(f"c{i}", Kind.INTEGER if i % 2 else Kind.CATEGORICAL) for i in range(columns)]
    return Pair(*frames, schema=Schema(tuple(kinds)))


def speed(rows: int = 1_000_000, columns: int = 20) -> None:
    from sklearn.tree import DecisionTreeClassifier

    warm = made_files(500, 4)
    tree_propensity(warm, repeats=1)
    pair = made_files(rows, columns)
    one, fit = cpu(lambda: tree_propensity(pair, repeats=0))
    print(
        f"{rows:,} rows × {columns}: one tree {one:.1f} s, {fit.leaves} leaves, pMSE {fit.figures.pMSE:.6g}"
    )
    many, fit = cpu(lambda: tree_propensity(pair, repeats=20))
    print(f"  with up to 20 trees of the null ({fit.repeats} grown) {many:.1f} s, S_pMSE {fit.S_pMSE:.4g}, "
          f"standard error of the null {fit.null_error / fit.null:.1%}")  # fmt: skip
    data = Stacked.of(predictors(pair))
    t = np.zeros(2 * rows, dtype=bool)
    t[:rows] = True
    x = data.numbers().astype(np.float32)
    peer = DecisionTreeClassifier(max_leaf_nodes=max(fit.leaves, 2), min_samples_leaf=5)
    theirs, _ = cpu(lambda: peer.fit(x, t))
    print(
        f"  scikit-learn, one tree of as many leaves, levels taken as numbers: {theirs:.1f} s, {theirs / one:.1f} times"
    )


def main() -> None:
    words = [Path(word) for word in sys.argv[1:]]
    if len(words) == 2:
        authors_files(*words)
    speed()


if __name__ == "__main__":
    main()
