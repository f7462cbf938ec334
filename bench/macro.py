"""Unit records from totals on 834 companies of Tarragona, beside the figures of a prototype of Aghaddar et al. 2024.

Run as ``python bench/macro.py Tarragona.rda [--seeds 20] [--splits 40]``. The file is in R's package sdcMicro (CRAN);
pyreadr reads it. Two things are measured: the share of made rows that are near no real one, by tolerance, and how far
off a regression on made rows is on real rows that nobody saw (ratio of mean squared errors, median of all splits).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.risk.distance.new_rows import new_row_curve
from dalenius.synth.outputs import MacroData, MacroToMicro
from dalenius.synth.sequential import CartSynthesizer

COLUMNS = ["SALES", "LABOR.COSTS", "DEPRECIATION", "FINANCIAL.OUTCOME", "CURRENT.ASSETS", "SHORT.TERM.DEBT",
           "OPERATING.PROFIT", "PAID.UP.CAPITAL"]  # fmt: skip
TOLERANCES = [0.1, 0.2, 0.3, 0.5, 0.6, 0.9, 1.0]
CURVES = {
    "trees": [1.000, 0.997, 0.986, 0.804, 0.634, 0.168, 0.051],
    "none": [1.000, 1.000, 1.000, 0.980, 0.924, 0.318, 0.003],
    "internal": [1.000, 1.000, 0.999, 0.953, 0.844, 0.254, 0.022],
    "external": [1.000, 1.000, 0.998, 0.907, 0.706, 0.090, 0.005],
}
RATIOS = {"trees": 1.10, "trees, leaking": 0.89, "internal": 1.17, "internal, normal": 1.02, "none": 4.1}


def read(place: Path) -> pl.DataFrame:
    """The eight columns, as numbers; two figures tell that it is the file that is meant."""
    import pyreadr

    frame = next(iter(pyreadr.read_r(str(place)).values()))
    data = pl.DataFrame({name: frame[name].to_numpy().astype(float) for name in COLUMNS})
    assert data["SALES"].sum() == 456_163_207
    assert round(data["LABOR.COSTS"].mean(), 2) == 74_447.96
    return data


def trees(data: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Trees as synthpop grows them, in the order of the columns."""
    table = Table.from_frame(data)
    model = CartSynthesizer(visit="given", evidence=0, minbucket=5, smoothing="none", rules=()).fit(
        table, seed=seed
    )
    return pl.DataFrame(model.sample(seed=seed + 1000).to_frame()).select(COLUMNS).cast(pl.Float64)


def copula(data: pl.DataFrame, knowledge: str, seed: int, normal: bool = False) -> pl.DataFrame:
    """Records from totals: lognormal where the mean is positive, correlations as those of the normals."""
    positive = [] if normal else [name for name in COLUMNS if data[name].mean() > 0]
    macro = MacroData.from_microdata(
        data, COLUMNS, nonnegative=positive, families=dict.fromkeys(positive, "lognormal")
    )
    maker = MacroToMicro(
        macro, "none" if knowledge == "external" else knowledge, match="latent", calibrate=False
    )
    if knowledge != "external":
        return maker.sample(seed=seed).select(COLUMNS)
    sign = np.where(np.array(COLUMNS) == "FINANCIAL.OUTCOME", -1.0, 1.0)
    guess = 0.6 * np.outer(sign, sign)
    np.fill_diagonal(guess, 1.0)
    known = maker.with_knowledge(
        1.5 * np.abs(macro.means), guess, "a guess: every cv 1.5, every correlation 0.6"
    )
    return known.sample(seed=seed, units=[1000]).select(COLUMNS)


def made(data: pl.DataFrame, way: str, seed: int) -> pl.DataFrame:
    if way.startswith("trees"):
        return trees(data, seed)
    return copula(data, way.split(",", maxsplit=1)[0], seed, way.endswith("normal"))


def curves(data: pl.DataFrame, seeds: int) -> bool:
    """Share of new rows by tolerance, the first 300 made rows, mean of the seeds."""
    right = True
    print("share of new rows at " + ", ".join(map(str, TOLERANCES)))
    for way, printed in CURVES.items():
        found = [
            new_row_curve(Pair(data, made(data, way, s).head(300)), TOLERANCES, most=None)[
                "protected"
            ].to_numpy()
            for s in range(1, seeds + 1)
        ]
        mean = np.mean(found, axis=0)
        off = float(np.abs(mean - printed).max())
        right &= off <= 0.05
        print(f"{way:18}" + " ".join(f"{v:.3f}" for v in mean) + f"   at most {off:.3f} off")
    return right


def error(train: pl.DataFrame, test: pl.DataFrame) -> float:
    """Mean squared error, on real rows, of the regression of sales on the rest."""
    x, y = train.select(COLUMNS[1:]).to_numpy(), train["SALES"].to_numpy()
    beta = np.linalg.lstsq(np.column_stack([np.ones(len(x)), x]), y, rcond=None)[0]
    return float(
        np.mean((test["SALES"].to_numpy() - beta[0] - test.select(COLUMNS[1:]).to_numpy() @ beta[1:]) ** 2)
    )


def ratios(data: pl.DataFrame, splits: int) -> bool:
    """Errors beside those of the real 70 %, on the real 30 %."""
    found: dict[str, list[float]] = {way: [] for way in RATIOS}
    real = []
    for s in range(1, splits + 1):
        order = np.random.default_rng(s).permutation(data.height)
        cut = round(0.7 * data.height)
        train, test = data[order[:cut]], data[order[cut:]]
        real.append(error(train, test))
        for way in RATIOS:
            source = data if way.endswith("leaking") else train
            found[way].append(error(made(source, way, s), test) / real[-1])
    print(f"mean squared error of the real rows: {np.median(real):.3g} (median)")
    right = True
    for way, printed in RATIOS.items():
        ratio = float(np.median(found[way]))
        near = ratio > 2 if way == "none" else abs(ratio - printed) <= 0.15
        right &= near
        print(f"{way:18}{ratio:.2f} times, prototype {printed}: {'near' if near else 'OFF'}")
    return right


def totals(data: pl.DataFrame) -> bool:
    """Relative error of the totals of calibrated records, in every scenario."""
    floor = [name for name in COLUMNS if data[name].min() >= 0]
    macro = MacroData.from_microdata(data, COLUMNS, nonnegative=floor)
    worst = max(
        abs(MacroToMicro(macro, way).sample(seed=1)[name].sum() / data[name].sum() - 1)
        for way in ("none", "internal", "macro") for name in COLUMNS
    )  # fmt: skip
    print(f"totals: at most {worst:.1e} off")
    return worst <= 1e-9


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("file", type=Path)
    given.add_argument("--seeds", type=int, default=20)
    given.add_argument("--splits", type=int, default=40)
    said = given.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    companies = read(said.file)
    verdicts = [totals(companies), curves(companies, said.seeds), ratios(companies, said.splits)]
    print(f"totals, curves, ratios: {verdicts}; {time.process_time() - start:.1f} CPU seconds")
