"""Principal components: do the files lie alike along the original's main directions (Francis 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.later import altair as alt
from dalenius.core.option import at_least
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.utility.distributions import ks_distance

DECIMALS = 9
"""Projections are rounded before they are compared: tied data would otherwise differ by floating-point noise."""


def coded(pair: Pair, columns: Sequence[str]) -> tuple[AnyArray, AnyArray]:
    """Both files as numbers: numbers as they are with gaps below all values, categories as their codes."""
    sides: tuple[list[AnyArray], list[AnyArray]] = ([], [])
    for name in columns:
        vectors = (pair.original[name], pair.protected[name])
        if vectors[0].is_number:
            known = np.concatenate([v.values for v in vectors]).astype(np.float64)
            known = known[np.isfinite(known)]
            low = float(known.min()) - 1 if len(known) else 0.0
            for side, vector in zip(sides, vectors, strict=True):
                floats = vector.floats()
                side.append(np.where(np.isfinite(floats), floats, low))
        else:
            aligned = pair.categories(name, grouped=False)
            for side, categories in zip(sides, (aligned.original, aligned.protected), strict=True):
                side.append(categories.codes.astype(np.float64))
    return np.stack(sides[0], axis=1), np.stack(sides[1], axis=1)


def component_distances(
    first: AnyArray, second: AnyArray, components: int = 5
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Kolmogorov–Smirnov distance per component of the first sample, and both projections.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> component_distances(x, x)[0].tolist()
    [0.0, 0.0]
    """
    spread = first.std(axis=0)
    used = spread > 0
    if not used.any():
        return np.zeros(0), np.zeros((len(first), 0)), np.zeros((len(second), 0))
    middle, spread = first[:, used].mean(axis=0), spread[used]
    a, b = ((side[:, used] - middle) / spread for side in (first, second))
    values, vectors = np.linalg.eigh(a.T @ a / len(a))
    axes = vectors[:, np.argsort(-values, kind="stable")[:components]]
    x, y = np.round(a @ axes, DECIMALS), np.round(b @ axes, DECIMALS)
    return np.array([ks_distance(x[:, i], y[:, i]) for i in range(axes.shape[1])]), x, y


@measure(
    name="pca",
    title="Principal components (KS)",
    family="utility",
    meaning="Mean distance between the files along the five main directions of the original: 0 is the same, 1 no "
    "overlap.",
    better="lower",
    bounds=(0, 1),
    reference="NIST SDNIST; Francis 2024",
)
def principal_components(pair: Pair, columns: Sequence[str] | None = None, components: int = 5) -> Result:
    """Mean Kolmogorov–Smirnov distance along the original's principal components.

    Examples
    --------
    >>> data = {"a": [1.0, 2.5, 3.1, 4.7] * 5, "b": [2.2, 1.1, 4.4, 3.3] * 5}
    >>> principal_components(Pair(data, data)).value
    0.0
    """
    at_least("components", components, 1)
    used = list(columns) if columns is not None else pair.columns
    if not used:
        return Result("pca", float("nan"), "There is no column to compare.")
    distances, x, y = component_distances(*coded(pair, used), components)
    value = float(distances.mean()) if len(distances) else 0.0
    table = pl.DataFrame(
        {"component": [f"component {i + 1}" for i in range(len(distances))], "KS": distances}
    )
    return Result(
        name="pca",
        value=value,
        sentence=f"Along the {len(distances)} main directions of the original the files differ by {figure(value)} on "
        "average (0 is the same, 1 no overlap).",
        yardsticks={"the original itself": 0.0},
        values={"worst": float(distances.max()) if len(distances) else 0.0},
        table=table,
        counts=WHOLE,
        chart=lambda: _scatter(x, y, pair.threshold),
    )


def _scatter(x: AnyArray, y: AnyArray, threshold: int) -> alt.TopLevelMixin:
    """Density of both files over the first two components; squares with few records are left out, nobody is a dot."""
    if x.shape[1] < 2:
        return alt.Chart(pl.DataFrame({"x": [0.0]}).to_arrow()).mark_point()
    ends = [np.quantile(x[:, i], [0.005, 0.995]) for i in (0, 1)]
    edges = [np.linspace(float(low), float(high) + 1e-9, 16) for low, high in ends]
    frames = []
    for name, side in (("original", x), ("protected", y)):
        counts = np.histogram2d(side[:, 0], side[:, 1], bins=edges)[0]
        grid = counts / max(len(side), 1)
        i, j = np.nonzero(counts >= threshold)
        cells = {"file": [name] * len(i), "x": edges[0][i], "y": edges[1][j], "share": grid[i, j]}
        frames.append(pl.DataFrame(cells, schema_overrides={"file": pl.String}))
    return (
        alt.Chart(pl.concat(frames).to_arrow())
        .mark_square(size=190)
        .encode(
            x=alt.X("x:Q", title="first component"),
            y=alt.Y("y:Q", title="second component"),
            opacity=alt.Opacity("share:Q", legend=None),
            color=alt.Color(
                "file:N",
                legend=None,
                scale=alt.Scale(domain=["original", "protected"], range=[ORIGINAL, PROTECTED]),
            ),
            column=alt.Column("file:N", title=None),
        )
        .properties(width=240, height=240)
    )
