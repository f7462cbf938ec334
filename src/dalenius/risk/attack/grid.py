"""Scenario grid: what an attacker gains with every set of keys he may know (Hittmeir, Mayer and Ekelhart 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.later import altair as alt
from dalenius.core.random import Seed, some_rows
from dalenius.core.style import HOLDOUT, ORIGINAL, QUIET, RISK
from dalenius.counts.pair import Pair
from dalenius.risk.attack.trained import Attack
from dalenius.risk.sampling import SEED


def attack_grid(
    pair: Pair,
    quasi_identifiers: Sequence[str],
    target: str,
    key_lengths: Sequence[int] = (3,),
    attackers: Sequence[str] = ("fr-nn", "ensemble"),
    *,
    most_subsets: int = 20,
    most: int | None = 3000,
    seed: Seed = SEED,
) -> pl.DataFrame:
    """Attack with every subset of the quasi-identifiers of some lengths: mean and spread of the accuracy.

    ``original`` is the same attacker trained on the original itself (upper reference), ``relative`` places the
    protected file between the zero rule (0) and that (1), ``unmatched`` is how many of the people attacked have keys
    that occur nowhere in the protected file (mean over the subsets).

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "t": ["p", "q"] * 20}
    >>> attack_grid(Pair(data, data), ["a", "b"], "t", (1,), ("forest",)).select("key length", "subsets").rows()
    [(1, 2)]
    """
    rows = []
    for length in key_lengths:
        if not 1 <= length <= len(quasi_identifiers):
            raise OptionError(f"key length {length} does not fit {len(quasi_identifiers)} quasi-identifiers")
        subsets = list(combinations(quasi_identifiers, length))
        kept = some_rows(len(subsets), most_subsets, seed, "subsets", length)
        attacks = [Attack(pair, subsets[i], target, most=most, seed=seed) for i in kept]
        rows += [{"key length": length, **_summary(attacks, name)} for name in attackers]
    return pl.DataFrame(rows, schema_overrides={"outsiders": pl.Float64})


def _summary(attacks: Sequence[Attack], name: str) -> dict[str, Any]:
    """One attacker over all subsets of keys."""
    found = np.array([a.accuracy(name) for a in attacks])
    top = float(np.mean([a.accuracy(name, train="original") for a in attacks]))
    zero = float(np.mean([a.zero_rule for a in attacks]))
    outside = [a.accuracy(name, "outsiders") for a in attacks if a.outsiders is not None]
    mean = float(found.mean())
    return {
        "attacker": name,
        "subsets": len(attacks),
        "accuracy": mean,
        "sd": float(found.std(ddof=1)) if len(found) > 1 else 0.0,
        "unmatched": float(np.mean([a.unmatched for a in attacks])),
        "outsiders": float(np.mean(outside)) if outside else None,
        "zero rule": zero,
        "original": top,
        "relative": (mean - zero) / (top - zero) if top > zero else float("nan"),
    }


def attack_grid_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the table of `attack_grid`: for each attacker a number line from the zero rule to the original.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 20, "b": ["u", "u", "v", "v"] * 10, "t": ["p", "q"] * 20}
    >>> table = attack_grid(Pair(data, data), ["a", "b"], "t", (1,), ("forest",))
    >>> len(attack_grid_chart(table).to_dict()["layer"])
    2
    """
    marks = {
        "zero rule": "zero rule",
        "accuracy": "protected",
        "outsiders": "outsiders",
        "original": "original",
    }
    who = pl.format("{}, {} keys", "attacker", "key length").alias("attack")
    long = (
        table.select(who, *(pl.col(name).alias(word) for name, word in marks.items()))
        .unpivot(index="attack", variable_name="of", value_name="accuracy")
        .drop_nulls()
    )
    colours = alt.Scale(domain=list(marks.values()), range=[QUIET, RISK, HOLDOUT, ORIGINAL])
    base = alt.Chart(long.to_arrow()).encode(y=alt.Y("attack:N", sort=None, title=None))
    line = base.mark_rule(color=QUIET).encode(x=alt.X("min(accuracy):Q"), x2=alt.X2("max(accuracy):Q"))
    x = alt.X("accuracy:Q", title="share of right guesses", scale=alt.Scale(domain=[0, 1]))
    points = base.mark_point(filled=True, size=60).encode(
        x=x, color=alt.Color("of:N", scale=colours, title=None)
    )
    return alt.layer(line, points).properties(width=420, height=max(60, 24 * table.height))
