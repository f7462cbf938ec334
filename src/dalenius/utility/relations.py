"""Several tables: whether keys hold, families have their sizes, and what belongs together still goes together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.database_pair import BEFORE, DatabasePair, chains, database_measure
from dalenius.counts.pair import Pair
from dalenius.data.relations import Database, Link, key_values
from dalenius.data.relations_rules import broken_share, parse_crossing
from dalenius.utility.charts import two_files
from dalenius.utility.dependence import SCHEMA, dependence_kept, dependence_table
from dalenius.utility.distributions import column_figures, ks_distance
from dalenius.utility.propensity.learners import learner_propensity
from dalenius.utility.trends import pair_trends_table

SDMETRICS = "SDMetrics 0.32 (multi-table quality report)"


def _plain(link: Link) -> str:
    return f"{link.child}.{link.child_key} -> {link.parent}"


def _shares(rows: Sequence[Mapping[str, object]], column: str) -> tuple[float, pl.DataFrame]:
    table = pl.DataFrame(list(rows))
    known = table[column].drop_nulls().drop_nans() if table.height else pl.Series([], dtype=pl.Float64)
    return (float(known.mean()) if len(known) else float("nan")), table  # type: ignore[arg-type]


@database_measure(
    name="keys-and-orphans", title="Keys and orphans", family="utility", better="higher", bounds=(0, 100), unit="%",
    meaning="Per cent of rows whose key is their own and whose parent is there, averaged over keys and links.",
    reference="Slokom et al. 2024 (structure check); SDMetrics: ReferentialIntegrity", sees_dependence=False,
    sees_spread=False,
)  # fmt: skip
def keys_and_orphans(pair: DatabasePair) -> Result:
    """Share of rows with a key of their own and, for each link, with a parent (where the original's rows have one).

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1]}})
    >>> keys_and_orphans(DatabasePair(base, base)).value
    100.0
    """
    rows = []
    for name in pair.tables:
        key = pair.original.keys.get(name)
        if key is not None:
            good = [_own_key(base, name, key) for base in pair.sides[:2]]
            rows.append({"what": f"key {name}.{key}", "original": good[0], "protected": good[1]})
    for link in pair.links:
        good = [_with_parent(base, link) for base in pair.sides[:2]]
        rows.append({"what": f"link {_plain(link)}", "original": good[0], "protected": good[1]})
    value, table = _shares(rows, "protected")
    none: dict[str, Any] = {"what": "", "protected": 100.0}
    worst = table.sort("protected").row(0, named=True) if table.height else none
    text = f"{figure(value, '%')} of keys and links hold"
    text += (
        "." if worst["protected"] >= 100 else f"; worst: {worst['what']} ({figure(worst['protected'], '%')})."
    )
    return Result("keys-and-orphans", value, text, table=table, counts=WHOLE, yardsticks=_original(table))


def _original(table: pl.DataFrame) -> dict[str, float]:
    known = table["original"].drop_nulls() if table.height else pl.Series([], dtype=pl.Float64)
    return {"original": float(known.mean())} if len(known) else {}  # type: ignore[arg-type]


def _own_key(base: Database, table: str, key: str) -> float:
    if key not in base[table] or not base[table].rows:
        return 100.0 if not base[table].rows else 0.0
    values = key_values(base[table][key])
    return 100 * int((~values.is_duplicated() & values.is_not_null()).sum()) / len(values)


def _with_parent(base: Database, link: Link) -> float:
    stated = base[link.child][link.child_key].present
    return 100 * float((base.places(link)[stated] >= 0).mean()) if stated.any() else 100.0


@database_measure(
    name="cardinality", title="Numbers of children", family="utility", better="higher", bounds=(0, 1),
    meaning="How alike the numbers of children of parents are, averaged over links: 1 is the same distribution.",
    reference=f"{SDMETRICS}: CardinalityShapeSimilarity", needs=frozenset({"links"}),
)  # fmt: skip
def cardinality_kept(pair: DatabasePair) -> Result:
    """One minus the Kolmogorov–Smirnov distance of the numbers of children, averaged over links.

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1]}})
    >>> cardinality_kept(DatabasePair(base, base)).value
    1.0
    """
    rows = []
    for link in pair.links:
        sizes = [base.sizes(link) for base in pair.sides]
        if not len(sizes[0]) or not len(sizes[1]):
            continue
        scores = [1 - ks_distance(sizes[0], other) for other in sizes[1:] if len(other)]
        rows.append({
            "link": _plain(link), "score": scores[0], "original": float(sizes[0].mean()),
            "protected": float(sizes[1].mean()), "holdout": scores[1] if len(scores) > 1 else None,
        })  # fmt: skip
    value, table = _shares(rows, "score")
    text = f"Numbers of children agree to {figure(100 * value, '%')} on average over {table.height} links."
    held = table["holdout"].drop_nulls() if table.height else pl.Series([])
    beside = {"holdout": float(held.mean())} if len(held) else {}  # type: ignore[arg-type]
    return Result("cardinality", value, text, table=table, counts=WHOLE, yardsticks=beside)


def _crossing(pair: Pair | None, left: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Pairs of columns of which one is on the left and the other is not."""
    names = [] if pair is None else pair.columns
    return [(a, b) for a in names if left(a) for b in names if not left(b)]


def _kept(name: str, tables: Sequence[pl.DataFrame], words: str, held: float | None) -> Result:
    """How much of what goes together is the same in both databases."""
    table = pl.concat([pl.DataFrame(schema=SCHEMA), *tables])
    value = dependence_kept(table)
    shown = table.filter(pl.col("score").is_not_nan()).sort("size", descending=True)
    text = f"Of what goes together between {words}, {figure(100 * value, '%')} is the same."
    if not shown.height:
        text = f"Nothing goes together between {words}, in either database."
    else:
        lost = shown.with_columns((pl.col("size") - pl.col("kept")).alias("lost")).sort(
            "lost", descending=True
        )
        worst = lost.row(0, named=True)
        text += (
            f" Furthest off: {worst['first']} with {worst['second']} ({figure(100 * worst['score'], '%')})."
        )
    beside = {"dealt out at random": 0.0}
    if held is not None and not np.isnan(held):
        beside = {"holdout": held, **beside}
    table = shown.drop("kept", "size")
    return Result(name, value, text, table=table, counts=WHOLE, yardsticks=beside)


def held_figure(pair: DatabasePair, measured: Callable[[DatabasePair], Result]) -> float | None:
    """The figure of the holdout, were it the protected database."""
    if pair.holdout is None:
        return None
    return measured(DatabasePair(pair.original, pair.holdout, threshold=pair.threshold)).value


@database_measure(
    name="parent-child", title="Parents and children", family="utility", better="higher", bounds=(0, 1),
    meaning="How much of what goes together between columns of parents and of their children is the same: 1 all, 0 "
    "what children dealt out at random keep.",
    reference="Gretton, Bousquet, Smola, Schölkopf 2005 (dependence of two columns), of both databases",
    needs=frozenset({"links"}),
)  # fmt: skip
def parent_child(pair: DatabasePair) -> Result:
    """Agreement of the dependence of all pairs of a parent's and a child's column (`dependence_kept`).

    Examples
    --------
    >>> homes = {"id": [1, 2], "area": ["n", "s"]}
    >>> base = Database.of({"homes": homes, "people": {"home_id": [1, 2], "sex": ["f", "m"]}})
    >>> parent_child(DatabasePair(base, base)).value
    1.0
    """
    tables = []
    for link in pair.links:
        if not link.own:
            held = pair.joined(link)
            crossing = _crossing(held, lambda n, link=link: n.startswith(f"{link.parent}."))  # type: ignore[misc]
            tables.append(dependence_table(held, crossing))
    return _kept("parent-child", tables, "parents and children", held_figure(pair, parent_child))


@database_measure(
    name="grandparent-child", title="Grandparents and children", family="utility", better="higher", bounds=(0, 1),
    meaning="How much of what goes together between grandparents and grandchildren is the same: 1 all, 0 nothing.",
    reference="Gretton, Bousquet, Smola, Schölkopf 2005, one link further",
    needs=frozenset({"grandparents"}),
)  # fmt: skip
def grandparent_child(pair: DatabasePair) -> Result:
    """The same for all pairs of a grandparent's and a grandchild's column."""
    tables = []
    for link, above in chains(pair):
        held = pair.joined(link, above)
        crossing = _crossing(held, lambda n, above=above: n.startswith(f"{above.parent}."))  # type: ignore[misc]
        tables.append(dependence_table(held, crossing))
    return _kept(
        "grandparent-child", tables, "grandparents and children", held_figure(pair, grandparent_child)
    )


@database_measure(
    name="siblings", title="Siblings", family="utility", better="higher", bounds=(0, 1),
    meaning="How much of what goes together between a row and the one before it of the same parent is the same: 1 all, "
    "0 nothing.",
    reference="Gretton, Bousquet, Smola, Schölkopf 2005, of rows of one parent", needs=frozenset({"several children"}),
)  # fmt: skip
def sibling_trends(pair: DatabasePair) -> Result:
    """Agreement of the dependence of all pairs of a column and a column of the sibling before.

    Examples
    --------
    >>> base = Database.of({"homes": {"id": [1, 2]}, "people": {"home_id": [1, 1, 2, 2], "sex": ["f", "m", "f", "m"]}})
    >>> sibling_trends(DatabasePair(base, base)).value
    1.0
    """
    held = [pair.siblings(link) for link in pair.links if not link.own]
    tables = [dependence_table(one, _crossing(one, lambda n: n.startswith(BEFORE))) for one in held]
    return _kept("siblings", tables, "rows of one parent", held_figure(pair, sibling_trends))


@database_measure(
    name="family-detection", title="Families told apart", family="utility", better="lower", bounds=(0.5, 1),
    meaning="How well a learner tells original parents with what their children sum to from made ones: 0.5 is chance.",
    reference="Fössing, Drechsler 2024 (detection), of parents with summarised children", needs=frozenset({"links"}),
    random=True,
)  # fmt: skip
def family_detection(pair: DatabasePair, seed: int = 0) -> Result:
    """Largest area under the curve over parent tables, cross-validated."""
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(link.parent for link in pair.links if not link.own):
        held = pair.families(name)
        if held is None or min(held.original.rows, held.protected.rows) < 20:
            continue
        fit = learner_propensity(held, None, learner="boosting", repeats=0, seed=seed)
        area = float(np.mean(fit.fold_auc)) if fit.fold_auc else 0.5
        rows.append({"table": name, "area": max(area, 0.5)})  # copies are told apart worse than by chance
    value, table = (
        (max(float(r["area"]) for r in rows), pl.DataFrame(rows)) if rows else (float("nan"), pl.DataFrame())
    )
    text = (
        f"A learner tells original families from made ones with an area of {figure(value)} (0.5 is chance)."
    )
    return Result(
        "family-detection", value, text, table=table, counts=WHOLE, yardsticks={"cannot be told apart": 0.5}
    )


@database_measure(
    name="event-order", title="Gaps and transitions of events", family="utility", better="higher", bounds=(0, 1),
    meaning="How alike the gaps between events and what follows what are: 1 is the same.",
    reference="Slokom et al. 2024 (conditional distributions), of events", needs=frozenset({"an order"}),
)  # fmt: skip
def event_order(pair: DatabasePair) -> Result:
    """Mean of the likeness of gaps and of the transitions of every category.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> event_order(DatabasePair(base, base)).value
    1.0
    """
    rows = []
    for link in pair.links:
        if link.child in pair.original.order and not link.own:
            rows += _events(pair.siblings(link), link.child)
    value, table = _shares(rows, "score")
    text = f"Gaps and transitions of events agree to {figure(100 * value, '%')}."
    held = held_figure(pair, event_order)
    return Result(
        "event-order", value, text, table=table, counts=WHOLE, yardsticks={} if held is None else {"holdout": held}
    )  # fmt: skip


def _events(pair: Pair | None, child: str) -> list[dict[str, object]]:
    if pair is None:
        return []
    rows: list[dict[str, object]] = []
    if "gap" in pair.original:
        gaps = [side["gap"].floats() for side in (pair.original, pair.protected)]
        rows.append({"table": child, "what": "gaps", "score": 1 - ks_distance(gaps[0], gaps[1])})
    for name in [
        n for n in pair.columns if f"{BEFORE}{n}" in pair.columns and not pair.original[n].is_number
    ]:
        follows = dependence_table(pair, [(f"{BEFORE}{name}", name)])
        rows.append({"table": child, "what": f"transitions of {name}", "score": dependence_kept(follows)})
    return rows


@database_measure(
    name="rules-across-tables", title="Rules across tables", family="utility", better="higher", bounds=(0, 100),
    unit="%",
    meaning="Per cent of rows (or parents, for totals) that keep the rules across tables, averaged over the rules.",
    reference="Slokom et al. 2024 (analytical validity rules)", needs=frozenset({"rules across tables"}),
    sees_spread=False,
)  # fmt: skip
def rules_across(pair: DatabasePair) -> Result:
    """Mean compliance with the rules across tables.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> rules_across(DatabasePair(base, base)).value
    100.0
    """
    rows = []
    for text, rule in zip(
        pair.original.rules, parse_crossing(pair.original.rules, pair.original.links), strict=True
    ):
        kept = [100 * (1 - broken_share(base, rule)) for base in pair.sides[:2]]
        rows.append({"rule": text, "original": kept[0], "protected": kept[1]})
    value, table = _shares(rows, "protected")
    said = (
        f"{figure(value, '%')} of the rows keep a rule across tables, on average over {table.height} rules."
    )
    chart = lambda: two_files(table, "rule", "rows that keep the rule, %")  # noqa: E731
    return Result(
        "rules-across-tables",
        value,
        said,
        table=table,
        counts=WHOLE,
        yardsticks=_original(table),
        chart=chart,
    )


def quality_report(pair: DatabasePair) -> pl.DataFrame:
    """SDMetrics' quality report of several tables: column shapes, pairs, cardinality, intertable trends, their mean.

    Weak pairs are left out of the trends, as there.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> quality_report(DatabasePair(base, base))["score"].to_list()
    [1.0, nan, 1.0, 1.0, 1.0]
    """
    shapes: list[float] = []
    trends: list[float] = []
    for name in pair.tables:
        held = pair.table(name)
        if held is not None:
            shapes += column_figures(held)["shape"].drop_nulls().drop_nans().to_list()
            measured = (
                pair_trends_table(held).filter("strong")["score"] if len(held.columns) > 1 else pl.Series([])
            )
            trends += measured.drop_nulls().to_list()
    between = [_intertable(pair.joined(link), link) for link in pair.links if not link.own]
    scores = {
        "Column Shapes": shapes, "Column Pair Trends": trends,
        "Cardinality": [cardinality_kept(pair).value],
        "Intertable Trends": [score for one in between for score in one],
    }  # fmt: skip
    means = {name: float(np.mean(held)) if held else float("nan") for name, held in scores.items()}
    means["overall"] = float(np.nanmean(list(means.values())))
    return pl.DataFrame({"property": list(means), "score": list(means.values())})


def _intertable(pair: Pair | None, link: Link) -> list[float]:
    """SDMetrics' scores of strong pairs of a parent's and a child's column."""
    if pair is None or len(pair.columns) < 2:
        return []
    above = (
        pl.col("first").str.starts_with(f"{link.parent}."),
        pl.col("second").str.starts_with(f"{link.parent}."),
    )
    strong = pair_trends_table(pair).filter(pl.col("strong") & (above[0] != above[1]))
    scores: list[float] = strong["score"].drop_nulls().to_list()
    return scores
