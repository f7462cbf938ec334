"""The pictures of the page on surveys: ``python bench/survey_pictures.py`` draws them anew."""

from __future__ import annotations

import altair as alt
import numpy as np
import polars as pl

from dalenius.core.style import ORIGINAL, PROTECTED
from dalenius.counts.pair import Pair
from dalenius.synth.sequential import CartSynthesizer
from dalenius.utility import two_way_utility
from dalenius.utility.inference import fit_synthetic
from dalenius.utility.inference.charts import coefficient_chart
from pictures import save
from survey_design import COLUMNS, country, sample

DRAWS = 100


def verdict() -> None:
    """S_pMSE of the file that used the weights beside the one that ignored them, judged with and without the design."""
    land, rows = country(), []
    for i in range(DRAWS):
        table = sample(land, np.random.default_rng(i))
        plain = table.drop(["w"]).with_schema(table.drop(["w"]).schema.with_roles(psu=[], stratum=[]))
        for name in ("pseudo", "ignore"):
            made = CartSynthesizer(weighting=name, threads=1).make(table, seed=i).table
            for judged, original in (("judged with the design", table), ("judged without weights", plain)):
                value = two_way_utility(Pair(original, made), list(COLUMNS)).value
                file = "used the weights" if name == "pseudo" else "ignored the weights"
                rows.append({"judged": judged, "file": file, "mean S_pMSE": value})
    colours = alt.Scale(domain=["used the weights", "ignored the weights"], range=[PROTECTED, ORIGINAL])
    chart = (
        alt.Chart(pl.DataFrame(rows).to_arrow())
        .mark_tick(thickness=1.5, opacity=0.5, size=24)
        .encode(
            alt.X(
                "mean S_pMSE:Q",
                scale=alt.Scale(type="log"),
                title="mean S_pMSE of two-way tables (1 is a correct model)",
            ),
            alt.Y(
                "file:N",
                title=None,
                sort=["used the weights", "ignored the weights"],
                axis=alt.Axis(labelLimit=200),
            ),
            alt.Color("file:N", scale=colours, legend=None),
            alt.Row("judged:N", title=None, header=alt.Header(labelOrient="top", labelAnchor="start")),
        )
        .properties(width=480, height=70)
    )
    save(chart, "surveys-verdict")


def fit() -> None:
    """Coefficients of one survey and of five files made from its replicate weights."""
    table = sample(country(), np.random.default_rng(3))
    made = CartSynthesizer(weighting="pseudo", proper=True, threads=1).make(
        table, 5, rows=5 * table.rows, seed=3
    )
    found = fit_synthetic("income ~ age + I(age^2) + C(sex) + C(smoker)", made, like=table)
    beside = found.compare(table, population=True).table
    assert beside is not None
    save(coefficient_chart(beside), "surveys-fit")


if __name__ == "__main__":
    verdict()
    fit()
