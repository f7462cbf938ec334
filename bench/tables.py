"""Secondary suppression and audit of simulated tables: time, memory, suppressed cells and growth.

Region × industry × size class (the largest with one dimension more), counts of simulated firms, counts up to 3 and
zeros protected. The peer is R's GaussSuppression 1.2.3, measured beforehand on tables of the same make (no Python
package does this): 6.7 CPU seconds for 4,704 cells and 92.1 for 19,747.

Run: python bench/tables.py [--audit]
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from dalenius.tables import SmallCount, audit, define, protect

SIZES = {
    "5k": (((4, 5), (4, 6), (5,)), 90_000),
    "20k": (((5, 8), (6, 8), (7,)), 540_000),
    "100k": (((5, 8), (6, 8), (7,), (4,)), 3_400_000),
}
R_SECONDS = {"5k": (4_704, 6.7), "20k": (19_747, 92.1)}
NAMES = ("region", "industry", "size", "year")


def tree(shape: tuple[int, ...], prefix: str) -> dict[str, list[str]]:
    """Level columns of a regular tree: leaf codes first."""
    leaves = int(np.prod(shape))
    columns = {}
    below = leaves
    for depth, parts in enumerate(shape):
        below //= parts
        columns[f"{prefix}{depth}"] = [f"{prefix}{depth}_{i // below:03d}" for i in range(leaves)]
    return dict(reversed(columns.items()))


def simulate(
    shapes: tuple[tuple[int, ...], ...], firms: int, seed: int = 1
) -> tuple[dict[str, list[str]], list[str]]:
    """Inner cells with counts: skewed margins, mild interaction, many zeros."""
    rng = np.random.default_rng(seed)
    levels = [tree(shape, name) for shape, name in zip(shapes, NAMES, strict=False)]
    sizes = [int(np.prod(shape)) for shape in shapes]
    share = np.ones(1)
    for size in sizes:
        share = np.outer(share, rng.gamma(0.9, 1.0, size) + 0.02).ravel()
    share *= rng.gamma(1.0, 1.0, len(share))
    counts = rng.multinomial(firms, share / share.sum())
    place = np.indices(sizes).reshape(len(sizes), -1)
    frame: dict[str, list] = {}
    for columns, index in zip(levels, place, strict=True):
        for name, codes in columns.items():
            frame[name] = np.array(codes, object)[index].tolist()
    names = list(frame)
    frame["n"] = counts.tolist()
    return frame, names


def main() -> None:
    protect(define({"a": ["x", "y"], "n": [1, 9]}, by="a", freq="n"), SmallCount(3))  # compile first
    cpu_before = None
    for name, (shapes, firms) in SIZES.items():
        frame, by = simulate(shapes, firms)
        begin = time.process_time()
        model = define(frame, by=by, freq="n")
        defined = time.process_time() - begin
        begin = time.process_time()
        result = protect(model, SmallCount(3))
        cpu = time.process_time() - begin
        cells, hidden = len(model.cells), int(result.suppressed.sum())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        line = (
            f"{name:>5}: {cells:>7,} cells of {len(model.counts):,} inner, {int(result.primary.sum()):,} primary, "
            f"{hidden:,} suppressed ({100 * hidden / cells:.0f} %), define {defined:.2f} s, suppress {cpu:.2f} CPU s, "
            f"peak {peak:.0f} MB"
        )
        if name in R_SECONDS:
            r_cells, r_cpu = R_SECONDS[name]
            line += (
                f"; R took {r_cpu} s for {r_cells:,} cells: {r_cpu / r_cells / (cpu / cells):.0f} × per cell"
            )
        if cpu_before is not None:
            line += f"; growth exponent {np.log(cpu / cpu_before[1]) / np.log(cells / cpu_before[0]):.2f}"
        cpu_before = (cells, cpu)
        print(line, flush=True)
        if "--audit" in sys.argv and name != "100k":
            begin = time.process_time()
            found = audit(result, progress=None)
            print(
                f"       audit: {found} {found.intervals.solved:,} programs, {time.process_time() - begin:.1f} CPU s",
                flush=True,
            )
        if "--exact" in sys.argv and name == "5k":
            begin = time.process_time()
            found = audit(result, intervals="exact", cells="suppressed")
            print(f"       exact intervals of {len(found.intervals.cells):,} cells: {found.intervals.solved:,} "
                  f"programs, {time.process_time() - begin:.1f} CPU s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
