"""Every measure moves as docs/risk.md says it does, and finds a planted leak where it claims to.

The table in the docs is the claim: ``>`` between two methods means that the measure tells them apart, ``≈`` that it
cannot (the docs say why), and then the safer method must not look clearly riskier.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from dalenius import Pair, Schema, Table
from dalenius.counts.measure import MEASURES

ROOT = Path(__file__).parents[2]
PEOPLE, REPLICATES = 1500, 3


def _order() -> ModuleType:
    """The script that makes the docs table."""
    spec = importlib.util.spec_from_file_location("risk_order", ROOT / "bench" / "risk_order.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


order = _order()
RISKS = order.risk_measures()
NAMES = {"bootstrap": "bootstrap", "CART": "cart", "DP": "private", "independent": "independent"}


def claims() -> dict[str, tuple[list[str], bool]]:
    """What the docs say of each measure: the signs between neighbours, and whether it sees the leak."""
    lines = (ROOT / "docs" / "risk.md").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = cells[0].split(",")[0].split(" (")[0]
        signs = re.findall(r"[>≈]", next((c for c in cells if c.startswith("bootstrap ")), ""))
        if name in RISKS and len(signs) == 3:
            found[name] = (signs, cells[-1].startswith("yes"))
    return found


CLAIMS = claims()


def test_the_docs_speak_of_every_measure() -> None:
    assert sorted(CLAIMS) == sorted(RISKS)


@pytest.fixture(scope="module")
def measured() -> pl.DataFrame:
    rows = [row for r in range(1, REPLICATES + 1) for row in order.replicate_values(PEOPLE, r, RISKS)]
    worse = [1 if MEASURES[row["measure"]].info.better == "lower" else -1 for row in rows]
    turned = pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.Series("worse", worse))
    ends = [pl.col("low") * pl.col("worse"), pl.col("high") * pl.col("worse")]
    return turned.with_columns(
        pl.col("value") * pl.col("worse"),
        pl.col("null") * pl.col("worse"),
        pl.min_horizontal(*ends).alias("low"),
        pl.max_horizontal(*ends).alias("high"),
    )


def means(measured: pl.DataFrame, name: str, file: str) -> dict[str, float]:
    part = measured.filter((pl.col("measure") == name) & (pl.col("file") == file))
    return part.select("value", "low", "high", "null").mean().row(0, named=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", RISKS)
def test_order_of_synthesizers(name: str, measured: pl.DataFrame) -> None:
    signs = CLAIMS[name][0]
    found = [means(measured, name, file) for file in order.METHODS]
    for sign, riskier, safer in zip(signs, found, found[1:], strict=False):
        if sign == ">":
            assert riskier["value"] > safer["value"]
        assert riskier["high"] >= safer["low"], "the safer method must not be clearly riskier"
    for safer in found[1:]:
        assert found[0]["low"] > safer["high"], "a bootstrap must be clearly riskier than anything else"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RISKS if CLAIMS.get(name, ([], False))[1]])
def test_planted_leak_is_found(name: str, measured: pl.DataFrame) -> None:
    leak, fresh = means(measured, name, "leak"), means(measured, name, "fresh")
    assert leak["value"] > fresh["value"], "copied originals must look riskier than fresh people"
    assert leak["value"] > leak["null"], "a leak must stand out from its yardstick"


@pytest.mark.slow
def test_leak_shows_in_the_members_found_at_few_false_alarms(measured: pl.DataFrame) -> None:
    for name in ("membership-distance", "membership-density"):
        found = measured.filter((pl.col("measure") == name) & (pl.col("file") == "leak"))
        assert found["at 1 %"].mean() > 0.03


def test_the_same_seed_gives_the_same_figure() -> None:
    inside, outside, fresh = (order.survey(400, 1, which) for which in ("inside", "outside", "fresh"))
    table = Table.from_frame(inside, Schema.infer(inside))
    pairs = [Pair(table, fresh, outside, keys=order.KEYS, targets=order.TARGETS) for _ in range(2)]
    for name in ("singling-out", "linkability", "inference", "dcr"):
        first, second = (MEASURES[name](pair).value for pair in pairs)
        assert first == second
        assert np.isfinite(first)
