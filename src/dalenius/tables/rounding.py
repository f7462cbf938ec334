"""Rounding of counts: stochastic (unbiased, keyed) and controlled (additive, by integer programming)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.core.option import one_of
from dalenius.core.random import Seed, generator
from dalenius.tables.altered import Altered
from dalenius.tables.errors import need_whole
from dalenius.tables.integer import solve
from dalenius.tables.keys import cell_name, cell_names, keyed_uniforms
from dalenius.tables.model import Bools, Ints, TableModel

Margins = Literal["recompute", "round", "exact"]


@dataclass(frozen=True, eq=False)
class Rounded:
    """Rounded counts with what is needed to judge them.

    Attributes
    ----------
    counts
        The rounded counts, in the shape of the input (for a table: one per cell).
    treated
        Mask of the counts that were changed by chance (0 < count < k).
    sd_total
        Standard deviation that rounding adds to the sum of the treated counts: √Σ z(k − z).
    """

    counts: Ints
    treated: Bools
    sd_total: float

    @property
    def number(self) -> int:
        """How many counts were treated."""
        return int(self.treated.sum())


def stochastic_round(
    counts: npt.ArrayLike,
    k: int = 3,
    *,
    seed: Seed = None,
    uniforms: npt.ArrayLike | None = None,
    structural: npt.ArrayLike | None = None,
) -> Rounded:
    """Round small counts to 0 or k without bias: k with probability count / k (Brenzel et al. 2024, Eq. 1–2).

    Counts of 0 and of k or more stay. No count of 1 … k − 1 is left. ``uniforms`` gives the random numbers (k is
    published where u < count / k); ``structural`` marks cells that cannot hold anybody.

    Examples
    --------
    >>> stochastic_round([1, 1, 2, 2, 2, 1], 3, uniforms=[0.2, 0.5, 0.7, 0.1, 0.9, 0.65]).counts.tolist()
    [3, 0, 0, 3, 0, 0]
    """
    z = _whole(counts, k)
    draws = (
        generator(seed, "stochastic rounding").random(z.shape)
        if uniforms is None
        else np.asarray(uniforms, float)
    )
    if draws.shape != z.shape:
        raise DataError(f"{draws.size} random numbers were given for {z.size} counts")
    treated = (z > 0) & (z < k)
    if structural is not None and (treated & np.asarray(structural, bool)).any():
        raise DataError("cells declared structurally empty hold counts")
    rounded = np.where(treated, np.where(draws < z / k, k, 0), z)
    return Rounded(rounded.astype(np.int64), treated, float(np.sqrt((z * (k - z))[treated].sum())))


def _whole(counts: npt.ArrayLike, k: int) -> Ints:
    need_whole(k, 2, "k")
    z = np.asarray(counts)
    if z.dtype.kind not in "iuf" or not np.isfinite(z.astype(np.float64)).all():
        raise DataError("counts must be numbers without gaps")
    if (z < 0).any() or not np.array_equal(z, np.rint(z)):
        raise DataError(
            "counts must be whole numbers of 0 or more; a weighted count needs a policy of its own"
        )
    if z.size and z.max() >= 2**53:
        raise DataError("counts must be below 2⁵³ to be exact")
    return np.rint(z).astype(np.int64)


def round_table(
    model: TableModel,
    k: int = 3,
    *,
    margins: Margins = "recompute",
    seed: Seed = None,
    key: bytes | None = None,
    run_id: str = "",
    force: bool = False,
) -> Rounded:
    """Stochastic rounding of a frequency table with its totals.

    Parameters
    ----------
    model
        From `define`.
    k
        Counts below k become 0 or k.
    margins
        "recompute": totals are sums of rounded inner cells (additive); "round": every cell is rounded on its own;
        "exact": true totals, which undo the protection (`recoverable_cells`) and need ``force=True``.
    key, run_id
        With a key the draw depends on the cell's name only, so that all tables of the same run agree.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 2, 9]}, by="a", freq="n")
    >>> sorted(set(round_table(model, 3, key=b"secret").counts.tolist()) & {1, 2})
    []
    """
    if model.is_magnitude:
        raise DataError("stochastic rounding is for frequency tables")
    one_of("margins", margins, get_args(Margins))
    if margins == "exact" and not force:
        raise OptionError(
            "exact totals undo the rounding (subtract the large cells); say force=True if that is wanted"
        )
    if margins == "round":
        draws = None if key is None else keyed_uniforms(cell_names(model), key, run_id)
        return stochastic_round(model.frequency, k, seed=seed, uniforms=draws)
    names = [cell_name(zip(model.names, row, strict=True)) for row in model.inner.iter_rows()]
    inner = stochastic_round(
        model.counts, k, seed=seed, uniforms=None if key is None else keyed_uniforms(names, key, run_id)
    )
    touched = np.asarray(model.matrix.T @ inner.treated.astype(np.int64)) > 0
    counts = np.asarray(model.matrix.T @ inner.counts, np.int64)
    if margins == "exact":
        counts = np.where(model.sizes > 1, model.frequency, counts)
    return Rounded(counts, touched, inner.sd_total)


def aggregate_runs(
    tables: Sequence[npt.ArrayLike], k: int = 3, *, min_runs: int = 30, seed: Seed = None
) -> pl.DataFrame:
    """Average of many simulation runs, each rounded on its own first (Brenzel et al. 2024).

    Examples
    --------
    >>> runs = [np.array([1, 5]) for _ in range(400)]
    >>> means = aggregate_runs(runs, seed=1)["mean"]
    >>> bool(abs(means[0] - 1) < 0.3), means[1]
    (True, 5.0)
    """
    if len(tables) < min_runs:
        raise DataError(
            f"{len(tables)} runs were given, {min_runs} are asked for: few runs show single counts"
        )
    raw = np.stack([_whole(table, k).ravel() for table in tables])
    rounded = np.stack(
        [
            stochastic_round(row, k, uniforms=generator(seed, "run", i).random(row.shape)).counts
            for i, row in enumerate(raw)
        ]
    )
    runs = len(raw)
    treated = (raw > 0) & (raw < k)
    noise = np.sqrt(np.where(treated, raw * (k - raw), 0).mean(axis=0) / runs)
    spread = rounded.std(axis=0, ddof=1) / np.sqrt(runs)
    return pl.DataFrame({"mean": rounded.mean(axis=0), "mc_se": spread, "rounding_se": noise})


def check_min_cases(counts: npt.ArrayLike, k: int = 3) -> Ints:
    """Places (in flat order) of cells with 1 … k − 1 cases.

    Examples
    --------
    >>> check_min_cases([0, 2, 3]).tolist()
    [1]
    """
    z = _whole(counts, k).ravel()
    return np.flatnonzero((z > 0) & (z < k)).astype(np.int64)


def recoverable_cells(treated: Bools, rows_exact: bool = True, columns_exact: bool = True) -> Bools:
    """Treated cells of a two-way table that exact totals give back by subtraction.

    Examples
    --------
    >>> recoverable_cells(np.array([[True, False], [False, False]])).tolist()
    [[True, False], [False, False]]
    """
    unknown = np.asarray(treated, bool).copy()
    while True:
        single = np.zeros_like(unknown)
        if rows_exact:
            single |= unknown & (unknown.sum(axis=1, keepdims=True) == 1)
        if columns_exact:
            single |= unknown & (unknown.sum(axis=0, keepdims=True) == 1)
        if not single.any():
            return np.asarray(treated, bool) & ~unknown
        unknown &= ~single


def controlled_round(model: TableModel, base: int = 5, *, time_limit: float = 60.0) -> Altered:
    """Round all cells to multiples of ``base`` so that everything still adds up.

    Every inner cell goes to one of its two neighbouring multiples; totals are sums of those, and stay within less
    than one base of the truth where that is possible (otherwise the smallest excess is taken). What is made small is
    the sum of the changes of the inner cells; leaving the neighbouring multiples costs a thousand bases each.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y", "z"], "n": [4, 4, 4]}, by="a", freq="n")
    >>> controlled_round(model, 5).values.tolist()[0] % 5
    0.0
    """
    need_whole(base, 2, "the base")
    shown = np.asarray(model.counts if model.values is None else model.values, np.float64)
    floor = np.floor(shown / base + 1e-12)
    rest = np.where((shown - base * floor) > 1e-9, shown - base * floor, 0.0)
    moving = np.flatnonzero(rest)
    way = f"controlled rounding to {base}"
    if not len(moving):
        return Altered(model, np.asarray(model.matrix.T @ (base * floor), np.float64), way, 0.0, 0.0)
    sums = np.flatnonzero(model.sizes > 1)
    matrix = sp.csr_matrix(model.matrix[:, sums].T)[:, moving].astype(np.float64)
    matrix, kept = _distinct(matrix)
    excess = np.asarray(sp.csr_matrix(model.matrix[:, sums].T) @ rest)[kept] / base
    count, cells = len(moving), matrix.shape[0]
    # Variables: one step up or not, and for every total how far it leaves its two neighbours (in bases).
    cost = np.concatenate([base - 2 * rest[moving], np.full(cells, 1e3 * base)])
    slack = sp.identity(cells, format="csr")
    system = sp.vstack([sp.hstack([matrix, -slack]), sp.hstack([matrix, slack])]).tocsr()
    low = np.concatenate([np.full(cells, -np.inf), np.floor(excess + 1e-9)])
    high = np.concatenate([np.ceil(excess - 1e-9), np.full(cells, np.inf)])
    answer = solve(
        cost, system, low, high, whole=np.concatenate([np.ones(count, np.bool_), np.zeros(cells, np.bool_)]),
        least=np.zeros(count + cells), most=np.concatenate([np.ones(count), np.full(cells, np.inf)]),
        time_limit=time_limit, what=way,
    )  # fmt: skip
    up = floor.copy()
    up[moving] += np.rint(answer.point[:count])
    down = float(rest.sum())  # the change if every inner cell went down
    values = np.asarray(model.matrix.T @ (base * up), np.float64)
    return Altered(model, values, way, answer.objective + down, answer.bound + down)


def _distinct(matrix: Any) -> tuple[Any, Ints]:
    keep = np.flatnonzero(np.diff(matrix.indptr) > 0)
    return sp.csr_matrix(matrix[keep]), keep
