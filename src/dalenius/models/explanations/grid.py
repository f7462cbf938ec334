"""`risk_grid`: models, attackers, numbers of queries and defences, each with each, several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.explanations.defences import Defence, defended
from dalenius.models.explanations.explain import Method, Output, explain
from dalenius.models.explanations.rebuilding import AttackName, RecordReconstruction


def risk_grid(
    cases: Mapping[str, ModelCase],
    attacks: Mapping[str, tuple[AttackName, Mapping[str, Any]]] | Sequence[AttackName] = ("linear", "nn"),
    queries: Sequence[int] = (30, 100, 300),
    *,
    explainers: Sequence[Method] = ("auto",),
    outputs: Sequence[Output] = ("probability",),
    defences: Sequence[Defence | None] = (None,),
    people: int = 200,
    repeats: int = 5,
    tau: float = 0.05,
    seed: Seed = 0,
) -> pl.DataFrame:
    """One line for each model, explainer, output, attack, number of queries, defence and column, over repeats.

    ``attacks`` may be given by name with options, such as ``{"rmsprop": ("nn", {"optimizer": "rmsprop"})}``. A line
    whose column is "all" is over all columns.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(1)
    >>> train, others = ({"a": rng.normal(size=80), "b": rng.normal(size=80), "y": rng.normal(size=80)} for _ in "ab")
    >>> model = LinearRegression().fit(np.column_stack([train["a"], train["b"]]), train["y"])
    >>> cases = {"linear": ModelCase.of(model, train, others, target="y")}
    >>> found = risk_grid(cases, ["linear"], [5, 50], repeats=2)
    >>> found["column"].to_list(), (found["mae"] < 1e-8).all()
    (['a', 'b', 'all', 'a', 'b', 'all'], True)
    """
    named = attacks if isinstance(attacks, Mapping) else {str(a): (a, {}) for a in attacks}
    lines: list[dict[str, Any]] = []
    for title, case in cases.items():
        targets, own = _people(case, people, max(queries), seed)
        for method in explainers:
            for output in outputs:
                both = explain(
                    case,
                    np.concatenate([targets, own]),
                    output=output,
                    method=method,
                    background=case.matrix[:50],
                    seed=seed,
                )
                for defence in defences:
                    shown = defended(both, defence, seed)
                    for label, (name, options) in named.items():
                        for size in queries:
                            facts = {
                                "model": title, "explainer": both.method, "output": output, "attack": label,
                                "queries": size, "defence": "none" if defence is None else defence.words,
                            }  # fmt: skip
                            tried = [
                                _tried(case, shown, len(targets), size, name, options, tau, seed, repeat)
                                for repeat in range(repeats)
                            ]
                            lines += _lines(facts, tried)
    return pl.DataFrame(lines)


def _people(case: ModelCase, people: int, most: int, seed: Seed) -> tuple[AnyArray, AnyArray]:
    assert case.holdout is not None, "a grid needs people of the attacker's own: a holdout"
    held = [m[~np.isnan(m).any(axis=1)] for m in (case.matrix, case.design.matrix(case.holdout))]
    picked = [
        generator(seed, word).permutation(len(m)) for m, word in zip(held, ("people", "queries"), strict=True)
    ]
    return held[0][picked[0][:people]], held[1][picked[1][: 3 * most]]


def _tried(
    case: ModelCase, shown: Any, targets: int, size: int, name: AttackName, options: Mapping[str, Any], tau: float,
    seed: Seed, repeat: int,
) -> pl.DataFrame:  # fmt: skip
    own = generator(seed, "own", repeat).permutation(np.arange(targets, len(shown.values)))[:size]
    attack = RecordReconstruction(name, case.design.levels, repeat, options)
    rebuilt = attack.fit(shown.take(own)).evaluate(shown.take(np.arange(targets)), tau=tau)
    table = rebuilt.per_feature.select("column", "mae", "right %", pl.col("mae of a guess").alias("null mae"))
    whole = pl.DataFrame(
        {
            "column": ["all"],
            "mae": [rebuilt.mae],
            "right %": [100 * rebuilt.success],
            "null mae": [rebuilt.null_mae],
        }
    )
    return pl.concat([table, whole])


def _lines(facts: Mapping[str, Any], tried: Sequence[pl.DataFrame]) -> list[dict[str, Any]]:
    figures = ("mae", "right %", "null mae")
    stacked = {name: np.array([t[name].to_numpy() for t in tried]) for name in figures}
    return [
        {
            **facts, "column": column, **{n: float(stacked[n][:, place].mean()) for n in figures},
            "sd of mae": float(stacked["mae"][:, place].std(ddof=1)) if len(tried) > 1 else 0.0,
        }
        for place, column in enumerate(tried[0]["column"])
    ]  # fmt: skip
