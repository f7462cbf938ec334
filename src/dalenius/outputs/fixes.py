"""Fixes: ways to make an output releasable, each checked again (memory included) and with its price.

A fix is a function from an output to an `Attempt`. The price is the share of what the output shows that is lost, in
percent: cells taken out, categories merged, figures moved. It is computed from what is shown afterwards and from the
fix itself, never from what the fix hides: a price to four digits would give a hidden count back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.errors import names as listed
from dalenius.dp.budget import Budget
from dalenius.outputs.checks import CHECKS, Finding, finding
from dalenius.outputs.edges import telling_edges
from dalenius.outputs.evidence import collect
from dalenius.outputs.judge import Judged, judge
from dalenius.outputs.merging import MERGED, marks_left, merges, shares
from dalenius.outputs.output import Output, Values
from dalenius.outputs.position import tail_share
from dalenius.outputs.query import ALL, Bools, Floats, Query
from dalenius.tables import Altered, Manual, PTable, controlled_round, define, noisy_table, perturb, protect
from dalenius.tables.model import TableModel

ROUNDS = 12
MOST_MERGES = 200


@dataclass(frozen=True, eq=False)
class Attempt:
    """What came of a fix.

    Attributes
    ----------
    judged, values
        Findings and figures afterwards.
    merged
        The question that is answered instead, where categories were merged.
    exact
        Whether what is shown is exact.
    primary
        Cells that were taken out because checks mark them.
    price
        Share of what is lost, in percent.
    """

    way: str
    judged: Judged
    values: Values
    price: float
    told: str
    merged: Query | None = None
    exact: bool = True
    primary: Bools | None = None
    facts: Mapping[str, float] = field(default_factory=dict)


Fix = Callable[..., Attempt]
FIXES: dict[str, Fix] = {}


def fix(function: Fix) -> Fix:
    """Register a fix under the name of its function."""
    FIXES[function.__name__.rstrip("_")] = function
    return function


def offers(out: Output) -> pl.DataFrame:
    """All fixes of the output's statbarns with what would come of them, the cheapest that passes first.

    Examples
    --------
    >>> from dalenius.outputs import Desk
    >>> out = Desk().table({"g": ["a"] * 30 + ["b"] * 12 + ["c"] * 4}, by="g")
    >>> out.suggest()["fix"].to_list()[:2]
    ['round', 'suppress']
    """
    rows = [(a.way, a.judged.status, round(a.price, 2), a.told) for a in attempts(out)]
    schema = {"fix": pl.String, "status": pl.String, "price_percent": pl.Float64, "what": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def attempts(out: Output) -> list[Attempt]:
    """What comes of every fix of the output's statbarns, the cheapest that passes first."""
    tried = [attempt for way in ways_of(out) for attempt in [_tried(out, way)] if attempt is not None]
    return sorted(tried, key=lambda a: (("pass", "review", "fail").index(a.judged.status), a.price))


def shown_by(out: Output, attempt: Attempt) -> pl.DataFrame:
    """The table that would leave after a fix."""
    trial = Output(
        out.desk, out.record, out.query, attempt.judged, attempt.values, original=out.original, merged=attempt.merged
    )  # fmt: skip
    return trial.table()


def ways_of(out: Output) -> list[str]:
    """Names of the fixes that make sense for an output."""
    return list(dict.fromkeys(way for barn in out.judged.statbarns for way in barn.fixes if way in FIXES))


def repair(out: Output, way: str = "auto", **options: Any) -> Output:
    """Carry out a fix: the named one, or the cheapest that passes."""
    if way == "auto":
        table = offers(out)
        good = table.filter(pl.col("status") == "pass")
        if not len(good):
            out.record.notes.append(
                "no fix makes this output pass; ask for an exception, or choose another table"
            )
            return out
        way = str(good["fix"][0])
    if way not in FIXES:
        raise OptionError(f"no fix {way!r}; this output can have {listed(ways_of(out)) or 'none'}")
    attempt = FIXES[way](out, **options)
    out.judged, out.values, out.merged = attempt.judged, attempt.values, attempt.merged or out.merged
    out.exact, out.rounded, out.primary = attempt.exact, way == "round", attempt.primary
    if way == "noise":
        out.desk.memory.drawn.pay(out, attempt.facts["epsilon"], options.get("ledger") is not None)
    out.record.fix, out.record.loss = way, {"price_percent": round(attempt.price, 4), **attempt.facts}
    out.desk.judged(out, notes=[attempt.told])
    if attempt.merged is None and out.render is not None:
        out.shown = out.render(out.values)
    else:
        out.shown = out.table().to_pandas()
    if out.chart is not None:
        out.shown = out.chart(out.table()) if out.status == "pass" else None
    out.desk.note("fixed", out.record.uid, fix=way, status=out.status, loss=out.record.loss)
    return out


def _tried(out: Output, way: str) -> Attempt | None:
    try:
        return FIXES[way](out)
    except OptionError:
        return None


def _looked_back(
    out: Output, judged: Judged, values: Values, merged: Query | None = None, **how: Any
) -> Judged:
    """Findings with what earlier outputs add, were this the output."""
    trial = Output(
        out.desk, out.record, out.query, judged, values, original=out.original, merged=merged, **how
    )
    judged = judged.with_findings(*carried(out), *telling_edges(out.desk, out.query, judged.evidence))
    return judged.with_findings(*out.desk.looked_back(replace(trial, judged=judged)))


def carried(out: Output) -> list[Finding]:
    """Findings that no fix can mend, such as units that did not come with the data."""
    return [
        f for f in out.judged.findings if f.check not in CHECKS and f.check not in ("differencing", *FIXES)
    ]


def _need_values(out: Output) -> Values:
    if out.original is None or not out.query.rows:
        raise OptionError("this fix is for tables made at the desk")
    return out.original


# Suppression.


@fix
def suppress(out: Output) -> Attempt:
    """Take out the marked cells, and with margins others without which they could be computed."""
    values, primary = _need_values(out), out.flagged.copy()
    if not primary.any():
        raise OptionError("no single cell is marked, so none can be taken out")
    if out.query.facts.get("shares"):
        raise OptionError(
            "shares add up to 100 %, so that a missing one follows from the others; make the table of counts, or merge"
        )
    for _ in range(ROUNDS):
        hidden = primary | _secondary(out, primary)
        shown = {name: np.where(hidden, np.nan, v) for name, v in values.items()}
        judged = _looked_back(out, without(out.judged, hidden), shown, primary=primary.copy())
        fresh = _marked_by(judged, "differencing") & ~hidden
        if not fresh.any():
            break
        primary |= _instead(out, fresh, hidden)
    inner = slice(0, max(out.query.cells, 1))
    if hidden.all():
        raise OptionError("every cell would be taken out; merge categories, or make another table")
    second = int((hidden & ~primary).sum())
    told = f"{int(primary.sum())} marked cells taken out" + (
        f", {second} more to protect them" if second else ""
    )
    price = 100.0 * hidden[inner].mean()
    facts = {"cells_lost": float(hidden.sum())}
    return Attempt("suppress", judged, shown, float(price), told, primary=primary, facts=facts)


def _instead(out: Output, fresh: Bools, hidden: Bools) -> Bools:
    """For a margin that tells too much the smallest shown cell below it; other cells as they are."""
    cells, counts = out.query.cells, out.judged.evidence.number
    chosen = fresh.copy()
    chosen[cells:] = False
    labels = out.query.frame().to_numpy() if fresh[cells:].any() else np.zeros((0, 0))
    for margin in np.flatnonzero(fresh[cells:]) + cells:
        below = ((labels[:cells] == labels[margin]) | (labels[margin] == ALL)).all(axis=1)
        open_ones = np.flatnonzero(below & ~hidden[:cells] & (counts[:cells] > 0))
        chosen[open_ones[np.argmin(counts[open_ones])] if len(open_ones) else margin] = True
    return chosen


def _marked_by(judged: Judged, name: str) -> Bools:
    size = len(judged.evidence.cells)
    hit = [
        f.flagged
        for f in judged.findings
        if f.check == name and f.verdict == "fail" and len(f.flagged) == size
    ]
    return hit[0] if hit else np.zeros(size, np.bool_)


def without(judged: Judged, hidden: Bools) -> Judged:
    """The findings that are left when some cells are not shown."""
    kept: list[Finding] = []
    for each in judged.findings:
        if len(each.flagged) != len(hidden) or each.check == "differencing":
            kept += [each] if each.check != "differencing" else []
            continue
        open_ones = each.flagged & ~hidden
        words = each.sentence.split(": ", 1)[-1].rstrip(".")
        again = finding(
            each.check,
            judged.evidence,
            open_ones,
            words,
            verdict=each.verdict if each.verdict != "pass" else "fail",
        )
        kept.append(again)
    return replace(judged, findings=tuple(kept))


def _secondary(out: Output, primary: Bools) -> Bools:
    """Further cells of a table with margins, by the suppression of tables."""
    if not out.query.margins or not out.query.dimensions:
        return np.zeros(len(primary), np.bool_)
    model, places = count_model(out.query, out.judged.evidence.figures["units"])
    mask = np.zeros(len(model.cells), np.bool_)
    mask[places] = primary
    result = protect(model, Manual(mask), secondary_zeros=out.desk.policy.zeros)
    return np.asarray(result.suppressed[places] & ~primary)


def count_model(query: Query, counts: Floats) -> tuple[TableModel, Any]:
    """A table as the room of tables sees it, and the place of each of our cells in it."""
    labels = query.frame()[: query.cells]
    frame = labels.rename({n: f"d{i}" for i, n in enumerate(query.names)})
    frame = frame.with_columns(pl.Series("n", np.rint(counts[: query.cells]).astype(np.int64)))
    model = define(frame, [f"d{i}" for i in range(len(query.names))], freq="n", total=ALL, nested=False)
    at = {
        row: i
        for i, row in enumerate(model.cells.select([f"d{i}" for i in range(len(query.names))]).iter_rows())
    }
    return model, np.array([at[row] for row in query.frame().iter_rows()], np.int64)


# Rounding and noise.


@fix
def round_(out: Output, base: int | None = None) -> Attempt:
    """Round counts so that they still add up, and no marked cell can be told from one that would pass.

    A shown 0 is any count below the base, so that a base below the threshold would tell that few are behind it.
    """
    values, policy = _counts(out), out.desk.policy
    base = max(policy.round_base, policy.threshold) if base is None else base
    if base < policy.threshold:
        raise OptionError(
            f"base: with {base} the rounded count still tells that few are behind it; "
            f"take the threshold ({policy.threshold}) or more"
        )
    model, places = count_model(out.query, next(iter(values.values())))
    altered = controlled_round(model, base)
    told = f"all counts are rounded to multiples of {base}"
    return _changed(out, "round", altered, places, told, move=base / 4)


@fix
def cell_key(out: Output, largest: int = 5, variance: float = 4.0) -> Attempt:
    """Move every count a little, in the same way in every table of the project (keys of the records)."""
    values, memory = _counts(out), out.desk.memory
    model, places = count_model(out.query, next(iter(values.values())))
    from dalenius.tables.keys import keyed_uniforms  # noqa: PLC0415 (keys are secret; used here only)

    rows = memory.rows_of(out)
    if rows is None:
        raise OptionError("cell keys need units that can be recognised again; name the column of the unit")
    keys = keyed_uniforms((str(i) for i in range(memory.units)), memory.key, "cell keys")
    inner = np.zeros(len(model.counts))
    cell = out.query.cell
    there = cell >= 0
    single = np.flatnonzero(model.sizes == 1)
    row_of = {int(c): int(model.matrix.indices[model.matrix.indptr[c]]) for c in single}
    to_inner = np.array([row_of[int(places[i])] for i in range(out.query.cells)])
    np.add.at(inner, to_inner[cell[there]], keys[rows[there]])
    moved = perturb(model, PTable.make(largest, variance), np.mod(inner, 1.0))
    return _changed(
        out,
        "cell_key",
        Altered(model, moved.astype(float), "cell keys"),
        places,
        "all counts are moved a little by cell keys",
        "whether moves of this size are enough is for a person to decide",
        move=float(np.sqrt(2 * variance / np.pi)),
    )


@fix
def noise(out: Output, epsilon: float = 1.0, ledger: str | Budget | None = None) -> Attempt:
    """Counts with noise under a privacy budget (OpenDP), paid out of a ledger where there is one.

    Drawn once for a table: asked for again it is the same, because the average of many draws would be the truth. Other
    tables are paid anew, and what the project has spent altogether is told to whoever decides.
    """
    values, drawn = _counts(out), out.desk.memory.drawn
    model, places = count_model(out.query, next(iter(values.values())))
    name = drawn.name(out, epsilon, ledger is not None)
    held = drawn.get(name)
    if held is None:
        budget = Budget(epsilon=epsilon)
        altered = noisy_table(
            model, budget, assume_public_codes=True, ledger=ledger, output="an output fixed by noise"
        )
        held = drawn.keep(name, epsilon, np.asarray(altered.values, np.float64))
    told = f"all counts carry noise for ε = {epsilon:g}{'' if ledger is not None else ', which no ledger adds up'}"
    spent = drawn.spent(name)
    words = "whether noise of this size is enough is for a person to decide"
    words += f"; with it ε = {spent:g} is spent on noise in this project" if spent > epsilon else ""
    made = _changed(out, "noise", Altered(model, held, "noise"), places, told, words, move=1 / epsilon)
    return replace(made, facts={**made.facts, "epsilon": epsilon})


def _counts(out: Output) -> Values:
    values = _need_values(out)
    stats = {s.strip() for s in out.query.statistic.split(",")}
    if (
        out.query.value is not None
        or len(values) != 1
        or not out.query.dimensions
        or out.query.facts.get("shares")
        or not stats <= {"count", "size", "histogram", "scatter plot", "pie chart", "bar chart of counts"}
    ):
        raise OptionError("this fix is for tables of counts; of shares make the table of counts first")
    return values


def _changed(
    out: Output, way: str, altered: Altered, places: Any, told: str, doubt: str = "", *, move: float
) -> Attempt:
    """An attempt in which figures are moved, by ``move`` on average."""
    name = next(iter(out.original or {}), "")
    shown = np.maximum(np.asarray(altered.values, np.float64)[places], 0.0)
    judged, evidence = out.judged, out.judged.evidence
    kept = (*carried(out), *telling_edges(out.desk, out.query, evidence))
    found = finding("min_threshold", evidence, np.zeros(len(shown), np.bool_), "")
    if doubt:
        found = finding(way, evidence, np.ones(1, np.bool_), doubt, verdict="review")
    again = replace(judged, findings=(*kept, found))
    if way == "round":
        again = _looked_back(out, again, {name: shown}, exact=False, rounded=True)
    price = min(100.0 * move * out.query.cells / max(shown[: out.query.cells].sum(), 1.0), 100.0)
    facts = {"expected_change": round(move, 3)}
    return Attempt(way, again, {name: shown}, float(price), told, exact=False, facts=facts)


# Other tables instead.


@fix
def merge(out: Output, most: int = MOST_MERGES) -> Attempt:
    """Merge categories (neighbours where they have an order) until the table passes: the smallest redesign found."""
    values = _need_values(out)
    stats = list(values)
    query, tried = out.query, 0
    over = query.facts.get("shares")
    whole = over and len(stats) == 1 and not query.margins
    if (
        not query.dimensions
        or query.facts.get("steps")
        or (not whole and (over or any(s not in MERGED for s in stats)))
    ):
        raise OptionError("categories can be merged in tables of counts, shares, sums, means and ends only")
    judged = judge(query, out.desk.policy)
    start = query.cells
    while judged.status == "fail" and tried < most:
        options = [q for i in range(len(query.shape)) for q in merges(query, judged, i)]
        if not options:
            break
        tried += len(options)
        looked = [(judge(q, out.desk.policy), q) for q in options]
        looked.sort(key=lambda pair: (marks_left(pair[0]), -pair[1].cells))
        judged, query = looked[0]
    if query.cells == start:
        raise OptionError("no categories need to be merged; what is wrong is not in its cells")
    evidence = judged.evidence
    shown = {s: np.asarray(MERGED["count" if whole else s](evidence), np.float64) for s in stats}
    if whole:
        shown = {s: shares(query, v, over or ()) for s, v in shown.items()}
    judged = _looked_back(out, judged, shown, query)
    told = f"categories merged: {start} cells became {query.cells}"
    price = 100.0 * (1.0 - query.cells / start)
    return Attempt(
        "merge", judged, shown, price, told, merged=query, facts={"cells_lost": float(start - query.cells)}
    )


@fix
def merge_steps(out: Output) -> Attempt:
    """Merge steps of a survival curve until each has enough exits."""
    curves = out.query.facts.get("curves")
    if curves is None:
        raise OptionError("merged steps are for survival tables")
    from dalenius.outputs.wraps.survival import curve_values, steps_evidence, steps_query  # noqa: PLC0415 (makes curves)

    least = out.desk.policy.survival
    fewer = [(g, c.merged(least)) for g, c in curves]
    fewer = [(g, c) for g, c in fewer if len(c.time)]
    if not fewer:
        raise OptionError("too few people for a single step")
    judged = judge(out.query, out.desk.policy, steps_evidence(fewer))
    before, after = (sum(len(c.time) for _, c in x) for x in (curves, fewer))
    merged = steps_query(out.query.facts["people"], fewer)
    judged = _looked_back(out, judged, curve_values(fewer), merged)
    told = f"{before} steps became {after}; at the end of each the curve is exact"
    whole = dict(curves)
    if any(c.left[-1] == 0 and whole[g].exits[-1] < least for g, c in fewer):
        told += "; the last one ends at the longest time, which few people have: a person should know"
    return Attempt(
        "merge_steps",
        judged,
        curve_values(fewer),
        100.0 * (1 - after / before),
        told,
        merged=merged,
        facts={"steps": float(after)},
    )


@fix
def end_values(out: Output, share: float | None = None) -> Attempt:
    """Put the 5th and 95th percentile in the place of minimum and maximum, or the next with enough people beyond."""
    values = _need_values(out)
    if out.query.value is None or not set(values) & {"min", "max"}:
        raise OptionError("end values are replaced where minimum or maximum are shown")
    from dalenius.outputs.wraps.tables import figures, form_facts, register_name  # noqa: PLC0415 (computes quantiles)

    share = tail_share(out.judged.evidence.number, out.desk.policy.tail) if share is None else share
    renamed = {"min": f"p{100 * share:g}", "max": f"p{100 * (1 - share):g}"}
    names = [renamed.get(name, name) for name in values]
    statistic = ", ".join(register_name(name) for name in names)
    query = replace(out.query, statistic=statistic, facts=form_facts(names))
    evidence = collect(query, max(out.desk.policy.nk_n, 2), out.desk.policy.threshold)
    shown = {name: figures(query, evidence, name) for name in names}
    judged = _looked_back(out, judge(query, out.desk.policy, evidence), shown, query)
    told = f"minimum and maximum are replaced by percentiles {100 * share:g} and {100 * (1 - share):g}"
    return Attempt("end_values", judged, shown, 100.0 * share, told, merged=query)
