"""One figure for one column: drawn as in the report, nobody's value in it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius.data import Schema

RNG = np.random.default_rng(1)
FRAME = pl.DataFrame(
    {
        "town": ["Aa"] * 200 + ["Bo"] * 150 + ["Cy"] * 47 + ["Rare"] * 3,
        "income": [*RNG.integers(1000, 3000, 399).tolist(), 987_654],
    }
)


def data_of(figure) -> str:
    return str(figure.chart.to_dict())


def test_values_and_numbers_are_drawn_with_what_is_what() -> None:
    made = dalenius.synthesize(FRAME, seed=1)
    evaluation = dalenius.evaluate(FRAME, made, measures=["column-shapes"], name="cart")
    town, income = evaluation.plot("town"), evaluation.plot("income")
    assert "original: dark; cart: light" in town.svg
    assert "original: bars; cart: lines" in income.svg
    assert 'role="img"' in town._repr_html_()
    assert "Aa" in town.svg
    assert data_of(income).count("'height'") > 40, "a real histogram, not a few groups"


def test_small_cells_are_not_drawn() -> None:
    town, income = (dalenius.compare_plot(FRAME, FRAME, name) for name in ("town", "income"))
    assert "Rare" not in data_of(town) + str(town)
    assert "Cy" not in data_of(town) + str(town), "it would give the rare one by subtraction"
    assert "987654" not in data_of(income).replace(",", "")


def test_nested_columns_are_guarded_together() -> None:
    town = ["N1"] * 40 + ["N2"] * 15 + ["N3"] * 6 + ["S1"] * 30 + ["S2"] * 30
    frame = pl.DataFrame({"town": town, "land": [name[0] for name in town]})
    schema = Schema.infer(frame)
    column = schema["town"].__class__(**{**vars(schema["town"]), "parent": "land"})
    told = str(dalenius.compare_plot(frame, frame, "town", schema.replace_columns(column)))
    assert "N2" not in told, "the land less N1 and N2 is N3"
    assert "N1" in told


def test_a_column_that_is_not_there_or_cannot_be_drawn() -> None:
    with pytest.raises(dalenius.DaleniusError, match="did you mean 'town'"):
        dalenius.compare_plot(FRAME, FRAME, "twon")
    few = pl.DataFrame({"town": ["secret"] * 4})
    with pytest.raises(dalenius.DaleniusError, match="nothing to draw") as caught:
        dalenius.compare_plot(few, few, "town")
    assert "secret" not in str(caught.value)
