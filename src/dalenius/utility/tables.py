"""Utility of tables: how like the original's the cross-tabulations of the protected file are.

S_pMSE divides the propensity score error of a table by its expectation for a correct model, so that tables of all sizes
can be compared: 1 is what a correct model gives on average, below 10 is good, below 30 usable (Raab 2022).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal, get_args

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.later import altair as alt
from dalenius.core.option import at_least, one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.counts import Counts, align
from dalenius.counts.measure import Registering, measure
from dalenius.counts.memory import count_codes_many
from dalenius.counts.pair import Pair
from dalenius.counts.weighing import clustered_effect, unit_effect
from dalenius.data.schema import Role
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL, AnyArray
from dalenius.utility.cells import RANKED, STATISTICS, cell_differences, cells_off, paired, table_statistics
from dalenius.utility.charts import heat_map, plain_bars, ranked_bars
from dalenius.utility.distances import DISTANCES, count_distances

GOOD, USABLE = 10.0, 30.0
"""Readings of S_pMSE: below 10 good, below 30 usable (Raab 2022)."""
PARTS, GONE = ("first", "second", "third"), "gone"
"""Names of the columns that say which columns a table has, and the reading of one that lacks a column."""
OFF = "cells off"
"""Name of one more statistic of a table: how many of its cells lost or won more than a third, beyond chance."""
BATCH = 64
"""Tables counted at a time, so that memory does not grow with the number of tables."""
EFFECTS = 20
"""Tables whose design effects tell what a fresh sample would have."""
TOLD = "People have several rows: a table tells as much as so many people do, not as so many rows."
Which = int | Iterable[Sequence[str]]
Gaps = Literal["level", "drop"]
Against = Literal["protected", "holdout"]
REFERENCE = "Raab, Nowok, Dibben 2021; Raab 2022; synthpop: utility.tables"


def reading(value: float) -> str:
    """One word for an S_pMSE: good, usable or bad.

    Examples
    --------
    >>> reading(1.2), reading(12.0), reading(200.0)
    ('good', 'usable', 'bad')
    """
    return "good" if value < GOOD else ("usable" if value < USABLE else "bad")


def voas_williamson(original: Counts, protected: Counts) -> tuple[float, int]:
    """VW statistic of one table and its degrees of freedom; their ratio is S_pMSE.

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 30 + ["y"] * 70}, {"a": ["x"] * 50 + ["y"] * 50})
    >>> counted = pair.counts(["a"])
    >>> vw, df = voas_williamson(counted.original, counted.protected)
    >>> round(vw, 4), df
    (16.6667, 1)
    """
    statistics = table_statistics(*paired(original, protected), ranked=False)
    return statistics["VW"], int(statistics["df"])


def table_utility(
    pair: Pair,
    tables: Which = 2,
    *,
    columns: Sequence[str] | None = None,
    statistics: Sequence[str] = ("S_pMSE", "df"),
    gaps: Gaps = "level",
    random_size: bool = False,
    against: Against = "protected",
) -> pl.DataFrame:
    """Statistics of many tables, the worst first.

    Parameters
    ----------
    tables
        1, 2 or 3 for all tables of so many columns, or a list of tables.
    columns
        Which columns to cross; default: all that can be compared.
    statistics
        Names from `STATISTICS` or `DISTANCES` (MAE, RMSE, MAPE, Aitchison, with the protected counts brought to the
        original's size); the first one decides the order.
    gaps
        Whether a missing value is a level, or its rows are left out of the table.
    random_size
        See `table_statistics`.
    against
        Compare with the protected file or, as a yardstick, with the holdout.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}, {"a": ["x", "y"] * 50, "b": ["u"] * 50 + ["v"] * 50})
    >>> table_utility(pair, statistics=["S_pMSE", "TVD"]).rows()
    [('a × b', 'a', 'b', 44.44444444444445, 0.5)]
    """
    known = (*STATISTICS, *DISTANCES, OFF)
    unknown = [name for name in statistics if name not in known]
    if unknown:
        raise OptionError(f"no statistic {unknown[0]!r}; there are {', '.join(known)}")
    one_of("gaps", gaps, get_args(Gaps))
    one_of("against", against, get_args(Against))
    if not statistics:
        raise OptionError(f"no statistic is named; there are {', '.join(known)}")
    if against == "holdout" and pair.holdout is None:
        raise DataError("there is no holdout to compare with; give one to the pair")
    wanted = _tables(pair, tables, columns)
    width = max((len(names) for names in wanted), default=1)
    parts = (*PARTS, *(f"column{i}" for i in range(4, width + 1)))[:width]
    rows = []
    for names, *found, effect in _counted(pair, wanted, against):
        both = [_without_gaps(one) for one in found] if gaps == "drop" else found
        values = _statistics(*paired(*both), statistics, random_size, effect)
        places = dict(zip(parts, [*names, *[None] * (width - len(names))], strict=True))
        rows.append({"table": " × ".join(names), **places, **{name: values[name] for name in statistics}})
    schema = {
        "table": pl.String,
        **dict.fromkeys(parts, pl.String),
        **dict.fromkeys(statistics, pl.Float64),
    }
    frame = pl.DataFrame(rows, schema=schema)
    order = pl.col(statistics[0]).fill_nan(None)
    return frame.sort(order, descending=True, nulls_last=True, maintain_order=True)


def _statistics(
    d: AnyArray, s: AnyArray, wanted: Sequence[str], random_size: bool, effect: float = 1.0
) -> dict[str, float]:
    ranked = any(name in RANKED for name in wanted)
    values = table_statistics(d, s, random_size=random_size, ranked=ranked, effect=effect)
    if any(name in DISTANCES for name in wanted):
        values |= count_distances(d, s * (d.sum() / max(float(s.sum()), 1.0)))
    if OFF in wanted:
        values[OFF] = float(cells_off(d / effect, s / effect))
    return values


def _tables(pair: Pair, tables: Which, columns: Sequence[str] | None) -> list[tuple[str, ...]]:
    if not isinstance(tables, int):
        chosen = [tuple(names) for names in tables]
        if not all(chosen):
            raise OptionError("a table of no columns is asked for; name at least one column")
        return chosen
    at_least("tables", tables, 1)
    used = list(columns) if columns is not None else pair.columns
    return list(combinations(used, min(tables, len(used)))) if used else []


def _counted(
    pair: Pair, wanted: Sequence[tuple[str, ...]], against: Against
) -> Iterator[tuple[tuple[str, ...], Counts, Counts, float]]:
    """Count table by table, with the design effect of the second file and that of people with several rows.

    Small tables are kept by the pair for other measures, larger ones are let go.
    """
    for names, first, second, effect in _rows_counted(pair, wanted, against):
        yield names, first, second, effect * several_rows(pair, names)


def several_rows(pair: Pair, names: Sequence[str]) -> float:
    """How many times more a table scatters because people with several rows are drawn, not rows (Rao, Scott 1981).

    The protected file need not name its people: it is taken to have as many rows of each as the original.

    Examples
    --------
    >>> from dalenius.data import Schema
    >>> people = {"who": [i // 2 for i in range(80)], "a": ["x", "x", "y", "y"] * 20}
    >>> pair = Pair(people, {"a": people["a"]}, schema=Schema.infer(people).with_roles(entity="who"))
    >>> round(several_rows(pair, ["a"]), 1)
    2.0
    """
    rows = pair.for_rows()[0]
    owner = rows.units.column
    if owner is None or not rows.unmasked.schema[owner].has(Role.ENTITY):
        return 1.0
    columns = [rows.categories(name).original for name in names]
    return unit_effect(columns, rows.units, rows.designs.original)


def _rows_counted(
    pair: Pair, wanted: Sequence[tuple[str, ...]], against: Against
) -> Iterator[tuple[tuple[str, ...], Counts, Counts, float]]:
    """Count table by table, with the design effect of the second file's weights."""
    for begin in range(0, len(wanted), BATCH):
        batch = wanted[begin : begin + BATCH]
        if pair.designs:  # of rows that stream by the weights are those of a sample
            for names, weighed in pair.for_rows()[0].weigh_many(batch).items():
                second = weighed.protected if against == "protected" else weighed.holdout
                if second is not None:
                    yield names, weighed.original.counts, second.counts, weighed.effect(against)
            continue
        if max(map(len, batch)) <= 2 or pair.streams:
            for names, counted in pair.count_many(batch).items():
                other = counted.protected if against == "protected" else counted.holdout
                if other is not None:
                    yield names, counted.original, other, 1.0
            continue
        aligned = {name: pair.categories(name) for names in batch for name in names}
        first = count_codes_many({name: a.original for name, a in aligned.items()}, batch)
        chosen = {name: getattr(a, against) for name, a in aligned.items()}
        others = count_codes_many(chosen, batch)
        for names in batch:
            yield names, first[names], others[names], 1.0


def _without_gaps(counts: Counts) -> Counts:
    """Leave out cells in which a value is missing."""
    keep = np.ones(len(counts), dtype=bool)
    for place, labels in enumerate(counts.labels):
        gone = [i for i, label in enumerate(labels) if label is MISSING_LABEL or label is NAN_LABEL]
        keep &= ~np.isin(counts.cells[:, place], gone)
    return Counts(counts.columns, counts.labels, counts.keys[keep], counts.counts[keep])


def column_scores(table: pl.DataFrame, statistic: str = "S_pMSE") -> pl.DataFrame:
    """Mean of a statistic over the tables that each column is in, and its worst table.

    Examples
    --------
    >>> pair = Pair({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}, {"a": ["x", "y"] * 50, "b": ["u"] * 50 + ["v"] * 50})
    >>> column_scores(table_utility(pair))["column"].to_list()
    ['a', 'b']
    """
    parts = [
        name for name in table.columns if name in ("first", "second", "third") or name.startswith("column")
    ]
    long = pl.concat([table.select("table", statistic, pl.col(part).alias("column")) for part in parts])
    return (
        long.drop_nulls("column")
        .group_by("column", maintain_order=True)
        .agg(
            pl.col(statistic).mean().alias("mean"),
            pl.col(statistic).max().alias("worst"),
            pl.col("table").sort_by(statistic, descending=True).first().alias("worst table"),
        )
        .sort("mean", "column", descending=[True, False])
    )


def worst_cells(pair: Pair, columns: Sequence[str], limit: int = 20) -> pl.DataFrame:
    """Where a table goes wrong: its cells with original and protected counts, the most different first.

    The protected count is also given as it would be at the original's size (``expected`` is the original count), and
    ``z`` is the standardised difference, positive where the protected file has too many. A column of the data that is
    called like one of the figures is shown as "… (column)".

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 30 + ["y"] * 70}, {"a": ["x"] * 50 + ["y"] * 50})
    >>> worst_cells(pair, ["a"]).select("a", "original", "protected").rows()
    [('x', 30, 50), ('y', 70, 50)]
    """
    original, protected, _ = one_table(pair, columns)
    keys, (d, s) = align(original, protected)
    figures = [
        pl.Series("original", d),
        pl.Series("protected", s),
        pl.Series("protected at the original's size", s * (d.sum() / max(s.sum(), 1))),
        pl.Series("z", cell_differences(d, s)),
    ]
    taken = {series.name for series in figures}
    shown = tuple(f"{name} (column)" if name in taken else name for name in columns)
    # the frame's own column of counts must not be called like a column of the data
    unused = "".join(shown) + " counts"
    return (
        Counts(shown, original.labels, keys, d)
        .to_frame(unused)
        .drop(unused)
        .with_columns(figures)
        .sort(pl.col("z").abs(), descending=True, maintain_order=True)
        .head(limit)
    )


def table_statistics_of(pair: Pair, columns: Sequence[str]) -> dict[str, float]:
    """All statistics of one table.

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 30 + ["y"] * 70}, {"a": ["x"] * 50 + ["y"] * 50})
    >>> round(table_statistics_of(pair, ["a"])["TVD"], 6)
    0.2
    """
    *both, effect = one_table(pair, columns)
    return _statistics(*paired(*both), (*STATISTICS, *DISTANCES), False, effect)


def one_table(pair: Pair, columns: Sequence[str]) -> tuple[Counts, Counts, float]:
    """One table of both files as measures read it: with weights where there are some, and their design effect."""
    ((_, original, protected, effect),) = _counted(pair, [tuple(columns)], "protected")
    return original, protected, effect


def cell_chart(cells: pl.DataFrame, columns: Sequence[str]) -> alt.TopLevelMixin:
    """The cells of `worst_cells` as bars: to the right where the protected file has too many."""
    labels = cells.columns[: len(columns)]
    named = cells.with_columns(
        pl.concat_str([pl.col(name).cast(pl.String) for name in labels], separator=" × ").alias("cell")
    )
    return plain_bars(named, "cell", "z", "too few or too many, in standard errors", limit=len(named))


def _tables_of(order: str, count: int, default: bool) -> Registering:
    return measure(
        name=f"{order}-way-utility",
        title=f"{order.capitalize()}-way tables (mean S_pMSE)",
        family="utility",
        meaning=f"How far the tables of {'each column' if count == 1 else f'all sets of {count} columns'} differ from "
        "the original's, in units of what a correct model would give (1); below 10 is good, below 30 usable.",
        better="lower",
        bounds=(0, float("inf")),
        reference=REFERENCE,
        default=default,
        sees_dependence=count > 1,
        reads="counts",
        weighs=True,
    )


@_tables_of("two", 2, True)
def two_way_utility(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean S_pMSE over all two-way tables, numbers in groups; 1 is what a correct model gives.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> two_way_utility(Pair(data, data)).value
    0.0
    """
    return tables_result(pair, "two", 2, columns)


@_tables_of("one", 1, True)
def one_way_utility(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean S_pMSE over the columns one by one, numbers in groups.

    Examples
    --------
    >>> one_way_utility(Pair({"a": ["x"] * 30 + ["y"] * 70}, {"a": ["x"] * 50 + ["y"] * 50})).value
    16.666666666666668
    """
    return tables_result(pair, "one", 1, columns)


@_tables_of("three", 3, False)
def three_way_utility(pair: Pair, columns: Sequence[str] | None = None) -> Result:
    """Mean S_pMSE over all three-way tables, numbers in groups.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50, "c": ["s", "t"] * 50}
    >>> three_way_utility(Pair(data, data)).values["worst"]
    0.0
    """
    return tables_result(pair, "three", 3, columns)


def tables_result(
    pair: Pair, order: str, count: int, columns: Sequence[str] | None, gone: Collection[str] = ()
) -> Result:
    """Mean S_pMSE over all tables of so many columns.

    Parameters
    ----------
    gone
        Columns that the protected file does not have, which were guessed: whatever chance gives, their tables cannot
        be used.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    >>> tables_result(Pair(data, data), "two", 2, None, gone=["b"]).table["reading"].to_list()
    ['gone']
    """
    used = list(columns) if columns is not None else pair.columns
    told = ""
    if pair.designs and pair.streams:  # weights are held for the rows of a sample
        pair, told = pair.for_rows()
    if used and several_rows(pair, used[:1]) > 1:
        told = " ".join(filter(None, [told, TOLD]))
    table = table_utility(pair, count, columns=used, statistics=("S_pMSE", "df", OFF))
    word = pl.col("S_pMSE").map_elements(reading, return_dtype=pl.String)
    # a table one of whose cells is lost is not good, however well the others came out
    hidden = (word == "good") & (pl.col(OFF) > 0)
    table = table.with_columns(pl.when(hidden).then(pl.lit("usable")).otherwise(word).alias("reading")).drop(
        OFF
    )
    if gone:
        lost = pl.any_horizontal(pl.col(part).is_in(list(gone)) for part in PARTS[:count])
        table = table.with_columns(
            pl.when(lost)
            .then(pl.max_horizontal("S_pMSE", pl.lit(USABLE)))
            .otherwise("S_pMSE")
            .alias("S_pMSE"),
            pl.when(lost).then(pl.lit(GONE)).otherwise("reading").alias("reading"),
        ).sort("S_pMSE", descending=True, nulls_last=True, maintain_order=True)
    value = float(table["S_pMSE"].mean()) if len(table) else float("nan")  # type: ignore[arg-type]
    words = ("good", "usable", "bad", *([GONE] if gone else []))
    counts = {word: int((table["reading"] == word).sum()) for word in words}
    return Result(
        name=f"{order}-way-utility",
        value=value,
        sentence=" ".join(filter(None, [_sentence(value, order, counts, table), told])),
        yardsticks=_yardsticks(pair, count, used),
        values={
            "mean": value,
            "worst": float(table["S_pMSE"][0]) if len(table) else float("nan"),
            **{f"{word} tables": float(number) for word, number in counts.items()},
            "bad tables": float(counts["bad"] + counts.get(GONE, 0)),
        },
        table=table,
        counts=WHOLE,
        chart=(lambda: heat_map(table, used))
        if count == 2 and len(used) > 1
        else (lambda: ranked_bars(table)),
    )


def _yardsticks(pair: Pair, count: int, columns: Sequence[str]) -> dict[str, float]:
    """1 for a correct model; a fresh sample differs by two sampling errors, the original's and its own.

    With n original and m other rows a fresh sample's expectation is (n + m) / n: 2 at equal sizes. The holdout's figure
    is brought from its own size to the protected file's by that; a smaller holdout has too many empty cells.
    """
    rows = pair.original.rows
    yardsticks = {"a correct model": 1.0, "a fresh sample": fresh_sample(pair, count, columns)}
    if pair.holdout is not None and pair.holdout.rows >= pair.protected.rows and count < 3 and columns:
        held = table_utility(pair, count, columns=columns, statistics=("S_pMSE",), against="holdout")
        scale = (rows + pair.protected.rows) / (rows + pair.holdout.rows)
        yardsticks["holdout"] = scale * float(held["S_pMSE"].mean())  # type: ignore[arg-type]
    return yardsticks


def fresh_sample(pair: Pair, count: int, columns: Sequence[str]) -> float:
    """Mean S_pMSE that a fresh sample of the population would have.

    Without weights (n + m) / n. A file without weights, beside an original with a design effect of D, has 1 + D m / n;
    a file with weights is held against a second sample of the original's own design, whose units hang together.

    Examples
    --------
    >>> fresh_sample(Pair({"a": ["x", "y"] * 10}, {"a": ["x", "y"] * 20}), 1, ["a"])
    3.0
    """
    more = pair.protected.rows / pair.original.rows
    first, second = pair.designs.original, pair.designs.protected
    tables = _tables(pair, count, columns)
    if first is None or not tables:
        return 1 + more
    step = -(-len(tables) // EFFECTS)
    some = tables[::step]
    weighed = pair.weigh_many(some)
    whole = np.mean(
        [
            weighed[names].original.effect  # rows drawn one by one: the weights tell it
            if first.simple
            else clustered_effect([pair.categories(name).original for name in names], first)
            for names in some
        ]
    )
    if second is None:
        return 1 + more * float(whole)
    own = np.mean([table.effect() for table in weighed.values()])
    return float((1 + more) * whole / own)


def _sentence(value: float, order: str, counts: dict[str, int], table: pl.DataFrame) -> str:
    if len(table) == 0:
        return "There is no column to compare."
    word = {"good": "close to", "usable": "some way from", "bad": "far from"}[reading(value)]
    text = (
        f"On average the {len(table)} {order}-way tables are {word} the original's (mean S_pMSE {figure(value)}, where "
        f"1 is what a correct model gives); {counts['good']} are good, {counts['usable']} usable, {counts['bad']} bad."
    )
    if counts.get(GONE):
        text += (
            f" {counted(counts[GONE], 'more table')} cannot be made, as a column is gone: each counts as bad."
        )
    if float(table["S_pMSE"][0]) >= GOOD:
        text += f" The worst is {table['table'][0]}."
    return text
