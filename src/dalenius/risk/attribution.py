"""Attribute disclosure: can a person's secret be read off the protected file?

*Targets* are columns that would hurt if learnt. A combination of keys is *disclosive* in a file when all its records
there share one target value. DiSCO counts the original records whose keys are disclosive in the protected file and whose
true value is the one found there. Definitions: spec psd17, section 2.4 (Raab, PSD 2024); all in per cent.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import Result, figure
from dalenius.core.style import ORIGINAL, RISK
from dalenius.counts.counts import Counts, align
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.vector import AnyArray


def attribution(original: Counts, protected: Counts) -> dict[str, float]:
    """Dorig, Dsyn, iS, DiS, DiSCO and DiSDiO of one table over keys and, last, the target.

    Examples
    --------
    >>> pair = Pair({"k": ["a", "a", "b"], "t": [1, 1, 2]}, {"k": ["a", "b", "b"], "t": [1, 2, 2]})
    >>> counted = pair.counts(["k", "t"], grouped=False)
    >>> attribution(counted.original, counted.protected)["DiSCO"]
    100.0
    """
    keys, (d, s) = align(original, protected)
    group = _key_groups(keys, original.sizes[-1])
    d_q = np.bincount(group, d)[group]
    s_q = np.bincount(group, s)[group]
    # Purity is decided by counts, never by floating proportions.
    pure_d, pure_s = (d == d_q) & (d > 0), (s == s_q) & (s > 0)
    some_pure_s = np.bincount(group, pure_s)[group] > 0
    n_d, n_s = float(d.sum()), float(s.sum())
    return {
        "Dorig": 100 * float(d[pure_d].sum()) / n_d,
        "Dsyn": 100 * float(s[pure_s].sum()) / n_s,
        "iS": 100 * float(d[s_q > 0].sum()) / n_d,
        "DiS": 100 * float(d[some_pure_s].sum()) / n_d,
        "DiSCO": 100 * float(d[pure_s].sum()) / n_d,
        "DiSDiO": 100 * float(d[pure_s & pure_d].sum()) / n_d,
    }


def _key_groups(keys: AnyArray, target_size: int) -> AnyArray:
    """Number the key combinations: cells are sorted with the target last, so equal keys stand together."""
    if keys.ndim == 1:
        prefix = keys // target_size
        new = np.concatenate([[False], prefix[1:] != prefix[:-1]]) if len(keys) else np.zeros(0, bool)
    else:
        prefix = np.column_stack([keys[:, :-1], keys[:, -1] // target_size])
        new = np.concatenate([[False], np.any(prefix[1:] != prefix[:-1], axis=1)]) if len(keys) else np.zeros(0, bool)
    return np.cumsum(new)


@measure(
    MeasureInfo(
        name="disco",
        title="Disclosive in synthetic, correct in original (DiSCO)",
        family="risk",
        meaning="Share of original records whose target value an intruder who knows the keys would read off correctly "
        "(worst target).",
        better="lower",
        bounds=(0, 100),
        unit="%",
        reference="Raab 2024 (PSD), section 4; synthpop: disclosure",
        needs=frozenset({"keys", "targets"}),
    )
)
def disco(
    pair: Pair, keys: Sequence[str] | None = None, targets: Sequence[str] | None = None, grouped: bool = False
) -> Result:
    """DiSCO for every target; the value is that of the worst one.

    Examples
    --------
    >>> pair = Pair(
    ...     {"k": ["a", "a", "b"], "t": [1, 1, 2]}, {"k": ["a", "b", "b"], "t": [1, 2, 2]}, keys=["k"], targets=["t"]
    ... )
    >>> disco(pair).value
    100.0
    """
    known = list(keys) if keys is not None else pair.keys
    wanted = list(targets) if targets is not None else pair.targets
    rows = []
    for target in wanted:
        counted = pair.counts([*known, target], grouped)
        found = attribution(counted.original, counted.protected)
        control = attribution(counted.holdout, counted.protected)["DiSCO"] if counted.holdout is not None else None
        rows.append({"target": target, **found, "holdout": control})
    table = pl.DataFrame(rows, schema_overrides={"holdout": pl.Float64}).sort("DiSCO", descending=True)
    worst = table.row(0, named=True)
    n = pair.original.rows
    yardsticks = {"original": worst["Dorig"]} | ({"holdout": worst["holdout"]} if worst["holdout"] is not None else {})
    return Result(
        name="disco",
        value=worst["DiSCO"],
        unit="%",
        sentence=_sentence(worst, len(known), len(wanted)),
        interval=wilson(worst["DiSCO"] * n / 100, n, scale=100),
        yardsticks=yardsticks,
        values={row["target"]: row["DiSCO"] for row in table.to_dicts()},
        table=table if pair.holdout is not None else table.drop("holdout"),
        chart=lambda: _chart(table),
    )


def _sentence(worst: dict[str, float], keys: int, targets: int) -> str:
    among = f"worst of {targets} targets" if targets > 1 else "the target"
    text = (
        f"For {figure(worst['DiSCO'], '%')} of the original records, somebody who knows the {keys} keys would read the true "
        f"value of {worst['target']!r} ({among}) off the protected file; in the original itself it would be "
        f"{figure(worst['Dorig'], '%')}."
    )
    if worst["holdout"] is not None:
        text += (
            f" For people who are not in the data the same reading succeeds for {figure(worst['holdout'], '%')}: "
            "that much is general knowledge, not a leak."
        )
    return text


def _chart(table: pl.DataFrame) -> alt.LayerChart:
    """One line per target: a mark for the original, an arrow to the protected file."""
    order = table["target"].to_list()
    data = table.select("target", pl.col("Dorig").alias("original"), pl.col("DiSCO").alias("protected"))
    y = alt.Y("target:N", sort=order, title=None)
    x = alt.X("original:Q", title="% of original records", scale=alt.Scale(domain=[0, 100]))
    base = alt.Chart(data.to_arrow()).properties(width=420, height=max(60, 24 * len(order)))
    line = base.mark_rule(color="#9AA5B1").encode(x=x, x2="protected:Q", y=y)
    first = base.mark_point(color=ORIGINAL, filled=False, size=60).encode(x=x, y=y, tooltip=["target", "original"])
    second = base.mark_point(color=RISK, filled=True, size=60).encode(x="protected:Q", y=y, tooltip=["target", "protected"])
    return alt.layer(line, first, second)
