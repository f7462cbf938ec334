"""`sweep`: what each epsilon buys and costs, seen before one is chosen (the experiment of Raab 2022)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.style import RISK, UTILITY
from dalenius.counts.counts import Counts, align
from dalenius.counts.pair import Pair
from dalenius.data.exit import releasable
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth import METHODS, Candidate
from dalenius.synth.joint.base import JointSynthesizer

if TYPE_CHECKING:
    import altair as alt

EPSILONS: tuple[float | None, ...] = (0.01, 0.1, 0.5, 1.0, 2.0, 10.0, None)
"""The paper's epsilons; None is no noise."""
USEFUL = 10.0
"""Mean two-way utility below this is useful (Raab 2022)."""


def table_utility(original: Counts, synthetic: Counts) -> float:
    """The paper's utility of one table: 1 is what another sample would give, larger is worse.

    Examples
    --------
    >>> a = Counts.from_dense(np.array([30, 70]), ["x"], [range(2)])
    >>> b = Counts.from_dense(np.array([50, 50]), ["x"], [range(2)])
    >>> round(table_utility(a, b), 4)
    16.6667
    """
    _, (y, s) = align(original, synthetic)
    scaled = s * (float(y.sum()) / max(float(s.sum()), 1.0))
    return float(np.sum((y - scaled) ** 2 / ((y + scaled) / 2))) / max(len(y) - 1, 1)


def sweep(
    frame: Any, method: str = "loglinear", epsilons: Sequence[float | None] = EPSILONS, *, replicates: int = 10,
    seed: Seed = DEFAULT_SEED, schema: Schema | None = None, progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Result:  # fmt: skip
    """Disclosure and utility of a private method for several epsilons.

    Looks at the confidential data with no privacy of its own: the table is for the steward who chooses, not for
    publication.

    Parameters
    ----------
    frame
        Confidential data.
    method
        A method with an epsilon: saturated, loglinear, mst or aim.
    epsilons
        Epsilons to try; None is no noise (not for mst and aim).
    replicates
        Synthetic files for each epsilon; figures are their means.
    options
        Further options of the method.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 100, "tall": ["no", "yes"] * 100, "old": ["y", "n", "n", "n"] * 50}
    >>> found = sweep(data, epsilons=[10.0, None], replicates=2, seed=1, domain="from-data")
    >>> found.table["epsilon"].to_list()
    [10.0, None]
    """
    if replicates < 1 or not epsilons:
        raise OptionError("give at least one epsilon and one replicate")
    if not issubclass(METHODS[method], JointSynthesizer) or method == "poisson":
        raise OptionError(f"{method} has no epsilon to choose; use saturated, loglinear, mst or aim")
    table = Table.from_frame(frame, schema)
    if table.rows == 0:
        raise DataError("the table has no rows, so there is nothing to try")
    pair = _compared(releasable(table), options)
    rows = []
    for epsilon in epsilons:
        made = []
        for turn in range(replicates):
            if progress is not None:
                progress(f"epsilon {_word(epsilon)}, file {turn + 1} of {replicates}")
            one = _candidate(method, epsilon, options).make(table, seed=seed, first=turn, force=True)
            made.append(_figures(pair.swap_in(one.table), one.notes))
        rows.append(
            {"epsilon": epsilon, **{name: float(np.mean([m[name] for m in made])) for name in made[0]}}
        )
    return _result(pl.DataFrame(rows, schema_overrides={"epsilon": pl.Float64}), method, replicates)


def _compared(table: Table, options: Mapping[str, Any]) -> Pair:
    """The original on both sides, numbers grouped as the method groups them."""
    breaks = {n: b for n, b in (options.get("breaks") or {}).items() if n in table}
    groups, style = options.get("groups", 5), options.get("grouping", "quantile")
    return Pair(table, table, grouping=Grouping.fit(table, groups=groups, method=style, breaks=breaks))


def _candidate(method: str, epsilon: float | None, options: Mapping[str, Any]) -> Candidate:
    """The method at one epsilon; without noise the options that only noise has are left out."""
    only_noisy = {"contribution", "threshold", "delta", "drawing", "ledger"} if epsilon is None else set()
    kept = {name: value for name, value in options.items() if name not in only_noisy}
    return Candidate(method, {**kept, "epsilon": epsilon})


def _word(epsilon: float | None) -> str:
    return "none" if epsilon is None else f"{epsilon:g}"


def _figures(pair: Pair, notes: Sequence[str]) -> dict[str, float]:
    columns = pair.columns
    figures = pair.match(columns, grouped=True).figures
    by_order = {}
    for order in (2, 3):
        tables = pair.count_many(combinations(columns, min(order, len(columns)))).values()
        by_order[order] = [table_utility(t.original, t.protected) for t in tables]
    settled = not any("did not settle" in note for note in notes)
    return {
        "ru": figures["repU"],
        "ru % of p1": 100 * figures["repU"] / figures["UiO"] if figures["UiO"] else 0.0,
        "two-way": float(np.mean(by_order[2])),
        "three-way": float(np.mean(by_order[3])),
        "worst three-way": float(np.max(by_order[3])),
        "not settled %": 0.0 if settled else 100.0,
        "p1": figures["UiO"],
    }


def _result(table: pl.DataFrame, method: str, replicates: int) -> Result:
    noisy = table.drop_nulls("epsilon").sort("epsilon")
    useful = noisy.filter(pl.col("two-way") < USEFUL)
    p1 = float(table["p1"][0])
    shown = table.drop("p1")
    if len(useful):
        first = useful.row(0, named=True)
        best = (
            f"The smallest epsilon with useful two-way tables (mean below {USEFUL:g}) is {first['epsilon']:g}: "
            f"two-way utility {figure(first['two-way'])}, replicated uniques {figure(first['ru'], '%')}"
        )
        value = float(first["epsilon"])
    else:
        best, value = f"No epsilon tried gives useful two-way tables (mean below {USEFUL:g})", float("nan")
    return Result(
        name="epsilon-sweep",
        value=value,
        sentence=f"{best}; {figure(p1, '%')} of the original records are unique. Means of {replicates} files by "
        f"{method}. The figures were read off the confidential data: they help to choose, and are not for publication.",
        yardsticks={},
        values={"p1": p1},
        table=shown,
        counts=WHOLE,
        chart=lambda: sweep_chart(shown),
        trusted=False,
    )


def sweep_chart(table: pl.DataFrame) -> alt.HConcatChart:
    """Disclosure and utility against epsilon, both on the scale they are read on."""
    import altair as alt  # noqa: PLC0415 (charts are drawn when somebody looks)

    data = table.drop_nulls("epsilon").to_arrow()
    x = alt.X("epsilon:Q", scale=alt.Scale(type="log"), title="epsilon (log scale)")
    base = alt.Chart(data).properties(width=260, height=200)
    risk = base.mark_line(point=True, color=RISK).encode(
        x=x, y=alt.Y("ru % of p1:Q", title="replicated, % of uniques")
    )
    scale = alt.Scale(type="log")
    two = base.mark_line(point=True, color=UTILITY).encode(
        x=x, y=alt.Y("two-way:Q", scale=scale, title="utility (1 is best)")
    )
    three = base.mark_line(point=True, color=UTILITY, strokeDash=[4, 3]).encode(
        x=x, y=alt.Y("three-way:Q", scale=scale)
    )
    return alt.hconcat(
        risk.properties(title="Disclosure"),
        (two + three).properties(title="Two-way (line), three-way (dashed)"),
    )
