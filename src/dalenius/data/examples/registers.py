"""Two registers of benefits, linked one to one: a simulator in place of the confidential registers of a paper."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.core.random import generator
from dalenius.data.examples.draw import check_size
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Column, Kind, Schema

REFERENCE = np.datetime64("2022-01-01")
BENEFITS = ("bijstand", "ioaw", "ioaz")
REGISTER_RULES = tuple(
    rule
    for benefit in BENEFITS
    for rule in (
        f"{benefit} == 0 -> is_missing(start_{benefit})",
        f"{benefit} == 1 -> not is_missing(start_{benefit})",
    )
)
"""A benefit has a start date, and only then (Slokom et al. 2024, rules 1 to 6)."""
SHARES = (0.9574, 0.0016, 0.0364, 0.0038, 0.0008)
"""Bijstand alone, with ioaw, ioaw alone, ioaz alone, none: shares of people."""


def benefit_registers(n: int = 20_000, seed: int = 7) -> Database:
    """People (``gba``) and their benefits (``bij``), one row each, after Slokom et al. 2024.

    Marginal distributions and the regression of the days on benefit are those the paper prints; the days before
    2022-01-01 are where a start date is: −48.71 a year of birth, 332.89 for gender, −1332.74 for ioaw.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> print(examples.benefit_registers(100))
    gba: 100 rows, key id
    bij: 100 rows, key id
    bij.id -> gba.id (1-1)
    """
    check_size(n)
    rng = generator(seed, "benefit registers")
    kind = rng.choice(5, n, p=np.array(SHARES) / sum(SHARES))
    flags = {"bijstand": np.isin(kind, (0, 1)), "ioaw": np.isin(kind, (1, 2)), "ioaz": kind == 3}
    year = np.clip(np.round(rng.normal(1970, 14.9, n)), 1925, 2003).astype(np.int64)
    older = flags["ioaw"] | flags["ioaz"]
    year = np.where(older, rng.integers(1954, 1966, n), year)
    gender = np.where(rng.random(n) < 0.56, 2, 1)
    odds = (1.0 + np.arange(218)) ** -1.6
    country = rng.choice(218, n, p=odds / odds.sum())
    mother = (year - np.round(rng.normal(28, 5, n))).astype(np.int64)
    father = (year - np.round(rng.normal(31, 6, n))).astype(np.int64)
    days = 98286.67 - 48.71 * year + 332.89 * gender - 1332.74 * flags["ioaw"] + rng.normal(0, 2129, n)
    starts = {"bijstand": np.maximum(1, np.round(days)).astype(np.int64)}
    starts |= {name: rng.integers(30, 4000, n) for name in ("ioaw", "ioaz")}
    people = pl.DataFrame(
        {
            "id": np.arange(1, n + 1), "country": country, "birth_year": year, "gender": gender,
            "mother_year": pl.Series(mother).set(pl.Series(rng.random(n) < 0.38), None),
            "father_year": pl.Series(father).set(pl.Series(rng.random(n) < 0.41), None),
        }
    )  # fmt: skip
    dates = {name: pl.Series((REFERENCE - starts[name]).astype("datetime64[D]")) for name in BENEFITS}
    paid = pl.DataFrame(
        {
            "id": np.arange(1, n + 1), **{name: flags[name].astype(np.int64) for name in BENEFITS},
            **{f"start_{name}": dates[name].set(pl.Series(~flags[name]), None) for name in BENEFITS},
        }
    )  # fmt: skip
    return Database.of(
        {"gba": people, "bij": paid}, {"gba": "id", "bij": "id"}, [Link("gba", "id", "bij", "id", "1-1")],
        schemas=_schemas(),
    )  # fmt: skip


def _schemas() -> dict[str, Schema]:
    def declared(name: str, *levels: int) -> Column:
        return Column(name, Kind.CATEGORICAL, levels=levels, domain="declared")

    people = (
        Column("id", Kind.INTEGER), declared("country", *range(218)), Column("birth_year", Kind.INTEGER),
        declared("gender", 1, 2), Column("mother_year", Kind.INTEGER), Column("father_year", Kind.INTEGER),
    )  # fmt: skip
    paid = (
        Column("id", Kind.INTEGER), *(declared(name, 0, 1) for name in BENEFITS),
        *(Column(f"start_{name}", Kind.DATETIME) for name in BENEFITS),
    )  # fmt: skip
    return {"gba": Schema(people), "bij": Schema(paid)}
