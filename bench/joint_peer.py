"""The method of McKenna, Miklau and Sheldon 2021 (MST) on top of `mbi` from PyPI, as the peer of `bench/joint.py`.

The package brings the estimation and the sampling, not the mechanism; the steps here are written from the paper. Run by
`bench/joint.py` in an environment of its own: ``python joint_peer.py codes.npz facts.json rows.npz``. Prints one line
of JSON with the CPU seconds of loading and of working.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

BEGAN = time.process_time()
import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
import mbi  # noqa: E402

LOADED = time.process_time()


def merged(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """New code of each level: those below three deviations of the noise become one."""
    small = noisy < 3 * sigma
    if np.count_nonzero(small) < 2:
        return np.arange(len(noisy))
    into = np.full(len(noisy), np.count_nonzero(~small))
    into[~small] = np.arange(np.count_nonzero(~small))
    return into


def spanning_tree(codes: list[np.ndarray], sizes: list[int], model: Any, rho: float, rng: Any) -> list[Any]:
    """Edges chosen one by one with Gumbel noise on how wrong independence is."""
    count = len(sizes)
    alone = [np.asarray(model.project((f"c{v}",)).datavector()) for v in range(count)]
    rows = len(codes[0])
    scores = {}
    for a, b in combinations(range(count), 2):
        seen = np.bincount(codes[a] * sizes[b] + codes[b], minlength=sizes[a] * sizes[b])
        expected = np.outer(alone[a], alone[b]).ravel() / alone[a].sum() * (rows / alone[b].sum())
        scores[a, b] = np.abs(seen - expected).sum()
    epsilon = np.sqrt(8 * rho / (count - 1))
    part, edges = list(range(count)), []
    while len(edges) < count - 1:
        pairs = [p for p in scores if part[p[0]] != part[p[1]]]
        noisy = [scores[p] + rng.gumbel(scale=2 / epsilon) for p in pairs]
        a, b = pairs[int(np.argmax(noisy))]
        edges.append((a, b))
        part = [part[a] if p == part[b] else p for p in part]
    return edges


def synthesize(
    codes: list[np.ndarray], sizes: list[int], rho: float, iters: int, seed: int
) -> dict[str, Any]:
    """One private file: a third of ρ for the columns, a third for the choice, a third for the chosen pairs."""
    rng = np.random.default_rng(seed)
    np.random.seed(seed)  # mbi samples from NumPy's own state  # noqa: NPY002
    count, rows = len(sizes), len(codes[0])
    sigma = float(np.sqrt(count / (2 * rho / 3)))
    noisy = [np.bincount(c, minlength=s) + rng.normal(0, sigma, s) for c, s in zip(codes, sizes, strict=True)]
    into = [merged(n, sigma) for n in noisy]
    small = [m[c] for m, c in zip(into, codes, strict=True)]
    held = [int(m.max()) + 1 for m in into]
    domain = mbi.Domain([f"c{v}" for v in range(count)], held)
    measured = [
        mbi.LinearMeasurement(np.bincount(into[v], weights=noisy[v], minlength=held[v]), (f"c{v}",), sigma)
        for v in range(count)
    ]
    estimate = mbi.estimation.MirrorDescent().estimate
    alone = estimate(domain, measured, known_total=rows, iters=iters)
    edges = spanning_tree(small, held, alone, rho / 3, rng)
    sharper = float(np.sqrt(len(edges) / (2 * rho / 3)))
    for a, b in edges:
        table = np.bincount(small[a] * held[b] + small[b], minlength=held[a] * held[b])
        measured.append(
            mbi.LinearMeasurement(table + rng.normal(0, sharper, len(table)), (f"c{a}", f"c{b}"), sharper)
        )
    model = estimate(domain, measured, known_total=rows, iters=iters)
    drawn = model.synthetic_data(rows=rows).to_dict()
    return {f"c{v}": unmerged(np.asarray(drawn[f"c{v}"], int), into[v], noisy[v], rng) for v in range(count)}


def unmerged(codes: np.ndarray, into: np.ndarray, noisy: np.ndarray, rng: Any) -> np.ndarray:
    """Levels again; the rare ones by their noisy counts."""
    result = np.empty(len(codes), int)
    for code in range(int(into.max()) + 1):
        levels = np.flatnonzero(into == code)
        weights = np.maximum(noisy[levels], 1e-9)
        inside = codes == code
        result[inside] = rng.choice(levels, np.count_nonzero(inside), p=weights / weights.sum())
    return result


def main() -> None:
    """Make one file and say what it cost."""
    held, facts = np.load(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    codes = [held[f"c{v}"].astype(np.int64) for v in range(len(facts["sizes"]))]
    rows = synthesize(codes, facts["sizes"], facts["rho"], facts["iters"], facts["seed"])
    np.savez(sys.argv[3], **rows)
    print(json.dumps({"load": LOADED - BEGAN, "work": time.process_time() - LOADED}))


if __name__ == "__main__":
    main()
