"""The risk page of one file: how rare its records are, in the file and among all people, and what their keys give away.

For microdata that are released as they are, or masked; a synthetic file is compared with its original (`risk_page`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.core.result import WHOLE, Result, figure
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.risk.page import RiskPage
from dalenius.risk.sample.anonymity import k_anonymity, l_diversity, t_closeness
from dalenius.risk.sample.individual import sample_risk
from dalenius.risk.sample.keys import KeyCodes, column_values
from dalenius.risk.sample.population import population_uniques
from dalenius.risk.sample.suda import DIS_FRACTION, suda

ALL_SUBSETS = 8
"""Keys up to which minimal uniques of every size are looked for; of more keys those of three columns at most."""


def sample_page(
    data: Any,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    *,
    population: float | None = None,
    records: bool = False,
    progress: Callable[[str], None] | None = None,
) -> RiskPage:
    """Measure one file by itself: class sizes, re-identification, special uniques, population uniques, diversity.

    Weights, households and units of protection are taken from the schema's roles.

    Parameters
    ----------
    population
        Number of people the file was drawn from; default: the sum of the weights. Without either everybody is taken to
        be in the file, and population uniques are not estimated.
    records
        Let results hold one row per record too (confidential, not on the page).

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": [30, 31, 32, 33] * 10, "ill": ["yes", "no", "no", "no"] * 10}
    >>> page = sample_page(data, ["sex", "age"], ["ill"], population=1000)
    >>> page.results["k-anonymity"].value, page.results["l-diversity of ill"].value
    (10.0, 1.0)
    """
    table = Table.from_frame(data)
    if not table.rows:
        raise DataError("the file has no rows; there is nothing to measure")
    used = KeyCodes.of(table, keys).names
    wanted = list(targets) if targets is not None else table.schema.by_role(Role.TARGET)
    both = [name for name in wanted if name in used]
    if both:
        raise OptionError(f"column {both[0]!r} is a key and a target; name it as one of them")
    weights = column_values(table, None, Role.WEIGHT)
    people = population if population is not None or weights is None else float(weights.sum())
    rows = KeyCodes.of(table, used).units.count
    fraction = DIS_FRACTION if people is None else min(rows / people, 0.999)
    size = None if len(used) <= ALL_SUBSETS else 3
    steps: dict[str, Callable[[], Result]] = {
        "k-anonymity": lambda: k_anonymity(table, used, records=records),
        "global-risk": lambda: sample_risk(table, used, population=people).result(records),
        "suda": lambda: suda(table, used, max_size=size, dis_fraction=fraction).result(records),
    }
    if people is not None:
        steps["population-uniques"] = lambda: population_uniques(table, used, population=people).result()
    for name in wanted:
        steps[f"l-diversity of {name}"] = partial(_diversity, table, used, name, records)
        steps[f"t-closeness of {name}"] = partial(t_closeness, table, used, name, records)
    results = {}
    for name, step in steps.items():
        if progress is not None:
            progress(name)
        results[name] = step()
    return RiskPage(
        _intruder(table, used, wanted, people), used, tuple(wanted), results, None, (), tuple(results)
    )


def _diversity(table: Table, keys: Sequence[str], sensitive: str, records: bool) -> Result:
    """How many different values people with the same keys have."""
    diversity, units = l_diversity(table, keys, sensitive), KeyCodes.of(table, keys).units
    certain = units.share(diversity["distinct"].to_numpy() == 1)
    kinds = list(diversity.columns)
    return Result(
        name="l-diversity",
        value=float(diversity["distinct"].min()),  # type: ignore[arg-type]
        sentence=f"{figure(certain, '%')} of the {units.noun} share their keys only with people of the same "
        f"{sensitive!r}: who knows the keys knows it.",
        values={"nothing left to guess, %": certain},
        table=pl.DataFrame(
            {"l-diversity": kinds, "smallest": [diversity[k].min() for k in kinds],
             "median": [diversity[k].median() for k in kinds]}, strict=False,
        ), counts=WHOLE,
        records=diversity.with_row_index("row") if records else None,
    )  # fmt: skip


def _intruder(table: Table, keys: Sequence[str], targets: Sequence[str], people: float | None) -> str:
    text = (
        f"The intruder has the file itself ({table.rows:,} records), knows of some people: {', '.join(keys)}; and "
        f"wants to learn: {', '.join(targets) or 'nothing that was named (name targets)'}."
    )
    if people is None:
        return text + (
            " Neither weights nor the size of the population are known, so everybody is taken to be in the file: the "
            "worst case."
        )
    return text + f" The file was drawn from about {figure(people)} people."
