"""A table of several columns is an output a column: what is released of one holds nothing of another."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk

TABLES = {
    "describe": lambda pd, f: f.groupby("sex").describe(),
    "median": lambda pd, f: f.groupby("sex")[["ill", "pay"]].median(),
    "quantiles": lambda pd, f: f.groupby("sex")[["ill", "pay"]].quantile([0.25, 0.5]),
    "named": lambda pd, f: f.groupby("sex").agg(a=("ill", "median"), b=("pay", "std")),
    "listed": lambda pd, f: f.groupby("sex").agg({"ill": "median", "pay": ["std", "median"]}),
    "a column called like a figure": lambda pd, f: (
        f.rename(columns={"ill": "std"}).groupby("sex")[["std", "pay"]].agg(["std"])
    ),
    "pivot with a column called like a figure": lambda pd, f: pd.pivot_table(
        f.rename(columns={"ill": "std"}), index="sex", values=["std", "pay"], aggfunc=["median", "std"]
    ),
    "pivot": lambda pd, f: pd.pivot_table(f, index="sex", values=["ill", "pay"], aggfunc=["median", "std"]),
}


@pytest.mark.parametrize("way", TABLES)
def test_an_output_holds_its_own_column(way):
    rng = np.random.default_rng(1)
    desk = Desk(unit="person")
    data = {"person": np.arange(200), "sex": np.tile(["f", "m"], 100), "ill": np.repeat([0, 1], 100)}
    frame = desk.pandas.DataFrame({**data, "pay": rng.lognormal(8, 0.5, 200).round(2)})
    TABLES[way](desk.pandas, frame)
    own, other = sorted(desk.outputs, key=lambda out: "pay" in out.record.command)
    assert own.status == "pass"
    shown = own.table().drop("sex")
    assert shown.width
    assert max(shown[name].drop_nulls().max() for name in shown.columns) <= 100  # nobody's pay
    assert other.table().drop("sex").null_count().sum_horizontal().item() == 0
