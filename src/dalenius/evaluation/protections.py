"""What protection buys: the same tables protected in several ways, each attacked again, on the risk–utility map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DaleniusError, OptionError, names, no_column
from dalenius.core.maps import risk_utility_map
from dalenius.core.random import generator
from dalenius.data.table import Table
from dalenius.dp.budget import Budget
from dalenius.published import Entry, Published
from dalenius.published.reading import texts
from dalenius.risk.reconstruction import Attack, attack
from dalenius.risk.reconstruction.attacked import ATTACKS, held_against
from dalenius.tables import (
    PTable,
    SmallCount,
    Suppression,
    TableModel,
    controlled_round,
    define,
    noisy_table,
    protect,
)
from dalenius.tables.keys import cell_names, keyed_uniforms

if TYPE_CHECKING:
    import altair as alt

ERROR = "Error of the tables (%)"


@dataclass(frozen=True)
class _Setting:
    model: TableModel
    table: Table
    columns: tuple[str, ...]
    threshold: int
    base: int
    epsilon: float
    share: float
    seed: int
    margins: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class _Out:
    """One way's tables: what is printed (NaN for nothing) and what everybody may know about how it was made."""

    shown: Any
    kind: Any = "exact"
    base: int = 1
    scale: float = 0.0


def _plain(s: _Setting) -> _Out:
    return _Out(s.model.frequency.astype(np.float64))


def _suppressed(s: _Setting) -> _Out:
    done: Suppression = protect(s.model, SmallCount(s.threshold))
    return _Out(np.where(done.suppressed, np.nan, s.model.frequency))


def _rounded(s: _Setting) -> _Out:
    return _Out(controlled_round(s.model, s.base).values, "rounded", s.base)


def _cell_keys(s: _Setting) -> _Out:
    key = generator(s.seed, "cell keys").bytes(32)
    uniform = keyed_uniforms(cell_names(s.model), key, "cell keys")
    moved = s.model.frequency + PTable.make(s.base, s.base / 2).deviation(s.model.frequency, uniform)
    return _Out(np.asarray(moved, np.float64), "cellkey", s.base)


def _swapped(s: _Setting) -> _Out:
    """Some people exchange the value of the first column: the tables stay exact, but of another file."""
    rng = generator(s.seed, "swap")
    first = s.columns[0]
    moved = rng.permutation(s.table.rows)[: round(s.share * s.table.rows)]
    order = np.arange(s.table.rows)
    order[np.sort(moved)] = moved
    other = s.table.with_vectors(s.table[first].take(order))
    return _Out(_model(other, s.margins).frequency.astype(np.float64))


def _noisy(s: _Setting) -> _Out:
    noisy = noisy_table(s.model, Budget(epsilon=s.epsilon), assume_public_codes=True)
    return _Out(noisy.values, "noisy", scale=1 / s.epsilon)


WAYS: dict[str, Callable[[_Setting], _Out]] = {
    "as they are": _plain,
    "suppression": _suppressed,
    "rounding": _rounded,
    "cell keys": _cell_keys,
    "swapping": _swapped,
    "differential privacy": _noisy,
}
"""Name → how the tables are protected."""


@dataclass(frozen=True, eq=False, repr=False)
class Protections:
    """Ways of protection side by side.

    Attributes
    ----------
    table
        One row a way: what an attack proves, how much of that is true, and how far the tables are from the truth.
    attacks
        The attacks behind it; confidential.
    """

    table: pl.DataFrame
    attacks: dict[str, Attack]

    def __repr__(self) -> str:
        return f"Protections({', '.join(self.table['way'].to_list())})"

    def points(self, risk: str = "proved-people") -> pl.DataFrame:
        """What the map draws: the share of people of whom something true is proved, and the error of the tables."""
        info = ATTACKS[risk]
        column = {"proved-people": "proved %", "proved-unique": "alone %", "small-groups": "small groups"}[
            risk
        ]
        there = self.table.filter(pl.col(column).is_not_null())
        nothing = pl.lit(None, pl.Float64)
        return there.select(
            pl.col("way").alias("candidate"), pl.col(column).cast(pl.Float64).alias("risk"),
            nothing.alias("risk_low"), nothing.alias("risk_high"), pl.lit(info.title).alias("risk_title"),
            nothing.alias("original_risk"), pl.col("error %").alias("utility"),
            pl.lit(ERROR).alias("utility_title"), pl.lit("lower").alias("utility_better"),
        )  # fmt: skip

    def chart(self, risk: str = "proved-people") -> alt.TopLevelMixin:
        """Risk–utility map of the ways."""
        return risk_utility_map(self.points(risk))


def compare_protections(
    data: Any,
    margins: Sequence[Sequence[str]],
    *,
    ways: Sequence[str] | None = None,
    threshold: int = 3,
    base: int = 3,
    epsilon: float = 1.0,
    share: float = 0.1,
    seed: int = 1,
) -> Protections:
    """Protect planned tables in several ways and attack each again.

    The error of the tables is Σ |shown − true| / Σ true in per cent, where a suppressed cell counts as lost. Noise of
    differential privacy is fresh every time.

    Parameters
    ----------
    margins
        The tables, as lists of columns; all their totals are printed too.
    threshold, base, epsilon, share
        Counts up to the threshold are suppressed, and groups up to it are small; base of rounding and largest change of
        cell keys; privacy budget of all tables; share of people who exchange the value of the first column.

    Examples
    --------
    >>> people = {"sex": list("ffmmfm") * 5, "town": list("AABBBA") * 5, "job": list("xyxxyx") * 5}
    >>> found = compare_protections(people, [["sex", "town"], ["sex", "job"]], ways=["as they are", "rounding"])
    >>> found.table.select("way", "error %").rows()[0]
    ('as they are', 0.0)
    """
    chosen = list(WAYS if ways is None else ways)
    unknown = [way for way in chosen if way not in WAYS]
    if unknown:
        raise OptionError(f"unknown ways {names(unknown)}; there are {names(list(WAYS), len(WAYS))}")
    if not 0 <= share <= 1 or not epsilon > 0 or base < 2 or threshold < 1:
        raise OptionError(
            "share lies between 0 and 1, epsilon above 0, base is at least 2 and threshold at least 1"
        )
    table = Table.from_frame(data)
    listed = tuple(tuple(margin) for margin in margins)
    columns = tuple(dict.fromkeys(name for margin in listed for name in margin))
    missing = [name for name in columns if name not in table]
    if missing or not columns:
        raise OptionError(no_column(missing, table.names) if missing else "name the tables to be compared")
    table = Table.from_frame({name: texts(table, name) for name in columns})  # gaps are categories too
    model = _model(table, listed)
    setting = _Setting(model, table, columns, threshold, base, epsilon, share, seed, listed)
    truth = table.to_frame("polars").cast(pl.String)
    lines: list[dict[str, Any]] = []
    attacks: dict[str, Attack] = {}
    for way in chosen:
        try:
            out = WAYS[way](setting)
            attacks[way] = _attacked(model, out, columns, threshold, seed)
        except DaleniusError as error:
            lines.append({"way": way, "note": str(error)})
            continue
        lines.append({"way": way, **_line(attacks[way], out, model, truth), "note": ""})
    numbers = ("proved %", "alone %", "small groups", "proofs right %", "error %", "cells lost %")
    return Protections(pl.DataFrame(lines, schema_overrides=dict.fromkeys(numbers, pl.Float64)), attacks)


def _model(table: Table, margins: tuple[tuple[str, ...], ...]) -> TableModel:
    return define(
        table, formula="~ " + " + ".join(" * ".join(m) for m in margins), nested=False, remove_empty=False
    )


def _attacked(model: TableModel, out: _Out, columns: tuple[str, ...], threshold: int, seed: int) -> Attack:
    cells = model.cells.select(columns).with_columns(pl.Series("n", out.shown).fill_nan(None))
    entry = Entry(
        "tables",
        Table.from_frame(cells),
        value="n",
        by=columns,
        kind=out.kind,
        base=out.base,
        scale=out.scale,
    )
    return attack(Published.from_entries([entry]), threshold=threshold + 1, seed=seed)


def _line(attack: Attack, out: _Out, model: TableModel, truth: pl.DataFrame) -> dict[str, float]:
    true = model.frequency.astype(np.float64)
    lost = np.isnan(out.shown)
    error = np.where(lost, true, np.abs(np.nan_to_num(out.shown) - true))
    figures = {name: result.value for name, result in attack.results.items()}
    return {
        "proved %": figures["proved-people"],
        "alone %": figures["proved-unique"],
        "small groups": figures["small-groups"],
        "proofs right %": held_against(attack, truth)["right %"],
        "error %": 100 * float(error.sum() / max(true.sum(), 1)),
        "cells lost %": 100 * float(lost.mean()),
    }
