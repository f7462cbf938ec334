"""Column shapes and pair trends with bin edges from the real data, as the SynDiffix papers score."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
from scipy.stats import ks_2samp

BINS = 10


def column_shapes(real: pl.DataFrame, made: pl.DataFrame) -> dict[str, float]:
    """Complement of the Kolmogorov-Smirnov distance of numbers, of the total variation distance of categories."""
    found = {}
    for name in real.columns:
        if real[name].dtype.is_numeric():
            found[name] = 1 - float(
                ks_2samp(real[name].drop_nulls().to_numpy(), made[name].drop_nulls().to_numpy()).statistic
            )
        else:
            found[name] = 1 - _variation(*(_shares(frame, [name]) for frame in (real, made)))
    return found


def pair_trends(real: pl.DataFrame, made: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Similarity of correlations for two numbers, of contingency tables otherwise (numbers in ten bins of the real data)."""  # noqa: E501
    binned = [_binned(frame, real) for frame in (real, made)]
    found = {}
    for pair in combinations(real.columns, 2):
        if all(real[name].dtype.is_numeric() for name in pair):
            r, s = (
                np.corrcoef(frame[pair[0]].to_numpy(), frame[pair[1]].to_numpy())[0, 1]
                for frame in (real, made)
            )
            found[pair] = 1 - abs(float(r) - float(s)) / 2
        else:
            found[pair] = 1 - _variation(*(_shares(frame, list(pair)) for frame in binned))
    return found


def _binned(frame: pl.DataFrame, real: pl.DataFrame) -> pl.DataFrame:
    held = {}
    for name in frame.columns:
        values = frame[name]
        if values.dtype.is_numeric():
            low, high = float(real[name].min()), float(real[name].max())
            edges = np.linspace(low, high, BINS + 1)[1:-1]
            values = pl.Series(name, np.searchsorted(edges, values.to_numpy().astype(float), side="right"))
        held[name] = values
    return pl.DataFrame(held)


def _shares(frame: pl.DataFrame, names: list[str]) -> dict[tuple[object, ...], float]:
    counts = frame.group_by(names).len()
    return {tuple(row[:-1]): row[-1] / frame.height for row in counts.iter_rows()}


def _variation(a: dict[tuple[object, ...], float], b: dict[tuple[object, ...], float]) -> float:
    return 0.5 * sum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b.keys())
