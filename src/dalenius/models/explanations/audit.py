"""`audit_explanations`: what explanations of a model give away, with and without a defence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.later import altair as alt
from dalenius.core.random import Seed, generator
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.core.style import QUIET, RISK
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.explanations.defences import Agreement, Defence, agreement, defended
from dalenius.models.explanations.explain import Explanations, Method, Output, explain
from dalenius.models.explanations.leak import LeakVerdict, linear_leak_check
from dalenius.models.explanations.rebuilding import AttackName, Rebuilt, RecordReconstruction
from dalenius.models.measures import MODEL_MEASURES

ATTACKS: tuple[AttackName, ...] = ("linear", "columns", "tree", "nn")
PEOPLE = 300
QUERIES = 500


@dataclass(frozen=True, eq=False, repr=False)
class Audited:
    """What was found.

    Attributes
    ----------
    verdict
        What follows from the form of the model, before any attack.
    result
        The best attack, as a figure.
    rebuilt
        What each attacker reached.
    kept
        What the defence left of the explanations.
    """

    verdict: LeakVerdict
    result: Result
    rebuilt: Mapping[str, Rebuilt]
    kept: Agreement
    defence: Defence | None = None


def audit_explanations(case: ModelCase, *, defence: Defence | None = None, **options: Any) -> Audited:
    """Attack explanations of a model once; ``options`` are those of `audit_defences`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"a": rng.normal(size=80), "b": rng.normal(size=80), "y": rng.integers(0, 2, 80)}
    >>> train, others = draw(), draw()
    >>> model = LogisticRegression().fit(np.column_stack([train["a"], train["b"]]), train["y"])
    >>> found = audit_explanations(ModelCase.of(model, train, others, target="y"), output="logit", attacks=["linear"])
    >>> found.verdict.perfect, found.verdict.queries_needed, round(found.result.value, 6)
    (True, 3, 100.0)
    """
    return audit_defences(case, [defence], **options)[0]


def audit_defences(
    case: ModelCase,
    defences: Sequence[Defence | None],
    *,
    output: Output = "probability",
    method: Method = "auto",
    given: AnyArray | None = None,
    attacks: Sequence[AttackName] = ATTACKS,
    people: int = PEOPLE,
    queries: int = QUERIES,
    tau: float = 0.05,
    seed: Seed = 0,
) -> list[Audited]:
    """Let attackers learn from explanations of strangers and rebuild training records, after each defence in turn.

    Parameters
    ----------
    given
        Explanations that were made elsewhere (LIME, Captum, gradients), one row a training record; half of the people
        are then the attacker's own.
    people, queries
        Records that are rebuilt, and records of his own that the attacker may have explained.
    tau
        A number is right when it is off by less than this share of its range.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dalenius.models.explanations.defences import Quantize
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"a": rng.normal(size=80), "b": rng.normal(size=80), "y": rng.integers(0, 2, 80)}
    >>> train, others = draw(), draw()
    >>> model = LogisticRegression().fit(np.column_stack([train["a"], train["b"]]), train["y"])
    >>> case = ModelCase.of(model, train, others, target="y")
    >>> table = defence_table(audit_defences(case, [None, Quantize(0)], attacks=["linear"], output="logit"))
    >>> table["defence"].to_list(), (table["skill %"].diff().drop_nulls() < 0).all()
    (['none', '0 decimals'], True)
    """
    stolen, own = _sides(case, output, method, given, people, queries, seed)
    verdict = (
        LeakVerdict(False, (), ())
        if given is not None
        else linear_leak_check(case, own.records, output=output)
    )
    if own.values.shape[1] != case.design.width:  # explanations of other things than columns, made elsewhere
        attacks = [name for name in attacks if name != "columns"]
    found = []
    for defence in defences:
        shown = [defended(part, defence, seed) for part in (stolen, own)]
        rebuilt: dict[str, Rebuilt] = {}
        for name in attacks:
            attack = RecordReconstruction(name, case.design.levels, seed)
            rebuilt[name] = attack.fit(shown[1]).evaluate(shown[0], tau=tau)
        result = _result(verdict, rebuilt, len(stolen.values), defence)
        found.append(Audited(verdict, result, rebuilt, agreement(stolen.values, shown[0].values), defence))
    return found


def _sides(
    case: ModelCase,
    output: Output,
    method: Method,
    given: AnyArray | None,
    people: int,
    queries: int,
    seed: Seed,
) -> tuple[Explanations, Explanations]:
    """Explanations of people of the training file, and those the attacker had made of his own."""
    mine = ~np.isnan(case.matrix).any(axis=1)
    order = generator(seed, "people").permutation(np.flatnonzero(mine))
    if given is not None:
        values = np.asarray(given, np.float64)
        if values.shape[0] != case.train.rows:
            raise OptionError(
                f"{len(values)} explanations are given and {case.train.rows} training records; give one row a record"
            )
        names = (
            case.features if values.shape[1] == case.design.width else tuple(map(str, range(values.shape[1])))
        )
        known = Explanations(
            values[order], case.matrix[order], names if len(names) == values.shape[1] else case.features
        )
        half = len(order) // 2
        return known.take(np.arange(min(half, people))), known.take(
            np.arange(half, min(len(order), half + queries))
        )
    if case.holdout is None:
        raise OptionError("people whom the model never saw are needed as the attacker's own; give a holdout")
    theirs = case.design.matrix(case.holdout)
    theirs = theirs[~np.isnan(theirs).any(axis=1)]
    theirs = theirs[generator(seed, "queries").permutation(len(theirs))][:queries]
    both = np.concatenate([case.matrix[order[:people]], theirs])
    found = explain(case, both, output=output, method=method, background=case.matrix[mine][:50], seed=seed)
    count = len(both) - len(theirs)
    return found.take(np.arange(count)), found.take(np.arange(count, len(both)))


def _result(
    verdict: LeakVerdict, rebuilt: Mapping[str, Rebuilt], people: int, defence: Defence | None
) -> Result:
    name, best = max(rebuilt.items(), key=lambda pair: pair[1].skill)
    value = 100 * best.skill
    half = 196 * best.error_se / best.null_mae if best.null_mae > 0 else math.nan
    after = "" if defence is None else f" after {defence.words}"
    text = (
        f"From explanations of {people:,} people{after} and {best.queries:,} queries of his own, the "
        f"best attacker ({name}) "
        f"errs {figure(value, '%')} less about a value than one who guesses, gets "
        f"{figure(100 * best.success, '%')} of the "
        f"values right (a guess {figure(100 * best.null_success, '%')}) and "
        f"{figure(100 * best.record_success, '%')} of the "
        "whole records."
    )
    return Result(
        "model-explanations", value, f"{verdict.sentence} {text}" if defence is None else text, "%",
        interval=Interval(value - half, min(value + half, 100.0)), yardsticks={"a guess": 0.0, "exact": 100.0},
        values={"error": best.mae, "error of a guess": best.null_mae, "values right %": 100 * best.success,
                "records right %": 100 * best.record_success, "queries": float(best.queries)},
        table=best.per_feature, counts=WHOLE, chart=lambda: column_chart(best.per_feature),
    ).with_info(MODEL_MEASURES["model-explanations"])  # fmt: skip


def column_chart(table: pl.DataFrame) -> Any:
    """Error about each column beside that of a guess."""
    long = table.select(
        "column", pl.col("mae").alias("attacker"), pl.col("mae of a guess").alias("guess")
    ).unpivot(index="column", variable_name="who", value_name="error")
    return (
        alt.Chart(long.to_arrow())
        .mark_point(size=80, filled=True)
        .encode(
            x=alt.X("error:Q", title="mean error, on a scale from 0 to 1", scale=alt.Scale(domainMin=0)),
            y=alt.Y("column:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)),
            color=alt.Color(
                "who:N", title=None, scale=alt.Scale(domain=["attacker", "guess"], range=[RISK, QUIET])
            ),
            shape=alt.Shape("who:N", title=None, scale=alt.Scale(domain=["attacker", "guess"])),
        )
        .properties(width=420)
    )


def defence_table(audits: Sequence[Audited]) -> pl.DataFrame:
    """Defences side by side: what an attacker still reaches, and what is left of the explanations."""
    return pl.DataFrame(
        [
            {
                "defence": "none" if found.defence is None else found.defence.words,
                "skill %": found.result.value,
                "values right %": found.result.values["values right %"],
                "records right %": found.result.values["records right %"],
                "mean change": found.kept.change,
                "rank agreement": found.kept.ranks,
                "same top column %": 100 * found.kept.top,
            }
            for found in audits
        ]
    )


def defence_chart(table: pl.DataFrame) -> Any:
    """What is left of the explanations against what an attacker still reaches."""
    base = alt.Chart(table.to_arrow()).properties(width=460, height=300)
    title = "explanations left: agreement of the columns' order"
    x = alt.X("rank agreement:Q", title=title, scale=alt.Scale(domain=[0, 1], clamp=True))
    y = alt.Y("skill %:Q", title="records rebuilt: % better than a guess")
    points = base.mark_point(size=80, filled=True, color=RISK).encode(
        x=x, y=y, tooltip=[alt.Tooltip("defence"), alt.Tooltip("skill %")]
    )
    # names stand on the side where there is room for them
    near, far = (base.transform_filter(f"datum['rank agreement'] {sign} 0.5") for sign in ("<", ">="))
    left = near.mark_text(align="left", dx=8, fontSize=11).encode(x=x, y=y, text=alt.Text("defence:N"))
    right = far.mark_text(align="right", dx=-8, fontSize=11).encode(x=x, y=y, text=alt.Text("defence:N"))
    return alt.layer(points, left, right)
