"""Equal opportunity: whether a model trained on the protected file treats groups as one trained on the original does.

Of the people for whom the answer is yes, a model finds some; equal opportunity asks that it finds as large a share of
them in every group (Hardt, Price, Srebro 2016). The gap is the largest share less the smallest. Two models may have the
same gap with the groups exchanged, so the figure is how far groups move against each other: the largest change of a
group's share less the smallest.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError, no_column
from dalenius.core.random import Seed, generator
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import withhold
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray
from dalenius.utility.analyses.learning import (
    FEW_LEVELS,
    ROWS,
    at_most,
    feature_matrix,
    real_rows,
    response_of,
)
from dalenius.utility.charts import two_files

_SCHEMA: dict[str, Any] = {"group": pl.String, "people": pl.Int64, "original": pl.Float64, "protected": pl.Float64,
           "again": pl.List(pl.Float64)}  # fmt: skip
AGAIN = 5
"""Models trained on the original drawn again: how far chance moves groups."""
ENOUGH = 5
"""Training rows that must say yes, and no, for there to be something to learn."""


def opportunity_table(
    pair: Pair, by: str, outcome: str, positive: Any = None, *, seed: Seed = 0
) -> pl.DataFrame:
    """Share of each group's real yeses that a logistic model finds, trained on the original and on the protected file.

    Both are tried on the same real rows (the holdout's, otherwise 30 % of the original that its model has not seen);
    yes and no weigh the same in training. ``again`` are the shares by models trained on the original drawn again.
    Groups with fewer yeses there than the pair's threshold are left out.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 100, "a": ["x", "y", "y", "x"] * 50, "ill": ["yes", "no", "no", "yes"] * 50}
    >>> opportunity_table(Pair(data, data), "sex", "ill", "yes")["protected"].to_list()
    [1.0, 1.0]
    """
    yes = _positive(pair, outcome, positive)
    train, test = real_rows(pair, seed)
    rng = generator(seed, "opportunity")
    truth = response_of(pair, test, outcome) == yes
    files = {"original": train, "protected": at_most(pair.protected, ROWS, seed, "protected")}
    found = {name: _found(pair, table, test, outcome, yes) for name, table in files.items()}
    chance = [train.take(rng.integers(0, train.rows, train.rows)) for _ in range(AGAIN)]
    again = [_found(pair, table, test, outcome, yes) for table in chance]
    groups = pair.grouping.categories(test[by]) if by in pair.grouping else test[by].categories
    rows = []
    for code in np.unique(groups.codes[truth]):
        chosen = truth & (groups.codes == code)
        shares = {name: None if hit is None else float(hit[chosen].mean()) for name, hit in found.items()}
        told = [float(hit[chosen].mean()) for hit in again if hit is not None]
        drawn = told if len(told) == AGAIN else None
        rows.append(
            {"group": str(groups.labels[code]), "people": int(chosen.sum()), **shares, "again": drawn}
        )
    return withhold(pl.DataFrame(rows, schema=_SCHEMA), ["people"], pair.threshold)


def _positive(pair: Pair, outcome: str, positive: Any) -> int:
    """Code of the answer that counts as yes: the one named, otherwise the second commonest."""
    vector = pair.original[outcome]
    if vector.is_number:
        raise OptionError(
            f"outcome {outcome!r} is a number; make a category of it, and name the one that means yes"
        )
    if positive is None:
        often = np.argsort(-np.bincount(vector.values, minlength=max(len(vector.levels), 2)), kind="stable")
        return int(often[1])
    named = [i for i, level in enumerate(vector.levels) if str(level) == str(positive)]
    if not named:
        raise OptionError(
            f"{positive!r} is no category of {outcome!r}; name one that the schema or the file has"
        )
    return named[0]


def _found(pair: Pair, train: Table, test: Table, outcome: str, yes: int) -> BoolArray | None:
    """Test rows that the model calls yes; None where there is nothing to learn."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 (loaded when asked for)
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    answer = response_of(pair, train, outcome)
    known = answer >= 0
    y = answer[known] == yes
    if min(int(y.sum()), int((~y).sum())) < ENOUGH:
        return None
    others = sorted(name for name in pair.columns if name != outcome)
    x: AnyArray = feature_matrix(pair, train, others)[known]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that stopped early is still a model
        model = LogisticRegression(max_iter=300, tol=1e-3, class_weight="balanced").fit(x, y)
        said: BoolArray = np.asarray(model.predict(feature_matrix(pair, test, others)), bool)
    return said


def _defaults(pair: Pair, by: str | None, outcome: str | None) -> tuple[str | None, str | None]:
    """The columns asked for, or a key and a target that are categories with few levels."""
    for name in (by, outcome):
        if name is not None and name not in pair.columns:
            raise OptionError(no_column([name], pair.columns))

    def first(candidates: Sequence[str], taken: str | None) -> str | None:
        fits = (n for n in candidates if n != taken and not pair.original[n].is_number)
        return next((n for n in fits if 1 < len(np.unique(pair.original[n].values)) <= FEW_LEVELS), None)

    plain = sorted(pair.columns)
    group = by or first([*sorted(pair.keys), *(n for n in plain if n not in pair.targets)], outcome)
    return group, outcome or first([*sorted(pair.targets), *(n for n in plain if n not in pair.keys)], group)


@measure(
    name="equal-opportunity",
    title="Equal opportunity (how far groups move)",
    family="utility",
    meaning="How far groups move against each other in the share of their real yeses that a model finds, when it is "
    "trained on the protected instead of the original file: 0 is the same.",
    better="lower",
    bounds=(0, 2),
    reference="Hardt, Price, Srebro 2016 (equal opportunity)",
    default=False,
    random=True,
    sees_dependence=False,
    sees_spread=False,
)
def equal_opportunity(
    pair: Pair, by: str | None = None, outcome: str | None = None, positive: str | None = None, seed: Seed = 0
) -> Result:
    """Gap of equal opportunity of a model trained on the original, and on the protected file.

    Parameters
    ----------
    by
        Column that divides people; default: the first key (by name) that is a category with few levels.
    outcome, positive
        What the model predicts, and the category that means yes; default: the first such target, and its second
        commonest category.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 100, "a": ["x", "y", "y", "x"] * 50, "ill": ["yes", "no", "no", "yes"] * 50}
    >>> equal_opportunity(Pair(data, data), "sex", "ill", "yes").value
    0.0
    """
    group, target = _defaults(pair, by, outcome)
    if group is None or target is None:
        return _nothing("no two columns are categories with few levels")
    table = opportunity_table(pair, group, target, positive, seed=seed)
    known = table.drop_nulls(["original", "protected"])
    if len(known) < 2:
        return _nothing(f"fewer than two groups of {group!r} have enough people to be shown", table)
    gaps = {side: float(known[side].max() - known[side].min()) for side in ("original", "protected")}  # type: ignore[operator,arg-type]
    low = known.sort("protected", maintain_order=True).row(0, named=True)
    text = (
        f"A model of {target!r} trained on the protected file finds {figure(100 * low['protected'], '%')} of the yeses "
        f"of {group} {low['group']}, where it finds fewest; groups are {figure(100 * gaps['protected'])} points apart, "
        f"by a model trained on the original {figure(100 * gaps['original'])}."
    )
    if pair.holdout is None:
        text += " Without a holdout the test rows were also used to make the file, which flatters it."
    return Result(
        name="equal-opportunity",
        value=_moved(known["original"], known["protected"]),
        sentence=text,
        yardsticks=_chance(known),
        values={f"gap, trained on the {side} file": gap for side, gap in gaps.items()},
        table=table.drop("again"),
        counts=("people",),
        chart=lambda: two_files(known.drop("again"), "group", "share of real yeses found"),
    )


def _moved(first: pl.Series, second: pl.Series) -> float:
    """The largest change of a group's share less the smallest."""
    change = second - first
    return float(change.max() - change.min())  # type: ignore[operator,arg-type]


def _chance(known: pl.DataFrame) -> dict[str, float]:
    """How far groups move on average when the original is drawn again; nothing where a draw taught nothing."""
    if known["again"].null_count():
        return {}
    moves = [_moved(known["original"], known["again"].list.get(turn)) for turn in range(AGAIN)]
    return {"the original drawn again": float(np.mean(moves))}


def _nothing(why: str, table: pl.DataFrame | None = None) -> Result:
    return Result(
        "equal-opportunity",
        float("nan"),
        f"A gap cannot be told: {why}.",
        table=None if table is None else table.drop("again"),
        counts=("people",),
    )
