"""All ways to protect one table, side by side: what each costs users, and what it leaves to an intruder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DaleniusError, OptionError, names
from dalenius.core.later import altair as alt
from dalenius.core.style import configured
from dalenius.dp.budget import Budget
from dalenius.tables.adjust import adjust, protection_levels
from dalenius.tables.altered import Altered
from dalenius.tables.budgeted import noisy_table
from dalenius.tables.cellkey import PTable, small_count_noise
from dalenius.tables.fill import fill_in
from dalenius.tables.keys import cell_names, fresh_key, keyed_uniforms
from dalenius.tables.linked import protect_linked
from dalenius.tables.loss import information_loss
from dalenius.tables.model import Floats, TableModel
from dalenius.tables.optimal import protect_optimal
from dalenius.tables.part_rules import protections_of
from dalenius.tables.protect import protect
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rounding import controlled_round, round_table
from dalenius.tables.rules import default_rules
from dalenius.tables.sumkeys import perturb_sums
from dalenius.tables.suppression import Suppression

if TYPE_CHECKING:
    import altair

Outcome = Suppression | Altered


@dataclass(frozen=True)
class Settings:
    """What the ways need to know besides the table and its rules."""

    rules: tuple[PrimaryRule, ...]
    key: bytes
    base: int = 3
    epsilon: float = 1.0
    limit: float | None = None
    time_limit: float = 20.0
    ledger: str | None = None
    """The ledger that pays for noise under a budget; none where the table is only looked at."""


def _cell_keys(model: TableModel, s: Settings) -> Altered:
    if model.is_magnitude:
        return perturb_sums(model, key=s.key)
    keys = keyed_uniforms(cell_names(model), s.key, "cell keys")
    counts = model.frequency + PTable.make(s.base, s.base / 2).deviation(model.frequency, keys)
    return Altered(
        model,
        np.asarray(counts, np.float64),
        "cell keys",
        notes=("Changed counts do not add up, by design.",),
    )


def _small(model: TableModel, s: Settings) -> Altered:
    counts = small_count_noise(model, 2 * s.base, largest=s.base, variance=s.base / 2, key=s.key)
    return Altered(model, counts.astype(np.float64), "noise on small counts")


def _round(model: TableModel, s: Settings) -> Altered:
    counts = round_table(model, s.base, key=s.key).counts.astype(np.float64)
    return Altered(model, counts, f"random rounding of counts below {s.base} to 0 or {s.base}")


def _linked(how: Any) -> Callable[[TableModel, Settings], Outcome]:
    return lambda model, s: protect_linked(model, *s.rules, how=how).combined


def _filled(model: TableModel, s: Settings) -> Altered:
    return fill_in(protect(model, *s.rules), time_limit=s.time_limit)


def _noise(model: TableModel, s: Settings) -> Altered:
    limit = s.limit if model.is_magnitude else None
    return noisy_table(
        model, Budget(epsilon=s.epsilon), limit=limit, assume_public_codes=True, ledger=s.ledger,
        output="dalenius tables perturb",
    )  # fmt: skip


WAYS: dict[str, Callable[[TableModel, Settings], Outcome]] = {
    "suppression": lambda model, s: protect(model, *s.rules),
    "optimal": lambda model, s: protect_optimal(model, *s.rules, time_limit=s.time_limit),
    "sequential": lambda model, s: protect_optimal(model, *s.rules, how="sequential", time_limit=s.time_limit),
    "filled in": _filled,
    "adjusted": lambda model, s: adjust(model, *s.rules, time_limit=s.time_limit),
    "controlled rounding": lambda model, s: controlled_round(model, s.base, time_limit=s.time_limit),
    "random rounding": _round,
    "cell keys": _cell_keys,
    "small counts": _small,
    "budget": _noise,
    **{f"linked: {how}": _linked(how)
       for how in ("global", "super-consistent", "consistent", "back-tracking", "local", "local-bdiag", "chained")},
}  # fmt: skip
"""Name → how the table is protected."""

COUNTS_ONLY = ("random rounding", "small counts")


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways side by side.

    Attributes
    ----------
    table
        One row a way: CPU seconds, what is lost and what is left to an intruder, the audit and the proof.
    outcomes
        The protected tables.
    """

    table: pl.DataFrame
    outcomes: dict[str, Outcome]

    def chart(self) -> altair.TopLevelMixin:
        """Map: loss to the right, risk upwards; the best corner is at the bottom left."""
        points = self.table.filter(pl.col("error_percent").is_not_null())
        words = "Ways to protect the table, loss against risk: " + "; ".join(
            f"{r['way']} {r['error_percent']:.3g} % error, {r['known_percent']:.3g} % known"
            for r in points.iter_rows(named=True)
        )
        base = alt.Chart(points).encode(
            x=alt.X("error_percent:Q", title="error of the whole table (%)"),
            y=alt.Y(
                "known_percent:Q",
                title="sensitive cells an intruder gets right (%)",
                scale=alt.Scale(domain=[0, 100]),
            ),
        )
        drawn = base.mark_point(size=90, filled=True) + base.mark_text(dx=8, dy=-6, align="left").encode(
            text=alt.Text("way:N")
        )
        return configured(drawn.properties(title="Loss and risk", width=520, height=320, description=words))

    @property
    def brief(self) -> pl.DataFrame:
        """The figures under short names, without notes."""
        return self.table.select(
            "way", "audit", pl.col("seconds").alias("CPU s"), pl.col("cells_lost").alias("lost"),
            pl.col("cells_changed").alias("changed"), pl.col("error_percent").alias("error %"),
            pl.col("known_percent").alias("known %"), pl.col("not_additive").alias("not additive"),
        )  # fmt: skip

    def __str__(self) -> str:
        with pl.Config(
            tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True
        ):
            return str(self.brief)


def compare_ways(
    model: TableModel,
    *rules: PrimaryRule,
    ways: Sequence[str] | None = None,
    key: bytes | None = None,
    base: int = 3,
    epsilon: float = 1.0,
    limit: float | None = None,
    time_limit: float = 20.0,
) -> Ways:
    """Protect one table in every way that fits it, and measure them alike.

    Loss is the error of the whole table, Σ |shown − true| / Σ |true| in percent, where an intruder's and a user's best
    guess of a suppressed cell is its filled-in value. Risk is the share of sensitive cells whose shown or guessed value
    lies closer to the truth than their protection level (at least 10 % of the value, or 1).

    Examples
    --------
    >>> from dalenius.tables import define, SmallCount
    >>> data = {"a": list("xxyy"), "b": list("pqpq"), "n": [1, 7, 9, 5]}
    >>> found = compare_ways(define(data, by=["a", "b"], freq="n"), SmallCount(3), ways=["suppression", "adjusted"])
    >>> found.table["way"].to_list(), found.table["known_percent"].to_list()
    (['suppression', 'adjusted'], [0.0, 0.0])
    """
    asked = rules or default_rules(model)
    settings = Settings(asked, fresh_key() if key is None else key, base, epsilon, limit, time_limit)
    chosen = _fitting(model, limit) if ways is None else list(ways)
    unknown = [way for way in chosen if way not in WAYS]
    if unknown:
        raise OptionError(f"unknown ways {names(unknown)}; there are {names(list(WAYS))}")
    protections = protections_of(model, asked).values()
    marked = np.logical_or.reduce([each.mask for each in protections]) & (model.sizes > 0)
    levels = protection_levels(model, marked, np.maximum.reduce([each.upper for each in protections]), 10.0)
    rows: list[dict[str, Any]] = []
    outcomes: dict[str, Outcome] = {}
    for way in chosen:
        started = time.process_time()
        try:
            outcome = WAYS[way](model, settings)
        except DaleniusError as error:
            rows.append({"way": way, "note": str(error)})
            continue
        seconds = time.process_time() - started
        outcomes[way] = outcome
        rows.append({"way": way, "seconds": seconds, **_figures(model, outcome, marked, levels, time_limit)})
    return Ways(pl.DataFrame(rows, schema=COLUMNS), outcomes)


COLUMNS = {"way": pl.String, "seconds": pl.Float64, "cells_lost": pl.Int64, "cells_changed": pl.Int64,
           "error_percent": pl.Float64, "known_percent": pl.Float64, "not_additive": pl.Int64,
           "audit": pl.String, "gap_percent": pl.Float64, "note": pl.String}  # fmt: skip


def _fitting(model: TableModel, limit: float | None) -> list[str]:
    """The ways that fit a table: those for counts only, for linked tables only, and noise on sums with a limit."""
    return [
        way
        for way in WAYS
        if (not model.is_magnitude or way not in COUNTS_ONLY)
        and (bool(model.tables) or not way.startswith("linked"))
        and (way != "budget" or not model.is_magnitude or limit is not None)
    ]


def _figures(
    model: TableModel, outcome: Outcome, marked: Any, levels: Floats, time_limit: float
) -> dict[str, Any]:
    truth = model.published_amount
    told: dict[str, Any]
    if isinstance(outcome, Suppression):
        gone = outcome.suppressed
        try:
            shown = fill_in(outcome, time_limit=time_limit).values
        except DaleniusError:
            shown = np.where(gone, 0.0, truth)
        passed = outcome.checked is not None and outcome.checked.passed
        told = {"cells_lost": int(gone.sum()), "cells_changed": 0, "audit": "passed" if passed else "failed"}
    else:
        shown = outcome.values
        told = {"cells_lost": 0, "cells_changed": int((np.abs(shown - truth) > 1e-9).sum())}
        told["gap_percent"] = None if outcome.objective is None else 100.0 * outcome.gap
    error = np.abs(shown - truth)
    near = error[marked] < levels[marked] - 1e-9
    told["error_percent"] = 100.0 * float(np.nansum(error) / max(np.abs(truth).sum(), 1e-300))
    told["known_percent"] = 100.0 * float(near.mean()) if marked.any() else 0.0
    told["not_additive"] = int(information_loss(model, {"way": outcome})["not_additive"][0])
    return told
