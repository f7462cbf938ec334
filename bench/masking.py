"""Masking: speed and loss, against sdcMicro (measured before on the same machine) and peers from PyPI (measured here).

Run: ``python bench/masking.py [suppress bound mdav growth one swap peers]``. UCI Adult comes out of the wheel of
python-synthpop. ``peers`` needs pycanon and anjana, ``one`` compares with microagg1d where it is installed; all three
belong into an environment of their own. CPU seconds throughout; the first call of each piece of work, which loads
compiled code, is not counted.
"""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from _shared import adult_file, cpu
from dalenius.data import examples
from dalenius.data.table import Table
from dalenius.mask.grouping import best_of_one, mdav
from dalenius.mask.household_swap import SwapHouseholds
from dalenius.mask.local_suppression import Suppress, certificate
from dalenius.mask.microaggregation import Microaggregate, averaged
from dalenius.mask.neighbours import spread
from dalenius.risk.sample.anonymity import k_anonymity, l_diversity
from dalenius.risk.sample.fitting import rows_that_fit

KEYS = ["age", "sex", "race", "marital-status", "native-country"]
SDCMICRO = {"suppress": 18.8, "mdav": 3.6}
"""sdcMicro 5.8.1, CPU seconds: kAnon of five keys, k = 3 (3,477 cells, gaps match everything); mdav of 32,561 × 3."""
LEVELS = ("region", "district", "municipality")


def adult() -> pl.DataFrame:
    """Adult with the names of its own documentation."""
    path = adult_file()
    if path is None:
        raise SystemExit("Adult cannot be fetched")
    frame = pl.read_csv(path, infer_schema_length=None)
    names = "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain"
    frame.columns = [*names.split(), "capital-loss", "hours-per-week", "native-country", "income"]
    return frame.with_columns(pl.col(pl.String).str.strip_chars())


def suppress() -> None:
    """Local suppression of five and six keys: rows that look alike, and as sdcMicro counts."""
    table = Table.from_frame(adult())
    for keys in (KEYS, [*KEYS, "education"]):
        for compat, alpha in ((None, 0.0), ("sdcMicro", 0.0), ("sdcMicro", 1.0)):
            step = Suppress(tuple(keys), 3, compat=compat, alpha=alpha)
            step.apply(table, 1)
            seconds, made = cpu(lambda step=step: step.apply(table, 1), 3)
            bad = int(certificate(made.table, keys, compat=compat, alpha=alpha)["rows below"].sum())
            fit = rows_that_fit(table, made.table, keys)
            ratio = f"; sdcMicro {SDCMICRO['suppress'] / seconds:,.0f} times" if keys == KEYS else ""
            reading = "rows that look alike" if compat is None else f"as sdcMicro counts, alpha {alpha:g}"
            print(
                f"{len(keys)} keys, {reading}: {made.figures['cells']:,.0f} cells in {seconds:.3f} s{ratio}; "
                f"rows that look like fewer than 3 {made.figures['rows below']:,.0f}; "
                f"people whom one row fits {(fit == 1).sum():,}, fewer than 3 {(fit < 3).sum():,}, fewest {fit.min()}; "
                f"by its own reading over all subsets {bad}"
            )


def bound(k: int = 3, seconds: float = 240.0) -> None:
    """The fewest cells that can be emptied so that every row looks like k: what an integer program proves.

    Rows of a combination that fewer than k have must go into cells with gaps, each used by k rows or by none. Frequent
    combinations may lend as many rows as a cell lacks: more than they can, so that the bound holds all the more.
    """
    rows, count = np.unique(
        np.column_stack([Table.from_frame(adult())[name].categories.codes for name in KEYS]), axis=0, return_counts=True
    )  # fmt: skip
    rare = np.flatnonzero(count < k)
    cells: dict[tuple[int, ...], int] = {}
    at, cost, owner, lends = [], [], [], []
    for emptied in range(1, 2 ** len(KEYS)):
        gone = [bool(emptied >> i & 1) for i in range(len(KEYS))]
        seen = np.where(gone, -1, rows)
        values, place = np.unique(seen, axis=0, return_inverse=True)
        held = np.bincount(place.ravel(), count, len(values))
        frequent = np.bincount(place.ravel(), count * (count >= k), len(values)) > 0
        for row in rare:
            cell = int(place.ravel()[row])
            if held[cell] >= k:
                key = (emptied, cell)
                if key not in cells:
                    cells[key] = len(cells)
                    lends.append((sum(gone), bool(frequent[cell])))
                at.append(cells[key])
                owner.append(int(np.searchsorted(rare, row)))
                cost.append(sum(gone))
    print(f"{len(rare):,} rare combinations, {len(cells):,} cells they could go to, {len(at):,} ways")
    n, m, c = len(at), len(cells), len(rare)
    # unknowns: rows of a combination in a cell (n), whether a cell is used (m), rows lent to it (m)
    ways, used = np.arange(n), n + np.arange(m)
    lent = n + m + np.arange(m)
    all_placed = csr_array((np.ones(n), (owner, ways)), shape=(c, n + 2 * m))
    enough = csr_array(
        (np.r_[np.ones(n), -k * np.ones(m), np.ones(m)], (np.r_[at, range(m), range(m)], np.r_[ways, used, lent])),
        shape=(m, n + 2 * m),
    )  # fmt: skip
    only_used = csr_array(
        (np.r_[np.ones(n), -count[rare][owner]], (np.r_[ways, ways], np.r_[ways, used[at]])),
        shape=(n, n + 2 * m),
    )
    size = count[rare].astype(float)
    found = milp(
        np.r_[cost, np.zeros(m), [width for width, _ in lends]],
        constraints=[
            LinearConstraint(all_placed, size, size), LinearConstraint(enough, 0, np.inf),
            LinearConstraint(only_used, -np.inf, 0),
        ],
        integrality=np.r_[np.ones(n + m), np.zeros(m)],
        bounds=Bounds(0, np.r_[size[owner], np.ones(m), [k if can else 0 for _, can in lends]]),
        options={"time_limit": seconds, "disp": False},
    )  # fmt: skip
    print(
        f"no way takes fewer than {np.ceil(found.mip_dual_bound - 1e-6):,.0f} cells; {found.message}; found {found.fun}"
    )


def scaled_adult() -> np.ndarray:
    frame = adult().select("age", "hours-per-week", "education-num")
    return spread(frame.to_numpy().astype(float)).values


def lost(values: np.ndarray, labels: np.ndarray) -> float:
    means = np.column_stack([averaged(column, labels)[labels] for column in values.T])
    return float(((values - means) ** 2).sum() / ((values - values.mean(axis=0)) ** 2).sum())


def mdav_adult() -> None:
    """MDAV of three columns, and the step around it."""
    values = scaled_adult()
    points = spread(values, "raw")
    mdav(points, 3)
    seconds, labels = cpu(lambda: mdav(points, 3), 3)
    sizes = np.bincount(labels)
    print(
        f"mdav 32,561 x 3, k = 3: {seconds:.3f} s; sdcMicro {SDCMICRO['mdav'] / seconds:.0f} times; SSE/SST "
        f"{lost(values, labels):.6f}; {len(sizes):,} groups of {sizes.min()} to {sizes.max()}"
    )
    step = Microaggregate(("age", "hours-per-week", "education-num"), 3)
    table = Table.from_frame(adult())
    print(f"the whole step: {cpu(lambda: step.apply(table), 3)[0]:.3f} s")


def growth() -> None:
    """How MDAV grows with rows: normal data of three columns."""
    rng = np.random.default_rng(0)
    sizes, times = (10_000, 31_623, 100_000, 316_228, 1_000_000), []
    mdav(spread(rng.normal(size=(100, 3)), "raw"), 3)
    for rows in sizes:
        points = spread(rng.normal(size=(rows, 3)), "raw")
        times.append(cpu(lambda points=points: mdav(points, 3))[0])
        print(f"  {rows:>9,} rows: {times[-1]:7.3f} s")
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    last = np.log(times[-1] / times[-2]) / np.log(sizes[-1] / sizes[-2])
    print(f"exponent {slope:.2f}, in the last step {last:.2f}")


def one_column() -> None:
    """The best cuts of one column."""
    column = np.random.default_rng(5).lognormal(size=100_000)
    best_of_one(column[:100], 3)
    for k in (3, 10):
        seconds, labels = cpu(lambda k=k: best_of_one(column, k))
        line = (
            f"one column, 100,000 rows, k = {k}: loss {lost(column[:, None], labels):.12f} in {seconds:.3f} s"
        )
        try:
            from microagg1d import univariate_microaggregation
        except ImportError:
            print(line)
            continue
        univariate_microaggregation(column[:100].copy(), k, method="wilber")
        theirs, other = cpu(lambda k=k: univariate_microaggregation(column.copy(), k, method="wilber"))
        print(f"{line}; microagg1d {lost(column[:, None], np.asarray(other)):.12f} in {theirs:.3f} s")


def swap() -> None:
    """Targeted swapping of a million people over three levels of areas."""
    keys, k = ("sex", "age", "marital"), 3
    small = Table.from_frame(examples.population(5_000, 1), examples.population_schema())
    SwapHouseholds(LEVELS, keys, k).apply(small, 1)
    table = Table.from_frame(examples.population(1_000_000, 1), examples.population_schema())
    step = SwapHouseholds(LEVELS, keys, k, similar=("sex",), carry=("longitude", "latitude"))
    seconds, made = cpu(lambda: step.apply(table, 1))
    tracemalloc.start()
    step.apply(table, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"swap of {table.rows:,} people: {seconds:.1f} s; the table {table.nbytes / 2**20:.0f} MB, at the peak "
          f"{peak / 2**20:.0f} MB more")  # fmt: skip
    print("  " + "; ".join(f"{name} {value:,.0f}" for name, value in made.figures.items()))
    homes, first = np.unique(table["household_id"].data, return_index=True)
    gone = np.zeros(len(homes), bool)
    for name in LEVELS:  # who changed his area of a level without having changed one above
        here = (table[name].data != made.table[name].data)[first] & ~gone
        gone |= here
        swaps = made.figures[f"swaps at {name}"]
        print(f"  {here.sum():,} households changed their {name} and nothing above, 2 x {swaps:,.0f}")
    frames = [pl.DataFrame({n: t[n].data for n in (*LEVELS, *keys)}) for t in (table, made.table)]
    for names in (list(keys), [*LEVELS], [*LEVELS, "sex"], ["region", *keys], [*LEVELS, *keys]):
        one, two = (
            frame.group_by(names).len().with_columns(pl.col("len").cast(pl.Int64)) for frame in frames
        )
        off = one.join(two, on=names, how="full", coalesce=True).fill_null(0)
        moved = int((off["len"] - off["len_right"]).abs().sum()) // 2
        print(f"  {' x '.join(names)}: {moved:,} of {table.rows:,} people in another cell")


def peers() -> None:
    """Anonymity and diversity beside pycanon (its t-closeness takes minutes); anjana is in the bench of lattices."""
    try:
        import pycanon.anonymity as theirs
    except ImportError:
        print("pycanon is not installed here")
        return
    frame = adult()
    table, pandas = Table.from_frame(frame), frame.to_pandas()
    ours = {
        "k": lambda: k_anonymity(table, KEYS).value,
        "l": lambda: int(l_diversity(table, KEYS, "occupation")["distinct"].min()),
    }
    other = {
        "k": lambda: theirs.k_anonymity(pandas, KEYS),
        "l": lambda: theirs.l_diversity(pandas, KEYS, ["occupation"]),
    }
    for name, work in ours.items():
        work()
        seconds, value = cpu(work, 3)
        slow, their = cpu(other[name])
        print(
            f"{name}: {value:.4g} in {seconds:.4f} s; pycanon {their:.4g} in {slow:.2f} s; {slow / seconds:,.0f} times"
        )


if __name__ == "__main__":
    works = {
        "suppress": suppress, "bound": bound, "mdav": mdav_adult, "growth": growth, "one": one_column, "swap": swap,
        "peers": peers,
    }  # fmt: skip
    for chosen in sys.argv[1:] or works:
        works[chosen]()
