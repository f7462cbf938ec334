"""CAP scores, their generalisation GCAP, and the predictions behind them (Hittmeir, Mayer and Ekelhart 2020).

For an original record, CAP is the share of its true target value among protected records with the same keys. GCAP
widens the circle until somebody is found: the records at the smallest Hamming distance (number of differing keys).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.compared import compared
from dalenius.core.errors import DataError
from dalenius.core.intervals import Share
from dalenius.core.kernels import threads_for
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.attribution import worst_first
from dalenius.risk.cap import _kernels
from dalenius.risk.needs import chosen_targets
from dalenius.risk.tabular.cells import Cells, count_cells

BLOCK = 2048
MOST_CELLS = 20_000_000
"""Cells of the table of key combinations by target that are held at a time."""
MOST_LEVELS = 50


@dataclass(frozen=True, eq=False, repr=False)
class CapScores:
    """Scores of every original record.

    Attributes
    ----------
    cap
        Share of the true value among protected records with the same keys; NaN when there are none.
    gcap
        The same among the nearest protected records.
    radius
        How many keys differ there.
    predicted, right
        The most frequent value there (ties: the more frequent in the protected file, then level order), and whether
        it is true.
    original
        Share of the true value among original records with the same keys.
    guessed
        Whether the commonest value of the protected file is true.

    Examples
    --------
    >>> pair = Pair({"k": ["a", "b"], "t": ["x", "y"]}, {"k": ["a", "c"], "t": ["x", "x"]})
    >>> scores = cap_scores(pair, ["k"], "t")
    >>> scores.zero_cap, scores.ignoring_cap, scores.mean_gcap
    (0.5, 1.0, 0.5)
    """

    cap: AnyArray
    gcap: AnyArray
    radius: AnyArray
    predicted: AnyArray
    right: AnyArray
    original: AnyArray
    base: float
    guessed: AnyArray

    def records(self) -> pl.DataFrame:
        """One row per record: how many keys differ, its score, and whether the guess is right (confidential)."""
        rows = np.arange(len(self.gcap))
        return pl.DataFrame(
            {"row": rows, "keys_that_differ": self.radius, "gcap": self.gcap, "right": self.right}
        )

    @property
    def radii(self) -> pl.DataFrame:
        """How many records find their nearest protected records with so many keys different."""
        sizes = np.bincount(self.radius)
        return pl.DataFrame({"keys that differ": np.arange(len(sizes)), "records": sizes})

    @property
    def zero_rule(self) -> float:
        """Share of records whose value is the commonest of the protected file."""
        return float(self.guessed.mean())

    @property
    def zero_cap(self) -> float:
        """Mean CAP where records without a match count 0 (0CAP)."""
        return float(np.nan_to_num(self.cap).mean())

    @property
    def ignoring_cap(self) -> float:
        """Mean CAP where records without a match are left out (ICAP)."""
        known = self.cap[~np.isnan(self.cap)]
        return float(known.mean()) if len(known) else float("nan")

    @property
    def mean_gcap(self) -> float:
        """Mean GCAP score."""
        return float(self.gcap.mean())

    @property
    def accuracy(self) -> float:
        """Share of records whose predicted value is true: the risk R, and the accuracy of the FR-NN attacker."""
        return float(self.right.mean())

    @property
    def unmatched(self) -> int:
        """Records without an exact match of their keys."""
        return int(np.isnan(self.cap).sum())


def cap_scores(
    pair: Pair, keys: Sequence[str], target: str, grouped: bool = False, holdout: bool = False
) -> CapScores:
    """CAP and GCAP scores of every original (or holdout) record.

    Examples
    --------
    >>> pair = Pair({"k": ["a", "b"], "t": ["x", "y"]}, {"k": ["a", "c"], "t": ["x", "x"]})
    >>> cap_scores(pair, ["k"], "t").radii.rows()
    [(0, 1), (1, 1)]
    """
    cells = count_cells(pair, keys, target, grouped)
    if pair.original[target].is_number and not grouped and len(cells.labels) > MOST_LEVELS:
        raise DataError(f"column {target!r} has {len(cells.labels)} different numbers; use grouped=True")
    groups, codes = _side(pair, cells, grouped, holdout)
    if holdout:
        cells = cells.holdout_view()
    margin = np.bincount(cells.level, cells.s, minlength=len(cells.labels))
    # most frequent there; equal counts go to the value more frequent in the whole file, then to the first level
    order = np.lexsort((np.arange(len(margin)), -margin))
    share, predicted, radius = _nearest(cells, groups, codes, order)
    at = cells.locate(groups, codes)
    own = cells.d[at] / cells.d_q[at]
    shares = np.bincount(codes, minlength=len(margin)) / len(codes)
    return CapScores(
        cap=np.where(radius == 0, share, np.nan),
        gcap=share,
        radius=radius,
        predicted=predicted,
        right=predicted == codes,
        original=own,
        base=float((shares**2).sum()),
        guessed=codes == order[0],
    )


def _side(pair: Pair, cells: Cells, grouped: bool, holdout: bool) -> tuple[AnyArray, AnyArray]:
    aligned = pair.categories(cells.target, grouped)
    if not holdout:
        return cells.groups.original, aligned.original.codes.astype(np.int64)
    if cells.groups.holdout is None or aligned.holdout is None:
        raise DataError("there is no holdout; give the people who are not in the data as holdout")
    return cells.groups.holdout, aligned.holdout.codes.astype(np.int64)


def _nearest(
    cells: Cells, groups: AnyArray, codes: AnyArray, order: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Share of each record's value among the protected records nearest to it, the value guessed, and how far they are.

    Key combinations are looked at in blocks: their table by target would not fit in memory where both are many.
    """
    every, place = np.unique(groups, return_inverse=True)
    rows = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[rows], np.arange(len(every) + 1))
    share, predicted, radius = (
        np.empty(len(codes)),
        np.empty(len(every), np.int64),
        np.empty(len(every), np.int64),
    )
    step = max(1, MOST_CELLS // len(cells.labels))
    for start in range(0, len(every), step):
        stop = min(start + step, len(every))
        counts, radius[start:stop] = _neighbourhoods(cells, every[start:stop])
        predicted[start:stop] = order[np.argmax(counts[:, order], axis=1)]
        here = rows[ends[start] : ends[stop]]
        mine = place[here] - start
        share[here] = counts[mine, codes[here]] / counts.sum(axis=1)[mine]
    return share, predicted[place], radius[place]


def _neighbourhoods(cells: Cells, wanted: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Target counts of the protected records nearest to each wanted key combination, and how far they are."""
    levels = len(cells.labels)
    s_q = cells.sums(cells.s)
    counts = np.zeros((len(wanted), levels), np.int64)
    place = np.full(len(s_q), -1, np.int64)
    place[wanted] = np.arange(len(wanted))
    inside = (cells.s > 0) & (place[cells.group] >= 0)
    np.add.at(counts, (place[cells.group[inside]], cells.level[inside]), cells.s[inside])
    radius = np.zeros(len(wanted), np.int64)
    lost = np.flatnonzero(s_q[wanted] == 0)
    if not len(lost):
        return counts, radius
    columns = np.column_stack([cells.groups.codes(key) for key in cells.keys])
    present = np.flatnonzero(s_q > 0)
    there = np.ascontiguousarray(columns[present])
    held = np.flatnonzero(cells.s > 0)
    held = held[np.argsort(cells.group[held], kind="stable")]
    starts = np.searchsorted(cells.group[held], np.append(present, len(s_q)))
    for begin in range(0, len(lost), BLOCK):
        some = lost[begin : begin + BLOCK]
        mine = np.ascontiguousarray(columns[wanted[some]])
        with threads_for(mine.size * len(there)):
            near = _kernels.nearest_groups(mine, there)
            radius[some] = near
            counts[some] = _kernels.pooled(
                mine, there, near, starts, cells.level[held], cells.s[held], levels
            )
    return counts, radius


@measure(
    name="gcap",
    title="Attribution by the nearest keys (GCAP)",
    family="risk",
    dimension="attribution",
    meaning="Share of original records whose target value is the most frequent one among the protected records "
    "nearest in the keys (worst target, relative to always guessing the commonest value).",
    better="lower",
    bounds=(-100, 100),
    unit="%",
    reference="Hittmeir, Mayer and Ekelhart 2020 (CODASPY)",
    needs=frozenset({"keys", "targets"}),
    default=False,
)
def gcap(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    grouped: bool = True,
    records: bool = False,
) -> Result:
    """Accuracy of the nearest-keys attack on every target, above the zero rule.

    Examples
    --------
    >>> original = {"k": ["a", "b", "c", "d"], "t": ["x", "y", "x", "y"]}
    >>> gcap(Pair(original, original, keys=["k"], targets=["t"])).value
    100.0
    """
    known = list(keys) if keys is not None else pair.keys
    wanted = chosen_targets(pair, targets)
    sides = {target: accuracy_shares(pair, known, target, grouped) for target in wanted}
    table = worst_first([_row(pair, known, target, grouped, *sides[target]) for target in wanted], "accuracy")
    if pair.holdout is None:  # what cannot be told from general knowledge is judged by the gain over it
        table = table.sort("gain", descending=True)
    worst, units = table.row(0, named=True), pair.units
    told, base = compared(*sides[worst["target"]], len(wanted)), worst["zero rule"]
    spread = told["interval"]
    told["interval"] = replace(spread, low=_gain(spread.low, base), high=_gain(spread.high, base))
    text = (
        f"Guessing {worst['target']!r} from the protected records nearest in the keys is right for "
        f"{figure(worst['accuracy'], '%')} of the original {units.noun}; always guessing the commonest value for "
        f"{figure(worst['zero rule'], '%')}."
    )
    if worst["holdout"] is not None:
        text += f" For people who are not in the data it is right for {figure(worst['holdout'], '%')}."
    else:
        text += " Without a holdout it cannot be told how much of this is general knowledge."
    return Result(
        name="gcap",
        value=worst["gain"],
        sentence=text,
        level=worst["accuracy"],
        **told,
        yardsticks={"zero rule": 0.0}
        | ({} if worst["holdout"] is None else {"holdout": _gain(worst["holdout"], base)}),
        values={row["target"]: row["gain"] for row in table.to_dicts()},
        table=table if pair.holdout is not None else table.drop("holdout", "added"),
        counts=WHOLE,
        trusted=pair.holdout is not None,
        records=cap_scores(pair, known, worst["target"], grouped).records() if records else None,
    )


def accuracy_shares(
    pair: Pair, keys: Sequence[str], target: str, grouped: bool
) -> tuple[Share, Share | None]:
    """Share of units with a row that is guessed right, in the data and outside it."""
    groups, sides = pair.groups(keys, grouped), []
    files = [(False, pair.units, groups.original), (True, pair.holdout_units, groups.holdout)]
    for holdout, units, ids in files:
        if ids is not None:
            right = cap_scores(pair, keys, target, grouped, holdout=holdout).right
            sides.append(Share.of(units.any(right).astype(float), units.first(ids)))
    return sides[0], sides[1] if len(sides) > 1 else None


def _row(
    pair: Pair, keys: Sequence[str], target: str, grouped: bool, inside: Share, outside: Share | None
) -> dict[str, Any]:
    """One target's figures; accuracies are shares of units with a row that is guessed right."""
    scores = cap_scores(pair, keys, target, grouped)
    accuracy, zero_rule = 100 * inside.value, pair.units.share(scores.guessed)
    return {
        "target": target,
        "accuracy": accuracy,
        "zero rule": zero_rule,
        "gain": _gain(accuracy, zero_rule),
        "0CAP": 100 * scores.zero_cap,
        "ICAP": 100 * scores.ignoring_cap,
        "GCAP": 100 * scores.mean_gcap,
        "unmatched": scores.unmatched,
        "holdout": None if outside is None else 100 * outside.value,
    }


def _gain(accuracy: float, base: float) -> float:
    """Place an accuracy between the zero rule (0) and certainty (100), all in per cent."""
    return 100 * (accuracy - base) / (100 - base) if base < 100 else 0.0
