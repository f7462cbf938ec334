"""Private regressions: CPU seconds beside statsmodels' QuantReg (no privacy), growth with records, errors by design.

Run as ``python bench/private_fits.py [largest number of records]``.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

from dalenius.dp.regression import Box, Check, Reach, drawn_fit, perturbed_fit, quantile_study
from dalenius.dp.regression.study import DESIGNS


def cpu(call) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def main() -> None:
    from statsmodels.regression.quantile_regression import QuantReg

    warnings.simplefilter("ignore")
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    law = DESIGNS["normal"]
    reach = Reach(law.row, law.entry)
    print("objective perturbation, three coefficients, median, epsilon 1")
    last = None
    for rows in [n for n in (2_500, 10_000, 100_000, 1_000_000) if n <= largest]:
        x, y = law.draw(np.random.default_rng(0), rows)
        ours = min(cpu(lambda: perturbed_fit(x, y, Check(0.5), reach, epsilon=1.0)) for _ in range(3))  # noqa: B023
        theirs = cpu(lambda: QuantReg(y, x).fit(q=0.5))  # noqa: B023
        grown = "" if last is None else f"  exponent {np.log(ours / last[1]) / np.log(rows / last[0]):.2f}"
        print(
            f"  {rows:9,} records: ours {ours:.4f} s, QuantReg {theirs:.3f} s ({theirs / ours:.1f}x){grown}"
        )
        last = rows, ours
    x, y = law.draw(np.random.default_rng(0), 2_500)
    grid = cpu(lambda: drawn_fit(x, y, Check(0.5), reach, Box.of(-10, 10, 3), epsilon=1.0, points=100))
    print(f"K-norm gradient, 1,000,000 grid points, 2,500 records: {grid:.1f} s")
    _errors("opm", {2_500: 60, 250: 60}, "add-remove")
    _errors("kng", {2_500: 6, 250: 16}, "replace")


def _errors(mechanism: str, replicates: dict[int, int], neighbours: str) -> None:
    """Mean log10 of the distance from the true coefficients, by quantile; the K-norm gradient on its grid."""
    for epsilon in (1.0, 0.5):
        for design in DESIGNS:
            for rows, times in replicates.items():
                before = time.process_time()
                found = quantile_study(
                    design, rows, epsilon=epsilon, mechanisms=[mechanism], replicates=times, neighbours=neighbours,
                    seed=5,
                )  # fmt: skip
                row = " | ".join(f"{value:.2f}" for value in found["mean log10 error"])
                spent = time.process_time() - before
                print(f"| {mechanism}, {design}, {rows:,}, ε {epsilon:g} | {row} | {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main()
