"""Firms for magnitude tables: a few giants dominate their cells, and some firms have one owner."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import generator
from dalenius.data.examples.codes import INDUSTRIES, industry_shares, regional_tilt
from dalenius.data.examples.draw import Bools, Floats, Ints, Lottery, check_size, happens, labels, sigmoid
from dalenius.data.examples.geography import geography

SIZE_CLASSES = ("0-9", "10-49", "50-249", "250+")
_CLASS_STARTS = (10, 50, 250)
# Firms a sampled firm stands for, by size class: all large firms are asked, few of the small ones.
_WEIGHTS = np.array((12.0, 5.0, 2.0, 1.0))
_EXPORTING = "ABCHJM"
_CAPITAL_HEAVY = "BCDEHL"


def _place(rng: np.random.Generator, n: int) -> tuple[Ints, Ints]:
    """Draw the district (large ones more than their share of people), and return its region with it."""
    land = geography()
    people = np.bincount(land.district, weights=land.share)
    region_of = np.zeros(len(land.districts), dtype=np.int64)
    region_of[land.district] = land.region
    district = Lottery.of(people**1.1).draw_many(rng, n)
    return region_of[district], district


def _employees(rng: np.random.Generator, n: int) -> Ints:
    """Draw sizes with a Pareto tail, up to a giant of 60,000."""
    size = 1.6 * rng.pareto(1.05, n)
    return np.minimum(np.floor(size), 60_000).astype(np.int64)


def _holdings(rng: np.random.Generator, employees: Ints) -> pl.Series:
    """Put some firms, the large ones more often, under owners of two to a few dozen firms each."""
    owned = np.flatnonzero(happens(rng, sigmoid(-2.9 + 0.5 * np.log1p(employees))))
    owners = max(len(owned) // 4, 1)
    # A power of a uniform number gives a few owners many firms and most of them a few.
    owner = np.floor(owners * rng.random(len(owned)) ** 1.3).astype(np.int64)
    alone = np.bincount(owner, minlength=owners)[owner] < 2
    owned, owner = owned[~alone], owner[~alone]
    index = np.full(len(employees), -1, dtype=np.int64)
    index[owned] = owner
    names = "H" + pl.Series(index).cast(pl.String).str.zfill(6)
    return pl.select(pl.when(pl.Series(index >= 0)).then(names)).to_series()


def _money(rng: np.random.Generator, employees: Ints, exporting: Bools, heavy: Bools) -> dict[str, Ints]:
    """Draw turnover, investment and exports in thousands from size and industry."""
    n = len(employees)
    productivity: Floats = np.exp(4.4 + 0.35 * heavy + 0.25 * exporting + 0.85 * rng.standard_normal(n))
    turnover = np.rint((employees + 0.7) ** 1.06 * productivity)
    invests = happens(rng, sigmoid(-0.9 + 0.55 * np.log1p(employees) + 0.4 * heavy))
    investment = np.where(invests, np.rint(turnover * rng.beta(1.2, 14.0, n) * (1 + heavy)), 0.0)
    abroad = happens(rng, sigmoid(-2.6 + 0.45 * np.log1p(employees) + 1.7 * exporting))
    exports = np.where(abroad, np.rint(turnover * rng.beta(1.1, 2.2, n)), 0.0)
    corrected = abroad & (rng.random(n) < 0.02)
    exports = np.where(corrected, -np.rint(0.2 * exports) - 1, exports)
    return {
        "turnover": turnover.astype(np.int64),
        "investment": investment.astype(np.int64),
        "exports": exports.astype(np.int64),
    }


def companies(n: int, seed: int = 0) -> pl.DataFrame:
    """Return n firms for magnitude tables; see ``docs/examples.md`` for every column.

    Parameters
    ----------
    n
        How many firms.
    seed
        Which firms: the same n and seed give the same frame.

    Returns
    -------
    polars.DataFrame
        One row per firm with the columns of ``COMPANY_COLUMNS``.

    Examples
    --------
    >>> firms = companies(1000, seed=1)
    >>> firms.shape
    (1000, 11)
    >>> bool((firms["exports"] <= firms["turnover"]).all())
    True
    """
    check_size(n)
    rng = generator(seed, "companies")
    land = geography()
    region, district = _place(rng, n)
    industries = Lottery.of([industry_shares() * regional_tilt(code) for code in land.regions])
    industry = industries.draw(rng, region)
    employees = _employees(rng, n)
    size_class = np.digitize(employees, _CLASS_STARTS)
    section = np.array([code[0] for code in INDUSTRIES])[industry]
    holding = _holdings(rng, employees)
    money = _money(rng, employees, np.isin(section, list(_EXPORTING)), np.isin(section, list(_CAPITAL_HEAVY)))
    return pl.DataFrame(
        {
            "firm_id": pl.Series(np.arange(1, n + 1)),
            "holding": holding,
            "industry": labels(INDUSTRIES, industry),
            "region": labels(land.regions, region),
            "district": labels(land.districts, district),
            "size_class": labels(SIZE_CLASSES, size_class, ordered=True),
            "employees": pl.Series(employees),
            **{name: pl.Series(amount) for name, amount in money.items()},
            "weight": pl.Series(_WEIGHTS[size_class]),
        }
    )
