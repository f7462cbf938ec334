"""Private regressions: CPU seconds beside statsmodels' QuantReg (no privacy), growth with records, errors by design.

Run as ``python bench/private_fits.py [largest number of records]``; ``python bench/private_fits.py kng [design …]``
prints the table of K-norm draws alone.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.special import softmax

from dalenius.dp.regression import Box, Check, Reach, drawn_fit, perturbed_fit, quantile_study
from dalenius.dp.regression.gradient_norm import gradients
from dalenius.dp.regression.study import DESIGNS, TAUS


def cpu(call) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def main() -> None:
    from statsmodels.regression.quantile_regression import QuantReg

    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["kng"]:
        return drawn_errors(sys.argv[2:] or list(DESIGNS))
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
    errors()
    drawn_errors(list(DESIGNS))


def errors() -> None:
    """Mean log10 of the distance from the true coefficients, by quantile: objective perturbation, 60 replicates."""
    for epsilon in (1.0, 0.5):
        for design in DESIGNS:
            for rows in (2_500, 250):
                found = quantile_study(
                    design, rows, epsilon=epsilon, mechanisms=["opm"], replicates=60, neighbours="add-remove",
                    seed=5,
                )  # fmt: skip
                row = " | ".join(f"{value:.2f}" for value in found["mean log10 error"])
                print(f"| opm, {design}, {rows:,}, ε {epsilon:g} | {row} |", flush=True)


def drawn_errors(designs: list[str]) -> None:
    """The same for the K-norm gradient, on a grid of 100 points along each of three coefficients or 400 of two.

    Nothing is drawn: the law on the grid is known, and with it the mean of the logarithm for every sample. Gradients of
    quantiles differ by a constant, so that one pass serves six quantiles and two ε.
    """
    for design, law in ((name, DESIGNS[name]) for name in designs):
        for rows, times in ((250, 16), (2_500, 6)):
            before, width = time.process_time(), len(law.truth(0.5))
            grid = Box.of(-law.box, law.box, width).grid(100 if width == 3 else 400)
            away = {tau: np.log10(np.linalg.norm(grid - np.array(law.truth(tau)), axis=1)) for tau in TAUS}
            found = np.zeros((2, len(TAUS)))
            for replicate in range(times):
                x, y = law.draw(np.random.default_rng([5, replicate]), rows)
                x = Reach(law.row, law.entry).hold(x)
                middle = gradients(x, y, Check(0.5), grid)
                for j, tau in enumerate(TAUS):
                    length = np.abs(middle + (0.5 - tau) * x.sum(axis=0)).max(axis=1)
                    moved = 2 * max(tau, 1 - tau) * law.entry
                    for i, epsilon in enumerate((1.0, 0.5)):
                        chance = softmax(-epsilon / (2 * moved) * length)
                        found[i, j] += float(chance @ away[tau]) / times
            spent = time.process_time() - before
            for epsilon, line in zip((1.0, 0.5), found, strict=True):
                row = " | ".join(f"{value:.2f}" for value in line)
                print(
                    f"| kng, {design}, {rows:,}, ε {epsilon:g} | {row} | {spent:.0f} s for both", flush=True
                )


if __name__ == "__main__":
    main()
