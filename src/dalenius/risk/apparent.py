"""Apparent matches: people single on the keys in both files, and whether the match tells the truth (Francis 2024).

SDNist calls a match on the quasi-identifiers *apparent*. It harms when the matched record's other values are right more
often than a model of people who are not in the training half would guess them: the precision improvement (Francis, PSD
2024).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.intervals import wilson
from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.counts.match import check_keys
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.models import one_hot


def apparent_matches(
    pair: Pair,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    *,
    weak: float = 0.5,
    perfect_baseline: Literal["exclude", "zero"] = "exclude",
    baselines: Mapping[str, float] | None = None,
    records: bool = False,
) -> Result:
    """Precision of apparent matches and its improvement over a baseline, per target.

    The baseline is the accuracy of a sparse logistic regression from the keys, fitted on 70 % of the original and tried
    on the other 30 %. The value is the largest improvement (P - B) / (1 - B), its interval widened for the choice among
    several targets (Bonferroni).

    Parameters
    ----------
    weak
        Improvement from which the sentence calls it at or above the limit: the author's own judgement.
    perfect_baseline
        A target that the baseline always guesses cannot be improved on: leave it out, or count it as 0 (as the paper's
        own code does).
    baselines
        Accuracies by target that are known already. The baseline asks the original alone and is the costly part, so the
        ``table`` of one release serves all others of the same original.
    records
        Give one row per matched original too: which of its targets the match tells (confidential).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> data = {"a": np.arange(60).astype(str), "b": ["u", "v"] * 30, "t": rng.integers(0, 2, 60).astype(str)}
    >>> apparent_matches(Pair(data, data), ["a", "b"], ["t"]).value
    1.0
    """
    known = list(keys) if keys is not None else pair.keys
    wanted = (
        list(targets) if targets is not None else pair.targets or [c for c in pair.columns if c not in known]
    )
    one_of("perfect_baseline", perfect_baseline, ("exclude", "zero"))
    if len(known) < 2:
        raise OptionError("apparent matches need at least two keys")
    check_keys(pair, known)
    mine, theirs = _matched_rows(pair, known)
    right = {target: _told(pair, known, target, mine, theirs) for target in wanted}
    earlier = baselines or {}
    bases = {t: earlier[t] if t in earlier else _baseline(pair, known, t) for t in wanted}
    rows = [_row(target, right[target], base, perfect_baseline) for target, base in bases.items()]
    gains: list[float] = [row["improvement"] for row in rows if not math.isnan(row["improvement"])]
    worst = max(gains, default=0.0)
    return Result(
        name="apparent-matches",
        value=worst,
        sentence=_sentence(pair, len(mine), worst, weak),
        interval=_interval(rows, worst, len(mine)),
        values={
            "coverage": 100 * len(mine) / pair.units.count,
            "mean improvement": float(np.mean(gains)) if gains else 0.0,
            "median improvement": float(np.median(gains)) if gains else 0.0,
        },
        table=pl.DataFrame(rows),
        counts=WHOLE,
        trusted=len(mine) > 0,
        records=pl.DataFrame({"row": mine} | {f"told_{name}": flags for name, flags in right.items()})
        if records
        else None,
    )


def _row(
    target: str, right: AnyArray, baseline: float, perfect: Literal["exclude", "zero"]
) -> dict[str, Any]:
    """Figures of one target."""
    precision = float(np.mean(right)) if len(right) else math.nan
    gain = _improvement(precision, baseline, perfect)
    return {"target": target, "precision": precision, "baseline": baseline, "improvement": gain}


def _told(pair: Pair, keys: Sequence[str], target: str, mine: AnyArray, theirs: AnyArray) -> AnyArray:
    """Whether each match tells the true value of a target."""
    check_keys(pair, keys, target)
    aligned = pair.categories(target, grouped=False)
    right: AnyArray = aligned.original.codes[mine] == aligned.protected.codes[theirs]
    return right


def _improvement(precision: float, base: float, perfect_baseline: str) -> float:
    """Place a precision between its baseline (0) and certainty (1); NaN where there is nothing to improve on."""
    if base < 1 or math.isnan(precision):
        return (precision - base) / (1 - base) if base < 1 else math.nan
    return 0.0 if perfect_baseline == "zero" else math.nan


def _sentence(pair: Pair, matches: int, worst: float, weak: float) -> str:
    units = pair.units
    verdict = (
        "no loss" if worst <= 0 else ("below" if worst < weak else "at or above") + f" the limit of {weak:g}"
    )
    return (
        f"{figure(100 * matches / units.count, '%')} of the original {units.noun} are single on the keys and meet one "
        f"single protected record; its other values are right at most {figure(worst)} of the way from a baseline to "
        f"certainty: {verdict}."
    )


def _interval(rows: list[dict[str, Any]], worst: float, matches: int) -> Interval | None:
    """Interval of the worst target's improvement, from the Wilson interval of its precision."""
    row = next((r for r in rows if r["improvement"] == worst and r["baseline"] < 1), None)
    if row is None:
        return None
    spread, base = wilson(row["precision"] * matches, matches, 1 - 0.05 / len(rows)), row["baseline"]
    return Interval((spread.low - base) / (1 - base), (spread.high - base) / (1 - base))


def _matched_rows(pair: Pair, keys: Sequence[str]) -> tuple[AnyArray, AnyArray]:
    """Rows of original and protected file that are single in both, in the same order; one row of each unit."""
    match = pair.match(keys)
    single = np.flatnonzero(match.single_in_both)
    places = []
    for ids in (match.groups.original, match.groups.protected):
        values, first = np.unique(ids, return_index=True)
        places.append(first[np.searchsorted(values, single)])
    return places[0], places[1]


def _baseline(pair: Pair, keys: Sequence[str], target: str) -> float:
    """Accuracy, on people left out, of guessing the target from the keys (settings and split of Francis 2024)."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    aligned = [pair.categories(name, grouped=False).original for name in (*keys, target)]
    codes = np.column_stack([a.codes.astype(np.int64) for a in aligned])
    if len(codes) < 2:
        return 1.0
    train, test = train_test_split(codes, test_size=0.3, random_state=42)  # the comparison's own people
    if len(np.unique(train[:, -1])) < 2:
        return float(np.bincount(codes[:, -1]).max() / len(codes))
    sizes = [len(a.labels) for a in aligned[:-1]]
    model = LogisticRegression(l1_ratio=1.0, C=0.01, solver="saga", max_iter=100, random_state=42)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge: the settings are those of the comparison
        model.fit(one_hot(train[:, :-1], sizes), train[:, -1])
        guess = model.predict(one_hot(test[:, :-1], sizes))
    return float(np.mean(guess == test[:, -1]))
