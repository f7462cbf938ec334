"""Trained attackers on numbers: a regression from the keys, right when it comes within a tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, some_rows
from dalenius.core.result import Result
from dalenius.counts.match import check_keys
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.models import fit_and_predict
from dalenius.risk.attack.outcome import CONTROLS, Outcome
from dalenius.risk.attack.secret import naive_success
from dalenius.risk.sampling import SEED
from dalenius.risk.within import within


def attack_number(
    pair: Pair,
    target: str,
    keys: Sequence[str] | None = None,
    *,
    model: str | Any = "forest",
    tolerance: float = 0.05,
    most: int = 5000,
    seed: Seed = SEED,
    records: bool = False,
) -> Result:
    """Guess a number from the keys with a regression trained on the protected file.

    Parameters
    ----------
    model
        "linear", "knn", "tree", "forest", "boosted", or your own regressor.
    tolerance
        A guess is right within this share of the true number.
    most
        Protected records trained on and people attacked; four times as many outsiders are tried.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"k": np.arange(200).astype(str), "x": rng.uniform(1, 100, 200)}
    >>> people = draw()
    >>> attack_number(Pair(people, people, draw(), keys=["k"]), "x", model="tree").value > 80
    True
    """
    known = list(keys) if keys is not None else pair.keys
    check_keys(pair, known, target)
    if not pair.original[target].is_number:
        raise DataError(
            f"column {target!r} is {pair.original[target].column.kind}; use `attacker` for categories"
        )
    if not 0 <= tolerance < 1:
        raise OptionError("the tolerance is a share of the number, from 0 to below 1")
    train = some_rows(pair.protected.rows, most, seed, "train")
    members = pair.units.one_row_each(most, seed, "members")
    tried = {"original": (pair.original, members)}
    if pair.holdout is not None:
        outsiders = pair.holdout_units.one_row_each(CONTROLS * most, seed, "outsiders")
        tried["holdout"] = (pair.holdout, outsiders)
    guesses = _guesses(pair, known, target, model, train, {w: rows for w, (_, rows) in tried.items()}, seed)
    right = {
        which: _right(table, target, rows, guesses[which], tolerance)
        for which, (table, rows) in tried.items()
    }
    outcome = Outcome.of(right["original"], right.get("holdout"), naive_success(pair, target, tolerance))
    table = pl.DataFrame(
        [
            {"people": which, "within tolerance": 100 * float(right[which].mean()),
             "R²": _explained(part, target, rows, guesses[which])}
            for which, (part, rows) in tried.items()
        ]
    )  # fmt: skip
    told = pl.DataFrame({"row": members, "right": right["original"] == 1}) if records else None
    doing = f"A {model} that guesses {target!r} from the keys"
    return outcome.result("attack-number", doing, table, records=told)


def _guesses(
    pair: Pair,
    keys: Sequence[str],
    target: str,
    model: Any,
    train: AnyArray,
    wanted: dict[str, AnyArray],
    seed: Seed,
) -> dict[str, AnyArray]:
    aligned = [pair.categories(key, grouped=True) for key in keys]
    sizes = [len(a.original.labels) for a in aligned]

    def codes(which: str) -> AnyArray:
        return np.column_stack([getattr(a, which).codes.astype(np.int64) for a in aligned])

    y = pair.protected[target].floats()[train]
    there = np.isfinite(y)
    if not there.any():
        raise DataError(
            f"column {target!r} has no number in the protected file; there is nothing to learn from"
        )
    x = codes("protected")[train][there]
    return {
        which: fit_and_predict(model, x, y[there], codes(which)[rows], sizes, seed, numbers=True)
        for which, rows in wanted.items()
    }


def _right(table: Table, target: str, rows: AnyArray, guess: AnyArray, tolerance: float) -> AnyArray:
    truth = table[target].floats()[rows]
    return within(np.abs(guess - truth), tolerance * np.abs(truth)).astype(float)


def _explained(table: Table, target: str, rows: AnyArray, guess: AnyArray) -> float:
    """Share of the variance the guesses explain (R²); NaN for a constant."""
    truth = table[target].floats()[rows]
    there = np.isfinite(truth)
    spread = float(((truth[there] - truth[there].mean()) ** 2).sum()) if there.any() else 0.0
    return 1 - float(((truth - guess)[there] ** 2).sum()) / spread if spread > 0 else float("nan")
