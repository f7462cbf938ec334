"""Rules: does the protected file keep what must hold, and did the synthesizer learn it.

Slokom et al. 2024, section 5; Aghaddar et al. 2024, section 4.2.

For a rule "when → then": compliance is the share of rows that keep it among those it applies to; the prior is the share
of *original* rows for which "then" holds at all, which a method that ignores the condition would score; the learned
share (compliance − prior) / (1 − prior) is 1 when the rule is fully learnt and 0 at independence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.rules import Rule, parse_rules, rules_for
from dalenius.data.table import Table
from dalenius.utility.charts import two_files


def rule_table(
    original: Table,
    files: Mapping[str, Table],
    rules: Sequence[Rule | str],
    tables: Mapping[str, Table] | None = None,
) -> pl.DataFrame:
    """Compliance of each rule in the original and in each file, in per cent, with prior and learned share.

    A rule that applies to no row has no compliance (null), neither 0 nor 100.

    Examples
    --------
    >>> data = Table.from_frame({"f": ["1"] * 6 + ["0"] * 4, "d": [5, 5, 5, 5, 5, None, None, None, None, 5]})
    >>> found = rule_table(data, {"copy": data}, ["f == '1' -> not is_missing(d)", "f == '0' -> is_missing(d)"])
    >>> found["copy"].round(2).to_list()
    [83.33, 75.0]
    """
    parsed = [Rule.parse(rule) if isinstance(rule, str) else rule for rule in rules]
    rows = []
    for rule in parsed:
        own = _compliance(rule, original, tables)
        prior = _prior(rule, original, tables)
        row: dict[str, object] = {
            "rule": rule.text,
            "category": rule.category,
            "prior": prior,
            "original": own,
        }
        for name, table in files.items():
            compliance = _compliance(rule, table, tables)
            row[name] = compliance
            row[f"{name}: learned"] = (
                None
                if compliance is None or prior is None or prior >= 100
                else ((compliance - prior) / (100 - prior))
            )
            row[f"{name}: broken"] = int(rule.violations(table, tables).sum())
        rows.append(row)
    schema = {"rule": pl.String, "category": pl.String, "prior": pl.Float64, "original": pl.Float64}
    for name in files:
        schema |= {name: pl.Float64, f"{name}: learned": pl.Float64, f"{name}: broken": pl.Int64}
    return pl.DataFrame(rows, schema=schema)


def _compliance(rule: Rule, table: Table, tables: Mapping[str, Table] | None) -> float | None:
    evaluated = int(rule.evaluated(table, tables).sum())
    return None if evaluated == 0 else 100 * (1 - int(rule.violations(table, tables).sum()) / evaluated)


def _prior(rule: Rule, table: Table, tables: Mapping[str, Table] | None) -> float | None:
    truth = rule.conclusion(table, tables)
    known = int((truth.true | truth.false).sum())
    return None if known == 0 else 100 * int(truth.true.sum()) / known


def violation_rates(
    table: Table, rules: Sequence[Rule | str], *, denominator: str = "applicable"
) -> dict[str, float]:
    """Per cent of evaluated rows that break the rules of each category (Aghaddar et al. 2024).

    ``denominator`` is "applicable" (rows that an if–then rule applies to) or "all" rows with nothing missing.

    Examples
    --------
    >>> table = Table.from_frame({"a": [10, 4, 8, 0, 20], "b": [5, -1, 2, 0, 30]})
    >>> violation_rates(table, ["a >= 0", "b >= 0"])
    {'non-negative': 10.0}
    """
    one_of("denominator", denominator, ["applicable", "all"])
    broken: dict[str, int] = {}
    looked: dict[str, int] = {}
    for rule in (Rule.parse(r) if isinstance(r, str) else r for r in rules):
        truth = rule.conclusion(table)
        known = truth.true | truth.false
        evaluated = rule.evaluated(table) if denominator == "applicable" else known
        broken[rule.category] = broken.get(rule.category, 0) + int(rule.violations(table).sum())
        looked[rule.category] = looked.get(rule.category, 0) + int(evaluated.sum())
    return {name: 100 * broken[name] / looked[name] if looked[name] else float("nan") for name in broken}


def broken_rows(
    table: Table, groups: Mapping[str, Sequence[Rule | str]], tables: Mapping[str, Table] | None = None
) -> dict[str, int]:
    """Rows that break at least one rule of each group; rules on columns that are not at hand are left out.

    NIST's benchmark counts inconsistencies like this, by age, work and housing (Francis 2024).

    Examples
    --------
    >>> table = Table.from_frame({"age": [3, 40, 12], "job": ["yes", "yes", "no"], "wage": [5, 9, 0]})
    >>> broken_rows(table, {"age": ["age < 16 -> job == 'no'", "age < 16 -> wage == 0"]})
    {'age': 1}
    """
    rows = {}
    for name, rules in groups.items():
        parsed = [Rule.parse(rule) if isinstance(rule, str) else rule for rule in rules]
        broken = np.zeros(table.rows, dtype=bool)
        for rule in parsed:
            if rule.can_read(table.names):
                broken |= rule.violations(table, tables)
        rows[name] = int(broken.sum())
    return rows


@measure(
    name="rules",
    title="Rules kept",
    family="utility",
    meaning="Per cent of rows that keep the structural rules of the schema, averaged over the rules; the learned "
    "share says how much of a rule the method picked up.",
    better="higher",
    bounds=(0, 100),
    reference="Slokom et al. 2024 and Aghaddar et al. 2024 (analytical validity rules)",
    unit="%",
    needs=frozenset({"rules"}),
    sees_dependence=False,
)
def rules_kept(pair: Pair, rules: Sequence[str] | None = None) -> Result:
    """Mean compliance with the rules of the schema, or with rules given.

    Examples
    --------
    >>> original = {"age": [10, 40, 50, 12], "job": ["no", "yes", "no", "no"]}
    >>> rules_kept(Pair(original, {"age": [10, 40], "job": ["yes", "yes"]}), ["age < 16 -> job == 'no'"]).value
    0.0
    """
    names = pair.original.names
    lines = (
        [r for r in rules_for(pair.schema) if r.can_read(names)]
        if rules is None
        else parse_rules(rules, pair.schema)
    )
    table = rule_table(pair.original, {"protected": pair.protected}, lines)
    known = table["protected"].drop_nulls()
    if not len(known):
        return Result(
            "rules",
            float("nan"),
            "No rule applies to any row of the protected file.",
            table=table,
            counts=WHOLE,
        )
    value = float(known.mean())  # type: ignore[arg-type]
    learned = table["protected: learned"].drop_nulls().drop_nans()
    table = table.sort("protected", nulls_last=True)
    worst = table.row(0, named=True)
    text = f"{figure(value, '%')} of the rows keep a rule, on average over {len(lines)} rules."
    if worst["protected"] is not None and worst["protected"] < 100:
        text += f" Broken most often: {worst['rule']} ({worst['protected: broken']} rows)."
    return Result(
        name="rules",
        value=value,
        sentence=text,
        yardsticks={"original": float(np.nanmean(table["original"].to_numpy()))},
        values={"learned": float(learned.mean())} if len(learned) else {},  # type: ignore[arg-type]
        table=table,
        counts=WHOLE,
        chart=lambda: two_files(table.drop_nulls("protected"), "rule", "rows that keep the rule, %"),
    )
