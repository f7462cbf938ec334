"""A recipe cleans a file and gives everything back that can come back."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.preparation import Recipe, check


@pytest.fixture(scope="module")
def messy() -> Table:
    rng = np.random.default_rng(5)
    n = 800
    age = rng.integers(16, 90, n)
    net, tax, gift = (rng.integers(100, 900, n) for _ in range(3))
    kids = np.where(rng.random(n) < 0.05, -8, rng.integers(0, 40, n))
    frame = pl.DataFrame(
        {
            "id": np.arange(n) + 5000,
            "age": age,
            "agegr": np.array(["young", "middle", "old"])[np.searchsorted([30, 60], age, side="right")],
            "net": net,
            "tax": tax,
            "gift": gift,
            "gross": net + tax + gift,
            "rate": tax / net,
            "kids": kids,
            "months": rng.integers(0, 60, n).astype(str),
            "place": rng.choice([f"p{i:02d}" for i in range(25)], n),
            "land": ["home"] * n,
            "sex": rng.choice(["f", "m"], n),
        }
    )
    numbers = {"id", "age", "net", "tax", "gift", "gross", "kids"}
    kinds = {name: Kind.INTEGER if name in numbers else Kind.CATEGORICAL for name in frame.columns}
    kinds["rate"] = Kind.CONTINUOUS
    return Table.from_frame(frame, Schema(tuple(Column(name, kind) for name, kind in kinds.items())))


def test_cleaned_and_back(messy: Table, tmp_path: Path) -> None:
    recipe = Recipe.of(check(messy), messy)
    cleaned = recipe.apply(messy)
    assert not {"id", "agegr", "land"} & set(cleaned.names)
    assert (
        len({"net", "tax", "gift", "gross"} & set(cleaned.names)) == 3
    )  # one of the four follows from the others
    assert cleaned["kids"].column.special == (-8,)
    assert cleaned["months"].column.kind is Kind.INTEGER
    assert cleaned.names[-1] == "place"
    recipe.write(tmp_path / "recipe.json")
    again = Recipe.read(tmp_path / "recipe.json")
    assert again == recipe
    back = again.undo(cleaned).to_frame("polars")
    assert back.columns == [name for name in messy.names if name != "id"]
    expected = messy.to_frame("polars").drop("id").with_columns(pl.col("months").cast(pl.Int64))
    for name in back.columns:
        if name == "rate":
            np.testing.assert_allclose(back[name], expected[name])
        else:
            assert back[name].cast(pl.String).to_list() == expected[name].cast(pl.String).to_list(), name
    assert recipe.losses == ["drop-column: id"]


def test_only_what_is_accepted(messy: Table) -> None:
    recipe = Recipe.of(check(messy), messy, accept=["codes", "rare", "outliers"])
    assert [step.do for step in recipe.steps] == ["declare-codes"]
    with pytest.raises(DataError, match="no kind 'all'"):
        Recipe.of(check(messy), messy, accept=["all"])


def test_rare_levels_and_far_values() -> None:
    table = Table.from_frame(
        {"job": ["a"] * 60 + ["b"] * 57 + ["x", "y", "z"], "pay": [*range(100, 219), 4000]},
        Schema((Column("job", Kind.CATEGORICAL), Column("pay", Kind.INTEGER))),
    )
    recipe = Recipe.of(check(table), table, accept=["rare", "outliers"])
    cleaned = recipe.apply(table).to_frame()
    assert sorted(set(cleaned["job"])) == ["a", "b", "other"]
    assert max(cleaned["pay"]) == 218
    assert recipe.undo(recipe.apply(table)).to_frame() == cleaned


def test_a_bad_recipe_is_told(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"steps": [{"do": "wash", "column": "a"}]}')
    with pytest.raises(DataError, match="no step 'wash'"):
        Recipe.read(tmp_path / "r.json")
    (tmp_path / "r.json").write_text('{"steps": [{"do": "move-last"}]}')
    with pytest.raises(DataError, match="column is not given"):
        Recipe.read(tmp_path / "r.json")


def test_steps_that_meet_in_one_column():
    rng = np.random.default_rng(1)
    table = Table.from_frame(
        {"size": [str(x) for x in rng.integers(1, 200, 300)], "job": ["a"] * 299 + ["other"]}
    )
    recipe = Recipe.of(check(table), table, ["types", "rare"])
    assert [step.do for step in recipe.steps] == ["read-as-number", "merge-levels"]
    cleaned = recipe.apply(table)
    assert cleaned["size"].is_number
    assert cleaned["job"].levels == ("a", "other"), "a level that is called like the new one is that one"


def test_words_among_numbers_are_not_lost():
    sizes = ["refused"] * 100 + [str(i) for i in range(1, 201)]
    table = Table.from_frame({"size": sizes})
    assert Recipe.of(check(table), table, ["types"]).steps == ()


def test_a_constant_date_comes_back():
    frame = pl.DataFrame({"day": [dt.date(2020, 1, 1)] * 60, "age": list(range(60))})
    table = Table.from_frame(frame)
    recipe = Recipe.of(check(table), table, ["constant"])
    back = recipe.undo(recipe.apply(table))
    assert back["day"].data.dtype == np.int64
    assert back.to_frame()["day"].to_list() == frame["day"].to_list()


@pytest.mark.parametrize(
    "text",
    [
        '{"steps": ["abc"]}',
        '{"steps": [5], "columns": null}',
        '{"steps": [], "columns": [["a"]]}',
        '{"steps": [{"do": "move-last", "column": 5}]}',
        '{"steps": [{"do": "declare-codes", "column": "age", "codes": 5}]}',
        '{"steps": [{"do": "limit-values", "column": "age", "high": "x"}]}',
        '{"steps": [{"do": "limit-values", "column": "job", "high": 1}]}',
        '{"steps": [{"do": "merge-levels", "column": "age", "levels": ["1"]}]}',
        '{"steps": [{"do": "drop-constant", "column": "age", "value": null, "kind": "integer"}]}',
        '{"steps": [{"do": "drop-constant", "column": "age", "value": 1, "kind": "whole"}]}',
        '{"steps": [{"do": "drop-grouping", "column": "g", "source": "age", "cuts": [1, 2], "levels": ["a"]}]}',
    ],
)
def test_a_recipe_edited_badly_is_refused_in_words(text: str, tmp_path: Path):
    path = tmp_path / "recipe.json"
    path.write_text(text)
    table = Table.from_frame({"age": list(range(60)), "job": ["a", "b"] * 30})
    with pytest.raises(DataError):
        Recipe.read(path).apply(table)


def test_a_check_tells_nobodys_number_or_level():
    debt = [50.5 + i % 7 for i in range(300)]
    data = {
        "debt": [-987654321.0, *debt],
        "job": ["x", "y"] * 150 + ["ZZSECRETZZ"],
        "pay": [*debt, 987654321.5],
    }
    found = check(data)
    told = str(found) + repr(found) + str(found.table.to_dicts())
    assert found.of("rare-levels")
    assert found.of("outlier")
    assert not re.search("ZZSECRETZZ|987654321", told)
    steps = Recipe.of(found, Table.from_frame(data), ["rare", "outliers"]).steps
    assert steps
    assert "ZZSECRETZZ" not in repr(steps)
