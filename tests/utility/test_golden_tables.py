"""Table measures equal synthpop's to 1e-9."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from dalenius.counts.all_tables import all_tables
from dalenius.counts.counts import align
from dalenius.utility.cells import STATISTICS, cell_differences, table_statistics
from dalenius.utility.distributions import ks_distance
from dalenius.utility.propensity import tree_propensity
from dalenius.utility.study import correlation
from dalenius.utility.tables import column_scores, table_utility
from tests.utility.golden import cases, pairs

SINGLE = cases("utility-tables", "utility_tab.json")
MANY = cases("utility-tables", "utility_tables.json")
EXACT = ("df", "dfG", "U")


def close(found: float, expected: float, name: str) -> bool:
    if name in EXACT:
        return found == pytest.approx(expected, rel=1e-14)
    return found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("case", SINGLE, ids=[c["id"] for c in SINGLE])
def test_one_table(case: dict[str, Any]) -> None:
    options = case["options"] or {}
    for i, pair in enumerate(pairs(case)):
        found = table_utility(
            pair,
            [case["vars"]],
            statistics=STATISTICS,
            gaps="drop" if options.get("useNA") is False else "level",
            random_size=bool(options.get("k.syn")),
        ).row(0, named=True)
        for name, values in case["expected"].items():
            expected = values[i] if isinstance(values, list) else values
            if name == "nempty":
                if options.get("useNA") is not False:
                    assert pair.counts(case["vars"]).original.n_cells - found["df"] - 1 + bool(
                        options.get("k.syn")
                    ) == pytest.approx(expected)
                continue
            assert close(found[name], expected, name), (name, found[name], expected)


CELLS = [c for c in SINGLE if c.get("tab_zdiff") and (c["options"] or {}).get("useNA") is not False]


@pytest.mark.parametrize("case", CELLS[:20], ids=lambda c: c["id"])
def test_cells(case: dict[str, Any]) -> None:
    pair = pairs(case)[0]
    counted = pair.counts(case["vars"])
    _, (d, s) = align(counted.original, counted.protected)
    wanted = {
        name: np.array(
            [np.nan if v is None else v for v in np.ravel(case[name]["counts_first_dim_fastest"])], float
        )
        for name in ("tab_obs", "tab_syn", "tab_zdiff")
    }
    used = wanted["tab_obs"] + wanted["tab_syn"] > 0
    assert sorted(d.tolist()) == sorted(wanted["tab_obs"][used].tolist())
    np.testing.assert_allclose(sorted(cell_differences(d, s)), sorted(wanted["tab_zdiff"][used]), atol=1e-9)


@pytest.mark.parametrize("case", MANY, ids=[c["id"] for c in MANY])
def test_all_tables(case: dict[str, Any]) -> None:
    order = {"oneway": 1, "twoway": 2, "threeway": 3}[case["tables"]]
    frames = [table_utility(pair, order, statistics=STATISTICS) for pair in pairs(case)]
    expected = case["expected"]["tabs"]
    rows = list(combinations(case["vars"], order))
    for names, values in zip(rows, expected["values"], strict=True):
        several = [f.row(by_predicate=pl.col("table") == " × ".join(names), named=True) for f in frames]
        for column, value in zip(expected["columns"], values, strict=True):
            assert close(float(np.mean([row[column] for row in several])), value, column), (names, column)
    scores = case["expected"]["var_scores"]
    if len(frames) == 1:
        found = dict(column_scores(frames[0]).select("column", "mean").iter_rows())
        for name, value in scores.items():
            assert found[name.split(".", 1)[1]] == pytest.approx(value, rel=1e-9)


class TestWorkedExamples:
    def test_foessing_drechsler(self) -> None:
        found = table_statistics(np.array([30, 20, 25, 25]), np.array([28, 22, 30, 20]))
        expected = {
            "VW": 2.3486092452, "df": 3, "S_pMSE": 0.7828697484, "pMSE": 0.00146788078, "FT": 2.3540951517,
            "JSD": 0.0042419970, "S_JSD": 0.8159877338, "G": 2.3435984632, "PO50": 3.5, "SPECKS": 0.07, "MabsDD": 0.14,
            "WMabsDD": 3.5285575605, "dBhatt": 0.0542459117,
        }  # fmt: skip
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, rel=1e-8), name
        unequal = table_statistics(np.array([40, 60]), np.array([10, 40]))
        assert unequal["VW"] == pytest.approx(9)
        assert unequal["pMSE"] == pytest.approx(0.0088888889, rel=1e-7)

    def test_kolb_table_2(self) -> None:
        from dalenius.counts.pair import Pair

        synthetic = [(1, 2, 3), (1, 2, 5), (4, 12, 4), (4, 12, 4), (4, 12, 4), (5, 12, 10)]
        original = [(1, 2, 3), (1, 2, 3), (4, 12, 4), (4, 12, 4), (4, 12, 9), (5, 12, 10)]
        names = ("Key1", "Key2", "target")
        files = [
            {n: [str(r[i]) for r in rows] for i, n in enumerate(names)} for rows in (original, synthetic)
        ]
        pair = Pair(*files)
        wanted = {("Key1", "Key2", "target"): 0.43518, ("Key1", "target"): 0.43518, ("Key1", "Key2"): 0.0}
        for columns, value in wanted.items():
            found = table_utility(pair, [columns], statistics=["Hellinger"])["Hellinger"][0]
            assert found == pytest.approx(value, abs=5e-6)

    def test_kolb_study(self) -> None:
        assert len(all_tables(["a", "b", "c"], ["x", "y", "z"])) == 52
        assert all_tables(["a"], ["x"], sizes=[2], area="district") == [("district", "a", "x")]
        # Correlated values with r = 0.9 over 21 settings: Fisher's interval.
        rng = np.random.default_rng(1)
        x, noise = rng.normal(size=21), rng.normal(size=21)
        x = (x - x.mean()) / x.std()
        noise -= noise.mean() + (noise @ x) / 21 * x
        noise -= noise.mean()
        y = 0.9 * x + np.sqrt(1 - 0.81) * noise / noise.std()
        value, interval = correlation(x.tolist(), y.tolist())
        assert value == pytest.approx(0.9)
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx((0.7659, 0.9591), abs=5e-5)

    def test_kolb_propensity(self) -> None:
        from dalenius.counts.pair import Pair

        pair = Pair({"a": ["x"] * 50 + ["y"] * 50}, {"a": ["x"] * 80 + ["y"] * 20})
        assert tree_propensity(pair, repeats=0).figures.pMSE == pytest.approx(0.024725, abs=5e-7)

    def test_aghaddar_ks(self) -> None:
        assert 1 - ks_distance(np.arange(1, 6), np.arange(3, 8)) == pytest.approx(0.6)
