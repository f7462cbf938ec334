"""Numbers that a researcher writes (names, categories, edges, what a test asks) may be one person's value."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk

WHO = 5


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def frame(desk):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame(
        {
            "person": np.arange(200),
            "sex": np.repeat(["f", "m"], 100),
            "area": np.tile(["4711", "812.5 b"], 100),
            "year": np.repeat([2019, 2020], 100),
            "age": rng.integers(18, 66, 200),
            "pay": np.append(rng.lognormal(8, 0.5, 197).round(2), [2019, 812.5, 3250]),
        }
    )


OWN = {
    "category": lambda d, f, x: d.pandas.crosstab(f.sex, np.where(f.age > 40, f"over {x}", "under")),
    "category of numbers": lambda d, f, x: d.pandas.crosstab(f.sex, np.where(f.age > 40, x, 0.0)),
    "name": lambda d, f, x: f.rename(columns={"sex": f"sex{x}"}).groupby(f"sex{x}").pay.mean(),
    "name of a value": lambda d, f, x: f.rename(columns={"age": f"age {x}"})[f"age {x}"].mean(),
    "edge": lambda d, f, x: f.groupby(d.pandas.cut(f.pay, [0, x, 90_000])).size(),
    "edge of a chart": lambda d, f, x: d.charts.histogram(f, "pay", bins=[0, x, 90_000]),
    "formula": lambda d, f, x: d.smf.ols(f"pay ~ I(age * {x})", f).fit(),
    "mean to compare with": lambda d, f, x: d.stats.ttest_1samp(f.pay, x),
    "by its name": lambda d, f, x: d.stats.ttest_1samp(f.pay, popmean=x),
}


@pytest.mark.parametrize("way", OWN)
def test_a_number_of_one_person(desk, frame, way):
    OWN[way](desk, frame, frame.pay.iloc[WHO])
    assert desk.last.status == "review", desk.last.summary
    assert desk.last.record.checks["written"]["verdict"] == "review"


USUAL = {
    "round number": lambda d, f: d.stats.ttest_1samp(f.pay, 3000),
    "quarter": lambda d, f: f.groupby(d.pandas.cut(f.pay, [0, 3250, 90_000])).size(),
    "median": lambda d, f: f.groupby(d.pandas.cut(f.pay, [0, f.pay.to_numpy()[:-1].mean(), 90_000])).size(),
    "years": lambda d, f: f.groupby("year").pay.mean(),
    "years in words": lambda d, f: f.groupby("in " + f.year.astype(str)).pay.mean(),
    "dates": lambda d, f: f.groupby(f.year.astype(str) + "-01-31").pay.mean(),
    "categories of the data": lambda d, f: f.groupby("area").pay.mean(),
    "polynomial": lambda d, f: d.smf.ols("pay ~ age + I(age ** 2)", f).fit(),
}


@pytest.mark.parametrize("way", USUAL)
def test_numbers_of_everyday_work(desk, frame, way):
    USUAL[way](desk, frame)
    assert "written" not in desk.last.summary
